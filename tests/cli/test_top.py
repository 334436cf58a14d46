"""`fp32shim top` and `ps`: where the time of running processes goes. Their list: test_recordings.py."""

import json
import re
import subprocess

import pytest

import shim
from command import COMMAND, calls_from, environment, fp32shim, live_recording

FORWARD = "main@/app/train.py@9;Model.forward@/app/model.py@41;/usr/lib/libtorch.so+0x1c4"
BACKWARD = "main@/app/train.py@12;backward@/app/model.py@60;/usr/lib/libtorch.so+0x1c4"
NATIVE = "/usr/lib/libphysics.so+0x31c4"


CALLS = [calls_from(FORWARD, "cblas_sgemm", 64, "tf32", 30, scope="net/layers.0"), calls_from(FORWARD, "cblas_sgemm", 48, "tf32", 12, scope="net/layers.0"),
         calls_from(BACKWARD, "cblas_sgemm", 64, "fp32", 10), calls_from(NATIVE, "sgemm_", 8, "fp32", 5)]


@pytest.fixture
def process(tmp_path):
    running = live_recording(tmp_path / "live.fp32rec", "summary", *CALLS)
    yield running
    running.communicate(timeout=600)


def looks(*words):
    result = fp32shim("top", "--interval", "0.1", "--format", "json", *words)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def table(text):
    """Returns the lines of the second table, as lists of cells."""
    return [re.split(r" {2,}", line.strip()) for line in text.split("\n\n")[-1].splitlines()]


@pytest.mark.parametrize("command", [["top", "--count", "1"], ["ps"]])
def test_one_process_is_shown_by_the_places_that_it_knows(process, command):
    lines = fp32shim(*command, process.pid).stdout
    assert "model.py:41 Model.forward" in lines and "model.py:60 backward" in lines
    [forward] = [line for line in lines.splitlines() if "model.py:41" in line]
    assert " 42 " in forward and "tf32" in forward, "two sizes in one line"
    assert "48x48x48" not in lines


def test_a_process_without_places_is_shown_by_its_calls(tmp_path):
    process = live_recording(tmp_path / "live.fp32rec", "summary", "cblas_sgemm:64:high:tf32:as_requested:3")
    text = fp32shim("ps", process.pid).stdout
    assert "64x64x64" in text and "libcaller.so -> libprovider.so.0" in text
    process.communicate(timeout=600)


@pytest.mark.parametrize("by, key, expected", [
    ("where", "where", {"model.py:41 Model.forward": 42, "model.py:60 backward": 10, None: 5}),
    ("source", "where", {"model.py:41 Model.forward": 42, "model.py:60 backward": 10, None: 5}),
    ("scope", "scope", {"net/layers.0": 42, None: 15}),
    ("call_site", "call_site", {"libtorch.so+0x1c4": 52, "libphysics.so+0x31c4": 5}),
    ("caller", "caller", {"libcaller.so": 57}),
    ("function", "function", {"cblas_sgemm": 52, "sgemm_": 5}),
    ("size", "max_dim_to", {64: 52, 8: 5}),
    ("precision", "applied", {"tf32": 42, "fp32": 15}),
])
def test_calls_are_grouped_by_what_is_asked_for(process, by, key, expected):
    [look] = looks("--count", "1", "--by", by, process.pid)
    [seen] = look["processes"]
    found = {}
    for group in seen["groups"]:
        found[group[key]] = found.get(group[key], 0) + group["calls"]
    assert found == expected and seen["rows"] == []
    text = fp32shim("ps", "--by", by, process.pid).stdout
    assert all(str(name) in text for name in expected if name and by != "size")


def test_groups_have_the_keys_of_report_and_their_rates(process, tmp_path):
    [look] = looks("--count", "1", "--by", "function", process.pid)
    keys = fp32shim("report", "--format", "json", "--by", "function", tmp_path).json["groups"][0].keys()
    for group in look["processes"][0]["groups"]:
        assert group.keys() == keys | {"calls_per_second", "host_share"}


def test_without_a_grouping_programs_get_rows(process):
    [look] = looks("--count", "1", process.pid)
    [seen] = look["processes"]
    assert seen["groups"] is None and len(seen["rows"]) == 4


def test_all_processes_are_summed_up_by_place(process, tmp_path):
    other = live_recording(tmp_path / "other.fp32rec", "summary", calls_from(FORWARD, "cblas_sgemm", 32, "tf32", 8))
    assert "model.py:41" not in fp32shim("ps").stdout, "that would read the decisions of all processes"
    text = fp32shim("ps", "--by", "where").stdout
    assert str(process.pid) in text and str(other.pid) in text
    [forward] = [cells for cells in table(text) if "model.py:41 Model.forward" in cells]
    assert int(forward[2]) >= 50, "others of this user may record now"
    other.communicate(timeout=600)


def test_a_group_has_the_rates_since_the_look_before(process):
    first, second = looks("--count", "2", "--by", "where", process.pid)
    groups = {group["where"]: group for group in first["processes"][0]["groups"]}
    forward = groups["model.py:41 Model.forward"]
    assert forward["calls_per_second"] > 0 and 0 < forward["host_share"] < 1
    assert forward["calls_per_second"] / groups["model.py:60 backward"]["calls_per_second"] == pytest.approx(4.2)
    assert {(group["calls_per_second"], group["host_share"]) for group in second["processes"][0]["groups"]} == {(0, 0)}


def test_the_table_of_an_idle_process_says_so(process):
    updates = fp32shim("top", "--interval", "0.1", "--count", "2", process.pid).stdout
    lines = [line for line in updates.splitlines() if "model.py:41" in line]
    assert len(lines) == 2
    assert lines[0].split()[0] != "0%" and lines[1].split()[:2] == ["0%", "0"]


def test_new_calls_of_a_running_program_show_in_the_next_look(tmp_path):
    program = subprocess.Popen([shim.client("steps"), "ask"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=shim.environment(log=tmp_path / "a.fp32rec", preload=[shim.LIBRARY]))

    def ask():
        program.stdin.write("\n")
        program.stdin.flush()
        assert program.stdout.readline().startswith("products ")

    ask()
    watching = subprocess.Popen([COMMAND, "top", "--interval", "0.2", "--format", "json", "--by", "function", str(program.pid)],
                                text=True, env=environment(), stdout=subprocess.PIPE)

    def calls_now():
        return sum(group["calls"] for group in json.loads(watching.stdout.readline())["processes"][0]["groups"])

    try:
        before = calls_now()
        ask()
        for line in watching.stdout:
            groups = json.loads(line)["processes"][0]["groups"]
            if sum(group["calls"] for group in groups) > before:
                break
        assert sum(group["calls_per_second"] for group in groups) > 0
    finally:
        watching.kill()
        watching.communicate()
        program.communicate()


def test_a_long_table_counts_the_groups_that_it_leaves_out(tmp_path):
    process = live_recording(tmp_path / "live.fp32rec", "summary", "sgemm_:1-30:high:tf32:as_requested:2:1:9000::f%@/app/model.py@41")
    text = fp32shim("ps", process.pid).stdout
    assert text.count("model.py:41 f") == 20 and text.endswith("\n10 more groups\n")
    process.communicate(timeout=600)


def test_an_unknown_grouping_names_the_allowed_ones():
    result = fp32shim("top", "--by", "line")
    assert (result.returncode, len(result.lines)) == (2, 1)
    assert '"line"' in result.stderr and "where" in result.stderr
