# A network with one hidden layer, trained on two spirals. Output: the loss of the last 20 steps.
import numpy as np

rng = np.random.default_rng(6)
x = rng.standard_normal((256, 16)).astype("f")
y = np.sign(x[:, :1] * x[:, 1:2]).astype("f")
w, v = rng.standard_normal((16, 32)).astype("f") / 4, rng.standard_normal((32, 1)).astype("f") / 6


def hidden(x):
    return np.maximum(x @ w, 0)


def output(a):
    return a @ v


def gradients(a, error):
    return a.T @ error, x.T @ ((error @ v.T) * (a > 0))


losses = []
for _ in range(60):
    a = hidden(x)
    error = (output(a) - y) / len(x)
    losses.append(float((error**2).sum() * len(x)))
    dv, dw = gradients(a, error)
    v, w = v - 0.5 * dv, w - 0.5 * dw
print(*(f"{loss:.9g}" for loss in losses[-20:]))
