"""docs/deploy.md has a link to each file of examples/deploy, and names settings that exist."""

import re

import pytest

import page
import shim
from command import fp32shim

FILES = sorted(path for path in page.FILES.rglob("*") if path.is_file())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_page_has_a_link_to_each_file(file):
    assert f"(../{file.relative_to(shim.ROOT)})" in page.PAGE.read_text()


def test_every_variable_of_ours_that_is_named_exists():
    known = set(re.findall(r"^\| `(FP32_MATMUL_\w+)` \|", (shim.ROOT / "docs/settings.md").read_text(), re.MULTILINE))
    assert len(known) >= 10
    for text in (page.PAGE.read_text(), *(file.read_text() for file in FILES)):
        assert set(re.findall(r"\bFP32_MATMUL_\w*[A-Z]\b", text)) <= known


def test_the_policy_is_in_order():
    done = fp32shim("check", page.FILES / "policy.toml")
    assert done.returncode == 0, done.stderr
