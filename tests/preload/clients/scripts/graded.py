"""Operands that tolerate TF32, and operands that do not."""

import os

import numpy as np

SIZE = 64
TYPE = np.dtype(os.environ.get("GRADED_TYPE", "float32"))
rng = np.random.default_rng(3)


def good():
    return [rng.standard_normal((SIZE, SIZE)).astype(TYPE) for _ in range(2)]


def bad():
    """Rows of Q' L are eigenvectors times eigenvalues, which span a factor of 10^5, so errors hide the small rows."""
    q = np.linalg.qr(rng.standard_normal((SIZE, SIZE)))[0]
    l = q * np.geomspace(1e-1, 1e4, SIZE) @ q.T
    return q.T.astype(TYPE, order="C"), l.astype(TYPE)


def print_errors(multiply, counts):
    """Multiplies good operands, then bad ones, by turns, and prints for each product the largest relative error of a row."""
    for kind, count in zip([good, bad] * len(counts), counts):
        for _ in range(count):
            a, b = kind()
            exact = np.einsum("ij,jk", a.astype(np.float64), b.astype(np.float64))  # not by a BLAS
            errors = np.linalg.norm(multiply(a, b) - exact, axis=1) / np.linalg.norm(exact, axis=1)
            print(kind.__name__, errors.max())
