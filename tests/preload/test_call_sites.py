"""Call sites: what a first call, and one from a place that was not seen before, leaves behind and costs."""

import os
import re

import pytest

from shim import blas_library, client, need, run, run_both

# Every path through an entry point: no gate, the express lane, the gate of governed calls, and that gate with
# rounding.
SETTINGS = {
    "unconfigured": {"log": False, "precision": None},
    "switched off": {"log": False, "env": {"FP32_MATMUL_DISABLE": "1"}},
    "recorded": {"log": "recording.fp32rec", "env": {"FP32_MATMUL_LOG_LEVEL": "summary"}},
    "recorded call by call": {"log": "recording.fp32rec", "env": {"FP32_MATMUL_LOG_LEVEL": "calls"}},
    "logged": {"log": True},
    "rounded": {"log": False, "precision": "high", "cpu": "emulate"},
    "rounded further": {"log": True, "precision": "medium", "cpu": "emulate"},
}


@pytest.mark.parametrize("way", ["linked", "looked up"])
@pytest.mark.parametrize("settings", SETTINGS)
def test_a_program_without_avx_goes_on_with_clean_vector_registers(settings, way):
    words = [blas_library("reference")] if way == "looked up" else []
    unshimmed = run("upper_halves", *words, blas="reference", preload=False)
    need("cannot be seen" not in unshimmed.stdout, "this processor does not say whether upper halves are in use")
    assert "in use" not in unshimmed.stdout
    shimmed = run("upper_halves", *words, blas="reference", **{"precision": "native", **SETTINGS[settings]})
    assert "in use" not in shimmed.stdout
    assert (shimmed.stdout == unshimmed.stdout) == ("rounded" not in settings)


# Number of 32-bit elements of each argument that are not zero: 4 in the lower half, 8 in a ymm and 16 in a zmm
# register.
@pytest.mark.parametrize("elements", [4, 8, 16])
@pytest.mark.parametrize("log", [False, True])
def test_arguments_in_whole_vector_registers_arrive_whole(elements, log):
    client("wide_arguments_client")
    words = ["x"] * [4, 8, 16].index(elements)
    unshimmed, shimmed = run_both("wide_arguments_client", *words, blas=None, log=log)
    need(unshimmed.stdout, "this processor has no registers so wide")
    lines = unshimmed.stdout.splitlines()
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]
    assert shimmed.decisions == []


# Return addresses that agree in their low bits, that agree in most of their bits, or that are close together.
@pytest.mark.parametrize("stride", [256, 272, 4096, 1 << 16, 1 << 24, 1 << 32, 1_000_003])
def test_ten_call_sites_at_any_addresses_take_the_short_way(stride):
    words = ("runtime_code", "places", "10", stride, "3")
    assert run(*words, blas=None, preload=False).stdout.split("\n")[:3] == ["0 deep calls"] * 3
    shimmed = run(*words, blas=None, log=False)
    assert shimmed.stdout == "10 deep calls\n0 deep calls\n0 deep calls\n"


def test_hundreds_of_call_sites_take_the_short_way():
    shimmed = run("runtime_code", "places", "200", "4096", "2", blas=None, log=False)
    assert shimmed.stdout == "200 deep calls\n0 deep calls\n"


def test_code_that_is_made_again_and_again_at_new_places_takes_no_more_memory():
    places = os.environ.get("FP32SHIM_TEST_PLACES", "20000")
    shimmed = run("runtime_code", "churn", places, blas=None, log=False)
    assert int(re.fullmatch(r"grew by (\d+) KiB\n", shimmed.stdout)[1]) < 1024


def test_each_call_from_code_made_at_run_time_is_recorded():
    shimmed = run("runtime_code", "churn", "1000", blas=None, precision="native")
    assert [(d["function"], d["caller"], d["provider"]) for d in shimmed.decisions] == [
        ("sgemm_", None, "libfake_a.so")] * 2000


def test_the_loader_is_the_caller_where_it_calls_for_an_audit_library():
    library = client("libwatches_returns.so")
    shimmed = run("cblas_product", precision="native", env={"LD_AUDIT": library})
    assert {d["caller"] for d in shimmed.decisions} == {"ld-linux-x86-64.so.2"}
    assert shimmed.stdout == run("cblas_product", preload=False).stdout
