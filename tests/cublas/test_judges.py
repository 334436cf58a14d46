"""The two judges that tell the format of a product by its result: gpu-check's, in C++, and the frameworks', in Python. Both are
given the same products, in every format with every rounding, and products as an H200 computes them."""

import argparse
import csv
import functools
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "preload"))
import shim  # noqa: E402

numpy = pytest.importorskip("numpy", reason="python3-numpy is not installed")
sys.path.insert(0, str(shim.ROOT / "gpu_check/frameworks"))
sys.dont_write_bytecode = True
import measured  # noqa: E402

JUDGE = shim.BUILD / "tests/cublas/gpu/judge_products"
MATCH = {"even": "ties to even", "away": "ties away from zero", "truncate": "truncated"}
SHAPES = ["gemm", "symm", "hemm", "syrk", "herk", "syr2k", "her2k", "trmm"]
# How the preview rounds and adds as an H200, at the precision `high`.
H200 = 'schema = 1\ndefault = "high"\n[cpu]\nmode = "emulate"\naccumulation = "h200"\n'


@pytest.fixture(autouse=True)
def is_built():
    shim.need(JUDGE.exists(), f"{JUDGE} was not built")


def judge_products(*words):
    return subprocess.run([JUDGE, *map(str, words)], check=True, text=True, stdout=subprocess.PIPE).stdout


def kind_of(dtype):
    return "complex" if dtype == numpy.complex64 else "real"


@functools.cache
def operands(n, dtype, use, folder):
    """Returns the operands that gpu-check uses."""
    names = [folder / f"{use}.{n}.{kind_of(dtype)}.{name}" for name in "ab"]
    judge_products("operands", n, kind_of(dtype), use, *names)
    return [numpy.fromfile(name, dtype).reshape(n, n, order="F") for name in names]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("operands")


def judged(result, use, shape, folder):
    """Returns (format, match, error) as gpu-check judges the result."""
    result.astype(numpy.complex64 if numpy.iscomplexobj(result) else numpy.float32).T.tofile(folder / "c")
    kind = kind_of(numpy.complex64 if numpy.iscomplexobj(result) else numpy.float32)
    format_name, match, error = judge_products("judge", len(result), kind, use, shape, folder / "c").rstrip("\n").split("\t")
    return format_name, match, float(error)


def rounded(matrix, rounding):
    """Returns the rounded matrix in float64 or complex128."""
    if rounding is None:
        return matrix.astype(numpy.result_type(matrix, numpy.float64))
    if numpy.iscomplexobj(matrix):
        parts = [measured.round_to_format(part, *rounding).astype(numpy.float64) for part in (matrix.real, matrix.imag)]
        result = numpy.empty(matrix.shape, numpy.complex128)
        result.real, result.imag = parts
        return result
    return measured.round_to_format(matrix, *rounding).astype(numpy.float64)


def multiplied(left, right):
    """Returns a product whose complex elements are sums of real products. Otherwise infinities would spread differently."""
    if not numpy.iscomplexobj(left):
        return left @ right
    result = numpy.empty((len(left), right.shape[1]), numpy.complex128)
    result.real = left.real @ right.real - left.imag @ right.imag
    result.imag = left.real @ right.imag + left.imag @ right.real
    return result


def product(shape, a, b, rounding):
    """Returns a product of rounded operands, of which only the lower triangle counts."""
    a, b = rounded(a, rounding), rounded(b, rounding)
    lower = numpy.tril(a)
    strictly = numpy.tril(a, -1)
    if shape == "symm":
        return multiplied(lower + strictly.T, b)
    if shape == "hemm":
        return multiplied(strictly + strictly.conj().T + numpy.diag(a.diagonal().real), b)
    if shape == "trmm":
        return multiplied(lower, b)
    if shape in ("syr2k", "her2k"):
        conjugate = numpy.conj if shape == "her2k" else numpy.asarray
        return multiplied(a, conjugate(b).T) + multiplied(b, conjugate(a).T)
    return multiplied(a, {"gemm": b, "syrk": a.T, "herk": a.conj().T}[shape])


@pytest.mark.parametrize(("name", "ties"), measured.ROUNDINGS)
def test_both_judges_round_every_number_alike(name, ties, tmp_path):
    random = numpy.random.default_rng(3)
    exponents = numpy.arange(-40, 41, dtype=numpy.float32)
    numbers = numpy.concatenate([
        (random.standard_normal(100_000) * numpy.exp2(random.integers(-40, 30, 100_000))).astype(numpy.float32),
        *(numpy.exp2(exponents) * numpy.float32(1 + last) for last in (0, 2**-11, 3 * 2**-11, 2**-8, 3 * 2**-8)),
        numpy.float32([0, 65504, 65519, 65520, 65536, 2**-24, 2**-25, 3 * 2**-25, 2**-14 - 2**-25])])
    numbers = numpy.concatenate([numbers, -numbers])
    numbers.tofile(tmp_path / "numbers")
    judge_products("round", name, ties, tmp_path / "numbers")
    with numpy.errstate(over="ignore"):
        expected = measured.round_to_format(numbers, name, ties)
        if (name, ties) == ("fp16", "even"):
            assert (expected == numbers.astype(numpy.float16).astype(numpy.float32)).all()
    assert (numpy.fromfile(tmp_path / "numbers", numpy.float32).view(numpy.uint32) == expected.view(numpy.uint32)).all()


