"""fp32shim diff: the calls, times and precisions of two runs, by group, as text, JSON and a page, which need no
fingerprints; and --by row: whether the rows of results have the same bits in batches of any size."""

import os

import pytest

import processor
import shim
from command import calls_from, calls_with_results, fp32shim, make_recording


def stacks(forward=41, backward=60):
    library = "/usr/lib/libtorch.so+0x1c4"
    return (f"main@/app/train.py@9;Model.forward@/app/model.py@{forward};{library}",
            f"main@/app/train.py@9;Model.backward@/app/model.py@{backward};{library}")


@pytest.fixture
def sides(tmp_path):
    """Two recordings. `before` has all at FP32. In `after`, forward is at TF32 and twice as often, backward is gone, and a
    function is new."""
    forward, backward = stacks()
    before = make_recording(tmp_path / "before.fp32rec", "summary",
                            calls_from(forward, "cblas_sgemm", 64, "fp32", 10, 900_000), calls_from(backward, "cblas_sgemm", 64, "fp32", 6, 900_000))
    after = make_recording(tmp_path / "after.fp32rec", "summary",
                           calls_from(forward, "cblas_sgemm", 64, "tf32", 20, 900_000), calls_from(forward, "sgemm_", 8, "fp32", 3, 900_000))
    return before, after


def compare(*words, status=3):
    """Returns the JSON of `diff` for two recordings without fingerprints."""
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


def test_only_what_is_gone_has_changed_by_100_percent(tmp_path):
    many, one = (make_recording(tmp_path / f"{calls}.fp32rec", "summary", "--one-thread", f"sgemm_:8:native:fp32:as_requested:{calls}")
                 for calls in (1000, 1))
    text = fp32shim("diff", many, one).stdout
    assert "-999 (-99%)" in text and "-100%" not in text, text


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
    assert [(row[5], row[0], row[1]) for row in rows] == [("model.py:41 Model.forward", "10", "20"), ("model.py:60 Model.backward", "6", "0"),
                                                          ("model.py:41 Model.forward", "0", "3")]
    assert [row[-1] for row in rows] == ["fp32 -> tf32", "fp32, only in A", "fp32, only in B"]
    assert "16" in page.text("#calls") and "23" in page.text("#calls")
    assert not page.find("#products").is_displayed() and not page.find("#growth").is_displayed()


def test_a_recording_of_the_other_side_is_not_called_unread(tmp_path):
    """Two processes of one run are compared. A third one is not named on the command line, so `diff` mentions it."""
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    code = "import os, numpy as n; [os.fork() for _ in '12']; a = n.ones((8, 8), 'f'); a @ a"
    fp32shim("run", "-q", "--log", tmp_path / "r.fp32rec", "--", shim.SYSTEM_PYTHON, "-c", code)
    first, second, *others = sorted(tmp_path.glob("*.fp32rec"))
    (mentioned,) = [line for line in fp32shim("diff", first, second).lines if "not read, although" in line]
    assert others and all(other.name in mentioned for other in others)
    assert first.name + "," not in mentioned and second.name not in mentioned


# ---- rows ---------------------------------------------------------------------------------------------------------

# A network of two layers for 33 rows. If CHANGED is true, one element of row 20 is different.
NETWORK = """
import os, sys, numpy as np
random = np.random.default_rng(5)
x, first, second = (random.standard_normal(size, dtype="f") for size in ((33, 300), (300, 200), (200, 10)))
order = random.permutation(33)
x[20, 7] += float(os.environ.get("CHANGED", 0))
def network(x):
    return np.maximum(x @ first, 0) @ second
batches = {"together": lambda: [x], "alone": lambda: [x[i:i + 1] for i in range(33)], "vectors": lambda: list(x),
           "twos": lambda: [x[i:i + 2] for i in range(0, 33, 2)], "reordered": lambda: [x[order]],
           "stacked": lambda: [x.reshape(3, 11, 300)]}
for batch in batches[sys.argv[1]]():
    network(batch)
"""
# A column-major product whose columns are rows of a batch. If STEP is not 0, it is made by vectors with this increment.
SCIPY = """
import sys, numpy as np
from scipy.linalg import blas
random = np.random.default_rng(5)
for letter, dtype in zip("sdcz", ("f", "d", "F", "D")):
    gemm, gemv = getattr(blas, letter + "gemm"), getattr(blas, letter + "gemv")
    w, x = ((random.standard_normal(size) + 1j * random.standard_normal(size) * (letter in "cz")).astype(dtype, order="F")
            for size in ((5, 7), (7, 9)))
    if sys.argv[1] == "0":
        gemm(1, w, x)
    else:
        for i in range(9):
            step = int(sys.argv[1])
            gemv(1, w, x[:, i], y=np.zeros(1 + 4 * abs(step), dtype), incy=step)
"""
MODE = {"cpu": "reproducible"}
PLACE = "main@/app/model.py@1;forward@/app/model.py@41"


