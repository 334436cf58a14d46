"""fp32shim report as text, JSON and CSV: groups, medians, shares, and what a narrow terminal shows."""

import csv
import io
import re

import pytest

import shim
from command import fp32shim, make_recording, on_a_terminal
from test_formats import documented

SIZES = ["sgemm_:65-128:high:tf32:as_requested:2", "sgemm_:129:high:tf32:as_requested:3",
         "cblas_sgemm:100:native:fp32:as_requested:5", "cblas_sgemm:1-2:high:fp32:cpu_mode_off:1"]
# Calls so long that all are timed. Every tenth takes ten times as long.
UNEVEN = ",".join(["10000000"] * 9 + ["100000000"])


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return make_recording(tmp_path_factory.mktemp("sizes") / "a.fp32rec", "summary", *SIZES)


def grouped(*words):
    result = fp32shim("report", "--format", "json", *words)
    assert (result.returncode, result.stderr) == (0, "")
    return result.json


def test_sizes_are_grouped_by_the_power_of_two_that_holds_their_largest(recording):
    report = grouped("--by", "function,size-class", recording)
    assert report["rows"] is None
    groups = {(group["function"], group["max_dim_from"], group["max_dim_to"], group["applied"], group["reason"]):
              (group["decisions"], group["calls"]) for group in report["groups"]}
    assert groups == {("sgemm_", 65, 128, "tf32", "as_requested"): (64, 128),
                      ("sgemm_", 129, 256, "tf32", "as_requested"): (1, 3),
                      ("cblas_sgemm", 65, 128, "fp32", "as_requested"): (1, 5),
                      ("cblas_sgemm", 1, 1, "fp32", "cpu_mode_off"): (1, 1),
                      ("cblas_sgemm", 2, 2, "fp32", "cpu_mode_off"): (1, 1)}
    # A filter by a group's keys must find the same calls.
    for (function, lowest, highest, *_), (decisions, calls) in groups.items():
        rows = grouped("--function", function, "--max-dim", f">={lowest} <={highest}", recording)
        assert (len(rows["rows"]), rows["totals"]["calls"]) == (decisions, calls) and rows["groups"] is None


def test_groups_can_be_of_function_or_size_alone(recording):
    by_function = grouped("--by", "function", recording)["groups"]
    assert sorted((group["function"], group["calls"], group["max_dim_to"]) for group in by_function) == [
        ("cblas_sgemm", 2, None), ("cblas_sgemm", 5, None), ("sgemm_", 131, None)]
    by_size = grouped("--by", "size-class", recording)["groups"]
    assert sorted((group["max_dim_to"], group["applied"], group["calls"]) for group in by_size) == [
        (1, "fp32", 1), (2, "fp32", 1), (128, "fp32", 5), (128, "tf32", 128), (256, "tf32", 3)]
    assert {group["function"] for group in by_size} == {None}
    # Giving an option twice is the same as a comma between two values.
    once = grouped("--by", "function,size-class", recording)["groups"]
    assert [group["calls"] for group in grouped("--by", "size-class", "--by", "function", recording)["groups"]] == [
        group["calls"] for group in once]


def test_groups_add_up_to_the_totals(recording):
    whole = grouped(recording)
    groups = grouped("--by", "size-class", recording)["groups"]
    assert sum(group["calls"] for group in groups) == whole["totals"]["calls"]
    assert sum(group["decisions"] for group in groups) == len(whole["rows"])
    assert sum(group["flops_total"] for group in groups) == sum(row["flops"] * row["calls"] for row in whole["rows"])


def test_the_keys_of_a_group_are_documented_and_the_columns_of_its_csv(recording):
    keys = list(grouped("--by", "function", recording)["groups"][0])
    assert keys == documented("schema.md", "### A group")
    header, *lines = csv.reader(io.StringIO(fp32shim("report", "--by", "function", "--format", "csv", recording).stdout))
    assert header == keys and len(lines) == 3


def test_the_table_of_groups_has_the_columns_that_they_were_made_by(recording):
    text = fp32shim("report", "--by", "function,size-class", "--sort", "calls", recording).stdout
    head, first, *_ = text.split("\n\n")[2].splitlines()
    assert re.split("  +", head.strip())[-6:] == ["function", "max of m,n,k", "decisions", "asked for", "ran at", "reason"]
    assert re.search(r"\b128 .* sgemm_ +65-128 +64 +high +tf32 +as_requested$", first)
    assert "cpu_mode_off" in text.split("Did not run as requested")[1]
    assert "max of m,n,k" not in fp32shim("report", "--by", "function", recording).stdout
    assert "\n4 more groups; --top 0 shows all\n" in fp32shim("report", "--by", "function,size-class", "--top", "1",
                                                              recording).stdout


@pytest.mark.parametrize("words, text", [(["--by", "color"], "allowed: where, source, scope, call_site, caller"),
                                         (["--by", "function,color"], "allowed: where, source, scope, call_site, caller"),
                                         (["--by", "function", "--format", "prometheus"], "--format prometheus")])
def test_a_grouping_that_cannot_be_is_one_line(recording, words, text):
    result = fp32shim("report", *words, recording)
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
    assert result.stderr.startswith("fp32shim report: --by: ") and text in result.stderr


