"""In which format a float32 product was computed, judged by its result alone.

As gpu_check/products/format.hpp: the result is compared with float64 products of operands that were rounded to each
format on the host. Summing in float32 moves a result by some 1e-6, on tensor cores by up to 4e-5; two formats lie 3e-4 apart.
"""

import numpy

FORMATS = ("fp32", "bf16x9", "tf32", "bf16", "fp16", "wrong")  # formats from highest to lowest
MATCHING_FP32 = 2e-5
MATCHING_LOWER = 1e-4


def is_lower(left, right):
    return FORMATS.index(left) > FORMATS.index(right)


def lowest(formats):
    return max(formats, key=FORMATS.index)


def _to_bits(matrix, dropped_bits, add):
    """float32 with the last bits dropped, after adding to them: the whole of rounding, but for NaN and overflow."""
    bits = numpy.ascontiguousarray(matrix, dtype=numpy.float32).view(numpy.uint32)
    carried = bits + add(bits >> dropped_bits)
    return (carried >> dropped_bits << dropped_bits).astype(numpy.uint32).view(numpy.float32)


ROUNDINGS = {
    "tf32": [lambda m: _to_bits(m, 13, lambda last: numpy.uint32(0x1000)),  # rounds to nearest, ties away from zero
             lambda m: _to_bits(m, 13, lambda last: numpy.uint32(0))],  # rounds towards zero
    "bf16": [lambda m: _to_bits(m, 16, lambda last: numpy.uint32(0x7FFF) + (last & numpy.uint32(1)))],
    "fp16": [lambda m: m.astype(numpy.float16).astype(numpy.float32)],
}


def _distance(result, reference):
    difference = numpy.linalg.norm(result - reference) / numpy.linalg.norm(reference)
    return float("inf") if numpy.isnan(difference) else float(difference)


def judge(result, a, b):
    """(format, error) of the first rows of a @ b. The error is relative, against exact operands, in the 2-norm."""
    result = numpy.asarray(result, dtype=numpy.float64)
    rows = a[: result.shape[0]]
    error = _distance(result, rows.astype(numpy.float64) @ b.astype(numpy.float64))
    if error < MATCHING_FP32:
        return "fp32", error
    distances = {
        name: min(_distance(result, rounded(rows).astype(numpy.float64) @ rounded(b).astype(numpy.float64))
                  for rounded in roundings)
        for name, roundings in ROUNDINGS.items()
    }
    nearest = min(distances, key=distances.get)
    if distances[nearest] < MATCHING_LOWER:
        return nearest, error
    return ("tf32" if error < 1e-3 else "bf16" if error < 4e-3 else "wrong"), error
