"""Errors of products with a vector, and of solves:

    errors_of_vectors.py CALLS [TERMS]    TERMS: only dots and sums, of so many terms

Prints the largest error and the root of the mean square of CALLS random calls of each routine, against a wider type and as
shares of the sum of the magnitudes of the terms. The error of a solve is that of A x against b.
"""

import ctypes
import sys

import numpy as np
from scipy.linalg import blas

TYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
WIDER = {"s": np.float64, "d": np.longdouble, "c": np.complex128, "z": np.clongdouble}
ALL = ("s", "d", "c", "z")
ROUTINES = {"gemv": ALL, "ger": ALL[:2], "geru": ALL[2:], "gerc": ALL[2:], "symv": ALL[:2], "hemv": ALL[2:],
            "syr": ALL[:2], "her": ALL[2:], "syr2": ALL[:2], "her2": ALL[2:], "axpy": ALL, "rot": ("s", "d", "cs", "zd"),
            "trmv": ALL, "dot": ALL[:2], "dotu": ALL[2:], "dotc": ALL[2:], "sdsdot": ("",), "dsdot": ("",),
            "nrm2": ("s", "d", "sc", "dz"), "asum": ("s", "d", "sc", "dz"), "trsv": ALL, "trsm": ALL}
SUMS = {"dot", "dotu", "dotc", "sdsdot", "dsdot", "nrm2", "asum"}
calls, *terms = map(int, sys.argv[1:])


def some(kind, *size):
    real = lambda: random.standard_normal(size)
    return np.asfortranarray((real() if kind in "sd" else real() + 1j * real()).astype(TYPES[kind]))


def length(longest):
    return int(np.exp(random.uniform(0, np.log(longest))))


def op(a, trans):
    return (a, a.T, a.conj().T)[trans]


def triangle(a, lower, diag):
    result = np.tril(a) if lower else np.triu(a)
    if diag:
        np.fill_diagonal(result, 1)
    return result


def whole(a, lower, is_hermitian):
    half, diagonal = np.tril(a, -1) if lower else np.triu(a, 1), np.diag(a.diagonal())
    return half + (half.conj().T + diagonal.real if is_hermitian else half.T + diagonal)


def wide_sum(name, *vectors):
    """Calls sdsdot or dsdot, which scipy.linalg.blas does not have."""
    function = getattr(ctypes.CDLL("libblas.so.3"), name + "_")
    function.restype = ctypes.c_double if name == "dsdot" else ctypes.c_float
    start = [ctypes.byref(ctypes.c_float(0.25))] if name == "sdsdot" else []
    pointers = [word for x in vectors for word in (x.ctypes.data_as(ctypes.c_void_p), ctypes.byref(ctypes.c_int(1)))]
    return function(ctypes.byref(ctypes.c_int(len(vectors[0]))), *start, *pointers)


def share(kind, name):
    f = getattr(blas, kind + name, None)
    kind = (kind[0] if name == "rot" else kind[-1:]) or "s"
    m, n = length(300), terms[0] if terms else length(2000 if name in SUMS else 300)
    lower, diag, side = random.integers(0, 2, 3).tolist()
    trans = int(random.integers(3))
    wide = lambda x: np.asarray(x).astype(np.longdouble if name in ("sdsdot", "dsdot") else WIDER[kind])
    if name in ("trsv", "trsm"):
        a, b = some(kind, m, m), some(kind, m) if name == "trsv" else some(kind, *((20, m) if side else (m, 20)))
        a = np.asfortranarray((a / np.sqrt(2 * m) + 2 * np.eye(m)).astype(TYPES[kind]))  # keeps solutions of solves small
        side = side and name == "trsm"
        x = f(a, b, lower=lower, trans=trans, diag=diag) if name == "trsv" else f(1, a, b, side, lower, trans, diag)
        matrix, x = op(triangle(wide(a), lower, diag), trans), wide(x)
        product = lambda a, x: x @ a if side else a @ x
        return np.max(np.abs(product(matrix, x) - wide(b)) / product(np.abs(matrix), np.abs(x)))
    x, y, square = some(kind, n), some(kind, n), some(kind, n, n) if name in ("symv", "hemv", "trmv") else None
    if name == "gemv":
        operands = some(kind, *((n, m) if trans else (m, n))), x, some(kind, m)
        call = lambda a, x, y: f(1.5, a, x, 0.5, y, trans=trans)
        exact = lambda a, x, y: 1.5 * (op(a, trans) @ x) + y / 2
    elif name in ("ger", "geru", "gerc"):
        operands = some(kind, m), x, some(kind, m, n)
        call = lambda x, y, a: f(1.5, x, y, a=a)
        exact = lambda x, y, a: 1.5 * np.outer(x, y.conj() if name == "gerc" else y) + a
    elif name in ("symv", "hemv"):
        operands = square, x, y
        call = lambda a, x, y: f(1.5, a, x, 0.5, y, lower=lower)
        exact = lambda a, x, y: 1.5 * (whole(a, lower, name == "hemv") @ x) + y / 2
    elif name in ("syr", "her", "syr2", "her2"):
        a = some(kind, n, n)
        np.fill_diagonal(a, a.diagonal().real)
        operands = (x, a) if name[-1] != "2" else (x, y, a)
        half, turned = np.tril if lower else np.triu, np.conj if name[0] == "h" else np.asarray
        call = lambda *words: half(f(1.5, *words[:-1], a=words[-1], lower=lower))
        exact = lambda x, *words: half(1.5 * (np.outer(x, turned(words[-2] if words[1:] else x)) + (
            np.outer(words[0], turned(x)) if words[1:] else 0)) + words[-1])
    elif name == "axpy":
        operands, call, exact = (x, y), lambda x, y: f(x, y, a=1.5), lambda x, y: 1.5 * x + y
    elif name == "rot":
        operands, call = (x, y), lambda x, y: np.concatenate((f(x, y, 0.75, 0.5)[0], f(x, y, 0.75, -0.5)[1]))
        exact = lambda x, y: np.concatenate((0.75 * x + 0.5 * y, 0.75 * y + 0.5 * x))
    elif name == "trmv":
        operands = square, x
        call = lambda a, x: f(a, x, lower=lower, trans=trans, diag=diag)
        exact = lambda a, x: op(triangle(a, lower, diag), trans) @ x
    elif name == "nrm2":
        operands, call, exact = (x,), f, lambda x: np.sqrt(np.sum(x.real ** 2 + x.imag ** 2))
    elif name == "asum":
        operands, call, exact = (x,), f, lambda x: np.sum(np.abs(x.real) + np.abs(x.imag))
    else:
        operands, call = (x, y), f or (lambda x, y: wide_sum(name, x, y))
        exact = lambda x, y: (x.conj() if name == "dotc" else x) @ y + (0.25 if name == "sdsdot" else 0)
    bound = exact(*((wide if name == "asum" else lambda x: np.abs(wide(x)))(each) for each in operands))
    return np.max(np.abs(wide(call(*operands)) - exact(*map(wide, operands))) / np.maximum(bound, 1e-30))


for name, kinds in ROUTINES.items():
    for kind in kinds if name in SUMS or not terms else ():
        random = np.random.default_rng([6, *map(ord, kind + name)])  # independent of the other routines
        shares = [float(share(kind, name)) for _ in range(calls)]
        print(kind + name, max(shares), float(np.sqrt(np.mean(np.square(shares)))))
