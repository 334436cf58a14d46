"""Judges a test session. Reads the recordings of the session when the tests have ended, and prints a section for each
option."""

from __future__ import annotations

import pytest

import fp32shim
from pytest_fp32shim import baseline, control, expectation, marks, preview, recorded, session, start


class SessionJudge:
    """The hooks of the process that the user has started."""

    def __init__(self, config):
        self.config = config
        self.outcomes = {}  # outcomes of tests by node id, and of files whose collection failed
        self.files = set()
        self.found = {}  # findings that session.py has attached to the reports of each test, by node id
        self.is_interrupted = False
        self.sections = []
        self.baseline = baseline.read_baseline(config) if config.option.fp32shim_baseline else None

    def pytest_report_header(self):
        options = self.config.option
        asked = [f"{name} {value}" for name, value in (("preview", options.fp32shim_preview), ("expect", options.fp32shim_expect),
                                                       ("fail", options.fp32shim_fail), ("baseline", options.fp32shim_baseline)) if value]
        precision, source = fp32shim.get_precision()
        return [f"fp32shim: {fp32shim.version()}, {', '.join(asked) or 'no judgement'}; precision {precision} ({source})"]

    def pytest_runtest_logreport(self, report):
        name = marks.node_id_of(report)
        self.files.add(name.partition("::")[0])
        control.note_outcome(self.outcomes, name, report)
        for kind, value in getattr(report, session.FINDINGS_ATTRIBUTE, {}).items():
            if value:
                self.found.setdefault(name, {})[kind] = value

    def pytest_collectreport(self, report):
        self.files.add(report.nodeid)
        if report.failed:
            self.outcomes[report.nodeid] = "failed"

    def pytest_keyboard_interrupt(self, excinfo):
        self.is_interrupted = excinfo.type is not pytest.Session.Interrupted

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        try:
            failed = self.judge_session()
        except OSError as problem:
            self.sections.append(("not judged", [f"The recordings were not read: {problem}"]))
            failed = True
        if failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def judge_session(self):
        """Makes the sections. Returns True if the session fails because of one of them."""
        options = self.config.option
        files = start.new_recordings()
        report, unseen = {"rows": [], "audits": []}, None
        if files:
            report = recorded.json_of_command("report", "--format", "json", "--", *files)
            # This comes before the native run, because verify would report the process of that run as unseen.
            if options.fp32shim_preview or options.fp32shim_expect or options.fp32shim_fail:
                unseen = recorded.verify_recordings(options.fp32shim_expect or options.fp32shim_fail or "fp32", files)
        products = recorded.products_by_test(report["rows"], list(self.outcomes), self.files)
        judged = []  # title, lines, and whether the session fails because of the section
        if options.fp32shim_preview:
            self.sections.append(preview.judge_preview(self, products, unseen))
        if options.fp32shim_expect:
            judged.append(expectation.judge_formats(self, products, unseen))
        if options.fp32shim_fail:
            judged.append(expectation.judge_products_outside_tests(self, products, unseen))
        if self.baseline is not None:
            judged.append(baseline.judge_against_baseline(self, products, report["audits"]))
        self.sections += [(title, lines) for title, lines, _ in judged]
        if not self.sections:
            below = [row for row in report["rows"] if recorded.ran_below(row, "fp32")]
            text = (f"{recorded.count_calls(report['rows']):,} products were seen, {recorded.count_calls(below):,} of them "
                    "below fp32.")
            self.sections.append(("products", [text] + recorded.lines_about_rows(below)))
        return any(fails for _, _, fails in judged)

    def pytest_terminal_summary(self, terminalreporter):
        for title, lines in self.sections:
            terminalreporter.write_sep("=", f"fp32shim: {title}")
            for line in lines:
                terminalreporter.write_line(line)
        if self.config.option.fp32shim_keep:
            terminalreporter.write_line(f"The recordings are in {start.recordings_folder()}")

    def write_line(self, line):
        """Writes a line at once, while pytest is running, if pytest writes to a terminal."""
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter.write_line("\n" + line)

    def tests_that_ran(self, products):
        """Returns the node ids of the tests that ran, without those of files. A test that multiplied before it was
        skipped is included."""
        return [name for name, outcome in self.outcomes.items()
                if name not in self.files and (outcome != "skipped" or name in products.of_tests)]
