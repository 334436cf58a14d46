"""Rules, limits and variables of the environment that concern cuBLAS only."""

import json
import subprocess

import pytest

from cublas import (BF16X9_MODE, CLIENTS, COMPUTE_CAPABILITIES, FAST_16F, FAST_TF32, PEDANTIC, PEDANTIC_MODE, STAND_IN, TENSOR_OP,
                    assumed_rows, ignores_tf32_mode, need, products, recorded, run_client, run_script, shim)

GEMM = "*/cublasSgemm_v2__float32"
BF16X9 = """schema = 1
[[rule]]
name = "nine products"
precision = "bf16x9"
"""


def seen(result, *keys):
    """Returns the distinct values of these keys in all decisions about products of float32."""
    return {tuple(decision[key] for key in keys) for decision in result.decisions
            if decision["reason"] not in ("no_product", "observed") and decision["dtype"] in ("float32", "complex64")}


@pytest.mark.parametrize("compute_capability", COMPUTE_CAPABILITIES)
def test_bf16x9_is_there_on_10_0_and_refused_elsewhere(compute_capability):
    is_there = compute_capability == "10.0"
    result = run_client("products", policy=BF16X9, compute_capability=compute_capability, exact=True,
                        expect="bf16x9" if is_there else "fp32", only=GEMM)
    assert seen(result, "requested", "applied", "reason") == {
        ("bf16x9", "bf16x9", "as_requested") if is_there else ("bf16x9", "fp32", "bf16x9_unavailable")}


@pytest.mark.parametrize("precision, applied", [("bf16x2", "fp32"), ("bf16x3", "fp32"), ("tf32x3", "fp32"), ("xf32", "tf32")])
def test_formats_that_no_gpu_has_become_the_next_stricter_one(precision, applied):
    result = run_client("products", policy=BF16X9.replace("bf16x9", precision), compute_capability="10.0", exact=True,
                        expect=applied, only=GEMM)
    assert seen(result, "requested", "applied", "reason") == {(precision, applied, "no_such_format")}


def test_bf16x9_is_never_lower_than_float32_wherever_it_is_asked_for():
    result = run_client("products", policy=BF16X9, compute_capability="10.0", exact=True, expect="bf16x9")
    assert {applied for (applied,) in seen(result, "applied")} <= {"bf16x9", "fp32", "unchanged"}


def test_a_floor_of_float32_counts_bf16x9_as_lower_unless_it_is_allowed():
    strict = run_client("products", policy=BF16X9, floor="fp32", compute_capability="10.0", expect="fp32", exact=True,
                        only=GEMM)
    assert seen(strict, "applied", "reason") == {("fp32", "floor")}
    allowed = BF16X9.replace("[[rule]]", "[limits]\nallow_bf16x9 = true\n[[rule]]")
    loose = run_client("products", policy=allowed, floor="fp32", compute_capability="10.0", expect="bf16x9", exact=True,
                       only=GEMM)
    assert seen(loose, "applied", "reason") == {("bf16x9", "as_requested")}


@pytest.mark.parametrize("compute_capability", COMPUTE_CAPABILITIES)
def test_devices_below_the_minimum_get_float32(compute_capability):
    policy = 'schema = 1\ndefault = "high"\n[cuda]\nmin_compute_capability = "9.0"\n'
    is_enough = float(compute_capability) >= 9
    result = run_client("products", policy=policy, compute_capability=compute_capability, exact=True,
                        expect="tf32" if is_enough else "fp32", only=GEMM)
    assert seen(result, "applied", "reason") == {
        ("tf32", "as_requested") if is_enough else ("fp32", "compute_capability")}


@pytest.mark.parametrize("settings", [{"precision": "high"}, {"precision": "native", "compute_type": FAST_TF32}],
                         ids=["high", "fast_tf32"])
