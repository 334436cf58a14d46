"""fp32shim verify: what may have multiplied past the shim makes a recording inconclusive, and is named."""

import hashlib
import json
import os
import pathlib
import platform
import shutil
import signal
import struct
import subprocess
import sys
import textwrap

import pytest

import shim
from command import COMMAND, build, environment, fp32shim, make_recording

PRODUCT = """
    void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    static float a[16], b[16], c[16];
    void run(void) { cblas_sgemm(101, 111, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4); }
"""

PRODUCT_THROUGH_TABLE = """
    typedef void product(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    product cblas_sgemm;
    product* table[] = {cblas_sgemm, cblas_sgemm};
    static float a[16], b[16], c[16];
    void run(void) { table[1](101, 111, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4); }
"""
PRODUCT_BY_NAME = """
    #include <dlfcn.h>
    #include <stdlib.h>
    typedef void product(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    static float a[16], b[16], c[16];
    void run(void) {
        product* found = dlsym(dlopen(getenv("FP32SHIM_TEST_LIBRARY"), RTLD_NOW), "cblas_sgemm");
        found(101, 111, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4);
    }
"""


def plugin(path, source=PRODUCT):
    return build(path, source, "-shared", "-fPIC", "-Wl,--no-as-needed", "-x", "none", shim.blas_library("reference"))


def record(log, *words, status=0, **settings):
    """Records a program, but not its kernels on GPUs, whose records would settle some doubts (test_kernel_verdicts.py)."""
    settings.setdefault("FP32_MATMUL_KERNELS", "0")
    done = subprocess.run([COMMAND, "run", "--quiet", "--pin", "--log", log, "--", *words], capture_output=True, text=True,
                          check=False, env=environment(LD_LIBRARY_PATH=shim.blas_directory("reference"), **settings))
    assert done.returncode == status, done.stderr
    return log


def load(log, *words):
    """Records a program that loads libraries, but not the kernels that they launch on a GPU (test_kernel_verdicts.py)."""
    return record(log, shim.client("loader"), *words, FP32_MATMUL_KERNELS="0")


def verify(*words):
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", *words)
    assert result.json["verdict"] == {0: "shown", 1: "violated", 3: "inconclusive"}[result.returncode]
    return result


def bypasses(result):
    return sorted({bypass["bypass"] for bypass in result.json["bypasses"]})


# Words of record/processor.hpp, which are at these offsets of a recording and of the first mark.
X86_64, AARCH64, AVX512BW, AVX512_BF16, AVX_NE_CONVERT = 1 << 15, 1 << 14, 1, 2, 16
IN_RECORDING, IN_FIRST_MARK = 208, 65536 + 18


def write_processor(recording, word, offset=IN_RECORDING):
    """Changes the processor in a recording. 0 means that none was noted."""
    with open(recording, "r+b") as file:
        file.seek(offset)
        file.write(word.to_bytes(2, sys.byteorder))


@pytest.fixture
def log(tmp_path):
    return tmp_path / "run.fp32rec"


@pytest.fixture
def numpy_product(tmp_path):
    shim.need(shim.has_module("numpy"), "no numpy")
    script = tmp_path / "product.py"
    script.write_text("import numpy, os, sys\na = numpy.ones((9, 9), numpy.float32)\na @ a\nexec(' '.join(sys.argv[1:]))\n")
    return [shim.SYSTEM_PYTHON, script]


def test_numpy_multiplies_on_no_bypass(log, numpy_product):
    result = verify(record(log, *numpy_product))
    assert (result.returncode, result.json["calls_shown"], result.json["bypasses"]) == (0, 1, [])


def test_torch_has_onednn_and_the_verdict_names_what_was_assumed(log):
    torch = "import torch; a = torch.ones(9, 9); a @ a"
    shim.need(subprocess.run([shim.SYSTEM_PYTHON, "-c", torch], check=False, capture_output=True).returncode == 0,
              "no torch")
    record(log, shim.SYSTEM_PYTHON, "-c", torch, FP32_MATMUL_ONEDNN="0")
    write_processor(log, X86_64 | AVX512BW)
    result = verify(log)
    assert result.returncode == 3 and "oneDNN" in bypasses(result)
    assumptions = [word for bypass in bypasses(result) for word in ("--assume-unused", bypass.upper())]
    result = verify(*assumptions, log)
    assert (result.returncode, result.json["bypasses"]) == (0, [])
    text = fp32shim("verify", "--at-least", "fp32", *assumptions, log).stdout
    assert text.startswith("Shown: ") and "Assumed not to have multiplied below fp32" in text and "oneDNN" in text.split("Assumed")[1]


@pytest.mark.parametrize("word, is_float32", [
    (X86_64, True), (X86_64 | AVX512BW, False), (X86_64 | AVX512BW | AVX512_BF16, False), (X86_64 | AVX_NE_CONVERT, False),
    (0, False), (AARCH64, False)], ids=["AVX2", "AVX512BW", "AVX512_BF16", "AVX_NE_CONVERT", "not known", "aarch64"])
def test_onednn_is_no_doubt_on_a_processor_for_which_it_has_nothing_below_float32(log, tmp_path, word, is_float32):
    onednn = plugin(tmp_path / "libdnnl.so.3")
    load(log, f"local={onednn}", f"run={onednn}")
    write_processor(log, word)
    result = verify(log)
    assert (result.returncode, bypasses(result)) == ((0, []) if is_float32 else (3, ["oneDNN"]))
    reasons = [bypass["reason"] for bypass in result.json["always_float32"]]
    text = fp32shim("verify", "--at-least", "fp32", log).stdout
    why = "; its processor has no avx512bw or avx_ne_convert, and without one of these oneDNN has no product below float32 ("
    assert [why in reason for reason in reasons] == ([True] if is_float32 else [])
    assert ("These multiply without the shim, but always at float32:\n- oneDNN: " in text) == (why in text) == is_float32
    for options in (["--at-least", "fp64"], ["--reproducible"]):
        assert "oneDNN" in bypasses(fp32shim("verify", *options, "--format", "json", log))


def test_onednn_is_a_doubt_on_any_processor_where_a_gpu_was_in_reach(log, tmp_path):
    onednn, driver = plugin(tmp_path / "libdnnl.so.3"), plugin(tmp_path / "libcuda.so.1", "void run(void) {}")
    load(log, f"local={onednn}", f"run={onednn}", f"local={driver}")
    write_processor(log, X86_64)
    assert bypasses(verify(log)) == ["oneDNN"]


def test_the_processor_of_a_process_without_a_call_is_known(log, tmp_path):
    product, onednn = plugin(tmp_path / "libproduct.so"), plugin(tmp_path / "libdnnl.so.3", "void run(void) {}")
    loader = shim.client("loader")
    record(log, "bash", "-c", f"'{loader}' local={product} run={product}; '{loader}' local={onednn}")
    marks = log.with_name("run.children.fp32rec")
    noted, = struct.unpack_from("H", marks.read_bytes(), IN_FIRST_MARK)
    assert noted & (X86_64 | AARCH64)
    for word, expected in ((X86_64, []), (X86_64 | AVX512BW, ["oneDNN"]), (0, ["oneDNN"])):
        write_processor(marks, word, IN_FIRST_MARK)
        assert bypasses(verify(log)) == expected


def test_a_bypass_that_does_not_exist_is_refused_with_those_that_do(log):
    result = fp32shim("verify", "--at-least", "fp32", "--assume-unused", "onedn", log)
    assert (result.returncode, len(result.lines)) == (2, 1)
    assert 'did you mean "oneDNN"?' in result.stderr


def test_a_violation_is_one_whatever_else_was_loaded(log, tmp_path):
    bypass = plugin(tmp_path / "libbypass.so", 'const char* mark(void) { return "dnnl_verbose,"; }' + PRODUCT)
    subprocess.run([COMMAND, "run", "-q", "--precision", "high", "--cpu", "emulate", "--log", log, "--",
                    shim.client("loader"), f"local={bypass}", f"run={bypass}"], check=True,
                   env=environment(LD_LIBRARY_PATH=shim.blas_directory("reference")))
    assert verify(log).returncode == 1


def test_a_bypass_that_was_unloaded_before_the_end_is_known(log, tmp_path):
    seen = plugin(tmp_path / "libseen.so")
    bypass = plugin(tmp_path / "libbypass.so", 'const char* mark(void) { return "gemm will use load-time value"; } void run(void) {}')
    load(log, f"local={seen}", f"run={seen}", f"local={bypass}", f"run={bypass}", f"close={bypass}")
    result = verify(log)
    assert bypasses(result) == ["ncnn"]
    reason = result.json["bypasses"][0]["reason"]
    assert reason.startswith(f"in {bypass}: multiplies")
    assert f"\n- ncnn: {reason}\n" in fp32shim("verify", "--at-least", "fp32", log).stdout


