"""A disk that is full, a folder that cannot be written to, limits of every kind: the program computes the same, one line
says what is missing, and the recording says how much."""

import os
import pathlib
import re
import subprocess
import tempfile

import pytest

import shim
from command import fp32shim
from recorded import (ALL_DONE, OWN_MOUNTS, another_user, calls_of, image_and_mount_point, read, record, record_beside_plain,
                      recordings_in, report, said)

SMALL_DISK = """
mount -t tmpfs -o size=$2 none "$1" || exit 77
[ -z "$3" ] || head -c "$3" /dev/zero 2>/dev/null >"$1/filler"
folder=$1 kept=$4; shift 4
"$@"; status=$?
rm -f "$folder/filler"
for file in "$folder"/*; do if [ -e "$file" ]; then cp "$file" "$kept"; fi; done
exit $status
"""


@pytest.fixture
def small_disk(tmp_path):
    """Runs steps with the recording on a tmpfs of its own. small_disk(steps, size, filled) returns the result, and the files
    on the tmpfs at the end, without the filler."""
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    kept.mkdir()
    user_namespace = ["unshare", "--user", "--map-root-user", "--mount"]
    script = ["sh", "-c", SMALL_DISK, "small_disk"]
    probe = subprocess.run([*user_namespace, *script, disk, "1m", "", kept, "true"], capture_output=True, text=True,
                           check=False)
    shim.need(probe.returncode == 0, f"no tmpfs can be mounted in a user namespace here: {probe.stderr.strip()}")

    def run(*steps, size="1m", filled="", **keywords):
        for path in kept.iterdir():
            path.unlink()
        result = record_beside_plain(*steps, log=disk / "run.fp32rec",
                                     prefix=[*user_namespace, *script, disk, size, filled, kept], **keywords)
        return result, sorted(path.name for path in kept.iterdir())

    run.kept = kept / "run.fp32rec"
    return run


def expect_complete_or_counted(recording, calls):
    """Checks that every call is counted, that every event is there or counted as dropped, and that the command says so."""
    content = read(recording)
    assert content["problems"] == 0
    assert content["calls"] == calls
    assert content["events"] + content["dropped_events"] == calls
    process = report(recording)["processes"][0]
    assert process["dropped_events"] == content["dropped_events"]
    assert process["uncounted_calls"] == content["uncounted_calls"]
    if content["dropped_events"]:
        assert re.search(r"[\d,]+ events? dropped: missing from the log", fp32shim("report", recording).stdout)
    return content


def test_a_disk_that_is_full_from_the_start_is_one_line_and_no_file(small_disk):
    result, files = small_disk("products:100", "threads:3", filled="2m")
    assert (len(said(result)), files) == (1, [])
    assert "no space left on device (ENOSPC); nothing is recorded" in said(result)[0]


def test_a_run_that_could_not_be_recorded_is_not_called_one_without_products(small_disk, tmp_path):
    full = 'mount -t tmpfs -o size=1m none "$0"; head -c 2m /dev/zero >"$0/filler" 2>/dev/null; exec "$@"'
    result = fp32shim("run", "--log", tmp_path / "disk/run.fp32rec", "--", shim.client("steps"), "products:1",
                      prefix=["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", full, tmp_path / "disk"])
    assert "no matrix product was recorded" not in result.stderr, result.stderr
    assert "fp32shim run: what the program multiplied is not known: recording " in result.stderr


def test_a_disk_that_fills_up_costs_events_and_no_calls(small_disk):
    result, _ = small_disk("products:100000", "threads:3")
    assert len(said(result)) == 1
    assert "(ENOSPC)" in said(result)[0]
    content = expect_complete_or_counted(small_disk.kept, 100_003)
    assert content["dropped_events"] > 0
    assert content["uncounted_calls"] == 3, "threads that come too late have no counters: only their number is known"


def test_a_disk_may_fill_up_between_any_two_segments(small_disk):
    """There is room for header, strings and rows; then for counters; then for a ring."""
    seen = []
    for size in range(128, 480, 16):
        result, files = small_disk("products:500", size=f"{size}k")
        assert len(said(result)) <= 1, size
        if not files:
            seen.append("nothing")
            assert "nothing is recorded" in said(result)[0], size
            continue
        content = expect_complete_or_counted(small_disk.kept, 500)
        seen.append("uncounted" if content["uncounted_calls"] else "counted" if content["dropped_events"] else "all")
        assert content["uncounted_calls"] in (0, 500) and content["events"] in (0, 500), size
        assert len(said(result)) == 1 or content["events"] == 500, size
    order = ["nothing", "uncounted", "counted", "all"]
    assert seen == sorted(seen, key=order.index) and set(seen) == set(order)


