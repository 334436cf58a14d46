"""Triton, with its own compiler and launcher, and cuda.bindings launch kernels on the driver's stand-in, without torch."""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sysconfig

import pytest

import shim
from shim import need
from wheels import HERE, PREFIX, start

KERNELS = PREFIX / "kernels"
STAND_IN = shim.BUILD / "tests/cublas/stand_in"
COMMAND = pathlib.Path(os.environ.get("FP32SHIM_COMMAND", shim.BUILD / "bin/fp32shim"))


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """The cache with what Triton has compiled: its own helper, and kernels."""
    return tmp_path_factory.mktemp("triton")


def run(script, *words, cache=None, compute_capability="9.0", more=None, **keywords):
    """Runs a script on the stand-in. Returns its result, and {kernel: (direct launches, launches by replays)}."""
    need(KERNELS.exists(), f"{KERNELS} is not there: tests/wheels.sh --prepare")
    need(STAND_IN.exists(), f"{STAND_IN} was not built")
    if cache:
        need(shutil.which("gcc") and pathlib.Path(sysconfig.get_path("include"), "Python.h").exists(),
             "Triton needs gcc and the headers of Python")
    folder = cache or keywords.pop("folder")
    packages = folder / "site-packages"  # by this name, Triton's frames are those of a package, and not the program's
    if not packages.exists():
        packages.symlink_to(KERNELS)
    counts = folder / "launches"
    counts.unlink(missing_ok=True)
    result = start(script, *words, libraries=[STAND_IN], **keywords,
                   env={"PYTHONPATH": str(packages), "STAND_IN_COMPUTE_CAPABILITY": compute_capability,
                        "STAND_IN_LAUNCHES": str(counts), "TRITON_LIBCUDA_PATH": str(STAND_IN),
                        "TRITON_CACHE_DIR": str(cache), "TRITON_DEFAULT_FP_FUSION": "1", **(more or {})})
    rows = [line.split() for line in counts.read_text().splitlines()]
    return result, {name: (int(direct), int(replayed)) for direct, replayed, name in rows}


@pytest.mark.parametrize("compute_capability", ["8.0", "9.0", "10.0"])
def test_triton_launches_its_kernels_on_the_stand_in(compute_capability, cache):
    _, counts = run("triton_dot.py", 5, cache=cache, compute_capability=compute_capability, preload=False)
    assert counts == {"dot_tf32": (5, 0), "dot_ieee": (5, 0), "dot_tf32x3": (5, 0)}
    made = {path.stem: path.read_text() for path in cache.glob("*/dot_*.ptx")
            if f".target sm_{compute_capability.replace('.', '')}" in path.read_text()}
    # The kernels differ as their names say: those below FP32 have tensor-core instructions for TF32.
    assert {name for name, text in made.items() if re.search(r"\.tf32|kind::tf32", text)} == {"dot_tf32", "dot_tf32x3"}
    assert set(made) == set(counts)


def test_cuda_bindings_launch_a_kernel_and_a_graph_on_the_stand_in(tmp_path):
    _, counts = run("cuda_bindings_launch.py", "bound", 4, 3, folder=tmp_path, preload=False)
    assert counts == {"bound": (4, 3)}


# ---- under the shim


def said(*words):
    return subprocess.run([COMMAND, *map(str, words)], text=True, capture_output=True, check=False, env=shim.environment()).stdout


def verify(log):
    return json.loads(said("verify", "--at-least", "fp32", "--format", "json", log))


def rows_of(log):
    return [row for row in json.loads(said("report", "--format", "json", log))["rows"] if row["function"].startswith("kernel:")]


def counts_of(rows):
    counts = collections.Counter()
    for row in rows:
        counts[row["function"].removeprefix("kernel:")] += row["calls"]
    return dict(counts)


RECORDED = {"FP32_MATMUL_KERNELS": "1", "FP32_MATMUL_WHERE": "python"}


@pytest.mark.parametrize("compute_capability", ["8.0", "9.0", "10.0"])
def test_the_kernels_of_triton_are_recorded_with_their_lines_and_judged_by_their_instructions(compute_capability, cache, tmp_path):
    log = tmp_path / "run.fp32rec"
    plain, counts = run("triton_dot.py", 5, cache=cache, compute_capability=compute_capability, preload=False)
    seen, counts_seen = run("triton_dot.py", 5, cache=cache, compute_capability=compute_capability, log=log, more=RECORDED)
    assert (seen.stdout, counts_seen) == (plain.stdout, counts)
    rows = rows_of(log)
    assert counts_of(rows) == {name: direct for name, (direct, _) in counts.items()} == {"dot_tf32": 5, "dot_ieee": 5, "dot_tf32x3": 5}
    source = (HERE / "triton_dot.py").read_text().splitlines()
    line, = [number for number, text in enumerate(source, 1) if "globals()" in text]
    assert all(f"triton_dot.py:{line}" in row["where"] for row in rows), [row["where"] for row in rows]
    verdict = verify(log)
    assert (verdict["kernels"]["full"], verdict["kernels"]["unknown"]) == (["dot_ieee"], ["dot_tf32", "dot_tf32x3"])
    clauses = [doubt["reason"] for doubt in verdict["doubts"] if "launches of the kernel" in doubt["reason"]]
    assert len(clauses) == 2 and all("it has TF32 instructions, so it multiplies in TF32 or in 3×TF32" in clause for clause in clauses)
    assert "Triton" in [bypass["bypass"] for bypass in verdict["recorded_bypasses"]]
    assert verdict["verdict"] == "inconclusive"


def test_kernels_of_ieee_alone_leave_no_doubt(cache, tmp_path):
    log = tmp_path / "run.fp32rec"
    run("triton_dot.py", 2, "ieee", cache=cache, log=log, more=RECORDED)
    verdict = verify(log)
    assert (verdict["kernels"]["full"], verdict["kernels"]["unknown"]) == (["dot_ieee"], [])
    assert [doubt for doubt in verdict["doubts"] if "kernel" in doubt["reason"]] == []
    text = said("verify", "--at-least", "fp32", log)
    assert "1 multiplied at float32 or wider, if at all." in text


def test_launches_of_cuda_bindings_are_recorded(tmp_path):
    log = tmp_path / "run.fp32rec"
    _, counts = run("cuda_bindings_launch.py", "bound", 4, 3, folder=tmp_path, log=log, more=RECORDED)
    rows = rows_of(log)
    assert counts == {"bound": (4, 3)} and counts_of(rows) == {"bound": 5, "graph replay": 3}
    assert all("cuda_bindings_launch.py:" in row["where"] for row in rows if row["function"] == "kernel:bound")
