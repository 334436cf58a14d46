"""Implements --fp32shim-fail, which makes a test fail if one of its products ran below a format or was allowed to."""

from __future__ import annotations

import collections
import itertools
import sys

import pytest

import fp32shim
from pytest_fp32shim import marks, recorded, session, start


class FailingHooks:
    """Hooks that run after the body of a test and after its teardown, in each process that runs tests.

    The hooks make the test itself fail, so every report shows the failure, and markers such as xfail apply to it.
    """

    def __init__(self, level):
        self.level = level
        self.known = collections.Counter()  # calls that a failure has already reported, such as those of a repeated test

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_setup(self, item):
        item.fp32shim_setting = self.torch_setting_text(item)  # fail_test() reports it after the body of the test

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_call(self, item):
        self.fail_if_below(item)
        self.fail_test(item, item.fp32shim_setting or self.torch_setting_text(item))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item):
        self.fail_if_below(item)
        if not item.__dict__.get("fp32shim_was_allowed"):
            self.fail_test(item, self.torch_setting_text(item))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        """If a test failed before its products were checked, adds the products that ran below the format to its report,
        because they may be the cause."""
        report = (yield).get_result()
        if report.failed and call.when != "teardown" and (text := self.text_of_products_below(item)):
            report.sections.append(("fp32shim", text))
            item.user_properties.append(("fp32shim", text))  # JUnit reports do not show report sections

    def fail_if_below(self, item):
        self.fail_test(item, self.text_of_products_below(item))

    def fail_test(self, item, text):
        if text:
            item.fp32shim_is_below = True  # this phase of the test fails only because of --fp32shim-fail
            pytest.fail(text, pytrace=False)

    def torch_setting_text(self, item):
        """Returns a line about torch's own setting if it allows oneDNN to use too low a format, and otherwise None. Also
        returns None if oneDNN's products are recorded, because the setting then tells nothing more about them."""
        setting = session.torch_precision_setting(sys.modules.get("torch"))
        allowed = marks.lowest_allowed_format(item, self.level)
        if start.environment.get("FP32_MATMUL_ONEDNN") == "1" or not setting or recorded.LEVELS[setting[0]] >= recorded.LEVELS[allowed]:
            return None
        item.fp32shim_was_allowed = True
        return (f"allowed to run below {self.level} (--fp32shim-fail {self.level}): {setting[1]}, with which oneDNN may multiply at "
                f"{setting[0]}, unseen without FP32_MATMUL_ONEDNN=1")

    def text_of_products_below(self, item):
        """Returns lines about the test's products, since the previous check, that ran below the allowed format. Returns
        None if there are none."""
        path, level = fp32shim.recording(), marks.lowest_allowed_format(item, self.level)
        if path is None:
            return f"--fp32shim-fail {self.level}: this process has no recording, so what ran is not known"
        owners = {marks.scope_label_of(marks.node_id_of(item)): item}
        below = []
        for row in recorded.json_of_command("report", "--format", "json", "--", path)["rows"]:
            is_own = recorded.owner_of(row["scope"] or "", owners)[0] is not None
            if is_own and row["reason"] != "no_product" and recorded.ran_below(row, level):
                decision = tuple(itertools.takewhile(lambda each: each[0] != "sizes_folded", row.items()))
                calls = row["calls"] - self.known[decision]
                self.known[decision] = row["calls"]
                if calls > 0:
                    below.append({**row, "calls": calls})
        if not below:
            return None
        calls, shown = recorded.count_calls(below), list(map(recorded.is_format_certain, below))
        word = "ran" if all(shown) else "ran, or may have run," if any(shown) else "may have run"
        return "\n".join([f"{calls:,} product{'s' * (calls != 1)} {word} below {level} (--fp32shim-fail {self.level}):",
                          *recorded.lines_about_rows(below)])
