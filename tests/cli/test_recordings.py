"""fp32shim report, log and verify, on recordings of the writer."""

import csv
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import textwrap
import time

import pytest

import shim
from command import COMMAND, environment, fp32shim, live_recording, make_recording, without_special_rights

TF32 = "cblas_sgemm:128:high:tf32:as_requested:1000:2"
REFUSED = "cblas_sgemm:64:high:fp32:cpu_mode_off:10"
EXACT = "cblas_sgemm:32:native:fp32:as_requested:7"
OBSERVED = "sbgemm_:32:native:unchanged:observed:5"


@pytest.fixture
def folder(tmp_path):
    make_recording(tmp_path / "a.fp32rec", "calls", TF32, REFUSED)
    (tmp_path / "below").mkdir()
    make_recording(tmp_path / "below/b.fp32rec", "summary", TF32, EXACT)
    return tmp_path


def report(*words, **keywords):
    return fp32shim("report", "--format", "json", *words, **keywords).json


def test_totals_calls_is_the_number_of_calls(folder):
    assert report(folder / "a.fp32rec")["totals"]["calls"] == 2010
    assert report(folder)["totals"]["calls"] == 2010 + 2007


def test_recordings_are_merged_from_files_folders_and_globs_and_counted_once(folder):
    for words in ([folder], [folder / "a.fp32rec", folder / "below/b.fp32rec"], [f"{folder}/*.fp32rec", folder / "below"],
                  [folder, folder / "a.fp32rec", f"{folder}/a*"]):
        result = report(*words)
        assert result["totals"]["recordings"] == 2
        row = next(row for row in result["rows"] if row["applied"] == "tf32")
        assert (row["calls"], row["processes"], row["m"], row["requested"]) == (4000, 2, 128, "high")


def test_a_recording_of_several_names_is_counted_once(folder):
    (folder / "hard.fp32rec").hardlink_to(folder / "a.fp32rec")
    (folder / "soft.fp32rec").symlink_to(folder / "a.fp32rec")
    assert report(folder)["totals"]["recordings"] == 2


@pytest.mark.parametrize("command, words", [("report", []), ("log", ["--rows"]), ("verify", ["--at-least", "tf32"])])
def test_a_copy_of_a_recording_is_counted_once_and_said(folder, command, words):
    shutil.copytree(folder, folder / "z")
    once = fp32shim(command, *words, "--format", "json", folder / "a.fp32rec", folder / "below")
    twice = fp32shim(command, *words, "--format", "json", folder)

    def calls(result):
        rows = result.json if command == "log" else [result.json.get("totals", result.json), *result.json.get("rows", [])]
        return [row.get("calls") for row in rows]

    assert calls(twice) == calls(once) and twice.returncode == once.returncode
    assert sorted(line for line in twice.lines if "counted once" in line) == [
        f"fp32shim {command}: {folder}/z/{name}: a copy of {folder}/{name}, which has as much; counted once"
        for name in ("a.fp32rec", "below/b.fp32rec")]


@pytest.mark.parametrize("level", ["summary", "calls"])
def test_two_readers_of_an_ended_recording_show_the_same_bytes(tmp_path, level):
    make_recording(tmp_path / "a.fp32rec", level, TF32, EXACT)
    for command, *words in (["report", "--format", "json"], ["report", "--format", "jsonl"], ["log"],
                            ["verify", "--at-least", "fp32", "--format", "json"]):
        first, second = (fp32shim(command, *words, tmp_path).stdout for _ in range(2))
        assert first and first == second, command


def test_of_copies_taken_at_different_moments_the_one_that_holds_more_is_counted(tmp_path):
    process = live_recording(tmp_path / "z.fp32rec", "summary", EXACT)
    whole = (tmp_path / "z.fp32rec").read_bytes()
    process.communicate()  # after this, the recording also has the objects that were loaded until the end
    (tmp_path / "a.fp32rec").write_bytes(whole)
    (tmp_path / "cut.fp32rec").write_bytes(whole[:70000])
    result = fp32shim("report", "--format", "json", tmp_path)
    assert [entry["recording"] for entry in result.json["processes"]] == [f"{tmp_path}/z.fp32rec"]
    assert result.json["totals"]["calls"] == 7
    assert result.returncode == 0  # nothing is missing: the recording that was read has what the others lack
    assert result.lines == [f"fp32shim report: {tmp_path}/{name}: a copy of {tmp_path}/z.fp32rec, which has more; "
                            "counted once" for name in ("a.fp32rec", "cut.fp32rec")]


COPIES_ITSELF = "import numpy, shutil\na = numpy.ones((8, 8), 'f')\na @ a\nshutil.copy('run.fp32rec', 'earlier.bin')\na @ a\na @ a\n"


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_since_leaves_out_what_an_earlier_copy_has(tmp_path, form):
    shim.need(shim.has_module("numpy"), "no numpy")
    assert fp32shim("run", "-q", "--log", "run.fp32rec", "--", shim.SYSTEM_PYTHON, "-c", COPIES_ITSELF, cwd=tmp_path).returncode == 0

    def calls(*words):
        result = fp32shim("report", "--format", form, *words, "run.fp32rec", cwd=tmp_path)
        rows = result.json["rows"] if form == "json" else map(json.loads, result.stdout.splitlines())
        return sum(row["calls"] for row in rows if "function" in row and not shim.is_vector_product(row["function"]))
    assert (calls(), calls("--since", "earlier.bin")) == (3, 2)


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "html"])
def test_since_refuses_a_file_that_is_no_earlier_copy(folder, form):
    for name, why in (("below/b.fp32rec", "is no copy of it; name a copy of the recording that was made before"), ("none", "no such file")):
        result = fp32shim("report", "--format", form, "--since", name, "a.fp32rec", cwd=folder)
        assert result.returncode == 2 and len(result.lines) == 1, result.stderr
        assert result.lines[0].startswith(f'fp32shim report: --since: "{name}"') and why in result.lines[0]
        assert result.stdout == ""


def test_a_copy_that_is_not_counted_is_not_overwritten_either(folder):
    copy = folder / "copy.fp32rec"
    shutil.copy(folder / "a.fp32rec", copy)
    result = fp32shim("report", "-o", copy, folder)
    assert (result.returncode, copy.read_bytes()) == (2, (folder / "a.fp32rec").read_bytes())


def test_a_forked_name_gets_a_number_and_is_found(tmp_path):
    first = make_recording(tmp_path / "a.fp32rec", "summary", EXACT)
    second = make_recording(tmp_path / "a.fp32rec", "summary", EXACT)
    assert first != second
    assert report(tmp_path)["totals"]["recordings"] == 2


def test_recordings_of_children_have_job_and_host_in_their_names(tmp_path):
    shim.need(shim.has_module("numpy"), "no numpy")
    program = ("import numpy, os, subprocess; a = numpy.ones((9, 9), 'f'); subprocess.run(['sh', '-c', 'env -i true'])\n"
               "child = os.fork(); a @ a; child and os.waitpid(child, 0)")
    subprocess.run([COMMAND, "run", "-q", "--log", tmp_path / "%j.%h.fp32rec", "--", shim.SYSTEM_PYTHON, "-c", program], check=True,
                   env=environment(SLURM_JOB_ID="4711"))
    name = f"4711.{os.uname().nodename}"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{name}.1.fp32rec", f"{name}.children.fp32rec", f"{name}.fp32rec"]


