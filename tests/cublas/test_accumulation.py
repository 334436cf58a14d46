"""What half products add in: as the program called them, and under `accumulate`. The stand-in adds as it was asked to."""

import json
import subprocess

import pytest
import shim
from cublas import recorded, run_script

ASKS = 'schema = 1\n[cuda]\naccumulate = "fp32"\n'
NAMES = [(name, width) for name in ("gemm", "gemmBatched", "gemmStridedBatched") for width in ("", "_64")]
HGEMM = [f"H{name}{width}" for name, width in NAMES]
EX = [f"G{name[1:]}Ex{width}" for name, width in NAMES]
OF_16F = HGEMM + [f"{name}:{compute_type}" for name in EX for compute_type in (64, 65)]
OF_32F = [f"{name}:68{type}" for name in EX for type in ("", "/bf16")] + ["SgemmEx"]
FULL = [f"{name}:68@16{type}" for name in EX[:1] for type in ("", "/bf16")] + ["SgemmEx@16", "GemmEx:69", "GemmEx:68/float",
                                                                               "GemmEx:68/bf16/float"]
LT = ["Lt:64", "LtFound:64", "Lt:65", "LtFound:65"]
# The output of half_cublas_products.py, by the format in which the call adds. bfloat16 has no number 2054.
PRINTED = {"fp16": "6.0 1030.0", "fp32_reduced": "6.0 2054.0", "fp32": "6.5 2054.0"}


def printed(call, accumulator):
    text = PRINTED[accumulator]
    return f"{call} {text.replace('2054', '2048') if '/bf16' in call and '/float' not in call else text}"


def results(*calls, **keywords):
    return run_script("half_cublas_products.py", *calls, **keywords).stdout.splitlines()


def adds(row):
    return row["accumulator_as_called"], row["accumulator"], row["how"], row["reason"]


def record(folder, *calls, settings=None, **keywords):
    log = folder / "half.fp32rec"
    lines = results(*calls, env={"FP32_MATMUL_LOG": str(log), **(settings or {})}, **keywords)
    return lines, recorded(log), log


