"""Several threads that come to the same thing first: whatever they make of it is made once, and every call counted once."""

import os
import shutil

import pytest

import shim
from recorded import read, record, said

REPEATS = int(os.environ.get("FP32SHIM_TEST_REPEATS", "30"))


@pytest.mark.parametrize("blas", ["reference", "blis", "openblas"])
def test_first_calls_of_eight_threads_at_once_are_counted_once(tmp_path, blas):
    """In the reference BLAS and BLIS, cblas_sgemm calls sgemm_. Such calls are not the program's, and do not count."""
    for number in range(REPEATS):
        log = tmp_path / f"{number}.fp32rec"
        result = record(8, 1000, log=log, level="summary", program="first_calls", blas=blas, check=True)
        assert (result.stdout, said(result)) == ("0 wrong\n", [])
        assert read(log)["calls"] == 8000, f"run {number}"
        log.unlink()


def test_a_new_call_site_costs_no_more_among_a_thousand_libraries(tmp_path):
    """The shim does not walk the loader's list for each call site, because the loader itself counts loads and unloads."""
    for i in range(1000):
        shutil.copy(shim.client("libempty.so"), tmp_path / f"{i}.so")
    few, many = (float(shim.run("new_sites", tmp_path, count, blas=None, log=False).stdout) for count in (10, 1000))
    assert many < 3 * few + 500, f"{few} ns among 10, {many} ns among 1000"
