"""fp32shim diff: the calls, times and precisions of two runs, by group, as text, JSON and a page. They need no fingerprints."""

import os

import pytest

import shim
from command import calls_from, calls_with_results, fp32shim, make_recording


def stacks(forward=41, backward=60):
    library = "/usr/lib/libtorch.so+0x1c4"
    return (f"main@/app/train.py@9;Model.forward@/app/model.py@{forward};{library}",
            f"main@/app/train.py@9;Model.backward@/app/model.py@{backward};{library}")


@pytest.fixture
def sides(tmp_path):
    """Before: all at FP32. After: forward at TF32 and twice as often; a new function; backward is gone."""
    forward, backward = stacks()
    before = make_recording(tmp_path / "before.fp32rec", "summary",
                            calls_from(forward, "cblas_sgemm", 64, "fp32", 10, 900_000), calls_from(backward, "cblas_sgemm", 64, "fp32", 6, 900_000))
    after = make_recording(tmp_path / "after.fp32rec", "summary",
                           calls_from(forward, "cblas_sgemm", 64, "tf32", 20, 900_000), calls_from(forward, "sgemm_", 8, "fp32", 3, 900_000))
    return before, after


def compare(*words, status=3):
    """The JSON of two recordings without fingerprints."""
    result = fp32shim("diff", "--format", "json", *words)
    assert result.returncode == status, result.stderr
    return result.json


def groups(report):
    return {(group["where"], group["function"]): group for group in report["changes"]}


def test_groups_have_both_sides(sides):
    report = compare(*sides)
    found = groups(report)
    assert set(found) == {("model.py:41 Model.forward", "cblas_sgemm"), ("model.py:60 Model.backward", "cblas_sgemm"),
                          ("model.py:41 Model.forward", "sgemm_")}
    forward = found["model.py:41 Model.forward", "cblas_sgemm"]
    assert (forward["a"]["calls"], forward["b"]["calls"]) == (10, 20)
    assert forward["a"]["applied"] == {"fp32": 10} and forward["b"]["applied"] == {"tf32": 20}
    gone = found["model.py:60 Model.backward", "cblas_sgemm"]
    assert (gone["a"]["calls"], gone["b"]["calls"], gone["b"]["applied"]) == (6, 0, {})
    assert (report["a"]["calls"], report["b"]["calls"], report["b"]["applied"]) == (16, 23, {"fp32": 3, "tf32": 20})
    assert report["by"] == ["where", "function"] and report["groups_at_other_precision"] == 1
    for side in "ab":
        for key in ("calls", "host_ns", "flops_total"):
            assert sum(group[side][key] for group in report["changes"]) == report[side][key] > 0


def test_what_ran_at_another_precision_stands_first_and_then_the_largest_change(tmp_path):
    before, after = (make_recording(tmp_path / f"{name}.fp32rec", "summary",
                                    *(calls_from(f"main@/app/model.py@{line}", "sgemm_", 64, kind, calls) for line, kind, calls in each))
                     for name, each in (("before", [(1, "fp32", 10), (2, "fp32", 10), (3, "fp32", 10), (4, "fp32", 10)]),
                                        ("after", [(1, "fp32", 13), (2, "tf32", 11), (3, "fp32", 10), (4, "fp32", 20)])))
    changes = compare("--sort", "calls", before, after)["changes"]
    assert [(group["where"], group["b"]["calls"]) for group in changes] == [
        ("model.py:2 main", 11), ("model.py:4 main", 20), ("model.py:1 main", 13), ("model.py:3 main", 10)]


def test_a_table_says_what_changed_and_that_no_results_were_compared(sides):
    result = fp32shim("diff", *sides)
    text = result.stdout
    assert text.startswith("Results were not compared, because A and B have no fingerprints\n") and len(result.lines) == 2
    assert "+7 (+44%)" in text and "fp32 -> tf32" in text and "fp32, only in B" in text and "fp32, only in A" in text
    assert "Calls, times and precisions: 1 of 3 groups ran at another precision\n" in text
    assert "2 more groups; --top 0 shows all" in fp32shim("diff", "--top", "1", *sides).stdout


def test_equal_recordings_have_no_changes(sides):
    before, _ = sides
    report = compare(before, before)
    assert all(group["a"] == group["b"] and group["a"]["calls"] > 0 for group in report["changes"])
    assert "0 of 2 groups ran at another precision" in fp32shim("diff", before, before).stdout


