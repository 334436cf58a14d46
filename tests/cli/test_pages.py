"""The pages: links lead somewhere, files that are named exist, and the README stays one that is read."""

import re

import pytest

import shim
from command import fp32shim

FOLDERS = ("bench", "cli", "cmake", "config", "docs", "examples", "gpu_check", "packaging", "policy", "python", "record", "shim",
           "system", "tests")
PAGES = [*shim.ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (shim.ROOT / folder).rglob("*.md"))]


def anchors(page):
    """Returns GitHub's names for the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def name_of(page):
    return str(page.relative_to(shim.ROOT))


def test_the_message_in_the_faq_is_what_the_program_says(tmp_path):
    printed = re.search(r"^fp32shim: bad\.toml:(\d+):(\d+): (unknown key.*?); the program runs", (shim.ROOT / "docs/faq.md").read_text(),
                        re.MULTILINE)
    line, column, message = printed.groups()
    (tmp_path / "bad.toml").write_text("schema = 1\n\n[[rule]]\nprecision = \"high\"\nwhen = { maxdim = 1 }\n")
    assert f"bad.toml:{line}:{column}: {message}\n" in fp32shim("check", "bad.toml", cwd=tmp_path).stdout


def commands_of(page):
    """Yields (subcommand, its options) for each command line in a page's blocks, or in a manual page's examples."""
    text = page.read_text()
    if page.suffix == ".md":
        text = "".join(re.findall(r"^```(?:sh|console|dockerfile|ini|yaml|groovy)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    else:
        text = text.replace("\\-", "-").partition(".Sh EXAMPLES")[2]
    for command, words in re.findall(r"(?:^|[\s/])fp32shim ([a-z][a-z-]+)((?:[ \t]+[^\s|&;>#]+)*)", text.replace("\\\n", " ")):
        yield command, re.findall(r"(?<=\s)--[a-z][\w-]*", words.partition(" -- ")[0])


@pytest.mark.parametrize("page", [page for page in (*PAGES, *sorted((shim.ROOT / "docs/cli").glob("*.1"))) if any(commands_of(page))],
                         ids=name_of)
def test_every_command_of_a_page_has_the_options_that_the_page_gives_it(page):
    for command, options in set((command, tuple(options)) for command, options in commands_of(page)):
        shown = fp32shim(command, "--help")
        if shown.returncode == 0:
            assert [option for option in options if option not in shown.stdout] == [], (command, options)
        else:
            assert not options, (command, options)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_of_a_page_leads_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_that_a_page_names_exists(page):
    for path in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`", page.read_text()):
        if "NAME" not in path:
            assert any((folder / path).exists() for folder in (shim.ROOT, page.parent)), path


@pytest.mark.parametrize("page", ["docs/reliability.md", "SECURITY.md"])
def test_every_test_that_a_page_names_exists(page):
    sources = "".join(path.read_text() for folder in ("preload", "recording", "cli", "cublas", "deploy")
                      for path in (shim.ROOT / "tests" / folder).rglob("test_*.py"))
    units = "".join(path.read_text() for path in (shim.ROOT / "tests").rglob("*_test.cpp"))
    text = (shim.ROOT / page).read_text()
    names = re.findall(r"`(test_\w+)`", text)
    assert len(names) > 10
    assert [name for name in names if f"def {name}(" not in sources] == []
    assert [name for name in re.findall(r"`([A-Z]\w+\.[A-Z]\w+)`", text)
            if not re.search(rf"\((?:{name.replace('.', ', ')})\)", units)] == []


def test_every_page_can_be_reached_from_the_readme():
    reached, waiting = set(), [shim.ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached:
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)#\s]+\.md)", page.read_text())
        waiting += [page.parent / link for link in links if not link.startswith("http")]
    assert {page.resolve() for page in PAGES} <= reached


def test_the_readme_has_900_words_at_most():
    assert len((shim.ROOT / "README.md").read_text().split()) <= 900
