"""Runs the client `steps` under the shim with a recording, and reads what is in it.

    result = record("products:100", "forks:3", log=folder / "run.fp32rec")
    assert read(folder / "run.fp32rec")["calls"] == 100
"""

import json
import os
import random
import subprocess
import tempfile

import shim
from command import COMMAND, environment, fp32shim

# Exit status of the client `steps` after it has done all of its steps.
ALL_DONE = 3
# Command prefix that gives a program its own mounts, which vanish when the program ends.
OWN_MOUNTS = ["unshare", "--mount", "--propagation", "private"]


def record(*steps, log, level="calls", settings="", program="steps", **keywords):
    """Runs steps of a client under the shim, and returns the result. `settings` are lines of `[log]` in the policy."""
    keywords = {"blas": None, "check": False, "env": {"FP32_MATMUL_LOG_LEVEL": level}, **keywords}
    if settings:
        keywords["policy"] = f"schema = 1\n[log]\n{settings}\n"
    return shim.run(program, *steps, log=log, **keywords)


def record_beside_plain(*steps, log, **keywords):
    """Runs steps under the shim and without it. Both runs must print and end the same. Returns the run under the shim."""
    plain = shim.run("steps", *steps, preload=False, blas=None, check=False,
                     **{name: value for name, value in keywords.items() if name in ("prefix", "cwd")})
    recorded = record(*steps, log=log, **keywords)
    assert recorded.stdout == plain.stdout, shim.explain(recorded)
    assert recorded.returncode == plain.returncode == ALL_DONE, shim.explain(recorded)
    return recorded


def seeded_random():
    """Returns random numbers with the seed FP32SHIM_TEST_SEED, or with a random seed. Prints the seed."""
    seed = int(os.environ.get("FP32SHIM_TEST_SEED", random.randrange(1 << 32)))
    print(f"FP32SHIM_TEST_SEED={seed} repeats this run")
    return random.Random(seed)


def image_and_mount_point(folder, file_system, package, size):
    """Returns an image with a file system, and a folder to mount it at. Skips the test if it cannot be mounted."""
    shim.need(os.geteuid() == 0, "only root can mount an image")
    image, disk = folder / "image", folder / "disk"
    disk.mkdir()
    image.touch()
    os.truncate(image, size)
    subprocess.run([shim.tool(f"mkfs.{file_system}", package), "-q", image], check=True, capture_output=True)
    probe = subprocess.run([*OWN_MOUNTS, "mount", "-o", "loop", image, disk], capture_output=True, text=True, check=False)
    shim.need(probe.returncode == 0, f"no {file_system} can be mounted here: {probe.stderr.strip()}")
    return image, disk


def another_user(number=54321):
    """Returns words before a program that then runs as a user who owns nothing. Skips the test if that is impossible."""
    shim.need(os.geteuid() == 0, "only root can be another user")
    words = [shim.tool("setpriv", "util-linux"), f"--reuid={number}", f"--regid={number}", "--clear-groups"]
    tried = subprocess.run([*words, str(COMMAND), "--version"], env=environment(LD_PRELOAD=shim.LIBRARY),
                           capture_output=True, check=False)
    shim.need(tried.returncode == 0 and not tried.stderr, "another user cannot reach this build")
    shim.need(subprocess.run([*words, "test", "-x", tempfile.gettempdir()], check=False).returncode == 0,
              "another user cannot reach temporary files")
    return words


def said(result):
    """Returns the shim's own lines on standard error."""
    return [line for line in result.stderr.splitlines() if line.startswith("fp32shim: ")]


def read(recording):
    """Returns the threads and events of a recording, as clients/read_recording.cpp prints them."""
    done = subprocess.run([str(shim.client("read_recording")), str(recording)], text=True, capture_output=True,
                          check=False, env=environment())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def report(*recordings):
    """Returns the report of recordings, in which `fp32shim report` must find no fault."""
    result = fp32shim("report", "--format", "json", *recordings)
    assert result.returncode == 0, result.stderr
    return result.json


def calls_of(*recordings):
    """Returns the number of calls in each recording. Each must be complete, with an event for every call."""
    calls = []
    for recording in recordings:
        content = read(recording)
        assert content["problems"] == content["unknown_rows"] == content["dropped_events"] == 0, content
        assert content["events"] == content["calls"], content
        calls.append(content["calls"])
    assert report(*recordings)["totals"]["calls"] == sum(calls)
    return calls


def recordings_in(folder):
    """Returns all recordings in a folder, the oldest first."""
    return sorted(folder.glob("*.fp32rec"), key=lambda path: (path.stat().st_mtime_ns, path.name))
