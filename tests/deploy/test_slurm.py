"""The TaskProlog of docs/deploy.md, with the variables that Slurm sets. tests/deploy/roots runs it under Slurm."""

import os
import re
import shutil
import subprocess

import pytest

import page
import shim
from command import environment, fp32shim

PLACE = "/usr/local/lib/libfp32shim.so"


@pytest.fixture
def prolog(tmp_path):
    """Runs the prolog with a task's environment. Returns the environment that the task gets."""
    script = tmp_path / "task-prolog.sh"
    script.write_text((page.FILES / "slurm/task-prolog.sh").read_text().replace(PLACE, str(shim.LIBRARY)))

    def task(path=script, **variables):
        before = {**environment(), **variables}
        done = subprocess.run(["sh", "-eu", path], env=before, capture_output=True, text=True, check=True)
        exports = re.findall(r"^export (\w+)=(.*)$", done.stdout, re.MULTILINE)
        assert len(exports) == len(done.stdout.splitlines()) and done.stderr == ""
        return {**before, **dict(exports)}
    return task


def test_tasks_record_by_job_and_rank(prolog, tmp_path):
    shim.need(shim.has_module("numpy"), "no numpy")
    for rank in range(2):
        task = prolog(SLURM_JOB_ID="77", SLURM_PROCID=str(rank))
        task["FP32_MATMUL_LOG"] = task["FP32_MATMUL_LOG"].replace("/var/log/fp32shim", str(tmp_path))
        subprocess.run([shim.SYSTEM_PYTHON, page.PAGE.parents[1] / "tests/deploy/model.py"], env=task, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    processes = fp32shim("report", "--format", "json", tmp_path).json["processes"]
    assert sorted((process["job_id"], process["rank"], process["calls"]) for process in processes) == [
        ("77", 0, 1), ("77", 1, 1)]


def test_a_task_of_a_task_is_preloaded_once_and_keeps_its_log(prolog):
    task = prolog(SLURM_JOB_ID="77")
    assert prolog(**task) == task
    assert prolog(FP32_MATMUL_LOG="/x/%p.fp32rec")["FP32_MATMUL_LOG"] == "/x/%p.fp32rec"


def test_the_lines_of_the_page_pin_what_run_does_and_leave_the_excepted_group_out(prolog, tmp_path):
    lines = re.search(r"```sh\n(case .*?)```", (page.PAGE.parent / "force-fp32.md").read_text(), re.DOTALL)[1]
    pins = re.findall(r'^    \{pin_\w+, "(.*?)=(.*?)"', (shim.ROOT / "record/pinned_variables.hpp").read_text(), re.MULTILINE)
    assert len(pins) > 5
    script = tmp_path / "pins.sh"
    script.write_text(lines)
    assert prolog(script) == environment() | dict(pins)
    script.write_text(lines.replace(" 4242 ", f" {os.getgid()} "))
    assert prolog(script) == environment()


def test_without_the_library_a_task_is_left_alone(prolog):
    assert prolog(page.FILES / "slurm/task-prolog.sh") == environment()


def test_a_task_gets_the_library_of_the_deb(prolog, tmp_path):
    library = tmp_path / f"usr/lib/{os.uname().machine}-linux-gnu/fp32shim/libfp32shim.so"
    library.parent.mkdir(parents=True)
    shutil.copy(shim.LIBRARY, library)
    script = tmp_path / "deb.sh"
    script.write_text((page.FILES / "slurm/task-prolog.sh").read_text().replace("/usr/l", f"{tmp_path}/usr/l"))
    assert prolog(script)["LD_PRELOAD"] == str(library)
