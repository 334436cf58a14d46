import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "cli"), str(HERE.parents[1] / "preload")]

import pytest  # noqa: E402

import root  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def systems():
    root.install()
