"""fp32shim for pytest: runs a suite under the library, previews another format, and judges each test by its products.

docs/pytest.md is the page for users. Without an option of its own, the plugin registers options and markers and does
nothing else: the modules beside this file are imported only when they are needed.
"""

from __future__ import annotations

import pytest

# Words for the formats that a CPU previews: those of policies (policy/formats.def), without `native` and `auto`.
PREVIEWS = ("tf32", "high", "bf16", "medium", "fp16", "e4m3", "e5m2", "bf16x9", "tf32x3", "bf16x3", "bf16x2", "xf32",
            "fp32_perturbed")
EXPECT_CHOICES = ("fp32", "bf16x9", "tf32", "bf16", "fp16")
OPTIONS = ("fp32shim", "fp32shim_preview", "fp32shim_expect", "fp32shim_fail", "fp32shim_baseline", "fp32shim_baseline_update")
# Options with which pytest runs no test.
WITHOUT_TESTS = ("collectonly", "help", "version", "markers", "showfixtures", "show_fixtures_per_test", "setuponly", "setupplan")
MARKERS = (
    "fp32shim(precision=None, floor=None): with an option of fp32shim, the test's float32 matrix products run at this "
    "precision, and never below this floor.",
    "limit_precision(floor): with an option of fp32shim, none of the test's float32 matrix products runs below this floor.",
)


def pytest_addoption(parser):
    group = parser.getgroup("fp32shim", "precision of float32 matrix products (fp32shim)")
    group.addoption("--fp32shim", action="store_true", help="run under fp32shim, so that its markers have an effect, on a CPU too")
    group.addoption("--fp32shim-preview", metavar="FORMAT", type=str.lower, choices=PREVIEWS,
                    help="round the operands of products to FORMAT, as a GPU would, and tell which tests fail only then: "
                         + ", ".join(PREVIEWS))
    group.addoption("--fp32shim-expect", metavar="FORMAT", type=str.lower, choices=EXPECT_CHOICES,
                    help="fail if a product of a test ran below FORMAT: " + ", ".join(EXPECT_CHOICES))
    group.addoption("--fp32shim-fail", metavar="FORMAT", type=str.lower, choices=EXPECT_CHOICES,
                    help="let each test fail that makes a product below FORMAT, or below what its markers allow: " + ", ".join(EXPECT_CHOICES))
    parser.addini("fp32shim_fail", "the FORMAT of --fp32shim-fail, where the option is not given", default=None)
    group.addoption("--fp32shim-baseline", metavar="FILE",
                    help="fail if the products of a test ran lower than FILE says, or with larger errors")
    group.addoption("--fp32shim-baseline-update", action="store_true", help="write the FILE of --fp32shim-baseline")
    group.addoption("--fp32shim-keep", metavar="FOLDER", help="keep the recordings in this new folder")


def is_wanted(options):
    """Returns True if an option of this plugin was given, and tests will run."""
    return (any(getattr(options, name, None) for name in OPTIONS)
            and not any(getattr(options, name, None) for name in WITHOUT_TESTS))


def take_fail_format_from_ini(config, options):
    """If --fp32shim-fail was not given, takes its value from the ini file."""
    word = config.getini("fp32shim_fail")
    if options.fp32shim_fail is None and word:
        options.fp32shim_fail = word.lower()
        if options.fp32shim_fail not in EXPECT_CHOICES:
            raise pytest.UsageError(f"fp32shim_fail in the ini file: found {word!r}; allowed: {', '.join(EXPECT_CHOICES)}")


# Runs before all others, so that output is not yet captured when pytest is started again.
@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config):
    options = early_config.known_args_namespace
    take_fail_format_from_ini(early_config, options)
    if is_wanted(options):
        from pytest_fp32shim import start

        start.ensure_started_under_library(early_config, options)
    yield


def pytest_configure(config):
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    take_fail_format_from_ini(config, config.option)
    if is_wanted(config.option):
        from pytest_fp32shim import session

        session.register_hooks(config)


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    """Makes a marker with a wrong word an error of the collection, with and without an option of this plugin."""
    report = (yield).get_result()
    marked = [each for each in report.result or () if isinstance(each, pytest.Item)
              and any(each.get_closest_marker(name) for name in ("fp32shim", "limit_precision"))]
    if marked:
        from pytest_fp32shim import marks

        problems = [f"{each.nodeid}: marker {problem}" for each in marked if (problem := marks.marker_problem_of(each))]
        if problems:
            report.outcome, report.longrepr, report.result = "failed", "\n".join(problems), []


@pytest.fixture
def limit_precision():
    """A function: products of this thread in `with limit_precision("fp32"):` do not run below that floor.

    It has no effect where the library is not loaded, since nothing is lowered there.
    """
    from pytest_fp32shim import marks

    return marks.floor_context