def test_a_bypass_that_the_environment_pins_is_named_so_and_is_no_proof(tmp_path):
    product = plugin(tmp_path / "libproduct.so")
    bypass = plugin(tmp_path / "libdnnl.so.3", "void run(void) {}")
    cublas = plugin(tmp_path / "libstatic.so", 'const char* mark(void) { return "CUBLASLT_LOG_LEVEL"; } void run(void) {}')
    driver = plugin(tmp_path / "libcuda.so.1", "void run(void) {}")
    words = [f"local={product}", f"run={product}", f"local={bypass}", f"local={driver}", f"local={cublas}"]
    load(tmp_path / "pinned.fp32rec", *words)
    subprocess.run([COMMAND, "run", "-q", "--floor", "fp32", "--log", tmp_path / "not.fp32rec", "--",
                    shim.client("loader"), *words], check=True,
                   env=environment(LD_LIBRARY_PATH=shim.blas_directory("reference"), NVIDIA_TF32_OVERRIDE="0"))
    onednn = "ONEDNN_DEFAULT_FPMATH_MODE=STRICT"
    both = "NVIDIA_TF32_OVERRIDE=0, CUBLAS_EMULATE_SINGLE_PRECISION=0"
    for name, expected, lines in [
            ("pinned", [[onednn], both.split(", ")],
             [f"  -> pinned by its environment: {entries}" for entries in (onednn, both)]),
            ("not", [[], []],  # static cuBLAS needs both of its variables
             [f"  -> {onednn} keeps it at float32; run --pin sets that, and records its products", "  -> NVIDIA_TF32_OVERRIDE=0 switches its TF32 off"])]:
        log = tmp_path / f"{name}.fp32rec"
        result = verify(log)
        assert (result.returncode, bypasses(result)) == (3, ["oneDNN", "static-cuBLAS"])
        assert [bypass["pinned_by"] for bypass in result.json["bypasses"]] == expected
        text = fp32shim("verify", "--at-least", "fp32", log).stdout
        assert [line for line in text.splitlines() if line.startswith("  -> ")] == lines
        assert all(line.strip() in fp32shim("verify", log).stdout for line in lines), "also of jobs by their floors"
    assumed = fp32shim("verify", "--at-least", "fp32", "--assume-unused", "oneDNN", "--assume-unused", "static-cuBLAS",
                       tmp_path / "pinned.fp32rec")
    assert assumed.returncode == 0 and f"; pinned by its environment: {onednn}\n" in assumed.stdout
    # Processes with and without the variables have separate entries.
    assert [len(bypass["recordings"]) for bypass in verify(tmp_path).json["bypasses"]] == [1] * 4


def test_kernels_for_gpus_count_only_where_a_driver_was_loaded(tmp_path):
    product = plugin(tmp_path / "libproduct.so")
    libraries = [plugin(tmp_path / name, "void run(void) {}") for name in ("libcudnn.so.9", "libtriton.so", "libmlx.so")]
    driver = plugin(tmp_path / "libcuda.so.1", "void run(void) {}")
    words = [f"local={product}", f"run={product}", *(f"local={bypass}" for bypass in libraries)]
    assert verify(load(tmp_path / "without.fp32rec", *words)).returncode == 0
    result = verify(load(tmp_path / "with.fp32rec", *words, f"local={driver}"))
    assert (result.returncode, bypasses(result)) == (3, ["MLX", "Triton", "cuDNN"])
    assert all(bypass["pinned_by"] for bypass in result.json["bypasses"])
    text = fp32shim("verify", "--at-least", "fp32", tmp_path / "with.fp32rec").stdout
    assert "TRITON_F32_DEFAULT=ieee is the precision of Triton's tl.dot if a kernel names none; does not affect" in text
    assert verify("--assume-unused", "triton,MLX,cuDNN", tmp_path / "with.fp32rec").returncode == 0
    refused = fp32shim("verify", "--at-least", "fp32", "--assume-unused", "Triton,MLY", tmp_path / "with.fp32rec")
    assert refused.returncode == 2 and 'did you mean "MLX"?' in refused.stderr


@pytest.mark.parametrize("options, variables, has_driver, is_said", [
    (["--floor", "fp32"], {}, True, True), ([], {"FP32_MATMUL_FLOOR": "fp32"}, True, True),
    (["--floor", "fp32"], {}, False, False), (["--floor", "tf32"], {}, True, False), ([], {}, True, False),
    (["--pin"], {}, True, False), (["--floor", "fp32"], {"NVIDIA_TF32_OVERRIDE": "0"}, True, False),
    (["--floor", "fp32", "--quiet"], {}, True, False)])
def test_a_run_with_a_floor_says_that_it_does_not_reach_cudnn_on_a_gpu(tmp_path, options, variables, has_driver, is_said):
    libraries = [plugin(tmp_path / "libproduct.so"), plugin(tmp_path / "libcudnn.so.9", "void run(void) {}")]
    if has_driver:
        libraries.append(plugin(tmp_path / "libcuda.so.1", "void run(void) {}"))
    words = [word for library in libraries for word in (f"local={library}", f"run={library}")]
    done = subprocess.run([COMMAND, "run", *options, "--", shim.client("loader"), *words], capture_output=True, text=True,
                          check=True, env=environment(LD_LIBRARY_PATH=shim.blas_directory("reference"), **variables))
    lines = [line for line in done.stderr.splitlines() if "cuDNN" in line and "--pin" in line]
    assert len(lines) == is_said


@pytest.mark.parametrize("name, word", [
    ("libcudnn_graph.so.9", "cuDNN"), ("libcudnn_ops_infer.so.8", "cuDNN"), ("libcutensor.so.2", "cuTENSOR"),
    ("xla_cuda_plugin.so", "XLA-GPU"), ("libnvinfer.so.10", "TensorRT")])
def test_no_pin_proves_anything_of_kernels_that_a_library_has_itself(name, word, tmp_path):
    product = plugin(tmp_path / "libproduct.so")
    bypass = plugin(tmp_path / name, "void run(void) {}")
    driver = plugin(tmp_path / "libcuda.so.1", "void run(void) {}")
    result = verify(load(tmp_path / "a.fp32rec", f"local={product}", f"run={product}", f"local={driver}",
                         f"local={bypass}"))
    assert (result.returncode, bypasses(result)) == (3, [word])
    assert result.json["bypasses"][0]["pinned_by"]


@pytest.mark.parametrize("mark, word", [
    ("__cublas$lt$matmul", "XLA-GPU"), ("CUTENSOR_DISABLE_PLAN_CACHE", "cuTENSOR"), ("CUDNN_NVTX_LEVEL", "cuDNN")])
def test_kernels_for_gpus_are_known_wherever_they_are_linked_in(mark, word, tmp_path):
    product = plugin(tmp_path / "libproduct.so")
    tensorflow = plugin(tmp_path / "libtensorflow_cc.so.2",
                        f'const char* mark(void) {{ return "{mark}"; }} void run(void) {{}}')
    driver = plugin(tmp_path / "libcuda.so.1", "void run(void) {}")
    words = [f"local={product}", f"run={product}", f"local={tensorflow}"]
    assert verify(load(tmp_path / "without.fp32rec", *words)).returncode == 0
    result = verify(load(tmp_path / "with.fp32rec", *words, f"local={driver}"))
    assert (result.returncode, bypasses(result)) == (3, [word])


@pytest.mark.parametrize("name", ["librocblas.so.4", "libhipblaslt.so.0", "libMIOpen.so.1"])
def test_libraries_for_gpus_of_amd_are_doubts(name, tmp_path):
    product = plugin(tmp_path / "libproduct.so")
    bypass = plugin(tmp_path / name, "void run(void) {}")
    driver = plugin(tmp_path / "libamdhip64.so.6", "void run(void) {}")
    words = [f"local={product}", f"run={product}", f"local={bypass}"]
    assert verify(load(tmp_path / "without.fp32rec", *words)).returncode == 0
    result = verify(load(tmp_path / "with.fp32rec", *words, f"local={driver}"))
    assert (result.returncode, bypasses(result)) == (3, ["AMD-BLAS"])


def test_processes_with_a_pin_and_without_it_are_two_entries(tmp_path):
    product = plugin(tmp_path / "libproduct.so")
    words = [f"local={product}", f"run={product}", f"local={plugin(tmp_path / 'libmlx.so', 'void run(void) {}')}",
             f"local={plugin(tmp_path / 'libcuda.so.1', 'void run(void) {}')}"]
    load(tmp_path / "pinned.fp32rec", *words)
    subprocess.run([COMMAND, "run", "-q", "--log", tmp_path / "not.fp32rec", "--", shim.client("loader"), *words],
                   check=True, env=environment(LD_LIBRARY_PATH=shim.blas_directory("reference")))
    entries = verify(tmp_path).json["bypasses"]
    assert sorted(entry["pinned_by"] for entry in entries) == [[], ["MLX_ENABLE_TF32=0"]]


def changed(recording, copy, **bytes_of_row_1):
    """Writes a copy of a recording in which bytes of its first row are changed."""
    content = bytearray(recording.read_bytes())
    row = next(segment + 64 + 96 for segment in range(65536, len(content), 65536) if content[segment] == 2)
    for name, value in bytes_of_row_1.items():
        content[row + {"dtype": 74, "device": 75, "requested": 76, "applied": 77, "how": 79, "reason": 81}[name]] = value
    copy.write_bytes(content)
    return copy


