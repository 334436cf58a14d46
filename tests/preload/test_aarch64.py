"""The other architecture: the shim and some clients, cross-built, under an emulated processor.

Its entry points are assembly of their own (shim/entry/aarch64.S), and its calling convention, address tags and memory
order are not x86-64's. There is no aarch64 BLAS on this system, so the clients have one of their own (aarch64/).
"""

import collections
import fnmatch
import json
import os
import pathlib
import platform
import re
import subprocess
import tempfile

import pytest

import shim
from shim import (BUILD, HERE, LOADER_HOOKS, MODE_HOOKS, RANGE_HOOKS, ROOT, STARTER_HOOKS, Result, environment, explain, intercepted_functions, need,
                  read_log, tool)

SYSROOT = pathlib.Path("/usr/aarch64-linux-gnu")
TOOLCHAIN = ROOT / "cmake/aarch64-linux-gnu.cmake"
SHIM = BUILD / "aarch64/shim/lib/libfp32shim.so"
CLIENTS = BUILD / "aarch64/clients"

# Settings for each path of a call through an entry point: a jump, a governed call that is forwarded, a rounded call.
WAYS = {"forwarded": {"log": None}, "logged": {}, "rounded": {"log": None, "precision": "high", "cpu": "emulate"}}


def cross_build(source, build, *arguments, target="all"):
    """Configures and builds with the distribution's cross compiler. Later calls build only what has changed."""
    commands = [["cmake", "-S", source, "-B", build, "-G", "Ninja", f"--toolchain={TOOLCHAIN}", *arguments],
                ["cmake", "--build", build, "--parallel", "2", "--target", target]]
    for command in commands:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


@pytest.fixture(scope="module", autouse=True)
def cross_built():
    need(platform.machine() != "aarch64", "this system is aarch64: the other tests are about it")
    for name, package in {"aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu", "qemu-aarch64": "qemu-user",
                          "cmake": "cmake", "ninja": "ninja-build"}.items():
        tool(name, package)
    # Built as shipped, except for the optimiser's slow passes.
    cross_build(ROOT, BUILD / "aarch64/shim", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
                "-DFP32SHIM_COMMAND=OFF", "-DFP32SHIM_TESTS=OFF", "-DFP32SHIM_BENCH=OFF", "-DFP32SHIM_WERROR=ON", target="fp32shim")
    cross_build(HERE / "aarch64", CLIENTS)


def run(program, *args, preload=True, log=True, precision=None, cpu=None, policy=None, check=True):
    """Runs a cross-built client, like shim.run()."""
    with tempfile.TemporaryDirectory(prefix="fp32shim-test-") as scratch:
        log_file = pathlib.Path(scratch, "decisions.jsonl")
        policy_file = None
        if policy is not None:
            policy_file = pathlib.Path(scratch, "policy.toml")
            policy_file.write_text(policy)
        # The emulator passes its environment on, but must not preload an aarch64 library itself.
        variables = environment(precision=precision, cpu=cpu, policy=policy_file, log=log_file if log else None)
        words = ["qemu-aarch64", "-L", str(SYSROOT), *(["-E", f"LD_PRELOAD={SHIM}"] if preload else []),
                 str(CLIENTS / program), *map(str, args)]
        finished = subprocess.run(words, env=variables, cwd=CLIENTS, timeout=600, text=True, check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        result = Result(finished.stdout, finished.stderr, finished.returncode, read_log(log_file))
    if check:
        assert finished.returncode == 0, f"{' '.join(words)} ended with {finished.returncode}\n{explain(result)}"
    return result


def run_both(program, *args, **keywords):
    """Runs a client without the shim and under it. Both must print the same. Returns the run under the shim."""
    unshimmed = run(program, *args, preload=False, log=False)
    shimmed = run(program, *args, **keywords)
    assert shimmed.stdout == unshimmed.stdout, explain(shimmed)
    return shimmed


def test_the_library_needs_only_the_c_library_and_exports_only_the_table():
    dynamic = subprocess.run(["aarch64-linux-gnu-readelf", "-dW", SHIM], capture_output=True, text=True, check=True)
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic.stdout))
    assert needed <= {"libc.so.6", "libm.so.6", "ld-linux-aarch64.so.1"}
    assert "TEXTREL" not in dynamic.stdout
    symbols = subprocess.run(["aarch64-linux-gnu-nm", "-D", "--defined-only", SHIM], capture_output=True, text=True,
                             check=True)
    exported = {line.split()[-1] for line in symbols.stdout.splitlines()}
    assert intercepted_functions() <= exported
    others = exported - intercepted_functions() - LOADER_HOOKS - MODE_HOOKS - RANGE_HOOKS - STARTER_HOOKS
    assert not [name for name in others if not fnmatch.fnmatchcase(name, "fp32shim_*")]


