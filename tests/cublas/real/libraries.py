"""The real libcublas and libcublasLt on this machine: a CUDA toolkit's, and those that tests/wheels.sh fetches."""

import dataclasses
import functools
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "preload"))

from shim import BUILD, need, tool  # noqa: E402

STAND_IN = BUILD / "tests/cublas/stand_in"
CLIENTS = BUILD / "tests/cublas/real"


@dataclasses.dataclass(frozen=True)
class Libraries:
    directory: pathlib.Path
    major: int  # number in the soname: libcublas.so.MAJOR

    @property
    def cublas(self):
        return self.directory / f"libcublas.so.{self.major}"

    @property
    def cublas_lt(self):
        return self.directory / f"libcublasLt.so.{self.major}"


def _candidates():
    """Returns, for each name that tests use, the directories where that library may be, and why it may be missing."""
    homes = [os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    if include := os.environ.get("FP32SHIM_CUDA_INCLUDE"):
        homes.insert(0, pathlib.Path(include).parent)
    toolkits = [pathlib.Path(home, folder) for home in homes if home for folder in ("lib64", "lib")]
    wheels = pathlib.Path(os.environ.get("FP32SHIM_WHEELS") or BUILD / "no-wheels", "cublas/nvidia")
    no_wheel = "the wheel is not here: tests/wheels.sh --prepare, and FP32SHIM_WHEELS"
    return {
        "toolkit": (13, toolkits, "no CUDA toolkit 13 with libcublas is installed"),
        "12.9": (12, [wheels / "cublas/lib"], no_wheel),
        "13.10": (13, [wheels / "cu13/lib"], no_wheel),
    }


NAMES = list(_candidates())


@functools.cache
def find(name):
    """Returns the libraries of that name, or None if they are not installed."""
    major, directories, _ = _candidates()[name]
    for directory in directories:
        found = Libraries(directory, major)
        if found.cublas.exists() and found.cublas_lt.exists():
            return found
    return None


def get(name):
    """Returns the libraries of that name. Skips the test if they are not installed."""
    found = find(name)
    need(found, _candidates()[name][2])
    return found


@functools.cache
def exports(path):
    """Returns the symbols that a library defines for others: {name: version node, or ""}."""
    listing = subprocess.run([tool("nm", "binutils"), "-D", "--defined-only", "--with-symbol-versions", path],
                             check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^\S+ ([A-Za-z]) ([^@\s]+)(?:@+(\S+))?$", listing, re.MULTILINE)
    return {name: node for kind, name, node in found if kind != "A"}  # kind A marks the version nodes themselves
