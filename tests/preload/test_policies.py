"""Rules, scopes and floors in a running process: what the environment, the policy file and the C API say together."""

import hashlib
import pathlib

from shim import has_module, need, python, run

EMULATING = 'schema = 1\n[cpu]\nmode = "emulate"\n'


def outcomes(result):
    """Returns (size of the product, requested, source, rule, applied) of every decision."""
    return [(d["m"], d["requested"], d["source"], d["rule"], d["applied"]) for d in result.decisions]


def test_scopes_belong_to_their_thread_and_are_matched_by_rules():
    policy = EMULATING + """
[[rule]]
name = "attention"
precision = "medium"
when = { scope = "inference/*.attn" }
"""
    result = run("scopes", "scopes", policy=policy)
    assert outcomes(result) == [
        (1, "native", "native", None, "fp32"),
        (2, "high", "thread", None, "tf32"),
        (3, "medium", "rule", "attention", "bf16"),
        (4, "native", "native", None, "fp32"),  # a call of the other thread
        (5, "medium", "rule", "attention", "bf16"),
        (6, "high", "thread", None, "tf32"),
        (7, "native", "native", None, "fp32"),
    ]
    assert [d["scope"] for d in result.decisions] == [
        None, "inference", "inference/layer3.attn", None, "inference/layer3.attn", "inference", None]
    said = result.stdout.splitlines()
    assert said == [
        "push: 0 ok", "setting: high (thread), floor none (0 0)", "push: 0 ok",
        "setting: high (thread), floor none (0 0)", said[4], "setting: native (native), floor none (0 0)",
        "push: 0 ok", "pop: 0 ok", "pop: 0 ok", "pop: 0 ok", said[10], said[11], said[12],
        "setting: native (native), floor none (0 0)"]
    assert said[4].startswith("pop in another thread: 3 ") and said[10].startswith("pop: 3 ")
    assert said[11].startswith("push: 1 ") and said[12].startswith("push: 1 ")


def test_an_innermost_scope_without_a_precision_leaves_the_outer_ones():
    result = run("scopes", "scopes", cpu="emulate", precision="medium")
    assert [(m, requested, source) for m, requested, source, _, _ in outcomes(result)] == [
        (1, "medium", "environment"), (2, "high", "thread"), (3, "high", "thread"), (4, "medium", "environment"),
        (5, "highest", "thread"), (6, "high", "thread"), (7, "medium", "environment")]


def test_the_process_setting_holds_until_it_is_taken_back():
    result = run("scopes", "process", cpu="emulate")
    assert [(m, requested, source) for m, requested, source, _, _ in outcomes(result)] == [
        (1, "native", "native"), (2, "high", "process"), (3, "medium", "process"), (4, "native", "native")]
    settings = [line for line in result.stdout.splitlines() if line.startswith("setting")]
    assert settings == ["setting: native (native), floor none (0 0)", "setting: high (process), floor none (0 0)",
                        "setting: medium (process), floor none (0 0)", "setting: native (native), floor none (0 0)"]
    assert [line.split()[1] for line in result.stdout.splitlines() if line.startswith("set:")] == list("00110")


def test_no_kept_decision_outlives_a_change_of_settings():
    result = run("scopes", "changes", cpu="emulate")
    assert [(requested, applied) for _, requested, _, _, applied in outcomes(result)] == [
        ("native", "fp32"), ("highest", "fp32"), ("high", "tf32")]


def test_floors_only_rise():
    result = run("scopes", "floors", cpu="emulate", precision="medium")
    assert [(m, applied) for m, _, _, _, applied in outcomes(result)] == [
        (1, "bf16"), (2, "fp32"), (3, "tf32"), (4, "fp32")]
    assert [d["reason"] for d in result.decisions] == ["as_requested", "floor", "floor", "floor"]
    floors = [line.split("floor ")[1].split()[0] for line in result.stdout.splitlines() if line.startswith("setting")]
    assert floors == ["fp32", "tf32", "tf32", "fp32"]


def test_a_floor_of_the_environment_clamps_rules_and_scopes():
    policy = EMULATING + '[[rule]]\nname = "low"\nprecision = "medium"\nwhen = { m = 1 }\n'
    result = run("scopes", "scopes", policy=policy, floor="fp32")
    assert {applied for *_, applied in outcomes(result)} == {"fp32"}
    assert [d["reason"] for d in result.decisions][:2] == ["floor", "floor"]


def test_a_policy_is_reloaded_whole_or_not_at_all(tmp_path):
    policy = pathlib.Path(tmp_path, "policy.toml")
    policy.write_text(EMULATING)
    result = run("scopes", "reload", env={"FP32_MATMUL_POLICY": str(policy)})
    assert [(m, requested, source, applied) for m, requested, source, _, applied in outcomes(result)] == [
        (1, "native", "native", "fp32"), (2, "native", "native", "fp32"), (3, "medium", "file", "bf16"),
        (4, "medium", "file", "bf16")]
    assert [line.split()[1] for line in result.stdout.splitlines()] == ["0", "5"]
    (line,) = result.stderr.splitlines()
    assert line.startswith("fp32shim: ") and "policy.toml:2:11" in line and '"mediun"' in line


def test_limits_of_the_c_api_are_those_of_its_header():
    said = run("scopes", "limits").stdout.splitlines()
    assert said[:2] == ["64 scopes", "0 left"]
    assert said[2].startswith("long label: 4 ") and said[3].startswith("pop: 3 ")
    assert said[4].startswith("small buffer: 1 ") and said[5] == 'buffer ""'
    assert said[6].startswith("nothing wanted: 0 ") and said[7].startswith("floor without buffer: 1 ")


