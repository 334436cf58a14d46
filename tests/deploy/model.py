"""The program under test: it multiplies once, and once more for each line that it reads."""

import itertools
import sys

import numpy

ONES = numpy.ones((64, 64), dtype=numpy.float32)
for _ in itertools.chain(["first"], sys.stdin):
    print(f"product {(ONES @ ONES[:, :32]).sum():.0f}", flush=True)
