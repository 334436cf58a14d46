#!/usr/bin/env python3
"""Experiments on frameworks, each with its decision rule.

    experiments.py NAME --shim FILE [--results FILE]
    experiments.py --list FRAMEWORK...   names, each with a limit in seconds, in the order in which to run them

An experiment measures once for each of its variants, in a process of its own under that variant's environment, and
compares. Prints a row `| experiment | expected | seen | what follows |`, and appends it to --results.
Ends with 0; 77 where the framework or a CUDA device is missing; 1 where a variant could not be measured.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile

HIGH = {"LD_PRELOAD": "SHIM", "FP32_MATMUL_PRECISION": "high"}
FLOOR = {"LD_PRELOAD": "SHIM", "FP32_MATMUL_FLOOR": "fp32"}
# Variables that `fp32shim run --pin` sets, for the frameworks' own kernels.
PIN = {**FLOOR, "TRITON_F32_DEFAULT": "ieee", "JAX_DEFAULT_MATMUL_PRECISION": "highest", "CUPY_TF32": "0",
       "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "0", "NVIDIA_TF32_OVERRIDE": "0",
       "FP32SHIM_XLA_FLAG": "--xla_gpu_enable_triton_gemm=false"}
OVERRIDE = {"NVIDIA_TF32_OVERRIDE": "1"}
NO_TRITON = {"XLA_FLAGS": "--xla_gpu_enable_triton_gemm=false"}

# In the order in which to run them. Each entry is name: (module, expected, {variant: environment}). The module has measure_NAME() and
# conclude_NAME(answers).
EXPERIMENTS = {
    "torch_convolutions": ("torch_experiments", "cudnn.allow_tf32 = False stays FP32 under high",
                           {"native": {}, "high": HIGH}),
    "torch_solves": ("torch_experiments", "residuals under high at most 10 times those of native",
                     {"native": {}, "high": HIGH}),
    "torch_override": ("torch_experiments", "a floor works against NVIDIA_TF32_OVERRIDE=1",
                       {"native": {}, "override": OVERRIDE, "override, floor fp32": {**FLOOR, **OVERRIDE}}),
    "torch_late_override": ("torch_experiments", "NVIDIA_TF32_OVERRIDE set after the first product changes nothing",
                            {"native": {}, "high": HIGH}),
    "torch_graph": ("torch_experiments", "torch.cuda.CUDAGraph under high replays the bits of the same product outside a graph",
                    {"native": {}, "high": HIGH}),
    "torch_cublaslt": ("torch_experiments", "torch's preferred cublasLt obeys high and a floor",
                       {"native": {}, "high": HIGH, "floor fp32": FLOOR}),
    "torch_pinv": ("torch_experiments", "pinv under high at most 10 times the residual of native",
                   {"native": {}, "high": HIGH}),
    "onnxruntime_matmul": ("onnxruntime_experiments", "onnxruntime's products obey high and a floor",
                           {"native": {}, "high": HIGH, "floor fp32": FLOOR}),
    "jax_triton": ("jax_experiments", "FP32 under a floor, with XLA's autotuner and Triton on",
                   {"native": {}, "floor fp32": FLOOR, "pin": PIN}),
    "jax_cache": ("jax_experiments", "a compilation cache from high, read under native: no crash, FP32",
                  {"high, writes": {**HIGH, **NO_TRITON}, "native, reads": {**NO_TRITON, "LD_PRELOAD": "SHIM"}}),
    # Comes last, because it takes minutes.
    "torch_autotune": ("torch_experiments", "inductor's max-autotune stays FP32 under a pin",
                       {"native": {}, "floor fp32": FLOOR, "pin": PIN}),
}
LIMIT, LIMITS = 60, {"torch_autotune": 300}  # seconds


def measure(name, variables, shim, folder):
    """What measure_NAME() returns under this environment; (answer, why there is none, whether it is skipped)."""
    child = {**os.environ, "EXPERIMENT_FOLDER": folder, "FP32_MATMUL_LOG": os.path.join(folder, "log.jsonl")}
    child.update({key: value.replace("SHIM", shim) for key, value in variables.items()})
    finished = subprocess.run([sys.executable, "-B", os.path.abspath(__file__), name, "--measure"], env=child, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    last = (finished.stderr.strip().splitlines() or [f"status {finished.returncode}"])[-1]
    if finished.returncode == 0:
        return json.loads(finished.stdout.strip().splitlines()[-1]), "", False
    if finished.returncode == 77:
        return None, last, True
    sys.stderr.write(finished.stderr)
    return None, last, False


def in_child(name):
    try:
        module = importlib.import_module(EXPERIMENTS[name][0])
    except ImportError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 77
    try:
        answer = getattr(module, f"measure_{name}")()
    except module.NoDevice as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 77
    print(json.dumps(answer))
    return 0


def row(name, expected, seen, follows, results):
    cells = [" ".join(cell.split()).replace("|", "/") for cell in (name, expected, seen, follows)]
    print("| " + " | ".join(cells) + " |", flush=True)
    if results:
        with open(results, "a", encoding="utf-8") as file:
            file.write("\t".join(cells) + "\n")


def run(name, shim, results):
    module_name, expected, variants = EXPERIMENTS[name]
    answers = {}
    with tempfile.TemporaryDirectory() as folder:
        for variant, variables in variants.items():
            answer, why, skipped = measure(name, variables, shim, folder)
            if skipped:
                print(f"experiments.py: {why}", file=sys.stderr)
                return 77
            if answer is None:
                row(name, expected, f"{variant}: did not run: {why}", "ask again: this was not measured", results)
                return 1
            answers[variant] = answer
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    seen, follows = getattr(importlib.import_module("experiment_rules"), name)(answers)
    row(name, expected, seen, follows, results)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", choices=list(EXPERIMENTS))
    parser.add_argument("--list", metavar="FRAMEWORK", nargs="+")
    parser.add_argument("--shim", default="libfp32shim.so")
    parser.add_argument("--results")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.list:
        for name in EXPERIMENTS:
            if name.startswith(tuple(arguments.list)):
                print(name, LIMITS.get(name, LIMIT))
        return 0
    if not arguments.name:
        parser.error("the name of an experiment is missing")
    if arguments.measure:
        return in_child(arguments.name)
    return run(arguments.name, os.path.abspath(arguments.shim), arguments.results)


if __name__ == "__main__":
    sys.exit(main())
