"""Rules by scope: `run` turns on what opens scopes, whatever `where` says; a plain preload says what it cannot turn on."""

import pytest

import shim
from command import fp32shim

EXACT = """schema = 1
default = "high"
[cpu]
mode = "emulate"
[[rule]]
name = "exact"
precision = "highest"
when = {{ scope = "{scope}" }}
"""
MODULES = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(8, 9), torch.nn.Linear(9, 8)
    def forward(self, x):
        return self.down(self.up(x))
torch.set_num_threads(1)
with torch.no_grad():
    Net()(torch.ones(8, 8))
"""
SAID = ("fp32shim: rules by scope do not apply within PyTorch modules, which open no scopes here; start the "
        "program with fp32shim run\n")


@pytest.fixture
def policy(tmp_path):
    def write(scope):
        path = tmp_path / "policy.toml"
        path.write_text(EXACT.format(scope=scope))
        return path
    return write


@pytest.fixture
def decisions(tmp_path):
    """Runs words under `run` with a policy, and returns what was recorded: the rule of each product by its m."""
    def record(*words, policy, options=(), **variables):
        log = tmp_path / "run.fp32rec"
        done = fp32shim("run", "-q", "--policy", policy, "--log", log, *options, "--", *words, env=variables)
        assert done.returncode == 0, done.stderr
        rows = fp32shim("report", "--format", "json", log).json["rows"]
        return {row["m"]: (row["rule"], row["applied"]) for row in rows}, done.stderr
    return record


def with_blas(**variables):
    return {"LD_LIBRARY_PATH": shim.blas_directory("openblas"), **variables}


@pytest.mark.parametrize("options", [(), ("--where", "python")])
def test_nvtx_ranges_open_scopes_where_a_rule_asks_for_them(policy, decisions, options):
    found, said = decisions(shim.client("ranges"), "attention", policy=policy("attention*"), options=options, **with_blas())
    assert said == ""
    assert {m for m, decision in found.items() if decision == ("exact", "fp32")} == {8, 16, 24}
    assert {decision for m, decision in found.items() if m % 8} == {(None, "tf32")}


def test_modules_of_torch_open_scopes_where_a_rule_asks_for_them(policy, decisions, tmp_path):
    shim.need(shim.has_module("torch"), "no torch")
    script = tmp_path / "net.py"
    script.write_text(MODULES)
    found, said = decisions(shim.SYSTEM_PYTHON, script, policy=policy("*.up"), **with_blas())
    assert said == ""
    assert set(found.values()) == {("exact", "fp32"), (None, "tf32")}


def test_a_profiler_that_keeps_the_ranges_is_named(policy, decisions):
    other = shim.CLIENTS / "libother_injection.so"
    _, said = decisions(shim.client("ranges"), "attention", policy=policy("attention*"), **with_blas(NVTX_INJECTION64_PATH=other))
    assert said == (f'fp32shim run: NVTX_INJECTION64_PATH="{other}" gives NVTX ranges to that library, so rules by scope do '
                    "not apply within them\n")


def test_a_plain_preload_takes_the_ranges_that_need_no_variable(policy):
    result = shim.run("ranges_preinjected", "attention", policy=policy("attention*").read_text())
    assert {d["m"] for d in result.decisions if d["rule"] == "exact"} == {8, 16, 24}
    assert result.stderr == ""


def test_a_plain_preload_says_once_that_modules_of_torch_open_no_scopes(policy, tmp_path):
    shim.need(shim.has_module("torch"), "no torch")
    script = tmp_path / "net.py"
    script.write_text(MODULES + "Net()(torch.ones(16, 8))\n")
    result = shim.run(shim.SYSTEM_PYTHON, script, policy=policy("*.up").read_text())
    assert result.stderr == SAID
    assert {d["applied"] for d in result.decisions} == {"tf32"}


def test_a_plain_preload_says_nothing_of_programs_without_torch(policy):
    for program in (["ranges", "attention"], ["cblas_product"]):
        assert shim.run(*program, policy=policy("attention*").read_text()).stderr == ""


def test_check_and_doctor_say_what_rules_by_scope_need(policy, tmp_path):
    checked = fp32shim("check", policy("*.up"))
    assert checked.returncode == 0 and "rules by scope match PyTorch modules" in checked.stdout
    assert fp32shim("check", "--format", "json", policy("*.up")).json["files"][0]["needs_scopes"] is True
    plain = tmp_path / "plain.toml"
    plain.write_text('schema = 1\ndefault = "high"\n')
    assert "scope" not in fp32shim("check", plain).stdout
    for variables, is_said in (({"FP32_MATMUL_POLICY": policy("*.up")}, True), ({"FP32_MATMUL_POLICY": plain}, False)):
        findings = fp32shim("doctor", "--format", "json", env=variables).json["findings"]
        assert any("rules by scope" in str(finding) for finding in findings) == is_said
