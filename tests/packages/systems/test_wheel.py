"""The wheels that packaging/wheel.sh built, in bare Debian systems, by pip alone. Part `wheel` of tests/nightly.sh."""

import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

import shim
from debian_root import debian_root
from packages import expect_needs_of_an_old_c_library

WHEELS = pathlib.Path(os.environ.get("FP32SHIM_WHEEL_FOLDER", shim.BUILD / "wheels-out"))
PYTHON_OF = {"bullseye": "3.9", "bookworm": "3.11", "trixie": "3.13"}
# 1 + 2^-12 is not a TF32 number and is rounded to 1, so the product is a sum of 64 ones.
PRODUCT = "import numpy; a = numpy.full((64, 64), 1 + 2**-12, numpy.float32); print((a @ a)[0, 0])"


def wheel(processor):
    found = sorted(WHEELS.glob(f"fp32shim-*-py3-none-manylinux*_{processor}.whl"))
    shim.need(found, f"no wheel for {processor} in {WHEELS}: packaging/wheel.sh")
    assert len(found) == 1, found
    return found[0]


def bare_system_with_numpy(release, folder, numpy, architecture="amd64"):
    """Returns a bare system that has numpy in the virtual environment /venv, and fp32shim's wheel in /tmp."""
    root = debian_root(release, folder, architecture)
    processor = {"amd64": "x86_64", "arm64": "aarch64"}[architecture]
    for file in wheel(processor), numpy(PYTHON_OF[release], processor):
        (root.folder / "tmp" / file.name).write_bytes(file.read_bytes())
    root.run("python3", "-m", "venv", "/venv")
    pip(root, "install", *root_paths(root, "numpy"))
    return root


def root_paths(root, name):
    return [f"/tmp/{path.name}" for path in (root.folder / "tmp").glob(f"{name}*.whl")]


def pip(root, *words):
    return root.run("/venv/bin/python3", "-m", "pip", "--quiet", "--no-cache-dir", "--disable-pip-version-check", *words,
                    *(["--no-index"] if words[0] == "install" else []))


def in_environment(root, *words, **variables):
    return root.run(*words, PATH="/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin", **variables)


@pytest.mark.parametrize("release", PYTHON_OF)
def test_pip_installs_it_into_a_bare_system_where_it_runs_and_removes_it_again(release, numpy_wheel, scratch):
    root = bare_system_with_numpy(release, scratch, numpy_wheel)
    version = in_environment(root, "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])").stdout.strip()
    assert version == PYTHON_OF[release]
    before = root.names()
    pip(root, "install", *root_paths(root, "fp32shim"))

    done = in_environment(root, "fp32shim", "run", "--precision", "high", "--cpu", "emulate", "--log", "/run.fp32rec", "--",
                          "python3", "-c", PRODUCT)
    assert done.stdout == "64.0\n", done.stderr
    assert in_environment(root, "python3", "-c", PRODUCT).stdout == "64.03125\n"
    code = """import fp32shim
print([(row["function"], row["applied"], row["calls"]) for row in fp32shim.Recording("/run.fp32rec").rows()])
print(fp32shim.library_path(), fp32shim.command_path())"""
    told = in_environment(root, "python3", "-c", code).stdout.splitlines()
    assert told == ["[('scipy_cblas_sgemm64_', 'tf32', 1)]", "/venv/lib/libfp32shim.so /venv/bin/fp32shim"]
    seen = in_environment(root, "fp32shim", "doctor", "--", "python3", "-c", "import numpy", check=False)
    assert "preload       reaches it" in seen.stdout and seen.returncode == 1, seen.stderr  # numpy's own LAPACK is not seen

    pip(root, "uninstall", "--yes", "fp32shim")
    left = root.names() - before - {"/run.fp32rec"}
    # pip does not remove folders that all packages share if it finds no file directly in them.
    assert {path for path in left if (root.folder / path[1:]).is_file() or "fp32shim" in path} == set(), left


def test_the_wheel_for_aarch64_runs_in_a_bare_system_of_that_processor(numpy_wheel, scratch):
    root = bare_system_with_numpy("bullseye", scratch, numpy_wheel, architecture="arm64")
    pip(root, "install", *root_paths(root, "fp32shim"))
    assert in_environment(root, "uname", "-m").stdout == "aarch64\n"
    done = in_environment(root, "fp32shim", "run", "--precision", "high", "--cpu", "emulate", "--", "python3", "-c", PRODUCT)
    assert done.stdout == "64.0\n", done.stderr
    assert re.fullmatch(r"fp32shim \d+\.\d+\.\d+\n", in_environment(root, "fp32shim", "--version").stdout)


@pytest.mark.parametrize("processor", ["x86_64", "aarch64"])
def test_the_binaries_need_nothing_newer_than_the_c_library_2_17(processor, tmp_path):
    with zipfile.ZipFile(wheel(processor)) as archive:
        archive.extractall(tmp_path)
    expect_needs_of_an_old_c_library(tmp_path)


def test_both_wheels_hold_the_same_files():
    def names(processor):
        with zipfile.ZipFile(wheel(processor)) as archive:
            return sorted(archive.namelist())

    assert names("x86_64") == names("aarch64")


def test_pip_finds_no_wheel_for_musl_and_says_so(tmp_path):
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-index",
                           "--disable-pip-version-check", "--platform=musllinux_1_2_x86_64", f"--find-links={WHEELS}",
                           "--dest", tmp_path, "fp32shim"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "No matching distribution found for fp32shim" in done.stderr
