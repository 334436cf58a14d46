"""The plugin for pytest under three versions of pytest and xdist, on the suites of numpy and scikit-learn, and on torch."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import processor
import shim
import suites
from wheels import KEEP_BYTE_CODE, PREFIX

COMMAND = pathlib.Path(os.environ.get("FP32SHIM_COMMAND", shim.BUILD / "bin/fp32shim"))
OWN = pytest.__version__
VERSIONS = sorted({OWN, *(folder.name for folder in PREFIX.glob("pytest/*") if (folder / "pytest").is_dir())})
LINALG = ["--pyargs", "numpy.linalg.tests.test_linalg", "-k", "TestCholesky or TestPinv or TestQR"]
PCA = ["--pyargs", "sklearn.decomposition.tests.test_pca", "-k", "dtype_preservation or zero_noise"]


class Run:
    def __init__(self, done, report):
        self.returncode, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        assert report.exists(), f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        self.outcomes = suites.read_outcomes(report)

    def section(self, title):
        parts = re.split(r"^=+ (.*?) =+$", self.stdout, flags=re.MULTILINE)
        assert f"fp32shim: {title}" in parts, self.stdout
        return parts[parts.index(f"fp32shim: {title}") + 1].strip().splitlines()


@pytest.fixture
def run(tmp_path):
    def start(*words, version=OWN, plugin=True, **variables):
        path = [str(shim.ROOT / "python")] + ([str(PREFIX / "pytest" / version)] if version != OWN else [])
        environment = shim.environment(env={
            "PYTHONPATH": ":".join(path), "PATH": f"{COMMAND.parent}:{os.environ['PATH']}", "FP32SHIM_LIBRARY": str(shim.LIBRARY),
            "SKLEARN_TESTS_GLOBAL_RANDOM_SEED": "42", "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path), **KEEP_BYTE_CODE, **variables})
        report = tmp_path / "report.xml"
        report.unlink(missing_ok=True)
        line = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", f"--junitxml={report}",
                *(["-p", "pytest_fp32shim"] if plugin else []), *map(str, words)]
        return Run(subprocess.run(line, env=environment, cwd=tmp_path, text=True, capture_output=True, check=False), report)
    return start


@pytest.mark.parametrize("version", VERSIONS)
def test_a_suite_ends_as_without_the_plugin_and_the_preview_names_what_differs(run, version):
    plain = run(*LINALG, version=version, plugin=False)
    assert suites.count(plain.outcomes, "passed") > 100
    expect = ["--fp32shim-expect", "fp32"]
    for words in ([], expect, [*expect, "-n", "2"]) if version == OWN else ([*expect, "-n", "2"],):
        found = run(*LINALG, *words, version=version)
        assert suites.differences(plain.outcomes, found.outcomes) == [] and found.returncode == plain.returncode, words
    found = run(*LINALG, "--fp32shim-preview", "tf32", "-n", "2", version=version)
    different = suites.differences(plain.outcomes, found.outcomes)
    named = [line for line in found.section("preview of tf32") if line.endswith(": fails only at tf32")]
    assert len(named) == len(different) > 10
    assert f"{len(named)} of {len(named)} failures passed natively, 0 failed there too." in found.section("preview of tf32")


def test_tests_whose_products_ran_below_fp32_fail_on_the_workers_of_xdist(run):
    some = [*LINALG[:2], "-k", "TestCholesky and float32", "-n", "2"]
    for words, outcome in (([], "passed"), (["--fp32shim-fail", "fp32"], "failure")):
        found = run(*some, *words, FP32_MATMUL_CPU="emulate", FP32_MATMUL_PRECISION="medium")
        assert suites.count(found.outcomes, outcome) > 0, outcome


def test_the_tests_of_scikit_learn_that_need_fp32_are_named_with_their_products(run):
    found = run(*PCA, "--fp32shim-preview", "tf32")
    lines = found.section("preview of tf32")
    at = next(number for number, line in enumerate(lines)
              if "test_pca_dtype_preservation[42-covariance_eigh]: fails only at tf32" in line)
    assert re.search(r"1 x \w*ssyrk\w* 4x4x1000 T at tf32 \(environment asked for high\), _pca.py:\d+ PCA._fit_full", lines[at + 2])


def test_a_planted_medium_of_torch_is_found_in_its_test_alone(run, tmp_path):
    (tmp_path / "test_net.py").write_text("""
import pytest, torch
def product():
    a = torch.full((64, 64), 1 + 2**-12)
    return (a @ a)[0, 0].item()
@pytest.fixture
def medium():
    torch.set_float32_matmul_precision("medium")
    yield
    torch.set_float32_matmul_precision("highest")
def test_plain():
    assert product() == 64.03125
def test_planted(medium):
    assert product() > 63
def test_afterwards():
    assert product() == 64.03125
""")
    found = run("test_net.py", "--fp32shim-expect", "fp32")
    lines = found.section("expect fp32")
    is_rounded = processor.has("amx_bf16")  # only these instructions round
    assert found.returncode == is_rounded and set(found.outcomes.values()) == {"passed"}
    assert (lines[0] == "test_net.py::test_planted: BELOW fp32") == is_rounded
    assert not any("test_plain" in line or "test_afterwards" in line or "oneDNN" in line for line in lines)

    found = run("test_net.py", "--fp32shim-expect", "fp32", FP32_MATMUL_ONEDNN="0")
    assert set(found.outcomes.values()) == {"passed"}
    lines = found.section("expect fp32")
    assert not any("test_plain" in line or "test_afterwards" in line for line in lines)
    may_round = "avx512bw" in processor.flags_of_machine()
    assert found.returncode == may_round
    if may_round:
        assert lines[0] == "test_net.py::test_planted: ALLOWED below fp32"
        assert "torch.get_float32_matmul_precision() was 'medium'" in lines[1]
        assert any(line.startswith("  oneDNN: ") for line in lines)
