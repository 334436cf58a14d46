"""Writes the section of pytest's summary for --fp32shim-preview, with the tests that fail only when products are rounded,
and the rounded products."""

from __future__ import annotations

import os
import shlex
import sys

from pytest_fp32shim import control, recorded, start

FULLY_SHOWN = 20  # number of failing tests that are listed together with their products
NOT_LOWERED = ("onednn_", "xla_compiled_")  # beginnings of the names of functions whose products no preview lowers


def judge_preview(session, products, unseen):
    """Returns the title and the lines of the section. If some tests failed, first runs the tests natively."""
    word = session.config.option.fp32shim_preview
    # A test that failed only because of --fp32shim-fail is left out, because the test's own assertions passed.
    failed = [name for name, outcome in session.outcomes.items()
              if outcome == "failed" and not failed_only_by_option(name, session)]
    native, problem = {}, ""
    if failed and session.is_interrupted:
        problem = "The run was interrupted, so the tests that failed did not run natively."
    elif failed:
        session.write_line(f"fp32shim: running natively, in a second process, to tell which of "
                           f"{counted(len(failed), 'failure')} {'is' if len(failed) == 1 else 'are'} due to {word} ...")
        native, output = control.run_tests_natively(session.config, failed)
        if not native:
            problem = f"The native run had no outcome; pytest ended with:\n{output}"
    only = [name for name in failed if native.get(name) == "passed"]
    lines = [line for name in only[:FULLY_SHOWN] for line in lines_of_test(name, session, products)]
    lines += [f"{name}: fails only at {word}" for name in only[FULLY_SHOWN:]]
    lines += summary_lines(session, products, failed, only, native)
    if by_onednn := [row for row in products.all_rows() if (row["function"] or "").startswith(NOT_LOWERED)]:
        lines.append(f"Not previewed: {counted(recorded.count_calls(by_onednn), 'product')} by oneDNN or XLA, which no "
                     "policy lowers:")
        lines += recorded.lines_about_rows(by_onednn)
    if unseen and unseen[0]:
        lines += ["Not previewed, because it was not seen:"] + unseen[0]
    return f"preview of {word}", lines + ([problem] if problem else [])


def was_rounded_by_preview(row):
    """Returns True for a product that ran below fp32, unless no preview lowers its function (NOT_LOWERED)."""
    return recorded.ran_below(row, "fp32") and not (row["function"] or "").startswith(NOT_LOWERED)


def failed_only_by_option(name, session):
    return "below" in (found := session.found.get(name, {})) and "own" not in found


def counted(number, thing):
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def lines_of_test(name, session, products):
    """Returns a line about a test that fails only under the preview, and lines about the products that may have caused
    the failure."""
    word = session.config.option.fp32shim_preview
    own = products.of_tests.get(name, [])
    groups = [("", own)]
    for fixture in session.found.get(name, {}).get("fixtures", []):
        rows = [row for row in products.of_fixtures.get(fixture, []) if not any(row is each for each in own)]
        groups.append((f"in the fixture {fixture}, which ran before, for another test", rows))
    groups.append((f"when {name.partition('::')[0]} was collected", products.of_files.get(name.partition("::")[0], [])))
    lines = [f"{name}: fails only at {word}"]
    for title, rows in groups:
        below = [row for row in rows if was_rounded_by_preview(row)]
        if not below:
            continue
        if title:
            lines.append(f"  {title}:")
        else:
            lines.append(f"  {recorded.count_calls(below):,} of {counted(recorded.count_calls(rows), 'product')} in it ran "
                         "below fp32:")
        lines += recorded.lines_about_rows(below)
    if len(lines) == 1:
        elsewhere = [row for row in products.elsewhere if was_rounded_by_preview(row)]
        lines.append("  no lowered product was seen in it" + (
            f"; {recorded.count_calls(elsewhere):,} ran on other threads, in other programs, or between tests" if elsewhere
            else ", nor outside all tests: this failure may be chance"))
        lines += recorded.lines_about_rows(elsewhere)
    return lines


def summary_lines(session, products, failed, only, native):
    word = session.config.option.fp32shim_preview
    tests = session.tests_that_ran(products)
    lowered = [name for name in tests if any(was_rounded_by_preview(row) for row in products.of_tests.get(name, []))]
    lines = [f"{len(lowered):,} of {counted(len(tests), 'test')} that ran had products that ran below fp32; "
             f"{len(failed):,} failed."]
    if by_gate := [name for name in session.outcomes if failed_only_by_option(name, session)]:
        lines.append(f"{counted(len(by_gate), 'more test')} failed only because of --fp32shim-fail "
                     f"{session.config.option.fp32shim_fail}.")
    outside = [row for row in products.elsewhere if was_rounded_by_preview(row)]
    if outside:
        lines.append(f"{counted(recorded.count_calls(outside), 'more product')} ran below fp32 on other threads, in other "
                     "programs, or between tests.")
    if not any(was_rounded_by_preview(row) for row in products.all_rows()):
        reasons = {row["reason"] for row in products.all_rows()} - {None, "as_requested"}
        lines.append("No product was rounded, so this run says nothing about the preview."
                     + (f" Reasons in the recording: {', '.join(sorted(reasons))}." if reasons else ""))
    if native:
        also = [name for name in failed if native.get(name) == "failed"]
        unknown = [name for name in failed if native.get(name) not in ("passed", "failed")]
        lines.append(f"{len(only):,} of {counted(len(failed), 'failure')} passed natively, {len(also):,} failed there too"
                     + (f", and {len(unknown):,} did not run to an end there: {', '.join(unknown[:5])}" if unknown else "") + ".")
        better = [name for name, outcome in native.items() if outcome == "failed" and session.outcomes.get(name) == "passed"]
        if better:
            lines.append(f"{counted(len(better), 'test')} failed natively and passed at {word}, such as {better[0]}.")
        lines.append(verdict_basis_text(session, word))
    # A command is shown only if `bisect` can try the format, which must be one of DEFAULTS, and if the tests that it runs do
    # not fail because of fp32shim_fail in the ini file.
    if only and word in start.DEFAULTS and not session.config.option.fp32shim_fail:
        lines.append(f"Which of its products a test needs exact: {shlex.join(bisect_command_line(only[0], session.config))}")
    return lines


def bisect_command_line(name, config):
    """Returns the `bisect` command that finds the products which a test needs exact. It uses the Python and the plugins
    of this session."""
    file, *rest = name.partition("::")
    precision = start.DEFAULTS[config.option.fp32shim_preview]
    plugins = [each for plugin in config.option.plugins for each in ("-p", plugin)]
    path = os.path.relpath(config.rootpath / file, config.invocation_params.dir)
    return ["fp32shim", "bisect", "--cpu", "emulate", *(["--precision", precision] if precision != "high" else []), "--",
            sys.executable, "-m", "pytest", *plugins, path + "".join(rest)]


def verdict_basis_text(session, word):
    """Returns a sentence that names the runs on which the verdicts are based."""
    text = f"This rests on one run at {word} and one native run of the same tests"
    if getattr(session.config.option, "numprocesses", None):
        return text + ", which xdist may have given to other workers. A test that fails by chance looks the same."
    return text + " in the same order, up to the last that failed. A test that fails by chance looks the same."
