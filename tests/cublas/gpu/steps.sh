# Steps of run.sh, which sources this file. Each step appends a line to steps.tsv when it ends: section, name, verdict,
# seconds.
# shellcheck shell=bash disable=SC2154

# record SECTION NAME STATUS LOG SECONDS: records the end of a step.
record() {
    local verdict
    case $3 in
        0) verdict=passed ;;
        77) verdict="skipped: $(tail -n 1 "$4" | tr '|\t' '  ')" ;;
        124 | 137) verdict="FAILED: stopped at the time limit" ;;
        *) verdict="FAILED: status $3, see $(basename "$4")" ;;
    esac
    printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$verdict" "$5" >>"$output/steps.tsv"
    printf '%4d s  %-11s %-42s %s\n' "$SECONDS" "$1" "$2" "$verdict"
}
skip() { printf '%s\t%s\tskipped: %s\t0\n' "$1" "$2" "$3" >>"$output/steps.tsv"; }

# run LIMIT SECTION NAME COMMAND...: runs COMMAND, at most LIMIT seconds, with its output in SECTION-NAME.log, and
# records its end.
run() {
    local limit=$1 section=$2 name=$3 left=$((section_deadline - SECONDS)) log status=0 begun=$SECONDS
    shift 3
    log=$logs/$section-${name//[^a-zA-Z0-9.-]/_}.log
    if ((left <= 0)); then
        skip "$section" "$name" "no time left"
        return 77
    fi
    ((left < limit)) && limit=$left
    # `timeout` runs programs only, but native and under are functions.
    export -f native under
    export search here
    # shellcheck disable=SC2016
    timeout --kill-after=5 "$limit" bash -c '"$@"' run "$@" >"$log" 2>&1 </dev/null &
    # The command runs in the background; otherwise the shell would notice a signal only after the command's end. The
    # processes of `timeout` form a group, which ends with it.
    local running=$!
    # shellcheck disable=SC2064
    trap "kill $running 2>/dev/null; exit 143" TERM INT HUP
    wait "$running" || status=$?
    record "$section" "$name" "$status" "$log" $((SECONDS - begun))
    return "$status"
}

# Tests first that the shim is loaded, and decides.
step_shim() {
    local section_deadline=$deadline
    run 60 shim "is loaded" shim_decides
}
shim_decides() {
    under FP32_MATMUL_PRECISION=high FP32_MATMUL_LOG="$logs/shim.jsonl" -- \
        "$here/gpu-check" --worker product --variant high --row-seconds 60 --size 64 &&
        grep '"applied":"tf32"' "$logs/shim.jsonl"
}
export -f shim_decides
export logs

section_check() {
    local seconds=$((section_deadline - SECONDS - 3))
    run $((seconds + 3)) check "verdict" "$here/gpu-check" --seconds "$((seconds < 10 ? 10 : seconds))" \
        --python "$python" ${libraries:+--libraries "$libraries"} --output "$output/verdict.json"
}

# ask NAME WORD...: prints some of the tables, with their rows and conclusions.
ask() {
    local name=$1 size=()
    shift
    if [[ $quick ]]; then size=(--quick); fi
    if [[ $smoke ]]; then size=(--size 64); fi
    run 540 questions "$name" native "$here/gpu-questions" "${size[@]}" "$@" \
        --rows "$output/rows.tsv" --results "$output/results.tsv"
}
modes=machine,functions,override
section_modes() { ask modes --only "$modes"; }
# The verdict measures the sections that are left out.
section_questions() { ask others --except "$modes,product,opt_ins,cost,graph,times,audits"; }

# qtlq PRECISION COLUMN APPLIED: runs the case, and checks the rounding of the result and the decision. COLUMN may
# match several roundings, since devices differ.
qtlq() {
    local precision=$1 column=$2 applied=$3 log=$logs/qtlq-$1.jsonl text=$logs/qtlq-$1.txt status=0
    under FP32_MATMUL_PRECISION="$precision" FP32_MATMUL_LOG="$log" -- "$here/qtlq_cublas" "$here" >"$text" || status=$?
    if ((status == 0)); then
        under FP32_MATMUL_PRECISION="$precision" -- "$here/qtlq_cublas" --csv "$here" >"$text.csv" &&
            native "$here/qtlq_columns" "$here" "$text.csv" >>"$text"
        mv "$text.csv" "${text%.txt}.csv"
    fi
    cat "$text"
    ((status == 0)) || return "$status"
    grep -q "^column: $column" "$text" || { echo "expected: column: $column"; return 1; }
    grep -q '"function":"cublasSgemm_v2".*"applied":"'"$applied"'"' "$log" ||
        { echo "expected: a decision of cublasSgemm_v2 with applied $applied in $(basename "$log")"; return 1; }
}
section_qtlq() {
    if [[ $cublas_version != 13 ]]; then
        skip qtlq all "it links libcublas.so.13"
        return
    fi
    export -f qtlq
    run 20 qtlq highest qtlq highest FP32 fp32
    run 20 qtlq high qtlq high TF32 tf32
    # FAST_16BF also allows TF32.
    run 20 qtlq medium qtlq medium "[BT]F" bf16
}

# framework NAME OWN SHIM-SETTING EXPECT [VARIABLE=VALUE...]: runs a framework's products. Python finds its own CUDA.
framework() {
    local name=$1 own=$2 setting=$3 expect=$4 log
    shift 4
    local arguments=(--own "$own" --shim "$setting${*:+, $*}")
    log=$logs/frameworks-$name-$own-${setting//[^a-z0-9]/_}-$#.jsonl
    if [[ $expect ]]; then arguments+=(--expect "$expect"); fi
    if [[ $smoke ]]; then arguments+=(--size 128); fi
    # Unless a variable forbids it, XLA also multiplies with kernels of its own.
    if [[ $name != jax || $# -gt 0 ]]; then arguments+=(--must-be-seen); fi
    case $setting in
        floor*) set -- FP32_MATMUL_FLOOR=fp32 "$@" ;;
        *) set -- FP32_MATMUL_PRECISION="$setting" "$@" ;;
    esac
    run 60 frameworks "$name, own $own, $setting${2:+, $2}" env "$@" FP32_MATMUL_LOG="$log" \
        LD_PRELOAD="$here/libfp32shim.so" "$python" -B "$here/frameworks/products.py" "$name" "${arguments[@]}" \
        --log "$log"
}
# experiments_of NAME...: runs the experiments on these frameworks, short ones first.
experiments_of() {
    local experiment limit
    while read -r experiment limit; do
        run "$limit" frameworks "experiment $experiment" "$python" -B "$here/frameworks/experiments.py" "$experiment" \
            --shim "$here/libfp32shim.so" --results "$output/results.tsv"
    done < <("$python" -B "$here/frameworks/experiments.py" --list "$@")
}
# framework_runs NAME: runs a framework's products under each setting. Fails if the framework is not installed.
framework_runs() {
    local name=$1 cublas_only=()
    if [[ $name == jax ]]; then cublas_only=(XLA_FLAGS=--xla_gpu_enable_triton_gemm=false); fi
    framework "$name" fp32 high tf32 "${cublas_only[@]}"
    (($? != 77)) || return 1
    framework "$name" tf32 highest fp32 "${cublas_only[@]}"
    framework "$name" tf32 "floor fp32" fp32 "${cublas_only[@]}"
    [[ $quick ]] && return
    framework "$name" default native "" "${cublas_only[@]}"
    framework "$name" tf32 native "" "${cublas_only[@]}"
    # XLA by default: it also multiplies by its own kernels, which are not seen. The table should show that.
    if [[ $name == jax ]]; then framework jax fp32 high ""; fi
    return 0
}
section_frameworks() {
    local name installed=(onnxruntime)
    # On the CPU: tests that measuring and reading the log work.
    framework numpy default high tf32 FP32_MATMUL_CPU=emulate
    # One after the other: at the same time they would compete for memory and distort each other's times.
    for name in torch cupy jax; do framework_runs "$name" && installed+=("$name"); done
    experiments_of "${installed[@]}"
}

# clients SETTING [VARIABLE=VALUE...]: runs every client under a setting.
clients() {
    local setting=$1 program programs=(products products_dlopen handles handles_dlopen lt lt_dlopen) log
    shift
    if [[ $quick ]]; then programs=(products lt_dlopen); fi
    for program in "${programs[@]}"; do
        if [[ $cublas_version != 13 && $program != *_dlopen ]]; then
            skip clients "$program, $setting" "it links libcublas.so.13"
            continue
        fi
        log=$logs/clients-$program-$setting.jsonl
        # The log has hundreds of lines per program, so it is kept only after a failure. A client fails if its
        # decisions are in no log.
        run 60 clients "$program, $setting" under "$@" FP32_MATMUL_LOG="$log" CLIENT_LOG="$log" -- \
            "$here/$program" --gtest_brief=1 && rm -f "$log"
    done
}
# The programs ask for TF32 themselves; the floor must prevent it.
section_floor() { clients floor FP32_MATMUL_FLOOR=fp32 CLIENT_EXPECT=fp32 CLIENT_MATH_MODE=3; }
section_clients() {
    clients native FP32_MATMUL_PRECISION=native &
    clients high FP32_MATMUL_PRECISION=high CLIENT_EXPECT=tf32 &
    wait
    [[ $quick ]] && return
    clients highest FP32_MATMUL_PRECISION=highest CLIENT_EXPECT=fp32 &
    clients medium FP32_MATMUL_PRECISION=medium CLIENT_EXPECT=bf16 &
    wait
}
