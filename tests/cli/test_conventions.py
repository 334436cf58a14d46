"""What holds for every command: help, versions, exit codes, formats, colours, completion."""

import itertools
import os
import pty
import re
import select
import subprocess

import pytest

import shim
from command import (COMMAND, COMMANDS, calls_from, calls_with_results, environment, fp32shim, live_recording, make_recording,
                     need_terminals, on_a_terminal)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return make_recording(tmp_path_factory.mktemp("recordings") / "a.fp32rec", "calls",
                          "cblas_sgemm:128:high:tf32:as_requested:3")


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    file = tmp_path_factory.mktemp("policies") / "policy.toml"
    file.write_text("schema = 1\n")
    return file


@pytest.fixture(scope="module")
def recording_of_long_names(tmp_path_factory):
    """A recording with names of some 170 columns, of numpy's extension module."""
    blas = shim.blas_library("openblas")
    folder = tmp_path_factory.mktemp("long")
    caller = folder / "_multiarray_umath.cpython-311-x86_64-linux-gnu.so"
    (folder / "caller.c").write_text("""
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);
void multiply(void) {
    static float a[1 << 16];
    const int n = 256;
    const float one = 1;
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &one, a, &n);
}""")
    subprocess.run([shim.tool("gcc"), "-shared", "-fPIC", folder / "caller.c", "-o", caller, blas], check=True)
    program = f"import ctypes; ctypes.CDLL({str(caller)!r}).multiply()"
    done = fp32shim("run", "--quiet", "--precision", "high", "--log", folder / "a.fp32rec", "--", shim.SYSTEM_PYTHON, "-c",
                    program)
    assert done.returncode == 0, done.stderr
    return folder / "a.fp32rec"


