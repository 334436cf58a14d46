"""Time and memory that many recordings take; tests/nightly.sh has 10,000 of them."""

import os
import subprocess

import pytest

import shim
from command import environment
from simulated import host_name
from test_scale import measured

COUNT = int(os.environ.get("FP32SHIM_FLEET_RECORDINGS", "300"))
GIB = 1 << 30
OF_A_PROCESS = 1000  # recordings that one process writes; few, because the pages of a recording stay mapped


@pytest.fixture(scope="module", params=["same", "distinct"])
def recordings(request, tmp_path_factory):
    """Recordings of 1,000 decisions each, one from each host. The decisions are the same everywhere, or all different."""
    folder = tmp_path_factory.mktemp(request.param)
    for first in range(0, COUNT, OF_A_PROCESS):
        lines = []
        for number in range(first, min(first + OF_A_PROCESS, COUNT)):
            size = 1000 * number if request.param == "distinct" else 0
            lines.append(f"{folder}/{number}.fp32rec summary --host {host_name(number)} "
                         f"sgemm_:{size + 1}-{size + 1000}:high:tf32:as_requested:1\n")
        subprocess.run([shim.client("make_recording"), "--lines"], input="".join(lines), text=True, capture_output=True,
                       check=True, env=environment())
    return request.param, folder


@pytest.mark.parametrize("words", [["report"], ["report", "--by", "host,where"], ["verify", "--at-least", "fp32"],
                                   ["report", "--format", "jsonl"]], ids=" ".join)
def test_many_recordings_take_seconds_and_little_memory(recordings, words):
    """10,000 recordings of the same 1,000 decisions take at most 1 GiB, and 20 s of processor time (10 s on two cores)."""
    kind, folder = recordings
    status, seconds, memory, errors = measured(*words, folder)
    assert status in (0, 1) and errors == ""
    print(f"{COUNT} recordings, {kind}: {' '.join(words)}: {seconds:.2f} s, {memory >> 20} MiB")
    if words[-1] == "jsonl":
        assert memory < 64 << 20
    elif kind == "same":
        assert memory < max(GIB * COUNT // 10_000, 64 << 20)
    if kind == "same" and words[-1] != "jsonl":
        assert seconds < 20 * max(COUNT / 10_000, 1)
