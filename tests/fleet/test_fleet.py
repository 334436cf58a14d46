"""fp32shim report over the recordings of many hosts: its lines, its groups by host, and what cannot be read."""

import json
import os
import re
import shutil
import subprocess

import pytest

import shim
from command import COMMAND, environment, fp32shim, make_recording, without_special_rights
from simulated import BELOW, DAMAGED, FULL, HOSTS, calls_of, host_name, policy_of
from test_formats import ROW
from test_scale import measured

EXACT = "cblas_sgemm:128:native:fp32:as_requested:5"
TF32 = "sgemm_:64:high:tf32:as_requested:7"


def lines_of(*words, status=0):
    result = fp32shim("report", "--format", "jsonl", *words)
    assert result.returncode == status, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def without(line, *keys):
    return {key: value for key, value in line.items() if key not in keys}


def documented_keys():
    """Returns the keys of each kind of line, in their order, as docs/schema.md lists them."""
    page = (shim.ROOT / "docs/schema.md").read_text()
    section = page.split("\n## Lines for database engines\n")[1].split("\n## ")[0] + "\n"
    lists = re.findall(r"^- ([^:]*): (.*?)(?=^[-\n])", section, re.MULTILINE | re.DOTALL)
    return {title: re.findall(r"`(\w+)`", text.partition(". ")[0]) for title, text in lists}


def test_every_key_of_a_line_is_documented_in_its_order(tmp_path):
    make_recording(tmp_path / "a.fp32rec", "calls", EXACT, TF32)
    keys = documented_keys()
    rows, recording = [lines_of(tmp_path)[index] for index in (0, -1)]
    assert list(rows) == keys["every line"] + ROW + keys["`row`"]
    assert list(recording) == keys["every line"] + keys["`recording`"]


def test_a_row_is_that_of_the_log_with_its_process(tmp_path):
    path = make_recording(tmp_path / "a.fp32rec", "summary", "--host", "node7", "--job", "42", "--rank", "3", "--executable",
                          "/opt/app/train", "--policy", "fleet,7,ab12", EXACT, TF32)
    logged = [json.loads(line) for line in fp32shim("log", "--format", "jsonl", path).stdout.splitlines()]
    rows = {row["function"]: row for row in logged if row["event"] == "row"}
    *found, recording = lines_of(path)
    assert {row["function"] for row in found} == set(rows)
    for row in found:
        # Each read measures the counter's rate again.
        timed = ("host_ns", "host_ns_min", "host_ns_max", "first", "last", "first_ns", "last_ns")
        same = set(row) & set(rows[row["function"]]) - set(timed)
        assert {key: row[key] for key in same} == {key: rows[row["function"]][key] for key in same}
        assert row["ran_at"] == row["applied"] and row["first_ns"] <= row["last_ns"]
        assert (row["host"], row["job_id"], row["rank"], row["executable"]) == ("node7", "42", 3, "/opt/app/train")
        assert (row["policy_name"], row["policy_revision"], row["policy_sha256"]) == ("fleet", "7", "ab12")
        assert without(row, *recording).keys() & without(recording, *row).keys() == set()
    assert (recording["event"], recording["recording"], recording["problems"]) == ("recording", str(path), 0)


def test_a_row_of_single_calls_has_their_median(tmp_path):
    ticks = ",".join(["10000000"] * 9 + ["100000000"])
    path = make_recording(tmp_path / "a.fp32rec", "calls", f"{EXACT.removesuffix(':5')}:100:1:{ticks}")
    [row, _] = lines_of(path)
    merged = fp32shim("report", "--format", "json", path).json["rows"][0]
    assert row["host_ns_median"] == pytest.approx(merged["host_ns_median"], rel=1e-3)
    assert row["host_ns_median"] < row["host_ns"] / row["calls"]


def test_a_file_that_only_names_children_says_so(tmp_path):
    path = make_recording(tmp_path / "a.fp32rec", "summary", EXACT)
    assert lines_of(path)[-1]["children_only"] is False
    content = bytearray(path.read_bytes())
    content[261] |= 1  # bit 256 of the flags at offset 260, see record/format/format.hpp
    path.write_bytes(content)
    assert lines_of(path)[-1]["children_only"] is True


def test_filters_choose_lines_and_their_recordings(fleet):
    lines = lines_of("--ran-below", "fp32", "--host", "node*", fleet.folder, status=1)
    read = [line for line in lines if line["pid"] is not None]
    assert [(line["event"], line["host"]) for line in read] == [
        (event, host_name(number)) for number in BELOW for event in ("row", "recording")]


