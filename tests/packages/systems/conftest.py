import pathlib
import shutil
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[2] / "preload")]


@pytest.fixture
def scratch(tmp_path):
    """A folder for copies of systems, which take some 300 MB each: removed at once."""
    yield tmp_path
    for copy in tmp_path.iterdir():
        shutil.rmtree(copy)
