"""Multiplies by every function of cuBLAS that can be audited, and prints as JSON lines what an audit has to find; at last a
hash of all results.

    audited_cublas_products.py FORMAT MODES [host|device]

MODES: functions that have no compute type are called, too. `device`: alpha and beta lie on the device.
"""

import ctypes
import hashlib
import json
import sys

import numpy as np

from cuda import Gpu
from level3_errors import ROUND, errors, expect, level3, op, random, sizes, wide

OPTIONS = {"N": 0, "T": 1, "C": 2, "L": 0, "R": 1, "U": 1}
FLOAT32, COMPLEX64, COMPUTE_32F, DEFAULT_ALGORITHM = 0, 4, 68, -1
EXTRA_ROWS = 5  # number of rows by which leading dimensions exceed the minimum

results = hashlib.sha256()
gpu = Gpu(scalars_on_device=sys.argv[3:] == ["device"])


def call(routine, *arguments, scalars):
    """Calls the function of cuBLAS with this BLAS name. Copies the arrays to the device, and the last one back."""
    words, last = [], None
    given = iter(arguments)
    for value in given:
        if isinstance(value, str):
            words.append(OPTIONS[value])
        elif isinstance(value, np.ndarray):
            last = value, gpu.put(value, value.shape[0] + EXTRA_ROWS)
            words += [last[1], next(given) + EXTRA_ROWS]
        elif isinstance(value, (float, complex)):
            words.append(gpu.scalar(value, scalars.pop(0)))
        else:
            words.append(value)
    if routine.endswith("trmm"):  # trmm works in place, as in BLAS
        words += words[-2:]
    finish(function_of(routine), words, *last)


def finish(function, words, host, device):
    gpu.call(function, *words)
    results.update(gpu.get(device, host, host.shape[0] + EXTRA_ROWS).tobytes())


def function_of(routine):
    return f"cublas{routine.capitalize()}_v2"


def gemm_in_other_forms(tested):
    for function, dtype, is_wide in (("cublasGemmEx", np.float32, False), ("cublasSgemm_v2_64", np.float32, True),
                                     ("cublasCgemm3m", np.complex64, False), ("cublasSgemmEx", np.float32, False)):
        if function == "cublasCgemm3m" and tested == "bf16":
            continue
        m, n, k = sizes()
        a, b, c = random(m, k, dtype), random(k, n, dtype), random(m, n, dtype)
        kind = COMPLEX64 if dtype == np.complex64 else FLOAT32
        matrices = [gpu.put(x, x.shape[0] + EXTRA_ROWS) for x in (a, b, c)]
        typed = [kind] if function.endswith("Ex") else []
        alpha, beta = gpu.scalar(1.5, dtype), gpu.scalar(0.5, dtype)
        words = [0, 0, m, n, k, alpha, matrices[0], *typed, m + EXTRA_ROWS, matrices[1], *typed, k + EXTRA_ROWS, beta,
                 matrices[2], *typed, m + EXTRA_ROWS]
        words += [COMPUTE_32F, DEFAULT_ALGORITHM] if function == "cublasGemmEx" else []
        finish(function, words, c, matrices[2])
        expect(function, [m, n, k], lambda r: 1.5 * wide(r(a)) @ wide(r(b)) + 0.5 * wide(c),
               lambda: 1.5 * abs(wide(a)) @ abs(wide(b)) + 0.5 * abs(wide(c)), tested)


