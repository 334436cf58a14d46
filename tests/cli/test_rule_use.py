"""Rules of a policy after an edit of the program: those of bisect and sensitivity find their line again, and one that decided no
call says so."""

import os
import pathlib
import re
import subprocess

import pytest

import shim
from command import environment, fp32shim
from shim import LIBRARY, SYSTEM_PYTHON

SCRIPT = """
import os, sys
import numpy as np
a = np.ones((64, 64), np.float32)
def first(): return a @ a
def second(): return a @ a
if "fork" in sys.argv and os.fork() == 0:
    second()
    os._exit(0)
if "fork" in sys.argv: os.wait()
if "nothing" not in sys.argv: first()
"""
POLICY = """schema = 1
default = "high"
[[rule]]
name = "one"
precision = "highest"
when = { where = "* first" }
[[rule]]
name = "two"
precision = "highest"
when = { where = "* second" }
[[rule]]
name = "three"
precision = "highest"
when = { where = "* third" }
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def recorded(files, *words, status=0, options=()):
    result = fp32shim("run", "--policy", files / "policy.toml", "--log", files / "run.%p.fp32rec", *options, "--",
                      SYSTEM_PYTHON, files / "script.py", *words, cwd=files)
    assert result.returncode == status, result.stderr
    return result


def unused(text):
    return [line for line in text.splitlines() if "decided no call" in line]


def line_about(files, name, line, of=""):
    return f'rule "{name}" ({files}/policy.toml:{line}) decided no call{of}'


def test_run_report_and_verify_name_the_rules_that_decided_no_call(files):
    wanted = [line_about(files, "two", 7), line_about(files, "three", 11)]
    assert unused(recorded(files).stderr) == wanted
    recording = next(files.glob("*.fp32rec"))
    assert unused(fp32shim("report", recording).stdout) == wanted
    assert unused(fp32shim("verify", "--at-least", "fp32", recording).stdout) == wanted
    for words in (["report"], ["verify", "--at-least", "fp32"]):
        rules = fp32shim(*words, "--format", "json", recording).json["rules"]
        assert [(rule["name"], rule["line"], rule["recordings"], rule["without_use"]) for rule in rules] == [
            ("one", 3, 1, 0), ("two", 7, 1, 1), ("three", 11, 1, 1)]
    page = files / "page.html"
    fp32shim("report", "--format", "html", "-o", page, recording)
    assert "Rules of the policy decided no call" in page.read_text()


def test_a_rule_that_one_process_of_a_run_uses_is_in_use(files):
    assert unused(recorded(files, "fork").stderr) == [line_about(files, "three", 11, " in 2 recordings")]
    report = fp32shim("report", files)
    assert unused(report.stdout) == [line_about(files, "three", 11, " in 2 recordings")]


def test_of_two_runs_each_says_what_it_lacked(files):
    recorded(files, "fork")
    recorded(files)
    assert unused(fp32shim("report", files).stdout) == [line_about(files, "two", 7, " in 1 of 3 recordings"),
                                                       line_about(files, "three", 11, " in 3 recordings")]


def test_top_names_the_rules_that_have_decided_no_call_so_far(files):
    (files / "script.py").write_text(SCRIPT + "print(flush=True); input()\n")
    with subprocess.Popen([SYSTEM_PYTHON, files / "script.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=environment(LD_PRELOAD=LIBRARY, FP32_MATMUL_POLICY=files / "policy.toml",
                                          FP32_MATMUL_LOG=files / "run.fp32rec")) as process:
        process.stdout.readline()
        top = fp32shim("top", "--count", 1, process.pid)
        ps = fp32shim("ps", "--format", "json", process.pid)
        report = fp32shim("report", files)
        process.communicate(b"\n")
    wanted = [line_about(files, "two", 7, " so far"), line_about(files, "three", 11, " so far")]
    assert unused(top.stdout) == unused(report.stdout) == wanted
    assert [rule["without_use"] for rule in ps.json["rules"]] == [0, 1, 1]


def test_check_does_not_claim_that_rules_match_anything(files):
    assert fp32shim("check", files / "policy.toml").stdout.endswith(
        "valid, 3 rules. fp32shim run and report name rules that decide no call.\n")


def test_a_process_without_products_says_nothing_of_rules(files):
    assert unused(recorded(files, "nothing").stderr) == []


def test_an_unused_rule_can_be_the_exit_status(files):
    recorded(files, status=1, options=["--require-rules"])
    recording = next(files.glob("*.fp32rec"))
    words = ["verify", "--at-least", "fp16", "--assume-unused", "later,oneDNN,NNPACK", recording]
    assert fp32shim(*words).returncode == 0
    assert fp32shim(*words, "--require-rules").returncode == 1
    recorded(files, "nothing", status=1, options=["--require-rules"])
    (files / "policy.toml").write_text(POLICY.split("[[rule]]\nname = \"two\"")[0])
    recorded(files, options=["--require-rules"])


def test_a_run_that_could_not_tell_unused_rules_does_not_start(files):
    for options, env in ((["--log", "stderr"], {}), (["--log", "a.jsonl"], {}), ([], {"FP32_MATMUL_LOG": "a.jsonl"}),
                         (["--no-log"], {"TMPDIR": files / "missing"}), ([], {"FP32_MATMUL_DISABLE": "1"})):
        result = fp32shim("run", "--require-rules", "--policy", files / "policy.toml", *options, "--", "touch", "started",
                          cwd=files, env=env)
        assert result.returncode == 125 and "--require-rules" in result.stderr, result.stderr
    assert not (files / "started").exists()


def test_a_rule_that_a_reload_changes_begins_anew(files):
    reload = """
