"""Finds the format in which a float32 product was computed, from its result alone.

gpu_check/products/format.hpp uses the same method: the result is compared with float64 products of operands that were
rounded on the host to each format, by each way of rounding. Summing in float32 moves a result by some 1e-6, and on tensor
cores by up to 6e-5. Two of these reference products lie 2e-4 apart or more. tests/cublas/test_judges.py gives both programs
the same products.
"""

import numpy

FORMATS = ("fp32", "bf16x9", "tf32", "bf16", "fp16", "wrong")  # from the most exact to the least exact; `wrong` fits no format
FP32_MATCH_DISTANCE = 2e-5
LOWER_MATCH_DISTANCE = 1e-4
SCALES = (2.0**20, 1.0, 2.0**-30)  # scales of rows and columns, which are above, within and below the range of FP16


def is_lower_format(left, right):
    return FORMATS.index(left) > FORMATS.index(right)


def lowest_format(formats):
    return max(formats, key=FORMATS.index)


def _round_mantissa(matrix, bits, ties):
    """Rounds away the last `bits` bits of float32 numbers. Ignores NaN and the range of FP16."""
    words = numpy.ascontiguousarray(matrix, dtype=numpy.float32).view(numpy.uint32)
    half = numpy.uint32(1 << bits - 1)
    added = {"even": half - numpy.uint32(1) + (words >> bits & numpy.uint32(1)), "away": half, "truncate": numpy.uint32(0)}[ties]
    return ((words + added) >> bits << bits).astype(numpy.uint32).view(numpy.float32)


def _round_to_fp16(matrix, ties):
    matrix = numpy.asarray(matrix, dtype=numpy.float32)
    unit = numpy.float32(2.0**-24)  # unit of FP16's subnormal numbers
    units = matrix / unit
    whole = {"even": numpy.rint(units), "away": numpy.copysign(numpy.floor(numpy.abs(units) + 0.5), units),
             "truncate": numpy.trunc(units)}[ties]
    normal = _round_mantissa(matrix, 13, ties)
    beyond = numpy.copysign(numpy.float32(65504 if ties == "truncate" else numpy.inf), matrix)
    normal = numpy.where(numpy.abs(normal) > 65504, beyond, normal)
    return numpy.where(numpy.abs(matrix) < 2.0**-14, whole * unit, normal)


def round_to_format(matrix, name, ties):
    """Rounds float32 numbers to tf32, bf16 or fp16. `ties` is even, away, or truncate (towards zero)."""
    return _round_to_fp16(matrix, ties) if name == "fp16" else _round_mantissa(matrix, {"tf32": 13, "bf16": 16}[name], ties)


ROUNDINGS = [(name, ties) for name in ("tf32", "bf16", "fp16") for ties in ("even", "away", "truncate")]


def _distance(result, reference, exact):
    """Returns the distance of a result from a reference, relative to the exact product, in the 2-norm. An element that
    is infinite or NaN in both agrees. If an element is infinite or NaN in only one of them, the distance is infinite."""
    finite = numpy.isfinite(reference)
    if not finite.any() or (numpy.isfinite(result) != finite).any():
        return float("inf")
    return float(numpy.linalg.norm((result - reference)[finite]) / numpy.linalg.norm(exact[finite]))


def random_operands(n):
    """Returns two n x n matrices whose product differs clearly between the formats. An eighth of the elements are ties of TF32
    and FP16, and an eighth are ties of BF16. TF32 and FP16 keep equally many bits of mantissa. To tell them apart, a third of
    the rows of the first matrix, and of the columns of the second, is too large for FP16, and a third is too small for it."""
    generator = numpy.random.default_rng(1)
    scales = numpy.resize(numpy.float32(SCALES), n)

    def random_matrix():
        values = generator.uniform(-1, 1, (n, n)).astype(numpy.float32).view(numpy.uint32)
        kinds = generator.integers(0, 8, (n, n))
        for kind, bits in ((0, 13), (1, 16)):
            values = numpy.where(kinds == kind, values >> bits << bits | 1 << bits - 1, values).astype(numpy.uint32)
        return values.view(numpy.float32)

    return random_matrix() * scales[:, None], random_matrix() * scales


def _powers_of_two_above(numbers):
    return numpy.exp2(numpy.frexp(numpy.where(numbers > 0, numbers, 1).astype(numpy.float64))[1])


class ReferenceProduct:
    """The first `rows` rows of the product a @ b, computed from operands that are rounded to each format."""

    def __init__(self, a, b, rows=64):
        self._a, self._b = a[:rows], b
        # Results are divided by this scale, so that each row and column counts, whatever the size of its elements.
        scales = _powers_of_two_above(numpy.abs(self._a).max(axis=1)), _powers_of_two_above(numpy.abs(b).max(axis=0))
        self._scale = numpy.outer(*scales)
        self._is_in_range_of_fp16 = numpy.logical_and.outer(*((2.0**-8 <= each) & (each <= 2.0**15) for each in scales))
        self._references = {}

    def _reference_product(self, rounding):
        if rounding not in self._references:
            a, b = (round_to_format(matrix, *rounding) if rounding else matrix for matrix in (self._a, self._b))
            self._references[rounding] = a.astype(numpy.float64) @ b.astype(numpy.float64) / self._scale
        return self._references[rounding]

    def judge_result(self, result):
        """Returns (format, ties, error) of a result. `ties` is even, away or truncate, or None if the operands were not
        rounded or only the size of the error could be judged. `error` is the distance from the product of exact operands."""
        with numpy.errstate(invalid="ignore", over="ignore"):
            result = numpy.asarray(result, dtype=numpy.float64) / self._scale
            exact = self._reference_product(None)
            error = _distance(result, exact, exact)
            if error < FP32_MATCH_DISTANCE:
                return "fp32", None, error
            distances = {rounding: _distance(result, self._reference_product(rounding), exact) for rounding in ROUNDINGS}
        nearest = min(distances, key=distances.get)
        if distances[nearest] < LOWER_MATCH_DISTANCE:
            return nearest + (error,)
        return self._format_by_level(result, error), None, error

    def _format_by_level(self, result, error):
        """Names a format by the size of the error alone. Needed for libraries that round other numbers than the operands."""
        exact = self._reference_product(None)
        tf32, bf16 = (_distance(self._reference_product((name, "truncate")), exact, exact) for name in ("tf32", "bf16"))
        # Rounding to BF16's nearest number makes half of the error that truncating makes. So the limit lies, on a
        # logarithmic scale, halfway between the largest error of TF32 and the smallest of BF16.
        limit_of_tf32 = (tf32 * bf16 / 2) ** 0.5
        if error < 2 * bf16:
            return "tf32" if error < limit_of_tf32 else "bf16"
        inside = self._is_in_range_of_fp16
        return "fp16" if inside.any() and _distance(result[inside], exact[inside], exact[inside]) < limit_of_tf32 else "wrong"
