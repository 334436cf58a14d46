"""`fp32shim gpu-check` on the stand-in: within its seconds; each of its lines fails where the stand-in answers wrongly, and says
what went wrong; what cannot be measured costs its own line only.
"""

import collections
import functools
import getpass
import json
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "preload"))
import shim  # noqa: E402
from shim import environment, need  # noqa: E402

COMMAND = shim.BUILD / "bin/fp32shim"
PROGRAM = shim.BUILD / "libexec/fp32shim/gpu-check"
STAND_IN = shim.BUILD.resolve() / "tests/cublas/stand_in"
FAKES = HERE / "fake_frameworks"
PYTHON = HERE / "python_without_packages"
SAVED = HERE / "saved"
RESULTS = shim.ROOT / "docs/gpu-results"

Line = collections.namedtuple("Line", "verdict text")
LINE = re.compile(r"(shown|WRONG|FAILED|measured|not tried) +(\S.*?)  +(.*)")
IN_A_PRODUCT = ["as called", "highest", "high", "medium", "other formats"]
FLOORS = ["floor: math mode", "floor: compute type", "floor: algorithm", "floor: override", "floor: cublasLt"]
FLOAT64 = ["float64: as called", "float64: fp64", "float64: emulated"]
TIMES = ["time at 512", "time at 2048", "time at 8192"]
FRAMEWORKS = ["PyTorch", "CuPy", "JAX"]
ALL = ["machine", "library", *IN_A_PRODUCT, *FLOORS, *FLOAT64, *TIMES, "cost of a call", "graph", "audits", *FRAMEWORKS, "kernels", "counters"]


@pytest.fixture(scope="module", autouse=True)
def is_built():
    need(PROGRAM.exists() and COMMAND.exists(), f"{PROGRAM} or {COMMAND} was not built")


class Run:
    def __init__(self, finished, report):
        self.status = finished.returncode
        self.output = finished.stdout
        self.lines = {match[2]: Line(match[1], match[3]) for match in map(LINE.fullmatch, finished.stdout.splitlines()) if match}
        self.report = json.loads(report.read_text()) if report.exists() else None

    def of(self, *verdicts):
        return [name for name, line in self.lines.items() if line.verdict in verdicts]

    def faults(self):
        return self.of("WRONG", "FAILED")


def start(words, variables, timeout=1200):
    return subprocess.run([str(word) for word in words], env=environment(env=variables), text=True, timeout=timeout, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def python_for(variables):
    """Returns the Python for gpu-check. The fake frameworks need the system's Python, which has numpy. Without them, that
    Python would import the system's PyTorch, which takes seconds."""
    return "/usr/bin/python3" if "PYTHONPATH" in variables else PYTHON


def gpu_check(tmp_path, *words, seconds=120, largest=64, python=None, **variables):
    """Runs the program, with matrices so small that a slow machine has time for all of its steps."""
    report = tmp_path / "report.json"
    return Run(start([PROGRAM, "--shim", shim.BUILD / "lib/libfp32shim.so", "--seconds", seconds, "--largest", largest,
                      "--libraries", STAND_IN, "--python", python or python_for(variables), "-o", report, *words], variables), report)


def command(tmp_path, *words, **variables):
    report = tmp_path / "report.json"
    return Run(start([COMMAND, "gpu-check", "--libraries", STAND_IN, "--python", python_for(variables), "-o", report, *words],
                     variables), report)


def ended_within(run, seconds):
    """Tells if a run ended in time, with some tolerance, because the process that ends a step may wait for a processor."""
    return run.report["seconds"]["used"] < seconds + 60


def fakes(tmp_path, ncu=SAVED):
    """Returns variables under which fakes of all frameworks and of ncu are found. `ncu` is the folder with ncu's output."""
    need(start(["/usr/bin/python3", "-c", "import numpy"], {}).returncode == 0, "python3-numpy is not installed")
    program = tmp_path / "bin/ncu"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"""#!/bin/sh
case "$*" in
    *--query-metrics*) cat {ncu}/ncu_query_metrics.txt ;;
    *opt_ins*) cat {ncu}/ncu_fp32.csv ;;
    *) cat {ncu}/ncu_tensor.csv ;;
esac
""")
    program.chmod(0o755)
    return {"PYTHONPATH": str(FAKES), "PATH": f"{program.parent}:{os.environ['PATH']}"}