def test_tf32_that_the_environment_turned_off_is_named(settings):
    result = run_client("products", exact=True, expect="fp32", only="*/cublasGemmEx__float32",
                        env={"NVIDIA_TF32_OVERRIDE": "0"}, **settings)
    assert seen(result, "applied", "reason") == {("fp32", "tf32_override")}


def test_tf32_that_the_environment_turned_off_is_off_in_every_function():
    result = run_client("products", precision="high", exact=True, expect="fp32", env={"NVIDIA_TF32_OVERRIDE": "0"})
    reasons = dict(seen(result, "function", "reason"))
    for function, (operation, _, batching, road) in products().items():
        expected = "tf32_override" if batching in ("single", "strided") else "alignment"
        if operation == "trsm":
            expected = "protected_call"
        elif ignores_tf32_mode(function):
            expected = "no_such_format"
        assert reasons[function] == ("not_governable" if road == "not_governable" else expected), function


def test_products_of_solvers_are_lowered_only_by_rules_that_name_them():
    plain = run_client("solver", precision="high")
    assert {d["caller"]: (d["applied"], d["reason"]) for d in plain.decisions} == {
        "solver": ("tf32", "as_requested"), "libcusolver_probe.so": ("fp32", "solver")}

    rule = 'schema = 1\n[[rule]]\nname = "all"\nprecision = "high"\n'
    by_any_rule = run_client("solver", policy=rule)
    assert {d["caller"]: d["applied"] for d in by_any_rule.decisions} == {
        "solver": "tf32", "libcusolver_probe.so": "fp32"}

    named = 'schema = 1\n[[rule]]\nname = "solver"\nprecision = "high"\nwhen = { caller = "libcusolver*" }\n'
    by_name = run_client("solver", policy=named)
    assert {d["caller"]: (d["applied"], d["rule"]) for d in by_name.decisions} == {
        "solver": ("fp32", None), "libcusolver_probe.so": ("tf32", "solver")}

    strict = run_client("solver", precision="highest")
    assert {d["applied"] for d in strict.decisions} == {"fp32"}


@pytest.mark.parametrize("settings", [{"precision": "highest"}, {"floor": "fp32"}], ids=["highest", "floor"])
def test_emulation_that_cusolver_hands_on_to_cublas_is_held_to_highest_and_floors(settings):
    """In cusolverDnSetMathMode(FP32_EMULATED_BF16X9), libcusolver sets the mode of its cuBLAS handle."""
    held = run_client("solver", math_mode=BF16X9_MODE, compute_capability="10.0", **settings)
    assert {(d["caller"], d["applied"], d["how"]) for d in held.decisions} == {
        ("solver", "fp32", "math_mode"), ("libcusolver_probe.so", "fp32", "math_mode")}
    free = run_client("solver", math_mode=BF16X9_MODE, compute_capability="10.0", precision="native")
    assert {d["applied"] for d in free.decisions} == {"bf16x9"}


@pytest.mark.parametrize("library", ["magma", "torch_cuda_linalg", "cudnn", "cutensor"])
def test_products_of_libraries_that_frameworks_protect_are_lowered_only_by_rules_that_name_them(library):
    probe = CLIENTS / f"lib{library}_probe.so"
    need(probe.exists(), f"{probe} was not built")

    def applied(**settings):
        decisions = run_client("solver", probe, **settings).decisions
        assert [decision["caller"] for decision in decisions] == ["solver", probe.name]
        return [(decision["applied"], decision["reason"]) for decision in decisions]

    assert applied(precision="high") == [("tf32", "as_requested"), ("fp32", "protected_call")]
    assert applied(precision="highest") == [("fp32", "as_requested")] * 2
    for when in ("", 'when = { function = "cublasSgemm*" }', 'when = { caller = ["lib*", "solver"] }'):
        rule = f'schema = 1\n[[rule]]\nname = "any"\nprecision = "high"\n{when}\n'
        assert applied(policy=rule) == [("tf32", "as_requested"), ("fp32", "protected_call")]
    named = f'schema = 1\n[[rule]]\nname = "it"\nprecision = "high"\nwhen = {{ caller = "lib{library}*" }}\n'
    assert applied(policy=named) == [("fp32", "as_requested"), ("tf32", "as_requested")]


