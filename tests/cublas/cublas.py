"""Runs the clients of clients/ on the stand-in, under the shim or without it, and knows what to expect of them.

    run_client("products", precision="high", compute_capability="8.0", exact=True)

The clients check themselves: results, formats, and that each call logged one decision that agrees with it. What is left
for the tests is to choose the settings, and to look at the log as a whole.
"""

import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "preload"))

import shim  # noqa: E402
from shim import need  # noqa: E402

CLIENTS = shim.BUILD / "tests/cublas/clients"
STAND_IN = shim.BUILD / "tests/cublas/stand_in"

COMPUTE_CAPABILITIES = ["7.5", "8.0", "9.0", "10.0"]
PRECISIONS = ["native", "highest", "high", "medium"]

# Values of cublasMath_t, cublasComputeType_t and cublasGemmAlgo_t
TENSOR_OP, PEDANTIC_MODE, TF32_MODE, BF16X9_MODE = 1, 2, 3, 4
COMPUTE_32F, PEDANTIC, FAST_16F, FAST_16BF, FAST_TF32, EMULATED_16BFX9 = 68, 69, 74, 75, 77, 78
TENSOR_OP_ALGORITHM = 99

# Keys that differ from run to run, or that describe the program and not its calls.
NOT_OF_THE_CALL = {"time", "time_ns", "pid", "tid", "executable", "host_ns", "caller"}


def has_fast_formats(compute_capability):
    return float(compute_capability) >= 8


def wished_format(precision, compute_capability):
    """Returns the format to which a precision leads on a device, or `native` if the program's own request decides."""
    formats = {"native": "native", "highest": "fp32", "high": "tf32", "medium": "bf16"}
    if precision in ("high", "medium") and not has_fast_formats(compute_capability):
        return "fp32"
    return formats[precision]


def run_client(name, *args, compute_capability="9.0", precision=None, expect=None, exact=False, fast=None, assume=None,
               devices=None, math_mode=None, compute_type=None, algo=None, env=None, preload=True, only=None,
               libraries=None, **keywords):
    """Runs a client on the stand-in for cuBLAS. clients/settings.hpp describes `expect`, `exact`, `math_mode`,
    `compute_type` and `algo`, and the stand-in's README `fast` and `assume`. `only` is a filter of GoogleTest."""
    program = CLIENTS / name
    need(program.exists(), f"{program} was not built")
    if only:
        args = (*args, f"--gtest_filter={only}")
    with tempfile.TemporaryDirectory(prefix="fp32shim-test-") as scratch:
        log = pathlib.Path(scratch, "decisions.jsonl")
        variables = {
            "STAND_IN_COMPUTE_CAPABILITY": compute_capability,
            "STAND_IN_FAST": fast,
            "STAND_IN_ASSUME": assume,
            "STAND_IN_DEVICES": devices,
            "CLIENT_LOG": log if preload else None,
            "CLIENT_EXPECT": expect,
            "CLIENT_EXACT": 1 if exact else None,
            "CLIENT_USES": used_formats(assume, compute_capability) if exact else None,
            "CLIENT_MATH_MODE": math_mode,
            "CLIENT_COMPUTE_TYPE": compute_type,
            "CLIENT_ALGO": algo,
            # Clients soon need freed memory again; keeping it saves a tenth of their time.
            "MALLOC_TOP_PAD_": 1 << 26,
            "MALLOC_TRIM_THRESHOLD_": 1 << 27,
            "MALLOC_MMAP_THRESHOLD_": 1 << 27,
            **(env or {}),
        }
        result = shim.run(program, *args, precision=precision, log=log, blas=None, preload=preload,
                          libraries=libraries or [STAND_IN], check=False,
                          env={key: str(value) for key, value in variables.items() if value is not None}, **keywords)
        result.events.extend(shim.read_log(log))
    assert result.returncode == 0, failures(name, variables, result)
    return result