@pytest.mark.parametrize("n", [64, 200, 512])
@pytest.mark.parametrize("rounding", [None, *measured.ROUNDINGS], ids=lambda each: " ".join(each) if each else "fp32")
def test_both_judges_find_the_format_and_the_rounding_of_the_same_products(rounding, n, folder):
    with numpy.errstate(invalid="ignore", over="ignore"):
        for a, b in [operands(n, numpy.float32, "product", folder), measured.random_operands(n)]:
            result = (rounded(a, rounding) @ rounded(b, rounding)).astype(numpy.float32)
            by_python = measured.ReferenceProduct(a, b, n).judge_result(result)
            assert by_python[:2] == (rounding or ("fp32", None))
        a, b = operands(n, numpy.float32, "product", folder)
        result = (rounded(a, rounding) @ rounded(b, rounding)).astype(numpy.float32)
    by_gpu_check = judged(result, "product", "gemm", folder)
    assert by_gpu_check[0] == (rounding or ["fp32"])[0]
    assert by_gpu_check[1] == (f"{rounding[0]} operands, {MATCH[rounding[1]]}" if rounding else "exact operands")


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.complex64], ids=kind_of)
@pytest.mark.parametrize("rounding", [None, *measured.ROUNDINGS], ids=lambda each: " ".join(each) if each else "fp32")
def test_the_judge_finds_them_in_products_of_every_shape(rounding, dtype, folder):
    for n in (64, 200):
        a, b = operands(n, dtype, "product", folder)
        for shape in SHAPES:
            if shape in ("hemm", "herk", "her2k") and dtype == numpy.float32:
                continue
            with numpy.errstate(invalid="ignore", over="ignore"):
                result = product(shape, a, b, rounding)
                result = result.astype(dtype)
            found = judged(result, "product", shape, folder)
            assert found[:2] == ((rounding[0], f"{rounding[0]} operands, {MATCH[rounding[1]]}") if rounding
                                 else ("fp32", "exact operands")), (n, shape, found)


def solved(a, b, rounding, block=64):
    """Returns X with A X = B, where A is lower and has ones on its diagonal. Solves as a library does: blocks at FP32, and
    between them products whose operands, parts of the solution too, are rounded."""
    x = b.copy()
    for first in range(0, len(a), block):
        last = min(first + block, len(a))
        diagonal = numpy.tril(a[first:last, first:last], -1).astype(numpy.result_type(a, numpy.float64))
        for row in range(first + 1, last):
            x[row] -= (diagonal[row - first, : row - first] @ x[first:row].astype(diagonal.dtype)).astype(x.dtype)
        x[last:] -= multiplied(rounded(a[last:, first:last], rounding), rounded(x[first:last], rounding)).astype(x.dtype)
    return x


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.complex64], ids=kind_of)
@pytest.mark.parametrize("rounding", [None, *measured.ROUNDINGS], ids=lambda each: " ".join(each) if each else "fp32")
def test_the_judge_finds_the_format_of_a_solve(rounding, dtype, folder):
    for n in (256, 512, *([2048] if rounding == ("tf32", "even") else [])):
        a, b = operands(n, dtype, "solve", folder)
        with numpy.errstate(invalid="ignore", over="ignore"):
            result = numpy.zeros((n, n), dtype)
            result[:, :1] = solved(a, b[:, :1], rounding)
        found = judged(result, "solve", "trsm", folder)
        assert found[0] == (rounding or ["fp32"])[0], (n, found)


def test_what_is_no_product_is_wrong(folder):
    a, b = operands(64, numpy.float32, "product", folder)
    for result in (numpy.full((64, 64), numpy.nan, numpy.float32), numpy.zeros((64, 64), numpy.float32), b @ a):
        assert judged(result, "product", "gemm", folder)[0] == "wrong"
        assert measured.ReferenceProduct(a, b, 64).judge_result(result)[0] == "wrong"


# ---- what follows for a product of a framework


@pytest.mark.parametrize(("format_name", "applied", "expect", "text", "fails"), [
    ("tf32", "tf32", "tf32", "ok", False), ("fp32", "bf16x9", None, "ok", False),
    ("tf32", "bf16", "bf16", "ok: bf16 permits tf32, which was used", False),
    ("tf32", "fp16", None, "ok: fp16 permits tf32, which was used", False),
    ("bf16", "fp16", None, "FAIL: fp16 does not permit bf16", True),
    ("bf16", "tf32", "tf32", "FAIL: bf16 is lower than tf32", True), ("fp16", "bf16", None, "FAIL: fp16 is lower than bf16", True),
    ("tf32", "fp32", "fp32", "FAIL: tf32 is lower than fp32", True), ("fp32", "tf32", "tf32", "FAIL: tf32 permitted, fp32 used", True)])
