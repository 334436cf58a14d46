"""A rule of a policy that decided no call says so: it may protect a line that has moved."""

import subprocess

import pytest

from command import environment, fp32shim
from shim import LIBRARY, SYSTEM_PYTHON

SCRIPT = """
import os, sys
import numpy as np
a = np.ones((64, 64), np.float32)
def first(): return a @ a
def second(): return a @ a
if "fork" in sys.argv and os.fork() == 0:
    second()
    os._exit(0)
if "fork" in sys.argv: os.wait()
if "nothing" not in sys.argv: first()
"""
POLICY = """schema = 1
default = "high"
[[rule]]
name = "one"
precision = "highest"
when = { where = "* first" }
[[rule]]
name = "two"
precision = "highest"
when = { where = "* second" }
[[rule]]
name = "three"
precision = "highest"
when = { where = "* third" }
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def recorded(files, *words, status=0, options=()):
    result = fp32shim("run", "--policy", files / "policy.toml", "--log", files / "run.%p.fp32rec", *options, "--",
                      SYSTEM_PYTHON, files / "script.py", *words, cwd=files)
    assert result.returncode == status, result.stderr
    return result


def unused(text):
    return [line for line in text.splitlines() if "decided no call" in line]


def line_about(files, name, line, of=""):
    return f'rule "{name}" ({files}/policy.toml:{line}) decided no call{of}'


def test_run_report_and_verify_name_the_rules_that_decided_no_call(files):
    wanted = [line_about(files, "two", 7), line_about(files, "three", 11)]
    assert unused(recorded(files).stderr) == wanted
    recording = next(files.glob("*.fp32rec"))
    assert unused(fp32shim("report", recording).stdout) == wanted
    assert unused(fp32shim("verify", "--at-least", "fp32", recording).stdout) == wanted
    for words in (["report"], ["verify", "--at-least", "fp32"]):
        rules = fp32shim(*words, "--format", "json", recording).json["rules"]
        assert [(rule["name"], rule["line"], rule["recordings"], rule["without_use"]) for rule in rules] == [
            ("one", 3, 1, 0), ("two", 7, 1, 1), ("three", 11, 1, 1)]
    page = files / "page.html"
    fp32shim("report", "--format", "html", "-o", page, recording)
    assert "Rules of the policy decided no call" in page.read_text()


def test_a_rule_that_one_process_of_a_run_uses_is_in_use(files):
    assert unused(recorded(files, "fork").stderr) == [line_about(files, "three", 11, " of 2 recordings")]
    report = fp32shim("report", files)
    assert unused(report.stdout) == [line_about(files, "three", 11, " of 2 recordings")]


def test_of_two_runs_each_says_what_it_lacked(files):
    recorded(files, "fork")
    recorded(files)
    assert unused(fp32shim("report", files).stdout) == [line_about(files, "two", 7, " of 1 of 3 recordings"),
                                                       line_about(files, "three", 11, " of 3 recordings")]


def test_top_names_the_rules_that_have_decided_no_call_so_far(files):
    (files / "script.py").write_text(SCRIPT + "print(flush=True); input()\n")
    with subprocess.Popen([SYSTEM_PYTHON, files / "script.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=environment(LD_PRELOAD=LIBRARY, FP32_MATMUL_POLICY=files / "policy.toml",
                                          FP32_MATMUL_LOG=files / "run.fp32rec")) as process:
        process.stdout.readline()
        top = fp32shim("top", "--count", 1, process.pid)
        ps = fp32shim("ps", "--format", "json", process.pid)
        report = fp32shim("report", files)
        process.communicate(b"\n")
    wanted = [line_about(files, "two", 7, " so far"), line_about(files, "three", 11, " so far")]
    assert unused(top.stdout) == unused(report.stdout) == wanted
    assert [rule["without_use"] for rule in ps.json["rules"]] == [0, 1, 1]


def test_check_does_not_claim_that_rules_match_anything(files):
    assert fp32shim("check", files / "policy.toml").stdout.endswith(
        "in order, 3 rules; fp32shim run and report name those that decide no call\n")


def test_a_process_without_products_says_nothing_of_rules(files):
    assert unused(recorded(files, "nothing").stderr) == []


def test_an_unused_rule_can_be_the_exit_status(files):
    recorded(files, status=1, options=["--require-rules"])
    recording = next(files.glob("*.fp32rec"))
    words = ["verify", "--at-least", "fp16", "--assume-unused", "later,oneDNN,NNPACK", recording]
    assert fp32shim(*words).returncode == 0
    assert fp32shim(*words, "--require-rules").returncode == 1
    recorded(files, "nothing", status=1, options=["--require-rules"])
    (files / "policy.toml").write_text(POLICY.split("[[rule]]\nname = \"two\"")[0])
    recorded(files, options=["--require-rules"])


def test_a_rule_that_a_reload_changes_begins_anew(files):
    reload = """
import ctypes, sys
path = sys.argv[1]
text = open(path).read()
library = ctypes.CDLL(None)
def reload(new):
    open(path, "w").write(new)
    assert library.fp32shim_reload_policy() == 0
first()
reload("# moved\\n" + text)
reload("# moved\\n" + text.replace('"* first"', '"* firts"'))
first()
"""
    (files / "script.py").write_text(SCRIPT.split("if ")[0] + reload)
    result = recorded(files, files / "policy.toml")
    assert unused(result.stderr) == [line_about(files, "one", 4), line_about(files, "two", 8),
                                     line_about(files, "three", 12)]
