"""Multiplies in float64, and prints each product's size and error, ||C - AB|| / ||AB||, from fractions."""

from fractions import Fraction

import numpy as np

rng = np.random.default_rng(4)
for m, n, k, cancels in ((3, 4, 50, 0), (4, 5, 300, 0), (5, 3, 7, 0), (4, 4, 60, 20), (3, 3, 64, 40), (5, 5, 2, 0)):
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    if cancels:
        # The second half of each sum is the negative of the first half, except for its last digits.
        half = k // 2
        a[:, half:] = -a[:, :half] * (1 + 2.0**-cancels * rng.standard_normal((m, half)))
        b[half:] = b[:half]
    c = a @ b
    squares = [Fraction(0), Fraction(0)]
    for i in range(m):
        for j in range(n):
            exact = sum(Fraction(a[i, p]) * Fraction(b[p, j]) for p in range(k))
            squares[0] += (Fraction(c[i, j]) - exact) ** 2
            squares[1] += exact**2
    print(f"{m}x{n}x{k}", float(squares[0] / squares[1]) ** 0.5)
