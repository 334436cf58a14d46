"""Reads the recordings of a session, and assigns the recorded products to the tests of the session."""

from __future__ import annotations

import collections
import dataclasses
import json
import subprocess

import fp32shim
from pytest_fp32shim import marks, start

# The level of each format, which is the number of the strictest floor that the format meets (policy/formats.def). A stricter
# floor has a greater number. Formats without a known floor are not listed (unchanged, fp64_emulated, fixed).
LEVELS = {"fp64": 6, "fp32": 5, "sgemm": 5, "bf16x9": 4, "tf32x3": 3, "bf16x3": 3, "bf16x2": 3, "tf32": 3, "xf32": 3, "bf16": 2,
          "fp16": 1, "e4m3": 0, "e5m2": 0, "fp32_perturbed": 0}
GOVERNED_TYPES = ("float32", "complex64", "float64", "complex128")
LISTED_KINDS = 5  # largest number of kinds of products that are listed for a test


def json_of_command(*words):
    """Returns the JSON that an fp32shim command prints.

    The command gets the environment that this process had at its start. Otherwise the command might run without the
    library, and would count as a child process that was not covered.
    """
    line = [start.command or fp32shim.command_path(), *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=start.environment, cwd=start.folder_at_start)
    if not done.stdout:
        raise OSError(done.stderr.strip() or f"fp32shim {words[0]} ended with {done.returncode}")
    return json.loads(done.stdout)


def verify_recordings(expected, files):
    """Returns two lists of lines about the result of `fp32shim verify`: the bypasses that it found, and its other doubts."""
    found = json_of_command("verify", "--at-least", expected, "--format", "json", "--", *files)
    bypasses = [f"  {each['bypass']}: {each['reason']}. {each['remedy'] or ''}".rstrip() for each in found["bypasses"]]
    # The doubt that this process is still running is left out, because its tests have ended.
    doubts = dict.fromkeys(each["reason"] for each in found["doubts"] if "still runs" not in each["reason"])
    return bypasses, [f"  {reason}" for reason in doubts]


def format_of(row):
    """Returns the format in which the calls of a row ran, or were allowed to run. Returns None if the format is not
    known."""
    found = row["actual"] or row["applied"]
    if found == "tf32x3" and row["function"] and row["function"].startswith("kernel:"):
        return "fp32"  # tf32x3 is about as accurate as fp32; `fp32shim verify` names kernels that use it
    return found if found in LEVELS and row["dtype"] in GOVERNED_TYPES else None


def ran_below(row, expected):
    found = format_of(row)
    return found is not None and LEVELS[found] < LEVELS[expected]


def is_format_certain(row):
    """Returns True if the known format of a row is the one in which its calls ran. On a GPU, `applied` is only the lowest
    format that the call permits."""
    return row["actual"] is not None or row["device"] == "cpu"


def product_text(row):
    if row["function"] is None:
        return "products without a row of their own"
    if row["m"] is None and row["n"] is None and row["k"] is None:  # for example a convolution
        return row["function"]
    sizes = "x".join("?" if row[size] is None else str(row[size]) for size in ("m", "n", "k"))
    batch = f" batch {row['batch']}" if (row["batch"] or 1) > 1 else ""
    return f"{row['function']} {sizes}{batch} {row['trans_a'] or ''}{row['trans_b'] or ''}".rstrip()


@dataclasses.dataclass
class SessionProducts:
    """The rows of a session's recordings. `of_tests`, `of_files` and `of_fixtures` have lists of rows by the name of the
    test, of the collected file, or of the fixture that outlives a test. `elsewhere` has the rows of other threads, of
    programs that tests started, and of the time between tests."""

    of_tests: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))
    of_files: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))
    of_fixtures: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))
    elsewhere: list = dataclasses.field(default_factory=list)

    def all_rows(self):
        """Returns each row once, although a row of a fixture may also belong to a test."""
        lists = (*self.of_tests.values(), *self.of_files.values(), *self.of_fixtures.values(), self.elsewhere)
        return list({id(row): row for rows in lists for row in rows}.values())


def products_by_test(rows, tests, files):
    """Assigns rows to tests, files and fixtures. A row belongs to the test or file whose label is the longest beginning
    of the row's scope."""
    owners = {marks.scope_label_of(name): (False, name) for name in files if name}
    owners.update({marks.scope_label_of(name): (True, name) for name in tests})
    products = SessionProducts()
    for row in rows:
        if row["reason"] == "no_product":
            continue
        owner, inner = owner_of(row["scope"] or "", owners)
        if owner is None:
            products.elsewhere.append(row)
        elif inner.startswith("fixture:"):
            products.of_fixtures[inner[len("fixture:"):].partition("/")[0]].append(row)
            if owner[0]:
                products.of_tests[owner[1]].append(row)
        else:
            (products.of_tests if owner[0] else products.of_files)[owner[1]].append(row)
    return products


def owner_of(scope, owners):
    """Returns the owner whose label is the longest beginning of `scope`, and the rest of the scope. Returns (None, "") if
    there is no such owner."""
    for end in range(len(scope), 0, -1):
        if (end == len(scope) or scope[end] in "/.") and scope[:end] in owners:
            return owners[scope[:end]], scope[end + 1:]
    return None, ""


def lines_about_rows(rows, indent="    ", most=LISTED_KINDS):
    """Returns lines about rows. There is one line for each product, format and source location, the one with the most
    work first."""
    calls, work = collections.Counter(), collections.Counter()
    for row in rows:
        source = "" if row["source"] == "native" else f" ({row['source']} asked for {row['requested']})"
        ran = f"{'at' if is_format_certain(row) else 'allowed'} {format_of(row) or 'an unknown format'}"
        key = product_text(row), ran, source, row["where"] or row["caller"] or "unknown place"
        calls[key] += row["calls"]
        work[key] += (row["flops"] or 0) * row["calls"]
    ordered = sorted(calls, key=lambda key: (-work[key], key))
    lines = [f"{indent}{calls[key]:,} x {key[0]} {key[1]}{key[2]}, {key[3]}" for key in ordered[:most]]
    if len(ordered) > most:
        lines.append(f"{indent}and {len(ordered) - most} more kinds of products")
    return lines


def count_calls(rows):
    return sum(row["calls"] for row in rows)
