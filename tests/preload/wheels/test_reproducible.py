"""The CPU mode `reproducible` under wheels: OpenBLAS in those of numpy and scipy, MKL in PyTorch's."""

import itertools
import os
import pathlib
import platform
import shutil
import subprocess
import sys

import pytest

import processor
import shim
from shim import ROOT
from wheels import PREFIX, start

COMMAND = pathlib.Path(os.environ.get("FP32SHIM_COMMAND", shim.BUILD / "bin/fp32shim"))

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="these are x86-64's kernels")

# Each kernel, and each number of threads. tests/preload/test_reproducible.py has all pairs, with the system's libraries.
OPENBLAS = [{"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": threads}
            for kernel, threads in zip(processor.openblas_kernels(), itertools.cycle("12"))]
KERNELS = {
    "numpy": OPENBLAS,
    "torch": [{"MKL_CBWR": branch, "OMP_NUM_THREADS": threads} for branch, threads in (("COMPATIBLE", "1"), ("AUTO", "1"), ("AUTO", "2"))],
    "sklearn": [OPENBLAS[0], OPENBLAS[-1]],
}
# Settings for what also differs between kernels but is no product: torch's sums and element-wise functions.
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
        result = start("reproducible.py", package, cpu="reproducible")
        assert result.decisions and {each["how"] for each in result.decisions + result.vectors} == {"fixed_order"}, package

@pytest.mark.parametrize("words", [("numpy",), ("torch", "1"), ("torch", "2")])
def test_a_row_has_the_same_bits_in_a_batch_of_any_size_and_alone(words):
    script = ROOT / "tests/preload/clients/scripts/rows_of_batches.py"
    env = OTHERS | {"OMP_NUM_THREADS": words[-1]} if len(words) == 2 else OTHERS
    fixed, own = (start(sys.executable, script, *words, env=env, log=False, **settings).stdout.splitlines()
                  for settings in ({"cpu": "reproducible"}, {}))
    assert len(fixed) == 5 and all(line.endswith(": same") for line in fixed)
    assert any(line.endswith(": differs") for line in own)


def test_what_torch_compiled_for_other_instructions_neither_runs_in_this_mode_nor_is_replaced_by_it(tmp_path):
    shim.need(processor.has("avx512f"), "the code differs only where there is AVX-512")
    shim.need(shutil.which("g++"), "torch.compile needs a C++ compiler")
    script = """if True:
        import torch
        torch.set_num_threads(1)
        layer, x = torch.nn.GELU(), torch.linspace(-3, 3, 4096).reshape(32, 128)
        print(float((layer(x) - torch.compile(layer)(x)).abs().max()) < 1e-5)
    """
    program = [sys.executable, "-c", script]
    mode = [COMMAND, "run", "--reproducible", "--quiet", "--no-log", "--", *program]
    for words in (mode, program, mode):
        done = subprocess.run(words, env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}, text=True, capture_output=True,
                              check=False)
        assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


@pytest.mark.parametrize("words", [[], ["large"]], ids=["every routine", "large products"])
def test_random_calls_under_mkl_have_the_bits_of_openblas(words):
    """This holds for any number of threads, with all instructions and with AVX2 only."""
    words = [1, 1 if words else os.environ.get("FP32SHIM_RANDOM_PRODUCTS", "20"), *words]
    mode = {"cpu": "reproducible", "log": False}
    openblas = shim.run("same_bits", shim.blas_library("openblas"), *words, blas="openblas", env=OPENBLAS[0], **mode).stdout
    mkl = PREFIX / "lib/libmkl_rt.so.3"
    layer = {"MKL_INTERFACE_LAYER": "LP64", "MKL_THREADING_LAYER": "GNU"}
    lower = {"FP32_MATMUL_INSTRUCTIONS": "avx2", "MKL_CBWR": "COMPATIBLE"}
    settings = [layer | instructions | {"MKL_NUM_THREADS": threads, "FP32_MATMUL_THREADS": threads}
                for threads in "123" for instructions in ({}, lower)]
    found = {start("same_bits", mkl, *words, env=env, **mode).stdout for env in settings}
    assert found == {openblas} and len(openblas.splitlines()) >= 30
    assert start("same_bits", mkl, *words, env=layer, preload=False).stdout not in found