def test_the_commands_that_people_need_first_are_listed_first():
    listed = re.findall(r"^  ([a-z-]+) {2,}\S", fp32shim("--help").stdout, re.MULTILINE)
    assert listed[:len(COMMANDS)] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_examples(command):
    result = fp32shim(command, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert f"Usage: fp32shim {command}" in result.stdout
    examples = result.stdout.split("Examples:\n")[1].split("\n\n")[0]
    assert f"fp32shim {command}" in examples
    assert "--help" in result.stdout


@pytest.mark.parametrize("words", [["--help"], *([command, "--help"] for command in COMMANDS)])
def test_help_fits_a_terminal_of_80_columns(words):
    text = fp32shim(*words).stdout
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "\n\n\n" not in text


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_each_command_has_a_version(command):
    for word in ("--version", "-V"):
        result = fp32shim(*filter(None, [command]), word)
        assert (result.returncode, result.stderr) == (0, "")
        assert re.fullmatch(r"fp32shim \d+\.\d+\.\d+\n", result.stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_a_manual_page_that_can_be_read_where_it_is(command):
    page = (shim.ROOT / f"docs/cli/fp32shim-{command}.1").read_text()
    assert f".Dt FP32SHIM-{command.upper()} 1\n" in page and ".Sh DESCRIPTION\n" in page
    assert not [line for line in page.splitlines() if line.startswith(".so ")]  # .so works only after installation


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_is_one_line(command):
    result = fp32shim(command, "--hepl")
    assert result.returncode == (125 if command == "run" else 2)
    assert (result.stdout, len(result.lines)) == ("", 1)
    assert result.stderr.startswith(f"fp32shim {command}: ") and '"--help"' in result.stderr


def test_an_unknown_command_is_one_line_with_the_nearest_name():
    result = fp32shim("reprot")
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
    assert 'did you mean "report"?' in result.stderr


def test_no_command_is_a_usage_error_with_the_help():
    result = fp32shim()
    assert result.returncode == 2 and "Commands:" in result.stdout


@pytest.mark.parametrize("words", [
    ["report", "/no/such.fp32rec"], ["log", "/no/such.fp32rec"], ["verify", "--at-least", "fp32", "/no/such.fp32rec"],
    ["verify", "--at-least", "fp23", "x"], ["report", "--format", "xml", "x"], ["explain"],
    ["explain", "--function", "sgemm_", "--m", "-4"], ["explain", "--function", "sgemm_", "--policy", "/no/such.toml"],
    ["set", "0", "high"], ["set", "x", "high"], ["set", "1"], ["set", "1", "hihg"], ["set", "high"], ["set"], ["set", "--all"],
    ["set", "1", "x", "high"], ["set", "1", "--all", "high"], ["reload"], ["reload", "1", "--all"], ["reload", "1", "x"], ["set", "999999999", "high"],
    ["reload", "999999999"], ["ps", "999999999"], ["top", "999999999"], ["check"], ["completion"],
    ["explain", "--function", "sgemm_", "--policy", ""], ["report", "x", "--output", ""],
    ["completion", "tcsh"], ["report", "x", "--top", "many"], ["doctor", "--", "no-such-program-here"],
])
def test_a_wrong_argument_is_one_line_and_2(words):
    result = fp32shim(*words)
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1), result.stderr
    assert result.stderr.startswith(f"fp32shim {words[0]}: ")


@pytest.mark.parametrize("words, option, allowed", [
    (["explain", "--function", "sgemm_", "--m", "-1"], '--m: found "-1"', "a whole number, such as 4096, 2K, 2M or 2G"),
    (["explain", "--function", "sgemm_", "--m", "1.5"], '--m: found "1.5"', "a whole number, such as 4096, 2K, 2M or 2G"),
    (["explain", "--function"], "--function: found no value", "NAME"),
    (["report", "--top", "abc", "x"], '--top: found "abc"', "a whole number from 0"),
    (["report", "--top", "-1", "x"], '--top: found "-1"', "a whole number from 0"),
    (["top", "--count", "0"], '--count: found "0"', "a whole number from 1"),
    (["top", "--interval", "0.01"], '--interval: found "0.01"', "seconds from 0.1 to 86400"),
    (["top", "--interval", "nan"], '--interval: found "nan"', "seconds from 0.1 to 86400"),
    (["set", "--wait", "abc", "1", "high"], '--wait: found "abc"', "seconds from 0 to 86400"),
    (["run", "--precision", "high", "--precision", "medium"], '--precision: found "high" and "medium"', "one value"),
    (["run", "--pin", "--floor", "tf32"], "--floor: found together with --pin", "one of the two"),
    (["run", "--cpu"], "--cpu: found no value", "off, emulate, accelerate, reproducible"),
    (["run", "--pin=abc"], '--pin: found "abc"', "no value"),
])
def test_a_wrong_value_names_the_option_what_was_found_and_what_is_allowed(words, option, allowed):
    result = fp32shim(*words)
    assert result.returncode == (125 if words[0] == "run" else 2) and len(result.lines) == 1
    assert result.stderr == f"fp32shim {words[0]}: {option}; allowed: {allowed}; see: fp32shim {words[0]} --help\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_no_words_of_the_option_parser(command):
    text = fp32shim(command, "--help").stdout
    assert not re.search(r"TEXT|INT|FLOAT|NONNEGATIVE|[A-Z]:[A-Z]| in \[|\b([A-Z]+) \1\b", text), text


def test_help_and_the_name_of_a_command_print_its_help():
    assert fp32shim("help", "run") == fp32shim("run", "--help")
    assert fp32shim("help", "nosuch").returncode == 2


def test_an_unknown_option_before_the_command_names_those_that_there_are():
    result = fp32shim("--foo")
    assert (result.returncode, len(result.lines)) == (2, 1)
    assert "--help, --version" in result.stderr and 'found "--foo"' in result.stderr


@pytest.mark.parametrize("word", ["ieee", "fp32", "tf32", "bf16"])
def test_other_words_for_precisions_are_in_the_help_and_in_completion_files(word):
    for command in ("run", "explain", "set"):
        assert f"|{word}" in fp32shim(command, "--help").stdout
    assert bash_offers("run", "--precision", word) == [word]


def test_a_precision_in_the_place_of_a_format_names_the_format(recording):
    for words in (["verify", "--at-least", "highest", recording], ["run", "--floor", "highest", "true"]):
        assert 'did you mean "fp32"?' in fp32shim(*words).stderr


def test_every_command_that_reads_writes_json(recording, policy):
    for words in (["report", recording], ["log", recording], ["log", "--rows", recording],
                  ["verify", "--at-least", "fp32", recording], ["check", policy], ["ps"], ["top", "--count", "1"],
                  ["explain", "--function", "cblas_sgemm"]):
        result = fp32shim(*words, "--format", "json")
        assert result.json is not None, words
        assert result.stderr == ""


def test_colours_are_for_terminals_only(recording):
    words = ["report", recording]
    assert "\x1b[" in on_a_terminal(words)
    assert "\x1b[" not in on_a_terminal(words, NO_COLOR="1")
    assert "\x1b[" not in fp32shim(*words).stdout


def test_top_draws_anew_only_where_the_terminal_can():
    assert "\x1b[" in on_a_terminal(["top", "--count", "1"])
    assert "\x1b" not in on_a_terminal(["top", "--count", "1"], TERM="dumb")


def test_a_file_has_no_colours_also_where_the_command_was_typed_on_a_terminal(recording, tmp_path):
    assert on_a_terminal(["report", "--output", tmp_path / "report.txt", recording]) == ""
    assert (tmp_path / "report.txt").read_text() == fp32shim("report", recording).stdout


@pytest.mark.parametrize("width", [60, 80, 100, 120, 400])
def test_tables_fit_the_terminal_and_name_the_columns_that_they_leave_out(recording_of_long_names, width):
    whole = fp32shim("report", recording_of_long_names).stdout.split("\n\n")[2].splitlines()
    text = on_a_terminal(["report", recording_of_long_names], width=width, NO_COLOR="1").replace("\r\n", "\n")
    head, *rows = text.split("\n\n")[2].split("(no room for: ")[0].splitlines()
    assert max(map(len, [head, *rows])) <= width and len(rows) == len(whole) - 1
    for title in re.split("  +", whole[0].strip()):
        assert (title in head) != bool(re.search(rf"[ :\n]{title}[,)]", text.split("(no room for")[-1])), title
    for row, narrow in zip(whole[1:], rows):
        cells = dict(zip(re.split("  +", whole[0].strip()), re.split("  +", row.strip())))
        assert {cells[name] for name in ("calls", "function", "size", "ran at")} <= set(re.split("  +", narrow.strip()))
    assert max(map(len, whole)) > 120 and "…" not in "".join(whole)
    if width == 120:
        assert "_multiarray_umath….so -> lib" in rows[0], "a name loses the suffix of its build first"


def test_columns_is_the_width_in_a_pipe_too_where_each_row_is_whole_without_it(recording_of_long_names, tmp_path):
    text = fp32shim("report", recording_of_long_names, env={"COLUMNS": "80"}).stdout
    assert text == on_a_terminal(["report", recording_of_long_names], width=80, NO_COLOR="1").replace("\r\n", "\n")
    assert text == on_a_terminal(["report", recording_of_long_names], width=120, NO_COLOR="1", COLUMNS="80").replace("\r\n", "\n")
    fp32shim("report", "-o", tmp_path / "a.txt", recording_of_long_names, env={"COLUMNS": "80"})
    assert (tmp_path / "a.txt").read_text() == fp32shim("report", recording_of_long_names).stdout != text


def too_wide(text, width):
    """Returns the lines that a terminal would break, except lines of a single word, such as a path, and commands to copy."""
    lines = re.split(r"\r*\n|\r", re.sub(r"\x1b\[[\d;]*[mHJK]", "", text))
    return [line for line in lines if len(line) > width and not re.match(r" *([-→]+>? )?\S+$| +fp32shim ", line)]


PRODUCT = str(shim.client("cblas_product"))
NUMPY = ["--", shim.SYSTEM_PYTHON, "-c", "import numpy as n; a = n.ones((64, 64), 'f'); a @ a"]
# The command, a part of one line of the answer, and a part that no line of it has.
FIRST_MISTAKES = [(*row, None)[:3] for row in [
    (["run", "np.py"], "did you mean -- python3 np.py?"), (["bisect", "--", "./np.py"], "did you mean -- python3 ./np.py?"),
    (["doctor", "np.py"], "did you mean -- python3 np.py?"), (["run", "--", "python3 np.py"], "-- python3 np.py, without quotes?"),
    (["run"], "PROGRAM is required"), (["run", "sh", "-c", "exit 3", "--log", "x.fp32rec"], "--log stood behind PROGRAM"),
    (["verify", "a.fp32rec"], "--at-least FORMAT judges them"),
    (["verify", "--at-least", "a.fp32rec"], "allowed: fp64, fp32"), (["set", "high", "1"], "fp32shim ps lists"),
    (["explain", "sgemm"], "did you mean --function sgemm?"), (["verfy"], 'did you mean "verify"?'),
    (["run", "--precison", "high", "--", "true"], 'did you mean "--precision"?'),
    (["run", "--precision", "hihg", "--", "true"], 'did you mean "high"?'), (["report", "--by", "wher", "a.fp32rec"], 'did you mean "where"?'),
    (["report", "--format", "htm", "a.fp32rec"], 'did you mean "html"?'), (["explain", "--function", "sgem"], 'did you mean "sgemm"?'),
    (["report", "a.fp32rc"], 'did you mean "a.fp32rec"?'), (["report", "empty"], "fp32shim run --log NAME.fp32rec -- PROGRAM writes one"),
    (["report", "newer.fp32rec"], "Use a newer fp32shim."), (["report", "policy.toml"], "name a .fp32rec file"),
    (["check", "policy.toml"], 'a text needs quotes: "high"'), (["FP32_MATMUL_PRECISON=high", "run", "--", "true"], "did you mean FP32_MATMUL_PRECISION?"),
    (["run", "--audit", "fingerprnt", "--", "true"], "fingerprint"),
    (["run", "--policy", "polcy.toml", "--", "true"], "cannot be read"),
    (["python3", "my file.py"], "did you mean: fp32shim run -- python3 'my file.py'"),
    (["run", "--", "--precision", "high", PRODUCT], "options of fp32shim go before the --"),
    (["FP32SHIM_PRECISION=high", "run", "--", PRODUCT],
     "FP32SHIM_PRECISION: unknown variable, ignored; did you mean FP32_MATMUL_PRECISION?"),
    (["FP32SHIM_LIBRARY=", "FP32SHIM_XLA_FLAG=1", "run", "--", PRODUCT], "cblas_sgemm", "unknown variable"),
    (["report", "cut.fp32rec"], "the file ends within its header", "a text "),
    (["report", "cut.fp32rec"], "At its start: ", ", ,"),
    (["report", "-o", "x.pdf", "a.fp32rec"], "allowed endings: .txt, .json"),
    (["diff", "-o", "x.xlsx", "a.fp32rec", "a.fp32rec"], "allowed endings: .txt"),
    (["run", "--precision", "high", "--", PRODUCT], f"fp32shim run --precision high --cpu emulate -- {PRODUCT}"),
    (["FP32_MATMUL_PRECISION=high", "run", "--where", "python", "--cpu", "off", "--", PRODUCT],
     f"fp32shim run --where python --cpu emulate -- {PRODUCT}", "--precision high"),
    (["run", "--", *NUMPY[1:]], "run --where auto -- "),
    (["FP32_MATMUL_WHERE=python", "run", *NUMPY], "Next:", "--where auto"),
    (["run", "-q", "--audit", "fingerprint", "--", "true"], "leave out -q, or add --log NAME.fp32rec"),
    (["run", "--no-log", "--audit", "fingerprint", "--", "true"], "recordings; add --log NAME.fp32rec"),
    (["run", "--", "env", "FP32_MATMUL_FLOOR=fp3", PRODUCT], "ending the process because a floor is asked for", "ON_ERROR"),
    (["diff", "none.fp32rec", "none.fp32rec"], "neither A nor B has a recorded product", "calls in A"),
    (["diff", "r.fp32rec", "r.fp32rec"],
     "run --audit fingerprint --reproducible --floor fp32 --log r-results.fp32rec", "--cpu"),
    (["verify", "--expect", "jobs", "r.fp32rec"], "not judged", " 0  not judged"),
    (["check", "except.toml"], "which is not in /etc/group", "imitate"),
    (["run", "--", "python3", "nope.py"],
     "no matrix product was recorded; the program ended with status 2; fp32shim doctor")]]


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory):
    """A folder in which a newcomer tries the command, with files of all kinds."""
    folder = tmp_path_factory.mktemp("newcomer")
    whole = make_recording(folder / "a.fp32rec", "summary", "sgemm_:8:high:fp32:as_requested:1").read_bytes()
    make_recording(folder / "none.fp32rec", "summary")
    (folder / "newer.fp32rec").write_bytes(whole[:8] + bytes([99]) + whole[9:])  # the version of the format
    words = ["-q", "--reproducible", "--floor", "fp32", "--log", folder / "r.fp32rec", "--", PRODUCT]
    assert fp32shim("run", *words).returncode == 0
    (folder / "cut.fp32rec").write_bytes((folder / "r.fp32rec").read_bytes()[:4096])
    (folder / "np.py").write_text("print(1)")
    (folder / "policy.toml").write_text("schema = 1\ndefault = high\n")
    (folder / "except.toml").write_text("schema = 1\n[limits]\nfloor = 'fp32'\n[[limits.except]]\nname = 'x'\n"
                                        "floor = 'tf32'\ngroup = 'no-such-group'\n")
    (folder / "jobs").write_text("4711\n")
    (folder / "empty").mkdir()
    return folder


