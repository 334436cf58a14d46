"""Writes the section of pytest's summary for --fp32shim-expect. It has verdicts on the tests, and says what was not seen."""

from __future__ import annotations

from pytest_fp32shim import recorded


def judge_formats(session, products, unseen):
    """Returns the title and the lines of the section, and True if a product ran below the expected format, or was allowed
    to."""
    expected = session.config.option.fp32shim_expect
    lines, verdicts = [], {}
    # torch's own setting acts on oneDNN only, so it does not count if the recordings have oneDNN's products themselves.
    onednn_is_unseen = unseen is None or any(line.startswith("  oneDNN: ") for line in unseen[0])
    for name in session.tests_that_ran(products):
        rows = products.of_tests.get(name, [])
        setting = session.found.get(name, {}).get("torch")
        is_allowed = onednn_is_unseen and setting is not None and recorded.LEVELS[setting[0]] < recorded.LEVELS[expected]
        verdicts[name] = verdict_on_test(rows, is_allowed, expected)
        lines += lines_about_products_below(name, rows, expected, is_allowed)
        if is_allowed:
            lines.append(f"    {setting[1]}: it allows oneDNN to multiply at {setting[0]}, and oneDNN's products are not seen")
    lines += lines_outside_tests(products, expected)
    is_violated = bool(lines)
    if session.config.option.verbose > 0:
        lines += [f"{name}: {text}" for name, text in verdicts.items() if text not in (BELOW, ALLOWED)]
    lines += verdict_totals(expected, verdicts) + lines_only_allowed(products, expected) + lines_about_unseen_code(unseen)
    return f"expect {expected}", lines, is_violated


def judge_products_outside_tests(session, products, unseen):
    """Returns the title and the lines of the section, and True if a product that belongs to no test ran below the format,
    or was allowed to. Products of tests are not judged here, because --fp32shim-fail makes the tests themselves fail."""
    expected = session.config.option.fp32shim_fail
    lines = lines_outside_tests(products, expected)
    return f"fail {expected}", [*(lines or [f"Outside of tests, no product that was seen ran below {expected}."]),
                                *lines_only_allowed(products, expected), *lines_about_unseen_code(unseen)], bool(lines)


def lines_outside_tests(products, expected):
    lines = []
    for name, rows in products.of_files.items():
        lines += lines_about_products_below(f"{name}, when it was collected", rows, expected)
    return lines + lines_about_products_below("On other threads, in other programs, or between tests", products.elsewhere,
                                              expected)


BELOW, ALLOWED, NONE_SEEN = "below", "allowed", "no product seen"
CLEAN, UNKNOWN = " seen, none below", "not known for "


def lines_about_products_below(name, rows, expected, is_allowed=False):
    """Returns a headline and lines about the products that ran below the format, or an empty list if there are none."""
    below = [row for row in rows if recorded.ran_below(row, expected)]
    if not below and not is_allowed:
        return []
    word = "BELOW" if any(map(recorded.is_format_certain, below)) else "ALLOWED below"
    return [f"{name}: {word} {expected}"] + recorded.lines_about_rows(below)


def verdict_on_test(rows, is_allowed, expected):
    below = [row for row in rows if recorded.ran_below(row, expected)]
    if any(map(recorded.is_format_certain, below)):
        return BELOW
    if below or is_allowed:
        return ALLOWED
    unknown = [row for row in rows if recorded.format_of(row) is None]
    if unknown:
        return f"{UNKNOWN}{recorded.count_calls(unknown):,} of {recorded.count_calls(rows):,} products seen"
    return f"{recorded.count_calls(rows):,}{CLEAN}" if rows else NONE_SEEN


def verdict_totals(expected, verdicts):
    texts = list(verdicts.values())
    kinds = ((texts.count(BELOW), f"ran below {expected}"), (texts.count(ALLOWED), "were allowed to"),
             (sum(text.startswith(UNKNOWN) for text in texts), "had products of unknown format"),
             (sum(text.endswith(CLEAN) for text in texts), f"had products seen, all at {expected} or above"),
             (texts.count(NONE_SEEN), "had no product that was seen"))
    return [f"{len(texts):,} tests ran: " + ", ".join(f"{number:,} {words}" for number, words in kinds) + "."]


def lines_only_allowed(products, expected):
    """Returns lines about products that were allowed to run below the format, but are known to have run at or above it."""
    rows = [row for row in products.all_rows() if row["actual"] is not None and not recorded.ran_below(row, expected)
            and recorded.ran_below({**row, "actual": None}, expected)]
    if not rows:
        return []
    return [f"Allowed below {expected}, but not so run here; another processor may round them:",
            *recorded.lines_about_rows(rows)]


def lines_about_unseen_code(unseen):
    """Returns lines about code that may have multiplied without being seen, and about other reasons why nothing is shown."""
    if unseen is None:
        return ["No process left a recording. Nothing is shown."]
    bypasses, doubts = unseen
    if bypasses or doubts:
        return ["Not shown, because it was not seen:"] + bypasses + doubts
    return ["No library that multiplies unseen was found in the processes. docs/pytest.md says what no verdict covers."]
