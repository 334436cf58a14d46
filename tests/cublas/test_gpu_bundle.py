"""The bundle for machines with a GPU, tried on the stand-in: what it needs, that every section runs, that what fails
costs itself only, and that the open questions are answered right, whatever the stand-in is told to answer.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time

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
    return subprocess.run([str(word) for word in words], env=environment(env=variables), text=True, timeout=1200, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def run_script(output, *words, **variables):
    return start([BUNDLE / "run.sh", "--libraries", STAND_IN, "--python", "/usr/bin/python3", "--smoke",
                  "--output", output, *words], **variables)


def row_of(path, name):
    """Returns the fields of the first line with this name, in a file whose fields are separated by tabs."""
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    return next((fields for fields in lines if name in fields[:2]), None)


def compiled(source, output, *words):
    compiler = tool("cc", "gcc")
    finished = subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(output), *words], input=source,
                              text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert finished.returncode == 0, finished.stdout
    return output


def packed_binaries():
    return [path for path in sorted(BUNDLE.iterdir()) if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]


def semantics():
    """Returns [(row, answer, True if it is the default)] for every answer that a row of the stand-in can have."""
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
    assert {"libfp32shim.so", "products", "products_dlopen", "handles", "lt", "gpu-check", "qtlq_cublas",
            "qtlq_columns"} <= set(names)


def test_the_bundle_is_at_most_40_megabytes_and_has_no_stand_in():
    files = [path for path in BUNDLE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 40 * 1024 * 1024
    assert not [path for path in files if path.name.startswith(("libcuda", "libcublas"))]


def glibc_needed(binary):
    """Returns the newest version of the C library that a program needs, and all versions."""
    versions = start([tool("readelf", "binutils"), "--version-info", "--wide", binary]).stdout
    found = {tuple(int(part) for part in version.split("."))
             for version in re.findall(r"Name: GLIBC_([0-9.]+)", versions)}
    return max(found, default=(0,))


def test_no_program_needs_a_newer_c_library_than_the_bundle_promises():
    promised = tuple(int(part) for part in (BUNDLE / "GLIBC").read_text().strip().split("."))
    needed = {binary.name: glibc_needed(binary) for binary in packed_binaries()}
    print("promised:", promised, "needed:", needed)
    assert needed and max(needed.values()) <= promised


def test_a_program_that_needs_a_newer_c_library_is_not_packed(tmp_path):
    source = "#define _GNU_SOURCE\n#include <string.h>\nint f(char *p) { return strlen(p) + *(char *)memcpy(p, p + 1, 2); }"
    library = compiled(source, tmp_path / "newer.so")
    need(glibc_needed(library) > (2, 2), "this compiler's C library has one version only")
    pack = pathlib.Path(__file__).resolve().parent / "gpu/pack.cmake"
    finished = start(["cmake", f"-DBUNDLE={tmp_path}/bundle", f"-DPROGRAMS={library}", "-DVERSION=0", "-DGLIBC=2.2",
                      f"-DSTRIP={tool('strip', 'binutils')}", f"-DREADELF={tool('readelf', 'binutils')}", "-P", pack])
    assert finished.returncode != 0
    assert "newer.so needs GLIBC_2." in finished.stdout and "newer than the 2.2" in finished.stdout
    assert not (tmp_path / "bundle/VERSION").exists()


# ---- run.sh


def test_every_section_passes_on_the_stand_in_or_says_what_is_missing(tmp_path):
    finished = run_script(tmp_path, "--time-limit", "450")
    assert finished.returncode == 0, finished.stdout
    assert " 0 failed" in finished.stdout
    results = (tmp_path / "results.md").read_text()
    for heading in ["### The verdict", "## Experiments", "## Steps", "## What cuBLAS does: math modes and compute types",
                    "## What cuBLAS does: the other questions", "## The published TF32 case through cuBLAS",
                    "### The same product by different calls", "### Two threads on one handle in TF32 mode: HGEMM beside SSYRK"]:
        assert heading in results
    assert "no time left" not in results
    for precision in ["native", "highest", "high", "medium", "floor"]:
        for program in ["products", "products_dlopen", "handles", "lt"]:
            assert f"| clients | {program}, {precision} | passed |" in results
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert {"graph", "audits"} <= {check["check"] for check in verdict["checks"] if check["verdict"] == "shown"}
    with tarfile.open(f"{tmp_path}.tar.gz") as archive:
        assert {f"{tmp_path.name}/{name}" for name in ["results.md", "verdict.json", "results.tsv", "rows.tsv", "logs"]} <= {*archive.getnames()}
    assert (tmp_path / "rows.tsv").read_text().count("\n") > 20
    sections = [line.split("\t")[0] for line in (tmp_path / "steps.tsv").read_text().splitlines()]
    assert list(dict.fromkeys(sections)) == ["shim", "check", "questions", "clients", "qtlq", "frameworks"]
    steps = (tmp_path / "steps.tsv").read_text()
    assert 0 < steps.index("questions\tmodes") < steps.index("products, floor") < steps.index("questions\tothers")


def test_every_experiment_has_its_decision_rule(tmp_path):
    finished = run_script(tmp_path, "modes", "questions")
    assert finished.returncode == 0, finished.stdout
    rows = [line.split("\t") for line in (tmp_path / "results.tsv").read_text().splitlines()]
    assert {len(row) for row in rows} == {4} and len(rows) == 11
    assert not [row for row in rows if "not measured" in row[2] or not all(row)]
    seen = {row[0]: row[2:] for row in rows}
    assert seen["cublasLtCreate before any context"] == ["native fp32, high tf32, second product tf32",
                                                         "nothing: as assumed"]
    assert seen["How TF32 rounds"][0] == "even"
    assert seen["Sgemm and GemmEx 32F in DEFAULT mode"][0].startswith("40 of 40 with the same bits")


def test_only_the_named_sections_run(tmp_path):
    finished = run_script(tmp_path, "qtlq", "modes", "--quick")
    assert finished.returncode == 0, finished.stdout
    results = (tmp_path / "results.md").read_text()
    assert "| qtlq | high | passed |" in results and "| questions | modes | passed |" in results
    assert "| questions | others |" not in results and "| clients |" not in results


def test_a_failed_step_is_named_and_makes_the_status_1(tmp_path):
    """A cuBLAS that makes no use of TF32 cannot reproduce the published table."""
    finished = run_script(tmp_path, "qtlq", STAND_IN_FAST="ignored")
    assert finished.returncode == 1, finished.stdout
    assert re.search(r"qtlq +high +FAILED: status 1, see qtlq-high\.log", finished.stdout)
    log = (tmp_path / "logs/qtlq-high.log").read_text()
    assert "agrees with: published FP32" in log and "column: FP32\nexpected: column: TF32" in log


def audits(**variables):
    return start([BUNDLE / "gpu-questions", "--only", "audits", "--size", "64"], LD_LIBRARY_PATH=str(STAND_IN), **variables)


def test_audited_errors_are_compared_with_measured_ones():
    log = audits().stdout
    assert log.count("; audit as measured |") == 6 and log.count("| captured not audited, result right |") == 1
    assert re.search(r"1\.0001 times 1 \| audits 1; norm 1\.000\de-04 audited, 1\.000\de-04 measured;", log)
    assert audits(STAND_IN_COMPUTE_CAPABILITY="7.5").stdout.count("; audit skipped |") == 6


def test_an_audit_that_is_not_made_is_said():
    log = audits(STAND_IN_MEMORY=str(1 << 17)).stdout
    assert "audit WRONG |" in log


def test_the_limits_of_the_sections_are_within_the_scripts_own():
    for words, whole in [([], 540), (["--quick"], 240), (["--time-limit", "600"], 600), (["check", "modes", "--time-limit", "100"], 100)]:
        limits = dict(line.split("\t") for line in start([BUNDLE / "run.sh", "--limits", *words]).stdout.splitlines())
        assert int(limits.pop("all")) == whole
        assert all(int(limit) > 0 for limit in limits.values()) and len(limits) == (2 if "check" in words else 7)
        assert whole - len(limits) <= sum(map(int, limits.values())) <= whole


def test_each_section_has_half_as_much_time_again_as_it_took_on_an_h200():
    took = {"modes": 29, "floor": 6, "questions": 75, "qtlq": 3, "clients": 22}
    limits = dict(line.split("\t") for line in start([BUNDLE / "run.sh", "--limits"]).stdout.splitlines())
    assert {name: seconds for name, seconds in took.items() if int(limits[name]) < 1.5 * seconds} == {}


def test_experiments_come_after_all_frameworks_and_the_longest_one_comes_last(tmp_path):
    bundle = tmp_path / "bundle"
    shutil.copytree(BUNDLE, bundle)
    (bundle / "frameworks/products.py").write_text("HEADING = ()\n")
    (bundle / "frameworks/experiments.py").rename(bundle / "frameworks/real_experiments.py")
    (bundle / "frameworks/experiments.py").write_text(
        "import sys\nsys.dont_write_bytecode = True\nimport real_experiments\n"
        "sys.exit(real_experiments.main() if '--list' in sys.argv else 0)\n")
    finished = start([bundle / "run.sh", "--libraries", STAND_IN, "--python", "/usr/bin/python3", "--smoke",
                      "--output", tmp_path / "results", "frameworks"])
    assert finished.returncode == 0, finished.stdout
    lines = [line.split("\t") for line in (tmp_path / "results/steps.tsv").read_text().splitlines()]
    assert {line[2] for line in lines} == {"passed"}
    names = [line[1].removeprefix("experiment ") for line in lines if line[0] == "frameworks"]
    experiments = [name for name in names if "," not in name]
    assert names[-len(experiments):] == experiments and len(experiments) == len(names) - 17
    assert experiments[-1] == "torch_autotune"
    assert {name.split("_")[0] for name in experiments} == {"torch", "jax", "onnxruntime"}


def test_the_commands_of_the_page_are_right_and_take_ten_minutes_each():
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/gpu-results.md").read_text()
    block = page.split("## Twenty minutes on a GPU")[1].split("```sh\n")[1].split("```")[0]
    commands = [part.strip().splitlines()[1:] for part in re.split(r"^(?=# )", block, flags=re.MULTILINE)[1:]]
    assert [len(lines) for lines in commands] == [1, 2]
    for lines in commands:
        seconds = 0
        for line in lines:
            words = line.split()
            seconds += int(words[words.index("--time-limit" if "run.sh" in line else "--seconds") + 1])
            program = BUNDLE / words[0].split("/")[1]
            if program.name == "run.sh":
                assert start([program, *words[1:], "--limits"]).returncode == 0
            else:
                assert start([program, *words[1:]], STAND_IN_DEVICES="0", LD_LIBRARY_PATH=str(STAND_IN)).returncode == 77
        assert seconds <= 600 - 30


def test_no_step_may_take_longer_than_its_section(tmp_path):
    """A program hangs. Its step ends with its section, and the next section has its full time."""
    bundle = tmp_path / "bundle"
    shutil.copytree(BUNDLE, bundle)
    (bundle / "qtlq_cublas").write_text("#!/bin/sh\nsleep 1000\n")
    begun = time.monotonic()
    finished = start([bundle / "run.sh", "--libraries", STAND_IN, "--python", "/usr/bin/python3", "--smoke", "--time-limit", "40",
                      "--output", tmp_path / "results", "qtlq", "modes"])
    assert finished.returncode == 1 and time.monotonic() - begun < 900, finished.stdout
    assert "FAILED: stopped at the time limit" in row_of(tmp_path / "results/steps.tsv", "highest")[2]
    assert row_of(tmp_path / "results/steps.tsv", "modes")[2] == "passed"


@pytest.mark.parametrize(("rounding", "column"), [("away", "ties away from zero"), ("even", "ties to even"),
                                                  ("truncate", "truncated")])
def test_the_published_case_names_the_rounding_of_the_device(tmp_path, rounding, column):
    finished = run_script(tmp_path, "qtlq", STAND_IN_ASSUME=f"tf32_ties_from_9_0={rounding}")
    assert finished.returncode == 0, finished.stdout
    assert f"column: TF32, {column}\n" in (tmp_path / "logs/qtlq-high.txt").read_text()


def test_what_has_not_begun_by_the_time_limit_is_skipped(tmp_path):
    finished = run_script(tmp_path, "qtlq", "--time-limit", "0")
    assert finished.returncode == 0
    assert "| qtlq | high | skipped: no time left |" in (tmp_path / "results.md").read_text()


def test_a_run_that_is_stopped_leaves_what_it_learned(tmp_path):
    script = subprocess.Popen([BUNDLE / "run.sh", "--libraries", STAND_IN, "--python", "/usr/bin/python3", "--output",
                               tmp_path, "modes"], env=environment(), start_new_session=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    log = tmp_path / "logs/questions-modes.log"
    deadline = time.monotonic() + 600
    # Full-size products take minutes on a CPU: the first rows arrive while much is left to do.
    while time.monotonic() < deadline and (not log.exists() or log.read_text().count("\n| cublas") < 1):
        time.sleep(0.1)
    assert script.poll() is None
    os.killpg(script.pid, signal.SIGTERM)
    assert script.wait(600) == 143
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and str(tmp_path) in start(["ps", "-eo", "args="]).stdout:
        time.sleep(0.1)
    assert str(tmp_path) not in start(["ps", "-eo", "args="]).stdout
    assert "| cublasSgemm_v2, n = 512 |" in (tmp_path / "results.md").read_text()


def test_a_caller_who_says_something_about_precision_changes_nothing(tmp_path):
    said = {"NVIDIA_TF32_OVERRIDE": "0", "FP32_MATMUL_PRECISION": "medium", "JAX_PLATFORMS": "cpu",
            "CUBLAS_EMULATE_SINGLE_PRECISION": "1", "XLA_FLAGS": "--xla_none", "GPU_CUBLAS_MAJOR": "11"}
    finished = run_script(tmp_path, "qtlq", **said)
    assert finished.returncode == 0, finished.stdout
    unset = next(line for line in (tmp_path / "environment.txt").read_text().splitlines() if line.startswith("unset: "))
    assert set(unset.split()[1:]) >= {f"{name}={value}" for name, value in said.items()}


def test_a_shim_that_is_not_loaded_is_a_failure(tmp_path):
    bundle = tmp_path / "bundle"
    shutil.copytree(BUNDLE, bundle)
    (bundle / "libfp32shim.so").write_text("no library")
    finished = start([bundle / "run.sh", "--libraries", STAND_IN, "--python", "/usr/bin/python3", "--smoke", "--quick",
                      "--output", tmp_path / "results", "clients"])
    assert finished.returncode == 1, finished.stdout
    steps = tmp_path / "results/steps.tsv"
    assert row_of(steps, "is loaded")[2].startswith("FAILED")
    assert row_of(steps, "products, native")[2].startswith("FAILED")


def test_without_a_device_one_line_says_so(tmp_path):
    finished = run_script(tmp_path / "results", STAND_IN_DEVICES="0")
    assert finished.returncode == 77
    assert re.fullmatch(r"run\.sh: no CUDA device: .*\n", finished.stdout)
    assert not (tmp_path / "results").exists()


def test_without_a_driver_one_line_says_so(tmp_path):
    found = start(["sh", "-c", "ldconfig -p || /sbin/ldconfig -p"]).stdout
    need("libcuda.so.1" not in found, "this machine has a driver")
    for program in [[BUNDLE / "run.sh", "--output", tmp_path / "results"], [BUNDLE / "gpu-check"], [BUNDLE / "gpu-questions"]]:
        finished = start(program)
        assert finished.returncode == 77, finished.stdout
        assert finished.stdout.count("\n") == 1 and "no CUDA device" in finished.stdout


def test_cuda_is_found_in_the_toolkit_that_the_environment_names(tmp_path):
    (tmp_path / "driver").mkdir()
    (tmp_path / "toolkit/lib64").mkdir(parents=True)
    (tmp_path / "driver/libcuda.so.1").symlink_to(STAND_IN / "libcuda.so.1")
    for name in ["libcublas.so.13", "libcublasLt.so.13"]:
        (tmp_path / "toolkit/lib64" / name).symlink_to(STAND_IN / name)
    finished = start([BUNDLE / "run.sh", "qtlq", "--output", tmp_path / "results"],
                     LD_LIBRARY_PATH=str(tmp_path / "driver"), CUDA_PATH=str(tmp_path / "toolkit"))
    assert finished.returncode == 0, finished.stdout
    assert f"libcublas.so.13: {tmp_path}/toolkit/lib64" in finished.stdout


def test_where_the_driver_is_too_old_for_cublas_13_it_goes_on_with_12(tmp_path):
    """cublasCreate of version 13 fails, as with such a driver. The library that is called 12 here is the stand-in."""
    compiled("int cublasCreate_v2(void **handle) { return 1; }", tmp_path / "libcublas.so.13")
    for name, target in [("libcublasLt.so.13", "libcublasLt.so.13"), ("libcublasLt.so.12", "libcublasLt.so.13"),
                         ("libcublas.so.12", "libcublas.so.13"), ("libcuda.so.1", "libcuda.so.1")]:
        (tmp_path / name).symlink_to((STAND_IN / target).resolve())
    finished = start([BUNDLE / "run.sh", "--libraries", tmp_path, "--python", "/usr/bin/python3", "--smoke", "--quick",
                      "--output", tmp_path / "results", "modes", "qtlq"])
    assert finished.returncode == 0, finished.stdout
    assert "going on with cuBLAS 12, since 13 does not run: " in finished.stdout
    assert "cublasCreate of libcublas.so.13 says NOT_INITIALIZED" in finished.stdout
    assert row_of(tmp_path / "results/steps.tsv", "modes")[2] == "passed"
    assert row_of(tmp_path / "results/steps.tsv", "qtlq")[2] == "skipped: it links libcublas.so.13"


@pytest.mark.parametrize(("words", "named"), [(["--onyl", "qtlq"], "--onyl"), (["--output"], "--output"),
                                              (["clinets"], "clinets"), (["--time-limit", "soon"], "soon")])
def test_a_mistyped_option_is_named(words, named):
    finished = start([BUNDLE / "run.sh", *words])
    assert finished.returncode == 2
    assert named in finished.stdout


# ---- questions


# Sections from which answers to rows of the stand-in are concluded.
SEMANTIC_SECTIONS = ["machine", "functions", "ties", "override", "lt_algorithms", "alignment", "float64_rules", "half_sums"]


def ask(tmp_path, sections=SEMANTIC_SECTIONS, **variables):
    """Asks the questions, and returns {row: answer}."""
    rows = tmp_path / "rows.tsv"
    finished = start([BUNDLE / "gpu-questions", "--size", "64", "--rows", rows, "--only", ",".join(sections)],
                     LD_LIBRARY_PATH=str(STAND_IN), **variables)
    assert finished.returncode == 0, finished.stdout
    return dict(line.split("\t") for line in rows.read_text().splitlines())


def test_a_fault_costs_one_row_and_the_next_ones_are_asked():
    """The stand-in faults as a device does: an unaligned pointer in an array under a fast mode breaks the context."""
    finished = start([BUNDLE / "gpu-questions", "--size", "64", "--only", "alignment"], LD_LIBRARY_PATH=str(STAND_IN))
    assert finished.returncode == 0, finished.stdout
    rows = [line for line in finished.stdout.splitlines() if line.startswith("| cublasGemm")]
    assert len(rows) == 24
    faulted = [row for row in rows if "FAILED: cuCtxSynchronize: CUresult 716" in row]
    assert len(faulted) == 6 and all("Batched" in row for row in faulted)
    assert rows[-3:] == ["| cublasGemmBatchedEx, 32F_FAST_16F, operands at 16 bytes | fast_16f tf32 |", *faulted[-2:]]


def test_a_section_that_cannot_even_begin_is_one_failure_and_the_next_is_asked(tmp_path):
    shim = compiled("", tmp_path / "broken.so")
    shim.write_text("no library")
    preload = compiled("#include <stdlib.h>\n__attribute__((constructor)) void fail(void) { exit(3); }",
                       tmp_path / "exits.so")
    finished = start([BUNDLE / "gpu-questions", "--size", "64", "--only", "capability,gains", "--shim", preload],
                     LD_LIBRARY_PATH=str(STAND_IN))
    assert finished.returncode == 1
    assert "| native | first | first fp32 |" in finished.stdout and "| high | - | FAILED: status 3 |" in finished.stdout
    assert "| cublasSgemm_v2, n = 64 |" in finished.stdout


def test_every_row_of_the_stand_in_is_asked_and_its_own_answers_are_found_out(tmp_path):
    expected = {name: answer for name, answer, is_default in semantics() if is_default}
    answers = ask(tmp_path)
    assert set(answers) == set(expected)
    told = {row: answer for row, answer in answers.items() if answer != "?"}
    assert told == {row: expected[row] for row in told}
    assert len(told) > 20


@pytest.fixture(scope="module")
def sections_of(tmp_path_factory):
    """Returns {row: sections that tell its answer}, because all sections take ten times as long as one."""
    asked = {section: ask(tmp_path_factory.mktemp(section), ["machine", section]) for section in SEMANTIC_SECTIONS[1:]}
    return {row: ["machine", *(section for section, answers in asked.items() if answers[row] != "?")] for row, _, _ in semantics()}


@pytest.mark.parametrize(("row", "answer"), [row[:2] for row in semantics() if not row[2]])
def test_another_answer_of_the_stand_in_is_found_out(tmp_path, sections_of, row, answer):
    assumed = {"STAND_IN_ASSUME": f"{row}={answer}"}
    found = ask(tmp_path, sections_of[row], **assumed)[row]
    if found == "?":  # it may take several sections, but not half_sums, which tells its own rows only and takes the longest
        found = ask(tmp_path, [section for section in SEMANTIC_SECTIONS if section != "half_sums"], **assumed)[row]
    need(found != "?", "no result tells this")
    assert found == answer


def test_an_answer_of_an_earlier_run_stays_where_a_later_one_has_none(tmp_path):
    rows = tmp_path / "rows.tsv"
    rows.write_text("fast_16f\tanother\ntf32_override_off\tanother\n")
    for sections, override in [("machine", "another"), ("machine,override", "fp32")]:
        finished = start([BUNDLE / "gpu-questions", "--size", "64", "--rows", rows, "--only", sections],
                         LD_LIBRARY_PATH=str(STAND_IN))
        assert finished.returncode == 0, finished.stdout
        answers = dict(line.split("\t") for line in rows.read_text().splitlines())
        assert (answers["fast_16f"], answers["tf32_override_off"], answers["tf32_ties"]) == ("another", override, "?")


@pytest.mark.parametrize(("sections", "ties", "ties_from_9_0"), [("machine,ties", "away", "?"), ("ties", "?", "?")])
def test_a_device_of_unknown_compute_capability_is_not_taken_for_an_old_one(tmp_path, sections, ties, ties_from_9_0):
    rows = tmp_path / "rows.tsv"
    finished = start([BUNDLE / "gpu-questions", "--size", "64", "--rows", rows, "--only", sections],
                     LD_LIBRARY_PATH=str(STAND_IN), STAND_IN_COMPUTE_CAPABILITY="8.0")
    assert finished.returncode == 0, finished.stdout
    answers = dict(line.split("\t") for line in rows.read_text().splitlines())
    assert (answers["tf32_ties"], answers["tf32_ties_from_9_0"]) == (ties, ties_from_9_0)


def test_a_library_that_makes_no_use_of_lower_formats_is_found_out(tmp_path):
    answers = ask(tmp_path, ["machine", "functions"], STAND_IN_FAST="ignored")
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
    finished = products(tmp_path, "--expect", "tf32", "--must-be-seen", FP32_MATMUL_DISABLE="1")
    assert finished.returncode == 1
    assert "| FAIL: not seen |" in finished.stdout and "log.jsonl was not written" in finished.stdout


def test_an_operation_that_cannot_run_leaves_the_others(tmp_path):
    """An example is CuPy, if NVRTC finds no headers."""
    need(start(["/usr/bin/python3", "-c", "import numpy"]).returncode == 0, "python3-numpy is not installed")
    shutil.copytree(BUNDLE / "frameworks", tmp_path / "frameworks")
    (tmp_path / "frameworks/operations.py").write_text(
        "def load_cupy(own):\n    return '0', 'cpu', {'broken': broken, 'fine': lambda a, b: (a @ b)[:64]}\n"
        "def broken(a, b):\n    raise ValueError('NVRTC | no\\nheaders')\n")
    finished = start(["/usr/bin/python3", "-B", tmp_path / "frameworks/products.py", "cupy", "--size", "128"])
    assert finished.returncode == 0, finished.stdout
    assert "| broken | default | none | - | - | - | did not run: ValueError: NVRTC / no headers |" in finished.stdout
    assert "| fine | default | none | fp32 |" in finished.stdout


def rules():
    sys.path.insert(0, str(BUNDLE / "frameworks"))
    try:
        sys.dont_write_bytecode = True
        import experiment_rules
    finally:
        sys.path.pop(0)
    return experiment_rules


def test_experiments_on_frameworks_follow_their_rules():
    rule = rules()
    fp32, tf32 = {"format": "fp32", "chosen": "cuBLAS"}, {"format": "tf32", "chosen": "a kernel of its own"}
    for experiment, answers, follows in [
            ("torch_convolutions", {"native": {"LSTM": "fp32"}, "high": {"LSTM": "fp32"}}, "nothing"),
            ("torch_convolutions", {"native": {"LSTM": "fp32"}, "high": {"LSTM": "tf32"}}, "cuDNN's cublasLt calls"),
            ("torch_solves", {"native": {"solve": "1.0e-08"}, "high": {"solve": "9.0e-08"}}, "nothing"),
            ("torch_solves", {"native": {"solve": "1.0e-08"}, "high": {"solve": "2.0e-07"}}, "a solve is lowered: solve"),
            ("torch_autotune", {"native": tf32, "floor fp32": fp32, "pin": fp32}, "nothing"),
            ("torch_autotune", {"native": tf32, "floor fp32": tf32, "pin": fp32}, "inductor's autotuner bypasses a floor"),
            ("torch_override", {"native": fp32, "override": tf32, "override, floor fp32": {"format": "fp32"}}, "nothing"),
            ("torch_override", {"native": fp32, "override": {"f": "fp32"}, "override, floor fp32": {"f": "fp32"}}, "the variable lowered"),
            ("torch_override", {"native": fp32, "override": tf32, "override, floor fp32": {"f": "tf32"}}, "a floor does not work"),
            ("torch_late_override", {"native": {"before": "a", "after": "a"}, "high": {"before": "a", "after": "a"}}, "nothing"),
            ("torch_late_override", {"native": {"before": "a", "after": "b"}}, "the variable is read again later: native"),
            ("torch_graph", {"native": {"format": "tf32", "replayed": "the bits of eager"},
                             "high": {"format": "tf32", "replayed": "the bits of eager"}}, "nothing"),
            ("torch_graph", {"native": {"format": "tf32", "replayed": "the bits of eager"},
                             "high": {"format": "tf32", "replayed": "other bits"}}, "a replay differs"),
            ("torch_graph", {"high": {"format": "fp32", "replayed": "the bits of eager"}}, "a captured product is not forced"),
            ("torch_cublaslt", {"high": {"m": "tf32"}, "floor fp32": {"m": "fp32"}}, "nothing"),
            ("torch_kernels", {"profiled": {"relu": 2, "sgemm": 1}, "recorded": {"relu": 2, "graph replay": 3}}, "nothing"),
            ("torch_kernels", {"profiled": {"relu": 2}, "recorded": {"relu": 2}}, "no graph was replayed"),
            ("torch_kernels", {"profiled": {"relu": 2}, "recorded": {"graph replay": 3}}, "kernels are launched"),
            ("torch_kernels", {"profiled": {"relu": 2}, "recorded": {"relu": 1, "graph replay": 3}}, "kernels are launched"),
            ("torch_kernels", {"profiled": {"relu": 2}, "recorded": {"relu": 2, "unknown": 1, "graph replay": 3}},
             "kernels are launched"),
            ("torch_cublaslt", {"high": {"m": "tf32"}, "floor fp32": {"m": "tf32"}}, "torch's cublasLt bypasses a floor"),
            ("onnxruntime_matmul", {"high": {"m": "fp32"}, "floor fp32": {"m": "fp32"}}, "onnxruntime is not forced to TF32"),
            ("torch_pinv", {"native": {"pinv": "1.0e-07"}, "high": {"pinv": "2.0e-05"}}, "a solve is lowered: pinv"),
            ("jax_triton", {"native": {"m": "tf32"}, "floor fp32": {"m": "tf32"}, "pin": {"m": "tf32"}},
             "XLA's autotuner bypasses a pin"),
            ("jax_cache", {"high, writes": {"m": "tf32"}, "native, reads": {"m": "fp32"}}, "nothing"),
            ("jax_cache", {"high, writes": {"m": "tf32"}, "native, reads": {"m": "tf32"}}, "code compiled under high")]:
        seen, found = getattr(rule, experiment)(answers)
        assert found.startswith(follows), (experiment, found)
        assert all(variant in seen for variant in answers)


LINEAR = {"plain": 13.0, "asks for TF32": 15.0, "asks for TF32, again": 15.1, "high": 15.05}


@pytest.mark.parametrize(("times", "formats", "follows"), [
    ({}, {}, "nothing: the difference is below what this machine can show (0.10 us)"),
    ({"high": 17.0}, {}, "forcing TF32 costs 2.00 us a layer more than asking for it"),
    ({"high": 14.0}, {}, "nothing: forcing TF32 costs 1.00 us a layer less than asking for it"),
    ({"high": 17.0, "asks for TF32, again": 18.0}, {}, "nothing: the difference is below what this machine can show (3.00 us)"),
    ({"high": 17.0}, {"high": "fp32"}, "the formats are not FP32, TF32 and TF32"),
])
def test_the_cost_of_forcing_tf32_is_judged_by_what_two_equal_processes_differ_by(times, formats, follows):
    answers = {name: {"format": formats.get(name, "fp32" if name == "plain" else "tf32"), "turns": [time] * 40}
               for name, time in {**LINEAR, **times}.items()}
    seen, found = rules().torch_linear(answers)
    assert found.startswith(follows) and all(name in seen for name in answers)


def test_a_cost_whose_sign_changes_from_round_to_round_is_none():
    turns = {name: [time] * 40 for name, time in LINEAR.items()}
    turns["high"] = [15 + (2 if turn % 2 else -1) for turn in range(40)]
    answers = {name: {"format": "fp32" if name == "plain" else "tf32", "turns": each} for name, each in turns.items()}
    assert rules().torch_linear(answers)[1] == "nothing: the difference is below what this machine can show (2.00 us)"


FAKE_TURNS = """
import itertools, os, sys
from experiment_rules import NoDevice
def measure_torch_linear():
    who = "high" if "FP32_MATMUL_PRECISION" in os.environ else "asks" if "EXPERIMENT_ASKS_FOR_TF32" in os.environ else "plain"
    if "TURNS_NO_DEVICE" in os.environ:
        raise NoDevice("no CUDA device")
    counted = itertools.count(1)
    def turn():
        if who == "high" and next(counted) == int(os.environ.get("TURNS_CRASH", 0)):
            sys.exit("out of memory")
        return {"high": 17.0, "asks": 15.0, "plain": 13.0}[who]
    return {"format": "fp32" if who == "plain" else "tf32"}, turn
