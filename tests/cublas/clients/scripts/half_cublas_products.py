"""Multiplies half matrices by cuBLAS, and prints two elements of each result.

    half_cublas_products.py [--device-scalars] CALL…

CALL: `Hgemm`, `HgemmBatched`, `HgemmStridedBatched`; `GemmEx:COMPUTE_TYPE`, `GemmBatchedEx:COMPUTE_TYPE`,
`GemmStridedBatchedEx:COMPUTE_TYPE`; all of them also with `_64` after the name. `SgemmEx`; `Lt:COMPUTE_TYPE`, or
`LtFound:COMPUTE_TYPE`, with the algorithm of a search, which `LtSplit:COMPUTE_TYPE` sets to split sums in four and add
them in the type of the result. `@MODE` sets the handle's math mode, `/bf16` is for operands of
bfloat16, `/float` for a result of float32.

The elements are 1/2 · s + 2 · 3 for two sums s over 4096 products:
    4 a thousand times, 1, -4 a thousand times    s is 1, but 0 if parts of it are added in half precision
    1 each time                                   s is 4096, but 2048 if all of it is added in FP16
"""

import ctypes
import sys

import numpy as np

from cuda import Gpu

ROWS, COLUMNS, SUMMED, BATCH = 8, 2, 4096, 2
FLOAT32, FLOAT16, BFLOAT16, NO_TRANSPOSE, DEFAULT_ALGORITHM, SINGLE_TYPES = 0, 2, 14, 0, -1, (68, 69)
IS_DEVICE = "--device-scalars" in sys.argv
gpu = Gpu(scalars_on_device=IS_DEVICE)

sums = np.zeros((SUMMED, COLUMNS))
sums[:1000, 0], sums[1000, 0], sums[1024:2024, 0], sums[:, 1] = 4, 1, -4, 1


def stored(matrix, dtype):
    """Returns the matrix as the device stores it. For bfloat16, these are integers with the same bits."""
    if dtype == BFLOAT16:
        return np.asfortranarray((np.asarray(matrix, np.float32).view(np.uint32) >> 16).astype(np.uint16))
    return np.asfortranarray(matrix, np.float16 if dtype == FLOAT16 else np.float32)


def read(matrix, dtype):
    return (matrix.astype(np.uint32) << 16).view(np.float32) if dtype == BFLOAT16 else matrix.astype(np.float32)


SPLIT_K, REDUCTION_SCHEME, OUTPUT_TYPE = 2, 3, 4


def lt_product(compute_type, name, types, alpha, a, b, beta, c):
    scale = FLOAT32 if compute_type in SINGLE_TYPES else FLOAT16
    desc = gpu.lt_object("MatmulDesc", {2: ctypes.c_int(IS_DEVICE)}, compute_type, scale)
    x, y, z = (gpu.lt_object("MatrixLayout", {}, dtype, *map(ctypes.c_uint64, (rows, columns)), ctypes.c_int64(rows))
               for dtype, rows, columns in zip(types, (ROWS, SUMMED, ROWS), (SUMMED, COLUMNS, COLUMNS)))
    workspace = gpu.put(np.zeros((1 << 12, 1), np.uint8), 1 << 12)
    size, result, found = ctypes.c_size_t(1 << 12), ctypes.create_string_buffer(96), ctypes.c_int()
    if name != "Lt":
        preference = gpu.lt_object("MatmulPreference", {1: size})
        gpu.lt("MatmulAlgoGetHeuristic", gpu.handle, desc, x, y, z, z, preference, 1, result, ctypes.byref(found))
        assert found.value == 1
        for attribute, value in ((SPLIT_K, 4), (REDUCTION_SCHEME, OUTPUT_TYPE)) if name == "LtSplit" else ():
            word = ctypes.c_uint32(value)
            gpu.lt("MatmulAlgoConfigSetAttribute", result, attribute, ctypes.byref(word), ctypes.c_size_t(4))
    algorithm = None if name == "Lt" else result
    gpu.lt("Matmul", gpu.handle, desc, alpha, a, x, b, y, beta, c, z, c, z, algorithm, workspace, size, gpu.stream)


def product(call):
    """Returns the two elements of the result."""
    call, *words = call.split("/")
    name, _, mode = call.partition("@")
    name, _, compute_type = name.partition(":")
    gpu.ask("cublasSetMathMode", gpu.handle, int(mode or 0))
    half = BFLOAT16 if "bf16" in words else FLOAT16
    types = [half, half, FLOAT32 if "float" in words else half]
    scale = np.float32 if name == "SgemmEx" or int(compute_type or 0) in SINGLE_TYPES else np.float16
    alpha, beta = gpu.scalar(0.5, scale), gpu.scalar(2, scale)
    of_result = stored(np.full((ROWS, COLUMNS * BATCH), 3), types[2])
    a = gpu.put(stored(np.ones((ROWS, SUMMED * BATCH)), half), ROWS)
    b, c = gpu.put(stored(np.hstack([sums] * BATCH), half), SUMMED), gpu.put(of_result, ROWS)
    if name.startswith("Lt"):
        lt_product(int(compute_type), name, types, alpha, a, b, beta, c)
    else:
        is_strided, is_array = "Strided" in name, "mBatched" in name
        sizes = [ROWS * SUMMED, SUMMED * COLUMNS, ROWS * COLUMNS]
        if is_array:
            bytes_of = [2, 2, of_result.itemsize]
            a, b, c_argument = (gpu.put(np.array([[x.value], [x.value + size * bytes]], np.uint64), 2)
                                for x, size, bytes in zip((a, b, c), sizes, bytes_of))
        else:
            c_argument = c
        takes_type = name.startswith(("Gemm", "Sgemm"))
        x, y, z = ([operand, *([dtype] if takes_type else []), rows, *([ctypes.c_int64(size)] if is_strided else [])]
                   for operand, dtype, rows, size in zip((a, b, c_argument), types, (ROWS, SUMMED, ROWS), sizes))
        ends = [BATCH] if is_strided or is_array else []
        how = [int(compute_type), DEFAULT_ALGORITHM] if compute_type else []
        gpu.call(f"cublas{name}", NO_TRANSPOSE, NO_TRANSPOSE, ROWS, COLUMNS, SUMMED, alpha, *x, *y, beta, *z, *ends, *how)
    in_force = ctypes.c_int(-1)
    gpu.ask("cublasGetMathMode", gpu.handle, ctypes.byref(in_force))
    assert in_force.value == int(mode or 0)
    result = read(gpu.get(c, of_result, ROWS), types[2])
    products = BATCH if "Batched" in name else 1
    for i in range(products):
        np.testing.assert_array_equal(result[:, 2 * i:2 * i + 2], np.tile(result[0, :2], (ROWS, 1)))
    return result[0, 0], result[0, 1]


for call in sys.argv[2 if IS_DEVICE else 1:]:
    print(call, *product(call))