import ctypes, sys
path = sys.argv[1]
text = open(path).read()
library = ctypes.CDLL(None)
def reload(new):
    open(path, "w").write(new)
    assert library.fp32shim_reload_policy() == 0
first()
reload("# moved\\n" + text)
reload("# moved\\n" + text.replace('"* first"', '"* firts"'))
first()
"""
    (files / "script.py").write_text(SCRIPT.split("if ")[0] + reload)
    result = recorded(files, files / "policy.toml")
    assert unused(result.stderr) == [line_about(files, "one", 4), line_about(files, "two", 8),
                                     line_about(files, "three", 12)]


# ---- lines that move ----

DATA = """
import numpy as np
rng = np.random.default_rng(5)
q = np.linalg.qr(rng.standard_normal((64, 64)))[0]
l = (q * np.geomspace(1e-1, 1e4, 64) @ q.T).astype(np.float32, order="F")
a = q.T.astype(np.float32, order="F")
c = rng.standard_normal((64, 64)).astype(np.float32, order="F")
"""
# Prints the sum of each row of the result, so that the graded one is told apart.
END = "print(*np.abs(np.asarray(r)).sum(1))\n"

# Each program multiplies the graded `a` and `l`, which need FP32, in a line that ends in `bad`, and `c` and `c`
# elsewhere. END prints `r`.
PROGRAMS = {
    "a_function": "def f():\n    return a @ l  # bad\ndef g():\n    return c @ c\nr = f(); g()\n",
    "two_lines_of_a_function": "def f():\n    x = c @ c\n    return a @ l  # bad\nr = f()\n",
    "a_method": "class M:\n    def f(self):\n        x = c @ c\n        return a.dot(l)  # bad\nr = M().f()\n",
    "the_module_itself": "x = c @ c\nr = a @ l  # bad\n",
    "a_lambda": "f = lambda: a @ l  # bad\ng = lambda: c @ c\nr = f(); g()\n",
    "a_comprehension": "def f():\n    x = [c @ c for _ in range(2)]\n    return [a @ l for _ in range(2)]  # bad\nr = f()[0]\n",
    "a_generator": "def f():\n    yield c @ c\n    yield a @ l  # bad\nr = list(f())[1]\n",
    "a_line_in_several_pieces": "def f():\n    x = c @ c\n    return np.add(\n        a @ l,  # bad\n        1)\nr = f()\n",
    "odd_letters": "def f():\n    x = c @ c\n    return (a @ l, \"[*]?\\\\ \\\" é\")  # bad\nr = f()[0]\n",
    "a_long_line": "def f():\n    x = c @ c\n    return a @ l, \"" + 300 * "long " + "\"  # bad\nr = f()[0]\n",
    "scipy": "from scipy.linalg.blas import sgemm\ndef f():\n    x = sgemm(1, c, c)\n    return sgemm(1, a, l)  # bad\nr = f()\n",
    "scipy_solve": "import scipy.linalg\ndef f():\n    x = scipy.linalg.blas.ssyrk(1, c)\n    return np.dot(a, l)  # bad\nr = f()\n",
}


def edited(text):
    """Returns the text with lines at the head, a comment above the line, and another indentation."""
    text = "# new\n# head\n\n" + text.replace(bad_line(text), blanks(text) + "# moved\n" + bad_line(text))
    if "return a @ l" in text or "r = a" in text:
        text = text.replace(bad_line(text), blanks(text) + "if True:\n    " + bad_line(text))
    return text


def bad_line(text):
    return next(line for line in text.splitlines(keepends=True) if "# bad" in line)


def blanks(text):
    return bad_line(text)[:len(bad_line(text)) - len(bad_line(text).lstrip())]


def rows(tmp_path, program, *, python=SYSTEM_PYTHON, policy="found.toml"):
    """Runs a program under the policy. Returns the rows of its recording, and what the run said."""
    log = tmp_path / "run.fp32rec"
    log.unlink(missing_ok=True)
    result = fp32shim("run", "--cpu", "emulate", "--policy", tmp_path / policy, "--log", log, "--", python, program)
    assert result.returncode == 0, result.stderr
    return fp32shim("report", "--format", "json", log).json["rows"], result.stderr


def found_policy(tmp_path, program):
    (tmp_path / "found.toml").unlink(missing_ok=True)
    search = fp32shim("sensitivity", "--cpu", "emulate", "--repeat", 2, "--tolerance", "1e-2", "--policy-out", tmp_path / "found.toml",
                      "--state", tmp_path / "state.jsonl", "--", SYSTEM_PYTHON, program)
    assert search.returncode == 0, search.stdout + search.stderr
    return (tmp_path / "found.toml").read_text()


def exact_lines(found):
    return {int(row["where"].split(":")[1].split()[0]) for row in found if row["applied"] == "fp32"}


def written(tmp_path, text):
    path = tmp_path / "program.py"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_line_that_has_moved_is_found_again_or_its_loss_is_said(name, tmp_path):
    if "scipy" in name:
        shim.need(shim.has_module("scipy"), "the system's Python has no scipy")
    text = DATA + PROGRAMS[name] + END
    policy = found_policy(tmp_path, written(tmp_path, text))
    assert policy.count("[[rule]]") == 1 and ('text = "' in policy or ":* " in policy)
    moved = edited(text)
    found, said = rows(tmp_path, written(tmp_path, moved))
    assert exact_lines(found) == {moved.splitlines().index(bad_line(moved).rstrip("\n")) + 1}, policy + said
    assert "decided no call" not in said
    for lost in (text.replace("# bad", "# other"), re.sub(r"\bf\b", "renamed", text)):
        found, said = rows(tmp_path, written(tmp_path, lost))
        assert exact_lines(found) or "decided no call" in said, policy + said


def test_a_text_that_has_changed_is_said_when_the_call_is_made(tmp_path):
    text = DATA + PROGRAMS["two_lines_of_a_function"] + END
    policy = found_policy(tmp_path, written(tmp_path, text))
    rule = f"{tmp_path}/found.toml:{policy.splitlines().index('[[rule]]') + 1}"
    program = written(tmp_path, text.replace("return a @ l", "return (a @ l)"))
    _, said = rows(tmp_path, program)
    assert [line for line in said.splitlines() if "any more" in line] == [
        f'fp32shim: rule "sensitivity 1" ({rule}): no line of {program} has its text any more, so the '
        "rule does not apply there"]
    assert f'rule "sensitivity 1" ({rule}) decided no call' in said


def test_where_a_text_cannot_be_read_the_number_of_the_line_decides(tmp_path):
    text = DATA + PROGRAMS["two_lines_of_a_function"] + END
    found_policy(tmp_path, written(tmp_path, text))
    code = "import os; text = open('program.py').read(); os.remove('program.py'); exec(compile(text, 'program.py', 'exec'))"
    log = tmp_path / "gone.fp32rec"
    result = fp32shim("run", "--cpu", "emulate", "--policy", "found.toml", "--log", log, "--", SYSTEM_PYTHON, "-c", code,
                      cwd=tmp_path)
    assert "rules by text: program.py: " in result.stderr and "rules use its line numbers instead" in result.stderr
    assert "decided no call" not in result.stderr


def test_equal_lines_of_a_function_are_told_apart_by_sizes_or_number(tmp_path):
    text = DATA + "def f():\n    x, y = c, c\n    z = x @ y\n    x, y = a, l\n    z = x @ y  \n    return z\nr = f()\n" + END
    policy = found_policy(tmp_path, written(tmp_path, text))
    line = text.splitlines().index("    z = x @ y  ") + 1
    assert f'when = {{ where = "program.py:{line} f" }}' in policy
    moved = text.replace("    z = x @ y\n", "    # moved\n    z = x @ y\n", 1)
    _, said = rows(tmp_path, written(tmp_path, moved))
    assert "decided no call" in said


CPP = """
#include <cstdio>
extern "C" void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
                       const int*, const float*, const int*, const float*, float*, const int*);
