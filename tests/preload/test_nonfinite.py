"""[audit] nonfinite: the first product that made NaN or infinity of finite operands, and no other, is named."""

import json
import re
import subprocess

import pytest

from shim import BUILD, LP64_BLAS, ROOT, blas_library, client, is_vector_product, run

COMMAND = BUILD / "bin/fp32shim"
LINE = "first NaN or infinity from finite operands: "
RECEIVED = "first product that received NaN or infinity: "
NONFINITE = {"FP32_MATMUL_AUDIT": "nonfinite"}


def documented(event):
    """Returns the keys that the page lists for an event, besides those of every event and of a decision."""
    page = (ROOT / "docs/schema.md").read_text().split(f"### `{event}`\n")[1].split("\n### ")[0]
    return [key for row in page.splitlines() if row.startswith("| `") for key in re.findall(r"`(\w+)`", row.split("|")[1])]


@pytest.fixture
def search(tmp_path):
    """Runs a case without the shim, and with the search in a recording. Returns the lines on stderr and the report's key."""

    def run_search(case, blas="openblas", recorded=True, **settings):
        words = ["nonfinite_cases.py", blas_library(blas), case]
        log = tmp_path / f"{case}-{blas}.%p.fp32rec" if recorded else False
        shimmed = run(*words, blas=blas, log=log, env=NONFINITE, **settings)
        if "precision" not in settings and case != "threads":
            assert shimmed.stdout == run(*words, blas=blas, preload=False).stdout
        lines = [line for line in shimmed.stderr.splitlines() if "fp32shim" in line]
        assert all(LINE in line or RECEIVED in line for line in lines)
        run_search.received = [line for line in lines if RECEIVED in line]
        lines = [line for line in lines if LINE in line]
        if not recorded:
            return lines, None
        report = subprocess.run([COMMAND, "report", "--format", "json", *tmp_path.glob(f"{case}-{blas}.*")],
                                capture_output=True, text=True, check=True)
        found = json.loads(report.stdout)
        assert found["audits"] == []
        run_search.report = found
        return lines, found["first_nonfinite"]

    return run_search


@pytest.mark.parametrize("case, function, found, place", [
    ("overflow", "sgemm_", "infinity", (3, 1)),
    ("sum_overflow", "sgemm_", "infinity", (0, 1)),
    ("difference_of_infinities", "sgemm_", None, (66, 33)),
    ("scaled", "sgemm_", "infinity", (2, 3)),
    ("row_major", "cblas_sgemm", "infinity", (1, 2)),
    ("complex_numbers", "cgemm_", None, (2, 4)),
    ("triangle", "ssyrk_", "infinity", (0, 3)),
    ("symmetric", "ssymm_", "infinity", (0, 1)),
    ("in_place", "strmm_", "infinity", (0, 1)),
    ("solve", "strsm_", None, (2, 0)),
])
@pytest.mark.parametrize("blas", LP64_BLAS)
def test_the_product_and_the_place_are_named(search, blas, case, function, found, place):
    (line,), (named,) = search(case, blas)
    if case == "solve":  # the spread of a division by zero depends on the library
        assert (named["function"], named["column"]) == (function, place[1])
        return
    assert (named["function"], named["row"], named["column"], named["product"]) == (function, *place, 0)
    if found is not None:  # if nothing is found, the result depends on the library's order of operations
        assert named["found"] == found
    word = "NaN" if named["found"] == "nan" else "infinity"
    assert f"{LINE}{word} in row {place[0]}, column {place[1]}" in line
    assert "; at nonfinite_cases.py:" in line and f"; {function} " in line


@pytest.mark.parametrize("case", ["bad_operands", "bad_memory_that_is_not_read"])
@pytest.mark.parametrize("blas", LP64_BLAS)
def test_a_product_with_bad_operands_is_not_named(search, blas, case):
    assert search(case, blas) == ([], [])


@pytest.mark.parametrize("case, found, operand, place", [
    ("bad_operands", "nan", "A", (4, 5)),
    ("in_place", "infinity", "B", (0, 0)),
    ("overflow", None, None, None),
    ("bad_memory_that_is_not_read", None, None, None),
])
@pytest.mark.parametrize("blas", LP64_BLAS)
def test_the_first_product_that_receives_nan_is_named_with_the_operand(search, blas, case, found, operand, place):
    search(case, blas)
    received = search.report["first_received"]
    assert len(received) == len(search.received) == (operand is not None)
    if operand is not None:
        assert (received[0]["found"], received[0]["operand"], received[0]["row"], received[0]["column"]) == (found, operand, *place)
        word = "NaN" if found == "nan" else found
        assert f"{RECEIVED}{word} in {operand}, row {place[0]}, column {place[1]}; at nonfinite_cases.py:" in search.received[0]


def test_a_search_that_finds_nothing_says_how_many_products_it_searched(tmp_path):
    log = tmp_path / "none.fp32rec"
    run("nonfinite_cases.py", blas_library("openblas"), "bad_memory_that_is_not_read", log=log, env=NONFINITE)
    text = subprocess.run([COMMAND, "report", log], capture_output=True, text=True, check=True).stdout
    assert re.search(r"First NaN or infinity from finite operands\n[2-9] calls searched, none found\n", text), text
    words = [COMMAND, "report", "--function", "*gemm*", log]  # calls that a filter leaves out may have made some
    assert "none found" not in subprocess.run(words, capture_output=True, text=True, check=True).stdout
    run("nonfinite_cases.py", blas_library("openblas"), "bad_operands", log=tmp_path / "received.fp32rec", env=NONFINITE)
    text = subprocess.run([COMMAND, "report", tmp_path / "received.fp32rec"], capture_output=True, text=True, check=True).stdout
    assert "First product that received NaN or infinity" in text and " NaN       A " in text


