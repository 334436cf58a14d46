"""fp32shim suggest: whole programs are audited, and run again under the policy that it writes."""

import pytest

from command import fp32shim, make_recording
from shim import BUILD, ROOT, SYSTEM_PYTHON, run

SCRIPT = """
import numpy as np
rng = np.random.default_rng(5)

def good():
    return tuple(rng.standard_normal((48, 48)).astype(np.float32) for _ in range(2))

def bad():
    q = np.linalg.qr(rng.standard_normal((64, 64)))[0]
    l = q * np.geomspace(1e-1, 1e4, 64) @ q.T
    return q.T.astype(np.float32, order="C"), l.astype(np.float32)

def checksum(x):
    return x.tobytes().hex()[:2000]

def project():
    a, b = bad()
    return a @ b

def smooth():
    a, b = good()
    return a @ b

def mixed(operands):
    a, b = operands
    return a @ b

for _ in range(3):
    print("project", checksum(project()))
    print("smooth", checksum(smooth()))
    print("mixed bad", checksum(mixed(bad())))
    print("mixed good", checksum(mixed(good())))
"""
AUDIT = 'schema = 1\n[audit]\nsample = 1\nagainst = "tf32"\n[cpu]\nmode = "emulate"\n'


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def recording(script, tmp_path):
    log = tmp_path / "run.fp32rec"
    run(SYSTEM_PYTHON, script, policy=AUDIT, log=log, env={"FP32_MATMUL_WHERE": "python"})
    return log


def lines_of(script, policy):
    found = {}
    for line in run(SYSTEM_PYTHON, script, policy=policy, log=False).stdout.splitlines():
        name, _, value = line.rpartition(" ")
        found.setdefault(name, []).append(value)
    return found


def test_under_the_suggested_policy_what_was_beyond_is_exact_to_the_bit(script, recording, tmp_path):
    suggested = fp32shim("suggest", recording)
    assert (suggested.returncode, suggested.stderr) == (0, "")
    (tmp_path / "suggested.toml").write_text(suggested.stdout)
    assert fp32shim("check", tmp_path / "suggested.toml").returncode == 0
    emulating = suggested.stdout + '\n[cpu]\nmode = "emulate"\n'
    now = lines_of(script, emulating)
    exact = lines_of(script, "schema = 1\n")
    lowered = lines_of(script, 'schema = 1\ndefault = "high"\n[cpu]\nmode = "emulate"\n')
    assert now["project"] == exact["project"] != lowered["project"]
    assert now["mixed bad"] == exact["mixed bad"] != lowered["mixed bad"]
    assert now["smooth"] == lowered["smooth"] != exact["smooth"]
    assert now["mixed good"] == lowered["mixed good"] != exact["mixed good"]


def test_rules_are_as_general_as_they_can_be_and_have_the_evidence(recording):
    text = fp32shim("suggest", recording).stdout
    assert 'when = { where = "model.py:* project" }' in text
    # One product of the function is accurate enough, so the rule for the others must also name the size.
    assert 'where = "model.py:* mixed", function = "cblas_sgemm", m = 64, n = 64, k = 64' in text
    assert "smooth" not in text
    assert "# Products that exceeded 0.01 by the metric \"row\" stay exact: 2 of 4 groups" in text
    assert "# cblas_sgemm 64x64x64: row up to " in text and "in 3 audits" in text


def test_it_says_that_audits_do_not_see_what_the_program_makes_of_products_and_names_the_next_command(recording, tmp_path):
    policy = tmp_path / "suggested.toml"
    said = fp32shim("suggest", "-o", policy, recording)
    header = fp32shim("suggest", recording).stdout
    assert policy.read_text() == header and said.returncode == 0
    for text in (said.stdout, header):
        assert "Audits judge products, not what the program makes of them" in text and "fp32shim sensitivity --cpu emulate -- PROGRAM names" in text
    assert f"fp32shim sensitivity --cpu emulate --policy {policy} -- PROGRAM" in said.stdout
    assert "from 12 audits of 12 calls: 4 groups in 1 recording." in header
    assert "No audit was beyond it in 2 groups. In 2 of them" in header and "95% certainty" in header


def test_conservative_keeps_a_whole_line_exact(recording):
    text = fp32shim("suggest", "--conservative", recording).stdout
    assert 'when = { where = "model.py:* mixed" }' in text
    assert "m = 64" not in text and "smooth" not in text


def test_a_larger_tolerance_or_another_metric_pins_nothing(recording):
    for words in (["--tolerance", "1e6"], ["--metric", "norm"], ["--metric", "component"]):
        text = fp32shim("suggest", *words, recording).stdout
        assert "[[rule]]" not in text and "0 of 4 groups" in text, words


def test_recordings_without_audits_are_inconclusive(script, tmp_path):
    log = tmp_path / "plain.fp32rec"
    run(SYSTEM_PYTHON, script, policy="schema = 1\n", log=log)
    result = fp32shim("suggest", log)
    assert (result.returncode, result.stdout) == (3, "")
    assert "found no audits of tf32" in result.stderr and "FP32_MATMUL_AUDIT=0.01" in result.stderr


def test_audits_of_another_format_are_named(recording):
    result = fp32shim("suggest", "--precision", "medium", recording)
    assert result.returncode == 3
    assert 'found no audits of bf16, only of tf32; record with [audit] against = "bf16"' in result.stderr


