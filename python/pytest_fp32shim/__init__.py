"""fp32shim for pytest: runs a test suite under the library, previews another format, and judges each test by its
products.

docs/pytest.md is the page for users. If none of its options is given, the plugin only registers its options and markers.
The modules beside this file are imported only when they are needed.
"""

from __future__ import annotations

import pytest

# The names of the formats that a CPU can preview: the names in policies (policy/formats.def) except `native` and `auto`.
PREVIEWS = ("tf32", "high", "bf16", "medium", "fp16", "e4m3", "e5m2", "bf16x9", "tf32x3", "bf16x3", "bf16x2", "xf32",
            "fp32_perturbed")
EXPECT_CHOICES = ("fp32", "bf16x9", "tf32", "bf16", "fp16")
OPTIONS = ("fp32shim", "fp32shim_preview", "fp32shim_expect", "fp32shim_fail", "fp32shim_baseline", "fp32shim_baseline_update")
# The options with which pytest runs no test.
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
    """Returns True if an option of this plugin was given and pytest will run tests."""
    return (any(getattr(options, name, None) for name in OPTIONS)
            and not any(getattr(options, name, None) for name in WITHOUT_TESTS))


def take_fail_format_from_ini(config, options):
    """If --fp32shim-fail was not given on the command line, takes its value from the ini file."""
    word = config.getini("fp32shim_fail")
    if options.fp32shim_fail is None and word:
        options.fp32shim_fail = word.lower()
        if options.fp32shim_fail not in EXPECT_CHOICES:
            raise pytest.UsageError(f"fp32shim_fail in the ini file: found {word!r}; allowed: {', '.join(EXPECT_CHOICES)}")


# This hook runs before all others, so that output is not captured yet when pytest is restarted.
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
    """Reports a marker with a wrong argument as an error of the collection, even if no option of this plugin is given."""
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
    """Returns a function. Inside `with limit_precision("fp32"):`, no product of this thread runs below the floor "fp32".

    The function has no effect if the library is not loaded, because nothing is lowered in this case.
    """
    from pytest_fp32shim import marks

    return marks.floor_context