PRODUCTS = ["sgemm_", "sgemm", "cblas_sgemm", "cblas_sgemm_batch_strided", "cblas_cherk"]


@pytest.mark.parametrize("program", ["products", "products_ilp64"])
@pytest.mark.parametrize("pointers", [[], ["tagged"]], ids=["plain pointers", "tagged pointers"])
@pytest.mark.parametrize("log", [False, True], ids=["forwarded", "logged"])
def test_products_are_bitwise_the_same(program, pointers, log):
    result = run_both(program, "fp32", *pointers, log=log)
    if not log:
        return
    assert [decision["function"] for decision in result.decisions] == PRODUCTS
    provider = {"products": "libnaive_blas.so", "products_ilp64": "libnaive_ilp64.so"}[program]
    for decision in result.decisions:
        columns = 5
        rows = columns if decision["function"] == "cblas_cherk" else 7
        batch = 3 if "batch" in decision["function"] else 1
        assert (decision["m"], decision["n"], decision["k"], decision["batch"]) == (rows, columns, 9, batch)
        assert decision["reason"] == "as_requested"
        assert (decision["caller"], decision["provider"]) == (program, provider)


VECTORS = "schema = 1\n[log]\nvectors = true\n"


@pytest.mark.parametrize("settings", [
    {"log": False}, {"policy": VECTORS}, {"policy": VECTORS + "[audit]\nfingerprint = true\nnonfinite = true\n"}],
    ids=["forwarded", "logged", "examined"])
def test_functions_that_return_numbers_return_the_same(settings):
    result = run_both("vectors", CLIENTS / "libnaive_vectors.so", **settings)
    names = [line.split()[0] for line in result.stdout.splitlines()]
    assert len(set(names)) == 20
    if settings.get("log", True):
        assert [decision["function"] for decision in result.vectors] == names


@pytest.mark.parametrize("precision, applied", [("high", "tf32"), ("medium", "bf16")])
@pytest.mark.parametrize("program", ["products", "products_ilp64"])
@pytest.mark.parametrize("pointers", [[], ["tagged"]], ids=["plain pointers", "tagged pointers"])
def test_emulation_is_bitwise_the_product_of_operands_rounded_beforehand(program, pointers, precision, applied):
    rounded_beforehand = run(program, applied, preload=False, log=False)
    for log in (False, True):
        result = run(program, "fp32", *pointers, precision=precision, cpu="emulate", log=log)
        assert result.stdout == rounded_beforehand.stdout
        assert [decision["applied"] for decision in result.decisions] == [applied] * (5 if log else 0)


@pytest.mark.parametrize("program, arguments", [("products", ["fp32"]), ("products", ["fp32", "tagged"]), ("large_products", [])])
def test_the_mode_reproducible_computes_the_bits_of_this_processor(program, arguments, tmp_path):
    library = tmp_path / "libnaive_blas.so"
    for words in (["-shared", "-fPIC", HERE / "aarch64/naive_blas.c", "-o", library],
                  [HERE / f"aarch64/{program}.c", library, "-o", tmp_path / program, "-lm", f"-Wl,-rpath,{tmp_path}"]):
        subprocess.run([tool("cc", "gcc"), "-O2", *map(str, words)], check=True)
    here = shim.run(tmp_path / program, *arguments[:1], log=False, cpu="reproducible")  # tags are for aarch64 only
    there = run(program, *arguments, cpu="reproducible")
    assert there.stdout == here.stdout != run(program, *arguments, preload=False, log=False).stdout
    assert {decision["how"] for decision in there.decisions} == {"fixed_order"}


