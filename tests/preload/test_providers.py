"""Each call reaches the library that it would have reached without the shim.

The libraries are fake_blas.c's: their results name them (6 plus 1000 for `a`, 2000 for `b`, 3000 for `c`).
"""

import pytest

from shim import LP64_BLAS, SYSTEM_PYTHON, blas_library, client, run, run_both


def library(name):
    return client(f"lib{name}.so")


def load(*words, **keywords):
    """Runs the client loader.c, for example load("local=plugin_a", "run=plugin_a")."""
    script = [f"{verb}={library(name)}" for verb, name in (word.split("=") for word in words)]
    return run_both("loader", *script, blas=None, **keywords)


def providers(result):
    return [provider for _, _, provider in result.seen()]


def test_two_libraries_opened_locally_each_serve_their_own_caller():
    _, shimmed = load("local=plugin_a", "local=plugin_b", "run=plugin_a", "run=plugin_b", "run=plugin_a")
    assert shimmed.stdout == "a: 1006\nb: 2006\na: 1006\n"
    assert shimmed.seen() == [("sgemm_", "libplugin_a.so", "libfake_a.so"),
                              ("sgemm_", "libplugin_b.so", "libfake_b.so"),
                              ("sgemm_", "libplugin_a.so", "libfake_a.so")]


def test_the_global_scope_comes_before_the_callers_own_libraries():
    _, shimmed = load("global=fake_c", "local=plugin_a", "local=plugin_b", "run=plugin_a", "run=plugin_b")
    assert shimmed.stdout == "a: 3006\nb: 3006\n"
    assert providers(shimmed) == ["libfake_c.so"] * 2


def test_a_library_opened_globally_later_does_not_take_over_callers_that_were_bound_before():
    """`import numpy; import torch` opens torch's libraries globally between numpy's load and its first product."""
    _, shimmed = load("local=plugin_a", "run=plugin_a", "global=fake_c", "run=plugin_a")
    assert shimmed.stdout == "a: 1006\na: 1006\n"
    _, shimmed = load("local=plugin_a", "global=fake_c", "run=plugin_a")
    assert shimmed.stdout == "a: 1006\n"


def test_a_plugin_that_names_no_library_finds_the_global_one_among_others():
    _, shimmed = load("local=plugin_a", "run=plugin_a", "global=fake_b", "local=plugin_bare", "run=plugin_bare")
    assert shimmed.stdout == "a: 1006\nbare: 2006\n"
    assert shimmed.seen() == [("sgemm_", "libplugin_a.so", "libfake_a.so"),
                              ("sgemm_", "libplugin_bare.so", "libfake_b.so")]


def test_a_library_that_was_brought_in_by_another_is_served_from_that_ones_scope():
    # The search is breadth first: the root, plugin_a, fake_b, and then plugin_a's own fake_a.
    _, shimmed = load("local=plugin_root", "local=plugin_a", "run=plugin_root", "run=plugin_a")
    assert shimmed.stdout == "root: 2006\na: 2006\n"
    _, shimmed = load("local=plugin_a", "local=plugin_root", "run=plugin_root", "run=plugin_a")
    assert shimmed.stdout == "root: 2006\na: 1006\n"


def test_a_library_finds_what_only_its_dependencies_need():
    _, shimmed = load("local=plugin_b", "local=plugin_deep", "run=plugin_deep", "run=plugin_b")
    assert shimmed.stdout == "deep: 1006\nb: 2006\n"
    assert providers(shimmed) == ["libfake_a.so", "libfake_b.so"]