static volatile int done;
ABOVE
static inline void multiply(int n, const float* a, float* c) {
    const float one = 1, zero = 0;
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
}
float graded_data[4096], ones[4096], result[4096];
extern "C" __attribute__((noinline)) void graded(int n) {
    INSIDE
    multiply(n, graded_data, result);
    done = 1;
}
extern "C" __attribute__((noinline)) void plain(int n) {
    multiply(n, ones, result);
    done = 2;
}
int main(int argc, char**) {
    for (int i = 0; i < 4096; ++i) graded_data[i] = 1 + 1e-5f * i, ones[i] = 1;
    graded(64 * argc);
    std::printf("%.9g\\n", result[0]);
    plain(64 * argc);
}
"""
FORTRAN = """
subroutine graded(n, a, c)
  integer n
  real a(n, n), c(n, n)
  ABOVE
  INSIDE
  call sgemm('N', 'N', n, n, n, 1.0, a, n, a, n, 0.0, c, n)
  c(1, 1) = c(1, 1) + 1
end subroutine
subroutine plain(n, a, c)
  integer n
  real a(n, n), c(n, n)
  call sgemm('N', 'N', n, n, n, 1.0, a, n, a, n, 0.0, c, n)
  c(1, 1) = c(1, 1) + 1
end subroutine
program p
  real a(64, 64), ones(64, 64), c(64, 64)
  a = 1.00001
  ones = 1
  call graded(64, a, c)
  print *, c(1, 1)
  call plain(64, ones, c)
