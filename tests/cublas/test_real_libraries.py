"""The real libraries under the shim, on a machine without a device: every status and every byte as without it.

What works there is worth having: libcublas refuses each product before it looks at its operands, and the descriptors
of cublasLt, which are plain memory, do all that they do elsewhere. real/client.h prints the answers.
"""

import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "real"))

import libraries  # noqa: E402
from libraries import CLIENTS, STAND_IN, need  # noqa: E402
from shim import SYSTEM_PYTHON, explain, intercepted_functions, run  # noqa: E402

PARTS = ["state", "products", "legacy", "xt", "lt", "descriptors"]
EVERYTHING = """
schema = 1
default = "medium"
[limits]
allow_bf16x9 = true
[cuda]
pedantic = true
avoid_known_wrong = true
split_k = 1
[[rule]]
name = "batches"
precision = "bf16x9"
assume_aligned = true
when = { function = "*Batched*" }
[[rule]]
name = "the rest"
precision = "high"
when = { device = "cuda", max_dim = ">=1" }
"""
SETTINGS = {
    "native": {"precision": "native"},
    "highest": {"precision": "highest"},
    "high": {"precision": "high"},
    "medium": {"precision": "medium"},
    "auto": {"precision": "auto"},
    "floor fp32": {"floor": "fp32"},
    "medium over a floor": {"precision": "medium", "floor": "tf32"},
    "a policy": {"policy": EVERYTHING},
    "NVIDIA_TF32_OVERRIDE": {"precision": "high", "env": {"NVIDIA_TF32_OVERRIDE": "0"}},
    "emulation": {"precision": "highest", "env": {"CUBLAS_EMULATE_SINGLE_PRECISION": "1"}},
    "no log": {"precision": "high", "log": False},
}
WAYS = ["opened", "linked"]


def client(name, way, *parts):
    """Returns the words that start the client of a library, and keyword arguments for run()."""
    library = libraries.get(name)
    program = CLIENTS / (f"real_client_{library.major}" if way == "linked" else "real_client_dlopen")
    need(program.exists(), f"{program} was not built: it is linked with libcublas.so.{library.major}")
    files = [] if way == "linked" else [library.cublas, library.cublas_lt]
    return [program, *files, *parts], {"blas": None, "libraries": [library.directory]}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", libraries.NAMES)
def test_status_codes_and_results_are_those_without_the_shim(name, way):
    words, how = client(name, way, *PARTS)
    for setting, keywords in SETTINGS.items():
        unshimmed = run(*words, preload=False, **how, env=keywords.get("env"))
        assert "cublasSgemm_v2 1" in unshimmed.stdout and "created product: 0" in unshimmed.stdout
        shimmed = run(*words, **how, **keywords)
        assert shimmed.stderr == unshimmed.stderr, setting
        assert shimmed.stdout == unshimmed.stdout, f"{setting}\n{difference(unshimmed, shimmed)}"


COMPARED_DESCRIPTORS = """
import ctypes, sys
lt = ctypes.CDLL(sys.argv[1])
compute_32f, fast_tf32, type_32f, attribute = 68, 77, 0, 0
made = []
for compute_type in (fast_tf32, compute_32f):
    words = (ctypes.c_uint64 * 32)()
    assert lt.cublasLtMatmulDescInit_internal(words, ctypes.sizeof(words), compute_type, type_32f) == 0
    made.append(words)
own, forced = made
assert bytes(own) != bytes(forced)
assert lt.cublasLtMatmulDescSetAttribute(forced, attribute, ctypes.byref(ctypes.c_int32(fast_tf32)), ctypes.c_size_t(4)) == 0
print(bytes(own) == bytes(forced))
"""


@pytest.mark.parametrize("name", libraries.NAMES)
def test_a_descriptor_that_is_forced_to_tf32_has_the_bytes_of_one_that_asks_for_it(name):
    """So the search and the product are those of a program that asks for TF32 itself."""
    done = subprocess.run([sys.executable, "-c", COMPARED_DESCRIPTORS, libraries.get(name).cublas_lt], text=True,
                          capture_output=True, check=False, env={"LD_LIBRARY_PATH": str(libraries.get(name).directory)})
    assert done.stdout == "True\n", done.stderr


def difference(unshimmed, shimmed):
    """Returns the first line that differs."""
    lines = zip(unshimmed.stdout.splitlines(), shimmed.stdout.splitlines())
    first = next((f"line {i}: {a!r} became {b!r}" for i, (a, b) in enumerate(lines, 1) if a != b), "one ends early")
    return f"{first}\n{explain(shimmed)}"


