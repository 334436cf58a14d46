"""fp32shim verify: what may have multiplied past the shim makes a recording inconclusive, and is named."""

import json
import os
import shutil
import signal
import subprocess
import textwrap

import pytest

import shim
from command import COMMAND, environment, fp32shim

PRODUCT = """
    void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    static float a[16], b[16], c[16];
    void run(void) { cblas_sgemm(101, 111, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4); }
"""


def build(output, source, *words):
    compiler = shim.tool("cc", "gcc")
    subprocess.run([compiler, "-x", "c", "-", "-o", output, *map(str, words)], input=textwrap.dedent(source), text=True,
                   check=True)
    return output


def plugin(path, source=PRODUCT):
    return build(path, source, "-shared", "-fPIC", "-Wl,--no-as-needed", "-x", "none", shim.blas_library("reference"))


def record(log, *words, status=0, **settings):
    done = subprocess.run([COMMAND, "run", "--quiet", "--pin", "--log", log, "--", *words], capture_output=True, text=True,
                          check=False, env=environment(LD_LIBRARY_PATH=shim.blas_directory("reference"), **settings))
    assert done.returncode == status, done.stderr
    return log


def load(log, *words):
    return record(log, shim.client("loader"), *words)


def verify(*words):
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", *words)
    assert result.json["verdict"] == {0: "shown", 1: "violated", 3: "inconclusive"}[result.returncode]
    return result


def roads(result):
    return sorted({road["road"] for road in result.json["roads_not_seen"]})


@pytest.fixture
def log(tmp_path):
    return tmp_path / "run.fp32rec"


@pytest.fixture
def numpy_product(tmp_path):
    shim.need(subprocess.run([shim.SYSTEM_PYTHON, "-c", "import numpy"], check=False, capture_output=True).returncode == 0,
              "no numpy")
    script = tmp_path / "product.py"
    script.write_text("import numpy, os, sys\na = numpy.ones((9, 9), numpy.float32)\na @ a\nexec(' '.join(sys.argv[1:]))\n")
    return [shim.SYSTEM_PYTHON, script]


def test_numpy_multiplies_on_no_other_road(log, numpy_product):
    result = verify(record(log, *numpy_product))
    assert (result.returncode, result.json["calls_shown"], result.json["roads_not_seen"]) == (0, 1, [])


def test_torch_has_onednn_and_the_verdict_names_what_was_assumed(log):
    torch = "import torch; a = torch.ones(9, 9); a @ a"
    shim.need(subprocess.run([shim.SYSTEM_PYTHON, "-c", torch], check=False, capture_output=True).returncode == 0,
              "no torch")
    record(log, shim.SYSTEM_PYTHON, "-c", torch)
    result = verify(log)
    assert result.returncode == 3 and "oneDNN" in roads(result)
    assumptions = [word for road in roads(result) for word in ("--assume-unused", road.upper())]
    result = verify(*assumptions, log)
    assert (result.returncode, result.json["roads_not_seen"]) == (0, [])
    text = fp32shim("verify", "--at-least", "fp32", *assumptions, log).stdout
    assert text.startswith("Shown: ") and "Assumed" in text and "oneDNN" in text.split("Assumed")[1]


def test_a_road_that_does_not_exist_is_refused_with_those_that_do(log):
    result = fp32shim("verify", "--at-least", "fp32", "--assume-unused", "onedn", log)
    assert (result.returncode, len(result.lines)) == (2, 1)
    assert 'did you mean "oneDNN"?' in result.stderr


def test_a_violation_is_one_whatever_else_was_loaded(log, tmp_path):
    road = plugin(tmp_path / "libroad.so", 'const char* mark(void) { return "dnnl_verbose,"; }' + PRODUCT)
    subprocess.run([COMMAND, "run", "-q", "--precision", "high", "--cpu", "emulate", "--log", log, "--",
                    shim.client("loader"), f"local={road}", f"run={road}"], check=True,
                   env=environment(LD_LIBRARY_PATH=shim.blas_directory("reference")))
    assert verify(log).returncode == 1


def test_a_road_that_was_unloaded_before_the_end_is_known(log, tmp_path):
    seen = plugin(tmp_path / "libseen.so")
    road = plugin(tmp_path / "libroad.so", 'const char* mark(void) { return "dnnl_verbose,"; } void run(void) {}')
    load(log, f"local={seen}", f"run={seen}", f"local={road}", f"run={road}", f"close={road}")
    assert roads(verify(log)) == ["oneDNN"]


