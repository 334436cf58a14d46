"""Multiplies float64 matrices by cuBLAS, and prints the error of each result in units of the largest element of A B.

    float64_cublas_products.py CALL…

CALL: `Dgemm` or `GemmEx:COMPUTE_TYPE`, both with `@MODE` for a math mode of the handle; or `Lt:COMPUTE_TYPE`.
"""

import ctypes
import sys

import numpy as np

from cuda import Gpu

SIZE, FLOAT64, NO_TRANSPOSE, DEFAULT_ALGORITHM = 32, 1, 0, -1
gpu = Gpu()
rng = np.random.default_rng(1)
a, b = (np.asfortranarray(rng.standard_normal((SIZE, SIZE))) for _ in range(2))
exact = np.einsum("ij,jk", a.astype(np.longdouble), b.astype(np.longdouble))


def product(call):
    name, _, mode = call.partition("@")
    name, _, compute_type = name.partition(":")
    gpu.call("cublasSetMathMode", int(mode or 0))
    c = np.zeros((SIZE, SIZE))
    one, zero = gpu.scalar(1, np.float64), gpu.scalar(0, np.float64)
    matrices = [gpu.put(np.asfortranarray(x), SIZE) for x in (a, b, c)]
    if name == "Dgemm":
        gpu.call("cublasDgemm_v2", NO_TRANSPOSE, NO_TRANSPOSE, SIZE, SIZE, SIZE, one, matrices[0], SIZE, matrices[1], SIZE, zero,
                 matrices[2], SIZE)
    elif name == "GemmEx":
        gpu.call("cublasGemmEx", NO_TRANSPOSE, NO_TRANSPOSE, SIZE, SIZE, SIZE, one, matrices[0], FLOAT64, SIZE, matrices[1],
                 FLOAT64, SIZE, zero, matrices[2], FLOAT64, SIZE, int(compute_type), DEFAULT_ALGORITHM)
    else:
        desc = gpu.lt_object("MatmulDesc", {}, int(compute_type), FLOAT64)
        layout = gpu.lt_object("MatrixLayout", {}, FLOAT64, ctypes.c_uint64(SIZE), ctypes.c_uint64(SIZE), ctypes.c_int64(SIZE))
        gpu.lt("Matmul", gpu.handle, desc, one, matrices[0], layout, matrices[1], layout, zero, matrices[2], layout, matrices[2],
               layout, None, None, ctypes.c_size_t(0), gpu.stream)
    return gpu.get(matrices[2], c, SIZE)


for call in sys.argv[1:]:
    print(call, float(np.abs(product(call) - exact).max() / np.abs(exact).max()))
