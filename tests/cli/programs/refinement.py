# Iterative refinement of a linear system with condition number 3,000. Output: the solution.
import numpy as np

rng = np.random.default_rng(1)
size = 96
q, _ = np.linalg.qr(rng.standard_normal((size, size)))
exact = (q * np.geomspace(1, 1 / 3000, size)) @ q.T
matrix, inverse = exact.astype("f"), np.linalg.inv(exact).astype("f")


def multiply(x):
    return matrix @ x


def precondition(r):
    return inverse @ r


b, x = (exact @ rng.standard_normal((size, 4))).astype("f"), np.zeros((size, 4), "f")
for _ in range(12):
    x = x + precondition(b - multiply(x))
print(*(f"{value:.9g}" for value in x.ravel()))
