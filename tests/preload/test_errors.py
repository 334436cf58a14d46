"""Errors of the CPU mode `reproducible` beside those of libraries: products with a vector and solves. test_reproducible.py
has products of matrices. FP32SHIM_RANDOM_PRODUCTS is the number of calls of each routine (100)."""

import functools
import os

import pytest

import processor
from shim import has_module, need, run

MODE = {"cpu": "reproducible"}
CALLS = int(os.environ.get("FP32SHIM_RANDOM_PRODUCTS", "100"))

# By how much errors may be larger than those of OpenBLAS's kernels for Haswell, where not twice: the largest, and the root
# of the mean square. nrm2 and dsdot of OpenBLAS add in the 80 bits of the x87, which other processors do not have. A dot adds
# a block of 256 terms in one chain (see the last test).
LARGER = {"dnrm2": (5, 3), "dznrm2": (5, 3), "dot": (4, 2), "dotu": (4, 2), "dotc": (4, 2)}
DOTS = {"sdot", "ddot", "cdotu", "cdotc", "zdotu", "zdotc"}


@functools.cache
def errors(blas, calls, *length, in_mode=True):
    """The largest error and the root of the mean square of each routine."""
    need(has_module("scipy"), "the system's Python has no scipy")
    need(blas == "reference" or "Haswell" in processor.openblas_kernels(), "this processor has no AVX2, as Haswell has")
    settings = MODE if in_mode else {"preload": False}
    result = run("errors_of_vectors.py", calls, *length, blas=blas, env={"OPENBLAS_CORETYPE": "Haswell"}, log=False,
                 timeout=24 * 3600, **settings)
    return {routine: (float(most), float(mean)) for routine, most, mean in map(str.split, result.stdout.splitlines())}


def limits(routine, blas):
    larger = [limit for name, limit in LARGER.items() if routine.endswith(name)]
    return larger[0] if larger and blas == "openblas" else (2, 2)


@pytest.mark.parametrize("blas", ["openblas", "reference"])
def test_errors_are_at_most_twice_those_of_the_library(blas):
    own, fixed = errors(blas, CALLS, in_mode=False), errors(blas, CALLS)
    assert set(own) == set(fixed) and len(own) == 58
    for routine, found in fixed.items():
        for error, of_library, limit in zip(found, own[routine], limits(routine, blas)):
            if routine == "dsdot":
                of_library = max(of_library, 2.0 ** -53)  # the result is rounded to float64
            assert 0 < error <= limit * of_library, (routine, error, of_library)


def test_the_error_of_a_dot_of_256_terms_is_that_of_one_chain_of_additions():
    """It has the bits of a product of a row and a column. OpenBLAS adds in many chains, the reference in one."""
    fixed = errors("reference", 300, 256)
    one_chain, many_chains = (errors(blas, 300, 256, in_mode=False) for blas in ("reference", "openblas"))
    for routine in DOTS:
        for error, of_one, of_many in zip(fixed[routine], one_chain[routine], many_chains[routine]):
            assert 0 < error <= 2 * of_one and of_many < error <= 16 * of_many, (routine, error, of_one, of_many)
