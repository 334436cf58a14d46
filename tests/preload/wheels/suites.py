"""Runs the test suites that numpy, scipy and scikit-learn ship, with the shim in `native` and without, in turn.

    suites.py [--full] [--rounds N] [--suite NAME]... [--at-most RATIO]

Compares which tests passed, failed and were skipped, one by one, and prints a table of medians of processor time
(other programs disturb it less than the clock) and of elapsed time. Ends with status 1 where an outcome differs, or
where the processor time of all suites together exceeds RATIO times that without the shim and still does after as many
rounds again. --full runs the whole suites (100 s a round and side on two slow cores), three rounds unless told; else
the parts that multiply most run once, without tests that take seconds or judge time and memory themselves. To be run
by the interpreter of the wheels: $(tests/wheels.sh --prepare)/bin/python tests/preload/wheels/suites.py
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import shim  # noqa: E402
from wheels import KEEP_BYTE_CODE  # noqa: E402

FULL = {
    "numpy.linalg": ["numpy.linalg"],
    "scipy.linalg test_blas": ["scipy.linalg.tests.test_blas"],
    "scipy.linalg test_decomp": ["scipy.linalg.tests.test_decomp"],
    "sklearn.decomposition": ["sklearn.decomposition"],
}
FAST = {
    "numpy.linalg": ["numpy.linalg", "--deselect-names",
                     "test_openblas_threading", "test_sdot_bug_8577", "TestCond", "TestDet"],
    "scipy.linalg test_blas": ["scipy.linalg.tests.test_blas"],
    "scipy.linalg test_decomp": ["scipy.linalg.tests.test_decomp", "--deselect-names",
                                 "nofegfault", "test_crash_2609", "memory_efficiency"],
    "sklearn.decomposition": ["sklearn.decomposition.tests.test_pca", "sklearn.decomposition.tests.test_kernel_pca",
                              "sklearn.decomposition.tests.test_truncated_svd",
                              "sklearn.decomposition.tests.test_fastica", "--deselect-names",
                              "array_api", "test_pca_sparse", "solvers_equivalence"],
}


def command_of(suite, report):
    modules, _, left_out = (" ".join(suite)).partition(" --deselect-names ")
    selection = ["-k", " and ".join(f"not {name}" for name in left_out.split())] if left_out else []
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}", *selection,
            "--pyargs", *modules.split()]


def processor_seconds():
    """Returns the processor time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_suite(suite, under_shim):
    """Runs a test suite. Returns (outcome of each test, processor seconds, elapsed seconds)."""
    with tempfile.TemporaryDirectory(prefix="fp32shim-test-") as scratch:
        report = pathlib.Path(scratch, "report.xml")
        variables = shim.environment(precision="native" if under_shim else None,
                                     preload=[shim.LIBRARY] if under_shim else ())
        # Random numbers of hypothesis, and of suites with random seeds, must be the same in both runs.
        variables.update(HYPOTHESIS_STORAGE_DIRECTORY=scratch, SKLEARN_TESTS_GLOBAL_RANDOM_SEED="42",
                         PYTHONHASHSEED="0", **KEEP_BYTE_CODE)
        begin, processor_begin = time.monotonic(), processor_seconds()
        finished = subprocess.run(command_of(suite, report), env=variables, cwd=scratch, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        elapsed, processor = time.monotonic() - begin, processor_seconds() - processor_begin
        if not report.exists():
            raise RuntimeError(f"pytest {' '.join(suite)} ended with {finished.returncode}\n{finished.stdout[-3000:]}")
        outcomes = read_outcomes(report)
    if not outcomes:
        raise RuntimeError(f"pytest {' '.join(suite)} ran no test\n{finished.stdout[-3000:]}")
    return outcomes, processor, elapsed


def read_outcomes(report):
    """Returns {test: passed, failure, error or skipped}. Names that occur several times are numbered."""
    outcomes = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        base = name = f"{case.get('classname')}::{case.get('name')}"
        number = 1
        while name in outcomes:
            number += 1
            name = f"{base} #{number}"
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        outcomes[name] = kinds[0] if kinds else "passed"
    return outcomes


def count(outcomes, kind):
    return sum(outcome == kind for outcome in outcomes.values())


def differences(without, under):
    names = sorted(without.keys() | under.keys())
    return [f"{name}: {without.get(name, 'absent')} without the shim, {under.get(name, 'absent')} under it"
            for name in names if without.get(name) != under.get(name)]


class Comparison:
    """Runs of one suite with and without the shim, in turn, so that both sides see the same machine."""

    def __init__(self, name, suite):
        self.name, self.suite = name, suite
        # Processor times, with the shim (True) and without (False).
        self.processor = {False: [], True: []}
        self.elapsed = {False: [], True: []}
        self.differences = []
        self.outcomes = {}

    def run_round(self):
        # The order of the two runs alternates from round to round.
        outcomes = {}
        first = len(self.elapsed[False]) % 2 == 1
        for under_shim in (first, not first):
            outcomes[under_shim], processor, elapsed = run_suite(self.suite, under_shim)
            self.processor[under_shim].append(processor)
            self.elapsed[under_shim].append(elapsed)
        self.outcomes = outcomes[True]
        self.differences += [each for each in differences(outcomes[False], outcomes[True])
                             if each not in self.differences]

    def row(self):
        passed, skipped = count(self.outcomes, "passed"), count(self.outcomes, "skipped")
        return (f"{self.name:26} {passed:6} {len(self.outcomes) - passed - skipped:6} {skipped:7} "
                f"{len(self.differences):9} {times([self], 'processor')} {times([self], 'elapsed')}")


def times(comparisons, kind):
    """Returns sums of medians: without the shim, under it, and their ratio."""
    without, under = (sum(statistics.median(getattr(each, kind)[side]) for each in comparisons)
                      for side in (False, True))
    return f"{without:9.1f} {under:8.1f} {under / without:6.3f}"


def ratio(comparisons):
    return float(times(comparisons, "processor").split()[2])


def run_rounds(comparisons, rounds):
    for number in range(rounds):
        for comparison in comparisons:
            comparison.run_round()
            print(f"round {number + 1} of {rounds}: {comparison.name}", flush=True)


def table(comparisons):
    head = (f"{'suite':26} {'passed':>6} {'failed':>6} {'skipped':>7} {'different':>9} "
            f"{'cpu s':>9} {'+ shim':>8} {'ratio':>6} {'elapsed s':>9} {'+ shim':>8} {'ratio':>6}")
    rows = [head, *(comparison.row() for comparison in comparisons)]
    if len(comparisons) > 1:
        rows.append(f"{'all':58} {times(comparisons, 'processor')} {times(comparisons, 'elapsed')}")
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="the whole suites")
    parser.add_argument("--rounds", type=int, help="alternating runs; default 1, or 3 with --full")
    parser.add_argument("--suite", action="append", choices=FULL, help="only this one; may be repeated")
    parser.add_argument("--at-most", type=float, metavar="RATIO", help="the processor time allowed, such as 1.05")
    arguments = parser.parse_args()
    suites = FULL if arguments.full else FAST
    chosen = {name: suites[name] for name in arguments.suite or suites}
    if not shim.LIBRARY.exists():
        sys.exit(f"suites.py: {shim.LIBRARY} is not there: build the project, or set FP32SHIM_LIBRARY")
    print(f"{os.cpu_count()} cores, one BLAS thread, shim {shim.LIBRARY}, precision native", flush=True)
    comparisons = [Comparison(name, suite) for name, suite in chosen.items()]
    rounds = arguments.rounds or (3 if arguments.full else 1)
    run_rounds(comparisons, rounds)
    if arguments.at_most and ratio(comparisons) > arguments.at_most:
        print(f"ratio {ratio(comparisons)} is above {arguments.at_most}: once more", flush=True)
        run_rounds(comparisons, rounds)
    print("\n" + table(comparisons))
    different = [each for comparison in comparisons for each in comparison.differences]
    print("\n".join(different) or "every test ended the same way")
    too_slow = arguments.at_most and ratio(comparisons) > arguments.at_most
    if too_slow:
        print(f"the shim costs more than {arguments.at_most} times the processor time")
    sys.exit(1 if different or too_slow else 0)


if __name__ == "__main__":
    main()
