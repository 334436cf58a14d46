"""Threads that come and go, that are small, that are interrupted: each call is counted once. FP32SHIM_TEST_REPEATS makes some
of this longer."""

import os
import re

import pytest

import shim
from recorded import ALL_DONE, read, record, record_beside_plain, said

REPEATS = int(os.environ.get("FP32SHIM_TEST_REPEATS", "30"))
LONG = 600 + REPEATS  # time limit in seconds


def test_a_thousand_short_threads_use_a_few_slots_again(tmp_path):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain("products:1", "threads:1000", log=log)
    assert said(result) == []
    content = read(log)
    assert (content["calls"], content["events"], content["problems"]) == (1001, 1001, 0)
    assert content["slots"] == 2, "one of the main thread, one of all the others"
    assert log.stat().st_size <= (5 + 2 * 2) * 65536
    assert len(content["threads"]) >= 1000, "every event still says which thread it was"


def test_short_threads_are_told_apart_where_events_fill_many_segments(tmp_path):
    log = tmp_path / "run.fp32rec"
    record("threads:5000", log=log)
    content = read(log)
    assert (content["calls"], content["events"], content["problems"], content["slots"]) == (5000, 5000, 0, 1)
    assert len(content["threads"]) > 4900, "the kernel may give an id again, but not often"


@pytest.mark.parametrize("program", ["life", "life_thread_first"])
def test_products_before_main_and_after_it_are_recorded(tmp_path, program):
    log = tmp_path / "run.fp32rec"
    result = record(program=program, log=log, check=True)
    assert said(result) == []
    content = read(log)
    assert (content["calls"], content["events"], content["problems"]) == (10, 10, 0)


def test_libraries_may_come_and_go_while_new_decisions_are_recorded(tmp_path):
    """Each new decision looks at the loaded libraries."""
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain(f"loading:{shim.client('libfake_a.so')}", "sizes:3000", "stop-loading", log=log)
    assert said(result) == []
    content = read(log)
    assert (content["calls"], content["events"], content["problems"]) == (3000, 3000, 0)


@pytest.mark.parametrize("level", ["summary", "calls"])
def test_a_thread_with_the_smallest_stack_is_counted(tmp_path, level):
    log = tmp_path / "run.fp32rec"
    result = record_beside_plain("small-thread:1", "products:5", "small-thread:20000", log=log, level=level)
    assert said(result) == []
    content = read(log)
    assert (content["calls"], content["problems"]) == (20_006, 0)
    assert content["events"] == (content["calls"] if level == "calls" else 0)


@pytest.mark.parametrize("level", ["summary", "calls"])
def test_a_signal_handler_that_multiplies_is_counted_once_and_disturbs_nothing(tmp_path, level):
    log = tmp_path / "run.fp32rec"
    result = record("handler:300000:10", log=log, level=level)
    assert said(result) == []
    made, handled = map(int, result.stdout.split()[1:])
    assert made >= 300_000 and handled >= 10
    content = read(log)
    assert (content["calls"], content["problems"]) == (made + handled, 0)
    assert content["events"] == (content["calls"] if level == "calls" else 0)


@pytest.mark.parametrize("log", ["run.fp32rec", "run.jsonl"])
def test_a_signal_handler_may_multiply_the_moment_its_thread_begins_to_read_the_settings(tmp_path, log):
    """A seccomp filter turns a system call that is made at this moment into a signal."""
    steps = ["trap-gettid", "products:3"]
    plain = shim.run("steps", *steps, preload=False, blas=None, check=False)
    shim.need("seccomp" not in plain.stderr, "no seccomp filters here")
    result = record(*steps, log=tmp_path / log, timeout=600)
    assert (result.returncode, result.stdout, said(result)) == (ALL_DONE, plain.stdout, [])


@pytest.mark.parametrize("level", ["summary", "calls"])
def test_a_thread_that_is_to_be_cancelled_ends_behind_its_product(tmp_path, level):
    """This includes the thread's first product, which reads the settings from files, where a thread can be cancelled."""
    log, policy = tmp_path / "run.fp32rec", tmp_path / "policy.toml"
    policy.write_text("schema = 1\n")
    result = record("cancelled-threads:20", "products:3", log=log, level=level, timeout=600,
                    env={"FP32_MATMUL_POLICY": str(policy)})
    assert (result.returncode, said(result)) == (ALL_DONE, [])
    assert read(log)["calls"] == 23


def test_a_signal_handler_may_make_the_first_product_while_another_is_the_first(tmp_path):
    """The signal comes while the interrupted product reads the settings, on a separate stack."""
    log = tmp_path / "run.fp32rec"
    for _ in range(5):
        result = record("handler:200", log=log)
        made, handled = map(int, result.stdout.split()[1:])
        content = read(log)
        log.unlink()
        assert made <= content["calls"] <= made + handled


