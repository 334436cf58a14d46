"""The commands of the README and of all pages print what the pages show, as they stand there and in their order: a later one
reads what an earlier one recorded. A comment before a block says which other test runs it, or why none does."""

import itertools
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

import processor
import shim
from command import COMMAND, environment, live_recording, on_a_terminal

README = (shim.ROOT / "README.md").read_text()
QUESTIONS = (shim.ROOT / "docs/questions.md").read_text()
COMMANDS = re.search(r"## Most used commands\n\n```sh\n(.*?)```", README, re.DOTALL)[1].splitlines()
MODEL = "import numpy\na = numpy.full((64, 64), 1 + 2**-12, numpy.float32)\nprint((a @ a)[0, 0])\n"
TEST = f"""#!/bin/sh
test "$({shim.SYSTEM_PYTHON} model.py)" = 64.03125
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the commands name, and with `python3` and `fp32shim`."""
    shim.need(shim.has_module("numpy"), "no numpy")
    made = tmp_path_factory.mktemp("readme")
    (made / "model.py").write_text(MODEL)
    (made / "policy.toml").write_text((shim.ROOT / "config/pin-fp32.toml").read_text())
    (made / "test.sh").write_text(TEST)
    (made / "test.sh").chmod(0o755)
    (made / "programs").mkdir()
    (made / "programs/python3").symlink_to(shim.SYSTEM_PYTHON)
    (made / "programs/fp32shim").symlink_to(COMMAND)
    return made


