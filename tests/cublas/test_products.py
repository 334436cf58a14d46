"""Every product of cuBLAS, through the stand-in: what the numbers show is what the decision says."""

import collections
import re

import pytest

from cublas import (BF16X9_MODE, COMPUTE_32F, COMPUTE_CAPABILITIES, EMULATED_16BFX9, FAST_16BF, FAST_16F, FAST_TF32, PRECISIONS,
                    STAND_IN, TENSOR_OP, TENSOR_OP_ALGORITHM, TF32_MODE, assumed_rows, has_fast_formats, ignores_tf32_mode,
                    products, run_client, shim, uses_what_it_may, wished_format)

# The others are about cublasLt and about emulated float64, which this client does not use.
ASSUMED = [pytest.param(f"{row}={answer}", id=f"{row}-{answer}") for row, answer in assumed_rows()
           if not re.search("^lt_|^f64_", row)]

# Settings by which a program asks for less than float32, and settings by which an operator does.
LOW_SETTINGS = {
    "nothing": {},
    "tf32_mode": {"math_mode": TF32_MODE},
    "tensor_op_mode": {"math_mode": TENSOR_OP},
    "fast_tf32": {"compute_type": FAST_TF32},
    "fast_16bf": {"compute_type": FAST_16BF},
    "fast_16f_on_tf32_handle": {"compute_type": FAST_16F, "math_mode": TF32_MODE},
    "tensor_op_algorithm": {"algo": TENSOR_OP_ALGORITHM},
    "everything": {"algo": TENSOR_OP_ALGORITHM, "compute_type": FAST_16F, "math_mode": TENSOR_OP},
}
# A cublasComputeType_t and a cublasMath_t that forbid less than float32, with an algorithm that allows FP16. The
# manual does not say which of them cuBLAS obeys.
COMPUTE_32F_PEDANTIC, PEDANTIC_MODE = 69, 2
CONTRADICTIONS = {
    "compute_type": {"algo": TENSOR_OP_ALGORITHM, "compute_type": COMPUTE_32F_PEDANTIC},
    "math_mode": {"algo": TENSOR_OP_ALGORITHM, "math_mode": PEDANTIC_MODE},
}
# On devices with BF16x9: ways in which a program, or its environment, asks for it.
EMULATIONS = {
    "mode": {"math_mode": BF16X9_MODE},
    "type": {"compute_type": EMULATED_16BFX9},
    "environment": {"env": {"CUBLAS_EMULATE_SINGLE_PRECISION": "1"}},
    "eager_environment": {"env": {"CUBLAS_EMULATE_SINGLE_PRECISION": "1", "CUBLAS_EMULATION_STRATEGY": "eager"}},
    "type_and_environment": {"env": {"CUBLAS_EMULATE_SINGLE_PRECISION": "1"}, "compute_type": EMULATED_16BFX9,
                             "math_mode": TF32_MODE},
}
# One function of each kind. The 64-bit forms take the same path, as the tests of all products show, and those of
# "everything" that a program can set.
BRIEFLY = "*RunsInTheFormat*:*KeepsSmallValues*-*_64__*:*cublasXt*"
STRICT = {"highest": {"precision": "highest"}, "floor": {"floor": "fp32"}}


def expected_reason(function, precision, compute_capability):
    operation, _, batching, road = products()[function]
    if road == "not_governable":
        return "not_governable"
    if precision in ("native", "highest"):
        return "as_requested"
    if not has_fast_formats(compute_capability):
        return "compute_capability"
    if operation == "trsm":
        return "protected_call"
    if batching in ("arrays", "groups"):
        return "alignment"
    if ignores_tf32_mode(function):
        return "no_such_format"
    return "no_such_format" if precision == "medium" and road == "math_mode" else "as_requested"


def expected_how(function, precision, reason):
    road = products()[function][3]
    lowered = (precision in ("high", "medium") and reason in ("as_requested", "no_such_format")
               and not ignores_tf32_mode(function))
    return road if lowered else "forward"


@pytest.mark.parametrize("compute_capability", COMPUTE_CAPABILITIES)
def test_products_are_right_without_the_shim(compute_capability):
    run_client("products", compute_capability=compute_capability, preload=False)


