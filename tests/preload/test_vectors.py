"""Products with a vector: recorded, never changed, and numbers that functions return arrive as they are."""

import json
import re
import subprocess

import pytest

import shim
from shim import BUILD, CLIENTS, blas_library, has_module, need

COMMAND = BUILD / "bin/fp32shim"


def with_vectors(start):
    """Returns a function that starts a program so that its products with a vector are recorded."""
    return lambda *words, env=None, **settings: start(*words, env={"FP32_MATMUL_VECTORS": "1", **(env or {})}, **settings)


run, run_both, python = map(with_vectors, (shim.run, shim.run_both, shim.python))

LOWERS = """schema = 1
default = "medium"
[cpu]
mode = "emulate"
[[rule]]
name = "wide"
precision = "high"
when = { dtype = ["float64", "complex128"] }
"""
EXAMINES = 'schema = 1\n[audit]\nfingerprint = true\nnonfinite = true\nsample = 1\n' + LOWERS.split("\n", 1)[1]
TYPES = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}


@pytest.fixture(params=["openblas", "reference", "blis", "openblas64"])
def any_blas(request):
    return request.param


def base_of(function):
    """Returns the base name of a function: `ddot` for `cblas_ddot_64`."""
    name = function.lower().removeprefix("scipy_").removeprefix("cblas_")
    return name.rstrip("_").removesuffix("64").rstrip("_")


def dtype_of(function):
    base = base_of(function)
    if base in ("sdsdot", "dsdot"):
        return "float32"
    return TYPES[base[1] if base[:2] in ("sc", "dz") else base[0]]


def calls_of(stdout):
    return [line.split()[0] for line in stdout.splitlines()]


@pytest.mark.parametrize("settings", [
    {"log": False}, {}, {"log": "%p.fp32rec"}, {"policy": LOWERS}, {"policy": EXAMINES, "log": "%p.fp32rec"},
    {"log": "%p.fp32rec", "env": {"FP32_MATMUL_LOG_LEVEL": "calls"}}, {"env": {"FP32_MATMUL_WHERE": "native"}},
], ids=["unconfigured", "logged", "recorded", "asked-for-less", "examined", "every-call", "places"])
def test_every_function_computes_what_it_does_without_the_shim(any_blas, settings):
    plain, seen = run_both("vectors", blas_library(any_blas), blas=any_blas, **settings)
    assert len(set(calls_of(plain.stdout))) >= 76
    if not settings.get("log", True):
        assert not seen.vectors


def test_every_call_is_recorded_in_the_format_of_its_operands(any_blas):
    seen = run("vectors", blas_library(any_blas), blas=any_blas, policy=LOWERS)
    assert [d["function"] for d in seen.vectors] == calls_of(seen.stdout)
    for decision in seen.vectors:
        name, dtype = decision["function"], decision["dtype"]
        assert dtype == dtype_of(name), name
        assert decision["applied"] == ("fp32" if dtype in ("float32", "complex64") else "fp64"), name
        assert decision["reason"] == ("not_governable" if "trsv" in name else "vector_product"), name
        assert (decision["how"], decision["requested"]) == ("forward", "medium" if decision["applied"] == "fp32" else "high")


def test_invalid_arguments_are_left_to_the_library():
    plain, seen = run_both("vectors", blas_library("openblas"), "invalid")
    assert plain.stderr == seen.stderr
    invalid = {d["function"] for d in seen.vectors if d["reason"] == "invalid_arguments"}
    level_1 = re.compile("dot|nrm2|asum")  # have no invalid arguments
    assert invalid == {name for name in calls_of(plain.stdout) if name != "**" and not level_1.search(name)}