def test_only_a_result_that_is_lower_than_its_decision_or_not_lowered_fails(format_name, applied, expect, text, fails):
    import products

    arguments = argparse.Namespace(expect=expect, must_be_seen=True)
    assert products.judge_operation(format_name, [{"applied": applied}], arguments, measured) == (text, fails)


# ---- as an H200 computes


def previewed(a, b, tmp_path):
    """Returns a @ b as an H200 multiplies at `high`."""
    numpy.save(tmp_path / "a.npy", a)
    numpy.save(tmp_path / "b.npy", b)
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    code = "import numpy, sys; a, b = map(numpy.load, sys.argv[1:3]); numpy.save(sys.argv[3], a @ b)"
    result = shim.run(shim.SYSTEM_PYTHON, "-c", code, *(tmp_path / name for name in ("a.npy", "b.npy", "c.npy")), policy=H200)
    assert [decision["applied"] for decision in result.decisions] == ["tf32"]
    return numpy.load(tmp_path / "c.npy")


def samples(n):
    """Returns the rows and columns of the elements that gpu-check judges."""
    rows = [1 + (n - 2) * (i + 1) // 48 for i in range(48)]
    return rows, [i * 37 % row for i, row in enumerate(rows)]


@pytest.mark.parametrize("n", [512, 2048])
def test_what_an_h200_computes_is_tf32_for_both_judges(n, folder, tmp_path):
    a, b = operands(n, numpy.float32, "product", folder)
    rows, columns = samples(n)
    part = previewed(a[rows], b[:, columns], tmp_path)
    result = numpy.full((n, n), numpy.nan, numpy.float32)
    result[rows, columns] = part.diagonal()
    assert judged(result, "product", "gemm", folder)[:2] == ("tf32", "tf32 operands, ties to even")
    assert measured.ReferenceProduct(a[rows], b[:, columns]).judge_result(part)[:2] == ("tf32", "even")


def operands_of_that_day(n):
    """Returns the operands that gpu-check had when an H200 multiplied them. std::mt19937 and numpy give the same numbers."""
    def matrix(seed, scale):
        numbers = numpy.random.RandomState(seed).randint(0, 2**32, n * n, numpy.uint32)
        return (scale * (numbers / 2**31 - 1)).astype(numpy.float32).reshape(n, n, order="F")

    return matrix(1, 2.0**-18), matrix(2, 1.0)


def saved_errors():
    with open(HERE / "saved/h200_errors.tsv", newline="") as file:
        rows = list(csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t"))
    return [(row["product"], int(row["n"]), float(row["error"])) for row in rows]


@pytest.mark.parametrize(("name", "n", "error"), saved_errors())
def test_the_errors_that_an_h200_gave_are_those_of_tf32_with_ties_to_even(name, n, error, tmp_path):
    """The operands are those that gpu-check had then, uniform numbers of one size. The judges of that day called the products of
    frameworks fp16."""
    if name == "cublasSgemm_v2":
        a, b = operands_of_that_day(n)
        rows, columns = samples(n)
        a, b = a[rows], b[:, columns]
        part = previewed(a, b, tmp_path)
        exact = (a.astype(float) @ b.astype(float)).diagonal()
        found = numpy.linalg.norm(part.diagonal() - exact) / numpy.linalg.norm(exact)
        assert f"{found:.1e}" == f"{error:.1e}"
    else:
        generator = numpy.random.default_rng(1)
        a, b = (generator.uniform(-1, 1, (n, n)).astype(numpy.float32) for _ in range(2))
        part = previewed(a[:64], b, tmp_path)
        exact = a[:64].astype(float) @ b.astype(float)
        # One element with another last bit would change the tenth digit.
        assert numpy.linalg.norm(part - exact) / numpy.linalg.norm(exact) == pytest.approx(error, rel=1e-12)
    assert measured.ReferenceProduct(a, b).judge_result(part)[:2] == ("tf32", "even")


@pytest.mark.skipif("FP32SHIM_WHOLE_PRODUCT" not in os.environ, reason="takes minutes: tests/nightly.sh")
def test_a_whole_product_has_the_bits_that_an_h200_gave(tmp_path):
    """gpu-check printed this hash (FNV-1a) for cublasSgemm_v2 at `high`, 2048x2048x2048."""
    result = previewed(*operands_of_that_day(2048), tmp_path)
    hash_of_result = 0xcbf29ce484222325
    for byte in result.T.tobytes():
        hash_of_result = (hash_of_result ^ byte) * 0x100000001b3 % 2**64
    assert f"{hash_of_result:016x}" == "8d0b638e228996c3"