@pytest.mark.parametrize("words, leads_on, never", FIRST_MISTAKES)
def test_a_first_mistake_is_answered_by_a_line_that_leads_on(newcomer, words, leads_on, never):
    variables = dict(word.split("=") for word in itertools.takewhile(lambda word: word.startswith("FP32"), words))
    shim.need(shim.SYSTEM_PYTHON not in words or shim.has_module("numpy"), "the system's Python has no numpy")
    variables["LD_LIBRARY_PATH"] = shim.blas_directory("openblas")
    result = fp32shim(*words[len(variables) - 1:], cwd=newcomer, env=variables)
    lines = (result.stdout + result.stderr).splitlines()
    assert any(leads_on in line for line in lines), result
    assert never is None or not any(never in line for line in lines), result
    assert result.returncode != 0 or "run" in words or words[-1] in ("newer.fp32rec", "except.toml")


LONG_RULE = "the projections of queries and keys of every encoder layer stay exact, because of the softmax"
PROGRAM = """import os, sys
import numpy as np
def a_function_that_multiplies_two_matrices(size):
    a = np.ones((size, 2), np.float32); b = np.ones((2, size), np.float32)
    a[:, 0] += 1e-4
    b[1] = -1
    return a @ b
total = sum(a_function_that_multiplies_two_matrices(size).sum() for size in (100, 200, 300))
print("total", float(total))
sys.exit(bool(os.environ.get("JUDGE")) and not 5 < total < 50)
"""


