"""Names come from files, recordings and other processes: what they can do to a terminal, a reader, a spreadsheet."""

import csv
import fcntl
import io
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import termios

import pytest

import shim
from command import COMMAND, environment, fp32shim, make_recording

ESCAPE, C1, RIGHT_TO_LEFT, NO_WIDTH = "\x1b[31m", "\x9b", "\u202e", "\u200b"
NAME = f"n{ESCAPE}{C1}{RIGHT_TO_LEFT}{NO_WIDTH}\u2066\ufeffü"
AS_BYTES = "n" + "".join(f"\\x{byte:02x}" if byte in b"\x1b" or byte >= 0x80 else chr(byte)
                         for byte in f"{ESCAPE}{C1}{RIGHT_TO_LEFT}{NO_WIDTH}\u2066\ufeff".encode()) + "ü"
FORBIDDEN = [ESCAPE[0], C1, RIGHT_TO_LEFT, NO_WIDTH, "\u2066", "\ufeff"]


@pytest.fixture(params=["calls", "summary"])
def recording(tmp_path, request):
    return make_recording(tmp_path / f"a{RIGHT_TO_LEFT}.fp32rec", request.param,
                          f"{NAME}:3:native:fp32:as_requested:1")


@pytest.mark.parametrize("words", [
    ["report"], ["log"], ["log", "--rows"], ["report", "--format", "csv"], ["log", "--format", "csv"],
    ["report", "--format", "json"], ["log", "--format", "json"], ["log", "--format", "jsonl"],
    ["log", "--format", "chrome"], ["report", "--format", "prometheus"], ["report", "--format", "html"],
    ["verify", "--at-least", "fp32"], ["verify", "--at-least", "fp32", "--format", "json"],
], ids="-".join)
def test_nothing_that_steers_or_deceives_is_written(recording, words):
    result = fp32shim(*words, recording)
    assert [character for character in FORBIDDEN if character in result.stdout + result.stderr] == []


def test_tables_csv_and_labels_have_the_bytes_and_json_the_characters(recording):
    for words in (["report"], ["report", "--format", "csv"], ["log", "--format", "csv"]):
        assert AS_BYTES in fp32shim(*words, recording).stdout
    assert AS_BYTES.replace("\\", "\\\\") in fp32shim("report", "--format", "prometheus", recording).stdout
    assert fp32shim("report", "--format", "json", recording).json["rows"][0]["function"] == NAME
    lines = fp32shim("log", "--format", "jsonl", recording).stdout.splitlines()
    assert json.loads(lines[-1])["function"] == NAME
    assert json.dumps(AS_BYTES, ensure_ascii=True)[1:-1] in fp32shim("report", "--format", "html", recording).stdout


def test_names_of_files_and_words_of_commands_are_written_so_too(tmp_path):
    name = tmp_path / f"no{ESCAPE}{RIGHT_TO_LEFT}.toml"
    for words in (["check", name], ["report", name], ["explain", "--function", "sgemm_", "--policy", name],
                  ["run", "--policy", name, "--", "true"], ["run", "--", str(name)], [str(name)]):
        result = fp32shim(*words)
        assert result.returncode != 0
        assert [character for character in FORBIDDEN if character in result.stdout + result.stderr] == [], words


def test_the_shims_own_lines_are_written_so_too(tmp_path):
    for settings in ({"FP32_MATMUL_POLICY": f"/no{ESCAPE}{RIGHT_TO_LEFT}\nsuch.toml"},
                     {"FP32_MATMUL_LOG": f"/no{ESCAPE}{RIGHT_TO_LEFT}\nsuch/log.jsonl"},
                     {"FP32_MATMUL_LOG": f"/no{ESCAPE}{RIGHT_TO_LEFT}\nsuch/log.fp32rec"},
                     {"FP32_MATMUL_PRECISION": f"{ESCAPE * 40}{RIGHT_TO_LEFT}"}):
        result = shim.run("cblas_product", blas="reference", log=False, env=settings)
        assert len(result.stderr.splitlines()) == 1, result.stderr
        assert result.stderr.startswith("fp32shim: ")
        assert [character for character in FORBIDDEN if character in result.stderr] == []


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "＝1", "＋1", "－1", "＠x",
                                  '=HYPERLINK("http,//x","y")'])