def test_a_row_that_contradicts_itself_shows_nothing(tmp_path):
    numpy = "import numpy; a = numpy.ones((9, 9), numpy.float32); a @ a"
    shim.need(shim.has_module("numpy"), "no numpy")
    log = tmp_path / "a.fp32rec"
    subprocess.run([COMMAND, "run", "-q", "--precision", "high", "--cpu", "emulate", "--log", log, "--",
                    shim.SYSTEM_PYTHON, "-c", numpy], check=True, env=environment())
    assert verify(log).returncode == 1
    (tmp_path / "changed").mkdir()
    copy = tmp_path / "changed/a.fp32rec"
    for bytes_of_row in ({"applied": 0}, {"applied": 0, "how": 0}, {"applied": 0, "how": 3}, {"applied": 0, "dtype": 2},
                         {"applied": 0, "how": 77}, {"applied": 5, "how": 0, "reason": 9}):
        result = verify(changed(log, copy, **bytes_of_row))
        assert result.returncode == 3, (bytes_of_row, result.stdout)
        assert any("contradicts itself" in doubt["reason"] for doubt in result.json["doubts"]), bytes_of_row
    assert "A recording is not sealed" in verify(log).json["scope"]


def test_the_json_names_what_was_judged(tmp_path, numpy_product):
    log = record(tmp_path / "run.fp32rec", *numpy_product)
    judged, = verify(log).json["processes"]
    assert judged["recording"] == str(log) and judged["sha256"] == hashlib.sha256(log.read_bytes()).hexdigest()
    assert judged["program"] == os.path.realpath(shim.SYSTEM_PYTHON) and str(numpy_product[1]) in judged["command"]
    assert judged["host"] == os.uname().nodename and judged["pid"] > 0 and judged["calls"] == 1
    assert judged["began"] <= judged["first_call"] <= judged["last_call"]
    build_ids = {file["path"]: file["build_id"] for file in judged["files"]}
    assert any("libblas" in path and build_id for path, build_id in build_ids.items())


def test_run_sets_what_pins_other_libraries_and_the_recording_says_so(tmp_path):
    log = tmp_path / "run.fp32rec"
    product = plugin(tmp_path / "libproduct.so")
    record(log, shim.client("loader"), f"local={product}", f"run={product}", JAX_DEFAULT_MATMUL_PRECISION="bfloat16")
    report = fp32shim("report", "--format", "json", log).json
    assert set(report["processes"][0]["pinned_by"]) == {
        "ONEDNN_DEFAULT_FPMATH_MODE=STRICT", "NVIDIA_TF32_OVERRIDE=0", "CUBLAS_EMULATE_SINGLE_PRECISION=0",
        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=0", "TRITON_F32_DEFAULT=ieee", "CUPY_TF32=0",
        "JAX_DEFAULT_MATMUL_PRECISION=highest", "MLX_ENABLE_TF32=0", "CUBLAS_EMULATE_DOUBLE_PRECISION=0",
        "FP32SHIM_XLA_FLAG=--xla_gpu_enable_triton_gemm=false"}


@pytest.mark.parametrize("variable, value, pinned", [
    ("TRITON_F32_DEFAULT", "tf32x3", "ieee"), ("CUPY_TF32", "1", "0"), ("MLX_ENABLE_TF32", "1", "0"),
    ("JAX_DEFAULT_MATMUL_PRECISION", "tensorfloat32", "highest")])
def test_doctor_knows_the_variables_of_libraries_that_compile_kernels(variable, value, pinned):
    text = fp32shim("doctor", env={variable: value}).stdout
    assert f"{variable}={value}" in text and f"{variable}={pinned}, which" in text.replace("\n", " ")
    assert f"{variable}={pinned}" not in fp32shim("doctor", env={variable: pinned}).stdout


def test_a_program_without_a_product_leaves_a_recording_that_says_what_was_loaded(tmp_path):
    bypass = plugin(tmp_path / "libXNNPACK.so.3", "void run(void) {}")
    done = subprocess.run([COMMAND, "run", "--log", tmp_path / "a.fp32rec", "--", shim.client("loader"), f"local={bypass}"],
                          capture_output=True, text=True, check=True, env=environment())
    assert "no matrix product was recorded" in done.stderr
    assert "XNNPACK in libXNNPACK.so.3" in done.stderr and "float64" not in done.stderr
    result = verify(tmp_path / "a.fp32rec")
    assert (result.returncode, bypasses(result)) == (3, ["XNNPACK"])
    for options, ends in ((["-q"], "raise SystemExit(5)"), ([], "import os; os._exit(5)")):
        log = tmp_path / f"{len(options)}.fp32rec"
        done = subprocess.run([COMMAND, "run", *options, "--log", log, "--", shim.SYSTEM_PYTHON, "-c", ends],
                              capture_output=True, text=True, check=False, env=environment())
        assert done.returncode == 5 and verify(log).returncode == 3


def test_a_summary_names_what_was_loaded_beside_what_was_counted(tmp_path):
    product, bypass = plugin(tmp_path / "libproduct.so"), plugin(tmp_path / "libXNNPACK.so.3", "void run(void) {}")
    done = subprocess.run([COMMAND, "run", "--", shim.client("loader"), f"local={product}", f"run={product}", f"local={bypass}"],
                          capture_output=True, text=True, check=True,
                          env=environment(LD_LIBRARY_PATH=shim.blas_directory("reference")))
    assert "These libraries were loaded but are not covered: XNNPACK in libXNNPACK.so.3\n" in done.stderr


def test_a_report_names_the_variables_that_pin_other_libraries(tmp_path):
    pinned = {"NVIDIA_TF32_OVERRIDE": "0", "ONEDNN_DEFAULT_FPMATH_MODE": "ANY"}
    for name, variables in (("a", pinned), ("b", {"NVIDIA_TF32_OVERRIDE": "1"})):
        subprocess.run([shim.client("make_recording"), tmp_path / f"{name}.fp32rec", "summary",
                        "sgemm_:8:native:fp32:as_requested:1"], check=True, env=environment(**variables), capture_output=True)
    content = bytearray((tmp_path / "b.fp32rec").read_bytes())
    content[111] = 0  # value of a writer that did not note the pins
    content[48] ^= 1
    (tmp_path / "c.fp32rec").write_bytes(content)
    processes = fp32shim("report", "--format", "json", tmp_path).json["processes"]
    assert [process["pinned_by"] for process in processes] == [["NVIDIA_TF32_OVERRIDE=0"], [], None]
    text = fp32shim("report", tmp_path).stdout
    assert text.count("pinned by its environment: NVIDIA_TF32_OVERRIDE=0 (1 recording)") == 1


@pytest.mark.parametrize("is_closed", [False, True], ids=["left open", "closed"])
@pytest.mark.parametrize("source", [PRODUCT, PRODUCT_THROUGH_TABLE], ids=["by call", "by table"])
@pytest.mark.parametrize("way, expected", [("local", []), ("global", []), ("deepbind", ["bound-past"])])
def test_a_library_that_is_bound_past_the_shim_is_named(log, tmp_path, way, expected, source, is_closed):
    seen, other = plugin(tmp_path / "libseen.so"), plugin(tmp_path / "libother.so", source)
    load(log, f"local={seen}", f"{way}={other}", f"run={seen}", f"run={other}", *([f"close={other}"] if is_closed else []))
    result = verify(log)
    assert bypasses(result) == expected
    assert all("libother.so" in bypass["reason"] for bypass in result.json["bypasses"])


def test_what_a_closed_library_brought_in_is_named_too(log, tmp_path):
    seen = plugin(tmp_path / "libseen.so")
    inner = plugin(tmp_path / "libinner.so", PRODUCT.replace("run", "run_inner"))
    outer = build(tmp_path / "libouter.so", "void run_inner(void); void run(void) { run_inner(); }", "-shared", "-fPIC",
                  "-x", "none", inner)
    load(log, f"local={seen}", f"deepbind={outer}", f"run={seen}", f"run={outer}", f"close={outer}")
    result = verify(log)
    assert bypasses(result) == ["bound-past"] and "libinner.so" in result.json["bypasses"][0]["reason"]


def test_addresses_of_functions_in_a_program_at_a_fixed_place_are_on_no_bypass(log, tmp_path):
    table = plugin(tmp_path / "libtable.so", PRODUCT_THROUGH_TABLE)
    program = build(tmp_path / "program", "void run(void); void cblas_sgemm(void); void* volatile address;"
                    "int main(void) { address = cblas_sgemm; run(); return 0; }", "-fno-pic", "-no-pie",
                    "-Wno-builtin-declaration-mismatch", f"-Wl,-rpath,{tmp_path}", "-x", "none", table,
                    shim.blas_library("reference"))
    result = verify(record(log, program))
    assert (result.returncode, result.json["calls_shown"], bypasses(result)) == (0, 1, [])


# Libraries that may come before the shim in LD_PRELOAD: they multiply, and may call the next function of that name.
MULTIPLIES = """
    void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda, const float* b,
                     int ldb, float beta, float* c, int ldc) { c[0] = alpha * a[0] * b[0]; }
"""
GOES_ON_BY_NAME = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    typedef void product(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda, const float* b,
                     int ldb, float beta, float* c, int ldc) {
        product* next = dlsym(RTLD_NEXT, "cblas_sgemm");
        next(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    }
"""
GOES_ON_BY_A_CALL = """
    void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
                const float*, const int*, const float*, float*, const int*);
    void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda, const float* b,
                     int ldb, float beta, float* c, int ldc) {
        sgemm_("N", "N", &n, &m, &k, &alpha, b, &ldb, a, &lda, &beta, c, &ldc);
    }
