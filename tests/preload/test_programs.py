"""Unmodified programs: what they multiply is seen, with the caller and the provider that it really had, and runs at
the precision that was asked for."""

import fnmatch

import pytest

from shim import (BLAS_PACKAGES, DECISION_KEYS, SYSTEM_PYTHON, blas_directory, blas_library, bindings, has_module, need,
                  run, run_both)

# Products of each program: (function, caller, times), in order. Callers are patterns.
PROGRAMS = {
    "cblas_product": [("cblas_sgemm", "cblas_product", 1)],
    "fortran_product": [("sgemm_", "fortran_product", 1), ("cgemm_", "fortran_product", 1)],
    "numpy_products.py": [("cblas_sgemm", "_multiarray_umath*.so", 1), ("cblas_ssyrk", "_multiarray_umath*.so", 1),
                          ("cblas_cgemm", "_multiarray_umath*.so", 1)],
}
EVERYTHING = [*PROGRAMS, "scipy_products.py", "torch_products.py"]
MODULES = {"numpy_products.py": "numpy", "scipy_products.py": "scipy.linalg", "torch_products.py": "torch"}


def need_module_of(program):
    if program in MODULES:
        need(has_module(MODULES[program]), f"the system's Python has no {MODULES[program]}")


def need_time_for(program, blas):
    """Skips torch with all but one BLAS, because it takes seconds to start, and does the same with each BLAS."""
    if program == "torch_products.py" and blas != "openblas":
        pytest.skip("tried with OpenBLAS only")


def counted(result):
    """Returns [(function, caller, times)], where `times` counts equal calls in a row."""
    runs = []
    for function, caller, _ in result.seen():
        if runs and runs[-1][:2] == [function, caller]:
            runs[-1][2] += 1
        else:
            runs.append([function, caller, 1])
    return runs


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_product_is_seen_once_with_its_caller_and_provider(program, blas):
    need_module_of(program)
    result = run(program, blas=blas)
    expected = PROGRAMS[program]
    seen = counted(result)
    assert len(seen) == len(expected), seen
    for (function, caller, times), (expected_function, expected_caller, expected_times) in zip(seen, expected):
        assert (function, times) == (expected_function, expected_times)
        assert fnmatch.fnmatchcase(caller, expected_caller)
    assert {decision["provider"] for decision in result.decisions} == {blas_library(blas).name}


@pytest.mark.parametrize("program", EVERYTHING)
def test_the_provider_is_the_one_that_the_loader_binds_without_the_shim(program, blas):
    need_module_of(program)
    need_time_for(program, blas)
    truth = bindings(program, blas=blas)
    result = run(program, blas=blas)
    assert result.decisions
    for function, caller, provider in result.seen():
        assert truth[function, caller] == provider, (function, caller)


@pytest.mark.parametrize("precision", ["native", "highest"])
@pytest.mark.parametrize("program", EVERYTHING)
def test_native_and_highest_give_the_same_bits_as_without_the_shim(program, precision, blas):
    need_module_of(program)
    need_time_for(program, blas)
    _, shimmed = run_both(program, precision=precision, blas=blas)
    assert {decision["requested"] for decision in shimmed.decisions} == {precision}
    assert shimmed.stderr == ""


@pytest.mark.parametrize("program", PROGRAMS)
def test_emulated_tf32_is_the_product_of_operands_that_the_program_rounds_itself(program, blas):
    need_module_of(program)
    rounded_by_program = run(program, "tf32", preload=False, blas=blas)
    emulated = run(program, precision="high", cpu="emulate", blas=blas)
    assert emulated.stdout == rounded_by_program.stdout
    assert {(d["applied"], d["how"], d["reason"]) for d in emulated.decisions} == {
        ("tf32", "round_operands", "as_requested")}


def test_scipy_products_come_from_its_blas_module_and_from_lapack(blas):
    need_module_of("scipy_products.py")
    seen = run("scipy_products.py", blas=blas).seen()
    function, caller, _ = seen[0]
    assert function == "sgemm_" and fnmatch.fnmatchcase(caller, "_fblas*.so")
    inside_qr = seen[1:]
    assert inside_qr and {caller for _, caller, _ in inside_qr} == {"liblapack.so.3"}
    assert "sgemm_" in {function for function, _, _ in inside_qr}


def test_torch_products_are_seen(blas):
    need_module_of("torch_products.py")
    seen = run("torch_products.py", blas=blas).seen()
    # mm, three products of bmm, and Linear.
    assert [function for function, _, _ in seen] == ["sgemm_"] * 5
    assert all(fnmatch.fnmatchcase(caller, "libtorch_cpu.so*") for _, caller, _ in seen)


def test_libraries_that_a_program_loads_later_do_not_take_earlier_ones_over():
    """torch opens libraries globally after numpy was loaded, and before its first product."""
    need_module_of("numpy_products.py")
    need_module_of("torch_products.py")
    code = ("import numpy, torch\n"
            "a = numpy.arange(99, dtype=numpy.float32).reshape(9, 11) / 7\n"
            "print((a @ a[:, ::-1].T.copy()).tobytes().hex())\n"
            "print(torch.mm(torch.tensor(a), torch.tensor(a.T)).numpy().tobytes().hex())")
    _, shimmed = run_both(SYSTEM_PYTHON, "-c", code)
    assert [(function, provider) for function, _, provider in shimmed.seen()] == [
        ("cblas_sgemm", "libblas.so.3"), ("sgemm_", "libblas.so.3")]


