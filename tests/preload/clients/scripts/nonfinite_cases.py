"""Products whose results hold NaN or infinity, for many reasons, by every kind of routine. Prints a hash of all results.

nonfinite_cases.py LIBRARY CASE: one case, by the routines of that BLAS library."""

import ctypes
import hashlib
import os
import sys
import threading

import numpy as np

BLAS = ctypes.CDLL(sys.argv[1])
HUGE = 1e30
results = []


def matrix(rows, columns, value=1.0, dtype=np.float32, **places):
    """Returns a matrix in Fortran's order. `at` has other values: {(row, column): value}."""
    x = np.full((rows, columns), value, dtype, order="F")
    for place, other in places.get("at", {}).items():
        x[place] = other
    return x


def argument(value, dtype):
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    if isinstance(value, np.ndarray):
        return value.ctypes.data_as(ctypes.c_void_p)
    if isinstance(value, int):
        return ctypes.byref(ctypes.c_int(value))
    argument.kept.append(np.array([value], dtype))
    return argument.kept[-1].ctypes.data_as(ctypes.c_void_p)


argument.kept = []


def call(name, *arguments, result, scalars=None):
    dtype = scalars or (np.complex64 if name[0] == "c" else np.float32)
    getattr(BLAS, name)(*(argument(value, dtype) for value in arguments))
    results.append(result.copy())


def sgemm(a, b, c=None, alpha=1.0, beta=0.0, ld=None, name="sgemm_"):
    m, k = a.shape
    n = b.shape[1]
    if c is None:
        c = np.full((m, n), np.nan, a.dtype, order="F")  # C is never read, since beta is 0
    call(name, "N", "N", m, n, k, alpha, a, ld or max(m, 1), b, max(k, 1), beta, c, max(m, 1), result=c)


def overflow():
    sgemm(matrix(5, 6), matrix(6, 4))
    sgemm(matrix(5, 6, at={(3, 2): HUGE}), matrix(6, 4, at={(2, 1): -HUGE}))


def sum_overflow():
    sgemm(matrix(5, 6, 1e19), matrix(6, 4, 1e19, at={(0, 0): 1, (1, 0): 1, (2, 0): 1, (3, 0): 1, (4, 0): 1, (5, 0): 1}))


def difference_of_infinities():
    """The first two terms of one element are +infinity and -infinity."""
    sgemm(matrix(70, 2, at={(66, 0): HUGE, (66, 1): HUGE}), matrix(2, 40, at={(0, 33): HUGE, (1, 33): -HUGE}))


def bad_operands():
    for bad in (np.nan, np.inf, -np.inf):
        sgemm(matrix(5, 6, at={(4, 5): bad}), matrix(6, 4))
        sgemm(matrix(5, 6), matrix(6, 4, at={(5, 3): bad}))
        sgemm(matrix(5, 6), matrix(6, 4), alpha=bad)
        sgemm(matrix(5, 6), matrix(6, 4), matrix(5, 4), beta=bad)
        sgemm(matrix(5, 6), matrix(6, 4), matrix(5, 4, at={(4, 3): bad}), beta=1.0)
        # The result is infinite, but an operand was already bad.
        sgemm(matrix(5, 6, HUGE, at={(4, 5): bad}), matrix(6, 4, HUGE))


def bad_memory_that_is_not_read():
    sgemm(matrix(5, 6), matrix(6, 4), matrix(5, 4, np.nan), beta=0.0)
    sgemm(matrix(5, 6, np.nan), matrix(6, 4), matrix(5, 4), alpha=0.0, beta=1.0)  # some libraries read the operand
    sgemm(matrix(0, 6), matrix(6, 4, np.nan))
    sgemm(matrix(5, 0), matrix(0, 4), matrix(5, 4, np.nan), beta=0.0)
    padded = matrix(9, 6, np.nan)
    padded[:5] = 1
    call("sgemm_", "N", "N", 5, 4, 6, 1.0, padded, 9, matrix(6, 4), 6, 0.0, c := matrix(9, 4, np.nan), 9, result=c)
    call("ssyrk_", "L", "N", 3, 4, 1.0, matrix(3, 4), 3, 1.0, c := matrix(3, 3, at={(0, 1): np.nan}), 3, result=c)


