"""The CPU mode `accelerate`: BF16 units where the processor has them, as called elsewhere."""

import json
import subprocess

import pytest

import processor
from shim import BUILD, SYSTEM_PYTHON, has_module, need, run

MODE = {"cpu": "accelerate", "precision": "medium"}
# Prints the size of each product and its error against float64, as a share of the norm.
PROGRAM = """
import numpy as np
random = np.random.default_rng(1)
for n in (8, 600):
    a, b = random.standard_normal((2, n, n), dtype=np.float32)
    exact = a.astype(float) @ b.astype(float)
    print(n, np.linalg.norm(a @ b - exact) / np.linalg.norm(exact))
"""


@pytest.fixture(scope="module", autouse=True)
def numpy():
    need(has_module("numpy"), "the system's Python has no numpy")


def program(**settings):
    result = run(SYSTEM_PYTHON, "-c", PROGRAM, blas="openblas", **settings)
    return result, dict((int(n), float(error)) for n, error in map(str.split, result.stdout.splitlines()))


def has_units(result):
    """Tells by the large product of a program if it used BF16 units. AMX must be used; AVX512_BF16 only if it was faster."""
    large = next(each for each in result.decisions if each["m"] == 600 and each["dtype"] == "float32")
    if large["applied"] != "bf16":
        assert (large["applied"], large["how"], large["reason"]) == ("fp32", "forward", "no_bf16_units")
        assert not processor.has("amx_bf16"), "the processor has AMX, which was not used"
    return large["applied"] == "bf16"


def need_units_in(recording):
    """Skips the test unless the recorded process used BF16 units."""
    report = subprocess.run([BUILD / "bin/fp32shim", "report", "--format", "json", recording], capture_output=True, text=True, check=True)
    reasons = {row["reason"] for row in json.loads(report.stdout)["rows"]}
    need("no_bf16_units" not in reasons, "this processor has no BF16 units, or they are no faster")


def test_a_large_product_runs_on_bf16_units_if_there_are_any_and_a_small_one_as_called():
    plain, plain_errors = program()
    accelerated, errors = program(**MODE)
    small, large = (next(each for each in accelerated.decisions if each["m"] == n and each["dtype"] == "float32") for n in (8, 600))
    assert errors[8] == plain_errors[8] and small["applied"] == "fp32" and small["how"] == "forward"
    if has_units(accelerated):
        assert small["reason"] == "slower_in_bf16"
        assert (large["applied"], large["how"], large["reason"]) == ("bf16", "bf16_units", "as_requested")
        assert 1e-3 < errors[600] < 4e-3  # of operands with eight bits of significand
    else:
        assert small["reason"] == "no_bf16_units" and errors == plain_errors


def test_no_unit_is_used_if_a_setting_leaves_only_older_instructions():
    result, errors = program(env={"FP32_MATMUL_INSTRUCTIONS": "avx2"}, **MODE)
    reasons = {each["reason"] for each in result.decisions if each["dtype"] == "float32"}
    assert reasons == {"no_bf16_units"} and errors == program()[1]


@pytest.mark.parametrize("precision, reason", [("high", "accelerate_has_bf16_only"), ("highest", "as_requested"),
                                               ("native", "as_requested")])
def test_other_precisions_are_not_lowered(precision, reason):
    _, plain_errors = program()
    result, errors = program(cpu="accelerate", precision=precision)
    assert errors == plain_errors
    assert {(each["applied"], each["reason"]) for each in result.decisions if each["dtype"] == "float32"} == {("fp32", reason)}


def test_a_floor_keeps_products_at_float32():
    _, errors = program(floor="fp32", **MODE)
    assert errors == program()[1]


def test_verify_counts_an_accelerated_product_as_bf16(tmp_path):
    need((BUILD / "bin/fp32shim").exists(), "the command was not built")
    recording = tmp_path / "run.fp32rec"
    program(env={"FP32_MATMUL_LOG": str(recording)}, log=False, **MODE)
    need_units_in(recording)
    words = [BUILD / "bin/fp32shim", "verify", "--format", "json", recording, "--at-least"]
    done = subprocess.run([*words, "fp32"], capture_output=True, text=True, check=False)
    violations = json.loads(done.stdout)["violations"]
    assert done.returncode == 1 and [(each["m"], each["applied"]) for each in violations] == [(600, "bf16")]
    assert subprocess.run([*words, "bf16"], capture_output=True, text=True, check=False).returncode == 0


def test_the_page_does_not_call_an_accelerated_product_a_preview(tmp_path):
    need((BUILD / "bin/fp32shim").exists(), "the command was not built")
    for mode, previews in (("emulate", 2), ("accelerate", 0)):
        recording = tmp_path / f"{mode}.fp32rec"
        program(env={"FP32_MATMUL_LOG": str(recording)}, log=False, cpu=mode, precision="medium")
        if mode == "accelerate": need_units_in(recording)
        subprocess.run([BUILD / "bin/fp32shim", "report", "--format", "html", recording, "-o", tmp_path / "page.html"], check=True)
        assert f'"previewed":{previews}' in (tmp_path / "page.html").read_text(encoding="utf-8")


THREADS_AND_CHILDREN = """
import os, signal, threading, numpy as np
random = np.random.default_rng(2)
a = random.standard_normal((500, 500), dtype=np.float32)
expected = a @ a
is_lowered = np.abs(expected - a.astype(float) @ a.astype(float)).max() > 1e-2
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
failed = []
def check():
    for _ in range(20):
        if not np.array_equal(a @ a, expected): failed.append(1)
threads = [threading.Thread(target=check) for _ in range(4)]
for thread in threads: thread.start()
children = []
# OpenBLAS with several threads, which multiplies where no unit does, hangs in a fork beside products, without the shim too.
for _ in range(5 if is_lowered or os.environ["OPENBLAS_NUM_THREADS"] == "1" else 0):
    # The kernel begins a fork again after a signal, and so may never end it on a busy machine.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    pid = os.fork()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    if pid == 0: os._exit(0 if np.array_equal(a @ a, expected) else 1)
    children.append(pid)
for thread in threads: thread.join()
for child in children:
    if os.waitpid(child, 0)[1] != 0: failed.append(2)
signal.setitimer(signal.ITIMER_REAL, 0)
print(failed)
"""


def test_threads_signals_and_forked_children_get_the_same_result():
    for threads in ("1", "3"):
        result = run(SYSTEM_PYTHON, "-c", THREADS_AND_CHILDREN, blas="openblas", env={"OPENBLAS_NUM_THREADS": threads}, log=False,
                     **MODE)
        assert result.stdout == "[]\n"


def test_an_audit_measures_the_error_of_bf16(tmp_path):
    need((BUILD / "bin/fp32shim").exists(), "the command was not built")
    recording = tmp_path / "run.fp32rec"
    program(env={"FP32_MATMUL_LOG": str(recording), "FP32_MATMUL_AUDIT": "1"}, log=False, **MODE)
    need_units_in(recording)
    report = subprocess.run([BUILD / "bin/fp32shim", "report", "--format", "json", recording], capture_output=True, text=True,
                            check=True)
    audits = [each for each in json.loads(report.stdout)["audits"] if each["tested"] == "bf16"]
    assert audits and all(each["m"] == 600 for each in audits)
