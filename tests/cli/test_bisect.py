"""fp32shim bisect: finds the products that must stay exact, by runs of whole programs."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

import shim
from command import COMMAND, environment, fp32shim

# Without numpy, whose import takes a tenth of a second, a run takes a fourth of the time.
HEAD = """
import ctypes, functools, math, os, sys, time

blas = ctypes.CDLL("libblas.so.3")
bad = set()


def product(m, n, k, a, b):
    '''Returns a function of C that multiplies these numbers, so that the place of the product is the line that calls it.'''
    a, b, c = ((ctypes.c_float * size)(*values) for size, values in ((m * k, a), (k * n, b), (m * n, ())))
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    return functools.partial(blas.cblas_sgemm, 101, 111, 111, m, n, k, one, a, k, b, n, zero, c, n)


def fine(size):
    values = [math.sin(i * i) for i in range(size**2)]
    return product(size, size, size, values, values)


def graded(size):
    '''The product is the small difference of large numbers: nothing of it is left at TF32.'''
    return product(size, size, 2, [1 + 1e-4, 1] * size, [1] * size + [-1] * size)


def judge(name, multiply):
    '''Compares the first row of the result.'''
    _, _, _, _, n, k, _, a, _, b, _, _, c, _ = multiply.args
    exact = [sum(a[i] * b[i * n + j] for i in range(k)) for j in range(n)]
    if max(abs(c[j] - exact[j]) for j in range(n)) > 1e-2 * max(map(abs, exact)):
        bad.add(name)


"""


class Program:
    """A Python program with named products. `end` makes its exit status from `bad`, the set of names of wrong products."""

    def __init__(self, folder, products, end="sys.exit(bool(bad))", head="", before="", after=""):
        text = HEAD + head
        self.line = {}
        for name, operands in products.items():
            text += f"multiply = {operands}\n{before.format(name=name)}"
            self.line[name] = text.count("\n") + 1
            text += f"multiply()  # {name}\n{after}judge('{name}', multiply)\n"
        shim.need("import numpy" not in text + end or shim.has_module("numpy"), "the system's Python has no numpy")
        self.folder = folder
        self.file = folder / "program.py"
        self.file.write_text(text + end + "\n")
        self.command = [shim.SYSTEM_PYTHON, "program.py"]

    def bisect(self, *options, command=None, env=None):
        return fp32shim("bisect", "--cpu", "emulate", "--format", "json", *options, "--", *(command or self.command),
                        cwd=self.folder, env=variables(**(env or {})), timeout=600)

    def names_of(self, result):
        """Returns the names of the products that were found, from their lines and the lines' texts."""
        assert result.returncode == 0, result.stderr
        found = [result.json["groups"][culprit["groups"][0]] for culprit in result.json["culprits"]]
        names = [group["text"].split("# ")[1] for group in found]
        assert [group["line"] for group in found] == [self.line[name] for name in names]
        return sorted(names)

    def run_under(self, policy, *options):
        return fp32shim("run", "--quiet", "--policy", self.folder / policy, *options, "--", *self.command, cwd=self.folder,
                        env=variables()).returncode


def variables(**others):
    return {"LD_LIBRARY_PATH": shim.blas_directory("openblas"), **others}


def two(folder, end="sys.exit(bool(bad))", **keywords):
    """Returns a program of two products. A search of it needs half the runs of a search of four()."""
    return Program(folder, {"p0": "fine(16)", "p1": "graded(24)"}, end, **keywords)


def four(folder, end="sys.exit(bool(bad))", **keywords):
    return Program(folder, {"p0": "fine(16)", "p1": "graded(24)", "p2": "fine(32)", "p3": "graded(40)"}, end, **keywords)


def test_the_command_that_runs_a_program_under_the_policy_runs_in_bash_whatever_its_words_are(tmp_path):
    exact = shim.run("cblas_product", log=False).stdout.strip()
    odd, policy = b"-a b'\"\n\xff$HOME\\", b"-p 'q'\n\xff.toml"
    script = f'[ "$("$0")" = "{exact}" ] && [ "$(printf %s "$1" | od -An -tx1 | tr -d " ")" = {odd.hex()} ]'
    client = shutil.copy(shim.client("cblas_product"), tmp_path / "cl\u202e\u009b\"ient")
    environ = environment(**variables(), PATH=f"{COMMAND.parent}:{os.environ['PATH']}")
    words = [os.fsencode(COMMAND), b"bisect", b"--cpu", b"emulate", b"--policy-out=" + policy, b"--", b"sh", b"-c", script.encode(),
             os.fsencode(client), odd]
    found = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, check=False)
    command = re.search(r"^Policy: .*\n  (fp32shim run .*)$", found.stdout.decode(), re.MULTILINE)
    assert command is not None, (found.stdout, found.stderr)
    done = subprocess.run(["bash", "-c", command[1]], cwd=tmp_path, env=environ, capture_output=True, check=False)
    assert done.returncode == 0, (command[1], done.stderr)
    written = (tmp_path / os.fsdecode(policy)).read_text()
    assert "cl\\u202e\\u009b\\\"ient" in written and "\u202e" not in written and "\u009b" not in written


STEPS = """
#include <math.h>
#include <stdlib.h>
void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
static float ones[64 * 64], left[64 * 2], right[2 * 64], c[64 * 64];
#define FINE(name, n) int name = (cblas_sgemm(101, 111, 111, n, n, n, 1, ones, n, ones, n, 0, c, n), fabsf(c[0] - (n)) > 1e-2f)
#define GRADED(name, n) int name = (cblas_sgemm(101, 111, 111, n, n, 2, 1, left, 2, right, 64, 0, c, n), fabsf(c[0] - 1e-4f) > 1e-5f)
int main(void) {
    for (int i = 0; i < 64 * 64; ++i) ones[i] = 1;
    for (int i = 0; i < 64; ++i) left[2 * i] = 1.0001f, left[2 * i + 1] = 1, right[i] = 1, right[64 + i] = -1;
"""


class Steps(Program):
    """A Program in C, which starts in a tenth of Python's time. `end` has a variable for each product, true if wrong."""

    def __init__(self, folder, products, end=None):
        text, self.line = STEPS, {}
        for name, operands in products.items():
            kind, size = re.fullmatch(r"(\w+)\((\d+)\)", operands).groups()
            self.line[name] = text.count("\n") + 1
            text += f"    {kind.upper()}({name}, {size});  // # {name}\n"
        self.folder, self.command = folder, [folder / "steps"]
        (folder / "steps.c").write_text(text + f"    {end or 'return ' + ' || '.join(products)};\n}}\n")
        subprocess.run([shim.tool("gcc"), "-g", "-O1", folder / "steps.c", "-o", self.command[0], "-lm",
                        shim.blas_library("openblas")], check=True)


EIGHT = {f"p{i}": f"fine({8 + 8 * i})" for i in range(8)} | {"p2": "graded(32)", "p5": "graded(64)"}
FOUR = {"p0": "fine(16)", "p1": "graded(24)", "p2": "fine(32)", "p3": "graded(40)"}


def test_of_eight_products_the_two_that_break_the_result_are_found_by_their_lines(tmp_path):
    program = Steps(tmp_path, EIGHT)
    result = program.bisect()
    assert program.names_of(result) == ["p2", "p5"]
    assert result.json["outcome"] == "found" and len(result.json["groups"]) == 8
    assert result.json["runs"] == sum(one["runs"] for one in result.json["tried"]) <= 30
    tried = [(one["lowered"], tuple(one["groups"])) for one in result.json["tried"]]
    assert len(set(tried)) == len(tried) > 10
    assert all(culprit["fails_with"] == [] and len(culprit["groups"]) == 1 for culprit in result.json["culprits"])
    assert all(culprit["calls"] is None for culprit in result.json["culprits"])
    policy = (tmp_path / result.json["policy"]).read_text()
    assert policy.count("[[rule]]") == 2 and '# p2\n' in policy
    assert fp32shim("check", tmp_path / "bisect-policy.toml").returncode == 0
    assert program.run_under("bisect-policy.toml") == 0
    assert not (tmp_path / "bisect-state.jsonl").exists()


