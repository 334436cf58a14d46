"""The hooks of a session under the library. Each process opens scopes for tests, and the first process judges the
session.

A worker of xdist only opens scopes. The process that the user has started sees the reports of all tests. When the tests
have ended, it reads the recordings of all processes, prints its sections and, if a section fails, turns an exit status of
0 into 1.
"""

from __future__ import annotations

import sys

import pytest

from pytest_fp32shim import marks, start

# The name of the attribute of a test report that holds the plugin's findings about the test: a dict that JSON can represent.
FINDINGS_ATTRIBUTE = "fp32shim_found"


def register_hooks(config):
    if start.is_native_run():
        from pytest_fp32shim import control

        config.pluginmanager.register(control.NativeRunHooks(), "fp32shim-control")
        return
    if not start.is_ready:  # the plugin was loaded too late to restart pytest
        raise pytest.UsageError("fp32shim: the plugin was loaded after pytest had begun; install it, or use -p pytest_fp32shim")
    config.pluginmanager.register(ScopeHooks(config.option), "fp32shim-scopes")
    if config.option.fp32shim_fail:
        from pytest_fp32shim import failing

        config.pluginmanager.register(failing.FailingHooks(config.option.fp32shim_fail), "fp32shim-failing")
    if not start.is_worker():
        from pytest_fp32shim import judgement

        config.pluginmanager.register(judgement.SessionJudge(config), "fp32shim-judge")


class ScopeHooks:
    """Opens a scope for each test, for each file that is collected, and for each fixture that outlives a test."""

    def __init__(self, options):
        self.options = options

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        # A wrong marker is ignored here, because pytest_runtest_setup reports it.
        precision, floor = (None, None) if marks.marker_problem_of(item) else marks.settings_of_item(item)
        with marks.labelled_scope(marks.scope_label_of(marks.node_id_of(item)), precision, floor):
            yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        if problem := marks.marker_problem_of(item):  # happens only for a marker that was added after the collection
            pytest.fail(f"marker {problem}", pytrace=False)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector):
        if isinstance(collector, pytest.File):
            with marks.labelled_scope(marks.scope_label_of(collector.nodeid)):
                yield
        else:
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            yield
        else:
            with marks.labelled_scope(f"fixture:{fixturedef.argname}"):
                yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item):
        outcome = yield
        report = outcome.get_result()
        found = {}
        if report.failed and self.options.fp32shim_preview:
            found["fixtures"] = fixtures_that_outlive_test(item)
            found["below" if item.__dict__.pop("fp32shim_is_below", False) else "own"] = True
        if self.options.fp32shim_expect and "torch" in sys.modules:
            found["torch"] = torch_precision_setting(sys.modules["torch"])
        if any(found.values()):
            setattr(report, FINDINGS_ATTRIBUTE, found)


def fixtures_that_outlive_test(item):
    """Returns the names of a test's fixtures that outlive a test, so that their products may have run in the scope of
    another test."""
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return sorted(name for name, each in definitions.items() if each and each[-1].scope != "function")


def torch_precision_setting(torch):
    """Returns (format, description) if torch's own setting lets oneDNN round below float32. Otherwise returns None."""
    try:
        word = torch.get_float32_matmul_precision()
        if word != "highest":
            return {"high": "tf32"}.get(word, "bf16"), f"torch.get_float32_matmul_precision() was {word!r}"
    except Exception:  # happens in other versions of torch, and after a program has used both of torch's interfaces
        pass
    try:
        word = torch.backends.mkldnn.matmul.fp32_precision
        if word in ("tf32", "bf16"):
            return word, f"torch.backends.mkldnn.matmul.fp32_precision was {word!r}"
    except Exception:
        pass
    return None
