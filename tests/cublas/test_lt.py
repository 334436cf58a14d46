"""cublasLtMatmul, through the stand-in: an algorithm belongs to a compute type, and heuristic and product agree."""

import re

import pytest

from cublas import (COMPUTE_32F, COMPUTE_CAPABILITIES, FAST_16BF, FAST_16F, FAST_TF32, PRECISIONS, assumed_rows,
                    has_fast_formats, run_client, semantics, wished_format)

# The others are about the modes of handles and about float64, which this client does not use.
ASSUMED = [pytest.param(f"{row}={answer}", id=f"{row}-{answer}") for row, answer in assumed_rows()
           if not re.search("_honours_math_mode$|^f64_|^hgemm_", row)]


@pytest.mark.parametrize("compute_capability", COMPUTE_CAPABILITIES)
def test_cublaslt_is_right_without_the_shim(compute_capability):
    run_client("lt", compute_capability=compute_capability, preload=False)


@pytest.mark.parametrize("compute_capability", COMPUTE_CAPABILITIES)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_heuristic_and_product_agree(precision, compute_capability):
    result = run_client("lt", precision=precision, compute_capability=compute_capability, exact=True,
                        expect=wished_format(precision, compute_capability))
    decisions = [d for d in result.decisions if d["dtype"] in ("float32", "complex64")]
    assert {decision["function"] for decision in decisions} == {"cublasLtMatmul"}
    assert {decision["provider"] for decision in decisions} == {"libcublasLt.so.13"}
    assert {decision["status"] for decision in decisions} == {0}
    by_environment = {d["how"] for d in decisions if d["source"] == "environment" and d["reason"] == "as_requested"}
    if precision in ("high", "medium") and has_fast_formats(compute_capability):
        assert by_environment == {"compute_type"}
    else:
        assert by_environment <= {"forward"}


def test_an_algorithm_that_fits_the_changed_product_is_asked_about_once():
    result = run_client("lt", precision="high", exact=True, expect="tf32", only="*IsAskedAboutOnce")
    assert "[       OK ]" in result.stdout
    assert {decision["how"] for decision in result.decisions} == {"compute_type"}


@pytest.mark.parametrize("client", ["lt", "lt_dlopen"])
@pytest.mark.parametrize("compute_type", [FAST_TF32, FAST_16BF])
def test_a_floor_holds_for_grouped_products(compute_type, client):
    """The layouts of grouped products have sizes of 0, because the sizes are on the device."""
    result = run_client(client, floor="fp32", compute_type=compute_type, exact=True, expect="fp32", only="*GroupedProductsRun")
    assert "[       OK ]" in result.stdout
    assert {(d["m"], d["n"], d["k"], d["how"], d["reason"]) for d in result.decisions} == {
        (None, None, None, "compute_type", "floor")}


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_a_product_that_lacks_memory_in_a_fast_format_runs_as_called(precision):
    result = run_client("lt", precision=precision, fast="no_memory", expect="native", only="*WithoutAnAlgorithmRun")
    assert {(d["applied"], d["how"], d["reason"], d["status"]) for d in result.decisions} == {
        ("fp32", "forward", "library_refused", 0)}


@pytest.mark.parametrize("client", ["lt", "lt_dlopen"])
@pytest.mark.parametrize("precision", [None, *PRECISIONS])
def test_algorithms_that_the_heuristic_just_found_pass_the_check_of_the_library(precision, client):
    settings = {"preload": False} if precision is None else {"precision": precision}
    result = run_client(client, only="*PassTheLibrarysOwnCheck", **settings)
    assert "[       OK ]" in result.stdout


@pytest.mark.parametrize("client", ["lt", "lt_dlopen"])
@pytest.mark.parametrize("compute_capability", ["7.5", "9.0", "10.0"])
@pytest.mark.parametrize("compute_type", [COMPUTE_32F, FAST_TF32, FAST_16BF, FAST_16F])
def test_searches_find_as_many_algorithms_as_the_programs_own(compute_type, compute_capability, client):
    """XLA keeps the place of an algorithm in the list, and looks there without asking how long the list is."""
    result = run_client(client, compute_type=compute_type, compute_capability=compute_capability, exact=True,
                        only="*FindAsManyAlgorithms*")
    assert "[       OK ]" in result.stdout


@pytest.mark.parametrize("compute_capability", ["7.5", "9.0"])
@pytest.mark.parametrize("compute_type", [COMPUTE_32F, FAST_TF32, FAST_16F])
def test_a_search_that_begins_from_an_algorithm_is_the_programs_own(compute_type, compute_capability):
    result = run_client("lt", compute_type=compute_type, compute_capability=compute_capability, exact=True,
                        only="*BeginFromAnAlgorithm*")
    assert "[       OK ]" in result.stdout


def test_an_algorithm_that_replaces_another_has_no_more_waves_than_the_program_allows():
    result = run_client("lt", exact=True, only="*NoMoreWaves*")
    assert "[       OK ]" in result.stdout


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_the_first_algorithm_of_the_heuristic_is_a_fast_one(precision):
    result = run_client("lt", precision=precision, exact=True, only="*HeuristicAndProductAgree")
    actual = [decision["actual"] for decision in result.decisions]
    assert actual[0] == ("tf32" if precision == "high" else semantics()["fast_16bf"][0])
    assert set(actual) <= {actual[0], "fp32"}


@pytest.mark.parametrize("compute_type", [FAST_TF32, FAST_16BF, FAST_16F])
@pytest.mark.parametrize("compute_capability", ["8.0", "10.0"])
@pytest.mark.parametrize("settings", [{"precision": "highest"}, {"floor": "fp32"}], ids=["highest", "floor"])
def test_float32_is_float32_whatever_the_descriptor_says(settings, compute_capability, compute_type):
    run_client("lt", compute_capability=compute_capability, compute_type=compute_type, exact=True, expect="fp32",
               **settings)


@pytest.mark.parametrize("compute_type", [FAST_TF32, FAST_16BF, FAST_16F])
def test_native_names_what_the_descriptor_asks_for(compute_type):
    run_client("lt", precision="native", compute_type=compute_type, exact=True)


@pytest.mark.parametrize("compute_capability", ["9.0", "10.0"])
def test_float32_is_float32_against_emulation(compute_capability):
    for settings in ({"precision": "highest"}, {"floor": "fp32"}):
        run_client("lt", compute_capability=compute_capability, exact=True, expect="fp32",
                   only="-*CachedAlgorithms*", env={"CUBLAS_EMULATE_SINGLE_PRECISION": "1"}, **settings)


@pytest.mark.parametrize("assumption", ASSUMED)
def test_float32_is_float32_under_every_assumption_about_cublas(assumption):
    for settings in ({"precision": "highest"}, {"floor": "fp32"}):
        for compute_type in (COMPUTE_32F, FAST_16F):
            run_client("lt", assume=assumption, exact=True, expect="fp32", compute_type=compute_type,
                       only="-*CachedAlgorithms*" if "floor" in settings else None, **settings)


@pytest.mark.parametrize("precision", ["high", "medium"])
@pytest.mark.parametrize("assumption", ASSUMED)
def test_no_product_runs_lower_than_its_decision_says_under_any_assumption(assumption, precision):
    run_client("lt", precision=precision, assume=assumption, expect=wished_format(precision, "9.0"))


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_a_library_that_leaves_fast_formats_unused_is_no_mistake(precision):
    run_client("lt", precision=precision, fast="ignored", expect=wished_format(precision, "9.0"))