def run_script(name, *arguments, compute_capability="9.0", env=None, **keywords):
    """Runs a script of clients/scripts, with the stand-in in its search path."""
    need(STAND_IN.exists(), f"{STAND_IN} was not built")
    variables = {"STAND_IN_COMPUTE_CAPABILITY": compute_capability, "PYTHONPATH": str(shim.SCRIPTS), **(env or {})}
    return shim.run(HERE / "clients/scripts" / name, *arguments, blas=None, libraries=[STAND_IN], env=variables, **keywords)


def failures(name, variables, result):
    """Returns a text with the failed checks of a client, the first of each kind."""
    lines = result.stdout.splitlines()
    failed = sorted({line for line in lines if line.startswith("[  FAILED  ]") and not line.endswith("ms)")})
    first = next((i for i, line in enumerate(lines) if ": Failure" in line), len(lines))
    settings = " ".join(f"{key}={value}" for key, value in variables.items() if value is not None)
    return "\n".join([f"{name} ended with {result.returncode} under {settings}", *failed[:20], *lines[first:first + 40],
                      result.stderr[-2000:]])


def as_calls(decisions):
    """Returns the decisions without the keys that differ from run to run."""
    return [{key: value for key, value in decision.items() if key not in NOT_OF_THE_CALL} for decision in decisions]


def reported(log):
    """Returns the report of a recording."""
    command = shim.BUILD / "bin/fp32shim"
    need(command.exists(), f"{command} was not built")
    done = subprocess.run([str(command), "report", "--format", "json", str(log)], text=True, capture_output=True,
                          check=True)
    return json.loads(done.stdout)


def recorded(log):
    """Returns the rows of a recording."""
    return reported(log)["rows"]


@functools.cache
def products():
    """Returns the rows of clients/products.def as {function: (operation, dtype, batching, road)}, with the `_64` forms."""
    result = {}
    for line in (HERE / "clients/products.def").read_text().splitlines():
        row = re.fullmatch(r"(PRODUCT|LEGACY|XT)\((\w+), (.*), \w+\)", line)
        if not row:
            continue
        kind, name, words = row[1], row[2], row[3].split(", ")
        if kind == "PRODUCT":
            result[name] = result[f"{name}_64"] = tuple(words)
        else:
            result[name] = (*words, "single", "not_governable")
    return result


def ignores_tf32_mode(function):
    """Returns True for the functions that run in FP32 although the handle is in TF32 mode, as measurements have shown."""
    operation, _, _, road = products()[function]
    return road == "math_mode" and operation not in ("gemm", "trsm")


@functools.cache
def semantics():
    """Returns the stand-in's table as {row: [answer, other answers …]}."""
    program = STAND_IN / "stand_in_semantics"
    if not program.exists():
        return {}
    table = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return {name: [answer, *filter(None, alternatives.split(","))]
            for name, _, answer, alternatives in (line.split("\t") for line in table.splitlines())}


def assumed_rows():
    """Returns the answers that other devices and versions of cuBLAS may give: [(row, other answer)]."""
    return [(row, answer) for row, answers in semantics().items() for answer in answers[1:]]


def uses_what_it_may():
    """Returns the assumptions about a cuBLAS that makes use of every permission."""
    lowest = {"fast_16f": "fp16", "fast_16bf": "bf16", "tensor_op_mode_reaches_complex": "yes"}
    return ",".join(f"{row}={lowest.get(row, 'yes')}" for row, answers in semantics().items()
                    if row in lowest or (row.endswith("_honours_math_mode") and "yes" in answers))


def used_formats(assume, compute_capability):
    """Returns the formats that the stand-in uses if a call permits BF16 or FP16, as clients/settings.hpp takes them."""
    answers = {row: found[0] for row, found in semantics().items()}
    answers.update(row.split("=") for row in (assume or "").split(",") if row)
    has_tf32 = all(map(has_fast_formats, compute_capability.split(",")))
    return f"bf16={answers.get('fast_16bf')},fp16={answers.get('fast_16f') if has_tf32 else 'fp16'}"
