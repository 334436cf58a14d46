"""The environment of a process is in its recording: processor, libraries with version and threads, Python; `diff` compares it."""

import json
import os
import re
import subprocess
import sys

import pytest

import processor
from shim import BUILD, SYSTEM_PYTHON, blas_library, has_module, need, run, system_library

COMMAND = BUILD / "bin/fp32shim"
PRODUCTS = """
import os, numpy as np
a = np.full((64, 64), os.environ.get("VALUE", "1"), dtype="f")
a @ a
if hasattr(os, "fork") and os.environ.get("FORKS"):
    if os.fork() == 0:
        np.ones((32, 48), dtype="f") @ np.ones((48, 32), dtype="f")
        os._exit(0)
    os.wait()
"""


@pytest.fixture
def record(tmp_path):
    need(COMMAND.exists(), f"{COMMAND} was not built")
    need(has_module("numpy"), "no numpy")

    def record_as(name, blas="openblas", **variables):
        path = tmp_path / f"{name}.fp32rec"
        folder = None
        if blas == "libblis":  # as an alternative: a link of another name
            folder = tmp_path / "libblis"
            folder.mkdir(exist_ok=True)
            link = folder / "libblas.so.3"
            link.symlink_to(system_library("libblis.so.4", "libblis4-pthread"))
        run(SYSTEM_PYTHON, "-c", PRODUCTS, log=path, blas=None if folder else blas, libraries=[folder] if folder else [],
            env={"FP32_MATMUL_AUDIT": "fingerprint", **variables})
        return path
    return record_as


def command(*words):
    return subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, check=False).stdout


def environments(*recordings):
    return [process["environment"] for process in json.loads(command("report", "--format", "json", *recordings))["processes"]]


@pytest.mark.parametrize("blas, name, file", [("openblas", "OpenBLAS", None), ("libblis", "BLIS", "libblis.so.4"),
                                              ("blis", None, None), ("reference", None, None)])
def test_a_recording_says_which_library_multiplied_by_its_real_file(record, blas, name, file):
    found, = environments(record("a", blas))
    library, = [one for one in found["libraries"] if one["name"] == "libblas.so.3"]
    assert library["file"] == os.path.realpath(system_library(file, "libblis4-pthread") if file else blas_library(blas))
    if name is None:  # Debian's libblas.so.3 of BLIS exports nothing that could be asked
        assert library["version"] is library["kernel"] is library["threads"] is None
    else:
        assert library["version"].split()[0] == name and library["version"].split()[1][0].isdigit()
        assert library["kernel"] and library["threads"] == "1"


def test_processor_and_python_are_those_that_the_system_names(record):
    found, = environments(record("a"))
    assert int(found["cpus"]) == len(os.sched_getaffinity(0))
    version = subprocess.run([SYSTEM_PYTHON, "-c", "import platform; print(platform.python_version())"], capture_output=True, text=True,
                             check=True).stdout.strip()
    assert found["python"] == version
    assert found["instructions"]
    with open("/proc/cpuinfo", encoding="utf-8") as text:
        names = {line.split(":", 1)[1].strip() for line in text if line.startswith("model name")}
    if names:
        assert {found["processor"]} == names


IN_HEADER, AVX2, AVX512BW, AMX_ASKED, AMX_PERMITTED = 208, 1 << 15, 1 << 15 | 1, 1 << 12, 1 << 13  # record/processor.hpp


def write_processor(recording, word):
    with open(recording, "r+b") as file:
        file.seek(IN_HEADER)
        file.write(word.to_bytes(2, sys.byteorder))


