"""fp32shim for Python programs: sets the precision of float32 matrix products, names program parts, and reads recordings.

    import fp32shim

    fp32shim.set_float32_matmul_precision("high")             # all products of this process: numpy, SciPy, CuPy, torch ...
    with fp32shim.scope("layer3.attn", precision="highest"):  # for the products that this thread calls inside
        y = q @ k.T

    with fp32shim.products() as seen:                         # collects what this process records meanwhile, on all threads
        model(batch)
    print(seen.table())                                       # seen.to_pandas() and loops over `seen` also work

    for row in fp32shim.Recording("run.fp32rec"):
        print(row["function"], row["m"], row["n"], row["k"], row["applied"], row["calls"])

The module needs only the standard library, and may be copied beside a program. If the library libfp32shim.so is not
preloaded (by `fp32shim run` or LD_PRELOAD), the program runs as written and nothing is changed. The first use then gives an
FP32ShimWarning, which the warnings module can silence or turn into an error.

A scope belongs to the thread that opened it, and governs the products that this thread calls. It does not govern work that a
framework moves to its own threads, such as torch's backward pass on a GPU. In coroutines, do not use `await` inside a scope,
because other coroutines run on the same thread meanwhile. fp32shim/fp32shim.h says which values each argument may have, and
which setting wins. All functions may be called from any thread. docs/python.md has examples, and describes
`%load_ext fp32shim`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import struct
import typing
import warnings

from fp32shim import tables

__all__ = [
    "FP32ShimError", "FP32ShimWarning", "Products", "Recording", "active", "command_path", "get_float32_matmul_precision",
    "get_floor", "get_precision", "library_path", "products", "recording", "reload_policy", "scope",
    "set_float32_matmul_precision", "set_floor", "set_precision", "version",
]

ABI_VERSION = 1
_OK = 0
_NOT_ACTIVE = 2
_SCOPE_DEPTH = 4
_NAME_SIZE = 16  # this is FP32SHIM_NAME_SIZE of fp32shim.h
# The struct reads three fields of a recording's header: magic, process id and flags. Their offsets are those of
# record/format/format.hpp.
_HEADER = struct.Struct("=8s12xi236xI")
_FLAG_LEFT = 128
_given_warnings: set[str] = set()


class FP32ShimWarning(UserWarning):
    """A request had no effect, or only a part of its effect, for example because the library is not loaded."""


class FP32ShimError(ValueError):
    """The library refused a request, for example because of an unknown name, too deeply nested scopes, or errors in a
    policy. `status` is the status number of fp32shim.h."""

    def __init__(self, function: str, status: int, meaning: str):
        super().__init__(f"{function}: {meaning}")
        self.status = status


def _load_library() -> ctypes.CDLL | None:
    """Returns the library that was preloaded into this process, or None if there is none or it has another version of the
    ABI."""
    library = ctypes.CDLL(None)  # opens the global scope, which contains preloaded libraries, and loads nothing
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


_library = _load_library()


# ---- this process -------------------------------------------------------------------------------------------------


def active() -> bool:
    """Returns True if the library is loaded in this process."""
    return _library is not None


def version() -> str | None:
    """Returns the version of the loaded library, or None if it is not loaded."""
    return _library.fp32shim_version().decode() if _library is not None else None


def _call_library(function: str, *arguments: object) -> bool:
    """Calls a function of the library. Returns False, and warns once, if the library is not loaded or not active. Raises
    FP32ShimError for any other status that is not OK. Texts among `arguments` must be bytes."""
    if _library is None:
        _warn_once("libfp32shim.so is not loaded (fp32shim run, or LD_PRELOAD), or has a different ABI from the one that "
                   "this module knows: scopes and settings have no effect")
        return False
    status = getattr(_library, function)(*arguments)
    if status == _NOT_ACTIVE:
        _warn_once("libfp32shim.so is loaded but not active (FP32_MATMUL_DISABLE=1, or a process with elevated rights): "
                   "scopes and settings have no effect")
        return False
    if status != _OK:
        raise FP32ShimError(function, status, _library.fp32shim_status_string(status).decode())
    return True


def _warn_once(text: str) -> None:
    if text not in _given_warnings:
        _given_warnings.add(text)
        warnings.warn(text, FP32ShimWarning, stacklevel=5)


def _text_for_library(value: object) -> bytes | None:
    """Returns a value of any type as a text for the library. In the text, NUL characters and lone surrogates are
    replaced, because a C text in UTF-8 cannot contain them."""
    if value is None:
        return None
    if not isinstance(value, bytes):
        try:
            text = str(value)
        except Exception:  # an object whose __str__() raises an exception
            text = type(value).__name__
        try:
            value = text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            value = text.encode("utf-8", "backslashreplace")
    return value.replace(b"\0", b"\\x00")


@contextlib.contextmanager
def scope(label: object, precision: str | None = None, floor: str | None = None) -> typing.Iterator[None]:
    """Gives the name `label` to the products that this thread calls inside the `with` block.

    If `precision` is given, the products run at this precision. If `floor` is given, they never run below it. Nested
    labels are joined by '/'. A rule of the policy overrides `precision`. `floor` is added to the floors of enclosing
    scopes. A label of another type is turned into text. Labels that are too long or too deeply nested are left out, with
    an FP32ShimWarning. Raises FP32ShimError if the name of a precision or floor is unknown, or if scopes are nested so
    deeply that the library cannot apply a precision or floor.
    """
    # KeyboardInterrupt may be raised right after the scope was opened, so the number of open scopes decides how many to
    # close.
    depth = _library.fp32shim_scope_depth() if _library is not None else 0
    try:
        _open_scope(_text_for_library(label), _text_for_library(precision), _text_for_library(floor))
        yield
    finally:
        while _library is not None and _library.fp32shim_scope_depth() > depth:
            _call_library("fp32shim_pop_scope")


def _open_scope(label: bytes | None, precision: bytes | None, floor: bytes | None) -> None:
    """Opens a scope. If there is no room for its label, opens the scope without the label."""
    try:
        _call_library("fp32shim_push_scope", label, precision, floor)
    except FP32ShimError as problem:
        if problem.status != _SCOPE_DEPTH:
            raise
        _warn_once("a label of a scope is left out: all labels of a thread have 1024 bytes together, in at most 64 scopes")
        if precision is not None or floor is not None:
            _call_library("fp32shim_push_scope", None, precision, floor)


def set_precision(precision: str | None) -> None:
    """Sets the precision of the process. None restores the precision that the environment and the policy give."""
    _call_library("fp32shim_set_precision", _text_for_library(precision))


def get_precision() -> tuple[str, str] | None:
    """Returns the precision that now applies to this thread, and its source, such as ("high", "thread"). Rules of the
    policy are ignored. Returns None if the library is not loaded or not active."""
    precision = ctypes.create_string_buffer(_NAME_SIZE)
    source = ctypes.create_string_buffer(_NAME_SIZE)
    if not _call_library("fp32shim_get_precision", precision, len(precision), source, len(source)):
        return None
    return precision.value.decode(), source.value.decode()


def set_float32_matmul_precision(precision: str) -> None:
    """Sets the precision of the process by torch's words: "highest" (FP32), "high" (TF32) or "medium" (BF16).

    It does the same as torch.set_float32_matmul_precision, but for all libraries that multiply in this process. On a CPU,
    it lowers products only with the setting `cpu = "emulate"`.
    """
    words = ("highest", "high", "medium")
    if precision not in words:
        raise ValueError(f"found {precision!r}; allowed: {', '.join(words)}")
    set_precision(precision)


def get_float32_matmul_precision() -> str | None:
    """Returns the precision that now applies to this thread, ignoring rules of the policy. "native" means that each call
    runs at the precision that the program requests. Returns None if the library is not loaded or not active."""
    found = get_precision()
    return found[0] if found else None


def set_floor(floor: str) -> None:
    """Forbids this process to run any product below `floor`, until the process ends."""
    _call_library("fp32shim_set_floor", _text_for_library(floor))


def get_floor() -> str | None:
    """Returns the strictest floor that now applies to this thread, or "none" if there is none. Returns None if the
    library is not loaded or not active."""
    floor = ctypes.create_string_buffer(_NAME_SIZE)
    return floor.value.decode() if _call_library("fp32shim_get_floor", floor, len(floor)) else None


def reload_policy() -> None:
    """Reads the policy files again. If they have errors, raises FP32ShimError, with the details on stderr, and keeps the
    current policy."""
    _call_library("fp32shim_reload_policy")


def recording() -> str | None:
    """Returns the path of the recording that this process now writes, or None if it writes none.

    A process writes a recording if FP32_MATMUL_LOG=NAME.fp32rec is set, or [log] path in the policy. Its first product
    creates the file; importing numpy makes such a product. The result is also None if the file was removed or renamed.
    """
    found = None
    try:
        maps = pathlib.Path("/proc/self/maps").read_bytes().splitlines()
    except OSError:
        return None
    for line in maps:
        words = line.split(None, 5)
        if len(words) < 6 or words[1:3] != [b"rw-s", b"00000000"] or not words[5].endswith(b".fp32rec"):
            continue
        path = os.fsdecode(words[5].replace(rb"\012", b"\n"))
        if _is_own_recording(path, int(words[4])):
            found = path
    return found


def _is_own_recording(path: str, inode: int) -> bool:
    """Returns True if the file at `path` is the mapped recording, and this process has not stopped writing it at a reload
    or a fork."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_ino != inode:
                return False
            header = file.read(_HEADER.size)
    except OSError:
        return False
    if len(header) < _HEADER.size:
        return False
    magic, pid, flags = _HEADER.unpack(header)
    return magic == b"FP32REC\n" and pid == os.getpid() and not flags & _FLAG_LEFT


