"""What users do with these wheels, one step at a time. Knows nothing of the shim.

    workloads.py [--round tf32|bf16] [--save FILE.npz] PACKAGE...

Prints a line `step PACKAGE.NAME BEGIN END DIGEST` for each step: the times around it, in nanoseconds since 1970, and a
digest of the result's bits. --round rounds the operands of plain products first, as the format's hardware would;
--save keeps the results themselves. Everything runs on one thread, so that a result has the same bits each time.
"""

import argparse
import hashlib
import os
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import numpy as np

rounding = "none"
results = {}


def rounded(values):
    """Rounds finite float32 or complex64 values to the nearest TF32 (ties away from zero) or BF16 (ties to even)."""
    if rounding == "none":
        return values
    bits = np.ascontiguousarray(values).view(np.uint32)
    if rounding == "tf32":
        bits = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    else:
        bits = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return bits.view(values.dtype)


def random(*shape, dtype=np.float32):
    """Returns operands that are the same in each run, and different for each shape."""
    generator = np.random.default_rng(shape)
    values = generator.standard_normal(shape, dtype=np.float32)
    if dtype == np.complex64:
        values = values + np.complex64(1j) * generator.standard_normal(shape, dtype=np.float32)
    return rounded(values.astype(dtype))


def arrays(result):
    if isinstance(result, (tuple, list)):
        return [array for part in result for array in arrays(part)]
    return [np.asarray(result)]


def step(name, function):
    begin = time.time_ns()
    result = arrays(function())
    end = time.time_ns()
    digest = hashlib.sha256()
    for index, array in enumerate(result):
        digest.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
        results[name if index == 0 else f"{name}.{index}"] = array
    print("step", name, begin, end, digest.hexdigest()[:32], flush=True)


def numpy_():
    a, b = random(64, 48), random(48, 32)
    stack_a, stack_b = random(3, 20, 30), random(3, 30, 10)
    z, w = random(24, 40, dtype=np.complex64), random(40, 16, dtype=np.complex64)
    step("numpy.matmul", lambda: a @ b)
    step("numpy.matmul_transposed", lambda: b.T @ a.T)
    step("numpy.gram", lambda: a @ a.T)
    step("numpy.complex", lambda: z @ w)
    step("numpy.complex_gram", lambda: z @ z.T)
    step("numpy.stack", lambda: np.matmul(stack_a, stack_b))
    step("numpy.solve", lambda: np.linalg.solve(a[:48], b))


def scipy_():
    import scipy.linalg
    from scipy.linalg import blas

    a, b = random(60, 45), random(45, 35)
    z, w = random(24, 40, dtype=np.complex64), random(40, 16, dtype=np.complex64)
    square = random(64, 64) / np.float32(8)
    triangle = np.triu(random(50, 50)) + 50 * np.eye(50, dtype=np.float32)
    step("scipy.sgemm", lambda: blas.sgemm(1.5, a, b))
    step("scipy.cgemm", lambda: blas.cgemm(1.5 - 0.5j, z, w))
    step("scipy.ssyrk", lambda: blas.ssyrk(1.0, a))
    step("scipy.ssymm", lambda: blas.ssymm(1.0, square, random(64, 20)))
    step("scipy.strmm", lambda: blas.strmm(1.0, square, random(64, 20)))
    step("scipy.strsm", lambda: blas.strsm(1.0, triangle, random(50, 20)))
    step("scipy.expm", lambda: scipy.linalg.expm(square))
    step("scipy.sqrtm", lambda: scipy.linalg.sqrtm(square @ square.T + np.eye(64, dtype=np.float32)))
    step("scipy.qr", lambda: scipy.linalg.qr(random(120, 90)))
    step("scipy.solve", lambda: scipy.linalg.solve(triangle, random(50, 20)))


def sklearn_():
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA

    data = random(600, 32)

    def kmeans():
        model = KMeans(5, n_init=1, max_iter=3, tol=0, random_state=0).fit(data)
        return model.cluster_centers_, model.labels_

    step("sklearn.kmeans", kmeans)
    step("sklearn.pca", lambda: PCA(5, svd_solver="covariance_eigh").fit_transform(data))
    step("sklearn.pca_randomized", lambda: PCA(5, svd_solver="randomized", random_state=0).fit_transform(data))