@pytest.mark.parametrize("way, expected", [("local", []), ("global", []), ("deepbind", ["bound-past"])])
def test_a_library_that_is_bound_past_the_shim_is_named(log, tmp_path, way, expected):
    seen, other = plugin(tmp_path / "libseen.so"), plugin(tmp_path / "libother.so")
    load(log, f"local={seen}", f"run={seen}", f"{way}={other}", f"run={other}")
    result = verify(log)
    assert roads(result) == expected
    assert all("libother.so" in road["reason"] for road in result.json["roads_not_seen"])


def test_a_function_that_is_looked_up_in_another_namespace_is_known(log, numpy_product):
    library = shim.blas_library("reference")
    look_up = f"""
import ctypes, os
libc = ctypes.CDLL(None)
libc.dlmopen.restype = libc.dlsym.restype = ctypes.c_void_p
handle = libc.dlmopen(ctypes.c_long(-1), {os.fsencode(library)!r}, os.RTLD_NOW)
assert libc.dlsym(ctypes.c_void_p(handle), b"sgemm_")
"""
    result = verify(record(log, *numpy_product, f"exec({look_up!r})"))
    assert (result.returncode, roads(result)) == (3, ["dlsym-past"])


@pytest.mark.parametrize("end, status", [("os.kill(os.getpid(), 9)", -signal.SIGKILL), ("os._exit(4)", 4)])
def test_what_was_loaded_before_a_kill_cannot_be_known(log, numpy_product, end, status):
    record(log, *numpy_product, end, status=status)
    result = verify(log)
    assert (result.returncode, roads(result)) == (3, ["later"])
    assert verify("--assume-unused", "later", log).returncode == 0


def test_a_forked_child_knows_what_its_parent_had_loaded(tmp_path, log, numpy_product):
    child = "child = os.fork(); a @ a; os.waitpid(child, 0) if child else None"
    record(log, *numpy_product, child)
    recordings = sorted(tmp_path.glob("*.fp32rec"))
    assert len(recordings) == 2
    result = verify(*recordings)
    assert (result.returncode, result.json["calls_shown"], result.json["roads_not_seen"]) == (0, 3, [])


def test_a_library_that_was_changed_since_is_judged_by_its_name_and_that_is_said(log, tmp_path):
    seen = plugin(tmp_path / "libseen.so")
    dnnl = plugin(tmp_path / "libdnnl.so.9", "void run(void) {}")
    load(log, f"local={seen}", f"run={seen}", f"local={dnnl}", f"run={dnnl}")
    assert roads(verify(log)) == ["oneDNN"]
    plugin(seen, "int something_else;" + PRODUCT)
    dnnl.unlink()
    result = verify(log)
    assert roads(result) == ["oneDNN", "unread"]
    reasons = "\n".join(road["reason"] for road in result.json["roads_not_seen"] if road["road"] == "unread")
    assert "libseen.so: what was loaded is another file now" in reasons
    assert "libdnnl.so.9: what was loaded is not here" in reasons


def test_roads_of_many_recordings_are_said_once(tmp_path):
    road = plugin(tmp_path / "libroad.so", 'const char* mark(void) { return "dnnl_verbose,"; }' + PRODUCT)
    for name in "abc":
        load(tmp_path / f"{name}.fp32rec", f"local={road}", f"run={road}")
    result = verify(tmp_path)
    assert len(result.json["roads_not_seen"]) == 1
    assert len(result.json["roads_not_seen"][0]["recordings"]) == 3


def test_changes_through_the_api_are_in_the_recording(tmp_path, log, numpy_product):
    policy = tmp_path / "policy.toml"
    policy.write_text('schema = 1\nname = "first"\n')
    change = f"""
import ctypes
api = ctypes.CDLL({str(shim.LIBRARY)!r})
for _ in range(2):
    assert api.fp32shim_set_precision(b"high") == 0
    assert api.fp32shim_set_floor(b"tf32") == 0
assert api.fp32shim_set_floor(b"bf16") == 0
assert api.fp32shim_set_precision(None) == 0
open({str(policy)!r}, "w").write('schema = 1\\nname = "second"\\n')
assert api.fp32shim_reload_policy() == 0
open({str(policy)!r}, "w").write("broken")
assert api.fp32shim_reload_policy() != 0
"""
    record(log, *numpy_product, f"exec({change!r})", FP32_MATMUL_POLICY=policy, FP32_MATMUL_ON_ERROR="continue")
    changes = fp32shim("report", "--format", "json", log).json["processes"][0]["changes"]
    assert [(change["kind"], change["by"], change["precision"], change["floor"], change["policy_name"])
            for change in changes] == [
        ("set_precision", "program", "high", None, None), ("set_floor", "program", None, "tf32", None),
        ("set_precision", "program", None, None, None), ("reload", "program", None, None, "second")]