@pytest.fixture
def record(tmp_path):
    """Records a program into a file of this name. `settings` are those of shim.run()."""
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    program = tmp_path / "network.py"
    program.write_text(NETWORK)
    variables = {"FP32_MATMUL_AUDIT": "fingerprint", "FP32_MATMUL_VECTORS": "1", "FP32_MATMUL_WHERE": "auto",
                 "OPENBLAS_CORETYPE": processor.openblas_kernels()[0]}

    def write(name, *words, env=(), **settings):
        log = tmp_path / f"{name}.fp32rec"
        shim.run(shim.SYSTEM_PYTHON, *(words or (program, name)), log=log, env={**variables, **dict(env)}, **settings)
        return log

    return write


def by_row(a, b, status, *words):
    """Returns the JSON of `diff --by row`."""
    result = fp32shim("diff", "--by", "row", "--function", "*gem*", "--format", "json", *words, a, b)
    assert result.returncode == status, result.stdout + result.stderr
    return result.json


def rows_of(report):
    return {(kind["length"], kind["terms"]): (kind["outcome"], kind["a"]["rows"], kind["b"]["rows"]) for kind in report["rows"]["kinds"]}


@pytest.mark.parametrize("batches, calls", [("alone", 33), ("vectors", 33), ("twos", 17), ("reordered", 1), ("stacked", 3)])
def test_rows_have_the_same_bits_in_all_batches_only_in_the_fixed_order(record, batches, calls):
    report = by_row(record("together", **MODE), record(batches, **MODE), 0)
    assert rows_of(report) == {(200, 300): ("same", 33, 33), (10, 200): ("same", 33, 33)}
    assert {(kind["a"]["calls"], kind["b"]["calls"]) for kind in report["rows"]["kinds"]} == {(1, calls)}
    assert report["summary"] == f"Same rows: all 66 rows of 2 kinds have the same bits, in 2 calls of A and {2 * calls} of B"


def test_without_the_fixed_order_rows_differ_from_a_place_on(record):
    together, alone = record("together"), record("alone")
    report = by_row(together, alone, 1)
    assert "other" in {outcome for outcome, *_ in rows_of(report).values()}
    first = report["rows"]["kinds"][0]
    assert first["a"]["next"]["function"] == "cblas_sgemm" and first["b"]["next"]["function"] == "cblas_sgemv"
    assert first["a"]["next"]["where"] == first["b"]["next"]["where"] == "network.py:8 network"
    text = fp32shim("diff", "--by", "row", together, alone).stdout
    assert "cblas_sgemm 33x" in text.split("0 rows before them agree:\n  A: ")[1].split("\n")[0]
    assert by_row(together, together, 0)["summary"].startswith("Same rows: all 66 rows")


def test_one_element_of_one_row_is_found_behind_the_rows_before_it(record):
    report = by_row(record("twos", **MODE), record("alone", env={"CHANGED": "0.5"}.items(), **MODE), 1)
    assert rows_of(report) == {(200, 300): ("other", 33, 33), (10, 200): ("other", 33, 33)}
    first, second = report["rows"]["kinds"]
    assert (first["length"], first["same"], second["same"]) == (200, 20, 20)
    # Batch 11, which has two rows, and row 21 have two products each.
    assert second["a"]["next"]["number"] - first["a"]["next"]["number"] == 1
    assert first["b"]["next"]["number"] - first["a"]["next"]["number"] == 20
    assert report["summary"] == "Other rows: in 2 of 2 kinds with as many rows in A as in B"
    assert report["remarks"][-1].startswith("Inputs: not compared by row")


@pytest.mark.parametrize("step", [1, 2, -1])
def test_columns_of_a_column_major_product_are_the_vectors_of_gemv_in_each_type(record, step):
    shim.need(shim.has_module("scipy"), "no scipy")
    report = by_row(record("a", "-c", SCIPY, 0, **MODE), record("b", "-c", SCIPY, step, **MODE), 0)
    assert {kind["dtype"]: (kind["outcome"], kind["length"], kind["a"]["calls"], kind["b"]["calls"]) for kind in report["rows"]["kinds"]} == {
        dtype: ("same", 5, 1, 9) for dtype in ("float32", "float64", "complex64", "complex128")}


