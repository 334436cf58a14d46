# Nearest neighbours of points that lie far from the origin, after a display of the points in two dimensions. Output: of
# 400 points, the share whose neighbour is the one that float64 finds.
import numpy as np

rng = np.random.default_rng(3)
points, queries = (rng.standard_normal((count, 32)).astype("f") + 30 for count in (2000, 400))
plane = rng.standard_normal((32, 2)).astype("f")


def display(x):
    return x @ plane


def cross(x, y):
    return x @ y.T


distances = (queries**2).sum(1)[:, None] - 2 * cross(queries, points) + (points**2).sum(1)
wide, wide_queries = points.astype("d"), queries.astype("d")
true = ((wide_queries**2).sum(1)[:, None] - 2 * wide_queries @ wide.T + (wide**2).sum(1)).argmin(1)
display(points)
print((distances.argmin(1) == true).mean())