LOWERING = 'schema = 1\n[[rule]]\nname = "all"\nprecision = "high"\n'


@pytest.mark.parametrize("keeps", [{"compute_type": PEDANTIC}, {"math_mode": PEDANTIC_MODE}], ids=["type", "mode"])
@pytest.mark.parametrize("settings, lowers", [({"precision": "high"}, False), ({"policy": LOWERING}, False),
                                              ({"policy": LOWERING + "lower_guarded = true\n"}, True)],
                         ids=["default", "rule", "rule that says so"])
def test_pedantic_products_are_lowered_only_by_rules_that_say_so(keeps, settings, lowers):
    functions = "cublasGemmEx" if "compute_type" in keeps else "cublasSgemm_v2"
    result = run_client("products", exact=True, expect="tf32" if lowers else "fp32", only=f"*RunsInTheFormat*/{functions}__float32",
                        **keeps, **settings)
    assert seen(result, "applied", "reason") == {("tf32", "as_requested") if lowers else ("fp32", "guarded")}


def test_a_pedantic_product_of_cublaslt_is_kept():
    result = run_client("lt", precision="high", compute_type=PEDANTIC, exact=True, expect="fp32", only="*ProductsWithoutAnAlgorithmRun")
    assert seen(result, "applied", "reason") == {("fp32", "guarded")}


@pytest.mark.parametrize("log", ["JSON", "recording"])
@pytest.mark.parametrize("settings, lowers", [({"precision": "high"}, False),
                                              ({"policy": LOWERING + "lower_guarded = true\n"}, True)],
                         ids=["default", "rule that says so"])
def test_products_inside_torchs_guard_are_lowered_only_by_rules_that_say_so(tmp_path, settings, lowers, log):
    """The guard of the stand-in for libtorch_cpu is in force at every second product."""
    probe = CLIENTS / "libtorch_cuda_probe.so"
    need(probe.exists(), f"{probe} was not built")
    if log == "JSON":
        decisions = run_client("solver", probe, 200, **settings).decisions[1:]
        assert [d["applied"] for d in decisions] == ["tf32", "tf32" if lowers else "fp32"] * 100
        assert {d["reason"] for d in decisions[1::2]} == {"as_requested" if lowers else "guarded"}
    else:
        name = tmp_path / "run.fp32rec"
        run_client("solver", probe, 200, env={"FP32_MATMUL_LOG": name}, **settings)
        calls = {(row["applied"], row["reason"]): row["calls"] for row in recorded(name) if row["caller"] == probe.name}
        assert calls == ({("tf32", "as_requested"): 200} if lowers else
                         {("tf32", "as_requested"): 100, ("fp32", "guarded"): 100})


def test_rules_see_functions_sizes_and_devices():
    policy = """schema = 1
default = "highest"
[[rule]]
name = "one function"
precision = "high"
when = { function = "cublasSgemm_v2", device = "cuda", compute_capability = ">=9.0", k = 29 }
"""
    result = run_client("products", policy=policy,
                        only=GEMM + ":*/cublasSgemm_v2_64__float32:*/cublasSsyrk_v2__float32")
    assert seen(result, "function", "applied", "rule") == {
        ("cublasSgemm_v2", "tf32", "one function"), ("cublasSgemm_v2_64", "fp32", None),
        ("cublasSsyrk_v2", "fp32", None)}
    elsewhere = run_client("products", policy=policy, only=GEMM, compute_capability="8.0")
    assert seen(elsewhere, "applied", "rule") == {("fp32", None)}


