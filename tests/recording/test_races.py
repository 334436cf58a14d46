"""Several threads that come to the same thing first: whatever they make of it is made once, and every call counted once."""

import os

import pytest

import shim
from recorded import read, record, said

REPEATS = int(os.environ.get("FP32SHIM_TEST_REPEATS", "30"))


@pytest.mark.parametrize("blas", ["reference", "blis", "openblas"])
def test_first_calls_of_eight_threads_at_once_are_counted_once(tmp_path, blas):
    """In reference BLAS and BLIS, cblas_sgemm calls sgemm_: those calls are theirs, not the program's."""
    for number in range(REPEATS):
        log = tmp_path / f"{number}.fp32rec"
        result = record(8, 1000, log=log, level="summary", program="first_calls", blas=blas, check=True)
        assert (result.stdout, said(result)) == ("0 wrong\n", [])
        assert read(log)["calls"] == 8000, f"run {number}"
        log.unlink()
