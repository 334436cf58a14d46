#!/usr/bin/env bash
# Builds fp32shim-X.Y.Z-linux-MACHINE.tar.gz, and fp32shim_X.Y.Z-1_ARCHITECTURE.deb where dpkg-shlibdeps (Debian, Ubuntu: dpkg-dev)
# is installed. Both run with any C library from 2.17 on. The same commit makes the same bytes, in any folder.
#
#   packaging/packages.sh [FOLDER]    into FOLDER, default build/packages-out
#
# For this machine's own architecture, by the tools that tools.sh sets up.
set -euo pipefail
out=$(mkdir -p "${1:-$(dirname "${BASH_SOURCE[0]}")/../build/packages-out}" && cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../build/packages-out}" && pwd)
CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.."
. packaging/tools.sh

# pack FOLDERS: configures for these folders, builds what is installed, and packs it.
pack() {
    cmake -S . -B build/packages -G Ninja --toolchain "$PWD/cmake/zig.cmake" -DFP32SHIM_ZIG="$zig" -DCMAKE_BUILD_TYPE=Release \
        -DFP32SHIM_TESTS=OFF -DFP32SHIM_BENCH=OFF -DCMAKE_INSTALL_LIBDIR=lib "$@" >/dev/null
    cmake --build build/packages --target fp32shim fp32shim_command fp32shim_completions
    (cd build/packages && cpack -B "$out")
    rm -rf "$out/_CPack_Packages"
}

pack -DFP32SHIM_DEBIAN=OFF
if command -v dpkg-shlibdeps >/dev/null; then
    pack -DFP32SHIM_DEBIAN=ON
else
    echo "packages.sh: no .deb without dpkg-shlibdeps (Debian, Ubuntu: dpkg-dev)" >&2
fi
