"""Audits: the errors that are recorded are those of a product in float64, and the program gets what its policy decided."""

import json
import subprocess

import pytest

from shim import BUILD, LP64_BLAS, SYSTEM_PYTHON, audits_in, blas_library, client, has_module, need, run

COMMAND = BUILD / "bin/fp32shim"
METRICS = ("norm", "max", "mean", "component", "row", "column")


def policy(*settings, mode="emulate"):
    return "\n".join(["schema = 1", "[cpu]", f'mode = "{mode}"', "[audit]", *settings]) + "\n"


@pytest.fixture
def audited(tmp_path):
    """Runs a program and returns its result and the audits of its recording."""

    def run_audited(program, *arguments, **keywords):
        recording = tmp_path / "audited.fp32rec"
        recording.unlink(missing_ok=True)
        result = run(program, *arguments, log=recording, **keywords)
        return result, audits_in(recording)

    return run_audited


def keyed(audits):
    return {(audit["function"], audit["m"], audit["n"], audit["k"]): audit for audit in audits}


@pytest.mark.parametrize("tested, precision", [("tf32", "native"), ("tf32", "high"), ("bf16", "native"), ("bf16", "high")])
def test_errors_agree_with_float64_for_every_routine(audited, blas, tested, precision):
    more = ["batches"] if blas == "blis" else []
    result, audits = audited("audited_products.py", blas_library(blas), tested, *more, blas=blas, precision=precision,
                             policy=policy("sample = 1", f'against = "{tested}"'))
    expected = [json.loads(line) for line in result.stdout.splitlines()]
    found = keyed(audits)
    assert len(found) == len(expected) == 63 + 2 * len(more)
    for product in expected:
        audit = found[product["function"], *product["sizes"]]
        assert (audit["tested"], audit["reference"], audit["audits"]) == (tested, "fp32", 1)
        for metric in METRICS:
            assert audit[metric]["worst"] == pytest.approx(product[metric], rel=0.01), (product, metric)


def test_fp32_itself_is_audited_against_float64(audited):
    result, audits = audited("audited_products.py", blas_library("openblas"), "tf32", precision="high",
                             policy=policy("sample = 1", 'against = "fp64"'))
    expected = [json.loads(line) for line in result.stdout.splitlines()]
    found = keyed(audits)
    for product in expected:
        audit = found[product["function"], *product["sizes"]]
        assert (audit["tested"], audit["reference"]) == ("tf32", "fp64")
        for metric in METRICS:
            assert audit[metric]["worst"] == pytest.approx(product[metric], rel=0.01), (product, metric)
    _, audits = audited("audited_products.py", blas_library("openblas"), "tf32",
                        policy=policy("sample = 1", 'against = "fp64"', mode="off"))
    assert {audit["tested"] for audit in audits} == {"fp32"}
    assert all(0 < audit["norm"]["worst"] < 1e-6 for audit in audits)


FLOAT64_RULE = """
[[rule]]
name = "wide"
precision = "{}"
when = {{ dtype = ["float64", "complex128"] }}
"""


@pytest.mark.parametrize("tested", ["fp32", "tf32", "bf16"])
def test_errors_of_float64_products_agree_with_those_of_rounded_operands_for_every_routine(audited, blas, tested):
    result, audits = audited("audited_products.py", blas_library(blas), tested, "float64", blas=blas,
                             policy=policy("sample = 1", f'float64 = "{tested}"'))
    expected = [json.loads(line) for line in result.stdout.splitlines()]
    found = keyed(audits)
    assert len(expected) == 63
    for product in expected:
        audit = found[product["function"], *product["sizes"]]
        assert (audit["applied"], audit["tested"], audit["reference"], audit["audits"]) == ("fp64", tested, "fp64", 1)
        for metric in METRICS:
            assert audit[metric]["worst"] == pytest.approx(product[metric], rel=0.01), (product, metric)


def test_an_audit_by_the_routine_of_float32_includes_what_its_sums_lose(audited):
    program = """
import numpy as np
rng = np.random.default_rng(2)
a, b = rng.standard_normal((30, 20000)) + 10, rng.standard_normal((20000, 30)) + 10
exact, single = a @ b, (a.astype(np.float32) @ b.astype(np.float32)).astype(float)
print(np.linalg.norm(single - exact) / np.linalg.norm(exact))
"""
    result, audits = audited(SYSTEM_PYTHON, "-c", program, policy=policy("sample = 1", "float64 = 'sgemm'"))
    audit, = (audit for audit in audits if audit["tested"] == "sgemm")
    assert audit["reference"] == "fp64" and audit["norm"]["worst"] == pytest.approx(float(result.stdout), rel=1e-6)


