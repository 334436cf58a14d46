#!/usr/bin/env python3
"""Scopes in Python, with numpy: the same program as scopes.c and scopes.f90, with or without the shim."""

import numpy

import fp32shim

N = 64


def multiply(part):
    """Multiplies fixed numbers once, and prints the difference from the same product in double precision."""
    i = numpy.arange(N * N, dtype=numpy.float32).reshape(N, N)
    a, b = numpy.sin(i), numpy.cos(i)
    c = a @ b
    exact = a.astype(numpy.float64) @ b.astype(numpy.float64)
    error = numpy.linalg.norm(c - exact) / numpy.linalg.norm(exact)
    precision, source = fp32shim.get_precision() or ("-", "-")
    floor = fp32shim.get_floor() or "-"
    print(f"{part:<24}  asked {precision:<8} by {source:<12}  floor {floor:<5}  relative error {error:.1e}")


multiply("(no scope)")
with fp32shim.scope("model", precision="high"):
    multiply("model")
    with fp32shim.scope("solver", floor="fp32"):  # the floor overrides the scope around it
        multiply("model/solver")