def run(line, folder):
    done = subprocess.run(["sh", "-c", line], env=environment(PATH=f"{folder / 'programs'}:{os.environ['PATH']}", HOME=folder),
                          cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    done.text = f"{line}\nended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


# Patterns of the output of commands with this beginning, on both streams. The output of `run` includes what the model
# prints.
SAYS = {
    "fp32shim doctor -- ": "_multiarray_umath.* calls cblas_sgemm",
    "fp32shim run -- ": r"(?s)64\.03125.*[12] calls? .*fp32 ",
    "fp32shim run --precision high --cpu emulate ": r"(?s)64\.0\n.*tf32 ",
    "fp32shim run --precision high -- ": r"64\.03125",
    "fp32shim run --pin ": r"64\.03125",
    "fp32shim run --policy ": r"(?s)64\.03125.*recorded in run.fp32rec",
    "fp32shim run --where auto ": r"model\.py:3",
    "fp32shim report -o ": "is the last run kept in this folder: ",
    "fp32shim verify ": "fp32",
    "fp32shim bisect ": r"model\.py:3",
    "fp32shim run --reproducible ": r"(?s)64\.03125.*In a fixed order: (1 of 1 call|2 of 2 calls)",
    "fp32shim set 4711 high": "high",
}


def test_every_command_of_the_readme_is_known_here():
    assert [line for line in COMMANDS if sum(line.startswith(start) for start in SAYS) != 1] == []
    assert len(COMMANDS) == len(SAYS)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_readme_runs(line, folder):
    process = live_recording(folder / "live.fp32rec", "summary", "cblas_sgemm:8:native:fp32:as_requested:1") if " 4711 " in line else None
    try:
        done = run(line.replace("4711", str(process.pid)) if process else line, folder)
    finally:
        if process:
            process.communicate()
    (start,) = [start for start in SAYS if line.startswith(start)]
    # Depending on the system's LAPACK, products of numpy's LAPACK may not be seen, which these two commands report.
    statuses = {"fp32shim doctor -- ": (0, 1), "fp32shim verify ": (0, 3)}
    assert done.returncode in statuses.get(start, (0,)), done.text
    assert re.search(SAYS[start], done.stdout + done.stderr), done.text


@pytest.fixture(scope="module")
def examples(folder, tmp_path_factory):
    """The example programs that the pages run, beside `python3` and `fp32shim`."""
    made = tmp_path_factory.mktemp("examples")
    for path in (*(shim.ROOT / "examples/train").iterdir(), *(shim.ROOT / "examples/where").iterdir(),
                 *(shim.ROOT / "examples/refinement").iterdir()):
        shutil.copy(path, made)
    (made / "programs").symlink_to(folder / "programs")
    return made


def console_blocks(text):
    """Returns the console blocks of a text. Each is a list of commands and the lines that they print."""
    return [re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
            for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


TIME = re.compile(r"~?[\d.]+ (?:ns|us|ms|s)\b")


def without_measures(line):
    """Returns the words of a line without times, hashes, rates, and facts of the machine."""
    line = TIME.sub("TIME", line)
    line = re.sub(r"OpenBLAS [\w.]+, kernel \w+, \d+ threads?", "OpenBLAS", line)
    line = re.sub(r"OpenBLAS \d[\w.]*", "OpenBLAS", line)
    line = re.sub(r"\.cpython-\w+-linux-gnu\.so", ".so", line)
    if line.strip().isdigit():  # an exit status
        return [line]
    return re.sub(r"(?<!\.py:)(?<!\d)\d+(?:[.,]\d+)*(?:e[-+]\d+)?%?", "N", line).replace("TIME", "N").split()


def assert_holds(output, lines, text):
    """Checks that the output has a page's lines, in their order. Numbers may differ, and any lines may stand where the page
    has `[...]`. Rows with times may change places, because tables are sorted by times."""
    printed = [without_measures(each) for each in output.splitlines()]
    begin = 0
    shown = [line for line in lines.splitlines() if line != "[...]"]
    for has_times, group in itertools.groupby(shown, key=lambda line: bool(TIME.search(line))):
        places = []
        for expected in group:
            words = without_measures(expected)
            place = next((place for place in range(begin, len(printed)) if printed[place] == words and place not in places), None)
            assert place is not None, f"{expected}\n{text}"
            if has_times:
                places.append(place)
            else:
                begin = place + 1
        begin = max(places, default=begin - 1) + 1


def assert_prints(line, lines, folder):
    """Runs a command of a page, and checks that it prints the page's lines."""
    done = run(line, folder)
    assert_holds(done.stdout, lines, done.text)
    return done


# A block that shows a command and its output, and the comment before it, such as `<!-- tests: at night -->`. It says
#   PATH             which test of another file compares it
#   at night         that it takes too long for every change
#   not run: REASON  why none runs it here
BLOCK = re.compile(r"(?:^<!-- tests: (.*?) -->\n\n?)?^```\w*\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = {str(page.relative_to(shim.ROOT)): BLOCK.findall(page.read_text())
         for page in (shim.ROOT / "README.md", shim.ROOT / "examples/README.md", *sorted((shim.ROOT / "docs").glob("*.md")))}
AT_NIGHT = "FP32SHIM_NIGHT" in os.environ

# Files that a page's commands read, beside those of the examples.
FILES = {
    "docs/audit.md": {"overflow.py": "import numpy\n\ndef scores(a):\n    return a @ a.T\n\nscores(numpy.full((8, 4), 2**64, 'f'))\n"},
    "docs/bisect.md": {"test.sh": re.search(r"```sh\n(#!.*?)```", (shim.ROOT / "docs/bisect.md").read_text(), re.DOTALL)[1]},
    "docs/worth.md": {"rnn.py": re.search(r"```python\n(.*?)```", (shim.ROOT / "docs/diff.md").read_text(), re.DOTALL)[1]},
    "docs/reproducible.md": {"predict.py": re.search(r"```python\n(.*?)```", (shim.ROOT / "docs/reproducible.md").read_text(), re.DOTALL)[1]},
    "docs/faq.md": {"bad.toml": "schema = 1\n\n[[rule]]\nprecision = \"high\"\nwhen = { maxdim = 1 }\n"},
}


@pytest.mark.parametrize("page", [page for page, blocks in PAGES.items() if blocks and page != "docs/questions.md"])
def test_each_command_of_a_page_prints_what_the_page_shows_or_the_page_says_why_not(page, folder, tmp_path):
    to_run = []
    for note, block in PAGES[page]:
        if note.startswith("tests/"):
            assert page.rpartition("/")[2].removesuffix(".md") in (shim.ROOT / note).read_text(), note
        elif not note or note == "at night":
            to_run += [] if note and not AT_NIGHT else re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
        else:
            assert re.fullmatch("not run: .{10,}", note), note
    for path in (*(shim.ROOT / "examples/train").iterdir(), *(shim.ROOT / "examples/where").iterdir(),
                 *(shim.ROOT / "examples/refinement").iterdir()):
        shutil.copy(path, tmp_path)
    for name, text in FILES.get(page, {}).items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "build").symlink_to(shim.BUILD)
    for line, lines in to_run:
        width = max(118, *map(len, lines.splitlines()), 0)
        said = on_a_terminal([], width=width, prefix=("sh", "-c", f"cd '{tmp_path}'\n{line}"), TERM="dumb", HOME=tmp_path,
                             PATH=f"{folder / 'programs'}:{os.environ['PATH']}")
        assert_holds(re.sub(r"\x1b\[\d*[mK]", "", said).replace("\r", "\n"), lines, f"{line}\n{said}")


STORIES = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", QUESTIONS, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("question", STORIES)
def test_a_question_is_answered_in_at_most_three_commands_as_the_page_says(question, examples):
    for block in console_blocks(STORIES[question]):
        assert 0 < len(block) <= 3
        commands = " ".join(line for line, _ in block)
        if "transformer.py" in commands:
            shim.need(shim.has_module("torch"), "no torch")
            loaded = shim.python("import torch; print(open('/proc/self/maps').read())", preload=False, blas=None).stdout
            shim.need("XNNPACK" not in loaded, "this torch brings XNNPACK, as Debian's does")
        if "OPENBLAS_CORETYPE=Prescott" in commands:
            shim.need("Haswell" in processor.openblas_kernels(), "no AVX2, for which the kernel Haswell is")
        for line, lines in block:
            assert_prints(line, lines, examples)


def shares_right(text):
    """Returns the percentages that the example's search prints in a text."""
    return [float(share) for share in re.findall(r"nearest neighbour: ([\d.]+)% right", text)]


def test_the_numbers_that_answer_the_questions_are_right(examples):
    """With another BLAS, kernel or numpy, the search is right for more or fewer readings: 79.2% to 79.9% were seen."""
    plain = run("fp32shim run -q --pin --log exact.fp32rec -- python3 train.py", examples)
    rounded = run("fp32shim run -q --where python --precision high --cpu emulate --log rounded.fp32rec -- python3 train.py", examples)
    rounded_right, right = map(float, re.search(r"right for (\d+)% of the readings instead of (\d+)%", README).groups())
    for claimed, done in (right, plain), (rounded_right, rounded):
        assert [abs(share - claimed) <= 1 for share in shares_right(done.stdout)] == [True], done.text
    assert [round(share) for share in shares_right(README)] == [right, rounded_right]
    rule = re.search(r"```toml\n(.*?)```", README, re.DOTALL)[1]
    assert rule in (examples / "search.toml").read_text()
    (examples / "readme.toml").write_text(rule)
    done = run("fp32shim run --policy readme.toml --cpu emulate -- python3 train.py", examples)
    assert [abs(share - right) <= 1 for share in shares_right(done.stdout)] == [True], done.text
    assert re.search(r"^fp32 +1 .*\ntf32 +810 ", done.stderr, re.MULTILINE), done.text
    assert re.search(r"```toml\n(.*?)```", QUESTIONS, re.DOTALL)[1] in (examples / "decoder.toml").read_text()


def test_the_picture_of_three_verdicts_shows_what_verify_prints(examples):
    picture = xml.etree.ElementTree.parse(shim.ROOT / "docs/images/verdict.svg")
    texts = ["".join(text.itertext()).replace("\u00a0", " ") for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    programs = {"pinned": "--pin|train.py", "tf32": "--where auto --precision high --cpu emulate|train.py", "torch": "|transformer.py"}
    for part in "\n".join(texts).split("$ ")[1:]:
        line, *lines = part.splitlines()
        name = re.search(r"(\w+)\.fp32rec", line)[1]
        options, program = programs.pop(name).split("|")
        if program == "transformer.py" and not shim.has_module("torch"):
            continue
        assert run(f"fp32shim run -q {options} --log picture-{name}.fp32rec -- python3 {program}", examples).returncode == 0
        words = [*line.split()[1:-1], examples / f"picture-{name}.fp32rec"]
        said = re.sub(r"\x1b\[\d*[mK]", "", on_a_terminal(words, width=100)).replace("\r", "\n")
        for expected in lines:
            assert expected == "[...]" or "".join(without_measures(expected)) in "".join(without_measures(said)), (expected, said)
    assert programs == {}