def torch_():
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)

    def tensor(*shape, dtype=np.float32):
        return torch.tensor(random(*shape, dtype=dtype))

    a, b = tensor(64, 48), tensor(48, 32)
    z, w = tensor(24, 40, dtype=np.complex64), tensor(40, 16, dtype=np.complex64)
    stack_a, stack_b = tensor(3, 80, 90), tensor(3, 90, 70)
    heads = [tensor(1, 2, 40 + n, 16)[:, :, :40] for n in range(3)]
    triangle = torch.triu(tensor(50, 50)) + 50 * torch.eye(50)
    linear = torch.nn.Linear(48, 16)
    lstm = torch.nn.LSTM(8, 8)
    with torch.no_grad():
        linear.weight.copy_(tensor(16, 48))
        linear.bias.copy_(torch.arange(16) / 8)  # few digits, since a product's addend is not rounded
        for parameter in lstm.parameters():
            parameter.copy_(tensor(*parameter.shape))
    with torch.inference_mode():
        step("torch.mm", lambda: torch.mm(a, b))
        step("torch.complex_mm", lambda: torch.mm(z, w))
        step("torch.bmm", lambda: torch.bmm(stack_a, stack_b))
        step("torch.complex_bmm", lambda: torch.bmm(stack_a.to(torch.complex64), stack_b.to(torch.complex64)))
        step("torch.linear", lambda: linear(a))
        step("torch.attention", lambda: functional.scaled_dot_product_attention(*heads))
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            step("torch.attention_math", lambda: functional.scaled_dot_product_attention(*heads))
        step("torch.solve_triangular", lambda: torch.linalg.solve_triangular(triangle, tensor(50, 20), upper=True))
        step("torch.qr", lambda: list(torch.linalg.qr(tensor(120, 90))))
        step("torch.lstm", lambda: lstm(tensor(4, 2, 8))[0])
        torch.set_float32_matmul_precision("medium")
        step("torch.mm_medium", lambda: torch.mm(a, b))
        step("torch.bmm_medium", lambda: torch.bmm(stack_a, stack_b))
        step("torch.linear_medium", lambda: linear(a))
        torch.set_float32_matmul_precision("highest")
        step("torch.mm_again", lambda: torch.mm(a, b))


def jax_():
    import jax
    from jax.scipy import linalg

    triangle = np.triu(random(50, 50)) + 50 * np.eye(50, dtype=np.float32)
    right = random(50, 20)
    step("jax.dot", lambda: jax.numpy.asarray(triangle) @ right)
    step("jax.jit_dot", lambda: jax.jit(lambda x, y: x @ y)(random(300, 200), random(200, 100)))
    step("jax.solve_triangular", lambda: linalg.solve_triangular(triangle, right))
    step("jax.jit_solve_triangular", lambda: jax.jit(linalg.solve_triangular)(triangle, right))
    step("jax.complex_solve_triangular",
         lambda: linalg.solve_triangular(triangle.astype(np.complex64), right.astype(np.complex64)))


def faiss_():
    import faiss

    faiss.omp_set_num_threads(1)
    vectors = random(4000, 64)
    dimension = vectors.shape[1]
    transform = faiss.LinearTransform(dimension, 100)
    faiss.copy_array_to_vector(random(100, dimension).ravel(), transform.A)
    transform.is_trained = True

    def flat():
        index = faiss.IndexFlatL2(dimension)
        index.add(vectors)
        return index.search(vectors, 5)

    def inverted_file():
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(dimension), dimension, 8)
        index.train(vectors)
        index.add(vectors)
        return index.search(vectors[:64], 5)

    def pca():
        matrix = faiss.PCAMatrix(dimension, 8)
        matrix.train(vectors)
        return matrix.apply(vectors)

    def random_rotation():
        matrix = faiss.RandomRotationMatrix(200, 200)
        matrix.init(5)
        return faiss.vector_to_array(matrix.A)

    step("faiss.flat", flat)
    step("faiss.inverted_file", inverted_file)
    step("faiss.pca", pca)
    step("faiss.pairwise", lambda: faiss.pairwise_distances(random(100, 64), random(90, 64)))
    step("faiss.transform", lambda: transform.apply(vectors[:90]))
    step("faiss.random_rotation", random_rotation)


