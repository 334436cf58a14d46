"""Emulation, routine by routine: what the shim computes from operands as they are, the library computes from operands
that the client has rounded itself, to the bit."""

import ctypes
import math
import struct

import pytest

from shim import LIBRARY, LP64_BLAS, SYSTEM_PYTHON, blas_library, has_module, need, run

FORMATS = {"tf32": "high", "bf16": "medium"}


def differing(one, other):
    """Returns the lines in which two results differ, without their numbers."""
    pairs = zip(one.stdout.splitlines(), other.stdout.splitlines())
    return [first[:40] for first, second in pairs if first != second]


def compare(program, number_format, blas, count=None, plain=None):
    rounded = run(plain or program, number_format, blas=blas, preload=False)
    emulated = run(program, "fp32", blas=blas, libraries=[LIBRARY.parent], precision=FORMATS[number_format], cpu="emulate")
    assert differing(rounded, emulated) == []
    assert emulated.stdout.count("\n") == rounded.stdout.count("\n")
    if count:
        assert len(emulated.decisions) == count
    return emulated


@pytest.mark.parametrize("number_format", FORMATS)
def test_every_standard_routine_multiplies_rounded_operands(number_format, blas):
    emulated = compare("level3", number_format, blas, count=387)
    for decision in emulated.decisions:
        expected = ("fp32", "forward") if "trsm" in decision["function"] else (number_format, "round_operands")
        assert (decision["applied"], decision["how"]) == expected, decision["function"]


def test_every_standard_routine_is_called_as_it_was_where_nothing_is_asked(blas):
    plain = run("level3", blas=blas, preload=False)
    for settings in ({"precision": "native"}, {"precision": "highest", "cpu": "emulate"}, {"precision": "high"}):
        assert differing(plain, run("level3", blas=blas, **settings)) == []


def test_standard_routines_are_described_by_what_the_library_receives():
    decisions = run("level3", blas="reference").decisions
    sizes = {}
    for decision in decisions:
        sizes.setdefault(decision["function"], set()).add((decision["m"], decision["n"], decision["k"]))
    assert sizes["sgemm_"] == {(7, 9, 11)}
    # The library may compute row-major C as column-major C transposed, or not; both have these sizes.
    assert sizes["cblas_sgemm"] <= {(7, 9, 11), (9, 7, 11)}
    assert sizes["ssyrk_"] == {(9, 9, 11)}
    assert sizes["chemm_"] == {(7, 9, 7), (7, 9, 9)}
    assert {d["dtype"] for d in decisions if d["function"].removeprefix("cblas_").startswith("c")} == {"complex64"}
    assert {d["dtype"] for d in decisions if d["function"].removeprefix("cblas_").startswith("s")} == {"float32"}


@pytest.mark.parametrize("number_format", FORMATS)
def test_routines_beyond_the_standard_multiply_rounded_operands(number_format):
    emulated = compare("level3_extensions", number_format, "blis")
    assert {d["how"] for d in emulated.decisions} == {"round_operands"}
    batches = [d["batch"] for d in emulated.decisions if "batch" in d["function"]]
    assert batches and set(batches) == {3}


@pytest.mark.parametrize("number_format", FORMATS)
def test_batches_multiply_rounded_operands(number_format):
    emulated = compare("batches", number_format, None, count=4)
    assert [(d["function"], d["batch"]) for d in emulated.decisions] == [
        ("cblas_sgemm_batch", 3), ("sgemm_batch_", 3), ("cblas_sgemm_batch_strided", 3), ("sgemm_batch_strided_", 3)]


def emulate_by_rule(precision):
    return f'schema = 1\n[cpu]\nmode = "emulate"\n[[rule]]\nprecision = "{precision}"\n'


def number(word):
    """Returns the float32 number with these bits."""
    return struct.unpack(">f", bytes.fromhex(word))[0]


