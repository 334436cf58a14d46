"""What a process may have run into before its first product: no memory, a sandbox that answers with errors, and forks at
the worst moment. Each reproduces a fault that ended or stopped programs; FP32SHIM_TEST_REPEATS makes them longer."""

import os
import re

import pytest

import shim
from command import fp32shim
from recorded import read, record, recordings_in, report, said

REPEATS = int(os.environ.get("FP32SHIM_TEST_REPEATS", "30"))
LONG = 600 + REPEATS  # time limit in seconds
POLICY = """
schema = 1
default = "high"
[cpu]
mode = "emulate"
[[rule]]
name = "small ones stay exact"
precision = "highest"
when = { max_dim = "<=64" }
"""


def settings_of(kind, folder):
    return {"nothing": {"log": False},
            "disabled": {"log": False, "env": {"FP32_MATMUL_DISABLE": "1"}},
            "recording": {"log": folder / "%p.fp32rec"},
            "json": {"log": folder / "%p.jsonl"},
            "stderr": {"log": "stderr"},
            "policy": {"log": folder / "%p.fp32rec", "policy": POLICY}}[kind]


def ended_well(result):
    """Checks that all children ended well. Returns their number, from the client's last line."""
    good, made = re.fullmatch(r"(\d+) of (\d+) ended well", result.stdout.splitlines()[-1]).groups()
    print(good, "of", made, "ended well")
    assert good == made, shim.explain(result)
    return int(made)


@pytest.mark.parametrize("settings", ["nothing", "disabled", "recording", "json", "stderr", "policy"])
@pytest.mark.parametrize("way", ["malloc", "thread", "handler"])
def test_a_first_product_does_without_malloc(tmp_path, settings, way):
    result = shim.run("exhausted", way, blas=None, timeout=LONG, preload_after=[shim.client("libfailing_malloc.so")],
                      **settings_of(settings, tmp_path))
    assert ended_well(result) == 1
    assert not [line for line in said(result) if "No such file" in line]  # a missing policy counts as no policy


@pytest.mark.parametrize("settings", ["nothing", "disabled", "recording", "json", "policy"])
def test_a_first_product_is_made_where_neither_malloc_nor_the_kernel_has_memory(tmp_path, settings):
    result = shim.run("exhausted", "space", REPEATS, blas=None, timeout=LONG, **settings_of(settings, tmp_path))
    assert ended_well(result) == REPEATS


@pytest.mark.parametrize("first_failure", [1, 2, 3, 5])
def test_a_process_may_have_no_memory_from_its_start(tmp_path, first_failure):
    keywords = {"blas": None, "check": False, "preload_after": [shim.client("libfailing_malloc.so")],
                "env": {"FAIL_FROM": str(first_failure)}}
    plain = shim.run("exhausted", "once", preload=False, **keywords)
    result = shim.run("exhausted", "once", policy=POLICY, log=tmp_path / "run.jsonl", **keywords)
    assert (result.returncode, result.stdout) == (plain.returncode, plain.stdout) == (3, ""), shim.explain(result)


def test_settings_are_left_unread_in_one_line_where_memory_does_not_last_for_them(tmp_path):
    rules = "".join(f'[[rule]]\nname = "rule {i}"\nprecision = "highest"\nwhen = {{ caller = "lib{i}*" }}\n'
                    for i in range(400))
    result = shim.run("exhausted", "space", 30, 256, blas=None, timeout=LONG, log=False, policy=POLICY + rules)
    assert set(said(result)) == {
        "fp32shim: the settings could not be read: out of memory; the program runs as if fp32shim were not loaded"}
    assert 0 < len(said(result)) < ended_well(result)


@pytest.mark.parametrize("settings", ["nothing", "disabled", "recording", "json", "stderr", "policy", "ranges"])
def test_a_full_address_space_changes_no_product_at_new_places(tmp_path, settings):
    ranges = {"log": tmp_path / "r.fp32rec", "env": {"FP32_MATMUL_WHERE": "nvtx"}}
    keywords = ranges if settings == "ranges" else settings_of(settings, tmp_path)
    result = shim.run("full_address_space", "none", blas=None, **keywords)
    assert result.stdout == "8194 products were right\n", shim.explain(result)
    lines = [line for line in said(result) if "no memory is left for new call sites and names" in line]
    assert len(lines) == 1, shim.explain(result)
    assert f"{5000 if settings == 'ranges' else 0} strings" in result.stderr
    for recording in recordings_in(tmp_path):
        assert read(recording)["calls"] == 8194, "each product is counted once"