def test_random_calls_of_every_routine_have_the_bits_of_this_processor():
    """On aarch64, the BLAS is a library whose functions compute nothing."""
    words = [1, os.environ.get("FP32SHIM_RANDOM_PRODUCTS", "10")]
    here = shim.run("same_bits", shim.blas_library("reference"), *words, blas="reference", log=False, cpu="reproducible")
    there = run("same_bits", CLIENTS / "libsame_bits_stubs.so", *words, log=False, cpu="reproducible")
    assert there.stdout == here.stdout and len(here.stdout.splitlines()) == 84 * int(words[1])


@pytest.mark.parametrize("level", ["summary", "calls"])
def test_recorded_calls_are_counted_each_under_its_own_row(tmp_path, level):
    """This system's command reads the recordings, which say what processor wrote them."""
    command = BUILD / "bin/fp32shim"
    need(command.exists(), f"{command} was not built")
    recording = tmp_path / "run.fp32rec"
    plain = run("mixed_products", 20000, preload=False, log=False)
    words = ["qemu-aarch64", "-L", SYSROOT, "-E", f"LD_PRELOAD={SHIM}", "-E", f"FP32_MATMUL_LOG={recording}",
             "-E", f"FP32_MATMUL_LOG_LEVEL={level}", CLIENTS / "mixed_products", "20000"]
    done = subprocess.run(list(map(str, words)), env=environment(), cwd=CLIENTS, timeout=600, text=True, check=True,
                          capture_output=True)
    assert done.stdout == plain.stdout
    need("MADV_WIPEONFORK" not in done.stderr, "this qemu-aarch64 has no MADV_WIPEONFORK, without which nothing is recorded")
    assert done.stderr == ""
    did, recorded, timed = collections.Counter(), collections.Counter(), 0
    for line in plain.stdout.splitlines():
        if "xerbla_" in line:  # the message of xerbla_ contains only N
            continue
        function, m, n, k, trans_a, trans_b, _, _, count = line.split()
        did[function, int(m), int(n), int(k), trans_a, trans_b] += int(count)
    report = subprocess.run([command, "report", "--format", "json", recording], text=True, check=True,
                            capture_output=True)
    for row in json.loads(report.stdout)["rows"]:
        recorded[row["function"], row["m"], row["n"], row["k"], row["trans_a"], row["trans_b"]] += row["calls"]
        timed += row["timed_calls"]
    assert timed < 20000, "no call was short enough to be counted in passing"
    assert did.total() == 20000 and recorded == did


def test_native_stacks_are_those_of_backtrace(tmp_path):
    printer = BUILD / "tests/clients/print_call_paths"
    need(printer.exists(), f"{printer} was not built")
    recording = tmp_path / "run.fp32rec"
    words = ["qemu-aarch64", "-L", SYSROOT, "-E", f"LD_PRELOAD={SHIM}", "-E", f"FP32_MATMUL_LOG={recording}",
             "-E", "FP32_MATMUL_WHERE=native:64", CLIENTS / "native_stacks", "kinds", CLIENTS / "librelay.so"]
    done = subprocess.run(list(map(str, words)), env=environment(), timeout=600, text=True, check=True, capture_output=True)
    need("MADV_WIPEONFORK" not in done.stderr, "this qemu-aarch64 has no MADV_WIPEONFORK, without which nothing is recorded")
    said = collections.defaultdict(set)
    for line in done.stdout.splitlines():
        size, *locations = line.split("\t")
        offsets = [int(location.rpartition("+")[2], 16) if location != "-" else None for location in locations]
        if int(size) in (11, 12):  # frame behind the kernel's: the recorded address is one higher than the interrupted one
            offsets[offsets.index(None) + 1] += 1
        said[int(size)].add(tuple(offset for offset in offsets if offset is not None))
    paths = subprocess.run([printer, recording], check=True, capture_output=True, text=True).stdout
    found = collections.defaultdict(set)
    for path in map(json.loads, paths.splitlines()):
        found[path["m"]].add(tuple(frame["offset"] for frame in path["frames"] if frame["file"])[1:])
    assert found == said and len(said) == 14


