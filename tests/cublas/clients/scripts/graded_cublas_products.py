"""The products of graded_products.py on a GPU.

    graded_cublas_products.py FUNCTION GOOD BAD [GOOD BAD …]

FUNCTION: cublasSgemm_v2, cublasLtMatmul, or cublasCgemm3m, cublasSsyrkx and cublasSgemmGroupedBatched, which have no
BF16, float32 only, or are never audited.
"""

import ctypes
import sys

import numpy as np

from cuda import Gpu
from graded import SIZE, print_errors

gpu = Gpu()
NO_TRANSPOSE, UPPER, FLOAT32, COMPUTE_32F = 0, 1, 0, 68


def device(matrix):
    return gpu.put(matrix, matrix.shape[0])


def gemm(a, b):
    c = np.full((SIZE, SIZE), np.nan, np.float32)
    one, zero = gpu.scalar(1, np.float32), gpu.scalar(0, np.float32)
    matrices = [device(x) for x in (a, b, c)]
    gpu.call("cublasSgemm_v2", NO_TRANSPOSE, NO_TRANSPOSE, SIZE, SIZE, SIZE, one, matrices[0], SIZE, matrices[1], SIZE, zero,
             matrices[2], SIZE)
    return gpu.get(matrices[2], c, SIZE)


def lt(a, b):
    c = np.full((SIZE, SIZE), np.nan, np.float32)
    matrices = [device(x) for x in (a, b, c)]
    gpu.lt("Matmul", gpu.handle, LT_DESC, gpu.scalar(1, np.float32), matrices[0], LT_LAYOUT, matrices[1], LT_LAYOUT,
           gpu.scalar(0, np.float32), matrices[2], LT_LAYOUT, matrices[2], LT_LAYOUT, None, None, ctypes.c_size_t(0),
           gpu.stream)
    return gpu.get(matrices[2], c, SIZE)


def gauss(a, b):
    """Multiplies complex numbers that have no imaginary parts."""
    c = np.full((SIZE, SIZE), np.nan, np.complex64)
    one, zero = gpu.scalar(1, np.complex64), gpu.scalar(0, np.complex64)
    matrices = [device(np.asfortranarray(x, np.complex64)) for x in (a, b, c)]
    gpu.call("cublasCgemm3m", NO_TRANSPOSE, NO_TRANSPOSE, SIZE, SIZE, SIZE, one, matrices[0], SIZE, matrices[1], SIZE, zero,
             matrices[2], SIZE)
    return gpu.get(matrices[2], c, SIZE).real


def half(a, b):
    """Computes one triangle by syrkx, and the other one by numpy in float32, with errors of the same size in each row."""
    c = np.asfortranarray(np.einsum("ij,jk", a.astype(np.float64), b.astype(np.float64))).astype(np.float32)
    matrices = [device(x) for x in (a, np.asfortranarray(b.T), c)]
    gpu.call("cublasSsyrkx", UPPER, NO_TRANSPOSE, SIZE, SIZE, gpu.scalar(1, np.float32), matrices[0], SIZE, matrices[1], SIZE,
             gpu.scalar(0, np.float32), matrices[2], SIZE)
    return gpu.get(matrices[2], c, SIZE)


def group(a, b):
    c = np.zeros((SIZE, SIZE), np.float32)
    matrices = [device(x) for x in (a, b, c)]
    arrays = [device(np.array([[matrix.value]], np.uint64)) for matrix in matrices]
    size, option, one, zero = (ctypes.byref(kind(value)) for kind, value in (
        (ctypes.c_int, SIZE), (ctypes.c_int, NO_TRANSPOSE), (ctypes.c_float, 1), (ctypes.c_float, 0)))
    gpu.call("cublasSgemmGroupedBatched", option, option, size, size, size, one, arrays[0], size, arrays[1], size, zero,
             arrays[2], size, 1, ctypes.byref(ctypes.c_int(1)))
    return gpu.get(matrices[2], c, SIZE)


LT_DESC = gpu.lt_object("MatmulDesc", {}, COMPUTE_32F, FLOAT32)
LT_LAYOUT = gpu.lt_object("MatrixLayout", {}, FLOAT32, ctypes.c_uint64(SIZE), ctypes.c_uint64(SIZE), ctypes.c_int64(SIZE))
FUNCTIONS = {"cublasSgemm_v2": gemm, "cublasLtMatmul": lt, "cublasCgemm3m": gauss, "cublasSsyrkx": half,
             "cublasSgemmGroupedBatched": group}
print_errors(FUNCTIONS[sys.argv[1]], list(map(int, sys.argv[2:])))
