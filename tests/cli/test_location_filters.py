"""Filters and `explain` by the location of a call: `call_site` and `stack`. Rules say the same: see tests/preload."""

import json

import pytest

import shim
from command import fp32shim
from test_where import CPP, built, lines_of, locations


def shown(recording, *options):
    """The distinct locations of the calls that pass a filter, by `report` and by `log`, which agree."""
    rows = fp32shim("report", "--format", "json", *options, recording).json["rows"]
    log = fp32shim("log", "--rows", "--format", "jsonl", *options, recording).stdout.splitlines()
    logged = [json.loads(line) for line in log]
    assert sum(row["calls"] for row in rows) == sum(line["calls"] for line in logged if line["event"] == "row")
    return {str(row["where"]) for row in rows}


PARTS = """extern "C" void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
                       const float*, const int*, const float*, float*, const int*);
static float c[4];
static void multiply(int n) asm("multiply.part.0");
[[gnu::noinline]] static void multiply(int n) {
    const float a[4] = {1, 2, 3, 4}, one = 1, zero = 0;
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
    c[1] += 1;
}
int main(int argc, char**) { multiply(argc); }
"""


def test_a_filter_names_compiled_functions_whatever_was_asked_to_be_noted(tmp_path):
    program = built(tmp_path, "solver.cpp", CPP, "g++", "-g")
    first, second = [f"solver.cpp:{line} physics::solve<float>" for line in lines_of(CPP, "    sgemm_")]
    recording = tmp_path / "run.fp32rec"
    shim.run(program, log=recording, env={"FP32_MATMUL_WHERE": "native"})
    for pattern in ("*!physics::solve", "program!*", "program!physics::solve+0x*", "*"):
        assert shown(recording, "--call-site", pattern) == {first, second}
    for pattern in ("", "physics::solve", "program", "program+*", "*!*<float>*"):
        assert shown(recording, "--call-site", pattern) == set()
    assert shown(recording, "--call-site", "*!physics::*", "--stack", "?*") == set()
    recording.unlink()
    shim.run(program, log=recording)
    assert shown(recording, "--call-site", "*!physics::solve") == {"None"}
    assert shown(recording, "--call-site", "*!physics") == set()
    program.unlink()
    assert shown(recording, "--call-site", "*!physics::solve") == set()
    assert shown(recording, "--call-site", "program") == {"None"}


@pytest.mark.parametrize("source, options", [(CPP, ["-O2"]), (CPP, ["-O2", "-s"]), (CPP, ["-no-pie"]), (PARTS, ["-O1"])],
                         ids=["named", "stripped", "no-pie", "part"])
def test_rules_and_reports_agree_on_the_words_of_a_place(tmp_path, source, options):
    program = built(tmp_path, "solver.cpp", source, "g++", *options)
    found = locations(tmp_path, program)
    for location in found:
        policy = f'schema = 1\ndefault = "highest"\n[cpu]\nmode = "emulate"\n[[rule]]\nprecision = "high"\nwhen = {{ call_site = "{location}" }}\n'
        shim.run(program, log=tmp_path / "run.fp32rec", policy=policy, env={"FP32_MATMUL_WHERE": "native"})
        rows = fp32shim("report", "--format", "json", tmp_path / "run.fp32rec").json["rows"]
        assert {(row["where"], row["applied"]) for row in rows} == {
            (other, "tf32" if other == location else "fp32") for other in found}
        assert shown(tmp_path / "run.fp32rec", "--call-site", location) == {location}
        explained = fp32shim("explain", "--function", "sgemm_", "--call-site", location, "--policy",
                             write(tmp_path / "policy.toml", policy), "--format", "json").json
        assert (explained["applied"], explained["call"]["call_site"]) == ("tf32", location)
        (tmp_path / "run.fp32rec").unlink()


def write(path, text):
    path.write_text(text)
    return path


def test_a_part_of_a_function_has_its_name(tmp_path):
    def applies(pattern, location):
        policy = write(tmp_path / "p.toml", f'schema = 1\n[[rule]]\nprecision = "high"\nwhen = {{ call_site = "{pattern}" }}\n')
        words = ["--function", "sgemm_", "--policy", policy, "--call-site", location]
        return fp32shim("explain", *words, "--format", "json").json["rules"][0]["applies"]

    for pattern in ("lib.so.3!solve", "lib.so.3!solve.part.0+0x1c", "*!solve*"):
        assert applies(pattern, "lib.so.3!solve.part.0+0x1c")
    for pattern in ("lib.so.3!solve.part.0", "lib.so.3!solve+0x1c", "lib.so.3", "lib"):
        assert not applies(pattern, "lib.so.3!solve.part.0+0x1c")
    assert applies("lib.so.3", "lib.so.3+0x31c4") and not applies("lib.so", "lib.so.3+0x31c4")


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
