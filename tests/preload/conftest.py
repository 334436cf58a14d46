import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]

import shim  # noqa: E402

# tests/wheels.sh tests the wheels in a separate virtual environment.
collect_ignore = ["wheels"]


def pytest_report_header():
    return f"shim: {shim.LIBRARY}{'' if shim.LIBRARY.exists() else ' (NOT BUILT)'}, clients: {shim.CLIENTS}"


@pytest.fixture(params=shim.LP64_BLAS)
def blas(request):
    """Each BLAS with 32-bit integers in turn. A BLAS that is not installed is skipped."""
    shim.blas_directory(request.param)
    return request.param