def test_a_library_that_defines_the_name_and_calls_it_through_its_plt_is_its_own_provider():
    _, shimmed = load("local=plugin_a", "local=plugin_defines", "run=plugin_defines", "run=plugin_a")
    assert shimmed.stdout == "defines: 5006\na: 1006\n"
    assert shimmed.seen()[0] == ("sgemm_", "libplugin_defines.so", "libplugin_defines.so")


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_the_version_that_the_callers_import_names_decides_between_two_libraries(order):
    words = [f"local=plugin_version_{number}" for number in order] + ["run=plugin_version_1", "run=plugin_version_2"]
    _, shimmed = load(*words)
    assert shimmed.stdout == "version 1: 1006\nversion 2: 2006\n"
    assert providers(shimmed) == ["libfake_version_1.so", "libfake_version_2.so"]


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_the_version_decides_in_the_global_scope_too(order):
    words = [f"global=fake_version_{number}" for number in order]
    words += ["local=plugin_version_1", "local=plugin_version_2", "run=plugin_version_1", "run=plugin_version_2"]
    _, shimmed = load(*words)
    assert shimmed.stdout == "version 1: 1006\nversion 2: 2006\n"


def test_the_version_decides_between_two_functions_of_one_library():
    _, shimmed = load("local=plugin_old", "local=plugin_new", "run=plugin_old", "run=plugin_new")
    assert shimmed.stdout == "old version: 1000\nnew version: 2000\n"
    assert len(shimmed.decisions) == 2


def test_dlvsym_finds_the_version_that_it_names():
    _, shimmed = run_both("versioned_lookup", library("fake_versions"), blas=None)
    assert shimmed.stdout == "version 1: 1000\nversion 2: 2000\ndefault: 2000\n"
    assert len(shimmed.decisions) == 3


def test_three_libraries_looked_up_by_dlsym_keep_three_pointers_and_three_results():
    libraries = [library("fake_a"), library("fake_b"), library("fake_c")]
    _, shimmed = run_both("lookups", *libraries, blas=None)
    assert [line for line in shimmed.stdout.splitlines() if line.startswith("handle")] == [
        "handle: 1006", "handle: 2006", "handle: 3006"]
    assert "same" not in [line.split()[-1] for line in shimmed.stdout.splitlines() if " and " in line and ":" in line]
    assert {"libfake_a.so", "libfake_b.so", "libfake_c.so", "libfake_plain.so"} == set(providers(shimmed))


def test_ctypes_on_three_real_libraries_keeps_three_pointers_and_three_results():
    libraries = [str(blas_library(name)) for name in LP64_BLAS]
    code = f"""
import ctypes
libraries = [ctypes.CDLL(path) for path in {libraries}]
functions = [library.cblas_sgemm for library in libraries]
addresses = {{ctypes.cast(function, ctypes.c_void_p).value for function in functions}}
print(len(addresses), "addresses")
n = 17
Floats = ctypes.c_float * (n * n)
a, b = Floats(*[(i * 37 % 101) / 7 for i in range(n * n)]), Floats(*[(i * 53 % 97) / 11 for i in range(n * n)])
for function in functions:
    c = Floats()
    function(101, 111, 111, n, n, n, ctypes.c_float(1), a, n, b, n, ctypes.c_float(0), c, n)
    print(bytes(c).hex())
"""
    _, shimmed = run_both(SYSTEM_PYTHON, "-c", code, blas=None)
    assert shimmed.stdout.startswith("3 addresses\n")
    assert len(shimmed.decisions) == 3
    # All three files have the same base name. The caller is libffi, or another library through which ctypes calls.
    assert {function for function, _, _ in shimmed.seen()} == {"cblas_sgemm"}
    assert set(providers(shimmed)) == {blas_library(name).name for name in LP64_BLAS}


def test_lookups_that_fail_say_so_and_dlerror_is_kept():
    _, shimmed = run_both("lookups", library("fake_a"), blas=None)
    assert "nobody's batch: not found" in shimmed.stdout
    assert f"nobody's batch: dlerror: {library('fake_a')}: undefined symbol" in shimmed.stdout
    assert "after a product: dlerror: (none)" not in shimmed.stdout


