#!/usr/bin/env python3
"""Experiments on frameworks, each with its decision rule.

    experiments.py NAME --shim FILE [--results FILE]
    experiments.py --list FRAMEWORK...   names, each with a limit in seconds, in the order in which to run them

An experiment measures once for each of its variants, in a process of its own under that variant's environment, and
compares. Those of TURNS compare times: all their processes are there at once, and measure in turns. Prints a row
`| experiment | expected | seen | what follows |`, and appends it to --results.
Ends with 0; 77 where the framework or a CUDA device is missing; 1 where a variant could not be measured. The bundle has this
folder and gpu_check/frameworks in one.
"""

import argparse
import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile

import experiment_rules

HIGH = {"LD_PRELOAD": "SHIM", "FP32_MATMUL_PRECISION": "high"}
FLOOR = {"LD_PRELOAD": "SHIM", "FP32_MATMUL_FLOOR": "fp32"}
# Variables that `fp32shim run --pin` sets, for the frameworks' own kernels.
PIN = {**FLOOR, "TRITON_F32_DEFAULT": "ieee", "JAX_DEFAULT_MATMUL_PRECISION": "highest", "CUPY_TF32": "0",
       "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "0", "NVIDIA_TF32_OVERRIDE": "0",
       "FP32SHIM_XLA_FLAG": "--xla_gpu_enable_triton_gemm=false"}
OVERRIDE = {"NVIDIA_TF32_OVERRIDE": "1"}
KERNELS = {"LD_PRELOAD": "SHIM", "FP32_MATMUL_KERNELS": "1", "FP32_MATMUL_LOG": "FOLDER/kernels.fp32rec"}
NO_TRITON = {"XLA_FLAGS": "--xla_gpu_enable_triton_gemm=false"}

ASKS = {"EXPERIMENT_ASKS_FOR_TF32": "1"}
IN_PAIRS = {"native": {}, "high": HIGH}
OBEYING = {**IN_PAIRS, "floor fp32": FLOOR}
PINNED = {"native": {}, "floor fp32": FLOOR, "pin": PIN}

# The experiments, in the order in which they run. Each entry is name: (expected, {variant: environment}). The name begins
# with that of the framework, whose module has measure_NAME(); experiment_rules has NAME(answers).
EXPERIMENTS = {
    "torch_convolutions": ("cudnn.allow_tf32 = False stays FP32 under high", IN_PAIRS),
    "torch_solves": ("residuals under high at most 10 times those of native", IN_PAIRS),
    "torch_override": ("a floor works against NVIDIA_TF32_OVERRIDE=1",
                       {"native": {}, "override": OVERRIDE, "override, floor fp32": {**FLOOR, **OVERRIDE}}),
    "torch_late_override": ("NVIDIA_TF32_OVERRIDE set after the first product changes nothing", IN_PAIRS),
    "torch_graph": ("torch.cuda.CUDAGraph under high replays the bits of the same product outside a graph", IN_PAIRS),
    "torch_cublaslt": ("torch's preferred cublasLt obeys high and a floor", OBEYING),
    "torch_pinv": ("pinv under high at most 10 times the residual of native", IN_PAIRS),
    "torch_kernels": ("the kernels that torch.profiler counts, as often, none unknown",
                      {"profiled": {}, "recorded": KERNELS}),
    # Two processes that do the same tell what a difference between two processes means here.
    "torch_linear": ("forcing TF32 costs a small Linear layer no more than asking for it",
                     {"plain": {}, "asks for TF32": ASKS, "asks for TF32, again": ASKS, "high": HIGH}),
    "onnxruntime_matmul": ("onnxruntime's products obey high and a floor", OBEYING),
    "jax_triton": ("FP32 under a floor, with XLA's autotuner and Triton on", PINNED),
    "jax_cache": ("a compilation cache from high, read under native: no crash, FP32",
                  {"high, writes": {**HIGH, **NO_TRITON}, "native, reads": {**NO_TRITON, "LD_PRELOAD": "SHIM"}}),
    # Comes last, because it takes minutes.
    "torch_autotune": ("inductor's max-autotune stays FP32 under a pin", PINNED),
}
TURNS = {"torch_linear": 40}  # rounds; measure_NAME() returns (answer, function that measures one turn)
LIMIT, LIMITS = 60, {"torch_autotune": 300, "torch_kernels": 120}  # seconds