@pytest.mark.parametrize("stride", [256, 272, 1 << 16])
def test_ten_call_sites_at_any_addresses_take_the_short_way(stride):
    result = run("runtime_code", "places", 10, stride, 3, log=False)
    assert result.stdout == "10 deep calls\n0 deep calls\n0 deep calls\n"


def test_a_policy_sees_the_sizes():
    policy = 'schema = 1\ncpu.mode = "emulate"\n[[rule]]\nname = "batches"\nprecision = "high"\nwhen = { batch = 3 }\n'
    rules = {decision["function"]: decision["rule"] for decision in run("products", "fp32", policy=policy).decisions}
    assert rules == {name: "batches" if "batch" in name else None for name in PRODUCTS}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("client", ["doubles_client", "other_sgemm_client"])
@pytest.mark.parametrize("library", ["", "_beside_blas"])
def test_functions_that_only_share_a_name_with_blas_get_every_argument(client, library, way):
    assert not run_both(client + library, **WAYS[way]).decisions


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", ["backtrace", "throw"])
def test_the_stack_can_be_unwound_through_a_running_product(what, way):
    result = run_both("frames", what, **WAYS[way])
    assert ("the stack reaches main" in result.stdout) == (what == "backtrace")
    assert "the stack ends before main" not in result.stdout


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("xerbla", ["return", "throw", "jump"])
def test_xerbla_may_return_throw_or_jump(xerbla, way):
    result = run_both("leaves", xerbla, **WAYS[way])
    good = [decision for decision in result.decisions if decision["reason"] != "invalid_arguments"]
    assert len(good) == (3 if way == "logged" else 0), "products after an exception or a jump are seen as before"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", ["errno", "signal"])
def test_errno_and_signal_handlers_are_left_alone(what, way):
    run_both("leaves", what, **WAYS[way])


@pytest.mark.parametrize("kind", ["lazy", "now"])
def test_weak_references_to_missing_functions_are_null(kind):
    output = run_both(f"weak_program_{kind}", log=False).stdout
    assert output.count(": sgemm_ code constant variable") == 4 and output.count(": dgemm_64_ - - -") == 4


@pytest.mark.parametrize("way", WAYS)
def test_two_libraries_keep_two_pointers(way):
    libraries = [CLIENTS / "libnaive_a.so", CLIENTS / "libnaive_b.so"]
    unshimmed, shimmed = (run("lookups", *libraries, **keywords) for keywords in
                          ({"preload": False, "log": False}, WAYS[way]))
    # The loader's message begins with the object that it searched: the shim, if the program asks it to search after
    # the shim.
    searched = re.compile(r"dlerror \S+: ")
    assert searched.sub("dlerror ", shimmed.stdout) == searched.sub("dlerror ", unshimmed.stdout)
    if way == "logged":
        assert {decision["provider"] for decision in shimmed.decisions} == {"libnaive_a.so", "libnaive_b.so",
                                                                           "libnaive_blas.so"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", [["direct"], ["lookup", CLIENTS / "libnaive_a.so"]], ids=["direct", "lookup"])
def test_the_first_product_may_come_from_a_stack_of_16_kb(how, way):
    assert len(run_both("small_context", *how, **WAYS[way]).decisions) == (1 if way == "logged" else 0)


@pytest.mark.parametrize("way", WAYS)
def test_many_threads_multiply_at_many_sites(way):
    threads, rounds, sites = 16, 5, 64
    result = run_both("hammer", threads, rounds, **WAYS[way])
    assert result.stdout == f"{threads * rounds * sites} products, 0 wrong\n"
    assert len(result.decisions) == (threads * rounds * sites if way == "logged" else 0)
