#!/usr/bin/env bash
# Builds fp32shim-X.Y.Z-linux-MACHINE.tar.gz and fp32shim_X.Y.Z-1_ARCHITECTURE.deb, which run with any C library from 2.17 on.
# The same commit makes the same bytes, in any folder.
#
#   packaging/packages.sh [FOLDER]    into FOLDER, default build/packages-out
#
# For this machine's own architecture, by the tools that tools.sh sets up.
set -euo pipefail
out=${1:+$(realpath -m -- "$1")}
CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${out:-$PWD/build/packages-out}
. packaging/tools.sh

# build OPTIONS: configures with them, and builds what is installed.
build() {
    cmake -S . -B build/packages -G Ninja --toolchain "$PWD/cmake/zig.cmake" -DFP32SHIM_ZIG="$zig" -DCMAKE_BUILD_TYPE=Release \
        -DFP32SHIM_TESTS=OFF -DFP32SHIM_BENCH=OFF -DCMAKE_INSTALL_LIBDIR=lib "$@" >/dev/null
    cmake --build build/packages --target fp32shim fp32shim_command fp32shim_completions
}

# pack OPTIONS: packs that by CPack.
pack() {
    rm -rf build/packages/packed
    (cd build/packages && cpack -B packed "$@")
    find build/packages/packed -maxdepth 1 -name 'fp32shim*' ! -name '*.json' -exec cp {} "$out" \;
}

mkdir -p "$out"
build -DFP32SHIM_DEBIAN=OFF
pack

build -DFP32SHIM_DEBIAN=ON
# The newest version that a symbol needs. dpkg-shlibdeps would ask for 2.34, where glibc moved libpthread's symbols into libc.
glibc=$(readelf --wide --version-info build/packages/bin/fp32shim build/packages/lib/libfp32shim.so |
    sed -n 's/.*Name: GLIBC_\([0-9.]*\).*/\1/p' | sort --version-sort | tail -n 1)
pack -D CPACK_DEBIAN_PACKAGE_SHLIBDEPS=OFF -D CPACK_DEBIAN_PACKAGE_DEPENDS="libc6 (>= $glibc)"