"""


@pytest.mark.parametrize("wrapper", [GOES_ON_BY_NAME, GOES_ON_BY_A_CALL], ids=["by name", "by a call"])
def test_a_library_that_is_bound_to_a_wrapper_behind_the_shim_is_named(log, tmp_path, wrapper):
    behind = plugin(tmp_path / "libwrapper.so", wrapper)
    other = build(tmp_path / "libother.so", PRODUCT, "-shared", "-fPIC", "-x", "none", behind)
    load(log, f"deepbind={other}", f"run={other}")
    result = verify(log)
    assert bypasses(result) == ["bound-past"] and "libother.so" in result.json["bypasses"][0]["reason"]


# A BLAS may import dlsym for other purposes, so its name decides.
@pytest.mark.parametrize("source, name, is_past, shown", [
    (MULTIPLIES, "libearlier.so", True, 1), (GOES_ON_BY_NAME, "libearlier.so", False, 2),
    (GOES_ON_BY_A_CALL, "libearlier.so", False, 2), (GOES_ON_BY_NAME, "libcublas.so.13", True, 2),
    (GOES_ON_BY_NAME, "libopenblas.so.0", True, 2)],
    ids=["multiplies", "goes on by name", "goes on by a call", "cuBLAS by its name", "OpenBLAS by its name"])
def test_a_library_that_is_preloaded_before_the_shim_is_past_it_unless_it_goes_on(log, tmp_path, source, name, is_past, shown):
    earlier = build(tmp_path / name, source, "-shared", "-fPIC")
    direct, by_name = plugin(tmp_path / "libdirect.so"), plugin(tmp_path / "libbyname.so", PRODUCT_BY_NAME)
    library = shim.blas_library("reference")
    subprocess.run([shim.client("loader"), f"global={direct}", f"run={direct}", f"local={by_name}", f"run={by_name}"],
                   check=True, env=environment(LD_PRELOAD=f"{earlier}:{shim.LIBRARY}", FP32_MATMUL_LOG=log,
                                               FP32_MATMUL_PRECISION="highest", FP32SHIM_TEST_LIBRARY=library,
                                               LD_LIBRARY_PATH=library.parent))
    result = verify(log)
    assert bypasses(result) == (["bound-past"] if is_past else [])
    assert result.json["calls_shown"] == shown


# Opens the library that its first argument names, calls its run(), and closes it if there is a second argument.
LAZY_LOADER = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    int main(int argc, char** argv) {
        void* library = dlopen(argv[1], RTLD_LAZY | RTLD_DEEPBIND);
        void (*run)(void) = (void (*)(void))dlsym(library, "run");
        run();
        return argc > 2 ? dlclose(library) : 0;
    }
"""
# An audit library that sees each call between libraries.
AUDITOR = """
    #define _GNU_SOURCE
    #include <link.h>
    unsigned la_version(unsigned version) { return version; }
    unsigned la_objopen(struct link_map* map, Lmid_t list, uintptr_t* cookie) { return LA_FLG_BINDTO | LA_FLG_BINDFROM; }
    Elf64_Addr la_MACHINE_gnu_pltenter(Elf64_Sym* symbol, unsigned index, uintptr_t* from, uintptr_t* to,
                                       La_MACHINE_regs* registers, unsigned* flags, const char* name, long* size) {
        return symbol->st_value;
    }
""".replace("MACHINE", platform.machine())


# LAZY_LOADER with a product of its own before. A forked child calls the library's run().
LAZY_FORKER = PRODUCT.replace("run", "product") + LAZY_LOADER.replace("run();", "product(); if (fork() == 0) { run(); _exit(0); } wait(0);")


def test_a_library_that_a_forked_child_first_calls_past_the_shim_is_a_doubt(log, tmp_path):
    includes = ["-include", "unistd.h", "-include", "sys/wait.h"]
    own = build(tmp_path / "libown.so", MULTIPLIES, "-shared", "-fPIC")
    lazy = build(tmp_path / "liblazy.so", PRODUCT, "-shared", "-fPIC", "-Wl,-z,lazy", "-x", "none", own)
    forker = build(tmp_path / "forker", LAZY_FORKER, *includes, "-x", "none", shim.blas_library("reference"), "-ldl")
    record(log, forker, lazy)
    result = verify(log)
    assert result.returncode == 3 and any("liblazy.so" in bypass["reason"] for bypass in result.json["bypasses"])


@pytest.mark.parametrize("is_closed", [False, True], ids=["left open", "closed"])
@pytest.mark.parametrize("way", ["LD_BIND_NOT", "LD_AUDIT"])
def test_a_lazily_bound_library_is_a_doubt_where_the_loader_stores_no_bindings(log, tmp_path, way, is_closed):
    seen = build(tmp_path / "seen", PRODUCT + "int main(void) { run(); }", "-x", "none", shim.blas_library("reference"))
    lazy = build(tmp_path / "liblazy.so", PRODUCT, "-shared", "-fPIC", "-Wl,-z,lazy", "-x", "none", shim.blas_library("reference"))
    loader = build(tmp_path / "loader", LAZY_LOADER, "-ldl")
    auditor = build(tmp_path / "libauditor.so", AUDITOR, "-shared", "-fPIC")
    setting = {"LD_BIND_NOT": "LD_BIND_NOT=1", "LD_AUDIT": f"LD_AUDIT={auditor}"}[way]
    record(tmp_path / "seen.fp32rec", "sh", "-c", f"{setting} '{seen}'; true")
    assert bypasses(verify(tmp_path / "seen.fp32rec")) == []  # without dlopen, the shim comes first
    record(log, "sh", "-c", f"'{seen}'; {setting} '{loader}' '{lazy}' {'close' if is_closed else ''}")
    result = verify(log)
    assert (result.returncode, bypasses(result)) == (3, ["bound-past"])
    assert any("liblazy.so" in bypass["reason"] and "LD_BIND_NOT or LD_AUDIT hides" in bypass["reason"]
               for bypass in result.json["bypasses"])


@pytest.mark.parametrize("words, narrow, is_doubt", [([], "other", False), (["-rdynamic"], "other", False), ([], "sbgemm_", True)],
                         ids=["hidden", "exported", "with products of BF16"])
def test_a_blas_inside_the_program_is_named_and_a_doubt_only_if_it_multiplies_bf16(log, tmp_path, words, narrow, is_doubt):
    # The library's BLAS has no sgemm_, so no reference to one can lead into the program.
    blas = build(tmp_path / "libsmallblas.so", MULTIPLIES + "int cblas_isamax(long n, const float* x, int step)"
                 " { return (int)n > 1; }", "-shared", "-fPIC")
    library = build(tmp_path / "libmultiplies.so", PRODUCT, "-shared", "-fPIC", "-x", "none", blas)
    program = build(tmp_path / "program", "__attribute__((noinline)) void sgemm_(void) { __asm__(\"\"); } void run(void);"
                    f"__attribute__((noinline)) void {narrow}(void) {{ __asm__(\"\"); }} int main(void) {{ sgemm_(); {narrow}();"
                    " run(); return 0; }", *words, f"-Wl,-rpath,{tmp_path}",
                    f"-Wl,-rpath-link,{tmp_path}", "-x", "none", library)
    result = verify(record(log, program))
    assert bypasses(result) == (["static-BLAS"] if is_doubt else [])
    entry, = result.json["bypasses" if is_doubt else "always_float32"]
    assert entry["bypass"] == "static-BLAS" and str(program) in entry["reason"] and result.returncode == (3 if is_doubt else 0)


def test_of_a_program_that_executed_another_one_the_doubt_says_so(tmp_path, numpy_product):
    log = tmp_path / "run.%p.fp32rec"
    record(log, *numpy_product, "os.execv(sys.executable, [sys.executable, sys.argv[0], 'pass'])")
    first, second = sorted(tmp_path.glob("*.fp32rec"), key=lambda path: ".1." in path.name)
    (tmp_path / "alone").mkdir()
    alone = shutil.copy2(second, tmp_path / "alone")  # in a separate folder: beside the first, both would be judged
    result = verify(alone)
    assert bypasses(result) == []
    assert ["the recording that lists this one is missing" in doubt["reason"] for doubt in result.json["doubts"]] == [True]
    both = verify(first, second).json
    assert (both["calls_shown"], [bypass["recordings"] for bypass in both["bypasses"]]) == (2, [[str(first)]])
    assert "the process became another program by exec" in both["bypasses"][0]["reason"]
    pathlib.Path(alone).unlink()
    alone = shutil.copy2(first, tmp_path / "alone")
    assert "was killed, became another program by exec, or ended by its own system call" in verify(alone).json["bypasses"][0]["reason"]


