#!/usr/bin/env bash
# Tries fp32shim on this machine's GPU, and asks its cuBLAS what the manual leaves open.
#
#   ./run.sh                     everything, in at most 8 minutes on an H200
#   ./run.sh --quick             less of each, in at most 2 minutes
#   ./run.sh --only STEP...      some of: clients questions qtlq frameworks timing
#   ./run.sh --output FOLDER     where logs and results.md go; default ./gpu-results-HOST-DATE
#   ./run.sh --time-limit N      seconds; what has not begun by then is skipped; default 480, with --quick 120
#   ./run.sh --libraries FOLDER  CUDA's libraries are here, the driver's included (else they are searched for)
#   ./run.sh --python PROGRAM    the Python that has PyTorch, CuPy or JAX; default python3
#   ./run.sh --smoke             tiny products: only to try this script, the results say nothing
#
# Needs the NVIDIA driver, and cuBLAS: on the loader's path, in a CUDA toolkit, or in a Python environment.
# Ends with 0; 1 if a step failed; 77 if there is no CUDA device or no cuBLAS.
set -uo pipefail

here=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
all_steps=(clients questions qtlq frameworks timing)
steps=()
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
        --only)
            value_of "$@"
            while [[ $# -ge 2 && $2 != --* ]]; do
                [[ " ${all_steps[*]} " == *" $2 "* ]] || fail_usage "unknown step '$2'"
                steps+=("$2")
                shift
            done ;;
        --help | -h) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit ;;
        *) fail_usage "unknown argument '$1'" ;;
    esac
    shift
