"""Trains a small network with numpy, then classifies the same readings by their nearest neighbour.

The program knows nothing of fp32shim. TF32 is good enough for its training, and not for its search: docs/tutorial.md.
"""

import numpy as np

random = np.random.default_rng(1)
centres = 0.3 * random.standard_normal((10, 256))


def make_readings(count):
    """Returns readings of 256 sensors, all near 100, and the kind (0 to 9) of the thing that each reading measured."""
    kinds = random.integers(0, 10, count)
    readings = 100 + centres[kinds] + random.standard_normal((count, 256))
    return readings.astype(np.float32), kinds


def train(inputs, kinds, w1, w2, rate=0.01, batch=256):
    """Makes one pass of stochastic gradient descent; changes the weights in place."""
    for first in range(0, len(inputs), batch):
        x, y = inputs[first:first + batch], np.eye(10, dtype=np.float32)[kinds[first:first + batch]]
        hidden = np.maximum(x @ w1, 0)
        error = (hidden @ w2 - y) / batch
        slope = (error @ w2.T) * (hidden > 0)
        w2 -= rate * (hidden.T @ error)
        w1 -= rate * (x.T @ slope)


def nearest(readings, others):
    """Returns the index of the nearest of `others` for each reading, by |a - b|^2 = |a|^2 + |b|^2 - 2ab."""
    squares = (readings**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)
    return (squares - 2 * (readings @ others.T)).argmin(axis=1)


def right(found, kinds):
    return f"{100 * np.mean(found == kinds):.1f}% right"


known, known_kinds = make_readings(8192)
new, new_kinds = make_readings(2048)
w1 = (random.standard_normal((256, 512)) / 16).astype(np.float32)
w2 = np.zeros((512, 10), np.float32)
for epoch in range(1, 6):
    train(known - 100, known_kinds, w1, w2)
    outputs = np.maximum((new - 100) @ w1, 0) @ w2
    print(f"epoch {epoch}: {right(outputs.argmax(axis=1), new_kinds)}")
print(f"nearest neighbour: {right(known_kinds[nearest(new, known)], new_kinds)}")
