#!/usr/bin/env bash
# Tests the shim under unmodified wheels from PyPI, and under MKL: tests/preload/wheels/. Into folders of the virtual
# environment, it also fetches two versions of cuBLAS that torch does not use (cublas/, for tests/cublas/), other
# versions of pytest (pytest/), and Triton and cuda.bindings (kernels/).
#
#   tests/wheels.sh                  makes the virtual environment if needed, then runs the tests
#   tests/wheels.sh --prepare        only makes it; the one line on stdout is its path
#   tests/wheels.sh [PYTEST ARGS]    for example test_mkl.py, or -k faiss
#
#   FP32SHIM_WHEELS   the virtual environment, default build/wheels; one that this script did not make is used unchanged
#   FP32SHIM_LIBRARY  the shim, default build/lib/libfp32shim.so
#   PYTHON            interpreter for the environment, default python3; 3.11 or newer, with venv
set -euo pipefail

root=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
here=$root/tests/preload/wheels
wheels=${FP32SHIM_WHEELS:-$root/build/wheels}
python=${PYTHON:-python3}

say() { echo "wheels: $*" >&2; }
fail() { say "$*"; exit 1; }

# Prints the version of Python and the list of wheels. If this text changes, the environment is made again.
recipe() { "$python" -c 'import platform, sys; print(sys.version, platform.machine())'; cat "$here/requirements.txt"; }

# install ARGS: runs pip install, and prints one line per wheel as it arrives.
install() {
    "$wheels/bin/python" -m pip install --no-deps --no-compile --disable-pip-version-check --progress-bar off \
        "$@" 2>&1 | tee "$wheels/pip.log" |
        sed -un -e 's/^Collecting \([^ ]*\).*/wheels:   \1/p' -e 's/^Installing collected.*/wheels:   unpacking/p' >&2 ||
        { tail -n 20 "$wheels/pip.log" >&2; fail "pip failed; $wheels/pip.log has it all"; }
}

make_environment() {
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "$python is $("$python" -V), these wheels need 3.11 or newer: set PYTHON to one"
    local free
    free=$(df -Pk "$(dirname "$wheels")" | awk 'NR == 2 { print int($4 / 1024 / 1024) }')
    [ "$free" -ge 10 ] || say "only ${free} GiB free at $wheels, the wheels take 8.5: set FP32SHIM_WHEELS to another place"
    say "making $wheels: $(grep -c == "$here/requirements.txt") wheels, about 6 GiB, one to three minutes"
    "$python" -m venv --clear "$wheels" || fail "no virtual environment: install venv (Debian, Ubuntu: python3-venv)"
    : > "$wheels/fp32shim-recipe"
    install -r "$here/requirements.txt"
    recipe > "$wheels/fp32shim-recipe"
    say "made in ${SECONDS} s, $(du -sh "$wheels" | cut -f1)"
}

# Adds other versions of cuBLAS beside torch's own, without replacing it.
add_cublas() {
    rm -rf "$wheels/cublas"
    say "adding cuBLAS: $(grep == "$here/cublas.txt" | tr '\n' ' ')about 1.5 GiB"
    install --target "$wheels/cublas" -r "$here/cublas.txt"
    cp "$here/cublas.txt" "$wheels/cublas/fp32shim-recipe"
}

# Adds other versions of pytest, each in a folder of its own.
add_pytest() {
    rm -rf "$wheels/pytest"
    local each
    for each in $(grep == "$here/pytest.txt"); do
        say "adding $each"
        install --target "$wheels/pytest/${each#*==}" "$each"
    done
    cp "$here/pytest.txt" "$wheels/pytest/fp32shim-recipe"
}

# Adds packages that launch GPU kernels, in a folder where torch does not find them: with them, torch would load other code.
add_kernels() {
    rm -rf "$wheels/kernels"
    say "adding $(grep == "$here/kernels.txt" | tr '\n' ' ')about 1 GiB"
    install --target "$wheels/kernels" -r "$here/kernels.txt"
    cp "$here/kernels.txt" "$wheels/kernels/fp32shim-recipe"
}

mkdir -p "$(dirname "$wheels")"
if [ ! -e "$wheels/bin/python" ] || [ -e "$wheels/fp32shim-recipe" ]; then
    if [ "$(recipe)" != "$(cat "$wheels/fp32shim-recipe")" ]; then make_environment; else say "$wheels is up to date"; fi
    cmp -s "$here/cublas.txt" "$wheels/cublas/fp32shim-recipe" || add_cublas
    cmp -s "$here/pytest.txt" "$wheels/pytest/fp32shim-recipe" || add_pytest
    cmp -s "$here/kernels.txt" "$wheels/kernels/fp32shim-recipe" || add_kernels
else
    say "$wheels was not made by this script: used as it is"
fi

if [ "${1:-}" = --prepare ]; then
    echo "$wheels"
    exit
fi
cd "$here"
exec "$wheels/bin/python" -m pytest -p no:cacheprovider --rootdir=. --confcutdir=. "$@"
