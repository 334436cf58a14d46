"""NumPy's float32 product, on the CPU: shows that measuring and reading the log work where no GPU is."""

import numpy


def start(own):
    """own: NumPy has no such setting. (name of the device, {operation: function of (a, b)})"""
    return "cpu", {"numpy.matmul": lambda a, b: numpy.matmul(a, b)[:64]}


def version():
    return numpy.__version__
