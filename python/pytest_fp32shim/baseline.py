"""Writes the section of pytest's summary for --fp32shim-baseline. It compares the products of each test with a file that an
earlier run wrote."""

from __future__ import annotations

import collections
import json
import pathlib
import re

import pytest

from pytest_fp32shim import recorded

SCHEMA = 1
WORSE_ERROR_RATIO = 2  # an error counts as worse if it is larger than the baseline's error by more than this factor
FLOOR_NAMES = {4: "bf16x9", 3: "tf32", 2: "bf16", 1: "fp16", 0: "fp8"}  # names of floors by their level in recorded.LEVELS
UNKNOWN = "unknown"


def read_baseline(config):
    """Returns the content of the baseline file, or {} if the file does not exist yet and is to be written. Raises
    UsageError."""
    options = config.option
    path = pathlib.Path(config.invocation_params.dir, options.fp32shim_baseline)
    if not path.exists():
        if options.fp32shim_baseline_update:
            return {}
        raise pytest.UsageError(f"--fp32shim-baseline: {path} is not there; --fp32shim-baseline-update writes it")
    try:
        if not path.is_file():
            raise ValueError("it is no regular file")  # reading a FIFO would wait for a writer
        found = json.loads(path.read_text())
        if found["schema"] != SCHEMA or not isinstance(found["tests"], dict):
            raise ValueError(f"schema: found {found['schema']!r}; allowed: {SCHEMA}")
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise pytest.UsageError(f"--fp32shim-baseline: {path} is not a baseline: {problem!r}; --fp32shim-baseline-update with "
                                "another name writes one") from None
    if found["preview"] != options.fp32shim_preview and not options.fp32shim_baseline_update:
        raise pytest.UsageError(f"--fp32shim-baseline: {path} was written with --fp32shim-preview {found['preview']}, this run has "
                                f"{options.fp32shim_preview}; keep a file for each")
    return found


def judge_against_baseline(session, products, audits):
    """Returns the title and the lines of the section, and True if some test is worse than the baseline."""
    options = session.config.option
    now = {name: formats_by_product(products.of_tests[name]) for name in session.tests_that_ran(products)
           if products.of_tests.get(name)}
    add_audit_errors(now, products, audits, session)
    before = session.baseline.get("tests", {})
    if options.fp32shim_baseline_update:
        return "baseline", [write_baseline(session, {**before, **now})], False
    lines, worse = [], 0
    for name in session.tests_that_ran(products):
        reasons = reasons_why_worse(before.get(name, {}), now.get(name, {}))
        if reasons:
            worse += 1
            lines.append(f"{name}: WORSE than the baseline: {'; '.join(reasons)}")
            lines += lines_about_changed_products(before.get(name, {}), now.get(name, {}))
    compared = session.tests_that_ran(products)
    known, left = sum(name in before for name in compared), sum(name not in session.outcomes for name in before)
    lines.append(f"{worse:,} of {len(compared):,} tests ran worse than in {options.fp32shim_baseline}. It has {known:,} of "
                 f"them; the others count as tests without a product. {left:,} of its tests did not run.")
    outside = recorded.count_calls(row for row in products.elsewhere)
    if outside:
        lines.append(f"Not compared: {outside:,} products on other threads, in other programs, or between tests.")
    return "baseline", lines, worse > 0


def formats_by_product(rows):
    """Returns {product: {"calls": {format: number}}} for the rows of one test."""
    found = {}
    for row in rows:
        calls = found.setdefault(recorded.product_text(row), {"calls": collections.Counter()})["calls"]
        calls[recorded.format_of(row) or UNKNOWN] += row["calls"]
    return found


def add_audit_errors(now, products, audits, session):
    """Adds the largest error of its audits, by norm, to each product of a test. An infinite error is stored as a text."""
    of_tests = recorded.products_by_test([{**each, "trans_a": None, "trans_b": None} for each in audits],
                                         list(session.outcomes), session.files).of_tests
    for name, each_test in of_tests.items():
        for audit in each_test:
            known = re.compile(re.escape(recorded.product_text(audit)) + "( [NTCR]*)?")  # audits record no transpositions
            product = next((found for text, found in now.get(name, {}).items() if known.fullmatch(text)), None)
            if product is not None and audit["audits"] and product.get("error") != "infinite":
                worst = audit["norm"]["worst"]
                product["error"] = "infinite" if worst is None else max(float(f"{worst:.2g}"), product.get("error", 0))


def count_calls_by_level(test):
    """Returns the number of a test's calls at or below each level, and the number of its calls with an unknown format."""
    found = collections.Counter()
    for product in test.values():
        for name, calls in product["calls"].items():
            if name == UNKNOWN:
                found[UNKNOWN] += calls
            else:
                for level in range(recorded.LEVELS[name], recorded.LEVELS["fp32"]):
                    found[level] += calls
    return found


def worst_error(test):
    errors = [product["error"] for product in test.values() if "error" in product]
    return max((float("inf") if error == "infinite" else error for error in errors), default=None)


def reasons_why_worse(before, now):
    """Returns the reasons why a test is worse now than in the baseline (`before`), or an empty list if it is not worse."""
    then, found = count_calls_by_level(before), count_calls_by_level(now)
    reasons = [f"calls at {name} or below: {then[level]:,} -> {found[level]:,}" for level, name in FLOOR_NAMES.items()
               if found[level] > then[level]][-1:]
    if found[UNKNOWN] > then[UNKNOWN]:
        reasons.append(f"calls of unknown format: {then[UNKNOWN]:,} -> {found[UNKNOWN]:,}")
    error, old_error = worst_error(now), worst_error(before)
    if error is not None and old_error is not None and error > WORSE_ERROR_RATIO * old_error:
        reasons.append(f"largest error: {old_error:.2g} -> {error:.2g}, more than {WORSE_ERROR_RATIO} times")
    return reasons


def lines_about_changed_products(before, now):
    """Returns lines about the products that have changed. The lines begin with - and +, as in the output of diff."""
    lines = []
    for name in sorted({**before, **now}):
        old, new = before.get(name), now.get(name)
        if product_text(old) != product_text(new):
            lines += [f"    {sign} {name}: {product_text(each)}" for sign, each in (("-", old), ("+", new))
                      if each is not None]
    return lines


def product_text(product):
    if product is None:
        return None
    calls = ", ".join(f"{calls:,} {name}" for name, calls in sorted(product["calls"].items()))
    return calls + (f", error {product['error']}" if "error" in product else "")


def baseline_file_text(preview, tests):
    """Returns the text of the baseline file. It is sorted and has one line for each product, so that diff and git show
    what has changed."""
    blocks = []
    for name, test in sorted(tests.items()):
        lines = [f"   {json.dumps(product)}: {json.dumps(test[product], sort_keys=True)}" for product in sorted(test)]
        blocks.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n  }")
    return (f'{{\n "schema": {SCHEMA},\n "preview": {json.dumps(preview)},\n "tests": {{\n' + ",\n".join(blocks) + "\n }\n}\n")


def write_baseline(session, tests):
    options = session.config.option
    path = pathlib.Path(session.config.invocation_params.dir, options.fp32shim_baseline)
    path.write_text(baseline_file_text(options.fp32shim_preview, tests))
    return f"{options.fp32shim_baseline} is written: {len(tests):,} tests with products."