def test_calls_on_a_gpu_have_no_numbers():
    result = run_client("products", only=GEMM, policy="""schema = 1
default = "highest"
[[rule]]
precision = "high"
when = { call_number = ">=1" }
""")
    assert seen(result, "applied", "rule") == {("fp32", None)}


def test_pedantic_is_what_a_policy_can_make_of_highest():
    policy = 'schema = 1\ndefault = "highest"\n[cuda]\npedantic = true\n'
    result = run_client("products", policy=policy, exact=True, expect="fp32", only=GEMM + ":*/cublasSsyrk_v2__float32")
    assert seen(result, "function", "applied", "how") == {
        ("cublasSgemm_v2", "fp32", "compute_type"), ("cublasSsyrk_v2", "fp32", "math_mode")}


@pytest.mark.parametrize("floor, applied", [("tf32", "tf32"), ("fp32", "fp32"), ("bf16", "bf16")])
def test_floors_clamp(floor, applied):
    result = run_client("products", precision="medium", floor=floor, exact=True, expect=applied, only=GEMM)
    assert seen(result, "applied", "reason") == {(applied, "as_requested" if floor == "bf16" else "floor")}


@pytest.mark.parametrize("floor", ["bf16", "tf32"])
@pytest.mark.parametrize("low", [{"compute_type": FAST_16F, "only": "*/cublasGemmEx__float32"},
                                 {"math_mode": TENSOR_OP, "only": f"{GEMM}:*/cublasSsyrk_v2__float32"}],
                         ids=["compute_type", "math_mode"])
def test_floors_that_the_device_has_no_format_for_clamp_to_float32(floor, low):
    """Compute capability 7.0 has FP16 tensor cores, but neither BF16 nor TF32."""
    result = run_client("products", precision="native", floor=floor, compute_capability="7.0", exact=True,
                        expect="fp32", **low)
    assert seen(result, "applied", "reason") == {("fp32", "floor")}


@pytest.mark.parametrize("settings", [{"precision": "highest"}, {"floor": "fp32"}], ids=["highest", "floor"])
def test_what_a_library_takes_no_compute_type_for_is_raised_by_the_math_mode(settings):
    """The test has a libcublas whose cublasGemmEx refuses everything, and a handle in TF32 mode."""
    result = run_client("counted", expect="fp32", libraries=[CLIENTS / "counting_refusing", STAND_IN], **settings,
                        only="*IsRefusedAreRaisedByTheMathMode")
    assert "[       OK ]" in result.stdout
    assert seen(result, "function", "applied", "how") == {("cublasSgemm_v2", "fp32", "math_mode")}


def test_a_process_that_is_switched_off_is_left_alone():
    result = run_client("products", precision="high", env={"FP32_MATMUL_DISABLE": "1", "CLIENT_LOG": ""})
    assert result.events == []


@pytest.mark.parametrize("pattern, expect", [("products+0x*", "tf32"), ("products!nothing", "fp32"), ("libcublas*", "fp32")])
def test_a_rule_can_name_the_function_that_calls_cublas(pattern, expect):
    policy = f'schema = 1\ndefault = "highest"\n[[rule]]\nprecision = "high"\nwhen = {{ call_site = "{pattern}" }}\n'
    result = run_client("products", policy=policy, exact=True, expect=expect, only=GEMM)
    assert seen(result, "applied") == {(expect,)}


def test_products_on_a_gpu_are_said_not_to_be_searched_for_nan():
    program = {"only": "*IsRefusedAreRaisedByTheMathMode", "precision": "highest", "expect": "fp32",
               "libraries": [CLIENTS / "counting_refusing", STAND_IN]}
    line = "products on a GPU are not checked for NaN and infinity"
    assert run_client("counted", env={"FP32_MATMUL_AUDIT": "nonfinite"}, **program).stderr.count(line) == 1
    assert line not in run_client("counted", **program).stderr


