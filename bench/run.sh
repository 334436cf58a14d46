#!/usr/bin/env bash
# Builds the library and its benchmarks, measures the costs of the library and of similar tools, and prints tables.
#
#   bench/run.sh                              everything, some 25 minutes
#   bench/run.sh --quick                      a few products, seconds; the figures are rough
#   bench/run.sh --write docs/performance.md  also writes the figures and plots of that page
#   bench/run.sh --help                       all options
#
# Needs what tests/run.sh needs: OpenBLAS, numpy. FP32SHIM_BUILD: the build folder, default build.
set -euo pipefail
root=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${FP32SHIM_BUILD:-$root/build}
if [[ " $* " != *" --from "* && " $* " != *" --help "* ]]; then
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    { cmake --preset release -S "$root" -B "$build" -DFP32SHIM_BENCH=ON &&
        cmake --build "$build" --target fp32shim call_overhead call_overhead_library bench_products; } \
        >"$log" 2>&1 || { tail -n 30 "$log" >&2; exit 1; }
fi
"${FP32SHIM_SYSTEM_PYTHON:-/usr/bin/python3}" "$root/bench/performance.py" --build "$build" "$@"
