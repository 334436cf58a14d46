#!/bin/sh
# Sets up one machine for docs/force-fp32.md: `sh set-up-machine.sh [--all-programs] POLICY`, as root.
#   Checks POLICY and makes it the site's, /etc/fp32shim/policy.toml.
#   Makes /var/log/fp32shim, where the programs of all users record.
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

if [ "$everywhere" = yes ]; then
    library=$(unset LD_PRELOAD && fp32shim run --quiet --no-log -- printenv LD_PRELOAD)
    # A program that cannot load the library prints a message, so a user without rights tries it first.
    said=$(setpriv --reuid=65534 --regid=65534 --clear-groups env LD_PRELOAD="$library" true 2>&1) || said=${said:-failed}
    [ -z "$said" ] || fail "the user nobody cannot load $library ($said); install it below /usr/local, for example"
fi
install -D -m 644 "$1" /etc/fp32shim/policy.toml
install -d -m 1777 /var/log/fp32shim
echo "policy: /etc/fp32shim/policy.toml; recordings: /var/log/fp32shim, if the policy's [log] path leads there"
[ "$everywhere" = yes ] || exit 0
grep -qxF "$library" /etc/ld.so.preload 2>/dev/null || printf '\n%s\n' "$library" >>/etc/ld.so.preload
grep -q libfp32shim /proc/self/maps || fail "$library is in /etc/ld.so.preload, but is not loaded"
echo "loaded into every program that starts from now on: $library; to take it back, remove its line from /etc/ld.so.preload, and the policy"
