"""bench/run.sh: it measures, and the page takes what it measured. No test looks at a time."""

import json
import platform
import re
import subprocess

import pytest

import shim

BENCH = shim.ROOT / "bench"
PAGE = shim.ROOT / "docs/performance.md"


def performance(*words):
    command = [shim.SYSTEM_PYTHON, BENCH / "performance.py", "--build", shim.BUILD, *words]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks(page):
    return dict(re.findall(r"<!-- measured: (\w+) -->\n(.*?)<!-- end -->", page.read_text(), re.S))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The samples and the output of a quick run without peers."""
    if not (shim.BUILD / "bin/bench_products").exists() or not (shim.BUILD / "bin/call_overhead").exists():
        pytest.skip("the benchmarks are not built: configure with -DFP32SHIM_BENCH=ON, with OpenBLAS")
    samples = tmp_path_factory.mktemp("bench") / "samples.json"
    printed = performance("--quick", "--rounds", 2, "--only", "calls", "products", "fixed", "start", "--json", samples)
    return samples, printed


def test_every_section_has_a_sample_of_each_contender_in_each_round(measured):
    results = json.loads(measured[0].read_text())
    for section in ("calls", "products", "fixed", "start"):
        assert results[section]["samples"], section
        assert all(len(rounds) == 2 for rounds in results[section]["samples"].values())
    assert {"not preloaded", "off", "summary", "calls"} <= results["calls"]["samples"].keys()
    assert results["products"]["samples"].keys() == {
        "alone", "loaded", "preview TF32", "preview BF16", "reproducible", "accelerate"}


def test_a_page_gets_every_block_and_plot_from_stored_samples(measured, tmp_path):
    samples, printed = measured
    page = tmp_path / "page.md"
    page.write_text(re.sub(r"(<!-- measured: \w+ -->\n).*?(<!-- end -->)", r"\1old\n\2", PAGE.read_text(), flags=re.S))
    assert performance("--from", samples, "--write", page) == printed
    known = json.loads(samples.read_text())
    for name, content in blocks(page).items():  # the section `run` takes a minute
        assert (content == "old\n") == (name in ("gate", "run") and name not in known), name
        assert content == "old\n" or content in printed
    for plot in re.findall(r"images/(performance-\w+\.svg)", page.read_text()):
        drawn = (tmp_path / "images" / plot).read_text()
        assert drawn.count("<circle") > 2 and not re.search(r"\bnan\b", drawn)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the page explains the entry point of x86-64")
def test_the_page_explains_the_instructions_of_the_entry_points():
    source = (shim.ROOT / "shim/entry/x86_64.S").read_text()
    macros = [re.search(rf"^\.macro {name}\n(.*?)^\.endm", source, re.M | re.S)[1] for name in ("landing_pad", "entry_code")]
    instructions = re.findall(r"^(?:1:|   ) +([a-z]\w+)", "".join(macros), re.M)
    explained = [line.split()[0] for line in blocks(PAGE)["gate"].splitlines() if line and not line.startswith("```")]
    assert [name.rstrip("lq") for name in instructions] == [name.rstrip("lq") for name in explained]
