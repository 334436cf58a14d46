"""Recordings whose bytes were changed, by a disk or on purpose: every command that reads them ends with a status of its own,
soon, and in bounded memory. FP32SHIM_TEST_REPEATS makes this longer; FP32SHIM_TEST_SEED repeats a run."""

import collections
import os
import subprocess

import pytest

import shim
from command import COMMAND, environment
from recorded import record, seeded_random

REPEATS = int(os.environ.get("FP32SHIM_TEST_REPEATS", "30"))
COMMANDS = [["report"], ["report", "--format", "json"], ["report", "--format", "html"], ["report", "--format", "csv"],
            ["report", "--format", "prometheus"], ["log", "--format", "jsonl"], ["log", "--format", "chrome"],
            ["verify", "--at-least", "fp32"], ["diff"], ["report", "--format", "jsonl"],
            ["report", "--ran-below", "fp32", "--by", "host,policy,where"]]
MEMORY = 2 << 30


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    log = tmp_path_factory.mktemp("whole") / "run.fp32rec"
    record("products:5000", "sizes:500", "threads:3", log=log)
    return log


def damaged(content, moments):
    """Returns a copy in which some used bytes are changed, often in headers, which have numbers and offsets."""
    copy = bytearray(content)
    for _ in range(moments.choice([1, 2, 8, 64])):
        segment = moments.randrange(len(copy) // 65536) * 65536
        offset = segment + moments.choice([moments.randrange(64), moments.randrange(1024), moments.randrange(65536)])
        copy[offset] = moments.choice([0, 0xff, 0x7f, 0x80, copy[offset] ^ 1 << moments.randrange(8), moments.randrange(256)])
    return bytes(copy)


def test_a_recording_with_changed_bytes_crashes_no_reader(tmp_path, whole):
    moments = seeded_random()
    content = whole.read_bytes()
    file = tmp_path / "damaged.fp32rec"
    limited = [shim.tool("prlimit", "util-linux"), f"--as={MEMORY}"]
    ends = collections.Counter()
    for number in range(REPEATS):
        file.write_bytes(damaged(content, moments))
        for words in COMMANDS if REPEATS > 100 else moments.sample(COMMANDS, 3):
            files = [whole, file] if words == ["diff"] else [file]
            done = subprocess.run([*limited, str(COMMAND), *words, *map(str, files)], env=environment(), timeout=600,
                                  capture_output=True, check=False)
            assert 0 <= done.returncode <= 3, (number, words, done.returncode, done.stderr[-500:])
            assert b"terminate called" not in done.stderr
            ends[done.returncode] += 1
    print(f"{REPEATS} damaged recordings; ends of commands by status: {dict(sorted(ends.items()))}")