@pytest.mark.parametrize("against", ["float64 = 'double_double'", ""])
def test_what_ran_of_float64_is_audited_against_more_digits_or_by_default_against_float64(audited, against):
    result, audits = audited("audited_products.py", blas_library("openblas"), "fp32", "float64",
                             policy=policy("sample = 1", against) + FLOAT64_RULE.format("fp32"))
    expected = [json.loads(line) for line in result.stdout.splitlines()]
    found = keyed(audits)
    for product in expected:
        audit = found[product["function"], *product["sizes"]]
        assert (audit["tested"], audit["reference"]) == ("fp32", "double_double" if against else "fp64")
        for metric in METRICS:
            assert audit[metric]["worst"] == pytest.approx(product[metric], rel=0.01), (product, metric)


def test_the_reference_of_float64_has_twice_its_digits(audited):
    result, audits = audited("exact_dot_products.py", policy=policy("sample = 1", "float64 = 'double_double'"))
    expected = {line.split()[0]: float(line.split()[1]) for line in result.stdout.splitlines()}
    assert len(expected) == 6 and len(audits) == 6
    for audit in audits:
        assert (audit["tested"], audit["reference"]) == ("fp64", "double_double")
        size = f"{audit['m']}x{audit['n']}x{audit['k']}"
        assert audit["norm"]["worst"] == pytest.approx(expected[size], rel=1e-6, abs=1e-30), size


@pytest.mark.parametrize("scale", ["1e140", "1e-200"])
def test_errors_of_very_large_and_small_float64_numbers_are_those_of_ordinary_ones(audited, scale):
    program = """
import sys, numpy as np
rng = np.random.default_rng(3)
a, b = rng.standard_normal((40, 30)), rng.standard_normal((30, 20))
a @ b
a[:, :25] @ (b[:25] * float(sys.argv[1]))
"""
    _, audits = audited(SYSTEM_PYTHON, "-c", program, scale, policy=policy("sample = 1", "float64 = 'double_double'"))
    ordinary, scaled = sorted(audits, key=lambda audit: -audit["k"])
    for metric in METRICS:
        assert 0 < scaled[metric]["worst"] < 1e-14 and 0 < ordinary[metric]["worst"] < 1e-14, metric


def test_what_lies_in_the_other_triangle_does_not_count(audited):
    program = """
import ctypes, sys, numpy as np
a, c = np.random.default_rng(3).standard_normal((30, 20)), np.full((30, 30), 1e300)
c[np.triu_indices(30)] = 0
address = lambda x: x.ctypes.data_as(ctypes.c_void_p)
ctypes.CDLL(sys.argv[1]).cblas_dsyrk(101, 121, 111, 30, 20, ctypes.c_double(1), address(a), 20, ctypes.c_double(0), address(c), 30)
"""
    _, (only,) = audited(SYSTEM_PYTHON, "-c", program, blas_library("openblas"),
                         policy=policy("sample = 1", "float64 = 'double_double'"))
    for metric in METRICS:
        assert 0 < only[metric]["worst"] < 1e-14, metric


def test_numbers_beyond_the_reference_of_float64_skip_the_audit_and_nothing_else(audited):
    program = "import numpy as np; a = np.full((9, 9), 1e150); a[0] = 1e-150; a @ a.T.copy()"
    _, (only,) = audited(SYSTEM_PYTHON, "-c", program, policy=policy("sample = 1", "float64 = 'double_double'"))
    assert (only["skipped"], only["audits"], only["bad_results"]) == (1, 0, 0)