def test_the_hosts_that_ran_below_a_format_and_where(fleet):
    groups = fleet.groups("host,where", "--ran-below", "fp32")
    assert {(group["host"], group["where"], group["applied"], group["calls"]) for group in groups} == {
        (host_name(number), f"train.py:{10 + number % 3} main", "tf32", calls) for number, calls in BELOW.items()}
    assert fleet.groups("host,where", "--ran-below", "tf32") == []
    text = fp32shim("report", "--ran-below", "fp32", "--by", "host,where", fleet.folder).stdout
    assert re.search(r"^ +510 .* node0500 +train.py:12 main ", text, re.MULTILINE)


def head_of(*words):
    """Returns the lines of a table above the settings."""
    lines = fp32shim("report", *words).stdout.splitlines()
    return lines[:next(index for index, line in enumerate(lines) if line.startswith("At "))]


def test_the_first_line_tells_how_many_of_all_calls_and_recordings_are_meant(fleet):
    everything = sum(calls_of(number) + 5 for number in range(HOSTS) if number not in DAMAGED.values())
    [head] = head_of("--host", host_name(0), fleet.folder)
    assert head.startswith(f"15 of {everything:,} calls, in 1 of 998 recordings, ")
    head, unknown = head_of("--ran-below", "fp32", fleet.folder)
    assert head.startswith(f"{sum(BELOW.values())} of {everything:,} calls, in 2 of 998 recordings, ")
    assert unknown == "5 calls are of unknown format: no answer about them"
    assert head_of(fleet.folder)[0].startswith(f"{everything:,} calls in 998 recordings on 998 machines, ")
    assert head_of("--ran-below", "bf16", fleet.folder) == [
        f"no call of known format ran below bf16: {everything:,} calls in 998 recordings on 998 machines", unknown]


def test_calls_that_may_have_run_below_a_format_are_counted(tmp_path):
    path = make_recording(tmp_path / "a.fp32rec", "summary", "--host", "node7", EXACT, TF32)
    assert head_of("--ran-below", "bf16", path) == [
        "no call ran below bf16: 12 calls in 1 recording on 1 machine"]
    solved = make_recording(tmp_path / "b.fp32rec", "summary", "--host", "node8", EXACT,
                            "strsm_:64:native:unchanged:as_requested:1")
    assert head_of("--ran-below", "fp32", solved)[1:] == ["1 call is of unknown format: no answer about it"]
    assert head_of("--ran-below", "fp32", "--function", "cblas_*", solved) == [
        "no call that the other options select ran below fp32: 6 calls in 1 recording on 1 machine"]
    full = make_recording(tmp_path / "c.fp32rec", "summary", "--host", "node9", "--rows", "2", TF32, EXACT)
    assert head_of("--ran-below", "bf16", "--host", "node9", full)[1].startswith("5 calls ")
    assert len(head_of("--ran-below", "bf16", "--host", "node7", full)) == 1


def test_words_of_a_list_may_have_blanks_between_them(fleet):
    def groups(by):
        """Returns the groups without times, because each reader measures the clock's rate a little more exactly."""
        return [{key: value for key, value in group.items() if not key.startswith("host_ns")}
                for group in fleet.groups(by, "--ran-below", "fp32")]

    assert groups("host, where") == groups("host,where")
    assert fp32shim("report", "--by", "host, nowhere", fleet.paths[0]).returncode == 2


@pytest.mark.parametrize("format_, expected", [
    ("fp32", []), ("bf16x9", ["fp32"]), ("tf32x3", ["fp32", "bf16x9"]), ("tf32", ["fp32", "bf16x9"]),
    ("bf16", ["fp32", "bf16x9", "tf32"]), ("fp16", ["fp32", "bf16x9", "tf32", "bf16"]), ("unchanged", [])])
def test_a_format_is_below_those_that_it_does_not_meet(tmp_path, format_, expected):
    path = make_recording(tmp_path / "a.fp32rec", "summary", f"sgemm_:64:high:{format_}:as_requested:7")
    found = [word for word in ("fp32", "bf16x9", "tf32", "bf16")
             if fp32shim("report", "--format", "json", "--ran-below", word, path).json["totals"]["calls"]]
    assert found == expected


