"""fp32shim suggest: whole programs are audited, and their products ranked."""

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


def rows_of(text):
    """The rows of the table: place, and the cells after it."""
    lines = text.splitlines()
    return [line.split() for line in lines[3:lines.index("", 3)]]


def test_products_are_ranked_by_the_largest_error_of_their_audits(recording):
    result = fp32shim("suggest", recording)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("Largest errors of tf32 by the metric row: 12 audits in 1 recording\n")
    rows = rows_of(result.stdout)
    assert {(row[1], row[3]) for row in rows[:2]} == {("project", "64x64x64"), ("mixed", "64x64x64")}
    assert {(row[1], row[3]) for row in rows[2:]} == {("smooth", "48x48x48"), ("mixed", "48x48x48")}
    errors = [float(row[7]) for row in rows]
    assert errors == sorted(errors, reverse=True) and errors[1] > 1 > 0.1 > errors[2]


def test_it_writes_no_policy_and_names_the_commands_that_run_the_program(recording):
    said = fp32shim("suggest", recording).stdout
    assert "[[rule]]" not in said and "Audits judge products, not what the program makes of them" in said
    assert "To find the lines that need it: fp32shim sensitivity --cpu emulate -- PROGRAM\n" in said
    assert "To measure a policy: fp32shim sensitivity --cpu emulate --policy FILE -- PROGRAM\n" in said
    for gone in (["--tolerance", "1"], ["--conservative"], ["-o", "policy.toml"]):
        assert fp32shim("suggest", *gone, recording).returncode == 2


def test_the_metric_decides_the_order_and_json_has_the_same_products(recording):
    by_metric = {metric: fp32shim("suggest", "--metric", metric, "--format", "json", recording).json["products"]
                 for metric in ("row", "norm")}
    for products in by_metric.values():
        assert [product["error"] for product in products] == sorted((product["error"] for product in products), reverse=True)
        assert all(product["audits"] == product["calls"] == 3 and product["own_error"] > 0 for product in products)
    assert by_metric["row"][0]["error"] > 1 > 1e-2 > by_metric["norm"][0]["error"]


CHILDREN = """
import multiprocessing
import numpy as np
a, b = np.ones((50, 60), "f"), np.full((60, 40), 1.0001, "f")

def main_product():
    return a @ b

def bad(i):  # its terms cancel
    return (np.hstack([a, -a]) @ np.vstack([b, b * np.float32(1.0001)])).sum()

if __name__ == "__main__":
    main_product()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pool.map(bad, [1])
        pool.close()
        pool.join()
"""


def test_the_other_recordings_of_a_run_are_ranked_too(tmp_path):
    script, log = tmp_path / "children.py", tmp_path / "run.fp32rec"
    script.write_text(CHILDREN)
    fp32shim("run", "-q", "--where", "python", "--log", log, "--", SYSTEM_PYTHON, script, env={"FP32_MATMUL_AUDIT": "1"})
    result = fp32shim("suggest", "--format", "json", log)
    assert "belongs to the same run" in result.stderr
    assert [product["where"].split()[-1] for product in result.json["products"]] == ["bad", "main_product"]


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


def test_qtlq_is_right_as_a_whole_but_not_in_a_row(tmp_path):
    """As docs/choosing-a-precision.md tells it, with the data of examples/qtlq."""
    log = tmp_path / "qtlq.fp32rec"
    qtlq = ["--", BUILD / "bin/qtlq", "--csv", ROOT / "examples/qtlq"]
    (tmp_path / "audit.toml").write_text('schema = 1\ndefault = "high"\ncpu.mode = "emulate"\naudit.sample = 1\n')
    fp32shim("run", "--policy", tmp_path / "audit.toml", "--log", log, *qtlq)
    audit, = fp32shim("report", "--format", "json", log).json["audits"]
    assert audit["norm"]["worst"] < 1e-3 and audit["component"]["worst"] < 2**-10
    assert audit["row"]["worst"] > 1 and audit["worst_row"] == 126

    for metric, error in (("row", audit["row"]["worst"]), ("norm", audit["norm"]["worst"])):
        product, = fp32shim("suggest", "--metric", metric, "--format", "json", log).json["products"]
        assert product["error"] == error


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
    products = fp32shim("suggest", "--format", "json", log).json["products"]
    assert products[-1]["where"] == "train.py:33 nearest"


def test_without_audits_of_the_type_it_says_how_to_record_them(tmp_path):
    doubles = make_recording(tmp_path / "a.fp32rec", "summary", "dgemm_:64:native:fp64:as_requested:30")
    result = fp32shim("suggest", doubles)
    assert (result.returncode, result.stdout) == (3, "")
    assert "found no products of float32 in these recordings; 30 calls are of float64, without audits" in result.stderr
    assert "FP32_MATMUL_AUDIT=0.01,float64 fp32shim run" in result.stderr and "--dtype float64" in result.stderr


def test_products_of_another_type_are_counted_beside_those_that_it_judges(recording):
    # numpy's own test data are float64, and so is the product that makes them.
    said = fp32shim("suggest", recording).stdout
    assert "Not ranked: " in said and "suggest --dtype float64" in said and "dgemm" not in said


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


def test_products_of_float64_are_ranked_by_what_float32_changes(tmp_path):
    script, log = tmp_path / "refine.py", tmp_path / "run.fp32rec"
    script.write_text(REFINEMENT)
    run(SYSTEM_PYTHON, script, log=log, env={"FP32_MATMUL_WHERE": "python", "FP32_MATMUL_AUDIT": "1,float64"})
    ranked = fp32shim("suggest", "--dtype", "float64", log)
    assert (ranked.returncode, ranked.stderr) == (0, "")
    assert [row[1] for row in rows_of(ranked.stdout)] == ["graded", "graded", "smooth"][-len(rows_of(ranked.stdout)):]
    assert "Not ranked: 3 calls of float32" in ranked.stdout
    assert "fp32shim bisect --dtype float64 --cpu emulate -- TEST" in ranked.stdout
    assert [row[1] for row in rows_of(fp32shim("suggest", log).stdout)] == ["single"]


def test_of_float64_on_a_gpu_it_says_that_it_is_neither_audited_nor_lowered(tmp_path):
    products = make_recording(tmp_path / "a.fp32rec", "summary", "cublasDgemm_v2:64:native:fp64:as_requested:30")
    result = fp32shim("suggest", "--dtype", "float64", products)
    assert result.returncode == 3
    assert "30 calls of float64 ran on a GPU, where float64 is neither audited nor lowered" in result.stderr


def test_fp32_is_no_lower_precision_of_float32(recording):
    result = fp32shim("suggest", "--precision", "fp32", recording)
    assert result.returncode == 2 and "it lowers those of --dtype float64" in result.stderr