def test_a_product_of_a_batch_is_named_by_its_number(search):
    (line,), (named,) = search("batch", "blis")
    assert (named["function"], named["batch"], named["product"]) == ("sgemm_batch_", 5, 3)
    assert (named["row"], named["column"]) == (3, 2)
    assert "row 3, column 2 of product 3" in line


def test_a_number_that_rounds_to_infinity_is_named_where_it_is_rounded(search):
    assert search("below_infinity") == ([], [])
    (line,), (named,) = search("scaled")
    assert (named["alpha"], named["beta"]) == (1, pytest.approx(1e10)) and ", |beta| < 2^34" in line
    (line,), (named,) = search("below_infinity", recorded=True, precision="high", cpu="emulate")
    assert (named["applied"], named["found"], named["row"], named["column"]) == ("tf32", "infinity", 1, 0)
    assert named["exponents"] == {"a": [0, 127], "b": [0, 0]}
    assert "|A| < 2^128, |B| < 2^1;" in line


@pytest.mark.parametrize("blas", LP64_BLAS)
def test_random_products_are_the_same_to_the_bit_while_they_are_searched(blas):
    """Guard pages, NaN, infinities and floating-point flags are as in test_random_products.py."""
    found = 0
    for seed in range(1, 13):  # several runs, since a search ends at the first find
        more = ["blis"] if blas == "blis" else []
        result = run("random_products", 1000 * seed, 100, "same", *more, blas=blas, log=False, env=NONFINITE)
        assert all(LINE in line or RECEIVED in line for line in result.stderr.splitlines()), result.stderr
        found += result.stderr.count(LINE)
    assert found > 0


def test_one_line_is_written_by_many_threads(search):
    lines, found = search("threads")
    assert len(lines) == len(found) == 1


def test_without_a_recording_there_is_the_line(search):
    (line,), _ = search("overflow", recorded=False)
    assert "row 3, column 1, |A| < 2^100, |B| < 2^100; at nonfinite_cases.py:" in line


def test_a_child_that_is_forked_after_the_find_does_not_search(search):
    lines, found = search("forks")
    assert len(lines) == len(found) == 2
    assert len({named["pid"] for named in found}) == 2


def test_a_thread_of_the_smallest_stack_says_so():
    result = run("small_stack", client("libfake_b.so"), "direct", "16384", "3e38", blas=None, log=False, env=NONFINITE)
    assert result.stdout == "inf\n"
    assert LINE + "infinity in row 0, column 0" in result.stderr


def test_a_call_may_be_audited_and_searched_at_once(tmp_path):
    log = tmp_path / "both.fp32rec"
    policy = 'schema = 1\n[audit]\nsample = 1\nagainst = "tf32"\nnonfinite = true\n'
    run("nonfinite_cases.py", blas_library("openblas"), "overflow", policy=policy, log=log)
    text = subprocess.run([COMMAND, "report", log], capture_output=True, text=True, check=True).stdout
    head, row = text.split("First NaN or infinity from finite operands\n")[1].splitlines()[:2]
    assert head.split()[:5] == ["time", "process", "function", "size", "ran"] and " infinity " in row
    assert text.index("First NaN") < text.index("ran at     ") < text.index("Audits: the largest errors")
    report = json.loads(subprocess.run([COMMAND, "report", "--format", "json", log], capture_output=True, check=True).stdout)
    (audits,) = report["audits"]
    assert (audits["audits"], audits["bad_results"], len(report["first_nonfinite"])) == (2, 1, 1)


def test_the_log_shows_audits_and_the_first_nonfinite_behind_their_calls(tmp_path):
    log = tmp_path / "calls.fp32rec"
    policy = 'schema = 1\n[log]\nlevel = "calls"\n[audit]\nsample = 1\nagainst = "tf32"\nnonfinite = true\n'
    run("nonfinite_cases.py", blas_library("openblas"), "overflow", policy=policy, log=log)
    lines = subprocess.run([COMMAND, "log", "--format", "jsonl", log], capture_output=True, text=True, check=True).stdout
    events = [event for event in map(json.loads, lines.splitlines()) if not is_vector_product(event.get("function") or "")]
    assert [event["event"] for event in events] == ["start", "decision", "audit", "decision", "audit", "nonfinite"]
    assert events[3]["time_ns"] == events[4]["time_ns"] == events[5]["time_ns"]
    common, decision = list(events[1])[:10], [key for key in list(events[1])[10:] if key != "host_ns"]
    assert {event["early"] for event in (events[2], events[4])} == {True}
    for event in (events[2], events[5]):
        assert list(event) == [*common, *decision, *documented(event["event"])]
    assert (events[2]["outcome"], events[2]["tested"], events[2]["norm"]) == ("compared", "tf32", 0)
    assert (events[4]["outcome"], events[5]["found"]) == ("bad_result", "infinity")
    text = subprocess.run([COMMAND, "log", log], capture_output=True, text=True, check=True).stdout
    assert "audit  tf32 with fp32: norm 0.0e+00" in text
    assert "nonfinite  first NaN or infinity from finite operands: infinity in row 3, column 1; sgemm_ 5x4x6" in text
    rows = subprocess.run([COMMAND, "log", "--rows", "--format", "jsonl", log], capture_output=True, text=True, check=True).stdout
    assert {json.loads(line)["event"] for line in rows.splitlines()} == {"start", "row"}
