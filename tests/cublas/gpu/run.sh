#!/usr/bin/env bash
# Tries fp32shim on this machine's GPU, and asks its cuBLAS what the manual leaves open.
#
#   ./run.sh [OPTION...] [SECTION...]
#
# Sections, in this order, with what each takes on an H200 with 16 cores at most:
#   questions    240 s   what cuBLAS does, and the experiments on it
#   timing        60 s   forced against native TF32
#   audits        20 s   the errors that the shim audits, against float64
#   qtlq          30 s   the published TF32 case through cuBLAS
#   frameworks   200 s   PyTorch, CuPy and JAX, side by side, and the experiments on them
#   clients      120 s   the programs of the project's tests, on a real cuBLAS
# Without a section: all of them, in at most 9 minutes. Rows are written as they come: what is stopped leaves them.
#
#   --quick             less of each, in at most 4 minutes
#   --output FOLDER     where results.md, results.tsv, rows.tsv and logs/ go; default ./gpu-results-HOST-DATE
#   --time-limit N      seconds; what has not begun by then is skipped; default 540, with --quick 240
#   --libraries FOLDER  CUDA's libraries are here, the driver's included (else they are searched for)
#   --python PROGRAM    the Python that has PyTorch, CuPy or JAX; default python3
#   --smoke             tiny products: only to try this script, the results say nothing
#
# Needs the NVIDIA driver, and cuBLAS: on the loader's path, in a CUDA toolkit, or in a Python environment.
# Ends with 0; 1 if a step failed; 77 if there is no CUDA device or no cuBLAS.
set -uo pipefail

here=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Some ways to carry a folder lose this.
chmod u+x "$here"/* 2>/dev/null
all_sections=(questions timing audits qtlq frameworks clients)
sections=()
quick='' smoke='' output='' time_limit='' libraries='' python=python3

fail_usage() { echo "run.sh: $1; --help lists the options" >&2; exit 2; }
value_of() { [[ $# -ge 2 && $2 != --* ]] || fail_usage "$1 needs a value"; }
while (($#)); do
    case $1 in
        --quick) quick=yes ;;
        --smoke) smoke=yes ;;
        --output) value_of "$@"; output=$2; shift ;;
        --time-limit) value_of "$@"; time_limit=$2; shift ;;
        --libraries) value_of "$@"; libraries=$2; shift ;;
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
deadline=$((SECONDS + time_limit))

# What the caller's shell says must not govern what is compared here.
caller_said=()
for name in LD_PRELOAD NVIDIA_TF32_OVERRIDE XLA_FLAGS TRITON_F32_DEFAULT "${!JAX_@}" "${!TORCH_@}" "${!CUPY_@}" \
    "${!CUBLAS_@}" "${!CUBLASLT_@}" "${!FP32_MATMUL_@}" "${!CLIENT_@}" "${!GPU_CUBLAS_@}"; do
    [[ ! -v $name ]] || caller_said+=("$name=${!name}")
    unset "$name"
done

# shellcheck source=tests/cublas/gpu/libraries.sh
source "$here/libraries.sh"
find_cuda  # sets driver_at, cublas_at, lt_at, cublas_version, search, probe; ends with 77 where there is none

[[ $output ]] || output=$PWD/gpu-results-$(uname -n)-$(date +%Y%m%d-%H%M%S)
mkdir -p "$output/logs" && output=$(cd "$output" && pwd) || exit 1
logs=$output/logs
: >"$output/steps.tsv"
: >"$output/results.tsv"

# native COMMAND...: one of our programs, without the shim. under SETTING=VALUE... -- COMMAND...: with it.
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
for section in "${sections[@]}"; do
    "section_$section"
    write_results
done

count() { awk -F '\t' -v pattern="$1" '$3 ~ pattern { ++n } END { print n + 0 }' "$output/steps.tsv"; }
failed=$(count '^FAILED')
echo "$(count '^passed') passed, $failed failed, $(count '^skipped') skipped, in $SECONDS s;" \
    "the tables are in $output/results.md"
((failed == 0))