def test_features_are_those_that_the_system_names_also_where_nothing_multiplied(record, tmp_path):
    names = {"avx512bw", "avx512_bf16", "avx512_fp16", "amx_bf16", "asimdhp", "asimdfhm", "bf16", "i8mm", "svebf16", "sme"}
    flags = set(processor.flags_of_machine())
    idle = tmp_path / "idle.fp32rec"
    subprocess.run([COMMAND, "run", "--quiet", "--log", idle, "--", SYSTEM_PYTHON, "-c", ""], check=True)
    for found in environments(record("a"), idle):
        assert set(found["features"].split()) & names == flags & names
        assert (found["amx"] is None) == ("amx_bf16" not in flags)


def test_report_and_diff_show_features_and_the_permission_for_amx(record):
    a, b = record("a"), record("b")
    write_processor(a, AVX2)
    write_processor(b, AVX512BW | AMX_ASKED)
    assert [(one["features"], one["amx"]) for one in environments(a, b)] == [("none", None), ("avx512bw", "not permitted")]
    assert command("report", a).split("\nEnvironment\n")[1].splitlines()[0].endswith(", no instructions for BF16 or FP16")
    assert command("report", b).split("\nEnvironment\n")[1].splitlines()[0].endswith(", with avx512bw, AMX not permitted at its end")
    assert command("diff", a, b).splitlines()[1] == "Environment: no instructions for BF16 or FP16 -> with avx512bw"
    write_processor(a, AVX512BW | AMX_ASKED | AMX_PERMITTED)
    assert command("diff", a, b).splitlines()[1] == "Environment: AMX permitted at its end -> AMX not permitted at its end"
    write_processor(a, 0)  # as older versions record
    assert environments(a)[0]["features"] is None
    assert command("diff", a, b).splitlines()[1] == "Environment: no difference is recorded"


def test_diff_says_in_its_second_line_that_openblas_stands_against_blis(record):
    for blas, shown in (("libblis", "BLIS "), ("blis", os.path.realpath(blas_library("blis")))):
        text = command("diff", record(f"a-{blas}"), record(f"b-{blas}", blas, VALUE="2"))
        line = text.splitlines()[1]
        assert line.startswith("Environment: libblas.so.3: OpenBLAS ") and f" -> {shown}" in line, line
        assert ";" not in line  # the machine is the same
        assert re.search(rf"A: fp32 by libblas.so.3 \(OpenBLAS .*\); B: fp32 by libblas.so.3 \({shown}", text), text


def test_diff_says_that_a_run_without_products_has_no_recorded_environment(record, tmp_path):
    idle = tmp_path / "idle.fp32rec"
    subprocess.run([COMMAND, "run", "--log", idle, "--", "sh", "-c", "true"], check=True)
    assert command("diff", record("a"), idle).splitlines()[1] == "Environment: not recorded in B"


def test_diff_says_that_only_threads_differ_or_that_nothing_does(record):
    a, same, b = record("a"), record("same"), record("b", OPENBLAS_NUM_THREADS="2")
    assert command("diff", a, same).splitlines()[1] == "Environment: no difference is recorded"
    need(len(os.sched_getaffinity(0)) > 1, "OpenBLAS takes one thread on one processor")
    line = command("diff", a, b).splitlines()[1]
    assert "1 thread -> " in line and "2 threads" in line, line


def test_a_forked_child_notes_its_environment_in_its_own_recording(record, tmp_path):
    record("a", FORKS="1")
    both = environments(*tmp_path.glob("a*.fp32rec"))
    assert len(both) == 2 and both[0] == both[1] and both[0]["libraries"]


def test_the_report_of_a_recording_shows_the_environment_and_that_of_an_old_one_has_none(record):
    text = command("report", record("a")).split("\nEnvironment\n")[1]
    assert " CPU" in text.splitlines()[0] and "Python 3" in text.splitlines()[0]
    assert text.splitlines()[1].startswith("libblas.so.3: OpenBLAS ")
    golden = next(BUILD.parent.glob("tests/unit/record/golden/recording_version1_results.fp32rec"))
    assert environments(golden) == [None] and "\nEnvironment" not in command("report", golden)
    assert command("diff", golden, golden).splitlines()[1] == "Environment: not recorded in A and B"
