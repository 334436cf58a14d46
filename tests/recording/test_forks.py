"""fork, vfork, spawn and exec: every process has a recording of its own, with exactly its own calls."""

import pathlib

import pytest

import shim
from recorded import ALL_DONE, calls_of, read, record, recordings_in, report, said

POOL = pathlib.Path(__file__).resolve().parent / "clients/pool.py"


def by_process(folder):
    """Returns {process id: the entry of its recording in `fp32shim report`}."""
    processes = {}
    for path in recordings_in(folder):
        only = report(path)["processes"]
        assert only[0]["pid"] not in processes, "two recordings of one process"
        processes[only[0]["pid"]] = only[0]
    return processes


@pytest.mark.parametrize("level", ["summary", "calls"])
@pytest.mark.parametrize("name", ["run.fp32rec", "%p.fp32rec"])
def test_each_worker_of_a_numpy_pool_has_its_own_and_the_parents_is_intact(tmp_path, level, name):
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    result = record(POOL, 4, program=shim.SYSTEM_PYTHON, log=tmp_path / name, level=level, blas="openblas", check=True)
    assert said(result) == []
    made = {int(pid): int(count) for pid, count in (line.split() for line in result.stdout.splitlines())}
    assert sorted(made.values()) == [10, 80, 80, 80]
    processes = by_process(tmp_path)
    assert {pid: process["calls"] for pid, process in processes.items()} == made
    parent = next(pid for pid, count in made.items() if count == 10)
    assert {pid: process["forked_from"] for pid, process in processes.items()} == {
        pid: None if pid == parent else parent for pid in made}
    if level == "calls":
        calls_of(*recordings_in(tmp_path))
    if name == "%p.fp32rec":
        assert {path.stem for path in recordings_in(tmp_path)} == {str(pid) for pid in made}
    else:
        assert len(report(tmp_path / "run.fp32rec")["rows"]) == 1


@pytest.mark.parametrize("level", ["summary", "calls"])
def test_children_of_children_have_their_own(tmp_path, level):
    result = record("products:10", "nested-forks:4", "products:10", log=tmp_path / "run.fp32rec", level=level)
    assert (result.returncode, said(result)) == (ALL_DONE, [])
    processes = by_process(tmp_path)
    assert sorted(process["calls"] for process in processes.values()) == [3, 3, 3, 3, 20]
    # Each process names its parent.
    ancestors = [process["forked_from"] for process in processes.values()]
    assert len(set(ancestors)) == 5 and set(ancestors) - {None} < set(processes)


@pytest.mark.parametrize("level", ["summary", "calls"])
def test_a_child_that_has_its_parents_process_id_has_its_own(tmp_path, level):
    """In PID namespaces, all three children have the id 1. Elsewhere, an id is used again after its process has ended."""
    steps = ["products:10", "first-forks:3"]
    plain = shim.run("steps", *steps, preload=False, blas=None, check=False)
    shim.need(plain.returncode == ALL_DONE, "no PID namespaces can be made here")
    result = record(*steps, log=tmp_path / "run.fp32rec", level=level)
    assert (result.returncode, result.stdout, said(result)) == (ALL_DONE, plain.stdout, [])
    assert sorted(read(path)["calls"] for path in recordings_in(tmp_path)) == [3, 3, 3, 10]
    if level == "calls":
        calls_of(*recordings_in(tmp_path))


def test_children_that_are_forked_before_the_first_product_begin_for_themselves(tmp_path):
    record("forks:3", "products:10", log=tmp_path / "run.fp32rec")
    processes = by_process(tmp_path)
    assert sorted(process["calls"] for process in processes.values()) == [3, 3, 3, 10]
    assert {process["forked_from"] for process in processes.values()} == {None}


@pytest.mark.parametrize("level", ["summary", "calls"])
def test_a_fork_while_another_thread_is_inside_a_product_harms_neither(tmp_path, level):
    result = record("busy-forks:20", log=tmp_path / "run.fp32rec", level=level, timeout=600)
    assert (result.returncode, said(result)) == (ALL_DONE, [])
    words = result.stdout.split()
    assert words[:2] == ["forks", "20"]
    processes = by_process(tmp_path)
    assert sorted(process["calls"] for process in processes.values()) == sorted([3] * 20 + [int(words[3])])
    for path in recordings_in(tmp_path):
        content = read(path)
        assert content["problems"] == content["unknown_rows"] == content["dropped_events"] == 0
        assert content["events"] == (content["calls"] if level == "calls" else 0)


def test_a_fork_while_another_thread_loads_libraries_harms_neither(tmp_path):
    """In the child, the loader's locks are in the state in which the other thread had them."""
    library = shim.client("libfake_a.so")
    result = record("products:1", f"loading:{library}", "forks:200", "stop-loading", log=tmp_path / "run.fp32rec",
                    timeout=600)
    assert (result.returncode, said(result)) == (ALL_DONE, [])
    assert result.stdout.splitlines()[1] == "forks 200", shim.explain(result)
    assert sorted(calls_of(*recordings_in(tmp_path))) == [1] + [3] * 200


@pytest.mark.parametrize("way", ["spawn", "exec"])
@pytest.mark.parametrize("name", ["run.fp32rec", "%p.fp32rec"])
def test_another_program_has_its_own_also_in_the_same_process(tmp_path, way, name):
    result = record("products:10", way, "products:20", "forks:1", log=tmp_path / name)
    assert (result.returncode, said(result)) == (ALL_DONE, [])
    files = recordings_in(tmp_path)
    assert sorted(calls_of(*files)) == [3, 10, 20]
    processes = report(*files)["processes"]
    assert len({process["pid"] for process in processes}) == (2 if way == "exec" else 3)
    assert sorted(process["forked_from"] is None for process in processes) == [False, True, True]
    if name == "%p.fp32rec" and way == "exec":
        pid = next(process["pid"] for process in processes if process["calls"] == 10)
        assert {path.name for path in files} >= {f"{pid}.fp32rec", f"{pid}.1.fp32rec"}
