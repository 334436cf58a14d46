"""fp32shim report: the time of products beside the wall time, what they could gain at most, and what TF32 would gain on GPUs."""

import os
import subprocess

import pytest

import shim
from command import fp32shim, make_recording

TITLE = "\nWhat faster products could gain\n"


def call(size="512", applied="fp32", calls=1, ticks=1_000_000, function="cblas_sgemm"):
    return f"{function}:{size}:native:{applied}:as_requested:{calls}:1:{ticks}"


@pytest.fixture
def record(tmp_path):
    return lambda name, *calls, **more: make_recording(tmp_path / f"{name}.fp32rec", "summary", "--one-thread", *calls, **more)


def worth(*recordings):
    return fp32shim("report", "--format", "json", *recordings).json["worth"]


def text_of(*words):
    report = fp32shim("report", *words).stdout
    return report.split(TITLE)[1].split("\n\n")[0] if TITLE in report else ""


def gains(*recordings):
    return {one["gpu"]: (one["from"], one["to"]) for one in worth(*recordings)["tf32"]}


def test_the_share_of_products_bounds_every_gain(record):
    a = record("a", call())
    report = fp32shim("report", "--format", "json", a).json
    process, = report["processes"]
    share = process["host_ns"] / process["wall_ns"]
    assert 0 < share < 1 and process["host_ns"] == report["totals"]["host_ns"]
    assert report["worth"]["share"]["from"] == report["worth"]["share"]["to"] == pytest.approx(share, rel=1e-3)
    assert report["worth"]["most_gain"]["to"] == pytest.approx(1 / (1 - share), rel=1e-3)
    text = text_of(a)
    assert text.startswith("These products took ") and f", {100 * share:.1f}% of the wall time of " in text
    assert f"the process would be {1 / (1 - share):.2f} times as fast" in text
    assert text_of("--function", "cblas_sgemm", a).startswith("These products took ")


def test_products_as_long_as_the_process_bound_nothing(record):
    a = record("a", call(ticks=10 ** 13))
    assert worth(a)["most_gain"] == {"from": None, "to": None} and worth(a)["share"]["to"] > 1
    assert "no upper bound of a gain follows" in text_of(a) and "times as fast" not in text_of(a)


def test_several_processes_have_a_range(record):
    a, b = record("a", call()), record("b", call(ticks=3_000_000))
    shares = [worth(one)["share"]["to"] for one in (a, b)]
    both = worth(a, b)
    assert both["processes"] == 2 and [both["share"]["from"], both["share"]["to"]] == pytest.approx(sorted(shares), rel=1e-3)
    assert f"{100 * min(shares):.1f}% to {100 * max(shares):.1f}% of the wall time of 2 processes" in text_of(a, b)


def test_without_a_wall_time_all_times_or_run_times_it_says_so_and_bounds_nothing(record, tmp_path):
    program = subprocess.Popen([shim.client("make_recording"), tmp_path / "live.fp32rec", "summary", "--stay", call()],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    live = program.stdout.readline().strip()
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    sampled = tmp_path / "sampled.fp32rec"
    code = "import numpy as np; a = np.ones((8, 8), 'f')\nfor _ in range(20000): a @ a"
    assert fp32shim("run", "--quiet", "--log", sampled, "--", shim.SYSTEM_PYTHON, "-c", code).returncode == 0
    cases = {"wall_time": (live, "start or end is not recorded"), "all_times": (sampled, "not all calls"),
             "all_calls": (record("cut", call()), "is damaged"), "run_times": (record("c", call(function="cublasSgemm_v2")), "ran on a GPU")}
    os.truncate(cases["all_calls"][0], 70_000)
    for key, (path, words) in cases.items():
        found = worth(path)
        assert found["processes"] == 0 and found["without"][key] == sum(found["without"].values()) == 1, (key, found)
        assert found["share"] == found["most_gain"] == {"from": None, "to": None}
        assert text_of(path).startswith("The share of products in 1 process is not known: ") and words in text_of(path)
        assert "times as fast" not in text_of(path)
    program.communicate("")
    golden = shim.ROOT / "tests/unit/record/golden/recording_version1_summary.fp32rec"
    assert worth(golden)["processes"] == 0 and "times as fast" not in text_of(golden)


def test_tf32_gains_between_half_of_the_peak_with_a_launch_and_the_peak(record):
    large = gains(record("a", call("8192")))
    assert large["A100"] == pytest.approx((4, 8), rel=0.01) and large["H100"] == pytest.approx((3.69, 7.38), rel=0.01)
    assert large["B200"] == pytest.approx((6.86, 13.75), rel=0.02)
    small = gains(record("b", call("64")))
    assert all(low < 1.05 and high > 7 for low, high in small.values())
    thin = gains(record("c", call("16384x1x16384")))
    assert thin["A100"] == pytest.approx((1, 1), rel=0.001)
    text = text_of(record("d", call("8192")))
    assert "A100 4.0 to 8.0 times, H100 3.7 to 7.4 times, B200 6.9 to 14 times\n(1 of 1 call of float32 at FP32;" in text


def test_solves_and_products_that_ran_lower_gain_nothing_from_tf32(record):
    found = worth(record("a", call("8192", "tf32"), call("8192", function="cblas_strsm"), call("8192", calls=2)))
    assert (found["fp32_calls"], found["tf32_calls"]) == (3, 2)
    found = worth(record("b", call("8192", "tf32")))
    assert found["tf32"] == [] and found["tf32_calls"] == 0


def test_the_wall_time_of_a_real_program_is_from_its_start_to_its_end(tmp_path):
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    code = "import time; time.sleep(0.4); import numpy as np; a = np.ones((900, 900), 'f'); a @ a; time.sleep(0.2)"
    done = fp32shim("run", "--quiet", "--log", tmp_path / "a.fp32rec", "--", shim.SYSTEM_PYTHON, "-c", code)
    assert done.returncode == 0, done.stderr
    process, = fp32shim("report", "--format", "json", tmp_path / "a.fp32rec").json["processes"]
    assert process["wall_ns"] > 0.6e9 and process["host_ns"] < process["wall_ns"] - 0.58e9
