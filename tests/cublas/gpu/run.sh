#!/usr/bin/env bash
# Tests fp32shim on this machine's GPU, and asks its cuBLAS questions that the manual leaves open.
#
#   ./run.sh [OPTION...] [SECTION...]
#
# Sections, in this order, and their shares of the time. Time that one leaves over goes to later ones:
#   check        120   gpu-check: the verdict
#   modes         60   effects of math modes and compute types
#   floor         15   the programs of the project's tests under a floor, while they ask for TF32
#   questions    115   further behaviour of cuBLAS, and the experiments on it
#   qtlq          10   the published TF32 case through cuBLAS
#   frameworks   175   PyTorch, CuPy, JAX and onnxruntime, one after the other, then the experiments on them
#   clients       40   the programs of the project's tests, at each precision
# Without a section: all of them. Rows are written as they arrive, so a stopped run keeps its rows.
#
#   --quick             less of each
#   --output FOLDER     folder for results.md, verdict.json, results.tsv, rows.tsv, logs/; default ./gpu-results-DATE.
#                       At the end FOLDER.tar.gz has all of it. Of an earlier run in the same folder, rows.tsv keeps
#                       the answers to what this run does not ask or cannot tell
#   --time-limit N      seconds, which the sections share as above; default 540, with --quick 240
#   --limits            print the time limit of each section
#   --libraries FOLDER  folder with cuBLAS (default: it is searched for)
#   --python PROGRAM    the Python that has PyTorch, CuPy or JAX; default python3
#   --smoke             tiny products: only tests this script; the results mean nothing
#
# Needs the NVIDIA driver, and cuBLAS: on the loader's path, in a CUDA toolkit, or in a Python environment.
# Ends with 0; 1 if a step failed; 77 if there is no CUDA device or no cuBLAS.
set -uo pipefail

here=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Some ways of copying a folder lose this permission.
chmod u+x "$here"/* 2>/dev/null
# Names and limits from the table above.
declare -A limit_of
all_sections=()
while read -r _ name limit _; do
    all_sections+=("$name")
    limit_of[$name]=$limit
done < <(sed -n '2,/^set/{/^#   [a-z]\+ \+[0-9]\+   /p}' "${BASH_SOURCE[0]}")
sections=()
quick='' smoke='' output='' time_limit='' libraries='' python=python3 only_limits=''

fail_usage() { echo "run.sh: $1; --help lists the options" >&2; exit 2; }
value_of() { [[ $# -ge 2 && $2 != --* ]] || fail_usage "$1 needs a value"; }
while (($#)); do
    case $1 in
        --quick) quick=yes ;;
        --smoke) smoke=yes ;;
        --output) value_of "$@"; output=$2; shift ;;
        --time-limit) value_of "$@"; time_limit=$2; shift ;;
        --libraries) value_of "$@"; libraries=$2; shift ;;
        --limits) only_limits=yes ;;
        --python) value_of "$@"; python=$2; shift ;;
        --help | -h) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit ;;
        -*) fail_usage "unknown option '$1'" ;;
        *)
            [[ " ${all_sections[*]} " == *" $1 "* ]] || fail_usage "unknown section '$1'; they are ${all_sections[*]}"
            sections+=("$1") ;;
    esac
    shift
done
((${#sections[@]})) || sections=("${all_sections[@]}")
[[ $time_limit ]] || time_limit=$([[ $quick ]] && echo 240 || echo 540)
[[ $time_limit =~ ^[0-9]+$ ]] || fail_usage "--time-limit: found '$time_limit', expected seconds"
# The chosen sections share the whole time.
shares=0
for name in "${sections[@]}"; do ((shares += limit_of[$name])); done
section_limit() { echo $((limit_of[$1] * time_limit / shares)); }
if [[ $only_limits ]]; then
    for name in "${sections[@]}"; do printf '%s\t%s\n' "$name" "$(section_limit "$name")"; done
    printf 'all\t%s\n' "$time_limit"
    exit
fi
deadline=$((SECONDS + time_limit))

# Removes variables of the caller's shell that would influence the comparisons.
caller_said=()
for name in LD_PRELOAD NVIDIA_TF32_OVERRIDE XLA_FLAGS FP32SHIM_XLA_FLAG TRITON_F32_DEFAULT "${!JAX_@}" "${!TORCH_@}" "${!CUPY_@}" \
    "${!CUBLAS_@}" "${!CUBLASLT_@}" "${!FP32_MATMUL_@}" "${!CLIENT_@}" "${!GPU_CUBLAS_@}"; do
    [[ ! -v $name ]] || caller_said+=("$name=${!name}")
    unset "$name"
done

# Places of CUDA's libraries: driver_at, cublas_at, lt_at, cublas_version and search.
found=$("$here/gpu-questions" --only-libraries ${libraries:+--libraries "$libraries"} --python "$python" 2>&1)
case $? in
    0) ;;
    77) echo "run.sh: ${found#gpu-check: }"; exit 77 ;;
    *) echo "run.sh: no product runs here: ${found#gpu-check: }"; exit 1 ;;
esac
while IFS=$'\t' read -r name value; do printf -v "$name" %s "$value"; done <<<"$found"
export GPU_CUBLAS_MAJOR=$cublas_version
if [[ -v instead_of_13 ]]; then echo "run.sh: going on with cuBLAS 12, since 13 does not run: $instead_of_13"; fi

[[ $output ]] || output=$PWD/gpu-results-$(date +%Y%m%d-%H%M%S)
mkdir -p "$output/logs" && output=$(cd "$output" && pwd) || exit 1
logs=$output/logs
: >"$output/steps.tsv"
: >"$output/results.tsv"

# native COMMAND...: runs a program without the shim. under SETTING=VALUE... -- COMMAND...: runs it with the shim.
native() { LD_LIBRARY_PATH=$search "$@"; }
under() {
    local settings=()
    while [[ $1 != -- ]]; do settings+=("$1"); shift; done
    shift
    (export LD_LIBRARY_PATH="$search" "${settings[@]}" LD_PRELOAD="$here/libfp32shim.so" && exec "$@")
}

# shellcheck source=tests/cublas/gpu/steps.sh
source "$here/steps.sh"
# shellcheck source=tests/cublas/gpu/report.sh
source "$here/report.sh"

describe_environment >"$output/environment.txt"
echo "libcuda.so.1: $driver_at; libcublas.so.$cublas_version: $cublas_at; libcublasLt.so.$cublas_version: $lt_at"
echo "results: $output"
trap 'write_results' EXIT

step_shim
section_deadline=$SECONDS
for section in "${sections[@]}"; do
    ((section_deadline += $(section_limit "$section")))
    ((section_deadline < deadline)) || section_deadline=$deadline
    "section_$section"
    write_results
done

count() { awk -F '\t' -v pattern="$1" '$3 ~ pattern { ++n } END { print n + 0 }' "$output/steps.tsv"; }
failed=$(count '^FAILED')
tar -C "$(dirname "$output")" -czf "$output.tar.gz" "$(basename "$output")" || failed=$((failed + 1))
echo "$(count '^passed') passed, $failed failed, $(count '^skipped') skipped, in $SECONDS s;" \
    "the tables are in $output/results.md, and all of it in $output.tar.gz"
((failed == 0))
