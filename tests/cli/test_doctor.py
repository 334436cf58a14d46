"""`fp32shim doctor`: what it says about this machine, about settings, and about programs, by running it."""

import json
import os
import pathlib
import platform
import random
import resource
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "preload"))
import processor  # noqa: E402
from command import fp32shim  # noqa: E402
from shim import (BUILD, LIBRARY, ROOT, SYSTEM_PYTHON, blas_library, client, environment, has_module,  # noqa: E402
                  need)

COMMAND = pathlib.Path(os.environ.get("FP32SHIM_COMMAND", BUILD / "bin/fp32shim")).resolve()
WHEELS = pathlib.Path(os.environ.get("FP32SHIM_WHEELS", ROOT / "build/wheels")) / "bin/python"

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason=f"{COMMAND} was not built")


def doctor(*words, **variables):
    """Returns the exit status, the JSON, and stderr."""
    done = subprocess.run([COMMAND, "doctor", "--format", "json", *map(str, words)], env=environment(env=variables),
                          text=True, timeout=600, check=False, stdin=subprocess.DEVNULL, capture_output=True)
    return done.returncode, json.loads(done.stdout), done.stderr



def test_a_program_that_could_not_be_run_is_not_said_to_have_ended():
    settings = {"TMPDIR": "/no/such/folder"}
    program = doctor("--", "true", **settings)[1]["program"]
    assert not program["was_run"] and program["exit_status"] is None and "TMPDIR" in program["not_observed"]
    text = fp32shim("doctor", "--", "true", env=settings).stdout
    assert "not observed: " in text and "run once" not in text

def calls_of(result):
    return [calls for process in result["program"]["processes"] for calls in process["calls"]]


def bypasses_of(result):
    return [(bypass["name"], os.path.basename(bypass["object"]))
            for process in result["program"]["processes"] for bypass in process["bypasses"]]


def messages(findings):
    return "\n".join(f"{finding['about']}: {finding['message']}" for finding in findings)


def build(path, source, *options):
    """Compiles C into `path`. Skips the test if that is not possible."""
    need(shutil.which("gcc"), "gcc is not installed")
    done = subprocess.run(["gcc", "-x", "c", "-", "-x", "none", "-o", path, *options], input=source, text=True,
                          check=False, capture_output=True)
    need(done.returncode == 0, f"gcc cannot build it: {done.stderr}")
    return path


CALLER = """
void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
static void multiply(void) {
    float a[4] = {1, 2, 3, 4}, c[4];
    cblas_sgemm(102, 111, 111, 2, 2, 2, 1, a, 2, a, 2, 0, c, 2);
}
"""
PROGRAM = CALLER + "int main(void) { multiply(); return 0; }"
PLUGIN = CALLER + "void run(void) { multiply(); }"
SHARED_WITH_BLAS = ["-shared", "-fPIC", "-Wl,--no-as-needed"]
OWN_BLAS = "void cblas_sgemm(void) {} void sgemm_(void) {}"


# ---- the machine and the settings

def test_without_a_program_it_describes_the_machine():
    status, result, _ = doctor()
    assert status in (0, 1)
    assert result["schema"] == 1
    assert result["processor"]["architecture"] == platform.machine().replace("_", "-")
    assert result["processor"]["cores"] == len(os.sched_getaffinity(0))
    assert result["program"] is None
    assert result["gpus"]["devices"] or result["gpus"]["problem"]


FEATURES = {"AVX2": "avx2", "AVX-512": "avx512vl", "AVX512_BF16": "avx512_bf16", "AMX_BF16": "amx_bf16"}


def test_processor_features_are_those_of_the_kernel():
    need(platform.machine() == "x86_64", "the kernel's names are those of x86-64")
    _, result, _ = doctor()
    assert result["processor"]["features"] == {name: processor.has(flag) for name, flag in FEATURES.items()}


@pytest.mark.parametrize("word, left", [("AVX2", ["AVX2"]), ("sse2", [])])
def test_instructions_only_take_features_away(word, left):
    need(platform.machine() == "x86_64", "the variable has an effect on x86-64 only")
    _, result, _ = doctor(FP32_MATMUL_INSTRUCTIONS=word)
    assert result["processor"]["features"] == {name: name in left and processor.has(flag) for name, flag in FEATURES.items()}
    assert result["settings"]["instructions"] == word.lower()
    assert f"; FP32_MATMUL_INSTRUCTIONS leaves at most {word.lower()}\n" in fp32shim("doctor", env={"FP32_MATMUL_INSTRUCTIONS": word}).stdout