class Child:
    """A process that prints the answer of one variant, and then measures a turn whenever it is asked to."""

    def __init__(self, name, variables, shim, folder):
        child = {**os.environ, "EXPERIMENT_FOLDER": folder}
        if name not in TURNS:  # writing a log costs time
            child["FP32_MATMUL_LOG"] = os.path.join(folder, "log.jsonl")
        child.update({key: value.replace("SHIM", shim).replace("FOLDER", folder) for key, value in variables.items()})
        self._errors = tempfile.TemporaryFile("w+", dir=folder)
        self._process = subprocess.Popen(
            [sys.executable, "-B", os.path.abspath(__file__), name, "--measure"], env=child, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def ask(self):
        """Tells the process to measure a turn."""
        try:
            self._process.stdin.write("\n")
        except BrokenPipeError:
            pass  # the process has ended, which answer() will report

    def answer(self):
        """Returns the next line that the process prints, as JSON, or None if it has ended."""
        line = self._process.stdout.readline()
        return json.loads(line) if line else None

    def only_answer(self):
        """Waits for the end of the process. Returns the last line that it printed, as JSON, or None if it failed."""
        lines = self._process.stdout.read().splitlines()
        return json.loads(lines[-1]) if self._process.wait() == 0 else None

    def end(self):
        """Returns the reason why the process has ended, and True if its framework or a device is missing."""
        status = self._process.wait()
        self._errors.seek(0)
        text = self._errors.read()
        if status != 77:
            sys.stderr.write(text)
        return (text.strip().splitlines() or [f"status {status}"])[-1], status == 77


def measure_one_by_one(name, variants, shim, folder):
    """Returns ({variant: answer}, variant without an answer, reason, True if the experiment is skipped)."""
    answers = {}
    for variant, variables in variants.items():
        with Child(name, variables, shim, folder) as child:
            answers[variant] = child.only_answer()
            if answers[variant] is None:
                return None, variant, *child.end()
    return answers, "", "", False


def measure_in_turns(name, variants, shim, folder):
    """Returns the same as measure_one_by_one(). Each answer also has its "turns"."""
    with contextlib.ExitStack() as stack:
        children = {variant: stack.enter_context(Child(name, variables, shim, folder))
                    for variant, variables in variants.items()}
        answers = {variant: child.answer() for variant, child in children.items()}
        for variant, answer in answers.items():
            if answer is None:
                return None, variant, *children[variant].end()
            answer["turns"] = []
        for turn in range(TURNS[name]):
            # Every second round runs in reverse order, so that a drift has no effect.
            for variant in list(children)[::-1 if turn % 2 else 1]:
                children[variant].ask()
                measured = children[variant].answer()
                if measured is None:
                    return None, variant, *children[variant].end()
                answers[variant]["turns"].append(measured)
    return answers, "", "", False


def in_child(name):
    try:
        module = importlib.import_module(f"{name.split('_')[0]}_experiments")
    except ImportError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 77
    try:
        answer = getattr(module, f"measure_{name}")()
    except experiment_rules.NoDevice as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 77
    answer, turn = answer if name in TURNS else (answer, None)
    print(json.dumps(answer), flush=True)
    if turn:
        for _ in sys.stdin:
            print(json.dumps(turn()), flush=True)
    return 0


def row(name, expected, seen, follows, results):
    cells = [" ".join(cell.split()).replace("|", "/") for cell in (name, expected, seen, follows)]
    print("| " + " | ".join(cells) + " |", flush=True)
    if results:
        with open(results, "a", encoding="utf-8") as file:
            file.write("\t".join(cells) + "\n")


def run(name, shim, results):
    expected, variants = EXPERIMENTS[name]
    with tempfile.TemporaryDirectory() as folder:
        measured = measure_in_turns if name in TURNS else measure_one_by_one
        answers, variant, why, skipped = measured(name, variants, shim, folder)
    if skipped:
        print(f"experiments.py: {why}", file=sys.stderr)
        return 77
    if answers is None:
        row(name, expected, f"{variant}: did not run: {why}", "ask again: this was not measured", results)
        return 1
    seen, follows = getattr(experiment_rules, name)(answers)
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
