"""The file under a recording: whose it is, how large it gets, and what the program may do to it."""

import grp
import json
import os
import pathlib
import stat
import tempfile

import pytest

import shim
from command import fp32shim
from recorded import ALL_DONE, another_user, calls_of, read, record, record_beside_plain, recordings_in, report, said


def test_a_deleted_file_is_recorded_into_and_the_program_notices_nothing(tmp_path):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain("products:10", f"unlink:{log}", "products:20000", "threads:2", log=log)
    assert (said(result), list(tmp_path.iterdir())) == ([], [])


def test_a_deleted_file_does_not_keep_children_from_theirs(tmp_path):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain("products:10", f"unlink:{log}", "forks:2", log=log)
    assert said(result) == []
    assert calls_of(*recordings_in(tmp_path)) == [3, 3]


def test_descriptors_that_the_program_closes_cost_nothing_the_first_time(tmp_path):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain("products:10", "close-all", "products:20000", "threads:2", log=log)
    assert said(result) == []
    assert calls_of(log) == [20_012]


def test_a_file_that_got_the_descriptors_number_is_never_written_to(tmp_path):
    log, data = tmp_path / "run.fp32rec", tmp_path / "data"
    content = b"mine\n" * 100_000
    data.write_bytes(content)
    result = record_beside_plain("products:10", "close-all", f"occupy:{data}", "products:50000", "threads:2", log=log)
    assert data.read_bytes() == content
    assert len(said(result)) == 1
    assert "the program has closed it" in said(result)[0]
    assert read(log)["calls"] == 50_012


def test_a_program_that_keeps_closing_descriptors_is_told_once_and_still_counted(tmp_path):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain("products:10", "close-all", "products:20000", "close-all", "products:20000", log=log)
    assert len(said(result)) == 1
    assert "the program has closed it" in said(result)[0]
    content = read(log)
    assert content["calls"] == 40_010
    assert content["events"] + content["dropped_events"] == 40_010
    assert content["dropped_events"] > 0
    assert "the program closed it: later calls are missing" in fp32shim("report", log).stdout


def test_closed_descriptors_and_a_deleted_file_at_once_still_do_no_harm(tmp_path):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain("products:10", f"unlink:{log}", "close-all", "products:20000", "threads:2", log=log)
    assert len(said(result)) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_daemon_has_a_recording_of_its_own_beside_that_of_its_parent(tmp_path):
    result = record("products:10", "daemonize", "products:5000", log="run.fp32rec", cwd=tmp_path)
    assert result.returncode == 0, "of the parent, which leaves first"
    assert len(result.stdout.splitlines()) == 2
    assert said(result) == []
    assert sorted(calls_of(*recordings_in(tmp_path))) == [10, 5000]


@pytest.mark.parametrize("first", [[], ["products:10"]], ids=["before the first product", "after it"])
def test_a_program_may_change_its_root(tmp_path, first):
    shim.need(os.geteuid() == 0, "only root may chroot")
    root = tmp_path / "root"
    root.mkdir()
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain(*first, f"chroot:{root}", "products:5000", "threads:2", log=log)
    if first:
        assert said(result) == []
        assert calls_of(log) == [5012]
    else:
        assert len(said(result)) == 1
        assert "(ENOENT); nothing is recorded" in said(result)[0]


def test_a_program_may_give_up_being_root(tmp_path):
    shim.need(os.geteuid() == 0, "only root can give it up")
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain("products:10", "user:65534", "products:5000", "threads:2", "forks:1", log=log)
    assert len(said(result)) == 1
    assert "this forked process records nothing" in said(result)[0]
    assert calls_of(log) == [5012]


@pytest.mark.parametrize("step", ["clear-environment", "overwrite-environment"])
def test_a_program_that_cleared_its_environment_is_governed_by_what_it_was_started_with(tmp_path, step):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain(step, "products:10", log=log, floor="tf32")
    assert said(result) == []
    assert calls_of(log) == [10]
    assert report(log)["processes"][0]["floor"] == "tf32"


def test_a_program_that_gave_up_being_root_before_its_first_product_is_not_called_one_without_products(tmp_path):
    shim.need(os.geteuid() == 0, "only root can give it up")
    result = fp32shim("run", "--log", tmp_path / "run.fp32rec", "--", shim.client("steps"), "user:65534", "products:1")
    assert result.returncode == ALL_DONE
    assert "permission denied" in result.lines[0]
    assert "no matrix product was recorded" in result.lines[1]


def test_a_group_that_the_user_is_not_in_is_one_line_and_no_file():
    prefix = another_user()
    with tempfile.TemporaryDirectory(prefix="fp32shim-test-") as folder:
        os.chmod(folder, 0o777)
        policy = pathlib.Path(folder, "policy.toml")
        policy.write_text('schema = 1\n[log]\ngroup = "0"\n')
        policy.chmod(0o644)  # a mode independent of the umask
        result = record("products:1", log=pathlib.Path(folder, "run.fp32rec"), cwd="/",
                        env={"FP32_MATMUL_POLICY": str(policy)},
                        prefix=prefix)
        assert result.returncode == ALL_DONE
        assert len(said(result)) == 1
        assert "name a group that this user is in" in said(result)[0]
        assert list(pathlib.Path(folder).iterdir()) == [policy]