def test_calls_of_a_host_are_summed_over_its_recordings_and_decisions_counted_once(tmp_path):
    for number, host in enumerate(["a", "b", "a"]):
        make_recording(tmp_path / f"{number}.fp32rec", "summary", "--host", host, EXACT, TF32)
    groups = fp32shim("report", "--format", "json", "--by", "host", tmp_path).json["groups"]
    found = {(group["host"], group["applied"]): (group["decisions"], group["calls"]) for group in groups}
    assert found == {("a", "fp32"): (1, 10), ("a", "tf32"): (1, 14), ("b", "fp32"): (1, 5), ("b", "tf32"): (1, 7)}
    assert all(group["job_id"] is None and group["policy_name"] is None for group in groups)


def test_groups_by_all_keys_of_processes_name_each(fleet):
    groups = fleet.groups("host,job,executable,policy,function", "--host", host_name(13))
    assert {group["function"] for group in groups} == {"sgemm_", "cblas_sgemm"}
    name, revision, sha256 = policy_of(13)
    for group in groups:
        assert (group["host"], group["job_id"], group["executable"]) == (host_name(13), "1", "/opt/app/train")
        assert (group["policy_name"], group["policy_revision"], group["policy_sha256"]) == (name, revision, sha256)
    header, *rows = fp32shim("report", "--format", "csv", "--by", "host,policy", fleet.folder).stdout.splitlines()
    assert header.startswith("host,job_id,executable,policy_name,") and len(rows) > HOSTS


@pytest.mark.parametrize("words, other", [(["--format", "html"], "--format html"), (["--by", "call_site"], "call_site")])
def test_groups_of_processes_that_cannot_be_made_are_refused(fleet, words, other):
    result = fp32shim("report", "--by", "host", *words, fleet.folder)
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
    assert f"--by: found host together with {other}" in result.stderr


def test_lines_are_not_grouped(fleet):
    result = fp32shim("report", "--format", "jsonl", "--by", "host", fleet.paths[0])
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1) and "--format jsonl" in result.stderr


def test_recordings_that_cannot_be_read_are_named_and_the_rest_is_merged(fleet):
    result = fp32shim("report", "--format", "json", fleet.folder)
    assert result.returncode == 1 and len(result.lines) == len(DAMAGED)
    hosts = [host_name(number) for number in DAMAGED.values()]
    by_host = {host: line for host in hosts for line in result.lines if host in line}
    assert set(by_host) == set(hosts)
    assert "format version" in by_host[host_name(DAMAGED["newer"])]
    expected = sum(calls_of(number) + 5 for number in range(HOSTS) if number not in DAMAGED.values())
    assert result.json["totals"]["calls"] == expected
    assert result.json["totals"]["recordings"] == HOSTS - 2  # includes the truncated and the newer one
    [newer] = [line for line in lines_of(fleet.paths[DAMAGED["newer"]], status=1)]
    assert (newer["host"], newer["event"], newer["problems"]) == (host_name(DAMAGED["newer"]), "recording", 1)


def test_recordings_that_cannot_be_opened_have_a_line_that_says_why(tmp_path):
    path = make_recording(tmp_path / "a.fp32rec", "summary", EXACT)
    path.chmod(0)
    os.mkfifo(tmp_path / "b.fp32rec")
    (tmp_path / "c.fp32rec").write_text("")
    result = fp32shim("report", "--format", "jsonl", tmp_path, prefix=without_special_rights())
    assert result.returncode == 1
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["event"], line["pid"], line["problems"]) for line in lines] == [("recording", None, 1)] * 3
    assert [line["recording"] for line in lines] == [str(tmp_path / f"{name}.fp32rec") for name in "abc"]
    for line, words in zip(lines, ("may not read", "not a regular file", "is empty")):
        assert words in line["problem"]
    whole = lines_of(make_recording(tmp_path / "whole", "summary", EXACT))[-1]
    assert all(list(line) == list(whole) for line in lines)


def test_many_recordings_that_cannot_be_read_are_said_in_few_lines(tmp_path):
    for number in range(300):
        (tmp_path / f"{number:03}.fp32rec").write_text("nothing of ours")
    make_recording(tmp_path / "good.fp32rec", "summary", EXACT)
    for words in (["report"], ["report", "--format", "jsonl"], ["log"]):
        result = fp32shim(*words, tmp_path)
        assert result.returncode == 1 and len([line for line in result.lines if "calls were not recorded" not in line]) == 101
        assert result.lines[-1].endswith("and 200 more problems: 300 recordings cannot be read, or only in part; "
                                         "fp32shim report --format jsonl names each problem")
    assert len(lines_of(tmp_path, status=1)) == 302
    verified = fp32shim("verify", "--at-least", "fp32", tmp_path)
    assert verified.returncode == 3 and verified.stdout.count("\n- ") < 210
    assert " more; --format json has them all" in verified.stdout


