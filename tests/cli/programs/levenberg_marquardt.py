# Levenberg-Marquardt: fits a sum of damped cosines. Output: the parameters.
import numpy as np

rng = np.random.default_rng(7)
t = np.linspace(0, 4, 400).astype("f")
true = np.array([1.0, 2.0, 0.5, 0.7, 5.0, 0.3], "f")


def model(p):
    return sum(p[i] * np.cos(p[i + 1] * t) * np.exp(-p[i + 2] * t) for i in (0, 3))


def jacobian(p):
    return np.stack([(model(p + d) - model(p - d)) / 2e-2 for d in np.eye(6, dtype="f") * 1e-2], 1).astype("f")


def normal(j):
    return j.T @ j


def right_side(j, r):
    return j.T @ r


y = (model(true) + 0.01 * rng.standard_normal(len(t))).astype("f")
p, damping = true * np.float32(1.05), 1e-3
for _ in range(15):
    j, r = jacobian(p), np.stack([y - model(p)] * 2, 1).astype("f")
    a = normal(j)
    p = p + np.linalg.solve(a + damping * np.diag(np.diag(a)), right_side(j, r)[:, 0]).astype("f")
print(*(f"{value:.9g}" for value in p))
