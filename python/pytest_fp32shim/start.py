"""Restarts pytest under the library, unless this process already has the library with the settings that the options need.

The process becomes `fp32shim run`, which becomes the same Python with the same arguments. The process id, input, output,
folder and exit status stay the same. The restart comes before output is captured and before any test file is read.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pathlib
import random
import shlex
import shutil
import sys
import tempfile
import warnings

import pytest

import fp32shim
from fp32shim.notebook import DEFAULTS

is_ready = False  # True once this process runs under the library with the settings that the options need
earlier_recordings = frozenset()  # paths of recordings that earlier runs have left in the same folder
# The environment and the working folder before any test runs. They are kept because tests may change or clear both.
environment = dict(os.environ)
folder_at_start = pathlib.Path.cwd()
command = None  # path of the fp32shim command; set when is_ready becomes True
STARTED_VARIABLE = "FP32SHIM_PYTEST"  # environment variable with the process id and the folder of a restarted process
CONTROL_VARIABLE = "FP32SHIM_PYTEST_CONTROL"  # environment variable of the native run after a preview; set by control.py
RULE = """schema = 1
[[rule]]
name = "pytest --fp32shim-preview"
precision = "{}"
"""


def is_worker():
    """Returns True in a worker of xdist. The controller of xdist has started the worker under the library."""
    return "PYTEST_XDIST_WORKER" in environment


def is_native_run():
    """Returns True in the native run that follows a preview, and in the xdist workers of this run."""
    return (environment.get(CONTROL_VARIABLE, "").partition(":")[0] == str(os.getppid())
            or (is_worker() and CONTROL_VARIABLE in environment))


def recordings_folder():
    return folder_at_start / pathlib.Path(environment["FP32_MATMUL_LOG"]).parent


def new_recordings():
    """Returns the recordings that this process and its children have made since this process began."""
    return sorted(set(recordings_folder().glob("*.fp32rec")) - earlier_recordings)


def pid_and_folder_of_start():
    """Returns the id, as text, of the process that this module has restarted, and the path of the temporary folder for
    it."""
    pid, _, folder = environment.get(STARTED_VARIABLE, "").partition(":")
    return pid, folder


def remove_temporary_folder():
    """Removes the temporary folder when the process for which it was made ends. Does nothing in a forked child."""
    pid, folder = pid_and_folder_of_start()
    if pid == str(os.getpid()) and folder:
        shutil.rmtree(folder, ignore_errors=True)


def ensure_started_under_library(config, options):
    """Prepares this process if it already has the library with the settings that the options need. Otherwise restarts
    pytest under the library. Raises UsageError."""
    global is_ready, earlier_recordings, command
    if is_native_run():
        return
    check_options(options)
    if "FP32_MATMUL_LOG" in os.environ:  # must precede the first library call, which creates this process's recording
        earlier_recordings = frozenset(recordings_folder().glob("*.fp32rec"))
    pid = pid_and_folder_of_start()[0]
    atexit.register(remove_temporary_folder)
    if fp32shim.active() and (pid == str(os.getpid()) or is_worker() or is_started_by_hand(options)):
        check_library_is_enabled()
        is_ready = True
        with contextlib.suppress(FileNotFoundError):  # an error is reported later, when the command is needed
            command = fp32shim.command_path()
        return
    if pid == str(os.getpid()) or is_worker():
        raise pytest.UsageError("fp32shim: libfp32shim.so is not loaded, although it was preloaded: LD_PRELOAD does not "
                                f"reach {sys.executable}; `fp32shim doctor -- {sys.executable}` says why")
    if not is_pytest_itself(config):
        if preview_needs_rule(options):
            raise pytest.UsageError(f"--fp32shim-preview {options.fp32shim_preview}: this program is not pytest's own command, so it "
                                    "is not started again under libfp32shim.so; use that command, or tf32 or bf16")
        folder = options.fp32shim_keep or "NEW_FOLDER"
        line = shlex.join([*run_command_words("fp32shim", options, folder), "--", *command_line()])
        raise pytest.UsageError(f"fp32shim: this program is not pytest's own command, so it is not started again under "
                                f"libfp32shim.so; start it by: mkdir {folder} && {line}")
    restart_under_library(options)


def check_options(options):
    if options.fp32shim_baseline_update and not options.fp32shim_baseline:
        raise pytest.UsageError("--fp32shim-baseline-update: found no --fp32shim-baseline; add --fp32shim-baseline FILE")
    if preview_needs_rule(options) and os.environ.get("FP32_MATMUL_POLICY") and not os.environ.get(STARTED_VARIABLE):
        raise pytest.UsageError(f"--fp32shim-preview: found {options.fp32shim_preview!r} beside FP32_MATMUL_POLICY; allowed "
                                "with a policy of your own: tf32, bf16; or give your policy a rule with that precision")


def check_library_is_enabled():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fp32shim.FP32ShimWarning)
        if fp32shim.get_floor() is not None:
            return
    raise pytest.UsageError("fp32shim is not active in this process; unset FP32_MATMUL_DISABLE, or leave fp32shim's options out")


def preview_needs_rule(options):
    """Returns True if the preview needs a rule of a policy, because no default precision stands for its format."""
    return options.fp32shim_preview is not None and options.fp32shim_preview not in DEFAULTS


def is_pytest_itself(config):
    """Returns True if this process is `pytest …` or `python -m pytest …`, and not a program that calls pytest."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    name = spec.name if spec else pathlib.Path(getattr(main, "__file__", None) or "").name
    return (name in ("pytest.__main__", "pytest", "py.test", "pytest-3", "py.test-3")
            and [str(each) for each in config.invocation_params.args] == sys.argv[1:])


