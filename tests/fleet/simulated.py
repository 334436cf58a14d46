"""A fleet of 1,000 hosts: each has one recording, written by the shim's writer."""

import hashlib
import struct
import subprocess

import shim
from command import environment, fp32shim

HOSTS = 1000
BELOW = {13: 23, 500: 510}  # hosts that ran TF32, and the numbers of their TF32 calls
SLOW = 700  # the host whose products take three times as long
DAMAGED = {"truncated": 21, "empty": 22, "newer": 23, "foreign": 24}
FULL = 30


def host_name(number):
    return f"node{number:04}"


def policy_of(number):
    name, revision = ("old", "3") if number % 100 == 13 else ("fleet", "7")
    return name, revision, hashlib.sha256((name + revision).encode()).hexdigest()


def executable_of(number):
    return "/opt/app/serve" if number % 4 == 0 else "/opt/app/train"


def calls_of(number):
    return 10 + number


def line_of(path, number):
    """Returns words for make_recording: a product at one of three lines of Python, and one that asks for nothing."""
    applied, reason = ("tf32", "as_requested") if number in BELOW else ("fp32", "cpu_mode_off")
    ticks = 3_000_000 if number == SLOW else 1_000_000
    facts = (f"--host {host_name(number)} --job {number // 10} --rank {number % 10} --executable {executable_of(number)} "
             f"--policy {','.join(policy_of(number))}" + (" --rows 2" if number == FULL else ""))
    return (f"{path} summary {facts} "
            f"sgemm_:64:high:{applied}:{reason}:{calls_of(number)}:1:{ticks}::main@train.py@{10 + number % 3} "
            "cblas_sgemm:128:native:fp32:as_requested:5:1:1000000")


def damage(path, how):
    content = bytearray(path.read_bytes())
    if how == "truncated":
        del content[65536:]
    elif how == "empty":
        content.clear()
    elif how == "newer":
        content[8:12] = struct.pack("<I", struct.unpack_from("<I", content, 8)[0] + 1)
    else:
        content = b"something else\n"
    path.write_bytes(content)


class Fleet:
    def __init__(self, folder):
        self.folder = folder / "recordings"
        self.folder.mkdir()
        self.paths = [self.folder / f"{host_name(number)}.fp32rec" for number in range(HOSTS)]
        lines = "".join(line_of(path, number) + "\n" for number, path in enumerate(self.paths))
        subprocess.run([shim.client("make_recording"), "--lines"], input=lines, text=True, capture_output=True, check=True,
                       env=environment())
        for how, number in DAMAGED.items():
            damage(self.paths[number], how)
        self.lines = folder / "fleet.jsonl"
        self.written = fp32shim("report", "--format", "jsonl", "--output", self.lines, self.folder)

    def groups(self, by, *words):
        """Returns the groups of `report --by`."""
        return fp32shim("report", "--format", "json", "--by", by, *words, self.folder).json["groups"]
