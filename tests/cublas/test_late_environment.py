"""Variables that a program sets or unsets while it runs. cuBLAS reads them as it makes its first handle, and never again."""

import subprocess

import pytest

from cublas import run_client, shim

OFF, EMULATE = "NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION"
PRODUCTS = ["sgemm", "gemm_ex", "cgemm3m"]
# Variables of the environment, steps of a program that sets TF32 mode, and the formats in which its products then ran.
STEPS = {
    "set from the start": ({OFF: "0"}, ["create", "tf32", *PRODUCTS], ["fp32"] * 3),
    "set before the first handle": ({}, [f"{OFF}=0", "create", "tf32", *PRODUCTS], ["fp32"] * 3),
    "set after the first handle": ({}, ["create", "tf32", f"{OFF}=0", *PRODUCTS], ["tf32"] * 3),
    "set after the first product": ({}, ["create", "tf32", "sgemm", f"{OFF}=0", "gemm_ex", "cgemm3m"], ["tf32"] * 3),
    "set before another handle": ({}, ["create", "tf32", "sgemm", f"{OFF}=0", "create", "tf32", "sgemm", "gemm_ex"], ["tf32"] * 3),
    "unset after the first handle": ({OFF: "0"}, ["create", "tf32", f"{OFF}=", *PRODUCTS], ["fp32"] * 3),
    "unset before the first handle": ({OFF: "0"}, [f"{OFF}=", "create", "tf32", *PRODUCTS], ["tf32"] * 3),
    # The value 1, which NVIDIA reserves, lets products that ask for nothing use TF32.
    "on from the start": ({OFF: "1"}, ["create", *PRODUCTS], ["tf32"] * 3),
    "on before the first handle": ({}, [f"{OFF}=1", "create", *PRODUCTS], ["tf32"] * 3),
    "on after the first handle": ({}, ["create", f"{OFF}=1", *PRODUCTS], ["fp32"] * 3),
    "unset before another handle": ({OFF: "0"}, ["create", "tf32", "sgemm", f"{OFF}=", "create", "tf32", "gemm_ex"], ["fp32"] * 2),
}


@pytest.fixture(params=["late_environment", "late_environment_dlopen"])
def client(request):
    return request.param


def ran_at(result):
    return [line.split()[1] for line in result.stdout.splitlines()]


@pytest.mark.parametrize("case", STEPS)
def test_the_record_says_what_the_library_read(client, case):
    env, steps, formats = STEPS[case]
    result = run_client(client, *steps, env=env)
    assert ran_at(result) == formats
    assert [d["applied"] for d in result.decisions] == formats


@pytest.mark.parametrize("case", STEPS)
def test_a_floor_holds_whenever_the_variable_was_set(client, case):
    env, steps, _ = STEPS[case]
    result = run_client(client, *steps, env=env, floor="fp32")
    assert set(ran_at(result)) == {d["applied"] for d in result.decisions} == {"fp32"}


def test_verify_objects_to_tf32_that_the_environment_allowed_and_not_where_a_floor_held(tmp_path):
    for settings, verdict, status in [({}, "Violated: 3 of 3 calls", 1), ({"floor": "fp32"}, "Shown: all 3 calls", 0)]:
        log = tmp_path / f"{status}.fp32rec"
        run_client("late_environment", "create", *PRODUCTS, env={OFF: "1", "FP32_MATMUL_LOG": log}, preload=True, **settings)
        verified = subprocess.run([shim.BUILD / "bin/fp32shim", "verify", "--at-least", "fp32", log], text=True,
                                  capture_output=True, check=False)
        assert (verified.returncode, verdict in verified.stdout) == (status, True), verified.stdout


EMULATIONS = {
    "set before the first handle": ({}, [f"{EMULATE}=1", "create"], True),
    "unset after the first handle": ({EMULATE: "1"}, ["create", f"{EMULATE}="], True),
    "unset after the first product": ({EMULATE: "1"}, ["create", "sgemm", f"{EMULATE}="], True),
    "unset before the first handle": ({EMULATE: "1"}, [f"{EMULATE}=", "create"], False),
    "set after the first handle": ({}, ["create", f"{EMULATE}=1"], False),
}


@pytest.mark.parametrize("case", EMULATIONS)
def test_emulation_is_what_the_library_read(client, case):
    env, steps, emulates = EMULATIONS[case]
    steps = [*steps, "gemm_ex", "sgemm"]
    native = run_client(client, *steps, env=env, compute_capability="10.0")
    assert {d["applied"] for d in native.decisions} == {"bf16x9" if emulates else "fp32"}
    pinned = run_client(client, *steps, env=env, compute_capability="10.0", floor="fp32")
    assert {d["applied"] for d in pinned.decisions} == {"fp32"}
    assert ("forward" not in {d["how"] for d in pinned.decisions}) == emulates