SIZES = """
import ctypes, sys
blas = ctypes.CDLL(sys.argv[1])
one, two, x = ctypes.c_double(1), 2, (ctypes.c_double * 4096)()
blas.cblas_dgemv(101, 111, 3, 5, one, x, 9, x, -2, one, x, 2)
blas.cblas_dgemv(102, 112, 3, 5, one, x, 9, x, 1, one, x, 1)
blas.cblas_dger(101, 3, 5, one, x, 1, x, 2, x, 9)
blas.cblas_dsymv(102, 121, 4, one, x, 9, x, 1, one, x, 2)
blas.cblas_dtrmv(102, 121, 112, 131, 6, x, 9, x, 1)
blas.cblas_dtrsv(102, 121, 111, 132, 6, x, 9, x, 1)
blas.cblas_ddot(7, x, 0, x, -1)
blas.cblas_dasum(8, x, 1)
"""


def test_sizes_are_those_of_the_sum_and_of_its_results():
    decisions = python(f"import sys; sys.argv = ['-c', {str(blas_library('openblas'))!r}]\n{SIZES}").vectors
    assert [(d["function"], d["trans_a"], d["m"], d["n"], d["k"]) for d in decisions] == [
        ("cblas_dgemv", "N", 3, 1, 5), ("cblas_dgemv", "T", 5, 1, 3), ("cblas_dger", None, 3, 5, 1),
        ("cblas_dsymv", None, 4, 1, 4), ("cblas_dtrmv", "T", 6, 1, 6), ("cblas_dtrsv", "N", 6, 1, 6),
        ("cblas_ddot", None, 1, 1, 7), ("cblas_dasum", None, 1, 1, 8)]


@pytest.mark.parametrize("settings", [{"log": False}, {}, {"log": "%p.fp32rec"}, {"policy": LOWERS}])
def test_functions_and_variables_of_others_under_bare_names_are_left_alone(settings):
    for program in ("own_vectors_client", "own_vectors_referred", "own_vectors_in_blas"):
        plain, _ = run_both(program, blas=None, **settings)
        assert plain.stdout.startswith("2.5 12 3.5 2.5 1.5 3 10\n") and plain.stdout.endswith("42.5 4 46.5\n8\n")


@pytest.mark.parametrize("settings", [{"log": False}, {}, {"log": "%p.fp32rec"}])
def test_libraries_that_are_loaded_later_keep_their_variables_beside_a_function_of_the_name(settings):
    libraries = [CLIENTS / f"libown_variables_{number}.so" for number in (1, 2)]
    plain, _ = run_both("own_variables_client", *libraries, blas=None, **settings)
    assert plain.stdout == "1\n11\n2\n22\n"
    plain, _ = run_both("own_variables_and_function", *libraries, blas=None, **settings)
    assert plain.stdout == "1\n2\n5\n"


NORMS = """
import ctypes, sys
blas, libm = ctypes.CDLL(sys.argv[1]), ctypes.CDLL("libm.so.6")
blas.cblas_dnrm2.restype = ctypes.c_double
for scale in 1e200, 1e-200:
    libm.feclearexcept(31)
    libm.feenableexcept(31 & ~32 & ~16 if scale > 1 else 4)
    x = (ctypes.c_double * 2)(3 * scale, 4 * scale)
    libm.feclearexcept(63)
    print(abs(blas.cblas_dnrm2(2, x, 1) / (5 * scale) - 1) < 1e-15, libm.fetestexcept(8 | 16))
    libm.fedisableexcept(63)
"""


def test_norms_of_huge_and_tiny_numbers_raise_no_flag_and_send_no_signal():
    done = python(f"import sys; sys.argv = ['-c', {str(blas_library('openblas'))!r}]\n{NORMS}", cpu="reproducible")
    assert done.stdout == "True 0\nTrue 0\n"


def command(*words, status=0):
    need(COMMAND.exists(), f"{COMMAND} was not built")
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


