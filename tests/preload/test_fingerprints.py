"""Fingerprints: they are of what the program got, and by them `fp32shim diff` finds what differs, and how much."""

import json
import os
import subprocess

import pytest

from shim import BUILD, SYSTEM_PYTHON, blas_library, client, has_module, need, python, run

COMMAND = BUILD / "bin/fp32shim"
FINGERPRINT = {"FP32_MATMUL_AUDIT": "fingerprint"}
numpy = pytest.importorskip("numpy")


@pytest.fixture
def diff(tmp_path):
    """Runs `fp32shim diff` on two recordings of tmp_path. Checks its exit status, and returns its JSON."""
    need(COMMAND.exists(), f"{COMMAND} was not built")

    def run_diff(*arguments, status=1, a="a", b="b"):
        done = subprocess.run([COMMAND, "diff", "--format", "json", *map(str, arguments), tmp_path / f"{a}.fp32rec",
                               tmp_path / f"{b}.fp32rec"], capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return json.loads(done.stdout)

    return run_diff


def of_all_routines(tmp_path, name, blas="openblas", precision="native", threads=1, **variables):
    """Records all kinds of products. Returns the results that each of them wrote."""
    out = tmp_path / f"{name}.npz"
    more = ["extensions"] if blas == "blis" else []
    mode = 'schema = 1\n[cpu]\nmode = "emulate"\n'
    run("fingerprinted_products.py", blas_library(blas), out, *more, blas=blas, precision=precision, policy=mode,
        log=tmp_path / f"{name}.fp32rec", env={**FINGERPRINT, "OPENBLAS_NUM_THREADS": str(threads), **variables})
    with numpy.load(out) as saved:
        return [saved[f"arr_{i}"] for i in range(len(saved.files) - 1)]


def expect_estimates(report, before, after):
    """Compares each estimate of a report with the results that two programs have saved."""
    found = {group["largest"]["a"]["number"]: group for group in report["groups"]}
    assert len(found) == report["aligned"]
    common = [(x, y) for x, y in zip(before, after)]
    assert report["aligned"] == len(common)
    for number, (x, y) in enumerate(common, 1):
        group = found[number]
        same = x.tobytes() == y.tobytes()
        assert (group["other_bits"] == 0) == same, group
        assert group["products"] == 1
        true = numpy.linalg.norm(y - x) / numpy.linalg.norm(x)
        assert true / 2 <= group["largest"]["difference"] <= true * 2, (group["largest"], true)
    return sum(x.tobytes() != y.tobytes() for x, y in common)


def test_estimates_are_within_a_factor_of_two_for_every_routine_of_two_libraries(tmp_path, diff):
    before = of_all_routines(tmp_path, "a")
    after = of_all_routines(tmp_path, "b", blas="blis")
    report = diff()
    assert expect_estimates(report, before, after[:len(before)]) > 20
    assert report["a"]["unaligned"] == 0 and report["b"]["unaligned"] == len(after) - len(before) == 2
    assert report["largest"]["difference"] < 1e-5 and report["first_beyond_bound"] is None


@pytest.mark.parametrize("precision, low, high", [("high", 1e-4, 1e-3), ("medium", 1e-3, 1e-2)])
def test_estimates_are_within_a_factor_of_two_for_every_routine_of_two_precisions(tmp_path, diff, precision, low, high):
    before = of_all_routines(tmp_path, "a", blas="blis")
    after = of_all_routines(tmp_path, "b", blas="blis", precision=precision)
    report = diff("--bound", low)
    solves = 2  # trsm is never lowered
    assert expect_estimates(report, before, after) == len(before) - solves
    assert report["a"]["unaligned"] == report["b"]["unaligned"] == 0
    differences = [group["largest"]["difference"] for group in report["groups"] if group["other_bits"]]
    assert low < min(differences) and max(differences) < high
    assert report["beyond_bound"] == len(before) - solves
    first = report["first_beyond_bound"]
    assert (first["a"]["ran_at"], first["b"]["ran_at"]) == ("fp32", "tf32" if precision == "high" else "bf16")


def test_the_same_program_twice_has_the_same_fingerprints(tmp_path, diff):
    of_all_routines(tmp_path, "a")
    of_all_routines(tmp_path, "b")
    report = diff(status=0)
    assert report["aligned"] == report["same_bits"] > 20 and report["largest"] is None


@pytest.mark.parametrize("blas", ["openblas", "blis"])
def test_operands_are_the_same_whatever_no_routine_reads_and_other_ones_after_one_bit(tmp_path, diff, blas):
    of_all_routines(tmp_path, "a", blas, UNREAD="5")
    of_all_routines(tmp_path, "b", blas, precision="high", UNREAD="6")
    report = diff()
    assert report["same_operands"] == report["other_bits"] > 20 and report["unknown_operands"] == 0
    assert report["first_other_bits"]["same_operands"] and report["first_other_bits"]["other_operands"] == []
    before = of_all_routines(tmp_path, "c", blas)
    of_all_routines(tmp_path, "d", blas, CHANGED="1")
    report = diff(a="c", b="d")
    routines = [group["largest"] for group in report["groups"]]
    plain = [one for one in routines if one["same_operands"]]  # numpy's product, and the batches of BLIS
    assert len(plain) == (1 if blas == "openblas" else 3) and len(routines) == len(before)
    assert all(one["other_operands"] == ["a"] for one in routines if not one["same_operands"])


CHAIN = """
import os, numpy as np
from scipy.linalg.blas import sgemm
rng = np.random.default_rng(7)
x, w = (np.asfortranarray(rng.standard_normal((96, 96)).astype("f")) for _ in range(2))
c = np.ones((96, 96), dtype="f", order="F")
alpha = float(os.environ.get("ALPHA", "1"))
y = sgemm(1.0, x, w)
z = sgemm(1.0, y, w)
sgemm(alpha, w, w, beta=1.0, c=c * z[0, 0])
"""


def test_the_product_with_another_result_from_the_same_operands_is_the_cause_of_the_others(tmp_path, diff):
    need(has_module("scipy"), "no scipy")
    rule = 'schema = 1\n[cpu]\nmode = "emulate"\n'
    for name, precision in (("a", "native"), ("b", "high")):
        run(SYSTEM_PYTHON, "-c", CHAIN, log=tmp_path / f"{name}.fp32rec", env=FINGERPRINT, precision=precision, policy=rule)
    report = diff()
    assert (report["other_bits"], report["same_operands"], report["unknown_operands"]) == (3, 1, 0)
    assert report["first_other_bits"]["position"] == report["first_same_operands"]["position"] == 1
    by_position = {step["largest"]["position"]: step["largest"]["other_operands"] for step in report["growth"]}
    assert by_position == {1: [], 2: ["a"], 3: ["c"]}
    run(SYSTEM_PYTHON, "-c", CHAIN, log=tmp_path / "c.fp32rec", env={**FINGERPRINT, "ALPHA": "2"})
    report = diff(b="c")
    assert (report["other_bits"], report["same_operands"]) == (1, 0)
    assert report["first_other_bits"]["other_operands"] == ["alpha or beta"] and report["first_same_operands"] is None
    assert "Inputs: other ones for each result that differs: the difference begins outside of the products that are compared" in report["remarks"]
    done = subprocess.run([COMMAND, "diff", tmp_path / "a.fp32rec", tmp_path / "b.fp32rec"], capture_output=True, text=True, check=False)
    text = done.stdout
    assert text.startswith("The difference begins at sgemm_ 96x96x96: equal ") and (
        ": equal inputs, other bits; A ran it at fp32 (native), B at tf32 (high); 2 more differ, with other inputs\n") in text
    assert "\n  operands: the same bits\n" in text.split("First product with different bits: ")[1].split("\n\n")[0] + "\n"


ROW = """
import os, numpy as np
from scipy.linalg.blas import sgemm
row = np.ones((1, 8), "f", order="F")
row[0, 3] = float(os.environ["VALUE"])
sgemm(1.0, row, np.ones((8, 5), "f", order="F"))
"""


def test_an_operand_of_one_row_is_another_one_after_a_change(tmp_path, diff):
    need(has_module("scipy"), "no scipy")
    for name, value in (("a", "1"), ("b", "2")):
        run(SYSTEM_PYTHON, "-c", ROW, log=tmp_path / f"{name}.fp32rec", env={**FINGERPRINT, "VALUE": value})
    assert diff()["first_other_bits"]["other_operands"] == ["a"]


THREADED = """
import numpy as np, sys
rng = np.random.default_rng(3)
results = []
for size in range(300, 640, 20):
    a, b = (rng.standard_normal((size, size + 7)).astype(np.float32) for _ in range(2))
    results.append((a @ b.T).ravel().astype(np.float64))
np.savez(sys.argv[1], *results)
"""


def test_one_thread_against_two_is_what_numpy_finds(tmp_path, diff):
    results = []
    for name, threads in (("a", "1"), ("b", "2")):
        run(SYSTEM_PYTHON, "-c", THREADED, tmp_path / f"{name}.npz", log=tmp_path / f"{name}.fp32rec",
            env={**FINGERPRINT, "OPENBLAS_NUM_THREADS": threads})
        with numpy.load(tmp_path / f"{name}.npz") as saved:
            results.append([saved[file] for file in saved.files])
    differ = [x.tobytes() != y.tobytes() for x, y in zip(*results)]
    report = diff(status=1 if any(differ) else 0)
    assert report["aligned"] == len(differ) and report["other_bits"] == sum(differ)
    expect_estimates(report, *results)


MANY = """
import numpy as np, sys
count, changed, inserted = map(int, sys.argv[1:])
rng = np.random.default_rng(1)
operands = [rng.standard_normal((16, 16)).astype(np.float32) for _ in range(12)]
for number in range(1, count + 1):
    if number == inserted:
        operands[10] @ operands[11]
    a, b = operands[number % 7], operands[number % 5 + 1]
    if number == changed:
        exact = np.einsum("ij,jk", a.astype(np.float64), b.astype(np.float64))  # not by the BLAS
        a = a.copy()
        a[3, 5] += np.float32(1e-3)
        print(np.linalg.norm(np.einsum("ij,jk", a.astype(np.float64), b.astype(np.float64)) - exact) / np.linalg.norm(exact))
    c = a @ b
"""


@pytest.mark.parametrize("inserted", [0, 3000, 9000])
def test_one_changed_element_among_ten_thousand_products_is_found_at_that_product(tmp_path, diff, inserted):
    run(SYSTEM_PYTHON, "-c", MANY, "10000", "0", "0", log=tmp_path / "a.fp32rec", env=FINGERPRINT)
    changed = run(SYSTEM_PYTHON, "-c", MANY, "10000", "6543", str(inserted), log=tmp_path / "b.fp32rec", env=FINGERPRINT)
    report = diff()
    assert (report["aligned"], report["other_bits"]) == (10000, 1)
    assert (report["a"]["unaligned"], report["b"]["unaligned"]) == (0, 1 if inserted else 0)
    first = report["first_other_bits"]
    assert (first["position"], first["a"]["number"]) == (6543, 6543)
    assert first["b"]["number"] == 6543 + (inserted == 3000)
    true = float(changed.stdout)
    assert true / 2 <= first["difference"] <= 2 * true


def test_threads_of_one_program_are_compared_each_with_its_own(tmp_path, diff):
    code = """
import numpy as np, sys, threading
def work(size):
    rng = np.random.default_rng(size)
    for _ in range(200):
        a = rng.standard_normal((size, size)).astype(np.float32)
        a @ a
threads = [threading.Thread(target=work, args=(size,)) for size in sys.argv[1:] for size in [int(size)]]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    run(SYSTEM_PYTHON, "-c", code, "12", "20", "33", log=tmp_path / "a.fp32rec", env=FINGERPRINT)
    run(SYSTEM_PYTHON, "-c", code, "33", "12", "20", log=tmp_path / "b.fp32rec", env=FINGERPRINT)
    report = diff(status=0)
    assert report["same_bits"] == 600


def test_results_errno_and_rounding_are_those_without_fingerprints(blas, tmp_path, diff):
    for program in ("level3", "level3_extensions" if blas == "blis" else "cblas_product"):
        arguments = ["fp32"] if program.startswith("level3") else []
        plain = run(program, *arguments, blas=blas, log=False)
        log = tmp_path / f"{program}.fp32rec"
        same = run(program, *arguments, blas=blas, log=log, env=FINGERPRINT)
        assert (same.stdout, same.stderr) == (plain.stdout, plain.stderr)
        assert diff(status=0, a=program, b=program)["a"]["fingerprints"] > 0


def test_calls_that_multiply_nothing_or_are_invalid_have_no_fingerprint(tmp_path, diff):
    code = """
import ctypes, numpy as np, sys
blas = ctypes.CDLL(sys.argv[1])
def sgemm(m, n, k, alpha, lda):
    x = np.ones((8, 8), np.float32)
    integer = lambda value: ctypes.byref(ctypes.c_int(value))
    real = lambda value: ctypes.byref(ctypes.c_float(value))
    at, trans = x.ctypes.data_as(ctypes.c_void_p), ctypes.c_char_p(b"N")
    blas.sgemm_(trans, trans, integer(m), integer(n), integer(k), real(alpha), at, integer(lda), at, integer(8), real(1), at, integer(8))
for sizes in ((8, 8, 8, 1, 8), (0, 8, 8, 1, 8), (8, 8, 0, 1, 8), (8, 8, 8, 0, 8), (8, 8, 8, 1, 1)):
    try:
        sgemm(*sizes)
    except (SystemError, ValueError):  # numpy's xerbla_
        assert sizes[-1] == 1
"""
    for name in "ab":
        run(SYSTEM_PYTHON, "-c", code, blas_library("openblas"), log=tmp_path / f"{name}.fp32rec", env=FINGERPRINT)
    report = diff(status=0)
    assert report["a"] == {**report["a"], "calls": 5, "fingerprints": 1, "without_fingerprint": 4, "lost": 0}


NAN = """
import numpy as np, sys
a = np.ones((40, 40), np.float32)
for bad in (0, np.nan, np.inf):
    b = a.copy()
    b[5, 7] = bad if sys.argv[1] == "b" else 0
    a @ b
"""


def test_nan_and_infinity_are_an_infinite_difference_and_the_same_ones_are_none(tmp_path, diff):
    for name, argument in (("a", "a"), ("b", "b"), ("c", "b")):
        result = run(SYSTEM_PYTHON, "-c", NAN, argument, log=tmp_path / f"{name}.fp32rec", env=FINGERPRINT)
        assert result.stderr == ""
    report = diff()
    assert report["other_bits"] == 2 and report["first_other_bits"]["difference"] is None
    assert diff(a="b", b="c", status=0)["same_bits"] == 3


def test_a_forked_child_and_a_second_process_have_fingerprints_of_their_own(tmp_path):
    code = """
import numpy as np, os
a = np.ones((16, 16), np.float32)
a @ a
child = os.fork()
if child == 0:
    a @ a; a @ (2 * a)
    os._exit(0)
os.waitpid(child, 0)
a @ (3 * a)
"""
    for name in "ab":
        (tmp_path / name).mkdir()
        run(SYSTEM_PYTHON, "-c", code, log=tmp_path / name / "run.%p.fp32rec", env=FINGERPRINT)
    done = subprocess.run([COMMAND, "diff", "--format", "json", tmp_path / "a", tmp_path / "b"], capture_output=True, text=True,
                          check=True)
    report = json.loads(done.stdout)
    assert (report["aligned"], report["a"]["processes"], report["a"]["recordings"]) == (4, 2, 2)


def test_without_a_recording_one_line_says_that_there_are_none(tmp_path):
    need(has_module("numpy"), "the system's Python has no numpy")
    code = "import numpy as np; a = np.ones((8, 8), 'f'); a @ a; a @ a"
    said = "fp32shim: audit: fingerprints are kept only in recordings; set FP32_MATMUL_LOG=NAME.fp32rec\n"
    assert python(code, log=False, env=FINGERPRINT).stderr == said
    assert python(code, log=tmp_path / "run.jsonl", env=FINGERPRINT).stderr == said
    assert python(code, log=tmp_path / "run.fp32rec", env=FINGERPRINT).stderr == ""
    assert python(code, log=False, env={**FINGERPRINT, "FP32_MATMUL_DISABLE": "1"}).stderr == ""


def test_the_policy_asks_for_them_too_and_a_full_recording_counts_those_that_it_lost(tmp_path, diff):
    policy = 'schema = 1\n[audit]\nfingerprint = true\n[log]\nmax_size = "1MiB"\n'
    for name in "ab":
        run(SYSTEM_PYTHON, "-c", MANY, "8000", "0", "0", log=tmp_path / f"{name}.fp32rec", policy=policy)
    report = diff()
    a = report["a"]
    assert a["lost"] > 1000 and a["fingerprints"] > 400 and a["fingerprints"] + a["lost"] == 8000
    assert report["same_bits"] == report["aligned"] == a["fingerprints"]
    assert os.path.getsize(tmp_path / "a.fp32rec") <= 1 << 20


NEW_SIZES = """
import numpy as np
a = np.ones((80, 80), np.float32)
for i in range(4000):
    a[:8, :8] @ a[:8, :8]
for m in range(2, 81):
    a[:m] @ a
"""


def test_decisions_that_are_new_when_fingerprints_have_filled_the_recording_are_kept(tmp_path):
    log = tmp_path / "run.fp32rec"
    run(SYSTEM_PYTHON, "-c", NEW_SIZES, log=log, policy='schema = 1\n[audit]\nfingerprint = true\n[log]\nmax_size = "1MiB"\n')
    report = json.loads(subprocess.run([COMMAND, "report", "--format", "json", log], capture_output=True, check=True).stdout)
    assert report["totals"]["calls"] == 4079 == sum(row["calls"] for row in report["rows"])
    assert {row["m"] for row in report["rows"]} >= set(range(2, 80))


@pytest.mark.parametrize("words", [["small_stack", "LIBRARY", "direct", "16384"], ["forks", "busy"], ["forks", "inside"],
                                   ["hammer", "4", "20"], ["upper_halves"], ["edge_cases"]])
def test_small_stacks_forks_threads_and_vector_registers_come_to_no_harm(words, tmp_path):
    words = [client("libfake_b.so") if word == "LIBRARY" else word for word in words]
    blas = None if words[0] in ("small_stack", "forks") else "openblas"
    plain = run(*words, preload=False, blas=blas)
    same = run(*words, log=tmp_path / "run.%p.fp32rec", env=FINGERPRINT, blas=blas)
    assert (same.stdout, same.stderr) == (plain.stdout, plain.stderr)
    both = run(*words, precision="high", cpu="emulate", log=tmp_path / "both.%p.fp32rec", env={"FP32_MATMUL_AUDIT": "fingerprint,1"},
               blas=blas)
    assert both.stdout == run(*words, precision="high", cpu="emulate", log=False, blas=blas).stdout


def test_a_reload_begins_and_ends_fingerprints(tmp_path):
    policy, recording = tmp_path / "policy.toml", tmp_path / "run.fp32rec"
    policy.write_text("schema = 1\n")
    code = """
import ctypes, numpy as np, pathlib, sys
shim = ctypes.CDLL(None)
a = np.ones((16, 16), np.float32)
for setting in ("false", "true", "false"):
    pathlib.Path(sys.argv[1]).write_text(f"schema = 1\\n[audit]\\nfingerprint = {setting}\\n")
    assert shim.fp32shim_reload_policy() == 0
    a @ a; a @ (a * 2)
"""
    run(SYSTEM_PYTHON, "-c", code, policy, log=recording, env={"FP32_MATMUL_POLICY": policy})
    done = subprocess.run([COMMAND, "diff", "--format", "json", recording, recording], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    assert (report["a"]["calls"], report["a"]["fingerprints"], report["aligned"]) == (6, 2, 2)
