"""The stack that the library takes in a program's signal handler, beside what the handler takes without it: handlers
run on alternate stacks of a few KiB. The bounds are those of the table in docs/reliability.md."""

import pathlib
import re

import pytest

import shim

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "reliability.md"
SETTINGS = {"nothing set": {"log": False}, "JSON": {"log": "run.jsonl"}, "recorded": {"log": "run.fp32rec"},
            "every call, 8 native frames": {"log": "run.fp32rec",
                                            "env": {"FP32_MATMUL_LOG_LEVEL": "calls", "FP32_MATMUL_WHERE": "native:8"}}}


def bounds():
    """Yields (action, settings, bytes) for each row of the table."""
    table = re.search(r"\| in a signal handler \|(.*)\n\|[-| ]+\n((?:\|.*\n)+)", PAGE.read_text(encoding="utf-8"))
    columns = [column.strip() for column in table[1].strip(" |").split("|")]
    for line in table[2].splitlines():
        actions, *numbers = [cell.strip(" `") for cell in line.strip(" |").split("|")]
        yield from ((action, column, int(number.replace(",", ""))) for action in actions.split(", ")
                    for column, number in zip(columns, numbers, strict=True))


def stack_of(action, **keywords):
    return int(shim.run("signal_stack", action, blas=None, **keywords).stdout)


@pytest.mark.parametrize("action, settings, bound", bounds())
def test_a_signal_handler_needs_no_more_stack_than_the_page_says(action, settings, bound):
    more = stack_of(action, **SETTINGS[settings]) - stack_of(action, preload=False)
    print(action, settings, more)
    assert more <= bound, f"{more} bytes more than without the library"
