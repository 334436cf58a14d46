"""Names come from files, recordings and other processes: what they can do to a terminal, a reader, a spreadsheet."""

import csv
import io
import json
import subprocess

import pytest

import shim
from command import environment, fp32shim, make_recording

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


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\nx", "＝1", "＋1", "－1", "＠x",
                                  '=HYPERLINK("http,//x","y")'])
def test_a_text_that_a_spreadsheet_takes_for_a_formula_is_quoted(tmp_path, name):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", f"{name}:3:native:fp32:as_requested:1")
    for words in (["report"], ["log"]):
        row, = csv.DictReader(io.StringIO(fp32shim(*words, "--format", "csv", recording).stdout, newline=""))
        assert row["function"] == "'" + name
    assert fp32shim("report", "--format", "json", recording).json["rows"][0]["function"] == name


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