def test_the_table_has_lines_shares_of_the_work_and_the_policy(tmp_path):
    program = four(tmp_path)
    result = fp32shim("bisect", "--cpu", "emulate", "--", *program.command, cwd=tmp_path, env=variables(), timeout=600)
    assert result.returncode == 0
    assert re.match(r"Keeping 2 of 4 groups exact was enough \(\d+\.\d% of the work\): "
                    r"with all others at high, 2 of 2 runs were acceptable\.", result.stdout)
    for name, size in (("p1", 24), ("p3", 40)):
        assert re.search(rf"^program\.py:{program.line[name]} <module> +cblas_sgemm {size}x{size}x2 +\d+\.\d% +"
                         rf"fails alone \(2 of 2 runs\) +multiply\(\)  # {name}$", result.stdout, re.MULTILINE), result.stdout
    assert "Policy: bisect-policy.toml\n  fp32shim run --policy bisect-policy.toml -- " in result.stdout
    assert re.fullmatch(r"fp32shim bisect: run 1: everything exact: acceptable \(ended with status 0\)", result.lines[0])
    totals = set(re.findall(r"run \d+ of about (\d+): ", result.stderr))
    assert len(totals) == 1 and "so far, about " in result.stderr
    assert "Lowering any one of them as well was not acceptable in 2 of 2 runs." in result.stdout
    assert "Assumed: equal runs end alike, as they did for 4 sets." in result.stdout


def test_several_runs_at_once_find_the_same(tmp_path):
    one = Steps(tmp_path, FOUR).bisect()
    several = Steps(tmp_path, FOUR).bisect("--jobs", 2)
    assert one.json["culprits"] == several.json["culprits"] and several.json["culprits"]
    assert several.json["runs"] <= 30


def test_an_interaction_is_named_and_the_part_with_less_work_stays_exact(tmp_path):
    program = Steps(tmp_path, EIGHT, "return p2 && p5")
    result = program.bisect()
    assert program.names_of(result) == ["p2"]
    [culprit] = result.json["culprits"]
    [[partner]] = culprit["fails_with"]
    assert result.json["groups"][partner]["line"] == program.line["p5"]
    assert result.json["runs"] <= 30
    assert "fails together with steps.c" in (tmp_path / "bisect-policy.toml").read_text()
    assert program.run_under("bisect-policy.toml") == 0


def test_a_product_that_another_one_makes_superfluous_is_lowered_again(tmp_path):
    """p2 makes the program fail together with p1, and also together with p5. So keeping p2 alone exact is enough."""
    program = Steps(tmp_path, {f"p{i}": f"graded({16 + 8 * i})" for i in range(6)}, "return p2 && (p1 || p5)")
    result = program.bisect()
    assert program.names_of(result) == ["p2"]
    numbers = {group["line"]: number for number, group in enumerate(result.json["groups"])}
    exact = [[numbers[program.line[name]] for name in names] for names in (["p1"], ["p1", "p2"], ["p2"])]
    assert [one["groups"] for one in result.json["tried"] if one["lowered"] == "all but"] == [[], *map(sorted, exact)]
    assert program.run_under("bisect-policy.toml") == 0


def test_of_eight_sizes_on_one_line_the_two_that_break_the_result_are_named_and_pinned_alone(tmp_path):
    program = Program(tmp_path, {"p0": "fine(16)"}, end="""
for size in range(8, 72, 8):
    multiply = fine(size) if size not in (24, 56) else graded(size)
    multiply()  # many
    judge(f'many{size}', multiply)
sys.exit(bool(bad))""")
    result = program.bisect()
    groups = [result.json["groups"][number] for culprit in result.json["culprits"] for number in culprit["groups"]]
    assert sorted((group["m"], group["n"], group["k"], group["text"]) for group in groups) == [
        (size, size, 2, "multiply()  # many") for size in (24, 56)]
    policy = (tmp_path / "bisect-policy.toml").read_text()
    assert all(f"m = {size}, n = {size}, k = 2" in policy for size in (24, 56)) and result.json["outcome"] == "found"
    assert all(culprit["alone"]["failures"] == 2 and culprit["lowered_too"]["failures"] == 1 for culprit in result.json["culprits"])
    assert program.run_under("bisect-policy.toml") == 0


def test_two_products_whose_errors_cancel_are_lowered_together(tmp_path):
    """The search finds p0 and p1 one by one, because each of them alone breaks the result. They are most of the work."""
    program = Steps(tmp_path, {"p0": "graded(64)", "p1": "graded(40)", "p2": "graded(16)", "p3": "fine(20)"}, "return p2 || p0 != p1")
    result = program.bisect()
    assert program.names_of(result) == ["p2"]
    [together] = result.json["lowered_together"]
    assert sorted(result.json["groups"][group]["line"] for [group] in together) == [program.line["p0"], program.line["p1"]]
    assert program.run_under("bisect-policy.toml") == 0


def test_a_line_that_fails_at_several_of_its_sizes_stays_exact_as_a_whole(tmp_path):
    program = Program(tmp_path, {"p0": "fine(16)"}, end="""
for size in (8, 16, 24):
    multiply = graded(size)
    multiply()  # many
    judge(f'many{size}', multiply)
sys.exit(bool(bad))""")
    result = program.bisect()
    [culprit] = result.json["culprits"]
    assert len(culprit["groups"]) == 3
    assert " m = " not in (tmp_path / "bisect-policy.toml").read_text()


SCOPES = """
library = ctypes.CDLL(None)


def push(name):
    assert library.fp32shim_push_scope(name.encode(), None, None) == 0
"""


LOOP = """
def flat(size):
    values = [math.sin(i * i) for i in range(2 * size)]
    return product(size, size, 2, values, values)


def step(multiply):
    multiply()  # step


for i in range(1, 101):
    multiply = OPERANDS
    step(multiply)
    judge(i, multiply)
"""


@pytest.mark.parametrize("operands, end, calls", [
    ("graded(16) if i == 37 else flat(16)", "sys.exit(bool(bad))", {"first": 37, "last": 37}),
    ("graded(16) if i % 10 == 7 else flat(16)", "sys.exit(sum(i > 50 for i in bad) >= 3)", {"first": 57, "last": 77}),
    ("graded(16)", "sys.exit(len(bad) == 100)", {"first": 1, "last": 100}),
])
def test_the_calls_of_a_line_that_make_the_command_fail_are_found_by_their_numbers(tmp_path, operands, end, calls):
    program = Program(tmp_path, {}, end, head=LOOP.replace("OPERANDS", operands))
    result = program.bisect("--calls")
    assert result.returncode == 0, result.stderr
    culprit, = result.json["culprits"]
    assert culprit["calls"] == calls and result.json["groups"][0]["calls"] == 100
    assert result.json["runs"] <= 24
    assert "call_number" not in (tmp_path / result.json["policy"]).read_text()


def test_calls_are_named_in_the_table(tmp_path):
    program = Program(tmp_path, {}, head=LOOP.replace("OPERANDS", "graded(16) if i == 37 else flat(16)"))
    result = fp32shim("bisect", "--cpu", "emulate", "--calls", "--", *program.command, cwd=tmp_path, env=variables(),
                      timeout=600)
    assert "fails alone (2 of 2 runs), even with only call 37 of 100" in result.stdout
    assert re.search(r"program.py:\d+ step, calls 1 to 50, at high: not acceptable", result.stderr)


def test_scopes_are_tried_first_and_name_what_a_line_cannot(tmp_path):
    """One line multiplies in four scopes, of which one lies within another. Only the product in the outer one is wrong."""
    program = Program(tmp_path, {"p0": "fine(16)"}, head=SCOPES, end="""
for scope in (['a'], ['b'], ['b', 'inner'], ['c'], ['d[0]*']):
    for name in scope:
        push(name)
    multiply = graded(24)
    multiply()  # many
    if scope == ['b']:
        judge('b', multiply)
    for name in scope:
        library.fp32shim_pop_scope()
sys.exit(bool(bad))""")
    result = program.bisect()
    [culprit] = result.json["culprits"]
    [group] = [result.json["groups"][number] for number in culprit["groups"]]
    assert (group["scope"], group["text"]) == ("b", "multiply()  # many")
    policy = (tmp_path / "bisect-policy.toml").read_text()
    assert 'when = { scope = "b" }\nunless = { scope = "b/inner" }' in policy and "where = [" in policy
    log = tmp_path / "run.jsonl"
    assert program.run_under("bisect-policy.toml", "--log", log) == 0
    applied = {row["scope"]: row["applied"] for row in map(json.loads, log.read_text().splitlines())
               if row["event"] == "decision" and row["scope"]}
    assert applied == {"a": "tf32", "b": "fp32", "b/inner": "tf32", "c": "tf32", "d[0]*": "tf32"}


