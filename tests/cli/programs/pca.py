# Principal components of 1,000 points. Output: the shares of variance of the first five.
import numpy as np

rng = np.random.default_rng(10)
x = (rng.standard_normal((1000, 40)) * np.geomspace(10, 1, 40)).astype("f")
x -= x.mean(0)


def covariance():
    return x.T @ x / len(x)


def scores(v):
    return x @ v


values, vectors = np.linalg.eigh(covariance().astype("d"))
variance = (scores(np.ascontiguousarray(vectors[:, :-6:-1], "f")) ** 2).mean(0)
print(*(f"{value:.9g}" for value in variance / values.sum()))
