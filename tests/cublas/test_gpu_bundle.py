"""The bundle for machines with a GPU, tried on the stand-in: what it needs, that every step runs, and that the open
questions are answered right, whatever the stand-in is told to answer.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "preload"))
from shim import BUILD, environment, need, tool  # noqa: E402

BUNDLE = BUILD.resolve() / "gpu-bundle"
STAND_IN = BUILD.resolve() / "tests/cublas/stand_in"
ALLOWED = re.compile(r"lib(cublas|cublasLt)\.so\.13|libcuda\.so\.1|lib(c|m)\.so\.6|lib(dl|rt|pthread)\.so\.\d"
                     r"|ld-linux-.*")


@pytest.fixture(scope="module", autouse=True)
def is_built():
    need((BUNDLE / "VERSION").exists(), f"{BUNDLE} was not built")


def start(words, **variables):
    return subprocess.run([str(word) for word in words], env=environment(env=variables), text=True, timeout=500, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def run_script(output, *words, **variables):
    return start([BUNDLE / "run.sh", "--libraries", STAND_IN, "--python", "/usr/bin/python3", "--smoke",
                  "--output", output, *words], **variables)


def packed_binaries():
    return [path for path in sorted(BUNDLE.iterdir()) if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]


def semantics():
    """(row, answer, whether it is the default) for every answer that a row of the stand-in can have."""
    if not (STAND_IN / "stand_in_semantics").exists():
        return []
    rows = [line.split("\t") for line in start([STAND_IN / "stand_in_semantics"]).stdout.splitlines()]
    return [(name, answer, answer == default) for name, _, default, alternatives in rows
            for answer in [default, *alternatives.split(",")] if answer]


# ---- what is packed


def test_programs_need_nothing_but_cuda_and_the_c_library():
    readelf = tool("readelf", "binutils")
    names = []
    for binary in packed_binaries():
        dynamic = start([readelf, "--dynamic", "--wide", binary]).stdout
        needed = re.findall(r"Shared library: \[(.*?)\]", dynamic)
        assert needed, binary
        assert not [library for library in needed if not ALLOWED.fullmatch(library)], (binary, needed)
        assert "RPATH" not in dynamic and "RUNPATH" not in dynamic, binary
        names.append(binary.name)
    assert {"libfp32shim.so", "products", "products_dlopen", "handles", "lt", "questions", "qtlq_cublas",
            "timing"} <= set(names)


def test_the_bundle_is_at_most_40_megabytes_and_has_no_stand_in():
    files = [path for path in BUNDLE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 40 * 1024 * 1024
    assert not [path for path in files if path.name.startswith(("libcuda", "libcublas"))]


# ---- run.sh


def test_every_step_passes_on_the_stand_in_or_says_what_is_missing(tmp_path):
    finished = run_script(tmp_path, "--time-limit", "450")
    assert finished.returncode == 0, finished.stdout
    assert " 0 failed" in finished.stdout
    results = (tmp_path / "results.md").read_text()
    for heading in ["## Steps", "## What cuBLAS does", "## The published TF32 case through cuBLAS", "## Timing"]:
        assert heading in results
    assert "no time left" not in results
    for precision in ["native", "highest", "high", "medium", "floor"]:
        for program in ["products", "products_dlopen", "handles", "lt"]:
            assert f"| clients | {program}, {precision} | passed |" in results
    assert re.search(r"\| forced TF32 \| 64\^3 \| 5 \|", results)
    assert (tmp_path / "rows.tsv").read_text().count("\n") > 20


def test_only_the_named_steps_run(tmp_path):
    finished = run_script(tmp_path, "--only", "qtlq", "timing", "--quick")
    assert finished.returncode == 0, finished.stdout
    results = (tmp_path / "results.md").read_text()
    assert "| qtlq | high | passed |" in results and "| timing |" in results
    assert "| questions |" not in results and "| clients |" not in results


def test_a_failed_step_is_named_and_makes_the_status_1(tmp_path):
    """A cuBLAS that makes no use of TF32 cannot reproduce the published table."""
    finished = run_script(tmp_path, "--only", "qtlq", STAND_IN_FAST="ignored")
    assert finished.returncode == 1, finished.stdout
    assert re.search(r"qtlq +high +FAILED: status 1, see qtlq-high\.log", finished.stdout)
    assert "agrees with: published FP32" in (tmp_path / "qtlq-high.log").read_text()


def test_what_has_not_begun_by_the_time_limit_is_skipped(tmp_path):
    finished = run_script(tmp_path, "--only", "qtlq", "--time-limit", "0")
    assert finished.returncode == 0
    assert "| qtlq | high | skipped: no time left |" in (tmp_path / "results.md").read_text()


def test_without_a_device_one_line_says_so(tmp_path):
    finished = run_script(tmp_path / "results", STAND_IN_DEVICES="0")
    assert finished.returncode == 77
    assert re.fullmatch(r"run\.sh: no CUDA device: .*\n", finished.stdout)
    assert not (tmp_path / "results").exists()


def test_without_a_driver_one_line_says_so(tmp_path):
    found = start(["sh", "-c", "ldconfig -p || /sbin/ldconfig -p"]).stdout
    need("libcuda.so.1" not in found, "this machine has a driver")
    for program in [[BUNDLE / "run.sh", "--output", tmp_path / "results"], [BUNDLE / "questions"], [BUNDLE / "timing"]]:
        finished = start(program)
        assert finished.returncode == 77, finished.stdout
        assert finished.stdout.count("\n") == 1 and "no CUDA device" in finished.stdout


def test_cuda_is_found_in_the_toolkit_that_the_environment_names(tmp_path):
    # A loader that knows of no CUDA.
    ldconfig = tmp_path / "bin/ldconfig"
    ldconfig.parent.mkdir()
    ldconfig.write_text("#!/bin/sh\n")
    ldconfig.chmod(0o755)
    (tmp_path / "driver").mkdir()
    (tmp_path / "toolkit/lib64").mkdir(parents=True)
    (tmp_path / "driver/libcuda.so.1").symlink_to(STAND_IN / "libcuda.so.1")
    for name in ["libcublas.so.13", "libcublasLt.so.13"]:
        (tmp_path / "toolkit/lib64" / name).symlink_to(STAND_IN / name)
    finished = start([BUNDLE / "run.sh", "--only", "qtlq", "--output", tmp_path / "results"],
                     LD_LIBRARY_PATH=str(tmp_path / "driver"), CUDA_PATH=str(tmp_path / "toolkit"),
                     PATH=f"{ldconfig.parent}:{os.environ['PATH']}")
    assert finished.returncode == 0, finished.stdout
    assert f"libcublas.so.13: {tmp_path}/toolkit/lib64" in finished.stdout


@pytest.mark.parametrize(("words", "named"), [(["--onyl", "qtlq"], "--onyl"), (["--only"], "--only"),
                                              (["--only", "clinets"], "clinets"), (["--time-limit", "soon"], "soon")])
def test_a_mistyped_option_is_named(words, named):
    finished = start([BUNDLE / "run.sh", *words])
    assert finished.returncode == 2
    assert named in finished.stdout


# ---- questions


def ask(tmp_path, **variables):
    """{row: answer}"""
    rows = tmp_path / "rows.tsv"
    finished = start([BUNDLE / "questions", "--size", "64", "--rows", rows], LD_LIBRARY_PATH=str(STAND_IN), **variables)
    assert finished.returncode == 0, finished.stdout
    return dict(line.split("\t") for line in rows.read_text().splitlines())


def test_every_row_of_the_stand_in_is_asked(tmp_path):
    assert set(ask(tmp_path)) == {name for name, _, _ in semantics()}


def test_the_stand_ins_own_answers_are_found_out(tmp_path):
    expected = {name: answer for name, answer, is_default in semantics() if is_default}
    answers = ask(tmp_path)
    told = {row: answer for row, answer in answers.items() if answer != "?"}
    assert told == {row: expected[row] for row in told}
    assert len(told) > 20


@pytest.mark.parametrize(("row", "answer"), [row[:2] for row in semantics() if not row[2]])
def test_another_answer_of_the_stand_in_is_found_out(tmp_path, row, answer):
    found = ask(tmp_path, STAND_IN_ASSUME=f"{row}={answer}")[row]
    need(found != "?", "no result tells this")
    assert found == answer


def test_a_library_that_makes_no_use_of_lower_formats_is_found_out(tmp_path):
    answers = ask(tmp_path, STAND_IN_FAST="ignored")
    assert {answer for row, answer in answers.items() if row.endswith("_honours_math_mode")} == {"no"}
    assert answers["fast_16f"] == answers["fast_16bf"] == "fp32"


# ---- frameworks


def products(tmp_path, *words, **variables):
    log = tmp_path / "log.jsonl"
    program = ["/usr/bin/python3", "-B", BUNDLE / "frameworks/products.py", "numpy"]
    return start([*program, "--size", "128", "--log", log, *words], LD_PRELOAD=str(BUNDLE / "libfp32shim.so"),
                 FP32_MATMUL_LOG=str(log), FP32_MATMUL_CPU="emulate", **variables)


@pytest.mark.parametrize(("precision", "measured"), [("highest", "fp32"), ("high", "tf32"), ("medium", "bf16")])
def test_a_frameworks_product_is_measured_and_its_decision_is_read(tmp_path, precision, measured):
    need(start(["/usr/bin/python3", "-c", "import numpy"]).returncode == 0, "python3-numpy is not installed")
    finished = products(tmp_path, "--expect", measured, FP32_MATMUL_PRECISION=precision)
    assert finished.returncode == 0, finished.stdout
    assert re.search(rf"\| {measured} \| .*cblas_sgemm.* \| ok \|", finished.stdout)
    refuted = products(tmp_path, "--expect", "fp32" if measured != "fp32" else "tf32", FP32_MATMUL_PRECISION=precision)
    assert refuted.returncode == 1 and "FAIL" in refuted.stdout


def test_a_product_that_the_shim_did_not_see_is_called_not_seen(tmp_path):
    need(start(["/usr/bin/python3", "-c", "import numpy"]).returncode == 0, "python3-numpy is not installed")
    finished = products(tmp_path, "--expect", "tf32", FP32_MATMUL_DISABLE="1")
    assert finished.returncode == 0, finished.stdout
    assert "| not seen |" in finished.stdout