# ---- a sound machine


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Returns a run of so many seconds with all frameworks and ncu. Each runs once."""
    @functools.cache
    def run_within(seconds):
        folder = tmp_path_factory.mktemp("sound")
        variables = fakes(folder)
        return command(folder, "--seconds", seconds, **variables)

    return run_within


@pytest.mark.parametrize("seconds", [30, *map(int, os.environ.get("FP32SHIM_GPU_CHECK_SECONDS", "120").split())])
def test_it_ends_within_its_seconds_and_every_line_is_there(sound, seconds):
    run = sound(seconds)
    assert run.status == 0, run.output
    assert ended_within(run, seconds)
    assert set(run.lines) == set(ALL), set(run.lines) ^ set(ALL)
    assert not run.faults()
    assert run.lines["machine"].text.startswith("fp32shim stand-in (no GPU), compute capability 9.0, driver for CUDA 13.0, cuBLAS 13.")
    if seconds >= 120:
        assert set(run.of("shown")) >= {"library", *IN_A_PRODUCT, "floor: math mode", "floor: compute type", "floor: override",
                                        "floor: cublasLt", *FLOAT64, "graph", "audits", *FRAMEWORKS, "kernels", "counters"}, run.output
        assert run.lines["high"].text.startswith("decided tf32, measured tf32, error ")
        assert run.lines["PyTorch"].text == "0.0+fake; high: 4 of 4 products tf32; floor: 4 of 4 products fp32"
        assert run.lines["counters"].text.startswith(
            "at high sm__ops_path_tensor_src_tf32_dst_fp32.sum is 2147483648 in sm90_xmma_gemm")
        cost = r"( [+-]\d+ ns \([+-]\d+\.\d%\)| below what this machine can show \(\d+ ns\))"
        assert re.fullmatch(rf"a launch takes the host .* us, off{cost}, summary{cost}, calls{cost}", run.lines["cost of a call"].text)


def test_times_are_compared_where_there_is_time_to_measure_them(tmp_path):
    """A slow or busy CPU needs many seconds for products that take a GPU microseconds."""
    run = gpu_check(tmp_path, seconds=300, largest=512)
    assert re.fullmatch(r"FP32 .* ms, TF32 .* ms: .* times as fast \(.* TFLOP/s\); forced takes .* of native", run.lines["time at 512"].text)
    assert run.lines["time at 2048"] == Line("not tried", "larger than --largest")


def test_the_shares_of_the_steps_grow_and_leave_time_for_the_report():
    source = (shim.ROOT / "gpu_check/checks/gpu_check.cpp").read_text()
    shares = [float(share) for share in re.findall(r'\{"\w+", (0\.\d+), check_\w+,', source)]
    first = float(re.search(r"machine_ends_at = (0\.\d+)", source)[1])
    assert len(shares) == 12 and [first, *shares] == sorted({first, *shares}) and shares[-1] < 1


def test_without_frameworks_and_ncu_their_lines_say_what_is_missing(tmp_path):
    need(start(["sh", "-c", "command -v ncu"], {}).returncode != 0, "this machine has ncu")
    run = gpu_check(tmp_path, python="/usr/bin/python3")
    assert run.status == 0, run.output
    assert set(run.of("not tried")) >= {*FRAMEWORKS, "kernels", "counters"}
    assert run.lines["counters"].text == "ncu (Nsight Compute) is not on the path"
    assert "cupy" in run.lines["CuPy"].text


def test_an_older_gpu_has_no_tf32_and_that_is_no_fault(tmp_path):
    run = gpu_check(tmp_path, STAND_IN_COMPUTE_CAPABILITY="7.5")
    assert run.status == 0, run.output
    assert run.lines["high"].text.startswith("decided fp32, measured fp32 (")
    assert run.lines["audits"].verdict == "measured"


def test_what_the_callers_shell_says_about_precision_is_unset_and_named(tmp_path):
    run = gpu_check(tmp_path, NVIDIA_TF32_OVERRIDE="1", FP32_MATMUL_PRECISION="medium")
    assert run.status == 0, run.output
    for name in ["FP32_MATMUL_PRECISION", "NVIDIA_TF32_OVERRIDE"]:
        assert re.search(rf"^ +unset +{name}$", run.output, re.MULTILINE)


def under_site(tmp_path, policy, preload=""):
    """Runs gpu-check on a machine with this policy of the site, and this /etc/ld.so.preload."""
    (tmp_path / "policy.toml").write_text("schema = 1\n" + policy)
    (tmp_path / "ld.so.preload").write_text(preload)
    inside = """cp -a /etc "$1/etc" && mkdir -p "$1/etc/fp32shim" && mount --bind "$1/etc" /etc || exit 99
        cp "$1/policy.toml" /etc/fp32shim/ && chmod 644 /etc/fp32shim/policy.toml
        if [ -s "$1/ld.so.preload" ]; then cp "$1/ld.so.preload" /etc/; fi
        shift; exec "$@" """
    report = tmp_path / "report.json"
    run = Run(start(["unshare", "--mount", "--propagation", "private", "sh", "-c", inside, "sh", tmp_path, PROGRAM, "--shim",
                     shim.BUILD / "lib/libfp32shim.so", "--largest", 128, "--libraries", STAND_IN, "--python", PYTHON,
                     "-o", report], {}), report)
    need(run.status != 99 and "unshare" not in run.output, "no mount namespace here")
    assert run.status == 0, run.output
    return run


def test_under_a_floor_of_the_sites_policy_high_is_fp32_and_that_is_said(tmp_path):
    run = under_site(tmp_path, '[limits]\nfloor = "fp32"\n')
    assert run.lines["high"] == Line("measured", "decided fp32, measured fp32: this machine's own policy, /etc/fp32shim/policy.toml, "
                                                 "has a floor")
    assert run.lines["graph"].verdict == "shown"
    assert run.lines["audits"].text == "under the floor of this machine's policy they preview TF32: not compared"


def test_under_a_floor_of_tf32_only_what_is_lower_is_raised(tmp_path):
    run = under_site(tmp_path, '[limits]\nfloor = "tf32"\n')
    assert set(run.of("shown")) >= {"as called", "highest", "high", "graph", "audits"}, run.output
    assert run.lines["medium"].text.startswith("decided tf32, measured tf32: this machine's own policy")


@pytest.mark.parametrize("is_preloaded", [False, True])
def test_what_else_the_site_asks_for_governs_nothing_here(tmp_path, is_preloaded):
    library = shim.BUILD.resolve() / "lib/libfp32shim.so"
    run = under_site(tmp_path, 'default = "medium"\n[cuda]\nmin_compute_capability = "10.0"\n[[rule]]\nname = "all"\n'
                               'precision = "high"\n', f"{library}\n" if is_preloaded else "")
    assert set(run.of("shown")) >= {*IN_A_PRODUCT, "floor: math mode", "graph", "audits"}, run.output
    assert "rules and default of /etc/fp32shim/policy.toml; its floor applies" in run.output
    assert ("the library that /etc/ld.so.preload loads" in run.output) == is_preloaded
    assert run.report["machine"]["set_aside"] == ["policy", "preload"][: 1 + is_preloaded]


def test_of_several_devices_the_first_is_measured_and_no_other_is_shown(tmp_path):
    variables = fakes(tmp_path)
    with (tmp_path / "bin/ncu").open("a") as program:
        program.write(f'echo "$CUDA_VISIBLE_DEVICES" >>{tmp_path}/visible\n')
    for visible, first in [("", "0"), ("3,1", "3")]:
        run = gpu_check(tmp_path, **variables, STAND_IN_DEVICES="2", **({"CUDA_VISIBLE_DEVICES": visible} if visible else {}))
        assert run.lines["machine"].text.endswith("; the first of 2 devices"), run.output
        assert set((tmp_path / "visible").read_text().split()) == {first}
        (tmp_path / "visible").unlink()


def test_frameworks_run_with_the_callers_own_libraries(tmp_path):
    """cuBLAS is in a toolkit that only CUDA_PATH names. A framework with a cuBLAS of its own must not load this one."""
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver/libcuda.so.1").symlink_to(STAND_IN / "libcuda.so.1")
    (tmp_path / "cuda/lib64").mkdir(parents=True)
    for name in ["libcublas.so.13", "libcublasLt.so.13"]:
        (tmp_path / "cuda/lib64" / name).symlink_to(STAND_IN / name)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\ncase "$*" in *products.py*) echo "$LD_LIBRARY_PATH" >>{tmp_path}/path ;; esac\nexit 77\n')
    python.chmod(0o755)
    report = tmp_path / "report.json"
    run = Run(start([PROGRAM, "--shim", shim.BUILD / "lib/libfp32shim.so", "--largest", 128, "--python", python, "-o", report],
                    {"LD_LIBRARY_PATH": str(tmp_path / "driver"), "CUDA_PATH": str(tmp_path / "cuda")}), report)
    assert "high" in run.of("shown"), run.output
    assert set((tmp_path / "path").read_text().split()) == {str(tmp_path / "driver")}


def test_on_a_terminal_it_has_colours_and_says_what_it_measures(tmp_path):
    sys.path.insert(0, str(HERE.parent / "cli"))
    try:
        from command import need_terminals, on_a_terminal
    finally:
        sys.path.pop(0)
    need_terminals()
    output = on_a_terminal(["gpu-check", "--seconds", "30", "--libraries", STAND_IN, "--python", PYTHON, "-o", tmp_path / "report.json"])
    assert "\rmeasuring: products ...\x1b[K" in output and "\x1b[32mshown    \x1b[0m  library" in output


def test_a_result_better_than_was_decided_is_shown_with_what_it_was(tmp_path):
    """An example is an H200, which rounds ties to even."""
    run = gpu_check(tmp_path, **fakes(tmp_path), STAND_IN_ASSUME="fast_16bf=tf32,fast_16f=tf32,tf32_ties_from_9_0=even")
    assert run.status == 0 and {"medium", "other formats", *FRAMEWORKS} <= set(run.of("shown")), run.output
    assert re.fullmatch(r"decided bf16, measured tf32, error .*: bf16 permits tf32, and this cuBLAS used it", run.lines["medium"].text)
    assert run.lines["other formats"].text.startswith("each measured as decided, or as it permits: bf16x9: fp32, ")
    assert re.search(r"\bfp16: fp16, which permits tf32(,|$)", run.lines["other formats"].text)
    run = gpu_check(tmp_path, STAND_IN_ASSUME="fast_16bf=bf16,fast_16f=fp16")
    assert re.fullmatch(r"decided bf16, measured bf16, error [\d.e-]+", run.lines["medium"].text)
    assert run.lines["other formats"].text.startswith("each measured as decided: ")
    assert run.lines["floor: compute type"].text.endswith("without it fast_tf32 tf32, fast_16bf bf16, fast_16f fp16")


# ---- a stand-in that answers wrongly


WRONG_ANSWERS = {
    "TF32 that is FP32": ({"STAND_IN_FAST": "ignored"}, ["high", "medium", "other formats", "graph"],
                          {"high": "high: decided tf32, measured fp32",
                           "graph": "graph_sgemm, captured at high and replayed, is fp32, not tf32"}),
    "FP32 that is TF32": ({"STAND_IN_LEAKS": "always"}, [*IN_A_PRODUCT[:2], "other formats", *FLOORS[:4], "audits"],
                          {"as called": "a program that asks for nothing gets tf32 even without the library"}),
    "a library that changes bits": ({"STAND_IN_LEAKS": "always", "STAND_IN_ONLY_IF": "LD_PRELOAD"},
                                    [*IN_A_PRODUCT[:2], "other formats", *FLOORS[:4], "audits"],
                                    {"as called": "the library changes bits: "}),
    "a pin that leaks": ({"STAND_IN_LEAKS": "always", "STAND_IN_ONLY_IF": "FP32_MATMUL_PRECISION=highest"}, ["highest"],
                         {"highest": "highest: decided fp32, measured tf32"}),
    "a math mode that wins": ({"STAND_IN_LEAKS": "sticky_mode", "STAND_IN_ONLY_IF": "FP32_MATMUL_FLOOR=fp32"},
                              ["floor: math mode"], {"floor: math mode": "mode_tf32 tf32, mode_tensor_op tf32"}),
    "a compute type that wins": ({"STAND_IN_LEAKS": "gemm_ex", "STAND_IN_ONLY_IF": "FP32_MATMUL_FLOOR=fp32"}, FLOORS[1:4],
                                 {"floor: compute type": "fast_tf32 tf32, fast_16bf tf32, fast_16f tf32"}),
    "an algorithm that wins": ({"STAND_IN_LEAKS": "algorithm_99"}, ["floor: algorithm"], {"floor: algorithm": "algorithm_99 tf32"}),
    "an override that wins": ({"STAND_IN_LEAKS": "always", "STAND_IN_ONLY_IF": "NVIDIA_TF32_OVERRIDE=1"}, ["floor: override"],
                              {"floor: override": "pedantic tf32"}),
    "a cublasLt that wins": ({"STAND_IN_LEAKS": "lt"}, ["floor: override", "floor: cublasLt"],
                             {"floor: cublasLt": "lt_fast_tf32 tf32"}),
    "a graph that is lost": ({"STAND_IN_GRAPHS": "empty"}, ["graph", "audits"], {"graph": "replayed, is wrong, not tf32", "audits": "in a graph: WRONG"}),
    "a graph that differs": ({"STAND_IN_GRAPHS": "differ", "STAND_IN_ONLY_IF": "FP32_MATMUL_PRECISION=high"}, ["graph"],
                             {"graph": "replayed, has bits others than outside a graph"}),
    "float64 that a recording changes": ({"STAND_IN_LEAKS": "float64", "STAND_IN_ONLY_IF": "FP32_MATMUL_LOG_LEVEL"}, FLOAT64,
                                         {"float64: as called": "the library changes bits of dgemm, "}),
    "float64 that a rule does not reach": ({"STAND_IN_LEAKS": "float64", "STAND_IN_ONLY_IF": "FP32_MATMUL_POLICY"}, FLOAT64[1:],
                                           {"float64: fp64": "fp64/dgemm fp64_emulated, ",
                                            "float64: emulated": "is emulated: dgemm_pedantic, ex_pedantic, lt_pedantic"}),
    "a refusal while recording": ({"STAND_IN_FAST": "no_memory_at_all", "STAND_IN_ONLY_IF": "FP32_MATMUL_ON_ERROR=abort"},
                                  ["cost of a call"], {"cost of a call": "turns: cublasSgemm: cublasSgemm_v2: ALLOC_FAILED"}),
}


@pytest.mark.parametrize("name", WRONG_ANSWERS)
def test_a_wrong_answer_fails_its_lines_and_no_other(tmp_path, name):
    variables, faults, texts = WRONG_ANSWERS[name]
    run = gpu_check(tmp_path, **variables)
    assert run.status == 1, run.output
    assert sorted(run.faults()) == sorted(faults), run.output
    for line, text in texts.items():
        assert text in run.lines[line].text


def test_a_time_that_cannot_be_measured_fails_its_line(tmp_path):
    run = gpu_check(tmp_path, seconds=300, largest=512, STAND_IN_FAST="no_memory_at_all", STAND_IN_ONLY_IF="FP32_MATMUL_PRECISION=high")
    assert run.status == 1 and not run.of("WRONG"), run.output
    assert run.lines["time at 512"] == Line("FAILED", "high: 512: cublasSgemm_v2: ALLOC_FAILED")
    assert run.lines["high"] == Line("FAILED", "the product was refused: ALLOC_FAILED")
    assert set(run.of("FAILED")) >= {"graph", "audits"}


def test_a_library_that_does_nothing_fails_every_line_about_it(tmp_path):
    library = tmp_path / "libfp32shim.so"
    subprocess.run([shim.tool("gcc"), "-shared", "-x", "c", "/dev/null", "-o", library], check=True)
    report = tmp_path / "report.json"
    run = Run(start([PROGRAM, "--shim", library, "--libraries", STAND_IN, "--python", PYTHON, "--seconds", "60",
                     "--largest", "128", "--output", report], {}), report)
    assert run.status == 1, run.output
    assert run.of("shown") == [] and run.lines["as called"].verdict == "not tried"
    assert run.lines["library"] == Line("WRONG", "it was preloaded, but recorded no product")
    assert set(run.of("WRONG")) >= {"library", "floor: math mode", "floor: compute type", "floor: override", "floor: cublasLt", "graph"}
    assert set(run.of("FAILED")) >= {"highest", "high", "medium", "other formats", "cost of a call", "audits"}


def test_opt_ins_that_a_floor_makes_fail_are_failures_and_do_not_go_below_it(tmp_path):
    run = gpu_check(tmp_path, STAND_IN_FAST="no_memory_at_all", STAND_IN_ONLY_IF="FP32_MATMUL_FLOOR=fp32")
    assert run.of("FAILED") == FLOORS and not run.of("WRONG"), run.output
    assert run.lines["floor: math mode"].text == "refused under a floor: mode_tf32 ALLOC_FAILED, mode_tensor_op ALLOC_FAILED"


def test_a_library_that_the_loader_refuses_is_said_in_the_loaders_words(tmp_path):
    library = tmp_path / "libfp32shim.so"
    library.write_text("no library")
    report = tmp_path / "report.json"
    run = Run(start([PROGRAM, "--shim", library, "--libraries", STAND_IN, "--python", PYTHON, "--seconds", "60",
                     "--largest", "128", "--output", report], {}), report)
    assert run.lines["library"].verdict == "WRONG" and "from LD_PRELOAD cannot be preloaded" in run.lines["library"].text


@pytest.mark.parametrize(("fault", "text"), [("own_kernels", "decided fp32, not tf32"), ("ignores", " is lower than ")])
def test_a_framework_that_goes_past_the_library_is_wrong(tmp_path, fault, text):
    run = gpu_check(tmp_path, **fakes(tmp_path), FAKE_FRAMEWORK_FAULT=fault)
    assert run.status == 1, run.output
    assert sorted(run.of("WRONG")) == sorted(FRAMEWORKS)
    assert all(text in run.lines[name].text for name in FRAMEWORKS)


def test_a_framework_that_crashes_fails_its_line_only(tmp_path):
    run = gpu_check(tmp_path, **fakes(tmp_path), FAKE_FRAMEWORK_FAULT="crashes")
    assert run.status == 1, run.output
    assert sorted(run.faults()) == sorted([*FRAMEWORKS, "kernels"]) and not run.of("WRONG")
    assert run.lines["counters"].verdict == "shown"


def test_a_framework_that_can_multiply_nothing_here_has_failed(tmp_path):
    run = gpu_check(tmp_path, **fakes(tmp_path), FAKE_FRAMEWORK_FAULT="cannot")
    assert not run.of("WRONG") and set(run.of("FAILED")) >= set(FRAMEWORKS), run.output
    assert all("did not run: RuntimeError: no kernel image" in run.lines[name].text for name in FRAMEWORKS)


def test_kernels_of_another_format_than_was_decided_are_wrong(tmp_path):
    run = gpu_check(tmp_path, **fakes(tmp_path), FAKE_KERNEL="ampere_sgemm_128x128_nn")
    assert run.of("WRONG") == ["kernels"] and run.status == 1, run.output
    assert run.lines["kernels"].text == "at high the kernel ampere_sgemm_128x128_nn is one for fp32"


def test_kernels_whose_names_say_nothing_show_nothing(tmp_path):
    run = gpu_check(tmp_path, **fakes(tmp_path), FAKE_KERNEL="nvjet_sss_128x256_64x4_2x1_v_bz_coopA_NNN")
    assert run.status == 0 and run.lines["kernels"].verdict == "measured", run.output
    assert "high: 0 kernels of 4 products say tf32" in run.lines["kernels"].text


def test_counters_of_a_process_without_the_library_say_nothing_about_it(tmp_path):
    folder = tmp_path / "saved"
    folder.mkdir()
    for name in ["ncu_query_metrics.txt", "ncu_fp32.csv", "ncu_tensor.csv"]:
        text = (SAVED / name).read_text()
        (folder / name).write_text(text.replace("found\tmode_tf32\tfp32", "found\tmode_tf32\ttf32"))
    run = gpu_check(tmp_path, **fakes(tmp_path, folder))
    assert run.lines["counters"] == Line("not tried", "floor: under ncu the products are tf32, so the library has no effect there")


@pytest.mark.parametrize(("swapped", "text"), [("ncu_fp32.csv", "under a floor of fp32, tensor cores were used in sm90_xmma"),
                                               ("ncu_tensor.csv", "at high, no tensor core instruction was counted")])
def test_counters_that_contradict_are_wrong(tmp_path, swapped, text):
    other = {"ncu_fp32.csv": "ncu_tensor.csv", "ncu_tensor.csv": "ncu_fp32.csv"}[swapped]
    folder = tmp_path / "saved"
    folder.mkdir()
    for name in ["ncu_query_metrics.txt", "ncu_fp32.csv", "ncu_tensor.csv"]:
        saved = (SAVED / (other if name == swapped else name)).read_text()
        found = {"ncu_tensor.csv": "tf32", "ncu_fp32.csv": "fp32"}.get(name)
        (folder / name).write_text(re.sub("found\t.*", f"found\tformat\t{found}", saved))
    run = gpu_check(tmp_path, **fakes(tmp_path, folder))
    assert run.of("WRONG") == ["counters"], run.output
    assert text in run.lines["counters"].text


def test_counters_that_may_not_be_read_are_not_tried_with_ncus_reason(tmp_path):
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "ncu_query_metrics.txt").write_text((SAVED / "ncu_query_metrics.txt").read_text())
    for name in ["ncu_fp32.csv", "ncu_tensor.csv"]:
        (folder / name).write_text("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access the counters\n")
    run = gpu_check(tmp_path, **fakes(tmp_path, folder))
    assert run.status == 0, run.output
    assert run.lines["counters"].verdict == "not tried" and "ERR_NVGPUCTRPERM" in run.lines["counters"].text


# ---- what cannot be measured


def test_without_a_driver_one_line_says_so_and_the_status_is_77(tmp_path):
    found = start(["sh", "-c", "ldconfig -p || /sbin/ldconfig -p"], {}).stdout
    need("libcuda.so.1" not in found, "this machine has a driver")
    finished = start([COMMAND, "gpu-check", "-o", tmp_path / "report.json"], {})
    assert finished.returncode == 77
    assert finished.stdout == "gpu-check: no CUDA device: there is no libcuda.so.1, the NVIDIA driver's library\n"
    assert not (tmp_path / "report.json").exists()


@pytest.mark.parametrize(("variables", "text"), [
    ({"STAND_IN_DEVICES": "0"}, "no CUDA device: cuInit says 100, there is no device, devices: 0"),
    ({"STAND_IN_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "-1"},
     "no CUDA device: cuInit says 100, there is no device, devices: 0; CUDA_VISIBLE_DEVICES is '-1'"),
    ({"STAND_IN_DRIVER": "11040"}, "cuBLAS does not run on fp32shim stand-in (no GPU), whose driver supports CUDA 11.4: "
                                   "cublasCreate of libcublas.so.13 says NOT_INITIALIZED")])
def test_a_machine_that_cannot_run_cublas_is_one_line_and_77(tmp_path, variables, text):
    run = gpu_check(tmp_path, **variables)
    assert (run.status, run.output) == (77, f"gpu-check: {text}\n")
    assert run.report is None


def test_a_device_that_others_have_filled_has_failed_and_was_not_left_out(tmp_path):
    run = gpu_check(tmp_path, STAND_IN_MEMORY="1000")
    assert run.status == 1 and run.output.count("\n") == 1, run.output
    assert run.output.endswith("cublasCreate of libcublas.so.13 says ALLOC_FAILED; 0 of 0 MiB are free\n")


def test_a_folder_of_libraries_need_not_have_the_drivers(tmp_path):
    for name in ["libcublas.so.13", "libcublasLt.so.13"]:
        (tmp_path / name).symlink_to(STAND_IN / name)
    report = tmp_path / "report.json"
    run = Run(start([COMMAND, "gpu-check", "--libraries", tmp_path, "--seconds", 30, "-o", report], {"LD_LIBRARY_PATH": str(STAND_IN)}),
              report)
    assert "library" in run.of("shown"), run.output


def test_without_cublas_one_line_says_so(tmp_path):
    (tmp_path / "libcuda.so.1").symlink_to(STAND_IN / "libcuda.so.1")
    finished = start([COMMAND, "gpu-check", "--libraries", tmp_path], {})
    assert (finished.returncode, finished.stdout) == (77, "gpu-check: no cuBLAS: there is no libcublas.so.13 or .12 with its libcublasLt\n")


def test_a_driver_that_hangs_is_one_line(tmp_path):
    run = command(tmp_path, "--seconds", 30, STAND_IN_HANGS="cuInit")
    assert (run.status, run.output) == (1, "gpu-check: the device does not work: no answer in 8 s\n")


def test_a_call_that_hangs_costs_its_lines_only(tmp_path):
    run = gpu_check(tmp_path, seconds=30, STAND_IN_HANGS="cuGraphLaunch")
    # Beside other work, no seconds may be left for the audits.
    hanging = ["graph"] if run.lines["audits"].verdict == "not tried" else ["audits", "graph"]
    assert run.status == 1 and sorted(run.faults()) == hanging, run.output
    assert run.lines["graph"].verdict == "FAILED"
    assert re.fullmatch(r"native: cublasSgemm: no answer in \d+ s", run.lines["graph"].text)
    assert ended_within(run, 30)


def test_a_device_that_stops_answering_is_not_asked_again(tmp_path):
    trigger, report = tmp_path / "hang", tmp_path / "report.json"
    running = subprocess.Popen([COMMAND, "gpu-check", "--seconds", "30", "--libraries", STAND_IN, "--python", PYTHON, "-o", report],
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=environment(env={"STAND_IN_HANGS": "cuInit", "STAND_IN_HANGS_FROM": str(trigger)}))
    output = running.stdout.readline()
    trigger.touch()
    output += running.communicate(timeout=600)[0]
    run = Run(subprocess.CompletedProcess([], running.returncode, output), report)
    assert run.status == 1 and ended_within(run, 30)
    gone = [name for name, line in run.lines.items() if line == Line("not tried", "the device no longer answers")]
    assert len(gone) >= 9, output
    assert "no answer in" in output


def test_a_device_without_memory_fails_what_needs_it(tmp_path):
    run = gpu_check(tmp_path, largest=256, STAND_IN_MEMORY="1200000")
    assert run.status == 1, run.output
    assert {"as called", "highest", "high", "medium", *FLOORS, "audits"} <= set(run.of("FAILED")) and not run.of("WRONG")
    assert all("the device is out of memory" in run.lines[name].text for name in run.of("FAILED"))


def test_a_folder_for_temporary_files_that_is_full_fails_lines_and_ends_nothing(tmp_path):
    run = gpu_check(tmp_path, TMPDIR="/proc/self")
    assert run.status == 1 and run.report is not None, run.output
    assert run.lines["graph"].verdict == "shown"


def test_a_run_that_is_interrupted_leaves_no_process(tmp_path):
    running = subprocess.Popen([COMMAND, "gpu-check", "--seconds", "60", "--libraries", STAND_IN, "--python", PYTHON,
                                "-o", tmp_path / "report.json"], text=True, stdout=subprocess.PIPE,
                               env=environment(env={"STAND_IN_HANGS": "cuGraphLaunch", "MARK": str(tmp_path)}))
    for line in running.stdout:
        if line.startswith("measured   cost"):
            break
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    assert running.wait(600) == -signal.SIGINT
    deadline = time.monotonic() + 600
    mark = f"MARK={tmp_path}".encode()

    def left():
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes():
                    found.append(process.name)
            except OSError:
                pass
        return found

    while left() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left() == []


# ---- the report


def schema():
    jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")
    rules = json.loads((RESULTS / "schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(rules)
    return jsonschema.Draft202012Validator(rules)


def test_the_report_is_as_its_schema_says(sound):
    run = sound(120)
    schema().validate(run.report)
    assert [check["check"] for check in run.report["checks"]] == [*run.lines]
    assert run.report["evidence"]["product"]["high/format"] == ["tf32"]
    assert [operation["measured"] for operation in run.report["evidence"]["torch"]["high"]] == ["tf32"] * 4


def test_the_schema_refuses_what_is_no_report(sound):
    report = sound(30).report
    rules = schema()
    for change in [{"schema": 2}, {"checks": []}, {"host": "h"}, {"tool": {**report["tool"], "sha256_of_library": "?"}},
                   {"checks": [{"check": "high", "verdict": "fine", "text": "x"}]}]:
        assert not rules.is_valid({**report, **change}), change


SENT = [file for file in sorted(RESULTS.glob("*.json")) if file.name != "schema.json"]


def test_others_have_sent_results():
    assert SENT


@pytest.mark.parametrize("file", SENT, ids=lambda file: file.stem)
def test_results_that_others_sent_are_as_the_schema_says(file):
    schema().validate(json.loads(file.read_text()))


# Lines that gpu-check judged otherwise, or measured otherwise, when the report was made.
JUDGED_ANEW = {"nvidia-h200-580.159.04-cublas-13.1.0": {
    "medium": "decided bf16, measured tf32, error 3.1e-04: bf16 permits tf32, and this cuBLAS used it",
    "other formats": "each measured as decided, or as it permits: bf16x9: fp32, tf32x3: fp32, bf16x3: fp32, bf16x2: fp32, xf32: tf32, "
                     "fp16: fp16, which permits tf32, e4m3: fp16, which permits tf32, e5m2: fp16, which permits tf32, "
                     "fp32_perturbed: fp32",
    "cost of a call": "turns: not measured"}}


@pytest.mark.parametrize("file", SENT, ids=lambda file: file.stem)
def test_the_evidence_of_results_that_others_sent_gives_the_same_verdict_today(file):
    program = shim.BUILD / "tests/cublas/gpu/judge_products"
    need(program.exists(), f"{program} was not built")
    judged = [line.split("\t") for line in start([program, "report", file], {}).stdout.splitlines()]
    texts = {name: text for name, _, text in judged}
    sent = {check["check"]: check["text"] for check in json.loads(file.read_text())["checks"]}
    assert texts == {name: JUDGED_ANEW[file.stem].get(name, sent[name]) for name in texts}
    assert [name for name in sent if name in texts] == [*texts] and len(texts) > 15


def test_the_report_names_neither_machine_nor_user(tmp_path):
    home = tmp_path / "home/ada.lovelace"
    home.mkdir(parents=True)
    libraries = home / "cuda"
    libraries.symlink_to(STAND_IN)
    report = home / "report.json"
    variables = {"USER": "ada.lovelace", "LOGNAME": "ada.lovelace", "HOSTNAME": "secrethost.example", "HOME": str(home),
                 "TMPDIR": str(home), "STAND_IN_MEMORY": "2000000"}
    finished = start([COMMAND, "gpu-check", "--seconds", "30", "--libraries", libraries, "--python", home / "no-python", "-o", report],
                     variables)
    text = report.read_text()
    assert finished.returncode == 1
    for private in ["lovelace", "secrethost", str(tmp_path), str(shim.BUILD), *([platform.node()] if len(platform.node()) > 3 else [])]:
        assert private not in text
    assert getpass.getuser() == "root" or getpass.getuser() not in text


def test_a_report_that_cannot_be_written_is_one_line(tmp_path):
    run = gpu_check(tmp_path / "no/such/folder")
    assert run.status == 1
    assert run.output.splitlines()[-1].startswith("gpu-check: '") and "cannot be written" in run.output


@pytest.mark.parametrize("words", [["--seconds", "5"], ["--seconds", "soon"], ["--python", ""], ["report.json"]])
def test_a_wrong_argument_is_one_line(words):
    finished = start([COMMAND, "gpu-check", *words], {})
    assert finished.returncode == 2 and finished.stdout.count("\n") == 1, finished.stdout
