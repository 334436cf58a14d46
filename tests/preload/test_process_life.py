"""Products at any time of a process's life, in any thread, and left by any way."""

import subprocess

import pytest

from shim import (LIBRARY, SYSTEM_PYTHON, client, environment, has_module, need, read_log, run,
                  run_both)

POLICY = """
schema = 1
default = "high"
[cpu]
mode = "emulate"
[[rule]]
name = "small ones stay exact"
precision = "highest"
when = { max_dim = "<=1" }
"""


@pytest.mark.parametrize("program", ["life", "life_thread_first"])
def test_products_before_main_and_after_it_are_made_and_counted(program):
    _, shimmed = run_both(program, blas=None, policy=POLICY, precision=None)
    assert len(shimmed.stdout.splitlines()) == 10
    assert [d["rule"] for d in shimmed.decisions] == ["small ones stay exact"] * 10
    assert {d["provider"] for d in shimmed.decisions} == {"libfake_a.so"}


def test_settings_hold_for_products_before_the_c_library_knows_the_environment():
    _, shimmed = run_both("before_libraries", blas=None, policy=POLICY, precision=None)
    assert [d["rule"] for d in shimmed.decisions] == ["small ones stay exact"] * 2


@pytest.mark.parametrize("way, provider", [("direct", "libfake_a.so"), ("lookup", "libfake_b.so")])
@pytest.mark.parametrize("stack", ["16384", "20480", "65536"])
def test_the_first_product_may_come_from_the_smallest_of_threads(way, provider, stack):
    library = client("libfake_b.so")
    unshimmed = run("small_stack", library, way, stack, blas=None, preload=False)
    need("pthread_create" not in unshimmed.stdout, f"this system has no threads of {stack} bytes")
    shimmed = run("small_stack", library, way, stack, blas=None, policy=POLICY)
    assert shimmed.stdout == unshimmed.stdout
    assert [d["provider"] for d in shimmed.decisions] == [provider]


def test_a_log_on_stderr_needs_no_more_stack():
    shimmed = run("small_stack", client("libfake_b.so"), "direct", "16384", blas=None, policy=POLICY, log="stderr")
    assert shimmed.stdout == "1006\n"
    assert "sgemm_" in shimmed.stderr


@pytest.mark.parametrize("log", [True, False])
def test_a_process_may_fork_while_another_thread_multiplies(log):
    shimmed = run("forks", "busy", blas=None, policy=POLICY, log=log, timeout=600)
    assert shimmed.stdout == "50 good children\n"
    if log:
        # The parent and each child have a log. A child that was forked before the parent's first product begins its
        # own.
        processes = {decision["pid"] for decision in shimmed.decisions}
        assert len(processes) == 51
        assert sorted(start["pid"] for start in shimmed.starts) == sorted(processes)
        assert len({start["forked_from"] for start in shimmed.starts} - {None}) == 1


def test_a_process_may_fork_in_the_middle_of_a_product():
    shimmed = run("forks", "inside", blas=None, policy=POLICY)
    assert shimmed.stdout == "parent 1 1, child 1\n"
    per_process = [d["pid"] for d in shimmed.decisions]
    assert sorted(per_process.count(pid) for pid in set(per_process)) == [2, 2]


def test_children_get_files_of_their_own_where_the_name_asks_for_it(tmp_path):
    result = run("forks", "busy", blas=None, log=tmp_path / "%p.jsonl")
    assert result.stdout == "50 good children\n"
    files = list(tmp_path.glob("*.jsonl"))
    assert len(files) == 51
    for file in files:
        assert {str(event["pid"]) for event in read_log(file)} == {file.stem}


@pytest.mark.parametrize("settings", [{"precision": "native"}, {"precision": "high", "cpu": "emulate"}])
def test_bad_arguments_are_the_librarys_own_affair(settings, blas):
    run_both("leaves", "xerbla", blas=blas, **settings)
    run_both("leaves", "cblas", blas=blas, check=False, **settings)


@pytest.mark.parametrize("way", ["return", "throw", "jump"])
@pytest.mark.parametrize("settings", [{"precision": "native"}, {"precision": "high", "cpu": "emulate"}])
def test_an_xerbla_of_the_program_may_return_throw_or_jump_through_the_shim(way, settings, blas):
    _, shimmed = run_both("leaves_with_xerbla", way, blas=blas, **settings)
    assert shimmed.stdout.count("xerbla_ SGEMM 1") == 3
    assert shimmed.stdout.count("good: 6") == 3
    good = [d for d in shimmed.decisions if d["reason"] != "invalid_arguments"]
    bad = [d for d in shimmed.decisions if d["reason"] == "invalid_arguments"]
    assert len(good) == 3, "an exception or a jump must not leave the shim thinking that it is inside a product"
    assert len(bad) == (3 if way == "throw" else 6)


def test_a_process_that_ends_with__exit_has_logged_what_it_did(blas):
    _, shimmed = run_both("leaves", "exit", blas=blas, check=False)
    assert shimmed.returncode == 7
    assert len(shimmed.decisions) == 1


