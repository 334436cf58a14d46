#!/usr/bin/env bash
# Builds the wheels that run on any Linux with a C library from 2.17 on: fp32shim-X.Y.Z-py3-none-manylinux*_2_17_*.whl.
#
#   packaging/wheel.sh [FOLDER [PROCESSOR...]]    into FOLDER, default build/wheels-out, for this machine's processor, and for
#                                                 each PROCESSOR besides: aarch64 or x86_64
#
# By the tools that tools.sh sets up. The same commit makes the same bytes. Some ten minutes on two cores for the first processor.
set -euo pipefail
CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=${1:-build/wheels-out}
shift || true
own=$(uname -m)
. packaging/tools.sh

# This machine's own first: its command writes what the others install for shells.
for processor in "$own" "${@/#$own/}"; do
    [[ $processor ]] || continue
    build=build/packaging-$processor  # packages.sh builds there too, of the same objects
    raw=$build/raw
    rm -rf "$raw"
    # The name of the platform makes the wheel's tag; pip itself runs on this machine.
    _PYTHON_HOST_PLATFORM=linux-$processor "$tools/bin/pip" wheel . --quiet --disable-pip-version-check --no-deps \
        --no-build-isolation --wheel-dir "$raw" --config-settings=build-dir="$build" --config-settings=wheel.reproducible=true \
        --config-settings=cmake.args="--toolchain=$PWD/cmake/zig.cmake;-DFP32SHIM_ZIG=$zig;-DFP32SHIM_PROCESSOR=$processor;-DFP32SHIM_DEBIAN=OFF;-DFP32SHIM_HOST_COMMAND=$PWD/build/packaging-$own/bin/fp32shim"
    # auto: of another processor than this machine's it accepts no name.
    "$tools/bin/auditwheel" repair --plat auto --wheel-dir "$out" "$raw"/*.whl
    "$tools/bin/auditwheel" show "$out"/*"manylinux_2_17_$processor.whl"
done