def test_closing_costs_little_however_many_libraries_are_loaded(log, tmp_path, numpy_product):
    first = build(tmp_path / "lib0.so", "int nothing;", "-shared", "-fPIC")
    for i in range(1, 300):
        shutil.copy(first, tmp_path / f"lib{i}.so")
    cost = f"""
import _ctypes, time
_ctypes.dlopen({str(first)!r}, 2)
def round():
    begin = time.perf_counter_ns()
    _ctypes.dlclose(_ctypes.dlopen({str(first)!r}, 2))
    return time.perf_counter_ns() - begin
few = min(round() for _ in range(1000))
for i in range(300): _ctypes.dlopen({str(tmp_path)!r} + f"/lib{{i}}.so", 2)
many = min(round() for _ in range(1000))
assert many < 30 * few, (few, many)
"""
    assert verify(record(log, *numpy_product, f"exec({cost!r})")).returncode == 0


def test_a_function_that_is_looked_up_in_another_namespace_is_known(log, numpy_product):
    library = shim.blas_library("reference")
    look_up = f"""
import ctypes, os
libc = ctypes.CDLL(None)
libc.dlmopen.restype = libc.dlsym.restype = ctypes.c_void_p
handle = libc.dlmopen(ctypes.c_long(-1), {os.fsencode(library)!r}, os.RTLD_NOW)
assert libc.dlsym(ctypes.c_void_p(handle), b"sgemm_")
"""
    result = verify(record(log, *numpy_product, f"exec({look_up!r})"))
    assert (result.returncode, bypasses(result)) == (3, ["dlsym-past"])


def test_what_was_loaded_before_a_kill_cannot_be_known(log, numpy_product):
    record(log, *numpy_product, "os.kill(os.getpid(), 9)", status=-signal.SIGKILL)
    result = verify(log)
    assert (result.returncode, bypasses(result)) == (3, ["later"])
    assert verify("--assume-unused", "later", log).returncode == 0


def test_workers_of_pools_that_end_by__exit_are_shown(log, numpy_product):
    pool = "import multiprocessing as m; p = m.get_context('fork').Pool(2); p.map(a.dot, [a, a]); p.close(); p.join()"
    record(log, *numpy_product, pool)
    result = verify(log)
    assert (result.returncode, result.json["calls_shown"], result.json["bypasses"]) == (0, 3, [])


@pytest.mark.parametrize("end, expected", [("p.close(); p.join()", []), ("", ["later"])], ids=["joined", "terminated"])
def test_workers_of_a_pool_in_a_with_block_are_shown_once_they_are_joined(tmp_path, numpy_product, end, expected):
    pool = f"""
import multiprocessing as m, time
def work(sleeps):
    a @ a
    if sleeps: os.write(writer, b'.'), time.sleep(60)
reader, writer = os.pipe()
with m.get_context('fork').Pool(1) as p:
    p.map(work, [0, 0])
    {end or "p.apply_async(work, (1,)), os.read(reader, 1)"}
"""
    record(tmp_path / "run.fp32rec", *numpy_product, f"exec({pool!r}, globals())")
    result = verify(tmp_path)
    assert (bypasses(result), result.json["calls_shown"]) == (expected, 4 if expected else 3)
    assert all("close() and join()" in bypass["remedy"] for bypass in result.json["bypasses"])


def test_a_forked_child_knows_what_its_parent_had_loaded(tmp_path, log, numpy_product):
    child = "child = os.fork(); a @ a; os.waitpid(child, 0) if child else None"
    record(log, *numpy_product, child)
    recordings = sorted(tmp_path.glob("*.fp32rec"))
    assert len(recordings) == 2
    result = verify(*recordings)
    assert (result.returncode, result.json["calls_shown"], result.json["bypasses"]) == (0, 3, [])


def test_a_library_that_was_changed_since_is_judged_by_its_name_and_that_is_said(log, tmp_path):
    seen = plugin(tmp_path / "libseen.so")
    dnnl = plugin(tmp_path / "libXNNPACK.so.9", "void run(void) {}")
    load(log, f"local={seen}", f"run={seen}", f"local={dnnl}", f"run={dnnl}")
    assert bypasses(verify(log)) == ["XNNPACK"]
    plugin(seen, "int something_else;" + PRODUCT)
    dnnl.unlink()
    result = verify(log)
    assert bypasses(result) == ["XNNPACK", "unread"]
    reasons = "\n".join(bypass["reason"] for bypass in result.json["bypasses"] if bypass["bypass"] == "unread")
    assert "libseen.so: the loaded file is a different file now" in reasons
    assert "libXNNPACK.so.9: the loaded file does not exist here" in reasons


BYPASS = 'const char mark[] = "gemm will use load-time value"; '
HARMLESS = 'const char mark[] = "another string of the length "; '


def without_build_id(path, source):
    return build(path, source + PRODUCT, "-shared", "-fPIC", "-Wl,--build-id=none", "-Wl,--no-as-needed", "-x", "none",
                 shim.blas_library("reference"))


def with_times_of(path, other):
    facts = other.stat()
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def replace_file(library, other):
    with_times_of(other, library)
    other.rename(library)


def replace_content(library, other):
    before = library.parent / "before"
    shutil.copy2(library, before)
    library.write_bytes(other.read_bytes())
    with_times_of(library, before)


def replace_folder(library, other):
    with_times_of(other, library)
    new = library.parent.parent / "new"
    new.mkdir()
    other.rename(new / library.name)
    library.parent.rename(library.parent.parent / "old")
    new.rename(library.parent)


def replace_link(library, other):
    with_times_of(other, library.resolve())
    library.unlink()
    library.symlink_to(other)


@pytest.mark.parametrize("replace", [replace_file, replace_content, replace_folder, replace_link])
def test_a_library_that_was_replaced_with_its_old_times_is_not_judged_in_its_new_form(log, tmp_path, replace):
    folder = tmp_path / "libraries"
    folder.mkdir()
    other = without_build_id(tmp_path / "other.so", HARMLESS)
    library = without_build_id(folder / "libseen.so", BYPASS)
    assert other.stat().st_size == library.stat().st_size
    if replace is replace_link:
        library.rename(tmp_path / "target.so")
        library.symlink_to(tmp_path / "target.so")
    load(log, f"local={library}", f"run={library}")
    assert bypasses(verify(log)) == ["ncnn"]
    replace(library, other)
    result = verify(log)
    assert bypasses(result) == ["unread"]
    assert "libseen.so: the loaded file has changed or was copied since" in result.json["bypasses"][0]["reason"]


def test_a_library_without_a_build_id_that_has_not_changed_is_read(log, tmp_path):
    library = without_build_id(tmp_path / "libseen.so", HARMLESS)
    load(log, f"local={library}", f"run={library}")
    assert verify(log).returncode == 0


def test_a_library_that_lost_names_and_kept_its_build_id_is_another_one(log, tmp_path):
    library = plugin(tmp_path / "libseen.so", "static int sgemm_kernel_test(void) { return 1; } int f(void) { return sgemm_kernel_test(); }" + PRODUCT)
    load(log, f"local={library}", f"run={library}")
    assert verify(log).returncode == 0
    subprocess.run([shim.tool("strip", "binutils"), library], check=True)
    result = verify(log)
    assert bypasses(result) == ["unread"] and "is a different file now" in result.json["bypasses"][0]["reason"]


def test_a_copy_of_a_library_with_a_build_id_is_the_same(log, tmp_path):
    library = plugin(tmp_path / "libseen.so")
    load(log, f"local={library}", f"run={library}")
    shutil.copy(library, tmp_path / "copy.so")
    (tmp_path / "copy.so").rename(library)
    assert verify(log).returncode == 0


def test_the_library_of_a_process_without_a_call_is_told_from_another_by_its_layout(log, tmp_path):
    library = without_build_id(tmp_path / "libseen.so", BYPASS)
    other = without_build_id(tmp_path / "other.so", 'const char mark[] = "a text of another length, with the same times"; ')
    with_times_of(other, library)
    current = tmp_path / "current.so"
    current.symlink_to(library)
    record(log, "bash", "-c", f"'{shim.client('loader')}' local={current}; '{shim.client('loader')}' local={library} run={library}")
    assert bypasses(verify(log)) == ["ncnn"]
    current.unlink()
    current.symlink_to(other)
    result = verify(log)
    reasons = [bypass["reason"] for bypass in result.json["bypasses"] if bypass["bypass"] == "unread"]
    assert len(reasons) == 1 and "current.so: the loaded file is a different file now" in reasons[0]


def test_bypasses_of_many_recordings_are_said_once(tmp_path):
    bypass = plugin(tmp_path / "libbypass.so", 'const char* mark(void) { return "gemm will use load-time value"; }' + PRODUCT)
    for name in "abc":
        load(tmp_path / f"{name}.fp32rec", f"local={bypass}", f"run={bypass}")
    result = verify(tmp_path)
    assert len(result.json["bypasses"]) == 1
    assert len(result.json["bypasses"][0]["recordings"]) == 3
    text = fp32shim("verify", "--at-least", "fp32", tmp_path).stdout
    assert f"\n- ncnn: in {bypass}: " in text and "ncnn in" not in text