# For each format of several parts: smallest and largest difference from float32 in results with some ten terms.
PARTS = {"bf16x2": (2**-18, 2**-12), "bf16x3": (0, 2**-19), "bf16x9": (0, 2**-19), "tf32x3": (0, 2**-19)}


@pytest.mark.parametrize("program, chosen", [("level3", "openblas"), ("level3", "reference"), ("level3", "blis"),
                                             ("level3_extensions", "blis"), ("batches", None)])
@pytest.mark.parametrize("precision", PARTS)
def test_every_routine_sums_products_of_parts(program, chosen, precision):
    plain = run(program, "fp32", blas=chosen, preload=False)
    emulated = run(program, "fp32", blas=chosen, policy=emulate_by_rule(precision))
    lowest, highest = PARTS[precision]
    largest = 0
    for line, other_line in zip(plain.stdout.splitlines(), emulated.stdout.splitlines(), strict=True):
        (routine, *words), (other_routine, *other_words) = line.split(), other_line.split()
        assert routine == other_routine
        for word, other in zip(words, other_words, strict=True):
            if math.isnan(number(word)):
                assert word == other, f"{routine}: what is not to be written was"
            else:
                difference = abs(number(word) - number(other))
                assert difference <= highest * max(1, abs(number(word))), routine
                largest = max(largest, difference)
    assert largest > lowest
    solves = [decision for decision in emulated.decisions if "trsm" in decision["function"]]
    assert {decision["applied"] for decision in solves} <= {"fp32"}
    others = [decision for decision in emulated.decisions if "trsm" not in decision["function"]]
    assert {decision["applied"] for decision in others} == {precision}


@pytest.mark.parametrize("blas", LP64_BLAS)
def test_xf32_cuts_bits_off_whatever_the_rounding_of_tf32_is(blas):
    cut = 'schema = 1\ndefault = "high"\n[cpu]\nmode = "emulate"\ntf32_rounding = "truncate"\n'
    assert run("level3", "fp32", blas=blas, policy=emulate_by_rule("xf32")).stdout == \
        run("level3", "fp32", blas=blas, policy=cut).stdout


NARROW = """
import sys, numpy as np
random = np.random.default_rng(1)
a, b = (random.standard_normal(size, np.float32) * 2.0 ** random.integers(-30, 10, size).astype(np.float32)
        for size in ((60, 50), (50, 40)))
a[3, 4], a[5, 6], b[7, 8] = 1e5, 65520, np.nan  # beyond the range of FP16

def rounded(x, kept_bits, lowest, largest):  # in double precision: to nearest, ties to even
    unit = 2.0 ** (np.maximum(np.frexp(x.astype(float))[1] - 1, lowest) - kept_bits)
    return np.clip(np.rint(x / unit) * unit, -largest, largest).astype(np.float32)

number_format = sys.argv[1]
with np.errstate(over="ignore"):
    if number_format == "fp16":
        a, b = a.astype(np.float16).astype(np.float32), b.astype(np.float16).astype(np.float32)
    if number_format in ("e4m3", "e5m2"):
        numbers = {"e4m3": (3, -6, 448), "e5m2": (2, -14, 57344)}[number_format]
        a, b = rounded(a, *numbers), rounded(b, *numbers)
print((a @ b).tobytes().hex())
"""


@pytest.mark.parametrize("precision", ["fp16", "e4m3", "e5m2"])
def test_formats_of_16_and_8_bits_are_those_of_numpy_to_the_bit(precision):
    need(has_module("numpy"), "the system's Python has no numpy")
    by_hand = run(SYSTEM_PYTHON, "-c", NARROW, precision, preload=False)
    emulated = run(SYSTEM_PYTHON, "-c", NARROW, "fp32", policy=emulate_by_rule(precision))
    assert emulated.stdout == by_hand.stdout and len(emulated.stdout) > 60 * 40 * 8
    assert {decision["applied"] for decision in emulated.decisions} == {precision}


