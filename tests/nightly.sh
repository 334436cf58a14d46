#!/usr/bin/env bash
# Runs the long forms of the tests in tests/run.sh, and tests that are too slow for every change. Run tests/run.sh first: it
# installs and builds. Takes some two hours on two cores. Each part prints its result; its output is in build/nightly/.
#
#   tests/nightly.sh                  everything
#   tests/nightly.sh products races   only these
#
#   products   ten million random products, compared with the same calls without the shim; 10,000 of each routine in a fixed
#              order, against float64; 2,000 of each under every library, kernel, number of threads and instruction set
#   races      first products of eight threads at once, 1,000 times
#   faults     exhausted memory, refused system calls, forks at bad moments, 1,000 times each; kills, cut and damaged
#              recordings and the other faults of docs/reliability.md, 200 times each; FP32SHIM_TEST_REPEATS sets both
#   pages      commands of the documentation that take a minute each
#   gpu-check  gpu-check on the stand-in within 120 and 300 seconds; a preview of a whole product of an H200
#   bisect     the search of bisect on 1,000 random programs of each kind, and on scripts for torch and scikit-learn
#   planted    240 programs of which it is known what must stay exact, given to bisect, sensitivity and verify
#   programs   R, Octave, scikit-learn and other programs of Debian that are installed, under `run --reproducible`
#   where      10,000 random call trees on each Python that is found (pyenv's too), a million call paths
#   wheel      the wheels of both processors, built and tried in bare Debian 11, 12 and 13 (needs root, debootstrap, qemu)
#   packages   .deb, .tar.gz and wheel of the last commit, built twice and compared, and tried in bare Debian systems (needs root,
#              debootstrap, lintian)
#   deploy     docs/deploy.md in whole systems: Slurm, buildah, services, /etc/ld.so.preload. On Debian, as root
#   fleet      10,000 recordings of 1,000 rows (6 GB); queries by Spark, which it installs (400 MB; needs Java 17)
#   notebooks  notebooks that nbconvert and JupyterLab execute; installs Jupyter for them (needs chromium)
#   fuzz       the readers of recordings and of GPU kernels, by libFuzzer, for ten minutes each
#   clang      everything built by clang, the command too
#   lint       clang-tidy with its analyzer, on the command too
set -uo pipefail
CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
root=$PWD
logs=$root/build/nightly
python=${FP32SHIM_SYSTEM_PYTHON:-/usr/bin/python3}

# Runs one pytest file outside ctest, which would end it after a time limit.
long_test() {
    local file=$1
    shift
    env FP32SHIM_BUILD="$root/build" FP32SHIM_TEST_CLIENTS="$root/build/tests/clients" \
        FP32SHIM_SYSTEM_PYTHON="$python" PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONUTF8=1 \
        "$python" -m pytest -q -rsP "tests/$file" "$@"
}

products() {
    # 44 settings with some 230,000 calls each. The seed changes every night; a test that fails prints it.
    FP32SHIM_RANDOM_PRODUCTS=280000 FP32SHIM_RANDOM_SEED=$(date +%Y%m%d) long_test preload/test_random_products.py &&
        FP32SHIM_RANDOM_PRODUCTS=10000 long_test preload/test_reproducible.py -k errors &&
        FP32SHIM_RANDOM_PRODUCTS=2000 FP32SHIM_RANDOM_SEED=$(date +%Y%m%d) long_test preload/test_random_calls.py
}

races() { FP32SHIM_TEST_REPEATS=1000 long_test recording/test_races.py; }

faults() {
    local failed=0
    FP32SHIM_TEST_REPEATS=${FP32SHIM_TEST_REPEATS:-1000} long_test recording/test_faults.py || failed=1
    FP32SHIM_TEST_REPEATS=${FP32SHIM_TEST_REPEATS:-200} long_test recording --ignore=tests/recording/test_faults.py || failed=1
    return "$failed"
}

# Each Python reads the call trees with the library that the tests build, without the shim.
where() {
    local failed=0 found seed
    seed=$(date +%Y%m%d)
    for found in /usr/bin/python3.{9,1?} /opt/*/bin/python3.1?t ~/.pyenv/versions/*/bin/python3; do
        [[ -x $found ]] && "$found" -c 'import ctypes, sys; sys.exit(not (3, 9) <= sys.version_info < (3, 15))' || continue
        printf '%s: ' "$("$found" -c 'import sys; print(sys.version.replace("\n", ""))')"
        "$found" tests/preload/clients/scripts/python_stacks.py build/tests/clients/libpython_stack.so \
            "$seed" "${FP32SHIM_RANDOM_TREES:-10000}" || failed=1
    done
    FP32SHIM_DAMAGED_TABLES=300 long_test preload/test_native_stacks.py || failed=1
    return "$failed"
}

wheel() {
    packaging/wheel.sh build/nightly/wheels aarch64 &&
        FP32SHIM_WHEEL_FOLDER=$root/build/nightly/wheels long_test packages/systems/test_wheel.py
}

