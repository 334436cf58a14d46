"""The lines on standard error that docs/reliability.md lists are those that programs print."""

import re
import resource
import subprocess

import pytest

import page
import shim
from command import environment, fp32shim

PAGE = page.PAGE.parent / "reliability.md"
MODEL = page.PAGE.parents[1] / "tests/deploy/model.py"
WRONG = '"wrong"'


def listed():
    """Returns the lines of the page's table, as patterns."""
    section = PAGE.read_text().split("## Lines on standard error")[1].split("\n## ")[0]
    lines = re.findall(r"^\| `(.*?)` \|", section, re.MULTILINE)
    assert len(lines) > 10
    return [re.escape(line).replace("FILE", "[^ ]+").replace("VALUE", '"[^"]+"').replace("…", ".*") for line in lines]


def said(limit=None, **settings):
    """Returns the message of the library in a program, which must run as without the library."""
    shim.need(shim.has_module("numpy"), "no numpy")
    done = subprocess.run([shim.SYSTEM_PYTHON, MODEL], env=environment(LD_PRELOAD=shim.LIBRARY, **settings), text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          preexec_fn=limit and (lambda: resource.setrlimit(limit, (0, 0))))
    assert (done.returncode, done.stdout) == (0, "product 131072\n")
    [line] = done.stderr.splitlines()
    return line


@pytest.fixture(name="policy")
def policy_file(tmp_path):
    file = tmp_path / "policy.toml"
    file.write_text(f"schema = 1\ndefault = {WRONG}\n")
    return file


@pytest.mark.parametrize("fault", ["no folder", "no file size", "no group", "bad policy", "no policy", "bad variable"])
def test_a_line_that_a_program_prints_is_on_the_page(fault, tmp_path, policy):
    log = tmp_path / "a.fp32rec"
    if fault == "no folder":
        line = said(FP32_MATMUL_LOG=tmp_path / "none/a.fp32rec")
    elif fault == "no file size":
        line = said(resource.RLIMIT_FSIZE, FP32_MATMUL_LOG=log)
    elif fault == "no group":
        policy.write_text(f"schema = 1\n[log]\npath = '{log}'\ngroup = {WRONG}\n")
        line = said(FP32_MATMUL_POLICY=policy)
    elif fault == "bad policy":
        line = said(FP32_MATMUL_POLICY=policy)
    elif fault == "no policy":
        line = said(FP32_MATMUL_POLICY=tmp_path / "none.toml")
    else:
        line = said(FP32_MATMUL_PRECISION="wrong")
    assert [pattern for pattern in listed() if re.match(f"fp32shim: {pattern}", line)], line


def test_the_words_of_all_other_lines_are_those_of_the_source():
    source = "".join(file.read_text() for folder in ("record", "shim", "system")
                     for file in (shim.ROOT / folder).rglob("*.cpp"))
    table = PAGE.read_text().split("## Lines on standard error")[1].split("\n## ")[0]
    words = re.findall(r"(?:permission denied|no space|the file system is read-only|out of memory|the file is too"
                       r" large) ?[^`;]*\)|the file was truncated, or its disk has failed|; ending the process [^`]*|"
                       r"; the settings are unchanged", table)
    assert len(words) == 9
    assert [text for text in words if text not in source] == []


def test_run_refuses_what_a_preload_goes_on_with(tmp_path, policy):
    for words in (["--log", tmp_path / "none/a.fp32rec"], ["--policy", policy]):
        done = fp32shim("run", *words, "--", "touch", tmp_path / "started")
        assert done.returncode == 125 and not (tmp_path / "started").exists()
