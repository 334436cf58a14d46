"""What a verdict says of kernels that were launched on the driver's stand-in: by their names, and by the instructions in their code."""

import json
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest

import images
import shim
from command import COMMAND, build, environment, fp32shim
from cublas import CLIENTS, STAND_IN, need
from kernels import DRIVER_API, rows_of

IMAGES = shim.ROOT / "tests/unit/record/kernel_images"
LOWER = "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n"  # TF32, by its name
FULL = "ampere_sgemm_128x64_nn"
SPLIT = "fmha_cutlassF_f32_aligned_64x64_rf_sm80"
HALF = "fmha_cutlassF_bf16_aligned_64x64_rf_sm80"
BESIDE = "triton_poi_fused_add_0"  # multiplies nothing, by its name


@pytest.fixture
def log(tmp_path):
    return tmp_path / "run.fp32rec"


@pytest.fixture
def image(tmp_path):
    """Writes a PTX image, and returns its path."""
    def write(*kernels, body="ret;"):
        path = tmp_path / kernels[0][:50]
        path.write_bytes(images.ptx(*kernels, body=body))
        return path
    return write


def record(log, *words, options=("--pin",), compute_capability="9.0", **variables):
    """Records by `fp32shim run`, which asks for kernels."""
    if not isinstance(words[0], pathlib.Path):
        words = (CLIENTS / words[0], *words[1:])
    need(words[0].exists(), f"{words[0]} was not built")
    done = subprocess.run([COMMAND, "run", "--quiet", *options, "--log", log, "--", *map(str, words)], capture_output=True, text=True,
                          check=False, env=environment(LD_LIBRARY_PATH=STAND_IN, STAND_IN_COMPUTE_CAPABILITY=compute_capability, **variables))
    assert done.returncode == 0, done.stderr
    return done


def verify(log, *options, at_least=("--at-least", "fp32")):
    done = fp32shim("verify", *at_least, *options, "--format", "json", log)
    return done.json["verdict"], done.json


def doubts(result):
    return [doubt["reason"] for doubt in result["doubts"]]


def kinds(result):
    return {kind: names for kind, names in result["kernels"].items() if isinstance(names, list) and names}


def test_a_kernel_that_is_of_tf32_by_its_name_violates_fp32(log, image):
    record(log, "kernels", f"load:{image(LOWER, body=images.TF32)}", "get:" + LOWER, "launch:3")
    verdict, result = verify(log)
    violation, = result["violations"]
    assert (verdict, violation["function"], violation["applied"], violation["calls"]) == ("violated", "kernel:" + LOWER, "tf32", 3)
    assert kinds(result) == {"below": [LOWER]} and result["kernel_launches"] == 3
    assert LOWER in fp32shim("verify", "--at-least", "fp32", log).stdout
    assert verify(log, at_least=("--at-least", "tf32"))[0] == "shown"


@pytest.mark.parametrize("body, clause", [(images.TF32, "it has TF32 instructions, so it multiplies in TF32 or in 3×TF32"),
                                          (images.BF16, "it has BF16 instructions: whether its operands are float32 is not known")])
def test_a_kernel_with_an_unknown_name_is_a_doubt_if_it_has_tensor_core_instructions(log, image, body, clause):
    record(log, "kernels", f"load:{image('mystery', body=body)}", "get:mystery", "launch:3")
    verdict, result = verify(log)
    assert (verdict, kinds(result)) == ("inconclusive", {"unknown": ["mystery"]})
    assert doubts(result) == [f"3 launches of the kernel mystery (kernels -> libcuda.so.1): {clause}"]


def test_a_kernel_without_tensor_core_instructions_ran_at_float32_if_it_multiplied(log, image):
    record(log, "kernels", f"load:{image('mystery')}", "get:mystery", "launch:3")
    verdict, result = verify(log)
    assert (verdict, kinds(result), result["calls_shown"]) == ("shown", {"full": ["mystery"]}, 3)
    text = fp32shim("verify", "--at-least", "fp32", log).stdout
    assert "Launched on GPUs, without the kernels that belong to products of cuBLAS: 1 kernel, 3 times. 1 multiplied at float32 or wider, if at all." in text


