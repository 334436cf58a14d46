"""Call paths in `fp32shim report`: groups by where, JSON, and the formats of other tools. The page: test_flame_graph.py."""

import json
import re

import pytest

from command import calls_from, fp32shim, make_recording

FORWARD = "main@/app/train.py@9;Model.forward@/app/model.py@41;/usr/lib/libtorch.so+0x1c4"
BACKWARD = "main@/app/train.py@12;backward@/app/model.py@60;/usr/lib/libtorch.so+0x1c4"
NATIVE = "/usr/lib/libphysics.so+0x31c4"


@pytest.fixture
def recordings(tmp_path):
    """Two recordings. The second one has a call path that the first one has, too."""
    make_recording(tmp_path / "a.fp32rec", "calls", calls_from(FORWARD, "cblas_sgemm", 64, "tf32", 30, 9000, scope="net/layers.0"),
                   calls_from(BACKWARD, "cblas_sgemm", 64, "fp32", 10, 9000), calls_from(NATIVE, "sgemm_", 8, "fp32", 5, 3000))
    make_recording(tmp_path / "b.fp32rec", "summary", calls_from(FORWARD, "cblas_sgemm", 64, "tf32", 12, 9000, scope="net/layers.0"))
    return tmp_path


def path_texts(report):
    """Returns the stacks of a report, each with its frames, the outermost first."""
    result = {}
    for stack in report["stacks"]:
        frames, index = [], stack["frame"]
        while index is not None:
            frame = report["frames"][index]
            frames.insert(0, tuple(frame[key] for key in ("file", "function", "line", "offset")))
            assert frame["parent"] is None or frame["parent"] < index
            index = frame["parent"]
        result[tuple(frames), stack["applied"]] = stack
    assert len(result) == len(report["stacks"])
    return result


def test_stacks_of_json_are_the_call_paths_merged_over_recordings(recordings):
    report = fp32shim("report", "--format", "json", recordings).json
    paths = path_texts(report)
    main, library = ("/app/train.py", "main", 9, None), ("/usr/lib/libtorch.so", None, None, 0x1c4)
    forward = paths[(main, ("/app/model.py", "Model.forward", 41, None), library, (None, "cblas_sgemm", None, None)), "tf32"]
    assert forward["calls"] == 42 and forward["flops_total"] == 42 * 2 * 64**3
    native = paths[(("/usr/lib/libphysics.so", None, None, 0x31c4), (None, "sgemm_", None, None)), "fp32"]
    assert native["calls"] == 5
    assert len(paths) == 3
    for key in ("calls", "host_ns", "timed_calls"):
        assert sum(stack[key] for stack in paths.values()) == report["totals"][key]


def test_paths_of_a_notebook_begin_with_the_cell(tmp_path):
    shell = "start@/lib/ipykernel/kernelapp.py@7;InteractiveShell.run_code@/lib/IPython/core/interactiveshell.py@3667"
    path = f"{shell};<module>@/tmp/ipykernel_7/1.py@1;run@/app/fp32shim/notebook.py@9;{shell};<module>@/tmp/ipykernel_7/2.py@2;g@/tmp/ipykernel_7/1.py@5"
    recording = make_recording(tmp_path / "a.fp32rec", "summary", calls_from(path, "cblas_sgemm", 64, "tf32", 5, 9000))
    (path,) = path_texts(fp32shim("report", "--format", "json", recording).json)
    assert [function for _, function, _, _ in path[0]] == ["<module>", "g", "cblas_sgemm"]


def test_paths_without_their_innermost_functions_are_said(tmp_path):
    calls = [calls_from(f"main@/app/train.py@9;step@/app/train.py@{line}", "cblas_sgemm", 64, "tf32", 5, 9000) for line in range(8)]
    recording = make_recording(tmp_path / "a.fp32rec", "summary", "--rows", "8", *calls)
    report = fp32shim("report", "--format", "json", recording)
    assert sum(stack["calls"] for stack in report.json["stacks"]) == 40
    (said,) = report.lines
    assert re.search(r": the call paths of (10|15|20|25) calls lack their innermost functions", said), said
    assert "(inner frames left out)" in fp32shim("report", "--format", "folded", recording).stdout


def test_a_filter_holds_for_stacks_too(recordings):
    report = fp32shim("report", "--format", "json", "--function", "sgemm_", recordings).json
    assert [stack["calls"] for stack in report["stacks"]] == [5] and len(report["frames"]) == 2


def test_a_row_without_a_call_path_has_its_caller(tmp_path):
    report = fp32shim("report", "--format", "json", make_recording(tmp_path / "a.fp32rec", "summary",
                                                                   "sgemm_:8:high:tf32:as_requested:3")).json
    assert [(frame["file"], frame["function"]) for frame in report["frames"]] == [("libcaller.so", None), (None, "sgemm_")]


