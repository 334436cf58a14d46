"""Audits decide what bisect and sensitivity try first, and no more than that; fp32shim suggest names both."""

import pytest

import shim
from command import fp32shim, make_recording
from shim import BUILD, ROOT, SYSTEM_PYTHON

SCRIPT = """
import sys
import numpy as np

def graded(size):
    a, b = np.ones((size, 2), np.float32), np.ones((2, size), np.float32)
    a[:, 0] += 1e-4
    b[1] = -1
    return a, b

def much_work():
    return np.ones((64, 64), np.float32) @ np.ones((64, 64), np.float32)

def more_work():
    return np.ones((80, 80), np.float32) @ np.ones((80, 80), np.float32)

def bad():
    a, b = graded(24)
    return a @ b

print(much_work().sum(), more_work().sum())
print(worst := abs(bad() - 1e-4).max())
sys.exit(len(sys.argv) > 1 and bool(worst > 1e-5))
"""


@pytest.fixture
def run_script(tmp_path):
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    (tmp_path / "model.py").write_text(SCRIPT)

    def run(*words, arguments=(), **variables):
        blas = {"LD_LIBRARY_PATH": str(shim.blas_directory("openblas")), "OPENBLAS_NUM_THREADS": "1"}
        return fp32shim(*words, "--", SYSTEM_PYTHON, "model.py", *arguments, cwd=tmp_path, env={**blas, **variables})

    return run


@pytest.fixture
def recording(run_script, tmp_path):
    log = tmp_path / "run.fp32rec"
    assert run_script("run", "-q", "--where", "python", "--log", log, FP32_MATMUL_AUDIT="1").returncode == 0
    return log


def test_it_names_the_two_commands_that_run_the_program(tmp_path):
    said = fp32shim("suggest", make_recording(tmp_path / "a b.fp32rec", "summary", "dgemm_:64:native:fp64:as_requested:30")).stdout
    for command in ("bisect", "sensitivity"):
        assert f"  fp32shim {command} --audits '{tmp_path}/a b.fp32rec' -- " in said
    assert "no policy follows from them alone" in said and "  fp32shim bisect -- TEST\n" in fp32shim("suggest").stdout


def test_bisect_tries_first_what_audits_find_to_change_most(run_script, recording):
    results = [run_script("bisect", "--cpu", "emulate", "--format", "json", *words, arguments=["judge"]) for words in ([], ["--audits", recording])]
    plain, ranked = (result.json for result in results)
    assert plain["culprits"] == ranked["culprits"] and ranked["runs"] <= plain["runs"]
    first = [next(one["groups"] for one in found["tried"] if one["lowered"] == "only" and one["groups"]) for found in (plain, ranked)]
    names = [[found["groups"][group]["where"].split()[-1] for group in groups] for found, groups in zip((plain, ranked), first)]
    assert "bad" not in names[0] and names[1] == ["bad"]


def test_sensitivity_shows_first_what_audits_find_to_change_most(run_script, recording):
    for words, place in (([], "more_work"), (["--audits", recording], "bad")):
        result = run_script("sensitivity", "--cpu", "emulate", "--most", "2", "--format", "json", *words)
        assert result.returncode == 0, result.stderr
        assert [one["place"].split()[-1] for one in result.json["places"]] == [place, "places)"]


def test_recordings_for_the_order_have_to_be_there(run_script, tmp_path):
    result = run_script("bisect", "--audits", tmp_path / "none.fp32rec", arguments=["judge"])
    assert (result.returncode, result.stdout) == (2, "") and "none.fp32rec" in result.stderr
    other = make_recording(tmp_path / "other.fp32rec", "summary", "dgemm_:64:native:fp64:as_requested:30")
    assert run_script("bisect", "--cpu", "emulate", "--audits", other, arguments=["judge"]).returncode == 0


def test_qtlq_is_right_as_a_whole_but_not_in_a_row(tmp_path):
    """Checks what docs/choosing-a-precision.md says, with the data of examples/qtlq."""
    log = tmp_path / "qtlq.fp32rec"
    qtlq = ["--", BUILD / "bin/qtlq", "--csv", ROOT / "examples/qtlq"]
    (tmp_path / "audit.toml").write_text('schema = 1\ndefault = "high"\ncpu.mode = "emulate"\naudit.sample = 1\n')
    fp32shim("run", "--policy", tmp_path / "audit.toml", "--log", log, *qtlq)
    audit, = fp32shim("report", "--format", "json", log).json["audits"]
    assert audit["norm"]["worst"] < 1e-3 and audit["component"]["worst"] < 2**-10
    assert audit["row"]["worst"] > 1 and audit["worst_row"] == 126


def test_training_bears_tf32_and_no_audit_sees_that_the_search_after_it_does_not(tmp_path):
    """Checks what docs/choosing-a-precision.md says, with examples/train."""
    log = tmp_path / "train.fp32rec"
    train = ["--", SYSTEM_PYTHON, ROOT / "examples/train/train.py"]
    (tmp_path / "audit.toml").write_text('schema = 1\naudit = { sample = 0.05, against = "tf32" }\n')
    exact = fp32shim("run", "--policy", tmp_path / "audit.toml", "--where", "python", "--log", log, *train)
    lowered = fp32shim("run", "--precision", "high", "--cpu", "emulate", *train)

    def percentages(outcome):
        return [float(line.split()[-2].rstrip("%")) for line in outcome.stdout.splitlines() if line.endswith("right")]

    assert percentages(lowered)[:5] == pytest.approx(percentages(exact)[:5], abs=0.3)
    assert percentages(lowered)[5] < percentages(exact)[5] - 20
    rows = {audit["where"]: audit["row"]["worst"] for audit in fp32shim("report", "--format", "json", log).json["audits"]}
    assert max(rows.values()) < 5e-3 and rows["train.py:33 nearest"] == min(rows.values())


def test_a_recording_that_does_not_exist_is_refused_before_a_command_names_it(tmp_path):
    result = fp32shim("suggest", tmp_path / "nothing.fp32rec")
    assert (result.returncode, result.stdout) == (2, "") and "nothing.fp32rec: no such file or folder" in result.stderr


def test_a_search_says_that_the_named_recordings_have_no_audits(run_script, tmp_path):
    assert run_script("run", "-q", "--log", tmp_path / "plain.fp32rec").returncode == 0
    result = run_script("bisect", "--cpu", "emulate", "--audits", "plain.fp32rec", arguments=["judge"])
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("--audits: the recordings have no audit of these products with an error") == 1
