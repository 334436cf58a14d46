"""Times of products on the GPU: events around some calls, read without waiting. On the stand-in's simulated clock a product
takes 1000 ns, and 1 ns for each 64 of m·n·k; so the numbers are known."""

import collections
import re
import shutil
import subprocess

import pytest
import shim
from cublas import CLIENTS, STAND_IN, reported, run_script

Calls = collections.namedtuple("Calls", "created recorded queried read")
NONE = Calls(0, 0, 0, 0)


def time_of(size):
    return 1000 + size ** 3 // 64


class Run:
    def __init__(self, folder, *words, library=STAND_IN, **variables):
        calls, log = folder / "calls", folder / "run.fp32rec"
        folder.mkdir(exist_ok=True)
        settings = {"STAND_IN_CLOCK": 1, "STAND_IN_EVENT_CALLS": calls, "STAND_IN_DEVICES": 2, "FP32_MATMUL_LOG": log,
                    **variables}
        script = shim.SCRIPTS.parents[2] / "cublas/clients/scripts/timed_cublas_products.py"
        shim.run(script, *words, blas=None, libraries=[library], precision=None, timeout=600,
                 env={"PYTHONPATH": str(shim.SCRIPTS), **{name: str(value) for name, value in settings.items()}})
        lines = calls.read_text().splitlines()
        self.log = log
        self.driver_calls = [Calls(*map(int, line.split()[1:])) for line in lines]  # a child's line comes first
        self.report = reported(log)
        self.rows = {row["m"]: row for row in self.report["rows"]}


@pytest.fixture
def run(tmp_path):
    return lambda *words, **variables: Run(tmp_path / str(len(list(tmp_path.iterdir()))), *words, **variables)


def check(row, size, calls, at_least, at_most):
    time = time_of(size)
    assert row["calls"] == row["gpu_calls"] == calls
    assert at_least <= row["gpu_samples"] <= at_most
    assert (row["gpu_ns_min"], row["gpu_ns_max"], row["gpu_ns"]) == (time, time, time * calls)


@pytest.mark.parametrize(("way", "calls", "at_least", "at_most"), [
    ("sgemm", 1, 1, 1), ("sgemm", 3, 3, 3), ("sgemm", 64, 3, 6), ("sgemm", 1000, 10, 30),
    ("lt", 1, 1, 1), ("lt", 3, 3, 3), ("lt", 1000, 10, 30)])
def test_the_time_of_all_calls_follows_from_the_first_three_and_about_one_in_64(run, way, calls, at_least, at_most):
    done = run(f"{calls}x64@{way}", "wait")
    check(done.rows[64], 64, calls, at_least, at_most)
    samples = done.rows[64]["gpu_samples"]
    assert done.driver_calls[0]._replace(created=0, queried=0) == Calls(0, 2 * samples, 0, samples)


def test_each_row_and_thread_has_its_own_times(run):
    done = run("40x64@sgemm", "40x16@sgemm", "wait", "thread/40x32@lt/wait", "thread/40x32@lt/wait")
    for size, calls in ((64, 40), (16, 40), (32, 80)):
        check(done.rows[size], size, calls, 3, 12)


def test_every_call_is_measured_with_1_and_none_with_0(run):
    every = run(*["20x64@sgemm", "wait"] * 3, "1x64@sgemm", FP32_MATMUL_GPU_TIMES=1)
    assert every.driver_calls[0].recorded == 2 * 61
    check(every.rows[64], 64, 61, 58, 61)
    none = run("100x64@sgemm", "100x32@lt", "wait", FP32_MATMUL_GPU_TIMES=0)
    assert none.driver_calls == [NONE]
    assert {(row["gpu_samples"], row["gpu_ns"]) for row in none.rows.values()} == {(0, None)}


def test_no_event_is_used_on_a_captured_stream(run):
    captured = run("captured/30x64@sgemm", "captured/30x32@lt")
    assert captured.driver_calls == [NONE]
    after = run("captured/30x64@sgemm", "1x64@sgemm", "wait")
    assert after.driver_calls[0].recorded == 2 and after.rows[64]["gpu_samples"] == 1


def test_the_capture_of_another_thread_is_not_broken(run):
    """In global mode, a capture forbids every thread to query events. The client checks that its capture ends well."""
    done = run("3x32@sgemm", "wait", "beside/9x64@sgemm", "wait")
    assert done.driver_calls[0].queried > 0
    check(done.rows[64], 64, 9, 3, 9)


