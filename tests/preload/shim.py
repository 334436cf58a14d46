"""Runs a whole process, with the shim or without, and reads what the shim logged.

`run(...)` is all that most tests need:

    unshimmed = run("cblas_product", preload=False)
    shimmed = run("cblas_product", precision="high", cpu="emulate", blas="blis")
    assert shimmed.stdout != unshimmed.stdout
    assert shimmed.decisions[0]["provider"] == "libblas.so.3"

A program is the name of a client (clients/, built into build/tests/clients), the name of a Python script in
clients/scripts/, or a command of the system. Which BLAS it gets is a matter of LD_LIBRARY_PATH: Debian and Ubuntu keep every
implementation in a directory of its own, and the alternatives system is left alone.
"""

import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

import pytest

import processor

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("FP32SHIM_BUILD", ROOT / "build"))
LIBRARY = pathlib.Path(os.environ.get("FP32SHIM_LIBRARY", BUILD / "lib/libfp32shim.so")).resolve()
CLIENTS = pathlib.Path(os.environ.get("FP32SHIM_TEST_CLIENTS", BUILD / "tests/clients"))
SCRIPTS = HERE / "clients/scripts"
SYSTEM_PYTHON = os.environ.get("FP32SHIM_SYSTEM_PYTHON", "/usr/bin/python3")
# Debian's multiarch directory, which has the system's libraries.
SYSTEM_LIBRARIES = pathlib.Path("/usr/lib", sysconfig.get_config_var("MULTIARCH") or "")

BLAS_PACKAGES = {
    "openblas": ("libopenblas0-pthread", "openblas-*/libblas.so.3"),
    "reference": ("libblas3", "blas/libblas.so.3"),
    "blis": ("libblis4-pthread", "blis-*/libblas.so.3"),
    "openblas64": ("libopenblas64-0-pthread", "openblas64-*/libblas64.so.3"),
}
LP64_BLAS = ["openblas", "reference", "blis"]

# Functions that the shim exports besides products and its C API. They tell it of libraries, of programs that are not
# covered, and of a clock that can no longer be read; by getenv, it gives XLA a flag.
LOADER_HOOKS = {"dlsym", "dlvsym", "dlclose", "getenv"}
STARTER_HOOKS = {
    "_Exit", "_exit", "chroot", "execl", "execle", "execlp", "execv", "execve", "execveat", "execvp", "execvpe", "fexecve", "mount",
    "pivot_root", "popen", "posix_spawn", "posix_spawnp", "prctl", "quick_exit", "setns", "system", "wordexp",
}
# Functions that the copies of NVTX in programs call.
RANGE_HOOKS = {"InitializeInjectionNvtx2", "InitializeInjectionNvtx2Preinject"}
# Functions by which programs set the verbose mode of oneDNN, and the function that reports JAX's products.
MODE_HOOKS = {
    "_fp32shim_jax", "dnnl_set_verbose", "mkldnn_set_verbose", "_ZN5torch7verbose19_mkldnn_set_verboseEi",
    "_ZN10torch_ipex5utils18onednn_set_verboseEi",
}
DECISION_KEYS = (
    "event schema time time_ns host job_id rank pid tid executable function dtype device device_index "
    "compute_capability trans_a trans_b m n k batch caller scope where provider requested source rule applied actual how "
    "reason detail host_ns status accumulator_as_called accumulator mantissa_bits algorithm"
).split()


def need(condition, reason):
    """Skips the test with this reason, unless the condition holds."""
    if not condition:
        pytest.skip(reason)


def audits_in(recording):
    """Returns the audits that `fp32shim report` finds in a recording, one for each row. Skips the test without a command."""
    command = BUILD / "bin/fp32shim"
    need(command.exists(), f"{command} was not built")
    report = subprocess.run([command, "report", "--format", "json", recording], capture_output=True, text=True, check=True)
    return json.loads(report.stdout)["audits"]


@functools.cache
def intercepted_functions():
    """Returns the names of the shim's table. The preprocessor makes them from families and name forms, as for the linker."""
    names = subprocess.run([os.environ.get("CC", "cc"), "-E", "-P", "-x", "c", "-DROW(symbol,family,form)=symbol",
                            ROOT / "shim/table/functions.def"], capture_output=True, text=True, check=True).stdout.split()
    assert len(names) == len(set(names)) > 600
    return frozenset(names)


