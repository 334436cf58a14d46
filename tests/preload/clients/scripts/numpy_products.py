"""Products as numpy programs write them. Each result's bytes are printed, so that two runs can be compared.

    numpy_products.py [FORMAT]    operands rounded to FORMAT (fp32, tf32) first
"""

import sys

import numpy

rounds = sys.argv[1:] == ["tf32"]


def operand(rows, columns, seed):
    x = numpy.random.RandomState(seed).standard_normal((rows, columns)).astype(numpy.float32)
    if rounds:
        bits = x.view(numpy.uint32)
        bits += 0x1000
        bits &= 0xFFFFE000
    return x


a, b = operand(37, 29, 1), operand(29, 41, 2)
print("matmul", (a @ b).tobytes().hex())
print("syrk", (a @ a.T).tobytes().hex())
za, zb = a + 1j * operand(37, 29, 3), b + 1j * operand(29, 41, 4)
assert za.dtype == numpy.complex64
print("complex", (za @ zb).tobytes().hex())
