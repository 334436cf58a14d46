"""These tests run in the virtual environment of the wheels (tests/wheels.sh) and start its interpreter."""

import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]

import shim  # noqa: E402


def pytest_report_header():
    return f"shim: {shim.LIBRARY}, wheels: {sys.prefix}"


def pytest_sessionstart():
    if not shim.LIBRARY.exists():
        pytest.exit(f"{shim.LIBRARY} is not there: build the project, or set FP32SHIM_LIBRARY", returncode=1)
