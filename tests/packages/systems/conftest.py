import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[2] / "preload")]


@pytest.fixture
def scratch(tmp_path):
    """A folder for copies of systems, which take some 300 MB each. It is removed right after the test."""
    yield tmp_path
    for copy in tmp_path.iterdir():
        shutil.rmtree(copy)


@pytest.fixture(scope="module")
def numpy_wheel(tmp_path_factory):
    """Downloads numpy for a version of Python. numpy_wheel(version, processor) -> file"""
    folder = tmp_path_factory.mktemp("numpy")

    def download(version, processor):
        platforms = [f"--platform=manylinux_{glibc}_{processor}" for glibc in ("2_17", "2_27", "2_28")]
        target = folder / f"{version}-{processor}"
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--only-binary=:all:", f"--python-version={version}", f"--platform=manylinux2014_{processor}",
                        *platforms, "--dest", target, "numpy"], check=True)
        (found,) = target.glob("*.whl")
        return found

    return download
