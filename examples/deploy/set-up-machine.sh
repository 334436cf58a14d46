#!/bin/sh
# Sets up one machine for docs/force-fp32.md: `sh set-up-machine.sh [--all-programs] POLICY`, as root.
#   Checks POLICY and makes it the site's, /etc/fp32shim/policy.toml.
#   Makes the folder of its `path`, where the programs of all users record.
#   --all-programs: loads the library into every program of the machine, by /etc/ld.so.preload.
set -eu
umask 022
sites=/etc/fp32shim/policy.toml
preload=/etc/ld.so.preload
fail() {
    echo "set-up-machine.sh: $1" >&2
    exit 2
}
everywhere=no
if [ "${1-}" = --all-programs ]; then
    everywhere=yes
    shift
fi
[ $# -eq 1 ] || fail "usage: set-up-machine.sh [--all-programs] POLICY"
[ "$(id -u)" = 0 ] || fail "only root can set up a machine"
for tool in fp32shim setpriv; do
    command -v "$tool" >/dev/null || fail "$tool is not in PATH; install it first (fp32shim: docs/install.md; setpriv: util-linux)"
done
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
fp32shim check "$1" || fail "$1 has errors, so nothing was changed"

path=$(sed -n 's/^[[:space:]]*path[[:space:]]*=[[:space:]]*"\([^"]*\)".*/\1/p' "$1")
folder=${path%/*}
case $path in
    "") fail "found no line path = \"/FOLDER/%j.%h.%r.%p.fp32rec\" below [log] in $1; a machine needs one" ;;
    /*/*.fp32rec) ;;
    *) fail "found [log] path \"$path\" in $1; a machine needs an absolute one, such as /var/log/fp32shim/%j.%h.%r.%p.fp32rec" ;;
esac
case $folder in
    *%*) fail "found [log] path \"$path\" in $1; its folder may have no placeholders" ;;
esac
if [ "$everywhere" = yes ]; then
    library=$(unset LD_PRELOAD && fp32shim run --quiet --no-log -- printenv LD_PRELOAD)
    # A program that cannot load the library prints a message, so a user without rights tries it first.
    said=$(as_nobody env LD_PRELOAD="$library" true 2>&1) || said=${said:-failed}
    [ -z "$said" ] || fail "the user nobody cannot load $library ($said); install it below /usr/local, for example"
    other=$(grep '/libfp32shim\.so$' "$preload" 2>/dev/null | grep -vxF "$library") || true
    [ -z "$other" ] || fail "$preload names $other already; remove that line first"
fi
made=
[ -e "$folder" ] || { install -d -m 1777 "$folder" && made=$folder; }
# shellcheck disable=SC2016 # the inner shell expands it
as_nobody sh -c '[ -d "$1" ] && [ -w "$1" ] && [ -x "$1" ]' sh "$folder" || {
    [ -z "$made" ] || rmdir "$made"
    fail "not every user can write to $folder, in which $1 has all programs record; name another in its [log] path"
}
cmp -s "$1" "$sites" || install -D -m 644 "$1" "$sites"
echo "policy: $sites; recordings: $folder"
[ "$everywhere" = yes ] || exit 0
grep -qxF "$library" "$preload" 2>/dev/null || printf '\n%s\n' "$library" >>"$preload"
as_nobody grep -q libfp32shim /proc/self/maps || fail "$library is in $preload, but is not loaded for the user nobody"
echo "loaded into every program that starts from now on: $library; to take it back, remove its line from $preload, and the policy"
