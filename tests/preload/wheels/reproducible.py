"""Programs whose products are float32, for test_reproducible.py: prints a digest of each result."""

import hashlib
import sys

import numpy as np

random = np.random.default_rng(5)


def numpy_and_scipy():
    import scipy.linalg
    a, b = random.standard_normal((2, 300, 300), dtype=np.float32) / 16
    yield "numpy", a @ b @ a.T
    yield "numpy, batch", np.stack([a, b, -a]) @ b
    yield "scipy.linalg.blas", scipy.linalg.blas.ssymm(1, a, b)
    yield "scipy.linalg.blas, in place", scipy.linalg.blas.strmm(1, a, b)


def scikit_learn():
    import sklearn.decomposition
    import sklearn.metrics.pairwise
    import sklearn.random_projection
    a, b = random.standard_normal((2, 400, 64), dtype=np.float32)
    yield "polynomial kernel", sklearn.metrics.pairwise.polynomial_kernel(a, b, degree=1)
    yield "linear kernel", sklearn.metrics.pairwise.linear_kernel(a, b)
    yield "random projection", sklearn.random_projection.GaussianRandomProjection(20, random_state=1).fit_transform(a)


def torch_network():
    import torch
    torch.manual_seed(3)
    tensor = lambda *size: torch.from_numpy(random.standard_normal(size, dtype=np.float32))
    network = torch.nn.Sequential(torch.nn.Linear(64, 300), torch.nn.ReLU(), torch.nn.Linear(300, 300), torch.nn.ReLU(),
                                  torch.nn.Linear(300, 8))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    x, y = tensor(200, 64), tensor(200, 8)
    for _ in range(5):
        optimizer.zero_grad()
        difference = network(x) - y
        difference.square().mean().backward()
        optimizer.step()
    yield "trained", torch.cat([each.detach().flatten() for each in network.parameters()]).numpy()
    yield "bmm", torch.bmm(tensor(5, 40, 50), tensor(5, 50, 60)).numpy()


for name, result in {"numpy": numpy_and_scipy, "sklearn": scikit_learn, "torch": torch_network}[sys.argv[1]]():
    print(name.replace(" ", "_"), hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest()[:16])
