# Describes the tested programs and machine, and writes results.md. Sourced by run.sh.
# shellcheck shell=bash disable=SC2154

describe_environment() {
    echo "date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
    echo "system: $(uname -srm), $(ldd --version 2>/dev/null | sed -n 1p)"
    echo "fp32shim: $(cat "$here/VERSION"), for C libraries from $(cat "$here/GLIBC") on"
    echo "libcuda.so.1: $driver_at"
    echo "libcublas.so.$cublas_version: $cublas_at"
    echo "libcublasLt.so.$cublas_version: $lt_at"
    ((${#caller_said[@]} == 0)) || echo "unset: ${caller_said[*]}"
    local query=name,driver_version,memory.total,clocks.max.sm,power.limit
    timeout 30 nvidia-smi --query-gpu="$query" --format=csv,noheader 2>/dev/null | sed 's/^/nvidia-smi: /' ||
        echo "nvidia-smi: not there"
    timeout 60 "$python" - 2>/dev/null <<'PYTHON' || echo "python: not there"
import importlib.metadata, sys
print("python:", sys.version.split()[0])
wanted = ("torch", "triton", "cupy", "jax", "onnxruntime", "numpy", "nvidia-cublas", "nvidia-cudnn")
for d in sorted(importlib.metadata.distributions(), key=lambda d: str(d.metadata["Name"]).lower()):
    if str(d.metadata["Name"]).lower().startswith(wanted):
        print(f"{d.metadata['Name']}: {d.version}")
PYTHON
}

titled() { [[ ! -s $2 ]] || { printf '\n## %s\n\n' "$1"; cat "$2"; }; }
quoted() { [[ ! -e $2 ]] || { printf '\n### %s\n\n```\n' "$1"; cat "$2"; echo '```'; }; }
# table FILE COLUMN...: prints a file of tab-separated fields as a Markdown table.
table() {
    local file=$1
    shift
    printf '| %s ' "$@"
    printf '|\n'
    printf '|---%.0s' "$@"
    printf '|\n'
    sed 's/\t/ | /g; s/^/| /; s/$/ |/' "$file"
}
tables() {
    echo "# Results of a GPU"
    if [[ $smoke ]]; then printf '\n**Made with --smoke: these numbers say nothing.**\n'; fi
    printf '\n```\n'; cat "$output/environment.txt"; printf '```\n'
    quoted "The verdict" "$logs/check-verdict.log"
    if [[ -s $output/results.tsv ]]; then
        printf '\n## Experiments\n\n'
        table "$output/results.tsv" experiment expected seen "what follows"
    fi
    printf '\n## Steps\n\n'
    table "$output/steps.tsv" section what verdict seconds
    titled "What cuBLAS does: math modes and compute types" "$logs/questions-modes.log"
    titled "What cuBLAS does: the other questions" "$logs/questions-others.log"
    if compgen -G "$logs/qtlq-*.txt" >/dev/null; then printf '\n## The published TF32 case through cuBLAS\n'; fi
    for precision in highest high medium; do quoted "$precision" "$logs/qtlq-$precision.txt"; done
    if compgen -G "$logs/frameworks-*.log" >/dev/null; then
        printf '\n## Frameworks\n\n'
        sed -n '/^HEADING = /,/)$/s/.*"\(|.*|\)\(\\n\)\{0,1\}".*/\1/p' "$here/frameworks/products.py"
        cat "$logs"/frameworks-*.log | grep '^| '
    fi
}
# Writes the file completely or not at all, since somebody may copy it at any moment.
write_results() { tables >"$output/results.md.new" && mv "$output/results.md.new" "$output/results.md"; }