@pytest.mark.parametrize("compute_capability", COMPUTE_CAPABILITIES)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_products_run_in_the_format_that_the_decision_names(precision, compute_capability):
    result = run_client("products", precision=precision, compute_capability=compute_capability, exact=True,
                        expect=wished_format(precision, compute_capability))
    seen = collections.defaultdict(set)
    for decision in result.decisions:
        assert decision["caller"] == "products"
        assert decision["provider"] == "libcublas.so.13"
        if decision["dtype"] == "float64":
            assert (decision["requested"], decision["applied"], decision["how"]) == ("native", "fp64", "forward")
        elif decision["reason"] not in ("no_product", "observed"):
            assert decision["requested"] == precision
            seen[decision["function"]].add((decision["reason"], decision["how"]))
    assert len(seen) == 111
    for function, found in seen.items():
        reason = expected_reason(function, precision, compute_capability)
        assert found == {(reason, expected_how(function, precision, reason))}, function


def test_solves_are_lowered_by_a_rule_that_names_them():
    policy = """schema = 1
[[rule]]
name = "solves"
precision = "high"
assume_aligned = true
when = { function = "cublas?trsm*" }
"""
    result = run_client("products", policy=policy, exact=True, expect="tf32", only="*/cublas?trsm*",
                        env={"CLIENT_ASSUME_ALIGNED": "1", "CLIENT_LOWERS_SOLVES": "1"})
    assert {(d["applied"], d["reason"]) for d in result.decisions} == {
        ("tf32", "as_requested"), ("fp32", "no_product"), ("fp32", "not_governable")}


def test_auto_is_tf32_where_there_is_tf32():
    run_client("products", precision="auto", compute_capability="8.0", exact=True, expect="tf32")
    old = run_client("products", precision="auto", compute_capability="7.5", exact=True, expect="native")
    assert {decision["how"] for decision in old.decisions} == {"forward"}


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_batches_of_pointers_are_lowered_where_the_policy_answers_for_their_alignment(precision):
    policy = f'schema = 1\n[[rule]]\nname = "aligned"\nprecision = "{precision}"\nassume_aligned = true\n'
    result = run_client("products", policy=policy, exact=True, expect=wished_format(precision, "9.0"),
                        env={"CLIENT_ASSUME_ALIGNED": "1"})
    reasons = collections.defaultdict(set)
    for decision in result.decisions:
        if "Grouped" in decision["function"] and decision["reason"] != "no_product":
            reasons[decision["function"]].add(decision["reason"])
    assert len(reasons) == 4
    # Grouped batches have float32 and TF32 only.
    assert set().union(*reasons.values()) == {"as_requested" if precision == "high" else "no_such_format"}


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_a_library_that_leaves_fast_formats_unused_is_no_mistake(precision):
    run_client("products", precision=precision, fast="ignored", expect=wished_format(precision, "9.0"))


@pytest.mark.parametrize("compute_capability", ["8.0", "10.0"])
@pytest.mark.parametrize("low", [name for name in LOW_SETTINGS if name != "nothing"])
def test_native_names_what_the_program_itself_asked_for(low, compute_capability):
    run_client("products", precision="native", compute_capability=compute_capability, exact=True, assume=uses_what_it_may(),
               only=None if low == "everything" else BRIEFLY, **LOW_SETTINGS[low])


@pytest.mark.parametrize("compute_capability", ["7.5", "8.0", "10.0"])
@pytest.mark.parametrize("low", LOW_SETTINGS)
@pytest.mark.parametrize("strict", STRICT)
def test_float32_is_float32_whatever_the_program_sets(strict, low, compute_capability):
    run_client("products", compute_capability=compute_capability, exact=True, expect="fp32", assume=uses_what_it_may(),
               only=None if low == "everything" else BRIEFLY, **STRICT[strict], **LOW_SETTINGS[low])


@pytest.mark.parametrize("settings, applied, reason, how", [
    ({"policy": 'schema = 1\ndefault = "highest"\n[cuda]\npedantic = true\n'}, "fp32", "as_requested", "math_mode"),
    ({"floor": "fp32", "env": {"NVIDIA_TF32_OVERRIDE": "1"}}, "tf32", "library_refused", "math_mode")])
def test_functions_that_refuse_pedantic_mode_run_in_default_mode(settings, applied, reason, how):
    """These are cublasCsyrk3mEx and cublasCherk3mEx. DEFAULT mode is FP32 too, unless the environment permits less."""
    result = run_client("products", math_mode=TF32_MODE, only="*RunsInTheFormat*/cublasC*k3mEx__*", **settings)
    assert {(d["function"][:15], d["status"], d["applied"], d["reason"], d["how"]) for d in result.decisions} == {
        (name, 0, applied, reason, how) for name in ("cublasCsyrk3mEx", "cublasCherk3mEx")}


