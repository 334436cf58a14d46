"""Products of scipy: BLAS called directly, and a LAPACK factorisation that multiplies inside."""

import numpy
import scipy.linalg

random = numpy.random.RandomState(1)
a = numpy.asfortranarray(random.standard_normal((64, 48)).astype(numpy.float32))
b = numpy.asfortranarray(random.standard_normal((48, 40)).astype(numpy.float32))
print("sgemm", scipy.linalg.blas.sgemm(1.0, a, b).tobytes().hex())
big = random.standard_normal((160, 160)).astype(numpy.float32)
q, r = scipy.linalg.qr(big)
print("qr", q.tobytes().hex(), r.tobytes().hex())