def test_a_process_with_elevated_rights_ignores_the_instructions_of_its_environment(tmp_path):
    need(os.geteuid() == 0, "only root can give files away")
    need(not os.statvfs(tmp_path).f_flag & os.ST_NOSUID, "no program gets other rights in this folder")
    copy = shutil.copy(COMMAND, tmp_path / "fp32shim")
    os.chown(copy, 65534, 65534)
    os.chmod(copy, 0o4755)
    done = subprocess.run([copy, "doctor", "--format", "json"], env=environment(env={"FP32_MATMUL_INSTRUCTIONS": "sse2"}),
                          text=True, check=False, capture_output=True)
    assert json.loads(done.stdout)["settings"]["instructions"] is None


def test_unknown_instructions_are_an_error_and_take_nothing_away():
    _, machine, _ = doctor(FP32_MATMUL_INSTRUCTIONS="")
    _, result, _ = doctor(FP32_MATMUL_INSTRUCTIONS="avx512")
    assert result["processor"] == machine["processor"] and result["settings"]["instructions"] is None
    assert 'found "avx512"; allowed: sse2, avx2' in messages(result["findings"])


def test_installed_blas_libraries_are_named_with_their_kernels():
    file = blas_library("openblas").resolve().parent / "libopenblas.so.0"
    _, result, _ = doctor(LD_LIBRARY_PATH=file.parent)
    found = next(library for library in result["blas_libraries"] if library["name"] == "libopenblas.so.0")
    assert found["implementation"] == "OpenBLAS"
    assert found["kernels"] and found["version"]


def test_a_library_that_crashes_when_it_is_loaded_does_no_harm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_CORE)
    build(tmp_path / "libopenblas.so.0", """
        #include <stdlib.h>
        const char* openblas_get_corename(void) { return "none"; }
        __attribute__((constructor)) static void crash(void) { abort(); }""", "-shared", "-fPIC")
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    try:
        _, result, _ = doctor(LD_LIBRARY_PATH=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)
    found = next(library for library in result["blas_libraries"] if library["path"].startswith(str(tmp_path)))
    assert found["problem"] == "was killed by signal 6"
    assert [path.name for path in tmp_path.iterdir()] == ["libopenblas.so.0"], "it leaves no core"


def test_kernels_for_a_lesser_processor_are_found_with_the_remedy(tmp_path):
    _, machine, _ = doctor()
    need(machine["processor"]["features"].get("AVX2"), "this processor has no AVX2")
    build(tmp_path / "libopenblas.so.0", """
        const char* openblas_get_corename(void) { return "Prescott"; }
        const char* openblas_get_config(void) { return "OpenBLAS 0.3.99 DYNAMIC_ARCH"; }""", "-shared", "-fPIC")
    status, result, _ = doctor(LD_LIBRARY_PATH=tmp_path, OPENBLAS_CORETYPE="")
    assert status == 1
    finding = next(finding for finding in result["findings"] if str(tmp_path) in finding["about"])
    assert "OpenBLAS 0.3.99 treats this processor as Prescott" in finding["message"]
    assert finding["remedy"] in ("OPENBLAS_CORETYPE=SkylakeX", "OPENBLAS_CORETYPE=Haswell")


def test_kernels_that_a_setting_asks_for_are_not_called_a_mistake(tmp_path):
    _, machine, _ = doctor()
    need(machine["processor"]["features"].get("AVX-512"), "this processor has no AVX-512")
    blas_library("openblas")
    status, result, _ = doctor(OPENBLAS_CORETYPE="Haswell")
    need(any(library["kernels"] == "Haswell" for library in result["blas_libraries"]),
         "this OpenBLAS has kernels for one processor only")
    assert status == 1
    assert "as OPENBLAS_CORETYPE=Haswell asks" in messages(result["findings"])


def test_a_gpu_is_listed_with_its_compute_capability():
    stand_in = BUILD.resolve() / "tests/cublas/stand_in"
    need((stand_in / "libcuda.so.1").exists(), f"{stand_in} was not built")
    _, result, _ = doctor(LD_LIBRARY_PATH=stand_in)
    assert result["gpus"]["problem"] is None
    assert all(device["compute_capability"].count(".") == 1 for device in result["gpus"]["devices"])
    assert result["gpus"]["devices"]