def test_what_the_program_itself_keeps_exact_is_no_suspect_and_stays_exact(tmp_path):
    """Otherwise bisect would lower a product that the program has pinned, and blame it."""
    program = four(tmp_path, head=SCOPES, before="library.fp32shim_push_scope(b'pinned', b'highest', None) if '{name}' == 'p1' "
                                                 "else push('free')\n", after="library.fp32shim_pop_scope(); ")
    assert program.names_of(program.bisect()) == ["p3"]


def test_what_the_program_itself_lowers_is_exact_in_the_first_run(tmp_path):
    program = four(tmp_path, head=SCOPES, before="library.fp32shim_push_scope(b'x', b'high', None)\n",
                   after="library.fp32shim_pop_scope(); ")
    assert program.names_of(program.bisect()) == ["p1", "p3"]


COUNTED = """
open('runs', 'a').write(f'{os.getpid()}\\n')
count = len(open('runs').read().split())
"""


def start(program, *options):
    words = [COMMAND, "bisect", "--cpu", "emulate", "--format", "json", *map(str, options), "--", *program.command]
    return subprocess.Popen(words, cwd=program.folder, env=environment(**variables()), text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def is_running(pid):
    status = pathlib.Path(f"/proc/{pid}/status")
    return status.exists() and "State:\tZ" not in status.read_text()


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_search_goes_on_and_finds_the_same(tmp_path, by):
    plain, broken = tmp_path / "plain", tmp_path / "broken"
    plain.mkdir()
    broken.mkdir()
    expected = two(plain).bisect().json if by == signal.SIGINT else None
    program = two(broken, head=COUNTED + "if count == 5: time.sleep(100)\n")
    process = start(program)
    runs = broken / "runs"
    deadline = time.monotonic() + 600
    while not (runs.exists() and len(runs.read_text().splitlines()) == 5) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(by)
    stdout, stderr = process.communicate(timeout=600)
    assert (process.returncode, stdout) == (-by, "")
    assert stderr.splitlines()[-1] == ('fp32shim bisect: interrupted after 4 runs; repeat the command to continue '
                                       'from "bisect-state.jsonl"')
    assert not is_running(int(runs.read_text().split()[-1]))
    result = program.bisect()
    assert result.lines[0].endswith('continuing from "bisect-state.jsonl" with the answers of 4 runs; '
                                    "remove the file to start again")
    found = result.json
    if expected is None:
        assert program.names_of(result) == ["p1"]
        return
    for group in found["groups"] + expected["groups"]:  # the programs differ in a few lines before the products
        del group["line"], group["where"], group["file"]
    assert found == expected


def test_the_largest_number_of_runs_ends_a_search_that_can_go_on(tmp_path):
    program = Compiled(tmp_path)
    first = program.bisect("--max-runs", 4)
    assert (first.returncode, first.stdout) == (3, "")
    assert first.lines[-1] == ('fp32shim bisect: no result after 4 runs, the limit of --max-runs; repeat the command with a '
                               'higher limit to continue from "bisect-state.jsonl"')
    assert program.bisect("--max-runs", 4).returncode == 3
    assert program.names_of(program.bisect("--max-runs", 40)) == ["graded"]


def test_a_resumed_search_notices_that_a_source_has_changed(tmp_path):
    program = two(tmp_path)
    (tmp_path / "test.sh").write_text(f"#!/bin/sh\n{' '.join(program.command)} $1\n")
    command = ["sh", "test.sh", "written.txt"]
    assert program.bisect("--max-runs", 3, command=command).returncode == 3
    for file in (program.file, tmp_path / "test.sh"):
        text = file.read_text()
        file.write_text(text + "# changed\n")
        result = program.bisect(command=command)
        assert failure(result, 2).startswith("fp32shim bisect: ") and file.name in result.lines[-1]
        assert "has changed since the runs whose answers are in" in result.lines[-1]
        file.write_text(text)
    assert program.names_of(program.bisect(command=command)) == ["p1"]


def test_a_file_among_the_arguments_that_each_run_writes_is_no_source(tmp_path):
    program = two(tmp_path, end="open(sys.argv[1], 'a').write('x')\nsys.exit(bool(bad))")
    (tmp_path / "out.txt").write_text("")
    command = [*program.command, "out.txt"]
    assert program.bisect("--max-runs", 3, command=command).returncode == 3
    assert program.names_of(program.bisect(command=command)) == ["p1"]


def test_a_state_that_was_cut_off_within_a_line_is_read_up_to_it(tmp_path):
    program = Compiled(tmp_path)
    program.bisect("--max-runs", 4, "--state", "state")
    state = tmp_path / "state"
    state.write_bytes(state.read_bytes()[:-20])
    result = program.bisect("--state", "state")
    assert "with the answers of 3 runs" in result.stderr
    assert program.names_of(result) == ["graded"]


def test_a_state_that_cannot_be_written_is_kept_and_the_search_can_go_on(tmp_path):
    program = two(tmp_path, head=COUNTED + "if count == 3: os.chmod('bisect-state.jsonl', 0o666)\n")
    assert "repeat the command to continue from it" in failure(program.bisect(), 3)
    (tmp_path / "bisect-state.jsonl").chmod(0o600)
    result = program.bisect()
    assert "with the answers of 2 runs" in result.stderr
    assert program.names_of(result) == ["p1"]


def test_a_state_of_another_search_is_refused_and_kept(tmp_path):
    program = Compiled(tmp_path)
    program.bisect("--max-runs", 2)
    before = (tmp_path / "bisect-state.jsonl").read_bytes()
    for options, command, env in ((["--precision", "medium"], None, {}), (["--repeat", 2], None, {}),
                                  ([], [*program.command, "x"], {}), ([], None, {"FP32_MATMUL_FLOOR": "fp32"})):
        result = program.bisect(*options, command=command, env=env)
        assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
        assert "is the state of another search" in result.stderr
    assert (tmp_path / "bisect-state.jsonl").read_bytes() == before


@pytest.mark.parametrize("text", ["", "nothing\n", "{}\n", '{"search":1'])
def test_a_file_that_is_no_state_is_refused_and_kept(tmp_path, text):
    program = Compiled(tmp_path)
    (tmp_path / "notes.txt").write_text(text)
    result = program.bisect("--state", "notes.txt")
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1), result.stderr
    assert (tmp_path / "notes.txt").read_text() == text


def test_a_damaged_state_is_refused(tmp_path):
    """The damage is a line of another kind, or a run in which a value is missing or has another type."""
    program = Compiled(tmp_path)
    program.bisect("--max-runs", 4)
    state = tmp_path / "bisect-state.jsonl"
    whole = state.read_text()
    *_, run = [line for line in map(json.loads, whole.splitlines()) if "run" in line]
    products = [{**run["products"], key: value} for key, value in {"groups": [{"group": 1}], "reasons": "x", "calls": "many"}.items()]
    others = [("run", 5), ("ended", {}), ("distance", None), *(("products", one) for one in products)]
    for extra in ["x", [5], {"run": "x"}, {"input": 5, "version": "x"}, *({**run, key: value} for key, value in others)]:
        state.write_text(whole + json.dumps(extra) + "\n")
        result = program.bisect()
        assert (result.returncode, len(result.lines)) == (2, 1) and "is not the state of a search" in result.stderr, extra


C_PROGRAM = """
#include <math.h>
void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
static float c[64 * 64];
static void multiply_fine(int n) {
    static float a[64 * 64];
    for (int i = 0; i < n * n; ++i) a[i] = 1.0f / (i + 1);
    cblas_sgemm(101, 111, 111, n, n, n, 1, a, n, a, n, 0, c, n);
}
static int multiply_graded(int n) {
    float a[2] = {1.0001f, 1}, b[2] = {1, -1};
    cblas_sgemm(101, 111, 111, 1, 1, 2, 1, a, 2, b, 1, 0, c, 1);  /* graded */
    return fabsf(c[0] - 1e-4f) > 1e-5f;
}
int main(void) {
    multiply_fine(32);
    int bad = multiply_graded(16);
    multiply_fine(48);
    return bad;
}
"""


