"""The part of PyTorch that gpu_check/frameworks/operations.py uses."""

import types

import fake_gpu
import numpy

from . import nn, profiler  # noqa: F401

__version__ = "0.0+fake"


class Tensor(numpy.ndarray):
    def cuda(self):
        return self

    cpu = contiguous = cuda

    def numpy(self):
        return numpy.asarray(self)

    def expand(self, count, *_):
        return numpy.broadcast_to(self, (count, *self.shape)).view(Tensor)


def from_numpy(matrix):
    return matrix.view(Tensor)


def mm(a, b):
    return fake_gpu.DEVICE.multiply(numpy.asarray(a), numpy.asarray(b)).view(Tensor)


bmm = mm


def einsum(_, a, b):
    return mm(a, b)


def zeros(count, device):
    return numpy.zeros(count, numpy.float32).view(Tensor)


def set_float32_matmul_precision(word):
    fake_gpu.DEVICE.tf32 = word == "high"


cuda = types.SimpleNamespace(is_available=lambda: True, get_device_name=lambda _: fake_gpu.NAME, synchronize=lambda: None)
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace(allow_tf32=False)))
nn.functional.linear = lambda a, weight, bias: mm(a, weight.T) + bias
