"""Reads the markers of the plugin, and opens the scopes in which tests run."""

from __future__ import annotations

import contextlib
import hashlib

import fp32shim
from fp32shim.notebook import PRECISIONS

FLOORS = ("fp32", "bf16x9", "tf32", "bf16", "fp16")  # the strictest comes first
LONGEST_LABEL = 300  # number of bytes; labels that are joined have less than 1024, and lines of JSON cut them to 512


def node_id_of(test):
    """Returns the node id of an item, a report or a collector. Adds the file if pytest leaves it out, as it does for
    files outside of the root folder."""
    is_short = test.nodeid.startswith("::") and getattr(test, "location", None)
    return f"{test.location[0]}{test.nodeid}" if is_short else test.nodeid


def scope_label_of(name):
    """Returns the label of the scope for a test or a file, which is its name. If the name is too long, a hash replaces
    its end."""
    text = name.replace("\0", "?").encode("utf-8", "backslashreplace")
    if len(text) > LONGEST_LABEL:
        text = text[:LONGEST_LABEL - 20] + b" " + hashlib.sha1(text).hexdigest()[:16].encode()
    return text.decode("utf-8", "ignore")


@contextlib.contextmanager
def labelled_scope(label, precision=None, floor=None):
    """Opens a scope. If there is no room for another scope, runs the `with` block without one."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(fp32shim.scope(label, precision=precision, floor=floor))
        except (fp32shim.FP32ShimError, fp32shim.FP32ShimWarning):  # the warning is raised if the suite makes it an error
            pass
        yield


def floor_context(floor):
    """Returns a context manager. Inside it, no product of this thread runs below `floor`."""
    word = parse_word("limit_precision", "floor", floor, FLOORS)
    return fp32shim.scope("", floor=word) if fp32shim.active() else contextlib.nullcontext()


def parse_word(marker, argument, word, allowed):
    """Returns `word` in lower case. Raises ValueError if it is not one of the allowed words."""
    if not isinstance(word, str) or word.lower() not in allowed:
        raise ValueError(f"{marker}: {argument}: found {word!r}; allowed: {', '.join(allowed)}")
    return word.lower()


def settings_of_marker(marker):
    """Returns the precision and the floor that one marker names. Each is None if the marker does not name it. Raises
    ValueError."""
    name, words = marker.name, dict(marker.kwargs)
    if name == "limit_precision":
        if len(marker.args) != 1 or words:
            raise ValueError(f"{name}: found {len(marker.args)} arguments and the keys {sorted(words)}; allowed: one floor, "
                             f"such as limit_precision(\"fp32\")")
        return None, parse_word(name, "floor", marker.args[0], FLOORS)
    unknown = sorted(set(words) - {"precision", "floor"})
    if marker.args or unknown or not words:
        found = [repr(each) for each in marker.args] + unknown
        raise ValueError(f"{name}: found {', '.join(found) or 'no argument'}; allowed: precision=…, floor=…, such as "
                         f"fp32shim(precision=\"high\")")
    precision, floor = words.get("precision"), words.get("floor")
    return (None if precision is None else parse_word(name, "precision", precision, PRECISIONS),
            None if floor is None else parse_word(name, "floor", floor, FLOORS))


def settings_of_item(item):
    """Returns the precision of a test from the closest marker, and the strictest floor of all its markers. Raises
    ValueError.

    A test that requests the highest precision also gets a floor, so that the rule of a preview does not lower its
    products.
    """
    precision, floors = None, []
    for name in ("fp32shim", "limit_precision"):
        for marker in item.iter_markers(name):
            own_precision, own_floor = settings_of_marker(marker)
            precision = precision or own_precision
            floors += [own_floor] if own_floor else []
    if precision in ("highest", "fp32", "ieee"):
        floors.append("fp32")
    return precision, min(floors, key=FLOORS.index) if floors else None


def marker_problem_of(item):
    """Returns the problem with the markers of a test, or None if there is no problem."""
    try:
        settings_of_item(item)
    except ValueError as problem:
        return str(problem)
    return None


def lowest_allowed_format(item, level):
    """Returns the lowest format that the products of a test may run in. It is the one that the test's markers name, or
    `level` if they name none."""
    precision, floor = settings_of_item(item)
    return floor or {"high": "tf32", "tf32": "tf32", "medium": "bf16", "bf16": "bf16"}.get(precision, level)