class Compiled(Program):
    """C_PROGRAM. `end` makes its exit status from `bad` and from the number of runs. Starts in a tenth of Python's time."""

    def __init__(self, folder, end="return bad;"):
        self.folder, source = folder, folder / "solver.c"
        count = """#include <stdio.h>
#include <stdlib.h>
static int one_more(const char* name) {
    FILE* file = fopen(name, "a");
    fputc('x', file);
    int count = (int)ftell(file);
    fclose(file);
    return count;
}"""
        source.write_text(count + C_PROGRAM.replace("    return bad;", f"    {end}"))
        self.command = [folder / "solver"]
        subprocess.run([shim.tool("gcc"), "-g", "-O1", "-fno-inline", source, "-o", self.command[0], "-lm",
                        shim.blas_library("openblas")], check=True)

    def names_of(self, result):
        assert result.returncode == 0, result.stderr
        return [result.json["groups"][group]["text"].split("/* ")[-1].split(" */")[0]
                for culprit in result.json["culprits"] for group in culprit["groups"]]


def test_a_command_that_fails_by_chance_is_found_by_repetitions(tmp_path):
    """The command fails in every second run in which its product is wrong."""
    program = Compiled(tmp_path, 'return bad && one_more("bad") % 2 == 0;')
    result = program.bisect("--repeat", 2)
    assert program.names_of(result) == ["graded"]
    assert any(one["is_flaky"] for one in result.json["tried"])
    assert "equal runs differed" in result.stderr


def test_a_command_that_fails_by_chance_too_often_is_refused(tmp_path):
    program = four(tmp_path, end="sys.exit(count % 2)", head=COUNTED)
    result = program.bisect("--repeat", 4)
    assert (result.returncode, result.stdout) == (3, "") and "failed in 2 of 4 runs" in result.stderr
    assert "by chance, and too often for a search" in result.stderr


def test_random_failures_accuse_no_innocent_product(tmp_path):
    """Each seventh run fails for no reason: first the fourth run with everything exact, later runs of innocent sets."""
    program = Compiled(tmp_path, 'return one_more("runs") % 7 == 4 || bad;')
    result = program.bisect("--repeat", 8)
    assert program.names_of(result) == ["graded"]
    exact = result.json["random_failures"]
    assert exact["runs"] >= 8 and 1 <= exact["failures"] <= exact["runs"] / 6
    [culprit] = result.json["culprits"]
    assert culprit["alone"]["failures"] == culprit["alone"]["runs"] >= 4
    assert any(one["verdict"] == "acceptable" and one["failures"] > 0 for one in result.json["tried"])


def test_products_that_leave_the_command_without_an_answer_stay_exact_too(tmp_path):
    """If p2 is lowered and p5 is not, the command cannot judge its result."""
    program = Steps(tmp_path, EIGHT, "return p2 && !p5 ? 125 : p5")
    result = program.bisect()
    assert program.names_of(result) == ["p2", "p5"]
    assert [culprit["tells_nothing"] for culprit in result.json["culprits"]] == [False, True]
    assert "is undecided (status 125) alone" in (tmp_path / "bisect-policy.toml").read_text()
    assert program.run_under("bisect-policy.toml") == 0


def test_a_set_that_tells_nothing_is_neither_failing_nor_acceptable(tmp_path):
    """p1 and p3 fail together; p3 alone gives no answer. So the search finds p1, and then p3, which alone is enough."""
    program = Steps(tmp_path, FOUR, "return p3 && !p1 ? 125 : p1 && p3")
    result = program.bisect()
    assert program.names_of(result) == ["p3"]
    assert any(one["verdict"] == "unresolved" for one in result.json["tried"])
    assert program.run_under("bisect-policy.toml") == 0


def test_a_command_that_passes_lowered_already_is_said_so(tmp_path):
    program = Program(tmp_path, {"p0": "fine(16)"})
    result = program.bisect()
    assert (result.returncode, result.json["outcome"], result.json["culprits"]) == (0, "acceptable", [])
    assert result.json["policy"] is None and not list(tmp_path.glob("*.toml"))
    table = fp32shim("bisect", "--cpu", "emulate", "--", *program.command, cwd=tmp_path, env=variables())
    assert table.stdout.startswith("Nothing had to stay exact: with 1 group at high, 2 of 2 runs were acceptable.\n")


def test_the_lower_precision_can_be_chosen(tmp_path):
    """The product is right at TF32, and wrong at BF16."""
    graded = "product(16, 16, 2, [64 + 1 / 4, 64] * 16, [64] * 16 + [-64] * 16)"
    program = Program(tmp_path, {"p0": "fine(16)", "p1": graded})
    assert program.bisect().json["outcome"] == "acceptable"
    for word in ("medium", "bf16"):
        assert program.names_of(program.bisect("--precision", word)) == ["p1"]


def failure(result, code):
    assert (result.returncode, result.stdout) == (code, ""), result.stderr
    return result.lines[-1]


def test_a_command_that_is_not_acceptable_with_everything_exact_is_told_with_its_output(tmp_path):
    program = two(tmp_path, end="sys.exit('no such data')")
    result = program.bisect()
    assert failure(result, 1).endswith("the command is not acceptable (ended with status 1); it must be acceptable "
                                       "before its products are lowered")
    assert "  | no such data" in result.lines
    assert not (tmp_path / "bisect-state.jsonl").exists()


def test_a_command_that_tells_nothing_with_everything_exact_is_inconclusive(tmp_path):
    assert "is undecided (status 125)" in failure(four(tmp_path, end="sys.exit(125)").bisect(), 3)


def test_a_command_that_is_killed_with_everything_exact_has_a_code_of_its_own(tmp_path):
    program = two(tmp_path, end="os.kill(os.getpid(), 9)")
    assert failure(program.bisect(), 5) == "fp32shim bisect: with everything exact, the command was killed by signal 9"


def test_a_command_that_lowering_kills_is_not_acceptable(tmp_path):
    program = Compiled(tmp_path, "if (bad) abort();")
    result = program.bisect()
    assert program.names_of(result) == ["graded"]
    assert result.json["tried"][1]["how"] == "was killed by signal 6"


def test_a_command_without_products_has_a_code_of_its_own(tmp_path):
    result = fp32shim("bisect", "--", shim.tool("true"), cwd=tmp_path)
    assert failure(result, 4).startswith("fp32shim bisect: no float32 matrix product of the command was seen")


def test_a_command_that_is_not_there_or_cannot_start_ends_as_in_a_shell(tmp_path):
    missing = fp32shim("bisect", "--", "no-such-program-here", cwd=tmp_path)
    assert failure(missing, 127).startswith("fp32shim bisect: no-such-program-here: ")
    assert failure(fp32shim("bisect", "--", tmp_path, cwd=tmp_path), 126)
    assert list(tmp_path.iterdir()) == []


def test_without_emulation_nothing_is_lowered_on_a_cpu_and_the_remedy_is_named(tmp_path):
    program = Compiled(tmp_path)
    result = fp32shim("bisect", "--cpu", "off", "--", *program.command, cwd=tmp_path, env=variables())
    assert failure(result, 3) == ("fp32shim bisect: everything was asked to run at high, but nothing did (cpu_mode_off); on a CPU, --cpu "
                                  "emulate shows what it would do")
    floor = program.bisect(env={"FP32_MATMUL_FLOOR": "fp32"})
    assert "but nothing did (floor)" in failure(floor, 3)


@pytest.mark.parametrize("options, message", [
    (["--compare", "x"], "--compare needs --rtol NUMBER or --atol NUMBER"),
    (["--rtol", "1"], "--rtol and --atol need --compare FILE"),
    (["--compare", "x", "--rtol", "1", "--jobs", "2"], "--jobs and --compare cannot be combined"),
    (["--rtol", "-1"], '--rtol: found "-1"; allowed: a number from 0'),
    (["--rtol", "nan"], '--rtol: found "nan"; allowed: a number from 0'),
    (["--precision", "highest"], '--precision: found "highest"; allowed: high, medium, tf32, bf16'),
    (["--jobs", "0"], '--jobs: found "0"'), (["--repeat", "x"], '--repeat: found "x"'), (["--max-runs", "0"], "--max-runs"),
    (["--policy-out", "there.toml"], '--policy-out: "there.toml" exists already'),
    (["--state", "/no/such/folder/state"], '"/no/such/folder/state": cannot be written'),
    (["--state", ""], "--state"),
])
def test_a_wrong_option_is_one_line_and_2_before_any_run(tmp_path, options, message):
    (tmp_path / "there.toml").write_text("mine")
    result = fp32shim("bisect", *options, "--", shim.tool("touch"), tmp_path / "ran", cwd=tmp_path)
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
    assert message in result.stderr and not (tmp_path / "ran").exists()
    assert (tmp_path / "there.toml").read_text() == "mine"