LAST_PRODUCT = """
import ctypes, os, sys, threading
from ctypes import c_char, c_longlong
class Product(ctypes.Structure):
    _fields_ = [("function", c_char * 64), ("dtype", c_char * 16), *((size, c_longlong) for size in ("m", "n", "k", "batch")),
                ("requested", c_char * 16), ("source", c_char * 16), ("applied", c_char * 16), ("actual", c_char * 16),
                ("how", c_char * 24), ("reason", c_char * 48), ("rule", c_char * 64)]
def last(size=ctypes.sizeof(Product)):
    product = Product()
    status = ctypes.CDLL(None).fp32shim_last_product(ctypes.byref(product), size)
    return status, product.m, product.applied.decode(), product.rule.decode(), product.reason.decode()
import numpy
print(last(), last(8))
matrix = {order: numpy.ones((order, order), numpy.float32) for order in (4, 8, 16)}
def multiply(order):
    matrix[order] @ matrix[order]
    return last()
print([multiply(order) for order in (4, 8, 4, 4, 16, 8)])
for _ in range(200): multiply(8)
print(multiply(8), multiply(16))
def other():
    print(last(), multiply(4))
for _ in range(2):  # the second one continues the slot of the first
    thread = threading.Thread(target=other); thread.start(); thread.join()
print(last())
sys.stdout.flush()
if os.fork() == 0:
    print(last(), multiply(8)); sys.stdout.flush(); os._exit(0)
os.wait()
numpy.ones((3, 3)) @ numpy.ones((3, 3))
print(last())
"""


def test_a_program_can_ask_what_its_last_product_ran_at_and_why(tmp_path):
    need(has_module("numpy"), "python3-numpy is not installed")
    policy = EMULATING + """
[[rule]]
name = "eight"
precision = "medium"
when = { m = 8 }
"""
    said = python(LAST_PRODUCT, log=str(tmp_path / "run.fp32rec"), policy=policy, precision="high").stdout.splitlines()
    none, four, sixteen = "(6, 0, '', '', '')", "(0, 4, 'tf32', '', 'as_requested')", "(0, 16, 'tf32', '', 'as_requested')"
    eight = "(0, 8, 'bf16', 'eight', 'as_requested')"
    assert said == [f"{none} (1, 0, '', '', '')", f"[{four}, {eight}, {four}, {four}, {sixteen}, {eight}]", f"{eight} {sixteen}",
                    f"{none} {four}", f"{none} {four}", sixteen, f"{none} {eight}", "(0, 3, 'fp64', '', 'as_requested')"]
    assert python(LAST_PRODUCT, log=False).stdout.splitlines()[-1] == none  # nothing is recorded


def test_a_disabled_shim_says_that_it_is_not_active():
    said = run("scopes", "disabled", env={"FP32_MATMUL_DISABLE": "1"}).stdout.splitlines()
    assert [line.split()[1] for line in said] == ["2", "2", "2"]


def test_without_the_shim_the_names_are_not_there():
    assert run("scopes", "scopes", preload=False).stdout == "no shim\n"


def test_conditions_of_a_rule_see_the_process_and_the_call():
    policy = EMULATING + """
[[rule]]
name = "all of it"
precision = "high"
when = { function = "cblas_*", caller = "cblas_product", executable = "cblas_product", command = "* fp32 2", \
device = "cpu", dtype = "float32", m = 12, n = ">=20", k = "<=33", max_dim = 33, min_dim = 12, batch = 1, \
flops = ">=15000 <=16000" }
unless = { m = 13, caller = "libblas*" }
"""
    result = run("cblas_product", "fp32", 2, policy=policy)
    assert [d["rule"] for d in result.decisions] == ["all of it"] * 2
    assert [d["rule"] for d in run("cblas_product", "fp32", 1, policy=policy).decisions] == [None]


def test_a_rule_of_the_file_refines_the_default_of_the_environment():
    policy = ('schema = 1\ndefault = "highest"\n[cpu]\nmode = "emulate"\n'
              '[[rule]]\nname = "small"\nprecision = "highest"\nwhen = { max_dim = "<=16" }\n')
    assert [d["source"] for d in run("cblas_product", policy=policy).decisions] == ["file"]
    refined = run("cblas_product", policy=policy, precision="high").decisions
    assert [(d["source"], d["applied"]) for d in refined] == [("environment", "tf32")]
    small = run("scopes", "process", policy=policy, precision="high").decisions
    assert {(d["source"], d["rule"], d["applied"]) for d in small} == {("rule", "small", "fp32")}


def test_the_start_of_a_log_names_the_policy_and_what_it_set():
    policy = 'schema = 1\nname = "prod"\nrevision = "7"\ndefault = "high"\n[cpu]\nmode = "emulate"\n'
    (start,) = run("cblas_product", policy=policy, env={"SLURM_JOB_ID": "99", "SLURM_PROCID": "3"}).starts
    assert (start["policy_name"], start["policy_revision"]) == ("prod", "7")
    assert start["policy_sha256"] == hashlib.sha256(policy.encode()).hexdigest()
    assert (start["default_precision"], start["cpu_mode"], start["floor"]) == ("high", "emulate", "none")
    assert (start["job_id"], start["rank"]) == ("99", 3)
    assert start["command"].endswith("cblas_product")
