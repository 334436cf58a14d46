"""How many bits emulated products of float64 keep: audits ask cuBLAS, rules say it, verify judges by it; and how far products
of float64 are from FP64 and from twice the digits. The program's own settings, its own address for the number and its results
stay its own."""

import json
import shutil
import subprocess

import pytest

import shim
from cublas import STAND_IN, recorded, run_script

SCRIPT = "emulated_cublas_products.py"
AUDITED = "schema = 1\n[audit]\nsample = 1\n"
RULE = """[[rule]]
name = "few bits"
precision = "fp64_emulated"
mantissa_bits = 40
when = {{ dtype = ["float64", "complex128"]{} }}
"""
FEW_BITS = AUDITED + RULE.format("")
KEPT = 47  # bits that the stand-in keeps if it is asked for 40, because its fixed-point numbers have whole bytes

EMULATED, NATIVE, NOT_TOLD = ("fp64_emulated", 55), ("fp64", None), (None, None)
# The exponents of the operands differ so that more bits are needed, or more than cuBLAS has.
STEPS = {"Dgemm:0": EMULATED, "Zgemm:0": EMULATED, "Dgemm:10": ("fp64_emulated", 63), "Dgemm:40": NATIVE,
         "Dsyrk:0": NOT_TOLD, "Lt:0": EMULATED, "Lt:40": NATIVE,
         "LtFound:0": EMULATED, "LtOwn:0": ("fp64_emulated", 31), "native:0": NOT_TOLD}


def lines_of(result):
    *products, settings = [json.loads(line) for line in result.stdout.splitlines()]
    return products, settings


def run(tmp_path, *steps, policy=AUDITED, **keywords):
    """Returns what the program printed, and the rows of its recording."""
    log = tmp_path / "run.fp32rec"
    log.unlink(missing_ok=True)
    result = run_script(SCRIPT, *steps, policy=policy, log=log, **keywords)
    assert result.stderr == ""
    return result.stdout, recorded(log)


def outcomes(rows):
    """Returns the number of calls with each outcome."""
    counts = {}
    for row in rows:
        key = (row["function"], row["applied"], row["actual"], row["mantissa_bits"])
        counts[key] = counts.get(key, 0) + row["calls"]
    return counts


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("own", [[], ["own"]], ids=["no address", "own address"])
def test_an_audit_records_the_bits_that_a_product_kept_or_that_it_was_not_emulated(tmp_path, step, own):
    plain = run_script(SCRIPT, *own, step, step, preload=False).stdout
    printed, (row,) = run(tmp_path, *own, step, step)
    assert printed == plain  # results, the number at the program's address, and its settings
    assert (row["applied"], row["calls"]) == ("fp64" if step == "native:0" else "fp64_emulated", 2)
    assert (row["actual"], row["mantissa_bits"]) == STEPS[step]


def test_the_number_of_an_earlier_product_is_not_taken_for_that_of_one_which_tells_none(tmp_path):
    _, rows = run(tmp_path, "own", "Dgemm:10", "Dsyrk:0")
    assert outcomes(rows) == {("cublasDgemm_v2", "fp64_emulated", "fp64_emulated", 63): 1,
                              ("cublasDsyrk_v2", "fp64_emulated", None, None): 1}


WIDER = AUDITED + 'float64 = "double_double"\n'


@pytest.mark.parametrize("policy, own, reference", [(AUDITED, ["own", "fixed:30"], "fp64"), (WIDER, ["own"], "double_double"),
                                                    (WIDER, ["fixed:30"], "double_double")])
@pytest.mark.parametrize("step", ["Dgemm:0", "Zgemm:0", "Lt:0", "LtFound:0", "LtOwn:0", "native:0"])
def test_the_errors_of_a_product_of_float64_are_those_of_exact_fractions(tmp_path, policy, own, reference, step):
    (product,), settings = lines_of(run_script(SCRIPT, "errors", *own, step, preload=False))
    printed, _ = run(tmp_path, *own, step, policy=policy)
    # Also the number at the program's address, where the audit's own products do not write.
    assert printed == "".join(json.dumps(line) + "\n" for line in (product[:3], settings))
    tested = "fp64" if step == "native:0" else "fp64_emulated"
    audits = shim.audits_in(tmp_path / "run.fp32rec")
    if (tested, reference) == ("fp64", "fp64"):
        assert audits == []
        return
    (audit,) = audits
    assert (audit["tested"], audit["reference"], audit["audits"]) == (tested, reference, 1)
    for metric, error in zip(("norm", "component"), product[3:], strict=True):
        # FP64 itself is not exact, and cublasLt does not know the handle's 30 bits.
        assert audit[metric]["worst"] == pytest.approx(error, rel=0.01, abs=3e-16 if reference == "fp64" else 0)


