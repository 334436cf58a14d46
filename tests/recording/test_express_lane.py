"""Most recorded calls are counted in passing: nothing of them is described or decided anew. They must be counted as
those that are."""

import collections
import csv
import io
import os
import re

import pytest
import shim
from command import fp32shim
from recorded import read, report

CALLS = 60_000


def run_mixed(log, *words, blas="openblas", level="summary", **keywords):
    """Runs a program that prints its calls. Returns the numbers of calls in its output and in the recording, by function,
    sizes, letters, scope and validity."""
    done = shim.run("mixed_products", CALLS, *words, blas=blas, log=log,
                    **{"env": {"FP32_MATMUL_LOG_LEVEL": level}, **keywords})
    did = collections.Counter()
    for line in done.stdout.splitlines():
        if "On entry to" in line:  # OpenBLAS's message about wrong arguments
            continue
        function, m, n, k, trans_a, trans_b, valid, scope, count = line.split()
        did[function, int(m), int(n), int(k), trans_a, trans_b, scope, valid == "1"] += int(count)
    recorded = collections.Counter()
    for row in report(log)["rows"]:
        recorded[row["function"], row["m"], row["n"], row["k"], row["trans_a"], row["trans_b"] or "-",
                 row["scope"] or "-", row["reason"] != "invalid_arguments"] += row["calls"]
    return did, recorded


def expect_few_to_be_timed(rows):
    """Checks that few of the short calls are timed. On slow machines, few are short; calls of 2 us or more are all timed."""
    short = [row for row in rows if row["host_ns"] < 1000 * row["calls"]]
    assert sum(row["timed_calls"] for row in short) <= sum(row["calls"] for row in short) / 2


@pytest.mark.parametrize("level", ["summary", "calls"])
@pytest.mark.parametrize("blas", shim.LP64_BLAS)
def test_every_call_is_counted_under_its_own_row(tmp_path, blas, level):
    did, recorded = run_mixed(tmp_path / "run.fp32rec", blas=blas, level=level)
    assert did.total() == CALLS and len(did) > 100
    assert recorded == did
    content = read(tmp_path / "run.fp32rec")
    assert content["calls"] == CALLS and content["events"] == (CALLS if level == "calls" else 0)


def test_calls_with_wrong_arguments_are_told_apart_from_right_ones_of_the_same_size(tmp_path):
    did, recorded = run_mixed(tmp_path / "run.fp32rec", "invalid")
    assert sum(count for key, count in did.items() if not key[-1]) > 1000
    assert recorded == did


SCOPE_RULE = 'schema = 1\n[[rule]]\nprecision = "highest"\nwhen = { scope = "attention" }\n'


@pytest.mark.parametrize("policy", [None, SCOPE_RULE], ids=["labels only", "a rule asks for them"])
@pytest.mark.parametrize("level", ["summary", "calls"])
def test_scopes_have_rows_of_their_own(tmp_path, policy, level):
    log = tmp_path / "run.fp32rec"
    did, recorded = run_mixed(log, "scopes", policy=policy, level=level)
    assert recorded == did and {key[-2] for key in did} == {"-", "encoder", "encoder/attention", "decoder"}
    rows = report(log)["rows"]
    for row in rows:
        assert (row["requested"] == "highest") == (policy is not None and row["scope"] == "encoder/attention"), row
    # Calls in scopes are also counted on the quick path, unless decisions depend on scopes.
    inside = [row for row in rows if row["scope"]]
    if policy is None:
        expect_few_to_be_timed(inside)
    else:
        assert all(row["timed_calls"] == row["calls"] for row in inside)


RULE = 'schema = 1\n[[rule]]\nname = "one"\n'


@pytest.mark.parametrize("policy, asks, asked", [
    (RULE + 'precision = "high"\nwhen = { m = "<=4" }\n', lambda row: row["m"] <= 4, "high"),
    ('schema = 1\ndefault = "high"\n', lambda row: True, "high"),
    (RULE + 'precision = "highest"\nwhen = { function = "cblas_*" }\n', lambda row: row["function"].startswith("cblas_"),
     "highest"),
    (RULE + 'precision = "xf32"\nwhen = { function = "cblas_*" }\n', lambda row: row["function"].startswith("cblas_"),
     "xf32"),
], ids=["sizes", "default", "function", "rare format"])
def test_whatever_the_policy_looks_at(tmp_path, policy, asks, asked):
    """The preview is off, so all calls are forwarded, but not for the same reason."""
    log = tmp_path / "run.fp32rec"
    did, recorded = run_mixed(log, policy=policy, cpu="off")
    assert recorded == did
    for row in report(log)["rows"]:
        assert (row["requested"], row["applied"]) == (asked if asks(row) else "native", "fp32"), row


def test_what_is_emulated_takes_the_long_way_and_what_is_not_does_not(tmp_path):
    log = tmp_path / "run.fp32rec"
    policy = 'schema = 1\n[[rule]]\nprecision = "high"\nwhen = { function = "sgemm_" }\n'
    did, recorded = run_mixed(log, policy=policy, cpu="emulate")
    assert recorded == did
    rows = report(log)["rows"]
    assert {row["applied"] for row in rows if row["function"] == "sgemm_"} == {"tf32"}
    assert {row["applied"] for row in rows if row["function"] != "sgemm_"} == {"fp32"}
    # Each of a function's 36 rows is timed while it is new, and then now and then. Emulated calls are always timed.
    timed = {row["function"]: 0 for row in rows}
    for row in rows:
        timed[row["function"]] += row["timed_calls"]
    assert timed["sgemm_"] == sum(row["calls"] for row in rows if row["function"] == "sgemm_")
    expect_few_to_be_timed([row for row in rows if row["function"] == "cgemm_"])