def test_a_blas_name_that_no_library_has_is_not_found():
    _, shimmed = run_both("lookups_without_blas", blas=None)
    assert "default: not found" in shimmed.stdout
    assert "nobody's name: not found" in shimmed.stdout
    assert shimmed.decisions == []


def test_a_call_through_a_wrapper_or_a_pointer_reaches_the_importers_library():
    _, shimmed = load("local=wrapped_plugin", "run=wrapped_plugin")
    assert shimmed.stdout == "tail call: 1006\npointer: 1006\n"
    assert shimmed.seen() == [("sgemm_", "libwrapped_plugin.so", "libfake_a.so")] * 2


def test_a_wrappers_library_is_told_from_another_importers():
    _, shimmed = load("local=plugin_b", "run=plugin_b", "local=wrapped_plugin", "run=wrapped_plugin")
    assert shimmed.stdout == "b: 2006\ntail call: 1006\npointer: 1006\n"
    assert providers(shimmed) == ["libfake_b.so", "libfake_a.so", "libfake_a.so"]


def test_a_pointer_that_was_handed_out_reaches_the_one_library_that_importers_have():
    _, shimmed = run_both("handed_pointer", "together", library("wrapper_a"), blas=None)
    assert shimmed.seen() == [("sgemm_", "handed_pointer", "libfake_a.so")]


def test_a_pointer_that_was_handed_out_says_so_when_importers_have_different_libraries():
    result = run("handed_pointer", "together", library("wrapper_a"), library("wrapper_b"), blas=None)
    assert len(result.decisions) == 2
    # It is unknown which of the libraries was meant.
    assert all("several libraries" in (decision["detail"] or "") for decision in result.decisions)
    (line,) = result.stderr.splitlines()
    assert line.startswith("fp32shim: several libraries provide sgemm_")


def test_a_pointer_that_was_handed_out_says_so_also_when_the_second_library_comes_later():
    result = run("handed_pointer", "in-turn", library("wrapper_a"), library("wrapper_b"), blas=None)
    first, second = result.decisions
    assert first["detail"] is None and first["provider"] == "libfake_a.so"
    assert "several libraries" in (second["detail"] or "")


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_pointers_library_may_go_unseen_and_another_may_come(threads, log):
    """The shim does not see a dlclose by a library that was opened with RTLD_DEEPBIND, or by the C library itself."""
    words = [threads, library("wrapper_a"), library("wrapper_b"), library("fake_c")]
    assert run("passed_pointer", *words, blas=None, preload=False).stdout == "0 wrong\n"
    for _ in range(5):
        assert run("passed_pointer", *words, blas=None, log=log).stdout == "0 wrong\n"


def test_a_pointer_stays_with_its_library_when_that_which_handed_it_out_is_closed():
    words = ["kept", library("fake_a"), library("wrapper_b"), library("fake_b"), library("fake_c")]
    assert run("passed_pointer", *words, blas=None, preload=False).stdout == "0 wrong\n"
    assert run("passed_pointer", *words, blas=None).stdout == "0 wrong\n"


def test_a_weak_batch_that_no_library_has_is_left_to_the_caller():
    script = [f"local={library('plugin_weak_batch')}", f"run={library('plugin_weak_batch')}"]
    assert run("loader", *script, blas=None, preload=False).stdout == "weak: 1006\n"
    shimmed = run("loader", *script, blas=None)
    assert shimmed.stdout == "weak: 1006\n"
    assert [d["function"] for d in shimmed.decisions] == ["sgemm_"]


