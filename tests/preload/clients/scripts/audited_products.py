"""Multiplies by every routine that can be audited, and prints as JSON lines what an audit has to find."""

import ctypes
import json
import sys

import numpy as np

from level3_errors import DOUBLE, ROUND, SINGLE, errors, expect, level3, random, sizes, wide

BLAS = ctypes.CDLL(sys.argv[1])


def by_reference(value, dtype):
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return ctypes.byref(ctypes.c_int(value))
    if isinstance(value, np.ndarray):
        return value.ctypes.data_as(ctypes.c_void_p)
    scalar = np.array([value], dtype)
    by_reference.kept.append(scalar)
    return scalar.ctypes.data_as(ctypes.c_void_p)


by_reference.kept = []


def call(name, *arguments, scalars):
    getattr(BLAS, f"{name}_")(*(by_reference(value, scalars.pop(0)) if isinstance(value, (float, complex)) else
                          by_reference(value, None) for value in arguments))


def main():
    tested = sys.argv[2]
    types = DOUBLE if sys.argv[3:] == ["float64"] else SINGLE
    level3(call, lambda routine: f"{routine}_", tested, types)
    # Row-major order, as in C: rows are contiguous.
    m, n, k = sizes()
    (real, letter), _ = types
    a, b = random(m, k, real), random(k, n, real)
    c = a @ b
    assert c.flags.c_contiguous
    expect(f"cblas_{letter}gemm", [m, n, k], lambda r: wide(r(a)) @ wide(r(b)), lambda: abs(wide(a)) @ abs(wide(b)), tested)
    if sys.argv[3:] == ["batches"]:
        batch(tested, *sizes())
        half_of_a_product(tested, *sizes())


ROW_MAJOR, NO_TRANS, UPPER = 101, 111, 121


def array(kind, *values):
    return (kind * len(values))(*values)


def address(x):
    return x.ctypes.data_as(ctypes.c_void_p)


def batch(tested, m, n, k):
    """Three products of one size in two groups. The error of the batch is the largest of the three errors."""
    a, b, c = ([random(*shape, np.float32) for _ in range(3)] for shape in ((m, k), (k, n), (m, n)))
    before = [wide(x) for x in c]
    alphas, betas = (0.75, 0.75, 1.5), (0.5, 0.5, 0)
    two = lambda value: array(ctypes.c_int, value, value)  # noqa: E731
    pointers = [array(ctypes.c_void_p, *(x.ctypes.data for x in matrices)) for matrices in (a, b, c)]
    BLAS.cblas_sgemm_batch(ROW_MAJOR, two(NO_TRANS), two(NO_TRANS), two(m), two(n), two(k),
                           array(ctypes.c_float, alphas[0], alphas[2]), pointers[0], two(k), pointers[1], two(n),
                           array(ctypes.c_float, betas[0], betas[2]), pointers[2], two(n), 2, array(ctypes.c_int, 2, 1))
    largest = {}
    for i, (alpha, beta) in enumerate(zip(alphas, betas)):
        exact = alpha * wide(a[i]) @ wide(b[i]) + beta * before[i]
        rounded = alpha * wide(ROUND[tested](a[i])) @ wide(ROUND[tested](b[i])) + beta * before[i]
        bound = abs(alpha) * abs(wide(a[i])) @ abs(wide(b[i])) + abs(beta) * abs(before[i])
        for name, error in errors(rounded, exact, bound).items():
            largest[name] = max(error, largest.get(name, 0))
    print(json.dumps({"function": "cblas_sgemm_batch", "sizes": [m, n, k], **largest}))


def half_of_a_product(tested, _, n, k):
    """gemmt computes one triangle of a matrix that need not be symmetric."""
    a, b, c = random(n, k, np.float32), random(k, n, np.float32), np.zeros((n, n), np.float32)
    BLAS.cblas_sgemmt(ROW_MAJOR, UPPER, NO_TRANS, NO_TRANS, n, k, ctypes.c_float(1), address(a), k, address(b), n,
                      ctypes.c_float(0), address(c), n)
    expect("cblas_sgemmt", [n, n, k], lambda r: np.triu(wide(r(a)) @ wide(r(b))),
           lambda: np.triu(abs(wide(a)) @ abs(wide(b))) + np.tril(np.ones((n, n)), -1), tested,
           written=np.triu(np.ones((n, n), bool)))


main()
