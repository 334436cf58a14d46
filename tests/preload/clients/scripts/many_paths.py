"""Multiplies at the end of many distinct call paths: the digits of a number choose the functions that lead to it.

    many_paths.py KNOWN SIZES PATHS

First come KNOWN paths, then SIZES distinct decisions of one more path, then PATHS others.
"""

import itertools
import sys

import numpy

a = numpy.ones((4, 4), numpy.float32)
product = numpy.empty((4, 4), numpy.float32)


def multiply():
    numpy.dot(a, a, product)


def one(number, digits):
    follow(number, digits)


def other(number, digits):
    follow(number, digits)


def follow(number, digits):
    if digits == 0:
        multiply()
    elif number & 1:
        one(number >> 1, digits - 1)
    else:
        other(number >> 1, digits - 1)


def multiply_at_sizes(number):
    """Makes `number` products with distinct decisions, by one call path."""
    ones = numpy.ones(4096, numpy.float32)
    dimensions = range(2, 53)
    for m, n, k in itertools.islice(itertools.product(dimensions, repeat=3), number // 4):
        left, right = ones[:m * k], ones[:k * n]
        for first in (left.reshape(m, k), left.reshape(k, m).T):
            for second in (right.reshape(k, n), right.reshape(n, k).T):
                numpy.dot(first, second)


known, sizes, paths = map(int, sys.argv[1:])
digits = max(1, (known + paths - 1).bit_length())
for number in range(known + paths):
    if number == known:
        multiply_at_sizes(sizes)
    follow(number, digits)