@pytest.mark.parametrize("log", [True, "stderr", False])
def test_errno_is_kept(log):
    _, shimmed = run_both("leaves", "errno", blas="reference", policy=POLICY, precision=None, log=log)
    assert [line.split()[1] for line in shimmed.stdout.splitlines()] == ["42", "43", "44"]


@pytest.mark.parametrize("log", [True, "stderr", False, "run.fp32rec"])
@pytest.mark.parametrize("settings", [
    {"precision": "native"}, {"precision": "high", "cpu": "emulate"}, {"policy": POLICY, "precision": None}, {"cpu": "reproducible"},
    {"precision": "medium", "cpu": "accelerate"},
    {"precision": "high", "cpu": "emulate", "env": {"FP32_MATMUL_AUDIT": "1,nonfinite,fingerprint", "FP32_MATMUL_WHERE": "auto"}},
    {"env": {"FP32_MATMUL_AUDIT": "nonfinite,fingerprint", "FP32_MATMUL_WHERE": "native:8"}}],
    ids=["native", "emulate", "policy", "reproducible", "accelerate", "audit", "fingerprint"])
def test_functions_that_the_shim_calls_by_itself_leave_errno_flags_and_rounding_as_they_were(log, settings, tmp_path):
    shimmed = run("kept_state", log=tmp_path / log if log == "run.fp32rec" else log, **{"precision": "native", **settings})
    lines = shimmed.stdout.splitlines()
    assert len(lines) == 20
    assert [line for line in lines if "errno 4242, flags 0, rounding 0, " not in line] == []


@pytest.mark.parametrize("log", [True, "stderr", False])
def test_a_signal_handler_may_multiply_while_the_program_multiplies(log):
    for _ in range(5):
        shimmed = run("leaves", "signal", blas="reference", precision="high", cpu="emulate", log=log, timeout=600)
        assert shimmed.stdout == "right\n"


def test_a_signal_handler_may_multiply_while_the_first_product_reads_the_settings():
    for _ in range(50):
        assert run("leaves", "first-signal", blas="reference", policy=POLICY).stdout == "right\n"


def test_nothing_is_written_to_descriptors_that_are_not_the_shims(tmp_path):
    data = tmp_path / "data"
    unshimmed = run("closed_descriptors", data, blas=None, preload=False)
    expected = data.read_text()
    data.unlink()
    shimmed = run("closed_descriptors", data, blas=None, precision="high", cpu="emulate")
    assert data.read_text() == expected
    assert unshimmed.stdout == shimmed.stdout == ""
    assert len(shimmed.decisions) == 5


def test_standard_descriptors_that_are_closed_from_the_start_do_no_harm(tmp_path):
    need(LIBRARY.exists(), f"{LIBRARY} was not built")
    log, data = tmp_path / "log.jsonl", tmp_path / "data"
    variables = environment(precision="high", cpu="emulate", log=log, preload=[LIBRARY])
    subprocess.run(["/bin/sh", "-c", f'exec "{client("closed_descriptors")}" "{data}" <&- >&- 2>&-'], env=variables,
                   check=True, timeout=600)
    assert data.read_text().splitlines()[-1] == "reused: 1006"
    assert len([event for event in read_log(log) if event["event"] == "decision"]) == 5


@pytest.mark.parametrize("settings", [{"precision": "high", "cpu": "emulate"}, {"policy": POLICY}])
def test_many_threads_at_many_call_sites_get_right_results_and_are_all_counted(settings):
    shimmed = run("hammer", 8, 20, blas="reference", **settings)
    assert shimmed.stdout == f"{8 * 20 * 64} products, 0 wrong\n"
    assert len(shimmed.decisions) == 8 * 20 * 64
    assert len({d["tid"] for d in shimmed.decisions}) == 8


def test_many_threads_without_a_log_get_right_results():
    assert run("hammer", 8, 500, blas="reference", log=False).stdout == f"{8 * 500 * 64} products, 0 wrong\n"


@pytest.mark.parametrize("settings", [{"log": False}, {"precision": "high", "cpu": "emulate", "log": False}, {}])
def test_libraries_may_come_and_go_while_others_multiply(settings):
    shimmed = run("unloads", client("libplugin_a.so"), client("libplugin_b.so"), 30 if not settings else 300,
                  blas=None, **settings)
    assert shimmed.stdout == "0 and 0 wrong\n"


def test_a_process_that_is_killed_has_logged_every_product_that_returned():
    need(has_module("numpy"), "the system's Python has no numpy")
    code = ("import os, numpy\n"
            "a = numpy.ones((9, 9), numpy.float32)\n"
            "for i in range(3): a @ a[:, ::-1].copy()\n"
            "os.kill(os.getpid(), 9)")
    result = run(SYSTEM_PYTHON, "-c", code, blas="reference", check=False)
    assert result.returncode == -9
    assert len(result.decisions) == 3


@pytest.mark.parametrize("way", [[], ["_exit"]])
def test_the_relocations_of_a_library_are_read_once_and_not_at_dlclose_or_at_the_end(way, tmp_path):
    result = run("reads_once", client("libmany_relocations.so"), *way, log=tmp_path / "log.fp32rec", blas=None)
    assert result.stdout == "1006 of 1\nrelocations hidden\n"