def is_vector_product(function):
    """Tells by a function's name, in any form, if the function multiplies with a vector."""
    vector = (r"(scipy_)?(cblas_)?([sdcz]|sc|dz|sds|ds|cs|zd)"
              r"(gemv|symv|hemv|ger[uc]?|syr|her|syr2|her2|trmv|trsv|axpy|rot|dot[uc]?(_sub)?|nrm2|asum)(_?64)?_?")
    return re.fullmatch(vector, function, flags=re.IGNORECASE) is not None


def number_formats(kind):
    """Returns the arguments of all lines of one kind (FORMAT, PRECISION …) in the table of number formats. RULE_PRECISION
    includes the lines for float64."""
    lines = re.findall(rf"^(?:FLOAT64_)?{kind}\(([^()]*)\)", (ROOT / "policy/formats.def").read_text(), flags=re.MULTILINE)
    return [[argument.strip(' "') for argument in line.split(",")] for line in lines]


@functools.cache
def blas_directory(blas):
    """Returns the folder of a BLAS implementation. Skips the test if it is not installed."""
    package, pattern = BLAS_PACKAGES[blas]
    found = sorted(SYSTEM_LIBRARIES.glob(pattern), key=lambda path: ("pthread" not in str(path), str(path)))
    need(found, f"{package} is not installed (no {SYSTEM_LIBRARIES}/{pattern})")
    return found[0].parent


def blas_library(blas):
    """Returns the file that a program linked with this BLAS loads."""
    return blas_directory(blas) / BLAS_PACKAGES[blas][1].split("/")[1]


def client(name):
    """Returns the path of a built client. Skips the test if the client was not built."""
    path = CLIENTS / name
    need(path.exists(), f"{path} was not built: its compiler, or a library that it needs, is missing")
    return path


def system_library(pattern, package):
    found = sorted(SYSTEM_LIBRARIES.glob(pattern)) or sorted(pathlib.Path("/usr/lib").glob(pattern))
    need(found, f"{package} is not installed (no {pattern})")
    return found[0]


def tool(name, package=None):
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    need(path, f"{package or name} is not installed")
    return path


def command_of(program):
    """Returns the words that start a client, a script, or a program of the system."""
    program = str(program)
    if program.endswith(".py"):
        return [SYSTEM_PYTHON, str(SCRIPTS / program)]
    if "/" in program:
        return [program]
    return [str(client(program)) if (CLIENTS / program).exists() or not shutil.which(program) else program]


@dataclasses.dataclass
class Result:
    stdout: str
    stderr: str
    returncode: int
    events: list  # all logged events, in order

    @property
    def decisions(self):
        """Decisions about products of matrices. numpy and other libraries also multiply vectors, numpy at its import."""
        return [event for event in self.events if event["event"] == "decision" and not is_vector_product(event["function"])]

    @property
    def vectors(self):
        """Decisions about products with a vector."""
        return [event for event in self.events if event["event"] == "decision" and is_vector_product(event["function"])]

    @property
    def errors(self):
        return [event for event in self.events if event["event"] == "error"]

    @property
    def starts(self):
        return [event for event in self.events if event["event"] == "start"]

    def seen(self):
        """Returns (function, caller, provider) of every decision, in order."""
        return [(d["function"], d["caller"], d["provider"]) for d in self.decisions]


def environment(*, precision=None, cpu=None, policy=None, log=None, blas=None, env=None, preload=(), floor=None,
                libraries=()):
    """Returns the environment of a run. From the caller's environment it has only paths and the user, because libraries,
    Python, batch systems and the command have variables of their own. Each BLAS gets one thread."""
    result = {name: os.environ[name] for name in ("PATH", "HOME", "USER", "TMPDIR") if name in os.environ}
    result.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", BLIS_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1",
                  PYTHONNOUSERSITE="1", LC_ALL="C", **processor.environment())
    search = [str(directory) for directory in libraries]
    if blas:
        search.append(str(blas_directory(blas)))
    if search:
        result["LD_LIBRARY_PATH"] = ":".join(search)
    if preload:
        result["LD_PRELOAD"] = ":".join(str(library) for library in preload)
    settings = {"PRECISION": precision, "CPU": cpu, "POLICY": policy, "LOG": log, "FLOOR": floor}
    result.update({f"FP32_MATMUL_{name}": str(value) for name, value in settings.items() if value is not None})
    result.update(env or {})
    return result


