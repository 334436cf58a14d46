"""A container of this machine's programs, made by bubblewrap: a read-only root, namespaces, a user who is not root.

    done = container("python3", "/app/model.py", volumes={"/recordings": folder}, env={"FP32_MATMUL_LOG": "stderr"})
"""

import os
import pathlib
import subprocess

import shim

# Files of /etc that programs of /usr need: names of users and of libraries.
ETC = ("alternatives", "ld.so.cache", "passwd", "group", "nsswitch.conf")


def words(*program, volumes=None, read_only=None, env=None, user=1000, shared_memory=True, tmp_size=None):
    """Returns the words that start a program in a container. `volumes` and `read_only` map paths in the container to paths
    of this machine. /usr/local has nothing else. /tmp has `tmp_size` bytes; if that is None, /tmp is read-only."""
    result = [shim.tool("bwrap", "bubblewrap"), "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
              "--hostname", "container", "--die-with-parent", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID",
              "--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin",
              "--ro-bind", "/usr", "/usr", "--tmpfs", "/usr/local", "--proc", "/proc", "--dir", "/etc"]
    for link in ("bin", "lib", "lib64"):
        result += ["--symlink", f"usr/{link}", f"/{link}"]
    for name in ETC:
        result += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    result += ["--dev", "/dev"] if shared_memory else ["--dev-bind", "/dev/null", "/dev/null"]
    result += ["--dir", "/tmp"] if tmp_size is None else ["--size", str(tmp_size), "--tmpfs", "/tmp"]
    for option, files in (("--bind", volumes), ("--ro-bind", read_only)):
        for there, here in (files or {}).items():
            for folder in reversed(pathlib.PurePath(there).parents[:-1]):
                result += ["--dir", str(folder)]  # otherwise only root could use the folder
            result += [option, str(here), there]
    become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs", "env"]
    become += [f"{name}={value}" for name, value in (env or {}).items()]
    return [*result, "--remount-ro", "/usr/local", "--remount-ro", "/", *become, *map(str, program)]


def need_containers():
    """Skips the test if no container can be made."""
    shim.need(os.geteuid() == 0, "only root can make a container with files of root's")
    tried = subprocess.run(words("/usr/bin/true"), capture_output=True, text=True, check=False)
    shim.need(tried.returncode == 0, f"bwrap makes no container here: {tried.stderr}")


def container(*program, timeout=600, **keywords):
    """Runs a program in a container, and returns its result."""
    return subprocess.run(words(*program, **keywords), capture_output=True, text=True, timeout=timeout, check=False,
                          stdin=subprocess.DEVNULL)
