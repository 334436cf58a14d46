"""Multiplies float64 matrices by cuBLAS, and prints the error of each result in units of the largest element of A B.

    float64_cublas_products.py CALL…

CALL: `Dgemm`, `Zgemm`, `Dsyrk`, `DgemmBatched`, `DgemmStridedBatched`; `GemmEx:COMPUTE_TYPE`, `GemmBatchedEx:COMPUTE_TYPE`,
`GemmStridedBatchedEx:COMPUTE_TYPE`; all with `@MODE` for a math mode of the handle. `Lt:COMPUTE_TYPE`; or
`LtFound:COMPUTE_TYPE`, with the algorithm of a search.
"""

import ctypes
import sys

import numpy as np

from cuda import Gpu

SIZE, FLOAT64, NO_TRANSPOSE, UPPER, DEFAULT_ALGORITHM = 32, 1, 0, 1, -1
gpu = Gpu()
rng = np.random.default_rng(1)
first, second, third, fourth = (np.asfortranarray(rng.standard_normal((SIZE, SIZE))) for _ in range(4))


def lt_product(compute_type, is_found, one, zero, a, b, c):
    desc = gpu.lt_object("MatmulDesc", {}, compute_type, FLOAT64)
    layout = gpu.lt_object("MatrixLayout", {}, FLOAT64, ctypes.c_uint64(SIZE), ctypes.c_uint64(SIZE), ctypes.c_int64(SIZE))
    result, found = ctypes.create_string_buffer(96), ctypes.c_int()
    if is_found:
        gpu.lt("MatmulAlgoGetHeuristic", gpu.handle, desc, layout, layout, layout, layout, gpu.lt_object("MatmulPreference", {}), 1,
               result, ctypes.byref(found))
        assert found.value == 1
    gpu.lt("Matmul", gpu.handle, desc, one, a, layout, b, layout, zero, c, layout, c, layout, result if is_found else None, None,
           ctypes.c_size_t(0), gpu.stream)


def product(call):
    """Returns the result and the expected result."""
    name, _, mode = call.partition("@")
    name, _, compute_type = name.partition(":")
    gpu.ask("cublasSetMathMode", gpu.handle, int(mode or 0))
    dtype = np.complex128 if name == "Zgemm" else np.float64
    left, right = (first + 1j * third, second + 1j * fourth) if name == "Zgemm" else (first, first.T if name == "Dsyrk" else second)
    one, zero, zeros = gpu.scalar(1, dtype), gpu.scalar(0, dtype), np.zeros((SIZE, SIZE), dtype, order="F")
    a, b, c = (gpu.put(np.asfortranarray(x), SIZE) for x in (left, right, zeros))
    sizes, is_strided, is_array = (NO_TRANSPOSE, NO_TRANSPOSE, SIZE, SIZE, SIZE), "Strided" in name, "mBatched" in name
    operands = [gpu.put(np.array([[x.value]], np.uint64), 1) for x in (a, b, c)] if is_array else [a, b, c]
    types = [FLOAT64] if compute_type else []
    stride = [ctypes.c_int64(SIZE * SIZE)] if is_strided else []
    ends = [1] if is_strided or is_array else []
    if name.startswith("Lt"):
        lt_product(int(compute_type), name == "LtFound", one, zero, a, b, c)
    elif name == "Dsyrk":
        gpu.call("cublasDsyrk_v2", UPPER, NO_TRANSPOSE, SIZE, SIZE, one, a, SIZE, zero, c, SIZE)
    else:
        x, y, z = ([operand, *types, SIZE, *stride] for operand in operands)
        how = [int(compute_type), DEFAULT_ALGORITHM] if compute_type else []
        gpu.call(f"cublas{name}_v2" if name in ("Dgemm", "Zgemm") else f"cublas{name}", *sizes, one, *x, *y, zero, *z, *ends, *how)
    in_force = ctypes.c_int(-1)
    gpu.ask("cublasGetMathMode", gpu.handle, ctypes.byref(in_force))
    assert in_force.value == int(mode or 0)
    exact = np.einsum("ij,jk", left.astype(np.clongdouble), right.astype(np.clongdouble))
    keep = np.triu if name == "Dsyrk" else np.asarray
    return keep(gpu.get(c, zeros, SIZE)), keep(exact)


for call in sys.argv[1:]:
    result, exact = product(call)
    print(call, float(np.abs(result - exact).max() / np.abs(exact).max()))
