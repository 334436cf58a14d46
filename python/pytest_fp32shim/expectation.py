"""The section of --fp32shim-expect: a verdict for each test, and what the verdicts do not cover."""

from __future__ import annotations

from pytest_fp32shim import recorded

STILL_RUNS = "still runs"  # of this process, which reads its own recording when all tests have ended


def judge(session, products, folder):
    """Returns title, lines, and True if a product ran below the format, or torch was allowed to run one below it."""
    expected = session.config.option.fp32shim_expect
    lines, verdicts = [], {}
    for name in session.tests():
        rows = products.of_tests.get(name, [])
        below = [row for row in rows if recorded.is_below(row, expected)]
        setting = session.found.get(name, {}).get("torch")
        is_allowed = setting is not None and recorded.LEVELS[setting[0]] < recorded.LEVELS[expected]
        verdicts[name] = verdict(rows, below, is_allowed)
        if below or is_allowed:
            lines.append(f"{name}: BELOW {expected}")
            lines += recorded.lines_of(below)
        if is_allowed:
            lines.append(f"    {setting[1]}: it lets oneDNN multiply at {setting[0]}, and oneDNN's products are not seen")
    for title, groups in (("when {} was collected", products.of_files), ("in other threads or programs, or between tests",
                                                                          {"": products.elsewhere})):
        for name, rows in groups.items():
            below = [row for row in rows if recorded.is_below(row, expected)]
            if below:
                lines += [f"{title.format(name)}: BELOW {expected}"] + recorded.lines_of(below)
    is_violated = bool(lines)
    if session.config.option.verbose > 0:
        lines += [f"{name}: {text}" for name, text in verdicts.items() if not text.startswith("below")]
    lines += totals(expected, verdicts) + not_covered(expected, folder)
    return f"expect {expected}", lines, is_violated


def verdict(rows, below, is_allowed):
    if below or is_allowed:
        return "below"
    unknown = [row for row in rows if recorded.format_of(row) is None]
    if unknown:
        return f"not known for {recorded.count(unknown):,} of {recorded.count(rows):,} products seen"
    return f"{recorded.count(rows):,} seen, none below" if rows else "no product seen"


def totals(expected, verdicts):
    texts = list(verdicts.values())
    number = {kind: sum(text.startswith(start) for text in texts) for kind, start in (
        ("below", "below"), ("unknown", "not known"), ("none", "no product"))}
    clean = len(texts) - sum(number.values())
    parts = [f"{number['below']:,} below {expected}", f"{clean:,} with products, none of those seen below"]
    if number["unknown"]:
        parts.append(f"{number['unknown']:,} with products of unknown format")
    return [f"Of {len(texts):,} tests that ran: {', '.join(parts)}, {number['none']:,} without a product that was seen."]


def not_covered(expected, folder):
    """Returns lines about what `fp32shim verify` doubts in the recordings: what may have multiplied without being seen."""
    if not any(folder.glob("*.fp32rec")):
        return ["No process recorded a product. Nothing is shown."]
    found = recorded.command("verify", "--at-least", expected, "--format", "json", folder)
    lines = [f"  {each['bypass']}: {each['reason']}. {each['remedy'] or ''}".rstrip() for each in found["bypasses"]]
    reasons = dict.fromkeys(each["reason"] for each in found["doubts"] if STILL_RUNS not in each["reason"])
    lines += [f"  {reason}" for reason in reasons]
    if not lines:
        return ["No library that multiplies unseen was found in the processes. docs/pytest.md says what no verdict covers."]
    return ["Not shown, because it cannot be seen:"] + lines
