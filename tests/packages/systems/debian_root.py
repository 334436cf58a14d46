"""Bare Debian systems in folders, to install packages into: made once by debootstrap, copied for each test."""

import os
import pathlib
import platform
import shutil
import subprocess

import shim

# Folder of the systems that were made. They are kept, since each takes half a minute and the network.
MADE = pathlib.Path(os.environ.get("FP32SHIM_ROOTS", shim.BUILD / "nightly/roots"))

# Registers qemu for programs of another processor, so that they run in a chroot. The kernel recognizes them by the
# first 20 bytes of an ELF file. Since Linux 6.7 each user namespace has such rules of its own, so the rule does not
# remain on this machine.
QEMU_RULE = (r":aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:"
             r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:")
BY_QEMU = """
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf %s "$1" > /proc/sys/fs/binfmt_misc/register
shift
"""
INSIDE = """set -e
mount --rbind /proc "$1/proc"
exec chroot "$@"
"""


class DebianRoot:
    """The folder of a bare Debian system, and methods that run programs in it as root."""

    def __init__(self, folder, foreign):
        self.folder, self.foreign = folder, foreign

    def run(self, *words, check=True, **variables):
        """Runs a program in the system, with nothing of this process's environment. Its mounts vanish when it ends."""
        if self.foreign:
            start = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", BY_QEMU + INSIDE, "sh",
                     QEMU_RULE + shim.tool("qemu-aarch64-static", "qemu-user-static") + ":F"]
        else:
            start = ["unshare", "--mount", "--propagation", "private", "sh", "-c", INSIDE, "sh"]
        clean = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([*start, self.folder, *words], env={**clean, **variables}, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=600, check=False)
        assert not check or done.returncode == 0, f"{words} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def names(self):
        """Returns the paths of all files and folders of the system, without those of mounted file systems."""
        found = self.run("find", "/", "-xdev", "-not", "-path", "/proc/*")
        return set(found.stdout.splitlines())


def make_root(release, architecture):
    """Returns the folder of the bare system of this release. Makes the system if it does not exist yet."""
    folder = MADE / f"{release}-{architecture}"
    if (folder / "made").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    foreign = architecture != subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True,
                                             check=True).stdout.strip()
    words = [shim.tool("debootstrap"), *(["--foreign"] if foreign else []), f"--arch={architecture}", "--variant=minbase",
             "--include=python3-venv", release, folder]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    shim.need(done.returncode == 0, f"debootstrap {release} failed: {done.stdout[-500:]}{done.stderr[-500:]}")
    # The second stage of debootstrap would run hundreds of programs under qemu. Python also works in a system that is
    # only unpacked.
    if foreign:
        for package in folder.glob("var/cache/apt/archives/*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    (folder / "made").touch()
    return folder


def debian_root(release, where, architecture="amd64"):
    """Returns a fresh copy, below the folder `where`, of the bare system of this release."""
    shim.need(os.geteuid() == 0, "debootstrap and chroot need root")
    made = make_root(release, architecture)
    copy = where / made.name
    subprocess.run(["cp", "-a", "--reflink=auto", made, copy], check=True)
    return DebianRoot(copy, foreign=architecture != {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()])