@pytest.mark.parametrize("level", ["summary", "calls"])
def test_a_signal_handler_may_leave_a_product_by_siglongjmp(tmp_path, level):
    """The abandoned call may be counted or not. Every other call is counted once."""
    left = max(20, REPEATS)
    log = tmp_path / "run.fp32rec"
    result = record(f"jumps:{left}", "products:100", log=log, level=level, timeout=LONG)
    assert (result.returncode, said(result)) == (ALL_DONE, []), shim.explain(result)
    made = int(result.stdout.splitlines()[1].split()[0]) + 100
    content = read(log)
    assert content["problems"] == 0
    print(f"{level}: {left} jumps out of {made} products; {content['calls'] - made:+} calls, {content['events']} events")
    assert abs(content["calls"] - made) <= left
    if level == "calls":
        assert abs(content["events"] - made) <= left and content["dropped_events"] == 0


DEPTHS = 40  # the program calls products from that many depths of its stack
MAPPINGS_OF_SLOT = 5  # counters, ring, the writer, its keys and its table of rows

LEFT = [
    ("summary", "run.fp32rec", {}, []),
    ("calls", "run.fp32rec", {}, []),
    ("calls", "run.fp32rec", {}, ["alternate"]),
    ("summary", "run.fp32rec", {"FP32_MATMUL_WHERE": "native:8"}, []),
    ("calls", "run.fp32rec", {"FP32_MATMUL_WHERE": "native:8"}, ["alternate"]),
    ("summary", "run.fp32rec", {"FP32_MATMUL_POLICY": "policy.toml"}, []),
    ("calls", "run.jsonl", {}, []),
    ("summary", None, {}, []),
]


@pytest.mark.parametrize("level, log, settings, options", LEFT)
def test_ten_thousand_jumps_out_of_products_leave_nothing_behind(tmp_path, level, log, settings, options):
    """No signal stays blocked, no memory is lost, and no slot becomes unusable. After a jump, calls deeper in the stack take
    another slot, so chance decides how many slots there are, up to one for each of the program's depths."""
    (tmp_path / "policy.toml").write_text('schema = 1\n[[rule]]\nname = "small"\nprecision = "medium"\n'
                                          'when = { max_dim = "<=3" }\n')
    jumps = 10_000
    result = record(str(jumps), *options, program="left_products", log=log and tmp_path / log, level=level,
                    cwd=tmp_path, env={"FP32_MATMUL_LOG_LEVEL": level, **settings}, timeout=LONG + 240)
    assert (result.returncode, said(result)) == (0, []), shim.explain(result)
    made, left, changed_masks, more_mappings = map(int, re.findall(r"-?\d+", result.stdout))
    assert (left, changed_masks) == (jumps, 0)
    if log != "run.fp32rec":
        assert more_mappings <= 16
        return
    content = read(tmp_path / log)
    assert more_mappings <= 16 + MAPPINGS_OF_SLOT * (content["slots"] - 1)
    print(f"{made} made, {content['calls'] - made:+}; {content['slots']} slots, {more_mappings} more mappings")
    assert content["problems"] == 0 and content["slots"] <= DEPTHS + 1
    # A jump may leave a product before or after the recording counted it, and before or after the program did.
    assert abs(content["calls"] - made) <= jumps


@pytest.mark.parametrize("log", ["stderr", "run.jsonl"])
def test_a_decision_whose_first_call_was_left_is_shown_all_the_same(tmp_path, log):
    """The first call takes longest, so a jump out of it is likely. If its decision is not written by then, a later call must
    write it. The program's last product completes, so the decision is shown once, however slow the machine is."""
    for _ in range(10):
        result = record("20", program="left_products", log=None, cwd=tmp_path,
                        env={"FP32_MATMUL_LOG": log, "FP32_MATMUL_LOG_LEVEL": "summary"})
        lines = said(result) if log == "stderr" else (tmp_path / log).read_text().splitlines()
        assert len([line for line in lines if "sgemm_" in line]) == 1, lines
        (tmp_path / "run.jsonl").unlink(missing_ok=True)


@pytest.mark.parametrize("log", ["run.fp32rec", "run.jsonl"])
def test_a_process_may_exit_while_its_threads_multiply(tmp_path, log):
    for _ in range(max(5, REPEATS // 6)):
        result = record("products:5", "exit-beside:4", log=tmp_path / log)
        assert (result.returncode, said(result)) == (ALL_DONE, []), shim.explain(result)
        if log.endswith(".fp32rec"):
            content = read(tmp_path / log)
            assert content["problems"] == 0 and content["calls"] >= 5
        (tmp_path / log).unlink()
