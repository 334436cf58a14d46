"""Each product of a Python program has the line that asked for it, as Python itself would say."""

import json
import os
import subprocess

import pytest

from shim import BUILD, CLIENTS, SCRIPTS, SYSTEM_PYTHON, has_module, is_vector_product, need, python, run, tool

PYTHON = {"FP32_MATMUL_WHERE": "python"}
NO_FRAMES = "(thread without Python frames)"


@pytest.fixture(autouse=True)
def numpy():
    need(has_module("numpy"), "the system's Python has no numpy")


def locations(result):
    return [decision["where"] for decision in result.decisions]


def recorded_locations(tmp_path, program):
    """Returns the locations of a program's calls, in the order of their return, from one recording for each process."""
    command = BUILD / "bin/fp32shim"
    ran = run(program, log=tmp_path / "r.%p.fp32rec", env={**PYTHON, "FP32_MATMUL_LOG_LEVEL": "calls"})
    log = run(command, "log", "--format", "jsonl", tmp_path, preload=False)
    return ran, [event["where"] for event in map(json.loads, log.stdout.splitlines())
                 if event["event"] == "decision" and not is_vector_product(event["function"])]


def test_every_product_has_the_line_that_traceback_prints():
    result = run("where_products.py", env=PYTHON)
    assert locations(result) == result.stdout.splitlines()
    assert len(set(locations(result))) == 12


def test_recordings_have_the_same_lines(tmp_path):
    ran, found = recorded_locations(tmp_path, "where_products.py")
    assert found == ran.stdout.splitlines()


def test_lines_are_read_only_where_they_are_asked_for():
    assert set(locations(run("where_products.py"))) == {None}
    assert set(locations(run("where_products.py", env={"FP32_MATMUL_WHERE": "none"}))) == {None}


def test_results_and_order_are_as_without_lines():
    plain = run("where_products.py", preload=False)
    assert run("where_products.py", env=PYTHON).stdout == plain.stdout


@pytest.mark.parametrize("seed", range(2))
def test_random_trees_of_calls_are_read_as_python_reads_them(seed):
    library = CLIENTS / "libpython_stack.so"
    trees = int(os.environ.get("FP32SHIM_RANDOM_TREES", "500"))
    found = run(SYSTEM_PYTHON, SCRIPTS / "python_stacks.py", library, seed, trees, preload=False, timeout=600)
    assert int(found.stdout) >= trees


def test_a_rule_can_name_the_line_of_a_product():
    rule = """schema = 1
default = "highest"
[cpu]
mode = "emulate"
[[rule]]
name = "forward"
precision = "high"
when = { where = "where_products.py:* *forward" }
[[rule]]
name = "a child"
precision = "high"
when = { where = "*:* in_a_child" }
"""
    result = run("where_products.py", policy=rule)
    names = {True: set(), False: set()}
    for decision in result.decisions:
        assert decision["applied"] == ("tf32" if decision["rule"] else "fp32")
        names[decision["rule"] is not None].add(decision["where"].split()[-1].split(".")[-1])
    assert names[True] == {"forward", "in_a_child"}
    assert {"twice", "<lambda>", "deep"} <= names[False]


def test_a_thread_that_runs_no_python_says_so():
    library = CLIENTS / "libthread_product.so"
    code = f"import ctypes; assert ctypes.CDLL({str(library)!r}).multiply_on_a_thread() == 0"
    result = python(code, env=PYTHON)
    assert locations(result) == [NO_FRAMES]


def test_packages_are_skipped_and_code_of_strings_is_not(tmp_path):
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "wrapper.py").write_text("def multiply(x):\n    return x @ x\n")
    code = "import numpy, wrapper\nwrapper.multiply(numpy.ones((4, 4), numpy.float32))"
    result = python(code, env={**PYTHON, "PYTHONPATH": str(package)})
    assert locations(result) == ["<string>:2 <module>"]


def test_code_that_a_package_made_of_a_string_is_skipped_if_a_file_called_it(tmp_path):
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "maker.py").write_text("names = {}\nexec('def multiply(x):\\n    return x @ x', names)\nmultiply = names['multiply']\n")
    code = "import numpy, maker\n\nmaker.multiply(numpy.ones((4, 4), numpy.float32))"
    (tmp_path / "program.py").write_text(code)
    environment = {**PYTHON, "PYTHONPATH": str(package)}
    result = run(SYSTEM_PYTHON, tmp_path / "program.py", env=environment)
    assert locations(result) == ["program.py:3 <module>"]
    assert locations(python(code, env=environment)) == ["<string>:2 multiply"]


# A program that embeds Python, and that itself has one of the functions by which Python's stack is read.
EMBEDS = """
void Py_Initialize(void);
int PyRun_SimpleString(const char*);
%s
int main(int argc, char** argv) { Py_Initialize(); return argc != 2 || PyRun_SimpleString(argv[1]); }
"""
CALLS = """
def outer():
    inner()
def inner():
    import _ctypes, numpy
    numpy.ones((4, 4), "f") @ numpy.ones((4, 4), "f")
outer()
"""


@pytest.mark.parametrize("function, differs", [
    ("", False), ("void* PyFrame_GetBack(void* frame) { return 0; }", True),
    ("int PyFrame_GetLineNumber(void* frame) { return 77; }", True)], ids=["as read", "fewer frames", "other lines"])
def test_no_lines_are_recorded_where_python_itself_names_others(tmp_path, function, differs):
    asked = run(SYSTEM_PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2], *sys.path[1:])", preload=False)
    version, *path = asked.stdout.split()
    built = subprocess.run([tool("cc", "gcc"), "-x", "c", "-", "-o", tmp_path / "program", "-rdynamic", f"-lpython{version}"],
                           input=EMBEDS % function, text=True, capture_output=True, check=False)
    need(built.returncode == 0, f"no program can be linked with libpython{version} here")
    result = run(tmp_path / "program", CALLS, env={**PYTHON, "PYTHONPATH": os.pathsep.join(path)})
    assert len(locations(result)) == 1
    if differs:
        assert locations(result) == [None] and result.stderr.count("\n") == 1
        assert "its own functions report a different line from the one read here" in result.stderr
    else:
        assert locations(result) == ["<string>:6 inner"] and result.stderr == ""


def test_a_python_that_is_not_known_gives_one_line_and_no_places():
    result = run("unknown_python", env=PYTHON)
    assert result.stdout == run("unknown_python", preload=False).stdout
    assert locations(result) == [None] * 3
    assert result.stderr.count("\n") == 1
    assert "Python 3.99.0: this version or build is not known; products are recorded without" in result.stderr
