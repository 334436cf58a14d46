"""A recording that goes away under the process that writes it: cut, on a disk that fails, on an overlay. Its pages are
mapped, so a store to one that is not there any more is SIGBUS. FP32SHIM_TEST_REPEATS makes this longer."""

import contextlib
import os
import signal
import subprocess

import pytest

import shim
from recorded import (ALL_DONE, OWN_MOUNTS, calls_of, image_and_mount_point, read, record, record_beside_plain, recordings_in,
                      report, said, seeded_random)
from test_kills import RETURNED, STARTED, Counted

REPEATS = int(os.environ.get("FP32SHIM_TEST_REPEATS", "30"))
LOST = "the file was truncated, or its disk has failed; nothing more is recorded"


@pytest.mark.parametrize("level", ["summary", "calls"])
@pytest.mark.parametrize("size", [0, 40_000, 70_000, 140_000])
def test_a_recording_that_is_cut_is_one_line_and_the_program_goes_on(tmp_path, level, size):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain("products:10", f"cut:{log}:{size}", "products:100000", "sizes:20000", "threads:10",
                                 log=log, level=level)
    assert [LOST in line for line in said(result)] == [True], shim.explain(result)
    assert log.stat().st_size == size


def test_children_of_a_process_whose_recording_was_cut_have_their_own(tmp_path):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain("products:10", f"cut:{log}", "products:10", "forks:3", "products:10", log=log)
    assert [LOST in line for line in said(result)] == [True], shim.explain(result)
    assert calls_of(*(path for path in recordings_in(tmp_path) if path != log)) == [3, 3, 3]


def test_a_child_survives_a_cut_that_its_parent_has_not_noticed(tmp_path):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain("products:10", f"cut:{log}", "forks:3", log=log)
    assert [LOST in line for line in said(result)] == [True], shim.explain(result)  # printed by the parent, at its end
    assert calls_of(*(path for path in recordings_in(tmp_path) if path != log)) == [3, 3, 3]


