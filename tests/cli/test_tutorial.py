"""examples/train: the tutorial's program does what docs/tutorial.md says of it."""

import re

import pytest

import shim
from command import fp32shim

TRAIN = shim.ROOT / "examples/train"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs train.py under options of `run`; returns the rates that it prints by their names, and the recording."""
    shim.need(shim.has_module("numpy"), "no numpy")
    folder = tmp_path_factory.mktemp("train")

    def run_with(name, *options):
        recording = folder / f"{name}.fp32rec"
        done = fp32shim("run", "--quiet", "--log", recording, *options, "--", shim.SYSTEM_PYTHON, TRAIN / "train.py")
        assert done.returncode == 0, done.stderr
        rates = re.findall(r"^(.*): ([\d.]+)% right$", done.stdout, re.MULTILINE)
        return {title: float(rate) for title, rate in rates}, recording
    return run_with


def test_explain_says_what_the_tutorial_prints():
    page = (shim.ROOT / "docs/tutorial.md").read_text()
    command, printed = re.search(r"^\$ fp32shim (explain --policy pin.toml .*)\n((?:(?!\$).*\n)+)", page, re.MULTILINE).groups()
    assert fp32shim(*command.split(), cwd=TRAIN).stdout == printed


def test_tf32_spares_the_training_and_spoils_the_search_and_the_policy_pins_just_that(run):
    plain, _ = run("plain")
    spoilt, _ = run("tf32", "--precision", "high", "--cpu", "emulate")
    pinned, recording = run("pinned", "--policy", TRAIN / "pin.toml")
    assert abs(spoilt["epoch 5"] - plain["epoch 5"]) < 1
    assert spoilt["nearest neighbour"] < plain["nearest neighbour"] - 10
    assert abs(pinned["nearest neighbour"] - plain["nearest neighbour"]) < 1
    by_format = fp32shim("report", "--format", "json", recording).json["by_format"]
    assert by_format["fp32"]["calls"] == 1 and by_format["tf32"]["calls"] == 810