def updates_of_two_matrices(tested):
    """For syrkx, B is A with scaled columns, so that the result is symmetric."""
    for function, dtype in (("cublasSsyrkx", np.float32), ("cublasCherkx", np.complex64)):
        for uplo, trans in ((1, 0), (0, 2 if dtype == np.complex64 else 1)):
            _, n, k = sizes()
            scale = np.exp2(np.arange(k) % 3 - 1).astype(np.float32)
            a = random(n, k, dtype)
            b = a * scale
            turned = [np.asfortranarray(x if trans == 0 else x.conj().T if trans == 2 else x.T) for x in (a, b)]
            stored = [gpu.put(x, x.shape[0] + EXTRA_ROWS) for x in turned]
            c = np.full((n, n), np.nan, dtype)
            device_c = gpu.put(c, n + EXTRA_ROWS)
            ld = turned[0].shape[0] + EXTRA_ROWS
            beta = gpu.scalar(0, np.float32 if function == "cublasCherkx" else dtype)
            words = [uplo, trans, n, k, gpu.scalar(0.5, dtype), stored[0], ld, stored[1], ld, beta, device_c, n + EXTRA_ROWS]
            finish(function, words, c, device_c)
            turn = (lambda x: x.conj().T) if function == "cublasCherkx" else (lambda x: x.T)
            expect(function, [n, n, k], lambda r: 0.5 * wide(r(a)) @ turn(wide(r(b))),
                   lambda: 0.5 * abs(wide(a)) @ abs(wide(b)).T, tested)


def out_of_place_trmm(tested):
    m, n, _ = sizes()
    a, b, c = random(m, m, np.float32), random(m, n, np.float32), np.full((m, n), np.nan, np.float32)
    words = [0, 1, 0, 0, m, n, gpu.scalar(2, np.float32)]
    for x in (a, b, c):
        words += [gpu.put(x, m + EXTRA_ROWS), m + EXTRA_ROWS]
    finish("cublasStrmm_v2", words, c, words[-2])
    expect("cublasStrmm_v2", [m, n, m], lambda r: 2 * np.triu(wide(r(a))) @ wide(r(b)),
           lambda: 2 * np.triu(abs(wide(a))) @ abs(wide(b)), tested)