def test_the_start_of_a_forked_child_in_a_json_log_has_the_settings_after_a_reload(tmp_path, numpy_product):
    policy = tmp_path / "policy.toml"
    policy.write_text('schema = 1\nname = "first"\n')
    change = f"""
import ctypes, os
open({str(policy)!r}, "w").write('schema = 1\\nname = "second"\\ndefault = "highest"\\n')
assert ctypes.CDLL({str(shim.LIBRARY)!r}).fp32shim_reload_policy() == 0
child = os.fork()
a @ a
if child: os.waitpid(child, 0)
"""
    log = tmp_path / "run.jsonl"
    record(log, *numpy_product, f"exec({change!r})", FP32_MATMUL_POLICY=policy)
    starts = [line for line in map(json.loads, log.read_text().splitlines()) if line["event"] == "start"]
    assert [(start["policy_name"], start["default_precision"], start["forked_from"]) for start in starts] == [
        ("first", "native", None), ("second", "highest", starts[0]["pid"])]


def test_changes_through_the_api_are_in_the_recording(tmp_path, log, numpy_product):
    policy = tmp_path / "policy.toml"
    policy.write_text('schema = 1\nname = "first"\n')
    change = f"""
import ctypes
api = ctypes.CDLL({str(shim.LIBRARY)!r})
for _ in range(2):
    assert api.fp32shim_set_precision(b"high") == 0
    assert api.fp32shim_set_floor(b"tf32") == 0
assert api.fp32shim_set_floor(b"bf16") == 0
assert api.fp32shim_set_precision(None) == 0
open({str(policy)!r}, "w").write('schema = 1\\nname = "second"\\n')
assert api.fp32shim_reload_policy() == 0
open({str(policy)!r}, "w").write("broken")
assert api.fp32shim_reload_policy() != 0
"""
    record(log, *numpy_product, f"exec({change!r})", FP32_MATMUL_POLICY=policy, FP32_MATMUL_ON_ERROR="continue")
    changes = fp32shim("report", "--format", "json", log).json["processes"][0]["changes"]
    assert [(change["kind"], change["by"], change["precision"], change["floor"], change["policy_name"])
            for change in changes] == [
        ("set_precision", "program", "high", None, None), ("set_floor", "program", None, "tf32", None),
        ("set_precision", "program", None, None, None), ("reload", "program", None, None, "second")]


# A file with a text that marks a bypass, or with the name of one, and the word of `verify` for it.
@pytest.mark.parametrize("name, mark, word", [
    ("cv2.abi3.so", "", "OpenCV"), ("libuser.so", "_ZN2cv3MatD1Ev", "OpenCV"), ("libstatic.so", "/io/opencv/modules/core/src/matmul.dispatch.cpp", "OpenCV"),
    ("Primitive.so", "pdl_matmult_readdata", "PDL"), ("libclblast.so.1", "", "CLBlast"),
    ("libdriver.so", "clIcdGetPlatformIDsKHR", "OpenCL"), ("libnvidia-opencl.so.1", "", "OpenCL"),
    ("libvulkan_lvp.so", "", "Vulkan"), ("libdriver.so", "vk_icdGetInstanceProcAddr", "Vulkan"), ("libnvidia-glvkspirv.so.1", "", "Vulkan"),
    ("libsycl.so.8", "", "SYCL"), ("libacpp-rt.so", "", "SYCL"), ("libuser.so", "N5faiss20IndexScalarQuantizerE", "faiss"),
    ("_swigfaiss.abi3.so", "", "faiss"), ("simsimd.abi3.so", "", "simsimd"), ("_ml_dtypes_ext.abi3.so", "", "ml_dtypes"),
    ("libllvmlite.so", "", "numba"), ("libuser.so", "Eigen8internal", "Eigen"), ("libuser.so", "N5Eigen8bfloat16E", "Eigen-half"),
    ("libdlib.so", "N4dlib16resizable_tensorE", "dlib"), ("libuser.so", "MlasGemm", "MLAS"), ("libnnpack.so.0", "", "NNPACK"),
    ("libtflite.so", "failed to create XNNPACK runtime", "XNNPACK"), ("libctranslate2-a7a60d30.so.4", "", "CTranslate2"),
    ("_mnncengine.so", "", "MNN"), ("libuser.so", "The device supports: i8sdot", "MNN")])
def test_kernels_of_other_interfaces_are_named_and_doubts_where_they_can_round_float32(log, tmp_path, name, mark, word):
    always_float32 = {"Eigen", "PDL", "dlib", "numba", "ml_dtypes"} | ({"NNPACK", "OpenCV"} if platform.machine() == "x86_64" else set())
    product = plugin(tmp_path / "libproduct.so")
    bypass = plugin(tmp_path / name, f'const char* mark(void) {{ return "{mark}"; }} void run(void) {{}}')
    result = verify(load(log, f"local={product}", f"run={product}", f"local={bypass}"))
    entry, = result.json["always_float32" if word in always_float32 else "bypasses"]
    assert (result.returncode, entry["bypass"], entry["files"]) == (0 if word in always_float32 else 3, word, [str(bypass)])
    reproducible = fp32shim("verify", "--reproducible", "--format", "json", log)  # an order is another question
    assert word in [each["bypass"] for each in reproducible.json["bypasses"]]


# Instructions that multiply: VDPBF16PS or BFDOT; VMOVW or LDR, then VFMADD231SH or FMADD, of halves.
CODE_FOR_BF16, CODE_FOR_FP16 = {
    "x86_64": [".byte 0x62, 0xf2, 0x76, 0x48, 0x52, 0xc2",
               ".byte 0x62, 0xf5, 0x7d, 0x08, 0x6e, 0x00, 0x62, 0xf6, 0x75, 0x08, 0xb9, 0x00"],
    "aarch64": [".inst 0x6e42fc20", ".inst 0x7d400001\\n.inst 0x1fc20c20"]}[platform.machine()]


def test_eigens_floats_explain_no_instructions_for_bf16(log, tmp_path):
    asm = f'__asm__(".pushsection .text\\n{CODE_FOR_BF16}\\n.popsection"); const char* mark(void) {{ return "Eigen8internal"; }}'
    library = plugin(tmp_path / "libcode.so", PRODUCT + asm)
    result = verify(load(log, f"local={library}", f"run={library}"))
    assert (result.returncode, bypasses(result)) == (3, ["half-code"])


@pytest.mark.parametrize("code, found", [(CODE_FOR_BF16, "1 BF16"), (CODE_FOR_FP16, "1 FP16")])
@pytest.mark.parametrize("is_in_program", [True, False])
def test_instructions_that_multiply_bf16_or_fp16_are_a_doubt(log, tmp_path, code, found, is_in_program):
    """The instructions need not run, because the processor may not have them."""
    asm = f'__asm__(".pushsection .text\\n{code}\\n.popsection");'
    if is_in_program:
        path = build(tmp_path / "program", PRODUCT + asm + "int main(void) { run(); }", "-Wl,--no-as-needed", "-x", "none",
                     shim.blas_library("reference"))
        record(log, path)
    else:
        path = plugin(tmp_path / "libcode.so", PRODUCT + asm)
        load(log, f"local={path}", f"run={path}")
    result = verify(log)
    assert (result.returncode, bypasses(result)) == (3, ["half-code"])
    [bypass] = result.json["bypasses"]
    assert bypass["files"] == [str(path)] and f"holds instructions that multiply in a lower format ({found})" in bypass["reason"]
    assert verify("--assume-unused", "half-code", log).returncode == 0


def test_instructions_for_bf16_in_data_in_a_blas_or_in_a_known_library_are_no_further_doubt(log, tmp_path):
    asm = f'__asm__(".pushsection .text\\n{CODE_FOR_BF16}\\n.popsection");'
    data = plugin(tmp_path / "libdata.so", PRODUCT + f'__asm__(".pushsection .rodata\\n{CODE_FOR_BF16}\\n.popsection");')
    blas = plugin(tmp_path / "libblas_of_others.so", f"void cblas_sbgemm(void) {{}} void run(void) {{}} {asm}")
    numpy = plugin(tmp_path / "_multiarray_umath.so", f"void run(void) {{}} {asm}")
    mkl = [plugin(tmp_path / name, f"void run(void) {{}} {asm}") for name in ("libmkl_avx512.so.3", "libmklml_intel.so")]
    words = [f"local={data}", f"run={data}", *(f"local={path}" for path in (blas, numpy, *mkl))]
    assert bypasses(verify(load(log, *words))) == []
    known = plugin(tmp_path / "libXNNPACK.so.3", f"void run(void) {{}} {asm}")
    assert bypasses(verify(load(tmp_path / "known.fp32rec", *words, f"local={known}"))) == ["XNNPACK"]
    wrapper = plugin(tmp_path / "libwrapper.so", f"void sgemm_(void) {{}} void run(void) {{}} {asm}")
    assert bypasses(verify(load(tmp_path / "wrapper.fp32rec", *words, f"local={wrapper}"))) == ["half-code"]


@pytest.mark.parametrize("calls, says", [
    (["sgemm_:8:high:tf32:as_requested:3"], "3 of 3 calls in 1 recording ran below fp32."),
    (["cublasSgemm_v2:8:high:tf32:as_requested:3"], "3 of 3 calls in 1 recording were allowed to run below fp32."),
    (["cublasSgemm_v2:8:high:tf32:as_requested:1", "sgemm_:8:high:tf32:as_requested:2"],
     "2 of 3 calls in 1 recording ran below fp32, and 1 was allowed to.")])
