"""The Python module fp32shim (docs/python.md), and its notebooks where IPython is missing (docs/notebooks.md)."""

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

    def run(text, *options, loaded=True):
        (tmp_path / "example.py").write_text(text)
        environment = shim.environment(blas="openblas", env={
            "PYTHONPATH": str(shim.ROOT / "python"), "PATH": f"{COMMAND.parent}:{os.environ['PATH']}",
            "FP32SHIM_LIBRARY": str(shim.LIBRARY)})
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
import threading, numpy, fp32shim
a = numpy.ones((64, 64), numpy.float32)
def multiply(count, size=64):
    for _ in range(count): a[:size] @ a
assert fp32shim.recording() is None
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
assert {row["where"] for row in seen} == {"In [7]:5 multiply"}, seen.table()
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


def test_the_magic_without_the_library_says_how_to_load_it_in_one_line(python):
    text = """
import fp32shim
class Shell:
    def register_magic_function(self, function, kind, name): assert (kind, name) == ("cell", "fp32shim")
fp32shim.load_ipython_extension(Shell())
"""
    said = python(text, loaded=False)
    assert said.count("\n") == 1 and "fp32shim kernel install" in said