EMULATED_TYPE, PEDANTIC_TYPE, EMULATED_MODE, PEDANTIC_MODE = 79, 71, 8, 2
# 24 bits are so few that results show the emulation. The cuBLAS emulates whatever it may.
FEW_BITS = {"CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT": "24", "STAND_IN_ASSUME": "f64_emulation_beyond_gemm=yes"}


def float64_products(*calls, **variables):
    """Returns, for each call, its format, and true if its result had the accuracy of float64."""
    result = run_script("float64_cublas_products.py", *calls, policy="schema = 1\n", env={**FEW_BITS, **variables})
    errors = dict(line.split() for line in result.stdout.splitlines())
    return [(decision["applied"], decision["detail"], float(errors[call]) < 1e-14)
            for call, decision in zip(calls, result.decisions, strict=True)]


def test_float64_products_are_recorded_with_the_format_that_cublas_may_use():
    whole, emulated = ("fp64", None, True), ("fp64_emulated", None, False)
    assert float64_products("Dgemm", f"Dgemm@{EMULATED_MODE}", f"Dgemm@{PEDANTIC_MODE}", "GemmEx:70",
                            f"GemmEx:70@{EMULATED_MODE}", f"GemmEx:{PEDANTIC_TYPE}@{EMULATED_MODE}", f"GemmEx:{EMULATED_TYPE}",
                            "Lt:70", f"Lt:{EMULATED_TYPE}") == [
        whole, emulated, whole, whole, emulated, whole, emulated, whole, emulated]


def test_the_environment_may_let_cublas_emulate_float64():
    emulated = ("fp64_emulated", "CUBLAS_EMULATE_DOUBLE_PRECISION lets cuBLAS emulate float64", False)
    whole = ("fp64", None, True)
    assert float64_products("Dgemm", f"Dgemm@{PEDANTIC_MODE}", "GemmEx:70", f"GemmEx:{PEDANTIC_TYPE}", "Lt:70",
                            CUBLAS_EMULATE_DOUBLE_PRECISION="1") == [emulated, whole, emulated, whole, emulated]


def test_a_float64_product_that_cublas_does_not_emulate_may_be_recorded_as_emulated():
    """It is not known what cuBLAS decides by itself, so the recording names the lowest format that the call allows."""
    assert float64_products(f"GemmEx:{EMULATED_TYPE}", STAND_IN_ASSUME="f64_emulation_on_any_gpu=no") == [
        ("fp64_emulated", None, True)]


RULE_OF_FLOAT64 = """schema = 1
default = "high"
[[rule]]
precision = "{}"
when = {{ dtype = ["float64", "complex128"] }}
"""
PLAIN = ("Dgemm", "Zgemm", "DgemmStridedBatched", "DgemmBatched", "Dsyrk", "GemmEx:70", "GemmStridedBatchedEx:70", "GemmBatchedEx:70",
         "Lt:70", "LtFound:70")
IN_EMULATED_MODE = tuple(f"{call}@{EMULATED_MODE}" for call in PLAIN if not call.startswith("Lt"))
OF_EMULATED_TYPE = tuple(call.replace("70", str(EMULATED_TYPE)) for call in PLAIN if ":" in call)


def governed_float64(precision, *calls, **settings):
    """Returns, for each call, its format, the reason, the way of change, and true if its result had the accuracy of float64."""
    variables = settings.pop("env", {})
    result = run_script("float64_cublas_products.py", *calls, policy=RULE_OF_FLOAT64.format(precision),
                        env={**FEW_BITS, **variables}, **settings)
    errors = dict(line.split() for line in result.stdout.splitlines())
    return [(decision["applied"], decision["reason"], decision["how"], float(errors[call]) < 1e-14)
            for call, decision in zip(calls, result.decisions, strict=True)]