def test_where_digits_of_terms_underflow_the_reference_of_float64_is_not_used(audited):
    program = """
import sys, numpy as np
from scipy.linalg.blas import dgemm
rng = np.random.default_rng(3)
small = float(sys.argv[1])
dgemm(float(sys.argv[2]), rng.standard_normal((9, 8)) * small, rng.standard_normal((8, 7)) * small)
"""
    need(has_module("scipy"), "the system's Python has no scipy")
    for small, alpha, is_skipped in (("1e-160", "1e140", 1), ("1e-155", "1", 1), ("1e-140", "1", 0), ("1", "1e-300", 1)):
        _, (only,) = audited(SYSTEM_PYTHON, "-c", program, small, alpha, policy=policy("sample = 1", "float64 = 'double_double'"))
        assert (only["skipped"], only["audits"]) == (is_skipped, 1 - is_skipped), (small, alpha)
        _, (only,) = audited(SYSTEM_PYTHON, "-c", program, small, alpha, policy=policy("sample = 1", "float64 = 'fp32'"))
        assert (only["fp32_error"] is None) == bool(is_skipped) and only["audits"] == 1, (small, alpha)


@pytest.mark.parametrize("letter", ["c", "z"])
def test_imaginary_parts_on_the_diagonal_of_a_hermitian_matrix_do_not_count(audited, letter):
    program = """
import ctypes, sys, numpy as np
rng = np.random.default_rng(3)
kind, real = {"c": (np.complex64, ctypes.c_float), "z": (np.complex128, ctypes.c_double)}[sys.argv[2]]
a, b, c = ((rng.standard_normal((30, 20)) + 1j * rng.standard_normal((30, 20))).astype(kind) for _ in range(3))
c, d = (np.full((30, 30), 5 + 7j, kind) for _ in range(2))
one = np.ones(1, kind)
address = lambda x: x.ctypes.data_as(ctypes.c_void_p)
blas = ctypes.CDLL(sys.argv[1])
getattr(blas, f"cblas_{sys.argv[2]}herk")(101, 121, 111, 30, 20, real(1), address(a), 20, real(1), address(c), 30)
getattr(blas, f"cblas_{sys.argv[2]}her2k")(101, 121, 111, 30, 20, address(one), address(a), 20, address(b), 20, real(1), address(d), 30)
"""
    for against in ("against = 'fp64'\nfloat64 = 'double_double'", "against = 'tf32'\nfloat64 = 'fp32'"):
        _, audits = audited(SYSTEM_PYTHON, "-c", program, blas_library("openblas"), letter, policy=policy("sample = 1", against))
        assert len(audits) == 2
        for audit in audits:
            own = audit["row"]["worst"] if "fp64" in against else audit["fp32_error"]
            assert 0 < own < {"c": 1e-6, "z": 1e-14}[letter], audit["function"]


def test_the_own_error_of_a_row_of_tiny_numbers_is_that_of_the_row(audited):
    program = """
import numpy as np
rng = np.random.default_rng(3)
a = rng.standard_normal((20, 30)) * np.exp2(np.linspace(0, -300, 20))[:, None]
a[3] *= 2.0**-520
a @ rng.standard_normal((30, 10))
"""
    _, (only,) = audited(SYSTEM_PYTHON, "-c", program, policy=policy("sample = 1", "float64 = 'fp32'"))
    assert only["row"]["worst"] == 1 and 0 < only["fp32_error"] < 1e-14 and only["tested_error"] == 1


def test_a_guard_judges_what_runs_whatever_else_is_to_be_audited(audited):
    for settings in ({}, {"FP32_MATMUL_AUDIT": "1,float64"}):
        result, _ = audited("graded_products.py", 20, 10, 5, env={"GRADED_TYPE": "float64", "FP32_MATMUL_WHERE": "python", **settings},
                            policy=GUARD + FLOAT64_RULE.format("tf32"))
        assert all(error < 1e-9 for _, error in errors_of(result)[21:]), settings
    result, _ = audited("graded_products.py", 20, 10, 5, policy=GUARD + 'against = "bf16"\n')
    assert all(error < 1e-2 for _, error in errors_of(result)[21:])


def test_asking_for_float64_is_enough_to_audit_it(audited):
    program = "import numpy as np; a = np.ones((9, 9))\nfor _ in range(6): a @ (a + 1)"
    _, (only,) = audited(SYSTEM_PYTHON, "-c", program, env={"FP32_MATMUL_AUDIT": "float64"})
    assert (only["tested"], only["audits"] >= 4) == ("fp32", True)


