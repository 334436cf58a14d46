"""Calls of compiled programs say the line that made them, or the function, as far as the program's file knows it."""

import json
import pathlib
import subprocess
import tempfile

import pytest

import shim
from command import fp32shim

CPP = """#include <cstdio>
extern "C" void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
                       const float*, const int*, const float*, float*, const int*);
namespace physics {
template <class T> [[gnu::noinline]] void solve(T* c, int n) {
    const T a[4] = {1, 2, 3, 4}, one = 1, zero = 0;
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);  // first
    c[1] += 1;
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);  // second
    c[2] += 1;
}
}
int main() { float c[4]; physics::solve(c, 2); std::printf("%g\\n", c[0]); }
"""
FORTRAN = """module heat
contains
  subroutine step(c)
    real(4), intent(out) :: c(2, 2)
    real(4) :: a(2, 2)
    a = 1.0
    call sgemm('N', 'N', 2, 2, 2, 1.0, a, 2, a, 2, 0.0, c, 2)
    c(1, 1) = c(1, 1) + 1.0
  end subroutine
end module
program main
  use heat
  real(4) :: c(2, 2)
  call step(c)
  print *, c(1, 1)
end program
"""


def built(folder, name, source, compiler, *options):
    file = folder / name
    file.write_text(source)
    program = folder / "program"
    shim.tool(compiler)
    subprocess.run([compiler, *options, file, "-o", program, shim.blas_library("openblas")], check=True)
    return program


def places(folder, program, where="native"):
    recording = folder / "run.fp32rec"
    shim.run(program, log=recording, env={"FP32_MATMUL_WHERE": where} if where else {}, cwd=folder)
    rows = fp32shim("report", "--format", "json", recording).json["rows"]
    logged = [json.loads(line) for line in fp32shim("log", "--rows", "--format", "jsonl", recording).stdout.splitlines()]
    assert sorted(str(row["where"]) for row in rows) == sorted({str(line["where"]) for line in logged if line["event"] == "row"})
    recording.unlink()
    return sorted(str(row["where"]) for row in rows)


def lines_of(source, text):
    return [number for number, line in enumerate(source.splitlines(), 1) if text in line]


@pytest.mark.parametrize("options", [["-g"], ["-g", "-O2", "-no-pie"], ["-g", "-O3", "-static-libstdc++"]], ids=" ".join)
def test_calls_of_a_program_with_debug_information_have_their_lines(tmp_path, options):
    program = built(tmp_path, "solver.cpp", CPP, "g++", *options)
    assert places(tmp_path, program) == [f"solver.cpp:{line} physics::solve<float>" for line in lines_of(CPP, "    sgemm_")]


def test_calls_of_fortran_have_their_lines(tmp_path):
    program = built(tmp_path, "heat.f90", FORTRAN, "gfortran", "-g")
    line = lines_of(FORTRAN, "call sgemm")[0]
    found = places(tmp_path, program)
    assert len(found) == 1 and found[0].startswith(f"heat.f90:{line} ")
    assert "step" in found[0]


def test_without_debug_information_calls_have_their_function(tmp_path):
    program = built(tmp_path, "solver.cpp", CPP, "g++", "-O2")
    found = places(tmp_path, program)
    assert len(found) == 2
    assert all(place.startswith("program!physics::solve+0x") for place in found)


def test_stripped_programs_have_offsets(tmp_path):
    program = built(tmp_path, "solver.cpp", CPP, "g++", "-O2", "-s")
    found = places(tmp_path, program)
    assert len(found) == 2
    assert all(place.startswith("program+0x") for place in found)


def test_a_program_that_is_gone_has_offsets(tmp_path):
    program = built(tmp_path, "solver.cpp", CPP, "g++", "-g")
    recording = tmp_path / "run.fp32rec"
    shim.run(program, log=recording, env={"FP32_MATMUL_WHERE": "native"})
    program.unlink()
    rows = fp32shim("report", "--format", "json", recording).json["rows"]
    assert all(row["where"].startswith("program+0x") for row in rows) and len(rows) == 2


