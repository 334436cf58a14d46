"""One odd product of cuBLAS.

    odd_cublas_products.py nan          an operand has NaN
    odd_cublas_products.py overflow     finite operands, an infinite result
    odd_cublas_products.py mode         on a handle that the program has set to TF32, ten times
    odd_cublas_products.py batch I      a batch of 130 of which only the I-th product is inexact at TF32
    odd_cublas_products.py rows         cublasLtMatmul of matrices in the order of rows
    odd_cublas_products.py device       on a handle of device 0, while device 1 is current
"""

import ctypes
import sys

import numpy as np

from cuda import Gpu

SIZE, BATCH, TF32_MODE = 8, 130, 3
gpu = Gpu()
zero, one = gpu.scalar(0, np.float32), gpu.scalar(1, np.float32)


def full(value):
    return np.full((SIZE, SIZE), value, np.float32)


def gemm(a, b):
    matrices = [gpu.put(x, SIZE) for x in (a, b, full(0))]
    gpu.call("cublasSgemm_v2", 0, 0, SIZE, SIZE, SIZE, one, matrices[0], SIZE, matrices[1], SIZE, zero, matrices[2], SIZE)
    gpu.drive("cuStreamSynchronize", gpu.stream)


def batch(odd):
    a = np.hstack([full(1.0001 if i == odd else 1) for i in range(BATCH)])
    matrices = [gpu.put(x, SIZE) for x in (a, full(1), np.zeros_like(a))]
    stride = ctypes.c_longlong
    gpu.call("cublasSgemmStridedBatched", 0, 0, SIZE, SIZE, SIZE, one, matrices[0], SIZE, stride(SIZE * SIZE), matrices[1],
             SIZE, stride(0), zero, matrices[2], SIZE, stride(SIZE * SIZE), BATCH)
    gpu.drive("cuStreamSynchronize", gpu.stream)


def other_device():
    context = ctypes.c_void_p()
    gpu.drive("cuDevicePrimaryCtxRetain", ctypes.byref(context), 1)
    gpu.drive("cuCtxSetCurrent", context)
    # The operands lie on device 0, which unified addresses reveal.
    gpu.call("cublasSgemm_v2", 0, 0, SIZE, SIZE, SIZE, one, operands[0], SIZE, operands[0], SIZE, zero, operands[1], SIZE)


def by_rows():
    order, rows = 1, ctypes.c_int32(1)
    desc = gpu.lt_object("MatmulDesc", {}, 68, 0)
    layout = gpu.lt_object("MatrixLayout", {order: rows}, 0, ctypes.c_uint64(SIZE), ctypes.c_uint64(SIZE), ctypes.c_int64(SIZE))
    a, b, c = (gpu.put(full(value), SIZE) for value in (1, 1, 0))
    gpu.lt("Matmul", gpu.handle, desc, one, a, layout, b, layout, zero, c, layout, c, layout, None, None, ctypes.c_size_t(0),
           gpu.stream)
    print(gpu.get(c, full(0), SIZE)[0, 0])


kind = sys.argv[1]
if kind == "nan":
    gemm(full(np.nan), full(1))
elif kind == "overflow":
    gemm(full(1e30), full(1e30))
elif kind == "mode":
    gpu.ask("cublasSetMathMode", gpu.handle, TF32_MODE)
    for _ in range(10):
        gemm(full(1.0001), full(1))
elif kind == "batch":
    batch(int(sys.argv[2]))
elif kind == "rows":
    by_rows()
else:
    operands = [gpu.put(full(1), SIZE) for _ in range(2)]
    other_device()
