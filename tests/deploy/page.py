"""Reads docs/deploy.md, and the files of examples/deploy to which it links."""

import re

import shim

PAGE = shim.ROOT / "docs/deploy.md"
FILES = shim.ROOT / "examples/deploy"


def blocks():
    """Returns the code blocks of the page, each as its language and text."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def block(beginning):
    """Returns the text of the only block that begins with `beginning`."""
    found = [text for _, text in blocks() if text.startswith(beginning)]
    assert len(found) == 1, beginning
    return found[0]


def settings(name):
    """Returns the settings NAME=VALUE after `Environment=` or `ENV ` in a file of examples/deploy."""
    text = (FILES / name).read_text()
    return dict(entry.split("=", 1) for line in re.findall(r"^(?:Environment=|ENV )(.*)$", text, re.MULTILINE)
                for entry in line.split())
