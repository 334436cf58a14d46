#!/usr/bin/env python3
"""Checks the layout that docs/design.md draws: who may include whom, and how many files a folder may have."""

import collections
import pathlib
import re
import subprocess
import sys

FLOORS = ["system", "policy", "record", "gpu_check", "shim", "cli"]  # each may include itself and the floors before it

# Neither of these may include the other: files whose paths begin so.
SIBLINGS = [("record/write/", "record/read/"), ("shim/blas/", "shim/cublas/")]

# The first of these may not include the second.
BELOW = [
    *((lower, higher) for lower in ("record/format/",) for higher in ("record/write/", "record/read/", "record/lines/")),
    *((lower, higher) for lower in ("shim/settings/", "shim/site.hpp", "shim/table/", "shim/loader/elf/")
      for higher in ("shim/sites/", "shim/blas/", "shim/cublas/", "shim/call.")),
    ("shim/site.hpp", "shim/settings/"),
    ("shim/settings/", "shim/site.hpp"),
    *((lower, "shim/sites/") for lower in ("shim/blas/", "shim/cublas/", "shim/decision/", "shim/thread/")),
    ("shim/table/", "shim/loader/"),
    # gpu_check is a program of its own, and shows what the library does from outside.
    ("shim/", "gpu_check/"),
    ("cli/", "gpu_check/"),
    # Within it: what is measured knows nothing of who asks.
    *(("gpu_check/cuda/", f"gpu_check/{higher}/") for higher in ("products", "sections", "workers", "questions", "checks")),
    *(("gpu_check/products/", f"gpu_check/{higher}/") for higher in ("sections", "workers", "questions", "checks")),
    *(("gpu_check/sections/", f"gpu_check/{higher}/") for higher in ("workers", "questions", "checks")),
    ("gpu_check/workers/", "gpu_check/questions/"),
    ("gpu_check/workers/", "gpu_check/checks/"),
    ("gpu_check/questions/", "gpu_check/checks/"),
]

FILES_IN_A_FOLDER = 40


def included_files(source):
    return re.findall(r'^#\s*include "([^"]+)"', pathlib.Path(source).read_text(), re.MULTILINE)


def wrong_includes(source):
    floor = source.split("/")[0]
    forbidden = [*BELOW, *SIBLINGS, *((b, a) for a, b in SIBLINGS)]
    for included in included_files(source):
        other = included.split("/")[0]
        if other in FLOORS and FLOORS.index(other) > FLOORS.index(floor):
            yield f"{source} includes {included}: {other}/ stands above {floor}/"
        for here, there in forbidden:
            if source.startswith(here) and included.startswith(there):
                yield f"{source} includes {included}: allowed for {here}: nothing of {there}"


def main():
    files = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.split("\n")
    sources = [file for file in files if file.endswith((".cpp", ".hpp", ".h", ".c", ".S", ".in", ".def", ".py", ".js"))]
    problems = [problem for source in sources if source.split("/")[0] in FLOORS for problem in wrong_includes(source)]
    for folder, count in collections.Counter(file.rpartition("/")[0] for file in sources).items():
        if count > FILES_IN_A_FOLDER:
            problems.append(f"{folder}/ has {count} files; allowed: {FILES_IN_A_FOLDER}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