def test_float64_is_audited_only_where_a_rule_lowers_it_or_the_policy_asks(audited):
    program = "import numpy as np; a = np.ones((9, 9)); a @ (a + 1); (a @ a[:, :8].copy())"
    _, audits = audited(SYSTEM_PYTHON, "-c", program, policy=policy("sample = 1"))
    assert audits == []
    rule = FLOAT64_RULE.format("tf32").replace("when = {", "when = { n = 8,")
    _, audits = audited(SYSTEM_PYTHON, "-c", program, policy=policy("sample = 1") + rule)
    assert [(audit["n"], audit["tested"], audit["reference"]) for audit in audits] == [(8, "tf32", "fp64")]
    _, audits = audited(SYSTEM_PYTHON, "-c", program, env={"FP32_MATMUL_AUDIT": "1,float64"})
    assert {(audit["n"], audit["tested"]) for audit in audits} == {(8, "fp32"), (9, "fp32")}


def test_a_guard_pins_float64_products_to_float64(audited):
    result, audits = audited("graded_products.py", 20, 10, 5, env={"FP32_MATMUL_WHERE": "python", "GRADED_TYPE": "float64"},
                             policy=GUARD + FLOAT64_RULE.format("tf32"))
    errors = [error for _, error in errors_of(result)]
    assert all(1e-4 < error < 1e-2 for error in errors[:20]) and errors[20] > 1
    assert all(error < 1e-9 for error in errors[21:])
    (guarded,) = [audit for audit in audits if "graded_products.py" in audit["where"]]
    assert (guarded["applied"], guarded["calls"], guarded["beyond"]) == ("tf32", 21, 1)


@pytest.mark.parametrize("tolerance, least, most", [
    (5e-2, 1e-3, 5e-2),    # BF16
    (3e-3, 1e-4, 3e-3),    # TF32
    (1e-6, 1e-9, 1e-6),    # FP32
    (1e-12, 0, 1e-13),     # no format is good enough
])
def test_a_tolerance_for_float64_takes_the_cheapest_format_within_it(audited, tolerance, least, most):
    result, audits = audited("graded_products.py", 40, env={"GRADED_TYPE": "float64"},
                             policy=budget(tolerance) + 'when = { dtype = ["float64", "complex128"] }\n')
    errors = [error for _, error in errors_of(result)]
    assert len(errors) == 40 and all(least <= error < most for error in errors[12:])
    assert errors[0] < 1e-13  # until audits have judged
    assert {audit["reference"] for audit in audits} == {"fp64"} and audits[0]["tested"] == "bf16"


@pytest.mark.parametrize("precision", ["native", "high", "medium"])
def test_results_are_those_without_audits(blas, precision, tmp_path):
    for program in ("level3", "level3_extensions" if blas == "blis" else "cblas_product"):
        arguments = ["fp32"] if program.startswith("level3") else []
        plain = run(program, *arguments, blas=blas, precision=precision, policy=policy(), log=tmp_path / "plain.fp32rec")
        for against in ("tf32", "bf16", "fp64"):
            same = run(program, *arguments, blas=blas, precision=precision, log=tmp_path / "audited.fp32rec",
                       policy=policy("sample = 1", f'against = "{against}"'))
            assert same.stdout == plain.stdout and same.stderr == plain.stderr
            assert sum(audit["audits"] for audit in audits_in(tmp_path / "audited.fp32rec")) > 0
            (tmp_path / "audited.fp32rec").unlink()
        (tmp_path / "plain.fp32rec").unlink()


@pytest.mark.parametrize("float64", ["fp32", "bf16", "double_double"])
def test_results_of_float64_are_those_without_audits(blas, float64, tmp_path):
    plain = run("level3_float64", blas=blas, log=False)
    same = run("level3_float64", blas=blas, log=tmp_path / "a.fp32rec", policy=policy("sample = 1", f'float64 = "{float64}"'))
    assert (same.stdout, same.stderr) == (plain.stdout, plain.stderr)
    assert sum(audit["audits"] for audit in audits_in(tmp_path / "a.fp32rec")) > 250  # all but solves and empty products


GUARD = """schema = 1
default = "high"
[cpu]
mode = "emulate"
[audit]
sample = 1
metric = "row"
tolerance = 1e-2
action = "pin"
"""


def errors_of(result):
    return [(kind, float(error)) for kind, error in (line.split() for line in result.stdout.splitlines())]


