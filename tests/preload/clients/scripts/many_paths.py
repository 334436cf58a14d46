"""Multiplies at the end of many distinct call paths: the digits of a number choose the functions that lead to it.

    many_paths.py PATHS

Prints the processor time of a product in each tenth of the paths, in nanoseconds.
"""

import sys
import time

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


paths = int(sys.argv[1])
digits = max(1, (paths - 1).bit_length())
times = []
for tenth in range(10):
    begin = time.thread_time_ns()
    numbers = range(tenth * paths // 10, (tenth + 1) * paths // 10)
    for number in numbers:
        follow(number, digits)
    times.append((time.thread_time_ns() - begin) // max(1, len(numbers)))
print(*times)
