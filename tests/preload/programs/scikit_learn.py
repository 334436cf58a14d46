import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_digits
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
x, y = load_diabetes(return_X_y=True)
digits = load_digits().data
for found in (Ridge().fit(x, y).coef_, Ridge(solver="svd").fit(x, y).coef_, Lasso(0.1).fit(x, y).coef_,
              LogisticRegression(max_iter=500).fit(x, y > 140).coef_, PCA(10, svd_solver="full").fit_transform(digits),
              PCA(10, svd_solver="randomized", random_state=0).fit(digits).components_,
              KMeans(10, n_init=2, random_state=0).fit(digits).cluster_centers_, FactorAnalysis(4).fit(digits).components_,
              GaussianProcessRegressor(alpha=1).fit(x, y).predict(x[:50])):
    print(*("%.17g" % each for each in np.ravel(found)[:2000]))