@pytest.fixture(scope="module")
def of_everything(tmp_path_factory):
    """Commands with long lines of every kind in their outputs, and their folder."""
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    folder = tmp_path_factory.mktemp("a_rather_long_name_of_the_folder_of_a_project")
    (folder / "a_program_with_a_long_name.py").write_text(PROGRAM)
    rules = "".join(f'[[rule]]\nname = "{LONG_RULE} {number}"\nprecision = "highest"\nwhen = {{ {where} }}\n' for number, where in
                    enumerate(('scope = "decoder.*"', 'where = "a_program_*: a_function*"', "m = 100")))
    (folder / "policy.toml").write_text(f'schema = 1\nname = "a policy with a long name"\n{rules}[cpu]\nmode = "emulate"\n')
    (folder / "wrong.toml").write_text('schema = 1\nnam = "a policy"\n[[rule]]\nname = "x"\nprecision = "hihg"\nwhen = { mm = 3 }\n')
    scope = "TransformerEncoder.encoder_layers.{}.self_attention.query_projection"
    for name, results, applied in (("a", (1.0, 2.0, 3.5), "tf32"), ("b", (1.0, 2.5, 3.0), "fp32")):
        calls = [calls_from("", "cblas_sgemm_batch", f"{64 + layer}x640x64/TN/32", applied, 3, scope=scope.format(layer)).rstrip(":")
                 for layer in range(12)]
        make_recording(folder / f"{name}.fp32rec", "calls", *calls)
        stack = "<module>@train_the_model.py@7;a_function_that_multiplies_two_matrices@train_the_model.py@3"
        make_recording(folder / f"{name}-results.fp32rec", "calls", *(calls_with_results(stack, size, results, applied=applied)
                                                                      for size in (64, 65, 66)))
    program = ["--", shim.SYSTEM_PYTHON, "a_program_with_a_long_name.py"]
    lowered = ["--policy", "policy.toml", "--precision", "high", "--cpu", "emulate", "--where", "auto", "--level", "calls",
               "--audit", "fingerprint,nonfinite,1"]
    return folder, [
        ["run", *lowered, *program], ["run", *lowered, "--log", "real.fp32rec", *program], ["run", "--reproducible", *program],
        ["run", "--precision", "high", "--", "true"],
        *(["report", *words] for words in (["a.fp32rec"], ["a.fp32rec", "b.fp32rec"], ["--by", "scope,function,size", "a.fp32rec"],
                                           ["real.fp32rec"], ["missing.fp32rec"], ["a-results.fp32rec"])),
        *(["verify", *words] for words in (["--at-least", "fp32", "a.fp32rec", "real.fp32rec"], ["--at-least", "fp32", "b.fp32rec"],
                                           ["--reproducible", "real.fp32rec"], ["real.fp32rec"])),
        *(["diff", *words] for words in (["a.fp32rec", "b.fp32rec"], ["a-results.fp32rec", "b-results.fp32rec"],
                                         ["a-results.fp32rec", "real.fp32rec"], ["--by", "row", "real.fp32rec", "real.fp32rec"])),
        ["log", "real.fp32rec"], ["log", "a.fp32rec", "real.fp32rec"], ["doctor"], ["doctor", *program], ["ps"], ["top", "--count", "1"],
        ["bisect", "--cpu", "emulate", "--", "env", "JUDGE=1", *program[1:]], ["bisect", *program],
        ["sensitivity", "--cpu", "emulate", *program], ["sensitivity", "--cpu", "emulate", "--tolerance", "1e-9", *program],
        ["explain", "--policy", "policy.toml", "--precision", "high", "sgemm", "--m", "200"],
        ["explain", "--function", "cblas_sgemm", "--policy", "policy.toml", "--precision", "high", "--m", "200"],
        ["check", "policy.toml", "wrong.toml"], ["suggest", "real.fp32rec"], ["run", "--precison", "high", *program], ["verfy"],
        ["run", "a_program_with_a_long_name.py"], ["reload", "1"]]


