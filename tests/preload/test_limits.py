"""Each mode under each limit that a program may set or meet: the same results, status and errno as without the limit, and as
a program that no library governs. The modes and the limits are one table each; a pair that is left out says why."""

import functools

import pytest

from shim import explain, need, run

EMULATED = {"cpu": "emulate", "precision": "medium"}
FLOAT64 = 'schema = 1\n[cpu]\nmode = "emulate"\n[[rule]]\nname = "wide"\nwhen = {{ dtype = ["float64"] }}\nprecision = "{}"\n'


def recorded(**variables):
    return {"log": "run.fp32rec", "env": variables}


# The settings of each mode. `own` modes compute products in the shim, not in the library.
MODES = {
    "nothing set": {},
    "recorded": recorded(),
    "every call recorded": recorded(FP32_MATMUL_LOG_LEVEL="calls"),
    "pinned": {"precision": "highest", **recorded()},
    "TF32": {"cpu": "emulate", "precision": "high"},
    "BF16": EMULATED,
    "A100": {**EMULATED, "policy": 'schema = 1\n[cpu]\naccumulation = "a100"\n'},
    "Hopper": {**EMULATED, "policy": 'schema = 1\n[cpu]\naccumulation = "hopper"\n'},
    "accelerate": {"cpu": "accelerate", "precision": "medium"},
    "reproducible": {"cpu": "reproducible"},
    "reproducible, recorded": {"cpu": "reproducible", **recorded()},
    "audits": recorded(FP32_MATMUL_AUDIT="1"),
    "fingerprints": recorded(FP32_MATMUL_AUDIT="fingerprint"),
    "float64 in fixed point": {"policy": FLOAT64.format("fixed:30")},
    "float64 in float32": {"policy": FLOAT64.format("sgemm")},
}
OWN = {"reproducible", "reproducible, recorded"}
MAPS_MEMORY = "maps memory for each call"
NO_COUNTER = "strict seccomp forbids the processor's counter, and the shim does not see a system call of the program's own"
LEFT_OUT = {
    ("recorded", "strict_unseen"): NO_COUNTER, ("every call recorded", "strict_unseen"): NO_COUNTER,
    ("pinned", "strict_unseen"): NO_COUNTER, ("reproducible, recorded", "strict_unseen"): NO_COUNTER,
    ("audits", "strict_unseen"): NO_COUNTER, ("fingerprints", "strict_unseen"): NO_COUNTER,
    ("audits", "kill_for_memory"): MAPS_MEMORY, ("float64 in float32", "kill_for_memory"): MAPS_MEMORY,
    ("float64 in float32", "refuse_memory"): MAPS_MEMORY, ("float64 in float32", "no_address_space"): MAPS_MEMORY,
    ("float64 in float32", "strict_unseen"): MAPS_MEMORY, ("float64 in float32", "no_data"): MAPS_MEMORY,
}


def results(mode, words, *, blas="reference", threads=1, program="limited_products", **keywords):
    """Runs the client under a mode, or without the shim if `mode` is None."""
    settings = dict(MODES[mode]) if mode else {"preload": False}
    variables = {"OPENBLAS_NUM_THREADS": str(threads), **settings.pop("env", {})}
    settings.setdefault("log", False)
    return run(program, *words, blas=blas, env=variables, check=False, **settings, **keywords)


@functools.cache
def unlimited(mode, blas, threads, program, words):
    found = results(mode, words, blas=blas, threads=threads, program=program)
    assert found.returncode == 3 and not found.stderr, explain(found)
    return found