def test_a_cut_recording_does_not_wait_for_a_full_stderr(tmp_path):
    log = tmp_path / "run.fp32rec"
    unread, full = os.pipe()
    os.set_blocking(full, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(full, bytes(65536))
    os.set_blocking(full, True)
    variables = shim.environment(log=log, preload=[shim.LIBRARY])
    steps = [shim.client("steps"), "products:10", f"cut:{log}", "products:10"]
    done = subprocess.run(steps, env=variables, stdout=subprocess.PIPE, stderr=full, timeout=600, check=False)
    os.close(full)
    os.close(unread)
    assert done.returncode == ALL_DONE


def test_threads_survive_a_cut_at_any_moment(tmp_path):
    moments = seeded_random()
    calls, lines = 30_000, 0
    for _ in range(max(5, REPEATS // 3)):
        run = Counted(tmp_path, moments.choice(["summary", "calls"]), calls=calls)
        run.wait_for_calls(moments.randint(1, 3 * calls))
        os.truncate(run.recording, moments.choice([0, moments.randrange(400_000)]))
        run.finish()
        assert all(count[STARTED] == count[RETURNED] == calls for count in run.counts())
        output, errors = run.process.communicate()
        assert (run.process.returncode, output) == (0, b""), errors
        told = errors.decode().splitlines()
        assert len(told) <= 1 and all(LOST in line for line in told), told
        lines += len(told)
        run.recording.unlink()
    print(f"{max(5, REPEATS // 3)} cuts, {lines} were noticed by the process; no call of the program failed")
    assert lines > 0


def test_bytes_that_somebody_else_writes_into_a_recording_harm_no_program(tmp_path):
    """Somebody who writes to the file can falsify calls, and change settings like `fp32shim set`, but do nothing else."""
    moments = seeded_random()
    calls, writes = 30_000, 0
    for _ in range(max(5, REPEATS // 3)):
        run = Counted(tmp_path, moments.choice(["summary", "calls"]), calls=calls)
        run.wait_for_calls(1)
        with open(run.recording, "r+b", buffering=0) as opened:
            while any(count[RETURNED] < calls for count in run.counts()):
                size = moments.choice([1, 8, 64, 4096])
                offset = moments.choice([moments.randrange(1024), moments.randrange(65536), moments.randrange(9 * 65536)])
                os.pwrite(opened.fileno(), moments.randbytes(size), offset)
                writes += 1
        run.finish()
        assert all(count[STARTED] == count[RETURNED] == calls for count in run.counts())
        output, errors = run.process.communicate(timeout=600)
        assert (run.process.returncode, output) == (0, b""), errors
        run.recording.unlink()
    print(f"{max(5, REPEATS // 3)} processes, {writes} writes into their recordings; no call of the program failed")


@pytest.mark.parametrize("step, number", [("own-bus-error", signal.SIGBUS), ("own-bus-signal", signal.SIGBUS)])
def test_a_bus_error_of_the_programs_own_ends_it_as_without_the_shim(tmp_path, step, number):
    log = tmp_path / "run.fp32rec"
    steps = ["products:10", step, "products:10"]
    plain = shim.run("steps", *steps, preload=False, blas=None, check=False)
    result = record(*steps, log=log)
    assert (result.returncode, result.stdout) == (plain.returncode, plain.stdout)
    assert result.returncode == -number and said(result) == []
    assert calls_of(log) == [10]


@pytest.mark.parametrize("first", [[], ["products:1"]], ids=["before the first product", "after it"])
def test_a_program_that_handles_bus_errors_itself_goes_on_doing_so(tmp_path, first):
    log = tmp_path / "run.fp32rec"
    steps = [*first, "handle-bus-errors", "products:1", "own-bus-error"]
    plain = shim.run("steps", *steps, preload=False, blas=None, check=False)
    result = record(*steps, log=log)
    assert (result.returncode, result.stdout, said(result)) == (plain.returncode, plain.stdout, [])
    assert (result.returncode, result.stdout.splitlines()[-1]) == (9, "own handler")


def test_a_disk_that_fails_is_one_line_and_the_program_goes_on(tmp_path):
    """The test uses the system call that tells ext4 to go on without its disk."""
    image, disk = image_and_mount_point(tmp_path, "ext4", "e2fsprogs", 32 << 20)
    script = """
    mount -o loop "$1" "$2" || exit
    mkfifo "$3"; "$4" products:10 ask:2 products:100000 threads:3 forks:1 <"$3" & exec 9>"$3"
    echo >&9; sleep 0.2; sync
    unset LD_PRELOAD
    "$5" -c 'import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack("I", 2))' "$2"
    echo >&9; exec 9>&-; wait $!
    """
    result = record(image, disk, tmp_path / "questions", shim.client("steps"), shim.SYSTEM_PYTHON, log=disk / "run.fp32rec",
                    program="/bin/sh", prefix=[*OWN_MOUNTS, "sh", "-c", script])
    plain = shim.run("steps", "products:10", "products:1", "products:1", "products:100000", "threads:3", "forks:1",
                     preload=False, blas=None, check=False)
    assert (result.returncode, result.stdout) == (plain.returncode, plain.stdout), shim.explain(result)
    # One message from the process, and one from the child, which can make no file.
    assert len(said(result)) == 2 and all("(EIO)" in line for line in said(result)), shim.explain(result)


def test_an_overlay_takes_recordings(tmp_path):
    """Containers write into an overlay, unless a volume is mounted there."""
    for name in ("lower", "upper", "work", "merged"):
        (tmp_path / name).mkdir()
    script = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
              'mount -t overlay -o "lowerdir=$0/lower,upperdir=$0/upper,workdir=$0/work" none "$0/merged" || exit 77; "$@"',
              tmp_path]
    shim.need(subprocess.run([*script, "true"], capture_output=True, check=False).returncode == 0,
              "no overlay can be mounted in a user namespace here")
    result = record_beside_plain("products:20000", "threads:2", "forks:1", log=tmp_path / "merged/run.fp32rec",
                                 prefix=script)
    assert said(result) == []
    assert sorted(calls_of(*recordings_in(tmp_path / "upper"))) == [3, 20_002]


@pytest.mark.parametrize("end", [signal.SIGSTOP, signal.SIGKILL])
def test_a_reader_that_is_stopped_or_killed_does_not_hold_the_program(tmp_path, end):
    run = Counted(tmp_path, calls=100_000)
    run.wait_for_calls(1)
    readers = [subprocess.Popen([str(shim.BUILD / "bin/fp32shim"), *words], env=shim.environment(), stdout=subprocess.DEVNULL)
               for words in (["top", str(run.process.pid)], ["log", "--follow", run.recording])]
    run.wait_for_calls(20_000)
    for reader in readers:
        reader.send_signal(end)
    run.finish()
    assert report(run.recording)["totals"]["calls"] == 400_000
    run.end()
    for reader in readers:
        reader.kill()
        reader.wait()
    content = read(run.recording)
    assert (content["calls"], content["events"], content["problems"]) == (400_000, 400_000, 0)