def batch(tested, function, dtype, count):
    """The errors of a batch are the largest of its products."""
    m, n, k = sizes()
    a, b, c = ([random(*shape, dtype) for _ in range(count)] for shape in ((m, k), (k, n), (m, n)))
    alpha, beta = 0.75, 0.5
    stacked = [gpu.put(np.hstack(x), x[0].shape[0]) for x in (a, b, c)]
    bytes_of = [x[0].nbytes for x in (a, b, c)]
    words = [0, 0, m, n, k, gpu.scalar(alpha, dtype)]
    for i, ld in enumerate((m, k, m)):
        if i == 2:
            words.append(gpu.scalar(beta, dtype))
        if "Strided" in function:
            words += [stacked[i], ld, ctypes.c_longlong(bytes_of[i] // np.dtype(dtype).itemsize)]
        else:
            pointers = np.array([stacked[i].value + j * bytes_of[i] for j in range(count)], np.uint64)
            words += [gpu.put(pointers.reshape(-1, 1), count), ld]
    gpu.call(function, *words, count)
    results.update(gpu.get(stacked[2], np.hstack(c), m).tobytes())
    largest = {}
    for x, y, z in zip(a, b, c):
        exact = alpha * wide(x) @ wide(y) + beta * wide(z)
        rounded = alpha * wide(ROUND[tested](x)) @ wide(ROUND[tested](y)) + beta * wide(z)
        bound = alpha * abs(wide(x)) @ abs(wide(y)) + beta * abs(wide(z))
        for name, error in errors(rounded, exact, bound).items():
            largest[name] = max(error, largest.get(name, 0))
    print(json.dumps({"function": function, "sizes": [m, n, k], **largest}))


DESC_POINTER_MODE, DESC_TRANS_A, DESC_TRANS_B, DESC_EPILOGUE, DESC_BIAS = 2, 3, 4, 7, 8
LAYOUT_BATCH_COUNT, LAYOUT_BATCH_STRIDE = 5, 6
EPILOGUE_BIAS, EPILOGUE_RELU = 4, 2


def lt_layout(host, kind, count):
    rows = host[0].shape[0]
    batch = {LAYOUT_BATCH_COUNT: ctypes.c_int32(count), LAYOUT_BATCH_STRIDE: ctypes.c_int64(host[0].size)} if count > 1 else {}
    extra = EXTRA_ROWS if count == 1 else 0
    return gpu.lt_object("MatrixLayout", batch, kind, ctypes.c_uint64(rows), ctypes.c_uint64(host[0].shape[1]),
                         ctypes.c_int64(rows + extra))


def lt_product(tested, dtype, trans_a, epilogue=None, count=1, in_place=False):
    """D = alpha op(A) B + beta C, perhaps with a bias for each row, and only what is positive."""
    m, n, k = sizes()
    kind = COMPLEX64 if dtype == np.complex64 else FLOAT32
    shape_a = (m, k) if trans_a == "N" else (k, m)
    a, b, c = ([random(*shape, dtype) for _ in range(count)] for shape in (shape_a, (k, n), (m, n)))
    alpha, beta = 1.5, 0.5
    attributes = {DESC_TRANS_A: ctypes.c_int32(OPTIONS[trans_a]),
                  DESC_POINTER_MODE: ctypes.c_int32(int(gpu.scalars_on_device))}
    bias = random(m, 1, dtype) if epilogue else np.zeros((m, 1), dtype)
    if epilogue:
        attributes[DESC_EPILOGUE] = ctypes.c_uint32(epilogue)
        attributes[DESC_BIAS] = ctypes.c_uint64(gpu.put(bias, m).value)
    desc = gpu.lt_object("MatmulDesc", attributes, COMPUTE_32F, kind)
    extra = EXTRA_ROWS if count == 1 else 0
    device_a, device_b, device_c = (gpu.put(np.hstack(x), x[0].shape[0] + extra) for x in (a, b, c))
    device_d = device_c if in_place else gpu.put(np.hstack(c) * np.nan, m + extra)
    layouts = [lt_layout(x, kind, count) for x in (a, b, c)]
    gpu.lt("Matmul", gpu.handle, desc, gpu.scalar(alpha, dtype), device_a, layouts[0], device_b, layouts[1],
           gpu.scalar(beta, dtype), device_c, layouts[2], device_d, layouts[2], None, None, ctypes.c_size_t(0), gpu.stream)
    results.update(gpu.get(device_d, np.hstack(c), m + extra).tobytes())
    largest = {}

    def product(x, y, z):
        whole = alpha * op(wide(x), trans_a) @ wide(y) + beta * wide(z) + wide(bias)
        return np.maximum(whole, 0) if epilogue and epilogue & EPILOGUE_RELU else whole

    for x, y, z in zip(a, b, c):
        bound = alpha * op(abs(wide(x)), trans_a) @ abs(wide(y)) + beta * abs(wide(z))
        for name, error in errors(product(ROUND[tested](x), ROUND[tested](y), z), product(x, y, z), bound).items():
            largest[name] = max(error, largest.get(name, 0))
    print(json.dumps({"function": "cublasLtMatmul", "sizes": [m, n, k], "epilogue": epilogue is not None, **largest}))


def lt_products(tested):
    lt_product(tested, np.float32, "N")
    lt_product(tested, np.float32, "T", in_place=True)
    lt_product(tested, np.complex64, "C")
    lt_product(tested, np.float32, "N", epilogue=EPILOGUE_BIAS)
    lt_product(tested, np.float32, "T", epilogue=EPILOGUE_BIAS | EPILOGUE_RELU)
    lt_product(tested, np.float32, "N", count=3)


def main():
    tested, modes = sys.argv[1], sys.argv[2] == "all"
    if modes:
        level3(call, function_of, tested)
        updates_of_two_matrices(tested)
        out_of_place_trmm(tested)
    gemm_in_other_forms(tested)
    batch(tested, "cublasSgemmStridedBatched", np.float32, 3)
    batch(tested, "cublasCgemmStridedBatched", np.complex64, 3)
    batch(tested, "cublasSgemmBatched", np.float32, 8)
    lt_products(tested)
    gpu.check_modes()
    print(json.dumps({"results": results.hexdigest()}))


main()
