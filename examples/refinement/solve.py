#!/usr/bin/env python3
"""Solves A X = B in float64: an LU factorisation in blocks, and then iterative refinement by residuals.

Ends with status 1 if the solution is not exact to twelve digits. `fp32shim bisect --dtype float64` finds which of its
products tolerate float32.
"""

import sys

import numpy as np

SIZE, BLOCK, COLUMNS = 320, 64, 8
REFINEMENTS = 10


def factorise(matrix):
    """Returns L and U in one matrix, without pivoting: the matrix must be dominated by its diagonal."""
    lu = matrix.copy()
    for begin in range(0, SIZE, BLOCK):
        end = begin + BLOCK
        for k in range(begin, end):
            lu[k + 1 :, k] /= lu[k, k]
            lu[k + 1 :, k + 1 : end] -= np.outer(lu[k + 1 :, k], lu[k, k + 1 : end])
            lu[k + 1 : end, end:] -= np.outer(lu[k + 1 : end, k], lu[k, end:])
        if end < SIZE:
            lu[end:, end:] -= lu[end:, begin:end] @ lu[begin:end, end:]
    return lu


def substitute(lu, right_side):
    """Returns the solution for a factorised matrix, row by row."""
    solution = right_side.copy()
    for k in range(SIZE):
        solution[k] -= (lu[k, :k, None] * solution[:k]).sum(axis=0)
    for k in reversed(range(SIZE)):
        solution[k] -= (lu[k, k + 1 :, None] * solution[k + 1 :]).sum(axis=0)
        solution[k] /= lu[k, k]
    return solution


def residual(matrix, solution, right_side):
    """Returns what a solution leaves of the right side."""
    return right_side - matrix @ solution


def main():
    """Solves one system whose solution is known."""
    random = np.random.default_rng(1)
    matrix = random.standard_normal((SIZE, SIZE)) + SIZE * np.eye(SIZE)
    known = random.standard_normal((SIZE, COLUMNS))
    right_side = (matrix[:, :, None] * known).sum(axis=1)
    lu = factorise(matrix)
    solution = substitute(lu, right_side)
    for _ in range(REFINEMENTS):
        solution += substitute(lu, residual(matrix, solution, right_side))
    error = abs(solution - known).max() / abs(known).max()
    print(f"largest error: {error:.1e}")
    return 0 if error < 1e-12 else 1


if __name__ == "__main__":
    sys.exit(main())
