#!/usr/bin/env bash
# Builds everything and runs the tests. Installs missing packages, after asking.
#
#   tests/run.sh              build into build/, unit tests and whole-process tests
#   tests/run.sh --wheels     also under wheels from PyPI and MKL, in build/wheels (about 7.5 GiB)
#   tests/run.sh --as avx2    as on an older processor: programs, libraries and the shim use nothing newer than AVX2
#   tests/run.sh --yes        install missing packages without asking
#   tests/run.sh -- ARGS      pass ARGS to ctest: tests/run.sh -- -R policy
#
# tests/nightly.sh runs the long forms of some tests.
set -euo pipefail
CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.."
source config/packages.sh

consent=ask
wheels=
as=
ctest_arguments=()
while (($#)); do
    case $1 in
        --yes) consent=yes ;;
        --wheels) wheels=yes ;;
        --as)
            if [[ ${2-} != avx2 ]]; then
                echo "tests/run.sh: found \"${2-}\" after --as; allowed: avx2" >&2
                exit 2
            fi
            as=$2
            shift
            ;;
        --help | -h) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' tests/run.sh; exit ;;
        --) shift; ctest_arguments=("$@"); break ;;
        *) echo "tests/run.sh: unknown argument '$1'; --help lists what it takes" >&2; exit 2 ;;
    esac
    shift
done

if [[ $as ]] && ! grep -qw "$as" /proc/cpuinfo; then
    echo "tests/run.sh: --as $as needs a processor that has $as" >&2
    exit 2
fi

# The tests do not work in a folder with one of these characters in its path (the build and examples/demo.sh do).
# LD_PRELOAD cannot quote blanks and colons. CMake commands cannot quote commas in the path of a library, nor brackets
# in the path of a folder that they list.
for folder in "$PWD" "${TMPDIR:-/tmp}"; do
    [[ $folder == *[][[:space:]:,\*\?]* ]] || continue
    echo "tests/run.sh: found the folder \"$folder\"; allowed for the checkout and for TMPDIR: a path without blanks and" \
        "without : , [ ] * ?" >&2
    exit 2
done

require_packages "$consent" "${packages_to_build[@]}" "${packages_for_examples[@]}" "${packages_for_tests[@]}" \
    -- "${packages_to_test_with[@]}"

# Sets these options again: a build folder keeps its last configuration, and examples/demo.sh leaves the tests out.
configure=(-DFP32SHIM_TESTS=ON -DFP32SHIM_BENCH=ON -DFP32SHIM_WHEELS=)
if [[ $wheels ]]; then configure+=("-DFP32SHIM_WHEELS=$(tests/wheels.sh --prepare)"); fi
cmake --preset release "${configure[@]}" >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
rm build-configure.log
cmake --build build

# Tests name the libraries and settings that they use. Variables of the user's shell must not select others.
unset LD_PRELOAD LD_LIBRARY_PATH FP32SHIM_LIBRARY FP32SHIM_COMMAND "${!FP32_MATMUL_@}" "${!NVIDIA_@}" "${!CUBLAS_@}" \
    "${!STAND_IN_@}" "${!GTEST_@}"
if [[ $as ]]; then export FP32_MATMUL_INSTRUCTIONS=$as; fi  # tests/preload/processor.py adds the variables of libraries
status=0
# More tests at once than there are processors, because a fourth of their time is waiting.
ctest --test-dir build --no-tests=error --output-on-failure --parallel "$(($(nproc) * 3 / 2 + 1 / $(nproc)))" "${ctest_arguments[@]}" \
    >build/tests.log 2>&1 || status=$?
sed -n '/^ *[0-9]*\/[0-9]* Test .*Passed\|^ *Start /!p' build/tests.log
tests/skips.py build/Testing/Temporary/LastTest.log || true
grep -a 'tests passed' build/tests.log
exit "$status"