def test_what_ran_below_and_what_was_allowed_to_are_counted_apart(tmp_path, calls, says):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", *calls)
    assert fp32shim("verify", "--at-least", "fp32", recording).stdout.splitlines()[0] == "Violated: " + says


def test_a_verdict_says_of_which_products_it_is(log, tmp_path, numpy_product):
    """numpy multiplies float16 in its own loops, unseen, so the verdict must not seem to cover float16."""
    half = "h = numpy.ones((9, 9), numpy.float16); h @ h"
    record(log, *numpy_product, half)
    text = fp32shim("verify", "--at-least", "fp32", log).stdout
    assert text.startswith("Shown: the one call of BLAS or cuBLAS on float32 data in 1 recording ran at fp32 or above.\n")
    scope = verify(log).json["scope"]
    assert scope.startswith("The verdict is about matrix products of float32 and float64 data by functions of BLAS and cuBLAS. It is "
                            "not about products of other types")
    assert "numpy multiplies float16 in its own loops" in scope
    *_, limits = text.splitlines()
    assert limits.startswith("This verdict is about products of float32 and float64 by BLAS or cuBLAS; docs/what-it-sees.md#what-a-verdict-covers ")
    limits = " ".join((shim.ROOT / "docs/what-it-sees.md").read_text().split("## What a verdict covers")[1].split("##")[0].split())
    assert "numpy multiplies float16 in its own loops" in limits and "A recording is not sealed" in limits
    page = fp32shim("verify", "--at-least", "fp32", "--format", "html", log).stdout
    assert ">Shown: the one call " in page and scope in page
    statement = fp32shim("verify", "--at-least", "fp32", "--format", "in-toto", log).json
    assert statement["predicate"]["result"]["scope"] == scope
    double = "d = numpy.ones((9, 9)); d @ d"
    record(tmp_path / "both.fp32rec", *numpy_product, double)
    text = fp32shim("verify", "--at-least", "fp32", tmp_path / "both.fp32rec").stdout
    assert text.startswith("Shown: all 2 calls ") and " float32 and float64 data " in text.splitlines()[0]


@pytest.mark.parametrize("name, mark", [
    ("libOpenCL.so.1", "clIcdGetPlatformIDsKHR"), ("libvulkan.so.1", "vk_icdGetInstanceProcAddr"),
    ("libavfilter.so.8", "clEnqueueNDRangeKernel"), ("libQt5Gui.so.5", "vkCreateComputePipelines"),
    ("libGLX_nvidia.so.0", "vk_icdGetInstanceProcAddr"), ("libcupti.so.13", "vk_icdGetInstanceProcAddr"),
    ("libopencv_core.so.406", "core/src/matmul.dispatch.cpp"),
    ("libgfortran.so.5", "_gfortran_matmul_r4"), ("libcusparse.so.12", "cusparseCreateBlockedEll"),
    ("lib_lightgbm.so", "clIcdGetPlatformIDsKHR")])
def test_a_library_that_programs_merely_load_is_no_bypass(log, tmp_path, name, mark):
    product = plugin(tmp_path / "libproduct.so")
    driver = plugin(tmp_path / "libcuda.so.1", "void run(void) {}")
    library = plugin(tmp_path / name, f'const char* mark(void) {{ return "{mark}"; }} void run(void) {{}}')
    result = verify(load(log, f"local={product}", f"run={product}", f"local={driver}", f"local={library}"))
    assert (result.returncode, result.json["bypasses"], result.json["always_float32"]) == (0, [], [])


@pytest.mark.parametrize("create", ["cusparseCreateBlockedEll", "cusparseCreateConstBlockedEll"])
def test_cusparse_counts_where_a_file_can_make_a_blocked_ell_matrix_and_no_variable_pins_it(log, tmp_path, create):
    cusparse = build(tmp_path / "libcusparse.so.12", f"int {create}(void) {{ return 0; }}", "-shared", "-fPIC")
    product = plugin(tmp_path / "libproduct.so")
    caller = build(tmp_path / "libcaller.so", f"int {create}(void); void run(void) {{ {create}(); }}", "-shared", "-fPIC",
                   f"-Wl,-rpath,{tmp_path}", "-x", "none", cusparse)
    driver = plugin(tmp_path / "libcuda.so.1", "void run(void) {}")
    sparse = plugin(tmp_path / "libcusparseLt.so.0", "void run(void) {}")
    words = [f"local={product}", f"run={product}", f"local={caller}", f"local={sparse}"]
    assert verify(load(tmp_path / "cpu.fp32rec", *words)).returncode == 0
    result = verify(load(log, *words, f"local={driver}"))
    assert (result.returncode, bypasses(result)) == (3, ["cuSPARSE", "cuSPARSELt"])
    for bypass in result.json["bypasses"]:
        assert bypass["pinned_by"] == [] and bypass["remedy"].startswith("no variable switches its TF32 off")


def test_matmul_of_gfortran_is_named_and_changes_no_verdict(log, tmp_path):
    compiler = shim.tool("gfortran")
    source = tmp_path / "matmul.f90"
    source.write_text(textwrap.dedent("""
        program multiply
            real :: a(9, 9), b(9, 9), c(9, 9)
            external sgemm
            a = 1; b = 1; c = 0
            c = matmul(a, b)
            call sgemm('N', 'N', 9, 9, 9, 1.0, a, 9, b, 9, 0.0, c, 9)
            print *, c(1, 1)
        end program
    """))
    program = tmp_path / "multiply"
    subprocess.run([compiler, "-O0", source, shim.blas_library("reference"), "-o", program], check=True)
    result = verify(record(log, program))
    assert (result.returncode, result.json["calls_shown"], result.json["bypasses"]) == (0, 1, [])
    assert [(entry["bypass"], entry["files"]) for entry in result.json["always_float32"]] == [("MATMUL", [str(program)])]
    text = fp32shim("verify", "--at-least", "fp32", log).stdout
    assert text.startswith("Shown: ") and f"but always at float32:\n- MATMUL: MATMUL of gfortran in {program}: " in text


@pytest.mark.parametrize("program, words, expected", [
    ("python3", ["-c", "import numpy, cv2; a = numpy.ones((8, 8), 'f'); a @ a; cv2.gemm(a, a, 1, None, 0)"], "OpenCV"),
    ("perl", ["-MPDL", "-e", "print +(sequence(float, 3, 3) x sequence(float, 3, 3))"], "PDL")])
def test_debians_packages_with_kernels_of_their_own_are_named(log, program, words, expected):
    program = shim.SYSTEM_PYTHON if program == "python3" else shim.tool(program)
    shim.need(subprocess.run([program, *words], capture_output=True, check=False).returncode == 0, f"no {expected}")
    result = verify(record(log, program, *words))
    named = bypasses(result) if expected == "OpenCV" and platform.machine() != "x86_64" else [
        entry["bypass"] for entry in result.json["always_float32"]]
    assert expected in named


def test_a_bypass_in_several_files_is_one_entry_with_plain_paths(log, tmp_path):
    (tmp_path / "folder").mkdir()
    product = plugin(tmp_path / "libproduct.so")
    eigen = 'const char* mark(void) { return "Eigen8internal"; } void run(void) {}'
    first, second = plugin(tmp_path / "libfirst.so", eigen), plugin(tmp_path / "libsecond.so", eigen)
    load(log, f"local={product}", f"run={product}", f"local={tmp_path}/folder/../{first.name}", f"local={second}")
    entry, = verify(log).json["always_float32"]
    assert entry["files"] == [str(first), str(second)]
    assert entry["reason"].startswith(f"in {first}, {second}: is compiled into")
    assert all(".." not in file["path"] for process in verify(log).json["processes"] for file in process["files"])
    done = subprocess.run([COMMAND, "run", "--log", tmp_path / "other.fp32rec", "--", shim.client("loader"), f"local={product}",
                           f"run={product}", f"local={first}", f"local={second}"], capture_output=True, text=True, check=True,
                          env=environment(LD_LIBRARY_PATH=shim.blas_directory("reference")))
    assert "These libraries were loaded but are not covered: Eigen in libfirst.so, libsecond.so\n" in done.stderr


def test_a_violation_names_recording_program_process_host_and_job(tmp_path, numpy_product):
    for name, precision in (("low", "high"), ("exact", "highest")):
        subprocess.run([COMMAND, "run", "-q", "--precision", precision, "--cpu", "emulate", "--log", tmp_path / f"{name}.fp32rec",
                        "--", *numpy_product], check=True, env=environment(SLURM_JOB_ID="4711", SLURM_PROCID="3"))
    low = tmp_path / "low.fp32rec"
    result = verify(tmp_path)
    judged = {pathlib.Path(process["recording"]).name: process for process in result.json["processes"]}
    assert result.returncode == 1
    assert (judged["low.fp32rec"]["calls_below"], judged["exact.fp32rec"]["calls_below"]) == (1, 0)
    assert (judged["low.fp32rec"]["job_id"], judged["low.fp32rec"]["rank"]) == ("4711", 3)
    text = fp32shim("verify", "--at-least", "fp32", tmp_path).stdout
    process = f"process {judged['low.fp32rec']['pid']} on {os.uname().nodename}, job 4711, rank 3"
    assert f"\n- {low}: 1 call of {' '.join(map(str, numpy_product))} ({process})\n" in text
    assert f"- {tmp_path}/exact.fp32rec" not in text and "1 of 2 calls in 2 recordings ran below fp32." in text


