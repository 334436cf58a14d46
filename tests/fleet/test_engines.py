"""DuckDB and Spark answer the queries of examples/fleet with the same rows as `fp32shim report`."""

import json
import os
import pathlib
import subprocess

import pytest

import shim
from command import fp32shim
from simulated import BELOW, DAMAGED, FULL, HOSTS, SLOW, calls_of, executable_of, host_name, policy_of

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = shim.ROOT / "examples/fleet"
# For each engine, the variable with its virtual environment, and the script that makes it.
ENVIRONMENTS = {"duckdb": ("FP32SHIM_WHEELS", "tests/wheels.sh"), "spark": ("FP32SHIM_SPARK", "tests/nightly.sh fleet")}


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def engine(request):
    """The name of an engine, and the Python interpreter that has it."""
    variable, origin = ENVIRONMENTS[request.param]
    python = pathlib.Path(os.environ.get(variable) or "/nowhere", "bin/python")
    module = {"spark": "pyspark"}.get(request.param, request.param)
    has_it = python.exists() and subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0
    shim.need(has_it, f"{module} is not in the environment that {variable} names; {origin} makes one")
    return request.param, python


@pytest.fixture(scope="module")
def engine_words(engine):
    name, python = engine
    return [python, EXAMPLES / f"query_{name}.py"]