# Functions from before version 2, which return nothing.
LEGACY = {f"cublas{routine}" for routine in
          "Sgemm Cgemm Ssymm Csymm Chemm Ssyrk Csyrk Cherk Ssyr2k Csyr2k Cher2k Strmm Ctrmm Strsm Ctrsm".split()}
# Functions of the table that do not multiply.
STATE = re.compile(r"cublas(Lt)?(Create|Destroy|SetMathMode|GetMathMode|SetEmulationStrategy|[GS]etFixedPointEmulation.*|MatmulAlgo.*)(_v2)?")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", libraries.NAMES)
def test_each_product_is_logged_with_the_status_that_it_returned(name, way):
    words, how = client(name, way, "products", "legacy", "xt", "lt")
    shimmed = run(*words, precision="high", **how)
    returned = {function: int(status) for function, status in re.findall(r"^(cublas\w+) (\d+)$", shimmed.stdout, re.M)}
    products = {function for function in intercepted_functions() & set(returned) if not STATE.fullmatch(function)}
    assert len(products) > 100
    assert {decision["function"] for decision in shimmed.decisions} == products
    for decision in shimmed.decisions:
        has_no_mode = decision["function"] in LEGACY or "Xt" in decision["function"]
        assert (decision["how"], decision["applied"]) == ("forward", "fp32" if has_no_mode else "unchanged"), decision
        expected = None if decision["function"] in LEGACY else returned[decision["function"]]
        assert decision["status"] == expected, decision


# ---- loading the shim never loads CUDA

MULTIPLY = """
import ctypes, pathlib
sgemm = ctypes.CDLL("libblas.so.3").sgemm_
n, one, a = ctypes.c_int(8), ctypes.c_float(1), (ctypes.c_float * 64)()
r = ctypes.byref
sgemm(b"N", b"N", r(n), r(n), r(n), r(one), a, r(n), a, r(n), r(one), a, r(n))
print(pathlib.Path("/proc/self/maps").read_text())
"""


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_program_without_cuda_stays_without_it(setting):
    """All of CUDA lies where the loader looks, but the shim must not load it."""
    cuda = [directory for directory in [STAND_IN, *(found.directory for found in map(libraries.find, libraries.NAMES)
                                                   if found)] if directory.exists()]
    need(cuda, "there is no CUDA here that could be loaded")
    shimmed = run(SYSTEM_PYTHON, "-c", MULTIPLY, libraries=cuda, **SETTINGS[setting])
    assert "libblas" in shimmed.stdout and "libfp32shim" in shimmed.stdout
    assert re.findall(r"\S*/lib(?:cuda|cublas|cublasLt|cudart)\S*", shimmed.stdout) == []
    if setting != "no log":
        assert [decision["device"] for decision in shimmed.decisions] == ["cpu"]


MULTIPLY_ON_A_HANDLE = """
import ctypes, pathlib
cublas = ctypes.CDLL("libcublas.so.13")
handle, n = ctypes.c_void_p(), 8
one, a = ctypes.c_float(1), (ctypes.c_float * 64)()
r = ctypes.byref
print(cublas.cublasCreate_v2(r(handle)))
print(cublas.cublasSgemm_v2(handle, 0, 0, n, n, n, r(one), a, n, a, n, r(one), a, n))
print(cublas.cublasSsyrk_v2(handle, 0, 0, n, n, r(one), a, n, r(one), a, n))
print(cublas.cublasDestroy_v2(handle))
print(pathlib.Path("/proc/self/maps").read_text())
"""


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_program_whose_cublas_has_no_driver_does_not_get_one(setting, tmp_path):
    """A driver lies where the loader looks, but the shim must not load it."""
    driver = STAND_IN / "libcuda.so.1"
    lone = CLIENTS / "lone"
    need(driver.exists() and lone.exists(), f"{driver} or {lone} was not built")
    (tmp_path / driver.name).symlink_to(driver)  # in a separate folder, since another libcublas lies beside the stand-in
    shimmed = run(SYSTEM_PYTHON, "-c", MULTIPLY_ON_A_HANDLE, blas=None, libraries=[lone, tmp_path],
                  **SETTINGS[setting])
    assert shimmed.stdout.split()[:4] == ["0"] * 4
    assert "lone/libcublas.so.13" in shimmed.stdout and "libcuda.so" not in shimmed.stdout
    if setting != "no log":
        assert [decision["function"] for decision in shimmed.decisions] == ["cublasSgemm_v2", "cublasSsyrk_v2"]
        assert {decision["compute_capability"] for decision in shimmed.decisions} == {None}
