"""The Python module fp32shim (docs/python.md), and its notebooks where IPython is missing."""

import os
import re
import subprocess

import pytest

import shim
from command import COMMAND


@pytest.fixture
def python(tmp_path):
    """Runs a program under `fp32shim run` with these options, or without it."""
    shim.need(shim.has_module("numpy"), "python3-numpy is not installed")
    shim.need(COMMAND.exists(), f"{COMMAND} was not built")

    def run(text, *options, loaded=True, **variables):
        (tmp_path / "example.py").write_text(text)
        environment = shim.environment(blas="openblas", env={
            "PYTHONPATH": str(shim.ROOT / "python"), "PATH": f"{COMMAND.parent}:{os.environ['PATH']}",
            "FP32SHIM_LIBRARY": str(shim.LIBRARY), **variables})
        start = [str(COMMAND), "run", "-q", *(options or ["--log", "run.fp32rec", "--where", "python"]), "--"] if loaded else []
        done = subprocess.run([*start, shim.SYSTEM_PYTHON, "example.py"], env=environment, cwd=tmp_path, text=True,
                              capture_output=True, check=False, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


def test_the_example_of_the_page_runs_and_shows_its_product(python):
    example = re.search(r"```python\n(.*?)```", (shim.ROOT / "docs/python.md").read_text(), re.DOTALL)[1]
    lines = python(example).splitlines()
    assert re.fullmatch(r"1 product recorded, .* on the host; ran: 1 at fp32", lines[0])
    assert re.search(r"64x64x64  example.py:\d+ <module> +native \(native\)  fp32", lines[2])
    assert re.fullmatch(r"\S+ 64 64 64 fp32 1", lines[3])


BLOCKS = """
import fp32shim
assert fp32shim.recording() is None
import threading, numpy
a = numpy.ones((64, 64), numpy.float32)
def multiply(count, size=64):
    for _ in range(count): a[:size] @ a
with fp32shim.products() as first: multiply(1)
multiply(5)
with fp32shim.products() as seen:
    multiply(2)
    assert [row["calls"] for row in seen] == [2]
    thread = threading.Thread(target=multiply, args=(3, 32))
    thread.start(); thread.join()
multiply(4)
with fp32shim.products() as none: pass
assert [row["calls"] for row in first] == [1]
assert sorted((row["m"], row["n"], row["calls"]) for row in seen) in ([(32, 64, 3), (64, 64, 2)], [(64, 32, 3), (64, 64, 2)])
assert list(none) == [] and none.table() == "0 products recorded"
assert sum(row["calls"] for row in fp32shim.Recording(fp32shim.recording())) == 15
seen.file_names = {__file__: "In [7]"}
assert {row["where"] for row in seen} == {"In [7]:7 multiply"}, seen.table()
assert seen.html().startswith("<!DOCTYPE html>") and "In [7]" in seen.html()
fp32shim.set_precision("high")
assert fp32shim.get_precision() == ("high", "process")
print("done")
"""


def test_a_block_has_the_products_of_all_threads_between_its_ends(python):
    assert python(BLOCKS) == "done\n"


def test_a_block_without_a_recording_says_so(python):
    text = """
import fp32shim
with fp32shim.products() as seen: pass
assert list(seen) == [] and seen.path is None
print(seen.table())
"""
    assert python(text, "--precision", "native").startswith("this process has no recording: ")


WITHOUT_FOLDER = """
import tempfile, warnings, numpy, fp32shim
a = numpy.ones((64, 64), numpy.float32)
a @ a
tempfile.tempdir = "/nonexistent"
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    with fp32shim.products() as seen:
        assert (a @ a)[0, 0] == 64 and list(seen) == []
    assert "cannot be copied" in str(said[0].message) and said[0].category is fp32shim.FP32ShimWarning
assert list(seen) == [] and "cannot be copied" in seen.table() and "cannot be copied" in seen._repr_html_()
tempfile.tempdir = None
with fp32shim.products() as seen: tempfile.tempdir = "/nonexistent"; a @ a
assert [row["calls"] for row in seen] == [1], "the folder was made at the beginning"
print("done")
"""


def test_a_block_runs_where_no_temporary_folder_can_be_made_and_has_no_rows(python):
    assert python(WITHOUT_FOLDER) == "done\n"


LABELS = """
import sys, warnings, numpy, fp32shim
class Nameless:
    def __str__(self): raise RuntimeError
a = numpy.ones((8, 8), numpy.float32)
labels = ["ok", "nul\\0x", "sur\\udcff", "high\\ud800", "x" * 5000, "", b"bytes", b"\\xff\\0", None, 7, 1.5, Nameless(), "new\\nline",
          "a/b", "\\u202e", "\\u00fc", ["list"]]
warnings.simplefilter("ignore")
for label in labels:
    for precision in (None, "highest"):
        with fp32shim.scope(label, precision=precision):
            assert precision is None or not fp32shim.active() or fp32shim.get_precision() in (("highest", "thread"), None)
            a @ a
def nested(depth):
    if depth == 0: return (a @ a)[0, 0]
    with fp32shim.scope("deep"): return nested(depth - 1)
assert nested(100) == 8
for word in ("high\\0est", "\\udcff", 7, b"\\xff"):
    for call in (fp32shim.set_precision, fp32shim.set_floor):
        try: call(word)
        except fp32shim.FP32ShimError as error: assert error.status == 1
        else: assert fp32shim.get_floor() is None, word
scopes = {row["scope"] for row in fp32shim.Recording(fp32shim.recording())} if fp32shim.recording() else set()
print(sorted(scopes, key=str))
"""


def test_no_label_of_a_scope_makes_a_program_fail(python):
    shown = python(LABELS)
    for label in ("'nul\\\\x00x'", "'bytes'", "'7'", "'Nameless'", "'new\\nline'", "'\u00fc'", "None"):
        assert label in shown, shown
    assert python(LABELS, loaded=False) == "[]\n"
    assert python("import os; os.environ['A'] = 'B'\n" + LABELS, "--precision", "native") == "[]\n"


def test_a_program_runs_as_written_while_the_library_is_switched_off(python):
    text = """
import warnings, fp32shim
assert fp32shim.active()
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    with fp32shim.scope("a", precision="highest"): pass
    fp32shim.set_precision("high")
    assert fp32shim.get_precision() is None
assert len(said) == 1 and "FP32_MATMUL_DISABLE" in str(said[0].message)
print("done")
"""
    assert python(text, "--log", "run.fp32rec", FP32_MATMUL_DISABLE="1") == "done\n"


def test_the_magic_without_the_library_says_how_to_load_it_in_one_line(python):
    text = """
import fp32shim
class Shell:
    def register_magic_function(self, function, kind, name): assert (kind, name) == ("cell", "fp32shim")
fp32shim.load_ipython_extension(Shell())
"""
    said = python(text, loaded=False)
    assert said.count("\n") == 1 and "fp32shim kernel install" in said
