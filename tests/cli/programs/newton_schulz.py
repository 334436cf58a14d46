# The polar factor of a matrix by Newton-Schulz iterations, scaled by an estimate of its norm. Output: the polar factor.
import numpy as np

rng = np.random.default_rng(4)
size = 96
q, _ = np.linalg.qr(rng.standard_normal((size, size)))
p, _ = np.linalg.qr(rng.standard_normal((size, size)))
a = ((q * np.linspace(3, 10, size)) @ p).astype("f")


def largest_value(v):
    for _ in range(8):
        v = a.T @ (a @ v)
        v /= np.linalg.norm(v, axis=0)
    return np.linalg.norm(a.astype("d") @ v, axis=0).max()


def step(x):
    return 1.5 * x - 0.5 * (x @ (x.T @ x))


x = a / np.float32(1.1 * largest_value(rng.standard_normal((size, 8)).astype("f")))
for _ in range(12):
    x = step(x)
print(*(f"{value:.9g}" for value in x.ravel()))
