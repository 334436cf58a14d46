"""Audits of products on a GPU: the errors that are recorded are those of a product in float64, the program gets what its
policy decided, and nothing waits or allocates where it must not."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from cublas import run_client, run_script
from shim import audits_in

METRICS = ("norm", "max", "mean", "component", "row", "column")
BY_MODE = ("symm", "hemm", "syrk", "herk", "syr2k", "her2k", "trmm", "herkx", "gemm3m")


# A cuBLAS that uses BF16 where it is permitted. The cuBLAS that was measured uses TF32 instead.
USES_BF16 = {"STAND_IN_ASSUME": "fast_16bf=bf16"}


def policy(*settings):
    return "\n".join(["schema = 1", "[audit]", *settings]) + "\n"


@pytest.fixture
def audited(tmp_path):
    """Runs a script and returns its result and the audits of its recording."""
    def run_audited(name, *arguments, **keywords):
        recording = tmp_path / "audited.fp32rec"
        recording.unlink(missing_ok=True)
        result = run_script(name, *arguments, log=recording, **keywords)
        assert result.stderr == ""
        return result, audits_in(recording)

    return run_audited


def expected_of(result):
    """Returns the lines of audited_cublas_products.py, and the hash of its results."""
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return lines[:-1], lines[-1]["results"]


def keyed(audits):
    return {(audit["function"], audit["m"], audit["n"], audit["k"]): audit for audit in audits}


def is_by_mode(function):
    return any(part in function for part in BY_MODE)


def has_float32_only(function):
    return is_by_mode(function) and "gemm3m" not in function


def stays_float32(function):
    """Tells if the function runs at float32 under `high`."""
    return function == "cublasSgemmBatched" or has_float32_only(function)


def check_errors(audits, expected, tested, reference="fp32"):
    found = keyed(audits)
    assert len(found) == len(expected)
    for product in expected:
        audit = found[product["function"], *product["sizes"]]
        assert (audit["tested"], audit["reference"], audit["audits"]) == (tested, reference, 1)
        for metric in METRICS:
            assert audit[metric]["worst"] == pytest.approx(product[metric], rel=0.01), (product, metric)


# ---- errors


@pytest.mark.parametrize("scalars", ["host", "device"])
@pytest.mark.parametrize("precision", ["native", "high"])
def test_errors_agree_with_float64_for_every_function(audited, precision, scalars):
    result, audits = audited("audited_cublas_products.py", "tf32", "all", scalars, precision=precision,
                             policy=policy("sample = 1", 'against = "tf32"'))
    expected, _ = expected_of(result)
    assert len(expected) == 80
    in_float32 = [audit for audit in audits if has_float32_only(audit["function"])]
    assert {(audit["audits"], audit["skipped"]) for audit in in_float32} == {(0, 1)} and len(in_float32) > 40
    check_errors([audit for audit in audits if audit not in in_float32],
                 [product for product in expected if not has_float32_only(product["function"])], "tf32")


@pytest.mark.parametrize("precision", ["native", "medium"])
def test_bf16_is_tested_where_a_function_has_it_and_skipped_elsewhere(audited, precision):
    result, audits = audited("audited_cublas_products.py", "bf16", "all", precision=precision, env=USES_BF16,
                             policy=policy("sample = 1", 'against = "bf16"'))
    expected, _ = expected_of(result)
    by_mode = [audit for audit in audits if is_by_mode(audit["function"])]
    assert len(by_mode) > 40
    assert {(audit["audits"], audit["skipped"], audit["norm"]["worst"]) for audit in by_mode} == {(0, 1, 0)}
    check_errors([audit for audit in audits if audit not in by_mode],
                 [product for product in expected if not is_by_mode(product["function"])], "bf16")


def test_what_ran_is_audited_against_float64(audited):
    result, audits = audited("audited_cublas_products.py", "tf32", "all", precision="high",
                             policy=policy("sample = 1", 'against = "fp64"'))
    # The policy lowers no arrays of pointers, whose alignment is unknown, and no functions that have float32 only.
    in_float32 = [audit for audit in audits if stays_float32(audit["function"])]
    assert {audit["tested"] for audit in in_float32} == {"fp32"} and len(in_float32) > 40
    assert all(0 < audit["norm"]["worst"] < 1e-6 for audit in in_float32)
    # The epilogue that cublasLt adds to a product is not computed in float64, so these audits are skipped.
    skipped = [audit for audit in audits if audit["skipped"]]
    assert [audit["function"] for audit in skipped] == ["cublasLtMatmul"] * 2
    expected, _ = expected_of(result)
    check_errors([audit for audit in audits if audit not in in_float32 + skipped],
                 [product for product in expected
                  if not stays_float32(product["function"]) and not product.get("epilogue")], "tf32", "fp64")


def test_bf16x9_is_tested_on_the_gpus_that_have_it(audited):
    for compute_capability, tally in (("10.0", (1, 0)), ("9.0", (0, 1))):
        _, audits = audited("audited_cublas_products.py", "tf32", "gemm", compute_capability=compute_capability,
                            policy=policy("sample = 1", 'against = "bf16x9"'))
        assert {(audit["tested"], audit["audits"], audit["skipped"]) for audit in audits} == {("bf16x9", *tally)}
        assert all(audit["norm"]["worst"] < 1e-6 for audit in audits)


@pytest.mark.parametrize("settings", [{"compute_capability": "7.5"}, {"env": {"NVIDIA_TF32_OVERRIDE": "0"}},
                                      {"policy": policy("sample = 1", 'against = "tf32x3"')}],
                         ids=["7.5", "override", "no GPU has it"])
def test_a_format_that_the_gpu_lacks_is_skipped_and_never_an_error_of_zero(audited, settings):
    _, audits = audited("audited_cublas_products.py", "tf32", "all", precision="high",
                        **{"policy": policy("sample = 1", 'against = "tf32"'), **settings})
    assert {(audit["audits"], audit["skipped"]) for audit in audits} == {(0, 1)}


# ---- the program's own product


@pytest.mark.parametrize("precision, scalars", [("native", "host"), ("high", "device"), ("medium", "host")])
def test_results_are_those_without_audits(precision, scalars, tmp_path):
    plain = run_script("audited_cublas_products.py", "tf32", "all", scalars, precision=precision,
                       log=tmp_path / "plain.fp32rec")
    for against in ("tf32", "fp64"):
        same = run_script("audited_cublas_products.py", "tf32", "all", scalars, precision=precision,
                          log=tmp_path / "audited.fp32rec", policy=policy("sample = 1", f'against = "{against}"'))
        assert same.stdout == plain.stdout and same.stderr == plain.stderr
        assert len(audits_in(tmp_path / "audited.fp32rec")) > 10
        (tmp_path / "audited.fp32rec").unlink()


# An audit with a guard needs no recording, so the clients can read the log of decisions.
EVERY_CALL = policy("sample = 1", "tolerance = 1e30", 'action = "pin"')


SETTINGS = {"native": ("7.5", None), "high": ("9.0", "tf32"), "medium": ("10.0", "bf16")}


@pytest.mark.parametrize("client, precision", [*(("products", precision) for precision in SETTINGS), ("lt", "high"), ("lt", "medium"),
                                               ("products_dlopen", "high"), ("handles", "medium")])
def test_programs_see_what_they_see_without_audits(client, precision):
    compute_capability, expect = SETTINGS[precision]
    settings = {"precision": precision, "compute_capability": compute_capability, "expect": expect, "exact": True}
    plain = run_client(client, **settings)
    audited = run_client(client, policy=EVERY_CALL, **settings)
    words = ("function", "m", "n", "k", "batch", "applied", "how", "reason", "status")

    def decisions(result):
        return sorted(str([decision[word] for word in words]) for decision in result.decisions)

    if client != "handles":  # its threads multiply until the others are done, so their number of calls varies
        assert decisions(audited) == decisions(plain)


# ---- odd products


@pytest.mark.parametrize("kind, tally", [("nan", (0, 1, 0, 0)), ("overflow", (1, 0, 1, 0)), ("device", (0, 0, 0, 1))])
def test_what_cannot_be_compared_is_said_and_is_no_error(audited, kind, tally):
    _, audits = audited("odd_cublas_products.py", kind, policy=policy("sample = 1"), env={"STAND_IN_DEVICES": "2"})
    (only,) = audits
    assert tuple(only[key] for key in ("audits", "bad_operands", "bad_results", "skipped")) == tally
    assert only["norm"]["worst"] == 0


@pytest.mark.parametrize("odd, error", [(0, 1e-4), (3, 1e-4), (129, 1e-4), (4, 0)])
def test_of_a_large_batch_some_products_are_compared_evenly_spread(audited, odd, error):
    """In this test, every third of 130 products is compared."""
    _, audits = audited("odd_cublas_products.py", "batch", odd, policy=policy("sample = 1"))
    (only,) = audits
    assert (only["audits"], only["batch"]) == (1, 130)
    assert only["norm"]["worst"] == pytest.approx(error, rel=0.01)


def test_products_of_rows_by_cublaslt_are_left_alone(audited):
    result, audits = audited("odd_cublas_products.py", "rows", policy=budget(5e-2, "[audit]\nsample = 1"))
    assert result.stdout == "8.0\n" and audits == []


def test_a_format_that_the_program_asks_for_itself_is_audited_and_not_pinned(audited):
    _, audits = audited("odd_cublas_products.py", "mode", policy=GUARD.replace("1e-2", "1e-5").replace('default = "high"', ""))
    (only,) = audits
    assert (only["applied"], only["tested"], only["calls"], only["audits"], only["beyond"]) == ("tf32", "tf32", 10, 10, 10)
    assert only["norm"]["worst"] == pytest.approx(1e-4, rel=0.01)


# ---- guard and tolerances

GUARD = """schema = 1
default = "high"
[audit]
sample = 1
metric = "row"
tolerance = 1e-2
action = "pin"
"""


def errors_of(result):
    return [(kind, float(error)) for kind, error in (line.split() for line in result.stdout.splitlines())]


def fp32_errors(*words):
    return errors_of(run_script("graded_cublas_products.py", *words, policy="schema = 1\n", log=False))


@pytest.mark.parametrize("function", ["cublasSgemm_v2", "cublasLtMatmul"])
def test_a_group_that_turns_bad_is_pinned_from_its_next_call_on(audited, function):
    result, audits = audited("graded_cublas_products.py", function, 20, 10, 5, policy=GUARD)
    errors = errors_of(result)
    assert all(1e-4 < error < 1e-2 for _, error in errors[:20])  # TF32 has such errors
    assert errors[20][0] == "bad" and errors[20][1] > 1
    assert errors[21:] == fp32_errors(function, 20, 10, 5)[21:]
    (before,) = [audit for audit in audits if audit["applied"] == "tf32"]
    (after,) = [audit for audit in audits if audit["applied"] == "fp32"]
    assert (before["calls"], before["beyond"], before["audits"]) == (21, 1, 21)
    assert (after["calls"], after["reason"], after["source"]) == (14, "pinned", "guard_pin")


def test_the_guard_needs_no_recording():
    guarded = errors_of(run_script("graded_cublas_products.py", "cublasSgemm_v2", 20, 10, policy=GUARD, log=False))
    assert guarded[20][1] > 1 and all(error < 1e-2 for _, error in guarded[21:])


def budget(tolerance, more=""):
    return f"""schema = 1
{more}
[[rule]]
name = "as cheap as it may be"
precision = {{ tolerance = {tolerance} }}
"""


@pytest.mark.parametrize("function, tolerance, applied, tried", [
    ("cublasSgemm_v2", 5e-2, "bf16", 4), ("cublasSgemm_v2", 3e-3, "tf32", 5), ("cublasSgemm_v2", 1e-5, "fp32", 2),
    ("cublasLtMatmul", 5e-2, "bf16", 4), ("cublasLtMatmul", 3e-3, "tf32", 5), ("cublasCgemm3m", 5e-2, "tf32", 4),
    ("cublasCgemm3m", 1e-5, "fp32", 1)])
def test_a_tolerance_takes_the_cheapest_format_that_the_function_has_and_audits_have_kept(function, tolerance, applied, tried):
    result = run_script("graded_cublas_products.py", function, 40, policy=budget(tolerance), env=USES_BF16)
    decisions = [(decision["applied"], decision["reason"]) for decision in result.decisions]
    later = "as_requested" if tried == 4 else "over_tolerance"
    assert decisions == [("fp32", "learning")] * tried + [(applied, later)] * (40 - tried)
    errors, fp32 = errors_of(result), fp32_errors(function, 40)
    assert errors[:tried] == fp32[:tried]
    assert (errors == fp32) == (applied == "fp32")


def test_a_tolerance_tries_nothing_with_a_function_that_has_float32_only(audited):
    result, (only,) = audited("graded_cublas_products.py", "cublasSsyrkx", 20, policy=budget(5e-2))
    assert (only["calls"], only["applied"], only["reason"], only["audits"]) == (20, "fp32", "no_such_format", 0)
    assert errors_of(result) == fp32_errors("cublasSsyrkx", 20)


@pytest.mark.parametrize("settings", [{"compute_capability": "7.5"}, {}], ids=["a GPU without TF32", "never audited"])
def test_a_tolerance_is_float32_where_nothing_can_be_audited(settings):
    function = "cublasSgemm_v2" if settings else "cublasSgemmGroupedBatched"
    result = run_script("graded_cublas_products.py", function, 20, policy=budget(5e-2), **settings)
    reason = "compute_capability" if settings else "learning"
    assert {(decision["applied"], decision["reason"]) for decision in result.decisions} == {("fp32", reason)}
    assert errors_of(result) == fp32_errors(function, 20)


# ---- captures, memory, streams that never end


def test_captured_products_are_not_audited_and_their_graphs_are_whole(audited):
    plain = run_script("captured_cublas_products.py", preload=False)
    result, audits = audited("captured_cublas_products.py", policy=policy("sample = 1"))
    assert result.stdout == plain.stdout
    assert plain.stdout.split() == ["16.0", "64.0", "112.0", "128.0", "8.0"]
    assert sum(audit["calls"] for audit in audits) == 6
    # One call before the capture, one after it, and one on another stream during it.
    assert (sum(audit["audits"] for audit in audits), sum(audit["skipped"] for audit in audits)) == (3, 3)


def test_an_audit_without_device_memory_is_skipped_and_counted(audited):
    settings = {"policy": policy("sample = 1", 'against = "tf32"')}
    result, audits = audited("graded_cublas_products.py", "cublasSgemm_v2", 4, env={"STAND_IN_MEMORY": "200000"}, **settings)
    assert errors_of(result) == fp32_errors("cublasSgemm_v2", 4)
    (only,) = audits
    assert (only["calls"], only["audits"], only["skipped"]) == (4, 0, 4)


GAVE_UP = "fp32shim: audit: a CUDA stream was still busy after 10 s; no more products on GPUs are audited\n"


def test_a_stream_that_never_becomes_idle_ends_the_audits_of_the_process(tmp_path):
    result = run_script("graded_cublas_products.py", "cublasSgemm_v2", 4, policy=policy("sample = 1"),
                        env={"STAND_IN_STREAMS": "busy"}, log=tmp_path / "run.fp32rec")
    assert result.stderr == GAVE_UP
    assert errors_of(result) == fp32_errors("cublasSgemm_v2", 4)


@pytest.mark.parametrize("script", [("audited_cublas_products.py", "tf32", "all", "device"),
                                    ("graded_cublas_products.py", "cublasLtMatmul", 4)])
def test_copies_that_do_not_end_in_time_write_to_memory_that_is_still_there(script):
    """The copies run when the program itself waits for its stream, long after the audit."""
    plain = run_script(*script, precision="high", log=False)

    def audited_run(queries):
        result = run_script(*script, precision="high", policy=EVERY_CALL, env={"STAND_IN_STREAMS": f"busy:{queries}"}, log=False)
        assert result.stdout == plain.stdout
        assert result.stderr in ("", GAVE_UP)
        return result.stderr == GAVE_UP

    with ThreadPoolExecutor(6) as pool:  # several at once, because each waits for ten seconds without work
        assert sum(pool.map(audited_run, range(1, 25, 4))) > 2
