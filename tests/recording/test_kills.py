"""A million products on four threads: every call that returned is in the recording, whenever the process is killed."""

import mmap
import os
import signal
import struct
import subprocess
import time

import pytest

import shim
from command import fp32shim
from recorded import read, report, seeded_random

THREADS, CALLS = 4, 250_000
KILLS = max(12, int(os.environ.get("FP32SHIM_TEST_REPEATS", "0")))
COUNT = struct.Struct("<QQQ40x")
# Fields of a count: calls started, calls returned, and the thread's id.
STARTED, RETURNED, THREAD = range(3)


class Counted:
    """The running client `counted_products`, and its counts: (started, returned, thread id) for each thread."""

    def __init__(self, folder, level="calls", threads=THREADS, calls=CALLS):
        self.recording = folder / "run.fp32rec"
        self.threads = threads
        file = folder / "counts"
        file.write_bytes(bytes(COUNT.size * threads))
        with open(file, "r+b") as opened:
            self.memory = mmap.mmap(opened.fileno(), 0)
        variables = shim.environment(log=self.recording, preload=[shim.LIBRARY], env={"FP32_MATMUL_LOG_LEVEL": level})
        self.process = subprocess.Popen([shim.client("counted_products"), file, str(threads), str(calls)], env=variables,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def counts(self):
        return [COUNT.unpack_from(self.memory, thread * COUNT.size) for thread in range(self.threads)]

    def wait_for_calls(self, calls):
        """Waits until this number of calls, of all threads together, has returned."""
        while sum(count[RETURNED] for count in self.counts()) < calls:
            assert self.process.poll() is None, self.process.stderr.read()
            time.sleep(0.0002)  # leaves the processor to the program

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def finish(self):
        assert self.process.stdout.readline() == b"done\n"

    def end(self):
        output = self.process.communicate()
        assert (self.process.returncode, output) == (0, (b"", b""))


def expect_between(counts, content, kept):
    """Checks that the recording has every call of a thread that returned, and at most one that had only started.

    On a busy machine, a thread may begin after another has ended, and takes over its counters. These name only the last
    thread, so then only the sum of all calls is compared."""
    is_shared = content["slots"] < sum(started > 0 for started, _, _ in counts)
    for started, returned, thread in counts:
        in_recording = content["threads"].get(str(thread), {"calls": 0, "events": 0})
        for what in set(kept) - ({"calls"} if is_shared else set()):
            assert returned <= in_recording[what] <= started, f"{what} of thread {thread}: {counts} {content}"


@pytest.mark.parametrize("level, kills, calls, kept", [("calls", KILLS, CALLS, ["calls", "events"]),
                                                       ("summary", KILLS // 4, 4 * CALLS, ["calls"])])
def test_every_call_that_returned_is_there_after_a_kill_at_any_moment(tmp_path, level, kills, calls, kept):
    moments = seeded_random()
    before_the_end = uncertain = 0
    for tries in range(1, 4 * kills + 1):
        run = Counted(tmp_path, level, calls=calls)
        # The moment is a number of calls, since the duration of calls depends on the machine.
        run.wait_for_calls(moments.randint(1, THREADS * calls))
        run.kill()
        counts = run.counts()
        returned = sum(count[RETURNED] for count in counts)
        started = sum(count[STARTED] for count in counts)
        before_the_end += returned < THREADS * calls

        content = read(run.recording)
        assert content["problems"] == content["unknown_rows"] == content["dropped_events"] == 0, content
        assert content["uncounted_calls"] == 0
        expect_between(counts, content, kept)
        reported = report(run.recording)
        assert returned <= reported["totals"]["calls"] == content["calls"] <= started
        assert {(row["m"], row["n"], row["k"]) for row in reported["rows"]} == {(8, 8, 8)}
        run.recording.unlink()
        uncertain += content["calls"] - returned
        if before_the_end == kills:
            print(f"{level}: {tries} kills, {before_the_end} before the end; no returned call is missing, {uncertain} are there that "
                  "had begun and not returned")
            return
    pytest.fail(f"of {tries} kills only {before_the_end} came before the program's end, {kills} have to")


def test_a_recording_can_be_read_whole_at_any_moment_while_it_is_written(tmp_path):
    calls = 4 * CALLS
    run = Counted(tmp_path, calls=calls)
    run.wait_for_calls(1)
    looks = 0
    while any(count[RETURNED] < calls for count in run.counts()):
        before = sum(count[RETURNED] for count in run.counts())
        content = read(run.recording)
        total = report(run.recording)["totals"]["calls"]
        after = sum(count[STARTED] for count in run.counts())
        assert content["problems"] == content["unknown_rows"] == content["dropped_events"] == 0, content
        assert before <= content["calls"] <= after
        assert before <= content["events"] <= after
        assert before <= total <= after
        looks += 1
    run.finish()
    run.end()
    print(f"{looks} looks at a recording that is being written")
    assert looks > 0


def size_once_begun(log):
    """Returns the size of the file, or 0 before its first bytes are written."""
    if not log.exists():
        return 0
    with open(log, "rb") as opened:
        return os.fstat(opened.fileno()).st_size if opened.read(8) == b"FP32REC\n" else 0


def test_a_recording_is_whole_after_a_kill_while_it_grows_by_new_sizes(tmp_path):
    log = tmp_path / "run.fp32rec"
    variables = shim.environment(log=log, preload=[shim.LIBRARY], env={"FP32_MATMUL_LOG_LEVEL": "calls"})
    kills, before_the_end = max(10, KILLS // 5), 0
    for tries in range(1, 4 * kills + 1):
        process = subprocess.Popen([shim.client("steps"), "sizes:100000"], env=variables, stdout=subprocess.DEVNULL)
        # The moment is a size of the file, which grows to 17 MiB.
        while size_once_begun(log) < max(1, before_the_end % 10 << 20) and process.poll() is None:
            time.sleep(0.0002)  # leaves the processor to the program
        process.kill()
        before_the_end += process.wait() == -signal.SIGKILL
        content = read(log)
        assert content["problems"] == content["unknown_rows"] == content["dropped_events"] == 0, content
        assert content["events"] in (content["calls"], content["calls"] - 1)
        # A row exists before its first call. The first row belongs to calls that found no space for a row.
        assert content["rows"] - 1 in (content["calls"], content["calls"] + 1)
        assert f"{content['calls']:,} call" in fp32shim("report", log).stdout
        log.unlink()
        if before_the_end == kills:
            return
    pytest.fail(f"of {tries} kills only {before_the_end} came before the program's end, {kills} have to")


def test_a_run_to_its_end_has_exactly_a_million_calls_at_16_bytes_each(tmp_path):
    run = Counted(tmp_path)
    run.finish()
    assert [count[:2] for count in run.counts()] == [(CALLS, CALLS)] * THREADS
    content = read(run.recording)
    total = THREADS * CALLS
    assert (content["calls"], content["events"], content["problems"]) == (total, total, 0)
    assert set(content["threads"]) == {str(count[THREAD]) for count in run.counts()}
    assert all(thread == {"calls": CALLS, "events": CALLS} for thread in content["threads"].values())
    assert report(run.recording)["totals"]["calls"] == total
    run.end()
    # Size without events: the header, strings and rows, and for each thread counters and a partly filled ring.
    fixed = (5 + 2 * THREADS) * 65536
    allocated = run.recording.stat().st_blocks * 512
    assert 0 <= run.recording.stat().st_size - total * 16 <= fixed + total * 16 // 1000
    assert allocated <= run.recording.stat().st_size + 65536