def test_another_library_at_the_same_address_is_not_mistaken_for_the_one_that_was_unloaded():
    words = []
    for name in ["plugin_a", "plugin_b"] * 4:
        words += [f"local={name}", f"where={name}", f"run={name}", f"run={name}", f"close={name}"]
    script = [f"{verb}={library(name)}" for verb, name in (word.split("=") for word in words)]
    unshimmed = run("loader", *script, blas=None, preload=False)
    shimmed = run("loader", *script, blas=None)
    places = [line for line in shimmed.stdout.splitlines() if line.startswith("at ")]
    assert len(set(places)) < len(places), "this loader never reused an address: the test shows nothing"

    def answers(result):
        return [line for line in result.stdout.splitlines() if not line.startswith("at ")]

    assert answers(shimmed) == answers(unshimmed) == ["a: 1006", "a: 1006", "b: 2006", "b: 2006"] * 4
    assert providers(shimmed) == ["libfake_a.so", "libfake_a.so", "libfake_b.so", "libfake_b.so"] * 4


LOOKUPS = """
import ctypes, mmap, pathlib, shutil, sys, _ctypes
library, folder, rounds, closes = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "closes"
one, two, three = ctypes.c_int(1), ctypes.c_float(2), ctypes.c_float(3)
n, alpha = ctypes.byref(one), ctypes.byref(ctypes.c_float(1))
kept, places, results = [], set(), set()
for i in range(rounds):
    if not closes: library = shutil.copy(library, folder / f"{i}.so")
    opened = ctypes.CDLL(library)
    places.add(ctypes.cast(opened.isamax_, ctypes.c_void_p).value)
    functions, c = [opened.sgemm_, opened.cblas_sgemm], ctypes.c_float()
    functions[0](b"N", b"N", n, n, n, alpha, ctypes.byref(two), n, ctypes.byref(three), n, ctypes.byref(ctypes.c_float()),
                 ctypes.byref(c), n)
    results.add(c.value)
    if closes: _ctypes.dlclose(opened._handle)
    kept.append(mmap.mmap(-1, 4096))  # where the library was, so that the next one gets another place
print(len(places) > 512, results)  # two functions each, of 1,024 that are followed
"""


@pytest.mark.parametrize("closes, rounds, said", [("closes", 600, ""), ("keeps", 520, (
    "fp32shim: dlsym was asked for more functions than there are entry points; not seen: "))])
def test_of_functions_that_dlsym_found_only_those_of_loaded_libraries_count(tmp_path, closes, rounds, said):
    result = run(SYSTEM_PYTHON, "-c", LOOKUPS, library("fake_a"), tmp_path, rounds, closes, blas=None, log=False)
    assert result.stdout == "True {1006.0}\n"
    assert result.stderr.startswith(said) and result.stderr.count("\n") == (closes == "keeps")


def test_a_library_opened_deepbind_is_left_alone():
    _, shimmed = load("deepbind=plugin_a", "run=plugin_a")
    assert shimmed.stdout == "a: 1006\n"
    assert shimmed.decisions == []


@pytest.mark.parametrize("program, products", [("other_sgemm_client", 0), ("other_sgemm_beside_blas", 1),
                                               ("other_sgemm_in_blas", 1)])
@pytest.mark.parametrize("settings", [{}, {"precision": "high", "cpu": "emulate"}])
def test_functions_that_only_share_a_name_with_blas_get_their_arguments_untouched(program, products, settings):
    _, shimmed = run_both(program, blas=None, **settings)
    assert [d["function"] for d in shimmed.decisions] == ["sgemm_"] * products
    assert shimmed.stderr == ""


def test_a_program_with_an_sgemm_of_its_own_keeps_it():
    _, shimmed = run_both("own_sgemm", library("plugin_a"), blas=None)
    assert shimmed.stdout == "own: 9006\na: 9006\n"


def test_a_decision_is_said_once_also_where_its_library_is_loaded_again_and_again():
    words = ["local=plugin_a", "run=plugin_a", "close=plugin_a"] * 100
    script = [f"{verb}={library(name)}" for verb, name in (word.split("=") for word in words)]
    shimmed = run("loader", *script, blas=None, log="stderr")
    assert shimmed.stdout == "a: 1006\n" * 100
    assert len([line for line in shimmed.stderr.splitlines() if line.startswith("fp32shim: ")]) == 1
