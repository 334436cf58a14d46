# CUDA's libraries on this machine. Sourced by run.sh, which sets libraries and python.
# shellcheck shell=bash disable=SC2034,SC2154

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
    local folder known
    while IFS= read -r folder; do
        [[ $folder && -e $folder/$1 ]] && return
    done < <(tr : '\n' <<<"${LD_LIBRARY_PATH:-}")
    # No pipe into `grep -q`: ldconfig would die of it, which under pipefail reads as "not there".
    known=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null)
    [[ $known == *[[:space:]]"$1 "* ]]
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

# try_cublas VERSION: takes that release if one product runs. Else returns its status, and `probe` says why.
try_cublas() {
    local folder
    cublas_version=$1
    cublas_at=$(where_is "libcublas.so.$1" toolkit_folders python_folders)
    lt_at=$(where_is "libcublasLt.so.$1" toolkit_folders python_folders)
    [[ $cublas_at && $lt_at ]] || { probe="there is no libcublas.so.$1 with its libcublasLt"; return 78; }
    search=${LD_LIBRARY_PATH:-}
    for folder in "$driver_at" "$lt_at" "$cublas_at"; do
        [[ $folder == loader || :$search: == *:$folder:* ]] || search=$folder${search:+:$search}
    done
    probe=$(LD_LIBRARY_PATH=$search GPU_CUBLAS_MAJOR=$1 timeout 120 "$here/timing" --size 16 --repeats 1 2>&1)
}

# A driver may be too old for cuBLAS 13 and do for 12.
find_cuda() {
    local status second first
    driver_at=$(where_is libcuda.so.1 driver_folders)
    [[ $driver_at ]] || { echo "run.sh: no CUDA device: there is no libcuda.so.1"; exit 77; }
    try_cublas 13 && { export GPU_CUBLAS_MAJOR=13; return; }
    status=$? first=$probe
    try_cublas 12 && {
        echo "run.sh: going on with cuBLAS 12, since 13 does not run: $first"
        export GPU_CUBLAS_MAJOR=12
        return
    }
    second=$?
    # Where only 12 is there, its reason counts.
    ((status != 78)) || { status=$second first=$probe; }
    first=${first#timing: }
    ((status != 78)) || { status=77 first="no cuBLAS: there is no libcublas.so.13 or .12 with its libcublasLt"; }
    ((status != 77)) || { echo "run.sh: ${first%%$'\n'*}"; exit 77; }
    echo "run.sh: no product runs here (status $status): $first"
    exit 1
}
