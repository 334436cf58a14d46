# A Kalman filter of a turning state that is seen at every 20th step. Output: the covariance after 200 steps.
import numpy as np

rng = np.random.default_rng(5)
size, seen = 24, 4
turn, _ = np.linalg.qr(rng.standard_normal((size, size)))
f, h = turn.astype("f"), rng.standard_normal((seen, size)).astype("f")
p = np.diag(np.geomspace(100, 1, size)).astype("f")


def predict(p):
    return f @ (p @ f.T)


def innovate(p):
    return h @ (p @ h.T) + 10 * np.eye(seen, dtype="f")


def gain(p, s):
    return (p @ h.T) @ np.linalg.inv(s).astype("f")


def joseph(p, k):  # in float64: an error of the gain counts only by its square
    left = np.eye(size) - k.astype("d") @ h
    return left @ p @ left.T + 10 * k.astype("d") @ k.T


for i in range(200):
    p = predict(p) + 1e-3 * np.eye(size, dtype="f")
    p = (p + p.T) / 2
    if i % 20 == 10:
        p = joseph(p, gain(p, innovate(p))).astype("f")
print(*(f"{value:.9g}" for value in p.ravel()))
