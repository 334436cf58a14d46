"""Multiplies on the stand-in's GPU as the words say, for measurements of time there. A word is COUNTxSIZE@WAY, where WAY is
`sgemm` or `lt`, or a step with such words.

    100x64@sgemm wait thread/3x32@lt/wait"""

import ctypes
import os
import sys
import threading

import numpy as np

from cuda import Gpu

GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
REAL_32F, COMPUTE_32F = 0, 68


class Multiplier:
    """A handle on a stream of its own, in the current context or on another device."""

    def __init__(self, device=0):
        self.gpu = gpu = Gpu()
        self.context = ctypes.c_void_p()
        ordinal = ctypes.c_int()
        gpu.drive("cuDeviceGet", ctypes.byref(ordinal), device)
        gpu.drive("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), ordinal)
        if device != 0:
            self.use()
            gpu.drive("cuStreamCreate", ctypes.byref(gpu.stream), 1)
            gpu.ask("cublasCreate_v2", ctypes.byref(gpu.handle))
            gpu.ask("cublasSetStream_v2", gpu.handle, gpu.stream)
        # Made before any capture, in which allocations are forbidden.
        self.one = gpu.scalar(1, np.float32)
        self.operands = {size: gpu.put(np.zeros((size, size), np.float32), size) for size in (16, 32, 64)}

    def use(self):
        self.gpu.drive("cuCtxSetCurrent", self.context)

    def sgemm(self, size):
        x = self.operands[size]
        self.gpu.call("cublasSgemm_v2", 0, 0, size, size, size, self.one, x, size, x, size, self.one, x, size)

    def lt(self, size):
        x, gpu = self.operands[size], self.gpu
        description = gpu.lt_object("MatmulDesc", {}, COMPUTE_32F, REAL_32F)
        sizes = ctypes.c_uint64(size), ctypes.c_uint64(size), ctypes.c_int64(size)
        layout = gpu.lt_object("MatrixLayout", {}, REAL_32F, *sizes)
        gpu.lt("Matmul", gpu.handle, description, self.one, x, layout, x, layout, self.one, x, layout, x, layout, None, None,
               ctypes.c_size_t(0), gpu.stream)

    def wait(self):
        self.gpu.drive("cuStreamSynchronize", self.gpu.stream)

    def capture(self, mode):
        self.gpu.drive("cuStreamBeginCapture_v2", self.gpu.stream, mode)

    def end_capture(self):
        graph = ctypes.c_void_p()
        self.gpu.drive("cuStreamEndCapture", self.gpu.stream, ctypes.byref(graph))


def products(multiplier, word):
    count, size_and_way = word.split("x")
    size, way = size_and_way.split("@")
    for _ in range(int(count)):
        getattr(multiplier, way)(int(size))
        if int(count) > 100:
            multiplier.wait()


def in_a_thread(*words):
    def run():
        multiplier = Multiplier()
        for word in words:
            step(multiplier, word)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def in_a_child(multiplier, word):
    child = os.fork()
    if child == 0:
        products(multiplier, word)
        multiplier.wait()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0


def beside_a_capture(multiplier, word):
    """Multiplies while another thread captures a stream in global mode, which forbids cuEventQuery."""
    begun, may_end, other = threading.Event(), threading.Event(), []

    def capture():
        other.append(Multiplier())
        other[0].capture(GLOBAL)
        begun.set()
        may_end.wait()
        other[0].end_capture()
        other.append(True)
    thread = threading.Thread(target=capture, daemon=True)
    thread.start()
    begun.wait()
    products(multiplier, word)
    may_end.set()
    thread.join()
    assert len(other) == 2, "the capture was broken"


def step(multiplier, word):
    name, _, rest = word.partition("/")
    if name == "wait":
        multiplier.wait()
    elif name == "thread":
        in_a_thread(*rest.split("/"))
    elif name == "fork":
        in_a_child(multiplier, rest)
    elif name == "beside":
        beside_a_capture(multiplier, rest)
    elif name == "captured":
        for mode in (GLOBAL, THREAD_LOCAL, RELAXED):
            multiplier.capture(mode)
            products(multiplier, rest)
            multiplier.end_capture()
    elif name == "device1":
        other = Multiplier(1)
        products(other, rest)
        other.wait()
        multiplier.use()
    elif name == "reset":
        multiplier.gpu.drive("cuDevicePrimaryCtxRelease_v2", 0)
        multiplier.gpu.drive("cuDevicePrimaryCtxRelease_v2", 0)
        multiplier.__init__()
        if rest:
            products(multiplier, rest)
    else:
        products(multiplier, word)


main = Multiplier()
for each in sys.argv[1:]:
    step(main, each)