def test_events_are_used_only_while_their_context_is_current(run):
    """The stand-in refuses an event in another context, or of one that was destroyed, and counts no time for it."""
    devices = run(*["device1/70x64@sgemm", "70x64@sgemm", "wait"] * 2)
    for row in devices.report["rows"]:
        assert row["calls"] == 140 and row["gpu_ns"] == 140 * time_of(64), row["device_index"]
    reset = run("5x64@sgemm", "wait", "reset/300x64@sgemm", "wait")
    check(reset.rows[64], 64, 305, 2, 20)
    at_end = run("5x64@sgemm", "wait", "reset/")
    assert at_end.driver_calls[0].read == 0


def test_a_forked_child_asks_the_driver_nothing(run):
    done = run("5x64@sgemm", "wait", "fork/100x64@sgemm")
    child, parent = done.driver_calls
    assert child == NONE and parent.read == 3


def test_an_event_that_is_never_done_is_not_waited_for(run):
    done = run("5000x64@sgemm", STAND_IN_EVENTS="busy")
    assert done.driver_calls[0].recorded == 64, "32 pairs in flight"
    assert done.driver_calls[0].queried <= 2 * 200 and done.driver_calls[0].read == 0


def test_a_driver_that_refuses_events_is_left_alone(run):
    done = run("5000x64@sgemm", STAND_IN_EVENTS="fail")
    assert done.driver_calls[0].recorded == 8 and done.rows[64]["calls"] == 5000


@pytest.mark.parametrize("missing", [b"cuEventQuery", b"cuCtxGetId"])
def test_a_driver_without_a_function_is_not_asked_for_the_others(run, tmp_path, missing):
    folder = tmp_path / "older"
    shutil.copytree(STAND_IN, folder)
    driver = folder / "libcuda.so.1"
    content = driver.read_bytes()
    assert content.count(b"\0" + missing + b"\0") >= 1
    driver.write_bytes(content.replace(b"\0" + missing + b"\0", b"\0" + missing[:-1] + b"X\0"))
    done = run("10x64@sgemm", "wait", library=folder)
    assert done.driver_calls == [NONE] and done.rows[64]["gpu_samples"] == 0


def text_of(log, *options):
    command = [str(shim.BUILD / "bin/fp32shim"), "report", *options, str(log)]
    return subprocess.run(command, text=True, capture_output=True, check=True).stdout


def test_times_that_were_all_measured_are_no_estimate(run):
    text = text_of(run("2x64@sgemm", "wait").log)
    assert re.search(r"took \d\S* \S+ on GPU 0, .*: measured, not estimated, in 2 calls\.", text)


def test_the_report_says_what_products_took_on_the_gpu(run):
    done = run("1000x64@sgemm", "wait")
    text, worth, row = text_of(done.log), done.report["worth"]["gpu"], done.rows[64]
    samples = row["gpu_samples"]
    assert f"an estimate from {samples} measured calls for 1,000 of 1,000 calls" in text
    assert "The share of products in " not in text and "another GPU (fp32shim stand-in (no GPU))" in text
    assert (worth["gpus"], worth["samples"], worth["gpu_ns"]) == (1, samples, row["gpu_ns"])
    assert worth["tf32_ns"] == worth["fp32_ns"] / 2.0, "a product that is smaller than 512 gains as much as 512"
    assert worth["share"]["from"] == pytest.approx(row["gpu_ns"] / done.report["processes"][0]["wall_ns"], rel=1e-3)
    assert re.search(r"GPU time +mean there", text)
    assert "GPU time" in text_of(done.log, "--format", "html")


def test_the_report_says_that_launches_tell_nothing_if_nothing_was_measured(run):
    done = run("10x64@sgemm", "wait", FP32_MATMUL_GPU_TIMES=0)
    text = text_of(done.log)
    assert "the host times only their launch" in text and "GPU time" not in text
    assert done.report["worth"]["gpu"]["gpus"] == 0 and done.report["worth"]["gpu"]["gpu_ns"] is None


def instructions(tmp_path, way, gpu_times, calls=5000):
    """Returns the number of instructions of a program with `calls` products, of which at most three are measured."""
    done = shim.run(CLIENTS / "repeated", way, calls, blas=None, libraries=[STAND_IN], log=tmp_path / "run.fp32rec",
                    prefix=["valgrind", "--tool=callgrind", f"--callgrind-out-file={tmp_path / 'out'}"],
                    env={"FP32_MATMUL_GPU_TIMES": str(gpu_times)})
    return int(re.search(r"Collected : (\d+)", done.stderr)[1]) / calls


@pytest.mark.parametrize("way", ["sgemm", "lt"])
def test_a_call_that_is_not_measured_pays_at_most_60_instructions(tmp_path, way):
    """docs/performance.md has the numbers."""
    shim.need(shutil.which("valgrind"), "valgrind is not installed")
    cost = instructions(tmp_path, way, 1_000_000) - instructions(tmp_path, way, 0)
    assert 0 < cost <= 60, cost
