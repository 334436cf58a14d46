"""Calls of compiled programs say the line that made them, or the function, as far as the program's file knows it."""

import json
import subprocess

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
    # A Fortran compiler writes module files into the current folder.
    subprocess.run([compiler, *options, file, "-o", program, shim.blas_library("openblas")], check=True, cwd=folder)
    return program


def locations(folder, program, where="native"):
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
    assert locations(tmp_path, program) == [f"solver.cpp:{line} physics::solve<float>" for line in lines_of(CPP, "    sgemm_")]


def test_calls_of_fortran_have_their_lines(tmp_path):
    program = built(tmp_path, "heat.f90", FORTRAN, "gfortran", "-g")
    line = lines_of(FORTRAN, "call sgemm")[0]
    found = locations(tmp_path, program)
    assert len(found) == 1 and found[0].startswith(f"heat.f90:{line} ")
    assert "step" in found[0]


def test_without_debug_information_calls_have_their_function(tmp_path):
    program = built(tmp_path, "solver.cpp", CPP, "g++", "-O2")
    found = locations(tmp_path, program)
    assert len(found) == 2
    assert all(location.startswith("program!physics::solve+0x") for location in found)


def test_stripped_programs_have_offsets(tmp_path):
    program = built(tmp_path, "solver.cpp", CPP, "g++", "-O2", "-s")
    found = locations(tmp_path, program)
    assert len(found) == 2
    assert all(location.startswith("program+0x") for location in found)


def test_a_program_that_is_gone_has_offsets(tmp_path):
    program = built(tmp_path, "solver.cpp", CPP, "g++", "-g")
    recording = tmp_path / "run.fp32rec"
    shim.run(program, log=recording, env={"FP32_MATMUL_WHERE": "native"})
    program.unlink()
    rows = fp32shim("report", "--format", "json", recording).json["rows"]
    assert all(row["where"].startswith("program+0x") for row in rows) and len(rows) == 2


def test_places_are_named_only_where_they_were_asked_for(tmp_path):
    program = built(tmp_path, "solver.cpp", CPP, "g++", "-g")
    assert locations(tmp_path, program, where=None) == ["None"]


def folded(folder, program, *words):
    recording = folder / "run.fp32rec"
    shim.run(program, log=recording, cwd=folder)
    lines = fp32shim("report", "--format", "folded", "--sort", "calls", *words, recording).stdout.splitlines()
    sites = {group["call_site"] for group in fp32shim("report", "--by", "call_site", "--format", "json", recording).json["groups"]}
    recording.unlink()
    return sorted(lines), sites


def test_call_paths_of_a_program_with_debug_information_have_its_lines(tmp_path):
    program = built(tmp_path, "solver.cpp", CPP, "g++", "-g")
    lines, sites = folded(tmp_path, program)
    assert lines == [f"physics::solve<float> (solver.cpp:{line});sgemm_ [fp32] 1" for line in lines_of(CPP, "    sgemm_")]
    assert len(sites) == 2 and all(site.startswith("program!physics::solve+0x") for site in sites), sites


def test_call_paths_have_a_level_for_an_inlined_function(tmp_path):
    source = CPP.replace("[[gnu::noinline]]", "[[gnu::always_inline]] inline")
    lines, _ = folded(tmp_path, built(tmp_path, "solver.cpp", source, "g++", "-g", "-O2"))
    main = lines_of(source, "int main")[0]
    assert lines == [f"main (solver.cpp:{main});physics::solve<float> (solver.cpp:{line});sgemm_ [fp32] 1"
                     for line in lines_of(source, "    sgemm_")]


def test_call_paths_of_a_stripped_program_have_its_offsets(tmp_path):
    lines, sites = folded(tmp_path, built(tmp_path, "solver.cpp", CPP, "g++", "-s"))
    assert len(lines) == 2 and all(line.startswith("program+0x") for line in lines)
    assert {line.split(";")[0] for line in lines} == sites


def test_call_paths_without_debug_information_have_the_function(tmp_path):
    lines, sites = folded(tmp_path, built(tmp_path, "solver.cpp", CPP, "g++"))
    assert len(lines) == 2 and all("!" in line and "physics::solve" in line and "+0x" in line for line in lines), lines
    assert {line.split(";")[0] for line in lines} == sites
