"""The unmodified torch script examples/qtlq/qtlq.py: the published TF32 values, previewed on a CPU."""

import csv
import sys

import pytest

import shim
from wheels import EMULATE_TF32, start

EXAMPLE = shim.ROOT / "examples/qtlq"


def run_example(**keywords):
    return start(sys.executable, EXAMPLE / "qtlq.py", "--csv", **keywords)


def published():
    with open(EXAMPLE / "reference.csv", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def test_high_previewed_agrees_with_every_published_tf32_value():
    outcome = run_example(**EMULATE_TF32)
    values = {int(row["index"]): float(row["value"]) for row in csv.DictReader(outcome.stdout.splitlines())}
    rows = published()
    assert len(rows) == 13
    for row in rows:
        tf32 = float(row["tf32"])
        assert values[int(row["index"])] == pytest.approx(tf32, rel=0, abs=0.05 + 1e-4 * abs(tf32))
    assert outcome.seen() == [("sgemm_", "libtorch_cpu.so", "libtorch_cpu.so")]


@pytest.mark.parametrize("precision", ["native", "highest"])
def test_without_lowering_every_value_has_the_same_bits_as_without_the_shim(precision):
    assert run_example(precision=precision).stdout == run_example(preload=False).stdout