def scaled():
    sgemm(matrix(5, 6), matrix(6, 4), matrix(5, 4, at={(2, 3): 1e38}), beta=1e10)


def row_major():
    a = np.ones((5, 6), np.float32)
    a[1, 0] = HUGE
    b = np.ones((6, 4), np.float32)
    b[0, 2] = HUGE
    results.append(a @ b)


def complex_numbers():
    a = matrix(3, 4, dtype=np.complex64, at={(2, 1): 1j * HUGE})
    sgemm(a, matrix(4, 5, dtype=np.complex64, at={(1, 4): HUGE}), name="cgemm_")


def triangle():
    """Calls syrk. In the first product, the largest element is outside of the triangle."""
    c = matrix(4, 4, at={(0, 3): 1e38})
    call("ssyrk_", "L", "N", 4, 2, 1.0, matrix(4, 2), 4, 10.0, c, 4, result=c)
    c = matrix(4, 4, at={(0, 3): 1e38})
    call("ssyrk_", "U", "N", 4, 2, 1.0, matrix(4, 2), 4, 10.0, c, 4, result=c)


def symmetric():
    """NaN is in the triangle of A that is not read."""
    c = matrix(3, 2)
    call("ssymm_", "L", "U", 3, 2, 1.0, matrix(3, 3, at={(2, 0): np.nan, (0, 1): HUGE}), 3, matrix(3, 2, at={(1, 1): HUGE}), 3,
         0.0, c, 3, result=c)


def in_place():
    """NaN is on a diagonal that is not read, and in a B that was bad before."""
    b = matrix(3, 2, at={(0, 0): np.inf})
    call("strmm_", "L", "U", "N", "N", 3, 2, 1.0, matrix(3, 3), 3, b, 3, result=b)
    b = matrix(3, 2, at={(1, 1): HUGE})
    call("strmm_", "L", "U", "N", "U", 3, 2, 1.0, matrix(3, 3, at={(0, 0): np.nan, (0, 1): HUGE}), 3, b, 3, result=b)


def solve():
    b = matrix(3, 2)
    call("strsm_", "L", "U", "N", "N", 3, 2, 1.0, matrix(3, 3, at={(2, 2): 0, (0, 2): 0, (1, 2): 0}), 3, b, 3, result=b)


def pointers(matrices):
    return (ctypes.c_void_p * len(matrices))(*(x.ctypes.data for x in matrices))


def batch():
    """Five products in two groups have bad operands, a bad C, and an overflow in number 3."""
    a = [matrix(5, 6) for _ in range(5)]
    b = [matrix(6, 4) for _ in range(5)]
    c = [matrix(5, 4) for _ in range(5)]
    a[0][0, 0] = np.nan
    c[1][1, 1] = np.inf
    for i in (1, 3, 4):
        a[i][i, 2] = b[i][2, i - 1] = HUGE
    ints = lambda *values: (ctypes.c_int * 2)(*values)  # noqa: E731
    floats = lambda *values: (ctypes.c_float * 2)(*values)  # noqa: E731
    BLAS.sgemm_batch_(ctypes.c_char_p(b"NN"), ctypes.c_char_p(b"NN"), ints(5, 5), ints(4, 4), ints(6, 6), floats(1, 1),
                      pointers(a), ints(5, 5), pointers(b), ints(6, 6), floats(1, 0), pointers(c), ints(5, 5),
                      ctypes.byref(ctypes.c_int(2)), ints(2, 3))
    results.extend(c)


def below_infinity():
    """The largest number is finite, but rounded to TF32 it is infinite."""
    sgemm(matrix(2, 1, at={(1, 0): np.finfo(np.float32).max}), matrix(1, 1))


def threads():
    barrier = threading.Barrier(8)

    def work():
        barrier.wait()
        for _ in range(50):
            sgemm(matrix(33, 6, HUGE), matrix(6, 4, HUGE))

    started = [threading.Thread(target=work) for _ in range(8)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def forks():
    """Forks one child before the search ends, and one after that."""

    def in_child():
        child = os.fork()
        if child == 0:
            overflow()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

    in_child()
    overflow()
    in_child()


with np.errstate(all="ignore"):
    globals()[sys.argv[2]]()
print(hashlib.sha256(b"".join(x.tobytes() for x in results)).hexdigest())
