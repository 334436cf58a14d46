"""What the tests of this folder share. `start` is shim.run for programs that bring their own BLAS."""

import fnmatch
import pathlib
import sys

import shim

HERE = pathlib.Path(__file__).resolve().parent
PREFIX = pathlib.Path(sys.prefix)

# Lets programs keep byte code. tests/wheels.sh unpacks none, so the first program that imports a module compiles it
# for all others. Without byte code torch takes twice as long to start.
KEEP_BYTE_CODE = {"PYTHONDONTWRITEBYTECODE": ""}

EMULATE_TF32 = {"precision": "high", "cpu": "emulate"}
EMULATE_BF16 = {"precision": "medium", "cpu": "emulate"}


def start(*words, env=None, **keywords):
    """Runs a program. A first word that ends in .py names a script of this folder, which the wheels' Python runs."""
    if str(words[0]).endswith(".py"):
        words = (sys.executable, HERE / words[0], *words[1:])
    return shim.run(*words, blas=None, env={**KEEP_BYTE_CODE, **(env or {})}, **keywords)


def describe(decision):
    """Returns `function caller provider`, as in expected.py."""
    return f"{decision['function']} {decision['caller']} {decision['provider']}"


def matches(decision, pattern):
    return fnmatch.fnmatchcase(describe(decision), pattern)
