"""What torch's oneDNN executes is recorded, and torch prints what it prints without the shim."""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

import processor
import shim
from wheels import start

COMMAND = pathlib.Path(os.environ.get("FP32SHIM_COMMAND", shim.BUILD / "bin/fp32shim"))

# Each function is a part of a program. Results are printed, and there are no lines of oneDNN in the program itself.
PARTS = """
    import sys, threading
    import torch
    torch.manual_seed(0)

    def cnn():
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Conv2d(16, 8, 1),
                                    torch.nn.ConvTranspose2d(8, 4, 3), torch.nn.Flatten(), torch.nn.LazyLinear(10))
        loss = model(torch.randn(4, 3, 32, 32)).square().mean()
        loss.backward()
        print("cnn", loss.item(), model[0].weight.grad.sum().item())

    def lstm():
        with torch.no_grad():
            print("lstm", torch.nn.LSTM(64, 64, 2, batch_first=True)(torch.randn(3, 7, 64))[0].sum().item())

    def transformer():
        layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        for model in (layer, layer.eval(), layer.to(torch.bfloat16)):
            kind = next(model.parameters()).dtype
            result = model(torch.randn(2, 9, 64, dtype=kind))
            result.float().sum().backward()
            print("transformer", kind)

    def threads():
        def work(index):
            torch.nn.Conv2d(3, 8, 3)(torch.ones(2, 3, 16, 16)).sum().backward()
        all = [threading.Thread(target=work, args=(index,)) for index in range(4)]
        [thread.start() for thread in all]
        [thread.join() for thread in all]
        print("threads")

    class Filtered(torch.utils.data.Dataset):
        def __len__(self):
            return 6
        def __getitem__(self, index):
            return torch.nn.functional.conv2d(torch.ones(1, 3, 16, 16), torch.ones(4, 3, 3, 3))[0] + index

    def workers():
        for batch in torch.utils.data.DataLoader(Filtered(), batch_size=2, num_workers=2):
            print("batch", torch.nn.functional.conv2d(batch, torch.ones(2, 4, 3, 3)).sum().item())

    def medium():
        torch.set_float32_matmul_precision("medium")
        print("medium", (torch.ones(64, 64) @ torch.ones(64, 64)).sum().item())

    def bf16():
        torch.backends.mkldnn.matmul.fp32_precision = "bf16"
        print("bf16", (torch.ones(64, 32) @ torch.ones(32, 64)).sum().item())

    def verbose():
        conv = torch.nn.Conv2d(3, 8, 3)
        conv(torch.ones(2, 3, 16, 16))
        print("before", flush=True)
        with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):
            conv(torch.ones(2, 3, 18, 18))
        print("after", flush=True)
        conv(torch.ones(2, 3, 20, 20))
        with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON_CREATION):
            conv(torch.ones(2, 3, 22, 22))

    def compiled():
        model = torch.compile(torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(1568, 32)).eval())
        with torch.no_grad():
            print("compiled", model(torch.ones(4, 3, 16, 16)).sum().item())

    if __name__ == "__main__":
        for name in sys.argv[1:]:
            globals()[name]()
"""
NO_PRODUCTS = {"binary", "concat", "eltwise", "layer_normalization", "pooling", "reorder", "softmax", "sum", "batch_normalization"}


@pytest.fixture
def program(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PARTS))
    return script


def rows_of(folder):
    done = subprocess.run([COMMAND, "report", "--format", "csv", folder], capture_output=True, text=True, check=True, env=shim.environment())
    return [row for row in csv.DictReader(io.StringIO(done.stdout)) if row["function"].startswith("onednn_")]


def is_line(text):
    return text.startswith("onednn_verbose,")


def products_in(output):
    """Returns oneDNN's lines about products, without their times."""
    told = [line.partition(",exec,")[2].rpartition(",")[0] for line in output.splitlines() if is_line(line) and ",exec," in line]
    return sorted(text for text in told if text.split(",")[1] not in NO_PRODUCTS)


