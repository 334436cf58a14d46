"""Beside other libraries that are preloaded, and in programs that sanitizers instrument, everything is as without the
shim."""

import shutil

import pytest

from shim import LIBRARY, has_module, need, run, system_library, tool

PRELOADS = {
    "jemalloc": ("libjemalloc.so.2", "libjemalloc2"),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libgoogle-perftools-dev"),
    "libfaketime": ("faketime/libfaketimeMT.so.1", "libfaketime"),
    "heaptrack": ("heaptrack/libheaptrack_preload.so", "libheaptrack"),
    "fakeroot": ("libfakeroot/libfakeroot-sysv.so", "libfakeroot"),
}
EMULATED = {"precision": "high", "cpu": "emulate"}


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("neighbour", PRELOADS)
def test_programs_run_beside_another_preloaded_library(neighbour, order, tmp_path):
    library = system_library(*PRELOADS[neighbour])
    beside = {f"preload_{order}": [library], "cwd": tmp_path,
              "env": {"FAKETIME": "@2020-01-01 00:00:00", "DUMP_HEAPTRACK_OUTPUT": str(tmp_path / "heaptrack.%p")}}
    plain = run("hammer", 4, 5, blas="reference", preload=False, **beside)
    shimmed = run("hammer", 4, 5, blas="reference", **EMULATED, **beside)
    assert shimmed.stdout == plain.stdout
    assert len(shimmed.decisions) == 4 * 5 * 64

    rounded = run("cblas_product", "tf32", blas="openblas", preload=False, **beside)
    emulated = run("cblas_product", blas="openblas", **EMULATED, **beside)
    assert emulated.stdout == rounded.stdout

    need(has_module("numpy"), "the system's Python has no numpy")
    plain = run("numpy_products.py", blas="openblas", preload=False, **beside)
    shimmed = run("numpy_products.py", blas="openblas", precision="highest", **beside)
    assert shimmed.stdout == plain.stdout
    assert len(shimmed.decisions) == 3


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("settings", [EMULATED, {}], ids=["emulated", "as called"])
def test_a_second_copy_of_the_library_changes_nothing_and_counts_nothing_twice(tmp_path, order, settings):
    """Two packages may be installed, and both may be named in LD_PRELOAD."""
    other = shutil.copy(LIBRARY, tmp_path / "libfp32shim.so.other")
    alone = run("hammer", 4, 5, blas="reference", **settings)
    both = run("hammer", 4, 5, blas="reference", **settings, **{f"preload_{order}": [other]})
    assert (both.stdout, both.stderr) == (alone.stdout, alone.stderr)
    assert len(both.decisions) == 4 * 5 * 64
    assert {(d["caller"], d["provider"]) for d in both.decisions} == {(d["caller"], d["provider"]) for d in alone.decisions}


def test_two_neighbours_at_once():
    beside = {"preload_before": [system_library(*PRELOADS["jemalloc"])],
              "preload_after": [system_library(*PRELOADS["fakeroot"])]}
    assert len(run("hammer", 4, 5, blas="reference", **beside).decisions) == 4 * 5 * 64


@pytest.mark.parametrize("command", [["heaptrack"], ["fakeroot", "--"], ["faketime", "2020-01-01"]],
                         ids=lambda words: words[0])
def test_the_wrapper_commands_of_neighbours_work(command, tmp_path):
    prefix = [tool(command[0]), *command[1:]]
    plain = run("cblas_product", blas="reference", preload=False, prefix=prefix, cwd=tmp_path)
    shimmed = run("cblas_product", blas="reference", prefix=prefix, cwd=tmp_path)
    products = [line for line in shimmed.stdout.splitlines() if line.startswith("c ")]
    assert products == [line for line in plain.stdout.splitlines() if line.startswith("c ")]
    assert [d["function"] for d in shimmed.decisions] == ["cblas_sgemm"]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("sanitizer", ["address", "thread", "undefined"])
def test_sanitized_programs_run_as_without_the_shim(compiler, sanitizer):
    program = f"hammer_{compiler}_{sanitizer}"
    # ASan must be the first library of a process, and requires this option if another is preloaded.
    env = {"ASAN_OPTIONS": "verify_asan_link_order=0", "TSAN_OPTIONS": "", "UBSAN_OPTIONS": ""}
    plain = run(program, 4, 5, blas="reference", preload=False, env=env)
    for settings in ({"log": False}, {**EMULATED}, {**EMULATED, "log": False}):
        shimmed = run(program, 4, 5, blas="reference", env=env, **settings)
        assert shimmed.stdout == plain.stdout
        assert shimmed.stderr == plain.stderr
        if "log" not in settings:
            assert len(shimmed.decisions) == 4 * 5 * 64


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("sanitizer", ["address", "thread", "undefined"])
@pytest.mark.parametrize("settings", [
    {**EMULATED, "FP32_MATMUL_AUDIT": "1,fingerprint,nonfinite"}, {"cpu": "reproducible"}, {"precision": "medium", "cpu": "accelerate"},
    {"level": "calls"}], ids=["audit", "reproducible", "accelerate", "calls"])
def test_no_mode_makes_a_sanitizer_report_what_it_cannot_see(compiler, sanitizer, settings, tmp_path):
    env = {"ASAN_OPTIONS": "verify_asan_link_order=0", "TSAN_OPTIONS": "", "UBSAN_OPTIONS": ""}
    variables = {name: value for name, value in settings.items() if name.startswith("FP32")}
    if "level" in settings:
        variables["FP32_MATMUL_LOG_LEVEL"] = settings["level"]
    words = {name: value for name, value in settings.items() if name in ("precision", "cpu")}
    # With this many threads, some end while others begin, and these continue the slots of those in the recording.
    threads, rounds = 100, 5
    shimmed = run(f"hammer_{compiler}_{sanitizer}", threads, rounds, blas="reference", env={**env, **variables}, log=tmp_path / "run.fp32rec",
                  **{"precision": "native", **words})
    assert "Sanitizer" not in shimmed.stderr and "runtime error" not in shimmed.stderr
    assert shimmed.stdout.startswith(f"{threads * rounds * 64} products")