def test_formats_are_shares_of_the_calls(folder):
    shares = report(folder)["by_format"]
    assert {name: share["calls"] for name, share in shares.items()} == {"tf32": 4000, "fp32": 17}


def test_filters_are_the_keys_of_a_rule(folder):
    assert report("--max-dim", "<=64", folder)["totals"]["calls"] == 17
    assert report("--m", "128", "--m", "32", folder)["totals"]["calls"] == 4007
    assert report("--function", "cblas_*", "--caller", "libcaller.so", folder)["totals"]["calls"] == 4017
    assert report("--caller", "nobody*", folder)["totals"]["calls"] == 0


def test_words_in_brackets_are_names_and_globs_like_others(folder):
    (folder / "below").rename(folder / "[x,y]")
    assert report("--function", "[bc]las_[b-z]gem[m]", "[x,y]", cwd=folder)["totals"]["calls"] == 0
    assert report("--function", "[bc]blas_sgem[m]", "[x,y]", cwd=folder)["totals"]["calls"] == 2007
    assert 'argument "[x]"' in fp32shim("explain", "--function", "sgemm_", "[x]").stderr


def test_output_to_a_dash_is_standard_output(folder, tmp_path):
    result = fp32shim("report", "--format", "csv", "-o", "-", folder, cwd=tmp_path)
    assert result.returncode == 0 and result.stdout.startswith("function,")
    assert fp32shim("report", "--format", "csv", "--output=-", folder, cwd=tmp_path).stdout.startswith("function,")
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("option", ["--output", "--format", "--top"])
def test_an_option_with_nothing_behind_its_equals_sign_takes_no_recording_for_its_value(folder, option):
    name = folder / "a.fp32rec"
    before = name.read_bytes()
    result = fp32shim("report", f"{option}=", name, folder / "below")
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
    assert f'{option}: found ""' in result.stderr and name.read_bytes() == before


def test_an_option_that_may_be_given_again_takes_no_recording_for_its_value(folder):
    names = [folder / "a.fp32rec", folder / "below/b.fp32rec"]
    totals = report("--function", "cblas_*", "--m", "128", *names)["totals"]
    assert (totals["recordings"], totals["calls"]) == (2, 4000)
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", "--assume-unused", "oneDNN", *names)
    assert (result.stderr, result.json["recordings"]) == ("", 2)
    assert report("--executable", "make_recording", "--flops", ">=1M", folder)["totals"]["calls"] == 4000
    assert report("--device", "cuda", folder)["totals"]["calls"] == 0


def test_a_filter_takes_sizes_that_are_rounded_up_where_they_may_fit_and_says_so(tmp_path):
    exact = [f"cblas_sgemm:{size}:native:fp32:as_requested:1" for size in (300, 301, 302, 303, 304)]
    folded = ["cblas_sgemm:100:native:fp32:as_requested:7"]  # rounded up to 128, which stands for sizes from 65 to 128
    recording = make_recording(tmp_path / "a.fp32rec", "calls", "--rows", "8", *exact, *folded)
    rows = report(recording)["rows"]
    assert [row["m"] for row in rows if row["sizes_folded"]] == [128]
    for words, calls in [(["--m", "100"], 7), (["--k", "<=65"], 7), (["--k", "<=64"], 0), (["--n", ">=128"], 12),
                         (["--n", "129"], 0), (["--max-dim", ">=70 <=80"], 7), (["--flops", "2M"], 7),
                         (["--m", "300"], 1), (["--flops", ">=5M"], 5)]:
        result = fp32shim("report", "--format", "json", *words, recording)
        assert result.json["totals"]["calls"] == calls, words
        log = fp32shim("log", "--format", "json", *words, recording)
        assert len([event for event in log.json if event["event"] == "decision"]) == calls, words
        said = "7 calls have sizes that are known only up to the next power of two, so some may not match"
        for name, lines in (("report", result.lines), ("log", log.lines)):
            assert lines == ([f"fp32shim {name}: {said}"] if calls in (7, 12) else []), words
    assert fp32shim("report", "--function", "cblas_*", recording).lines == []


@pytest.mark.parametrize("words, text", [(["--m", "12x"], "--m: found"), (["--m", ">=4 <=3"], "--m:"),
                                         (["--m", "64,32"], 'allowed: a whole number, a string such as "<=128", '
                                          '">=64 <=256", "2G"; repeat the option to allow several'),
                                         (["--device", "gpu"], "allowed: cpu, cuda"),
                                         (["--function", "a["], "--function:")])
def test_a_filter_that_cannot_be_read_is_one_line(folder, words, text):
    for command in ("report", "log"):
        result = fp32shim(command, *words, folder)
        assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
        assert text in result.stderr


def title_of(text):
    """Returns the columns of the table of calls."""
    return next(re.split(" {2,}", line.strip()) for line in text.splitlines() if line.startswith("calls "))


def test_the_table_has_columns_for_scopes_and_transposes_where_these_tell_rows_apart(tmp_path, folder):
    shim.need(shim.has_module("numpy"), f"{shim.SYSTEM_PYTHON} has no numpy (python3-numpy)")
    (tmp_path / "products.py").write_text(textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(shim.ROOT / "python")!r})
        import fp32shim
        import numpy
        a = numpy.ones((40, 40), numpy.float32)
        b = 2 * a
        a @ b
        a.T @ b
        with fp32shim.scope("model/solver"):
            a @ b
    """))
    recording = tmp_path / "products.fp32rec"
    result = fp32shim("run", "--quiet", "--log", recording, "--", shim.SYSTEM_PYTHON, tmp_path / "products.py")
    assert result.returncode == 0, result.stderr
    text = fp32shim("report", recording).stdout
    title = title_of(text)
    positions = [title.index(name) for name in ("size", "trans", "scope")]
    assert positions == sorted(positions)
    assert re.search(r"^All 3 rows below: caller -> provider: .* -> .*; asked for: native \(native\); reason: as_requested$", text,
                     re.MULTILINE)
    rows = [line.split() for line in text.splitlines() if " cblas_sgemm " in line]
    assert len(rows) == len({tuple(row[row.index("40x40x40"):]) for row in rows}) == 3
    text = fp32shim("report", "--scope", "model/solver", recording).stdout
    assert "scope" in title_of(text) and "trans" not in title_of(text) and "model/solver" in text
    assert not {"trans", "scope", "GPU"} & set(title_of(fp32shim("report", folder / "a.fp32rec").stdout))


def test_ranks_are_named_where_processes_are(tmp_path):
    for rank in (0, 1):
        made = subprocess.run([shim.client("make_recording"), tmp_path / f"{rank}.fp32rec", "calls", EXACT],
                              env=environment(RANK=rank), capture_output=True, check=False)
        assert made.returncode == 0
    heads = fp32shim("log", tmp_path).stdout.splitlines()[:2]
    trace = json.loads(fp32shim("log", "--format", "chrome", tmp_path).stdout)["traceEvents"]
    names = [event["args"]["name"] for event in trace if event["name"] == "process_name"]
    for rank in (0, 1):
        assert f", rank {rank}: " in heads[rank] and names[rank].endswith(f", rank {rank}")


def test_the_table_says_what_was_asked_for_and_not_done(folder):
    text = fp32shim("report", folder).stdout
    assert "4,017 calls in 2 recordings on 1 machine" in text
    assert "cpu_mode_off" in text.split("Did not run as requested")[1]


def test_where_nothing_was_done_as_asked_the_table_is_not_repeated(tmp_path):
    make_recording(tmp_path / "a.fp32rec", "summary", REFUSED, "cblas_sgemm:65:high:fp32:cpu_mode_off:3")
    text = fp32shim("report", tmp_path).stdout
    assert text.count("; reason: cpu_mode_off\n") == 1
    assert "\nDid not run as requested: all of these calls\n" in text


def test_the_table_says_that_settings_are_those_at_the_start_and_has_no_blanks_at_the_end_of_a_line(folder):
    assert "\nAt its start: default native, floor none, CPU mode off\n" in fp32shim("report", folder / "a.fp32rec").stdout
    text = fp32shim("report", folder).stdout
    assert "\nAt their start: default native" in text
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_rows_that_a_table_leaves_out_are_counted_and_it_says_how_to_see_them(folder):
    assert "\n2 more rows; --top 0 shows all\n" in fp32shim("report", "--top", "1", folder).stdout
    assert "more" not in fp32shim("report", "--top", "0", folder).stdout


SHORT = """
import ctypes
blas = ctypes.CDLL("{library}")
a = (ctypes.c_float * 64)()
for _ in range(3000):
    blas.cblas_sgemm(102, 111, 111, 1, 1, 1, ctypes.c_float(1), a, 8, a, 8, ctypes.c_float(0), a, 8)