def test_a_group_that_turns_bad_is_pinned_from_its_next_call_on(audited):
    result, audits = audited("graded_products.py", 20, 10, 5, policy=GUARD, env={"FP32_MATMUL_WHERE": "python"})
    errors = errors_of(result)
    good, first_bad, later, good_again = errors[:20], errors[20], errors[21:30], errors[30:]
    assert all(1e-4 < error < 1e-2 for _, error in good)  # TF32 has such errors
    assert first_bad[0] == "bad" and first_bad[1] > 1
    fp32 = errors_of(run("graded_products.py", 20, 10, 5, policy="schema = 1\n", log=False))
    assert later == fp32[21:30] and good_again == fp32[30:]
    assert {audit["applied"] for audit in audits} == {"tf32", "fp32"}
    (before,) = [audit for audit in audits if audit["applied"] == "tf32"]
    (after,) = [audit for audit in audits if audit["applied"] == "fp32"]
    assert (before["calls"], before["beyond"], before["audits"]) == (21, 1, 21)
    assert (after["calls"], after["reason"], after["source"]) == (14, "pinned", "guard_pin")
    assert "graded_products.py" in before["where"]


def test_without_pin_the_same_group_goes_on(audited):
    result, audits = audited("graded_products.py", 20, 10, policy=GUARD.replace('"pin"', '"log"'))
    assert all(error > 1 for kind, error in errors_of(result) if kind == "bad")
    (only,) = audits
    assert (only["calls"], only["beyond"], only["reason"]) == (30, 10, "as_requested")


def test_the_guard_needs_no_recording():
    guarded = errors_of(run("graded_products.py", 20, 10, policy=GUARD, log=False))
    assert guarded[20][1] > 1 and all(error < 1e-2 for _, error in guarded[21:])


def budget(tolerance, metric="row", more=""):
    return f"""schema = 1
[cpu]
mode = "emulate"
{more}
[[rule]]
name = "as cheap as it may be"
precision = {{ tolerance = {tolerance}, metric = "{metric}" }}
"""


@pytest.mark.parametrize("tolerance, applied", [(5e-2, "bf16"), (3e-3, "tf32"), (1e-5, "fp32")])
def test_a_tolerance_takes_the_cheapest_format_that_audits_have_kept_within_it(audited, tolerance, applied):
    result, audits = audited("graded_products.py", 40, policy=budget(tolerance))
    reasons = {(audit["applied"], audit["reason"]): audit["calls"] for audit in audits}
    # Each format that is tried gets four audits. Then the cheapest format that is good enough is used.
    tried = {"bf16": 4, "tf32": 5, "fp32": 2}[applied]
    reason = "as_requested" if applied == "bf16" else "over_tolerance"
    assert reasons["fp32", "learning"] == tried
    errors = [error for _, error in errors_of(result)]
    fp32 = [error for _, error in errors_of(run("graded_products.py", 40, policy="schema = 1\n", log=False))]
    assert errors[:tried] == fp32[:tried]
    if applied == "fp32":
        assert errors == fp32
    else:
        assert all(2e-4 < error < tolerance for error in errors[tried:])
        assert reasons.get((applied, reason), 0) in (0, 40 - tried)  # 0 if none of these calls was sampled


def test_by_the_whole_a_program_that_turns_bad_in_a_row_keeps_bf16_at_one_percent(audited):
    result, audits = audited("graded_products.py", 20, 10, policy=budget(1e-2, "norm", more="[audit]\nsample = 1"))
    assert {(audit["applied"], audit["reason"]): audit["calls"] for audit in audits} == \
        {("fp32", "learning"): 4, ("bf16", "as_requested"): 26}
    assert all(error > 1 for _, error in errors_of(result)[20:])


def test_an_audit_beyond_the_tolerance_ends_a_cheaper_format(audited):
    result, audits = audited("graded_products.py", 20, 10, policy=budget(5e-2, more="[audit]\nsample = 1"))
    errors = [error for _, error in errors_of(result)]
    assert all(1e-3 < error < 5e-2 for error in errors[4:20])  # BF16 has such errors
    assert errors[20] > 1
    # TF32 has no audits yet. It needs four good ones, and does not get them.
    assert all(error < 1e-2 for error in errors[21:])
    assert {audit["reason"] for audit in audits} == {"learning", "as_requested", "over_tolerance"}


def test_a_floor_holds_for_tolerances(audited):
    _, audits = audited("graded_products.py", 20, policy=budget(5e-2, more='[audit]\nsample = 1\n[limits]\nfloor = "tf32"'))
    assert {audit["applied"] for audit in audits} == {"fp32", "tf32"}