def check(mode, limit, *, blas="reference", threads=1, program="limited_products", size=None, native_blas=None):
    """`size`: that of large products, by which the limit ends."""
    need((mode, limit) not in LEFT_OUT, LEFT_OUT.get((mode, limit), ""))
    here = {"blas": blas, "threads": threads, "program": program}
    large = [] if size is None else [size]
    native = results(None, [limit, *large], **{**here, "blas": native_blas or blas})
    need(native.returncode == 3, f"without the library, the program ends with {native.returncode} here")
    expected = unlimited(mode, blas, threads, program, ("none",) if size is None else ("large", size))
    found = results(mode, [limit, *large], **here)
    assert (found.returncode, found.stdout.split()[1:]) == (3, expected.stdout.split()[1:]), explain(found)
    assert found.stdout.split()[2] == native.stdout.split()[2] == "77", "errno"


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_works_in_a_thread_with_the_smallest_stack(mode):
    check(mode, "small_stack")


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_works_where_nearly_all_of_a_stack_is_thread_local_storage(mode):
    check(mode, "small_stack", program="limited_products_tls")


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_works_on_a_signal_stack_of_16_kib(mode):
    check(mode, "signal_stack")


@pytest.mark.parametrize("limit", ["kill_for_memory", "refuse_memory"])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_goes_on_behind_a_filter_of_calls_that_map_memory(mode, limit):
    check(mode, limit, blas="openblas")


@pytest.mark.parametrize("limit", ["kill_for_threads", "refuse_threads", "no_threads"])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_goes_on_where_no_thread_may_be_started(mode, limit):
    check(mode, limit, blas="openblas", threads=2, size=430 if mode in OWN else 90)


@pytest.mark.parametrize("limit", ["strict", "strict_unseen"])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_goes_on_in_strict_seccomp(mode, limit):
    if limit == "strict" and mode in ("TF32", "BF16", "float64 in fixed point", "float64 in float32"):
        # These previews end, as the message says, and their library goes on.
        mode_after, native = results(mode, [limit], blas="openblas"), results(None, [limit], blas="openblas")
        need(native.returncode == 3, f"without the library, the program ends with {native.returncode} here")
        assert (mode_after.returncode, mode_after.stdout.split()[1:]) == (3, native.stdout.split()[1:])
        assert "run as if fp32shim were not loaded" in mode_after.stderr
    else:
        check(mode, limit, blas="openblas")


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_works_where_neither_address_space_nor_data_may_grow(mode):
    for limit in ("no_address_space", "no_data"):
        check(mode, limit, blas="openblas")


@pytest.mark.parametrize("mode", MODES)
def test_jumps_out_of_products_leave_nothing_behind_in_any_mode(mode):
    check(mode, "jump")


def check_large(mode, limit):
    """Products large enough for two threads in the modes that start some. OpenBLAS's own threads do not survive this, so
    other modes have a library without threads, and smaller products."""
    is_own = mode in OWN
    check(mode, limit, blas="openblas" if is_own else "reference", threads=2, size=430 if is_own else 90, native_blas="reference")


@pytest.mark.parametrize("mode", MODES)
def test_jumps_out_of_large_products_leave_neither_threads_nor_memory_behind(mode):
    check_large(mode, "jump_large")


@pytest.mark.parametrize("mode", MODES)
def test_a_thread_that_multiplies_may_be_cancelled_in_any_mode(mode):
    check_large(mode, "cancel")


@pytest.mark.parametrize("limit", ["fork", "fork_inside"])
@pytest.mark.parametrize("mode", MODES)
def test_a_process_may_fork_beside_and_inside_products_in_any_mode(mode, limit):
    check_large(mode, limit)


@pytest.mark.parametrize("mode", ["A100", "accelerate", *sorted(OWN)])
def test_a_mode_whose_library_was_never_called_does_not_call_it_in_strict_seccomp(mode):
    """In strict seccomp, the memory that the library allocates at its first call would kill the program."""
    found = results(mode, ["strict", 90, "first"], blas="openblas")
    need(results(None, ["strict", 90, "first"], blas="openblas").returncode == 3, "this system has no strict seccomp")
    assert found.returncode == 3, explain(found)
    expected = unlimited(mode, "openblas", 1, "limited_products", ("none", 90, "first"))
    assert found.stdout == expected.stdout
