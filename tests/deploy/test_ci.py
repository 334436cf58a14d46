"""docs/ci.md: the recipes of examples/ci and the action, parsed as their services parse them, and run without a network; and
the SARIF that reviewers see."""

import os
import re
import subprocess

import pytest

import shim
from command import COMMAND, calls_from, environment, fp32shim, make_recording

PAGE = (shim.ROOT / "docs/ci.md").read_text()
CI = shim.ROOT / "examples/ci"
ACTION = shim.ROOT / "packaging/github-action"
MODEL = "import numpy\na = numpy.full((64, 64), 1.5, numpy.float32)\nprint((a @ a)[0, 0])\n"  # 1.5: exact in TF32 too
TESTS = "import numpy\n\n\ndef test_sum():\n    assert (numpy.ones((8, 8), numpy.float32) @ numpy.ones((8, 1), numpy.float32)).sum() == 64\n"
STATES = {0: "shown", 1: "violated", 3: "inconclusive"}


@pytest.fixture
def checkout(tmp_path):
    """A project that the recipes check. In its .venv, `pip` installs nothing, and other programs are those of the build."""
    shim.need(shim.has_module("numpy") and shim.has_module("pytest"), "python3-numpy or python3-pytest is not installed")
    programs = tmp_path / ".venv/bin"
    programs.mkdir(parents=True)
    (programs / "python3").symlink_to(shim.SYSTEM_PYTHON)
    (programs / "fp32shim").symlink_to(COMMAND)
    (programs / "pip").write_text('#!/bin/sh\ntest "$1" = install && echo "$@" >> installed\n')
    (programs / "pip").chmod(0o755)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "test_sum.py").write_text(TESTS)
    (tmp_path / "requirements.txt").write_text("numpy\n")
    baseline = re.search(r"```sh\n(pytest .*-update) ", (shim.ROOT / "docs/pytest.md").read_text())[1]
    assert run(tmp_path, f"python3 -m {baseline}").returncode == 0
    return tmp_path


def run(folder, commands, **variables):
    path = f"{folder / '.venv/bin'}:{os.environ['PATH']}"
    plugin = {"PYTHONPATH": shim.ROOT / "python", "PYTEST_ADDOPTS": "-p pytest_fp32shim", "FP32SHIM_LIBRARY": shim.LIBRARY,
              "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, capture_output=True, text=True, check=False,
                          env=environment(PATH=path, WHEEL="fp32shim.whl", **plugin, **variables), timeout=600)


def judged(folder, commands, **variables):
    """Runs the commands of a recipe. Returns the verdict of `verify`, and the finished process."""
    done = run(folder, commands, **variables)
    assert done.returncode in STATES, f"{commands}\n{done.stdout}\n{done.stderr}"
    return STATES[done.returncode], done


def loaded(path):
    return pytest.importorskip("yaml", reason="python3-yaml is not installed").safe_load(path.read_text())


def action(folder, inputs, **variables):
    """Runs the judging step of the action with these inputs. Other inputs have their defaults."""
    description = loaded(ACTION / "action.yml")
    values = {name: str(described.get("default", "")) for name, described in description["inputs"].items()}
    assert set(inputs) <= set(values)
    values.update(inputs)
    _, step = description["runs"]["steps"]
    given = {name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: values[match[1]], text) for name, text in step["env"].items()}
    return judged(folder, step["run"], GITHUB_ACTION_PATH=ACTION, RUNNER_TEMP=folder, GITHUB_OUTPUT=folder / "outputs",
                  GITHUB_STEP_SUMMARY=folder / "summary", **given, **variables)


def test_the_page_has_a_link_to_each_recipe():
    recipes = sorted(path.name for path in CI.iterdir() if path.is_file())
    assert len(recipes) >= 3 and [name for name in recipes if f"(../examples/ci/{name})" not in PAGE] == []


def test_the_page_has_each_input_of_the_action():
    rows = re.findall(r"^\| `([\w-]+)` \|", PAGE.split("## GitHub Actions")[1].split("## GitLab")[0], re.MULTILINE)
    assert rows == list(loaded(ACTION / "action.yml")["inputs"])
    assert set(re.findall(r"inputs\.([\w-]+)", (ACTION / "action.yml").read_text())) == set(rows)


