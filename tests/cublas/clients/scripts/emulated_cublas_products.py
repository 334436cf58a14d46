"""Multiplies float64 matrices by cuBLAS, which may emulate the products, and prints for each a hash of its result and what
lies at the program's own address for the number of bits; at the end, the handle's settings of emulation.

    emulated_cublas_products.py STEP…

STEP: `own` gives the handle an address of the program's. `fixed:BITS` and `offset:BITS` set the handle's bits.
`Dgemm:RANGE`, `Zgemm:RANGE`, `Dsyrk:RANGE` multiply in the mode that allows emulation, with operands whose exponents differ
by RANGE, and `native:RANGE` in DEFAULT mode. `Lt:RANGE`, `LtFound:RANGE` (by the algorithm of a search) multiply by
cublasLt, and `LtOwn:RANGE` with a descriptor of emulation with that address, and with 30 bits. `captured:RANGE` is a Dgemm
in a graph, which runs twice. `threads:COUNT` has so many threads multiply by the handle. After `errors`, each product also
prints the errors `norm` and `component` of its result, by exact fractions.
"""

import ctypes
import hashlib
import json
import sys
import threading
from fractions import Fraction

import numpy as np

from cuda import Gpu

SIZE, FLOAT64, UPPER, GLOBAL, FIXED, EMULATED_MODE, EMULATED_TYPE = 16, 1, 0, 0, 1, 8, 79
gpu = Gpu()
own = gpu.put(np.array([[4711]], np.int32), 1)
PREFIX = "FixedPointEmulationMantissaBit"
NAMES = {"control": "FixedPointEmulationMantissaControl", "most": "FixedPointEmulationMaxMantissaBitCount",
         "offset": "FixedPointEmulationMantissaBitOffset"}


def operand(of_range, dtype):
    rng = np.random.default_rng(1)
    x = rng.uniform(1, 2, (SIZE, SIZE)) * rng.choice([-1, 1], (SIZE, SIZE))
    x[3] *= 2.0 ** -of_range
    return np.asfortranarray(x * (1 + 1j) if dtype is np.complex128 else x)


def lt_product(kind, one, zero, a, b, c):
    attributes = {}
    if kind == "LtOwn":
        emulation = gpu.lt_object("EmulationDesc", {2: ctypes.c_int(FIXED), 3: ctypes.c_int(30), 5: own})
        attributes = {38: emulation}
    desc = gpu.lt_object("MatmulDesc", attributes, EMULATED_TYPE, FLOAT64)
    layout = gpu.lt_object("MatrixLayout", {}, FLOAT64, ctypes.c_uint64(SIZE), ctypes.c_uint64(SIZE), ctypes.c_int64(SIZE))
    result, found = ctypes.create_string_buffer(96), ctypes.c_int()
    if kind == "LtFound":
        preference = gpu.lt_object("MatmulPreference", {})
        gpu.lt("MatmulAlgoGetHeuristic", gpu.handle, desc, layout, layout, layout, layout, preference, 1, result,
               ctypes.byref(found))
        assert found.value == 1
    gpu.lt("Matmul", gpu.handle, desc, one, a, layout, b, layout, zero, c, layout, c, layout,
           result if kind == "LtFound" else None, None, ctypes.c_size_t(0), gpu.stream)


def capture(multiply):
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    gpu.drive("cuStreamBeginCapture_v2", gpu.stream, GLOBAL)
    multiply()
    gpu.drive("cuStreamEndCapture", gpu.stream, ctypes.byref(graph))
    gpu.drive("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    for _ in range(2):
        gpu.drive("cuGraphLaunch", executable, gpu.stream)


def product(kind, of_range):
    dtype = np.complex128 if kind == "Zgemm" else np.float64
    one, zero, zeros = gpu.scalar(1, dtype), gpu.scalar(0, dtype), np.zeros((SIZE, SIZE), dtype, order="F")
    x = operand(of_range, dtype)
    a, b, c = gpu.put(np.asfortranarray(x.T), SIZE), gpu.put(x, SIZE), gpu.put(zeros, SIZE)
    gpu.ask("cublasSetMathMode", gpu.handle, 0 if kind == "native" else EMULATED_MODE)
    if kind.startswith("Lt"):
        lt_product(kind, one, zero, a, b, c)
    elif kind == "Dsyrk":
        gpu.call("cublasDsyrk_v2", UPPER, 0, SIZE, SIZE, one, a, SIZE, zero, c, SIZE)
    else:
        def multiply():
            name = "cublasZgemm_v2" if kind == "Zgemm" else "cublasDgemm_v2"
            gpu.call(name, 0, 0, SIZE, SIZE, SIZE, one, a, SIZE, b, SIZE, zero, c, SIZE)

        capture(multiply) if kind == "captured" else multiply()
    result = gpu.get(c, zeros, SIZE)
    return [hashlib.sha256(result.tobytes()).hexdigest()[:8], *(errors_of(x.T, x, result) if "errors" in sys.argv else [])]


def errors_of(a, b, result):
    exact = np.vectorize(Fraction, otypes=[object])
    (ar, ai), (br, bi), (tr, ti) = ((exact(x.real), exact(x.imag)) for x in (a, b, result))
    difference = np.hypot((tr - (ar @ br - ai @ bi)).astype(float), (ti - (ar @ bi + ai @ br)).astype(float))
    return np.linalg.norm(difference) / np.linalg.norm(a @ b), np.max(difference / (abs(a) @ abs(b)))


def is_there(name):
    return hasattr(gpu.cublas, f"cublasGet{name}")


for step in sys.argv[1:]:
    kind, _, number = step.partition(":")
    if kind == "own":
        gpu.ask(f"cublasSet{PREFIX}CountPointer", gpu.handle, own)
    elif kind == "fixed":
        gpu.ask(f"cublasSet{NAMES['control']}", gpu.handle, FIXED)
        gpu.ask(f"cublasSet{NAMES['most']}", gpu.handle, int(number))
    elif kind == "offset":
        gpu.ask(f"cublasSet{NAMES['offset']}", gpu.handle, int(number))
    elif kind == "threads":
        results = []

        def multiply_five_times():
            gpu.drive("cuCtxSetCurrent", gpu.context)
            results.extend(product("Dgemm", 0)[0] for _ in range(5))

        threads = [threading.Thread(target=multiply_five_times) for _ in range(int(number))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(json.dumps([step, len(results), sorted(set(results))]))
    elif kind != "errors":
        found, *errors = product(kind, int(number))
        print(json.dumps([step, found, int(gpu.get(own, np.zeros((1, 1), np.int32), 1)[0, 0]), *errors]))
settings = {}
if is_there(f"{PREFIX}CountPointer"):
    pointer = ctypes.c_void_p()
    gpu.ask(f"cublasGet{PREFIX}CountPointer", gpu.handle, ctypes.byref(pointer))
    settings["is_own"] = pointer.value == own.value
    assert pointer.value in (None, own.value)
for key, name in NAMES.items():
    if is_there(name):
        value = ctypes.c_int(-99)
        gpu.ask(f"cublasGet{name}", gpu.handle, ctypes.byref(value))
        settings[key] = value.value
print(json.dumps(settings))