# ---- the installation ---------------------------------------------------------------------------------------------


def _installed_file(*names: str) -> pathlib.Path | None:
    """Returns the path of the first file among `names` that was installed with this module. `names` are relative to the
    prefix."""
    import importlib.metadata  # is imported here so that programs that only use scopes start faster

    try:
        files = importlib.metadata.files("fp32shim") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    paths = [pathlib.Path(os.path.normpath(file.locate())) for name in names for file in files
              if file.as_posix().endswith("/" + name)]
    # After cmake --install, this file is <prefix>/share/fp32shim/python/fp32shim/__init__.py.
    above = pathlib.Path(__file__).resolve().parents
    paths += [above[4] / name for name in names if len(above) > 4]
    return next((path for path in paths if path.is_file()), None)


def library_path() -> str:
    """Returns the path of libfp32shim.so, for LD_PRELOAD. Raises FileNotFoundError if the library is not installed beside
    this module."""
    multiarch = f"lib/{os.uname().machine}-linux-gnu"
    found = os.environ.get("FP32SHIM_LIBRARY") or _installed_file(
        "lib/libfp32shim.so", f"{multiarch}/libfp32shim.so", f"{multiarch}/fp32shim/libfp32shim.so", "lib64/libfp32shim.so")
    if found is None:
        raise FileNotFoundError("libfp32shim.so was not found beside this module; install fp32shim, or set FP32SHIM_LIBRARY")
    return str(found)


