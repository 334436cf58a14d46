"""The CPU mode `reproducible`: the same bits under every BLAS, kernel and number of threads. test_aarch64.py
compares the architectures."""

import json
import os
import re
import struct
import subprocess

import pytest

import processor
from shim import (BUILD, CLIENTS, LP64_BLAS, ROOT, SYSTEM_PYTHON, blas_directory, blas_library, client, environment, has_module, need,
                  run)

MODE = {"cpu": "reproducible"}

# Products of all shapes, transposed, by views, in batches, complex; and an iteration that magnifies any difference.
NUMPY = """
import hashlib, itertools, numpy as np
random = np.random.default_rng(1)
digest = hashlib.sha256()
sizes = (2, 8,  # a matrix of one row or column is multiplied by gemv or dot, which the mode does not cover
         17, 64, 150, 400)
for n, dtype in itertools.product(sizes, (np.float32, np.float64)):
    a, b = random.standard_normal((n, n + 3), dtype=dtype), random.standard_normal((n + 3, n), dtype=dtype)
    c = a + (1j * b.T).astype(np.complex64 if dtype == np.float32 else np.complex128)
    for product in (a @ b, a @ a.T, a.T @ a, b.T @ a.T, np.stack([a, -a]) @ b, c @ c.T.conj(), c.T @ c,
                    np.tensordot(a, b, 1), np.einsum("ij,jk->ik", a, b, optimize=True), np.linalg.multi_dot([a, b, a])):
        digest.update(np.ascontiguousarray(product).tobytes())
w, x = random.standard_normal((256, 256), dtype=np.float32) / 8, random.standard_normal((256, 64), dtype=np.float32)
for _ in range(50):
    x = w @ x
    x /= np.abs(x).max()
print(digest.hexdigest(), hashlib.sha256(x.tobytes()).hexdigest())
"""
SCIPY = """
import hashlib, numpy as np
from scipy.linalg import blas
random = np.random.default_rng(2)
digest = hashlib.sha256()
for m, n, k in ((5, 7, 9), (60, 70, 300), (300, 200, 260)):
    real = lambda *size: random.standard_normal(size, dtype=np.float32)
    pair = lambda *size: (real(*size) + 1j * real(*size)).astype(np.complex64)
    wide = lambda *size: random.standard_normal(size)
    wide_pair = lambda *size: wide(*size) + 1j * wide(*size)
    for kind, matrix in (("s", real), ("c", pair), ("d", wide), ("z", wide_pair)):
        of = lambda name: getattr(blas, kind + name)
        products = [of("gemm")(1.5, matrix(m, k), matrix(k, n)), of("symm")(1.5, matrix(m, m), matrix(m, n)),
                    of("symm")(1.5, matrix(n, n), matrix(m, n), side=1, lower=1), of("syrk")(2, matrix(m, k)),
                    of("syr2k")(2, matrix(m, k), matrix(m, k), lower=1), of("trmm")(1, matrix(m, m), matrix(m, n)),
                    of("trmm")(1, matrix(n, n), matrix(m, n), side=1, lower=1, trans_a=1, diag=1)]
        if kind in "cz":
            products += [of("hemm")(1.5, matrix(m, m), matrix(m, n)), of("herk")(2, matrix(m, k), trans=2),
                         of("her2k")(2, matrix(m, k), matrix(m, k))]
        for product in products:
            digest.update(np.asfortranarray(product).tobytes("F"))
print(digest.hexdigest())
"""
PROGRAMS = {"numpy": NUMPY, "scipy": SCIPY}


