"""The CPU mode `reproducible` under wheels: OpenBLAS in those of numpy and scipy, MKL in PyTorch's."""

import itertools
import platform

import pytest

import processor
from wheels import start

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="these are x86-64's kernels")

# Each kernel, and each number of threads. tests/preload/test_reproducible.py has all pairs, with the system's libraries.
OPENBLAS = [{"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": threads}
            for kernel, threads in zip(processor.openblas_kernels(), itertools.cycle("12"))]
KERNELS = {
    "numpy": OPENBLAS,
    "torch": [{"MKL_CBWR": branch, "OMP_NUM_THREADS": threads} for branch, threads in (("COMPATIBLE", "1"), ("AUTO", "1"), ("AUTO", "2"))],
    "sklearn": [OPENBLAS[0], OPENBLAS[-1]],
}
# What else differs between kernels, and is not a product: torch's sums and element-wise functions.
OTHERS = {"ATEN_CPU_CAPABILITY": "default", "OMP_NUM_THREADS": "1"}

def outputs(package, kernels, **settings):
    return {start("reproducible.py", package, env=OTHERS | env, log=False, **settings).stdout for env in kernels}

@pytest.mark.parametrize("package", KERNELS)
def test_a_program_computes_the_same_bits_with_every_kernel_and_number_of_threads(package):
    outcome = outputs(package, KERNELS[package], cpu="reproducible")
    assert len(outcome) == 1, outcome
    first_and_last = KERNELS[package][0], KERNELS[package][-1]
    assert len(outputs(package, first_and_last)) == 2, "without the mode, the kernels agree: this test shows nothing"

def test_all_products_of_the_programs_ran_in_the_fixed_order():
    for package in KERNELS:
        decisions = start("reproducible.py", package, cpu="reproducible").decisions
        float32 = [each for each in decisions if each["dtype"] in ("float32", "complex64")]
        assert float32 and {each["how"] for each in float32 if "trsm" not in each["function"]} == {"fixed_order"}, package