MIXED = """
import ctypes, sys
blas = ctypes.CDLL(sys.argv[1])
x, one = (ctypes.c_float * 64)(*[float(sys.argv[2])] * 64), ctypes.c_float(1)
blas.cblas_sdot.restype = ctypes.c_float
for _ in range(10): blas.cblas_sdot(64, x, 1, x, 1)
blas.cblas_sgemm(102, 111, 111, 4, 4, 4, one, x, 4, x, 4, one, x, 4)
"""


def record_mixed(path, value, **settings):
    """Records ten dot products, and one product of matrices."""
    python(f"import sys; sys.argv = ['-c', {str(blas_library('openblas'))!r}, '{value}']\n{MIXED}", log=path, **settings)


def test_reports_and_verdicts_count_them_apart(tmp_path):
    path = tmp_path / "a.fp32rec"
    record_mixed(path, 1, policy='schema = 1\ndefault = "medium"\n[cpu]\nmode = "emulate"\n')
    report = command("report", path)
    assert "10 products with a vector, " in report
    assert [line.split()[:3] for line in report.splitlines() if line.startswith("bf16")] == [["bf16", "1", "100.0%"]]
    assert json.loads(command("report", "--format", "json", path))["totals"]["vector_calls"] == 10
    violated = json.loads(command("verify", "--format", "json", "--at-least", "fp32", path, status=1))
    assert violated["vector_calls"] == 10 and [row["function"] for row in violated["violations"]] == ["cblas_sgemm"]
    in_order = tmp_path / "b.fp32rec"
    record_mixed(in_order, 1, cpu="reproducible")
    assert "Shown: all 11 calls" in command("verify", "--reproducible", in_order)
    assert "In a fixed order: 11 of 11 calls" in command("report", in_order)


def test_a_number_that_is_not_finite_is_found(tmp_path):
    path = tmp_path / "a.fp32rec"
    record_mixed(path, 3e30, policy="schema = 1\n[audit]\nnonfinite = true\n")
    (found,) = json.loads(command("report", "--format", "json", path))["first_nonfinite"]
    assert found["function"] == "cblas_sdot"


def test_numbers_that_functions_return_have_fingerprints(tmp_path):
    paths = [tmp_path / f"{name}.fp32rec" for name in "abc"]
    for path, value in zip(paths, (1, 1, 2)):
        record_mixed(path, value, policy="schema = 1\n[audit]\nfingerprint = true\n")
    command("diff", paths[0], paths[1])
    different = json.loads(command("diff", "--format", "json", paths[0], paths[2], status=1))
    (group,) = [group for group in different["groups"] if group["largest"]["a"]["function"] == "cblas_sdot"]
    assert group["other_bits"] == 10 and group["largest"]["difference"] > 0.5


def test_numpy_and_scipy_get_what_they_get_without_the_shim():
    need(has_module("scipy"), "python3-scipy is not installed")
    code = """
import numpy as np
from scipy.linalg import blas
rng = np.random.default_rng(1)
for dtype in "fdFD":
    a, x = rng.random((9, 9)).astype(dtype), rng.random(9).astype(dtype)
    if dtype in "FD": a, x = a * (1 + 2j), x * (2 - 1j)
    print((a @ x).tobytes().hex(), np.vdot(x, x), np.linalg.norm(x), repr(x @ x))
    for name in ("dot", "dotu", "dotc", "nrm2", "asum", "gemv", "ger", "geru"):
        try: f = blas.get_blas_funcs(name, (a,))
        except ValueError: continue
        arguments = {"gemv": (1, a, x), "ger": (1, x, x), "geru": (1, x, x)}.get(name, (x,) if name in ("nrm2", "asum") else (x, x))
        print(name, np.asarray(f(*arguments)).tobytes().hex())
"""
    plain = python(code, preload=False, blas="openblas")
    assert len(plain.stdout.splitlines()) > 20
    for settings in ({}, {"log": "%p.fp32rec"}, {"policy": EXAMINES, "log": "%p.fp32rec"}):
        assert python(code, blas="openblas", **settings).stdout == plain.stdout
