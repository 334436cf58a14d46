"""Products of operands with NaN and infinity, and one whose finite operands overflow."""

import numpy as np

a = np.ones((8, 8), np.float32)
for value in (np.nan, np.inf):
    b = a.copy()
    b[3, 4] = value
    a @ b
big = np.full((2, 2), 1e19, np.float32)
big @ (big * np.float32(2))
