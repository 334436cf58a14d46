"""The test programs of netlib's BLAS and CBLAS, levels 1 to 3, as Debian packages them, print the same under the shim."""

import pathlib
import re

import pytest

from shim import SYSTEM_LIBRARIES, need, run

# The C programs use a symbol that only the reference BLAS has.
PROGRAMS = [
    ("xblat3s", "sblat3.in", "reference", "sgemm_"), ("xblat3s", "sblat3.in", "openblas", "sgemm_"),
    ("xblat3c", "cblat3.in", "reference", "cgemm_"), ("xblat3c", "cblat3.in", "openblas", "cgemm_"),
    ("xblat1s", "sblat2.in", "reference", "sdot_"), ("xblat1c", "cblat2.in", "openblas", "cdotc_"),
    ("xblat1z", "zblat2.in", "reference", "dznrm2_"), ("xblat2s", "sblat2.in", "openblas", "sgemv_"),
    ("xblat2z", "zblat2.in", "reference", "zgerc_"), ("xccblat1", "cin2", "reference", "cblas_cdotu_sub"),
    ("xdcblat2", "din2", "reference", "cblas_dtrsv"),
    ("xscblat3", "sin3", "reference", "cblas_sgemm"), ("xccblat3", "cin3", "reference", "cblas_cgemm"),
]


def report(program, parameters, directory, **settings):
    """Runs a program. Returns its stdout, and the summary file that some programs write."""
    place = SYSTEM_LIBRARIES / "blas"
    need((place / program).exists(), "libblas-test is not installed")
    directory.mkdir()
    with open(place / parameters, encoding="ascii") as stdin:
        result = run(place / program, stdin=stdin, cwd=directory, **settings)
    files = {path.name: path.read_text() for path in sorted(pathlib.Path(directory).iterdir())}
    return (result.stdout, files), result


@pytest.mark.parametrize("program, parameters, blas, function", PROGRAMS,
                         ids=[f"{program}-{blas}" for program, _, blas, _ in PROGRAMS])
def test_netlibs_programs_print_the_same(program, parameters, blas, function, tmp_path):
    plain, result = report(program, parameters, tmp_path / "plain", blas=blas, preload=False, check=False)
    # In Debian 13, xblat3c crashes while printing a failure of OpenBLAS, because its own format is wrong.
    need(result.returncode == 0, f"{program} ends with {result.returncode} under {blas} without the shim, too")
    assert "PASS" in str(plain) and not re.search(r"FAIL(ED)?\b", str(plain))
    settings = {
        "native": {"precision": "native"},
        "highest": {"precision": "highest"},
        # Products that are not emulated must give the same results with emulation on.
        "highest while emulating": {"precision": "highest", "cpu": "emulate"},
    }
    for name, setting in settings.items():
        level = {"FP32_MATMUL_LOG_LEVEL": "summary", "FP32_MATMUL_VECTORS": "1"}
        shimmed, result = report(program, parameters, tmp_path / name, blas=blas, env=level, **setting)
        assert shimmed == plain, name
        assert result.stderr == ""
        assert function in {d["function"] for d in [*result.decisions, *result.vectors]}
    unlogged, _ = report(program, parameters, tmp_path / "unlogged", blas=blas, precision="highest", log=False)
    assert unlogged == plain