def test_attention_in_three_products_of_tf32_is_shown_and_named(log, image):
    record(log, "kernels", f"load:{image(SPLIT, body=images.TF32)}", "get:" + SPLIT, "launch:2")
    verdict, result = verify(log)
    assert (verdict, kinds(result)) == ("shown", {"split": [SPLIT]})
    assert SPLIT in fp32shim("verify", "--at-least", "fp32", log).stdout


def test_a_kernel_of_narrower_operands_is_a_doubt_of_its_own(log, image):
    record(log, "kernels", f"load:{image(HALF, body=images.BF16)}", "get:" + HALF, "launch:2")
    verdict, result = verify(log)
    assert (verdict, kinds(result)) == ("inconclusive", {"narrower": [HALF]})
    assert doubts(result) == [f"2 launches of the kernel {HALF} (kernels -> libcuda.so.1): operands are bfloat16, narrower than float32"]


def test_a_kernel_that_multiplies_nothing_is_shown_by_its_name(log, image):
    record(log, "kernels", f"load:{image(BESIDE)}", "enumerate", "launch:5")
    verdict, result = verify(log)
    assert (verdict, result["calls_shown"], kinds(result)) == ("shown", 5, {"no_product": [BESIDE]})


def test_code_that_may_launch_kernels_from_the_gpu_is_a_doubt(log):
    record(log, "kernels", f"load:{IMAGES / 'launches.cubin'}", "enumerate", "launch")
    verdict, result = verify(log)
    assert verdict == "inconclusive" and all("may launch kernels from the GPU" in doubt for doubt in doubts(result)) and doubts(result)


def test_code_with_functions_of_another_image_is_a_doubt(log):
    record(log, "kernels", f"load:{IMAGES / 'unlinked.cubin'}", "enumerate", "launch")
    verdict, result = verify(log)
    assert verdict == "inconclusive" and doubts(result)


def test_each_kernel_of_an_image_is_judged_by_its_own_code(log):
    record(log, "kernels", f"load:{IMAGES / 'formats.ptx'}", "enumerate", "launch")
    rows = {row["function"].removeprefix("kernel:"): row for row in rows_of(log)}
    assert len(rows) >= 50
    for name, row in rows.items():
        kind = name.split("__")[0]
        assert (row["applied"] == "fp32") == (kind in ("none", "fp64")), row
        assert row["applied"] == "fp32" or {"integer": kind, "unknown": kind}.get(kind, kind.upper()) in row["detail"], row


@pytest.mark.parametrize("image", ["choice_none.fatbin", "choice_speed.fatbin", "choice_size.fatbin"])
@pytest.mark.parametrize("compute_capability, found", [("8.0", "FP16 instructions"), ("8.6", "BF16 instructions"), ("9.0", "TF32 and integer"),
                                                       ("10.0", None), ("12.0", "BF16 instructions"), ("7.5", "code that was not read")])
def test_a_kernel_is_judged_by_the_code_that_its_device_runs(log, image, compute_capability, found):
    record(log, "kernels", f"load:{IMAGES / image}", "get:chosen", "launch", compute_capability=compute_capability)
    row, = rows_of(log)
    assert (row["applied"], row["detail"]) == ("fp32", None) if found is None else found in row["detail"], row


def test_a_kernel_of_a_machine_with_several_devices_is_judged_by_the_code_of_all(log):
    for load in ("load", "library"):
        log.unlink(missing_ok=True)
        record(log, "kernels", f"{load}:{IMAGES / 'choice_size.fatbin'}", "get:chosen" if load == "load" else "kernel:chosen", "launch",
               compute_capability="10.0,9.0,8.6", STAND_IN_DEVICES=3)
        row, = rows_of(log)
        assert "has BF16, TF32 and integer instructions" in row["detail"], row


@pytest.mark.parametrize("has_context", [True, False])
def test_a_library_that_is_loaded_before_there_is_a_context_is_read(log, tmp_path, has_context):
    program = build(tmp_path / "program", DRIVER_API + """
        int main(int count, char** words) {
            void *library = NULL, *kernel = NULL;
            static char image[1 << 20];
            FILE* file = fopen(words[1], "r");
            if (fread(image, 1, sizeof image, file) == 0) return 1;
            if (count > 2) start();
            require(cuInit(0));
            require(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
            memset(image, 0, sizeof image);
            require(cuLibraryGetKernel(&kernel, library, "chosen"));
            start();
            launch(kernel);
            return 0;
        }""", "-x", "none", STAND_IN / "libcuda.so.1")
    record(log, program, IMAGES / "choice_size.fatbin", *(["context"] if has_context else []), compute_capability="8.0")
    row, = rows_of(log)
    assert "has FP16 instructions" in row["detail"]