done
((${#steps[@]})) || steps=("${all_steps[@]}")
[[ $time_limit ]] || time_limit=$([[ $quick ]] && echo 120 || echo 480)
[[ $time_limit =~ ^[0-9]+$ ]] || fail_usage "--time-limit: found '$time_limit', expected seconds"
deadline=$((SECONDS + time_limit))

# What the caller's shell says must not govern what is compared here.
unset LD_PRELOAD NVIDIA_TF32_OVERRIDE CUBLAS_EMULATE_SINGLE_PRECISION CUBLAS_EMULATION_STRATEGY
unset "${!FP32_MATMUL_@}" "${!CLIENT_@}"

# ---- CUDA's libraries

toolkit_folders() {
    local root
    for root in "${CUDA_PATH:-}" "${CUDA_HOME:-}" "$(dirname "$(command -v nvcc || echo /none/bin/nvcc)")/.." \
        /usr/local/cuda /usr/local/cuda-*; do
        [[ -d $root ]] && printf '%s\n' "$root/lib64" "$root/lib" "$root/targets/$(uname -m)-linux/lib"
    done
}
python_folders() {
    "$python" - 2>/dev/null <<'PYTHON'
import glob, site, sys
for folder in dict.fromkeys([*sys.path, *site.getsitepackages(), site.getusersitepackages()]):
    print(*sorted(glob.glob(f"{glob.escape(folder)}/nvidia/*/lib")) if folder else [], sep="\n")
PYTHON
}
driver_folders() {
    printf '%s\n' /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib64 "/usr/lib/$(uname -m)-linux-gnu" \
        /usr/lib/wsl/lib
}
loader_finds() {
    local folder
    while IFS= read -r folder; do
        [[ $folder && -e $folder/$1 ]] && return
    done < <(tr : '\n' <<<"${LD_LIBRARY_PATH:-}")
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q "[[:space:]]$1 "
}
# where_is NAME LISTER...: prints the folder, or "loader" where the loader needs no help.
where_is() {
    local name=$1 folder
    shift
    if [[ $libraries ]]; then
        [[ -e $libraries/$name ]] && echo "$libraries"
        return
    fi
    loader_finds "$name" && { echo loader; return; }
    while IFS= read -r folder; do
        [[ $folder && -e $folder/$name ]] && { echo "$folder"; return; }
    done < <(for lister in "$@"; do "$lister"; done)
}

driver_at=$(where_is libcuda.so.1 driver_folders)
cublas_version=13
cublas_at=$(where_is libcublas.so.13 toolkit_folders python_folders)
if [[ ! $cublas_at ]]; then
    cublas_at=$(where_is libcublas.so.12 toolkit_folders python_folders)
    cublas_version=12
fi
lt_at=$(where_is libcublasLt.so.$cublas_version toolkit_folders python_folders)
[[ $driver_at ]] || { echo "run.sh: no CUDA device: there is no libcuda.so.1"; exit 77; }
[[ $cublas_at && $lt_at ]] ||
    { echo "run.sh: no cuBLAS: there is no libcublas.so.13 or .12 with its libcublasLt"; exit 77; }
search=${LD_LIBRARY_PATH:-}
for folder in "$driver_at" "$lt_at" "$cublas_at"; do
    [[ $folder == loader || :$search: == *:$folder:* ]] || search=$folder${search:+:$search}
done

# native COMMAND...: one of our programs, without the shim. under SETTING=VALUE... -- COMMAND...: with it.
native() { LD_LIBRARY_PATH=$search "$@"; }
under() {
    local settings=()
    while [[ $1 != -- ]]; do settings+=("$1"); shift; done
    shift
    (export LD_LIBRARY_PATH="$search" "${settings[@]}" LD_PRELOAD="$here/libfp32shim.so" && exec "$@")
}

probe=$(native "$here/timing" --size 16 --repeats 1 2>&1) || {
    status=$?
    echo "run.sh: ${probe#timing: }"
    exit $status
}

# ---- where results go

[[ $output ]] || output=$PWD/gpu-results-$(uname -n)-$(date +%Y%m%d-%H%M%S)
mkdir -p "$output" && output=$(cd "$output" && pwd) || exit 1
results=()
failures=0

# record STEP NAME STATUS LOG
record() {
    local verdict
    case $3 in
        0) verdict=passed ;;
        77) verdict="skipped: $(tail -n 1 "$4" | tr '|' ' ')" ;;
        124) verdict="FAILED: stopped at the time limit"; failures=$((failures + 1)) ;;
        *) verdict="FAILED: status $3, see $(basename "$4")"; failures=$((failures + 1)) ;;
    esac
    results+=("| $1 | $2 | $verdict |")
    printf '%4d s  %-11s %-42s %s\n' "$SECONDS" "$1" "$2" "$verdict"
}
# run STEP NAME COMMAND...: runs it with its output in STEP-NAME.log, and records how it ended.
run() {
    local step=$1 name=$2 left=$((deadline - SECONDS)) log status=0
    shift 2
    log=$output/$step-${name//[^a-zA-Z0-9.-]/_}.log
    if ((left <= 0)); then
        results+=("| $step | $name | skipped: no time left |")
        return 77
    fi
    # `timeout` runs programs only, and native and under are functions.
    export -f native under
    export search here
    # shellcheck disable=SC2016
    timeout "$left" bash -c '"$@"' run "$@" >"$log" 2>&1 || status=$?
    record "$step" "$name" "$status" "$log"
    return "$status"
}

# ---- the steps

step_clients() {
    local programs=(products products_dlopen handles handles_dlopen lt lt_dlopen)
    local settings=(native highest high medium floor)
    if [[ $quick ]]; then programs=(products lt_dlopen) settings=(native high floor); fi
    local setting program log environment
    for setting in "${settings[@]}"; do
        case $setting in
            native) environment=(FP32_MATMUL_PRECISION=native) ;;
            highest) environment=(FP32_MATMUL_PRECISION=highest CLIENT_EXPECT=fp32) ;;
            high) environment=(FP32_MATMUL_PRECISION=high CLIENT_EXPECT=tf32) ;;
            medium) environment=(FP32_MATMUL_PRECISION=medium CLIENT_EXPECT=bf16) ;;
            # The program asks for TF32 itself, and the floor holds against it.
            floor) environment=(FP32_MATMUL_FLOOR=fp32 CLIENT_EXPECT=fp32 CLIENT_MATH_MODE=3) ;;
        esac
        for program in "${programs[@]}"; do
            [[ -e $here/$program ]] || continue
            if [[ $cublas_version != 13 && $program != *_dlopen ]]; then
                results+=("| clients | $program, $setting | skipped: it links libcublas.so.13 |")
                continue
            fi
            log=$output/clients-$program-$setting.jsonl
            run clients "$program, $setting" under "${environment[@]}" FP32_MATMUL_LOG="$log" CLIENT_LOG="$log" -- \
                "$here/$program" --gtest_brief=1
            # Hundreds of lines a program: kept only where something has to be looked at.
            [[ ${results[-1]} == *FAILED* ]] || rm -f "$log"
        done
    done
}

step_questions() {
    local size=()
    if [[ $quick ]]; then size=(--quick); fi
    if [[ $smoke ]]; then size=(--size 64); fi
    run questions "all" native "$here/questions" "${size[@]}" --rows "$output/rows.tsv"
}

