"""MKL under clients of its own: every family under every name, batches, and what the shim only reports."""

import functools
import platform
import subprocess

import numpy as np
import pytest

from wheels import EMULATE_TF32, HERE, PREFIX, start

MKL = PREFIX / "lib/libmkl_rt.so.3"
INTERFACES = ["LP64", "ILP64"]

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="MKL is for x86-64 only")


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Compiles a client once per source, interface and options."""
    directory = tmp_path_factory.mktemp("mkl")

    @functools.cache
    def build(source, interface, *options):
        program = directory / "_".join([source.replace(".", "_"), interface, *options]).replace("-", "_")
        wide = interface == "ILP64"
        if source.endswith(".f90"):
            compiler = ["gfortran", *["-fdefault-integer-8"] * wide]
        else:
            compiler = ["gcc", *["-DMKL_ILP64"] * wide, "-isystem", PREFIX / "include"]
        subprocess.run([*compiler, "-O1", "-Wall", "-Wno-deprecated-declarations", *options, HERE / source,
                        "-o", program, MKL, f"-Wl,-rpath,{MKL.parent}"], check=True)
        return program

    return build


def call(program, interface, *arguments, **settings):
    return start(program, *arguments, env={"MKL_INTERFACE_LAYER": interface, "MKL_THREADING_LAYER": "SEQUENTIAL"},
                 **settings)


def names(stdout):
    return [line.split(" ", 1)[0] for line in stdout.splitlines()]


def values(stdout):
    return [np.array(line.split()[1:], dtype=np.float64) for line in stdout.splitlines()]


@pytest.mark.parametrize("interface", INTERFACES)
def test_products_with_a_vector_compute_the_same(interface, tmp_path):
    """Functions of Fortran return complex numbers through a pointer."""
    program = tmp_path / "vectors"
    subprocess.run(["gcc", "-O1", HERE.parent / "clients/vectors.c", "-o", program, "-ldl"], check=True)
    plain = call(program, interface, MKL, "intel", preload=False)
    seen = call(program, interface, MKL, "intel", policy="schema = 1\n[log]\nvectors = true\n")
    assert seen.stdout == plain.stdout
    assert [each["function"] for each in seen.vectors] == names(plain.stdout)
    assert {"cdotu_", "ZDOTC", "cblas_zdotc_sub", "dznrm2_64_", "cblas_sdsdot_64"} <= set(names(plain.stdout))
    examined = "schema = 1\n[log]\nvectors = true\n[audit]\nfingerprint = true\nnonfinite = true\n"
    assert call(program, interface, MKL, "intel", policy=examined).stdout == plain.stdout


CLIENTS = [("mkl_client.c",), ("mkl_client.f90",), ("mkl_kernels.c",), ("mkl_kernels.c", "-DMKL_DIRECT_CALL")]
client_name = " ".join


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("client", CLIENTS, ids=client_name)
@pytest.mark.parametrize("precision", ["native", "highest"])
def test_results_of_mkl_have_the_same_bits_as_without_the_shim(build, client, interface, precision):
    program = build(client[0], interface, *client[1:])
    plain = call(program, interface, preload=False)
    assert call(program, interface, precision=precision).stdout == plain.stdout


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("client", CLIENTS, ids=client_name)
def test_every_name_of_mkl_gives_one_decision_with_caller_and_provider(build, client, interface):
    program = build(client[0], interface, *client[1:])
    outcome = call(program, interface)
    assert [each["function"] for each in outcome.decisions] == names(outcome.stdout)
    assert {each["caller"] for each in outcome.decisions} == {program.name}
    assert {each["provider"] for each in outcome.decisions} == {"libmkl_rt.so.3"}


@pytest.mark.parametrize("interface", INTERFACES)
def test_sizes_and_batches_are_read_with_the_width_of_the_interface(build, interface):
    decisions = call(build("mkl_client.c", interface), interface).decisions
    for each in decisions:
        name = each["function"].lower().removeprefix("cblas_").removesuffix("_").removesuffix("_64")
        if "gemm" in name and "gemmt" not in name:
            assert (each["m"], each["n"], each["k"]) == (7, 5, 6), each
        assert each["n"] == 5, each
        assert each["batch"] == (3 if "batch" in name else 1), each
        assert each["dtype"] == ("float32" if name.startswith("s") else "complex64"), each


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("source", ["mkl_client.c", "mkl_client.f90"])
def test_emulation_under_mkl_gives_what_products_of_rounded_operands_give(build, source, interface):
    program = build(source, interface)
    plain = call(program, interface, preload=False)
    rounded = call(program, interface, "tf32", preload=False)
    emulated = call(program, interface, **EMULATE_TF32)
    decisions = [each for each in emulated.decisions if each["caller"] == program.name]
    assert names(emulated.stdout) == [each["function"] for each in decisions]
    wrong = []
    results = (values(each.stdout) for each in (plain, rounded, emulated))
    for decision, before, expected, result in zip(decisions, *results, strict=True):
        scale = np.abs(expected).max()
        is_solve = "trsm" in decision["function"].lower()
        # Solves run as called. Products are exact except for the order of summation, whose error is far below TF32's
        # 5e-4.
        right = np.array_equal(result, before) if is_solve else (
            np.abs(result - expected).max() <= 1e-6 * scale and np.abs(result - before).max() >= 1e-5 * scale)
        if not right or decision["applied"] not in (("unchanged", "fp32") if is_solve else ("tf32",)):
            wrong.append((decision["function"], decision["applied"], decision["reason"],
                          float(np.abs(result - expected).max() / scale)))
    assert wrong == []


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("options", [(), ("-DMKL_DIRECT_CALL",)], ids=["kernels", "direct calls"])
def test_kernels_and_direct_calls_are_reported_and_left_as_they_are(build, options, interface):
    program = build("mkl_kernels.c", interface, *options)
    plain = call(program, interface, preload=False)
    emulated = call(program, interface, **EMULATE_TF32)
    assert emulated.stdout == plain.stdout
    assert {each["how"] for each in emulated.decisions} == {"forward"}
    for each in emulated.decisions:
        assert each["reason"] == ("observed" if "bf16" in each["function"] else "not_governable"), each