def test_where_there_is_a_gpu_the_command_that_measures_on_it_is_named():
    stand_in = BUILD.resolve() / "tests/cublas/stand_in"
    need((stand_in / "libcuda.so.1").exists(), f"{stand_in} was not built")

    def text(**variables):
        return subprocess.run([COMMAND, "doctor"], env=environment(env=variables), text=True, timeout=600, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout

    assert "fp32shim gpu-check measures what the shim does on it" in text(LD_LIBRARY_PATH=stand_in)
    need("no NVIDIA driver" in text(), "this machine has a driver")
    assert "gpu-check" not in text()


def test_settings_in_force_are_those_that_the_shim_would_read(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text('schema = 1\nname = "tried"\n[limits]\nfloor = "tf32"\n')
    _, result, _ = doctor(FP32_MATMUL_POLICY=policy, FP32_MATMUL_PRECISION="high")
    settings = result["settings"]
    assert (settings["precision"], settings["source"], settings["floor"]) == ("high", "environment", "tf32")
    assert (settings["policy"]["name"], settings["policy"]["file"]) == ("tried", str(policy))


@pytest.mark.parametrize("variables, expected", [
    ({"FP32_MATMUL_PRECISON": "high"}, "FP32_MATMUL_PRECISION"),
    ({"FP32_MATMUL_PRECISION": "hihg"}, 'did you mean "high"'),
    ({"FP32_MATMUL_POLICY": "/nowhere.toml"}, "/nowhere.toml"),
    ({"FP32_MATMUL_DISABLE": "1"}, "switched off"),
    ({"NVIDIA_TF32_OVERRIDE": "0", "FP32_MATMUL_PRECISION": "high"}, "use no TF32"),
    ({"NVIDIA_TF32_OVERRIDE": "1"}, "NVIDIA documents only the value 0"),
    ({"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"}, "torch itself asks cuBLAS for TF32"),
    ({"CUBLAS_EMULATE_SINGLE_PRECISION": "1"}, "bf16x9"),
    ({"ONEDNN_DEFAULT_FPMATH_MODE": "BF16", "FP32_MATMUL_ONEDNN": "1"},
     "oneDNN may multiply below float32, and the shim does not control it"),
    ({"NVTX_INJECTION64_PATH": "/opt/profiler.so", "FP32_MATMUL_WHERE": "python,nvtx"}, "NVTX ranges go to that library"),
    ({"LD_PRELOAD": "/nowhere/libfp32shim.so"}, "the loader does not find it"),
    ({"FP32_MATMUL_FLOOR": "fp32", "FP32_MATMUL_PRECISION": "high"}, "precision high (environment): the floor fp32 applies"),
    ({"FP32_MATMUL_FLOOR": "tf32", "FP32_MATMUL_PRECISION": "medium"}, "the floor tf32 applies"),
    ({"FP32_MATMUL_AUDIT": "0.5"}, "FP32_MATMUL_AUDIT=0.5: with a plain preload nothing is audited"),
    ({"FP32_MATMUL_LOG": "/nonexistent/x.fp32rec"}, "FP32_MATMUL_LOG=/nonexistent/x.fp32rec: the folder"),
    ({"FP32_MATMUL_LOG": "/nonexistent/%r/x.fp32rec", "RANK": "3"}, 'the folder "/nonexistent/3" of'),
], ids=lambda value: " ".join(value) if isinstance(value, dict) else "")
def test_a_conflict_is_a_finding(variables, expected):
    status, result, _ = doctor(**variables)
    assert status == 1
    assert expected in messages(result["findings"])


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_a_precision_that_nothing_here_can_run_at_is_a_finding(precision):
    _, result, _ = doctor(FP32_MATMUL_PRECISION=precision)
    need(not result["gpus"]["devices"], "this machine has a GPU")
    finding = next(finding for finding in result["findings"] if finding["about"] == f"precision {precision} (environment)")
    assert "nothing on this machine runs at it" in finding["message"] and "8.0" in finding["message"]
    assert "FP32_MATMUL_CPU=emulate" in finding["remedy"]
    _, previewed, _ = doctor(FP32_MATMUL_PRECISION=precision, FP32_MATMUL_CPU="emulate")
    assert "runs at it" not in messages(previewed["findings"])


def test_a_gpu_that_is_new_enough_runs_at_high():
    stand_in = BUILD.resolve() / "tests/cublas/stand_in"
    need((stand_in / "libcuda.so.1").exists(), f"{stand_in} was not built")
    _, result, _ = doctor(LD_LIBRARY_PATH=stand_in, FP32_MATMUL_PRECISION="high")
    need(any(float(device["compute_capability"]) >= 8 for device in result["gpus"]["devices"]), "an old stand-in")
    assert "runs at it" not in messages(result["findings"])


@pytest.mark.parametrize("variables", [
    {"FP32_MATMUL_FLOOR": "tf32", "FP32_MATMUL_PRECISION": "high", "FP32_MATMUL_CPU": "emulate"},
    {"FP32_MATMUL_FLOOR": "fp32", "FP32_MATMUL_PRECISION": "highest"}, {"FP32_MATMUL_PRECISION": "auto"},
    {"FP32_MATMUL_LOG": "/tmp/%h.fp32rec"}, {"FP32_MATMUL_LOG": "/nonexistent/%p/x.fp32rec"},
    {"FP32_MATMUL_LOG": "/nonexistent/%r/x.fp32rec"},
    {"NVIDIA_TF32_OVERRIDE": "0"}, {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1", "FP32_MATMUL_FLOOR": "fp32"},
    {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "yes"}, {"CUBLAS_EMULATE_SINGLE_PRECISION": "0"}, {"ONEDNN_DEFAULT_FPMATH_MODE": "strict"},
    {"NVTX_INJECTION64_PATH": "/opt/profiler.so"},
], ids=lambda value: " ".join(value))
def test_settings_that_agree_are_no_finding(variables):
    _, alone, _ = doctor()
    _, result, _ = doctor(**variables)
    assert result["findings"] == alone["findings"]


@pytest.mark.parametrize("where", ["nvtx", "auto"])
def test_ranges_that_go_to_the_shim_are_no_finding(where):
    need(LIBRARY.exists(), f"{LIBRARY} was not built")
    _, result, _ = doctor(FP32_MATMUL_WHERE=where, NVTX_INJECTION64_PATH=LIBRARY)
    assert "ranges go to" not in messages(result["findings"])


def test_a_preload_with_blas_functions_before_the_shim_is_found(tmp_path):
    need(LIBRARY.exists(), f"{LIBRARY} was not built")
    other = build(tmp_path / "libother.so", OWN_BLAS, "-shared", "-fPIC")
    status, result, _ = doctor(LD_PRELOAD=f"{other}:{LIBRARY}")
    assert status == 1
    assert "comes before the shim and has its own BLAS functions" in messages(result["findings"])
    assert [preload["is_shim"] for preload in result["settings"]["preloads"]] == [False, True]
    _, behind, _ = doctor(LD_PRELOAD=f"{LIBRARY}:{other}")
    assert "before the shim" not in messages(behind["findings"])


def test_an_audit_library_that_has_the_loader_call_functions_is_found():
    library = client("libwatches_returns.so")
    status, result, _ = doctor(LD_AUDIT=library)
    assert status == 1
    found = [finding for finding in result["findings"] if "LD_AUDIT" in finding["about"]]
    assert len(found) == 1
    assert "the loader is recorded as their caller" in found[0]["message"]


# ---- programs

def test_a_linked_program_is_seen_with_its_provider():
    program = client("cblas_product")
    status, result, stderr = doctor("--", program, LD_LIBRARY_PATH=blas_library("reference").parent)
    assert "running " in stderr.splitlines()[0]
    calls = next(calls for calls in calls_of(result) if calls["caller"] == str(program))
    assert calls["seen"] and calls["provider"] == str(blas_library("reference"))
    assert status == (1 if result["findings"] or result["not_seen"] else 0)


def test_debian_numpy_names_the_provider_and_the_calling_object():
    need(has_module("numpy"), f"{SYSTEM_PYTHON} has no numpy")
    _, result, _ = doctor("--", SYSTEM_PYTHON, "-c", "import numpy")
    calls = next(calls for calls in calls_of(result) if "cblas_sgemm" in calls["functions"])
    assert os.path.basename(calls["caller"]).startswith("_multiarray_umath")
    assert os.path.basename(calls["provider"]) == "libblas.so.3"
    assert calls["seen"]
    assert any("_multiarray_umath" in line and "libblas.so.3" in line for line in result["seen"])


def test_numpy_wheel_names_the_provider_that_it_brings_along():
    need(os.access(WHEELS, os.X_OK), "the wheels are not installed: tests/wheels.sh --prepare")
    _, result, _ = doctor("--", WHEELS, "-c", "import numpy")
    calls = next(calls for calls in calls_of(result) if "scipy_cblas_sgemm64_" in calls["functions"])
    assert os.path.basename(calls["caller"]).startswith("_multiarray_umath")
    assert os.path.basename(calls["provider"]).startswith("libscipy_openblas64_")
    assert calls["package"].startswith("numpy ") and calls["library"]["kernels"]
    lapack = next(calls for calls in calls_of(result) if calls["family"] == "lapack")
    assert not lapack["seen"] and os.path.basename(lapack["caller"]).startswith("_umath_linalg")


def test_torch_wheel_is_its_own_provider_and_its_unseen_bypasses_are_named():
    need(os.access(WHEELS, os.X_OK), "the wheels are not installed: tests/wheels.sh --prepare")
    status, result, _ = doctor("--", WHEELS, "-c", "import torch")
    assert status == 1
    own = next(calls for calls in calls_of(result) if "sgemm_" in calls["functions"])
    assert os.path.basename(own["caller"]) == "libtorch_cpu.so"
    assert own["provider"] == own["caller"] and own["seen"]
    assert {("oneDNN", "libtorch_cpu.so"), ("cuDNN", "libcudnn.so.9")} <= set(bypasses_of(result))
    cublas = next(calls for calls in calls_of(result) if "cublasGemmEx" in calls["functions"])
    assert os.path.basename(cublas["caller"]) == "libtorch_cuda.so"
    assert os.path.basename(cublas["provider"]) == "libcublas.so.13"
    assert cublas["package"].startswith("nvidia_cublas ")
    text = messages(result["not_seen"])
    assert "oneDNN in libtorch_cpu.so" in text


def test_jax_wheel_names_xla_and_eigen():
    need(os.access(WHEELS, os.X_OK), "the wheels are not installed: tests/wheels.sh --prepare")
    _, result, _ = doctor("--", WHEELS, "-c", "import jax")
    assert {("XLA on the CPU", "libjax_common.so"), ("Eigen", "libjax_common.so")} <= set(bypasses_of(result))


def test_local_functions_that_only_call_another_library_are_no_static_blas():
    need(os.access(WHEELS, os.X_OK), "the wheels are not installed: tests/wheels.sh --prepare")
    _, result, _ = doctor("--", WHEELS, "-c", "import scipy.linalg")
    assert not [bypass for bypass in bypasses_of(result) if "statically" in bypass[0]]


def test_a_remedy_of_several_is_said_once(tmp_path):
    libraries = [build(tmp_path / name, f"int nothing{i};", "-shared", "-fPIC", f"-Wl,-soname,{name}")
                 for i, name in enumerate(["libcudnn.so.9", "libtriton.so", "libcutensor.so.2"])]
    program = build(tmp_path / "program", "int main(void) { return 0; }", "-Wl,--no-as-needed", *libraries,
                    f"-Wl,-rpath,{tmp_path}")
    text = fp32shim("doctor", "--", program).stdout
    lines = text[text.index("Not seen"):].splitlines()
    remedy = next(i for i, line in enumerate(lines) if "NVIDIA_TF32_OVERRIDE=0" in line)
    assert text.count("NVIDIA_TF32_OVERRIDE=0") == 1
    assert lines[remedy].startswith("    -> for each of these 2: ")
    assert [line.split()[0] for line in lines[remedy - 2:remedy]] == ["cuDNN", "cuTENSOR"]


@pytest.mark.parametrize("strip", [False, True], ids=["with names", "stripped"])
def test_a_static_program_is_unseen_and_not_run(tmp_path, strip):
    program = build(tmp_path / "static", PROGRAM, "-static", "-l:libopenblas.a", "-lm", "-lpthread",
                    *(["-s"] if strip else []))
    status, result, stderr = doctor("--", program)
    assert status == 1
    assert "is statically linked" in result["program"]["why_unseen"]
    assert not result["program"]["was_run"] and "runs " not in stderr
    assert ("OpenBLAS, linked statically", "static") in bypasses_of(result)
    assert result["seen"] == []


def test_a_blas_that_is_linked_into_a_dynamic_program_is_unseen(tmp_path):
    program = build(tmp_path / "inside", OWN_BLAS + "int main(void) { cblas_sgemm(); return 0; }", "-O0")
    status, result, _ = doctor("--", program)
    assert status == 1
    assert ("a BLAS, linked statically", "inside") in bypasses_of(result)


@pytest.mark.parametrize("name, text", [
    ("OpenBLAS, linked statically",
     "OpenBLAS : Program is Terminated. Because you tried to allocate too many memory regions."),
    ("BLIS, linked statically", "libblis: %s (line %lu):"),
    ("MKL, linked statically", "MKL FATAL ERROR: Cannot load %s"),
    ("ggml", "/build/ggml/src/ggml-cpu/ggml-cpu.c"),
    ("dlib", "N4dlib16resizable_tensorE"),
    ("OpenVINO", "N2ov9intel_cpu9BrgemmCPUE"),
    ("ncnn", "opt.num_threads %d changed, gemm will use load-time value %d"),
])
def test_kernels_that_are_inside_without_their_names_are_known_by_their_texts(tmp_path, name, text):
    """An example is BLIS in the wheel of blis, with which spaCy multiplies."""
    library = build(tmp_path / "libinside.so", f'const char* text(void) {{ return "{text}"; }}', "-shared", "-fPIC")
    program = build(tmp_path / "program", "const char* text(void); int main(void) { return text() == 0; }", library,
                    f"-Wl,-rpath,{tmp_path}")
    status, result, _ = doctor("--", program)
    assert status == 1
    assert (name, "libinside.so") in bypasses_of(result)


def test_a_program_that_exports_blas_functions_comes_before_every_preload(tmp_path):
    library = build(tmp_path / "libcaller.so", PLUGIN, "-shared", "-fPIC")
    program = build(tmp_path / "exporter", OWN_BLAS + "void run(void); int main(void) { run(); return 0; }",
                    "-rdynamic", library, f"-Wl,-rpath,{tmp_path}")
    _, result, _ = doctor("--", program)
    calls = next(calls for calls in calls_of(result) if calls["caller"] == str(library))
    assert calls["provider"] == str(program)
    assert not calls["seen"] and "before every preload" in calls["why"]


@pytest.mark.parametrize("way, seen", [("local", True), ("global", True), ("deepbind", False)])
def test_rtld_deepbind_is_unseen_and_other_ways_are_seen(tmp_path, way, seen):
    loader = client("loader")
    plugin = build(tmp_path / "libplugin.so", PLUGIN, *SHARED_WITH_BLAS, blas_library("reference"))
    status, result, _ = doctor("--", loader, f"{way}={plugin}", f"run={plugin}",
                               LD_LIBRARY_PATH=blas_library("reference").parent)
    calls = next(calls for calls in calls_of(result) if calls["caller"] == str(plugin))
    assert calls["seen"] == seen
    assert os.path.basename(calls["provider"]) == "libblas.so.3"
    if not seen:
        assert status == 1 and "RTLD_DEEPBIND" in calls["why"]
        assert any("libplugin.so" in finding["message"] for finding in result["not_seen"])


def test_symbolic_libraries_are_unseen(tmp_path):
    source = OWN_BLAS + "void (*pointer)(void) = cblas_sgemm; void run(void) { pointer(); }"
    library = build(tmp_path / "libown.so", source, "-shared", "-fPIC")
    program = build(tmp_path / "program", "void run(void); int main(void) { run(); return 0; }", library,
                    f"-Wl,-rpath,{tmp_path}")
    _, result, _ = doctor("--", program)
    own = next(calls for calls in calls_of(result) if calls["caller"] == str(library))
    assert own["provider"] == own["caller"] and own["seen"]
    build(library, source, "-shared", "-fPIC", "-Wl,-Bsymbolic")
    _, result, _ = doctor("--", program)
    assert not [calls for calls in calls_of(result) if calls["seen"]]


def test_other_linker_namespaces_are_unseen(tmp_path):
    plugin = build(tmp_path / "libplugin.so", PLUGIN, *SHARED_WITH_BLAS, blas_library("reference"))
    program = build(tmp_path / "program", f"""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        int main(void) {{ return dlmopen(LM_ID_NEWLM, "{plugin}", RTLD_NOW) == 0; }}""")
    _, result, _ = doctor("--", program, LD_LIBRARY_PATH=blas_library("reference").parent)
    calls = next(calls for calls in calls_of(result) if calls["caller"] == str(plugin))
    assert not calls["seen"] and "namespace" in calls["why"]


def test_paths_with_blanks_are_read_as_one(tmp_path):
    folder = tmp_path / "a folder with blanks"
    folder.mkdir()
    plugin = build(folder / "lib plugin.so", PLUGIN, *SHARED_WITH_BLAS, blas_library("reference"))
    _, result, _ = doctor("--", client("loader"), f"local={plugin}", LD_LIBRARY_PATH=blas_library("reference").parent)
    calls = next(calls for calls in calls_of(result) if calls["caller"] == str(plugin))
    assert calls["seen"] and os.path.basename(calls["provider"]) == "libblas.so.3"


def test_a_script_is_followed_to_what_it_starts(tmp_path):
    program = client("cblas_product")
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\n{program}\n")
    script.chmod(0o755)
    _, result, _ = doctor("--", script, LD_LIBRARY_PATH=blas_library("reference").parent)
    assert any(calls["caller"] == str(program) and calls["seen"] for calls in calls_of(result))
    assert len(result["program"]["processes"]) == 2


def test_bindings_are_listed_where_they_are_asked_for():
    program = client("cblas_product")
    library = blas_library("reference")
    _, result, _ = doctor("--bindings", "--", program, LD_LIBRARY_PATH=library.parent, LD_BIND_NOW="1")
    bindings = [bound for process in result["program"]["processes"] for bound in process["bindings"]]
    assert {(bound["symbol"], bound["provider"]) for bound in bindings if bound["caller"] == str(program)} & {
        ("cblas_sgemm", str(library)), ("sgemm_", str(library))}


def test_a_setuid_program_of_another_user_is_unseen_and_not_run(tmp_path):
    copy = tmp_path / "setuid"
    shutil.copy("/bin/true", copy)
    try:
        os.chown(copy, 65534, 65534)
    except PermissionError:
        pytest.skip("needs the right to give files away")
    copy.chmod(0o4755)
    status, result, _ = doctor("--", copy)
    assert status == 1
    assert "setuid" in result["program"]["why_unseen"] and not result["program"]["was_run"]


@pytest.mark.parametrize("what, expected", [("machine", "processor"), ("musl", "musl")])
def test_programs_for_other_processors_and_loaders_are_unseen(tmp_path, what, expected):
    content = bytearray(pathlib.Path("/bin/true").resolve().read_bytes())
    if what == "machine":
        content[18:20] = (243).to_bytes(2, "little")  # e_machine becomes RISC-V
    else:
        offset = content.index(b"/lib64/ld-linux" if platform.machine() == "x86_64" else b"/lib/ld-linux")
        content[offset:offset + 14] = b"/lib/ld-musl-x"
    program = tmp_path / what
    program.write_bytes(content)
    program.chmod(0o755)
    status, result, _ = doctor("--", program)
    assert status == 1
    assert expected in result["program"]["why_unseen"] and not result["program"]["was_run"]


def test_output_of_the_program_goes_to_stderr_and_its_status_is_told():
    status, result, stderr = doctor("--", "sh", "-c", "echo said; exit 7")
    assert status == 1
    assert "said" in stderr
    assert result["program"]["exit_status"] == 7
    assert "ended with status 7" in messages(result["findings"])


def test_the_program_does_not_have_the_commands_own_output():
    """Otherwise the reader of the command's output would wait for processes that the program leaves behind."""
    _, _, stderr = doctor("--", "ls", "-l", "/proc/self/fd")
    pipes = [line.split()[-3:] for line in stderr.splitlines() if "-> pipe:" in line]
    assert [number for number, _, _ in pipes] == ["1", "2"] and pipes[0][2] == pipes[1][2], stderr  # 1 and 2 are one pipe


def test_a_killed_program_is_told():
    status, result, _ = doctor("--", "sh", "-c", "kill -9 $$")
    assert status == 1
    assert result["program"]["signal"] == 9


def test_a_program_that_multiplies_nothing_is_in_order():
    _, alone, _ = doctor()
    status, result, _ = doctor("--", "/bin/true")
    assert result["not_seen"] == [] and result["seen"] == []
    libraries = {library["path"] for library in alone["blas_libraries"]}
    of_others = {finding["about"] for finding in alone["findings"] if any(path in finding["about"] for path in libraries)}
    assert status == (1 if len(alone["findings"]) > len(of_others) else 0)


def test_libraries_that_a_program_does_not_load_are_left_out():
    path = os.path.dirname(blas_library("openblas"))
    _, alone, _ = doctor(LD_LIBRARY_PATH=path)
    _, of_none, _ = doctor("--", "/bin/true", LD_LIBRARY_PATH=path)
    _, of_one, _ = doctor("--", client("cblas_product"), LD_LIBRARY_PATH=path)
    loaded = {library["name"] for library in of_one["blas_libraries"]}
    assert of_none["blas_libraries"] == [] and "libblas.so.3" in loaded
    assert loaded < {library["name"] for library in alone["blas_libraries"]}


@pytest.mark.parametrize("what", ["no-such-program-here", "/etc/passwd"])
@pytest.mark.parametrize("words", [[], ["--format", "json"]])
def test_a_program_that_is_not_there_is_one_line_and_2(what, words):
    done = subprocess.run([COMMAND, "doctor", *words, "--", what], env=environment(), check=False,
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith(f"fp32shim doctor: {what}: ")


def test_bindings_without_a_program_is_wrong_usage():
    done = subprocess.run([COMMAND, "doctor", "--bindings"], env=environment(), check=False,
                          capture_output=True, text=True)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


def test_the_text_has_the_verdict_and_no_colours_in_a_pipe():
    done = subprocess.run([COMMAND, "doctor", "--", "/bin/true"], env=environment(), check=False,
                          capture_output=True, text=True)
    assert "Settings in force" in done.stdout and "\033" not in done.stdout


@pytest.mark.parametrize("beside", ["true", f"{SYSTEM_PYTHON} -c 'import numpy'"])
def test_the_text_says_which_programs_that_a_program_starts_are_not_examined(tmp_path, beside):
    static = build(tmp_path / "static", "int main(void) { return 0; }", "-static")
    done = subprocess.run([COMMAND, "doctor", "--", "sh", "-c", f"{static}; {beside}"], env=environment(), check=False,
                          capture_output=True, text=True)
    assert ("Nothing that it loaded is known to multiply" in done.stdout) == (beside == "true")
    assert "Programs that it started were not examined if they are statically linked, setuid or" in done.stdout


# ---- broken files

@pytest.fixture(scope="module")
def small_library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("small") / "libopenblas.so", CALLER + """
        void sgemm_(void) {}
        const char* openblas_get_corename(void) { return "SkylakeX"; }
        void run(void) { multiply(); }""", "-shared", "-fPIC", "-Wl,--no-as-needed", "-lm").read_bytes()


def test_cut_files_are_read_without_harm(tmp_path, small_library):
    for length in range(0, len(small_library), max(1, len(small_library) // 400)):
        (tmp_path / f"libopenblas.so.{length}").write_bytes(small_library[:length])
    status, result, stderr = doctor(LD_LIBRARY_PATH=tmp_path)
    assert status in (0, 1) and stderr == ""
    assert len([library for library in result["blas_libraries"] if library["path"].startswith(str(tmp_path))]) >= 400


def test_damaged_files_are_read_without_harm(tmp_path, small_library):
    random.seed(8)
    for number in range(300):
        damaged = bytearray(small_library)
        for _ in range(random.randint(1, 20)):
            # Damages the head, the program headers or the dynamic symbols, which are at the beginning.
            damaged[random.randrange(min(len(damaged), 4096 if number % 2 else len(damaged)))] = random.randrange(256)
        (tmp_path / f"libopenblas.so.{number}").write_bytes(damaged)
    status, _, stderr = doctor(LD_LIBRARY_PATH=tmp_path)
    assert status in (0, 1) and stderr == ""


def test_a_fifo_in_place_of_a_library_does_not_make_it_wait(tmp_path):
    os.mkfifo(tmp_path / "libopenblas.so.0")
    _, result, _ = doctor(LD_LIBRARY_PATH=tmp_path)
    assert any(library["problem"] for library in result["blas_libraries"])


def test_a_library_that_is_not_there_is_a_finding(tmp_path):
    status, result, _ = doctor(FP32SHIM_LIBRARY=tmp_path / "libfp32shim.so")
    assert status == 1
    assert f'the library to preload does not exist: "{tmp_path}/libfp32shim.so"' in messages(result["findings"])


def test_a_library_that_the_loader_refuses_is_a_finding_with_the_loaders_words(tmp_path):
    library = build(tmp_path / "libfp32shim.so", "int missing(void); int fp32shim_abi_version(void) { return missing(); }",
                    "-shared", "-fPIC", "-Wl,-z,now")
    status, result, _ = doctor(FP32SHIM_LIBRARY=library)
    assert status == 1
    assert f"{library}: this machine's loader refuses it" in messages(result["findings"])
    assert "undefined symbol: missing" in messages(result["findings"])


def test_processes_without_products_are_named_by_their_programs():
    done = subprocess.run([COMMAND, "doctor", "--", "sh", "-c", "ls / > /dev/null; uname; uname -r"], env=environment(env={}), text=True,
                          check=False, stdin=subprocess.DEVNULL, capture_output=True)
    last, = [line.strip() for line in done.stdout.splitlines() if " processes in which nothing " in line]
    count, names = last.split(" processes in which nothing is known to multiply: ")
    assert int(count) >= 3 and {"ls", "uname"} < set(names.split(", ")), last


def test_a_large_library_is_scanned_once_also_for_names_of_cublas(tmp_path):
    need(has_module("numpy"), "no numpy")

    def examined():
        _, result, _ = doctor("--", SYSTEM_PYTHON, "-c", "import numpy", XDG_CACHE_HOME=tmp_path)
        notes = [note["about"] for process in result["program"]["processes"] for note in process["notes"]
                 if "looks up cuBLAS" in note["message"]]
        return bypasses_of(result), notes

    really = examined()
    kept = list((tmp_path / "fp32shim/libraries").iterdir())
    assert kept and really[1] == []
    for file in kept:  # writes a result that no scan would give, which shows whether it is used
        result = json.loads(file.read_text())
        result["found"]["looked_up"]["cublas"] = True
        file.write_text(json.dumps(result))
    bypasses, notes = examined()
    assert bypasses == really[0] and len(notes) >= len(kept) - 1  # the command scans one of them by itself, at most
