"""Recordings that are large, many or mostly holes: what commands then take of time, memory and open files."""

import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import time

import pytest
from command import COMMAND, environment, fp32shim, live_recording, make_recording

SEGMENT = 65536
STRINGS, ROWS, COUNTERS, RING = 1, 2, 3, 4
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "unit/record/golden/recording_version1_summary.fp32rec"
MIB = 1 << 20


def header(*, segments, start=1, level=1):
    """Returns the header of a recording with this number of segments, by the process of the golden file."""
    golden = bytearray(GOLDEN.read_bytes()[:SEGMENT])
    golden[4096:4160] = bytes(64)  # removes the change, whose text is elsewhere
    struct.pack_into("<Q", golden, 48, start)
    golden[109] = level
    struct.pack_into("<I", golden, 256, segments + 1)
    struct.pack_into("<I", golden, 292, 0)
    struct.pack_into("<I", golden, 296, segments)
    return golden


def segment(kind, sequence, content, *, slot=0, count=0):
    head = struct.pack("<4I", kind, slot, sequence, count).ljust(64, b"\0")
    return (head + content).ljust(SEGMENT, b"\0")


def text(content):
    return (struct.pack("<I", len(content) + 1) + content).ljust(16 * (-(-(len(content) + 4) // 16)), b"\0")


def row(number):
    """Returns a row whose m, n and k come from its number. Its function is text 4, its caller 5, its provider 6. It asked
    for `high`, so it ran at TF32."""
    return struct.pack("<4q7I3i10B6xI4x", 1 + number % 1000, 1 + number // 1000, 8, 1, 0, 4, 5, 6, 0, 0, 0, -1, 0,
                       -2**31, ord("N"), ord("T"), 0, 0, 2, 1, 255, 1, 4, 0, 1)


def counter(number, *, calls=3):
    return struct.pack("<6Q2IQ", calls, 3000 + number, 500, 2000, 2_000_000, 9_000_000, number + 1, 0, calls)


def write_rows(path, count):
    """Writes a recording with this number of distinct decisions."""
    segments = [segment(STRINGS, 0, text(b"cblas_sgemm") + text(b"libfoo.so") + text(b"libblas.so.3"))]
    for kind, capacity, entry in ((ROWS, 682, row), (COUNTERS, 1023, counter)):
        for sequence, first in enumerate(range(0, count, capacity)):
            content = b"".join(entry(number) for number in range(first, min(first + capacity, count)))
            segments.append(segment(kind, sequence, content))
    path.write_bytes(bytes(header(segments=len(segments))) + b"".join(segments))
    return path


# Runs between the test and the command: a process's peak memory also counts that of the process which forked it.
LAUNCHER = """
import os, resource, subprocess, sys
if int(sys.argv[2]):
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]),) * 2)
status = subprocess.call(sys.argv[3:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
os.write(int(sys.argv[1]), f"{status} {used.ru_utime + used.ru_stime} {used.ru_maxrss * 1024}".encode())
"""


def measured(*words, files=0, output=subprocess.DEVNULL):
    """Runs the command. Returns its status, processor seconds, largest memory in bytes, and stderr."""
    read, write = os.pipe()
    done = subprocess.run([sys.executable, "-S", "-c", LAUNCHER, str(write), str(files), COMMAND, *map(str, words)],
                          env=environment(), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE,
                          pass_fds=[write], check=True)
    os.close(write)
    status, seconds, memory = os.read(read, 100).decode().split()
    os.close(read)
    return int(status), float(seconds), int(memory), done.stderr.decode()


REPORTS = [["--format", "json"], ["--format", "csv"], ["--format", "html"], ["--format", "prometheus"], []]


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory):
    return write_rows(tmp_path_factory.mktemp("rows") / "rows.fp32rec", 100_000)


@pytest.mark.parametrize("words", REPORTS, ids=" ".join)
def test_a_report_of_many_rows_takes_little_memory(many_rows, words):
    status, _, memory, errors = measured("report", *words, many_rows)
    assert (status, errors) == (0, "")
    assert memory < 64 * MIB


@pytest.mark.parametrize("format_", ["jsonl", "csv", "chrome", "table"])
def test_a_log_of_many_rows_takes_little_memory(many_rows, format_):
    status, _, memory, _ = measured("log", "--format", format_, many_rows)
    assert status == 0
    assert memory < 64 * MIB


def test_a_streamed_report_is_one_document_with_each_row_once_by_falling_time(many_rows):
    report = fp32shim("report", "--format", "json", many_rows)
    assert report.json == json.loads(json.dumps(report.json, indent=2))
    assert report.stdout == json.dumps(report.json, indent=2, ensure_ascii=False) + "\n"
    rows = report.json["rows"]
    assert len({(row["m"], row["n"]) for row in rows}) == len(rows) == 100_000
    assert [row["host_ns"] for row in rows] == sorted((row["host_ns"] for row in rows), reverse=True)
    assert rows[0]["function"] == "cblas_sgemm" and rows[0]["provider"] == "libblas.so.3"
    assert report.json["totals"]["calls"] == 300_000


def test_a_streamed_report_of_nothing_is_the_same_document(tmp_path):
    recording = make_recording(tmp_path / "none.fp32rec", "summary")
    report = fp32shim("report", "--format", "json", recording)
    assert report.json["rows"] == [] and len(report.json["processes"]) == 1
    assert report.stdout == json.dumps(report.json, indent=2) + "\n"


def test_a_recording_of_holes_costs_what_it_holds(tmp_path):
    recording = tmp_path / "holes.fp32rec"
    recording.write_bytes(GOLDEN.read_bytes())
    with recording.open("r+b") as file:
        file.seek(256)
        file.write(struct.pack("<I", 1 << 22))
        file.truncate(SEGMENT << 22)  # a size of 256 GiB
    for words in (["report", "--format", "json"], ["log"], ["verify"]):
        _, seconds, memory, _ = measured(*words, recording)
        assert seconds < 1, words
        assert memory < 64 * MIB, words
    assert fp32shim("report", "--format", "json", recording).json["totals"]["calls"] == 4


@pytest.mark.parametrize("kind", [STRINGS, ROWS, COUNTERS, RING])
def test_segments_of_holes_cost_their_headers(tmp_path, kind):
    """Only the first 64 bytes of each segment are on the disk."""
    recording, count = tmp_path / "holes.fp32rec", 20_000
    with recording.open("wb") as file:
        file.write(header(segments=count))
        for number in range(count):
            file.seek((number + 1) * SEGMENT)
            file.write(segment(kind, number, b"", slot=number)[:64])
        file.truncate((count + 1) * SEGMENT)
    status, seconds, memory, _ = measured("report", recording)
    assert status == 0
    assert seconds < 2
    assert memory < 64 * MIB


def write_one_of_many(path, number, calls=3):
    """Writes one of many recordings: calls of one decision, which returned at different times."""
    segments = [segment(STRINGS, 0, text(b"cblas_sgemm") + text(b"libfoo.so") + text(b"libblas.so.3")),
                segment(ROWS, 0, row(0) + row(number)), segment(COUNTERS, 0, counter(1, calls=calls))]
    events = b"".join(struct.pack("<2Q", 2_000_000 + 10_000 * call + number, 500 << 20 | 1) for call in range(calls))
    segments.append(segment(RING, 0, events))
    path.write_bytes(bytes(header(segments=len(segments), start=number, level=2)) + b"".join(segments))


def test_a_log_of_more_recordings_than_files_may_be_open(tmp_path):
    for number in range(200):
        write_one_of_many(tmp_path / f"{number:04}.fp32rec", number)
    log = tmp_path / "log.jsonl"
    with log.open("w") as output:
        status, _, memory, errors = measured("log", "--format", "jsonl", tmp_path, files=24, output=output)
    assert (status, errors) == (0, "")
    assert memory < 64 * MIB
    events = [json.loads(line) for line in log.read_text().splitlines()]
    calls = [event for event in events if event["event"] == "decision"]
    assert len(calls) == 600 and len(events) == 800
    assert [call["time_ns"] for call in calls] == sorted(call["time_ns"] for call in calls)


def test_a_recording_that_goes_away_while_it_is_read_is_named(tmp_path):
    """A reader that has closed a file opens it again later, and must not take another file for it."""
    for number in range(40):
        write_one_of_many(tmp_path / f"{number:04}.fp32rec", number, calls=1000)
    # The full pipe stops the command after it has read the beginning of each recording.
    with subprocess.Popen([COMMAND, "log", "--format", "jsonl", tmp_path], env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
        process.stdout.readline()
        time.sleep(0.5)
        for file in tmp_path.iterdir():
            file.unlink()
            file.write_text("another file")
        output, errors = process.communicate(timeout=600)
    assert process.returncode == 1
    assert errors.count("was deleted or replaced while being read") == 40
    assert len(output.splitlines()) < 40 * 1000


def test_set_outlives_a_recording_that_is_truncated_meanwhile(tmp_path):
    recording = tmp_path / "run.fp32rec"
    process = live_recording(recording, "summary", "cblas_sgemm:8:native:fp32:as_requested:1")
    process.send_signal(signal.SIGSTOP)  # stopped, since it would otherwise end by SIGBUS
    with subprocess.Popen([COMMAND, "set", str(process.pid), "highest", "--wait", "3"], env=environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        time.sleep(0.7)
        os.truncate(recording, 0)
        _, errors = command.communicate(timeout=600)
    process.kill()
    process.communicate()
    assert command.returncode > 0, "not by a signal"
    assert errors.startswith("fp32shim set: ")
    assert os.path.getsize(recording) == 0


def test_reports_end_quietly_where_nobody_reads_and_loudly_where_there_is_no_room(many_rows):
    with subprocess.Popen([COMMAND, "report", "--format", "json", many_rows], env=environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        process.stderr.read()
        process.wait(timeout=600)
    assert process.returncode != 0
    with open("/dev/full", "w") as full:
        status, _, _, errors = measured("report", "--format", "csv", many_rows, output=full)
    assert status == 2 and "No space left on device" in errors
    result = fp32shim("report", "--format", "json", "-o", "/dev/full", many_rows)
    assert result.returncode == 2 and "No space left on device" in result.stderr
