"""fp32shim report --diff: two recordings compared by call path and group, as text, JSON, CSV, folded stacks and as a page."""

import csv
import io
import os

import pytest

from command import calls_from, fp32shim, make_recording, source_file


@pytest.fixture
def program(tmp_path):
    """A source file that is newer than the recordings, so that lines which differ are a change of it."""
    return source_file(tmp_path / "model.py", changed_at=4e9)


def stacks(program, forward=41, backward=60):
    library = "/usr/lib/libtorch.so+0x1c4"
    return (f"main@/app/train.py@9;Model.forward@{program}@{forward};{library}",
            f"main@/app/train.py@9;Model.backward@{program}@{backward};{library}")


@pytest.fixture
def sides(tmp_path, program):
    """Before: all at FP32. After: forward at TF32 and twice as often; a new function; backward is gone."""
    forward, backward = stacks(program)
    before = make_recording(tmp_path / "before.fp32rec", "summary",
                            calls_from(forward, "cblas_sgemm", 64, "fp32", 10, 900_000), calls_from(backward, "cblas_sgemm", 64, "fp32", 6, 900_000))
    after = make_recording(tmp_path / "after.fp32rec", "summary",
                           calls_from(forward, "cblas_sgemm", 64, "tf32", 20, 900_000), calls_from(forward, "sgemm_", 8, "fp32", 3, 900_000))
    return before, after


def groups(report):
    return {(group["where"], group["function"]): group for group in report["groups"]}


def test_groups_have_both_sides(sides, program):
    report = fp32shim("report", "--diff", "--format", "json", *sides).json
    found = groups(report)
    assert set(found) == {("model.py:41 Model.forward", "cblas_sgemm"), ("model.py:60 Model.backward", "cblas_sgemm"),
                          ("model.py:41 Model.forward", "sgemm_")}
    forward = found["model.py:41 Model.forward", "cblas_sgemm"]
    assert (forward["calls_before"], forward["calls_after"]) == (10, 20)
    assert forward["applied_before"] == {"fp32": 10} and forward["applied_after"] == {"tf32": 20}
    gone = found["model.py:60 Model.backward", "cblas_sgemm"]
    assert (gone["calls_before"], gone["calls_after"], gone["applied_after"]) == (6, 0, {})
    assert report["before"]["calls"] == 16 and report["after"]["calls"] == 23
    assert report["before"]["recordings"] == [str(sides[0])]
    for key in ("calls", "host_ns"):
        assert sum(group[f"{key}_after"] for group in report["groups"]) == report["after"][key]
        assert sum(stack["before"][key] for stack in report["stacks"]) == report["before"][key]


def test_the_largest_change_stands_first(sides):
    report = fp32shim("report", "--diff", "--format", "json", "--sort", "calls", *sides).json
    changes = [abs(group["calls_after"] - group["calls_before"]) for group in report["groups"]]
    assert changes == sorted(changes, reverse=True) == [10, 6, 3]


def test_a_table_says_what_changed(sides):
    text = fp32shim("report", "--diff", *sides).stdout
    assert "+7 (+44%)" in text and "fp32 -> tf32" in text and "fp32, new" in text and "fp32, gone" in text
    assert "Ran at another precision" in text and "without lines" not in text


def test_equal_recordings_have_no_changes(sides):
    before, _ = sides
    report = fp32shim("report", "--diff", "--format", "json", before, before).json
    assert all(group["calls_before"] == group["calls_after"] > 0 and group["applied_before"] == group["applied_after"]
               for group in report["groups"])
    assert "another precision" not in fp32shim("report", "--diff", before, before).stdout


def moved(tmp_path, program, **lines):
    forward, backward = stacks(program, **lines)
    return make_recording(tmp_path / "moved.fp32rec", "summary", calls_from(forward, "cblas_sgemm", 64, "fp32", 10, 900_000),
                          calls_from(backward, "cblas_sgemm", 64, "fp32", 6, 900_000))


def test_paths_in_a_changed_file_are_compared_without_lines(tmp_path, sides, program):
    after = moved(tmp_path, program, forward=44, backward=63)
    report = fp32shim("report", "--diff", "--format", "json", sides[0], after).json
    assert report["changed_files"] == [str(program)]
    assert {where: (group["calls_before"], group["calls_after"]) for (where, _), group in groups(report).items()} == {
        "model.py Model.forward": (10, 10), "model.py Model.backward": (6, 6)}
    assert [(stack["before"]["calls"], stack["after"]["calls"]) for stack in report["stacks"]] in ([(10, 10), (6, 6)], [(6, 6), (10, 10)])
    lines = {frame["function"]: frame["line"] for frame in report["frames"]}
    assert lines["Model.forward"] is None and lines["main"] == 9
    text = fp32shim("report", "--diff", sides[0], after).stdout
    assert f"without lines or offsets, because calls of the same functions are at different ones: {program}" in text


def test_other_lines_of_a_file_that_was_not_changed_stay_apart(tmp_path, sides, program):
    os.utime(program, (1, 1))
    report = fp32shim("report", "--diff", "--format", "json", sides[0], moved(tmp_path, program, forward=44)).json
    assert report["changed_files"] == []
    assert {where for where, _ in groups(report)} == {"model.py:41 Model.forward", "model.py:44 Model.forward", "model.py:60 Model.backward"}