def test_a_tolerance_needs_a_number():
    result = run("graded_products.py", 1, policy='schema = 1\n[[rule]]\nprecision = { metric = "row" }\n', log=False)
    assert "precision has no tolerance; write precision = { tolerance = 1e-3 }" in result.stderr


def test_the_report_begins_with_the_largest_error(tmp_path):
    recording = tmp_path / "run.fp32rec"
    run("graded_products.py", 5, 5, policy=policy("sample = 1"), log=recording, env={"FP32_MATMUL_WHERE": "python"})
    text = subprocess.run([COMMAND, "report", recording], capture_output=True, text=True, check=True).stdout
    head, row = text.split("Audits: the largest errors\n")[1].splitlines()[:2]
    assert head.split() == ["function", "size", "where", "ran", "at", "compared", "audits", "calls", "beyond", "of", "calls,",
                            "up", "to", "norm", "row", "or", "column", "own", "error", "component", "cancellation"]
    assert "graded_products.py" in row and " tf32 with fp32 " in row


def test_operands_with_nan_or_infinity_are_said_and_are_no_error(audited):
    result, audits = audited("nonfinite_products.py", policy=policy("sample = 1"))
    operands, overflow = audits
    assert (operands["audits"], operands["bad_operands"], operands["bad_results"]) == (0, 2, 0)
    assert operands["norm"]["worst"] == 0
    # 2e38 + 2e38 is infinite in FP32 as in TF32, so this is no error of the format.
    assert (overflow["audits"], overflow["bad_results"], overflow["norm"]["worst"]) == (1, 1, 0)


def test_an_audit_without_memory_is_skipped_and_counted(audited):
    result, audits = audited("big_product.py", policy=policy("sample = 1", 'against = "tf32"'), timeout=600)
    (only,) = audits
    assert (only["audits"], only["skipped"]) == (0, 1)
    assert result.stdout == "as it should be\n"


@pytest.mark.parametrize("words", [["small_stack", "LIBRARY", "direct", "16384"], ["forks", "busy"], ["forks", "inside"]])
def test_small_stacks_and_forked_children_are_audited_without_harm(words, tmp_path):
    words = [client("libfake_b.so") if word == "LIBRARY" else word for word in words]
    settings = {"policy": GUARD.replace("1e-2", "1e-9") + '[log]\nwhere = "auto"\n', "blas": None}
    audited = run(*words, log=tmp_path / "%p.fp32rec", timeout=600, **settings)
    assert audited.stderr == ""
    assert list(tmp_path.glob("*.fp32rec"))


def test_a_group_of_nan_is_not_audited_at_every_call(audited):
    _, audits = audited("nan_products.py", policy=budget(5e-2))
    (only,) = audits
    assert (only["calls"], only["reason"], only["audits"]) == (200, "learning", 0)
    assert 16 <= only["bad_operands"] < 30


TRAPS = """
import ctypes, numpy
a, b = numpy.eye(8, dtype=numpy.float32), numpy.eye(8, dtype=numpy.float32)
a[0, 0] = numpy.finfo(numpy.float32).max  # infinite at TF32, and there 0 times it is NaN
# The sum is 1e-44, but at TF32 -2**-12: an error of 1e40, which is no float.
cancels = numpy.array([[1 + 2**-12, -1, -2**-12, 1e-44]] * 2, numpy.float32), numpy.ones((4, 2), numpy.float32)
libm = ctypes.CDLL("libm.so.6")
libm.feclearexcept(0x3d)
libm.feenableexcept(0x0d)  # invalid, division by zero, overflow
a @ b
cancels[0] @ cancels[1]
print(libm.fedisableexcept(0x3d), libm.fetestexcept(0x3d))
"""


@pytest.mark.parametrize("words", ["1", "1,fingerprint,nonfinite"])
def test_what_an_audit_computes_neither_traps_nor_leaves_a_flag(audited, words, tmp_path):
    need(has_module("numpy"), "the system's Python has no numpy")
    (tmp_path / "traps.py").write_text(TRAPS)
    looked_at, audits = audited(SYSTEM_PYTHON, tmp_path / "traps.py", blas="reference", env={"FP32_MATMUL_AUDIT": words})
    assert looked_at.stdout == run(SYSTEM_PYTHON, tmp_path / "traps.py", blas="reference", preload=False).stdout == "13 0\n"
    assert len(audits) == 2 and max(audit["row"]["worst"] or 0 for audit in audits) > 1e39


