"""A product whose result is so large that an audit of it would need more memory than it may have: 400 MB."""

import numpy as np

SIZE = 10000
a, b = np.ones((SIZE, 1), np.float32), np.ones((1, SIZE), np.float32)
c = np.dot(a, b)
print("as it should be" if c.shape == (SIZE, SIZE) and (c[::997, ::991] == 1).all() else "wrong")
