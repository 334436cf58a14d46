"""Products of float64 and complex128: seen and recorded like those of float32, changed by rules that name them only."""

import json
import os
import subprocess

import pytest

from shim import BUILD, SYSTEM_PYTHON, blas_library, need, run

numpy = pytest.importorskip("numpy")
COMMAND = BUILD / "bin/fp32shim"
WORDS = {"fp32": "single", "tf32": "high", "bf16": "medium"}


def rule(precision, mode="emulate"):
    return f"""schema = 1
[cpu]
mode = "{mode}"
[[rule]]
name = "wide"
precision = "{precision}"
when = {{ dtype = ["float64", "complex128"] }}
"""


def lines_of(result):
    return result.stdout.splitlines()


def test_every_standard_routine_is_recorded_and_called_as_it_was(blas):
    plain = run("level3_float64", blas=blas, preload=False)
    seen = run("level3_float64", blas=blas, precision="high", cpu="emulate")  # a default is for float32 only
    assert lines_of(seen) == lines_of(plain)
    assert len(seen.decisions) == 387
    assert {(d["dtype"], d["requested"], d["applied"], d["how"], d["reason"]) for d in seen.decisions} == {
        (dtype, "native", "fp64", "forward", "as_requested") for dtype in ("float64", "complex128")}
    for decision in seen.decisions:
        letter = decision["function"].removeprefix("cblas_")[0]
        assert decision["dtype"] == {"d": "float64", "z": "complex128"}[letter]


@pytest.mark.parametrize("number_format", WORDS)
def test_every_standard_routine_multiplies_rounded_operands_where_a_rule_names_its_type(number_format, blas):
    rounded = run("level3_float64", number_format, blas=blas, preload=False)
    emulated = run("level3_float64", blas=blas, policy=rule(number_format))
    assert lines_of(emulated) == lines_of(rounded)
    for decision in emulated.decisions:
        expected = ("fp64", "forward") if "trsm" in decision["function"] else (number_format, "round_operands")
        assert (decision["applied"], decision["how"]) == expected, decision["function"]
        assert (decision["requested"], decision["rule"]) == (WORDS[number_format], "wide")


# Multiplies at 8 to 53 bits. With POLICY, in whose text each @ stands for the number of bits, the shim rounds the operands.
FIXED = """
import ctypes, os, sys
import numpy as np

output, *policy = sys.argv[1:]

def fixed(x, axis, bits):
    if policy:
        return x
    largest = np.maximum(abs(x.real), abs(x.imag)).max(axis=axis, keepdims=True)
    unit = np.ldexp(1.0, np.frexp(largest)[1] - bits)
    rounded = lambda numbers: np.rint(numbers / unit) * unit
    return rounded(x.real) + 1j * rounded(x.imag) if np.iscomplexobj(x) else rounded(x)

def numbers(*shape):
    return rng.standard_normal(shape) * np.exp(3 * rng.standard_normal(shape))

results = []
for bits in range(8, 54):
    if policy:
        with open(os.environ["FP32_MATMUL_POLICY"], "w") as file:
            file.write(policy[0].replace("@", str(bits)))
        assert ctypes.CDLL(None).fp32shim_reload_policy() == 0
    rng = np.random.default_rng(5)
    a, b = numbers(30, 40), numbers(40, 20)
    z, y = numbers(30, 40) + 1j * numbers(30, 40), numbers(40, 20) + 1j * numbers(40, 20)
    rows = fixed(a, 1, bits)
    results += [rows @ fixed(b, 0, bits), fixed(z, 1, bits) @ fixed(y, 0, bits), rows @ rows.T,
                fixed(b.T, 1, bits) @ fixed(a.T, 0, bits)]
np.savez(output, *results)
"""


def test_fixed_point_previews_equal_those_of_another_program_from_8_to_53_bits(tmp_path):
    def results(name, *policies, **settings):
        done = run(SYSTEM_PYTHON, "-c", FIXED, tmp_path / name, *policies, **settings)
        with numpy.load(tmp_path / name) as saved:
            return [saved[key].tobytes() for key in saved.files], done

    expected, _ = results("own.npz", preload=False)
    got, done = results("preview.npz", rule("fixed:@"), policy=rule("fixed:8"))
    assert len(got) == len(expected) == 4 * 46
    for i, (preview, own) in enumerate(zip(got, expected)):
        assert preview == own, f"product {i % 4} at {8 + i // 4} bits"
    assert [(d["requested"], d["applied"], d["detail"]) for d in done.decisions] == [
        ("fixed", "fixed", f"fixed:{bits}") for bits in range(8, 54) for _ in range(4)]


