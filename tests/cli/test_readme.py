"""The commands of the README, as they stand there and in their order: a later one reads what an earlier one recorded."""

import os
import re
import subprocess

import pytest

import shim
from command import COMMAND, environment, live_recording

README = (shim.ROOT / "README.md").read_text()
COMMANDS = re.search(r"## Most used commands\n\n```sh\n(.*?)```", README, re.DOTALL)[1].splitlines()
MODEL = "import numpy\na = numpy.full((64, 64), 1 + 2**-12, numpy.float32)\nprint((a @ a)[0, 0])\n"
TEST = f"""#!/bin/sh
test "$({shim.SYSTEM_PYTHON} model.py)" = 64.03125
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the commands name, and `python3` and `fp32shim` to name them to."""
    shim.need(shim.has_module("numpy"), "no numpy")
    made = tmp_path_factory.mktemp("readme")
    (made / "model.py").write_text(MODEL)
    (made / "policy.toml").write_text((shim.ROOT / "config/pin-fp32.toml").read_text())
    (made / "test.sh").write_text(TEST)
    (made / "test.sh").chmod(0o755)
    (made / "programs").mkdir()
    (made / "programs/python3").symlink_to(shim.SYSTEM_PYTHON)
    (made / "programs/fp32shim").symlink_to(COMMAND)
    return made


def run(line, folder):
    done = subprocess.run(["sh", "-c", line], env=environment(PATH=f"{folder / 'programs'}:{os.environ['PATH']}", HOME=folder),
                          cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    done.text = f"{line}\nended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


# Patterns of the output of commands with this beginning, on both streams. The output of `run` includes what the model
# prints.
SAYS = {
    "fp32shim doctor -- ": "_multiarray_umath.* calls cblas_sgemm",
    "fp32shim run -- ": r"(?s)64\.03125.*1 call .*fp32 ",
    "fp32shim run --precision high --cpu emulate ": r"(?s)64\.0\n.*tf32 ",
    "fp32shim run --precision high -- ": r"64\.03125",
    "fp32shim run --pin ": r"64\.03125",
    "fp32shim run --policy ": r"(?s)64\.03125.*recorded in run.fp32rec",
    "fp32shim explain ": "fp32",
    "fp32shim run --where auto ": r"model\.py:3",
    "fp32shim report --format html ": "^$",
    "fp32shim report --diff ": "tf32",
    "fp32shim verify ": "fp32",
    "fp32shim bisect ": r"model\.py:3",
    "fp32shim sensitivity ": r"model\.py:3 +.* high +[1-9]",
    "fp32shim set 4711 high": "high",
}


def test_every_command_of_the_readme_is_known_here():
    assert [line for line in COMMANDS if sum(line.startswith(start) for start in SAYS) != 1] == []
    assert len(COMMANDS) == len(SAYS)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_readme_runs(line, folder):
    if "before.fp32rec after.fp32rec" in line:
        for name, options in ("before", ""), ("after", "--precision high --cpu emulate"):
            assert run(f"fp32shim run -q {options} --log {name}.fp32rec -- python3 model.py", folder).returncode == 0
    process = live_recording(folder / "live.fp32rec", "summary", "cblas_sgemm:8:native:fp32:as_requested:1") if " 4711 " in line else None
    try:
        done = run(line.replace("4711", str(process.pid)) if process else line, folder)
    finally:
        if process:
            process.communicate()
    (start,) = [start for start in SAYS if line.startswith(start)]
    # Depending on the system's LAPACK, products of numpy's LAPACK may not be seen, which these two commands report.
    statuses = {"fp32shim doctor -- ": (0, 1), "fp32shim verify ": (0, 3)}
    assert done.returncode in statuses.get(start, (0,)), done.text
    assert re.search(SAYS[start], done.stdout + done.stderr), done.text