def test_a_text_that_a_spreadsheet_takes_for_a_formula_is_quoted(tmp_path, name):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", f"{name}:3:native:fp32:as_requested:1")
    for words in (["report"], ["log"]):
        row, = csv.DictReader(io.StringIO(fp32shim(*words, "--format", "csv", recording).stdout, newline=""))
        assert row["function"] == "'" + name
    assert fp32shim("report", "--format", "json", recording).json["rows"][0]["function"] == name


def test_a_line_feed_in_a_text_ends_no_line_of_csv(tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", "one\ntwo:3:native:fp32:as_requested:1")
    row, = csv.DictReader(io.StringIO(fp32shim("report", "--format", "csv", recording).stdout, newline=""))
    assert row["function"] == "one\\x0atwo"


@pytest.mark.parametrize("name", ["a=1", "1+1", "'x", "_x", " =1"])
def test_other_texts_are_left_alone(tmp_path, name):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", f"{name}:3:native:fp32:as_requested:1")
    row, = csv.DictReader(io.StringIO(fp32shim("report", "--format", "csv", recording).stdout, newline=""))
    assert row["function"] == name


def test_the_title_of_a_process_does_not_steer_who_lists_it(tmp_path):
    client = shim.client("make_recording")
    words = [f"{ESCAPE}{RIGHT_TO_LEFT}sh", tmp_path / "a.fp32rec", "summary", "--stay",
             "f:3:native:fp32:as_requested:1"]
    with subprocess.Popen(words, executable=client, env=environment(), stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline()
        for words in (["ps", process.pid], ["ps", process.pid, "--format", "json"], ["top", "--count", "1", process.pid]):
            text = fp32shim(*words).stdout
            assert str(process.pid) in text and "sh" in text
            assert [character for character in FORBIDDEN if character in text] == []
        process.stdin.close()


# Clears the screen, sets a title, and has a carriage return, backspaces, a forged line, a C1 control and reversed
# text.
STEERING = "\x1b[2J\x1b]0;t\x07\r\b\nForged: all calls\x9b1A\u202e"
STEERS = [*"\x1b\x07\r\b\x9b\u202e"]


def steered_by(text):
    """Returns the parts of a text that steer a terminal, or look like a line of the command's own. Lines of CSV end in a
    carriage return."""
    text = text.replace("\r\n", "\n")
    return [character for character in STEERS if character in text] + [line for line in text.split("\n") if line.startswith("Forged")]


def steering_recording(path, level, applied):
    """Writes a recording in which each text steers a terminal, except for the separators of make_recording's words."""
    text = STEERING.replace(":", " ").replace(";", " ")
    call = f"f{text}:3:native:{applied}:as_requested:2:1:9000:s{text}:f{text}@/x{text}.py@3"
    return make_recording(path, level, "--host", STEERING, "--job", STEERING, "--executable", f"/x{STEERING}",
                          "--policy", f"p{text},r{text},{'0' * 64}", call)


@pytest.mark.parametrize("applied", ["fp32", "tf32"])
@pytest.mark.parametrize("level", ["summary", "calls"])
@pytest.mark.parametrize("words", [
    ["report"], ["report", "--format", "csv"], ["report", "--format", "json"], ["report", "--format", "jsonl"],
    ["report", "--format", "prometheus"], ["report", "--format", "html"], ["report", "--format", "folded"],
    ["report", "--by", "where"], ["report", "--by", "scope"], ["report", "--by", "host"], ["report", "--by", "process"],
    ["log"], ["log", "--rows"], ["log", "--format", "csv"], ["log", "--format", "jsonl"], ["log", "--format", "chrome"],
    ["verify", "--at-least", "fp32"], ["verify", "--at-least", "fp32", "--format", "json"],
], ids="-".join)
def test_no_text_of_a_recording_steers_a_terminal(tmp_path, level, applied, words):
    recording = steering_recording(tmp_path / f"a{STEERING}.fp32rec".replace("/", " "), level, applied)
    result = fp32shim(*words, recording)
    assert result.returncode < 4, result.stderr
    assert steered_by(result.stdout + result.stderr) == []


def test_two_recordings_that_are_compared_do_not_steer_either(tmp_path):
    one, other = (steering_recording(tmp_path / f"{name}.fp32rec", "calls", applied)
                  for name, applied in (("a", "fp32"), ("b", "tf32")))
    result = fp32shim("diff", one, other)
    assert result.stdout != "" and result.stderr != ""
    assert steered_by(result.stdout + result.stderr) == []


def test_a_policy_does_not_steer_who_checks_it(tmp_path):
    text = json.dumps(f"p{STEERING}")
    policy = tmp_path / f"p{STEERING}.toml"
    policy.write_text(f"version = 1\nname = {text}\n[[rules]]\nname = {text}\nwhen.function = {text}\nuse = {text}\n")
    for words in (["check", policy], ["explain", "--function", "sgemm_", "--policy", policy, "--m", 3, "--n", 3, "--k", 3]):
        result = fp32shim(*words)
        assert result.stdout + result.stderr != ""
        assert steered_by(result.stdout + result.stderr) == []


def test_the_name_of_a_child_does_not_steer_who_verifies(tmp_path):
    """The bypass has the name of a child that the shim does not cover."""
    source = tmp_path / "child.c"
    source.write_text("void sgemm_(void) {} int main(void) { sgemm_(); return 0; }")
    shim.need(shutil.which("gcc"), "no gcc")
    child, recording = tmp_path / f"c{STEERING}", tmp_path / "a.fp32rec"
    subprocess.run(["gcc", "-static", "-o", tmp_path / "child", source], check=True)
    (tmp_path / "child").rename(child)
    ran = fp32shim("run", "--log", recording, "--", "sh", "-c", '"$0"; true', child)
    verified = fp32shim("verify", "--at-least", "fp32", recording)
    assert "Forged: all calls" in verified.stdout
    assert steered_by(ran.stderr + verified.stdout + verified.stderr) == []


PROGRAM = """
import ctypes, subprocess, sys
import numpy
a = numpy.ones((8, 8), numpy.float32)
shim = ctypes.CDLL(None)
class Model:
    def forward(self):
        shim.fp32shim_push_scope(b"Model.layers.0", None, None)
        a @ a
        shim.fp32shim_pop_scope()
Model().forward()
shim.fp32shim_set_precision(b"high")
a @ a
shim.fp32shim_reload_policy()
a @ a
subprocess.run(["/bin/true"], env={}, check=True)
subprocess.run([sys.executable, "-c", "import numpy"], check=True)  # leaves a mark
"""
POLICY = """schema = 1
name = "policy of the program"
revision = "revision-one"
[[rule]]
name = "rule for the model"
precision = "medium"
when = { scope = "Model*" }
[[rule]]
name = "rule without calls"
precision = "high"
when = { scope = "Nothing*" }
"""


@pytest.fixture(scope="module")
def real_run(tmp_path_factory):
    """A folder with the recordings of a real program that has texts of all kinds."""
    shim.need(shim.has_module("numpy"), "no numpy")
    folder = tmp_path_factory.mktemp("real")
    (folder / "policy.toml").write_text(POLICY)
    (folder / "program.py").write_text(PROGRAM)
    ran = fp32shim("run", "-q", "--policy", folder / "policy.toml", "--cpu", "emulate", "--where", "python,native:8", "--log",
                   folder / "run.fp32rec", "--", shim.SYSTEM_PYTHON, folder / "program.py",
                   env={"SLURM_JOB_ID": "number-of-job", "SLURM_PROCID": "3", "FP32_MATMUL_LOG_LEVEL": "calls"})
    assert ran.returncode == 0, ran.stderr
    assert len(list(folder.glob("*.fp32rec"))) == 2
    return folder


def with_steering_texts(content, shift):
    """Returns the recording with bytes of STEERING in place of everything that looks like text. `shift` is the position in
    STEERING at which these bytes begin, because most texts are shorter."""
    steering = STEERING.encode() * 400

    def replaced(match):
        begin = shift % len(STEERING.encode())
        return steering[begin:begin + len(match[0])]

    # The first 64 bytes stay, since they make the file a recording of this version.
    return content[:64] + re.sub(rb"[\x20-\x7e]{4,}", replaced, content[64:])


EVERY_READER = [
    *([*"report --format".split(), form] for form in (
        "table", "json", "jsonl", "csv", "prometheus", "html", "folded", "speedscope", "sarif", "benchdnn", "rocblas-bench", "shapes")),
    *([*"report --by".split(), key] for key in (
        "where", "source", "scope", "call_site", "caller", "function", "size", "size-class", "precision", "host", "job",
        "executable", "policy")),
    ["log"], ["log", "--rows"], *(["log", "--format", form] for form in ("csv", "json", "jsonl", "chrome")),
    ["verify", "--at-least", "fp32"], ["verify", "--at-least", "bf16", "--require-rules"],
    ["verify", "--at-least", "fp32", "--format", "json"],
    ["top", "--count", "1"], ["ps"], ["set", "high"], ["reload"],
]


@pytest.mark.parametrize("words", EVERY_READER, ids="-".join)
def test_no_field_of_a_real_recording_steers_a_terminal(real_run, tmp_path, words):
    """Every text in the file is replaced: host, job, program, command, policy, rules, objects, children, functions, lines of
    Python, frames, scopes, changes, marks."""
    shown = 0
    for shift in range(0, len(STEERING.encode()), 5):
        paths = []
        for source in sorted(real_run.glob("*.fp32rec")):
            paths.append(tmp_path / f"{shift}.{source.name}")
            paths[-1].write_bytes(with_steering_texts(source.read_bytes(), shift))
        result = fp32shim(*words, *paths)
        assert 0 <= result.returncode < 4, result.stderr
        assert steered_by(result.stdout + result.stderr) == []
        shown += "\\x1b" in result.stdout or "\\u001b" in result.stdout
    if words[0] in ("log", "verify") or words == ["report", "--format", "json"]:
        assert shown > 0, "the texts are there, escaped"


def shown_on_terminal(*words):
    """Returns what a command writes to a terminal of 200 columns."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    with subprocess.Popen([COMMAND, *map(str, words)], stdin=its, stdout=its, stderr=its, env={**environment(), "TERM": "xterm"}) as process:
        os.close(its)
        text = b""
        while True:
            try:
                text += os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
        os.close(ours)
        assert process.wait() >= 0
    return text.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("words", [["report"], ["report", "--by", "where"], ["log"], ["log", "--rows"], ["report", "--format", "csv"],
                                   ["verify", "--at-least", "fp32"], ["top", "--count", "1"]], ids="-".join)
def test_only_the_commands_own_colours_reach_a_terminal(real_run, tmp_path, words):
    for shift in range(0, len(STEERING.encode()), 5):
        steering = tmp_path / f"{shift}.fp32rec"
        steering.write_bytes(with_steering_texts((real_run / "run.fp32rec").read_bytes(), shift))
        text = re.sub(r"\x1b\[[0-9;]*m|\x1b\[H\x1b\[2J|\x1b\[K", "", shown_on_terminal(*words, steering))
        assert steered_by(text) == []


def test_two_real_recordings_that_are_compared_do_not_steer(real_run, tmp_path):
    source = real_run / "run.fp32rec"
    for shift in range(0, len(STEERING.encode()), 5):
        steering = tmp_path / f"{shift}.fp32rec"
        steering.write_bytes(with_steering_texts(source.read_bytes(), shift))
        for words in (["diff"], ["diff", "--format", "json"]):
            result = fp32shim(*words, source, steering)
            assert 0 <= result.returncode < 4, result.stderr
            assert steered_by(result.stdout + result.stderr) == []


def test_what_a_program_and_its_environment_say_does_not_steer_who_runs_it(tmp_path):
    """doctor, run and bisect print names of the program, of its arguments, and of variables."""
    program = tmp_path / f"p{STEERING}"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    for words in (["doctor", "--", program, STEERING], ["run", "--", program, STEERING], ["run", "--log", tmp_path / f"{STEERING}.fp32rec", "--", program],
                  ["bisect", "--tolerance", "1e-3", "--", program, STEERING], ["explain", "--function", STEERING],
                  ["explain", "--function", "sgemm_", "--caller", STEERING, "--m", "3", "--n", "3", "--k", "3"],
                  ["set", STEERING, "1"], ["verify", "--at-least", STEERING, "x"], ["report", "--by", STEERING, "x"], [STEERING],
                  ["report", "--function", STEERING, tmp_path], ["top", STEERING], ["reload", STEERING], ["completion", STEERING]):
        result = fp32shim(*words, env={"FP32_MATMUL_PRECISION": STEERING} if words[0] in ("doctor", "explain") else None)
        assert result.returncode >= 0, words
        assert steered_by(result.stdout + result.stderr) == [], words