@pytest.mark.parametrize("precision", ["fp32", "high", "fixed:30"])
def test_precisions_that_only_cpus_preview_leave_a_float64_product_on_a_gpu_as_called(precision):
    assert governed_float64(precision, "Dgemm", "GemmEx:70", "Lt:70") == [("fp64", "float64_on_gpu", "forward", True)] * 3
    assert governed_float64(precision, f"Dgemm@{EMULATED_MODE}") == [("fp64_emulated", "float64_on_gpu", "forward", False)]


def test_no_rule_that_leaves_float64_out_changes_a_float64_product():
    result = run_script("float64_cublas_products.py", *PLAIN, *IN_EMULATED_MODE, env=FEW_BITS,
                        policy='schema = 1\ndefault = "high"\n[limits]\nfloor = "fp32"\n[[rule]]\nprecision = "high"\n')
    assert {(d["requested"], d["reason"], d["how"]) for d in result.decisions} == {("native", "as_requested", "forward")}
    native = governed_float64("native", *IN_EMULATED_MODE, *OF_EMULATED_TYPE)
    assert set(native) == {("fp64_emulated", "as_requested", "forward", False)}


OTHER_ANSWERS = [None, *(f"{row}={answer}" for row, answer in assumed_rows()
                         if row.startswith("f64_") and row != "f64_emulation_under_pedantic")]


@pytest.mark.parametrize("assume", OTHER_ANSWERS)
@pytest.mark.parametrize("environment", ["", "1"])
def test_a_rule_of_fp64_takes_emulation_away_whatever_allows_it(environment, assume):
    variables = {"CUBLAS_EMULATE_DOUBLE_PRECISION": environment, **({"STAND_IN_ASSUME": assume} if assume else {})}
    calls = (*IN_EMULATED_MODE, *OF_EMULATED_TYPE, *(PLAIN if environment else ()), f"GemmEx:70@{EMULATED_MODE | 16}")
    outcomes = governed_float64("fp64", *calls, env=variables)
    assert {(applied, reason, whole) for applied, reason, _, whole in outcomes} == {("fp64", "as_requested", True)}
    for call, (_, _, how, _) in zip(calls, outcomes, strict=True):
        assert how == ("compute_type" if ":" in call else "math_mode"), call


def test_a_rule_of_fp64_leaves_products_that_nothing_emulates_alone():
    outcomes = governed_float64("fp64", *PLAIN, f"Dgemm@{PEDANTIC_MODE}", f"GemmEx:{PEDANTIC_TYPE}@{EMULATED_MODE}")
    assert set(outcomes) == {("fp64", "as_requested", "forward", True)}


def test_a_rule_of_fp64_emulated_lets_cublas_emulate():
    outcomes = dict(zip(PLAIN, governed_float64("fp64_emulated", *PLAIN), strict=True))
    for call, outcome in outcomes.items():
        how = "compute_type" if ":" in call else "math_mode"
        assert outcome == (("fp64", "alignment", "forward", True) if "mBatched" in call else
                           ("fp64_emulated", "as_requested", how, False)), call
    batches = [call for call in PLAIN if "mBatched" in call]
    aligned = RULE_OF_FLOAT64.replace("when", "assume_aligned = true\nwhen").format("fp64_emulated")
    result = run_script("float64_cublas_products.py", *batches, policy=aligned, env=FEW_BITS)
    assert {(d["applied"], d["reason"]) for d in result.decisions} == {("fp64_emulated", "as_requested")}


@pytest.mark.parametrize("call, how", [(f"Dgemm@{PEDANTIC_MODE}", "math_mode"), (f"GemmEx:{PEDANTIC_TYPE}", "compute_type"),
                                       (f"Lt:{PEDANTIC_TYPE}", "compute_type")])
def test_a_pedantic_float64_product_is_emulated_only_by_a_rule_that_says_so(call, how):
    assert governed_float64("fp64_emulated", call) == [("fp64", "guarded", "forward", True)]
    lowering = RULE_OF_FLOAT64.replace("when", "lower_guarded = true\nwhen").format("fp64_emulated")
    result = run_script("float64_cublas_products.py", call, policy=lowering, env=FEW_BITS)
    assert [(d["applied"], d["how"]) for d in result.decisions] == [("fp64_emulated", how)]


