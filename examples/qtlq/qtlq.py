#!/usr/bin/env python3
"""Computes diag(Q^T L Q) of a symmetric 128x128 matrix with a spectrum from 0.1 to 2.5e6, in plain torch.

Prints the same table as qtlq.cpp, and knows nothing of fp32shim. --csv prints all 128 values with nine digits, so that
two runs with equal texts are bitwise equal. --device cuda runs the product on a GPU. Needs torch 1.13 or newer, but no
numpy.
"""

import argparse
import csv
import math
import pathlib
import sys

import torch

N = 128


def read_matrix(path):
    """Reads an N x N matrix of float32, row-major and little-endian."""
    if path.stat().st_size != 4 * N * N:
        raise ValueError(f"{path}: is not {4 * N * N} bytes, a 128x128 float32 matrix; make_data.py makes it again")
    return torch.from_file(str(path), shared=False, size=N * N, dtype=torch.float32).reshape(N, N)


def read_published(path):
    with open(path, newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [{name: float(value) for name, value in row.items()} for row in rows]


def furthest(result, rows, column):
    """Returns (distance, index) of the row furthest from a published column. The unit of distance is 0.05 + 1e-4 |value|."""

    def distance(row):
        share = abs(result[int(row["index"])] - row[column]) / (0.05 + 1e-4 * abs(row[column]))
        return math.inf if math.isnan(share) else share

    return max((distance(row), int(row["index"])) for row in rows)


def print_table(result, rows):
    print("diag(Q^T L Q), 128x128, float32\n")
    print(f"{'index':>5}  {'exact':>12}  {'published FP32':>14}  {'published TF32':>14}  {'this run':>12}")
    for row in rows:
        index = int(row["index"])
        print(f"{index:5d}  {row['true']:12.5g}  {row['fp32']:14.5g}  {row['tf32']:14.5g}  {result[index]:12.5g}")
    fp32, fp32_index = furthest(result, rows, "fp32")
    tf32, tf32_index = furthest(result, rows, "tf32")
    print("\nlargest difference, in units of the tolerance 0.05 + 1e-4*|value|:")
    print(f"  from published FP32 {fp32:.2f} (index {fp32_index}), from published TF32 {tf32:.2f} (index {tf32_index})")
    if fp32 <= 1:
        print("agrees with: published FP32 (every value within the tolerance)")
    elif tf32 <= 1:
        print("agrees with: published TF32 (every value within the tolerance)")
    else:
        print("agrees with: neither published column")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", action="store_true", help="all 128 values, for comparing runs bit by bit")
    parser.add_argument("--device", default="cpu", help="where the product runs: cpu (default), cuda, cuda:1 ...")
    parser.add_argument("directory", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent,
                        help="holds L.f32, Q.f32 and reference.csv; default: beside this file")
    arguments = parser.parse_args()

    try:
        rows = read_published(arguments.directory / "reference.csv")
        L = read_matrix(arguments.directory / "L.f32").to(arguments.device)
        Q = read_matrix(arguments.directory / "Q.f32").to(arguments.device)
    except (OSError, ValueError) as error:
        sys.exit(f"qtlq.py: {error}")

    QtL = Q.T @ L
    result = (QtL * Q.T).sum(-1).tolist()

    if arguments.csv:
        print("index,value")
        for index, value in enumerate(result):
            print(f"{index},{value:.9g}")
    else:
        print_table(result, rows)


if __name__ == "__main__":
    main()
