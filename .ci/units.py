#!/usr/bin/env python3
"""Lists the files to compile for all sources of some folders: units, which include several sources, and single sources.

  .ci/units.py BUILD_FOLDER FOLDER...     fails if a source in these folders is not built
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def sources_of(file):
    """Returns the sources that a unit includes, or the file itself if it is no unit."""
    if "Unity" not in file.parts:
        return {file}
    return {pathlib.Path(name) for name in re.findall(r'^#include "(.+)"', file.read_text(), re.M)}


build, folders = pathlib.Path(sys.argv[1]), sys.argv[2:]
listed = subprocess.run(["git", "ls-files", *(f"{folder}/*.cpp" for folder in folders)], cwd=ROOT, check=True,
                        capture_output=True, text=True).stdout.split()
missing = {ROOT / name for name in listed}
for file in sorted({pathlib.Path(entry["file"]) for entry in json.loads((build / "compile_commands.json").read_text())}):
    sources = sources_of(file)
    if sources & missing:
        missing -= sources
        print(file)
if missing:
    sys.exit(".ci/units.py: not built: " + ", ".join(sorted(str(file.relative_to(ROOT)) for file in missing)))
