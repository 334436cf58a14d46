"""fp32shim for Python programs: the precision of float32 matrix products, names for their parts, and recordings.

    import fp32shim

    fp32shim.set_float32_matmul_precision("high")             # all products of this process: numpy, SciPy, CuPy, torch ...
    with fp32shim.scope("layer3.attn", precision="highest"):  # but not these, of this thread
        y = q @ k.T

    for row in fp32shim.Recording("run.fp32rec").rows():
        print(row["function"], row["m"], row["n"], row["k"], row["applied"], row["calls"])

The module needs nothing but the standard library, and may be copied beside a program. Where the library is not
preloaded (`fp32shim run`, or LD_PRELOAD), the program runs as written and nothing is changed; the first use says so, by an
FP32ShimWarning (silence it, or turn it into an error, with the warnings module).

A scope belongs to the thread that opened it, and governs the products that this thread calls. Work that a framework
moves to threads of its own is outside: torch's backward pass on a GPU, for example. In coroutines, keep no
`await` inside a scope: others run on the same thread meanwhile. fp32shim/fp32shim.h says which values each argument
may have, and which setting wins. All functions may be called from any thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import typing
import warnings

__all__ = [
    "FP32ShimError", "FP32ShimWarning", "Recording", "active", "command_path", "get_float32_matmul_precision", "get_floor",
    "get_precision", "library_path", "reload_policy", "scope", "set_float32_matmul_precision", "set_floor",
    "set_precision", "version",
]

ABI_VERSION = 1
_OK = 0
_NAME_SIZE = 16  # same as FP32SHIM_NAME_SIZE in fp32shim.h
_said = False


class FP32ShimWarning(UserWarning):
    """The library is not loaded, so that a request had no effect."""


class FP32ShimError(ValueError):
    """The library refused: an unknown name, too deep a nesting, a policy with errors. `status` is its number."""

    def __init__(self, function: str, status: int, meaning: str):
        super().__init__(f"{function}: {meaning}")
        self.status = status


def _load() -> ctypes.CDLL | None:
    """Returns the library as it was preloaded into this process; None where it was not, or is of another ABI."""
    library = ctypes.CDLL(None)  # the global scope, which contains preloaded libraries; loads nothing
    try:
        if library.fp32shim_abi_version() != ABI_VERSION:
            return None
    except AttributeError:
        return None
    text, size = ctypes.c_char_p, ctypes.c_size_t
    library.fp32shim_version.restype = text
    library.fp32shim_status_string.restype = text
    library.fp32shim_status_string.argtypes = [ctypes.c_int]
    library.fp32shim_set_precision.argtypes = [text]
    library.fp32shim_get_precision.argtypes = [text, size, text, size]
    library.fp32shim_set_floor.argtypes = [text]
    library.fp32shim_get_floor.argtypes = [text, size]
    library.fp32shim_push_scope.argtypes = [text, text, text]
    return library


_library = _load()


# ---- this process -------------------------------------------------------------------------------------------------


def active() -> bool:
    """Returns True if the library is in this process."""
    return _library is not None


def version() -> str | None:
    """Returns the version of the loaded library; None where it is not loaded."""
    return _library.fp32shim_version().decode() if _library is not None else None


def _call(function: str, *arguments: object) -> bool:
    """Calls the library. str becomes bytes, a status that is not OK an exception. Returns False where it is not loaded."""
    global _said
    if _library is None:
        if not _said:
            _said = True
            warnings.warn("libfp32shim.so is not loaded (fp32shim run, or LD_PRELOAD), or has a different ABI from the one "
                          "that this module knows: scopes and settings have no effect", FP32ShimWarning, stacklevel=4)
        return False
    status = getattr(_library, function)(*(a.encode() if isinstance(a, str) else a for a in arguments))
    if status != _OK:
        raise FP32ShimError(function, status, _library.fp32shim_status_string(status).decode())
    return True


@contextlib.contextmanager
def scope(label: str, precision: str | None = None, floor: str | None = None) -> typing.Iterator[None]:
    """Gives products that this thread calls inside the name `label`.

    Where given, they run at `precision`, never below `floor`. Nested labels are joined by '/'. A rule of the policy wins
    over `precision`; `floor` adds to the floors around it. Raises FP32ShimError for an unknown name, or too deep a nesting.
    """
    # KeyboardInterrupt may be raised right after the push, so the number of open scopes decides.
    depth = _library.fp32shim_scope_depth() if _library is not None else 0
    try:
        _call("fp32shim_push_scope", label, precision, floor)
        yield
    finally:
        while _library is not None and _library.fp32shim_scope_depth() > depth:
            _call("fp32shim_pop_scope")


def set_precision(precision: str | None) -> None:
    """Sets the precision of the process; None gives it back to the environment and the policy."""
    _call("fp32shim_set_precision", precision)


def get_precision() -> tuple[str, str] | None:
    """Returns (precision, source) for this thread now, rules aside: ("high", "thread"); None where it is not loaded."""
    precision = ctypes.create_string_buffer(_NAME_SIZE)
    source = ctypes.create_string_buffer(_NAME_SIZE)
    if not _call("fp32shim_get_precision", precision, len(precision), source, len(source)):
        return None
    return precision.value.decode(), source.value.decode()


def set_float32_matmul_precision(precision: str) -> None:
    """Sets the precision of the process in torch's words: "highest" (FP32), "high" (TF32) or "medium" (BF16).

    As torch.set_float32_matmul_precision, but for whatever multiplies in this process. On a CPU, only `cpu = "emulate"` lowers.
    """
    words = ("highest", "high", "medium")
    if precision not in words:
        raise ValueError(f"found {precision!r}; allowed: {', '.join(words)}")
    set_precision(precision)


def get_float32_matmul_precision() -> str | None:
    """Returns the precision for this thread now, rules aside; "native": as each call asks for it."""
    found = get_precision()
    return found[0] if found else None


def set_floor(floor: str) -> None:
    """Forbids the process anything below `floor`, for good."""
    _call("fp32shim_set_floor", floor)


def get_floor() -> str | None:
    """Returns the strictest floor for this thread now, "none" without one; None where it is not loaded."""
    floor = ctypes.create_string_buffer(_NAME_SIZE)
    return floor.value.decode() if _call("fp32shim_get_floor", floor, len(floor)) else None


def reload_policy() -> None:
    """Reads the policy files again. On errors (FP32ShimError, details on stderr) the policy in force stays."""
    _call("fp32shim_reload_policy")


# ---- the installation ---------------------------------------------------------------------------------------------


def _installed(*names: str) -> pathlib.Path | None:
    """Returns the first of these files, paths from the prefix, that was installed with this module."""
    import importlib.metadata  # not imported at the top, so that programs that only use scopes start faster

    try:
        files = importlib.metadata.files("fp32shim") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    paths = [pathlib.Path(os.path.normpath(file.locate())) for name in names for file in files
              if file.as_posix().endswith("/" + name)]
    # Location after cmake --install: <prefix>/share/fp32shim/python/fp32shim/__init__.py
    above = pathlib.Path(__file__).resolve().parents
    paths += [above[4] / name for name in names if len(above) > 4]
    return next((path for path in paths if path.is_file()), None)


def library_path() -> str:
    """Returns the path of libfp32shim.so, for LD_PRELOAD. Raises FileNotFoundError if it is not installed beside this module."""
    multiarch = f"lib/{os.uname().machine}-linux-gnu"
    found = os.environ.get("FP32SHIM_LIBRARY") or _installed(
        "lib/libfp32shim.so", f"{multiarch}/libfp32shim.so", f"{multiarch}/fp32shim/libfp32shim.so", "lib64/libfp32shim.so")
    if found is None:
        raise FileNotFoundError("libfp32shim.so was not found beside this module; install fp32shim, or set FP32SHIM_LIBRARY")
    return str(found)


def command_path() -> str:
    """Returns the path of the fp32shim command. Raises FileNotFoundError if it is neither installed nor on the path."""
    import shutil

    found = _installed("bin/fp32shim") or shutil.which("fp32shim")
    if found is None:
        raise FileNotFoundError("the fp32shim command was found neither beside this module nor on PATH; install fp32shim")
    return str(found)


class Recording:
    """The decisions of a program, as `FP32_MATMUL_LOG=x.fp32rec` keeps them. May be read while the program runs.

    `path`: a recording, a folder with recordings, or a glob; several are merged as `fp32shim report` does.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)

    def report(self) -> dict[str, typing.Any]:
        """Returns all that `fp32shim report --format json` prints; docs/cli/report-json.md describes it.

        Raises OSError, with the command's own message, for what is not a recording.
        """
        import json
        import subprocess

        done = subprocess.run([command_path(), "report", "--format", "json", "--", self.path], capture_output=True, text=True,
                              check=False)
        if not done.stdout:
            raise OSError(done.stderr.strip() or f"fp32shim report ended with {done.returncode}")
        if done.stderr:
            warnings.warn(done.stderr.strip(), FP32ShimWarning, stacklevel=3)
        report: dict[str, typing.Any] = json.loads(done.stdout)
        return report

    def rows(self) -> list[dict[str, typing.Any]]:
        """Returns the distinct decisions, each a dict of its keys: function, m, n, k, applied, calls, host_ns ..."""
        rows: list[dict[str, typing.Any]] = self.report()["rows"]
        return rows

    def to_pandas(self) -> typing.Any:
        """Returns rows() as a pandas.DataFrame. Raises ImportError without pandas."""
        import pandas  # type: ignore[import-untyped,unused-ignore]

        return pandas.DataFrame(self.rows())