def test_the_recipe_for_github_runs(checkout):
    recipe = loaded(CI / "github-actions.yml")
    _, _, use, upload = recipe["jobs"]["verdict"]["steps"]
    assert use["uses"].startswith("OWNER/fp32shim/packaging/github-action@") and (ACTION / "action.yml").exists()
    state, done = action(checkout, use["with"])
    assert state in ("shown", "inconclusive"), done.stdout  # inconclusive where numpy's LAPACK is not seen
    assert f"verdict={state}\n" in (checkout / "outputs").read_text()
    assert done.stdout.split("\n")[1] in (checkout / "summary").read_text()
    assert (checkout / upload["with"]["sarif_file"]).exists()
    for step in recipe["jobs"]["tests"]["steps"][1:]:
        done = run(checkout, step["run"])
        assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"
    assert "fp32shim.whl" in (checkout / "installed").read_text()


def test_the_action_fails_at_a_product_below_the_format_and_names_the_line(checkout):
    low = {"FP32_MATMUL_PRECISION": "high", "FP32_MATMUL_CPU": "emulate"}
    state, done = action(checkout, {"run": "python3 model.py", "sarif": "low.sarif"}, **low)
    assert state == "violated" and "model.py:3" in done.stdout
    assert "model.py:3" in (checkout / "summary").read_text() and "verdict=violated\n" in (checkout / "outputs").read_text()
    assert '"uri": "model.py"' in (checkout / "low.sarif").read_text()
    state, done = action(checkout, {"run": "python3 model.py", "pin": "true"}, **low)
    assert state in ("shown", "inconclusive"), done.stdout
    assert action(checkout, {"run": "python3 model.py", "at-least": "tf32", "inconclusive": "warn"}, **low)[0] == "shown"


def test_the_action_is_inconclusive_without_a_product_and_keeps_the_programs_status(checkout):
    assert action(checkout, {"run": "true"})[0] == "inconclusive"
    state, done = action(checkout, {"run": "true", "inconclusive": "warn"})
    assert state == "shown" and "::warning" in done.stdout
    assert "verdict=inconclusive\n" in (checkout / "outputs").read_text() and "verdict=shown" not in (checkout / "outputs").read_text()
    _, step = loaded(ACTION / "action.yml")["runs"]["steps"]
    assert run(checkout, step["run"], GITHUB_ACTION_PATH=ACTION, RUNNER_TEMP=checkout, COMMANDS="false; true\nexit 7").returncode == 1


def test_the_recipe_for_gitlab_runs(checkout):
    recipe = loaded(CI / "gitlab-ci.yml")
    assert run(checkout, "\n".join(recipe["default"]["before_script"])).returncode == 0
    state, done = judged(checkout, "\n".join(recipe["verdict"]["script"]))
    assert state in ("shown", "inconclusive"), done.stdout
    assert recipe["verdict"]["allow_failure"]["exit_codes"] == 3
    assert run(checkout, "\n".join(recipe["verdict"]["after_script"])).returncode == 0
    for path in recipe["verdict"]["artifacts"]["paths"]:
        assert (checkout / path).exists(), path
    done = run(checkout, "\n".join(recipe["tests"]["script"]))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_the_recipe_for_jenkins_runs(checkout):
    text = (CI / "Jenkinsfile").read_text()
    assert text.count("{") == text.count("}") and text.count("'''") == 6
    install, record, tests = re.findall(r"sh '''\n(.*?)'''", text, re.DOTALL)
    done = run(checkout, install.replace("python3 -m venv .venv", ""))  # the fixture has made it
    assert done.returncode == 0, done.stderr
    assert run(checkout, record).returncode == 0
    state, done = judged(checkout, re.search(r"script: '(fp32shim verify .*)'", text)[1])
    assert state in ("shown", "inconclusive"), done.stdout
    done = run(checkout, tests)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert (checkout / re.search(r"sarif\(pattern: '(.*)'\)", text)[1]).exists()


# Required members of the objects that we write, by the schema of SARIF 2.1.0 (OASIS, sarif-schema-2.1.0.json).
REQUIRED = {"log": {"version", "runs"}, "run": {"tool"}, "tool": {"driver"}, "driver": {"name"}, "rule": {"id"}, "result": {"message"},
            "message": {"text"}, "invocation": {"executionSuccessful"}, "notification": {"message"}}


