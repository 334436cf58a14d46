"""jax.numpy"""

import fake_gpu
import numpy

stack = numpy.stack


def matmul(a, b):
    return fake_gpu.DEVICE.multiply(a, b)


def einsum(_, a, b):
    return matmul(a, b)