@pytest.mark.parametrize("name, value, message", [("DISABLE", "1", "FP32_MATMUL_DISABLE=1 is set"),
                                                  ("FLOOR", "fp23", 'FP32_MATMUL_FLOOR: found "fp23"')])
def test_settings_under_which_no_run_can_tell_are_refused(tmp_path, name, value, message):
    result = fp32shim("bisect", "--", shim.tool("true"), cwd=tmp_path, env={f"FP32_MATMUL_{name}": value})
    assert failure(result, 2).startswith(f"fp32shim bisect: {message}")


def test_a_policy_that_is_there_is_kept_and_the_new_one_gets_a_number(tmp_path):
    (tmp_path / "bisect-policy.toml").write_text("mine")
    program = Compiled(tmp_path)
    assert program.bisect().json["policy"] == "bisect-policy.1.toml"
    assert (tmp_path / "bisect-policy.toml").read_text() == "mine"
    assert program.run_under("bisect-policy.1.toml") == 0


def test_settings_of_the_environment_do_not_disturb_the_search(tmp_path):
    (tmp_path / "other.toml").write_text('schema = 1\ndefault = "highest"\n')
    program = Compiled(tmp_path)
    result = program.bisect(env={"FP32_MATMUL_PRECISION": "medium", "FP32_MATMUL_POLICY": tmp_path / "other.toml",
                                 "FP32_MATMUL_LOG": tmp_path / "log.jsonl", "FP32_MATMUL_WHERE": "none"})
    assert program.names_of(result) == ["graded"]
    assert "FP32_MATMUL_POLICY has no effect" in result.lines[0]
    assert not (tmp_path / "log.jsonl").exists()


def test_products_that_only_a_lowered_run_meets_are_found_too(tmp_path):
    """A wrong p1 makes the program go on with another product, which alone decides."""
    program = Program(tmp_path, {"p0": "fine(16)", "p1": "graded(24)"}, end="""
if bad:
    multiply = graded(32)
    multiply()  # late
    judge('late', multiply)
sys.exit('late' in bad)""")
    result = program.bisect()
    assert result.returncode == 0, result.stderr
    assert result.json["new_groups"] == 1
    assert len(result.json["groups"]) == 3
    assert program.run_under("bisect-policy.toml") == 0


def test_a_product_that_repeated_runs_of_one_set_meet_counts_once(tmp_path):
    """If p1 alone is lowered, the program multiplies once more: in the search, and when the answer is confirmed."""
    program = Program(tmp_path, {"p0": "graded(16)", "p1": "graded(24)"}, end="""
if bad == {'p1'}:
    graded(32)()
sys.exit('p1' in bad)""")
    result = program.bisect()
    assert program.names_of(result) == ["p1"]
    assert result.json["new_groups"] == 1


RESULT = "import numpy as np\nc = np.reshape(multiply.args[-2], (24, 24))\n"


@pytest.mark.parametrize("write, file", [
    ("open('out.txt', 'w').write(f'sum: {c.sum():.9g}, row ' + str(c[0].tolist()))", "out.txt"),
    ("np.save('out.npy', np.float32(c))", "out.npy"), ("np.savez('out.npz', c=c)", "out.npz"),
    ("np.save('out.npy', c.astype(float))", "out.npy"),
])
def test_numbers_that_the_command_writes_can_be_compared_with_the_exact_ones(tmp_path, write, file):
    program = two(tmp_path, end=f"{RESULT}{write}")
    result = program.bisect("--compare", file, "--rtol", "1e-2")
    assert program.names_of(result) == ["p1"]
    assert re.search(rf'"{file}": number 1 is 0 instead of \d', result.json["tried"][1]["how"])
    assert program.bisect("--compare", file, "--atol", "1e9").json["outcome"] == "acceptable"


def test_numbers_are_compared_after_an_interruption_too(tmp_path):
    program = two(tmp_path, end=RESULT + "np.save('out.npy', c)")
    compare = ["--compare", "out.npy", "--rtol", "1e-2"]
    assert program.bisect(*compare, "--max-runs", 3).returncode == 3
    assert program.names_of(program.bisect(*compare)) == ["p1"]


@pytest.mark.parametrize("end, message", [
    ("pass", '"out" was not written'),
    ("open('out', 'w').write('none 1x')", '"out" has no numbers'),
    ("open('out', 'w').write('1\\n2e400')", '"out" has 2e400 in line 2, and numbers are compared as doubles'),
    ("import numpy as np\nnp.save('out', np.array([np.longdouble('1e-400')]))\nos.rename('out.npy', 'out')", '"out" has 1e-400, and numbers are'),
    ("import numpy as np\nnp.save('out', np.array(['a']))\nos.rename('out.npy', 'out')", "has elements of the type '<U1'"),
    ("open('out', 'wb').write(b'SQLite format 3\\0 1 2')", "is neither a text nor a .npy nor a .npz file"),
])
def test_numbers_that_the_exact_run_does_not_write_are_said(tmp_path, end, message):
    (tmp_path / "out").write_text("1 2 3")
    result = four(tmp_path, end=end).bisect("--compare", "out", "--rtol", "1e-2")
    assert message in failure(result, 1)


def test_another_number_of_numbers_is_not_acceptable(tmp_path):
    program = two(tmp_path, end="open('out', 'w').write('1 nan -inf' + ' 2' * len(bad))")
    result = program.bisect("--compare", "out", "--rtol", "1")
    assert program.names_of(result) == ["p1"]
    assert result.json["tried"][1]["how"] == '"out": 4 numbers instead of 3'


def test_a_runner_stands_before_each_command_line(tmp_path):
    program = Compiled(tmp_path, 'return bad || getenv("SCHEDULED") == NULL;')
    assert program.names_of(program.bisect("--runner", "env SCHEDULED=yes")) == ["graded"]
    missing = program.bisect("--runner", "no-such-scheduler-here")
    assert "a run cannot start" in failure(missing, 3) and not (tmp_path / "bisect-state.jsonl").exists()


def test_commands_of_several_processes_are_searched_together(tmp_path):
    program = Compiled(tmp_path)
    (tmp_path / "test.sh").write_text(f"#!/bin/sh\n{program.command[0]} && {program.command[0]}\n")
    result = program.bisect(command=["sh", "test.sh"])
    assert program.names_of(result) == ["graded"]
    assert {group["calls"] for group in result.json["groups"]} == {2}


@pytest.mark.parametrize("flags, stripped", [(["-g", "-O1", "-fno-inline"], False), (["-O1", "-fno-inline"], True)])
def test_in_a_compiled_program_calling_places_are_found(tmp_path, flags, stripped):
    source = tmp_path / "solver.c"
    source.write_text(C_PROGRAM)
    program = tmp_path / "solver"
    subprocess.run([shim.tool("gcc"), *flags, *(["-s"] if stripped else []), source, "-o", program, "-lm",
                    shim.blas_library("openblas")], check=True)
    result = fp32shim("bisect", "--cpu", "emulate", "--format", "json", "--", program, cwd=tmp_path, env=variables())
    assert result.returncode == 0, result.stderr
    [culprit] = result.json["culprits"]
    [group] = [result.json["groups"][number] for number in culprit["groups"]]
    if stripped:
        assert re.fullmatch(r"solver\+0x[0-9a-f]+", group["where"]) and group["text"] is None
    else:
        line = next(number for number, text in enumerate(C_PROGRAM.split("\n"), 1) if "graded */" in text)
        assert group["where"] == f"solver.c:{line} multiply_graded" and group["text"].endswith("/* graded */")
    assert re.fullmatch(r"solver\+0x[0-9a-f]+", group["call_site"])
    assert fp32shim("run", "--quiet", "--policy", "bisect-policy.toml", "--", program, cwd=tmp_path,
                    env=variables()).returncode == 0


