#!/usr/bin/env python3
"""Makes L.f32 and Q.f32, the stored input of qtlq, by the recipe at the head of reference.csv.

Each file contains only the elements of a 128x128 float32 matrix, row-major and little-endian. The matrices are stored,
because the published TF32 values depend on their last bits, which depend on the versions of torch's random generator
and of LAPACK's qr. Needs torch and numpy. With --check, compares with the stored files and writes nothing.
"""

import argparse
import csv
import math
import pathlib
import sys

import numpy
import torch

HERE = pathlib.Path(__file__).resolve().parent
N = 128


def recipe():
    """Returns L and Q as float32 numpy arrays. They are computed in float64 and rounded once, at the end."""
    lambda_ = torch.empty(N, dtype=torch.float64)
    lambda_[:5] = 2.5e6 * torch.tensor([1, 0.98, 0.96, 0.94, 0.92], dtype=torch.float64)
    lambda_[5:] = torch.logspace(math.log10(2.5e6 * 0.90), -1, N - 5, dtype=torch.float64)
    a = torch.randn(N, N, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    q = torch.linalg.qr(a).Q
    l = q @ torch.diag(lambda_) @ q.T
    l = (l + l.T) / 2
    return l.float().numpy(), q.float().numpy()


def round_to_tf32(x):
    """Rounds x to 10 mantissa bits, to nearest, ties away from zero. All of x must be finite and far from overflow."""
    bits = numpy.ascontiguousarray(x).view(numpy.uint32)
    return ((bits + numpy.uint32(0x1000)) & ~numpy.uint32(0x1FFF)).view(numpy.float32)


def diagonal(l, q, rounding):
    qt_l = rounding(q.T) @ rounding(l)
    return (qt_l * q.T).sum(-1)


def compare(name, column, result, published):
    """Prints the row with the largest difference from the published values. Returns True if all differences are within
    0.05 + 1e-4 |value|."""
    rows = [(int(row["index"]), float(row[column])) for row in published]
    shares = [(abs(float(result[i]) - value) / (0.05 + 1e-4 * abs(value)), i) for i, value in rows]
    share, i = max(shares)
    print(f"{name}: worst at index {i}, {100 * share:.0f} % of the tolerance 0.05 + 1e-4 |value|")
    return share <= 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the stored files, write nothing")
    arguments = parser.parse_args()

    l, q = recipe()
    with open(HERE / "reference.csv", newline="") as file:
        published = list(csv.DictReader(line for line in file if not line.startswith("#")))
    fine = compare("published fp32, operands as they are", "fp32", diagonal(l, q, lambda x: x), published)
    fine &= compare("published tf32, operands rounded to TF32", "tf32", diagonal(l, q, round_to_tf32), published)

    for name, matrix in (("L.f32", l), ("Q.f32", q)):
        raw = numpy.ascontiguousarray(matrix, dtype="<f4").tobytes()
        if arguments.check:
            same = (HERE / name).read_bytes() == raw
            fine &= same
            print(f"{name}: {'the same' if same else 'DIFFERS from the stored file'}, torch {torch.__version__}")
        elif fine:
            (HERE / name).write_bytes(raw)
            print(f"{name}: written, torch {torch.__version__}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
