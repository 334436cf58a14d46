"""The client of the driver on the stand-in, without the shim: each way to the driver's functions launches the same."""

import subprocess

import pytest

import images
from cublas import CLIENTS, STAND_IN, need

WAYS = [("kernels", "linked"), *(("kernels_dlopen", way) for way in ("dlsym", "proc", "proc_v1", "asked"))]


@pytest.fixture
def files(tmp_path):
    found = {name: tmp_path / name for name in ("ptx", "fatbin")}
    found["ptx"].write_bytes(images.ptx("one", "two"))
    found["fatbin"].write_bytes(images.fatbin(images.ptx("three"), images.ptx("four")))
    return found


def start(client, *words, env=None):
    program = CLIENTS / client
    need(program.exists(), f"{program} was not built")
    return subprocess.run([program, *map(str, words)], env={"LD_LIBRARY_PATH": str(STAND_IN), **(env or {})},
                          text=True, capture_output=True, check=False)


def launches(tmp_path, client, *words, env=None):
    """Returns {kernel: (direct launches, launches by replays)}, as the stand-in counts them."""
    counts = tmp_path / "launches"
    counts.unlink(missing_ok=True)
    done = start(client, *words, env={"STAND_IN_LAUNCHES": str(counts), **(env or {})})
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in counts.read_text().splitlines()]
    return {name: (int(direct), int(replayed)) for direct, replayed, name in rows}


@pytest.mark.parametrize("ptsz", [[], ["--ptsz"]], ids=["legacy", "ptsz"])
@pytest.mark.parametrize("client, way", WAYS)
def test_every_way_launches_the_same(client, way, ptsz, files, tmp_path):
    steps = [f"load:{files['ptx']}", "get:one", "launch:3", "launchex:2", "cooperative:1", "enumerate", "launch:10",
             "capture:2", "replay:50", "unload", "refused", "drop_graph",
             f"library:{files['fatbin']}", "kernel:three", "launch:1", "function", "launchex:2", "node:1", "any_node:1",
             "replay:3", "module", "get:four", "set_exec", "replay:4", "set_node", "clone", "replay:5", "unload",
             "sync"]
    assert launches(tmp_path, client, "--by", way, *ptsz, *steps) == {
        "one": (16, 100), "two": (10, 100), "three": (3, 2 * 3 + 4 + 5), "four": (0, 4 + 5)}


@pytest.mark.parametrize("ptsz", [[], ["--ptsz"]], ids=["legacy", "ptsz"])
@pytest.mark.parametrize("client, way", WAYS)
def test_graphs_launch_their_kernels_in_every_way(client, way, ptsz, files, tmp_path):
    steps = [f"load:{files['ptx']}", "get:one", "node:2", "instantiate_with_params", "replay:1", "get:two", "update",
             "replay:10", "child", "replay:100", "capture_replay:3", "replay:1000"]
    assert launches(tmp_path, client, "--by", way, *ptsz, *steps) == {
        "one": (0, 2 + 10 + 200 + 6000), "two": (0, 10)}


@pytest.mark.parametrize("load", ["load", "load_ex", "file"])
def test_modules_can_be_loaded_in_every_way(load, files, tmp_path):
    assert launches(tmp_path, "kernels", f"{load}:{files['fatbin']}", "get:four", "launch:2") == {"four": (2, 0)}


@pytest.mark.parametrize("load", ["library", "library_fatbin", "library_file"])
def test_libraries_can_be_loaded_in_every_way(load, files, tmp_path):
    assert launches(tmp_path, "kernels", f"{load}:{files['fatbin']}", "enumerate_kernels", "launch:2") == {
        "three": (2, 0), "four": (2, 0)}


def test_images_can_lie_in_a_wrapper_or_in_the_program(files, tmp_path):
    assert launches(tmp_path, "kernels", f"fatbin:{files['fatbin']}", "get:three", "launch", "static",
                    "get:static_kernel", "launch:2", "static_library", "kernel:static_kernel", "launch:3") == {
        "three": (1, 0), "static_kernel": (5, 0)}


def test_a_library_may_load_and_launch_for_the_program(files, tmp_path):
    steps = [f"unseen_load:{files['ptx']}", "unseen_get:one", "unseen_launch:2", "get:two", "unseen_launch", "launch:3"]
    assert launches(tmp_path, "kernels_dlopen", *steps) == {"one": (2, 0), "two": (4, 0)}


def test_threads_launch_at_the_same_time(files, tmp_path):
    steps = [f"load:{files['ptx']}", "enumerate", "launch:1000", "capture:1", "replay:100"]
    assert launches(tmp_path, "kernels", "--threads", 4, *steps) == {"one": (4000, 400), "two": (4000, 400)}


def test_products_launch_a_kernel_of_the_library(files, tmp_path):
    steps = [f"load:{files['ptx']}", "get:one", "launch:2", "gemm:3", "capture_gemm:1", "replay:5"]
    assert launches(tmp_path, "kernels", *steps, env={"STAND_IN_CUBLAS_KERNEL": "sgemm_tf32"}) == {
        "one": (2, 0), "sgemm_tf32": (3, 5)}
    assert launches(tmp_path, "kernels", *steps) == {"one": (2, 0)}


def test_a_child_counts_its_own_launches(tmp_path):
    counts = tmp_path / "launches"
    done = start("kernels", "static", "get:static_kernel", "launch:4", "fork", "launch:3",
                 env={"STAND_IN_LAUNCHES": str(counts)})
    assert (done.returncode, counts.read_text()) == (0, "3 0 static_kernel\n4 0 static_kernel\n")


def test_what_the_driver_refuses_ends_the_client(files, tmp_path):
    no_image = tmp_path / "no_image"
    no_image.write_bytes(b"no image")
    assert "CUresult 200" in start("kernels", f"load:{no_image}").stderr
    assert "CUresult 500" in start("kernels", f"load:{files['ptx']}", "get:three").stderr
    assert start("kernels_dlopen", "--by", "linked").returncode != 0
