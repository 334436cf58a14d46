"""Random products, made with the shim and without it on the same memory: all families, conventions and batchings, guard
pages around the operands, NaN and infinities, rounding modes. FP32SHIM_RANDOM_PRODUCTS is the number of products per
setting (1,500), FP32SHIM_RANDOM_SEED the first one's seed (1)."""

import json
import os
import subprocess

import pytest

from shim import BUILD, blas_directory, need, run

COUNT = os.environ.get("FP32SHIM_RANDOM_PRODUCTS", "1500")
SEED = os.environ.get("FP32SHIM_RANDOM_SEED", "1")
COMMAND = BUILD / "bin/fp32shim"

# Rules that judge every product by its size, and change none.
RULES_ON_SIZES = """
schema = 1
[[rule]]
name = "large"
when = { max_dim = ">=20" }
precision = "highest"
[[rule]]
name = "rest"
precision = "native"
"""

UNCHANGED = {
    "unconfigured": {},
    "disabled": {"env": {"FP32_MATMUL_DISABLE": "1"}},
    "native": {"precision": "native"},
    "highest": {"precision": "highest", "cpu": "emulate"},
    "high, without a preview": {"precision": "high"},
    "rules on sizes": {"policy": RULES_ON_SIZES, "cpu": "emulate"},
}
EMULATED = {
    "tf32_away": {"precision": "high", "cpu": "emulate"},
    "bf16": {"precision": "medium", "cpu": "emulate"},
}


ALL_BLAS = ["openblas", "reference", "blis", "openblas64"]
# BLIS chooses kernels by the alignment of operands, so the last bits differ for copies. It is therefore not in this
# list.
EXACT_BLAS = ["openblas", "reference", "openblas64"]


def multiply(blas, number_format="same", recording=None, level="summary", env=None, **settings):
    """Runs the client to its end, and returns the number of its calls."""
    blas_directory(blas)
    program = "random_products_ilp64" if blas == "openblas64" else "random_products"
    environment = dict(env or {})
    if recording:
        environment |= {"FP32_MATMUL_LOG": str(recording), "FP32_MATMUL_LOG_LEVEL": level}
    result = run(program, SEED, COUNT, number_format, *(["blis"] if blas == "blis" else []), blas=blas, log=False,
                 env=environment, timeout=24 * 3600, **settings)
    assert result.stderr == ""
    calls = int(result.stdout.split()[0])
    assert result.stdout == f"{calls} calls\n" and calls > int(COUNT) / 2
    return calls


def recorded_calls(recording):
    report = subprocess.run([COMMAND, "report", "--format", "json", recording], capture_output=True, text=True,
                            check=True)
    return sum(row["calls"] for row in json.loads(report.stdout)["rows"])


@pytest.mark.parametrize("blas", ALL_BLAS)
def test_the_library_computes_the_same_in_a_namespace_of_its_own(blas):
    multiply(blas, preload=False)


@pytest.mark.parametrize("blas", ALL_BLAS)
@pytest.mark.parametrize("settings", UNCHANGED)
def test_products_that_the_settings_leave_alone_are_the_same_to_the_bit(settings, blas):
    multiply(blas, **UNCHANGED[settings])


@pytest.mark.parametrize("blas", ALL_BLAS)
@pytest.mark.parametrize("level", ["summary", "calls"])
def test_recorded_products_are_the_same_to_the_bit_and_counted_once_each(level, blas, tmp_path):
    need(COMMAND.exists(), "the command was not built")
    recording = tmp_path / "products.fp32rec"
    calls = multiply(blas, recording=recording, level=level, precision="highest")
    assert recorded_calls(recording) == calls


@pytest.mark.parametrize("blas", EXACT_BLAS)
@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize("number_format", EMULATED)
def test_emulated_products_are_those_of_rounded_operands(number_format, is_recorded, blas, tmp_path):
    recording = tmp_path / "products.fp32rec" if is_recorded and COMMAND.exists() else None
    calls = multiply(blas, number_format, recording=recording, **EMULATED[number_format])
    if recording:
        assert recorded_calls(recording) == calls


def test_products_that_were_not_rounded_are_told_from_rounded_ones():
    tf32 = EMULATED["tf32_away"]
    for number_format, settings in (("tf32_away", {}), ("same", tf32), ("bf16", tf32)):
        result = run("random_products", SEED, "100", number_format, blas="reference", log=False, check=False,
                     **settings)
        assert result.returncode == 1 and "found" in result.stderr, result
