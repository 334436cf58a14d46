"""Filters and `explain` by the location of a call: `call_site` and `stack`. Rules say the same: see tests/preload."""

import json

import pytest

import shim
from command import fp32shim
from test_where import CPP, built, lines_of


def shown(recording, *options):
    """Returns the distinct locations of the calls that pass a filter. `report` and `log` must agree on them."""
    rows = fp32shim("report", "--format", "json", *options, recording).json["rows"]
    log = fp32shim("log", "--rows", "--format", "jsonl", *options, recording).stdout.splitlines()
    logged = [json.loads(line) for line in log]
    assert sum(row["calls"] for row in rows) == sum(line["calls"] for line in logged if line["event"] == "row")
    return {str(row["where"]) for row in rows}


def test_a_filter_names_compiled_functions_whatever_was_asked_to_be_noted(tmp_path):
    program = built(tmp_path, "solver.cpp", CPP, "g++", "-g")
    first, second = [f"solver.cpp:{line} physics::solve<float>" for line in lines_of(CPP, "    sgemm_")]
    recording = tmp_path / "run.fp32rec"
    shim.run(program, log=recording, env={"FP32_MATMUL_WHERE": "native"})
    for pattern in ("*!physics::solve", "program!*", "program!physics::solve+0x*", "program+0x*", "*"):
        assert shown(recording, "--call-site", pattern) == {first, second}
    for pattern in ("", "physics::solve", "program", "*!*<float>*"):
        assert shown(recording, "--call-site", pattern) == set()
    assert shown(recording, "--call-site", "*!physics::*", "--stack", "?*") == set()
    recording.unlink()
    shim.run(program, log=recording)
    assert shown(recording, "--call-site", "*!physics::solve") == {"None"}
    assert shown(recording, "--call-site", "*!physics") == set()
    program.unlink()
    assert shown(recording, "--call-site", "*!physics::solve") == set()
    assert shown(recording, "--call-site", "program") == {"None"}


@pytest.mark.parametrize("options", [["-O2"], ["-O2", "-s"], ["-no-pie"], ["-O2", "-rdynamic"]], ids=" ".join)
def test_a_place_of_a_recording_can_be_named_in_rules_filters_and_explain(tmp_path, options):
    """The place is named by object and offset, which `report --format json` has, or by the name that the program exports."""
    program = built(tmp_path, "solver.cpp", CPP, "g++", *options)
    recording = tmp_path / "run.fp32rec"
    shim.run(program, log=recording, env={"FP32_MATMUL_WHERE": "native"})
    frames = [frame for frame in fp32shim("report", "--format", "json", recording).json["frames"] if frame["call_site"]]
    assert len(frames) == 2
    shared = "program!_ZN7physics5solveIfEEvPT_i"
    for place, changed in [(f"program+{frame['offset']:#x}", {frame["call_site"]}) for frame in frames] + [
            (shared, {frame["call_site"] for frame in frames} if "-rdynamic" in options else set())]:
        recording.unlink()
        policy = f'schema = 1\ndefault = "highest"\n[cpu]\nmode = "emulate"\n[[rule]]\nprecision = "high"\nwhen = {{ call_site = "{place}" }}\n'
        shim.run(program, log=recording, policy=policy, env={"FP32_MATMUL_WHERE": "native"})
        rows = fp32shim("report", "--format", "json", recording).json["rows"]
        assert {row["where"] for row in rows if row["applied"] == "tf32"} == changed
        assert place == shared or shown(recording, "--call-site", place) == changed
        explained = fp32shim("explain", "--function", "sgemm_", "--call-site", place, "--policy",
                             write(tmp_path / "policy.toml", policy), "--format", "json").json
        assert (explained["applied"], explained["call"]["call_site"]) == ("tf32", place)


def write(path, text):
    path.write_text(text)
    return path


STACKS = """
import threading
import numpy

def product(size):
    return numpy.ones((size, size), numpy.float32) @ numpy.ones((size, size), numpy.float32)

def train():
    product(2)
    check(3)

def check(size):
    product(size)

train()
check(4)
thread = threading.Thread(target=check, args=[5])
thread.start()
thread.join()
"""


def test_a_filter_names_any_line_of_python_on_the_way(tmp_path):
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    recording = tmp_path / "run.fp32rec"

    def sizes(*options):
        rows = fp32shim("report", "--format", "json", *options, recording).json["rows"]
        events = fp32shim("log", "--format", "jsonl", *options, recording).stdout.splitlines()
        logged = {event["m"] for event in map(json.loads, events) if event["event"] == "decision"}
        assert logged == {row["m"] for row in rows}
        return logged

    shim.python(STACKS, log=recording, env={"FP32_MATMUL_WHERE": "python", "FP32_MATMUL_LOG_LEVEL": "calls"})
    assert sizes("--stack", "* train") == {2, 3}
    assert sizes("--stack", "* check") == {3, 4, 5}
    assert sizes("--stack", "* check", "--stack", "<string>:9 *") == {2, 3, 4, 5}
    assert sizes("--stack", "threading.py:*") == {5}
    assert sizes("--stack", "* check", "--m", ">=4") == {4, 5}
    assert sizes("--stack", "* product", "--call-site", "_multiarray_umath*") == {2, 3, 4, 5}
    assert sizes("--stack", "train") == sizes("--stack", "") == sizes("--stack", "_multiarray_umath*") == set()
    recording.unlink()
    shim.python(STACKS, log=recording, env={"FP32_MATMUL_LOG_LEVEL": "calls"})
    assert sizes("--stack", "* train") == set()
    assert sizes("--stack", "") == {2, 3, 4, 5}


def test_a_bad_pattern_is_named():
    for option in ("--call-site", "--stack"):
        for command in ("report", "log"):
            result = fp32shim(command, option, "lib[a", "x.fp32rec")
            assert result.returncode == 2 and f'{option}: found "lib[a", in which a [ has no ]' in result.stderr


def test_explain_takes_the_lines_of_a_call(tmp_path):
    policy = write(tmp_path / "p.toml", '''schema = 1
[[rule]]
name = "in training"
precision = "high"
when = { stack = "* Trainer.*", call_site = "*!solve" }
''')
    words = ["explain", "--function", "sgemm_", "--policy", policy, "--cpu", "emulate"]
    lines = ["--stack", "main.py:9 <module>", "--stack", "train.py:41 Trainer.step"]
    applies = fp32shim(*words, *lines, "--call-site", "a.so!solve+0x4", "--format", "json").json
    assert applies["rule"] == "in training" and applies["applied"] == "tf32"
    assert applies["call"]["stack"] == ["main.py:9 <module>", "train.py:41 Trainer.step"]
    text = fp32shim(*words, *lines[:2], "--call-site", "a.so+0x4").stdout
    assert 'call_site must be "*!solve", but is "a.so+0x4"' in text
    assert 'stack must be "* Trainer.*", but is "main.py:9 <module>"' in text
    nothing = fp32shim(*words, "--format", "json").json
    assert nothing["call"]["stack"] == [] and nothing["call"]["call_site"] is None
    assert [condition["found"] for condition in nothing["rules"][0]["when"]] == ["none", "none"]
