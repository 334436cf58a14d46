"""`run --pin` and XLA: an XLA that knows the flag by which its products go to cuBLAS reads it, and no other code does."""

import os
import pathlib
import subprocess

import pytest

import shim
from command import COMMAND, build, environment, fp32shim

FLAG = "--xla_gpu_enable_triton_gemm=false"
WHEELS = pathlib.Path(os.environ.get("FP32SHIM_WHEELS", shim.BUILD / "wheels")) / "bin/python"

# Prints its flags when it is run, as an XLA reads them at its first use.
READER = """
    #include <stdio.h>
    #include <stdlib.h>
    const char* const flags[] = {%s};
    void run(void) {
        const char* value = getenv("XLA_FLAGS");
        printf("%s [%%s]\\n", value ? value : "none");
        fflush(stdout);
    }
"""
KNOWS = '"xla_gpu_enable_triton_gemm", "xla_gpu_enable_triton_gemm_int4"'
LIKE_IT = '"xla_gpu_enable_triton_gemm_int4", "no_xla_gpu_enable_triton_gemm"'


def reader(path, strings=KNOWS):
    return build(path, READER % (strings, path.name.split(".")[0]), "-shared", "-fPIC")


def run(*words, pin=("--pin",), **variables):
    variables.setdefault("FP32_MATMUL_KERNELS", "0")  # the verdict then does not know the kernels that XLA would launch
    return subprocess.run([COMMAND, "run", *pin, *words], capture_output=True, text=True, check=True,
                          env=environment(LD_LIBRARY_PATH=shim.blas_directory("reference"), **variables))


def run_libraries(*libraries, **keywords):
    words = [word for library in libraries for word in (f"local={library}", f"run={library}")]
    return run("--quiet", "--", shim.client("loader"), *words, **keywords)


@pytest.mark.parametrize("own, read", [
    (None, f"[ {FLAG}]"), ("--xla_dump_to=/x", f"[--xla_dump_to=/x {FLAG}]"),
    (" --xla_a=1\n--xla_b", f"[ --xla_a=1\n--xla_b {FLAG}]"), (FLAG, f"[{FLAG}]"),
    ("--xla_gpu_enable_triton_gemm=0", "[--xla_gpu_enable_triton_gemm=0]"),
    ("--xla_gpu_enable_triton_gemm=False", "[--xla_gpu_enable_triton_gemm=False]"),
    ("--xla_gpu_enable_triton_gemm=FALSE", "[--xla_gpu_enable_triton_gemm=FALSE]"),
    ("--xla_gpu_enable_triton_gemm_int4=true", f"[--xla_gpu_enable_triton_gemm_int4=true {FLAG}]")])
def test_an_xla_that_knows_the_flag_reads_it_behind_the_programs_own(tmp_path, own, read):
    variables = {} if own is None else {"XLA_FLAGS": own}
    done = run_libraries(reader(tmp_path / "xla.so"), **variables)
    assert (done.stdout, done.stderr) == (f"xla {read}\n", "")


@pytest.mark.parametrize("own, said", [
    ("--xla_gpu_enable_triton_gemm=true", "names that flag itself"), ("--xla_gpu_enable_triton_gemm", "names that flag itself"),
    (f"{FLAG} --xla_gpu_enable_triton_gemm=true", "names that flag itself"), ("flags.txt", "names a file")])
def test_what_the_program_says_about_the_flag_holds_and_one_line_says_so(tmp_path, own, said):
    library = reader(tmp_path / "xla.so")
    done = run_libraries(library, library, XLA_FLAGS=own)
    assert done.stdout == f"xla [{own}]\n" * 2
    assert done.stderr.count("\n") == 1 and said in done.stderr and FLAG in done.stderr


def test_each_of_two_xlas_reads_what_it_knows(tmp_path):
    new, old = reader(tmp_path / "new.so"), reader(tmp_path / "old.so", LIKE_IT)
    assert run_libraries(old, new, old).stdout == f"old [none]\nnew [ {FLAG}]\nold [none]\n"
    assert run_libraries(new, old, XLA_FLAGS="--xla_a").stdout == f"new [--xla_a {FLAG}]\nold [--xla_a]\n"


@pytest.mark.parametrize("pin, variables", [((), {}), (("--floor", "fp32"), {})])
def test_without_a_pin_nobody_reads_the_flag(tmp_path, pin, variables):
    assert run_libraries(reader(tmp_path / "xla.so"), pin=pin, **variables).stdout == "xla [none]\n"


def test_a_program_that_is_switched_off_reads_its_own_environment(tmp_path):
    library = reader(tmp_path / "xla.so")
    done = subprocess.run([shim.client("loader"), f"local={library}", f"run={library}"], capture_output=True, text=True, check=True,
                          env=environment(LD_PRELOAD=shim.LIBRARY, FP32SHIM_XLA_FLAG=FLAG, FP32_MATMUL_DISABLE="1"))
    assert done.stdout == "xla [none]\n"