# ---- kernels inside products


def test_a_kernel_of_tf32_inside_a_product_that_is_to_run_at_fp32_violates_fp32(log):
    record(log, "kernels", "gemm:3", STAND_IN_CUBLAS_KERNEL=LOWER)
    verdict, result = verify(log)
    assert (verdict, [(one["function"], one["calls"]) for one in result["violations"]]) == ("violated", [("kernel:" + LOWER, 3)])
    assert result["violations"][0]["caller"].startswith("libcublas")


def test_the_same_kernel_inside_a_product_that_may_run_at_tf32_belongs_to_the_product(log):
    record(log, "kernels", "gemm:3", options=("--precision", "high", "--where", "native"), STAND_IN_CUBLAS_KERNEL=LOWER)
    assert rows_of(log) == []
    verdict, result = verify(log)
    assert (verdict, [one["function"] for one in result["violations"]]) == ("violated", ["cublasSgemm_v2"])


@pytest.mark.parametrize("kernel", [FULL, BESIDE])
def test_another_kernel_inside_a_product_belongs_to_it(log, kernel):
    record(log, "kernels", "gemm:3", STAND_IN_CUBLAS_KERNEL=kernel)
    assert rows_of(log) == [] and verify(log)[0] == "shown"


# ---- what the user says


@pytest.mark.parametrize("glob", [LOWER, "sm80_xmma_*", "*tf32*"])
def test_a_kernel_that_is_allowed_is_left_out_and_said_so(log, image, glob):
    record(log, "kernels", f"load:{image(LOWER, 'mystery', body=images.TF32)}", "get:" + LOWER, "launch:3", f"load:{image('plain')}",
           "get:plain", "launch:2")
    verdict, result = verify(log, "--allow-kernel", glob)
    assert (verdict, result["allowed_kernels"], result["allowed_launches"], result["calls_shown"]) == ("shown", [LOWER], 3, 2)
    text = fp32shim("verify", "--at-least", "fp32", "--allow-kernel", glob, log).stdout
    assert text.startswith("Shown: all 2 calls") and f"Kernels that are not judged, because --allow-kernel names them: {LOWER} with 3 launches" in text
    assert verify(log, "--allow-kernel", "other*")[0] == "violated"


def test_the_name_that_is_shown_can_be_allowed(log, image):
    name = "_Z7my_gemmIfEvPT_"
    record(log, "kernels", f"load:{image(name, body=images.TF32)}", "get:" + name, "launch")
    for glob in (name, "my_gemm*"):
        verdict, result = verify(log, "--allow-kernel", glob)
        assert verdict == "shown" and result["allowed_kernels"] == ["my_gemm<float>"]


def test_kernels_whose_names_are_cut_at_the_same_place_are_two(log, image):
    names = [f"_Z1kI{20 * '6Type_a'}{last}EvT_" for last in ("f", "d")]
    record(log, "kernels", f"load:{image(*names)}", "enumerate", "launch")
    assert "2 kernels, 2 times. 2 multiplied at float32" in fp32shim("verify", "--at-least", "fp32", log).stdout


def test_nobody_knows_the_order_in_which_a_kernel_sums(log, image):
    record(log, "kernels", f"load:{image('plain')}", "get:plain", "launch:2", f"load:{image(BESIDE)}", "enumerate", "launch:5")
    verdict, result = verify(log, at_least=("--reproducible",))
    assert (verdict, result["calls_shown"], result["violations"]) == ("inconclusive", 5, [])
    assert [doubt for doubt in doubts(result) if "kernel plain" in doubt and "in which order" in doubt]


# ---- what recorded kernels tell of libraries


def bypasses(result, key="bypasses"):
    return {one["bypass"]: one["reason"] for one in result[key]}


@pytest.fixture
def cudnn(tmp_path):
    need((CLIENTS / "libcudnn_probe.so").exists(), "libcudnn_probe.so was not built")
    return shutil.copy(CLIENTS / "libcudnn_probe.so", tmp_path / "libcudnn.so.9")