"""


@pytest.fixture(scope="module")
def estimated(tmp_path_factory):
    """A recording of calls so short that, on any machine, not all of them were timed; and the summary of the run."""
    log = tmp_path_factory.mktemp("estimated") / "a.fp32rec"
    program = SHORT.format(library=shim.client("libfake_plain.so"))
    result = fp32shim("run", "--log", log, "--", shim.SYSTEM_PYTHON, "-c", program)
    assert result.returncode == 0 and report(log)["totals"]["timed_calls"] < 3000, result.stderr
    return log, result.stderr


def test_a_time_that_is_an_estimate_is_marked_in_every_format(estimated):
    log, summary = estimated
    row = report(log)["rows"][0]
    assert row["timed_calls"] < row["calls"] == 3000
    for text in (fp32shim("report", log).stdout, summary):
        assert re.search(r"3,000 calls in 1 recording on 1 machine, ~\S+ [um]s on the host", text)
        assert re.search(r"^fp32 +3,000  100.0% +~\S+ [um]s  100.0%$", text, re.MULTILINE)
        # The shortest and the longest time have no ~, since they come from timed calls.
        assert re.search(r"^3,000 +~\S+ [um]s +~\S+ [nu]s +\d\S* [nu]s +\d\S* [num]s  cblas_sgemm", text, re.MULTILINE)
        assert "\n~: estimated, because only some of the short calls are timed\n" in text
    assert re.search(r"3,000 calls +~\S+ [um]s  cblas_sgemm", fp32shim("log", log).stdout)
    columns = next(csv.DictReader(io.StringIO(fp32shim("report", "--format", "csv", log).stdout)))
    assert int(columns["timed_calls"]) == row["timed_calls"]
    assert re.search(rf"^fp32shim_timed_calls_total\{{.*\}} {row['timed_calls']}$",
                     fp32shim("report", "--format", "prometheus", log).stdout, re.MULTILINE)
    data = re.search(r'id="data">(.*?)</script>', fp32shim("report", "--format", "html", log).stdout, re.DOTALL)
    for sums in (json.loads(data[1])["totals"], json.loads(data[1])["by_format"]["fp32"]):
        assert 0 < sums["timed_calls"] < sums["calls"]  # the page then writes ≈ before the time


def test_settings_that_differ_have_a_line_each(estimated, folder):
    head = fp32shim("report", folder, estimated[0]).stdout.split("\n\n")[0].splitlines()
    assert len(head) == 2 and head[1] == "At their start: default native, floor none, CPU mode off"
    with Multiplying(log=folder / "c.fp32rec", FP32_MATMUL_FLOOR="fp32") as process:
        process.ask()
    head = fp32shim("report", folder).stdout.split("\n\n")[0].splitlines()
    assert head[1:] == ["At their start: default native, floor fp32, CPU mode off (1 recording)",
                        "At their start: default native, floor none, CPU mode off (2 recordings)"]


def test_a_time_that_was_measured_is_not_marked(folder):
    assert "~" not in fp32shim("report", folder).stdout + fp32shim("log", folder).stdout


def test_csv_is_read_back_by_a_csv_reader(folder):
    rows = list(csv.DictReader(io.StringIO(fp32shim("report", "--format", "csv", folder).stdout)))
    assert sum(int(row["calls"]) for row in rows) == 4017
    assert {row["m"] for row in rows} == {"128", "64", "32"}


def test_prometheus_text_has_a_help_and_a_type_for_every_metric(folder):
    text = fp32shim("report", "--format", "prometheus", folder).stdout
    calls = 0
    described = set()
    for line in text.splitlines():
        if line.startswith("#"):
            described.add(line.split()[2])
            continue
        name, value = line.rsplit(" ", 1)
        assert name.split("{")[0] in described
        if name.startswith("fp32shim_calls_total"):
            calls += int(value)
    assert calls == 4017
    assert {"fp32shim_timed_calls_total", "fp32shim_dropped_events_total", "fp32shim_overwritten_events_total"} < described


def test_log_writes_every_call_in_order(folder):
    events = [json.loads(line) for line in fp32shim("log", "--format", "jsonl", folder / "a.fp32rec").stdout.splitlines()]
    assert [event["event"] for event in events[:2]] == ["start", "decision"]
    decisions = events[1:]
    assert len(decisions) == 2010
    assert [event["time_ns"] for event in decisions] == sorted(event["time_ns"] for event in decisions)
    assert len({event["tid"] for event in decisions}) >= 2
    assert set(decisions[0]) == set(shim.DECISION_KEYS)


def test_log_writes_decisions_where_calls_were_not_recorded(folder):
    entries = [json.loads(line) for line in fp32shim("log", "--format", "jsonl", folder / "below").stdout.splitlines()]
    assert sorted(entry["calls"] for entry in entries if entry["event"] == "row") == [7, 2000]


def test_log_says_once_that_single_calls_were_not_recorded_and_how_to_record_them(folder):
    make_recording(folder / "below/c.fp32rec", "summary", EXACT)
    for words in (["--format", "csv"], []):
        result = fp32shim("log", *words, folder)
        assert (result.returncode, len(result.lines)) == (0, 1)
        assert "b.fp32rec and 1 more: single calls were not recorded" in result.stderr and "--level calls" in result.stderr
    assert fp32shim("log", folder / "a.fp32rec").stderr == fp32shim("log", "--rows", folder).stderr == ""


def written_at_the_same_time(folder, names, level="calls"):
    """Writes recordings of processes whose calls alternate."""
    processes = [subprocess.Popen([shim.client("steps"), "ask"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  env={**shim.environment(preload=[shim.LIBRARY]), "FP32_MATMUL_LOG_LEVEL": level,
                                       "FP32_MATMUL_LOG": str(folder / name)}) for name in names]
    for _ in range(50):
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline().startswith("products ")
    for process in processes:
        process.communicate()
    return [process.pid for process in processes]


def test_log_writes_calls_of_several_recordings_in_the_order_in_which_they_returned(tmp_path):
    pids = written_at_the_same_time(tmp_path, ["a.fp32rec", "b.fp32rec", "c.fp32rec"])
    make_recording(tmp_path / "d.fp32rec", "calls", "cblas_sgemm:128:high:tf32:as_requested:20000:2")
    lines = [json.loads(line) for line in fp32shim("log", "--format", "jsonl", tmp_path).stdout.splitlines()]
    assert [line["event"] for line in lines[:5]] == ["start"] * 4 + ["decision"]
    decisions = lines[4:]
    assert len(decisions) == 150 + 40_000
    assert [line["pid"] for line in decisions if line["pid"] in pids] == pids * 50
    assert [line["time_ns"] for line in decisions[-40_000:]] == sorted(line["time_ns"] for line in decisions[-40_000:])
    table = fp32shim("log", tmp_path / "a.fp32rec", tmp_path / "b.fp32rec").stdout.splitlines()
    assert [line.split()[1] for line in table[2:]] == [str(pid) for pid in pids[:2]] * 50


def test_decisions_are_in_the_order_of_their_last_calls(tmp_path):
    make_recording(tmp_path / "b.fp32rec", "summary", EXACT)
    make_recording(tmp_path / "a.fp32rec", "summary", EXACT, REFUSED)
    entries = [json.loads(line) for line in fp32shim("log", "--format", "jsonl", tmp_path).stdout.splitlines()]
    rows = [entry for entry in entries if entry["event"] == "row"]
    assert [row["calls"] for row in rows] == [7, 7, 10]
    assert [row["time"] for row in rows] == [row["last"] for row in rows] == sorted(row["time"] for row in rows)


def test_log_filters(folder):
    text = fp32shim("log", "--format", "csv", "--m", "64", folder / "a.fp32rec").stdout
    assert len(list(csv.DictReader(io.StringIO(text)))) == 10


def test_a_chrome_trace_has_one_event_per_call(folder):
    trace = json.loads(fp32shim("log", "--format", "chrome", folder / "a.fp32rec").stdout)
    complete = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert len(complete) == 2010
    assert all(event["ts"] >= 0 and event["dur"] > 0 for event in complete)


def test_processes_of_one_id_have_tracks_of_their_own_in_a_chrome_trace(folder):
    content = bytearray((folder / "a.fp32rec").read_bytes())
    content[48] ^= 1  # changes start_ticks: another recording of the same process, as after a reload
    (folder / "later.fp32rec").write_bytes(content)
    content[80] ^= 1  # changes boot_id: another machine
    (folder / "elsewhere.fp32rec").write_bytes(content)
    (folder / "below/b.fp32rec").unlink()
    trace = json.loads(fp32shim("log", "--format", "chrome", folder).stdout)["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in trace if event["ph"] == "M"}
    pid = report(folder / "a.fp32rec")["processes"][0]["pid"]
    assert set(names) == {pid, pid + 1}
    # One of the two machines keeps the id; the order of the files decides which.
    assert names[pid + 1].startswith(f"make_recording, process {pid} on ") and "process" not in names[pid]
    calls = [event["pid"] for event in trace if event["ph"] == "X"]
    assert sorted((calls.count(pid), calls.count(pid + 1))) == [2010, 2 * 2010]


def test_a_chrome_trace_has_no_entry_that_is_too_short_to_be_seen(folder):
    make_recording(folder / "below/once.fp32rec", "summary", "cblas_sgemm:16:native:fp32:as_requested:1")
    for words in ([folder / "below"], ["--rows", folder]):
        trace = json.loads(fp32shim("log", "--format", "chrome", *words).stdout)
        complete = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        assert len(complete) >= 3 and all(event["dur"] > 0 for event in complete)
        assert all("single calls were not recorded" in event["args"]["duration"] for event in complete)
        for event in complete:
            if event["args"]["calls"] == 1:
                assert event["dur"] == pytest.approx(event["args"]["host_ns"] / 1e3)


def test_follow_ends_with_the_process(tmp_path):
    process = live_recording(tmp_path / "live.fp32rec", "calls", EXACT)
    with Following("--format", "jsonl", tmp_path / "live.fp32rec") as following:
        events = [json.loads(following.stdout.readline())["event"] for _ in range(1 + 7)]
        assert events == ["start"] + 7 * ["decision"]
        with pytest.raises(subprocess.TimeoutExpired):
            following.wait(0.5)
        process.communicate()
        assert process.returncode == 0
        assert following.communicate() == ("", "")
        assert following.returncode == 0


class Following:
    """A running `fp32shim log --follow`, and the process that it follows."""

    def __init__(self, *words):
        self.process = subprocess.Popen([COMMAND, "log", "--follow", *map(str, words)], text=True, env=environment(),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def counts_in(lines):
    return [int(line.split()[1]) for line in lines if " call" in line and "sgemm_" in line]


def test_follow_shows_decisions_again_when_they_have_more_calls(tmp_path):
    log = tmp_path / "a.fp32rec"
    with Multiplying(log=log, FP32_MATMUL_LOG_LEVEL="summary") as process:
        process.ask()
        with Following(log) as following:
            assert following.stdout.readline().startswith(f"process {process.pid} on ")
            assert counts_in([following.stdout.readline()]) == [1]
            for _ in range(3):
                process.ask()
            seen = counts_in([following.stdout.readline()])
            process.ask()
            process.end()
            text, errors = following.communicate(timeout=600)
            counts = seen + counts_in(text.splitlines())
            assert counts == sorted(set(counts)) and counts[-1] == 5
            assert following.returncode == 0
            assert len(errors.splitlines()) == 1 and "single calls were not recorded" in errors


def hide_process_of(log):
    """Gives the recording the number of another PID namespace, in which no process is visible from here."""
    with log.open("r+b") as file:
        file.seek(72)
        file.write(struct.pack("<Q", 1))


def test_follow_goes_on_if_it_cannot_see_whether_the_process_still_runs(tmp_path):
    log = tmp_path / "a.fp32rec"
    with Multiplying(log=log, FP32_MATMUL_LOG_LEVEL="calls") as process:
        process.ask()
        hide_process_of(log)
        result = fp32shim("verify", "--at-least", "fp32", "--format", "json", log)
        assert "still runs, which cannot be seen from this machine" in result.json["bypasses"][0]["reason"]
        with Following(log, "--format", "csv") as following:
            assert len([following.stdout.readline() for _ in range(2)]) == 2  # the line about the columns, and a call
            process.ask()
            assert "sgemm_" in following.stdout.readline()
            process.end()
            assert following.communicate(timeout=600)[1].count("following until it notes its end") == 1
            assert following.returncode == 0


def test_follow_ends_if_a_process_that_cannot_be_seen_has_timed_no_call_for_an_hour(tmp_path):
    process = live_recording(tmp_path / "a.fp32rec", "calls", TF32)
    process.kill()
    process.communicate()
    hide_process_of(tmp_path / "a.fp32rec")
    with (tmp_path / "a.fp32rec").open("r+b") as file:
        file.seek(32)
        start, = struct.unpack("<q", file.read(8))
        file.seek(32)
        file.write(struct.pack("<q", start - 2 * 3600 * 10**9))
    result = fp32shim("log", "--follow", "--format", "csv", tmp_path / "a.fp32rec", timeout=600)
    assert result.returncode == 0 and len(result.stdout.splitlines()) > 1
    assert result.stderr.count("it has timed no call for an hour") == 1, result.stderr


def test_a_killed_process_that_cannot_be_seen_has_ended_if_its_run_noted_the_end(tmp_path):
    shim.need(shim.has_module("numpy"), "no numpy")
    log = tmp_path / "a.fp32rec"
    fp32shim("run", "--log", log, "--", shim.SYSTEM_PYTHON, "-c",
             "import numpy, os; a = numpy.ones((8, 8), 'f'); a @ a; os.kill(os.getpid(), 9)")
    hide_process_of(log)
    result = fp32shim("log", "--follow", log)
    assert (result.returncode, len(result.lines)) == (0, 1) and "single calls were not recorded" in result.stderr
    reason = fp32shim("verify", "--at-least", "fp32", "--format", "json", log).json["bypasses"][0]["reason"]
    assert "killed" in reason and "still runs" not in reason


@pytest.mark.parametrize("name", ["jsonl", "csv"])
def test_follow_hands_each_decision_to_programs_once_with_its_final_count(tmp_path, name):
    log = tmp_path / "a.fp32rec"
    with Multiplying(log=log, FP32_MATMUL_LOG_LEVEL="summary") as process:
        process.ask()
        with Following(log, "--format", name) as following:
            following.stdout.readline()  # line about the process, or about the columns
            process.ask()
            time.sleep(1.5)
            process.ask()
            process.end()
            lines = following.communicate(timeout=600)[0].splitlines()
    assert len(lines) == 1
    assert ",3," in lines[0] if name == "csv" else json.loads(lines[0])["calls"] == 3


def test_a_recording_of_a_killed_process_is_whole(tmp_path):
    process = live_recording(tmp_path / "live.fp32rec", "calls", TF32)
    process.kill()
    process.wait()
    assert report(tmp_path)["totals"]["calls"] == 2000


def test_a_running_process_is_listed_watched_and_changed(tmp_path):
    process = live_recording(tmp_path / "live.fp32rec", "summary", TF32)
    try:
        seen = {entry["pid"]: entry for entry in fp32shim("ps", "--format", "json").json["processes"]}
        assert seen[process.pid]["calls"] == 2000
        assert str(process.pid) in fp32shim("ps").stdout
        done = fp32shim("set", process.pid, "highest")
        assert (done.returncode, done.stdout, done.stderr) == (0, f"process {process.pid}: precision highest\n", "")
        one = fp32shim("top", "--count", "1", process.pid).stdout
        assert "highest" in one and "cblas_sgemm" in one
        assert fp32shim("set", process.pid, "default").returncode == 0
        refused = fp32shim("reload", process.pid)
        assert (refused.returncode, len(refused.lines)) == (1, 1)
        assert "no policy file" in refused.stderr
        changes = report(tmp_path)["processes"][0]["changes"]
        assert [(c["kind"], c["precision"], c["done"]) for c in changes] == [
            ("set_precision", "highest", True), ("set_precision", None, True), ("reload", None, False)]
        changed = fp32shim("report", tmp_path).stdout.split("Changed while it ran\n")[1]
        assert ": precision highest (fp32shim command)\n" in changed
        assert ": policy not read again (fp32shim command, refused: there is no policy file" in changed
        assert '"policy not read again"' in fp32shim("report", "--format", "html", tmp_path).stdout
        assert fp32shim("verify", "--at-least", "tf32", tmp_path).returncode == 3
    finally:
        process.kill()
        process.wait()


def test_one_call_below_fp32_is_not_rounded_away(tmp_path):
    process = live_recording(tmp_path / "live.fp32rec", "summary", "a:8:native:fp32:as_requested:5000",
                             "b:8:high:tf32:as_requested:1")
    try:
        line = fp32shim("ps", process.pid).stdout.splitlines()[1]
        assert line.split()[0] == str(process.pid) and " >99%  " in line and " <1%  " in line
    finally:
        process.communicate(timeout=600)


@pytest.mark.parametrize("name", ["a line\nfeed", "its digits \\012", "gone (deleted)"])
def test_a_running_process_is_found_whatever_the_name_of_its_recording(tmp_path, name):
    (tmp_path / name).mkdir()
    process = live_recording(tmp_path / name / "live.fp32rec", "summary", EXACT)
    try:
        assert fp32shim("ps", process.pid).returncode == 0
        assert fp32shim("set", process.pid, "highest").returncode == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("calls, at_least, status", [
    ([EXACT], "fp32", 0), ([EXACT, REFUSED], "fp32", 0), ([TF32], "tf32", 0), ([TF32], "fp32", 1),
    ([EXACT, TF32], "bf16x9", 1), ([EXACT, OBSERVED], "fp32", 3), ([TF32, OBSERVED], "fp32", 1), ([], "fp32", 3),
    (["cublasXtSgemm:9:high:unchanged:not_governable:2"], "fp32", 3), (["cublasXtSgemm:9:high:fp32:not_governable:2"], "fp32", 0),
    (["cblas_sgemm:0:high:unchanged:no_product:2"], "fp32", 0),
    (["cublasSgemm_v2:9:bf16x9:bf16x9:as_requested:2"], "fp32", 1),
    (["cublasSgemm_v2:9:bf16x9:bf16x9:as_requested:2"], "bf16x9", 0),
    *[([f"cblas_sgemm:9:{parts}:{parts}:as_requested:2"], at_least, status) for parts in
      ("bf16x2", "bf16x3", "tf32x3", "xf32") for at_least, status in (("tf32", 0), ("bf16x9", 1))],
    (["cblas_sgemm:9:bf16x2:bf16x3:as_requested:2"], "tf32", 3),
    *[([f"cblas_sgemm:9:{narrow}:{narrow}:as_requested:2"], "fp16", status)
      for narrow, status in (("fp16", 0), ("e4m3", 1), ("e5m2", 1))],
])
def test_verify_shows_refutes_or_cannot_tell(tmp_path, calls, at_least, status):
    make_recording(tmp_path / "a.fp32rec", "summary", *calls)
    result = fp32shim("verify", "--at-least", at_least, "--format", "json", tmp_path)
    assert result.returncode == status
    assert result.json["verdict"] == {0: "shown", 1: "violated", 3: "inconclusive"}[status]
    assert bool(result.json["violations"]) == (status == 1)
    assert fp32shim("verify", "--at-least", at_least, tmp_path).returncode == status


def test_a_product_without_elements_or_terms_has_no_other_order(tmp_path):
    calls = [f"cblas_sgemm:{size}:native:fp32:as_requested:1" for size in ("0x4x4", "4x4x0", "8")]
    log = make_recording(tmp_path / "a.fp32rec", "summary", "--one-thread", *calls)
    result = fp32shim("verify", "--reproducible", log)
    assert result.stdout.startswith("Violated: 1 of 3 calls in 1 recording ran in another order."), result.stdout


def test_verify_lets_bf16x9_pass_where_that_is_said(tmp_path):
    make_recording(tmp_path / "a.fp32rec", "summary", "cublasSgemm_v2:9:bf16x9:bf16x9:as_requested:2")
    assert fp32shim("verify", "--at-least", "fp32", "--allow-bf16x9", tmp_path).returncode == 0


@pytest.mark.parametrize("size", [0, 1, 7, 8, 100, 4096, 65535, 65536, 65537, 131072, 200000])
def test_a_cut_recording_is_said_and_the_rest_of_it_is_read(folder, size):
    cut = folder / "cut.fp32rec"
    cut.write_bytes((folder / "a.fp32rec").read_bytes()[:size])
    for command in (["report", "--format", "json"], ["log"]):
        result = fp32shim(*command, cut)
        assert result.returncode == 1
        assert result.lines and all(line.startswith(f"fp32shim {command[0]}: {cut}: ") for line in result.lines)
    assert fp32shim("verify", "--at-least", "bf16", cut).returncode == 3


@pytest.mark.parametrize("content", [b"", b"text\n", b"\x7fELF" * 100, b"\0" * 200000],
                         ids=["empty", "text", "elf", "zeros"])
def test_a_foreign_file_is_one_line(tmp_path, content):
    foreign = tmp_path / "foreign.fp32rec"
    foreign.write_bytes(content)
    result = fp32shim("report", foreign)
    assert (result.returncode, result.stdout, len(result.lines)) == (1, "", 1)


@pytest.mark.parametrize("command", [["report"], ["log"], ["verify", "--at-least", "fp32"], ["top"]])
def test_nothing_of_a_file_that_is_no_recording_is_shown(tmp_path, command):
    """A link may lead to a file that only the user of the command may read."""
    (tmp_path / "secrets").write_text("root:secret")
    link = tmp_path / "a.fp32rec"
    link.symlink_to(tmp_path / "secrets")
    result = fp32shim(*command, link)
    said = result.stdout + result.stderr
    assert result.returncode != 0 and said != ""
    assert not any(secret in said for secret in ("root:", "secret", b"root"[::-1].hex(), b"root".hex()))


def test_a_link_of_another_user_is_not_followed(tmp_path):
    shim.need(os.geteuid() == 0, "only root can give a link away")
    target = make_recording(tmp_path / "target.fp32rec", "summary", EXACT)
    link = tmp_path / "link.fp32rec"
    link.symlink_to(target)
    assert report(link)["totals"]["calls"] == 7
    os.chown(link, 12345, 12345, follow_symlinks=False)
    result = fp32shim("report", link)
    assert result.returncode == 1 and "a symbolic link that belongs to another user" in result.stderr
    os.chown(target, 12345, 12345)
    assert report(link)["totals"]["calls"] == 7, "who made the link could have named the file"


def test_verify_says_first_why_a_file_is_no_recording(tmp_path):
    foreign = tmp_path / "foreign.fp32rec"
    foreign.write_text("text")
    lines = fp32shim("verify", "--at-least", "fp32", foreign).stdout.splitlines()
    assert lines[0] == "Inconclusive: no recording could be read."
    assert len(lines) == 2 and lines[1].startswith(f"- {foreign}: ")


def test_a_damaged_recording_does_not_hide_the_others(folder):
    (folder / "broken.fp32rec").write_bytes(b"nothing")
    result = fp32shim("report", "--format", "json", folder)
    assert (result.returncode, result.json["totals"]["calls"]) == (1, 4017)


def test_nothing_is_missing_from_a_proof_unsaid(tmp_path):
    """Recordings may be missing behind a folder that may not be read, and behind a link that leads nowhere."""
    make_recording(tmp_path / "a.fp32rec", "summary", EXACT)
    assert fp32shim("verify", "--at-least", "fp32", tmp_path).returncode == 0
    link = tmp_path / "link.fp32rec"
    link.symlink_to("nowhere")
    assert fp32shim("verify", "--at-least", "fp32", tmp_path).returncode == 3
    link.unlink()

    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    prefix = without_special_rights()
    for words, status in ((["verify", "--at-least", "fp32"], 3), (["report"], 1)):
        result = fp32shim(*words, tmp_path, prefix=prefix)
        assert (result.returncode, f"{closed}: this user may not read it" in result.stdout + result.stderr) == (status, True)
        alone = fp32shim(*words, closed, prefix=prefix)
        assert (alone.returncode, alone.stderr) == (2, f"fp32shim {words[0]}: {closed}: Permission denied\n")


def test_a_folder_without_recordings_is_one_line(tmp_path):
    result = fp32shim("report", tmp_path)
    assert (result.returncode, len(result.lines)) == (2, 1)


def test_names_from_a_recording_cannot_steer_the_terminal(tmp_path):
    path = make_recording(tmp_path / "a.fp32rec", "summary", "sg\x1b[31memm:3:native:fp32:as_requested:1")
    for command in ("report", "log"):
        text = fp32shim(command, path).stdout
        assert "\x1b" not in text and "\\x1b[31m" in text


def test_what_is_written_is_utf8_whatever_names_are(tmp_path):
    """U+009B begins an escape sequence on some terminals."""
    path = make_recording(tmp_path / "a.fp32rec", "calls", "n\udcff\x9bü:3:native:fp32:as_requested:1")
    for words in (["report"], ["log"], ["log", "--rows"]):
        assert "n\\xff\\xc2\\x9bü" in fp32shim(*words, path).stdout
    for words in (["report", "--format", "csv"], ["report", "--format", "prometheus"], ["log", "--format", "csv"]):
        assert re.search(r"n\ufffd\\{1,2}xc2\\{1,2}x9bü", fp32shim(*words, path).stdout)


def test_the_reader_needs_no_right_to_write(folder):
    shutil.copy(folder / "a.fp32rec", folder / "read-only.fp32rec")
    (folder / "read-only.fp32rec").chmod(0o400)
    assert fp32shim("report", folder / "read-only.fp32rec").returncode == 0


SEGMENT = 65536


def with_slot(content, slot):
    """Returns a recording whose counters, rings and events belong to another slot."""
    changed = bytearray(content)
    for offset in range(SEGMENT, len(changed), SEGMENT):
        if struct.unpack_from("<I", changed, offset)[0] in (3, 4, 5):
            struct.pack_into("<I", changed, offset + 4, slot)
    return changed


@pytest.mark.parametrize("slot", [0xffffffff, 0xfffffffe, 0x10000000, 1 << 22])
def test_slots_that_cannot_be_are_named_and_left_out(tmp_path, slot):
    path = make_recording(tmp_path / "a.fp32rec", "calls", TF32)
    path.write_bytes(with_slot(path.read_bytes(), slot))
    for command in ("report", "log"):
        result = fp32shim(command, path)
        assert result.returncode == 1 and f"a segment of slot {slot}, but slots are below 4194304" in result.stderr


def test_a_small_file_that_names_a_text_many_times_takes_no_more_memory_than_it_has_to(tmp_path):
    """The file has forty segments with objects, all of one long path. The command gets 1 GiB of address space."""
    content = bytearray(make_recording(tmp_path / "a.fp32rec", "summary", EXACT).read_bytes())
    strings = next(offset for offset in range(SEGMENT, len(content), SEGMENT)
                   if struct.unpack_from("<I", content, offset)[0] == 1)
    text = SEGMENT // 2  # an offset within the segment where no text begins
    struct.pack_into("<I", content, strings + text, SEGMENT // 2 - 4 + 1)
    content[strings + text + 4:strings + SEGMENT] = b"x" * (SEGMENT // 2 - 4)
    entry = struct.pack("<QIIB27sI", 1, text // 16, 0, 0, b"", 1)
    segments = (struct.pack("<I60x", 6) + entry * 1364).ljust(SEGMENT, b"\0")
    content += segments * 40
    struct.pack_into("<I", content, 256, len(content) // SEGMENT)
    (tmp_path / "a.fp32rec").write_bytes(content)
    result = fp32shim("verify", "--at-least", "fp32", tmp_path, prefix=["prlimit", f"--as={1 << 30}"])
    assert result.returncode == 3 and "40 segments with objects, but there are at most 8" in result.stdout, result.stderr


def expanded(sparse):
    """Returns the file that an input of the fuzzer describes (tests/fuzz/sparse_file.hpp)."""
    file = bytearray(min(struct.unpack_from("<I", sparse)[0], 1 << 20)) if len(sparse) >= 4 else bytearray()
    at = 4
    while len(sparse) - at > 6:
        offset, size = struct.unpack_from("<IH", sparse, at)
        patch = sparse[at + 6:at + 6 + size][:max(len(file) - offset, 0)]
        file[offset:offset + len(patch)] = patch
        at += 6 + size
    return file


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    for sparse in (shim.ROOT / "tests/fuzz/corpus").iterdir():
        (folder / f"{sparse.name}.fp32rec").write_bytes(expanded(sparse.read_bytes()))
    assert len(list(folder.iterdir())) > 40
    return folder


@pytest.mark.parametrize("words", [*(("log", "--format", name) for name in ("table", "json", "jsonl", "csv", "chrome")),
                                   ("log", "--rows"), ("verify", "--at-least", "fp32"),
                                   *(("report", "--format", name) for name in ("table", "json", "csv", "prometheus", "html"))])
def test_what_the_fuzzer_found_is_written_in_every_format(corpus, words):
    result = fp32shim(*words, corpus)
    assert result.returncode == 1, result.stderr
    assert result.stdout and "gave up" not in result.stderr
    if "json" in words or "chrome" in words:
        json.loads(result.stdout)
    if "jsonl" in words:
        assert all(json.loads(line)["event"] for line in result.stdout.splitlines())


@pytest.mark.parametrize("command", [["set", "high"], ["reload"], ["top"], ["ps"]])
@pytest.mark.parametrize("word", ["abc", "0", "12x", "99999999999"])
def test_what_is_no_process_id_is_called_that(command, word):
    result = fp32shim(command[0], word, *command[1:])
    assert (result.returncode, len(result.lines)) == (2, 1)
    assert f'"{word}" is not a process id; fp32shim ps lists the processes that are recording' in result.stderr


POLICY = """schema = 1
default = "{precision}"
[cpu]
mode = "emulate"
[log]
path = "{path}"
"""


class Multiplying:
    """The running client `steps`, which makes one product per question."""

    def __init__(self, policy=None, log=None, **variables):
        self.process = subprocess.Popen([shim.client("steps"), "ask"], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=shim.environment(policy=policy, log=log, env=variables, preload=[shim.LIBRARY]))
        self.pid = self.process.pid

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline().startswith("products ")

    def end(self):
        self.process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


LEFT = "after a reload or on entering strict seccomp, the process continued in another recording or in none"


def test_after_a_reload_that_changes_the_path_commands_go_to_the_recording_in_force(tmp_path):
    policy, first, second = tmp_path / "policy.toml", tmp_path / "a.fp32rec", tmp_path / "b.fp32rec"
    policy.write_text(POLICY.format(precision="high", path=first))

    def reload(path):
        policy.write_text(POLICY.format(precision="high", path=path))
        assert fp32shim("reload", process.pid, "--wait", "0").returncode == 3
        process.ask()
        process.ask()

    def listed():
        return {entry["pid"]: entry["recording"] for entry in fp32shim("ps", "--format", "json").json["processes"]}

    with Multiplying(policy) as process:
        process.ask()
        assert listed()[process.pid] == str(first)
        assert LEFT not in fp32shim("verify", "--at-least", "tf32", first).stdout
        assert LEFT not in fp32shim("report", first).stdout
        reload(second)
        assert listed()[process.pid] == str(second)
        assert fp32shim("set", process.pid, "medium", "--wait", "0").returncode == 3
        process.ask()
        assert [change["kind"] for change in report(second)["processes"][0]["changes"]] == ["set_precision"]
        assert {row["requested"] for row in report(second)["rows"]} == {"high", "medium"}
        reload(tmp_path / "c.jsonl")
        result = fp32shim("set", process.pid, "highest", "--wait", "0")
        assert (result.returncode, len(result.lines)) == (2, 1)
        assert "is no longer used since a reload" in result.stderr
        assert process.pid not in listed()
    for path in (first, second):
        doubts = fp32shim("verify", "--at-least", "tf32", "--format", "json", path).json["doubts"]
        assert any(doubt["reason"].startswith(LEFT) for doubt in doubts)
        assert LEFT in fp32shim("report", path).stdout
        assert LEFT in fp32shim("report", "--format", "html", path).stdout
    assert re.search(r"policy read again: without a name, sha256 [0-9a-f]{12} \(", fp32shim("report", first).stdout)


def test_a_file_with_the_beginning_of_another_recording_does_not_hide_that_one(tmp_path):
    """Somebody who can write beside a recording can make a file with the same beginning and more calls."""
    violated = make_recording(tmp_path / "a.fp32rec", "summary", "sgemm_:8:high:tf32:as_requested:3")
    larger = make_recording(tmp_path / "b.fp32rec", "summary", "sgemm_:8:native:fp32:as_requested:9")
    larger.write_bytes(violated.read_bytes()[:128] + larger.read_bytes()[128:])
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", violated, larger)
    assert result.json["verdict"] != "shown"
    assert [doubt["recording"] for doubt in result.json["doubts"] if "differs from" in doubt["reason"]] == [str(violated)]


def test_a_copy_of_another_owner_is_a_doubt_and_a_truncated_one_is_none(tmp_path):
    whole = make_recording(tmp_path / "a.fp32rec", "summary", EXACT)
    copy = tmp_path / "copy.fp32rec"
    shutil.copy(whole, copy)

    def doubts():
        result = fp32shim("verify", "--at-least", "fp32", "--format", "json", whole, copy)
        return [doubt["reason"] for doubt in result.json["doubts"] if "begin as the same recording" in doubt["reason"]]

    assert doubts() == []
    copy.write_bytes(whole.read_bytes()[:70000])
    assert doubts() == []
    if os.geteuid() == 0:
        os.chown(copy, 65534, -1)
        assert len(doubts()) == 1


def test_an_earlier_copy_beside_its_recording_is_no_doubt(tmp_path):
    with Multiplying(log=tmp_path / "a.fp32rec") as process:
        process.ask()
        shutil.copy(tmp_path / "a.fp32rec", tmp_path / "early.fp32rec")
        process.ask()
        process.end()
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", tmp_path)
    assert (result.json["calls"], result.json["doubts"]) == (2, [])
    assert "early.fp32rec: a copy of" in result.stderr and "which has more" in result.stderr


LOW = "cblas_sgemm:8:high:tf32:as_requested:3"


@pytest.fixture
def recordings_of_jobs(tmp_path):
    """Jobs 11 and 12 have violations, job 13 has none."""
    folder = tmp_path / "jobs"
    folder.mkdir()
    make_recording(folder / "a.fp32rec", "summary", "--job", "11", "--host", "node1", LOW, "sgemm_:9:high:tf32:as_requested:5", EXACT)
    make_recording(folder / "b.fp32rec", "summary", "--job", "12", "--host", "<node&2>", LOW)
    make_recording(folder / "c.fp32rec", "summary", "--job", "13", EXACT)
    return folder


def test_each_violation_names_the_recordings_hosts_and_jobs_that_made_it(recordings_of_jobs):
    violations = fp32shim("verify", "--at-least", "fp32", "--format", "json", recordings_of_jobs).json["violations"]
    made_by = {row["function"]: [(pathlib.Path(maker["recording"]).name, maker["host"], maker["job_id"], maker["calls"])
                                 for maker in row["made_by"]] for row in violations}
    assert made_by == {"cblas_sgemm": [("a.fp32rec", "node1", "11", 3), ("b.fp32rec", "<node&2>", "12", 3)],
                       "sgemm_": [("a.fp32rec", "node1", "11", 5)]}
    assert set(violations[0]["made_by"][0]) == {"recording", "program", "command", "host", "pid", "job_id", "rank", "calls"}
    text = fp32shim("verify", "--at-least", "fp32", recordings_of_jobs).stdout
    assert "job 11)\n    3 calls of cblas_sgemm 8x8x8 at tf32\n    5 calls of sgemm_ 9x9x9 at tf32\n- " in text


@pytest.mark.parametrize("jobs", [
    "# a comment\n13\n14\n", "13.0\r\n13.batch\r\n14\r\n",
    "JobID|JobName|State|\n13|a|COMPLETED|\n13.batch|batch|COMPLETED|\n13.extern||OK|\n14|b|FAILED|\n",
    "JobID|JobIDRaw\n5_1|13\n5_2|14\n",
    "JobName    JobID\n---------- ------------\nx          13\nx          13.0\ny          14\n",
])
def test_an_expected_job_without_a_recording_is_not_shown(recordings_of_jobs, tmp_path, jobs):
    (tmp_path / "list").write_bytes(jobs.encode())
    words = ["verify", "--at-least", "fp32", "--expect", tmp_path / "list"]
    result = fp32shim(*words, "--format", "json", recordings_of_jobs / "c.fp32rec")
    assert (result.returncode, result.json["verdict"]) == (3, "inconclusive")
    assert result.json["expected"] == {"file": str(tmp_path / "list"), "jobs": 2, "missing": ["14"], "unexpected": []}
    assert "- job 14 is expected" in fp32shim(*words, recordings_of_jobs / "c.fp32rec").stdout
    both = fp32shim(*words, recordings_of_jobs)
    assert both.returncode == 1 and "Recordings of jobs that were not expected: " in both.stdout


def test_expected_jobs_that_all_have_recordings_leave_the_verdict(recordings_of_jobs, tmp_path):
    (tmp_path / "list").write_text("13\n")
    words = ["verify", "--at-least", "fp32", "--expect", tmp_path / "list", recordings_of_jobs / "c.fp32rec"]
    assert fp32shim(*words).returncode == 0
    piped = ["-" if word == tmp_path / "list" else word for word in words]
    assert [fp32shim(*piped, stdin=jobs).returncode for jobs in ("13\n", "13\n14\n", "")] == [0, 3, 2]
    (tmp_path / "list").write_text("# none\n")
    assert fp32shim(*words).returncode == 2
    (tmp_path / "list").unlink()
    assert fp32shim(*words).returncode == 2
    (tmp_path / "list").mkdir()
    result = fp32shim(*words)
    assert result.returncode == 2 and f"{tmp_path / 'list'}: is a folder, not a file" in result.stderr


@pytest.mark.parametrize("jobs, found", [
    ("13 14\n", "line 1 has 2 words, but no title"),
    ("JOBID PARTITION NAME\n13 gpu x\n", "line 1 has 3 words, but no title"),
    ("13\n14|COMPLETED\n", "line 2 has 2 words, but no title"),
    ("JobName JobID\nx 13\n14\n", "line 3 has 1 word, so it lacks the column of job ids"),
])
def test_a_line_of_expected_jobs_whose_job_id_cannot_be_told_is_an_error(recordings_of_jobs, jobs, found):
    result = fp32shim("verify", "--at-least", "fp32", "--expect", "-", recordings_of_jobs / "c.fp32rec", stdin=jobs)
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
    assert f"-: {found}" in result.stderr and "give one job id a line, or the output of sacct" in result.stderr


def test_an_in_toto_statement_has_each_recording_and_the_result(recordings_of_jobs):
    words = ["verify", "--at-least", "fp32", recordings_of_jobs, "--format"]
    statement = fp32shim(*words, "in-toto").json
    assert set(statement) == {"_type", "subject", "predicateType", "predicate"}
    assert statement["_type"] == "https://in-toto.io/Statement/v1" and statement["predicateType"].startswith("urn:")
    assert statement["subject"] == [{"name": str(path), "digest": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}}
                                    for path in sorted(recordings_of_jobs.glob("*"))]
    result, same = statement["predicate"]["result"], fp32shim(*words, "json").json
    assert list(result) == list(same) and result["verdict"] == same["verdict"] == "violated"
    assert [process["sha256"] for process in result["processes"]] == [process["sha256"] for process in same["processes"]]


@pytest.mark.parametrize("sizes, more", [(20, []), (21, ["    and 1 more"]), (23, ["    and 3 more"])])
def test_twenty_products_of_a_violator_are_listed_and_the_others_are_counted(tmp_path, sizes, more):
    log = tmp_path / "run.fp32rec"
    shim.run("steps", f"sizes:{sizes}", blas=None, check=False, env={"FP32_MATMUL_LOG": str(log)}, precision="high", cpu="emulate")
    text = fp32shim("verify", "--at-least", "fp32", log).stdout
    listed = [line for line in text[text.index("These calls were made by:"):].splitlines() if line.startswith("    ")]
    assert [line[:16] for line in listed[:20]] == ["    1 call of sg"] * 20 and listed[20:] == more


def test_an_in_toto_statement_without_a_subject_is_not_written(tmp_path):
    (tmp_path / "a.fp32rec").write_text("no recording")
    result = fp32shim("verify", "--at-least", "fp32", "--format", "in-toto", tmp_path / "a.fp32rec", "-o", tmp_path / "s.json")
    assert (result.returncode, result.stdout) == (2, "") and "subject" in result.stderr
    assert not (tmp_path / "s.json").exists()


def test_the_page_of_a_verdict_has_checksums_and_escaped_names_and_no_script(recordings_of_jobs, tmp_path):
    page = tmp_path / "verdict.html"
    words = ["verify", "--at-least", "fp32", "--format", "html", recordings_of_jobs, "-o"]
    assert fp32shim(*words, page).returncode == 1
    text = page.read_text()
    for path in recordings_of_jobs.glob("*"):
        assert f"<code class=sha256>{hashlib.sha256(path.read_bytes()).hexdigest()}</code>" in text  # on one line in print
    assert "&lt;node&amp;2&gt;" in text and "<node" not in text
    assert "<script" not in text and "src=" not in text and re.search("<div class=\"verdict violated\">Violated: [^<]* fp32", text)
    assert fp32shim(*words, recordings_of_jobs / "a.fp32rec").returncode == 2  # a recording is never overwritten
    assert fp32shim("verify", "--at-least", "fp32", recordings_of_jobs, "-o", page).returncode == 2  # a table needs none