def test_medians_are_of_single_calls_and_stand_between_the_shortest_and_the_longest(tmp_path):
    for level in ("calls", "summary"):
        recording = make_recording(tmp_path / f"{level}.fp32rec", level, f"sgemm_:8:high:tf32:as_requested:100:1:{UNEVEN}",
                                   f"sgemm_:9:high:tf32:as_requested:100:1:{UNEVEN}")
        text = fp32shim("report", recording).stdout
        for entry in grouped(recording)["rows"] + grouped("--by", "function", recording)["groups"]:
            low, high = entry["host_ns_min"], entry["host_ns_max"]
            assert 9.5 < high / low < 10.5 and 1.8 < entry["host_ns"] / entry["calls"] / low < 2.0
            if level == "calls":
                assert entry["host_ns_median"] == pytest.approx(low, rel=0.01)
            else:
                assert entry["host_ns_median"] is None
        assert (" min  " in text, " median  " in text, " max  " in text) == (True, level == "calls", True)
    both = grouped(tmp_path)["rows"][0]  # of two recordings, only one has single calls
    assert both["calls"] == 200 and both["host_ns_median"] == pytest.approx(both["host_ns_min"], rel=0.01)


def test_a_single_call_has_no_spread(tmp_path):
    text = fp32shim("report", make_recording(tmp_path / "a.fp32rec", "calls", "sgemm_:8:high:tf32:as_requested:1")).stdout
    assert " mean  " in text and not re.search("median|min ", text)


def test_a_filter_holds_for_medians_too(tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "calls", "sgemm_:8:high:tf32:as_requested:9:1:20000000",
                               "cblas_sgemm:8:high:tf32:as_requested:3:1:90000000")
    whole = {row["function"]: row["host_ns_median"] for row in grouped(recording)["rows"]}
    [row] = grouped("--function", "cblas_*", recording)["rows"]
    assert row["host_ns_median"] == pytest.approx(whole["cblas_sgemm"], rel=0.01)
    assert whole["cblas_sgemm"] / whole["sgemm_"] == pytest.approx(4.5, rel=0.02)


def test_a_share_that_is_not_nothing_is_not_written_as_nothing(tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", "sgemm_:8:high:fp32:as_requested:20000:1:100000",
                               "cblas_sgemm:8:high:tf32:as_requested:1:1:10")
    text = fp32shim("report", recording).stdout
    assert re.search(r"^fp32 +20,000 +>99\.9% .* >99\.9%$", text, re.MULTILINE)
    assert re.search(r"^tf32 +1 +<0\.1% .* <0\.1%$", text, re.MULTILINE)
    assert "100.0%" in fp32shim("report", "--function", "sgemm_", recording).stdout


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_terminal_shows_the_columns_that_matter_and_names_the_others(tmp_path, width):
    recording = make_recording(tmp_path / "a.fp32rec", "calls", "cublasGemmEx:4096x4096x1024:high:tf32:as_requested:20:1:1000000",
                               "cublasGemmStridedBatchedEx:1024:high:fp32:cpu_mode_off:10:1:3000000")
    text = on_a_terminal(["report", recording], width=width, NO_COLOR="1").replace("\r\n", "\n")
    table = text.split("\n\n")[2].splitlines()
    common, table = table[:3], table[3:]
    assert common[0] == "All 2 rows below:" and common[1].startswith("  caller -> provider: ") and common[2] == "  asked for: high (environment)"
    assert max(map(len, common + table)) <= width and len(table) == 3 + 1
    more = width == 80
    titles = ["calls", "host time", *["mean"] * more, "function", "size", "ran at", *["reason"] * more]
    assert re.split("  +", table[0].strip()) == titles
    words = " ".join(table).split()
    for name in ("cublasGemmEx", "4096x4096x1024", "tf32", "fp32"):
        assert name in words
    assert table[-1] == "(no room for: " + "reason, mean, " * (not more) + "min, median, max)"
    assert "no room" not in fp32shim("report", recording).stdout


def test_completion_offers_what_rows_can_be_grouped_by():
    shim.tool("bash")
    from test_conventions import bash_offers
    assert set(bash_offers("report", "--by", "")) == {"where", "source", "scope", "call_site", "caller", "function",
                                                         "size", "size-class", "precision", "host", "job", "executable",
                                                         "policy"}


def test_float64_is_a_format_of_its_own_and_filters_reach_it(tmp_path):
    mixed = make_recording(tmp_path / "a.fp32rec", "summary", "sgemm_:64:native:fp32:as_requested:12",
                           "dgemm_:64:native:fp64:as_requested:30", "dgemm_:32:single:fp32:as_requested:8")
    text = fp32shim("report", mixed).stdout
    assert re.search(r"^fp64 +30 .*\nfp32 +20 ", text, re.MULTILINE) and "\nOperands: 12 calls of float32, 38 calls of float64\n" in text
    for words, calls in ((["--dtype", "float64"], 38), (["--dtype", "float32"], 12), (["--function", "dgemm*"], 38),
                         (["--m", ">=64"], 42), (["--dtype", "float64", "--ran-below", "fp32"], 0),
                         (["--ran-below", "bf16"], 0)):
        assert grouped(*words, mixed)["totals"]["calls"] == calls, words
    lowered = make_recording(tmp_path / "b.fp32rec", "summary", "dgemm_:64:high:tf32:as_requested:7", "dgemm_:64:native:fp64:as_requested:30")
    assert grouped("--ran-below", "fp32", lowered)["totals"]["calls"] == 7
    worth = grouped(mixed)["worth"]
    assert worth["fp32_calls"] == 12, "TF32 does not replace the FP32 of float64 operands"
    metrics = fp32shim("report", "--format", "prometheus", mixed).stdout
    assert re.search(r'^fp32shim_calls_total\{.*dtype="float64",requested="single",applied="fp32".*\} 8$', metrics, re.MULTILINE)
