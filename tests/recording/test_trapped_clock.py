"""Programs in which the instruction that reads the processor's counter is a fault, or next to no system call is allowed."""

import json
import platform

import pytest

import shim
from command import fp32shim
from recorded import read, record, recordings_in

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the counter cannot be made to trap there")
SECOND = 10**9
LOGS = {"nothing": False, "stderr": "stderr", "JSON": "{}/%p.jsonl", "recording": "{}/%p.fp32rec"}


def trapped(when, folder, log="recording", level="summary", **keywords):
    log = LOGS[log] and LOGS[log].format(folder)
    result = record(when, log=log, level=level, program="trapped_clock", **keywords)
    assert (result.returncode, result.stdout) == (3, "end\n"), shim.explain(result)
    return result


@pytest.mark.parametrize("level", ["summary", "calls"])
@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("when", ["first", "raw", "later", "child"])
def test_products_are_counted_where_the_counter_traps(tmp_path, when, log, level):
    trapped(when, tmp_path, log, level)
    if log == "recording":
        assert sum(read(path)["calls"] for path in recordings_in(tmp_path)) == 1200 + 10 * (when == "later")


def test_times_go_on_as_the_clock_does_where_the_counter_traps_later(tmp_path):
    before = tmp_path / "before"
    before.touch()
    trapped("later", tmp_path, level="calls")
    path, = recordings_in(tmp_path)
    calls = [json.loads(line) for line in fp32shim("log", "--format", "jsonl", path).stdout.splitlines()]
    times = [call["time_ns"] for call in calls if call["event"] == "decision"]
    begin, end = (moment.stat().st_mtime_ns for moment in (before, path))
    assert len(times) == 1210 and times == sorted(times)
    assert begin - SECOND < times[0] and times[-1] < end + SECOND  # the counter neither stood still nor ran away


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("when", ["strict", "strict first"])
def test_strict_seccomp_ends_the_recording_and_not_the_program(tmp_path, when, log):
    result = trapped(when, tmp_path, log)
    lines = [line for line in result.stderr.splitlines() if "strict seccomp" in line]
    assert len(lines) == (log != "nothing"), shim.explain(result)
    if log == "recording":
        path, = recordings_in(tmp_path)
        assert read(path)["calls"] == 10 * (when == "strict")