@pytest.mark.parametrize("blas", LP64_BLAS)
def test_memory_that_a_routine_does_not_read_is_no_bad_operand(audited, blas):
    _, (only,) = audited("odd_operands.py", blas_library(blas), "unit_diagonal", blas=blas, policy=policy("sample = 1"))
    assert (only["audits"], only["bad_operands"], only["bad_results"]) == (1, 0, 0)
    assert 0 < only["component"]["worst"] < 2**-10 and only["exponents"]["a"][1] < 4


def test_a_bad_alpha_or_beta_is_a_bad_operand(audited):
    _, audits = audited("odd_operands.py", blas_library("openblas"), "nan_scalars", policy=policy("sample = 1"))
    assert [(audit["audits"], audit["bad_operands"], audit["bad_results"]) for audit in audits] == [(0, 1, 0)] * 2


@pytest.mark.parametrize("case", ["overflow", "subnormal"])
@pytest.mark.parametrize("blas", LP64_BLAS)
def test_component_is_right_where_the_sizes_of_terms_overflow_or_operands_are_subnormal(audited, blas, case):
    result, audits = audited("odd_operands.py", blas_library(blas), case, blas=blas, policy=policy("sample = 1"))
    expected = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(audits) == len(expected) and {audit["bad_operands"] for audit in audits} == {0}
    for product, audit in zip(expected, sorted(audits, key=lambda audit: audit["n"])):
        assert audit["component"]["worst"] == pytest.approx(product["component"], rel=0.01), product
    if case == "subnormal":
        assert audits[0]["component"]["worst"] > 0.01 and audits[0]["exponents"]["a"][0] < -126
    else:
        assert all(0 < audit["component"]["worst"] < 2**-10 for audit in audits)


def test_a_result_that_is_noise_in_fp32_is_marked(audited):
    _, audits = audited("noise_and_drift.py", "noise", policy=policy("sample = 1"))
    noisy = max(audits, key=lambda audit: audit["calls"])
    assert (noisy["audits"], noisy["noise"]) == (6, 6) and noisy["cancellation"] > 2**18
    assert noisy["norm"]["worst"] > 10 and noisy["fp32_error"] > 0.5 and noisy["beyond"] == 0
    _, audits = audited("noise_and_drift.py", "noise", policy=GUARD)
    assert {audit["reason"] for audit in audits if audit["calls"] == 6} == {"as_requested"}


def test_exact_zeros_are_no_noise(audited):
    _, audits = audited("noise_and_drift.py", "exact_zeros", policy=policy("sample = 1"))
    assert max(audit["calls"] for audit in audits) == 6 and {audit["noise"] for audit in audits} == {0}


def test_fp32s_own_error_and_that_of_the_format_are_those_against_float64(audited):
    _, (only,) = audited("graded_products.py", 0, 6, policy=policy("sample = 1"))
    assert 0 < only["fp32_error"] < 1e-2 < only["tested_error"] and only["noise"] == 0
    assert only["tested_error"] == pytest.approx(max(only["row"]["worst"], only["column"]["worst"]), rel=0.05)


def test_the_first_calls_of_a_group_do_not_stand_for_the_others(audited):
    _, audits = audited("noise_and_drift.py", "drift", policy=policy("sample = 0.3"), env={"FP32_MATMUL_WHERE": "python"})
    (group,) = [audit for audit in audits if audit["calls"] == 400]
    assert (group["early_audits"], group["early_beyond"], group["beyond"]) == (4, 4, 4)
    assert 60 < group["audits"] < 200 and group["row"]["estimated_mean"] < group["row"]["mean"] / 2
    # 4 of the 4 early ones, and at most 3 / (number of drawn ones) of the 396 others.
    drawn = group["audits"] - 4
    assert group["beyond_at_most"] == pytest.approx((4 + 396 * (1 - 0.05 ** (1 / drawn))) / 400, rel=1e-6)


def test_without_a_drawn_call_no_mean_and_no_bound_is_claimed(audited):
    _, audits = audited("noise_and_drift.py", "drift", policy=policy("sample = 1e-9"))
    (group,) = [audit for audit in audits if audit["calls"] == 400]
    assert (group["audits"], group["early_audits"], group["beyond_at_most"]) == (4, 4, 1)
    assert group["row"]["estimated_mean"] is None
