"""Makes the native run after a preview. It runs pytest again in a second process, in which products run as they are
called.

The native run has the same tests in the same order, up to the last test that failed under the preview. So each test finds
the same random numbers, caches and fixtures as in the preview.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile

import pytest

from pytest_fp32shim import marks, start

# Options of pytest and of other plugins that name an output file. The native run must not overwrite the user's files.
FILE_OPTIONS = {"xmlpath": "--junitxml", "log_file": "--log-file", "htmlpath": "--html", "report_log": "--report-log",
                "json_report_file": "--json-report-file", "allure_report_dir": "--alluredir",
                "md_report_output": "--md-report-output"}


def run_tests_natively(config, failed):
    """Runs the tests natively, up to the last test in `failed`. Returns the outcome of each test by its node id, and the
    end of pytest's output."""
    with tempfile.TemporaryDirectory(prefix="fp32shim-pytest-") as folder:
        plan, output = pathlib.Path(folder, "plan.json"), pathlib.Path(folder, "output")
        plan.write_text(json.dumps(sorted(failed)))
        variables = {name: value for name, value in start.environment.items()
                     if name not in ("FP32_MATMUL_LOG", "FP32_MATMUL_AUDIT", start.STARTED_VARIABLE)}
        variables.update({start.CONTROL_VARIABLE: f"{os.getpid()}:{plan}", "FP32_MATMUL_CPU": "off",
                          "FP32_MATMUL_PRECISION": "native"})
        with output.open("w") as stream:
            subprocess.run(native_command_line(config, folder), env=variables, stdin=subprocess.DEVNULL, stdout=stream,
                           stderr=subprocess.STDOUT, cwd=config.invocation_params.dir, check=False)
        found = pathlib.Path(f"{plan}.outcomes")
        outcomes = json.loads(found.read_text()) if found.exists() else {}
        return outcomes, output.read_text(errors="replace")[-2000:]


def native_command_line(config, folder):
    """Returns the user's command line, with options that keep the native run from stopping early and from overwriting the
    user's files."""
    line = start.command_line()
    added = ["--maxfail=1000000", "-o", f"cache_dir={folder}/cache", "-o", "log_file="]
    added += [f"{option}={folder}/{name}" for name, option in FILE_OPTIONS.items() if getattr(config.option, name, None)]
    if config.pluginmanager.hasplugin("_cov"):
        added.append("--no-cov")
    seed = getattr(config.option, "randomly_seed", None)
    if isinstance(seed, int):
        added.append(f"--randomly-seed={seed}")
    end = line.index("--") if "--" in line else len(line)
    return line[:end] + added + line[end:]


class NativeRunHooks:
    """The pytest hooks that are active in the native run."""

    def __init__(self):
        self.plan = pathlib.Path(start.environment[start.CONTROL_VARIABLE].partition(":")[2])
        self.failed = set(json.loads(self.plan.read_text()))
        self.outcomes = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        if not start.is_worker():
            last = max((index for index, item in enumerate(items) if marks.node_id_of(item) in self.failed), default=-1)
            del items[last + 1:]

    def pytest_runtest_logreport(self, report):
        note_outcome(self.outcomes, marks.node_id_of(report), report)

    def pytest_collectreport(self, report):
        if report.failed:
            self.outcomes[report.nodeid] = "failed"
        elif report.nodeid in self.failed:
            self.outcomes[report.nodeid] = "passed"

    def pytest_sessionfinish(self):
        if not start.is_worker():
            pathlib.Path(f"{self.plan}.outcomes").write_text(json.dumps(self.outcomes))


def note_outcome(outcomes, name, report):
    """Adds a test's outcome to `outcomes`, from the reports of its phases. A test has failed if one of its phases failed.
    Otherwise it has the outcome of its body, or is skipped if its setup was skipped."""
    if report.failed:
        outcomes[name] = "failed"
    elif report.when == "call" or report.skipped:
        outcomes.setdefault(name, report.outcome)