end program
"""


@pytest.mark.parametrize("language", ["c++", "fortran"])
def test_a_compiled_function_stays_exact_after_an_edit(language, tmp_path):
    compiler, source, edit = {"c++": ("g++", CPP, "done = 3; done = 4;"),
                              "fortran": ("gfortran", FORTRAN, "c(2, 2) = 1; c(3, 2) = 2")}[language]
    compiler, library, log = shim.tool(compiler), shim.blas_library("openblas"), tmp_path / "run.fp32rec"
    policy = tmp_path / "found.toml"
    blas = {"LD_LIBRARY_PATH": shim.blas_directory("openblas")}

    def compile_with(above="", inside=""):
        file = tmp_path / ("p.cpp" if language == "c++" else "p.f90")
        file.write_text(source.replace("ABOVE", above).replace("INSIDE", inside))
        subprocess.run([compiler, "-O1", "-fno-inline-functions-called-once", "-rdynamic", file, "-o", tmp_path / "p", library], check=True)

    def rows_of(policy):
        log.unlink(missing_ok=True)
        result = fp32shim("run", "--cpu", "emulate", "--policy", policy, "--log", log, "--", tmp_path / "p", env=blas)
        assert result.returncode == 0, result.stderr
        return {row["rule"]: row["applied"] for row in fp32shim("report", "--format", "json", log).json["rows"]}, result.stderr

    compile_with()
    search = fp32shim("sensitivity", "--cpu", "emulate", "--tolerance", "1e-6", "--policy-out", policy, "--", tmp_path / "p",
                      env=blas, cwd=tmp_path)
    assert search.returncode == 0, search.stdout + search.stderr
    exported = "p!graded" if language == "c++" else "p!graded_"
    assert f'when = {{ call_site = "{exported}" }}' in policy.read_text()
    for edits in ({}, {"above": "// moved" if language == "c++" else "! moved"}, {"inside": edit}):
        compile_with(**edits)
        found, said = rows_of(policy)
        assert found == {"sensitivity 1": "fp32", None: "tf32"} and "decided no call" not in said
    policy.write_text(policy.read_text().replace(exported, f"{exported}+0x1"))
    assert 'rule "sensitivity 1" (' in rows_of(policy)[1]


def test_torch_keeps_its_line(tmp_path):
    python = pathlib.Path(os.environ.get("FP32SHIM_WHEELS", shim.BUILD / "wheels"), "bin/python3")
    has_torch = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    shim.need(python.exists() and subprocess.run([python, "-c", has_torch], check=False).returncode == 0, "the wheels have no torch")
    text = DATA + PROGRAMS["two_lines_of_a_function"] + END
    found_policy(tmp_path, written(tmp_path, text))  # of a search with numpy, since each run of it would import torch
    text = edited(text.replace(DATA, DATA + "import torch\na, l, c = map(torch.tensor, (a, l, c))\n"))
    found, said = rows(tmp_path, written(tmp_path, text), python=python)
    assert exact_lines(found) == {text.splitlines().index(bad_line(text).rstrip("\n")) + 1} and "decided no call" not in said
