"""Multiplies by every routine in float64, and by its sister in float32 on rounded copies. Prints how many results agree to
the bit; under a rule `sgemm` all have to."""

import ctypes
import sys

import numpy as np

import level3_errors
from level3_errors import DOUBLE, level3

BLAS = ctypes.CDLL(sys.argv[1])
SISTER = {"d": "s", "z": "c"}
NARROW = {np.dtype(np.float64): np.float32, np.dtype(np.complex128): np.complex64}
agreed = called = 0


def by_reference(value, keep):
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    if isinstance(value, (int, np.integer)):
        return ctypes.byref(ctypes.c_int(value))
    keep.append(value)
    return value.ctypes.data_as(ctypes.c_void_p)


def multiply(name, arguments):
    keep = []
    getattr(BLAS, f"{name}_")(*(by_reference(value, keep) for value in arguments))


def call(name, *arguments, scalars):
    global agreed, called
    types = list(scalars)
    doubles = [np.array([value], types.pop(0)) if isinstance(value, (float, complex)) else value for value in arguments]
    floats = [np.asfortranarray(x.astype(NARROW[x.dtype])) if isinstance(x, np.ndarray) else x for x in doubles]
    before = [x.copy(order="F") if isinstance(x, np.ndarray) else x for x in doubles]
    multiply(name, doubles)
    multiply(SISTER[name[0]] + name[1:], floats)
    same = True
    for old, wide, narrow in zip(before, doubles, floats):
        if isinstance(wide, np.ndarray):
            is_written = wide != old
            same &= np.array_equal(wide.astype(narrow.dtype), narrow) and np.array_equal(
                wide[is_written], narrow.astype(wide.dtype)[is_written])
    called += 1
    agreed += same


level3_errors.expect = lambda *_, **__: None
level3(call, lambda routine: routine, "fp32", DOUBLE)
print(f"{agreed} of {called}")