def test_a_program_that_gets_its_blas_by_dlsym_is_seen(blas):
    library = blas_library(blas)
    _, shimmed = run_both("dlopen_product", library, blas=None)
    assert shimmed.seen() == [("cblas_sgemm", "dlopen_product", library.name)]
    rounded = run("dlopen_product", library, "tf32", preload=False, blas=None)
    emulated = run("dlopen_product", library, precision="high", cpu="emulate", blas=None)
    assert emulated.stdout == rounded.stdout != shimmed.stdout


@pytest.mark.parametrize("library", ["libblas64.so.3", "libopenblas64.so.0"])
def test_64_bit_integers_behind_unsuffixed_names_are_understood_in_a_dlopen_client(library):
    path = blas_directory("openblas64") / library
    _, shimmed = run_both("dlopen_product_ilp64", path, blas=None)
    (decision,) = shimmed.decisions
    assert (decision["m"], decision["n"], decision["k"]) == (12, 20, 33)
    assert (decision["caller"], decision["provider"]) == ("dlopen_product_ilp64", library)
    rounded = run("dlopen_product_ilp64", path, "tf32", preload=False, blas=None)
    emulated = run("dlopen_product_ilp64", path, precision="high", cpu="emulate", blas=None)
    assert emulated.stdout == rounded.stdout != shimmed.stdout


def test_64_bit_integers_are_understood_in_a_fortran_program():
    _, shimmed = run_both("fortran_product_ilp64", blas="openblas64")
    provider = BLAS_PACKAGES["openblas64"][1].split("/")[1]
    assert shimmed.seen() == [("sgemm_", "fortran_product_ilp64", provider),
                              ("cgemm_", "fortran_product_ilp64", provider)]
    assert {(d["m"], d["n"], d["k"]) for d in shimmed.decisions} == {(12, 20, 33)}
    rounded = run("fortran_product_ilp64", "tf32", preload=False, blas="openblas64")
    emulated = run("fortran_product_ilp64", precision="high", cpu="emulate", blas="openblas64")
    assert emulated.stdout == rounded.stdout != shimmed.stdout


def test_a_decision_has_every_key_and_says_what_the_call_was(blas):
    (decision,) = run("cblas_product", precision="high", cpu="emulate", blas=blas).decisions
    assert list(decision) == DECISION_KEYS
    expected = {
        "schema": 1, "function": "cblas_sgemm", "dtype": "float32", "device": "cpu", "device_index": None,
        "compute_capability": None, "trans_a": "N", "trans_b": "T", "m": 12, "n": 20, "k": 33, "batch": 1,
        "caller": "cblas_product", "scope": None, "requested": "high", "source": "environment", "rule": None,
        "applied": "tf32", "actual": None, "how": "round_operands", "reason": "as_requested", "status": None,
    }
    assert {key: decision[key] for key in expected} == expected
    assert decision["executable"].endswith("/cblas_product")
    assert decision["host_ns"] > 0 and decision["pid"] == decision["tid"]


def test_numpy_emulated_agrees_with_the_definition_of_tf32(blas):
    """The result is far closer to the float64 product of rounded operands than to the exact product."""
    need_module_of("numpy_products.py")
    numpy = pytest.importorskip("numpy")
    result = run("numpy_products.py", precision="high", cpu="emulate", blas=blas)
    product = numpy.frombuffer(bytes.fromhex(result.stdout.splitlines()[0].split()[1]), numpy.float32).reshape(37, 41)
    a = numpy.random.RandomState(1).standard_normal((37, 29)).astype(numpy.float32)
    b = numpy.random.RandomState(2).standard_normal((29, 41)).astype(numpy.float32)

    def tf32(x):
        """Rounds to nearest, ties away from zero. Scales the number so that the 11 bits that stay are the integer part."""
        fraction, exponent = numpy.frexp(x.astype(numpy.float64))
        return numpy.ldexp(numpy.sign(fraction) * numpy.floor(numpy.abs(fraction) * 2048 + 0.5) / 2048, exponent)

    error = numpy.abs(product - tf32(a) @ tf32(b)).max()
    distance = numpy.abs(product - a.astype(numpy.float64) @ b.astype(numpy.float64)).max()
    assert error < 1e-5 and distance > 30 * error


@pytest.mark.parametrize("blas_with_inner_calls", ["reference", "blis"])
def test_a_library_that_calls_itself_gives_one_decision_for_one_product(blas_with_inner_calls):
    blas_directory(blas_with_inner_calls)
    result = run("cblas_product", "fp32", 5, blas=blas_with_inner_calls, precision="high", cpu="emulate")
    assert [d["function"] for d in result.decisions] == ["cblas_sgemm"] * 5
