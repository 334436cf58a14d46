"""What a program sees of its handles, and what threads, devices and streams see of each other: as without the shim."""

import os
import sys

import pytest

from cublas import (CLIENTS, COMPUTE_CAPABILITIES, HERE, PRECISIONS, STAND_IN, has_fast_formats, need, run_client,
                    wished_format)

sys.path.insert(0, str(HERE / "real"))

import libraries  # noqa: E402
from shim import run  # noqa: E402

FLIPPED_MODES = ["compute_32f_on_tf32_handle=no", "cgemm3m_honours_math_mode=no"]


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
when = { function = "cublasCgemm3m*" }
"""
    result = run_client("handles", policy=policy, env={"CLIENT_RULES": "1"}, exact=True,
                        only="*SharedByTwoThreadsWithRules*")
    applied = {(decision["function"], decision["applied"]) for decision in result.decisions}
    assert applied == {("cublasCgemm3m", "tf32"), ("cublasSgemm_v2", "fp32"), ("cublasGemmEx", "fp32")}


@pytest.mark.parametrize("settings", [{"precision": "highest"}, {"floor": "fp32"}], ids=["highest", "floor"])
def test_float32_is_float32_while_another_thread_sets_the_math_mode(settings):
    """The test checks numbers, and a quick library that counts its calls, so that threads meet thousands of times."""
    by_numbers = run_client("handles", expect="fp32", exact=True, **settings,
                            only="*WhileAnotherThreadSetsTheirMathMode")
    assert "[       OK ]" in by_numbers.stdout
    counted = run_client("counted", expect="fp32", libraries=[CLIENTS / "counting", STAND_IN], **settings,
                         env={"CLIENT_LOG": "", "FP32_MATMUL_LOG": ""}, only="*WhileAnotherThreadSetsTheMathMode")
    assert "[       OK ]" in counted.stdout


@pytest.mark.parametrize("precision", [None, *PRECISIONS])
def test_a_thread_that_is_cancelled_within_a_product_leaves_the_handle_to_others(precision):
    """The thread is in the library that counts its calls, in which the client can cancel it."""
    result = run_client("counted", precision=precision, libraries=[CLIENTS / "counting", STAND_IN],
                        only="*LeavesTheHandleToOthers", timeout=600)
    assert "[       OK ]" in result.stdout


@pytest.mark.parametrize("settings", [{"precision": "highest"}, {"floor": "fp32"}], ids=["highest", "floor"])
def test_threads_that_meet_an_unseen_handle_at_once_keep_to_the_floor(settings):
    """CLIENT_HANDLES is the number of handles."""
    result = run_client("counted", expect="fp32", libraries=[CLIENTS / "counting", STAND_IN], **settings,
                        only="*WhereThreadsMeetAnUnseenHandleAtOnce",
                        env={"CLIENT_LOG": "", "FP32_MATMUL_LOG": "",
                             "CLIENT_HANDLES": os.environ.get("CLIENT_HANDLES", "300"), "STAND_IN_DRIVER_DELAY_US": 500})
    assert "[       OK ]" in result.stdout


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_handle_that_is_first_seen_without_a_context_is_governed_as_any_other(precision):
    result = run_client("handles", precision=precision, expect=wished_format(precision, "9.0"), exact=True,
                        only="*FirstSeenWithoutAContext*", env={"CLIENT_UNSEEN": CLIENTS / "libunseen_setter.so"})
    assert "[       OK ]" in result.stdout


@pytest.mark.parametrize("client", ["handles", "handles_dlopen"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_math_mode_that_is_set_past_the_shim_is_the_programs(precision, client):
    """A library that is opened with RTLD_DEEPBIND sets the mode without the shim."""
    result = run_client(client, precision=precision, exact=True, expect=wished_format(precision, "9.0"),
                        env={"CLIENT_UNSEEN": CLIENTS / "libunseen_setter.so"}, only="*SetPastTheShim")
    assert "[       OK ]" in result.stdout
    applied = {decision["applied"] for decision in result.decisions}
    assert applied == {"native": {"fp32", "tf32"}, "highest": {"fp32"}, "high": {"fp32", "tf32"},
                       "medium": {"fp32", "tf32", "bf16"}}[precision]


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
@pytest.mark.parametrize("name", ["stand_in", *libraries.NAMES])
def test_nothing_is_read_where_the_handle_is_null(name, precision):
    """Descriptors and the arrays of a batch may point nowhere then. NVIDIA's own libraries need no device for this test."""
    directory = STAND_IN if name == "stand_in" else libraries.get(name).directory
    plain = run_client("wild_pointers_dlopen", libraries=[directory], preload=False)
    shimmed = run_client("wild_pointers_dlopen", libraries=[directory], precision=precision)
    assert plain.stdout.splitlines() == shimmed.stdout.splitlines()
    assert len(plain.stdout.splitlines()) == 5
    assert {(decision["reason"], decision["applied"]) for decision in shimmed.decisions} == {
        ("unknown_handle", "unchanged")}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_threads_are_free_of_races(precision):
    """Client and stand-in are built with the thread sanitizer, which ends the program with 66 where it finds a race."""
    need((CLIENTS / "handles_thread").exists(), "the compiler has no thread sanitizer")
    run_client("handles_thread", precision=precision, exact=True, expect=wished_format(precision, "9.0"),
               libraries=[CLIENTS.parent / "stand_in_thread"],
               env={"TSAN_OPTIONS": "exitcode=66", "CLIENT_DEFERRED": "1"})


@pytest.mark.parametrize("log", [False, "log.jsonl", "log.fp32rec"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_program_without_avx_goes_on_with_clean_vector_registers(precision, log):
    program = CLIENTS / "upper_halves_cublas"
    need(program.exists(), f"{program} was not built")
    result = run(program, precision=precision, log=log, blas=None, libraries=[CLIENTS / "counting", STAND_IN])
    need("cannot be seen" not in result.stdout, "this processor does not say whether upper halves are in use")
    assert result.stdout == "0 failed\n"
