"""200 products at one line, with NaN in an operand."""

import numpy as np

a = np.ones((8, 8), np.float32)
a[1, 2] = np.nan
for _ in range(200):
    a @ a.copy()
