#!/usr/bin/env bash
# Builds fp32shim-X.Y.Z-linux-PROCESSOR.tar.gz and fp32shim_X.Y.Z-1_ARCHITECTURE.deb, which run with any C library from 2.17 on, and
# fp32shim-X.Y.Z-gpu-check-linux-PROCESSOR.sh, a self-extracting archive that runs `fp32shim gpu-check`.
#
#   packaging/packages.sh [FOLDER [PROCESSOR...]]    writes to FOLDER, default build/packages-out, for this machine's processor,
#                                                    and also for each PROCESSOR: aarch64 or x86_64
#
# Uses the tools that tools.sh sets up. Equal commits give equal bytes. Takes some five minutes on two cores per processor.
set -euo pipefail
out=${1:+$(realpath -m -- "$1")}
shift || true
CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${out:-$PWD/build/packages-out}
own=$(uname -m)
. packaging/tools.sh

# build OPTIONS: configures with OPTIONS, and builds everything that is installed.
build() {
    cmake -S . -B "$build" -G Ninja --toolchain "$PWD/cmake/zig.cmake" -DFP32SHIM_ZIG="$zig" -DFP32SHIM_PROCESSOR="$processor" \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_SHARED_LINKER_FLAGS=-s -DCMAKE_EXE_LINKER_FLAGS=-s -DCMAKE_INSTALL_LIBDIR=lib \
        -DCMAKE_INSTALL_PREFIX=/usr -DFP32SHIM_PYTHON_MODULE=ON -DFP32SHIM_TESTS=OFF -DFP32SHIM_BENCH=OFF "$@" >/dev/null
    cmake --build "$build" --target fp32shim fp32shim_command gpu_check fp32shim_completions
}

# pack OPTIONS: makes a package of that build by CPack.
pack() {
    rm -rf "$build/packed"
    (cd "$build" && cpack -B packed "$@")
    find "$build/packed" -maxdepth 1 -type f ! -name '*.json' -exec cp {} "$out" \;
}

# Prints the newest version of the C library that a symbol needs. dpkg-shlibdeps would print 2.34, the version in
# which glibc moved the symbols of libpthread into libc.
needed_glibc() {
    readelf --wide --version-info "$build/bin/fp32shim" "$build/lib/libfp32shim.so" "$build/libexec/fp32shim/gpu-check" |
        sed -n 's/.*Name: GLIBC_\([0-9.]*\).*/\1/p' | sort --version-sort | tail -n 1
}

mkdir -p "$out"
for processor in "$own" "${@/#$own/}"; do
    [[ $processor ]] || continue
    build=build/packaging-$processor  # wheel.sh uses the same folder, and so the same objects
    foreign=()
    [[ $processor == "$own" ]] || foreign=(-DFP32SHIM_HOST_COMMAND="$PWD/build/packaging-$own/bin/fp32shim")
    build -DFP32SHIM_DEBIAN=OFF "${foreign[@]}"
    pack
    archive=$(basename "$build"/packed/fp32shim-*-linux-"$processor".tar.gz)
    packaging/self-extracting.sh "$out/$archive" "$out/$(sed 's/-linux-/-gpu-check-linux-/; s/tar.gz$/sh/' <<<"$archive")"
    build -DFP32SHIM_DEBIAN=ON "${foreign[@]}"
    pack -D CPACK_DEBIAN_PACKAGE_SHLIBDEPS=OFF -D CPACK_DEBIAN_PACKAGE_DEPENDS="libc6 (>= $(needed_glibc))"
done