def test_places_are_named_only_where_they_were_asked_for(tmp_path):
    program = built(tmp_path, "solver.cpp", CPP, "g++", "-g")
    assert places(tmp_path, program, where=None) == ["None"]


def shown(recording, *options):
    """The distinct places of the calls that pass a filter, by `report` and by `log`, which agree."""
    rows = fp32shim("report", "--format", "json", *options, recording).json["rows"]
    log = fp32shim("log", "--rows", "--format", "jsonl", *options, recording).stdout.splitlines()
    logged = [json.loads(line) for line in log]
    assert sum(row["calls"] for row in rows) == sum(line["calls"] for line in logged if line["event"] == "row")
    return {str(row["where"]) for row in rows}


PARTS = """extern "C" void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
                       const float*, const int*, const float*, float*, const int*);
static float c[4];
static void multiply(int n) asm("multiply.part.0");
[[gnu::noinline]] static void multiply(int n) {
    const float a[4] = {1, 2, 3, 4}, one = 1, zero = 0;
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
    c[1] += 1;
}
int main(int argc, char**) { multiply(argc + 1); multiply(argc); }
"""


def test_a_filter_names_compiled_functions_whatever_was_asked_to_be_noted(tmp_path):
    program = built(tmp_path, "solver.cpp", CPP, "g++", "-g")
    first, second = [f"solver.cpp:{line} physics::solve<float>" for line in lines_of(CPP, "    sgemm_")]
    recording = tmp_path / "run.fp32rec"
    shim.run(program, log=recording, env={"FP32_MATMUL_WHERE": "native"})
    for pattern in ("*!physics::solve", "program!*", "program!physics::solve+0x*", "*"):
        assert shown(recording, "--call-site", pattern) == {first, second}
    for pattern in ("", "physics::solve", "program", "program+*", "*!*<float>*"):
        assert shown(recording, "--call-site", pattern) == set()
    assert shown(recording, "--call-site", "*!physics::*", "--stack", "?*") == set()
    recording.unlink()
    shim.run(program, log=recording)
    assert shown(recording, "--call-site", "*!physics::solve") == {"None"}
    assert shown(recording, "--call-site", "*!physics") == set()
    program.unlink()
    assert shown(recording, "--call-site", "*!physics::solve") == set()
    assert shown(recording, "--call-site", "program") == {"None"}


@pytest.mark.parametrize("source, options", [(CPP, ["-O2"]), (CPP, ["-O2", "-s"]), (CPP, ["-no-pie"]), (PARTS, ["-O1"])],
                         ids=["named", "stripped", "no-pie", "part"])
def test_rules_and_reports_agree_on_the_words_of_a_place(tmp_path, source, options):
    program = built(tmp_path, "solver.cpp", source, "g++", *options)
    found = places(tmp_path, program)
    for place in found:
        policy = f'schema = 1\ndefault = "highest"\n[cpu]\nmode = "emulate"\n[[rule]]\nprecision = "high"\nwhen = {{ call_site = "{place}" }}\n'
        shim.run(program, log=tmp_path / "run.fp32rec", policy=policy, env={"FP32_MATMUL_WHERE": "native"})
        rows = fp32shim("report", "--format", "json", tmp_path / "run.fp32rec").json["rows"]
        assert {(row["where"], row["applied"]) for row in rows} == {
            (other, "tf32" if other == place else "fp32") for other in found}
        assert shown(tmp_path / "run.fp32rec", "--call-site", place) == {place}
        explained = fp32shim("explain", "--function", "sgemm_", "--call-site", place, "--policy",
                             write(tmp_path / "policy.toml", policy), "--format", "json").json
        assert (explained["applied"], explained["call"]["call_site"]) == ("tf32", place)
        (tmp_path / "run.fp32rec").unlink()


def write(path, text):
    path.write_text(text)
    return path