def settings_of_libraries():
    """Yields OpenBLAS with each kernel and number of threads, and then other libraries."""
    for kernel in processor.openblas_kernels():
        for threads in ("1", "2"):
            yield "openblas", {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": threads}
    yield "reference", {}
    yield "blis", {"BLIS_NUM_THREADS": "2"}


def outputs(program, **settings):
    need(has_module(program), f"the system's Python has no {program}")
    return {run(SYSTEM_PYTHON, "-c", PROGRAMS[program], blas=blas, env=env, log=False, **settings).stdout
            for blas, env in settings_of_libraries()}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_computes_the_same_bits_under_every_library_kernel_and_number_of_threads(program):
    assert len(outputs(program, **MODE)) == 1
    assert len(outputs(program)) >= 3, "without the mode, the libraries agree: this test shows nothing"


def by_function(output):
    """Returns the lines of the client `vectors` for each function."""
    found = {}
    for line in output.splitlines():
        name, found_hash = line.split()
        found.setdefault(name, []).append(found_hash)
    return found


def test_every_product_with_a_vector_and_solve_computes_the_same_bits_under_every_library_and_with_fewer_instructions():
    results = [run("vectors", blas_library(blas), blas=blas, env=env, **MODE) for blas, env in settings_of_libraries()]
    results += [run("vectors", blas_library("openblas"), blas="openblas", env={"FP32_MATMUL_INSTRUCTIONS": word}, **MODE)
                for word in ("avx2", "sse2")]
    first, *others = [by_function(result.stdout) for result in results]
    assert len(first) >= 76
    for other in others:
        both = set(first) & set(other)
        assert len(both) >= 60 and not [name for name in both if first[name] != other[name]]
    for result in results:
        assert {decision["how"] for decision in result.vectors if decision["reason"] != "invalid_arguments"} == {"fixed_order"}


def table_of_the_page(column):
    """Returns a column of the table in docs/reproducible.md about the rows of batches."""
    lines = (ROOT / "docs/reproducible.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    index = next(row for row in cells if "torch" in row).index(column)
    return {row[0]: row[index] for row in cells if len(row) == 5 and set(row[1:]) <= {"same", "differs"}}


def test_a_row_has_the_same_bits_in_a_batch_of_any_size():
    need(has_module("numpy"), "the system's Python has no numpy")
    words = [SYSTEM_PYTHON, ROOT / "tests/preload/clients/scripts/rows_of_batches.py", "numpy"]
    kernel = {"OPENBLAS_CORETYPE": processor.openblas_kernels()[0]}
    found = [dict(line.split(": ") for line in run(*words, blas="openblas", env=kernel, log=False, **settings).stdout.splitlines())
             for settings in (MODE, {})]
    assert found[0] == table_of_the_page("numpy, `--reproducible`")
    assert set(found[0].values()) == {"same"} and "differs" in found[1].values()


def test_every_standard_routine_computes_the_same_bits_under_every_library():
    results = [run("level3", blas=blas, **MODE) for blas in LP64_BLAS]
    assert len({result.stdout for result in results}) == 1
    assert len(results[0].stdout.splitlines()) == 387
    for result in results:
        assert {(decision["applied"], decision["how"]) for decision in result.decisions} == {("fp32", "fixed_order")}


def test_every_standard_routine_computes_the_same_bits_with_fewer_instructions():
    results = [run("level3", blas="reference", log=False, env={"FP32_MATMUL_INSTRUCTIONS": word}, **MODE).stdout
               for word in ("", "avx2", "sse2")]
    assert len(set(results)) == 1


# If alpha is zero, OpenBLAS reads NaN in A, but neither the reference BLAS nor the mode does.
@pytest.mark.parametrize("program, blas", [("level3", "openblas"), ("level3", "reference"), ("level3_extensions", "blis"),
                                           ("batches", None), ("weak_batches", "reference"), ("edge_cases", "reference")])
def test_results_are_those_of_the_library_but_for_rounding(program, blas):
    plain = run(program, *(["fp32"] if "level3" in program or program == "batches" else []), blas=blas, preload=False)
    fixed = run(program, *(["fp32"] if "level3" in program or program == "batches" else []), blas=blas, **MODE)
    numbers = 0
    for line, other_line in zip(plain.stdout.splitlines(), fixed.stdout.splitlines(), strict=True):
        (routine, *words), (other_routine, *other_words) = line.split(), other_line.split()
        assert routine == other_routine
        for word, other in zip(words, other_words, strict=True):
            try:
                number, found = (struct.unpack(">f", bytes.fromhex(each))[0] for each in (word, other))
            except (ValueError, struct.error):
                assert word == other
                continue
            numbers += 1
            # Gaps between columns, and triangles that are not to be written, are NaN, and have the same bits.
            near = 1e-4 if "trsm" in routine else 1e-5  # a solve magnifies differences
            assert word == other or abs(number - found) <= near * max(1, abs(number)), (routine, number, found)
    assert numbers > 100


# Errors against a wider type, as shares of |A||B|, over random calls of each routine.
ERRORS = """
import numpy as np
from scipy.linalg import blas
random = np.random.default_rng(3)
chosen = lambda *values: values[random.integers(len(values))]
worst = {}
types = {"s": (np.float32, np.float64), "c": (np.complex64, np.complex128), "d": (np.float64, np.longdouble),
         "z": (np.complex128, np.clongdouble)}
def matrix(kind, *size):
    real = lambda: random.standard_normal(size)
    return np.asfortranarray((real() if kind in "sd" else real() + 1j * real()).astype(types[kind][0]))
def turned(name, a): return a.conj().T if name[:2] == "he" else a.T
def product(name, operands, lower=0, side=0, trans_a=0, diag=0):
    a, *rest = operands
    triangle = np.tril(a) if lower else np.triu(a)
    b = rest[0] if rest else a
    if name == "gemm": return (a.T if trans_a else a) @ b
    if name == "trmm":
        if diag: np.fill_diagonal(triangle, 1)
        triangle = triangle.T if trans_a else triangle
    elif name in ("symm", "hemm"):
        diagonal = np.diag(np.diag(a))
        if name == "hemm": diagonal = diagonal.real
        triangle = triangle - np.diag(np.diag(a)) + turned(name, triangle - np.diag(np.diag(a))) + diagonal
    else:
        whole = a @ turned(name, b) + (b @ turned(name, a) if rest else 0)
        return np.tril(whole) if lower else np.triu(whole)
    return b @ triangle if side else triangle @ b
for call in range(CALLS):
    for kind in "scdz":
        for name in ("gemm", "symm", "hemm", "syrk", "herk", "syr2k", "her2k", "trmm"):
            if kind in "sd" and name.startswith("he"): continue
            m, n, k = (int(size) for size in np.exp(random.uniform(0, np.log(90), 3)))
            k *= chosen(1, 1, 1, 1, 1, 1, 1, 9)
            side, lower, trans, diag = random.integers(0, 2, 4).tolist()
            flags = {"symm": dict(side=side, lower=lower), "hemm": dict(side=side, lower=lower), "gemm": dict(trans_a=trans),
                     "trmm": dict(side=side, lower=lower, trans_a=trans, diag=diag)}.get(name, dict(lower=lower))
            order = n if side else m
            if name == "gemm": operands = matrix(kind, *((k, m) if trans else (m, k))), matrix(kind, k, n)
            elif name in ("symm", "hemm", "trmm"): operands = matrix(kind, order, order), matrix(kind, m, n)
            elif name in ("syrk", "herk"): operands = (matrix(kind, n, k),)
            else: operands = matrix(kind, n, k), matrix(kind, n, k)
            wide = [each.astype(types[kind][1]) for each in operands]
            bound = np.abs(product(name.replace("he", "sy"), [np.abs(each) for each in wide], **flags))
            result = getattr(blas, kind + name)(1.5, *operands, **flags)
            share = np.abs(result - 1.5 * product(name, wide, **flags)) / np.maximum(bound, 1e-30)
            worst.setdefault(kind + name, []).append(float(share.max() if share.size else 0))
for routine, shares in worst.items():
    print(routine, max(shares), float(np.sqrt(np.mean(np.square(shares)))))
"""


def errors(calls, **settings):
    result = run(SYSTEM_PYTHON, "-c", ERRORS.replace("CALLS", str(calls)), log=False, timeout=3000, **settings)
    return {routine: (float(most), float(mean)) for routine, most, mean in map(str.split, result.stdout.splitlines())}


@pytest.mark.parametrize("blas", ["openblas", "reference"])
def test_errors_are_at_most_twice_those_of_the_library(blas):
    need(has_module("scipy"), "the system's Python has no scipy")
    calls = int(os.environ.get("FP32SHIM_RANDOM_PRODUCTS", "400"))  # of each routine
    own, fixed = errors(calls, blas=blas), errors(calls, blas=blas, **MODE)
    assert set(own) == set(fixed) and len(own) == 26
    for routine, (most, mean) in fixed.items():
        assert 0 < most <= 2 * own[routine][0] and 0 < mean <= 2 * own[routine][1], (routine, fixed[routine], own[routine])


def test_eight_threads_at_once_multiply_rightly():
    result = run("hammer", "8", "200", blas="openblas", log=False, **MODE)
    assert result.stdout == "102400 products, 0 wrong\n"


LARGE_AND_FORKED = """
import os, signal, threading, time, numpy as np
random = np.random.default_rng(4)
a = random.standard_normal((700, 700), dtype=np.float32)
wide = random.standard_normal((700, 4000), dtype=np.float32)
products = lambda: (a @ a).tobytes() + (wide @ wide[0]).tobytes() + (wide.T @ a[0]).tobytes()
expected = products()
tasks = lambda: len(os.listdir("/proc/self/task"))
time.sleep(0.1)  # a joined thread may still be ending
before = tasks()
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
failed = []
def check():
    for _ in range(5):
        if products() != expected: failed.append(1)
threads = [threading.Thread(target=check) for _ in range(3)]
for thread in threads: thread.start()
children = []
for _ in range(5):
    # The kernel begins a fork again after a signal, and so may never end it on a busy machine.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    pid = os.fork()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    if pid == 0: os._exit(0 if products() == expected else 1)
    children.append(pid)
for thread in threads: thread.join()
for child in children:
    if os.waitpid(child, 0)[1] != 0: failed.append(2)
signal.setitimer(signal.ITIMER_REAL, 0)
for _ in range(100):
    if tasks() <= before: break  # OpenBLAS ends its own threads before a fork
    time.sleep(0.01)
print(failed, max(0, tasks() - before))
"""


def test_a_large_product_is_the_same_in_threads_and_forked_children_and_leaves_no_thread_behind():
    need(has_module("numpy"), "the system's Python has no numpy")
    many = {"OPENBLAS_NUM_THREADS": "4"}
    result = run(SYSTEM_PYTHON, "-c", LARGE_AND_FORKED, blas="openblas", env=many, log=False, **MODE)
    assert result.stdout == "[] 0\n"


@pytest.mark.parametrize("program", ["faults", "faults_tls"])
def test_threads_of_a_large_product_leave_faults_to_the_handlers_of_the_program(program):
    """Debian's libblas.so.3 does not tell the number of threads, but the libopenblas.so.0 that it needs does. The second
    program has 255,000 bytes of thread-local variables, which lie on the stack of each thread."""
    result = run(program, blas="openblas", env={"OPENBLAS_NUM_THREADS": "2"}, log=False, **MODE)
    value, _, by_others = result.stdout.split()
    assert value == "500"
    if len(os.sched_getaffinity(0)) > 1:  # OpenBLAS starts no more threads than there are processors
        assert by_others == "1"


def test_verify_does_not_vouch_for_a_call_that_only_some_libraries_reject(tmp_path):
    need((BUILD / "bin/fp32shim").exists(), "the command was not built")
    script = """
import ctypes
number, size, name = ctypes.c_float(1), ctypes.c_int(1), ctypes.c_char_p
ctypes.CDLL("libblas.so.3").sgemm_(name(b"R"), name(b"N"), *[ctypes.byref(size)] * 3, *[ctypes.byref(number)] * 2,
    ctypes.byref(size), *[ctypes.byref(number), ctypes.byref(size)] * 2, ctypes.byref(number), ctypes.byref(size))
"""
    recording = tmp_path / "run.fp32rec"
    run(SYSTEM_PYTHON, "-c", script, blas="openblas", env={"FP32_MATMUL_LOG": str(recording)}, log=False, **MODE)
    status, text = verify("--reproducible", recording)
    assert status not in (0, 1) and "Inconclusive: 0 of 1 call" in text and "the library may have multiplied" in text


def test_decisions_below_float32_are_not_previewed_and_say_why():
    decision, = run("cblas_product", blas="reference", precision="medium", **MODE).decisions
    assert (decision["applied"], decision["how"], decision["reason"]) == ("fp32", "fixed_order", "cpu_mode_reproducible")
    decision, = run("cblas_product", blas="reference", precision="native", **MODE).decisions
    assert (decision["applied"], decision["how"], decision["reason"]) == ("fp32", "fixed_order", "as_requested")


def test_run_refuses_to_be_reproducible_while_the_library_is_switched_off():
    need((BUILD / "bin/fp32shim").exists(), "the command was not built")
    words = [BUILD / "bin/fp32shim", "run", "--reproducible", "--", "true"]
    done = subprocess.run(words, env=environment() | {"FP32_MATMUL_DISABLE": "1"}, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "in a fixed order" not in done.stderr and "unset it" in done.stderr


LAPACK = """
import hashlib, numpy as np
random = np.random.default_rng(7)
for dtype in np.float32, np.float64:
    a, b = random.standard_normal((400, 400)).astype(dtype), random.standard_normal((400, 50)).astype(dtype)
    positive = a @ a.T + 400 * np.eye(400, dtype=dtype)
    results = [np.linalg.solve(a, b), np.linalg.cholesky(positive), *np.linalg.qr(a), *np.linalg.svd(a), *np.linalg.eigh(positive),
               np.linalg.inv(a)]
    print(*[hashlib.sha256(np.ascontiguousarray(each).tobytes()).hexdigest()[:16] for each in results])
"""


def test_run_reproducible_gives_lapack_the_same_bits_for_any_number_of_threads():
    need((BUILD / "bin/fp32shim").exists(), "the command was not built")
    need(has_module("numpy"), "the system's Python has no numpy")
    plain = {name: value for name, value in environment(blas="openblas").items() if not name.startswith(("OPENBLAS_", "OMP_"))}
    words = [SYSTEM_PYTHON, "-c", LAPACK]
    both = [[subprocess.run([*command, *words], env=plain | {threads: count}, capture_output=True, text=True, check=True).stdout
             for count in "12"]
            for threads, command in (("OMP_NUM_THREADS", [BUILD / "bin/fp32shim", "run", "-q", "--reproducible", "--"]),
                                     ("OPENBLAS_NUM_THREADS", []))]
    assert both[0][0] == both[0][1]
    if len(os.sched_getaffinity(0)) > 1:  # OpenBLAS starts no more threads than there are processors
        assert both[1][0] != both[1][1], "the number of threads makes no difference: this test shows nothing"
    shown = [SYSTEM_PYTHON, "-c", "import os; print(os.environ['OPENBLAS_NUM_THREADS'], os.environ.get('FP32_MATMUL_THREADS'))"]
    command = [BUILD / "bin/fp32shim", "run", "-q", "--reproducible", "--", *shown]
    for own, expected in (({"OMP_NUM_THREADS": "3,2"}, "1 3\n"), ({"OPENBLAS_NUM_THREADS": "5"}, "5 None\n")):
        assert subprocess.run(command, env=plain | own, capture_output=True, text=True, check=True).stdout == expected


def test_two_recordings_of_other_kernels_and_libraries_have_the_same_results(tmp_path):
    need(has_module("numpy"), "the system's Python has no numpy")
    recordings = []
    for blas, env in (*(("openblas", {"OPENBLAS_CORETYPE": kernel}) for kernel in processor.openblas_kernels()[:2]),
                      ("reference", {})):
        recordings.append(tmp_path / f"{len(recordings)}.fp32rec")
        log = {"FP32_MATMUL_LOG": str(recordings[-1]), "FP32_MATMUL_AUDIT": "fingerprint"}
        run(SYSTEM_PYTHON, "-c", NUMPY, blas=blas, env=env | log, log=False, **MODE)
    for other in recordings[1:]:
        words = [BUILD / "bin/fp32shim", "diff", "--format", "json", recordings[0], other]
        diff = subprocess.run(words, capture_output=True, text=True, check=False)
        assert diff.returncode == 0, diff.stdout + diff.stderr
        found = json.loads(diff.stdout)
        assert found["other_bits"] == 0 and found["same_bits"] > 100, diff.stdout


def verify(*words):
    done = subprocess.run([BUILD / "bin/fp32shim", "verify", *map(str, words)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_verify_says_of_recordings_if_every_product_ran_in_the_fixed_order(tmp_path):
    need((BUILD / "bin/fp32shim").exists(), "the command was not built")
    recordings = {}
    for name, program, settings in (("all", "cblas_product", MODE), ("solves", "level3", MODE), ("none", "cblas_product", {})):
        recordings[name] = tmp_path / name / "run.fp32rec"
        recordings[name].parent.mkdir()
        run(program, blas="reference", env={"FP32_MATMUL_LOG": str(recordings[name])}, log=False, **settings)
    status, text = verify("--reproducible", recordings["all"])
    assert status == 0 and "Shown: the one call of BLAS or cuBLAS on float32 data in 1 recording ran in a fixed order." in text
    assert "inside LAPACK" in text and "and not all of these are known to have had the values" in text
    status, text = verify("--reproducible", recordings["none"])
    assert status == 1 and "Violated: 1 of 1 call in 1 recording ran in another order." in text
    report = subprocess.run([BUILD / "bin/fp32shim", "report", recordings["solves"]], capture_output=True, text=True, check=True)
    assert "In a fixed order: 387 of 387 calls\n" in report.stdout and re.search(r"^fp32shim: [0-9.]+$", report.stdout, re.MULTILINE)
    run("cblas_product", blas="reference", env={"FP32_MATMUL_LOG": str(tmp_path / "three.fp32rec"), "FP32_MATMUL_THREADS": "3"},
        log=False, **MODE)
    report = subprocess.run([BUILD / "bin/fp32shim", "report", tmp_path / "three.fp32rec"], capture_output=True, text=True, check=True)
    assert re.search(r"^fp32shim: [0-9.]+, 3 threads$", report.stdout, re.MULTILINE), report.stdout
    status, text = verify("--reproducible", "--format", "json", recordings["solves"])
    outcome = json.loads(text)
    assert status == 0 and outcome["at_least"] is None and outcome["reproducible"] is True
    assert (outcome["calls_shown"], outcome["violations"]) == (387, [])
    status, text = verify("--reproducible", "--format", "html", recordings["all"])
    assert status == 0 and "All must have run in a fixed order" in text
    assert verify(recordings["all"])[0] == 3, "no floor bound it"


LEARNING = """
import os, subprocess, sys
import numpy as np, scipy.linalg as la
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
random = np.random.default_rng(8)
x, y = random.standard_normal((300, 20)), random.standard_normal(300)
PCA(5, svd_solver="full").fit_transform(x), Ridge().fit(x, y), KMeans(4, n_init=1, random_state=0).fit(x)
x.T @ x, la.blas.dsymm(1, x.T @ x, x.T), la.solve_triangular(np.triu(x[:20]), y[:20])
if sys.argv[1:] == ["alone"]:
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run([sys.executable, "-c", "import numpy; a = numpy.eye(9); a @ a"], env=plain, check=True)
"""


@pytest.mark.parametrize("words, settings, verdict, text", [
    ((), MODE, 0, "Shown: all "), ((), {}, 1, "Violated: "), (("alone",), MODE, 3, "Inconclusive: ")],
    ids=["in the mode", "without the mode", "with a child that is not covered"])
def test_verify_shows_of_a_program_of_numpy_scipy_and_scikit_learn_what_ran_in_the_fixed_order(words, settings, verdict, text,
                                                                                               tmp_path):
    need((BUILD / "bin/fp32shim").exists(), "the command was not built")
    need(has_module("sklearn"), "the system's Python has no scikit-learn")
    log = {"FP32_MATMUL_LOG": str(tmp_path / "run.fp32rec")}
    run(SYSTEM_PYTHON, "-c", LEARNING, *words, blas="openblas", env=log, log=False, **settings)
    status, found = verify("--reproducible", tmp_path)
    assert status == verdict and found.startswith(text), found
    if verdict == 0:  # products of matrices, with vectors, and solves, by callers of all three
        report = subprocess.run([BUILD / "bin/fp32shim", "report", "--top", "0", tmp_path], capture_output=True, text=True, check=True)
        for function in ("cblas_dgemm", "dsyrk", "dsymm_", "dgemv", "ddot", "dtrs"):
            assert function in report.stdout, report.stdout


def test_run_says_what_it_set_and_what_is_not_covered(tmp_path):
    need((BUILD / "bin/fp32shim").exists(), "the command was not built")
    words = [BUILD / "bin/fp32shim", "run", "--reproducible", "--", "sh", "-c", "echo $FP32_MATMUL_CPU $OPENBLAS_CORETYPE"]
    plain = {name: value for name, value in environment().items() if name != "OPENBLAS_CORETYPE"}
    done = subprocess.run(words, env=plain, capture_output=True, text=True, check=True)
    assert "this does not cover products inside LAPACK" in done.stderr
    recording = tmp_path / "run.fp32rec"
    subprocess.run([*words[:3], "--log", recording, "--", CLIENTS / "cblas_product"], check=True, capture_output=True,
                   env=plain | {"LD_LIBRARY_PATH": str(blas_directory("reference"))})
    assert ("under the variables of `run --reproducible`, which were set" in verify("--reproducible", recording)[1]) == (
        "lacks AVX2" not in done.stderr)
    mode, _, kernel = done.stdout.strip().partition(" ")
    assert mode == "reproducible"
    assert f"OPENBLAS_CORETYPE={kernel}" in done.stderr if kernel else "lacks AVX2" in done.stderr
    other = f"{CLIENTS / 'cblas_product'}; env OPENBLAS_NUM_THREADS=4 {SYSTEM_PYTHON} -c 1"  # leaves a mark only
    subprocess.run([*words[:3], "--log", tmp_path / "other.%p.fp32rec", "--", "sh", "-c", other], check=True, capture_output=True,
                   env=plain | {"LD_LIBRARY_PATH": str(blas_directory("reference"))})
    assert "not all of these are known to have had the values" in verify("--reproducible", *tmp_path.glob("other.*"))[1]
    kept = subprocess.run(words, env=plain | {"OPENBLAS_CORETYPE": "Prescott"}, capture_output=True, text=True, check=True)
    assert kept.stdout == "reproducible Prescott\n"
    if kernel:
        says = "not set, because the environment has them; they must be the same on all machines:"
        assert f"{says} OPENBLAS_CORETYPE=Prescott" in kept.stderr
        threads = subprocess.run(words, env=plain | {"OPENBLAS_NUM_THREADS": "2"}, capture_output=True, text=True, check=True)
        assert f"{says} OPENBLAS_NUM_THREADS=2" in threads.stderr


@pytest.mark.parametrize("part", ["fork", "ids", "malloc", "trap", "flags", "count"])
def test_threads_of_a_product_do_no_harm_that_one_thread_would_not_do(part):
    result = run(client("helper_threads"), part, blas="openblas", log=False, timeout=600,
                 env={"FP32_MATMUL_THREADS": "4", "OPENBLAS_NUM_THREADS": "1"}, **MODE)
    assert result.stdout == "ok\n"


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("part", ["first", "locale"])
def test_the_first_product_may_be_in_a_handler_that_interrupted_malloc_or_setlocale(part, log):
    for _ in range(10):  # malloc is interrupted in about every third run
        assert run(client("helper_threads"), part, blas="openblas", log=log, timeout=600).stdout == "ok\n"


def test_products_of_many_fibers_on_one_thread_do_not_share_memory():
    assert run(client("fibers"), blas="reference", log=False, timeout=600, env={"FP32_MATMUL_THREADS": "1"}, **MODE).stdout == "0\n"