def test_the_environment_has_no_flag_for_children_and_what_the_program_sets_late_is_read(tmp_path):
    library = reader(tmp_path / "xla.so")
    script = (f"import ctypes, os, subprocess; xla = ctypes.CDLL('{library}'); xla.run()\n"
              "os.environ['XLA_FLAGS'] = os.environ.get('XLA_FLAGS', '') + ' --xla_late'; xla.run()\n"
              "subprocess.run(['sh', '-c', 'echo $XLA_FLAGS'])")
    done = run("--quiet", "--", shim.SYSTEM_PYTHON, "-c", script)
    assert done.stdout == f"xla [ {FLAG}]\nxla [ --xla_late {FLAG}]\n--xla_late\n"


PRODUCT = """
    void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    static float a[16], b[16], c[16];
    void run(void) { cblas_sgemm(101, 111, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4); }
"""


@pytest.mark.parametrize("order", ["product, xla", "xla, product", "xla"])
@pytest.mark.parametrize("strings, own, is_pinned", [
    (KNOWS, "--xla_a", True), (KNOWS, "--xla_gpu_enable_triton_gemm=true", False), (LIKE_IT, "--xla_a", False)])
def test_the_verdict_calls_an_xla_pinned_if_it_read_the_flag(tmp_path, strings, own, is_pinned, order):
    library = {
        "product": build(tmp_path / "libproduct.so", PRODUCT, "-shared", "-fPIC", "-Wl,--no-as-needed", "-x", "none",
                         shim.blas_library("reference")),
        "xla": reader(tmp_path / "xla_cuda_plugin.so", strings)}
    driver = build(tmp_path / "libcuda.so.1", "void run(void) {}", "-shared", "-fPIC")
    libraries = [library[name] for name in order.split(", ")]
    words = [word for each in [driver, *libraries] for word in (f"local={each}", f"run={each}")]
    run("--log", tmp_path / "run.fp32rec", "--", shim.client("loader"), *words, XLA_FLAGS=own)
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", tmp_path / "run.fp32rec")
    assert result.returncode == 3
    bypass, = [each for each in result.json["bypasses"] if each["bypass"] == "XLA-GPU"]
    pins = ["JAX_DEFAULT_MATMUL_PRECISION=highest", f"FP32SHIM_XLA_FLAG={FLAG}"]
    assert bypass["pinned_by"] == (pins if is_pinned else [])
    if not is_pinned:
        assert FLAG in bypass["remedy"]


def test_a_forked_child_of_a_program_whose_xla_is_not_pinned_is_not_either(tmp_path):
    shim.need(shim.has_module("numpy"), "no numpy")
    library = reader(tmp_path / "xla_cuda_plugin.so", LIKE_IT)
    script = (f"import ctypes, os, numpy; a = numpy.ones((9, 9), 'f'); a @ a; ctypes.CDLL('{library}').run()\n"
              "if os.fork() == 0:\n    a @ a\n    raise SystemExit\nos.wait()")
    run("--log", tmp_path / "run.fp32rec", "--", shim.SYSTEM_PYTHON, "-c", script)
    processes = fp32shim("report", "--format", "json", tmp_path).json["processes"]
    assert len(processes) == 2
    assert not [process for process in processes if f"FP32SHIM_XLA_FLAG={FLAG}" in process["pinned_by"]]


def test_a_resolver_that_asks_for_a_variable_before_the_library_works_does_no_harm(tmp_path):
    """Resolvers of indirect functions run while the loader relocates, which it does for the preloaded library last."""
    library = build(tmp_path / "libresolved.so", """
        #include <stdlib.h>
        static int one(void) { return 1; }
        static int (*resolve(void))(void) { getenv("RESOLVED"); return one; }
        int resolved(void) __attribute__((ifunc("resolve")));
        int call_resolved(void) { return resolved(); }
    """, "-shared", "-fPIC", "-Wl,-z,now")
    program = build(tmp_path / "program", "int call_resolved(void); int main(void) { return call_resolved(); }",
                    "-x", "none", library, f"-Wl,-rpath,{tmp_path}")
    for preload in ({}, {"LD_PRELOAD": shim.LIBRARY}):
        assert subprocess.run([program], env=environment(**preload), check=False).returncode == 1


def test_jax_knows_the_flag_and_runs_under_a_pin(tmp_path):
    shim.need(WHEELS.exists(), f"no wheels at {WHEELS}")
    script = "import jax.numpy as n; x = n.ones((8, 8)); print((x @ x)[0, 0])"
    shim.need(subprocess.run([WHEELS, "-c", "import jax"], capture_output=True, check=False).returncode == 0, "no jax")
    done = run("--quiet", "--", WHEELS, "-B", "-c", script, JAX_PLATFORMS="cpu", XLA_FLAGS=f"--xla_dump_to={tmp_path}")
    assert done.stdout == "8.0\n"
    read = [file.read_text() for file in tmp_path.rglob("*debug_options")]
    assert read and all("xla_gpu_enable_triton_gemm: false" in text for text in read)
