import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli"), str(HERE.parent / "preload")]

import command  # noqa: E402
import simulated  # noqa: E402


@pytest.fixture(autouse=True, scope="session")
def all_is_built():
    for path in (command.COMMAND, command.shim.CLIENTS / "make_recording"):
        command.shim.need(path.exists(), f"{path} was not built")


@pytest.fixture(scope="session")
def fleet(all_is_built, tmp_path_factory):
    return simulated.Fleet(tmp_path_factory.mktemp("fleet"))