def recorded(folder):
    return sorted(row["detail"].partition(": cpu,")[2] or row["detail"] for row in rows_of(folder) for _ in range(int(row["calls"])))


def run_both(program, folder, *parts, **variables):
    """Runs the parts with the shim, and with ONEDNN_VERBOSE=1. Checks that the recording has each product of the latter."""
    folder.mkdir()
    seen = start(sys.executable, program, *parts, log=folder / "run.fp32rec", env={"FP32_MATMUL_ONEDNN": "1", **variables}).stdout
    shown = start(sys.executable, program, *parts, preload=False, env={**variables, "ONEDNN_VERBOSE": "1"}).stdout
    assert recorded(folder) == products_in(shown) != []
    return seen, shown


def own_text(output):
    return [line for line in output.splitlines() if not is_line(line)]


def test_layers_passes_and_threads_are_recorded_and_shown_as_before(program, tmp_path):
    seen, shown = run_both(program, tmp_path / "log", "cnn", "lstm", "transformer", "threads")
    assert seen.splitlines() == own_text(shown)
    rows = rows_of(tmp_path / "log")
    assert {row["provider"] for row in rows} == {"libtorch_cpu.so"}
    assert {"onednn_convolution", "onednn_deconvolution"} <= {row["function"] for row in rows}


def test_workers_of_a_data_loader_record_into_files_of_their_own(program, tmp_path):
    seen, shown = run_both(program, tmp_path / "log", "cnn", "workers")
    assert seen.splitlines() == own_text(shown) and len(list((tmp_path / "log").iterdir())) == 3


def test_a_mode_that_a_program_sets_for_a_while_shows_what_it_shows_without_the_shim(program, tmp_path):
    log = tmp_path / "run.fp32rec"
    plain = start(sys.executable, program, "verbose", preload=False).stdout
    seen = start(sys.executable, program, "verbose", log=log, env={"FP32_MATMUL_ONEDNN": "1"}).stdout
    cut = [re.sub(r",[0-9.e+-]+$", "", output, flags=re.MULTILINE) for output in (plain, seen)]
    assert cut[0] == cut[1] and plain.count(",exec,cpu,convolution") == 2
    assert sum(int(row["calls"]) for row in rows_of(log)) == 4


def test_code_that_torch_compiles_is_recorded(program, tmp_path):
    shim.need(shutil.which("g++"), "torch.compile needs a compiler")
    seen, shown = run_both(program, tmp_path / "log", "compiled", TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "cache"))
    assert seen.splitlines() == own_text(shown)
    assert "onednn_convolution" in {row["function"] for row in rows_of(tmp_path / "log")}


@pytest.mark.parametrize("part", ["medium", "bf16"])
def test_a_row_says_what_was_permitted_and_what_was_done(program, tmp_path, part):
    shim.need(processor.has("avx512_bf16"), "oneDNN is asked for bfloat16 only where there is AVX512_BF16")
    recording = tmp_path / "run.fp32rec"
    done = subprocess.run([COMMAND, "run", "-q", "--pin", "--log", recording, "--", sys.executable, program, part], capture_output=True,
                          text=True, check=True, env=shim.environment())
    assert "onednn" not in done.stdout
    row, = rows_of(recording)
    assert (row["function"], row["applied"], row["m"]) == ("onednn_matmul", "bf16", "64")
    verdict = json.loads(subprocess.run([COMMAND, "verify", "--at-least", "fp32", "--format", "json", recording], capture_output=True,
                                        text=True, check=False, env=shim.environment()).stdout)
    expected = {"fp32": "shown", "bf16": "violated"}[row["actual"]]
    doubts = [bypass["bypass"] for bypass in verdict["bypasses"]]
    assert verdict["violations"] if expected == "violated" else not verdict["violations"]
    assert "oneDNN" not in doubts and "oneDNN" in [bypass["bypass"] for bypass in verdict["recorded_bypasses"]]
