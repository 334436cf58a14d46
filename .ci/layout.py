#!/usr/bin/env python3
"""Checks the floors that docs/design.md draws: who may include whom, and how many files a folder may have.

`--self-test` plants wrong includes in a copy of the tree, one for each pair of neighbouring floors, and sees that each
is found.
"""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Floors of each big folder, the lowest first; `.` is the folder itself. A file may include files of its own folder
# and of lower floors only. Folders between the same two `<` share a floor and do not include each other.
FLOORS = {
    "system": ".",
    "policy": ". < toml",
    "record": ". < format < write read lines onednn kernels",
    "shim": """level3 < table memory scopes include/fp32shim < loader/elf < loader < entry settings < thread
               < where/python where/native < where < audit ranges children < decision
               < blas/emulate cublas onednn < blas/multiply < blas < blas/fingerprint blas/audit cublas/audit < blas/govern cublas/govern
               < sites < kernels < .""",
    "cli": """files output < command_line < binaries < source_locations < recordings < kept_runs
              < report/page/shared < report/page/flame_graph < report/page/report report/page/diff
              < report/page < report
              < verify product_groups < run < trials < doctor bisect diff log sensitivity top < .""",
    "gpu_check": "cuda frameworks < products < sections < workers < checks < .",
}

# For each big folder, the other big folders that it may include.
STANDS_ON = {
    "system": [],
    "policy": ["system"],
    "record": ["system", "policy"],
    "shim": ["system", "policy", "record"],
    "cli": ["system", "policy", "record", "shim"],
    "gpu_check": ["system", "policy", "record"],
}

# Pairs of folders that never include each other, and neither do their subfolders, whatever their floors.
APART = [("shim/blas", "shim/cublas")]

FILES_IN_A_FOLDER = 40
SOURCES = (".cpp", ".hpp", ".h", ".c", ".S", ".in", ".def", ".py", ".js")


def floors_of(big):
    return [[big if name == "." else f"{big}/{name}" for name in floor.split()] for floor in FLOORS[big].split("<")]


FLOOR_OF = {folder: number for big in FLOORS for number, floor in enumerate(floors_of(big)) for folder in floor}


def are_apart(folder, other):
    def lies_in(path, top):
        return path == top or path.startswith(top + "/")

    return any(
        (lies_in(folder, a) and lies_in(other, b)) or (lies_in(folder, b) and lies_in(other, a)) for a, b in APART
    )


def may_include(folder, other):
    big, other_big = folder.split("/")[0], other.split("/")[0]
    if folder == other:
        return True
    if big != other_big:
        return other_big in STANDS_ON[big]
    return FLOOR_OF[other] < FLOOR_OF[folder] and not are_apart(folder, other)


def included_files(source, text):
    if not source.endswith(".js"):
        return re.findall(r'^#\s*include "([^"]+)"', text, re.MULTILINE)
    modules = re.findall(r'^(?:import |\} from ).*"(\.[^"]+)";', text, re.MULTILINE)
    return [os.path.normpath(os.path.join(os.path.dirname(source), module)) for module in modules]


def wrong_includes(root, source):
    folder = source.rpartition("/")[0]
    if folder not in FLOOR_OF:
        yield f"{folder}/ has no floor: .ci/layout.py lists the folders"
        return
    text = (root / source).read_text()
    for included in included_files(source, text):
        other = included.rpartition("/")[0]
        if other not in FLOOR_OF or may_include(folder, other):
            continue
        yield f"{source} includes {included}: {folder}/ does not stand above {other}/"


def problems_of(root, sources):
    problems = []
    for source in sources:
        if source.split("/")[0] in FLOORS:
            problems += wrong_includes(root, source)
    for folder, count in collections.Counter(source.rpartition("/")[0] for source in sources).items():
        if count > FILES_IN_A_FOLDER:
            problems.append(f"{folder}/ has {count} files; allowed: {FILES_IN_A_FOLDER}")
    return list(dict.fromkeys(problems))


def planted_includes(sources):
    """Yields pairs of a file and a header that it may not include: of the floor above, of its own floor, or of another big
    folder."""

    def first(folder, endings):
        found = [s for s in sources if s.rpartition("/")[0] == folder and s.endswith(endings)]
        return found[0] if found else None

    pairs = [("system", "policy"), ("policy", "record"), ("record", "shim"), ("shim", "cli"), ("shim", "gpu_check"),
             ("cli", "gpu_check/cuda"), ("gpu_check/cuda", "shim/table"), ("shim/cublas/govern", "shim/blas")]  # fmt: skip
    for floors in map(floors_of, FLOORS):
        for number, floor in enumerate(floors):
            neighbours = [*floor, *(floors[number + 1] if number + 1 < len(floors) else [])]
            pairs += [(folder, other) for folder in floor for other in neighbours if folder != other]
    for folder, other in pairs:
        file, header = first(folder, (".cpp", ".hpp", ".S")), first(other, (".hpp", ".h", ".S", ".cpp"))
        if file and header:
            yield file, header


def self_test(sources):
    """Plants each wrong include in a copy of the tree. Returns the number of those that the check does not find."""
    planted = missed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for source in sources:
            (root / source).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, root / source)
        for file, header in planted_includes(sources):
            before = (root / file).read_text()
            (root / file).write_text(f'#include "{header}"\n' + before)
            found = problems_of(root, sources)
            (root / file).write_text(before)
            planted += 1
            if len(found) != 1 or not found[0].startswith(f"{file} includes {header}: "):
                missed += 1
                print(f"planted in {file}: {header}; found: {found}", file=sys.stderr)
    print(f"{planted} wrong includes planted, {planted - missed} found")
    return missed


def main():
    files = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.split("\n")
    sources = [file for file in files if file.endswith(SOURCES) and pathlib.Path(file).exists()]
    problems = problems_of(pathlib.Path(), sources)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        return 1
    if sys.argv[1:] == ["--self-test"]:
        sources = [source for source in sources if source.split("/")[0] in FLOORS]
        return 1 if self_test(sources) else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