def test_a_library_that_multiplies_in_kernels_of_its_own_is_recorded(log, cudnn):
    record(log, "solver", cudnn)
    verdict, result = verify(log)
    assert verdict == "shown" and "cuDNN" not in bypasses(result)
    assert "the calls above include the kernels that the process launched" in bypasses(result, "recorded_bypasses")["cuDNN"]


def test_replays_of_graphs_are_no_launches_of_kernels(log, cudnn, image):
    script = f"{CLIENTS / 'solver'} {cudnn}; {CLIENTS / 'kernels'} load:{image('one')} get:one capture:2 replay:5"
    record(log, pathlib.Path("/bin/sh"), "-c", script)
    text = fp32shim("verify", "--at-least", "fp32", log.parent).stdout
    assert "(0 products of oneDNN, 2 launches of kernels on GPUs)" in text


def test_the_library_is_a_doubt_if_kernels_are_not_recorded(log, cudnn):
    record(log, "solver", cudnn, FP32_MATMUL_KERNELS="0")
    verdict, result = verify(log)
    assert verdict == "inconclusive" and "cuDNN" in bypasses(result) and "kernel" not in bypasses(result)["cuDNN"].split(";")[-1]


def test_the_library_is_a_doubt_if_its_process_could_not_record(log, cudnn):
    need((CLIENTS / "solver").exists(), "solver was not built")
    script = f"{CLIENTS / 'solver'}; FP32_MATMUL_LOG=stderr {CLIENTS / 'solver'} {cudnn}"
    record(log, pathlib.Path("/bin/sh"), "-c", script)
    result = verify(log.parent)[1]
    assert "cuDNN" in bypasses(result) and "cuDNN" not in bypasses(result, "recorded_bypasses")


@pytest.mark.parametrize("asked, seen", [("1", 5), ("0", 0)])
def test_a_library_with_variables_that_are_named_like_functions_of_the_driver_keeps_them(log, image, asked, seen):
    record(log, "kernels_dlopen", f"load:{image('one')}", "get:one", "variable_launch:2", "launch:3", "gemm:1", FP32_MATMUL_KERNELS=asked)
    verdict, result = verify(log)
    assert (verdict, bypasses(result), result["kernels"]["launches"]) == ("shown", {}, seen)


FLAGS_AT, KERNELS_MISSED = 260, 8192  # record/format/format.hpp


def test_the_library_is_a_doubt_if_kernels_were_missed(log, cudnn):
    record(log, "solver", cudnn)
    assert verify(log)[0] == "shown"
    with open(log, "r+b") as file:
        file.seek(FLAGS_AT)
        flags = int.from_bytes(file.read(4), sys.byteorder)
        file.seek(FLAGS_AT)
        file.write((flags | KERNELS_MISSED).to_bytes(4, sys.byteorder))
    verdict, result = verify(log)
    assert verdict == "inconclusive" and "some kernels may not have been recorded" in bypasses(result)["cuDNN"]
    assert any("may not be recorded" in doubt for doubt in doubts(result))


@pytest.mark.parametrize("step, library", [("unseen_launch", "libunseen_driver.so"), ("unseen_lookup_launch", "libunseen_lookup.so")])
def test_a_library_whose_launches_nobody_saw_is_named(log, image, step, library):
    record(log, "kernels_dlopen", f"load:{image('one')}", "get:one", f"{step}:2", "launch:3")
    verdict, result = verify(log)
    assert verdict == "inconclusive" and library in bypasses(result)["bound-past"]


@pytest.mark.parametrize("step", ["unseen_launch", "unseen_lookup_launch"])
def test_a_library_that_calls_the_driver_past_the_shim_is_no_doubt_if_kernels_are_not_asked_for(log, image, step):
    record(log, "kernels_dlopen", f"load:{image('one')}", "get:one", f"{step}:2", "gemm:1", FP32_MATMUL_KERNELS="0")
    verdict, result = verify(log)
    assert (verdict, bypasses(result)) == ("shown", {})


@pytest.mark.parametrize("steps", [["unseen_get:one", "launch:2"], ["unseen_get:one", "node:1", "replay:1"]])
def test_a_kernel_that_nobody_saw_found_is_a_doubt(log, image, steps):
    record(log, "kernels_dlopen", f"load:{image('one')}", *steps)
    verdict, result = verify(log)
    assert (verdict, kinds(result)) == ("inconclusive", {"unknown": ["unknown"]})
    assert any("nobody saw how its handle was found" in doubt for doubt in doubts(result))


