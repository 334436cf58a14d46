"""A Jupyter kernel that runs under the library. `fp32shim kernel install` or `python3 -m fp32shim.kernel install` adds
it.

The kernel is the ipykernel of this Python, which loads `%%fp32shim` when it starts. Its recording is in a temporary
folder, which is removed when the kernel ends, unless FP32_MATMUL_LOG names another file. docs/python.md is the page for
users.
"""

from __future__ import annotations

import argparse
import atexit
import os
import pathlib
import shlex
import shutil
import sys
import tempfile

if not __package__:  # this file was started by its path, from a kernel.json, so sys.path[0] is its own folder
    del sys.path[0]
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import fp32shim
from fp32shim import notebook

STARTED_VARIABLE = "FP32SHIM_KERNEL"  # environment variable with a restarted kernel's process id and temporary folder


def main(words: list[str]) -> int:
    if words[:1] == ["start"]:
        start_kernel(words[1:])
        return 0
    return install_kernel(words)


def install_kernel(words: list[str]) -> int:
    """Adds the kernel to the kernels that Jupyter lists. Returns an exit status."""
    parser = argparse.ArgumentParser(prog="fp32shim kernel", description="Adds a kernel to Jupyter that runs under fp32shim.")
    parser.add_argument("action", choices=["install"])
    parser.add_argument("--name", default="fp32shim", help="name of the kernel's folder; default: fp32shim")
    parser.add_argument("--display-name", default="Python 3 (fp32shim)", help="what Jupyter shows")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--user", action="store_true", help="for all Jupyters of this user; default outside of virtual environments")
    place.add_argument("--prefix", help="folder of an environment; default: that of this Python if it is a virtual environment")
    options = parser.parse_args(words)
    try:
        from ipykernel.kernelspec import write_kernel_spec  # type: ignore[import-not-found,unused-ignore]
        from jupyter_client.kernelspec import KernelSpecManager  # type: ignore[import-not-found,unused-ignore]
    except ImportError as problem:
        print(f"fp32shim kernel: {sys.executable} has no ipykernel ({problem}); run {shlex.quote(sys.executable)} -m pip install "
              "ipykernel, or name another Python: fp32shim kernel install --python PROGRAM", file=sys.stderr)
        return 2
    prefix = options.prefix or (sys.prefix if sys.prefix != sys.base_prefix and not options.user else None)
    overrides = {"argv": [sys.executable, str(pathlib.Path(__file__).resolve()), "start", "-f", "{connection_file}"],
                 "display_name": options.display_name}
    with tempfile.TemporaryDirectory() as folder:
        made = write_kernel_spec(os.path.join(folder, "kernel"), overrides)
        try:
            place_of_kernel = KernelSpecManager().install_kernel_spec(made, options.name, user=prefix is None, prefix=prefix)
        except (OSError, ValueError) as problem:
            print(f"fp32shim kernel: {problem}; try --user", file=sys.stderr)
            return 2
    print(f"{place_of_kernel}: the kernel \"{options.display_name}\" of {sys.executable}")
    return 0


def start_kernel(words: list[str]) -> None:
    """Turns this process into ipykernel under the library or, if that is impossible, without the library. `words` are the
    arguments of ipykernel."""
    pid, _, folder = os.environ.pop(STARTED_VARIABLE, "").partition(":")
    if pid == str(os.getpid()):
        atexit.register(fp32shim._remove_own_folder, folder, os.getpid())
    else:
        try:
            restart_under_library(words)
        except OSError as problem:
            print(f"fp32shim kernel: started without the library: {problem}", file=sys.stderr)
    from ipykernel import kernelapp  # type: ignore[import-not-found,unused-ignore]

    kernelapp.launch_new_instance(argv=[*words, "--ext=fp32shim"])


def restart_under_library(words: list[str]) -> None:
    """Replaces this process by the same program under the library. Never returns, and raises OSError if the replacement
    is impossible."""
    command = fp32shim.command_path()
    folder = tempfile.mkdtemp(prefix="fp32shim-kernel-")
    variables = {**os.environ, STARTED_VARIABLE: f"{os.getpid()}:{folder}"}
    line = [command, "run", "--quiet"]
    if "FP32_MATMUL_LOG" not in variables:
        line += ["--log", f"{folder}/kernel.fp32rec"]
    if "FP32_MATMUL_WHERE" not in variables:
        line += ["--where", "auto"]
    if "FP32_MATMUL_POLICY" not in variables:
        policy = pathlib.Path(folder, "cell.toml")
        policy.write_text(notebook.NO_POLICY, encoding="utf-8")
        variables[notebook.CELL_POLICY] = variables["FP32_MATMUL_POLICY"] = str(policy)
    try:
        os.execve(command, [*line, "--", sys.executable, os.path.abspath(__file__), "start", *words], variables)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
