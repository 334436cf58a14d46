"""Unmodified wheels under the shim: the same bits, and every product seen, with its caller and its provider."""

import collections
import dataclasses
import functools
import tempfile

import numpy as np
import pytest

import expected
import shim
from wheels import EMULATE_BF16, EMULATE_TF32, describe, matches, start

PACKAGES = ("numpy", "scipy", "sklearn", "torch", "jax", "faiss", "onnxruntime", "openblas64")
FLOAT64 = ("float64", "complex128")  # some packages also multiply doubles on the way; test_float64.py is about these

# All packages in one process, in both orders: the library that is loaded first is found first.
PROCESSES = [(package,) for package in PACKAGES] + [PACKAGES, PACKAGES[::-1]]


def process_name(packages):
    return packages[0] if len(packages) == 1 else f"all in one process, {packages[0]} first"


RESULTS = tempfile.TemporaryDirectory(prefix="fp32shim-test-")


@dataclasses.dataclass
class Steps:
    digests: dict
    decisions: dict  # decisions by step, found by their times, without those about float64
    result: shim.Result
    arrays: dict  # results of the steps

    @staticmethod
    def of(*words, **settings):
        """Runs the steps of packages."""
        with tempfile.NamedTemporaryFile(dir=RESULTS.name, suffix=".npz", delete=False) as file:
            result = start("workloads.py", *words, "--save", file.name, **settings)
        digests, decisions = {}, {}
        for line in result.stdout.splitlines():
            _, name, begin, end, digest = line.split()
            digests[name] = digest
            decisions[name] = [each for each in result.decisions
                               if int(begin) <= each["time_ns"] <= int(end) and each["dtype"] not in FLOAT64]
        return Steps(digests, decisions, result, np.load(file.name))


@functools.cache
def plain_run(packages):
    return Steps.of(*packages, preload=False)


def plain(packages):
    """Returns the digests of the steps of these packages without the shim. Those of a single package are taken from the run of
    all packages, which saves a run. Each comparison shows that the package has the same bits beside all others."""
    if len(packages) > 1:
        return plain_run(packages).digests
    return {name: digest for name, digest in plain_run(PACKAGES).digests.items() if name.split(".")[0] in packages}


@functools.cache
def shimmed(packages, **settings):
    return Steps.of(*packages, **settings)


@pytest.mark.parametrize("packages, precision", [*((packages, "native") for packages in PROCESSES), (PACKAGES, "highest")],
                         ids=lambda value: value if isinstance(value, str) else process_name(value))
def test_results_have_the_same_bits_as_without_the_shim(packages, precision):
    outcome = shimmed(packages, precision=precision)
    assert outcome.digests == plain(packages)
    assert outcome.result.errors == []


@pytest.mark.parametrize("packages", PROCESSES, ids=process_name)
def test_every_product_is_seen_with_its_caller_and_provider(packages):
    outcome = shimmed(packages, precision="native")
    wrong = {}
    for name, decisions in outcome.decisions.items():
        patterns = expected.STEPS[name]
        if isinstance(patterns, expected.Some):
            right = decisions and all(any(matches(each, pattern) for pattern in patterns) for each in decisions)
        else:
            right = len(decisions) == len(patterns) and all(map(matches, decisions, patterns))
        if not right:
            wrong[name] = {"expected": patterns, "seen": [describe(decision) for decision in decisions]}
    assert wrong == {}
    assert set(outcome.decisions) == {name for name in expected.STEPS if name.split(".")[0] in packages}


@pytest.mark.parametrize("precision", ["native", "highest"])
def test_a_decision_says_that_the_product_ran_as_called(precision):
    outcome = shimmed(PACKAGES, precision=precision)
    by_type = collections.defaultdict(set)
    for each in outcome.result.decisions:
        by_type[each["dtype"] in FLOAT64].add((each["requested"], each["source"], each["device"], each["applied"]))
    assert by_type[False] <= {(precision, "environment", "cpu", applied) for applied in ("unchanged", "fp32")}
    assert by_type[True] == {("native", "native", "cpu", "fp64")}