PROGRAM = "import numpy as np; a = np.arange(64.).reshape(8, 8) / 7; a @ a[:, :5]; a.astype(np.float32) @ a[:, :5].astype(np.float32)"


def decided(policy, **settings):
    result = run(SYSTEM_PYTHON, "-c", PROGRAM, policy=policy, **settings)
    assert result.errors == []
    return {d["dtype"]: (d["requested"], d["source"], d["applied"], d["reason"]) for d in result.decisions}


def test_only_a_rule_that_names_float64_decides_about_it():
    of_all = 'schema = 1\n[cpu]\nmode = "emulate"\n[[rule]]\nname = "all"\nprecision = "high"\n'
    assert decided(of_all) == {"float64": ("native", "native", "fp64", "as_requested"),
                               "float32": ("high", "rule", "tf32", "as_requested")}
    of_both = of_all + 'when = { dtype = ["float32", "float64"] }\n'
    assert decided(of_both)["float64"] == ("high", "rule", "tf32", "as_requested")
    excepted = of_both + 'unless = { max_dim = "<100" }\n'
    assert decided(excepted)["float64"] == ("native", "native", "fp64", "as_requested")


def test_a_floor_limits_such_a_rule_and_the_mode_decides_whether_it_applies():
    assert decided(rule("tf32"), floor="fp32")["float64"] == ("high", "rule", "fp32", "floor")
    assert decided(rule("fp64"), floor="fp32")["float64"] == ("fp64", "rule", "fp64", "as_requested")
    assert decided(rule("tf32", mode="off"))["float64"] == ("high", "rule", "fp64", "cpu_mode_off")
    assert decided(rule("bf16", mode="accelerate"))["float64"] == ("medium", "rule", "fp64", "accelerate_has_bf16_only")
    assert decided(rule("bf16", mode="reproducible"))["float64"] == ("medium", "rule", "fp64", "cpu_mode_reproducible")


@pytest.mark.parametrize("mode", ["off", "emulate", "accelerate", "reproducible"])
def test_emulated_float64_is_only_in_cublas_so_a_cpu_runs_as_called(mode):
    policy = rule("fp64_emulated", mode=mode)
    assert decided(policy)["float64"] == ("fp64_emulated", "rule", "fp64", "fp64_emulation_unavailable")
    assert decided(policy, floor="bf16")["float64"] == ("fp64_emulated", "rule", "fp64", "floor")


def test_a_floor_of_a_format_that_float64_lacks_is_float32():
    nine_products = rule("tf32").replace("[cpu]", '[limits]\nfloor = "bf16x9"\nallow_bf16x9 = true\n[cpu]', 1)
    assert decided(nine_products)["float64"] == ("high", "rule", "fp32", "floor")


@pytest.mark.parametrize("precision, dtypes, words", [
    ("highest", '["float64"]', 'which is FP32; for float64 write "fp64" or "fp32"'),
    ("bf16x9", '["complex128"]', "which float64 products cannot have; allowed: "),
    ("auto", '["float64"]', "which float64 products cannot have; allowed: "),
    ("fp64", '["float32", "float64"]', 'which is for float64 only; add dtype = ["float64", "complex128"]'),
    ("fixed:40", '["float32"]', "which is for float64 only"),
    ("fp64_emulated", '["float32"]', "which is for float64 only"),
    ("fixed", '["float64"]', "allowed: fixed:N with N bits, from 8 to 53"),
    ("fixed:54", '["float64"]', "allowed: fixed:N with N bits, from 8 to 53"),
])
def test_a_precision_that_the_type_cannot_have_is_refused(precision, dtypes, words):
    policy = f'schema = 1\n[[rule]]\nprecision = "{precision}"\nwhen = {{ dtype = {dtypes} }}\n'
    result = run(SYSTEM_PYTHON, "-c", PROGRAM, policy=policy)
    assert result.stderr.count("precision: found") == 1 and words in result.stderr
    assert result.returncode == 0


