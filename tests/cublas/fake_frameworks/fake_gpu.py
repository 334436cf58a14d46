"""What the fake frameworks of this folder are made of: products by the cuBLAS that the loader finds, the stand-in. They have the
parts of PyTorch, CuPy and JAX that gpu_check/frameworks/operations.py uses.

FAKE_FRAMEWORK_FAULT says how one goes wrong: own_kernels (it multiplies without cuBLAS), ignores (it rounds to TF32 whatever cuBLAS
gave), cannot (every product is refused), crashes, hangs.
"""

import os
import pathlib
import sys
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients/scripts"))
import cuda  # noqa: E402

NAME = "fake device"
TF32_MODE = 3
_FAULT = os.environ.get("FAKE_FRAMEWORK_FAULT", "")


class Device:
    def __init__(self):
        self.gpu = None
        self.tf32 = False

    def multiply(self, a, b):
        """Multiplies row-major matrices. Each operand may be a batch."""
        if _FAULT == "crashes":
            os.abort()
        if _FAULT == "cannot":
            raise RuntimeError("no kernel image is available for execution on the device")
        if _FAULT == "hangs":
            time.sleep(1000)
        if _FAULT == "own_kernels":
            return a @ b
        result = self._by_cublas(a, b) if a.ndim == 2 else numpy.stack([self._by_cublas(x, y) for x, y in zip(a, b)])
        if _FAULT == "ignores":
            result = (a.astype(numpy.float16).astype(numpy.float32) @ b.astype(numpy.float16).astype(numpy.float32))
        return result

    def _by_cublas(self, a, b):
        self.gpu = self.gpu or cuda.Gpu()
        self.gpu.ask("cublasSetMathMode", self.gpu.handle, TF32_MODE if self.tf32 else 0)
        a, b = (numpy.ascontiguousarray(matrix, numpy.float32) for matrix in (a, b))
        (m, k), n = a.shape, b.shape[1]
        c = numpy.zeros((m, n), numpy.float32)
        result = self.gpu.put(c, m)
        self.gpu.call("cublasSgemm_v2", 0, 0, m, n, k, self.gpu.scalar(1, numpy.float32), self.gpu.put(a, m), m,
                      self.gpu.put(b, k), k, self.gpu.scalar(0, numpy.float32), result, m)
        return numpy.ascontiguousarray(self.gpu.get(result, c, m))


DEVICE = Device()
