"""The self-extracting file of packaging/packages.sh in bare Debian systems, the oldest and the newest. Part `packages` of
tests/nightly.sh."""

import shutil

import pytest

import packages
import shim
from debian_root import debian_root

# Built by zig, like the packages (`cmake --preset portable`), so it runs with C libraries of any age.
STAND_IN = shim.ROOT / "build/portable/tests/cublas/stand_in"


@pytest.mark.parametrize("release", ["bullseye", "trixie"])
def test_it_runs_in_a_bare_system(release, tmp_path):
    root = debian_root(release, tmp_path, packages.ARCHITECTURE)
    script = packages.package(f"fp32shim-*-gpu-check-linux-{packages.PROCESSOR}.sh")
    shutil.copy(script, root.folder / "check.sh")
    before = root.names()
    done = root.run("sh", "/check.sh", check=False)
    assert done.returncode == 77, done.stderr
    assert done.stderr == "gpu-check: no CUDA device: there is no libcuda.so.1, the NVIDIA driver's library\n"
    assert root.names() == before
    if not STAND_IN.exists():
        return
    shutil.copytree(STAND_IN, root.folder / "cuda", ignore=shutil.ignore_patterns("*.cmake", "CMakeFiles"))
    done = root.run("sh", "/check.sh", "--seconds", "60", "--libraries", "/cuda", "-o", "/report.json", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "shown      library " in done.stdout and " 0 wrong, 0 failed" in done.stdout
    assert {name for name in root.names() - before if not name.startswith("/cuda")} == {"/report.json"}