def test_a_disk_may_fill_up_before_all_rows_have_a_segment(small_disk):
    """1500 rows need three segments, and their counters two. Calls whose rows find no room are counted in the overflow row,
    to which their events refer."""
    rows = set()
    for size in range(320, 832, 32):
        result, _ = small_disk("sizes:1500", size=f"{size}k")
        content = expect_complete_or_counted(small_disk.kept, 1500)
        assert content["uncounted_calls"] == content["unknown_rows"] == 0, size
        assert content["events"] in (0, 1500), size
        assert len(said(result)) == 1 or (content["events"], content["rows"]) == (1500, 1501), size
        rows.add((content["rows"], content["events"]))
    assert {(682, 0), (682, 1500), (1501, 1500)} <= rows, "one segment of rows, without and with a ring; all of them"
    assert len(said(result)) == 0


@pytest.mark.parametrize("size", ["32k", "96k", "160k"])
def test_a_disk_without_room_for_the_first_segments_is_one_line_and_no_file(small_disk, size):
    """The disk has too little room for the header, or room for the header and strings, but not for rows."""
    result, files = small_disk("products:10", "forks:2", size=size)
    assert files == []
    assert len(said(result)) == 1


def test_children_that_find_no_room_say_it_once_each(small_disk):
    """512 KiB are enough for the parent, but too little for two recordings."""
    result, files = small_disk("products:100", "forks:2", "products:100", size="512k")
    assert files == ["run.fp32rec"]
    content = read(small_disk.kept)
    assert content["calls"] == content["events"] == 200
    assert len(said(result)) == 2
    assert all("forked process records nothing" in line for line in said(result))


def test_a_program_that_is_started_without_the_shim_is_noted_on_a_full_disk(small_disk):
    """The space for this note is allocated when the file is made."""
    noted = 0
    for size in range(128, 352, 32):
        result, files = small_disk("products:10", "clear-environment", "spawn", "products:3", size=f"{size}k",
                                   level="summary")
        assert len(said(result)) <= (1 if files else 2), size
        if "run.fp32rec" not in files:
            continue
        verdict = fp32shim("verify", "--at-least", "fp32", "--format", "json", small_disk.kept).json
        assert any(bypass["bypass"].startswith("child:") for bypass in verdict["bypasses"]), size
        noted += 1
    assert 0 < noted < 7


def test_a_full_btrfs_does_not_end_the_program(tmp_path):
    """btrfs writes changed data to another place, so a store into a page that the kernel has written back needs room."""
    image, disk = image_and_mount_point(tmp_path, "btrfs", "btrfs-progs", 120 << 20)
    script = """
    mount -o loop "$1" "$2" || exit
    mkfifo "$3"; "$4" ask <"$3" & exec 9>"$3"
    for round in 1 2 3; do
        for i in 1 2 3 4 5; do echo >&9; sleep 0.01; done
        sync; head -c 100M /dev/urandom >>"$2/filler" 2>/dev/null; sync
    done
    exec 9>&-; wait $!; status=$?
    rm "$2/filler"; cp "$2/run.fp32rec" "$2/../kept.fp32rec"; exit $status
    """
    result = record("-c", script, "sh", image, disk, tmp_path / "pipe", shim.client("steps"), program="/bin/sh",
                    log=disk / "run.fp32rec", prefix=OWN_MOUNTS)
    assert (result.returncode, said(result)) == (ALL_DONE, [])
    assert calls_of(tmp_path / "kept.fp32rec") == [15]


def test_a_file_system_that_cannot_reserve_space_is_written_to_instead(tmp_path):
    script = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
              'mount -t ramfs none "$0" || exit 77; folder=$0; "$@"; status=$?; cp "$folder"/* "$folder/.."; '
              'exit $status', tmp_path / "ramfs"]
    (tmp_path / "ramfs").mkdir()
    shim.need(subprocess.run([*script, "touch", tmp_path / "ramfs/a"], capture_output=True, check=False).returncode == 0,
              "no ramfs can be mounted in a user namespace here")
    result = record_beside_plain("products:20000", "threads:2", log=tmp_path / "ramfs/run.fp32rec",
                                 prefix=[*script[:-1], tmp_path / "ramfs"])
    assert said(result) == []
    assert calls_of(tmp_path / "run.fp32rec") == [20_002]


