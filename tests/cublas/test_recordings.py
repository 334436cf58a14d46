"""A recording of products of cuBLAS says what the JSON lines say, though most of its calls are counted in passing."""

import collections
import functools
import json
import re

import pytest
from cublas import NOT_OF_THE_CALL, as_calls, recorded, reported, run_client

ROUNDS = 44


def counts_of(calls):
    """Counts the calls that agree in all keys."""
    return collections.Counter(json.dumps(call, sort_keys=True) for call in calls)


@functools.cache
def rounds(precision, has_scopes, log=None, level=None):
    """Runs the client without recording kernels, because no call would be short otherwise. Writes a log of lines unless
    `log` names a recording."""
    variables = {"STAND_IN_KERNELS": "none", "CLIENT_SCOPES": has_scopes and "1", "FP32_MATMUL_LOG": log, "FP32_MATMUL_LOG_LEVEL": level}
    return run_client("statuses", "rounds", ROUNDS, precision=precision, env={name: value for name, value in variables.items() if value})


@pytest.mark.parametrize("level", ["summary", "calls"])
@pytest.mark.parametrize("precision", ["native", "high"])
@pytest.mark.parametrize("has_scopes", [False, True], ids=["", "scopes"])
def test_every_call_is_counted_under_the_decision_that_it_got(tmp_path, precision, level, has_scopes):
    lines = rounds(precision, has_scopes)
    log = tmp_path / "run.fp32rec"
    rows_run = rounds(precision, has_scopes, log, level)
    assert rows_run.stdout == lines.stdout
    decisions = as_calls(lines.decisions)
    keys = set(decisions[0]) - NOT_OF_THE_CALL
    # Facts that a process writes into every line of a log, but only once into a recording.
    keys -= {"event", "schema", "host", "job_id", "rank"}
    expected = counts_of({key: call[key] for key in keys} for call in decisions)
    found = collections.Counter()
    rows = recorded(log)
    for row in rows:
        found[json.dumps({key: row[key] for key in keys}, sort_keys=True)] += row["calls"]
    assert expected.total() == len(decisions) > 10_000
    assert found == expected
    assert {row["scope"] for row in rows} == ({None, "encoder", "decoder"} if has_scopes else {None})
    # If the compute type alone determines the format, most calls are not timed: they were counted on the quick path.
    timed = [row["timed_calls"] < row["calls"] for row in rows if row["function"] == "cublasSgemm_v2"]
    assert any(timed) == (precision == "high")


def test_the_environment_has_the_version_of_cublas_and_the_name_of_the_device(tmp_path):
    log = tmp_path / "run.fp32rec"
    run_client("statuses", "rounds", 1, precision="high", env={"FP32_MATMUL_LOG": log})
    found = reported(log)["processes"][0]["environment"]
    assert {"name": "cuda:0", "gpu": "fp32shim stand-in (no GPU)"} in found["devices"]
    library, = [one for one in found["libraries"] if one["name"].startswith("libcublas.so")]
    assert re.fullmatch(r"cuBLAS \d+\.\d+\.\d+", library["version"]) and library["file"].endswith("/" + library["name"])
    assert library["threads"] is None