def sarif(*words, cwd=None, status=0):
    """Returns the only run of a report in SARIF, after checking that it has all members that the standard requires."""
    done = fp32shim("report", "--format", "sarif", *words, cwd=cwd)
    assert done.returncode == status, done.stderr
    log = done.json
    assert log["version"] == "2.1.0" and REQUIRED["log"] <= set(log)
    (only,) = log["runs"]
    assert REQUIRED["run"] <= set(only) and REQUIRED["tool"] <= set(only["tool"]) and REQUIRED["driver"] <= set(only["tool"]["driver"])
    rules = {rule["id"] for rule in only["tool"]["driver"]["rules"] if REQUIRED["rule"] <= set(rule)}
    for invocation in only["invocations"]:
        assert isinstance(invocation["executionSuccessful"], bool)
        assert all(note["message"]["text"] and note["level"] == "error" for note in invocation["toolExecutionNotifications"])
    for result in only["results"]:
        assert result["ruleId"] in rules and result["message"]["text"] and result["level"] in ("none", "note", "warning", "error")
        for location in result.get("locations", []):
            if "physicalLocation" in location:
                assert location["physicalLocation"]["region"]["startLine"] >= 1
                assert " " not in location["physicalLocation"]["artifactLocation"]["uri"]
            assert "physicalLocation" in location or location["logicalLocations"]
    return only


def places_in(run):
    found = {}
    for result in run["results"]:
        (location,) = result["locations"]
        physical = location.get("physicalLocation")
        place = (physical["artifactLocation"]["uri"], physical["region"]["startLine"]) if physical else None
        found[place, location["logicalLocations"][0]["fullyQualifiedName"], result["ruleId"]] = result["properties"]["calls"]
    return found


def test_sarif_has_a_result_for_each_line_and_format_below_fp32(tmp_path):
    line = f"main@{tmp_path}/app/train.py@9;forward@{tmp_path}/tests/../app/my model.py@41;/usr/lib/libtorch.so+0x1c4"
    elsewhere = "main@/opt/other.py@3;/usr/lib/libtorch.so+0x1c4"
    recording = make_recording(tmp_path / "a.fp32rec", "summary", calls_from(line, "cblas_sgemm", 64, "tf32", 30),
                               calls_from(line, "cblas_sgemm", 32, "tf32", 5), calls_from(line, "cblas_sgemm", 64, "bf16", 2),
                               calls_from(line, "cblas_sgemm", 64, "fp32", 7), calls_from(elsewhere, "sgemm_", 8, "tf32", 1),
                               calls_from("/usr/lib/libphysics.so+0x31c4", "sgemm_", 8, "tf32", 4))
    run = sarif(recording, cwd=tmp_path)
    here = ("app/my%20model.py", 41)
    assert places_in(run) == {(here, "forward", "ran-at-tf32"): 35, (here, "forward", "ran-at-bf16"): 2,
                              (("file:///opt/other.py", 3), "main", "ran-at-tf32"): 1,
                              (None, "libphysics.so+0x31c4", "ran-at-tf32"): 4}
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {"ran-at-tf32", "ran-at-bf16"}
    texts = {result["message"]["text"] for result in run["results"]}
    assert "1 call of sgemm_ ran at tf32, or was allowed to; asked for: high (environment)" in texts
    assert places_in(sarif("--ran-below", "tf32", recording, cwd=tmp_path)) == {(here, "forward", "ran-at-bf16"): 2}


def test_sarif_of_a_clean_run_is_empty_and_says_what_could_not_be_read(tmp_path):
    make_recording(tmp_path / "a.fp32rec", "summary", "sgemm_:8:native:fp32:as_requested:3", "strsm_:8:high:unchanged:solver:2")
    run = sarif(tmp_path)
    assert run["results"] == [] and run["invocations"][0] == {"executionSuccessful": True, "toolExecutionNotifications": []}
    (tmp_path / "b.fp32rec").write_text("nothing")
    run = sarif(tmp_path, status=1)
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert not run["invocations"][0]["executionSuccessful"] and "b.fp32rec" in note["message"]["text"]


def test_sarif_has_no_groups(tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", "sgemm_:8:native:fp32:as_requested:3")
    done = fp32shim("report", "--format", "sarif", "--by", "where", recording)
    assert done.returncode == 2 and "--format sarif" in done.stderr