# Builds twice: in folders of different names and depths, and with another umask, time zone and language. The packages of
# both builds must have the same bytes.
packages() {
    local made=$logs/packages file failed=0
    rm -rf "$made"
    export FP32SHIM_PACKAGING_TOOLS=$root/build/packaging-tools
    make_packages "$root" "$made/one" "$made/first" &&
        (umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 make_packages "$made/one" "$made/another/place" "$made/second") || return
    for file in "$made"/first/*; do cmp "$file" "$made/second/${file##*/}" || failed=1; done
    FP32SHIM_PACKAGE_FOLDER=$made/first long_test packages/systems/test_package_files.py \
        tests/packages/systems/test_debian_package.py tests/packages/systems/test_self_extracting.py || failed=1
    return "$failed"
}

# make_packages REPOSITORY CLONE FOLDER: builds all packages of the repository's last commit into FOLDER.
make_packages() {
    git clone --quiet "$1" "$2" && "$2/packaging/packages.sh" "$3" && "$2/packaging/wheel.sh" "$3"
}

# Uses the wheels of the part `wheel`, or builds them.
deploy() {
    local folder=$root/build/nightly/deploy wheels=$root/build/nightly/wheels
    compgen -G "$wheels/*.whl" >/dev/null || packaging/wheel.sh build/nightly/wheels || return
    tests/deploy/roots/make.sh "$folder" &&
        FP32SHIM_DEPLOY_ROOTS=$folder FP32SHIM_WHEEL_FOLDER=$wheels long_test deploy/roots
}

fleet() {
    local environment=$logs/spark
    command -v java || { echo "Spark needs Java 17 (Debian, Ubuntu: openjdk-17-jre-headless)"; return 1; }
    "$environment/bin/python" -c 'import pyspark' 2>/dev/null ||
        { "$python" -m venv --clear "$environment" && "$environment/bin/pip" install --quiet pyspark==4.3.0 duckdb==2.0.0; } ||
        return 1
    FP32SHIM_FLEET_RECORDINGS=10000 FP32SHIM_SPARK=$environment FP32SHIM_WHEELS=$environment long_test fleet
}

pages() { FP32SHIM_NIGHT=1 long_test cli/test_readme.py -k each_command; }

gpu-check() {
    FP32SHIM_GPU_CHECK_SECONDS="120 300" long_test cublas/test_gpu_check.py -k within_its_seconds &&
        FP32SHIM_WHOLE_PRODUCT=1 long_test cublas/test_judges.py -k whole_product
}

notebooks() {
    local environment=$logs/notebooks
    "$environment/bin/python" -c 'import jupyterlab, playwright' 2>/dev/null ||
        { "$python" -m venv --clear "$environment" &&
            "$environment/bin/pip" install --quiet pytest numpy ipykernel nbconvert pandas jupyterlab playwright; } || return 1
    FP32SHIM_WHEELS=$environment tests/wheels.sh test_notebooks.py
}

bisect() {
    FP32SHIM_BISECT_PROGRAMS=1000 build/bin/cli_tests --gtest_filter='*BisectSearch*' && tests/wheels.sh test_bisect.py
}

planted() { long_test cli/programs/planted.py; }

programs() { long_test preload/programs/outcomes.py; }

fuzz() {
    cmake --preset clang -B build/fuzz -DFP32SHIM_FUZZ=ON -DFP32SHIM_BENCH=OFF -DFP32SHIM_CUDA_INCLUDE=OFF &&
        cmake --build build/fuzz --target recording_reader_fuzzer kernel_image_fuzzer &&
        fuzz_one recording_reader_fuzzer tests/fuzz/corpus && fuzz_one kernel_image_fuzzer tests/unit/record/kernel_images
}

# fuzz_one FUZZER FOLDER: runs a fuzzer on the inputs in FOLDER, and keeps the inputs that it finds for the next night.
fuzz_one() {
    mkdir -p "build/fuzz/found/$1" && cp -n "$2"/* "build/fuzz/found/$1/" &&
        (cd build/fuzz && "bin/$1" -max_total_time="${FUZZ_SECONDS:-600}" -timeout=10 -rss_limit_mb=2048 "found/$1")
}

clang() { cmake --preset clang && cmake --build build/clang; }  # compiles each file alone, also those of the tests

lint() {
    clang && git ls-files 'system/*.cpp' 'policy/*.cpp' 'record/*.cpp' 'shim/*.cpp' 'cli/*.cpp' |
        xargs -P "$(nproc)" -n 4 clang-tidy -p build/clang --quiet
}

all=(products races faults pages gpu-check bisect planted programs where wheel packages deploy fleet notebooks fuzz clang lint)
case ${1-} in --help | -h) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit ;; esac
for part in "$@"; do
    if [[ " ${all[*]} " != *" $part "* ]]; then
        echo "tests/nightly.sh: found \"$part\"; allowed: ${all[*]}" >&2
        exit 2
    fi
done
[[ -e build/lib/libfp32shim.so ]] || { echo "tests/nightly.sh: nothing is built; run tests/run.sh first" >&2; exit 2; }

mkdir -p "$logs"
failed=0
(($#)) || set -- "${all[@]}"
for part in "$@"; do
    printf '%s  ' "$part"
    began=$SECONDS
    if "$part" >"$logs/$part.log" 2>&1; then
        echo "passed in $((SECONDS - began)) s"
    else
        echo "FAILED after $((SECONDS - began)) s: build/nightly/$part.log"
        failed=1
    fi
done
exit "$failed"