FORTRAN_PROGRAM = """program solver
  implicit none
  real :: a(2), b(2), c(1), d(64, 64), e(64, 64)
  external :: sgemm
  call random_number(d)
  call sgemm('N', 'N', 64, 64, 64, 1.0, d, 64, d, 64, 0.0, e, 64)
  a = [1.0001, 1.0]
  b = [1.0, -1.0]
  call sgemm('N', 'N', 1, 1, 2, 1.0, a, 1, b, 2, 0.0, c, 1)  ! graded
  call sgemm('T', 'N', 64, 64, 64, 1.0, d, 64, d, 64, 0.0, e, 64)
  if (abs(c(1) - 1e-4) > 1e-5) stop 1
end program solver
"""


def test_in_a_fortran_program_lines_are_found(tmp_path):
    source = tmp_path / "solver.f90"
    source.write_text(FORTRAN_PROGRAM)
    program = tmp_path / "solver"
    subprocess.run([shim.tool("gfortran"), "-g", source, "-o", program, shim.blas_library("openblas")], check=True)
    result = fp32shim("bisect", "--cpu", "emulate", "--format", "json", "--", program, cwd=tmp_path, env=variables())
    [culprit] = result.json["culprits"]
    [group] = [result.json["groups"][number] for number in culprit["groups"]]
    assert group["where"].startswith("solver.f90:9 ") and group["text"].endswith("! graded")


def test_no_temporary_file_is_left(tmp_path):
    folder = tmp_path / "temporary %p"
    folder.mkdir()
    program = Compiled(tmp_path)
    assert program.names_of(program.bisect(env={"TMPDIR": folder})) == ["graded"]
    assert list(folder.iterdir()) == []
    missing = program.bisect(env={"TMPDIR": "/no/such/folder"})
    assert "TMPDIR names the folder" in failure(missing, 2)