def test_a_decision_holds_type_sizes_and_batch_as_the_library_received_them():
    decisions = shimmed(PACKAGES, precision="native").decisions

    def sizes(step):
        return [(each["dtype"], {each["m"], each["n"], each["k"]}, each["batch"]) for each in decisions[step]]

    assert sizes("numpy.matmul") == [("float32", {64, 48, 32}, 1)]
    assert sizes("numpy.complex") == [("complex64", {24, 40, 16}, 1)]
    assert sizes("numpy.stack") == [("float32", {20, 30, 10}, 1)] * 3
    assert sizes("scipy.sgemm") == [("float32", {60, 45, 35}, 1)]
    assert sizes("torch.mm") == [("float32", {64, 48, 32}, 1)]
    assert sizes("torch.bmm") == [("float32", {80, 90, 70}, 3)]
    assert sizes("torch.complex_bmm") == [("complex64", {80, 90, 70}, 3)]
    assert sizes("openblas64.sgemm_batch") == [("float32", {128}, 3)]
    assert sizes("openblas64.sgemm_batch_strided") == [("float32", {128}, 3)]
    assert sizes("openblas64.cblas_sgemm_batch_strided") == [("float32", {128}, 3)]
    assert sizes("faiss.transform") == [("float32", {100, 90, 64}, 1)]


EMULATED = ("numpy", "scipy", "torch", "faiss", "openblas64")


@pytest.mark.parametrize("format, settings, packages", [("tf32", EMULATE_TF32, PACKAGES), ("bf16", EMULATE_BF16, EMULATED)],
                         ids=["tf32", "bf16"])
def test_emulation_gives_what_products_of_rounded_operands_give(format, settings, packages):
    outcome = shimmed(packages, **settings)
    plain, emulated, decisions = plain_run(PACKAGES).arrays, outcome.arrays, outcome.decisions
    rounded = Steps.of(*EMULATED, "--round", format, preload=False).arrays
    wrong = {}
    for name in expected.PRODUCTS:
        scale = np.abs(rounded[name]).max()
        from_rounded, from_plain = (float(np.abs(emulated[name] - other[name]).max() / scale)
                                    for other in (rounded, plain))
        # The product may only differ in the order of summation, far below the formats' own errors of 5e-4 and 4e-3.
        if from_rounded > 1e-6 or from_plain < 1e-5 or {each["applied"] for each in decisions[name]} != {format}:
            wrong[name] = {"from rounded": from_rounded, "from plain": from_plain,
                           "decisions": [(each["applied"], each["reason"]) for each in decisions[name]]}
    assert wrong == {}


def test_emulation_reports_a_triangular_solve_and_leaves_it_as_called():
    outcome = shimmed(PACKAGES, **EMULATE_TF32)
    for name in ("scipy.strsm", "torch.solve_triangular", "jax.solve_triangular"):
        assert outcome.digests[name] == plain(PACKAGES)[name]
        (decision,) = outcome.decisions[name]
        assert decision["requested"] == "high" and decision["applied"] in ("unchanged", "fp32")


def test_emulation_does_not_reach_what_is_not_seen():
    outcome = shimmed(PACKAGES, **EMULATE_TF32)
    unseen = [name for name, patterns in expected.STEPS.items() if patterns == []]
    assert {name: outcome.digests[name] for name in unseen} == {name: plain(PACKAGES)[name] for name in unseen}


def test_a_rule_by_caller_reaches_one_wheel_of_a_process_and_no_other():
    policy = """
        schema = 1
        [[rule]]
        name = "torch only"
        precision = "high"
        when = { caller = "libtorch_*" }
    """
    outcome = shimmed(PACKAGES, policy=policy, cpu="emulate")
    changed = {name for name in expected.PRODUCTS if outcome.digests[name] != plain(PACKAGES)[name]}
    assert changed == {name for name in expected.PRODUCTS if name.startswith("torch.")}
    assert {each["rule"] for each in outcome.decisions["torch.mm"]} == {"torch only"}
