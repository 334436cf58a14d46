"""The processor as tests see it: the machine's, or an older one if `tests/run.sh --as avx2` asks for that.

A test that needs an instruction asks `has("avx512f")`. `environment()` are the variables by which libraries and the
shim's own code leave newer instructions alone; shim.py gives them to every program. The variable that asks for all
that is FP32_MATMUL_INSTRUCTIONS, which C++ tests obey by system::may_use(). /proc/cpuinfo, __builtin_cpu_supports and
torch.backends always tell the machine's processor, so no test may ask them; only a client that runs an instruction itself
may.
"""

import dataclasses
import functools
import os
import platform
import subprocess
import sys


@dataclasses.dataclass(frozen=True)
class Level:
    variables: dict  # variables that limit libraries to this level
    numpy: str       # instructions of this level, by numpy's names
    newer: tuple     # prefixes of the names that the kernel has for newer instructions


LEVELS = {"avx2": Level({"OPENBLAS_CORETYPE": "Haswell", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
                         "ATEN_CPU_CAPABILITY": "avx2"},
                        "SSE SSE2 SSE3 SSSE3 SSE41 POPCNT SSE42 AVX F16C FMA3 AVX2 X86_V2 X86_V3",
                        ("avx512", "amx_", "avx_vnni", "avx10"))}

# Asks numpy for its names of instructions. They differ between versions of numpy, which warn of unknown names.
ASK_NUMPY = """
import importlib
for name in ("numpy._core", "numpy.core"):
    try:
        numpy = importlib.import_module(name + "._multiarray_umath")
        break
    except ImportError:
        continue
else:
    raise SystemExit
print(*(name for name in numpy.__cpu_dispatch__ if numpy.__cpu_features__.get(name)))
"""


def level():
    """Returns the word after `tests/run.sh --as`, or an empty text for the machine's own processor."""
    word = os.environ.get("FP32_MATMUL_INSTRUCTIONS", "")
    assert word in ("", *LEVELS), f"tests know the levels {', '.join(LEVELS)}; FP32_MATMUL_INSTRUCTIONS is {word}"
    return word


@functools.cache
def numpy_names():
    """Returns the names of the instructions that the machine has and for which this Python's numpy has code."""
    found = subprocess.run([sys.executable, "-c", ASK_NUMPY], stdout=subprocess.PIPE, text=True, check=True)
    return found.stdout.split()


def environment():
    """Returns the variables that limit programs to the level. There are none for the machine's own processor."""
    if not level():
        return {}
    result = {"FP32_MATMUL_INSTRUCTIONS": level(), **LEVELS[level()].variables}
    newer = [name for name in numpy_names() if name not in LEVELS[level()].numpy.split()]
    if newer:
        result["NPY_DISABLE_CPU_FEATURES"] = ",".join(newer)
    return result


@functools.cache
def flags_of_machine():
    """Returns the kernel's names for the machine's instructions. Recordings have these even under `tests/run.sh --as`."""
    with open("/proc/cpuinfo", encoding="utf-8") as text:
        return next((line.split(":")[1].split() for line in text if line.startswith(("flags", "Features"))), [])


@functools.cache
def flags():
    """Returns the kernel's names for the instructions that tests may expect."""
    found = flags_of_machine()
    newer = LEVELS[level()].newer if level() else ()
    return frozenset(flag for flag in found if not flag.startswith(newer))


def has(flag):
    """Tells if programs may use an instruction of x86-64. `flag` is the kernel's name: avx2, avx512vl, amx_bf16 ..."""
    return flag in flags()


def openblas_kernels():
    """Returns the values of OPENBLAS_CORETYPE whose kernels run here. With other values, OpenBLAS dies of SIGILL."""
    if platform.machine() != "x86_64":
        return ["ARMV8"]
    needs = {"Prescott": "sse2", "Haswell": "avx2", "Zen": "avx2", "SkylakeX": "avx512vl"}
    return [kernel for kernel, flag in needs.items() if has(flag)]
