"""numpy products in a process and in the three workers of its pool, which are forked: prints how many each made.

Called as: pool.py ROUNDS. A round is one task for each worker: none gets the next before all have one.
"""

import multiprocessing
import os
import sys

import numpy

WORKERS, PRODUCTS = 3, 20
a = numpy.random.default_rng(1).random((30, 20), numpy.float32)
b = numpy.random.default_rng(2).random((20, 10), numpy.float32)
barrier = None


def multiply(_):
    for _ in range(PRODUCTS):
        a @ b
    barrier.wait()
    return os.getpid(), PRODUCTS


def remember(one):
    global barrier
    barrier = one


def main():
    fork = multiprocessing.get_context("fork")
    for _ in range(5):
        a @ b
    made = {os.getpid(): 10}
    with fork.Pool(WORKERS, remember, [fork.Barrier(WORKERS)]) as pool:
        for pid, count in pool.map(multiply, range(WORKERS * int(sys.argv[1])), chunksize=1):
            made[pid] = made.get(pid, 0) + count
    for _ in range(5):
        a @ b
    for pid, count in made.items():
        print(pid, count)


main()