# qtlq PRECISION AGREES APPLIED: runs the case, and checks which published column it agrees with and the decision.
qtlq() {
    local precision=$1 agrees=$2 applied=$3 log=$output/qtlq-$1.jsonl status=0
    under FP32_MATMUL_PRECISION="$precision" FP32_MATMUL_LOG="$log" -- "$here/qtlq_cublas" "$here" \
        >"$output/qtlq-$precision.txt" || status=$?
    cat "$output/qtlq-$precision.txt"
    ((status == 0)) || return "$status"
    [[ ! $agrees ]] || grep -q "^agrees with: $agrees" "$output/qtlq-$precision.txt" ||
        { echo "expected: agrees with: $agrees"; return 1; }
    grep -q '"function":"cublasSgemm_v2".*"applied":"'"$applied"'"' "$log" ||
        { echo "expected: a decision of cublasSgemm_v2 with applied $applied in $(basename "$log")"; return 1; }
}
step_qtlq() {
    if [[ $cublas_version != 13 ]]; then
        results+=("| qtlq | all | skipped: it links libcublas.so.13 |")
        return
    fi
    export -f qtlq
    export output
    run qtlq highest qtlq highest "published FP32" fp32
    run qtlq high qtlq high "published TF32" tf32
    # Nobody has published the BF16 column: only the decision is checked.
    run qtlq medium qtlq medium "" bf16
}

# framework NAME OWN SHIM-SETTING EXPECT [VARIABLE=VALUE...]: Python finds its own CUDA libraries.
framework() {
    local name=$1 own=$2 setting=$3 expect=$4 log
    shift 4
    local arguments=(--own "$own" --shim "$setting${*:+, $*}")
    log=$output/frameworks-$name-$own-${setting//[^a-z0-9]/_}-$#.jsonl
    if [[ $expect ]]; then arguments+=(--expect "$expect"); fi
    if [[ $smoke ]]; then arguments+=(--size 128); fi
    case $setting in
        floor*) set -- FP32_MATMUL_FLOOR=fp32 "$@" ;;
        *) set -- FP32_MATMUL_PRECISION="$setting" "$@" ;;
    esac
    run frameworks "$name, own $own, $setting${2:+, $2}" env "$@" FP32_MATMUL_LOG="$log" \
        LD_PRELOAD="$here/libfp32shim.so" "$python" -B "$here/frameworks/products.py" "$name" "${arguments[@]}" \
        --log "$log"
}
step_frameworks() {
    local name cublas_only
    # On the CPU: that measuring and reading the log work.
    framework numpy default high tf32 FP32_MATMUL_CPU=emulate
    for name in torch cupy jax; do
        cublas_only=()
        if [[ $name == jax ]]; then cublas_only=(XLA_FLAGS=--xla_gpu_enable_triton_gemm=false); fi
        framework "$name" fp32 high tf32 "${cublas_only[@]}"
        # A framework that is not there needs no further tries.
        [[ ${results[-1]} == *skipped* ]] && continue
        framework "$name" tf32 highest fp32 "${cublas_only[@]}"
        framework "$name" tf32 "floor fp32" fp32 "${cublas_only[@]}"
        [[ $quick ]] && continue
        framework "$name" default native "" "${cublas_only[@]}"
        framework "$name" tf32 native "" "${cublas_only[@]}"
        # What XLA does by itself: products by its own kernels are not seen, which is worth showing.
        if [[ $name == jax ]]; then framework jax fp32 high tf32; fi
    done
}