@pytest.mark.parametrize("precision, agree", [("sgemm", "62 of 62"), ("fp32", None)])
def test_the_routine_of_float32_in_place_of_that_of_float64_gives_its_bits(precision, agree, blas):
    result = run("float64_by_float32.py", blas_library(blas), blas=blas, policy=rule(precision))
    assert (lines_of(result) == ["62 of 62"]) == (agree is not None), result.stdout
    of_float64 = {(d["applied"], d["how"], d["reason"]) for d in result.decisions if d["dtype"] in ("float64", "complex128")}
    assert of_float64 == {(agree and "sgemm" or "fp32", "round_operands", "as_requested")}


NONFINITE = """
import numpy as np
a = np.full((20, 20), 1e200)
if __import__("sys").argv[1] == "given":
    a[3, 4] = np.nan
a @ a
"""


@pytest.mark.parametrize("given", ["made", "given"])
def test_nan_and_infinity_of_float64_are_found(given):
    result = run(SYSTEM_PYTHON, "-c", NONFINITE, given, env={"FP32_MATMUL_AUDIT": "nonfinite"})
    (line,) = [line for line in result.stderr.splitlines() if "NaN or infinity" in line]
    assert "dgemm 20x20x20" in line
    assert ("first product that received NaN" if given == "given" else "first NaN or infinity from finite") in line


CHAIN = """
import numpy as np
rng = np.random.default_rng(3)
x = rng.standard_normal((64, 64))
for _ in range(6):
    x = x @ x
    x /= np.abs(x).max()
print(x.tobytes().hex())
"""


def test_diff_of_two_libraries_names_the_first_float64_product_whose_result_differs(tmp_path):
    need(COMMAND.exists(), f"{COMMAND} was not built")

    def chain(name, blas):
        return run(SYSTEM_PYTHON, "-c", CHAIN, blas=blas, log=tmp_path / f"{name}.fp32rec", env={"FP32_MATMUL_AUDIT": "fingerprint"}).stdout

    # On some processors, BLIS has no kernels of its own, and gives the bits of the reference BLAS.
    expected = chain("a", "reference")
    other = next((blas for blas in ("blis", "openblas") if chain(f"try-{blas}", blas) != expected), None)
    need(other, "all libraries compute the same bits on this processor")
    for name in "bc":
        chain(name, other)

    def diff(a, b):
        done = subprocess.run([COMMAND, "diff", "--format", "json", tmp_path / f"{a}.fp32rec", tmp_path / f"{b}.fp32rec"],
                              capture_output=True, text=True, check=False)
        return json.loads(done.stdout)

    report = diff("a", "b")
    assert report["other_bits"] == 6 and report["aligned"] in (6, 7)  # numpy multiplies two vectors when it is imported
    assert 1e-17 < report["largest"]["difference"] < 1e-12
    assert diff("b", "c")["other_bits"] == 0
    text = subprocess.run([COMMAND, "diff", tmp_path / "a.fp32rec", tmp_path / "b.fp32rec"], capture_output=True, text=True,
                          check=False).stdout
    assert "dgemm 64x64x64" in text


def test_a_call_by_fortran_with_wide_integers_is_seen():
    library = blas_library("openblas")
    code = f"""
import ctypes
blas = ctypes.CDLL({str(library)!r})
n, one = ctypes.c_int(2), ctypes.c_double(1.5)
a, c = (ctypes.c_double * 4)(1, 2, 3, 4), (ctypes.c_double * 4)()
blas.dgemm_(b"N", b"N", *[ctypes.byref(n)] * 3, ctypes.byref(one), a, ctypes.byref(n), a, ctypes.byref(n),
            ctypes.byref(ctypes.c_double(0)), c, ctypes.byref(n))
print(list(c))
"""
    result = run(SYSTEM_PYTHON, "-c", code, env={"LD_BIND_NOW": os.environ.get("LD_BIND_NOW", "")})
    assert result.stdout == "[10.5, 15.0, 22.5, 33.0]\n"
    assert [d["function"] for d in result.decisions] == ["dgemm_"]