def test_a_file_of_that_name_is_left_alone_and_numbers_are_added(tmp_path):
    log = tmp_path / "run.fp32rec"
    log.write_text("mine")
    for _ in range(2):
        record("products:3", log=log)
    assert log.read_text() == "mine"
    assert calls_of(tmp_path / "run.1.fp32rec", tmp_path / "run.2.fp32rec") == [3, 3]


def test_a_link_of_that_name_is_not_followed(tmp_path):
    log, target = tmp_path / "run.fp32rec", tmp_path / "target"
    target.write_text("mine")
    log.symlink_to(target)
    record("products:3", log=log)
    assert target.read_text() == "mine"
    assert calls_of(tmp_path / "run.1.fp32rec") == [3]


@pytest.mark.parametrize("umask", [0o077, 0o000])
@pytest.mark.parametrize("settings, mode", [("", 0o600), ('mode = "0640"', 0o640), ('mode = "0644"', 0o644)])
def test_the_mode_is_what_was_asked_for_whatever_the_umask(tmp_path, settings, mode, umask):
    log = tmp_path / "run.fp32rec"
    record("products:1", "forks:1", log=log, settings=settings, umask=umask)
    assert {stat.S_IMODE(path.stat().st_mode) for path in recordings_in(tmp_path)} == {mode}


def test_the_group_is_what_was_asked_for(tmp_path):
    groups = [group for group in grp.getgrall() if group.gr_gid != os.getegid()
              and (os.geteuid() == 0 or group.gr_gid in os.getgroups())]
    shim.need(groups, "this user is in one group only")
    log = tmp_path / "run.fp32rec"
    record("products:1", log=log, settings=f'mode = "0640"\ngroup = "{groups[0].gr_name}"')
    assert (log.stat().st_gid, stat.S_IMODE(log.stat().st_mode)) == (groups[0].gr_gid, 0o640)


def test_a_group_that_does_not_exist_is_one_line_and_no_file(tmp_path):
    result = record_beside_plain("products:1", log=tmp_path / "run.fp32rec", settings='group = "nobody-has-this"')
    assert len(said(result)) == 1
    assert '"nobody-has-this" is not in /etc/group; nothing is recorded' in said(result)[0]
    assert recordings_in(tmp_path) == []


def test_a_file_of_full_size_drops_events_and_says_how_many(tmp_path):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain("products:100000", log=log, settings='max_size = "1MiB"')
    assert len(said(result)) == 1
    assert "max_size is reached" in said(result)[0]
    content = read(log)
    assert content["calls"] == 100_000
    assert content["dropped_events"] > 0
    assert content["events"] + content["dropped_events"] == 100_000
    assert log.stat().st_size <= 1 << 20
    assert report(log)["processes"][0]["dropped_events"] == content["dropped_events"]
    lines = fp32shim("log", "--format", "jsonl", log)
    assert lines.returncode == 0
    assert lines.stderr == (f"fp32shim log: {log}: {content['dropped_events']:,} events dropped for lack of room; "
                            "fp32shim report counts those calls\n")


def test_dropped_events_are_calls_and_nothing_else(tmp_path):
    """Marks of threads that take over a slot with a full ring are no dropped events."""
    log = tmp_path / "run.fp32rec"
    record("products:100000", "threads:3000", log=log, settings='max_size = "1MiB"')
    content = read(log)
    assert (content["calls"], content["problems"]) == (103_000, 0)
    assert content["events"] + content["dropped_events"] == 103_000


def test_a_file_of_full_size_overwrites_its_oldest_events_where_asked_to(tmp_path):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain("products:100000", "products:1:9", log=log,
                                 settings='max_size = "1MiB"\non_full = "overwrite"')
    assert said(result) == []
    content = read(log)
    assert (content["calls"], content["dropped_events"]) == (100_001, 0)
    assert content["events"] + content["overwritten_events"] == 100_001
    assert log.stat().st_size <= 1 << 20
    last = fp32shim("log", "--format", "jsonl", log).stdout.splitlines()[-1]
    assert json.loads(last)["m"] == 9


def test_a_hundred_thousand_sizes_stay_within_the_size_of_the_file_and_are_read_at_once(tmp_path):
    log = tmp_path / "run.fp32rec"
    assert said(record("sizes:100000", log=log, level="summary", settings='max_size = "32MiB"')) == []
    assert log.stat().st_size <= 32 << 20
    assert (read(log)["calls"], read(log)["rows"]) == (100_000, 100_001), "with the row of those that found no room"
    assert "100,000 calls in 1 recording" in fp32shim("report", log).stdout


def test_more_sizes_than_the_file_has_room_for_are_counted_without_their_names(tmp_path):
    log = tmp_path / "run.fp32rec"
    assert len(said(record("sizes:100000", log=log, level="summary", settings='max_size = "4MiB"'))) == 1
    assert log.stat().st_size <= 4 << 20
    assert read(log)["calls"] == 100_000
    assert 1000 < read(log)["rows"] < 100_000
    table = fp32shim("report", log).stdout
    assert "100,000 calls in 1 recording" in table
    assert "(found no room)" in table


def test_a_recording_that_somebody_has_cut_is_read_as_far_as_it_goes(tmp_path):
    log = tmp_path / "run.fp32rec"
    record("products:20000", log=log)
    whole = log.stat().st_size
    os.truncate(log, whole // 2)
    result = fp32shim("report", "--format", "json", log)
    assert result.returncode == 1
    assert str(whole // 2) in result.stderr
    assert result.json["totals"]["calls"] == 20_000
