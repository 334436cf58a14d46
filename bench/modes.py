#!/usr/bin/env python3
"""Measures the CPU modes of fp32shim against the program's own BLAS, over a grid of products.

  bench/modes.py                       all modes, one thread: takes some ten minutes
  bench/modes.py --threads 2 --rounds 5 --seconds 0.3
  bench/modes.py --modes accelerate --json build/modes.json

Each round runs a program (bench/products.c) in each mode, without fp32shim first. A ratio is that of a mode's time to the
time without fp32shim in the same round; the table has the medians of the rounds, and their smallest and largest.
"""

import argparse
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRECISION = "FP32_MATMUL_PRECISION"
MODES = {
    "loaded": {},
    "preview": {"FP32_MATMUL_CPU": "emulate", PRECISION: "high"},
    "reproducible": {"FP32_MATMUL_CPU": "reproducible"},
    "accelerate": {"FP32_MATMUL_CPU": "accelerate", PRECISION: "medium"},
}
CUBES = [8, 16, 32, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 768, 1024, 1536, 2048]
SHAPES = [f"{n}x{n}x{n}" for n in CUBES] + [
    f"{n}x{n}x{n}:{trans}" for n in (128, 256, 1024) for trans in ("TN", "NT", "TT")] + [
    "1x4096x4096", "4096x1x4096", "128x4096x4096", "4096x128x4096", "4096x128x4096:TN", "64x1024x1024", "1024x64x1024",
    "1024x1024x64", "1024x1024x16", "32x1024x1024", "10000x32x64", "10000x64x64", "64x10000x64", "300x500x700", "255x257x259",
    "100x1000x100"]


def run(program, shapes, seconds, threads, variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FP32_") and name != "LD_PRELOAD"}
    environment |= {name: str(threads) for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS")}
    done = subprocess.run([program, str(seconds), *shapes], env=environment | variables, capture_output=True, text=True, check=True)
    if done.stderr:
        sys.exit(f"bench/modes.py: the program said: {done.stderr}")
    return {shape: float(time) for shape, time in map(str.split, done.stdout.splitlines())}


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def geometric_mean(numbers):
    return math.exp(statistics.fmean(math.log(number) for number in numbers))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.15, help="of each product in each round")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build/lib/libfp32shim.so")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/bin/bench_products")
    options = parser.parse_args()

    ratios = {mode: {shape: [] for shape in options.shapes} for mode in options.modes}
    plain = {shape: [] for shape in options.shapes}
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        times = run(options.program, options.shapes, options.seconds, options.threads, {})
        for mode in options.modes:
            variables = MODES[mode] | {"LD_PRELOAD": str(options.library.resolve())}
            own = run(options.program, options.shapes, options.seconds, options.threads, variables)
            for shape in options.shapes:
                ratios[mode][shape].append(own[shape] / times[shape])
        for shape in options.shapes:
            plain[shape].append(times[shape])

    print(f"{processor()}, {options.threads} thread(s), {options.rounds} rounds: ratio of times, median (smallest to largest)\n")
    print("| product | alone |" + "".join(f" {mode} |" for mode in options.modes))
    print("|---|---|" + "---|" * len(options.modes))
    for shape in options.shapes:
        cells = [f"{statistics.median(ratios[mode][shape]):.2f} ({min(ratios[mode][shape]):.2f} to {max(ratios[mode][shape]):.2f})"
                 for mode in options.modes]
        print(f"| {shape} | {statistics.median(plain[shape]) / 1000:.3g} µs | " + " | ".join(cells) + " |")
    for mode in options.modes:
        medians = {shape: statistics.median(ratios[mode][shape]) for shape in options.shapes}
        large = [ratio for shape, ratio in medians.items()
                 if min(map(int, shape.split(":")[0].split("x"))) >= 256]
        slowest = max(medians, key=medians.get)
        print(f"\n{mode}: {1 / geometric_mean(medians.values()):.2f} times as fast (geometric mean of {len(medians)} products), "
              + (f"{1 / geometric_mean(large):.2f} of {len(large)} with all sizes from 256 on, " if large else "")
              + f"slowest: {slowest}, ratio {medians[slowest]:.2f}")
    if options.json:
        options.json.write_text(json.dumps({"processor": processor(), "threads": options.threads, "alone_ns": plain,
                                            "ratios": ratios}, indent=1))


if __name__ == "__main__":
    main()
