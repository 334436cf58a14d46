"""What the real libraries export, against the shim's table and against the stand-in.

Every export is a row of the table or stands in exceptions.txt with a reason. What a future cuBLAS adds is neither, and
fails here until somebody has looked at it.
"""

import itertools
import pathlib
import re
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "real"))

import libraries  # noqa: E402
from libraries import STAND_IN, exports, need  # noqa: E402
from shim import intercepted_functions  # noqa: E402

# Rows of functions that only libraries newer than the toolkit's have.
ONLY_IN_13_10 = {"cublasLtGroupedMatrixLayoutCreate", "cublasLtMatmulAlgoCheckForStream",
                 "cublasLtMatmulAlgoGetHeuristicForStream"}


def expand(pattern):
    """Returns the names of a line of exceptions.txt, in which {a,b} stands for a or b."""
    parts = re.split(r"\{([^{}]*)\}", pattern)
    choices = [part.split(",") if inside else [part] for part, inside in zip(parts, itertools.cycle([False, True]))]
    return ["".join(choice) for choice in itertools.product(*choices)]


def read_exceptions(text):
    """Returns {name: reason}. A line that names nothing, or a name that occurs twice, is a mistake."""
    reasons, reason = {}, None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            reason = line.strip()
            continue
        assert reason, f"exceptions.txt:{number}: names without a reason"
        for name in expand(line.strip()):
            assert re.fullmatch(r"cublas\w+", name), f"exceptions.txt:{number}: {name!r} is not the name of a function"
            assert name not in reasons, f"exceptions.txt:{number}: {name} stands in the list twice"
            reasons[name] = reason
    return reasons


def read_table():
    return {name for name in intercepted_functions() if name.startswith("cublas")}


def unclassified(names, table, exceptions):
    return sorted(set(names) - set(table) - set(exceptions))


EXCEPTIONS = read_exceptions((HERE / "exceptions.txt").read_text())
TABLE = read_table()


def installed():
    found = [libraries.find(name) for name in libraries.NAMES]
    return [library for library in found if library]


def exported_anywhere():
    return set().union(*({*exports(library.cublas), *exports(library.cublas_lt)} for library in installed()))


@pytest.mark.parametrize("name", libraries.NAMES)
@pytest.mark.parametrize("part", ["cublas", "cublas_lt"])
def test_every_export_is_in_the_table_or_excepted_with_a_reason(name, part):
    exported = exports(getattr(libraries.get(name), part))
    assert len(exported) > 150, "the library was not read"
    assert unclassified(exported, TABLE, EXCEPTIONS) == []


def test_no_exception_hides_a_row_of_the_table():
    assert sorted(TABLE & set(EXCEPTIONS)) == []


@pytest.mark.parametrize("newcomer", [
    "cublasSnewproduct", "cublasSgemmPacked", "cublasCgemm4m", "cublasSgemm_v3", "cublasGemmPlanarEx", "cublasXtSgeam",
    "cublasSgemvGroupedBatched", "cublasLtMatmulGrouped", "cublasLtSSSMatmul_v2", "cublasZnewproduct",
])
def test_a_function_that_nobody_has_looked_at_is_found(newcomer):
    assert unclassified({newcomer, "cublasSgemm_v2", "cublasSger"}, TABLE, EXCEPTIONS) == [newcomer]


def test_a_product_that_is_taken_from_the_table_is_found():
    for product in sorted(TABLE):
        assert unclassified([product], TABLE - {product}, EXCEPTIONS) == [product]


def test_every_row_of_the_table_exists_in_a_real_library():
    need(installed(), "no real cuBLAS is installed")
    expected = TABLE if libraries.find("13.10") else TABLE - ONLY_IN_13_10
    assert expected, "the table has no cuBLAS"
    assert sorted(expected - exported_anywhere()) == []


def test_every_line_of_exceptions_is_about_a_function_that_exists():
    for name in libraries.NAMES:
        libraries.get(name)  # each library has some functions that the others lack
    exported = exported_anywhere()
    lines = [line.strip() for line in (HERE / "exceptions.txt").read_text().splitlines() if line.startswith(" ")]
    assert [line for line in lines if exported.isdisjoint(expand(line))] == []


@pytest.mark.parametrize("table_text, complaint", [
    ("  cublasSger\n", "names without a reason"),
    ("reason\n  cublasSger*\n", "not the name of a function"),
    ("reason\n  cublasS{ger,ger}\n", "stands in the list twice"),
])
def test_a_mistake_in_the_list_is_reported(table_text, complaint):
    with pytest.raises(AssertionError, match=complaint):
        read_exceptions(table_text)


# ---- the stand-in: programs must find each of its names in the real libraries too


def stand_in(file):
    path = STAND_IN / file
    need(path.exists(), f"{path} was not built")
    own = {name: node for name, node in exports(path).items() if node != "STAND_IN_PRIVATE"}
    assert own, f"{path} exports nothing"
    return own


@pytest.mark.parametrize("part", ["cublas", "cublas_lt"])
def test_the_stand_in_exports_what_the_real_library_does_under_the_same_version(part):
    real = [library for library in installed() if library.major == 13]
    need(real, "no real cuBLAS 13 is installed")
    exported = {}
    for library in real:
        exported.update(exports(getattr(library, part)))
    if not libraries.find("13.10"):
        exported.update(dict.fromkeys(ONLY_IN_13_10, f"lib{'cublas' if part == 'cublas' else 'cublasLt'}.so.13"))
    own = stand_in(getattr(real[0], part).name)
    assert {name: node for name, node in own.items() if exported.get(name) != node} == {}


def test_the_stand_ins_driver_exports_what_the_real_one_does():
    toolkit = libraries.get("toolkit")
    stub = toolkit.directory / "stubs/libcuda.so"
    need(stub.exists(), f"the toolkit has no {stub}")
    exported = exports(stub)
    assert {name: node for name, node in stand_in("libcuda.so.1").items() if exported.get(name) != node} == {}
