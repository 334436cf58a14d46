"""Module paths of torch as scopes, without a change to the program: every product of a module is attributed, and all else is
as without the shim. The programs are in module_paths.py."""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

import shim
from wheels import KEEP_BYTE_CODE, start

COMMAND = pathlib.Path(os.environ.get("FP32SHIM_COMMAND", shim.BUILD / "bin/fp32shim"))
WHERE = {"FP32_MATMUL_WHERE": "torch", "PYTHONPATH": str(shim.ROOT / "python/site-packages")}

# These run together in one process. Those that need a separate process follow.
TOGETHER = ("graph", "raising", "raising_in_backward", "twice", "checkpoint", "hooks", "names", "threads", "modes",
            "models_as_before", "outputs", "scripts", "in_place", "generators", "deep")
ALONE = ("nothing_is_kept", "compile", "compiled_autograd", "interrupted", "processes")


def group_of(scenario):
    return TOGETHER if scenario in TOGETHER else (scenario,)


LOGS = tempfile.TemporaryDirectory(prefix="fp32shim-test-")  # processes that a program starts have logs beside its own


@functools.cache
def run(scenarios, has_paths):
    log = pathlib.Path(LOGS.name, "log.jsonl") if scenarios == ("processes",) else True
    # An interruption prints nothing, so a program without scopes need not meet many.
    return start("module_paths.py", *scenarios, preload=has_paths, log=log, timeout=600,
                 env=WHERE if has_paths else {"INTERRUPTIONS": "60"})


def plain_run(scenario):
    """Returns the run of a scenario without the shim, most of which run in one process: torch takes seconds to start."""
    return run((scenario,) if scenario == "processes" else TOGETHER + ALONE[:-1], False)


def parts(result):
    """Returns the output of each scenario."""
    return {text.split("\n", 1)[0]: text.split("\n", 1)[1] for text in result.stdout.split("=== ")[1:]}


def scopes(scenario, size):
    """Returns the scopes of the products with this size in the scenario, in order."""
    result = run(group_of(scenario), True)
    return [each["scope"] for each in result.decisions if size in (each["m"], each["n"], each["k"])]


@pytest.mark.parametrize("scenario", TOGETHER + ALONE)
def test_a_program_does_the_same_with_module_paths(scenario):
    plain, with_paths = (parts(result)[scenario] for result in (plain_run(scenario), run(group_of(scenario), True)))
    assert with_paths == plain
    assert "module paths are not available" not in run(group_of(scenario), True).stderr


def test_products_carry_the_names_of_their_modules_forward_and_backward():
    first, second = "Model.blocks.0.parts.0", "Model.blocks.0.parts.1"
    assert scopes("graph", 101) == [first, second, *["backward/" + second] * 2, *["backward/" + first] * 2]


def test_scopes_are_closed_wherever_a_signal_handler_raises():
    assert scopes("interrupted", 141) == [None] * 3000  # one behind each forward pass that was interrupted
    assert scopes("interrupted", 142) == ["Linear"]
    assert scopes("interrupted", 143) == [None]


def test_scopes_are_closed_whatever_a_module_raises():
    for number in range(3):
        assert scopes("raising", 111 + number) == ["Catches.then"]
        assert scopes("raising", 114 + number) == [None]


def test_scopes_are_closed_after_a_backward_pass_that_fails():
    assert scopes("raising_in_backward", 121) == ["backward/Sequential.1"] * 3
    assert scopes("raising_in_backward", 122) == ["Linear", "backward/Linear"]
    assert scopes("raising_in_backward", 123) == [None]


def test_a_graph_that_runs_twice_is_attributed_twice():
    backward = [scope for scope in scopes("twice", 131) if scope and scope.startswith("backward/")]
    assert backward[:4] == backward[4:8] and backward[0] == "backward/Model.blocks.0.parts.1"
    assert scopes("twice", 132) == [None]


@pytest.mark.parametrize("size, again", [(141, "backward/Checkpointed/recompute/Checkpointed.block"),
                                         (142, "backward/Checkpointed.block.parts.1/recompute/Checkpointed.block")],
                         ids=["reentrant", "not reentrant"])
