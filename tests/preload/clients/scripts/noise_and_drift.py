"""noise_and_drift.py CASE: products whose FP32 results are only rounding errors, or whose first calls are unlike the rest."""

import sys

import numpy as np

rng = np.random.default_rng(11)


def noise():
    """Computes a residual b - A x that is 0 except for the rounding of x and b, so that all digits cancel."""
    a, x = (rng.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
    b = (a.astype(np.float64) @ x).astype(np.float32)
    stacked, factor = np.hstack([b, a]), np.vstack([np.eye(64, dtype=np.float32), -x])
    stacked[0] = 0  # a row that is no noise
    for _ in range(6):
        stacked @ factor


def exact_zeros():
    """Computes the same in small integers, so that the result is exactly 0 in FP32 and in TF32."""
    a, x = (rng.integers(-3, 4, (64, 64)).astype(np.float32) for _ in range(2))
    stacked, factor = np.hstack([a @ x, a]), np.vstack([np.eye(64, dtype=np.float32), -x])
    for _ in range(6):
        stacked @ factor


def drift():
    """Makes four products with a row that cancels, and then 396 products without such a row."""
    q = np.linalg.qr(rng.standard_normal((64, 64)))[0]
    graded = q * np.geomspace(1e-1, 1e4, 64) @ q.T
    bad = tuple(x.astype(np.float32, order="C") for x in (q.T, graded))
    good = tuple(rng.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
    for i in range(400):
        a, b = bad if i < 4 else good
        a @ b


globals()[sys.argv[1]]()
