"""How a program comes by cuBLAS makes no difference: linked against it, or by dlopen and dlsym, as XLA does."""

import subprocess

import pytest

from cublas import CLIENTS, STAND_IN, as_calls, need, run_client, wished_format

GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
CUDA = {"libcublas.so.13", "libcublasLt.so.13", "libcuda.so.1"}


def needed(program):
    dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    return {line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "(NEEDED)" in line}


@pytest.mark.parametrize("client", ["products", "lt"])
@pytest.mark.parametrize("precision", ["native", "highest", "high", "medium"])
def test_both_ways_get_the_same_decisions(client, precision):
    # The order of lines from two threads is random.
    settings = {"precision": precision, "exact": True, "expect": wished_format(precision, "9.0"),
                "only": "-*TwoThreads*"}
    linked = run_client(client, **settings)
    opened = run_client(f"{client}_dlopen", **settings)
    assert as_calls(linked.decisions) == as_calls(opened.decisions)
    assert linked.decisions


@pytest.mark.parametrize("precision", ["native", "high"])
def test_handles_are_the_same_by_dlopen(precision):
    run_client("handles_dlopen", precision=precision, exact=True, expect=wished_format(precision, "9.0"),
               env={"CLIENT_DEFERRED": "1"})


@pytest.mark.parametrize("version", ["11", "12"])
def test_libraries_of_older_names_are_governed_too(version, tmp_path):
    for name in ("libcuda.so.1", "libcublasLt.so.13"):
        (tmp_path / name).symlink_to(STAND_IN / name)
    for name in ("libcublas", "libcublasLt"):
        (tmp_path / f"{name}.so.{version}").symlink_to(STAND_IN / f"{name}.so.13")
    settings = {"precision": "high", "exact": True, "expect": "tf32", "libraries": [tmp_path]}
    result = run_client("products_dlopen", only="*/cublasSgemm_v2__float32:*/cublasCgemm3m__complex64", **settings)
    assert {d["provider"] for d in result.decisions} == {f"libcublas.so.{version}"}
    assert {d["applied"] for d in result.decisions if d["reason"] != "no_product"} == {"tf32"}
    assert run_client("lt_dlopen", **settings).decisions


def test_bad_input_gets_the_same_status_by_dlopen():
    linked = run_client("statuses", precision="high")
    opened = run_client("statuses_dlopen", precision="high")
    assert linked.stdout == opened.stdout
    assert as_calls(linked.decisions) == as_calls(opened.decisions)


@pytest.mark.parametrize("client", ["products", "handles", "lt", "statuses"])
def test_clients_need_nothing_but_cuda_and_glibc(client):
    for variant, allowed in ((client, GLIBC | CUDA), (f"{client}_dlopen", GLIBC)):
        program = CLIENTS / variant
        need(program.exists(), f"{program} was not built")
        assert needed(program) <= allowed
