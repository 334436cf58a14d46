#!/usr/bin/env bash
# Turns an archive that packages.sh built into one file that runs `fp32shim gpu-check` on any machine with a GPU, and leaves
# nothing behind but the report. Users run it by `sh fp32shim-X.Y.Z-gpu-check-linux-PROCESSOR.sh`.
#
#   packaging/self-extracting.sh ARCHIVE.tar.gz FILE
set -euo pipefail
archive=$1 file=$2
head=$(cat <<'SH'
#!/bin/sh
# Runs `fp32shim gpu-check` from a folder of its own, which it removes again. Behind the last line lies a .tar.gz.
#
#   sh FILE [OPTION...]      the options of fp32shim gpu-check; --help lists them
#   sh FILE --extract DIR    only unpacks it
set -u
unpack() { tail -n +LINES "$0" | gzip -dc | tar xf - -C "$1"; }
if [ "${1-}" = --extract ] && [ $# -eq 2 ]; then
    mkdir -p "$2" && unpack "$2"
    exit
fi
folder=$(mktemp -d "${TMPDIR:-/tmp}/fp32shim-gpu-check.XXXXXX") || exit 2
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
unpack "$folder" || { echo "$0: cannot be unpacked; is it whole?" >&2; exit 2; }
"$folder"/*/bin/fp32shim gpu-check "$@"
status=$?
[ "$status" -ne 126 ] || echo "$0: no program may be started in $folder; let TMPDIR name another folder" >&2
exit "$status"
SH
)
lines=$(($(wc -l <<<"$head") + 1))
{ printf '%s\n' "${head/LINES/$lines}"; cat "$archive"; } >"$file"
chmod 755 "$file"