@pytest.mark.parametrize("width, no_color", [(80, ""), (100, "1")])
def test_no_line_is_wider_than_the_terminal_but_for_a_single_word(of_everything, width, no_color):
    folder, commands = of_everything
    long = live_recording(folder / f"live-{width}.fp32rec", "calls", calls_from("", "sgemm_", "64", "tf32", 3))
    try:
        for words in commands:
            said = on_a_terminal(words, width=width, NO_COLOR=no_color, prefix=("env", "-C", folder))
            assert len(said.split()) > 3, words
            assert too_wide(said, width) == [], words
    finally:
        long.communicate()


def test_output_that_cannot_be_written_is_an_error(recording):
    for words in (["report", recording], ["report", "--help"], ["--help"], ["--version"], []):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, env=environment(),
                                  check=False)
        assert done.returncode == 2
        assert "No space left" in done.stderr and len(done.stderr.splitlines()) == 1


def test_what_takes_longer_than_a_second_says_how_far_it_is_on_a_terminal(tmp_path):
    """The test reads nothing of the command's output until the command has said how far it is, so the command takes long."""
    recording = make_recording(tmp_path / "a.fp32rec", "calls", "cblas_sgemm:8:native:fp32:as_requested:20000")
    need_terminals()
    ours, its = pty.openpty()
    with subprocess.Popen([COMMAND, "log", "--format", "csv", recording], env=environment(), stdout=subprocess.PIPE,
                          stderr=its) as process:
        os.close(its)
        seen = b""
        while b"writing entries: " not in seen:
            assert select.select([ours], [], [], 600)[0], seen
            seen += os.read(ours, 4096)
        lines = process.stdout.read().splitlines()
    os.close(ours)
    assert (process.returncode, len(lines)) == (0, 20001)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_files_are_what_the_shell_reads(shell):
    shim.tool(shell)
    script = fp32shim("completion", shell).stdout
    done = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def bash_offers(*words, folder=None):
    """Returns the completions that bash offers for these words, of which the last one is being typed."""
    driver = ('source <("$1" completion bash); shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fp32shim; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "--norc", "-c", driver, "bash", str(COMMAND), "fp32shim", *words], text=True,
                          capture_output=True, check=True, env=environment(), cwd=folder)
    assert done.stderr == ""
    return done.stdout.strip("\n").split("\n")