def command_path() -> str:
    """Returns the path of the fp32shim command. Raises FileNotFoundError if the command is neither installed beside this
    module nor found on PATH."""
    import shutil

    found = _installed_file("bin/fp32shim") or shutil.which("fp32shim")
    if found is None:
        raise FileNotFoundError("the fp32shim command was found neither beside this module nor on PATH; install fp32shim")
    return str(found)


_NO_RECORDING = ("this process has no recording: it made no product that was seen, or FP32_MATMUL_LOG names no file NAME.fp32rec "
                 "(fp32shim run --log NAME.fp32rec)")


class Recording:
    """The decisions about a program's products, as `FP32_MATMUL_LOG=x.fp32rec` records them. It may be read while the
    program runs.

    `path` names a recording, a folder with recordings, or a glob. Several recordings are merged as `fp32shim report`
    merges them. A loop over a Recording is a loop over rows(). All methods that read files raise OSError, with the
    message of the command, if a file is not a recording.
    """

    _why_no_rows = _NO_RECORDING

    def __init__(self, path: str | os.PathLike[str]):
        self.path: str | None = os.fspath(path)
        self.file_names: dict[str, str] = {}  # names to show instead of the paths of source files; the key is the path

    def report(self) -> dict[str, typing.Any]:
        """Returns the data that `fp32shim report --format json` prints. docs/schema.md describes them."""
        import json

        report: dict[str, typing.Any] = json.loads(self._run_report("json"))
        return report

    def html(self) -> str:
        """Returns the page that `fp32shim report --format html` writes, with a flame graph. A browser can show it without
        a network."""
        return self._run_report("html")

    def _recordings_to_read(self) -> list[str]:
        return [] if self.path is None else [self.path]

    def _report_options(self) -> list[str]:
        return [f"--name-file={path}={name}" for path, name in self.file_names.items()]

    def _run_report(self, form: str) -> str:
        import subprocess

        recordings = self._recordings_to_read()
        if not recordings:
            raise OSError(self._why_no_rows)
        done = subprocess.run([command_path(), "report", "--format", form, *self._report_options(), "--", *recordings],
                              capture_output=True, text=True, errors="backslashreplace", check=False)
        if not done.stdout:
            raise OSError(done.stderr.strip() or f"fp32shim report ended with {done.returncode}")
        if done.stderr:
            warnings.warn(done.stderr.strip(), FP32ShimWarning, stacklevel=3)
        return done.stdout

    def rows(self) -> list[dict[str, typing.Any]]:
        """Returns the distinct decisions. Each is a dict with keys such as function, m, n, k, applied, calls and host_ns.
        The list is empty if there is no recording."""
        rows: list[dict[str, typing.Any]] = self.report()["rows"] if self._recordings_to_read() else []
        return rows

    def __iter__(self) -> typing.Iterator[dict[str, typing.Any]]:
        return iter(self.rows())

    def to_pandas(self) -> typing.Any:
        """Returns rows() as a pandas.DataFrame, with a column for each key. Raises ImportError if pandas is not
        installed."""
        import pandas  # type: ignore[import-untyped,unused-ignore]

        return pandas.DataFrame(self.rows())

    def table(self, top: int = 10) -> str:
        """Returns a text about the recording. The text gives the number of products, their time and their formats. Then
        come the `top` rows that took the longest time, and `top` audits, the largest error first. If there is no
        recording, one sentence says so."""
        return tables.text_of_tables(self._tables_to_show(top))

    def _repr_html_(self) -> str:  # IPython shows the HTML that this method returns
        return tables.html_of_tables(self._tables_to_show(10))

    def _tables_to_show(self, top: int) -> list[tables.Table]:
        if not self._recordings_to_read():
            return [tables.Table(self._why_no_rows, (), 0, [])]
        return tables.tables_of_report(self.report(), top)