@pytest.mark.parametrize("floor", ["fp16", "bf16", "tf32", "bf16x9", "fp32"])
def test_every_floor_forbids_emulated_float64_that_a_rule_asks_for(floor):
    calls = (*PLAIN, *IN_EMULATED_MODE, *OF_EMULATED_TYPE)
    outcomes = governed_float64("fp64_emulated", *calls, floor=floor)
    assert {(applied, reason, whole) for applied, reason, _, whole in outcomes} == {("fp64", "floor", True)}


def test_emulated_float64_is_unavailable_on_gpus_before_8_0():
    assert governed_float64("fp64_emulated", "Dgemm", "GemmEx:70", compute_capability="7.5") == [
        ("fp64", "fp64_emulation_unavailable", "forward", True)] * 2


def test_a_float64_product_that_lacks_memory_to_be_emulated_runs_as_called():
    assert governed_float64("fp64_emulated", "Dgemm", "GemmEx:70", env={"STAND_IN_FAST": "no_memory"}) == [
        ("fp64", "library_refused", "forward", True)] * 2


def test_a_compute_type_of_emulation_that_gemm_ex_refuses_leaves_the_product_as_called():
    refusing = {"STAND_IN_ASSUME": "f64_emulated_type_in_gemm_ex=refused"}
    assert governed_float64("fp64_emulated", "GemmEx:70", "Dgemm", env=refusing) == [
        ("fp64", "library_refused", "forward", True), ("fp64_emulated", "as_requested", "math_mode", False)]


def test_a_recording_shows_that_a_rule_of_fp64_was_kept(tmp_path):
    def verified(precision):
        log = tmp_path / f"{precision}.fp32rec"
        governed_log = {"FP32_MATMUL_LOG": str(log), **FEW_BITS}
        run_script("float64_cublas_products.py", *IN_EMULATED_MODE, *OF_EMULATED_TYPE, env=governed_log,
                   policy=RULE_OF_FLOAT64.format(precision))
        done = subprocess.run([shim.BUILD / "bin/fp32shim", "verify", "--at-least", "fp64", "--format", "json", log], text=True,
                              capture_output=True, check=False)
        found = json.loads(done.stdout)
        return found["violations"], found["calls_shown"], sum("may have emulated" in doubt["reason"] for doubt in found["doubts"])

    calls = len(IN_EMULATED_MODE) + len(OF_EMULATED_TYPE)
    assert verified("fp64") == ([], calls, 0)
    violations, shown, doubts = verified("fp64_emulated")
    assert (violations, shown) == ([], 0) and doubts > 0


@pytest.mark.parametrize("call, precision, is_doubted", [("Dgemm@0", "fp64", False), (f"Dgemm@{EMULATED_MODE}", "fp64", True),
                                                         (f"Dgemm@{EMULATED_MODE}", "native", True),
                                                         ("Dgemm@0", "fp64_emulated", False)])
def test_verify_names_zgemv_where_cublas_may_emulate_float64(tmp_path, call, precision, is_doubted):
    log = tmp_path / "run.fp32rec"
    run_script("float64_cublas_products.py", call, env={"FP32_MATMUL_LOG": str(log)}, policy=RULE_OF_FLOAT64.format(precision))

    def bypasses(*words):
        done = subprocess.run([shim.BUILD / "bin/fp32shim", "verify", "--at-least", "fp64", "--format", "json", *words, log],
                              text=True, capture_output=True, check=False)
        return [bypass["bypass"] for bypass in json.loads(done.stdout)["bypasses"]]

    assert ("Zgemv" in bypasses()) == is_doubted
    assert "Zgemv" not in bypasses("--assume-unused", "zgemv")
