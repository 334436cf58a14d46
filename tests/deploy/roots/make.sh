#!/usr/bin/env bash
# Makes the systems for tests/deploy/roots: a Debian system with Slurm, buildah and services, a smaller one as the base of an
# image, and a validator for Kubernetes. Takes some 2 GiB and three minutes. They are made again only if this file has changed.
#
#   tests/deploy/roots/make.sh FOLDER
set -euo pipefail
folder=$(realpath -m "$1")

services=(slurm-wlm munge buildah sudo cron openssh-server openssh-client busybox-static lmod supervisor tmux parallel procps gunicorn
    python3-numpy libopenblas0-pthread iproute2 mpich)
for_image=(python3-numpy python3-pip)

((EUID == 0)) || { echo "make.sh: only root can make these systems" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "make.sh: debootstrap is missing; install it" >&2; exit 1; }
. /etc/os-release
[[ $ID == debian ]] || { echo "make.sh: found $ID; allowed: Debian, whose packages these are" >&2; exit 1; }

# install_in SYSTEM PACKAGE...: installs packages without starting their services.
install_in() {
    local system=$1
    shift
    printf '#!/bin/sh\nexit 101\n' >"$system/usr/sbin/policy-rc.d"
    chmod 755 "$system/usr/sbin/policy-rc.d"
    unshare --mount bash -euc 'mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; cd "$1"; shift
        DEBIAN_FRONTEND=noninteractive chroot . apt-get install --yes --no-install-recommends "$@"' install "$system" "$@"
    chroot "$system" apt-get clean
}

make_systems() {
    rm -rf "$folder"
    mkdir -p "$folder"
    debootstrap --variant=minbase "$VERSION_CODENAME" "$folder/root"
    cp /etc/resolv.conf "$folder/root/etc/"
    cp -a "$folder/root" "$folder/image"
    install_in "$folder/image" "${for_image[@]}"
    rm -f "$folder"/image/usr/lib/python3*/EXTERNALLY-MANAGED  # images of Python have no such file either
    tar -C "$folder/image" -cf "$folder/base.tar" .
    rm -rf "$folder/image"
    install_in "$folder/root" "${services[@]}"
    chroot "$folder/root" useradd --create-home user
    python3 -m venv "$folder/venv"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check kubernetes-validate==1.37.0
    cp "${BASH_SOURCE[0]}" "$folder/made-by"
}

cmp -s "${BASH_SOURCE[0]}" "$folder/made-by" || make_systems