def test_a_bad_tolerance_is_one_line(recording):
    result = fp32shim("suggest", "--tolerance", "-1", recording)
    assert result.returncode == 2 and len(result.lines) == 1 and "allowed: a number from 0" in result.stderr


def test_qtlq_is_right_as_a_whole_but_not_in_a_row_and_is_kept_exact(tmp_path):
    """As docs/choosing-a-precision.md tells it, with the data of examples/qtlq."""
    log, policy = tmp_path / "qtlq.fp32rec", tmp_path / "suggested.toml"
    qtlq = ["--", BUILD / "bin/qtlq", "--csv", ROOT / "examples/qtlq"]
    (tmp_path / "audit.toml").write_text('schema = 1\ndefault = "high"\ncpu.mode = "emulate"\naudit.sample = 1\n')
    lowered = fp32shim("run", "--policy", tmp_path / "audit.toml", "--log", log, *qtlq)
    audit, = fp32shim("report", "--format", "json", log).json["audits"]
    assert audit["norm"]["worst"] < 1e-3 and audit["component"]["worst"] < 2**-10
    assert audit["row"]["worst"] > 1 and audit["worst_row"] == 126

    assert fp32shim("suggest", "--output", policy, log).returncode == 0
    pinned = fp32shim("run", "--policy", policy, "--cpu", "emulate", *qtlq)
    highest = fp32shim("run", "--precision", "highest", *qtlq)
    assert pinned.stdout == highest.stdout != lowered.stdout
    assert "[[rule]]" not in fp32shim("suggest", "--metric", "norm", "--tolerance", "1e-3", log).stdout


def test_training_bears_tf32_and_no_audit_sees_that_the_search_after_it_does_not(tmp_path):
    """As docs/choosing-a-precision.md tells it, with examples/train."""
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
    assert "[[rule]]" not in fp32shim("suggest", log).stdout


def test_without_audits_of_the_type_it_says_how_to_record_them(tmp_path):
    doubles = make_recording(tmp_path / "a.fp32rec", "summary", "dgemm_:64:native:fp64:as_requested:30")
    result = fp32shim("suggest", doubles)
    assert (result.returncode, result.stdout) == (3, "")
    assert "found no products of float32 in these recordings; 30 calls are of float64, without audits" in result.stderr
    assert "FP32_MATMUL_AUDIT=0.01,float64 fp32shim run" in result.stderr and "--dtype float64" in result.stderr


def test_products_of_another_type_are_counted_beside_those_that_it_judges(recording):
    # numpy's own test data are float64, and so is the product that makes them.
    policy = fp32shim("suggest", recording).stdout
    assert "# Not judged: " in policy and "suggest --dtype float64" in policy and "dgemm" not in policy


REFINEMENT = """
import numpy as np
rng = np.random.default_rng(5)

def graded():
    q = np.linalg.qr(rng.standard_normal((64, 64)))[0]
    return q.T @ (q * np.geomspace(1e-9, 1e4, 64) @ q.T)

def smooth():
    return rng.standard_normal((48, 48)) @ rng.standard_normal((48, 48))

def single():
    return np.ones((32, 32), np.float32) @ np.ones((32, 32), np.float32)

for _ in range(3):
    print("graded", graded().tobytes().hex()[:2000])
    print("smooth", smooth().tobytes().hex()[:2000])
    single()
"""


def test_of_float64_it_keeps_what_float32_changes_and_lowers_the_rest(tmp_path):
    script, log = tmp_path / "refine.py", tmp_path / "run.fp32rec"
    script.write_text(REFINEMENT)
    run(SYSTEM_PYTHON, script, log=log, env={"FP32_MATMUL_WHERE": "python", "FP32_MATMUL_AUDIT": "1,float64"})
    suggested = fp32shim("suggest", "--dtype", "float64", "--tolerance", "1e-5", log)
    assert (suggested.returncode, suggested.stderr) == (0, "")
    text = suggested.stdout
    assert 'precision = "fp64"\nwhen = { where = "refine.py:* graded"' in text and "FP64's own" in text
    assert text.rstrip().endswith('precision = "fp32"\nwhen = { dtype = ["float64", "complex128"] }')
    assert "# Not judged: 3 calls of float32" in text
    now = lines_of(script, text + '\n[cpu]\nmode = "emulate"\n')
    exact = lines_of(script, "schema = 1\n")
    assert now["smooth"] != exact["smooth"]
    lowered = lines_of(script, 'schema = 1\n[cpu]\nmode = "emulate"\n[[rule]]\nprecision = "fp32"\n'
                               'when = { dtype = "float64" }\n')
    assert now["graded"] != lowered["graded"]
    asked = fp32shim("suggest", log)
    assert asked.returncode == 3 and "found no audits of tf32" in asked.stderr or "0 of " in asked.stdout


def test_of_float64_on_a_gpu_it_says_that_it_is_neither_audited_nor_lowered(tmp_path):
    products = make_recording(tmp_path / "a.fp32rec", "summary", "cublasDgemm_v2:64:native:fp64:as_requested:30")
    result = fp32shim("suggest", "--dtype", "float64", products)
    assert result.returncode == 3
    assert "30 calls of float64 ran on a GPU, where float64 is neither audited nor lowered" in result.stderr


def test_fp32_is_no_lower_precision_of_float32(recording):
    result = fp32shim("suggest", "--precision", "fp32", recording)
    assert result.returncode == 2 and "it lowers those of --dtype float64" in result.stderr
