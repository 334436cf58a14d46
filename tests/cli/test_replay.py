"""fp32shim replay: recorded products are measured here, and what is not is named."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

import shim
from command import fp32shim, make_recording

OPENBLAS = {"OPENBLAS_NUM_THREADS": "1"}
SMALL = "sgemm_:8x4x16/NT:native:fp32:as_requested:100"
LARGE = "cblas_sgemm:96x160x128/TN:native:fp32:as_requested:10"
BATCH = "sgemm_batch_strided_:24x16x8/NN/5:native:fp32:as_requested:7"
COMPLEX = "cgemm_:24x32x8/CN:native:fp32:as_requested:6"
ON_GPU = "cublasSgemmStridedBatched:24x16x8/NT/5:high:tf32:as_requested:7"
STAND_IN = shim.BUILD / "tests/cublas/stand_in"


@pytest.fixture
def recorded(tmp_path):
    return lambda *calls: make_recording(tmp_path / "a.fp32rec", "summary", *calls)


def replay(recording, *words, blas="openblas", env=None, max_time=2):
    """With time for all products, also beside other work; each takes a fraction of a second."""
    library = ["--library", shim.blas_library(blas)] if blas else []
    return fp32shim("replay", "--max-time", max_time, *library, *words, recording, env={**OPENBLAS, **(env or {})})


def replayed(recording, *words, **keywords):
    result = replay(recording, "--format", "json", *words, **keywords)
    assert result.returncode == 0, result.stderr
    return result.json


def seen_by_the_shim(recording, tmp_path, *words, **keywords):
    """The products that a replay really makes."""
    log = tmp_path / "seen.jsonl"
    env = {"LD_PRELOAD": shim.LIBRARY, "FP32_MATMUL_LOG": log, **keywords.pop("env", {})}
    result = replay(recording, *words, env=env, **keywords)
    assert result.returncode == 0, result.stderr
    return [event for event in map(json.loads, log.read_text().splitlines()) if event["event"] == "decision"]


def products(decisions, *more):
    keys = ("function", "m", "n", "k", "trans_a", "trans_b", *more)
    return {tuple(decision[key] for key in keys) for decision in decisions}


@pytest.mark.parametrize("blas", shim.LP64_BLAS)
def test_a_program_is_measured_by_the_library_that_it_used(tmp_path, blas):
    log = tmp_path / "run.fp32rec"
    program = "import numpy as np\na = np.ones((96, 64), 'f')\nfor _ in range(20): a @ np.ones((64, 32), 'f')\na.T @ a\n"
    shim.run(shim.SYSTEM_PYTHON, "-c", program, blas=blas, log=log)
    result = replayed(log, blas=None)
    assert [pathlib.Path(path).parent for path in result["libraries"]] == [shim.blas_directory(blas)]
    (total,) = result["totals"]
    assert (total["device"], total["precision"], total["kinds"], total["calls"]) == ("cpu", "fp32", 1, 20)
    product, other = sorted(result["products"], key=lambda product: product["operation"])
    assert (product["m"], product["n"], product["k"], product["calls"]) == (96, 32, 64, 20)
    (measured,) = product["measured"]
    assert measured["problem"] is None and measured["runs"] > 10
    assert 2 * 96 * 32 * 64 / 1e13 * 1e9 < measured["ns"] < 1e8
    assert total["ns"] == pytest.approx(20 * measured["mean_ns"])
    assert (other["operation"], other["left_out"]) == ("syrk", "syrk is not a gemm")


def test_a_recorded_time_that_is_far_from_the_measured_one_is_named(recorded):
    slow = SMALL + ":1:1000000000"
    assert "factor of 3 or more" not in replay(recorded(slow.replace(":fp32:", ":bf16:"))).stdout
    result = replay(recorded(slow))
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("Recorded and measured times differ")]
    assert "or more for 1 kind, most for gemm 8x4x16 NT (" in line


@pytest.mark.parametrize("blas", shim.LP64_BLAS)
def test_the_products_have_the_recorded_sizes_and_valid_arguments(recorded, tmp_path, blas):
    decisions = seen_by_the_shim(recorded(SMALL, LARGE, BATCH, COMPLEX), tmp_path, blas=blas)
    assert products(decisions, "reason") == {
        ("sgemm_", 8, 4, 16, "N", "T", "as_requested"), ("cblas_sgemm", 96, 160, 128, "T", "N", "as_requested"),
        ("sgemm_", 24, 16, 8, "N", "N", "as_requested"), ("cgemm_", 24, 32, 8, "C", "N", "as_requested")}


def test_a_batch_takes_as_long_as_its_products(recorded):
    single = "sgemm_:64:native:fp32:as_requested:9"
    batch = "sgemm_batch_strided_:64/NN/50:native:fp32:as_requested:1"
    by_batch = {product["batch"]: product["measured"][0]["ns"] for product in replayed(recorded(single, batch))["products"]}
    assert 20 < by_batch[50] / by_batch[1] < 150


def test_a_library_with_other_names_is_measured_by_those(recorded, tmp_path):
    decisions = seen_by_the_shim(recorded("scipy_cblas_sgemm64_:8x4x16/NT:native:fp32:as_requested:9", ON_GPU), tmp_path)
    functions = {name for name, *_ in products(decisions)}
    assert len(functions) == 1 and functions <= {"sgemm_", "cblas_sgemm"}
    assert {decision["reason"] for decision in decisions} == {"as_requested"}


def library_of(tmp_path, body):
    source, library = tmp_path / "blas.c", tmp_path / "libbad.so"
    source.write_text("#include <stdlib.h>\n#include <unistd.h>\nvoid sgemm_(char* ta, char* tb, int* m) { " + body + " }\n")
    subprocess.run([shim.tool("cc"), "-shared", "-fPIC", source, "-o", library], check=True)
    return library


@pytest.mark.parametrize("body, end", [("if (*m == 8) abort();", "was killed by signal 6"),
                                       ("if (*m == 8) exit(3);", "ended with status 3")])
def test_a_crash_of_a_library_is_told_and_the_others_are_measured(recorded, tmp_path, body, end):
    recording = recorded(SMALL, "sgemm_:24x16x8:native:fp32:as_requested:9", "sgemm_:25x16x8:native:fp32:as_requested:1")
    result = replay(recording, "--library", library_of(tmp_path, body), "--format", "json", blas=None)
    assert result.returncode == 1
    by_m = {product["m"]: product["measured"][0]["problem"] for product in result.json["products"]}
    assert by_m == {8: f"the library's process {end}", 24: None, 25: None}


def test_without_the_library_it_is_said_how_to_name_another(recorded):
    result = replay(recorded(SMALL), blas=None)
    assert result.returncode == 3
    assert "100 calls of 1 kind" in result.stdout and "its library does not exist here; name another with --library" in result.stdout
    assert replay(recorded(SMALL), "--library", "/nowhere/libblas.so", blas=None).returncode == 2


def loaded_and_recorded(tmp_path, library):
    """A recording of a program that opened this library for itself."""
    log = tmp_path / "own.fp32rec"
    code = (f"import ctypes, struct\nblas = ctypes.CDLL({str(library)!r})\nn = ctypes.byref(ctypes.c_int(8))\n"
            "one = ctypes.byref(ctypes.c_float(1))\nx = ctypes.create_string_buffer(1024)\n"
            "blas.sgemm_(b'N', b'N', n, n, n, one, x, n, x, n, one, x, n)\n")
    shim.run(shim.SYSTEM_PYTHON, "-c", code, log=log)
    return log


@pytest.mark.parametrize("what, words", [("owner", "libown.so belongs to another user, number 12345"),
                                         ("folder's owner", "/blas belongs to another user, number 12345"),
                                         ("mode", "libown.so may be changed by anyone")])
def test_code_of_others_runs_only_where_it_is_named(tmp_path, what, words):
    shim.need(os.geteuid() == 0, "only root can give files away")
    (tmp_path / "blas").mkdir()
    library = tmp_path / "blas/libown.so"
    shutil.copy(shim.client("libfake_plain.so"), library)
    log = loaded_and_recorded(tmp_path, library)
    assert str(library) in replay(log, blas=None).stdout
    if what == "mode":
        library.chmod(0o777)
    else:
        os.chown(library if what == "owner" else library.parent, 12345, 12345)
    result = replay(log, blas=None)
    assert result.returncode == 3
    assert words in result.stdout and f"--library {library} opens it anyway" in result.stdout
    named = fp32shim("replay", "--max-time", "1", "--library", library, "--format", "json", log)
    assert named.json["products"][0]["measured"][0]["problem"] is None


@pytest.mark.parametrize("closed", [(0,), (0, 2)])
def test_a_replay_without_standard_descriptors_measures_all_the_same(recorded, tmp_path, closed):
    out = tmp_path / "out"
    words = [shim.BUILD / "bin/fp32shim", "replay", "--max-time", "1", "--library", shim.blas_library("openblas"),
             *(["--format", "json"]), recorded(SMALL)]
    script = "exec \"$@\" " + " ".join(f"{number}>&-" for number in closed) + f" >{out}"
    done = subprocess.run(["sh", "-c", script, "sh", *map(str, words)], check=False, timeout=600)
    assert done.returncode == 0
    assert json.loads(out.read_text())["products"][0]["measured"][0]["problem"] is None


def test_products_beyond_the_number_are_named(recorded):
    text = replay(recorded(LARGE, SMALL, COMPLEX), "--top", "1").stdout
    assert text.count("CPU fp32: ") == 1 and "--top 1 leaves it out" in text and "of 2 kinds" in text


def test_products_that_the_time_does_not_last_for_are_named(recorded, tmp_path):
    recording = recorded("sgemm_:8-12:native:fp32:as_requested:1")
    slow = library_of(tmp_path, "usleep(300000);")
    result = replay(recording, "--library", slow, "--format", "json", blas=None, max_time=1)
    assert result.returncode == 0
    problems = [product["measured"][0]["problem"] for product in result.json["products"]]
    # Each product runs at least twice, which takes at least 0.6 of the one second in all.
    measured = problems.count(None)
    assert measured in (1, 2) and problems[measured:] == (5 - measured) * ["there was no time left; raise --max-time"]


def test_a_product_that_does_not_fit_into_memory_is_named(recorded):
    result = replay(recorded("sgemm_:2000000:native:fp32:as_requested:2", SMALL))
    assert result.returncode == 0 and "its matrices need more than a quarter of the memory" in result.stdout


def test_only_calls_that_pass_the_filter_are_measured(recorded):
    result = replayed(recorded(SMALL, LARGE), "--m", "8")
    assert [product["m"] for product in result["products"]] == [8]


def on_stand_in(compute_capability="9.0"):
    shim.need((STAND_IN / "libcublas.so.13").exists(), "the stand-in for cuBLAS was not built")
    return {"LD_LIBRARY_PATH": STAND_IN, "STAND_IN_COMPUTE_CAPABILITY": compute_capability}


def test_a_gpu_measures_all_of_its_formats(recorded, tmp_path):
    recording = recorded(SMALL, COMPLEX, ON_GPU)
    decisions = seen_by_the_shim(recording, tmp_path, blas=None, env=on_stand_in())
    expected = set()
    for applied in ("fp32", "tf32", "bf16"):
        expected |= {("cublasGemmEx", 8, 4, 16, "N", "T", 1, "float32", applied),
                     ("cublasGemmEx", 24, 32, 8, "C", "N", 1, "complex64", applied),
                     ("cublasGemmStridedBatchedEx", 24, 16, 8, "N", "T", 5, "float32", applied)}
    assert products(decisions, "batch", "dtype", "applied") == expected
    assert {decision["status"] for decision in decisions} == {0}
    result = replayed(recording, blas=None, env=on_stand_in())
    assert [(total["device"], total["precision"], total["calls"], total["recorded_calls"]) for total in result["totals"]] == [
        ("cuda", "fp32", 113, 106), ("cuda", "tf32", 113, 106), ("cuda", "bf16", 113, 106)]
    text = replay(recording, "--function", "cublas*", blas=None, env=on_stand_in()).stdout
    assert " (launch) " in text and "recorded: " not in text  # the time of a launch is not the time of the product


def test_a_gpu_without_tf32_measures_fp32_only(recorded):
    result = replayed(recorded(SMALL), blas=None, env=on_stand_in("7.5"))
    assert [total["precision"] for total in result["totals"]] == ["fp32"]


def test_a_gpu_and_a_cpu_stand_side_by_side(recorded):
    text = replay(recorded(SMALL), env=on_stand_in()).stdout
    assert "CPU fp32  GPU fp32  GPU tf32  GPU bf16" in text and "GPU: fp32shim stand-in" in text


def test_a_damaged_recording_is_reported_and_the_rest_measured(recorded, tmp_path):
    (tmp_path / "bad.fp32rec").write_bytes(b"nothing")
    recorded(SMALL)
    result = replay(tmp_path)
    assert result.returncode == 1 and "CPU fp32: " in result.stdout and "bad.fp32rec" in result.stderr