@pytest.mark.parametrize("step", ["Dgemm:40", "Lt:40"])
def test_the_audit_of_a_product_that_cublas_did_not_emulate_is_one_of_fp64(tmp_path, step):
    run(tmp_path, step, policy=WIDER)
    (audit,) = shim.audits_in(tmp_path / "run.fp32rec")
    assert (audit["tested"], audit["reference"], audit["audits"]) == ("fp64", "double_double", 1)
    run(tmp_path, step)
    assert shim.audits_in(tmp_path / "run.fp32rec") == []  # FP64 would be compared with itself


def test_functions_without_a_compute_type_are_compared_in_another_mode(tmp_path):
    run(tmp_path, "Dsyrk:0", policy=WIDER)
    (audit,) = shim.audits_in(tmp_path / "run.fp32rec")
    assert (audit["tested"], audit["reference"]) == ("fp64_emulated", "double_double") and 0 < audit["norm"]["worst"] < 1e-15


def test_an_audit_that_leaves_the_range_of_its_reference_is_skipped(tmp_path):
    run(tmp_path, "Dgemm:1000", policy=WIDER)
    (audit,) = shim.audits_in(tmp_path / "run.fp32rec")
    assert (audit["audits"], audit["skipped"]) == (0, 1)


def test_only_audited_calls_are_counted(tmp_path):
    _, rows = run(tmp_path, *["Dgemm:0"] * 10, policy="schema = 1\n[audit]\nsample = 1e-9\n")
    early = 4
    assert {(row["mantissa_bits"], row["calls"]) for row in rows} == {(55, early), (None, 10 - early)}
    _, (row,) = run(tmp_path, *["Dgemm:0"] * 10, policy="schema = 1\n")
    assert (row["mantissa_bits"], row["calls"]) == (None, 10)


def test_a_captured_product_is_left_alone_and_its_graph_runs(tmp_path):
    plain = run_script(SCRIPT, "own", "Dgemm:0", "captured:10", "Dgemm:0", preload=False).stdout
    printed, rows = run(tmp_path, "own", "Dgemm:0", "captured:10", "Dgemm:0")
    assert printed == plain and '"captured:10"' in plain and ", 63]" in plain
    assert {(row["mantissa_bits"], row["calls"]) for row in rows} == {(55, 2), (None, 1)}


def test_threads_share_a_handle(tmp_path):
    for policy, bits in ((AUDITED, 55), (FEW_BITS, KEPT)):
        printed, (row,) = run(tmp_path, "own", "threads:4", policy=policy)
        ((_, count, results),), settings = lines_of(run_script(SCRIPT, "own", "threads:4", policy=policy, log=False))
        assert (count, len(results)) == (20, 1) and settings == {"is_own": True, "control": 0, "most": 0, "offset": 0}
        assert (row["calls"], row["mantissa_bits"]) == (20, bits)


@pytest.mark.parametrize("own, left", [([], (0, 0, 0)), (["fixed:30"], (1, 30, 0)), (["offset:8"], (0, 0, 8))])
@pytest.mark.parametrize("step", ["Dgemm:0", "native:0", "Zgemm:0", "Lt:0", "LtFound:0", "LtOwn:0", "Dgemm:40"])
def test_a_rule_sets_the_number_of_bits_and_the_program_finds_its_own_settings(tmp_path, step, own, left):
    plain, _ = lines_of(run_script(SCRIPT, "own", *own, step, preload=False))
    printed, (row,) = run(tmp_path, "own", *own, step, policy=FEW_BITS)
    (found,), settings = [json.loads(printed.splitlines()[0])], json.loads(printed.splitlines()[1])
    assert (row["applied"], row["reason"], row["detail"]) == ("fp64_emulated", "as_requested", None)
    assert (row["actual"], row["mantissa_bits"]) == ("fp64_emulated", KEPT)
    assert found[1] != plain[0][1]  # the result has so many bits
    assert settings == {"is_own": True, **dict(zip(("control", "most", "offset"), left, strict=True))}
    if step in ("Dgemm:0", "LtOwn:0"):
        assert found[2] == KEPT  # the program's own address has it too


def test_a_rule_without_audits_sets_the_bits_and_records_none(tmp_path):
    with_audits, _ = run(tmp_path, "Dgemm:0", "Lt:0", policy=FEW_BITS)
    without, rows = run(tmp_path, "Dgemm:0", "Lt:0", policy="schema = 1\n" + RULE.format(""))
    assert without == with_audits
    assert {(row["applied"], row["mantissa_bits"]) for row in rows} == {("fp64_emulated", None)}


@pytest.fixture
def older_libraries(tmp_path):
    """A copy of the stand-in in which the functions for bits have other names, so that they are not found."""
    folder = tmp_path / "older"
    shutil.copytree(STAND_IN, folder, symlinks=True)
    for library in folder.glob("lib*.so*"):
        if not library.is_symlink():
            library.write_bytes(library.read_bytes().replace(b"FixedPointEmulation", b"FixedPointUnavailab")
                                .replace(b"EmulationDescGetAttribute", b"EmulationDescGetUnavailab"))
    return folder