@pytest.mark.parametrize("folder, code", [("/proc/self", "ENOENT"), ("missing", "ENOENT"), ("file", "ENOTDIR"),
                                          ("loop", "ELOOP")])
def test_a_folder_that_cannot_take_a_file_is_one_line(tmp_path, folder, code):
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    result = record_beside_plain("products:10", "threads:2", "forks:2", log=tmp_path / folder / "run.fp32rec")
    assert len(said(result)) == 1
    assert f"({code}); nothing is recorded" in said(result)[0]


def test_a_read_only_folder_is_one_line(tmp_path):
    """The folder is mounted read-only, because permissions do not keep root out."""
    script = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
              'mount -t tmpfs none "$0" && mount -o remount,ro "$0" || exit 77; "$@"', tmp_path]
    shim.need(subprocess.run([*script, "true"], capture_output=True, check=False).returncode == 0,
              "nothing can be mounted in a user namespace here")
    result = record_beside_plain("products:10", "forks:2", log=tmp_path / "run.fp32rec", prefix=script, cwd="/")
    assert len(said(result)) == 1
    assert "read-only (EROFS); nothing is recorded" in said(result)[0]


def test_a_folder_of_somebody_else_is_one_line():
    prefix = another_user() if os.geteuid() == 0 else []  # runs as another user, since root may write anywhere
    with tempfile.TemporaryDirectory(prefix="fp32shim-test-") as folder:
        os.chmod(folder, 0o555)
        result = record_beside_plain("products:10", log=pathlib.Path(folder, "run.fp32rec"), prefix=prefix, cwd="/")
        assert len(said(result)) == 1
        assert "permission denied (EACCES); nothing is recorded" in said(result)[0]


def test_no_file_may_be_written_at_all(tmp_path):
    result = record_beside_plain("limit:fsize:0", "products:10", "forks:1", log=tmp_path / "run.fp32rec")
    assert len(said(result)) == 1
    assert "(EFBIG); nothing is recorded" in said(result)[0]
    assert recordings_in(tmp_path) == []


@pytest.mark.parametrize("first", [[], ["products:1"]], ids=["before the first product", "after it"])
def test_a_file_size_limit_costs_events_and_raises_no_signal(tmp_path, first):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain(*first, "limit:fsize:400000", "products:20000", log=log)
    assert len(said(result)) == 1
    assert "(EFBIG)" in said(result)[0]
    content = expect_complete_or_counted(log, 20_000 + len(first))
    assert content["dropped_events"] > 0
    assert content["uncounted_calls"] == 0
    assert log.stat().st_size <= (7 * 65536 if first else 400_000), "what it had before the limit, or the limit"


def test_a_segment_that_was_cut_short_is_no_data_of_the_one_that_takes_its_place(tmp_path):
    """Under the limit, 30,000 of a segment's 65,536 bytes are written. A segment of rows or counters may later take its
    place, and expects zeros there."""
    log = tmp_path / "run.fp32rec"
    for segments in range(6, 10):
        log.unlink(missing_ok=True)
        record_beside_plain("products:1", f"limit:fsize:{segments * 65536 + 30000}", "products:20000",
                            "limit:fsize:1000000000", "threads:3", "sizes:1500", log=log)
        content = expect_complete_or_counted(log, 21_504)
        assert content["dropped_events"] > 0 and content["uncounted_calls"] == content["unknown_rows"] == 0, segments


@pytest.mark.parametrize("first, room", [([], 0), ([], 100_000), ([], 1_000_000), ([], 3_000_000),
                                         (["products:1"], 0), (["products:1"], 100_000), (["products:1"], 1_000_000)])
def test_a_process_without_address_space_multiplies_as_before(tmp_path, first, room):
    result = record_beside_plain(*first, f"limit:as:{room}", "products:10000", log=tmp_path / "run.fp32rec")
    assert len(said(result)) <= 1
    for recording in recordings_in(tmp_path):
        expect_complete_or_counted(recording, 10_000 + len(first))


def test_a_process_without_a_free_descriptor_goes_on_with_the_one_it_has(tmp_path):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain("products:10", "occupy:/dev/null", "products:10000", "threads:3", "forks:2", log=log)
    assert said(result) == []
    assert sorted(calls_of(*recordings_in(tmp_path))) == [3, 3, 10_013]


def test_a_process_without_a_free_descriptor_at_first_is_one_line(tmp_path):
    result = record_beside_plain("occupy:/dev/null", "products:10", log=tmp_path / "run.fp32rec")
    assert len(said(result)) == 1
    assert recordings_in(tmp_path) == []
