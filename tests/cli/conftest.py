import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "preload")]

import command  # noqa: E402


@pytest.fixture(autouse=True)
def command_is_built():
    command.shim.need(command.COMMAND.exists(), f"{command.COMMAND} was not built")
