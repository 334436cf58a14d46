"""odd_operands.py LIBRARY CASE: products whose operands are at the limits of float32. Prints as JSON the error `component` that an
audit of TF32 has to find in each, from products in float64."""

import ctypes
import json
import sys

import numpy as np

from level3_errors import tf32, wide

BLAS = ctypes.CDLL(sys.argv[1])


def argument(value):
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    if isinstance(value, np.ndarray):
        return value.ctypes.data_as(ctypes.c_void_p)
    return ctypes.byref(ctypes.c_int(value) if isinstance(value, int) else ctypes.c_float(value))


def call(name, *arguments):
    getattr(BLAS, name)(*(argument(value) for value in arguments))


def sgemm(a, b, c=None, alpha=1.0, beta=0.0):
    a, b = (np.asfortranarray(x, np.float32) for x in (a, b))
    (m, k), n = a.shape, b.shape[1]
    c = np.zeros((m, n), np.float32, order="F") if c is None else np.asfortranarray(c, np.float32)
    before = wide(c)
    call("sgemm_", "N", "N", m, n, k, alpha, a, m, b, k, beta, c, m)
    difference = alpha * (wide(tf32(a)) @ wide(tf32(b)) - wide(a) @ wide(b))
    bound = abs(alpha) * abs(wide(a)) @ abs(wide(b)) + abs(beta) * abs(before)
    print(json.dumps({"n": n, "component": (abs(difference) / bound).max()}))


def unit_diagonal():
    """NaN is on the diagonal and in the triangle that strmm does not read."""
    rng = np.random.default_rng(3)
    a, b = (np.asfortranarray(rng.standard_normal((8, n)).astype(np.float32)) for n in (8, 5))
    a[np.tril_indices(8)] = np.nan
    call("strmm_", "L", "U", "N", "U", 8, 5, 1.0, a, 8, b, 8)


def nan_scalars():
    ones = np.ones((4, 4))
    call("sgemm_", "N", "N", 4, 4, 4, float("nan"), argument_of(ones), 4, argument_of(ones), 4, 0.0, argument_of(ones), 4)
    call("sgemm_", "N", "N", 4, 3, 4, 1.0, argument_of(ones), 4, argument_of(ones), 4, float("inf"), argument_of(ones), 4)


def argument_of(x):
    kept.append(np.asfortranarray(x, np.float32))
    return kept[-1]


kept = []


def overflow():
    """The results are finite although |A||B|, or |A||B| + |beta||C|, overflows."""
    sgemm([[3e38, -2.9e38, 1e30]], [[1], [1], [1.0001]])
    sgemm([[3e38, -2.9e38], [1, 2.0001]], [[1, 1.1], [1, 1.1]], [[-1e38, 2e37], [1e-5, 1]], 0.75, 0.5)
    sgemm([[1e20, -1.0001e20, 1e20]], [[2e18, 1, 1], [2e18, 1, 1], [1.2e18, 1, 1]])


def subnormal():
    sgemm([[1e-40, 2e-41]], [[1, 1, 1, 1], [1, 1, 1, 1]])


globals()[sys.argv[2]]()
