#!/bin/sh
# Sets up one machine for docs/force-fp32.md: `sh set-up-machine.sh [--all-programs] POLICY`, as root.
#   Checks POLICY and makes it the site's, /etc/fp32shim/policy.toml.
#   Makes the folder of its `path`, where the programs of all users record.
#   --all-programs: loads the library into every program of the machine, by /etc/ld.so.preload.
set -eu
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
command -v fp32shim >/dev/null || fail "fp32shim is not in PATH; install it first (docs/install.md)"
fp32shim check "$1" || fail "$1 has errors, so nothing was changed"

# Recordings of all programs need one folder that every user can write to.
path=$(sed -n 's/^ *path *= *"\([^"]*\)".*/\1/p' "$1")
folder=${path%/*}
case $path in
    /*/*.fp32rec) ;;
    *) fail "found [log] path \"$path\" in $1; a machine needs an absolute one, such as /var/log/fp32shim/%j.%h.%r.%p.fp32rec" ;;
esac
case $folder in
    *%*) fail "found [log] path \"$path\" in $1; its folder may have no placeholders" ;;
esac
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
[ ! -e "$folder" ] || as_nobody test -w "$folder" ||
    fail "not every user can write to $folder, in which $1 has all programs record; name another in its [log] path"
if [ "$everywhere" = yes ]; then
    library=$(unset LD_PRELOAD && fp32shim run --quiet --no-log -- printenv LD_PRELOAD)
    # A program that cannot load the library prints a message, so a user without rights tries it first.
    said=$(as_nobody env LD_PRELOAD="$library" true 2>&1) || said=${said:-failed}
    [ -z "$said" ] || fail "the user nobody cannot load $library ($said); install it below /usr/local, for example"
fi
install -D -m 644 "$1" /etc/fp32shim/policy.toml
[ -e "$folder" ] || install -d -m 1777 "$folder"
echo "policy: /etc/fp32shim/policy.toml; recordings: $folder"
[ "$everywhere" = yes ] || exit 0
grep -qxF "$library" /etc/ld.so.preload 2>/dev/null || printf '\n%s\n' "$library" >>/etc/ld.so.preload
grep -q libfp32shim /proc/self/maps || fail "$library is in /etc/ld.so.preload, but is not loaded"
echo "loaded into every program that starts from now on: $library; to take it back, remove its line from /etc/ld.so.preload, and the policy"