def test_of_float64_the_factorisation_tolerates_float32_and_the_residual_does_not(tmp_path):
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    solver = shim.ROOT / "examples/refinement/solve.py"
    command = ["--", shim.SYSTEM_PYTHON, solver]
    result = fp32shim("bisect", "--dtype", "float64", "--cpu", "emulate", "--format", "json", *command, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    found = result.json
    assert (found["dtype"], found["precision"], len(found["groups"])) == ("float64", "fp32", 5)
    (culprit,) = found["culprits"]
    assert [found["groups"][group]["where"].split()[1] for group in culprit["groups"]] == ["residual"]
    policy = (tmp_path / found["policy"]).read_text()
    assert policy.count('dtype = ["float64", "complex128"]') == 2 and 'default = "native"' in policy
    assert fp32shim("run", "-q", "--policy", found["policy"], *command, cwd=tmp_path).returncode == 0
    by_sgemm = fp32shim("bisect", "--dtype", "float64", "--cpu", "emulate", "--precision", "sgemm", "--state", "s.jsonl", *command,
                        cwd=tmp_path)
    assert by_sgemm.returncode == 0 and "by the library's routine for float32" in by_sgemm.stdout
    # The search for float32 sees none of these products, and says so.
    other = fp32shim("bisect", "--cpu", "emulate", *command, cwd=tmp_path)
    assert "no float32 matrix product of the command was seen; " in failure(other, 4) and "--dtype float64" in other.stderr
    refused = fp32shim("bisect", "--precision", "fp32", *command, cwd=tmp_path)
    assert refused.returncode == 2 and "--dtype float64" in refused.stderr


def test_products_of_float32_run_as_the_program_asks_while_those_of_float64_are_tried(tmp_path):
    program = Program(tmp_path, {"single": "fine(8)"}, end="import numpy as np\nd = np.full((8, 8), 1 / 3)\nprint(d @ d)\n"
                                                           "sys.exit(int((d @ d)[0, 0] > 1))")
    result = program.bisect("--dtype", "float64")
    assert result.returncode == 0 and result.json["outcome"] == "acceptable", result.stderr
    assert {group["function"] for group in result.json["groups"]} <= {"cblas_dgemm", "cblas_dsyrk"}


# A program in C of two lines with graded operands, and functions to keep a number between runs.
KEEPING = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
static float kept(const char* name, float absent) {
    float value = absent;
    FILE* file = fopen(name, "r");
    if (file == NULL) return absent;
    if (fscanf(file, "%f", &value) != 1) value = absent;
    fclose(file);
    return value;
}
static void keep(const char* name, float value) {
    FILE* file = fopen(name, "w");
    fprintf(file, "%.9g", value);
    fclose(file);
}
static int is_bad(float value) { return fabsf(value - 1e-4f) > 1e-5f; }
static const float a[2] = {1.0001f, 1}, b[2] = {1, -1};
static float first(void) {
    float c[1];
    cblas_sgemm(101, 111, 111, 1, 1, 2, 1, a, 2, b, 1, 0, c, 1);
    return *(volatile float*)c;
}
static float second(void) {
    float c[1];
    cblas_sgemm(101, 111, 111, 1, 1, 2, 1, a, 2, b, 1, 0, c, 1);
    return *(volatile float*)c;
}
int main(void) {
    keep("runs", kept("runs", 0) + 1);
    BODY
}
"""


class Keeping:
    """A program of KEEPING and a main function, and searches with it."""

    def __init__(self, folder, body):
        self.folder = folder
        (folder / "keeping.c").write_text(KEEPING.replace("BODY", body))
        subprocess.run([shim.tool("gcc"), "-g", "-O1", "-fno-inline", folder / "keeping.c", "-o", folder / "keeping", "-lm",
                        shim.blas_library("openblas")], check=True)

    def runs(self):
        return int((self.folder / "runs").read_text())

    def search(self, *options, env=None):
        return fp32shim("bisect", "--format", "json", *options, "--", "./keeping", cwd=self.folder, env=variables(**(env or {})),
                        timeout=600)

    def names(self, result, key):
        return [result.json["groups"][group]["where"].split()[-1] for culprit in result.json["culprits"] if culprit[key]
                for group in culprit["groups"]]


CACHE = 'float value = kept("cache", 0); if (value == 0) keep("cache", value = second()); first(); return is_bad(value);'
CHECKPOINT = """float sum = kept("checkpoint", 0);
    for (int step = sum == 0 ? 0 : 9; step < 12; ++step) {
        const float value = second();
        if (step < 9) sum += value;
        if (step == 8) keep("checkpoint", sum);
    }
    first();
    return is_bad(sum / 9);"""


@pytest.mark.parametrize("body", [CACHE, CHECKPOINT])
def test_a_product_whose_calls_only_the_first_run_made_is_not_judged_and_stays_exact(tmp_path, body):
    program = Keeping(tmp_path, body)
    result = program.search()
    assert (result.returncode, result.json["outcome"]) == (3, "not certain"), result.stderr
    assert program.names(result, "untried") == ["second"]
    assert re.search(r"nothing is known about keeping\.c:\d+ second: .* a checkpoint", result.json["doubt"])
    assert re.search(r"call_site = \"keeping\+0x[0-9a-f]+\"", (tmp_path / result.json["policy"]).read_text())
    (tmp_path / ("cache" if body == CACHE else "checkpoint")).unlink()
    fresh = fp32shim("run", "-q", "--policy", result.json["policy"], "--", "./keeping", cwd=tmp_path, env=variables())
    assert fresh.returncode == 0


def test_a_cache_that_is_made_anew_in_some_runs_is_noticed(tmp_path):
    """Each third run, from the first on, multiplies. One of them has everything exact, and none has everything lowered."""
    program = Keeping(tmp_path, """const int run = (int)kept("runs", 0) % 3;
    if (run == 1) keep("cache", second());
    first();
    return is_bad(kept("cache", 0));""")
    result = program.search()
    assert result.returncode == 3 or program.names(result, "groups") == ["second"]


def test_a_product_that_is_not_made_once_another_is_lowered_needs_no_judgement(tmp_path):
    """Each run with everything exact makes the product, so its absence from other runs comes from the policy."""
    program = Keeping(tmp_path, 'const int bad = is_bad(first()); for (int i = 0; i < (bad ? 2 : 9); ++i) printf("%g", second()); return 0;')
    result = program.search()
    assert (result.returncode, result.json["outcome"], result.json["culprits"]) == (0, "acceptable", [])
    other = Keeping(tmp_path, 'const float f = first(); printf("%g", f); if (!is_bad(f)) second(); return 0;')
    table = fp32shim("bisect", "--", "./keeping", cwd=tmp_path, env=variables())
    assert table.returncode == 0 and re.search(r"These products did not run when all others were lowered: keeping\.c:\d+ second\.", table.stdout)
    assert other.runs() > 4


@pytest.mark.parametrize("options", [[], ["--repeat", "20"]])
def test_a_run_that_reads_what_the_last_one_has_left_blames_nobody_for_certain(tmp_path, options):
    """Each run starts from the result of the last one, as iterations do. So the run after a lowered one fails."""
    program = Keeping(tmp_path, """const float value = kept("last", 1e-4f);
    keep("last", second());
    first();
    return is_bad(value);""")
    result = program.search(*options)
    assert result.returncode == 3, result.stdout
    assert "right after a lowered run" in result.stderr or "different answers" in result.stderr, result.stderr


def test_numbers_that_differ_by_chance_blame_nobody(tmp_path):
    program = Keeping(tmp_path, """first();
    second();
    const int run = (int)kept("runs", 0);
    keep("out", 1 + 0.01f * (run * 7 % 5));
    return 0;""")
    result = program.search("--compare", "out", "--rtol", "1e-3")
    assert (result.returncode, result.stdout) == (3, "") and "by chance too often" in result.stderr, result.stdout


def test_a_program_that_multiplies_on_a_cpu_is_previewed_there_unless_a_mode_was_chosen(tmp_path):
    program = Keeping(tmp_path, "first(); return is_bad(second());")
    result = program.search()
    assert result.returncode == 0 and program.names(result, "groups") == ["second"]
    assert result.lines[0] == ("fp32shim bisect: each product that was seen ran on a CPU, so lower precisions are previewed there "
                               "(--cpu emulate)")
    assert result.json["cpu"] == "emulate"
    assert re.search(r'\n# The preview .*delete this table .*\n\[cpu\]\nmode = "emulate"\n', (tmp_path / result.json["policy"]).read_text())
    for options, env in ((["--cpu", "off", "--repeat", "3"], {}), (["--repeat", "3"], {"FP32_MATMUL_CPU": "off"})):
        before = program.runs()
        refused = program.search(*options, env=env)
        assert "but nothing did (cpu_mode_off)" in failure(refused, 3)
        assert program.runs() == before + 3 + 1  # one run in which nothing was lowered, whatever --repeat says


def test_a_search_that_goes_on_previews_on_the_cpu_as_before(tmp_path):
    program = Keeping(tmp_path, "first(); return is_bad(second());")
    assert program.search("--max-runs", "2").returncode == 3
    result = program.search()
    assert result.returncode == 0 and program.names(result, "groups") == ["second"] and result.json["cpu"] == "emulate"
    assert "previewed there" in result.stderr


def test_the_error_rates_of_a_repeated_search_are_those_that_its_tests_had(tmp_path):
    Keeping(tmp_path, "first(); return is_bad(second());")
    table = fp32shim("bisect", "--repeat", "4", "--", "./keeping", cwd=tmp_path, env=variables(), timeout=600)
    assert table.returncode == 0, table.stderr
    sentence = r"at most\s+5% of such searches miss a product that makes at least (\d+)% of its runs fail, and at most 5% blame"
    assert int(re.search(sentence, table.stdout)[1]) in range(36, 60)
    assert "A product that fails more seldom may have been missed." in table.stdout


def table_of(program, *options, command=("./keeping",), **keywords):
    """Runs a search, and returns its result with the table that people read."""
    env = variables(**keywords.pop("env", {}))
    return fp32shim("bisect", *options, "--", *command, cwd=program.folder, env=env, timeout=600, **keywords)


def script(folder, text):
    (folder / "test.sh").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "test.sh").chmod(0o755)
    return ["./test.sh"]


def test_the_printed_command_runs_what_was_tried_whatever_the_environment_says(tmp_path):
    program = Keeping(tmp_path, "first(); return is_bad(second());")
    plain = table_of(program)
    assert plain.returncode == 0 and "run --policy bisect-policy.toml -- ./keeping\n" in plain.stdout
    table = table_of(program, env={"FP32_MATMUL_PRECISION": "medium", "FP32_MATMUL_CPU": "off"}, *["--cpu", "emulate"])
    assert table.returncode == 0, table.stderr
    command = re.search(r"^  fp32shim (run .*) -- ", table.stdout, re.MULTILINE)[1]
    assert command == "run --policy bisect-policy.1.toml --precision high --cpu emulate"


def test_a_process_that_cannot_read_its_policy_ends_the_search(tmp_path):
    Keeping(tmp_path, "first(); return is_bad(second());")
    command = script(tmp_path, './keeping >/dev/null && rm "$FP32_MATMUL_POLICY" && ./keeping')
    result = fp32shim("bisect", "--", *command, cwd=tmp_path, env=variables(), timeout=600)
    assert "did not apply the policy of its run" in failure(result, 3)


WRITES = 'FILE* out = fopen("out", "w"); fprintf(out, "1.0\\n{}\\n", {}); fclose(out); return 0;'


@pytest.mark.parametrize("unit", ["%gK", "%.9gdB", "-%.9gf", "%a"])
def test_words_with_digits_that_a_lowered_run_changes_are_not_acceptable(tmp_path, unit):
    program = Keeping(tmp_path, "first();" + WRITES.format(unit, "second()"))
    result = program.search("--compare", "out", "--rtol", "1e-3")
    assert result.returncode == 0 and program.names(result, "groups") == ["second"], result.stderr
    assert re.search(r'"out": at the end: "\S+" instead of "', result.stderr) or unit == "%a"  # its exponent is read as a number


def test_a_sign_before_a_word_with_digits_counts(tmp_path):
    program = Keeping(tmp_path, "first();" + WRITES.format("%s3K", 'is_bad(second()) ? "-" : ""'))
    result = program.search("--compare", "out", "--rtol", "1e-3")
    assert result.returncode == 0 and program.names(result, "groups") == ["second"], result.stderr


def test_words_that_exact_runs_change_do_not_count(tmp_path):
    program = Keeping(tmp_path, "first(); second();" + WRITES.format("took %gms", 'kept("runs", 0)'))
    result = program.search("--compare", "out", "--rtol", "1e-3")
    assert (result.returncode, result.json["outcome"]) == (0, "acceptable"), result.stderr


@pytest.mark.parametrize(("text", "value"), [
    ("RA 0%d:30:05.25", "is_bad(second()) ? 8 : 5"), ("due 2030-01-0%d", "is_bad(second()) ? 2 : 1"),
    ("residual %s 0.001", 'is_bad(second()) ? ">" : "<"'), ("7,%s,", 'is_bad(second()) ? ",1" : "1"'),
    ("%s", 'is_bad(second()) ? "+ + - +" : "- + + -"')], ids=["right ascension", "date", "sign", "empty cell", "spins"])
def test_results_in_dates_and_signs_that_a_lowered_run_changes_are_not_acceptable(tmp_path, text, value):
    program = Keeping(tmp_path, "first();" + WRITES.format(text, value))
    result = program.search("--compare", "out", "--rtol", "1e-3")
    assert result.returncode == 0 and program.names(result, "groups") == ["second"], result.stderr


CLOCK = """first();
    if (is_bad(second())) sleep(1);
    time_t now = time(NULL) + {} * 3600;
    const struct tm* shown = gmtime(&now);"""


@pytest.mark.parametrize(("hours", "is_known"), [(0, True), (11, False)], ids=["UTC", "a time zone that only the program knows"])
def test_a_clock_blames_nobody_though_a_lowered_run_takes_longer(tmp_path, hours, is_known):
    program = Keeping(tmp_path, CLOCK.format(hours) + WRITES.format("%02d:%02d:%02d", "shown->tm_hour, shown->tm_min, shown->tm_sec"))
    table = table_of(program, "--compare", "out", "--rtol", "1e-3", env={"TZ": "UTC"})
    assert table.returncode == 0 and "Nothing had to stay exact" in table.stdout, table.stdout + table.stderr
    assert ("Dates and times of day that are those of the run itself" in table.stdout) == is_known
    result = program.search("--compare", "out", "--rtol", "1e-3", env={"TZ": "UTC"})
    assert result.json["clock_left_out"] == is_known


def test_a_failure_of_a_lowered_run_that_took_long_may_be_a_time_limit(tmp_path):
    program = Keeping(tmp_path, "first(); if (!is_bad(second())) return 0; sleep(2); return 1;")
    assert re.search(r"no time limit of its own. A lowered run that failed took \d+\.\d times as long", table_of(program).stdout)
    quick = Keeping(tmp_path, "first(); usleep(500000); return is_bad(second());")
    assert "no time limit" not in table_of(quick).stdout


def test_files_that_runs_leave_are_named_beside_the_assumption(tmp_path):
    program = Keeping(tmp_path, "first(); return is_bad(second());")
    table = table_of(program)
    assert "Assumed: each run starts afresh, though runs changed meanwhile" in table.stdout
    assert "Products that occurred in no run are not judged." in table.stdout
    (tmp_path / "keeping.c").write_text((tmp_path / "keeping.c").read_text().replace('keep("runs", kept("runs", 0) + 1);', ""))
    subprocess.run([shim.tool("gcc"), "-w", "-g", "-O1", "-fno-inline", "keeping.c", "-o", "keeping", "-lm",
                    shim.blas_library("openblas")], cwd=tmp_path, check=True)
    with open(tmp_path / "messages", "w") as messages:
        table = subprocess.run([COMMAND, "bisect", "--", "./keeping"], cwd=tmp_path, env=environment(**variables()), text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=messages, timeout=600)
    assert "Assumed: each run starts afresh. Products" in table.stdout


def test_a_floor_of_the_environment_is_named(tmp_path):
    program = Keeping(tmp_path, 'printf("%g", first() + second()); return 0;')
    table = table_of(program, "--precision", "medium", env={"FP32_MATMUL_FLOOR": "tf32"})
    assert table.returncode == 0 and "with 2 groups asked to run at medium" in table.stdout
    assert "FP32_MATMUL_FLOOR=tf32 is set, so products run at that or above, unless the command changes it.\n" in table.stdout
    table = table_of(program, "--precision", "medium").stdout
    assert "FP32_MATMUL_FLOOR" not in table and "with 2 groups at medium" in table and "Asked" not in table


def test_a_product_that_runs_at_another_format_than_was_asked_for_is_named(tmp_path):
    Keeping(tmp_path, 'printf("%g", first() + second()); return 0;')
    command = script(tmp_path, "FP32_MATMUL_FLOOR=tf32 exec ./keeping")
    table = fp32shim("bisect", "--precision", "medium", "--", *command, cwd=tmp_path, env=variables(), timeout=600)
    assert table.returncode == 0 and "with 2 groups asked to run at medium" in table.stdout, table.stderr
    assert re.search(r"Asked to run at medium, but ran at tf32: keeping\.c:\d+ first, keeping\.c:\d+ second\.", table.stdout)


WARM = 'float value = kept("cache", 0); if (value == 0) keep("cache", value = second()); else second(); {} return is_bad(value);'


@pytest.mark.parametrize("prints", ["", 'printf("%g", value);'])
@pytest.mark.parametrize("options", [[], ["--repeat", "3"]])
def test_a_command_whose_output_no_product_of_its_runs_can_change_shows_nothing(tmp_path, options, prints):
    """Each run makes all calls, but uses the result of the first run."""
    Keeping(tmp_path, WARM.format(prints))
    result = fp32shim("bisect", *options, "--", "./keeping", cwd=tmp_path, env=variables(), timeout=600)
    assert "even at e5m2: nothing shows that it depends on the products" in failure(result, 3)
    assert "the same groups, asked for e5m2: acceptable" in result.stderr and not (tmp_path / "bisect-state.jsonl").exists()


def test_a_result_that_no_lowered_run_moved_says_whether_it_depends_on_products(tmp_path):
    # 1.03125 is exact at TF32, and 1 at two bits.
    depends = table_of(Keeping(tmp_path, "first(); const float x = 1.03125f; float c; cblas_sgemm(101, 111, 111, 1, 1, 1, 1, &x, 1, &x, "
                               "1, 0, &c, 1); return *(volatile float*)&c < 1.05f;"))
    assert depends.returncode == 0 and "It depends on the lowered products: at e5m2 it was not acceptable." in depends.stdout
    hardly = table_of(Keeping(tmp_path, 'printf("%g", first() + kept("runs", 0)); return second() > 1;'))
    assert hardly.returncode == 0 and "acceptable at e5m2, too. If the command checks nothing, " in hardly.stdout
    found = table_of(Keeping(tmp_path, 'first(); puts("1"); return is_bad(second());'))
    assert found.returncode == 0 and "The output was the same with products lowered as with everything exact" in found.stdout
    silent = table_of(Keeping(tmp_path, "first(); return is_bad(second());"))
    assert silent.returncode == 0 and "The output was the same" not in silent.stdout


def test_the_run_that_asks_for_dependence_counts_for_the_largest_number_of_runs(tmp_path):
    Keeping(tmp_path, WARM.format(""))
    words = ["--", "./keeping"]
    result = fp32shim("bisect", "--max-runs", "3", *words, cwd=tmp_path, env=variables(), timeout=600)
    assert "no result after 3 runs, the limit of --max-runs" in failure(result, 3)
    result = fp32shim("bisect", "--max-runs", "4", *words, cwd=tmp_path, env=variables(), timeout=600)
    assert "nothing shows that it depends" in failure(result, 3) and len(re.findall(": run ", result.stderr)) == 1


ELSEWHERE = './keeping; end=$?; touch bad; FP32_MATMUL_LOG=$PWD/%p.fp32rec ./keeping || end=1; rm bad; exit $end'


@pytest.mark.parametrize(("text", "env", "said"), [
    ("FP32_MATMUL_PRECISION=medium exec ./keeping", {}, "and not with only the 2 groups lowered that ran so (0 of 5 failed)"),
    (ELSEWHERE, {"ELSEWHERE": "1"}, "although no product that was seen ran so, and not with everything exact (0 of"),
])
def test_a_contradiction_that_no_chance_explains_ends_the_search(tmp_path, text, env, said):
    program = Keeping(tmp_path, """if (access("bad", F_OK) == 0) return is_bad(second());
    const int is_elsewhere = getenv("ELSEWHERE") != NULL;
    if (is_elsewhere) return is_bad(first());
    first();
    const float x[2] = {1.001953125f, 1}, y[2] = {1, -1};  // exact at TF32, but not at BF16
    float c[1];
    cblas_sgemm(101, 111, 111, 1, 1, 2, 1, x, 2, y, 1, 0, c, 1);
    return *(volatile float*)c == 0;""")
    result = fp32shim("bisect", "--", *script(tmp_path, text), cwd=tmp_path, env=variables(**env), timeout=600)
    assert said in failure(result, 3) and "a larger --repeat" not in result.stderr, result.stderr
    assert program.runs() <= 40


def test_a_product_that_the_program_keeps_exact_does_not_count_as_lowered(tmp_path):
    program = Keeping(tmp_path, """int fp32shim_push_scope(const char*, const char*, const char*) __attribute__((weak));
    void fp32shim_pop_scope(void) __attribute__((weak));
    fp32shim_push_scope("x", "highest", NULL);
    first();
    fp32shim_pop_scope();
    printf("%g", second());
    return 0;""")
    table = table_of(program)
    assert table.returncode == 0 and "Nothing had to stay exact: with 1 group at high" in table.stdout, table.stdout
    assert re.search(r"Never lowered in these runs: .*keeping\.c:\d+ first", table.stdout)


def test_an_input_that_no_run_reads_is_named(tmp_path):
    Keeping(tmp_path, "first(); second(); return 0;")
    (tmp_path / "in").write_text("a\n")

    def messages(stdin):
        return subprocess.run([COMMAND, "bisect", "--", "./keeping"], cwd=tmp_path, env=environment(**variables()), stdin=stdin,
                              capture_output=True, text=True, timeout=600).stderr

    with open(tmp_path / "in") as file:
        assert "standard input is a file, but each run reads an empty one" in messages(file)
    assert "standard input" not in messages(subprocess.DEVNULL)


def test_a_search_whose_program_has_another_name_in_each_run_ends(tmp_path):
    Keeping(tmp_path, "first(); return is_bad(second());")
    command = script(tmp_path, 'f=$(mktemp ./program.XXXXXX); cp keeping $f; chmod +x $f; $f; r=$?; rm $f; exit $r')
    result = fp32shim("bisect", "--max-runs", "150", "--", *command, cwd=tmp_path, env=variables(), timeout=600)
    assert "differ from run to run" in failure(result, 3)
