# Lists the Debian and Ubuntu packages that the project needs, and installs missing ones after asking. examples/demo.sh,
# tests/run.sh and .ci/run source this file. The names are those of Debian 12 and 13, Ubuntu 22.04 and 24.04.
# shellcheck shell=bash disable=SC2034

packages_to_build=(g++ cmake ninja-build libtomlplusplus-dev libcli11-dev libfmt-dev nlohmann-json3-dev libjs-chart.js libdw-dev zlib1g-dev
    liblz4-dev libzstd-dev)
packages_for_examples=(libopenblas-dev)
packages_for_tests=(libgtest-dev libbenchmark-dev gfortran python3-pytest python3-venv)
# Programs and libraries under which the whole-process tests run the shim. Tests of packages that a release lacks are
# skipped. libgoogle-perftools-dev is needed for libtcmalloc_minimal.so.4, whose own package has had another name
# since Debian 13.
packages_to_test_with=(
    clang libclang-rt-dev python3-jsonschema python3-numpy python3-scipy python3-sklearn python3-torch
    libopenblas0-pthread libopenblas64-0-pthread
    libblis4-pthread libblas3 liblapack3 libblas-test libjemalloc2 libgoogle-perftools-dev faketime heaptrack fakeroot
    strace patchelf jq musl-tools pkg-config btrfs-progs chromium chromium-driver python3-selenium
    bubblewrap openmpi-bin python3-mpi4py python3-prometheus-client python3-yaml systemd zsh busybox)
[[ $(uname -m) == aarch64 ]] || packages_to_test_with+=(g++-aarch64-linux-gnu qemu-user)
packages_for_lint=(clang-format clang-tidy)

# missing_packages NAME...: prints the packages that are not installed, one a line.
missing_packages() {
    local package
    for package; do
        dpkg-query --show --showformat='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
            echo "$package"
    done
}

# is_known NAME: succeeds if the package lists have NAME. Does not pipe into `grep -q`: on a long entry, grep would
# close the pipe, and apt-cache would fail, which under pipefail means "not known".
is_known() {
    [[ $(apt-cache show "$1" 2>/dev/null) ]]
}

# without_unknown NAME...: prints the packages that this release has, one a line, and reports the others.
without_unknown() {
    local package
    for package; do
        if is_known "$package"; then
            echo "$package"
        else
            echo "This release has no $package: going on without it." >&2
        fi
    done
}

# require_packages ask|yes NAME... [-- OPTIONAL...]: installs all packages; of the optional ones, those that this
# release has. Exits with status 2 if there is nobody to ask, and with 1 if the answer was no or the installation
# failed.
require_packages() {
    local consent=$1 missing required=() optional=() answer as_root=()
    shift
    while (($#)) && [[ $1 != -- ]]; do
        required+=("$1")
        shift
    done
    optional=("${@:2}")
    if ! command -v dpkg-query apt-get >/dev/null; then
        echo "No apt on this system: going on without a check. Needed, by their Debian names: ${required[*]} ${optional[*]}"
        return
    fi
    mapfile -t required < <(missing_packages "${required[@]}")
    mapfile -t optional < <(missing_packages "${optional[@]}")
    # A fresh image has no package lists yet, so optional packages cannot be checked before the update.
    if is_known g++; then
        mapfile -t optional < <(without_unknown "${optional[@]}")
    fi
    missing=("${required[@]}" "${optional[@]}")
    ((${#missing[@]})) || return 0

    ((EUID == 0)) || as_root=(sudo)
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends)
    echo "Missing packages: ${missing[*]}"
    echo "To install them: ${as_root[*]} apt-get update && ${install[*]} ${missing[*]}" | tr -s ' '
    if [[ $consent != yes ]]; then
        if [[ ! -t 0 ]]; then
            echo "Nobody to ask here: run that, or this script again with --yes." >&2
            exit 2
        fi
        read -r -p "Install them now? [y/N] " answer
        [[ $answer == [yY]* ]] || exit 1
    fi
    # A mirror that does not answer may not matter; if it does, the installation fails.
    "${as_root[@]}" apt-get update || echo "apt-get update failed: going on with the package lists at hand." >&2
    mapfile -t optional < <(without_unknown "${optional[@]}")
    "${install[@]}" "${required[@]}" "${optional[@]}" || exit 1
}