@pytest.mark.parametrize("settings, expect", [
    ({"precision": "native"}, "tf32"), ({"precision": "high"}, "tf32"), *(({**strict}, "fp32") for strict in STRICT.values())],
    ids=["native", "high", *STRICT])
def test_tf32_that_the_environment_allows_unasked_is_named_and_a_pin_or_floor_takes_it_away(settings, expect):
    """This holds for all functions that accept the PEDANTIC mode (see above) and that have a compute type or a mode."""
    functions = [name for name, row in products().items() if row[3] != "not_governable" and "k3mEx" not in name]
    result = run_client("products", exact=True, env={"NVIDIA_TF32_OVERRIDE": "1"}, assume=uses_what_it_may(),
                        only=":".join(f"*RunsInTheFormat*/{name}__*" for name in functions), **settings)
    assert {(d["applied"], d["detail"]) for d in result.decisions if d["reason"] not in ("no_product", "observed")} == {
        (expect, "NVIDIA_TF32_OVERRIDE has a value that may switch TF32 on" if expect == "tf32" else None)}


@pytest.mark.parametrize("assumption", [None, "tensor_op_algorithm_under_pedantic=yes"])
@pytest.mark.parametrize("contradiction", CONTRADICTIONS)
@pytest.mark.parametrize("strict", STRICT)
def test_float32_is_float32_where_a_pedantic_product_has_an_algorithm_for_less(strict, contradiction, assumption):
    run_client("products", assume=assumption, exact=True, expect="fp32", only=BRIEFLY, **STRICT[strict],
               **CONTRADICTIONS[contradiction])


@pytest.mark.parametrize("contradiction", CONTRADICTIONS)
def test_native_names_the_lower_of_a_pedantic_product_and_its_algorithm(contradiction):
    """It is not known which of them cuBLAS obeys. From compute capability 8.0 on, algorithms have no effect."""
    for assumption in (None, "tensor_op_algorithm_under_pedantic=yes"):
        result = run_client("products", precision="native", assume=assumption,
                            exact=assumption is not None or contradiction == "math_mode", compute_capability="7.5",
                            only="*/cublasGemmEx__float32", **CONTRADICTIONS[contradiction])
        assert {d["applied"] for d in result.decisions if d["reason"] != "no_product"} == {"fp16"}
        newer = run_client("products", precision="native", assume=assumption, exact=True, compute_capability="8.0",
                           only="*/cublasGemmEx__float32", **CONTRADICTIONS[contradiction])
        assert {d["applied"] for d in newer.decisions if d["reason"] != "no_product"} == {"fp32"}


@pytest.mark.parametrize("compute_capability", COMPUTE_CAPABILITIES)
@pytest.mark.parametrize("compute_type", [COMPUTE_32F, COMPUTE_32F_PEDANTIC])
@pytest.mark.parametrize("floor", ["bf16", "tf32", "fp32"])
def test_a_floor_never_lowers_float32_that_is_called_with_algorithm_99(floor, compute_type, compute_capability):
    """CuPy and XLA call every float32 product with this algorithm."""
    result = run_client("products", floor=floor, exact=True, expect="fp32", algo=TENSOR_OP_ALGORITHM,
                        compute_type=compute_type, compute_capability=compute_capability,
                        only="*RunsInTheFormat*Ex__float32")
    hows = {decision["how"] for decision in result.decisions if decision["reason"] != "observed"}
    assert hows == ({"forward", "compute_type"} if compute_capability == "7.5" else {"forward"})


@pytest.mark.parametrize("mode", [5, 6, 7, 7 | 16, 32, 64 | TF32_MODE])
@pytest.mark.parametrize("strict", STRICT)
def test_float32_is_float32_under_modes_that_no_header_names(strict, mode):
    run_client("products", compute_capability="10.0", assume="math_mode_combinations=accepted", math_mode=mode,
               exact=True, expect="fp32", only=BRIEFLY, **STRICT[strict])


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_a_product_that_lacks_memory_in_a_fast_format_runs_as_called(precision):
    result = run_client("products", precision=precision, fast="no_memory", only="*RunsInTheFormat*/cublasSgemm_v2__*:"
                        "*RunsInTheFormat*/cublasGemmEx__float32", expect="native")
    assert {(d["applied"], d["how"], d["reason"], d["status"]) for d in result.decisions} == {
        ("fp32", "forward", "library_refused", 0)}


