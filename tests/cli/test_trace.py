"""`fp32shim log --format chrome`: call paths of its events. The events themselves: test_recordings.py."""

import json

import pytest

from command import fp32shim, make_recording

FORWARD = "main@/app/train.py@9;Model.forward@/app/model.py@41;/usr/lib/libtorch.so+0x1c4"
NATIVE = "/usr/lib/libphysics.so+0x31c4"


def calls(size, number, stack):
    return f"cblas_sgemm:{size}:high:tf32:as_requested:{number}:1:9000:net/layers.0:{stack}"


@pytest.fixture
def recordings(tmp_path):
    """Two recordings. The second one has a call path that the first one has, too, and calls without a path."""
    make_recording(tmp_path / "a.fp32rec", "calls", calls(64, 30, FORWARD), calls(8, 5, NATIVE))
    make_recording(tmp_path / "b.fp32rec", "calls", calls(32, 12, FORWARD), "sgemm_:16:high:tf32:as_requested:3")
    return tmp_path


def trace_of(*words):
    result = fp32shim("log", "--format", "chrome", *words)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def complete(trace):
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def path_of(trace, event):
    """Returns the names of an event's frames, the innermost first, by the rules of the Trace Event Format."""
    names, frame = [], event.get("sf")
    while frame is not None:
        entry = trace["stackFrames"][str(frame)]
        names.append(entry["name"])
        frame = entry.get("parent")
    return names


@pytest.mark.parametrize("words", [[], ["--rows"]])
def test_each_event_of_a_trace_has_its_call_path(recordings, words):
    trace = trace_of(*words, recordings)
    paths = {"64x64x64": ["libtorch.so+0x1c4", "Model.forward (model.py:41)", "main (train.py:9)"],
             "8x8x8": ["libphysics.so+0x31c4"], "16x16x16": []}
    paths["32x32x32"] = paths["64x64x64"]
    events = complete(trace)
    assert len(events) == (4 if words else 50)
    for event in events:
        expected = paths[event["name"].split()[1]]
        assert path_of(trace, event) == expected
        assert event["args"]["stack"] == expected, "which Perfetto shows"
    assert len(trace["stackFrames"]) == 4, "equal paths of two recordings are one"
    assert {entry.get("category") for entry in trace["stackFrames"].values()} == {
        "/app/train.py", "/app/model.py", "/usr/lib/libtorch.so", "/usr/lib/libphysics.so"}


def test_events_of_a_trace_have_their_place_and_scope(recordings):
    [event] = [event for event in complete(trace_of("--rows", "--m", "64", recordings))]
    assert event["args"]["where"] == "model.py:41 Model.forward" and event["args"]["scope"] == "net/layers.0"


def test_a_trace_has_only_frames_of_its_events(recordings):
    assert [entry["name"] for entry in trace_of("--m", "8", recordings)["stackFrames"].values()] == ["libphysics.so+0x31c4"]
    assert "stackFrames" not in trace_of("--m", "16", recordings)
    assert trace_of("--m", "7", recordings)["traceEvents"] != []  # the events that describe processes remain


def test_a_deep_path_is_whole_but_in_the_arguments(tmp_path):
    stack = ";".join(f"f{depth}@/app/deep.py@{depth + 1}" for depth in range(200))
    trace = trace_of(make_recording(tmp_path / "a.fp32rec", "calls", calls(8, 2, stack)))
    names = [f"f{depth} (deep.py:{depth + 1})" for depth in reversed(range(200))]
    for event in complete(trace):
        assert path_of(trace, event) == names
        assert event["args"]["stack"] == names[:32] + ["(168 frames further out)"]


def test_more_decisions_than_are_remembered_keep_their_paths(tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "calls", "sgemm_:1-6000:high:tf32:as_requested:2:1:9000::"
                               "main@/app/train.py@9;f%@/app/model.py@41")
    trace = trace_of(recording)
    events = complete(trace)
    assert len(events) == 12000 and len(trace["stackFrames"]) == 6001
    for event in events:
        number = int(event["name"].split("x")[-1]) - 1
        assert path_of(trace, event) == [f"f{number} (model.py:41)", "main (train.py:9)"]


def test_the_arguments_of_foreign_text_are_json(tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "calls", calls(8, 1, 'f"\\\n\u202e@/app/a"b.py@3'))
    [event] = complete(trace_of(recording))
    assert len(event["args"]["stack"]) == 1 and event["args"]["stack"][0].endswith(":3)")