def test_a_library_without_these_functions_is_asked_nothing(tmp_path, older_libraries):
    older = {"env": {"LD_LIBRARY_PATH": str(older_libraries)}}
    steps = ["Dgemm:0", "Lt:0"]
    plain = run_script(SCRIPT, *steps, preload=False, **older).stdout
    assert plain.endswith("{}\n")
    printed, rows = run(tmp_path, *steps, **older)
    assert printed == plain and {(row["actual"], row["mantissa_bits"]) for row in rows} == {NOT_TOLD}
    printed, rows = run(tmp_path, *steps, policy=FEW_BITS, **older)
    assert printed == plain and {row["detail"] for row in rows} == {"cuBLAS did not take the rule's mantissa_bits"}


@pytest.mark.parametrize("text, message", [
    ('precision = "fp64_emulated"\nmantissa_bits = 0', "mantissa_bits: found 0; allowed: a whole number from 1 to 127"),
    ('precision = "fp64_emulated"\nmantissa_bits = 128', "found 128"),
    ('precision = "fp64_emulated"\nmantissa_bits = "40"', 'found "40"'),
    ('precision = "fp64"\nmantissa_bits = 40', 'only a rule with precision = "fp64_emulated" may have it')])
def test_a_wrong_number_of_bits_is_named(tmp_path, text, message):
    policy = tmp_path / "policy.toml"
    policy.write_text(f'schema = 1\n[[rule]]\n{text}\nwhen = {{ dtype = "float64" }}\n')
    result = command("check", policy)
    assert result.returncode == 1 and message in result.stdout + result.stderr


# ---- the command


def command(*words):
    return subprocess.run([shim.BUILD / "bin/fp32shim", *words], text=True, capture_output=True, check=False)


def verify(tmp_path, *steps, policy, at_least="fp64"):
    run(tmp_path, *steps, policy=policy)
    log = tmp_path / "run.fp32rec"
    done = command("verify", "--at-least", at_least, "--format", "json", "--assume-unused", "Zgemv", log)
    found = json.loads(done.stdout)
    doubts = [doubt["reason"] for doubt in found["doubts"] if "cuBLAS" in doubt["reason"]]
    return found, doubts


def test_verify_counts_products_with_the_bits_of_float64_as_shown(tmp_path):
    steps = ["Dgemm:0", "Dgemm:10", "Dgemm:10", "Dgemm:40", "native:0"]
    found, doubts = verify(tmp_path, *steps, policy=AUDITED)
    assert (found["violations"], found["calls_shown"], doubts) == ([], 5, [])
    assert "; at least 53 bits in 3 of 3 emulated products" in found["summary"]
    assert [found[f"emulated_calls{of}"] for of in ("", "_of_53_bits", "_of_unknown_bits")] == [3, 3, 0]


def test_verify_says_of_how_many_products_the_bits_are_known(tmp_path):
    found, doubts = verify(tmp_path, *["Dgemm:0"] * 6, "Dgemm:40", policy="schema = 1\n[audit]\nsample = 1e-9\n")
    assert (found["verdict"], found["violations"], found["calls_shown"]) == ("inconclusive", [], 4)
    assert "; at least 53 bits in 4 of 7 products that cuBLAS may have emulated" in found["summary"]
    assert doubts[-1].startswith("how many bits cuBLAS kept is known of 4 of 7 products that it may have emulated: audits")


@pytest.mark.parametrize("at_least", ["fp64", "fp32"])
def test_verify_names_products_with_fewer_bits_than_float64(tmp_path, at_least):
    found, doubts = verify(tmp_path, "Dgemm:0", "Dgemm:0", policy=FEW_BITS, at_least=at_least)
    assert "; at least 53 bits in 0 of 2 emulated products." in found["summary"] and found["calls_shown"] == 0
    if at_least == "fp64":
        (violation,) = found["violations"]
        assert (found["verdict"], violation["mantissa_bits"], violation["calls"], doubts) == ("violated", KEPT, 2, [])
    else:
        assert (found["verdict"], found["violations"]) == ("inconclusive", [])
        assert "with 47 bits of fixed-point numbers, which no lower format can be compared with" in doubts[0]


def test_report_has_a_column_of_bits_where_a_row_has_some(tmp_path):
    def table(policy):
        run(tmp_path, "Dgemm:0", policy=policy)
        return command("report", tmp_path / "run.fp32rec").stdout

    head = next(line for line in table(AUDITED).splitlines() if "ran at" in line and "function" in line)
    assert head.split()[-2:] == ["bits", "reason"]
    assert " bits " not in table("schema = 1\n")


def test_explain_tells_the_number_of_bits_that_a_rule_sets(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text("schema = 1\n" + RULE.format(""))
    result = command("explain", "--policy", policy, "--function", "cublasDgemm_v2", "--compute-capability", "9.0")
    assert "it is to keep 40 bits" in result.stdout, result.stdout + result.stderr
