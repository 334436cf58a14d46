"""The C API of fp32shim for Python programs: scopes as a context manager, through ctypes.

    import fp32shim
    with fp32shim.scope("layer3.attn", precision="high"):
        y = q @ k.T

One file, nothing but the standard library: copy it beside your program. Where the shim is not preloaded everything
runs as written and nothing is changed; the first use says so, as a FP32ShimWarning (silence it, or turn it into
an error, with the warnings module).

A scope belongs to the thread that opened it, and governs the products that this thread calls. Work that a framework
moves to threads of its own is outside: torch's backward pass on a GPU, for example. In coroutines, keep no
`await` inside a scope: others run on the same thread meanwhile. What each argument may be and what
wins over what: fp32shim/fp32shim.h.
"""

import contextlib
import ctypes
import warnings

ABI_VERSION = 1
_OK = 0
_NAME_SIZE = 16  # FP32SHIM_NAME_SIZE
_said = False


class FP32ShimWarning(UserWarning):
    """The library is not loaded, so a request had no effect."""


class FP32ShimError(ValueError):
    """The library refused: an unknown name, too deep a nesting, a policy with errors. `status` is its number."""

    def __init__(self, function, status):
        super().__init__(f"{function}: {_library.fp32shim_status_string(status).decode()}")
        self.status = status


def _load():
    """The library as it was preloaded into this process; None where it was not, or is of another ABI."""
    library = ctypes.CDLL(None)  # the global scope, where a preload lies; nothing is loaded
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


def active():
    """Whether the shim is in this process."""
    return _library is not None


def version():
    """The version of the loaded library, or None."""
    return _library.fp32shim_version().decode() if active() else None


def _call(function, *arguments):
    """Calls the library; str becomes bytes, a status that is not OK an exception. False where it is not loaded."""
    global _said
    if not active():
        if not _said:
            _said = True
            warnings.warn("libfp32shim.so is not loaded (LD_PRELOAD), or has another ABI than this module knows: "
                          "scopes and settings have no effect", FP32ShimWarning, stacklevel=4)
        return False
    status = getattr(_library, function)(*(a.encode() if isinstance(a, str) else a for a in arguments))
    if status != _OK:
        raise FP32ShimError(function, status)
    return True


@contextlib.contextmanager
def scope(label, precision=None, floor=None):
    """Products that this thread calls inside carry `label` and, where given, run at `precision`, never below `floor`.

    Nested labels are joined by '/'. A rule of the policy wins over `precision`; `floor` adds to the floors around it.
    """
    opened = _call("fp32shim_push_scope", label, precision, floor)
    try:
        yield
    finally:
        if opened:
            _call("fp32shim_pop_scope")


def set_precision(precision):
    """Sets the precision of the process; None gives it back to the environment and the policy."""
    _call("fp32shim_set_precision", precision)


def get_precision():
    """(precision, source) for this thread now, rules aside: ("high", "thread"); None where it is not loaded."""
    precision = ctypes.create_string_buffer(_NAME_SIZE)
    source = ctypes.create_string_buffer(_NAME_SIZE)
    if not _call("fp32shim_get_precision", precision, len(precision), source, len(source)):
        return None
    return precision.value.decode(), source.value.decode()


def set_floor(floor):
    """Forbids the process anything below `floor`, for good."""
    _call("fp32shim_set_floor", floor)


def get_floor():
    """The strictest floor for this thread now, "none" without one; None where it is not loaded."""
    floor = ctypes.create_string_buffer(_NAME_SIZE)
    return floor.value.decode() if _call("fp32shim_get_floor", floor, len(floor)) else None


def reload_policy():
    """Reads the policy files again; on errors (FP32ShimError, details on stderr) the policy in force stays."""
    _call("fp32shim_reload_policy")