def test_a_function_whose_lines_were_moved_is_compared_without_them(tmp_path, sides):
    forward, backward = stacks(forward=44)
    after = make_recording(tmp_path / "moved.fp32rec", "summary", calls_from(forward, "cblas_sgemm", 64, "fp32", 10, 900_000),
                           calls_from(backward, "cblas_sgemm", 64, "fp32", 7, 900_000))
    report = compare(sides[0], after)
    assert {where: (group["a"]["calls"], group["b"]["calls"]) for (where, _), group in groups(report).items()} == {
        "model.py Model.forward": (10, 10), "model.py:60 Model.backward": (6, 7)}


@pytest.mark.parametrize("by, key, expected", [("precision", "ran_at", {"fp32": (16, 3), "tf32": (0, 20)}),
                                               ("size", "max_dim", {"33-64": (16, 20), "5-8": (0, 3)}),
                                               ("call_site", "call_site", {"libtorch.so+0x1c4": (16, 23)})])
def test_groups_can_be_others(sides, by, key, expected):
    report = compare("--by", by, *sides)
    assert {group[key]: (group["a"]["calls"], group["b"]["calls"]) for group in report["changes"]} == expected


def test_calls_without_lines_are_compared_by_the_calling_library(tmp_path):
    sides = [make_recording(tmp_path / f"{name}.fp32rec", "summary", f"sgemm_:8:native:{kind}:as_requested:3")
             for name, kind in (("a", "fp32"), ("b", "tf32"))]
    report = compare(*sides)
    assert report["by"] == ["caller", "function"]
    assert [(group["a"]["applied"], group["b"]["applied"]) for group in report["changes"]] == [({"fp32": 3}, {"tf32": 3})]


def test_a_filter_holds_for_both_sides_and_for_results(tmp_path, sides):
    report = compare("--function", "sgemm_", *sides)
    assert (report["a"]["calls"], report["b"]["calls"]) == (0, 3)
    assert "Filter: only the calls that the options select are compared" in report["remarks"]
    one, other = (make_recording(tmp_path / f"{name}.fp32rec", "summary", "--one-thread",
                                 calls_with_results("main@/app/model.py@1", 64, [1.0, 2.0]),
                                 calls_with_results("main@/app/model.py@2", 64, [last])) for name, last in (("c", 3.0), ("d", 4.0)))
    assert compare(one, other, status=1)["aligned"] == 3
    assert compare("--where", "model.py:1 *", one, other, status=0)["aligned"] == 2


def test_a_side_can_be_a_folder(tmp_path, sides):
    folder = tmp_path / "runs"
    folder.mkdir()
    for number, side in enumerate(sides):
        os.link(side, folder / f"{number}.fp32rec")
    report = compare(sides[0], folder)
    assert (report["a"]["calls"], report["b"]["calls"]) == (16, 39)


def test_report_names_the_command_that_compares(sides):
    result = fp32shim("report", "--diff", *sides)
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1) and "fp32shim diff A B" in result.stderr


def test_the_page_shows_calls_times_and_precisions_of_both_sides(open_page, sides):
    page = open_page("--sort", "calls", *sides, name="diff", status=3)
    page.settle()
    assert page.text("#summary").startswith("Results were not compared")
    assert "1 of 3 groups ran at another precision" in page.text("#changes-answer")
    rows = page.run("return [...document.querySelectorAll('#changes tbody tr')].map(row => [...row.cells].map(cell => cell.textContent.trim()))")
    assert [(row[0], row[2], row[3]) for row in rows] == [("model.py:41 Model.forward", "10", "20"), ("model.py:60 Model.backward", "6", "0"),
                                                          ("model.py:41 Model.forward", "0", "3")]
    assert [row[-2:] for row in rows] == [["fp32", "tf32"], ["fp32", "–"], ["–", "fp32"]]
    assert "16" in page.text("#calls") and "23" in page.text("#calls")
    assert not page.find("#products-section").is_displayed() and not page.find("#growth").is_displayed()


def test_a_recording_of_the_other_side_is_not_called_unread(tmp_path):
    """Two processes of one run are compared; a third one is not named and so is mentioned."""
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    code = "import os, numpy as n; [os.fork() for _ in '12']; a = n.ones((8, 8), 'f'); a @ a"
    fp32shim("run", "-q", "--log", tmp_path / "r.fp32rec", "--", shim.SYSTEM_PYTHON, "-c", code)
    first, second, *others = sorted(tmp_path.glob("*.fp32rec"))
    (mentioned,) = [line for line in fp32shim("diff", first, second).lines if "not read, although" in line]
    assert others and all(other.name in mentioned for other in others)
    assert first.name + "," not in mentioned and second.name not in mentioned