# ---- Python


PYTHON_CLIENT = """
    import ctypes, sys
    import fp32shim
    driver = ctypes.CDLL("libcuda.so.1")
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuInit(0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and driver.cuCtxSetCurrent(context) == 0
    assert driver.cuModuleLoadData(ctypes.byref(module), open(sys.argv[1], "rb").read()) == 0
    assert driver.cuModuleGetFunction(ctypes.byref(function), module, sys.argv[2].encode()) == 0
    def launch():
        assert driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
    launch()
    with fp32shim.scope("layer"):
        launch()
        launch()
"""


def test_a_kernel_has_the_line_of_python_that_launched_it_and_the_scope(log, image, tmp_path):
    script = tmp_path / "client.py"
    script.write_text(textwrap.dedent(PYTHON_CLIENT))
    record(log, pathlib.Path(shim.SYSTEM_PYTHON), script, image(LOWER, body=images.TF32), LOWER, options=("--pin", "--where", "python"),
           PYTHONPATH=shim.ROOT / "python")
    verdict, result = verify(log)
    found = {(one["function"], one["scope"], one["where"].split(";")[-1].split(" ")[0], one["calls"]) for one in result["violations"]}
    assert verdict == "violated"
    assert found == {("kernel:" + LOWER, None, "client.py:11", 1), ("kernel:" + LOWER, "layer", "client.py:11", 2)}, found
    assert "client.py:11" in fp32shim("verify", "--at-least", "fp32", log).stdout


# ---- other commands


LONG = "_Z" + "".join(f"{len(part)}{part}" for part in ["kernel_" + 90 * "x"]) + "I" + 12 * "N7cutlass4gemm6kernel20DefaultGemmUniversalIfLi128ELi64EfEE" + "EvT_"
NAMES = [LOWER, LONG, "k" * 600, "_Z7my_gemmIfEvPT_"]
STRANGE = ["gemm_<b>&amp;_'\"", "größe_\u202e\t", "_Z<no mangled name>", "%s{}[]", "_Z121k" + 60 * "ä" + "v"]  # no name of C or PTX


@pytest.fixture
def strange(log, image):
    steps = [(f"load:{image(name, body=images.TF32)}", name) for name in NAMES]
    steps += [(f"load:{IMAGES / 'choice_size.fatbin'}", name) for name in STRANGE]  # the stand-in cannot tell what is in it
    record(log, "kernels", *(word for load, name in steps for word in (load, "get:" + name, "launch:2", "capture:1", "replay:3")), "gemm:2",
           options=("--pin", "--level", "calls"))
    return log


def test_names_are_recorded_as_the_driver_has_them_but_for_what_cannot_be_printed(strange):
    found = {row["function"].removeprefix("kernel:") for row in rows_of(strange)}
    assert found >= {LOWER, "_Z7my_gemmIfEvPT_", *STRANGE[2:4]}
    assert any("k" * 400 in name for name in found) and any(LONG.startswith(name[:400]) and len(name) > 450 for name in found)


FORMATS = ["table", "json", "jsonl", "csv", "prometheus", "html", "folded", "speedscope", "sarif", "benchdnn", "rocblas-bench", "shapes"]


@pytest.mark.parametrize("words", [*(["report", "--format", kind] for kind in FORMATS), ["report", "--by", "scope"], ["report", "--by", "function"],
                                   ["log"], ["log", "--format", "json"], ["diff"],
                                   *(["verify", "--at-least", "fp32", "--format", kind] for kind in ("table", "json", "html", "in-toto"))],
                         ids=" ".join)
def test_no_command_stumbles_over_kernels(strange, words):
    done = fp32shim(*words, *([strange, strange] if words[0] == "diff" else [strange]))
    # 3: there is nothing to work on
    assert done.returncode == {"verify": 1, "diff": 3}.get(words[0], 0), done.stderr + done.stdout
    if words[-1] == "table" and words[0] == "report":
        assert not any(text in done.stdout for text in ("\u202e", "\ufffd", "k" * 201))
    if words[-1] in ("json", "sarif", "speedscope", "in-toto"):
        json.loads(done.stdout)
    if words[-1] == "html":
        assert "<b>&" not in done.stdout