def command(*arguments):
    return subprocess.run([str(shim.BUILD / "bin/fp32shim"), *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.parametrize("preload", [False, True])
def test_half_products_add_as_they_were_called(preload):
    calls = {"fp16": OF_16F + LT, "fp32_reduced": OF_32F, "fp32": FULL}
    for accumulator, some in calls.items():
        assert results(*some, preload=preload) == [printed(call, accumulator) for call in some]


def test_a_recording_tells_what_half_products_add_in_although_nothing_is_configured(tmp_path):
    calls = {"fp16": [*OF_16F, *LT], "fp32_reduced": [*OF_32F, "Lt:68", "Lt:68/bf16"], "fp32": [*FULL, "LtFound:68"]}
    for accumulator, some in calls.items():
        folder = tmp_path / accumulator
        folder.mkdir()
        _, rows, _ = record(folder, *some)
        assert {adds(row) for row in rows} == {(accumulator, accumulator, "forward", "observed")}
        assert sum(row["calls"] for row in rows) == len(some)


@pytest.mark.parametrize("calls", [OF_16F, OF_32F, FULL, LT], ids=["16f", "32f", "full", "lt"])
def test_half_products_add_in_fp32_where_that_is_asked_for(tmp_path, calls):
    lines, rows, _ = record(tmp_path, *calls, policy=ASKS)
    assert lines == [printed(call, "fp32") for call in calls]
    as_called, how = {id(OF_16F): ("fp16", "compute_type"), id(LT): ("fp16", "compute_type"),
                      id(OF_32F): ("fp32_reduced", "math_mode"), id(FULL): ("fp32", "forward")}[id(calls)]
    assert {adds(row) for row in rows} == {(as_called, "fp32", how, "as_requested")}
    assert {row["applied"] for row in rows} == {"unchanged"} and {row["status"] for row in rows} == {0}


def test_an_algorithm_that_adds_partial_sums_in_fp32_is_searched_where_the_program_names_none(tmp_path):
    lines, rows, _ = record(tmp_path, "Lt:68", "Lt:68/bf16", policy=ASKS)
    assert lines == [printed(call, "fp32") for call in ("Lt:68", "Lt:68/bf16")]
    assert {adds(row) for row in rows} == {("fp32_reduced", "fp32", "algorithm", "as_requested")}


def test_an_algorithm_that_adds_partial_sums_in_the_type_of_the_result_is_replaced(tmp_path):
    calls = ["LtSplit:68", "LtSplit:68/bf16"]
    _, rows, _ = record(tmp_path, *calls)
    assert {adds(row) for row in rows} == {("fp32_reduced", "fp32_reduced", "forward", "observed")}
    folder = tmp_path / "changed"
    folder.mkdir()
    lines, rows, _ = record(folder, *calls, policy=ASKS)
    assert lines == [printed(call, "fp32") for call in calls]
    assert {adds(row) for row in rows} == {("fp32_reduced", "fp32", "algorithm", "as_requested")}
    lines, rows, _ = record(folder, "LtSplit:64", policy=ASKS)
    assert lines == [printed("LtSplit:64", "fp32")]


def test_scalars_of_float16_on_the_device_leave_the_call_as_it_was(tmp_path):
    calls = ["Hgemm", "GemmEx:64", "GemmBatchedEx:64", "GemmStridedBatchedEx:65", "Lt:64", "LtFound:64"]
    lines, rows, _ = record(tmp_path, "--device-scalars", *calls, policy=ASKS)
    assert lines == [printed(call, "fp16") for call in calls]
    assert {adds(row) for row in rows} == {("fp16", "fp16", "forward", "scalars_on_device")}


def test_scalars_of_float32_on_the_device_are_no_obstacle(tmp_path):
    lines, rows, _ = record(tmp_path, "--device-scalars", *OF_32F, policy=ASKS)
    assert lines == [printed(call, "fp32") for call in OF_32F]
    assert {adds(row) for row in rows} == {("fp32_reduced", "fp32", "math_mode", "as_requested")}


def test_a_library_that_refuses_the_changed_call_gets_the_programs_own(tmp_path):
    lines, rows, _ = record(tmp_path, "GemmEx:64", "Hgemm", "Lt:64", policy=ASKS,
                            settings={"STAND_IN_REFUSES": "half_in_32f"})
    assert lines == [printed(call, "fp16") for call in ("GemmEx:64", "Hgemm", "Lt:64")]
    reasons = {"cublasGemmEx": "library_refused", "cublasHgemm": "library_refused", "cublasLtMatmul": "no_algorithm"}
    assert {(row["function"], *adds(row)) for row in rows} == {
        (function, "fp16", "fp16", "forward", reason) for function, reason in reasons.items()}


@pytest.mark.parametrize("rules, changed", [
    ('accumulate = "fp32"\nwhen = { function = "cublasHgemm" }', {"Hgemm"}),
    ('accumulate = "fp32"\nwhen = { dtype = "float16", max_dim = ">=4096" }', {"Hgemm", "GemmEx:64"}),
    ('precision = "highest"\n', set()),
    ('accumulate = "fp32"\nwhen = { dtype = "bfloat16" }', set()),
])
def test_rules_choose_half_products(tmp_path, rules, changed):
    lines, rows, _ = record(tmp_path, "Hgemm", "GemmEx:64", policy=f"schema = 1\n[[rule]]\n{rules}")
    assert lines == [printed(call, "fp32" if call in changed else "fp16") for call in ("Hgemm", "GemmEx:64")]
    assert sum(row["rule"] is not None for row in rows) == len(changed)


def test_a_bad_setting_leaves_half_products_as_they_were_called():
    calls = ["Hgemm", "GemmEx:64", "Lt:64"]
    lines = results(*calls, policy=ASKS, env={"FP32_MATMUL_LOG_LEVEL": "nonsense"})
    assert lines == [printed(call, "fp16") for call in calls]


def test_a_rule_excepts_half_products_from_the_setting():
    policy = f'{ASKS}[[rule]]\naccumulate = "as_called"\nwhen = {{ function = "cublasHgemm" }}\n'
    assert results("Hgemm", "GemmEx:64", policy=policy) == [printed("Hgemm", "fp16"), printed("GemmEx:64", "fp32")]


def test_floors_and_precisions_leave_half_products_alone(tmp_path):
    calls = ["Hgemm", "GemmEx:64", "GemmEx:68", "Lt:64"]
    lines, rows, _ = record(tmp_path, *calls, policy='schema = 1\ndefault = "highest"\n[limits]\nfloor = "fp32"\n')
    assert lines == [printed(call, "fp32_reduced" if "68" in call else "fp16") for call in calls]
    assert {row["how"] for row in rows} == {"forward"}


def test_float32_products_go_on_to_later_rules():
    policy = '[[rule]]\naccumulate = "fp32"\nwhen = { function = "*" }\n[[rule]]\nprecision = "highest"\n'
    run = run_script("float64_cublas_products.py", "Dgemm", policy=f"schema = 1\n{policy}")
    assert run.returncode == 0
    for dtype, rule, precision in (("float32", "rule 2", "highest"), ("float16", "rule 1", "native")):
        path = shim.BUILD / f"accumulation-{dtype}.toml"
        path.write_text(f"schema = 1\n{policy}")
        done = command("explain", "--function", "cublasGemmEx", "--dtype", dtype, "--policy", path, "--format", "json")
        explained = json.loads(done.stdout)
        path.unlink()
        assert (explained["rule"], explained["requested"]) == (rule, precision)


@pytest.mark.parametrize("calls, policy, status, word", [
    (["Hgemm", "GemmEx:68/bf16", "Lt:64"], ASKS, 0, "Shown"),
    (["Hgemm", "GemmEx:68@16"], None, 1, "Violated"),
    (["GemmEx:68/bf16"], None, 1, "Violated"),
    (["GemmEx:68@16", "GemmEx:69"], None, 0, "Shown"),
])
def test_verify_judges_what_half_products_add_in(tmp_path, calls, policy, status, word):
    _, _, log = record(tmp_path, *calls, **({"policy": policy} if policy else {}))
    done = command("verify", "--accumulate", "fp32", log)
    assert (done.returncode, done.stdout.split(":")[0]) == (status, word), done.stdout + done.stderr
    if status == 1:
        assert "may add in less than FP32" in done.stdout and "8x2x4096" in done.stdout


def test_verify_is_inconclusive_without_half_products(tmp_path):
    log = tmp_path / "double.fp32rec"
    run_script("float64_cublas_products.py", "Dgemm", env={"FP32_MATMUL_LOG": str(log)})
    done = command("verify", "--accumulate", "fp32", log)
    assert done.returncode == 3 and "no half products were recorded" in done.stdout
    assert command("verify", "--accumulate", "fp32", "--at-least", "fp32", log).returncode == 2


def test_the_report_says_which_half_products_add_in_fp16(tmp_path):
    _, _, log = record(tmp_path, "Hgemm", "Hgemm", "GemmEx:68")
    text = command("report", log).stdout
    assert "2 of 3 half products may add in FP16" in text and "adds in" in text and "fp32_reduced" in text
    folder = tmp_path / "other"
    folder.mkdir()
    _, _, log = record(folder, "Hgemm", policy=ASKS)
    text = command("report", log).stdout
    assert "half product" not in text and "fp32 (fp16 as called)" in text


def test_audits_leave_half_products_as_they_are_decided(tmp_path):
    calls = ["Hgemm", "GemmEx:64", "GemmEx:68", "LtFound:64"]
    lines, rows, _ = record(tmp_path, *calls, policy=ASKS, settings={"FP32_MATMUL_AUDIT": "1"})
    assert lines == [printed(call, "fp32") for call in calls]
    assert {row["accumulator"] for row in rows} == {"fp32"}


def test_the_log_on_stderr_tells_what_half_products_add_in():
    run = run_script("half_cublas_products.py", "Hgemm", policy=ASKS, env={"FP32_MATMUL_LOG": "stderr"})
    assert "unchanged by compute type, adding in fp32\n" in run.stderr
