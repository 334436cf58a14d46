"""What a program sees of its handles, and what threads, devices and streams see of each other: as without the shim."""

import pytest

from cublas import (CLIENTS, COMPUTE_CAPABILITIES, PRECISIONS, has_fast_formats, need, run_client, wished_format)

FLIPPED_MODES = ["compute_32f_on_tf32_handle=no", "syrk_honours_math_mode=no"]


def formats(decisions):
    return {(decision["device_index"], decision["compute_capability"], decision["applied"]) for decision in decisions}


@pytest.mark.parametrize("compute_capability", COMPUTE_CAPABILITIES)
def test_handles_behave_without_the_shim(compute_capability):
    run_client("handles", compute_capability=compute_capability, preload=False, env={"CLIENT_DEFERRED": "1"})


@pytest.mark.parametrize("compute_capability", COMPUTE_CAPABILITIES)
@pytest.mark.parametrize("precision", [None, *PRECISIONS])
def test_handles_behave_under_every_precision(precision, compute_capability):
    run_client("handles", precision=precision, compute_capability=compute_capability, exact=True,
               expect=wished_format(precision or "native", compute_capability), env={"CLIENT_DEFERRED": "1"})


def test_handles_behave_where_nothing_is_logged():
    run_client("handles", precision="high", exact=True, env={"CLIENT_LOG": "", "FP32_MATMUL_LOG": ""})


@pytest.mark.parametrize("assumption", FLIPPED_MODES)
def test_threads_do_not_mix_precisions_under_other_assumptions(assumption):
    run_client("handles", precision="native", assume=assumption, only="*DoNotMixPrecisions")


def test_rules_on_functions_do_not_mix_precisions_on_a_shared_handle():
    policy = """schema = 1
default = "highest"
[[rule]]
name = "one by its math mode"
precision = "high"
when = { function = "cublasSsyrk*" }
"""
    result = run_client("handles", policy=policy, env={"CLIENT_RULES": "1"}, exact=True,
                        only="*SharedByTwoThreadsWithRules*")
    applied = {(decision["function"], decision["applied"]) for decision in result.decisions}
    assert applied == {("cublasSsyrk_v2", "tf32"), ("cublasSgemm_v2", "fp32"), ("cublasGemmEx", "fp32")}


@pytest.mark.parametrize("capabilities", ["8.0,7.5", "7.5,9.0", "10.0,8.0"])
def test_devices_are_told_apart(capabilities):
    result = run_client("handles", precision="high", devices=2, compute_capability=capabilities, exact=True,
                        only="*OfSeveralDevicesAreToldApart")
    assert "SKIPPED" not in result.stdout
    expected = {(index, capability, "tf32" if has_fast_formats(capability) else "fp32")
                for index, capability in enumerate(capabilities.split(","))}
    assert formats(result.decisions) == expected


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("compute_capability", ["7.5", "9.0"])
def test_bad_input_gets_the_status_of_the_library(precision, compute_capability):
    plain = run_client("statuses", "destroyed", compute_capability=compute_capability, preload=False)
    shimmed = run_client("statuses", "destroyed", compute_capability=compute_capability, precision=precision)
    assert plain.stdout.splitlines() == shimmed.stdout.splitlines()
    assert len(plain.stdout.splitlines()) > 1000


def test_bad_input_is_logged_with_its_status():
    decisions = run_client("statuses", precision="high").decisions
    failed = [decision for decision in decisions if decision["status"] != 0]
    assert {decision["reason"] for decision in failed} >= {"unknown_handle", "invalid_arguments", "unknown_value"}
    assert all(decision["applied"] in ("unchanged", "fp32", "tf32") for decision in failed)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_threads_are_free_of_races(precision):
    """Client and stand-in are built with the thread sanitizer, which ends the program with 66 where it finds a race."""
    need((CLIENTS / "handles_thread").exists(), "the compiler has no thread sanitizer")
    run_client("handles_thread", precision=precision, exact=True, expect=wished_format(precision, "9.0"),
               libraries=[CLIENTS.parent / "stand_in_thread"],
               env={"TSAN_OPTIONS": "exitcode=66", "CLIENT_DEFERRED": "1"})
