"""A weak reference to a function that no library has is NULL, as without the shim.

Programs test for functions that only some BLAS libraries have by such references (weak_names.c)."""

import pytest
from shim import client, run

LIBRARIES = ["weak_names", "weak_names_now", "weak_names_writable", "weak_names_no_plt"]
PROGRAMS = ["weak_program", "weak_program_now", "weak_program_exporting", "weak_program_fixed"]
FOUND = "sgemm_ code constant variable"


def library(name):
    return client(f"lib{name}.so")


def same_as_without_shim(program, *words, **settings):
    """Runs a program with the shim and without it. Both must print the same. Returns what they print."""
    plain = run(program, *words, blas=None, preload=False, env=settings.get("env"))
    shimmed = run(program, *words, blas=None, **settings)
    assert shimmed.stdout == plain.stdout
    return plain.stdout


@pytest.mark.parametrize("settings", [{"log": False}, {"precision": "high", "cpu": "emulate"},
                                      {"log": False, "env": {"LD_BIND_NOW": "1"}},
                                      {"log": False, "env": {"FP32_MATMUL_DISABLE": "1"}}])
@pytest.mark.parametrize("program", PROGRAMS)
def test_weak_references_of_a_program_and_its_libraries_are_null_from_the_first_constructor_on(program, settings):
    lines = same_as_without_shim(program, **settings).splitlines()
    assert len(lines) == 4 * 9 and len([line for line in lines if line.endswith(FOUND)]) == 4
    assert {line.split(", ")[1].split(":")[0] for line in lines} == {"constructor", "main", "run"}
    assert len([line for line in lines if line.endswith(": dgemm_64_ - - -")]) == 4


@pytest.mark.parametrize("way", ["local", "global", "deepbind"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_weak_references_of_a_library_that_is_opened_later_are_null_in_its_constructor_too(name, way):
    lines = same_as_without_shim("loader", f"{way}={library(name)}", f"run={library(name)}", log=False).splitlines()
    assert len(lines) == 2 * 9 and len([line for line in lines if line.endswith(FOUND)]) == 2


def test_a_library_that_has_the_function_counts_for_references_that_are_bound_after_it_was_opened():
    early, late, provider = library("weak_names"), library("weak_names_now"), library("has_dgemm_64")
    words = [f"local={early}", f"global={provider}", f"run={early}", f"local={late}", f"run={late}"]
    output = same_as_without_shim("loader", *words, log=False)
    assert output.count(": dgemm_64_ - - -") == 2 and output.count(": dgemm_64_ code constant variable") == 2


def test_a_library_that_was_closed_no_longer_counts():
    provider, name = library("has_dgemm_64"), library("weak_names")
    words = [f"global={provider}", f"close={provider}", f"local={name}", f"run={name}"]
    assert same_as_without_shim("loader", *words, log=False).count(": dgemm_64_ - - -") == 2


def test_a_wrapper_after_the_shim_provides_the_function():
    plain = run("weak_program", blas=None, preload=False, preload_after=[library("has_dgemm_64")])
    shimmed = run("weak_program", blas=None, log=False, preload_after=[library("has_dgemm_64")])
    assert shimmed.stdout == plain.stdout and plain.stdout.count("dgemm_64_ code constant variable") == 4
