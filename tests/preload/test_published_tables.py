"""Published results of reduced precision, reproduced on a CPU by unmodified numpy programs. Each test names its source."""

import csv
import json
import statistics

import pytest

from shim import ROOT, SYSTEM_PYTHON, has_module, need, run

EXAMPLE = ROOT / "examples/qtlq"
FP32 = "highest"
APPLIED = {"high": "tf32", "medium": "bf16", FP32: "fp32"}


def numbers_of(code, precision, *arguments, rounding="away", accumulation=None):
    """Returns the numbers that a few lines of numpy print as JSON, if every product has this precision."""
    need(has_module("numpy"), "the system's Python has no numpy")
    how = f'accumulation = "{accumulation}"' if accumulation else f'tf32_rounding = "{rounding}"'
    policy = f'schema = 1\n[cpu]\nmode = "emulate"\n{how}\n[[rule]]\nprecision = "{precision}"\n'
    result = run(SYSTEM_PYTHON, "-c", "import json, sys, numpy\n" + code, *arguments, policy=policy)
    assert {decision["applied"] for decision in result.decisions if decision["dtype"] == "float32"} == {APPLIED.get(precision, precision)}
    return json.loads(result.stdout)


# One row times one column. A row and a column of zeros are added, since numpy would not call BLAS for two vectors.
ARANGE = """
right = numpy.zeros((2, 8192), numpy.float32)
right[0] = numpy.arange(8192)
out = (numpy.ones((2, 2), numpy.float32) @ right)[0]
print(json.dumps([int((out != right[0]).sum()), float(out[2049])]))
"""


@pytest.mark.parametrize("rounding, value", [("away", 2050), ("even", 2048), ("truncate", 2048),
                                             ("a100", 2050), ("hopper", 2048), ("mi300", 2048)])
def test_half_of_the_whole_numbers_below_8192_are_wrong_in_tf32(rounding, value):
    """Pull request 24 of batch_invariant_ops has 4096 wrong entries in ones(1, 1) times arange(8192). TF32 lacks every
    second number above 2048, and three of four above 4096. 2049 lies halfway between 2048 and 2050."""
    assert numbers_of(ARANGE, "high", rounding=rounding) == [4096, value]


def test_formats_of_two_parts_and_more_have_all_whole_numbers_below_8192():
    for precision in ("bf16x2", "bf16x3", "bf16x9", "tf32x3", FP32):
        assert numbers_of(ARANGE, precision) == [0, 2049], precision
    assert numbers_of(ARANGE, "xf32") == [4096, 2048]


ALMOST_ONE = """
n = 1024
print(json.dumps(float((numpy.full((n, n), 1.0001, numpy.float32) @ numpy.ones((n, n), numpy.float32))[0, 0])))
"""


def test_almost_one_is_one_in_tf32():
    """1024² elements of 1.0001 times ones give 1024.0 with TF32 and 1024.1 without, as TensorFlow's page on
    tf.config.experimental.enable_tensor_float_32_execution says."""
    assert [numbers_of(ALMOST_ONE, precision) for precision in ("high", "xf32", "medium")] == [1024] * 3
    for precision in (FP32, "bf16x2", "bf16x3", "bf16x9", "tf32x3"):
        assert numbers_of(ALMOST_ONE, precision) == pytest.approx(1024.1, abs=0.01), precision


# The largest of n² errors is like the largest of n² normal numbers, which 10240² elements exceed slightly.
RANDN = """
n = 1024
random = numpy.random.default_rng(0)
a, b = random.standard_normal((n, n)), random.standard_normal((n, n))
exact = a @ b
error = a.astype(numpy.float32) @ b.astype(numpy.float32) - exact
mean = numpy.abs(exact).mean()
print(json.dumps([float(numpy.sqrt((error ** 2).mean()) / mean), float(numpy.abs(error).max() / mean)]))
"""


def largest_of(count):
    """Returns the median of the largest absolute value of `count` normal numbers."""
    return statistics.NormalDist().inv_cdf(1 - 0.6931 / count / 2)


@pytest.mark.parametrize("precision, published", [("high", 0.0022), ("medium", 0.0170)])
def test_the_largest_error_of_normal_numbers_over_the_mean(precision, published):
    """For randn(10240, 10240) squared, error.max() / mean is 0.0022 in TF32 (PyTorch's page "CUDA semantics", pull request
    40800 of pytorch), and 0.0170 in BF16 (pull request 125888 of pytorch)."""
    root_mean_square, largest = numbers_of(RANDN, precision)
    assert largest == pytest.approx(root_mean_square * largest_of(1024 ** 2), rel=0.25), "the errors are not normal"
    assert root_mean_square * largest_of(10240 ** 2) == pytest.approx(published, rel=0.1)


