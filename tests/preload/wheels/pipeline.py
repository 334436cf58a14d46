"""A scikit-learn pipeline in float32: principal components of data that are far from zero, then a regression. The
covariance matrix is a small difference of large numbers. Knows nothing of fp32shim.

Ends with status 1 if the regression explains too little.
"""

import sys

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

random = np.random.default_rng(0)
hidden = random.standard_normal((2000, 3))
signal = hidden @ random.standard_normal((3, 40)) + 0.1 * random.standard_normal((2000, 40))
data = (50 * random.uniform(0.5, 1, 40) + 0.01 * signal).astype(np.float32)
target = (hidden @ [1, 2, 3]).astype(np.float32)

components = PCA(n_components=3, svd_solver="covariance_eigh")
components.fit(data)
centred = data - components.mean_
features = centred @ components.components_.T
model = Ridge(solver="cholesky").fit(features, target)
residual = target - (features @ model.coef_.reshape(-1, 1))[:, 0] - model.intercept_
explained = 1 - residual.var() / target.var()
print(f"explained: {explained:.5f}")
sys.exit(bool(explained < 0.9))
