#!/usr/bin/env bash
# Builds the wheels that run on any Linux with a C library from 2.17 on: fp32shim-X.Y.Z-py3-none-manylinux*_2_17_*.whl.
#
#   packaging/wheel.sh [FOLDER [PROCESSOR...]]    writes to FOLDER, default build/wheels-out, for this machine's processor, and
#                                                 also for each PROCESSOR: aarch64 or x86_64
#
# Uses the tools that tools.sh sets up. Equal commits give equal bytes. The first processor takes some ten minutes on two cores.
set -euo pipefail
CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=${1:-build/wheels-out}
shift || true
own=$(uname -m)
. packaging/tools.sh

# This machine's processor comes first: its command writes the completion files that all wheels install.
for processor in "$own" "${@/#$own/}"; do
    [[ $processor ]] || continue
    build=build/packaging-$processor  # packages.sh uses the same folder, and so the same objects
    raw=$build/raw
    rm -rf "$raw"
    # This variable sets the platform in the wheel's tag; pip itself runs on this machine.
    _PYTHON_HOST_PLATFORM=linux-$processor "$tools/bin/pip" wheel . --quiet --disable-pip-version-check --no-deps \
        --no-build-isolation --wheel-dir "$raw" --config-settings=build-dir="$build" --config-settings=wheel.reproducible=true \
        --config-settings=cmake.args="--toolchain=$PWD/cmake/zig.cmake;-DFP32SHIM_ZIG=$zig;-DFP32SHIM_PROCESSOR=$processor;-DFP32SHIM_DEBIAN=OFF;-DFP32SHIM_HOST_COMMAND=$PWD/build/packaging-$own/bin/fp32shim"
    # auto, since auditwheel accepts no platform name for a processor other than this machine's.
    "$tools/bin/auditwheel" repair --plat auto --wheel-dir "$out" "$raw"/*.whl
    "$tools/bin/auditwheel" show "$out"/*"manylinux_2_17_$processor.whl"
done
