"""Starts whole processes under the shim and reads what it logged."""

import dataclasses
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
LIBRARY = pathlib.Path(os.environ.get("FP32SHIM_LIBRARY", ROOT / "build/lib/libfp32shim.so")).resolve()
# The interpreter of the wheels: these tests run in their virtual environment.
PYTHON = sys.executable
WHEELS = pathlib.Path(sys.prefix)

EMULATE_TF32 = {"FP32_MATMUL_PRECISION": "high", "FP32_MATMUL_CPU": "emulate"}
EMULATE_BF16 = {"FP32_MATMUL_PRECISION": "medium", "FP32_MATMUL_CPU": "emulate"}


def environment(**settings):
    """The caller's environment, without anything that governs precision, on one thread."""
    kept = {name: value for name, value in os.environ.items()
            if name != "LD_PRELOAD" and not name.startswith(("FP32_MATMUL_", "MKL_", "ONEDNN_"))}
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**kept, **one, "PYTHONDONTWRITEBYTECODE": "1", **settings}


@dataclasses.dataclass
class Outcome:
    stdout: str
    stderr: str
    decisions: list  # the log's `decision` events, in order; empty without the shim
    errors: list     # its `error` events


def run(command, *, shim, timeout=300, **settings):
    """Runs `command`, under the shim if `shim`, and expects it to succeed."""
    assert not shim or LIBRARY.exists(), f"{LIBRARY} is not there: build the project, or set FP32SHIM_LIBRARY"
    with tempfile.TemporaryDirectory() as directory:
        log = pathlib.Path(directory, "decisions.jsonl")
        if shim:
            settings = {"LD_PRELOAD": str(LIBRARY), "FP32_MATMUL_LOG": str(log), **settings}
        process = subprocess.run([str(word) for word in command], env=environment(**settings), text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
        assert process.returncode == 0, f"{command} ended with {process.returncode}:\n{process.stdout}{process.stderr}"
        events = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    by_kind = {kind: [event for event in events if event["event"] == kind] for kind in ("decision", "error")}
    return Outcome(process.stdout, process.stderr, by_kind["decision"], by_kind["error"])


def describe(decision):
    """`function caller provider`, as expected.py writes them."""
    return f"{decision['function']} {decision['caller']} {decision['provider']}"


def matches(decision, pattern):
    return fnmatch.fnmatchcase(describe(decision), pattern)
