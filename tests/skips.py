#!/usr/bin/env python3
"""Prints each reason for which tests were skipped, with their number, from ctest's log of a run.

    tests/skips.py build/Testing/Temporary/LastTest.log [DECIDED]

ctest shows a test's output only if the test fails, but users should also learn about skipped parts. DECIDED is a file of
regular expressions, one in a line, for reasons that somebody has decided to accept. With it, any other reason is an error.
"""

import collections
import re
import sys

# One test of pytest, or several with one reason: `SKIPPED [2] file.py:67: reason`. A test of GoogleTest names the place in a
# line, and the reason in those below.
TEST = re.compile(r"^\d+/\d+ Testing: (\S+)$", re.MULTILINE)
BY_PYTEST = re.compile(r"^SKIPPED \[(\d+)\] (?:\S+:\d+: )?(.*)$", re.MULTILINE)
BY_GTEST = re.compile(r"^(?:\S+:\d+: )Skipped\n(.*)$", re.MULTILINE)


def skips(log):
    """Yields the name of a ctest test, the number of its parts that were skipped, and the reason."""
    parts = TEST.split(log)
    for name, output in zip(parts[1::2], parts[2::2]):
        for count, reason in BY_PYTEST.findall(output):
            yield name, int(count), reason
        for reason in BY_GTEST.findall(output):
            yield name.partition(".")[0], 1, reason


def main(path, decided=None):
    """Returns the exit status: 1 if `decided` is given and parts were skipped for a reason that no line of it matches."""
    with open(path, encoding="utf-8", errors="replace") as text:
        found = collections.Counter()
        for name, count, reason in skips(text.read()):
            found[name, reason] += count
    for (name, reason), count in sorted(found.items()):
        print(f"SKIPPED [{count}] {name}: {reason}")
    if found:
        print(f"{sum(found.values())} parts of tests were skipped, for {len({reason for _, reason in found})} reasons")
    if decided is None:
        return 0
    with open(decided, encoding="utf-8") as text:
        accepted = [line.strip() for line in text if line.strip() and not line.startswith("#")]
    undecided = {reason for _, reason in found if not any(re.fullmatch(pattern, reason) for pattern in accepted)}
    for reason in sorted(undecided):
        print(f"Parts of tests were skipped for a reason that {decided} does not accept: {reason}")
    return 1 if undecided else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
