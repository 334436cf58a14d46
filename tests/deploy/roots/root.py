"""Scripts that run as root of a whole Debian system, in namespaces of their own: make.sh makes it, in FP32SHIM_DEPLOY_ROOTS."""

import os
import pathlib
import shutil
import subprocess

import page
import shim

FOLDER = pathlib.Path(os.environ.get("FP32SHIM_DEPLOY_ROOTS", shim.BUILD / "nightly/deploy"))
ROOT = FOLDER / "root"
LIBRARY = "/usr/local/lib/libfp32shim.so"

# Changes are kept in memory and vanish with the script, except for /srv/disk, which is on the disk. The system has a
# host name, a loopback that resolvers accept as a network, and a root that is a mount, which buildah requires.
ENTER = """
cd "$1"
mount -t tmpfs tmpfs work; mkdir work/changed work/more work/root
mount -t overlay overlay -o lowerdir=root,upperdir=work/changed,workdir=work/more work/root
mount --bind disk work/root/srv/disk; cd work/root
mount -t proc proc proc; mount -t sysfs sys sys; mount -t tmpfs tmpfs sys/fs/cgroup; mount --rbind /dev dev
mount -t tmpfs tmpfs run; mount -t tmpfs tmpfs tmp; mkdir run/lock; chmod 1777 tmp
hostname node1; echo 127.0.0.1 localhost node1 > etc/hosts; ip link set lo up; ip addr add 127.0.0.2/8 dev lo
pivot_root . mnt; umount -l /mnt; cd /
exec bash -c "$2"
"""


def install():
    """Puts this build and the files of the page where the page says."""
    shim.need((FOLDER / "made-by").exists(), f"{FOLDER} was not made: tests/nightly.sh deploy")
    subprocess.run([shim.tool("cmake"), "--install", shim.BUILD, "--prefix", ROOT / "usr/local", "--strip"], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.copy(pathlib.Path(__file__).parents[1] / "model.py", ROOT / "srv")
    for folder in (FOLDER / "work", FOLDER / "disk", ROOT / "srv/disk"):
        folder.mkdir(exist_ok=True)
    shutil.copytree(page.FILES, ROOT / "srv/deploy", dirs_exist_ok=True)


def inside(script, timeout=600):
    """Runs a script. Returns the lines that it prints, on stderr too. Its end also ends the processes that it started."""
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--uts", "--net", "--ipc", "--kill-child",
                           "bash", "-euc", ENTER, "enter", FOLDER, script], timeout=timeout, text=True, check=False,
                          env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()
