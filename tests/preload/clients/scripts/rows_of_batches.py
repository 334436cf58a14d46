"""Prints whether the rows of a batch have the same bits however they are batched: a network of two layers, 33 rows.

Usage: rows_of_batches.py numpy | torch THREADS
"""
import sys

rows, width, inner = 33, 300, 200
if sys.argv[1] == "numpy":
    import numpy as np
    random = np.random.default_rng(5)
    x, first, second = (random.standard_normal(size, dtype=np.float32) for size in ((rows, width), (width, inner), (inner, 10)))
    order = random.permutation(rows)
    network = lambda x: np.maximum(x @ first, 0) @ second
    join, stack = np.concatenate, np.stack
else:
    import torch
    torch.set_num_threads(int(sys.argv[2]))
    torch.manual_seed(5)
    x, first, second = torch.randn(rows, width), torch.randn(width, inner), torch.randn(inner, 10)
    order = torch.randperm(rows)
    network = lambda x: torch.relu(x @ first) @ second
    join, stack = torch.cat, torch.stack
    torch.set_grad_enabled(False)
whole = network(x)


def compare(name, found, expected):
    print(name, "same" if bool((found == expected).all()) else "differs", sep=": ")


compare("rows reordered", network(x[order]), whole[order])
compare("rows in twos", join([network(x[i:i + 2]) for i in range(0, rows, 2)]), whole)
compare("one row alone", join([network(x[i:i + 1]) for i in range(rows)]), whole)
compare("a vector", stack([network(x[i]) for i in range(rows)]), whole)
batch = stack([x, x + 1, x * 2])
compare("a batch of matrices", network(batch), stack([network(each) for each in batch]))