@pytest.mark.parametrize("words, key, expected", [
    (["where"], "where", {"model.py:41 Model.forward": 42, "model.py:60 backward": 10, None: 5}),
    (["source"], "where", {"model.py:41 Model.forward": 42, "model.py:60 backward": 10, None: 5}),
    (["scope"], "scope", {"net/layers.0": 42, None: 15}),
    (["call_site"], "call_site", {"libtorch.so+0x1c4": 52, "libphysics.so+0x31c4": 5}),
    (["caller"], "caller", {"libcaller.so": 57}),
    (["function"], "function", {"cblas_sgemm": 52, "sgemm_": 5}),
    (["size"], "max_dim_to", {64: 52, 8: 5}),
    (["precision"], "applied", {"tf32": 42, "fp32": 15}),
])
def test_rows_are_grouped_by_what_is_asked_for(recordings, words, key, expected):
    groups = fp32shim("report", "--format", "json", "--by", *words, recordings).json["groups"]
    found = {}
    for group in groups:
        found[group[key]] = found.get(group[key], 0) + group["calls"]
    assert found == expected
    header, *lines = fp32shim("report", "--format", "csv", "--by", *words, recordings).stdout.splitlines()
    assert key in header.split(",") and len(lines) == len(groups)


def test_groups_by_call_site_count_each_decision_once(tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", calls_from(FORWARD, "sgemm_", 8, "tf32", 2, 900),
                               calls_from(FORWARD.replace("@9", "@10"), "sgemm_", 8, "tf32", 3, 900))
    assert len(fp32shim("report", "--format", "json", recording).json["rows"]) == 1
    [group] = fp32shim("report", "--format", "json", "--by", "call_site,function", recording).json["groups"]
    assert (group["calls"], group["decisions"], group["function"]) == (5, 1, "sgemm_")


def test_a_table_by_where_has_its_column(recordings):
    text = fp32shim("report", "--by", "where,call_site", recordings).stdout
    assert re.search("where +call site", text) and "model.py:41 Model.forward" in text and "libphysics.so+0x31c4" in text


FOLDED = re.compile(r"(.*) (\d+)")


@pytest.mark.parametrize("weight", ["time", "calls", "flops"])
def test_folded_lines_are_frames_and_a_number(recordings, weight):
    result = fp32shim("report", "--format", "folded", "--sort", weight, recordings)
    lines = dict(FOLDED.fullmatch(line).groups() for line in result.stdout.splitlines())
    path = "main (train.py:9);Model.forward (model.py:41);libtorch.so+0x1c4;cblas_sgemm [tf32]"
    totals = fp32shim("report", "--format", "json", recordings).json["totals"]
    if weight == "time":
        # Each read of a young recording measures the counter's rate again, so times may differ by 0.1 %
        # (measure_ticks).
        assert sum(map(int, lines.values())) == pytest.approx(totals["host_ns"], rel=0.002)
    else:
        assert int(lines[path]) == (42 if weight == "calls" else 42 * 2 * 64**3)
    assert len(lines) == 3 and path in lines


def test_a_name_cannot_break_a_folded_line(tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", "a;b\nc:8:high:tf32:as_requested:3")
    [line] = fp32shim("report", "--format", "folded", recording).stdout.splitlines()
    assert FOLDED.fullmatch(line) and line.count(";") == 1


def test_speedscope_files_are_as_their_schema_says(recordings):
    """https://www.speedscope.app/file-format-schema.json: FileFormat.File with sampled profiles."""
    text = fp32shim("report", "--format", "speedscope", "--sort", "calls", recordings).stdout
    file = json.loads(text)
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(file) <= {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}
    frames = file["shared"]["frames"]
    assert all(isinstance(frame["name"], str) and set(frame) <= {"name", "file", "line", "col"} for frame in frames)
    assert {"name": "Model.forward", "file": "/app/model.py", "line": 41} in frames
    assert [profile["name"] for profile in file["profiles"]] == ["host time", "calls", "floating-point operations"]
    for profile in file["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled" and profile["unit"] in ("none", "nanoseconds")
        assert len(profile["samples"]) == len(profile["weights"]) == 3
        assert all(0 <= index < len(frames) for sample in profile["samples"] for index in sample)
        assert profile["endValue"] == sum(profile["weights"])
    active = file["profiles"][file["activeProfileIndex"]]
    assert active["name"] == "calls" and sorted(active["weights"]) == [5, 10, 42]
    names = [[frames[index]["name"] for index in sample] for sample in active["samples"]]
    assert ["main", "Model.forward", "libtorch.so+0x1c4", "cblas_sgemm [tf32]"] in names


@pytest.mark.parametrize("format_", ["folded", "speedscope"])
def test_formats_of_call_paths_have_no_groups(recordings, format_):
    result = fp32shim("report", "--format", format_, "--by", "where", recordings)
    assert result.returncode == 2 and f"--format {format_}" in result.stderr


@pytest.mark.parametrize("format_", ["folded", "speedscope"])
def test_formats_of_call_paths_of_nothing_are_whole(tmp_path, format_):
    text = fp32shim("report", "--format", format_, make_recording(tmp_path / "a.fp32rec", "summary")).stdout
    if format_ == "folded":
        assert text == ""
    else:
        assert json.loads(text)["shared"]["frames"] == []