def test_ldconfig_of_the_system_is_no_doubt_and_another_one_is(log, tmp_path, numpy_product):
    system = "/sbin/ldconfig"
    shim.need(os.path.exists(system), "no /sbin/ldconfig")
    run = "import subprocess; subprocess.run([{!r}, '-p'], stdout=subprocess.DEVNULL)"
    result = verify(record(log, *numpy_product, run.format(system)))
    assert result.returncode == 0 and "its name and place" in result.json["examined_children"][0]["reason"]
    other = str(shutil.copy(system, tmp_path / "ldconfig"))
    assert bypasses(verify(record(tmp_path / "other.fp32rec", *numpy_product, run.format(other)))) == ["child:ldconfig"]


@pytest.mark.parametrize("source, words, basis", [
    ("int main(void) { return 0; }", [], None),
    ("int cblas_sgemm(void); int main(void) { return cblas_sgemm(); }", ["-Wno-builtin-declaration-mismatch", "-x", "none", "BLAS"],
     "has cblas_sgemm"),
    ('const char* volatile mark = "dnnl_verbose,"; int main(void) { return *mark == 0; }', [], "contains oneDNN"),
    ("#include <unistd.h>\nint main(void) { execl(\"/x\", \"x\", (char*)0); return 0; }", [], "can start programs or load libraries (execl)"),
    ("int main(void) { return 0; }", ["-Wl,-rpath,/nowhere"], "cannot be judged"),
    ("int main(void) { return 0; }", ["-static"], "is statically linked")],
    ids=["nothing", "BLAS", "kernels", "starts programs", "own folders of libraries", "static"])
def test_a_child_is_judged_by_its_file_and_not_by_its_name(log, tmp_path, numpy_product, source, words, basis):
    words = [shim.blas_library("reference") if word == "BLAS" else word for word in words]
    uname = build(tmp_path / "uname", source, *words)
    start = f"import subprocess; subprocess.run([{str(uname)!r}], env={{}}, stderr=subprocess.DEVNULL)"
    result = verify(record(log, *numpy_product, start))
    if basis is None:
        examined, = result.json["examined_children"]
        assert (result.returncode, examined["bypass"]) == (0, "child:uname") and "its file was examined" in examined["reason"]
        text = fp32shim("verify", "--at-least", "fp32", log).stdout
        assert text.startswith("Shown: ") and "their files contain nothing that is known to multiply:\n- child:uname: " in text
        (tmp_path / "elsewhere").mkdir()
        host = os.uname().nodename.encode()
        (tmp_path / "elsewhere/run.fp32rec").write_bytes(log.read_bytes().replace(host, b"x" * len(host)))
        reason, = [bypass["reason"] for bypass in verify(tmp_path / "elsewhere").json["bypasses"]]
        assert "its file was not examined" in reason
        os.utime(uname)
        result, basis = verify(log), "has changed since"
    assert (result.returncode, bypasses(result), result.json["examined_children"]) == (3, ["child:uname"], [])
    assert basis in result.json["bypasses"][0]["reason"]


@pytest.mark.parametrize("variable", ["LD_PRELOAD", "LD_AUDIT"])
def test_the_file_of_a_child_says_little_if_it_was_told_of_other_libraries(log, tmp_path, numpy_product, variable):
    library = build(tmp_path / "libother.so", "unsigned la_version(unsigned version) { return version; }", "-shared", "-fPIC")
    program = build(tmp_path / "program", "int main(void) { return 0; }")
    start = f"import subprocess; subprocess.run([{str(program)!r}], env={{{variable!r}: {str(library)!r}}})"
    result = verify(record(log, *numpy_product, start))
    assert (result.returncode, bypasses(result)) == (3, ["child:program"])
    assert "told the loader of other libraries" in result.json["bypasses"][0]["reason"]


def test_a_child_below_a_link_that_was_changed_since_is_a_doubt(log, tmp_path, numpy_product):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        build(tmp_path / name / "program", "int main(void) { return 0; }")
    (tmp_path / "current").symlink_to("first")
    start = f"import subprocess; subprocess.run(['{tmp_path}/current/program'], env={{}})"
    assert verify(record(log, *numpy_product, start)).returncode == 0
    (tmp_path / "current").unlink()
    (tmp_path / "current").symlink_to("second")
    result = verify(log)
    assert (result.returncode, bypasses(result)) == (3, ["child:program"])
    assert "has changed since" in result.json["bypasses"][0]["reason"]


def test_a_child_that_the_loader_started_is_a_doubt(log, numpy_product):
    """The loader's file imports no function that starts programs, but the loader runs any program."""
    loader = subprocess.run(["ldd", shutil.which("true")], check=True, capture_output=True, text=True).stdout.split()[-2]
    start = f"import subprocess; subprocess.run([{loader!r}, '/bin/true'], env={{}}, check=True)"
    result = verify(record(log, *numpy_product, start))
    assert (result.returncode, bypasses(result)) == (3, [f"child:{os.path.basename(loader)}"])
    assert "it is the loader, which runs the program that it is given" in result.json["bypasses"][0]["reason"]


def test_the_option_for_logs_of_onednn_names_what_replaced_it():
    refused = fp32shim("verify", "--at-least", "fp32", "--onednn-log", "printed", "a.fp32rec")
    assert refused.returncode == 2 and "run --pin" in refused.stderr and "[log] onednn" in refused.stderr


MIXED = ["sgemm_:64:native:fp32:as_requested:12", "dgemm_:64:native:fp64:as_requested:30", "zgemm_:64:native:fp64:as_requested:1"]
OPERANDS = "Operands: 12 calls of float32, 30 calls of float64, 1 call of complex128\n"


def verify_text(*words):
    return fp32shim("verify", *words, "--assume-unused", "later").stdout


def test_float64_as_called_is_above_fp32_and_is_counted_apart(tmp_path):
    mixed = make_recording(tmp_path / "a.fp32rec", "summary", *MIXED)
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", mixed).json
    assert (result["violations"], result["calls_shown"], result["float64_calls"]) == ([], 43, 31)
    assert "ran at fp32 or above" in verify_text("--at-least", "fp32", mixed) and OPERANDS in verify_text("--at-least", "fp32", mixed)
    page = fp32shim("verify", "--at-least", "fp32", "--format", "html", mixed).stdout
    assert "43 calls, 31 of them of float64" in page
    alone = make_recording(tmp_path / "b.fp32rec", "summary", MIXED[0])
    assert "Operands" not in verify_text("--at-least", "fp32", alone)


def test_with_fp64_products_of_float32_are_violations_that_the_program_called_so(tmp_path):
    mixed = make_recording(tmp_path / "a.fp32rec", "summary", *MIXED)
    text = verify_text("--at-least", "fp64", mixed)
    assert "Violated: 12 of 43 calls in 1 recording ran below fp64" in text
    assert "12 calls below fp64 are of float32, as the program called them\n" in text
    doubles = make_recording(tmp_path / "b.fp32rec", "summary", *MIXED[1:])
    assert fp32shim("verify", "--at-least", "fp64", "--format", "json", doubles).json["violations"] == []


def test_a_preview_of_float64_counts_at_the_format_of_its_operands(log):
    shim.need(shim.has_module("numpy"), "no numpy")
    numpy = "import numpy; a = numpy.ones((9, 8)); b = numpy.ones((8, 7)); a @ b"
    for precision, below in (("fp32", ["fp64"]), ("high", ["fp64", "fp32"]), ("fp64", [])):
        policy = log.with_name(f"{precision}.toml")
        policy.write_text(f'schema = 1\n[cpu]\nmode = "emulate"\n[[rule]]\nprecision = "{precision}"\nwhen = {{ dtype = "float64" }}\n')
        made = log.with_name(f"{precision}.fp32rec")
        subprocess.run([COMMAND, "run", "-q", "--policy", policy, "--log", made, "--", shim.SYSTEM_PYTHON, "-c", numpy], check=True,
                       env=environment())
        for floor in ("fp64", "fp32", "tf32"):
            result = fp32shim("verify", "--at-least", floor, "--format", "json", made)
            assert len(result.json["violations"]) == (floor in below), (precision, floor)
            assert not any("contradicts itself" in doubt["reason"] for doubt in result.json["doubts"])


def test_emulated_float64_is_a_doubt_whatever_is_asked_for(tmp_path):
    emulated = make_recording(tmp_path / "a.fp32rec", "summary", "cublasDgemm_v2:64:native:fp64_emulated:as_requested:5")
    for floor in ("fp64", "fp32", "fp16"):
        result = fp32shim("verify", "--at-least", floor, "--format", "json", emulated)
        assert (result.returncode, result.json["violations"], result.json["calls_shown"]) == (3, [], 0)
        assert any("cuBLAS may have emulated float64; how many bits it kept is not recorded" in doubt["reason"] for doubt in result.json["doubts"])
    assert fp32shim("report", "--ran-below", "fp32", emulated).stdout.startswith("no call of known format ran below fp32")