def is_started_by_hand(options):
    """Returns True if the user has started `fp32shim run` with the settings that the options need."""
    log = os.environ.get("FP32_MATMUL_LOG", "")
    previews = DEFAULTS.get(options.fp32shim_preview)
    return (log.endswith(".fp32rec") and not preview_needs_rule(options)
            and (previews is None or (os.environ.get("FP32_MATMUL_CPU") == "emulate"
                                      and fp32shim.get_float32_matmul_precision() == previews)))


def command_line():
    """Returns the command line with which this process was started, including the options of Python."""
    words = pathlib.Path("/proc/self/cmdline").read_bytes().split(b"\0")[:-1]
    return [sys.executable, *(os.fsdecode(word) for word in words[1:])]


def run_command_words(command, options, folder):
    """Returns the command line of `fp32shim run` that the options need. If the preview needs a rule, names the policy
    file in `folder`."""
    words = [command, "run", "--quiet", "--log", f"{folder}/run.fp32rec"]
    if options.fp32shim or options.fp32shim_preview:
        words += ["--cpu", "emulate"] if options.fp32shim_preview or "FP32_MATMUL_CPU" not in os.environ else []
    if preview_needs_rule(options):
        words += ["--policy", f"{folder}/preview.toml"]
    elif options.fp32shim_preview:
        words += ["--precision", DEFAULTS[options.fp32shim_preview]]
    return words if os.environ.get("FP32_MATMUL_WHERE") else [*words, "--where", "python"]


def make_recordings_folder(options):
    if options.fp32shim_keep is None:
        return tempfile.mkdtemp(prefix="fp32shim-pytest-")
    folder = pathlib.Path(options.fp32shim_keep).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise pytest.UsageError(f"--fp32shim-keep: {folder} is not empty; name a new folder, since all recordings in it are read")
    return str(folder)


def restart_under_library(options):
    """Replaces this process by the same pytest under the library."""
    try:
        command = fp32shim.command_path()
        folder = make_recordings_folder(options)
        if preview_needs_rule(options):
            pathlib.Path(folder, "preview.toml").write_text(RULE.format(options.fp32shim_preview))
    except OSError as problem:
        raise pytest.UsageError(f"fp32shim: pytest was not started under libfp32shim.so: {problem}") from None
    variables = dict(os.environ)
    variables[STARTED_VARIABLE] = f"{os.getpid()}:{'' if options.fp32shim_keep else folder}"
    if options.fp32shim_preview and not variables.get("PYTHONHASHSEED"):
        # A native run follows, in which sets and dicts must have the same order as in this run.
        variables["PYTHONHASHSEED"] = str(random.randrange(1, 2**32))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command, [*run_command_words(command, options, folder), "--", *command_line()], variables)