def test_the_error_of_float32_depends_on_the_order_of_sums_more_than_on_the_format():
    """Published errors of FP32 are 0.000039 on a GPU, and 3.17e-6 on a CPU, which has shorter sums (pytorch issue 63951)."""
    assert numbers_of(RANDN, FP32)[1] < 0.000039
    for precision in ("bf16x3", "bf16x9", "tf32x3"):
        assert numbers_of(RANDN, precision)[1] < 0.000039, precision


FROBENIUS = """
random = numpy.random.default_rng(0)
def matrix():
    if sys.argv[1] == "normal":
        return random.standard_normal((512, 512), dtype=numpy.float32)
    return (random.choice([-1, 1], (512, 512)) * 2.0 ** random.uniform(-3, 3, (512, 512))).astype(numpy.float32)
a, b = matrix(), matrix()
exact = a.astype(float) @ b.astype(float)
print(json.dumps(float(numpy.linalg.norm(a @ b - exact) / numpy.linalg.norm(exact))))
"""


@pytest.mark.parametrize("rounding, of_normal, of_log_uniform",
                         [("away", 2.93e-4, 2.71e-4), ("even", 2.93e-4, 2.71e-4), ("truncate", 7.69e-4, 7.09e-4)])
def test_relative_frobenius_error_of_tf32_by_rounding(rounding, of_normal, of_log_uniform):
    """For 512², 2.9e-4 was measured with cuBLAS (issue 3860 of mlx), on unnamed numbers. Normal numbers give 2.93e-4, and
    7.69e-4 if bits are cut off. Numbers of both signs with uniform logarithms give less. Rounding them to nearest gives
    sqrt(2) * 2**-10 / sqrt(12) / sqrt(3 / (2 ln 2)); cutting bits off adds a bias."""
    assert numbers_of(FROBENIUS, "high", "normal", rounding=rounding) == pytest.approx(of_normal, rel=0.01)
    assert numbers_of(FROBENIUS, "high", "log", rounding=rounding) == pytest.approx(of_log_uniform, rel=0.01)


@pytest.mark.parametrize("precision, lowest, highest", [("bf16x2", 2**-20, 2**-17), ("bf16x3", 0, 2**-21),
                                                        ("bf16x9", 0, 2**-21), ("tf32x3", 0, 2**-21)])
def test_relative_frobenius_error_of_formats_of_several_parts(precision, lowest, highest):
    """Two BF16 parts leave a remainder of at most 2**-16. Three BF16 parts, or two of TF32, have nearly all 24 bits."""
    assert lowest < numbers_of(FROBENIUS, precision, "normal") < highest


QTLQ = """
q, l = (numpy.fromfile(f"{sys.argv[1]}/{name}.f32", numpy.float32).reshape(128, 128) for name in "QL")
print(json.dumps(((q.T.copy() @ l) * q.T).sum(1).tolist()))
"""


def published(column):
    with open(EXAMPLE / "reference.csv", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert len(rows) == 13
    return [(int(row["index"]), float(row[column])) for row in rows]


def disagreements(precision, column, **keywords):
    values = numbers_of(QTLQ, precision, EXAMPLE, **keywords)
    return [index for index, value in published(column)
            if abs(values[index] - value) > 0.05 + 1e-4 * abs(value)]


def test_qtlq_has_the_published_values_of_tf32_with_ties_away_from_zero_only():
    """The published values are in examples/qtlq/reference.csv. The tolerance is that of examples/README.md."""
    assert disagreements("high", "tf32") == disagreements("high", "tf32", rounding="a100") == []
    assert 124 in disagreements("high", "tf32", rounding="even")
    assert len(disagreements("xf32", "tf32")) > 6


def test_qtlq_as_an_h200_has_the_values_of_an_h200():
    """The values are in the column h200 of examples/qtlq/reference.csv."""
    for how in ({"accumulation": "h200"}, {"rounding": "hopper"}):
        assert disagreements("high", "h200", **how) == [], how
        assert 124 in disagreements("high", "tf32", **how), how
    assert 124 in disagreements("high", "h200", accumulation="a2")


@pytest.mark.parametrize("precision", [FP32, "bf16x3", "bf16x9", "tf32x3"])
def test_qtlq_has_the_published_values_of_fp32_in_formats_near_it(precision):
    assert disagreements(precision, "fp32") == []


def test_qtlq_is_too_much_for_bf16x2():
    assert 0 < len(disagreements("bf16x2", "fp32")) < len(disagreements("high", "fp32"))
