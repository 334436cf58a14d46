# Block Gram-Schmidt of columns, the longest first. A sketch estimates their lengths. Output: the orthonormal basis.
import numpy as np

rng = np.random.default_rng(2)
rows, block, blocks = 256, 16, 6
a = (rng.standard_normal((rows, block * blocks)) * rng.permutation(1.2 ** np.arange(block * blocks))).astype("f")
basis = np.zeros((rows, 0), "f")


def sketch(v):
    return (rng.standard_normal((64, rows)).astype("f") @ v) / 8


def project(v):
    return basis.T @ v


def subtract(v, h):
    return v - basis @ h


a = a[:, np.argsort(np.round(np.log2((sketch(a) ** 2).sum(0))), kind="stable")[::-1]]
for i in range(blocks):
    v = a[:, i * block : (i + 1) * block]
    if i > 0:
        v = subtract(v, project(v))
    q, r = np.linalg.qr(v.astype("d"))
    basis = np.hstack([basis, (q * np.sign(np.diag(r))).astype("f")])
print(*(f"{value:.9g}" for value in basis.ravel()))
