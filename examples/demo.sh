#!/usr/bin/env bash
# The main job, from a fresh Debian 12/13 or Ubuntu 22.04/24.04: installs what is missing (after asking), builds, and
# runs examples/qtlq three times: unmodified; with `high` (TF32) previewed on the CPU; with `high` and a policy that
# pins its product to FP32. Exits with 0 if all three came out as they should.
#
#   examples/demo.sh [--yes]     --yes: install missing packages without asking
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source config/packages.sh

# Relative, as the loader takes it from here: LD_PRELOAD has no way to quote a blank in a path.
shim=build/lib/libfp32shim.so
results=build/demo
high=("LD_PRELOAD=$shim" FP32_MATMUL_PRECISION=high FP32_MATMUL_CPU=emulate FP32_MATMUL_LOG=stderr)
failed=0

usage() {
    sed -n '/^#!/d; /^#/!q; s/^# \{0,1\}//p' examples/demo.sh
}

heading() {
    printf '\n== %s\n' "$*"
}

build() {
    heading "Build (Release, into build/)"
    # A build folder keeps the generator that it was first configured with.
    local generator=(-G Ninja)
    [[ -e build/CMakeCache.txt ]] && generator=()
    cmake -S . -B build "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DFP32SHIM_TESTS=OFF -DFP32SHIM_BENCH=OFF
    cmake --build build
    local file
    for file in "$shim" build/bin/qtlq; do
        [[ -e $file ]] || { echo "demo.sh: the build left no $file; see its messages above" >&2; exit 1; }
    done
}

# run NAME [VARIABLE=VALUE...]: NAME.txt gets the table, NAME.log what the shim said, NAME.csv all 128 values.
run() {
    local name=$1
    shift
    printf '$ %sbuild/bin/qtlq\n' "${*:+$* }"
    if ! env "$@" build/bin/qtlq >"$results/$name.txt" 2>"$results/$name.log" ||
        ! env "$@" build/bin/qtlq --csv >"$results/$name.csv" 2>/dev/null; then
        cat "$results/$name.log" >&2
        echo "demo.sh: qtlq failed; what it and the shim said stands above" >&2
        exit 1
    fi
    tail -n 1 "$results/$name.txt"
}

run_all() {
    # The demonstration's settings, not those of the shell that it was started from.
    unset LD_PRELOAD "${!FP32_MATMUL_@}"
    mkdir -p "$results"
    heading "1. Unmodified"
    run unmodified
    heading "2. high: what TF32 would do, previewed on this CPU"
    run high "${high[@]}"
    heading "3. high, but a rule of examples/qtlq/pin.toml keeps this product at FP32"
    run pinned "${high[@]}" FP32_MATMUL_POLICY=examples/qtlq/pin.toml
}

# Four of the rows: the largest eigenvalue, and three that TF32 gets wrong, two of them down to the sign.
show_table() {
    heading "Four eigenvalues"
    awk -F, '
        BEGIN { printf "%5s  %12s  %14s  %12s  %12s  %12s\n",
                       "index", "exact", "published TF32", "unmodified", "high", "high, pinned" }
        FNR == 1 { ++file }
        /^#/ || /^index/ { next }
        file == 1 { exact[$1] = $2; published[$1] = $4; next }
        { value[file, $1] = $2 }
        END {
            count = split("0 80 124 126", rows, " ")
            for (i = 1; i <= count; ++i) {
                r = rows[i]
                printf "%5d  %12.5g  %14.5g  %12.5g  %12.5g  %12.5g\n",
                       r, exact[r], published[r], value[2, r], value[3, r], value[4, r]
            }
        }' examples/qtlq/reference.csv "$results"/{unmodified,high,pinned}.csv
}

show_decisions() {
    heading "What the shim decided, and why"
    local name
    for name in high pinned; do
        sed "s/^/[$name] /" "$results/$name.log"
    done
}

# expect TEXT COMMAND...: says whether COMMAND holds.
expect() {
    local text=$1
    shift
    if "$@"; then
        echo "yes  $text"
    else
        echo "NO   $text"
        failed=1
    fi
}

check() {
    heading "As it should be?"
    expect "unmodified agrees with the published FP32 values" \
        grep -q '^agrees with: published FP32' "$results/unmodified.txt"
    expect "high agrees with the values published for TF32 on a GPU" \
        grep -q '^agrees with: published TF32' "$results/high.txt"
    expect "pinned is unmodified again, in every bit of all 128 values" \
        cmp -s "$results/unmodified.csv" "$results/pinned.csv"
}

show_next() {
    heading "Where to look next"
    cat <<EOF
the whole tables           $results/*.txt
your own program           LD_PRELOAD=\$PWD/$shim FP32_MATMUL_PRECISION=high FP32_MATMUL_CPU=emulate PROGRAM
settings and limits        README.md
more examples, scopes      examples/README.md
policies ready for use     config/
formats and reference      docs/
EOF
}

main() {
    local consent=ask
    case ${1-} in
        '') ;;
        --yes) consent=yes ;;
        -h | --help)
            usage
            exit ;;
        *)
            usage >&2
            exit 2 ;;
    esac
    require_packages "$consent" "${packages_to_build[@]}" "${packages_for_examples[@]}"
    build
    run_all
    show_table
    show_decisions
    check
    show_next
    exit "$failed"
}

main "$@"
