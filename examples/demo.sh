#!/usr/bin/env bash
# Demonstrates fp32shim on a fresh Debian 12/13 or Ubuntu 22.04/24.04: installs missing packages (after asking), builds,
# and runs examples/qtlq three times: unmodified; with `high` (TF32) previewed on the CPU; with `high` and a policy
# that pins its product to FP32. Then writes a report as an HTML page. Exits with 0 if all results are as expected.
#
#   examples/demo.sh [--yes]     --yes: install missing packages without asking
set -euo pipefail
CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.."
source config/packages.sh

fp32shim=build/bin/fp32shim
results=build/demo
high=(--precision high --cpu emulate)
failed=0

usage() {
    sed -n '/^#!/d; /^#/!q; s/^# \{0,1\}//p' examples/demo.sh
}

heading() {
    printf '\n== %s\n' "$*"
}

build() {
    heading "Build (Release, into build/)"
    # An existing build folder keeps the generator of its first configuration.
    local generator=(-G Ninja)
    [[ -e build/CMakeCache.txt ]] && generator=()
    cmake -S . -B build "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DFP32SHIM_TESTS=OFF -DFP32SHIM_BENCH=OFF
    cmake --build build
    local file
    for file in build/lib/libfp32shim.so "$fp32shim" build/bin/qtlq; do
        [[ -e $file ]] || { echo "demo.sh: the build left no $file; see its messages above" >&2; exit 1; }
    done
}

# products NAME [COMMAND...]: runs qtlq under COMMAND. The table goes to NAME.txt, the output of COMMAND to NAME.log.
products() {
    local name=$1
    shift
    echo "\$ ${*:+$* }build/bin/qtlq"
    if ! "$@" build/bin/qtlq >"$results/$name.txt" 2>"$results/$name.log"; then
        cat "$results/$name.log" >&2
        echo "demo.sh: qtlq failed; what it and fp32shim said stands above" >&2
        exit 1
    fi
    tail -n 1 "$results/$name.txt"
    cat "$results/$name.log"
}

# values NAME [COMMAND...]: runs qtlq under COMMAND again, and writes all 128 values to NAME.csv.
values() {
    "${@:2}" build/bin/qtlq --csv >"$results/$1.csv"
}

# recorded NAME [OPTION...]: does both under `fp32shim run`, and records every call of the first run in NAME.fp32rec.
recorded() {
    local name=$1
    shift
    rm -f "$results/$name".*fp32rec # a recording is never overwritten; a second one would get a number in its name
    products "$name" "$fp32shim" run "$@" --log "$results/$name.fp32rec" --level calls --
    values "$name" "$fp32shim" run --quiet "$@" --
}

run_all() {
    # Removes settings of the calling shell, so that only the demonstration's own settings apply.
    unset LD_PRELOAD FP32SHIM_LIBRARY "${!FP32_MATMUL_@}"
    if [[ $PWD == *[[:space:]:]* ]]; then
        # LD_PRELOAD cannot quote a blank in a path.
        links=$(mktemp -d)
        trap 'rm -r "$links"' EXIT
        ln -s "$PWD/build/lib/libfp32shim.so" "$links"
        export FP32SHIM_LIBRARY=$links/libfp32shim.so
    fi
    mkdir -p "$results"
    heading "1. Unmodified"
    products unmodified
    values unmodified
    heading "2. high: what TF32 would do, previewed on this CPU"
    recorded high "${high[@]}"
    heading "3. high, but a rule of examples/qtlq/pin.toml keeps this product at FP32"
    recorded pinned "${high[@]}" --policy examples/qtlq/pin.toml
}

# Shows four rows: the largest eigenvalue, and three that TF32 gets wrong, two of them even in sign.
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

write_report() {
    heading "The report"
    echo "\$ $fp32shim report --format html --output $results/report.html $results/{high,pinned}.fp32rec"
    "$fp32shim" report --format html --output "$results/report.html" "$results"/{high,pinned}.fp32rec
    echo "Open in a browser: file://$PWD/$results/report.html"
}

# expect TEXT COMMAND...: prints TEXT, and whether COMMAND succeeded.
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

# ran_at NAME FORMAT: succeeds if the recording shows that every product ran at FORMAT.
ran_at() {
    "$fp32shim" report --format json --output "$results/$1.json" "$results/$1.fp32rec"
    [[ $(grep '"applied":' "$results/$1.json" | sort -u | tr -d ' ,') == "\"applied\":\"$2\"" ]]
}

# verify_says STATUS NAME: succeeds if `verify` ends with STATUS. 0: shown, 1: violated.
verify_says() {
    local status=0
    "$fp32shim" verify --at-least fp32 "$results/$2.fp32rec" >"$results/$2.verify.txt" || status=$?
    ((status == $1))
}

check() {
    heading "Checks"
    expect "unmodified agrees with the published FP32 values" \
        grep -q '^agrees with: published FP32' "$results/unmodified.txt"
    expect "high agrees with the values published for TF32 on a GPU" \
        grep -q '^agrees with: published TF32' "$results/high.txt"
    expect "pinned is unmodified again, in every bit of all 128 values" \
        cmp -s "$results/unmodified.csv" "$results/pinned.csv"
    expect "the recording of high says that its product ran at TF32" ran_at high tf32
    expect "the recording of pinned says that its product ran at FP32" ran_at pinned fp32
    expect "fp32shim verify --at-least fp32 finds high in violation" verify_says 1 high
    expect "fp32shim verify --at-least fp32 finds that pinned shows it" verify_says 0 pinned
}

show_next() {
    heading "Where to look next"
    cat <<EOF
the report                 $results/report.html
the whole tables           $results/*.txt
your own program           $fp32shim run --precision high --cpu emulate -- PROGRAM
what will be seen of it    $fp32shim doctor -- PROGRAM
settings and limits        docs/settings.md, docs/what-it-sees.md
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
    write_report
    check
    show_next
    exit "$failed"
}

main "$@"