def test_checkpointed_parts_are_named_when_they_are_computed_again(size, again):
    seen = scopes("checkpoint", size)
    assert seen[:3] == ["Checkpointed.block.parts.0", "Checkpointed.block.parts.1", again + ".parts.0"]
    assert set(seen[3:]) <= {again + ".parts.1", "backward/Checkpointed.block.parts.0", "backward/Checkpointed.block.parts.1"}
    assert len(seen) >= 6 and scopes("checkpoint", 143) == [None]


def test_names_are_those_that_the_running_modules_know():
    assert scopes("names", 162) == ["Shares/Sequential.0"] * 2  # a module made in forward gets the name of its class
    called = ["Shares.deep/b.1", "Shares.deep/deep/b.1", "Shares.deep/deep/deep/b.1", "Shares.b.1"]
    assert scopes("names", 161) == called * 2  # a module registered elsewhere in the model has its name there
    assert scopes("names", 163) == scopes("names", 164) == ["Shares.deep/deep/deep.up"]  # another module has replaced the first
    assert scopes("names", 165)[-1] == "Shares.deep.late"  # the module was registered after the first call
    assert scopes("names", 166) == ["Größe/1"]


def test_threads_have_scopes_of_their_own():
    for inner in (171, 172):
        seen = scopes("threads", inner)
        assert seen[:40] == ["Model.blocks.0.parts.0", "Model.blocks.0.parts.1"] * 20
        assert seen[40:] and set(seen[40:]) == {"backward/Model.blocks.0.parts.0", "backward/Model.blocks.0.parts.1"}
    assert scopes("threads", 173) == [None]


def test_nodes_are_found_in_dicts_dataclasses_and_changed_views():
    assert scopes("outputs", 211) == ["Own", "backward/Own"]
    assert scopes("in_place", 251) == ["Twice.up", "backward/Twice.up"]


def test_modules_that_are_nested_too_deep_have_the_scope_of_the_nearest_outer_one():
    forward, *backward = scopes("deep", 281)
    assert forward == "Sequential" + 63 * ".0"  # the limit is FP32SHIM_MAX_SCOPES
    assert backward == ["backward/Sequential" + 80 * ".0"]
    assert scopes("deep", 282) == [None]


def test_compiled_modules_carry_the_name_of_the_module_that_was_called():
    assert set(scopes("compile", 231)) == {"OptimizedModule._orig_mod", "backward/OptimizedModule._orig_mod"}
    assert set(scopes("compile", 235)) == {"Model", "backward/Model"}
    assert scopes("compile", 238) == [None]


def test_processes_that_the_program_starts_have_scopes_too():
    run(("processes",), True)
    events = [json.loads(line) for log in pathlib.Path(LOGS.name).glob("log*.jsonl") for line in log.read_text().splitlines()]
    decisions = [each for each in events if each["event"] == "decision" and not shim.is_vector_product(each["function"])]
    assert [(each["scope"], each["m"]) for each in decisions] == [("Linear", 271)] * 2


def test_a_transformer_has_its_products_attributed_and_trains_to_the_same_bits(tmp_path):
    program = shim.ROOT / "examples/where/transformer.py"
    plain = start(sys.executable, program, preload=False)
    variables = shim.environment(env={**KEEP_BYTE_CODE, "FP32_MATMUL_WHERE": "torch", "FP32SHIM_LIBRARY": str(shim.LIBRARY)})
    done = subprocess.run([COMMAND, "run", "-q", "--log", tmp_path / "run.fp32rec", "--", sys.executable, program],
                          env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == plain.stdout and plain.stdout.count("loss") == 2
    report = subprocess.run([COMMAND, "report", "--format", "json", tmp_path / "run.fp32rec"], env=shim.environment(),
                            capture_output=True, text=True, check=True)
    rows = [row for row in json.loads(report.stdout)["rows"] if not shim.is_vector_product(row["function"])]
    total = sum(row["host_ns"] for row in rows)
    forward = sum(row["host_ns"] for row in rows if (row["scope"] or "").startswith("Translator."))
    backward = sum(row["host_ns"] for row in rows if (row["scope"] or "").startswith("backward/Translator."))
    assert forward + backward >= 0.95 * total and forward > 0.1 * total and backward > 0.3 * total
    names = {row["scope"].removeprefix("backward/") for row in rows}
    layers = {f"Translator.encoder.layers.{layer}.{part}" for layer in range(4)
              for part in ("self_attn", "linear1", "linear2")}
    assert names == {*layers, "Translator.decoder"}