def test_bash_offers_commands_options_and_their_values():
    assert set(COMMANDS) <= set(bash_offers(""))
    assert bash_offers("ver") == ["verify"]
    assert "--precision" in bash_offers("run", "--p") and "--pin" in bash_offers("run", "--p")
    assert bash_offers("run", "--precision", "h") == ["highest", "high"]
    assert bash_offers("report", "--format", "") == [
        "table", "json", "jsonl", "csv", "prometheus", "html", "folded", "speedscope", "sarif", "benchdnn", "rocblas-bench", "shapes"]
    assert bash_offers("report", "--format", "=") == bash_offers("report", "--format", "")
    assert bash_offers("run", "--precision", "=", "h") == ["highest", "high"]
    assert bash_offers("completion", "z") == ["zsh"]


def test_bash_offers_names_with_blanks_and_characters_of_patterns_as_they_are(tmp_path):
    (tmp_path / "a b.fp32rec").touch()
    (tmp_path / "a*.fp32rec").touch()
    (tmp_path / "a folder").mkdir()
    assert set(bash_offers("report", "a", folder=tmp_path)) == {"a b.fp32rec", "a*.fp32rec", "a folder"}
    assert set(bash_offers("run", "--policy", "a ", folder=tmp_path)) == {"a b.fp32rec", "a folder"}


def test_bash_offers_programs_behind_run():
    for words in (["run", "--precision", "high", "--", "ech"], ["run", "--precision", "high", "ech"],
                  ["run", "--precision", "=", "high", "ech"]):
        assert "echo" in bash_offers(*words)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_every_option(shell):
    script = fp32shim("completion", shell).stdout
    for command in COMMANDS:
        for option in re.findall(r"^ +(?:-\w,)?(--[a-z0-9-]+)", fp32shim(command, "--help").stdout, re.MULTILINE):
            assert (f"-l {option[2:]} " if shell == "fish" else option) in script, (command, option)