def recording(tmp_path, name, *calls):
    return make_recording(tmp_path / f"{name}.fp32rec", "summary", "--one-thread",
                          *(calls_with_results(PLACE, size, results) for size, results in calls))


def test_one_kind_from_two_places_is_compared_where_both_have_all_its_rows(tmp_path):
    """Two layers have one size. The sums of the hashes of rows agree after both layers of a batch, but not between them."""
    a = recording(tmp_path, "a", ("2x8x8", ["1/1/11"]), ("2x8x8", ["1/1/22"]), ("2x8x8", ["1/1/33"]), ("2x8x8", ["1/1/44"]))
    rows = [5, 10, 6, 12, 15, 20, 18, 24]
    b = recording(tmp_path, "b", *(("1x8x8", [f"1/1/{row}"]) for row in rows))
    kind, = by_row(a, b, 0)["rows"]["kinds"]
    assert (kind["outcome"], kind["same"], kind["a"]["next"]) == ("same", 8, None)
    b = recording(tmp_path, "c", *(("1x8x8", [f"1/1/{row}"]) for row in [*rows[:-1], 25]))
    kind, = by_row(a, b, 1)["rows"]["kinds"]
    assert (kind["outcome"], kind["same"], kind["a"]["next"]["number"], kind["b"]["next"]["number"]) == ("other", 4, 3, 5)


def test_rows_that_are_not_as_many_in_both_runs_are_named_as_not_compared(tmp_path):
    a = recording(tmp_path, "a", ("4x8x8", ["1/1/10"]), ("3x5x8", ["1/1/7"]))
    b = recording(tmp_path, "b", ("1x8x8", ["1/1/4"]), ("3x8x8", ["1/1/6"]), ("3x5x8", ["1/1/7"]), ("1x5x8", ["1/1/9"]))
    report = by_row(a, b, 1)
    assert rows_of(report) == {(8, 8): ("same", 4, 4), (5, 8): ("not compared", 3, 4)}
    assert report["summary"] == "Same rows: all 4 rows of 1 kind have the same bits, in 1 call of A and 2 of B; 1 other kind not compared"
    assert "Not compared: rows of 1 kind, because A and B have different numbers of them" in report["remarks"]
    result = fp32shim("diff", "--by", "row", "--top", "1", a, recording(tmp_path, "c", ("9x9x9", ["1/1/1"])))
    assert result.returncode == 3 and "--top 0 shows all" in result.stdout
    assert "fp32shim diff: Nothing was compared: no kind has as many rows in A as in B" in result.lines


def test_recordings_of_older_versions_have_no_hashes_of_rows_and_diff_says_what_to_do(tmp_path):
    old, new = recording(tmp_path, "old", (8, ["1/1", "2/1"])), recording(tmp_path, "new", (8, ["1/1/3", "2/1/4"]))
    for pair, counts in (((old, old), "2 products of A and 2 of B"), ((old, new), "2 products of A and 0 of B")):
        result = fp32shim("diff", "--by", "row", *pair)
        assert result.returncode == 3
        assert (f"fp32shim diff: Not compared: {counts}, which have no hashes of rows, because an older version of fp32shim recorded "
                "them, or the file was full; record both runs again") in result.lines
    # Without --by row, the field changes nothing.
    assert fp32shim("diff", old, new).returncode == 0


def test_routines_without_rows_are_counted_and_a_page_is_refused(record):
    code = "import numpy as np; a = np.ones((9, 4), 'f'); a @ a.T; a @ np.ones((4, 3), 'f')"
    log = record("update", "-c", code, **MODE)
    result = fp32shim("diff", "--by", "row", "--function", "*s[gy][er]*", "--format", "json", log, log)
    assert result.returncode == 1 and result.json["rows"]["a"] == {"without_hashes": 0, "without_rows": 1}
    remark = next(line for line in result.json["remarks"] if "have no rows" in line)
    assert remark.startswith("Not compared: 1 product of A and 1 of B, whose") and remark.endswith(": cblas_ssyrk 9x9x4 at <string>:1 <module>"), remark
    refused = fp32shim("diff", "--by", "row", "--format", "html", log, log)
    assert refused.returncode == 2 and refused.lines == ["fp32shim diff: --by row has no page; choose --format text or --format json"]
