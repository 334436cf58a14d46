"""Random calls of every routine that the CPU mode `reproducible` computes: the same bits under every library, NaN and
infinities where libraries have them, and errors no larger than theirs. test_aarch64.py compares the architectures,
wheels/test_reproducible.py MKL, test_reproducible.py has errors of products of matrices. FP32SHIM_RANDOM_PRODUCTS is the
number of calls of each routine (40; 100 for errors), FP32SHIM_RANDOM_SEED their seed (1)."""

import collections
import functools
import json
import os
import subprocess

import pytest

import processor
from shim import BUILD, blas_library, has_module, need, run

MODE = {"cpu": "reproducible"}
COUNT = int(os.environ.get("FP32SHIM_RANDOM_PRODUCTS", "40"))
ERROR_CALLS = int(os.environ.get("FP32SHIM_RANDOM_PRODUCTS", "100"))
SEED = os.environ.get("FP32SHIM_RANDOM_SEED", "1")
ROUTINES = 84
MATRIX_PRODUCTS = 30


def settings_of_libraries(threads="123", instructions=(None, "avx2")):
    """Yields (library, variables): every library and kernel with every number of threads and instruction set of the shim."""
    for word in instructions:
        shim = {"FP32_MATMUL_INSTRUCTIONS": word} if word else {}
        yield "reference", shim
        for number in threads:
            both = shim | {"FP32_MATMUL_THREADS": number}  # of the shim, where the library starts fewer
            for kernel in processor.openblas_kernels():
                yield "openblas", both | {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": number}
            yield "blis", both | {"BLIS_NUM_THREADS": number}


def calls(blas, env, *words, seed=SEED, count=COUNT, **settings):
    """Returns the client's output for each call: hashes of results and of places, and how many numbers are not finite."""
    words = blas_library(blas), seed, count, *words
    result = run("same_bits", *words, blas=blas, env=env, log=False, timeout=24 * 3600, **settings)
    return {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()}


def routine_of(call):
    return call.split(":")[0]


def with_other_bits(one, other):
    assert one.keys() == other.keys()
    return [call for call in one if one[call][0] != other[call][0]]


def test_every_routine_computes_the_same_bits_under_every_library_kernel_number_of_threads_and_instruction_set():
    first, *others = [calls(blas, env, **MODE) for blas, env in settings_of_libraries()]
    assert len(first) == ROUTINES * COUNT and len({routine_of(call) for call in first}) == ROUTINES
    for other in others:
        assert with_other_bits(first, other) == []
    own = [calls(blas, env, preload=False) for blas, env in settings_of_libraries("1", [None])]
    different = {routine_of(call) for other in own[1:] for call in with_other_bits(own[0], other)}
    # Libraries add in wider numbers for these, so a few calls may have the same bits in all of them.
    assert len(different | NRM2 | {"sdsdot_", "dsdot_"}) == ROUTINES, "without the mode, libraries agree: this test shows nothing"


def test_products_that_are_large_enough_for_three_threads_have_the_same_bits_with_one():
    settings = [*settings_of_libraries("3", [None]), *settings_of_libraries("1")]
    kept = [settings[0], settings[1], settings[-2], settings[-1]] if COUNT < 1000 else settings
    first, *others = [calls(blas, env, "large", count=COUNT // 1000 + 1, **MODE) for blas, env in kept]
    assert len({routine_of(call) for call in first}) == MATRIX_PRODUCTS
    for other in others:
        assert with_other_bits(first, other) == []


def test_every_call_ran_in_the_fixed_order(tmp_path):
    need((BUILD / "bin/fp32shim").exists(), "the command was not built")
    recording = tmp_path / "run.fp32rec"
    made = calls("openblas", {"FP32_MATMUL_LOG": str(recording), "FP32_MATMUL_VECTORS": "1"}, **MODE)
    words = [BUILD / "bin/fp32shim", "verify", "--reproducible", "--format", "json", recording]
    outcome = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert (outcome["calls_shown"], outcome["violations"]) == (len(made), [])


NRM2 = {"snrm2_", "dnrm2_", "scnrm2_", "dznrm2_"}
ASUM = {"sasum_", "dasum_", "scasum_", "dzasum_"}
TRMM = {"strmm_", "dtrmm_", "ctrmm_", "ztrmm_"}
# Differences of libraries from the reference BLAS, which the mode follows. In trmm, they multiply the zeros of the other
# triangle, which with infinity gives NaN. Haswell's strsm multiplies zeros, too. The small products of SkylakeX read A and
# B where alpha is 0, and symv of Prescott multiplies memory that was never set by 0. BLIS keeps imaginary parts of a
# diagonal that do not count, computes the inverse of an infinite complex number otherwise, and says that the norm of two
# infinities is NaN.
OTHER_PLACES = {
    "reference": set(),
    "Haswell": TRMM | {"strsm_"},
    "Zen": TRMM | {"strsm_"},
    "SkylakeX": TRMM | {"sgemm_", "dgemm_"},
    "Prescott": TRMM | {"ssymv_", "dsymv_"},
    "blis": TRMM | NRM2 | {"cherk_", "zherk_", "cher2k_", "zher2k_", "ctrsm_", "ztrsm_", "ctrsv_", "ztrsv_"},
}


@pytest.mark.parametrize("library", OTHER_PLACES)
def test_nan_and_infinities_stand_where_the_library_has_them(library):
    """Of complex results, only the set of elements that are not finite is compared. Which part is NaN may differ."""
    blas = library if library in ("reference", "blis") else "openblas"
    if blas == "openblas":
        need(library in processor.openblas_kernels(), f"this processor has no instructions for the kernel {library}")
    env = {"OPENBLAS_CORETYPE": library} if blas == "openblas" else {}
    made = max(COUNT, 40)
    fixed, own = (calls(blas, env, seed=1, count=made, **settings) for settings in (MODE, {"preload": False}))
    other, soiled = collections.Counter(), collections.Counter()
    for call, (_, places, elements, nonfinite) in fixed.items():
        if library != "reference" and routine_of(call) in NRM2 | ASUM and ",+-" in call:
            continue  # OpenBLAS says that such a vector has no elements, and BLIS that it has some also for asum
        same = places == own[call][1] if call[0] in "sd" else elements == own[call][2]
        other[routine_of(call)] += not same
        soiled[routine_of(call)] += int(nonfinite) > 0
    assert len(other) == ROUTINES and min(soiled.values()) > 0
    assert {routine for routine, number in other.items() if number} <= OTHER_PLACES[library]


DOTS = {"sdot", "ddot", "cdotu", "cdotc", "zdotu", "zdotc"}


@functools.cache
def errors(blas, calls, *length, in_mode=True):
    """Returns the largest error and the root mean square error of each routine."""
    need(has_module("scipy"), "the system's Python has no scipy")
    need(blas == "reference" or "Haswell" in processor.openblas_kernels(), "this processor has no AVX2, as Haswell has")
    settings = MODE if in_mode else {"preload": False}
    result = run("errors_of_vectors.py", calls, *length, blas=blas, env={"OPENBLAS_CORETYPE": "Haswell"}, log=False,
                 timeout=24 * 3600, **settings)
    return {routine: (float(most), float(mean)) for routine, most, mean in map(str.split, result.stdout.splitlines())}


@pytest.mark.parametrize("blas", ["openblas", "reference"])
def test_errors_are_at_most_twice_those_of_the_library(blas):
    own, fixed = errors(blas, ERROR_CALLS, in_mode=False), errors(blas, ERROR_CALLS)
    assert set(own) == set(fixed) and len(own) == 58
    for routine, found in fixed.items():
        for error, of_library in zip(found, own[routine]):
            if routine == "dsdot":
                of_library = max(of_library, 2.0 ** -53)  # the result is rounded to float64
            assert 0 < error <= 2 * of_library, (routine, error, of_library)


@pytest.mark.parametrize("terms", [32, 64, 128, 256, 1000])
def test_a_dot_of_any_length_errs_at_most_twice_as_much_as_openblas_which_adds_in_many_chains(terms):
    """The test compares means over the calls. The largest errors of 300 calls differ more, by chance."""
    fixed, own = errors("openblas", 300, terms), errors("openblas", 300, terms, in_mode=False)
    for routine in DOTS:
        for error, of_library, limit in zip(fixed[routine], own[routine], (3, 2)):
            assert 0 < error <= limit * of_library, (routine, error, of_library)
