"""Open MPI, on this machine: a recording for each rank, and one report of them all."""

import os
import shutil
import signal
import subprocess

import pytest

import page
import shim
from command import COMMAND, environment, fp32shim

# Settings for version 4, then for version 5: also as root, on few processors, and without a network.
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,vader",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_plm": "isolated",
            "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
RANKS = page.FILES / "mpi/ranks.py"
# Sum over the ranks r: 32 (r + 1) rows of 256 entries r + 1, times a 256x256 matrix of ones.
SUM = sum(32 * (rank + 1) * (rank + 1) * 256 * 256 for rank in range(4))

# Rank 2 is killed after its product, while the others wait for it.
KILLED = """
import os, signal, numpy
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
ones = numpy.ones((64, 64), dtype=numpy.float32)
for _ in range(1000):
    ones @ ones[:, :8]
MPI.COMM_WORLD.Barrier()
if rank == 2:
    os.kill(os.getpid(), signal.SIGKILL)
MPI.COMM_WORLD.Barrier()
"""


@pytest.fixture(autouse=True)
def ready():
    shim.tool("mpirun.openmpi", "openmpi-bin")
    shim.need(shim.has_module("mpi4py") and shim.has_module("numpy"), "no python3-mpi4py, or no numpy")


def mpirun(log, *program, **variables):
    words = [shim.tool("mpirun.openmpi"), "-n", "4", COMMAND, "run", "-q", "--log", log, "--", shim.SYSTEM_PYTHON, *program]
    return subprocess.run(words, env=environment(**OPEN_MPI, **variables), capture_output=True, text=True, timeout=600,
                          stdin=subprocess.DEVNULL, check=False)


def processes_in(folder):
    report = fp32shim("report", "--format", "json", folder).json
    return report["totals"]["calls"], sorted((process["rank"], process["calls"]) for process in report["processes"])


def test_each_rank_has_a_recording_and_one_report_sums_them_up(tmp_path):
    shutil.copy(RANKS, tmp_path)
    done = subprocess.run(["bash", "-euc", page.block("mpirun -n 4 ")], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env=environment(**OPEN_MPI, PATH=f"{COMMAND.parent}:{os.path.dirname(shim.SYSTEM_PYTHON)}:/usr/bin"))
    assert done.returncode == 0 and f"4 ranks, sum {SUM}\n" in done.stdout, done.stderr
    assert "4 calls in 4 recordings on 1 machine" in done.stdout
    (tmp_path / RANKS.name).unlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"run.{rank}.fp32rec" for rank in range(4)]
    assert processes_in(tmp_path) == (4, [(rank, 1) for rank in range(4)])


def test_ranks_are_mpis_own_in_a_batch_script_of_slurm(tmp_path):
    done = mpirun(tmp_path / "run.%j.%r.fp32rec", RANKS, SLURM_JOB_ID="5", SLURM_PROCID="0")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"run.5.{rank}.fp32rec" for rank in range(4)]


def test_a_killed_rank_leaves_all_recordings_whole(tmp_path):
    done = mpirun(tmp_path / "run.%r.fp32rec", "-c", KILLED)
    assert done.returncode == 128 + signal.SIGKILL and "signal 9" in done.stderr
    assert processes_in(tmp_path) == (4000, [(rank, 1000) for rank in range(4)])
    assert fp32shim("report", tmp_path).returncode == 0  # no recording is damaged
    verdict = fp32shim("verify", "--at-least", "fp32", tmp_path)
    assert verdict.returncode == 3 and "the process was killed" in verdict.stdout