def test_a_product_that_lacks_memory_as_called_too_says_that_no_retry_helps():
    result = run_client("late_environment", "create", "sgemm", "gemm_ex", precision="high", fast="no_memory_at_all")
    assert result.stdout.splitlines() == ["sgemm status 3", "gemm_ex status 3"]
    assert {(d["how"], d["reason"], d["status"], d["detail"]) for d in result.decisions} == {
        ("forward", "library_refused", 3,
         "nor was there memory for the call as made; a stream that was being captured can no longer be captured")}


@pytest.mark.parametrize("emulation", EMULATIONS)
@pytest.mark.parametrize("strict", STRICT)
def test_float32_is_float32_against_emulation(strict, emulation):
    run_client("products", compute_capability="10.0", exact=True, expect="fp32", **STRICT[strict],
               **EMULATIONS[emulation])


@pytest.mark.parametrize("emulation", EMULATIONS)
def test_emulation_that_the_program_asked_for_is_named(emulation):
    result = run_client("products", precision="native", compute_capability="10.0", exact=True, assume=uses_what_it_may(),
                        **EMULATIONS[emulation])
    applied = {d["applied"] for d in result.decisions if d["function"] == "cublasGemmEx" and d["dtype"] == "float32"
               and d["reason"] != "no_product"}
    assert applied == {"bf16x9"}


def run_with_late_emulation(client, **settings):
    """The program sets the variable as by os.environ, after it has multiplied on the CPU but before it uses cuBLAS."""
    return run_client(client, compute_capability="10.0", exact=True,
                      libraries=[STAND_IN, shim.blas_directory("openblas")],
                      env={"CLIENT_LATE_ENVIRONMENT": "CUBLAS_EMULATE_SINGLE_PRECISION=1"}, **settings)


@pytest.mark.parametrize("client", ["products", "products_dlopen"])
@pytest.mark.parametrize("strict", STRICT)
def test_float32_is_float32_against_emulation_that_the_program_turns_on_late(strict, client):
    result = run_with_late_emulation(client, expect="fp32", only=BRIEFLY, **STRICT[strict])
    assert result.decisions[0]["device"] == "cpu"
    assert {d["applied"] for d in result.decisions[1:] if d["function"] == "cublasSgemm_v2"} == {"fp32"}


@pytest.mark.parametrize("client", ["products", "products_dlopen"])
def test_emulation_that_the_program_turns_on_late_is_named(client):
    result = run_with_late_emulation(client, precision="native", only="*/cublasSgemm_v2__float32")
    applied = {d["applied"] for d in result.decisions[1:] if d["reason"] != "no_product"}
    assert applied == {"bf16x9"}


@pytest.mark.parametrize("low", ["nothing", "tf32_mode", "everything"])
@pytest.mark.parametrize("strict", STRICT)
def test_emulation_is_no_matter_where_the_device_has_none(strict, low):
    run_client("products", compute_capability="9.0", exact=True, expect="fp32",
               env={"CUBLAS_EMULATE_SINGLE_PRECISION": "1"}, **STRICT[strict], **LOW_SETTINGS[low])


# Other devices and versions may answer otherwise than the one that was measured. Float32 must hold whatever they do.
@pytest.mark.parametrize("assumption", ASSUMED)
def test_float32_is_float32_under_every_assumption_about_cublas(assumption):
    for strict in STRICT.values():
        for low in ("nothing", "tf32_mode", "everything"):
            run_client("products", assume=assumption, exact=True, expect="fp32", only=BRIEFLY, **strict,
                       **LOW_SETTINGS[low])


@pytest.mark.parametrize("assumption", [row for row in ASSUMED if "bf16x9" in row.id or "emulat" in row.id])
def test_float32_is_float32_under_every_assumption_about_emulation(assumption):
    for strict in STRICT.values():
        for emulation in EMULATIONS.values():
            run_client("products", compute_capability="10.0", assume=assumption, exact=True, expect="fp32",
                       only=BRIEFLY, **strict, **emulation)


@pytest.mark.parametrize("assumption", ASSUMED)
@pytest.mark.parametrize("precision", ["native", "high", "medium"])
def test_no_product_runs_lower_than_its_decision_says_under_any_assumption(precision, assumption):
    for low in ("nothing", "everything"):
        run_client("products", precision=precision, assume=assumption, only=BRIEFLY,
                   expect=wished_format(precision, "9.0") if low == "nothing" else None,
                   **LOW_SETTINGS[low])
