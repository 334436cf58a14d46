import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli"), str(HERE.parent / "preload")]

import command  # noqa: E402


@pytest.fixture(autouse=True)
def all_is_built():
    for path in (command.shim.LIBRARY, command.COMMAND, command.shim.CLIENTS / "steps"):
        command.shim.need(path.exists(), f"{path} was not built")
