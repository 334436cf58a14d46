"""Multiplies by every kind of routine, with padded leading dimensions, and saves what each product wrote, in float64: the
elements of each column, one column after the other.

    fingerprinted_products.py LIBRARY OUT [extensions]

UNREAD is a number for the elements that no routine reads. CHANGED=1 changes one bit of each A.
"""

import ctypes
import os
import sys

import numpy as np

BLAS = ctypes.CDLL(sys.argv[1])
PADDING = 3
ROW_MAJOR, NO_TRANS, UPPER = 101, 111, 121
rng = np.random.default_rng(11)
saved = []


def random(rows, columns, dtype):
    x = rng.standard_normal((rows, columns))
    return (x + 1j * rng.standard_normal((rows, columns)) if dtype == np.complex64 else x).astype(dtype)


def stored(x):
    """Copies x into an array in Fortran's order, with NaN between the columns. x is the upper part of the returned array."""
    whole = np.full((x.shape[0] + PADDING, x.shape[1]), float(os.environ.get("UNREAD", "nan")), x.dtype, order="F")
    whole[:x.shape[0]] = x
    return whole


def prepared(a, unread=None, is_unit=False):
    """Returns A for a routine that does not read the triangle `unread`, nor the diagonal if `is_unit` is true."""
    if "UNREAD" in os.environ and unread:
        half = np.triu_indices(len(a), 1) if unread == "U" else np.tril_indices(len(a), -1)
        a[half] = float(os.environ["UNREAD"])
        if is_unit:
            np.fill_diagonal(a, float(os.environ["UNREAD"]))
    if "CHANGED" in os.environ:
        bits = a.view(np.float32 if a.dtype == np.complex64 else a.dtype).view(np.uint32)
        bits[(1, 0) if unread == "U" else (0, bits.shape[1] - 1)] ^= 1
    return stored(a)


def by_reference(value):
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    if isinstance(value, int):
        return ctypes.byref(ctypes.c_int(value))
    return value.ctypes.data_as(ctypes.c_void_p)


def call(name, *arguments):
    getattr(BLAS, name)(*map(by_reference, arguments))


def keep(name, result, uplo=None):
    """Stores the elements that a routine has written: all, or those of a triangle."""
    columns = [column if uplo is None else column[:j + 1] if uplo == "U" else column[j:] for j, column in enumerate(result.T)]
    saved.append((name, np.concatenate(columns).astype(np.complex128 if np.iscomplexobj(result) else np.float64)))


def fortran_routines(size):
    for dtype, letter in ((np.float32, "s"), (np.complex64, "c")):
        is_complex = dtype == np.complex64
        one = lambda value: np.array([value], dtype)  # noqa: E731
        alpha, beta = one(1.5 - 0.5j if is_complex else -1.5), one(0.75)
        real = lambda value: np.array([value], np.float32)  # noqa: E731
        for trans_a, trans_b in ("NN", "TN", "NC"):
            m, n, k = size(), size(), size()
            a = prepared(random(m, k, dtype) if trans_a == "N" else random(k, m, dtype))
            b = stored(random(k, n, dtype) if trans_b == "N" else random(n, k, dtype))
            c = stored(random(m, n, dtype))
            call(f"{letter}gemm_", trans_a, trans_b, m, n, k, alpha, a, a.shape[0], b, b.shape[0], beta, c, c.shape[0])
            keep(f"{letter}gemm_", c[:m])
        for routine in ("symm", "hemm") if is_complex else ("symm",):
            m, n = size(), size()
            a, b, c = prepared(random(n, n, dtype), "L"), stored(random(m, n, dtype)), stored(random(m, n, dtype))
            call(f"{letter}{routine}_", "R", "U", m, n, alpha, a, a.shape[0], b, b.shape[0], beta, c, c.shape[0])
            keep(f"{letter}{routine}_", c[:m])
        for routine in ("syrk", "syr2k", "herk", "her2k") if is_complex else ("syrk", "syr2k"):
            for uplo in "UL":
                n, k = size(), size()
                a, b = prepared(random(n, k, dtype)), stored(random(n, k, dtype))
                c = random(n, n, dtype)
                c = stored(c) if "CHANGED" in os.environ else prepared(c, "L" if uplo == "U" else "U")
                more = [b, b.shape[0]] if routine.endswith("2k") else []
                hermitian = routine.startswith("he")
                call(f"{letter}{routine}_", uplo, "N", n, k, real(1.5) if routine == "herk" else alpha, a, a.shape[0], *more,
                     real(0.75) if hermitian else beta, c, c.shape[0])
                keep(f"{letter}{routine}_", c[:n], uplo)
        for routine in ("trmm", "trsm"):
            m, n = size(), size()
            diagonal = "U" if "UNREAD" in os.environ and routine == "trmm" else "N"
            a = prepared(random(m, m, dtype) + 10 * np.eye(m, dtype=dtype), "U", diagonal == "U")
            b = stored(random(m, n, dtype))
            call(f"{letter}{routine}_", "L", "L", "N", diagonal, m, n, alpha, a, a.shape[0], b, b.shape[0])
            keep(f"{letter}{routine}_", b[:m])


def extensions(size):
    array = lambda kind, *values: (kind * len(values))(*values)  # noqa: E731
    two = lambda value: array(ctypes.c_int, value, value)  # noqa: E731
    m, n, k = size(), size(), size()
    a, b, c = ([random(*shape, np.float32) for _ in range(3)] for shape in ((m, k), (k, n), (m, n)))
    pointers = [array(ctypes.c_void_p, *(x.ctypes.data for x in matrices)) for matrices in (a, b, c)]
    BLAS.cblas_sgemm_batch(ROW_MAJOR, two(NO_TRANS), two(NO_TRANS), two(m), two(n), two(k), array(ctypes.c_float, 0.75, 1.5),
                           pointers[0], two(k), pointers[1], two(n), array(ctypes.c_float, 0.5, 0), pointers[2], two(n), 2,
                           array(ctypes.c_int, 2, 1))
    keep("cblas_sgemm_batch", np.concatenate(c).T)
    n, k = size(), size()
    a, b, c = random(n, k, np.float32), random(k, n, np.float32), np.full((n, n), np.nan, np.float32)
    BLAS.cblas_sgemmt(ROW_MAJOR, UPPER, NO_TRANS, NO_TRANS, n, k, ctypes.c_float(1), by_reference(a), k, by_reference(b), n,
                      ctypes.c_float(0), by_reference(c), n)
    keep("cblas_sgemmt", c.T, "L")


def main():
    sizes = iter(range(40, 400))
    fortran_routines(lambda: next(sizes))
    a, b = random(70, 90, np.float32), random(90, 50, np.float32)
    keep("cblas_sgemm", (a @ b).T)
    if sys.argv[3:] == ["extensions"]:
        extensions(lambda: next(sizes))
    np.savez(sys.argv[2], *(elements for _, elements in saved), names=[name for name, _ in saved])


main()