def test_a_recording_counts_once_under_two_names_and_in_a_folder_that_is_named_twice(tmp_path):
    path = make_recording(tmp_path / "a.fp32rec", "summary", EXACT)
    shutil.copy(path, tmp_path / "copy.fp32rec")
    (tmp_path / "link.fp32rec").symlink_to(path)
    (tmp_path / "hard.fp32rec").hardlink_to(path)
    result = fp32shim("report", "--format", "jsonl", tmp_path, tmp_path, path, tmp_path / "../" / tmp_path.name)
    assert result.returncode == 0 and len(result.stdout.splitlines()) == 2
    assert len(result.lines) == 1 and "a copy of" in result.stderr


def test_many_copies_are_one_line_with_their_number(tmp_path):
    path = make_recording(tmp_path / "a.fp32rec", "summary", EXACT)
    for number in range(130):
        shutil.copy(path, tmp_path / f"b{number:03}.fp32rec")
    result = fp32shim("report", tmp_path)
    assert result.returncode == 0 and result.lines == [
        "fp32shim report: 130 files are further copies; the most complete copy of each recording counts"]


def test_a_few_copies_are_named(tmp_path):
    path = make_recording(tmp_path / "a.fp32rec", "summary", EXACT)
    for number in range(3):
        shutil.copy(path, tmp_path / f"b{number}.fp32rec")
    lines = fp32shim("report", tmp_path).lines
    assert len(lines) == 3 and all("a copy of" in line for line in lines)


def test_ten_thousand_paths_are_the_same_as_their_folder(fleet):
    """The paths are those of a shell's glob. Each of them is named ten times."""
    timed = ("host_ns", "first", "last")  # each read of a young recording measures the counter's rate again
    totals = []
    for words in (fleet.paths * 10, [fleet.folder]):
        result = fp32shim("report", "--format", "json", *words)
        assert result.returncode == 1
        totals.append(without(result.json["totals"], *timed))
    assert totals[0] == totals[1]


def test_many_arguments_that_name_nothing_are_said_in_few_lines(tmp_path):
    result = fp32shim("report", *(tmp_path / f"{number}.fp32rec" for number in range(180)))
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 101) and "and 80 more" in result.lines[-1]


def test_lines_that_find_no_room_are_an_error_and_leave_the_file_alone(fleet, tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run([COMMAND, "report", "--format", "jsonl", fleet.folder], stdout=full, stderr=subprocess.PIPE,
                              text=True, env=environment(), check=False)
    assert done.returncode == 2 and "No space left" in done.stderr
    result = fp32shim("report", "--format", "jsonl", "-o", "/dev/full", fleet.folder)
    assert result.returncode == 2 and "No space left" in result.stderr


def test_no_memory_for_all_decisions_is_an_error_that_names_the_remedies(tmp_path):
    prlimit = shim.tool("prlimit", "util-linux")
    path = make_recording(tmp_path / "a.fp32rec", "summary", "sgemm_:1-700000:native:fp32:as_requested:1")
    limited = [prlimit, f"--as={200 << 20}"]
    result = fp32shim("report", path, prefix=limited)
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
    assert "not enough memory" in result.stderr and "--format jsonl" in result.stderr


def test_lines_of_many_recordings_take_no_more_memory_than_those_of_one(fleet, tmp_path):
    _, _, of_one, _ = measured("report", "--format", "jsonl", fleet.paths[FULL])
    _, _, of_all, _ = measured("report", "--format", "jsonl", fleet.folder)
    assert of_all < of_one + (4 << 20)


def test_a_page_names_the_queries_that_the_tests_run():
    page = (shim.ROOT / "docs/deploy.md").read_text()
    assert all(f"| `{path.name}` |" in page for path in (shim.ROOT / "examples/fleet").glob("*.sql"))


def test_a_recording_with_impossible_counts_does_not_stop_an_engine(tmp_path):
    """All integers in the lines fit into 64 bits with a sign."""
    path = make_recording(tmp_path / "a.fp32rec", "summary", EXACT)
    content = bytearray(path.read_bytes())
    count = (5).to_bytes(8, "little")
    offsets = [index for index in range(65536, len(content) - 64, 8) if content[index:index + 8] == count]
    for index in offsets:
        content[index:index + 8] = b"\xff" * 8
    path.write_bytes(content)
    result = fp32shim("report", "--format", "jsonl", path)
    assert result.returncode in (0, 1)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert max(line.get("calls", 0) for line in lines) == 2**63 - 1
    assert all(-2**63 <= value < 2**63 for line in lines for value in line.values() if isinstance(value, int))