@pytest.fixture(scope="module")
def answers(engine, fleet):
    name, python = engine
    done = subprocess.run([python, HERE / "rows_of.py", name, fleet.lines], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def readable():
    """Returns the numbers of the hosts whose calls can be read."""
    return [number for number in range(HOSTS) if number not in DAMAGED.values()]


def sums(rows, keys, numbers):
    """Returns the sums of the keys `numbers` for each combination of the keys `keys`."""
    found = {}
    for row in rows:
        sum_ = found.setdefault(tuple(row[key] for key in keys), [0] * len(numbers))
        for index, number in enumerate(numbers):
            sum_[index] += row[number]
    return found


def test_every_line_has_arrived(answers, fleet):
    report = fp32shim("report", "--format", "json", fleet.folder).json
    assert answers["lines"] == [
        {"event": "recording", "lines": HOSTS, "calls": None},
        {"event": "row", "lines": 2 * (HOSTS - len(DAMAGED)), "calls": report["totals"]["calls"]}]
    keys = set()
    for line in fleet.lines.read_text().splitlines():
        keys |= set(json.loads(line))
    assert set(answers["columns"]) == keys


def test_the_examples_print_their_answers(engine_words, fleet):
    done = subprocess.run([*engine_words, fleet.lines, EXAMPLES / "below_fp32.sql"], text=True, capture_output=True, check=True)
    assert all(host_name(number) in done.stdout for number in BELOW)


def test_the_examples_cut_nothing(engine_words, fleet):
    done = subprocess.run([*engine_words, fleet.lines, EXAMPLES / "losses.sql"], text=True, capture_output=True, check=True)
    for number in (DAMAGED["newer"], DAMAGED["foreign"]):
        [problem] = [line.split(": ", 2)[2] for line in fleet.written.lines if host_name(number) in line]
        assert problem.removeprefix("offset 8: ") in done.stdout


def test_the_examples_say_how_they_are_used(engine_words, tmp_path):
    for words, said in (([], "usage: query_"), ([tmp_path / "none.jsonl"], f"{tmp_path}/none.jsonl: no such file")):
        done = subprocess.run([*engine_words, *words], text=True, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1) and done.stderr.startswith(said)


def test_the_hosts_below_fp32_are_those_of_the_report(answers, fleet):
    keys = ["host", "where", "requested", "reason"]
    groups = fleet.groups("host,where", "--ran-below", "fp32")
    below = [row for row in answers["below_fp32"] if row["ran_at"] != "unknown"]
    answered = sums(below, [*keys, "ran_at"], ["calls", "host_ns"])
    reported = sums(groups, [*keys, "applied"], ["calls", "host_ns"])
    assert answered.keys() == reported.keys()
    for key, (calls, host_ns) in reported.items():
        # Each read of a young recording measures the counter's rate again.
        assert answered[key] == [calls, pytest.approx(host_ns, rel=1e-3)]
    assert {row["host"]: row["calls"] for row in below} == {host_name(number): calls for number, calls in BELOW.items()}
    [unknown] = [row for row in answers["below_fp32"] if row["ran_at"] == "unknown"]
    assert (unknown["host"], unknown["calls"], unknown["where"]) == (host_name(FULL), 5, None)
    assert {row["where"] for row in below} == {f"train.py:{10 + number % 3} main" for number in BELOW}


def test_the_shares_of_formats_are_those_of_the_report(answers, fleet):
    groups = fleet.groups("policy,executable")
    keys = ["policy_name", "policy_revision", "executable"]
    known = [group for group in groups if group["function"] is not None or group["applied"] is not None]
    found = sums([row for row in answers["formats"] if row["ran_at"] != "unknown"], [*keys, "ran_at"], ["calls"])
    assert found == sums(known, [*keys, "applied"], ["calls"])
    assert [row["calls"] for row in answers["formats"] if row["ran_at"] == "unknown"] == [5]
    assert all(row["percent"] == round(row["percent"], 2) for row in answers["formats"])
    for program in {row["executable"] for row in answers["formats"]}:
        for policy in ("fleet", "old"):
            shares = [row["percent"] for row in answers["formats"]
                      if (row["executable"], row["policy_name"]) == (program, policy)]
            assert not shares or sum(shares) == pytest.approx(100, abs=0.02)


def test_hosts_with_another_policy_are_those_of_the_report(answers, fleet, readable):
    others = {host_name(number) for number in range(HOSTS) if policy_of(number)[0] == "old"}
    assert {row["host"] for row in answers["other_policies"]} == others
    groups = fleet.groups("host,policy")
    assert {group["host"] for group in groups if group["policy_name"] == "old"} == others
    assert {group["host"] for group in groups} == {host_name(number) for number in readable}
    assert all((row["policy_name"], row["policy_revision"]) == ("old", "3") for row in answers["other_policies"])


def test_recordings_that_lost_something_are_named_with_what_was_lost(answers, fleet):
    lost = {pathlib.Path(row["recording"]).stem: row for row in answers["losses"]}
    assert set(lost) == {host_name(number) for number in [*DAMAGED.values(), FULL]}
    assert (lost[host_name(FULL)]["problem"], lost[host_name(FULL)]["calls_of_unknown_format"]) == (None, 5)
    said = {line.split(": ")[1] for line in fleet.written.lines}
    assert said == {str(fleet.paths[number]) for number in DAMAGED.values()}
    assert "cannot be read" not in fleet.written.stderr  # the message that counts them, for there are few
    newer = lost[host_name(DAMAGED["newer"])]
    assert newer["host"] == host_name(DAMAGED["newer"]) and "this fp32shim reads version" in newer["problem"]
    assert lost[host_name(DAMAGED["empty"])]["host"] is None


def test_only_the_slow_host_is_named(answers):
    [row] = answers["slow_hosts"]
    # A third of the host's time is in the other product, which is as fast as on other hosts.
    assert row["host"] == host_name(SLOW) and row["times_as_slow"] > 2.5


def test_calls_without_a_row_of_their_own_are_there_and_of_no_format(fleet):
    rows = [line for line in map(json.loads, fleet.lines.read_text().splitlines())
            if line["event"] == "row" and line["host"] == host_name(FULL)]
    assert {(row["function"], row["ran_at"], row["calls"], row["executable"]) for row in rows} == {
        ("sgemm_", "fp32", calls_of(FULL), executable_of(FULL)), (None, None, 5, executable_of(FULL))}
