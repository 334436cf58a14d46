"""Captures products into a graph, and plays it twice, between products that are not captured. Prints the first element of
each result."""

import ctypes

import numpy as np

from cuda import Gpu

SIZE, GLOBAL = 8, 0
gpu = Gpu()
one = gpu.scalar(1, np.float32)
a, b, c = (gpu.put(np.full((SIZE, SIZE), value, np.float32), SIZE) for value in (1, 2, 0))


def multiply():
    """Computes C := A B + C."""
    gpu.call("cublasSgemm_v2", 0, 0, SIZE, SIZE, SIZE, one, a, SIZE, b, SIZE, one, c, SIZE)


def show():
    print(gpu.get(c, np.empty((SIZE, SIZE), np.float32), SIZE)[0, 0])


def elsewhere():
    """Multiplies on another stream, while this one is captured."""
    other = Gpu()
    x, y = (other.put(np.ones((SIZE, SIZE), np.float32), SIZE) for _ in range(2))
    z, zero = other.put(np.zeros((SIZE, SIZE), np.float32), SIZE), other.scalar(0, np.float32)
    yield
    other.call("cublasSgemm_v2", 0, 0, SIZE, SIZE, SIZE, other.scalar(1, np.float32), x, SIZE, y, SIZE, zero, z, SIZE)
    yield
    print(other.get(z, np.empty((SIZE, SIZE), np.float32), SIZE)[0, 0])
    yield


multiply()
show()
graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
other = elsewhere()
next(other)
gpu.drive("cuStreamBeginCapture_v2", gpu.stream, GLOBAL)
for _ in range(3):
    multiply()
next(other)
gpu.drive("cuStreamEndCapture", gpu.stream, ctypes.byref(graph))
gpu.drive("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
for _ in range(2):
    gpu.drive("cuGraphLaunch", executable, gpu.stream)
    show()
multiply()
show()
next(other)
