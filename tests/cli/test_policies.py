"""fp32shim check and explain."""

import os

import pytest

import shim
from command import fp32shim


@pytest.fixture
def policy(tmp_path):
    file = tmp_path / "policy.toml"
    file.write_text("""schema = 1
name = "rules"
default = "high"

[[rule]]
name = "small"
precision = "highest"
when = { max_dim = "<=128", device = "cuda" }

[[rule]]
name = "foo"
precision = "medium"
when = { caller = "libfoo*" }
unless = { scope = "exact" }

[[rule]]
name = "never tried"
precision = "highest"
when = { batch = ">=2" }
""")
    return file


def explain(policy, *words):
    return fp32shim("explain", "--format", "json", "--policy", policy, *words).json


def test_check_finds_all_errors_of_a_policy(tmp_path):
    broken = tmp_path / "broken.toml"
    broken.write_text('schema = 1\ndefault = "hihg"\nflor = 1\n[cpu]\nmode = "on"\n')
    result = fp32shim("check", broken)
    assert (result.returncode, result.stdout.count("error: ")) == (1, 3)
    errors = fp32shim("check", "--format", "json", broken).json["files"][0]["errors"]
    assert [error["where"].split(":")[1] for error in errors] == ["2", "3", "5"]


def test_check_is_content_with_the_policies_that_are_shipped():
    shipped = sorted((shim.ROOT / "config").glob("*.toml"))
    result = fp32shim("check", *shipped)
    assert (result.returncode, result.stdout.count(": valid, ")) == (0, len(shipped))


def test_check_judges_every_file(tmp_path, policy):
    result = fp32shim("check", "--format", "json", policy, tmp_path / "none.toml")
    assert result.returncode == 2
    assert [entry["valid"] for entry in result.json["files"]] == [True, False]
    assert result.json["files"][0]["rules"] == 3


def test_check_tells_a_file_that_is_not_there_from_one_with_errors(tmp_path, policy):
    broken = tmp_path / "broken.toml"
    broken.write_text('schema = 1\ndefault = "hihg"\n')
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    missing = tmp_path / "nope.toml"
    for files, status in (([policy], 0), ([broken], 1), ([policy, broken], 1), ([missing], 2), ([tmp_path], 2), ([pipe], 2),
                          (["/proc/self/environ"], 2), ([missing, broken], 2), ([broken, missing, policy], 2)):
        assert fp32shim("check", *files).returncode == status, files
    assert "No such file" in fp32shim("check", missing).stdout


def test_check_warns_of_rules_that_a_broader_one_hides(tmp_path):
    file = tmp_path / "policy.toml"
    file.write_text("""schema = 1
[[rule]]
name = "all of torch"
precision = "high"
when = { caller = "libtorch_*" }

[[rule]]
name = "torch on the CPU"
precision = "highest"
when = { caller = "libtorch_cpu*", max_dim = "<=128" }

[[rule]]
name = "others"
precision = "highest"
when = { caller = "lib*" }
""")
    result = fp32shim("check", file)
    assert (result.returncode, result.stdout.count("warning: ")) == (0, 1)
    assert f'{file}:7: rule "torch on the CPU" is never reached, because rule "all of torch" on line 2 ' in result.stdout
    warning, = fp32shim("check", "--format", "json", file).json["files"][0]["warnings"]
    assert warning["where"] == f"{file}:7"


def test_explain_says_which_rule_won_and_why_others_did_not(policy):
    result = explain(policy, "--function", "cublasSgemm_v2", "--m", 64, "--n", 4096, "--k", 64, "--compute-capability",
                     "9.0", "--caller", "libfoo.so")
    assert [(rule["rule"], rule["applies"]) for rule in result["rules"]] == [("small", False), ("foo", True)]
    failed = [condition for condition in result["rules"][0]["when"] if not condition["holds"]]
    assert failed == [{"key": "max_dim", "asked": "<=128", "found": "4096", "holds": False}]
    assert (result["source"], result["rule"], result["requested"], result["applied"]) == ("rule", "foo", "medium", "bf16")


def test_explain_in_words(policy):
    text = fp32shim("explain", "--policy", policy, "--function", "cublasSgemm_v2", "--m", "256", "--n", "1", "--k", "1",
                    "--compute-capability", "8.0").stdout
    assert 'max_dim must be <=128, but is 256' in text
    assert "asked for   high (file)" in text and "tf32" in text


def test_explain_names_the_unless_that_held(policy):
    text = fp32shim("explain", "--policy", policy, "--function", "sgemm_", "--caller", "libfoo.so", "--scope", "exact").stdout
    assert "unless scope" in text


@pytest.mark.parametrize("words, applied, reason", [
    (["--function", "cblas_sgemm"], "fp32", "cpu_mode_off"),
    (["--function", "cblas_sgemm", "--cpu", "emulate"], "tf32", "as_requested"),
    (["--function", "cblas_sgemm", "--cpu", "emulate", "--floor", "fp32"], "fp32", "floor"),
    (["--function", "cublasSgemm_v2", "--compute-capability", "7.5"], "fp32", "compute_capability"),
    (["--function", "cublasSgemm_v2", "--compute-capability", "9.0"], "tf32", "as_requested"),
    (["--function", "cublasSgemm_v2", "--compute-capability", "9.0", "--floor", "fp32"], "fp32", "floor"),
    (["--function", "sbgemm_", "--dtype", "bfloat16"], "unchanged", "observed"),
])
def test_explain_says_what_would_be_applied(words, applied, reason):
    result = fp32shim("explain", "--format", "json", "--precision", "high", *words).json
    assert (result["applied"], result["reason"]) == (applied, reason)


def test_explain_tells_the_type_by_the_functions_name():
    for name, dtype in (("cblas_cgemm", "complex64"), ("cublasCgemm3m", "complex64"), ("scipy_ssyrk_64_", "float32"),
                        ("cblas_sgemm", "float32"), ("cgemm_", "complex64"), ("cublasSgemmEx", "float32")):
        assert fp32shim("explain", "--format", "json", "--function", name).json["call"]["dtype"] == dtype


def test_explain_reads_the_environment_as_the_program_would():
    result = fp32shim("explain", "--format", "json", "--function", "sgemm_", env={"FP32_MATMUL_PRECISION": "medium"}).json
    assert (result["requested"], result["source"]) == ("medium", "environment")
    assert fp32shim("explain", "--function", "sgemm_", env={"FP32_MATMUL_CPU": "on"}).returncode == 2