def need_no_batches(blas):
    """Skips the test if the library has batches. OpenBLAS 0.3.29 has one such function, which crashes."""
    library = ctypes.CDLL(str(blas_library(blas)))
    need(not hasattr(library, "cblas_sgemm_batch") and not hasattr(library, "sgemm_batch_"),
         f"this {blas} has batches of its own")


@pytest.mark.parametrize("settings", [{"precision": "native"}, {"precision": "highest"}, {"log": False}])
def test_batches_that_no_library_has_are_looped_over_gemm(settings, blas):
    need_no_batches(blas)
    plain = run("weak_batches", blas=blas, preload=False)
    shimmed = run("linked_batches", blas=blas, libraries=[LIBRARY.parent], **settings)
    assert differing(plain, shimmed) == [] and shimmed.stdout
    if "log" not in settings:
        assert {d["how"] for d in shimmed.decisions} == {"one_by_one"}


def test_a_batch_that_no_library_has_is_not_computed_if_an_option_is_invalid(blas):
    need_no_batches(blas)
    result = run("linked_batches", "invalid", blas=blas, libraries=[LIBRARY.parent], check=False)
    assert "arameter" in result.stdout + result.stderr  # the library's own message; some libraries end the program
    assert "computed" not in result.stdout


def test_batches_that_no_library_has_are_computed_also_where_the_shim_is_switched_off(blas):
    # A plain gemm must not get a batch's arguments.
    need_no_batches(blas)
    plain = run("weak_batches", blas=blas, preload=False)
    shimmed = run("linked_batches", blas=blas, libraries=[LIBRARY.parent], env={"FP32_MATMUL_DISABLE": "1"})
    assert differing(plain, shimmed) == [] and shimmed.stdout
    assert shimmed.decisions == [] and shimmed.stderr == plain.stderr


@pytest.mark.parametrize("number_format", FORMATS)
def test_batches_that_no_library_has_are_emulated_too(number_format, blas):
    need_no_batches(blas)
    compare("linked_batches", number_format, blas, plain="weak_batches")


@pytest.mark.parametrize("settings", [{"precision": "native"}, {"precision": "highest"}, {"log": False}])
def test_edge_cases_are_as_the_library_has_them(settings, blas):
    plain = run("edge_cases", blas=blas, preload=False)
    assert differing(plain, run("edge_cases", blas=blas, **settings)) == []


@pytest.mark.parametrize("number_format", FORMATS)
def test_edge_cases_are_as_the_library_has_them_while_emulating(number_format, blas):
    emulated = compare("edge_cases", number_format, blas, count=16)
    empty = [d for d in emulated.decisions if 0 in (d["m"], d["n"], d["k"])]
    assert empty and {d["reason"] for d in empty} == {"no_product"}


def test_numbers_are_rounded_to_tf32_as_the_policy_says():
    """1 + 2**-11 lies halfway between two TF32 numbers, and 1 + 3 * 2**-12 lies nearer to the upper one."""
    code = """
import numpy
a = numpy.full((9, 9), {number}, numpy.float32)
b = numpy.eye(9, dtype=numpy.float32)
print(float((a @ b)[0, 0]), float((-a @ b)[0, 0]))
"""
    need(has_module("numpy"), "the system's Python has no numpy")
    tie, above_tie, upper = 1 + 2.0**-11, 1 + 3 * 2.0**-12, 1 + 2.0**-10
    for rounding, number, value in (("away", tie, upper), ("even", tie, 1.0), ("truncate", tie, 1.0),
                                    ("even", above_tie, upper), ("truncate", above_tie, 1.0)):
        policy = f'schema = 1\ndefault = "high"\n[cpu]\nmode = "emulate"\ntf32_rounding = "{rounding}"\n'
        assert run(SYSTEM_PYTHON, "-c", code.format(number=number), policy=policy).stdout == f"{value} {-value}\n"