def test_csv_and_folded_stacks_have_both_numbers(sides):
    rows = list(csv.DictReader(io.StringIO(fp32shim("report", "--diff", "--format", "csv", *sides).stdout)))
    assert sorted((row["calls_before"], row["calls_after"], row["applied_before"], row["applied_after"]) for row in rows) == [
        ("0", "3", "", "fp32"), ("10", "20", "fp32", "tf32"), ("6", "0", "fp32", "")]
    lines = fp32shim("report", "--diff", "--format", "folded", "--sort", "calls", *sides).stdout.splitlines()
    assert "main (train.py:9);Model.forward (model.py:41);libtorch.so+0x1c4;cblas_sgemm 10 20" in lines and len(lines) == 3


@pytest.mark.parametrize("by, key, expected", [("precision", "ran_at", {"fp32": (16, 3), "tf32": (0, 20)}),
                                               ("size", "max_dim", {"33-64": (16, 20), "5-8": (0, 3)}),
                                               ("call_site", "call_site", {"libtorch.so+0x1c4": (16, 23)})])
def test_groups_can_be_others(sides, by, key, expected):
    report = fp32shim("report", "--diff", "--by", by, "--format", "json", *sides).json
    assert {group[key]: (group["calls_before"], group["calls_after"]) for group in report["groups"]} == expected


def test_a_filter_holds_for_both_sides(sides):
    report = fp32shim("report", "--diff", "--function", "sgemm_", "--format", "json", *sides).json
    assert (report["before"]["calls"], report["after"]["calls"]) == (0, 3)


def test_a_side_can_be_a_folder(tmp_path, sides):
    folder = tmp_path / "runs"
    folder.mkdir()
    for number, side in enumerate(sides):
        os.link(side, folder / f"{number}.fp32rec")
    report = fp32shim("report", "--diff", "--format", "json", sides[0], folder).json
    assert (report["before"]["calls"], report["after"]["calls"]) == (16, 39)


@pytest.mark.parametrize("words, text", [
    (["before"], "found 1 recording; it takes two"), (["before", "after", "before"], "found 3 recordings; it takes two"),
    (["before", "nowhere"], "no such file or folder"),
    (["--format", "shapes", "before", "after"], "--format shapes"),
    (["--format", "speedscope", "before", "after"], "--format speedscope"), (["--format", "prometheus", "before", "after"], "--format prometheus")])
def test_a_comparison_that_cannot_be_is_one_line(tmp_path, sides, words, text):
    files = [tmp_path / f"{word}.fp32rec" if word in ("before", "after", "nowhere") else word for word in words]
    result = fp32shim("report", "--diff", *files)
    assert result.returncode == 2 and text in result.stderr and result.stdout == "" and len(result.stderr.splitlines()) == 1


def test_the_page_shows_boxes_and_groups_of_both_sides(open_page, sides):
    page = open_page("--diff", "--sort", "calls", *sides)
    page.settle()

    def box(words):
        return next(one for one in page.all(".box[role=treeitem]") if one.text.startswith(words))

    def background(words):
        return box(words).value_of_css_property("background-color")

    assert "16 calls → 23 calls" in box("all calls").get_attribute("aria-label")
    assert "6 calls → 0 calls" in box("Model.backward").get_attribute("aria-label")
    assert len({background("Model.forward"), background("Model.backward")}) == 2
    assert page.column("Where") == ["model.py:41 Model.forward", "model.py:60 Model.backward", "model.py:41 Model.forward"]
    assert page.column("Calls before") == ["10", "6", "–"] and page.column("Calls after") == ["20", "–", "3"]
    box("Model.backward").click()
    page.settle()
    assert page.column("Calls before") == ["6"] and "Only calls below main › Model.backward" in page.text("#selected")
    page.find("#selected button").click()
    page.settle()
    page.find("#filter-otherwise").click()
    assert page.column("Calls after") == ["20"]
    page.find("#paths-side option[value=before]").click()
    assert not [one for one in page.all(".box") if one.text == "sgemm_"]
    page.find("#paths-search").send_keys("Model.backward")
    assert "1 place found: 37.5 % of all" in page.text("#paths-answer")


def test_a_click_shows_the_precisions_below_the_box_only(open_page, tmp_path, program):
    forward, backward = stacks(program)
    before = make_recording(tmp_path / "before.fp32rec", "summary", calls_from(forward, "sgemm_", 64, "fp32", 9),
                            calls_from(backward, "sgemm_", 64, "fp32", 1))
    after = make_recording(tmp_path / "after.fp32rec", "summary", calls_from(forward, "sgemm_", 64, "tf32", 9),
                           calls_from(backward, "sgemm_", 64, "fp32", 1))
    page = open_page("--diff", "--by", "function", before, after)
    page.settle()
    assert page.column("After") == ["tf32 90.0 %"] and "1 ran at another precision" in page.text("#shown")
    next(one for one in page.all(".box[role=treeitem]") if one.text.startswith("Model.backward")).click()
    page.settle()
    assert page.column("After") == ["fp32"] and "0 ran at another precision" in page.text("#shown")