# timing_rounds: appends `variant<TAB>size<TAB>milliseconds` to timing.tsv, the variants taking turns.
timing_rounds() {
    local rounds=5 arguments=(--repeats 20) round log=$output/timing.jsonl
    if [[ $quick ]]; then rounds=2 arguments=(--repeats 10); fi
    if [[ $smoke ]]; then arguments+=(--size 64); fi
    : >"$output/timing.tsv"
    for ((round = 0; round < rounds; ++round)); do
        native "$here/timing" --math tf32 "${arguments[@]}" | awk '{print "native TF32\t" $1 "\t" $3}' || return
        under FP32_MATMUL_PRECISION=high FP32_MATMUL_LOG="$log" FP32_MATMUL_LOG_LEVEL=summary -- \
            "$here/timing" --math default "${arguments[@]}" | awk '{print "forced TF32\t" $1 "\t" $3}' || return
        native "$here/timing" --math default "${arguments[@]}" | awk '{print "FP32\t" $1 "\t" $3}' || return
    done >>"$output/timing.tsv"
    grep -q '"applied":"tf32"' "$log" || { echo "the forced rounds were not decided as TF32"; return 1; }
    timing_table
}
timing_table() {
    sort -t $'\t' -k1,1 -k3,3g "$output/timing.tsv" | awk -F '\t' '
        { times[$1, ++count[$1]] = $3; size = $2 }
        function median(variant,   n) {
            n = count[variant]
            return n % 2 ? times[variant, (n + 1) / 2] : (times[variant, n / 2] + times[variant, n / 2 + 1]) / 2
        }
        END {
            print "| variant | size | rounds | median, ms | fastest round | slowest round | TFLOP/s " \
                "| time over native TF32 |"
            print "|---|---|---|---|---|---|---|---|"
            split("native TF32,forced TF32,FP32", variants, ",")
            for (i = 1; i <= 3; ++i) {
                v = variants[i]
                printf "| %s | %d^3 | %d | %.4f | %.4f | %.4f | %.1f | %.4f |\n", v, size, count[v], median(v),
                    times[v, 1], times[v, count[v]], 2 * size ^ 3 / median(v) / 1e9, median(v) / median(variants[1])
            }
        }'
}
step_timing() {
    export -f timing_rounds timing_table
    export output quick smoke
    run timing "8192, alternating" timing_rounds
}

# ---- what the results are of

describe_environment() {
    echo "date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
    echo "system: $(uname -srm), $(ldd --version 2>/dev/null | head -n 1)"
    echo "fp32shim: $(cat "$here/VERSION")"
    echo "libcuda.so.1: $driver_at"
    echo "libcublas.so.$cublas_version: $cublas_at"
    echo "libcublasLt.so.$cublas_version: $lt_at"
    local query=name,driver_version,memory.total,clocks.max.sm,power.limit
    nvidia-smi --query-gpu="$query" --format=csv,noheader 2>/dev/null | sed 's/^/nvidia-smi: /' ||
        echo "nvidia-smi: not there"
    "$python" - 2>/dev/null <<'PYTHON' || echo "python: not there"
import importlib.metadata, sys
print("python:", sys.version.split()[0])
wanted = ("torch", "cupy", "jax", "numpy", "nvidia-cublas")
for d in sorted(importlib.metadata.distributions(), key=lambda d: str(d.metadata["Name"]).lower()):
    if str(d.metadata["Name"]).lower().startswith(wanted):
        print(f"{d.metadata['Name']}: {d.version}")
PYTHON
}

echo "libcuda.so.1: $driver_at; libcublas.so.$cublas_version: $cublas_at; libcublasLt.so.$cublas_version: $lt_at"
echo "results: $output"
describe_environment >"$output/environment.txt"
for step in "${steps[@]}"; do "step_$step"; done

# ---- results.md

section() { [[ ! -e $2 ]] || { printf '\n## %s\n\n' "$1"; cat "$2"; }; }
quoted() { [[ ! -e $2 ]] || { printf '\n### %s\n\n```\n' "$1"; cat "$2"; echo '```'; }; }
{
    echo "# Results of a GPU"
    if [[ $smoke ]]; then printf '\n**Made with --smoke: these numbers say nothing.**\n'; fi
    printf '\n```\n'; cat "$output/environment.txt"; printf '```\n'
    printf '\n## Steps\n\n| step | what | verdict |\n|---|---|---|\n'
    printf '%s\n' "${results[@]}"
    section "What cuBLAS does" "$output/questions-all.log"
    if compgen -G "$output/qtlq-*.txt" >/dev/null; then printf '\n## The published TF32 case through cuBLAS\n'; fi
    for precision in highest high medium; do quoted "$precision" "$output/qtlq-$precision.txt"; done
    if compgen -G "$output/frameworks-*.log" >/dev/null; then
        printf '\n## Frameworks\n\n'
        sed -n '/^HEADING = /,/)$/s/.*"\(|.*|\)\(\\n\)\{0,1\}".*/\1/p' "$here/frameworks/products.py"
        cat "$output"/frameworks-*.log | grep '^| '
    fi
    section "Timing" "$output/timing-8192__alternating.log"
} >"$output/results.md"

passed=$(printf '%s\n' "${results[@]}" | grep -c '| passed |$')
skipped=$(printf '%s\n' "${results[@]}" | grep -c '| skipped')
echo "$passed passed, $failures failed, $skipped skipped, in $SECONDS s; the tables are in $output/results.md"
((failures == 0))