"""


@pytest.mark.parametrize(("variables", "status", "says"), [
    ({}, 0, "forcing TF32 costs 2.00 us a layer more than asking for it"),
    ({"TURNS_CRASH": "7"}, 1, "| high: did not run: out of memory | ask again: this was not measured |"),
    ({"TURNS_NO_DEVICE": "1"}, 77, "no CUDA device")])
def test_processes_measure_in_turns(tmp_path, variables, status, says):
    frameworks = shutil.copytree(BUNDLE / "frameworks", tmp_path / "frameworks")
    (frameworks / "torch_experiments.py").write_text(FAKE_TURNS)
    finished = start(["/usr/bin/python3", "-B", frameworks / "experiments.py", "torch_linear", "--shim", BUNDLE / "libfp32shim.so",
                      "--results", tmp_path / "results.tsv"], **variables)
    assert (finished.returncode, says in finished.stdout) == (status, True), finished.stdout
    assert (tmp_path / "results.tsv").exists() == (status != 77)


@pytest.mark.parametrize("experiment", ["jax_triton", "torch_linear"])
def test_an_experiment_without_its_framework_is_skipped(experiment):
    finished = start(["/usr/bin/python3", "-B", "-S", BUNDLE / "frameworks/experiments.py", experiment])
    need(re.search("No module named|no CUDA device", finished.stdout), "this Python has the framework, and there is a device")
    assert finished.returncode == 77 and finished.stdout.count("\n") == 1
