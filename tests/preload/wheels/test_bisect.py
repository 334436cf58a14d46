"""fp32shim bisect on unmodified scripts for torch and scikit-learn: the lines that break at TF32."""

import json
import os
import pathlib
import subprocess
import sys

import shim

COMMAND = pathlib.Path(os.environ.get("FP32SHIM_COMMAND", shim.BUILD / "bin/fp32shim"))
HERE = pathlib.Path(__file__).resolve().parent


def command(*words, folder):
    return subprocess.run([COMMAND, *map(str, words)], cwd=folder, env=shim.environment(), text=True, capture_output=True,
                          check=False)


def culprits_of(script, folder):
    """Returns the texts of the lines that bisect keeps exact. Checks that the script is acceptable under that policy."""
    program = [sys.executable, HERE / script]
    done = command("bisect", "--cpu", "emulate", "--format", "json", "--", *program, folder=folder)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert command("run", "-q", "--policy", "bisect-policy.toml", "--", *program, folder=folder).returncode == 0
    lines = [[result["groups"][number]["text"] for number in culprit["groups"]] for culprit in result["culprits"]]
    assert all(len(set(texts)) == 1 for texts in lines)
    return sorted({texts[0] for texts in lines}), result


def test_in_shampoo_the_lines_of_the_inverse_root_must_stay_exact_and_no_line_of_the_network(tmp_path):
    lines, result = culprits_of("shampoo.py", tmp_path)
    assert lines == ["power = square @ square @ power", "root = root @ factor", "square = factor @ factor"]
    assert {group["scope"] for group in result["groups"]} >= {"Sequential.0", "Sequential.2"}


def test_in_a_pipeline_the_covariance_matrix_must_stay_exact(tmp_path):
    lines, result = culprits_of("pipeline.py", tmp_path)
    assert lines == ["components.fit(data)"]
    [group] = [result["groups"][number] for number in result["culprits"][0]["groups"]]
    assert "syrk" in group["function"] and (group["n"], group["k"]) == (40, 2000)