def onnxruntime_():
    import onnxruntime

    # The smallest model with a MatMul, encoded by hand, since the wheel has no encoder. `field` is a length-delimited
    # field of a protocol buffer, `number` an integer; all lengths are below 128.
    def field(tag, *parts):
        body = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
        return bytes([tag << 3 | 2, len(body)]) + body

    def number(tag, value):
        return bytes([tag << 3, value])

    def matrix(tag, name, rows, columns):
        shape = field(2, *(field(1, number(1, size)) for size in (rows, columns)))
        return field(tag, field(1, name), field(2, field(1, number(1, 1), shape)))

    node = field(1, field(1, "a"), field(1, "b"), field(2, "c"), field(4, "MatMul"))
    graph = field(7, node, field(2, "g"), matrix(11, "a", 64, 48), matrix(11, "b", 48, 32), matrix(12, "c", 64, 32))
    model = number(1, 8) + field(8, number(2, 13)) + graph
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    operands = {"a": random(64, 48), "b": random(48, 32)}
    step("onnxruntime.matmul", lambda: session.run(None, operands)[0])


def openblas64_():
    """Calls the batches of numpy's own OpenBLAS by dlsym. They have 64-bit integers, but lack the prefix and suffix of its
    other names. The sizes avoid two faults of that version: small batches crash (OpenBLAS pull request 5980), and strided
    batches of cblas reject column-major operands (5979). It also swaps the operands of sgemm_batch_.
    """
    import ctypes
    import glob

    (path,) = glob.glob(os.path.join(os.path.dirname(np.__file__), os.pardir, "numpy.libs", "libscipy_openblas64_*"))
    library = ctypes.CDLL(path)
    n, batch = 128, 3
    a, b = random(batch, n, n), random(batch, 1, n, n)

    def integer(value):
        return ctypes.byref(ctypes.c_int64(value))

    def real(value):
        return ctypes.byref(ctypes.c_float(value))

    def address(array):
        return ctypes.c_void_p(array.ctypes.data)

    def addresses(array):
        return (ctypes.c_void_p * batch)(*(part.ctypes.data for part in array))

    def sgemm_batch():
        c = np.zeros((batch, n, n), np.float32)
        library.sgemm_batch_(b"N", b"N", integer(n), integer(n), integer(n), real(1), addresses(a), integer(n),
                             addresses(b), integer(n), real(0), addresses(c), integer(n), integer(1), integer(batch))
        return c

    def sgemm_batch_strided():
        c = np.zeros((batch, n, n), np.float32)
        library.sgemm_batch_strided_(
            b"N", b"N", integer(n), integer(n), integer(n), real(1), address(a), integer(n), integer(n * n), address(b),
            integer(n), integer(n * n), real(0), address(c), integer(n), integer(n * n), integer(batch))
        return c

    def cblas_sgemm_batch_strided():
        c = np.zeros((batch, n, n), np.float32)
        row_major, no_transpose, size = 101, 111, ctypes.c_int64
        library.cblas_sgemm_batch_strided(
            row_major, no_transpose, no_transpose, size(n), size(n), size(n), ctypes.c_float(1), address(a), size(n),
            size(n * n), address(b), size(n), size(n * n), ctypes.c_float(0), address(c), size(n), size(n * n),
            size(batch))
        return c

    step("openblas64.sgemm_batch", sgemm_batch)
    step("openblas64.sgemm_batch_strided", sgemm_batch_strided)
    step("openblas64.cblas_sgemm_batch_strided", cblas_sgemm_batch_strided)


PACKAGES = {"numpy": numpy_, "scipy": scipy_, "sklearn": sklearn_, "torch": torch_, "jax": jax_, "faiss": faiss_,
            "onnxruntime": onnxruntime_, "openblas64": openblas64_}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--round", choices=["tf32", "bf16"], default="none")
    parser.add_argument("--save")
    parser.add_argument("packages", nargs="+", choices=PACKAGES)
    arguments = parser.parse_args()
    rounding = arguments.round
    for package in arguments.packages:
        PACKAGES[package]()
    if arguments.save:
        np.savez(arguments.save, **results)