def test_a_part_of_a_function_has_its_name():
    def verdict(pattern, place):
        policy = f'schema = 1\n[[rule]]\nprecision = "high"\nwhen = {{ call_site = "{pattern}" }}\n'
        with tempfile.TemporaryDirectory() as folder:
            return fp32shim("explain", "--function", "sgemm_", "--policy", write(pathlib.Path(folder, "p.toml"), policy),
                            "--call-site", place, "--format", "json").json["rules"][0]["applies"]

    for pattern in ("lib.so.3!solve", "lib.so.3!solve.part.0+0x1c", "*!solve*"):
        assert verdict(pattern, "lib.so.3!solve.part.0+0x1c")
    for pattern in ("lib.so.3!solve.part.0", "lib.so.3!solve+0x1c", "lib.so.3", "lib"):
        assert not verdict(pattern, "lib.so.3!solve.part.0+0x1c")
    assert verdict("lib.so.3", "lib.so.3+0x31c4") and not verdict("lib.so", "lib.so.3+0x31c4")


STACKS = """
import threading
import numpy

def product(size):
    return numpy.ones((size, size), numpy.float32) @ numpy.ones((size, size), numpy.float32)

def train():
    product(2)
    check(3)

def check(size):
    product(size)

train()
check(4)
thread = threading.Thread(target=check, args=[5])
thread.start()
thread.join()
"""


def test_a_filter_names_any_line_of_python_on_the_way(tmp_path):
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    recording = tmp_path / "run.fp32rec"

    def sizes(*options):
        rows = fp32shim("report", "--format", "json", *options, recording).json["rows"]
        events = fp32shim("log", "--format", "jsonl", *options, recording).stdout.splitlines()
        logged = {event["m"] for event in map(json.loads, events) if event["event"] == "decision"}
        assert logged == {row["m"] for row in rows}
        return logged

    shim.python(STACKS, log=recording, env={"FP32_MATMUL_WHERE": "python", "FP32_MATMUL_LOG_LEVEL": "calls"})
    assert sizes("--stack", "* train") == {2, 3}
    assert sizes("--stack", "* check") == {3, 4, 5}
    assert sizes("--stack", "* check", "--stack", "<string>:9 *") == {2, 3, 4, 5}
    assert sizes("--stack", "threading.py:*") == {5}
    assert sizes("--stack", "* check", "--m", ">=4") == {4, 5}
    assert sizes("--stack", "* product", "--call-site", "_multiarray_umath*") == {2, 3, 4, 5}
    assert sizes("--stack", "train") == sizes("--stack", "") == sizes("--stack", "_multiarray_umath*") == set()
    recording.unlink()
    shim.python(STACKS, log=recording, env={"FP32_MATMUL_LOG_LEVEL": "calls"})
    assert sizes("--stack", "* train") == set()
    assert sizes("--stack", "") == {2, 3, 4, 5}


def test_a_bad_pattern_is_named():
    for option in ("--call-site", "--stack"):
        for command in ("report", "log"):
            result = fp32shim(command, option, "lib[a", "x.fp32rec")
            assert result.returncode == 2 and f'{option}: found "lib[a", where a [ has no ]' in result.stderr


def test_explain_takes_the_lines_of_a_call(tmp_path):
    policy = write(tmp_path / "p.toml", '''schema = 1
[[rule]]
name = "in training"
precision = "high"
when = { stack = "* Trainer.*", call_site = "*!solve" }
''')
    words = ["explain", "--function", "sgemm_", "--policy", policy, "--cpu", "emulate"]
    lines = ["--stack", "main.py:9 <module>", "--stack", "train.py:41 Trainer.step"]
    applies = fp32shim(*words, *lines, "--call-site", "a.so!solve+0x4", "--format", "json").json
    assert applies["rule"] == "in training" and applies["applied"] == "tf32"
    assert applies["call"]["stack"] == ["main.py:9 <module>", "train.py:41 Trainer.step"]
    text = fp32shim(*words, *lines[:2], "--call-site", "a.so+0x4").stdout
    assert 'call_site: asks for "*!solve", found "a.so+0x4"' in text
    assert 'stack: asks for "* Trainer.*", found "main.py:9 <module>"' in text
    nothing = fp32shim(*words, "--format", "json").json
    assert nothing["call"]["stack"] == [] and nothing["call"]["call_site"] is None
    assert [condition["found"] for condition in nothing["rules"][0]["when"]] == ["none", "none"]
