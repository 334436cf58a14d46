# Two heads of attention. Output: their values.
import numpy as np

rng = np.random.default_rng(8)
tokens, width = 64, 64
x = rng.standard_normal((tokens, width)).astype("f")
wq, wk, wv = (rng.standard_normal((width, width)).astype("f") / 8 for _ in range(3))


def project(w):
    return x @ w


def scores(q, k):
    return (q @ k.T) / 8


def mix(weights, v):
    return weights @ v


q, k, v = project(wq), project(wk), project(wv)
s = scores(q, k)
weights = np.exp(s - s.max(1, keepdims=True))
print(*(f"{value:.9g}" for value in mix((weights / weights.sum(1, keepdims=True)).astype("f"), v).ravel()))