def test_a_library_that_multiplies_by_calling_itself_is_counted_once_a_call(tmp_path):
    """An example is the reference BLAS, whose cblas_sgemm calls sgemm_."""
    did, recorded = run_mixed(tmp_path / "run.fp32rec", blas="reference")
    assert recorded == did


RELOADING = """
import ctypes, pathlib, sys
library, policy = ctypes.CDLL(sys.argv[1]), pathlib.Path(sys.argv[2])
shim = ctypes.CDLL(sys.argv[3])
a = (ctypes.c_float * 64)(*[1.0] * 64)
zero, one = ctypes.c_float(0), ctypes.c_float(1)

def multiply(count):
    for _ in range(count):
        library.cblas_sgemm(102, 111, 111, 8, 8, 8, one, a, 8, a, 8, zero, a, 8)

multiply(100)
policy.write_text(policy.read_text().replace("one", "two"))
for _ in range(int(sys.argv[4])):
    assert shim.fp32shim_reload_policy() == 0
multiply(300)
"""


@pytest.mark.parametrize("reloads", [1, 255, 256, 600])
def test_however_often_the_policy_is_read_again_each_call_is_under_its_own_rule(tmp_path, reloads):
    policy, log = tmp_path / "policy.toml", tmp_path / "run.fp32rec"
    policy.write_text('schema = 1\n[[rule]]\nname = "one"\nprecision = "highest"\nwhen = { m = 8 }\n')
    shim.run("python3", "-c", RELOADING, str(shim.blas_library("openblas")), str(policy), str(shim.LIBRARY), reloads,
             log=log, blas="openblas", env={"FP32_MATMUL_LOG_LEVEL": "calls", "FP32_MATMUL_POLICY": policy})
    assert {row["rule"]: row["calls"] for row in report(log)["rows"]} == {"one": 100, "two": 300}


def test_calls_through_a_pointer_are_counted_in_passing_until_objects_are_added(tmp_path):
    """The imports of the loaded objects tell to which library the function belongs."""
    log = tmp_path / "run.fp32rec"
    libraries = [shim.CLIENTS / f"libwrapper_{letter}.so" for letter in "ab"]
    shim.run("handed_pointer", "in-turn:500", *libraries, blas=None, log=log)
    first, second = sorted(report(log)["rows"], key=lambda row: row["first"])
    assert (first["calls"], first["provider"], first["detail"]) == (500, "libfake_a.so", None)
    assert second["calls"] == 500 and "several libraries" in second["detail"]
    assert first["timed_calls"] < 100 and second["timed_calls"] < 100


def test_the_time_of_short_calls_is_estimated_from_those_that_are_timed(tmp_path):
    log = tmp_path / "run.fp32rec"
    run_mixed(log, level="calls")
    for row in report(log)["rows"]:
        assert 16 <= row["timed_calls"] <= row["calls"]
        assert row["host_ns_min"] <= row["host_ns"] / row["calls"] <= row["host_ns_max"], row
    expect_few_to_be_timed(report(log)["rows"])
    durations = [call["host_ns"] for call in csv.DictReader(io.StringIO(fp32shim("log", "--format", "csv", log).stdout))]
    assert len(durations) == CALLS
    assert sum(duration == "" for duration in durations) == CALLS - sum(row["timed_calls"] for row in report(log)["rows"])


def test_what_finds_no_room_is_counted_in_passing_as_well(tmp_path):
    log = tmp_path / "run.fp32rec"
    did, recorded = run_mixed(log, level="calls", policy='schema = 1\n[log]\nmax_size = "1MiB"\n')
    assert recorded == did
    content, rows = read(log), report(log)["rows"]
    assert content["calls"] == content["events"] + content["dropped_events"] == CALLS
    assert content["dropped_events"] > 3 * CALLS / 4
    expect_few_to_be_timed(rows)


def test_the_way_in_passing_calls_nothing_and_touches_no_vector_register():
    """The entry saves only integer registers, and its code may use nothing that threads share."""
    shim.need(os.uname().machine == "x86_64", "the disassembly is read for x86-64")
    listing = shim.subprocess.run(
        [shim.tool("objdump"), "-d", "--no-show-raw-insn", "--disassemble=fp32shim_express", str(shim.LIBRARY)],
        text=True, capture_output=True, check=True).stdout
    code = [line.split("\t", 1)[1] for line in listing.splitlines() if "\t" in line]
    assert len(code) > 100
    code = [line for line in code if line.split() != ["xchg", "%ax,%ax"]]  # this is how objdump prints a nop of two bytes
    forbidden = re.compile(r"%[xyz]mm|%mm\d|%st|\block\b|\bxchg\b|\bcall\b|\bcmpxchg|\bsyscall\b")
    assert [line for line in code if forbidden.search(line)] == []
    # Every jump stays inside the function.
    jumps = [line for line in code if re.match(r"j\w+\s", line)]
    assert jumps and all("<fp32shim_express" in line for line in jumps)