def read_log(path):
    """Returns the events of a log. Returns an empty list if there is no such file."""
    path = pathlib.Path(path)
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(program, *args, precision=None, cpu=None, policy=None, floor=None, log=True, blas="openblas", env=None,
        preload=True, preload_before=(), preload_after=(), libraries=(), cwd=None, timeout=600, check=True,
        stdin=None, prefix=(), **popen):
    """Runs a program to its end and returns a Result.

    preload         under the shim; without it nothing below that concerns the shim has an effect
    policy          the text of a policy file
    log             True: a .jsonl file of its own, read into the result; False: none; else the variable's value
    preload_before, preload_after   other libraries to preload, around the shim or alone
    prefix          words before the program: the command line of strace, fakeroot, ...
    timeout         for programs that hang, in seconds; no test is about time, and any machine may be slow
    check           fail the test when the program does not end with status 0
    """
    if preload:
        need(LIBRARY.exists(), f"{LIBRARY} was not built")
    with tempfile.TemporaryDirectory(prefix="fp32shim-test-") as scratch:
        log_file = pathlib.Path(scratch, "decisions.jsonl")
        policy_file = None
        if policy is not None:
            policy_file = pathlib.Path(scratch, "policy.toml")
            policy_file.write_text(policy)
        chosen_log = (log_file if log is True else (log or None)) if preload else None
        chain = [*preload_before, *([LIBRARY] if preload else []), *preload_after]
        variables = environment(precision=precision if preload else None, cpu=cpu if preload else None,
                                policy=policy_file if preload else None, floor=floor if preload else None,
                                log=chosen_log, blas=blas, env=env, preload=chain, libraries=libraries)
        words = [*map(str, prefix), *command_of(program), *map(str, args)]
        finished = subprocess.run(words, env=variables, cwd=cwd or scratch, timeout=timeout, text=True,
                                  errors="backslashreplace", stdin=stdin or subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)
        result = Result(finished.stdout, finished.stderr, finished.returncode, read_log(log_file))
    if check:
        assert finished.returncode == 0, f"{' '.join(words)} ended with {finished.returncode}\n{explain(result)}"
    return result


def explain(result):
    return f"--- stdout\n{result.stdout[-2000:]}\n--- stderr\n{result.stderr[-2000:]}"


def run_both(program, *args, precision="native", **keywords):
    """Runs a program without the shim and under it. Both must print and end the same. Returns both results."""
    unshimmed = run(program, *args, preload=False, **keywords)
    shimmed = run(program, *args, precision=precision, **keywords)
    assert shimmed.stdout == unshimmed.stdout, f"not the same output under {precision}\n{explain(shimmed)}"
    assert shimmed.returncode == unshimmed.returncode
    return unshimmed, shimmed


BINDING = re.compile(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol `([A-Za-z0-9_]+)'")


def bindings(program, *args, **keywords):
    """Returns the library to which the dynamic loader binds each call without the shim: {(function, caller): provider}.

    Tests of providers compare with it. The loader prints its bindings under LD_DEBUG=bindings.
    """
    with tempfile.TemporaryDirectory(prefix="fp32shim-test-") as scratch:
        environment_of_loader = {"LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": f"{scratch}/loader",
                                 **(keywords.pop("env", None) or {})}
        run(program, *args, preload=False, env=environment_of_loader, **keywords)
        found = {}
        for file in sorted(pathlib.Path(scratch).glob("loader.*")):
            for caller, provider, symbol in BINDING.findall(file.read_text()):
                found[symbol, os.path.basename(caller)] = os.path.basename(provider)
    return found


def python(code, **keywords):
    """Runs a few lines in the system's Python."""
    return run(SYSTEM_PYTHON, "-c", code, **keywords)


@functools.cache
def has_module(name):
    """Tells if the system's Python finds a module. Does not import it, since PyTorch takes seconds."""
    return python(f"import importlib.util; print(importlib.util.find_spec('{name}') is not None)", preload=False, blas=None,
                  check=False).stdout == "True\n"


assert sys.version_info >= (3, 10), "Ubuntu 22.04's Python is the oldest that these tests know"
