# Least squares by the normal equations of a well-conditioned matrix. Output: the coefficients.
import numpy as np

rng = np.random.default_rng(9)
a = rng.standard_normal((800, 40)).astype("f")
b = (a @ rng.standard_normal((40, 3)) + 0.1 * rng.standard_normal((800, 3))).astype("f")


def gram():
    return a.T @ a


def rhs():
    return a.T @ b


print(*(f"{value:.9g}" for value in np.linalg.solve(gram().astype("d"), rhs()).ravel()))