@pytest.mark.parametrize("settings", ["nothing", "recording", "json", "policy"])
def test_a_sandbox_may_answer_any_system_call_with_an_error(tmp_path, settings):
    result = shim.run("refused_calls", max(1, REPEATS // 30), blas=None, timeout=LONG * 6,
                      **settings_of(settings, tmp_path))
    print(settings, result.stdout.splitlines()[-1])
    assert re.fullmatch(r"0 of \d{3,} ended badly\n", result.stdout), shim.explain(result)


def test_a_recording_without_a_clock_says_so_once(tmp_path):
    result = shim.run("refused_calls", "once", "clock_gettime", blas=None, log=tmp_path / "run.fp32rec")
    assert [line for line in said(result) if "clock cannot be read" in line] == said(result)
    assert len(said(result)) == 1
    assert read(tmp_path / "run.fp32rec")["calls"] == 80


@pytest.mark.parametrize("level", ["summary", "calls"])
def test_a_clock_that_jumps_by_hours_costs_no_call(tmp_path, level):
    """Each reading of the time of day is two hours before or after the last one."""
    log = tmp_path / "run.fp32rec"
    steps = ["jumping-clock", "products:10000", "threads:3", "sizes:100"]
    plain = shim.run("steps", *steps, preload=False, blas=None, check=False)
    shim.need("seccomp" not in plain.stderr, "no seccomp filters here")
    result = record(*steps, log=log, level=level)
    assert (result.returncode, result.stdout, said(result)) == (plain.returncode, plain.stdout, [])
    content = read(log)
    assert (content["calls"], content["problems"]) == (10_103, 0)
    assert content["events"] == (10_103 if level == "calls" else 0)
    assert 0 < report(log)["totals"]["host_ns"] < 60e9, "calls are timed by another clock"


@pytest.mark.parametrize("settings", ["nothing", "recording", "json"])
@pytest.mark.parametrize("way", ["first", "busy"])
def test_a_child_with_its_parents_process_id_waits_for_no_thread_of_its_parent(tmp_path, settings, way):
    result = shim.run("same_pid", REPEATS, way, shim.client("libfake_a.so"), blas=None, check=False,
                      timeout=LONG, **settings_of(settings, tmp_path))
    shim.need(result.returncode != 9, "no PID namespaces can be made here")
    assert result.stdout == f"0 of {REPEATS} ended badly\n", shim.explain(result)


def test_a_child_that_shares_the_memory_is_not_taken_for_another_process(tmp_path):
    result = record(REPEATS, "vfork", log=tmp_path / "run.fp32rec", program="same_pid", timeout=LONG)
    assert (result.stdout, said(result)) == (f"0 of {REPEATS} ended badly\n", []), shim.explain(result)
    assert len(recordings_in(tmp_path)) == 1


def test_a_fork_while_another_thread_is_in_dlclose_harms_no_child_and_is_known(tmp_path):
    result = record(REPEATS, shim.client("liblarge_library.so"), log=tmp_path / "run.fp32rec",
                    program="forks_in_dlclose", timeout=LONG)
    shim.need(result.returncode != 9, "no system call can be trapped here")
    assert ended_well(result) == REPEATS
    # The parent has recorded every call. In the children's list of libraries, one has no name.
    parent, *children = sorted(recordings_in(tmp_path), key=lambda path: read(path)["calls"])
    assert len(children) == REPEATS
    for path in children[-2:]:
        verdict = fp32shim("verify", "--at-least", "fp32", path)
        assert verdict.returncode == 3 and "forked while another thread unloaded one" in verdict.stdout
    # The verdict on the parent includes its children's recordings.
    verdict = fp32shim("verify", "--at-least", "fp32", "--format", "json", parent)
    lacking, = [bypass for bypass in verdict.json["bypasses"] if "forked while" in bypass["reason"]]
    assert str(children[-1]) in lacking["recordings"] and str(parent) not in lacking["recordings"]
