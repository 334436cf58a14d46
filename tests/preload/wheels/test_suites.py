"""The suites that numpy, scipy and scikit-learn ship pass and fail the same tests under the shim. See suites.py."""

import pytest

import suites


@pytest.mark.parametrize("name", suites.FAST)
def test_a_suite_passes_and_fails_the_same_tests_as_without_the_shim(name, record_property, capsys):
    comparison = suites.Comparison(name, suites.FAST[name])
    comparison.run_round()
    with capsys.disabled():
        print(f"\n{suites.table([comparison])}")
    assert comparison.differences == []
    assert suites.count(comparison.outcomes, "passed") > 50