class Products(Recording):
    """The products that this process records between the beginning and the end of a `with products()` block. Before the
    block has ended, it contains the products recorded so far.

    `path` is the recording that the process wrote at the end of the block, or None if there was none, so that there are
    no rows. Copies of the recording at the beginning and at the end of the block are kept in a temporary folder until
    this object is deleted. If copying fails, there are no rows, and an FP32ShimWarning gives the reason. If a row had
    calls before the block, its `host_ns_min` and `host_ns_max` include these calls.
    """

    def __init__(self) -> None:
        self.path = None
        self.file_names = {}
        self._folder: str | None = None
        self._copies: list[str] | None = None  # copies of the recordings after the block; None until it has ended
        self._copy_before: str | None = None
        self._first_recording = recording()
        if self._first_recording is None:
            return
        self._copy_before = self._copy_recording(self._first_recording, "before")
        if self._copy_before is None:
            self._copies = []  # without a copy from the beginning, products before the block would be counted, too

    def _end_block(self) -> None:
        self.path = recording()
        if self._copies is not None:
            return
        copies = [self._copy_recording(path, f"after{number}") for number, path in enumerate(self._paths_written())]
        self._copies = [copy for copy in copies if copy is not None] if None not in copies else []

    def _paths_written(self) -> list[str]:
        """Returns the paths of the recordings that the block has written to. There are two if the policy was reloaded and
        named another one."""
        return [path for path in dict.fromkeys((self._first_recording, recording())) if path is not None]

    def _copy_recording(self, path: str, name: str) -> str | None:
        """Copies a recording. If this fails, warns and returns None, because the program has to continue."""
        import shutil
        import tempfile
        import weakref

        try:
            if self._folder is None:
                self._folder = tempfile.mkdtemp(prefix="fp32shim-products-")
                weakref.finalize(self, _remove_own_folder, self._folder, os.getpid())
            return shutil.copyfile(path, os.path.join(self._folder, name + ".fp32rec"))
        except OSError as problem:
            self._why_no_rows = f"the recording of this block cannot be copied: {problem}"
            warnings.warn(self._why_no_rows, FP32ShimWarning, stacklevel=5)
            return None

    def _report_options(self) -> list[str]:
        return super()._report_options() + ([f"--since={self._copy_before}"] if self._copy_before else [])

    def _recordings_to_read(self) -> list[str]:
        return self._paths_written() if self._copies is None else self._copies


@contextlib.contextmanager
def products() -> typing.Iterator[Products]:
    """Gives the products that all threads of this process record during a `with` block, as a Products object. The object
    can still be read after the block.

    A product of any thread counts if its call returned after the block began and before it ended. Products of other
    threads that run, or have just returned, at the beginning or the end of the block may be counted or not. Products of
    child processes are in separate recordings and do not count. The process must write a recording
    (FP32_MATMUL_LOG=NAME.fp32rec), which is copied at the beginning and at the end of the block. If a copy fails, the
    block still runs.
    """
    if _library is None:
        _call_library("products")  # only warns that the library is not loaded
    seen = Products()
    try:
        yield seen
    finally:
        seen._end_block()


def _remove_own_folder(folder: str, pid: int) -> None:
    """Removes a temporary folder, unless this process is a forked child of the process `pid`, which made the folder."""
    import shutil

    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


# ---- notebooks ----------------------------------------------------------------------------------------------------


def load_ipython_extension(shell: typing.Any) -> None:
    """IPython and Jupyter call this function for `%load_ext fp32shim`. It adds `%%fp32shim`, which docs/python.md
    describes."""
    from fp32shim import notebook

    notebook.register_magic(shell)
