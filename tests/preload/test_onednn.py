"""Executions that a oneDNN tells by its verbose lines are recorded, and the program prints what it prints without the shim.

The library (clients/libraries/fake_onednn.c) prints as oneDNN does. What it prints without the shim is what is expected.
"""

import csv
import dataclasses
import fcntl
import io
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import shim
from command import COMMAND, build, environment, fp32shim

VARIANTS = ["onednn", "onednn_now", "onednn_no_plt", "onednn_old", "onednn_old_now"]
NEWEST = [name for name in VARIANTS if "old" not in name]
FAKE = shim.CLIENTS / "libfake_onednn.so"
HEAD = b"onednn_verbose,v1,info,"

F32 = "cpu,matmul,brg_matmul:avx512_core,undef,src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0,,,64x32:32x48"
BF16 = F32.replace(",,,", ",attr-fpmath:bf16,,")
AMX_BF16 = BF16.replace("avx512_core", "avx10_1_512_amx")
UNKNOWN = F32.replace("brg_matmul", "newest_matmul")


@dataclasses.dataclass
class Run:
    stdout: bytes
    stderr: str
    status: int


def start(words, variables, read=None, **popen):
    """Runs a program; `read` reads its output from a pipe's file descriptor."""
    out, into = os.pipe()
    pieces = []

    def collect():
        if read:
            read(out)
        while piece := os.read(out, 1 << 16):
            pieces.append(piece)

    reader = threading.Thread(target=collect)
    reader.start()
    try:
        done = subprocess.run(list(map(str, words)), env=variables, stdin=subprocess.DEVNULL, stdout=into, stderr=subprocess.PIPE,
                              text=True, check=False, timeout=600, **popen)
    finally:
        os.close(into)
        reader.join()
        os.close(out)
    return Run(b"".join(pieces), done.stderr, done.returncode)


def shimmed(log, **variables):
    return shim.environment(preload=[shim.LIBRARY], log=log, env={"FP32_MATMUL_ONEDNN": "1", **variables})


def rows_of(*recordings):
    done = fp32shim("report", "--format", "csv", *recordings)
    assert done.returncode == 0, done.stderr
    return [row for row in csv.DictReader(io.StringIO(done.stdout)) if row["function"].startswith("onednn_")]


def calls(rows, **values):
    return sum(int(row["calls"]) for row in rows if all(row[key] == value for key, value in values.items()))


@pytest.fixture
def compared(tmp_path):
    """Runs a client twice, and returns the run without the shim and the rows recorded with it. Output, status and what the
    client's own calls returned are the same."""
    def compare(program, *words, env=None, stderr="", **how):
        folders = [tmp_path / name for name in ("plain", "shim")]
        for folder in folders:
            folder.mkdir(exist_ok=True)
        command = [shim.client(program), *words]
        plain = start(command, shim.environment(env=env), cwd=folders[0], **how)
        recording = tmp_path / "log"
        recording.mkdir()
        seen = start(command, shimmed(recording / "run.fp32rec", **(env or {})), cwd=folders[1], **how)
        assert seen.stdout == plain.stdout
        assert (seen.status, seen.stderr) == (plain.status, plain.stderr + stderr)
        files = [sorted((file.name, file.read_bytes()) for file in folder.iterdir()) for folder in folders]
        assert files[0] == files[1]
        return plain, rows_of(recording) if list(recording.iterdir()) else []
    return compare


# ---- executions are counted, and nothing is shown


@pytest.mark.parametrize("program", VARIANTS)
def test_executions_are_recorded_and_not_shown(compared, program):
    plain, rows = compared(program, "execute", "execute", f"execute={BF16}", "execute=cpu,reorder,jit:blk,undef,src:f32 dst:f32,,,64x32")
    assert (plain.stdout, plain.status) == (b"", 0)
    assert calls(rows, function="onednn_matmul", dtype="float32", m="64", n="48", k="32") == calls(rows) == 3
    assert calls(rows, applied="bf16", actual="fp32") == 1
    assert {row["caller"] for row in rows} == {row["provider"] for row in rows} == {f"libfake_{program}.so"}


@pytest.mark.parametrize("program", VARIANTS)
def test_the_time_of_an_execution_is_that_of_its_line(compared, program):
    _, rows = compared(program, "execute", "execute")
    assert sum(int(row["host_ns"]) for row in rows) == pytest.approx(2 * 500_000, rel=0.01)


@pytest.mark.parametrize("program", VARIANTS)
def test_executions_of_two_threads_are_all_counted(compared, program):
    plain, rows = compared(program, "threads=3000", "execute")
    assert (plain.stdout, calls(rows)) == (b"", 6001)


def test_a_forked_child_records_into_its_own_file(compared, tmp_path):
    _, rows = compared("onednn", "execute", "fork", "execute", "execute")
    files = sorted((tmp_path / "log").iterdir())
    assert calls(rows) == 5 and sorted(calls(rows_of(file)) for file in files) == [2, 3]


# ---- the program's own output stays as it is, and so does its buffer


@pytest.mark.parametrize("program", VARIANTS)
def test_buffered_text_stays_in_the_buffer(compared, program):
    plain, _ = compared(program, "text=first ", "execute", "write=second ", "execute", "text=third")
    assert plain.stdout == b"second first third"


@pytest.mark.parametrize("program", VARIANTS)
def test_buffered_text_of_a_forking_program_comes_twice_as_without_the_shim(compared, program):
    plain, _ = compared(program, "text=one ", "execute", "fork", "execute", "text=two ")
    assert plain.stdout == b"one two one two "


@pytest.mark.parametrize("program", VARIANTS)
def test_a_flush_by_the_program_after_an_execution_flushes(compared, program):
    plain, _ = compared(program, "text=one ", "execute", "flush", "write=two ", "text=three ", "execute", "library-flush", "write=four")
    assert plain.stdout == b"one two three four"


@pytest.mark.parametrize("program", VARIANTS)
def test_a_library_that_prints_other_text_prints_it(compared, program):
    plain, rows = compared(program, "say", "execute", "say", "text=between", "execute", "say")
    assert plain.stdout.count(b"constant\n") == 3 and calls(rows) == 2


@pytest.mark.parametrize("program", ["onednn", "onednn_now", "onednn_old"])
def test_a_line_like_those_of_onednn_from_another_object_is_the_program_s_own(compared, program):
    plain, rows = compared(program, "forge", "execute", "forge")
    assert plain.stdout.count(b"onednn_verbose,") == 2 and calls(rows) == 1


def read_slowly(pipe):
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
    for _ in range(5):
        time.sleep(0.02)
        os.read(pipe, 100)


STREAMS = {
    "a full pipe": (["execute", "full-pipe", "execute", "text=end"], {"read": read_slowly}),
    "closed": (["text=lost", "execute", "flush", "say"], {"preexec_fn": lambda: os.close(1)}),
    "closed later": (["text=lost", "execute", "close", "execute", "flush"], {}),
    "reopened": (["text=before", "execute", "reopen=file", "execute", "text=after"], {}),
    "duplicated": (["text=one", "execute", "duplicate=file", "execute", "write=two", "text=three"], {}),
    "unbuffered": (["unbuffered", "text=one", "execute", "write=two", "say"], {}),
    "line buffered": (["lines", "text=one", "execute", "write=two", "say", "text=three"], {}),
    "left by _exit": (["text=lost", "execute", "quick-exit"], {}),
}


@pytest.mark.parametrize("program", ["onednn", "onednn_now", "onednn_old"])
@pytest.mark.parametrize("words, how", STREAMS.values(), ids=STREAMS.keys())
@pytest.mark.parametrize("verbose", ["", "1"], ids=["", "shown"])
def test_a_stdout_of_any_kind_gets_the_same(compared, program, words, how, verbose):
    _, rows = compared(program, *words, env={"ONEDNN_VERBOSE": verbose}, **how)
    assert calls(rows) == sum(word == "execute" for word in words)


# ---- a program that asks for lines has them

MODES = {  # variables, and true if oneDNN then prints all executions
    "0": ({"ONEDNN_VERBOSE": "0"}, True),
    "none": ({"ONEDNN_VERBOSE": "none"}, True),
    "NONE": ({"ONEDNN_VERBOSE": "NONE"}, True),
    "1": ({"ONEDNN_VERBOSE": "1"}, True),
    "2": ({"ONEDNN_VERBOSE": "2"}, True),
    "error": ({"ONEDNN_VERBOSE": "error"}, True),
    "profile_create": ({"ONEDNN_VERBOSE": "profile_create"}, False),
    "dispatch": ({"ONEDNN_VERBOSE": "dispatch"}, False),
    "dispatch and executions": ({"ONEDNN_VERBOSE": "dispatch,profile_exec"}, True),
    "a filter": ({"ONEDNN_VERBOSE": "profile_exec,filter=conv"}, False),
    "empty": ({"ONEDNN_VERBOSE": ""}, True),
    "the old name": ({"DNNL_VERBOSE": "1"}, True),
    "both names": ({"ONEDNN_VERBOSE": "0", "DNNL_VERBOSE": "1"}, True),
    "a time": ({"ONEDNN_VERBOSE_TIMESTAMP": "1"}, True),
    "shown with a time": ({"ONEDNN_VERBOSE": "1", "ONEDNN_VERBOSE_TIMESTAMP": "1"}, True),
}
WORDS = ["text=one", "create", "execute", "write=two", "fail=it went wrong", "execute", "create", f"execute={F32.replace('matmul', 'convolution')}"]


@pytest.mark.parametrize("program", VARIANTS)
@pytest.mark.parametrize("variables, is_told", MODES.values(), ids=MODES.keys())
def test_a_mode_of_the_environment_shows_what_it_shows_without_the_shim(compared, program, variables, is_told):
    if "old" in program:  # the level is a number, and words are level 0
        is_told = True
        variables = {name: value for name, value in variables.items() if value in ("", "0", "1", "2")}
    _, rows = compared(program, *WORDS, env=variables)
    assert calls(rows) == 3 or not is_told


@pytest.mark.parametrize("program", VARIANTS)
@pytest.mark.parametrize("set_verbose", ["set", "looked-up-set"])
@pytest.mark.parametrize("level", [0, 1, 2, 5])
@pytest.mark.parametrize("is_first", [True, False], ids=["before", "after"])
def test_a_mode_set_by_the_program_shows_what_it_shows_without_the_shim(compared, program, set_verbose, level, is_first):
    words = WORDS[:-1] if is_first else WORDS
    compared(program, *([] if is_first else WORDS), f"{set_verbose}={level}", *words)


def test_a_mode_can_be_set_and_taken_back(compared):
    plain, rows = compared("onednn", "execute", "set=1", "execute", "set=0", "execute", "set=2", "execute", "create", "set=5", "create")
    assert plain.stdout.count(b",exec,") == 2 and calls(rows) == 4


@pytest.mark.parametrize("program", NEWEST)
def test_an_error_is_shown_after_the_head_of_the_log(compared, program):
    plain, rows = compared(program, "execute", "text=one", "execute", "fail=it went wrong", "fail=again", "execute")
    assert plain.stdout.startswith(b"one" + HEAD) and plain.stdout.count(HEAD) == 2 and plain.stdout.count(b",error,") == 2
    assert calls(rows) == 3


# ---- objects


@pytest.mark.parametrize("library", ["libfake_onednn.so", "libfake_onednn_now.so", "libfake_onednn_old.so"])
def test_a_library_that_is_closed_and_opened_again_tells_again(compared, library):
    file = shim.CLIENTS / library
    _, rows = compared("onednn_loader", f"open={file}", "execute", "close-library", f"open={file}", "execute", "text=a", "execute")
    assert calls(rows) == 3


def test_two_copies_in_a_process_are_told_apart(compared):
    other = shim.CLIENTS / "libfake_onednn_old_now.so"
    _, rows = compared("onednn_loader", f"open={FAKE}", "execute", f"open={other}", "execute", "execute", "close-library", "execute")
    assert (calls(rows, provider=FAKE.name), calls(rows, provider=other.name)) == (2, 2)


@pytest.mark.parametrize("verbose", ["", "1"])
def test_a_library_with_its_own_lookup_is_left_alone(compared, verbose):
    _, rows = compared("onednn_loader", f"deepbind={FAKE}", "execute", "say", env={"ONEDNN_VERBOSE": verbose})
    assert rows == []


@pytest.mark.parametrize("program", ["onednn", "onednn_now", "onednn_old"])
def test_a_loader_that_stores_no_address_hides_nothing(compared, program):
    _, rows = compared(program, "text=one", "execute", "write=two", "say", "execute", env={"LD_BIND_NOT": "1"})
    assert calls(rows) == 2


def test_a_program_that_looks_for_a_onednn_finds_only_its_own(tmp_path):
    program = build(tmp_path / "asks", """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        int main(int count, char** files) {
            if (count > 1) dlopen(files[1], RTLD_NOW | RTLD_GLOBAL);
            printf("%d\\n", dlsym(RTLD_DEFAULT, "dnnl_set_verbose") != NULL);
            return 0;
        }""", "-ldl")
    for files, expected in (([], b"0\n"), ([FAKE], b"1\n")):
        plain = start([program, *files], shim.environment())
        assert plain.stdout == expected and start([program, *files], shimmed(tmp_path / "log.fp32rec")).stdout == expected


def test_a_program_that_asks_how_much_a_onednn_prints_gets_the_value_of_its_environment(tmp_path):
    program = build(tmp_path / "asks", """
        #include <stdio.h>
        #include <stdlib.h>
        int main(void) {
            const char* value = getenv("ONEDNN_VERBOSE");
            printf("<%s>\\n", value ? value : "not set");
            return 0;
        }""")
    for env in ({}, {"ONEDNN_VERBOSE": "0"}):
        assert start([program], shimmed(tmp_path / "log.fp32rec", **env)) == start([program], shim.environment(env=env))


# ---- what a recording says


def record(log, *words, status=0, options=("--pin",), **variables):
    """Records by `fp32shim run`, so that the recording has all that a verdict needs."""
    done = subprocess.run([COMMAND, "run", "--quiet", *options, "--log", log, "--", *map(str, words)], capture_output=True, text=True,
                          check=False, env=environment(**variables))
    assert done.returncode == status, done.stderr
    # Each oneDNN counts, as on a processor with AVX512BW: a word of record/processor.hpp at this offset.
    with open(log, "r+b") as file:
        file.seek(208)
        file.write((1 << 15 | 1).to_bytes(2, sys.byteorder))
    return done


def verify(log):
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", log)
    return result.json["verdict"], result.json


def reasons(verdict, key="bypasses"):
    return [bypass["reason"] for bypass in verdict[key] if bypass["bypass"] == "oneDNN"]


@pytest.fixture
def log(tmp_path):
    return tmp_path / "run.fp32rec"


@pytest.mark.parametrize("program", VARIANTS)
def test_fp32_is_shown_of_a_program_whose_onednn_told_products_of_float32_only(log, program):
    done = record(log, shim.client(program), "execute", "threads=10", f"execute={BF16}")
    assert done.stdout == ""
    verdict, result = verify(log)
    assert (verdict, result["calls_shown"], reasons(result)) == ("shown", 22, [])
    told, = reasons(result, "recorded_bypasses")
    assert "the calls above include each primitive by which it multiplied" in told


@pytest.mark.parametrize("words", [["text=one", "execute", "write=two", "set=1", "execute", "set=0", "execute"], ["set=2", *WORDS]])
@pytest.mark.parametrize("verbose", ["", "1"])
def test_a_onednn_inside_a_program_is_left_alone(compared, words, verbose):
    _, rows = compared("onednn_program", *words, env={"ONEDNN_VERBOSE": verbose})
    assert rows == []


@pytest.mark.parametrize("words", [[], ["execute"], ["set=0", "execute"], ["execute", "set=0", f"execute={AMX_BF16}"]])
def test_a_program_with_a_onednn_inside_leaves_a_doubt_since_it_may_set_the_mode_unseen(log, words):
    record(log, shim.client("onednn_program"), *words)
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", log.parent).json
    assert result["verdict"] == "inconclusive" and "has oneDNN linked in" in reasons(result)[0]


def test_a_product_that_may_have_run_at_bf16_violates_fp32(log):
    record(log, shim.client("onednn"), "execute", f"execute={AMX_BF16}")
    verdict, result = verify(log)
    violation, = result["violations"]
    assert (verdict, violation["function"], violation["applied"], violation["calls"]) == ("violated", "onednn_matmul", "bf16", 1)
    assert AMX_BF16 in json.dumps(violation)


PYTHON_CLIENT = """
    import ctypes, fp32shim, sys
    library = ctypes.CDLL(sys.argv[1])
    def multiply():
        library.fake_execute(sys.argv[2].encode())
    multiply()
    with fp32shim.scope("layer"):
        multiply()
"""


def test_a_product_has_the_line_of_python_that_called_it_and_the_scope(log, tmp_path):
    script = tmp_path / "client.py"
    script.write_text(textwrap.dedent(PYTHON_CLIENT))
    done = record(log, shim.SYSTEM_PYTHON, script, FAKE, AMX_BF16, options=("--where", "python"), PYTHONPATH=shim.ROOT / "python")
    assert done.stdout == ""
    rows = rows_of(log)
    assert {(row["scope"], row["where"].split(" ")[0].split(";")[-1]) for row in rows} == {("", "client.py:5"), ("layer", "client.py:5")}, rows
    assert calls(rows, applied="bf16") == 2


@pytest.mark.parametrize("text, doubt", [(UNKNOWN, "its implementation is not known"), (F32.replace("cpu,", "gpu,"), "other devices than CPUs"),
                                         (F32.replace("f32", "zzz"), "no type that is known")], ids=["implementation", "device", "type"])
def test_a_line_that_is_not_understood_leaves_a_doubt_that_quotes_it(log, text, doubt):
    record(log, shim.client("onednn"), "execute", f"execute={text}")
    verdict, result = verify(log)
    assert verdict == "inconclusive"
    assert text in json.dumps(result)


@pytest.mark.parametrize("value", ["profile_create", "dispatch", "profile_exec,filter=conv"])
def test_a_program_that_chose_to_see_no_executions_leaves_a_doubt(log, value):
    record(log, shim.client("onednn"), "execute", ONEDNN_VERBOSE=value)
    verdict, result = verify(log)
    assert (verdict, len(reasons(result))) == ("inconclusive", 1)
    assert "some of its executions may not be recorded: the program chose" in reasons(result)[0]


@pytest.mark.parametrize("words", [[], ["say"]])
def test_a_onednn_that_never_asked_has_executed_nothing(log, words):
    record(log, shim.client("onednn"), *words)
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", log.parent).json
    assert reasons(result) == [] and "it executed nothing: before it does, it asks whether to print" in reasons(result, "recorded_bypasses")[0]


def test_a_onednn_that_asks_past_the_shim_leaves_a_doubt(log):
    record(log, shim.client("onednn_loader"), f"deepbind={FAKE}", "execute")
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", log.parent).json
    assert result["verdict"] == "inconclusive" and "it would not have asked the shim" in reasons(result)[0]


def test_executions_of_a_process_that_was_killed_are_counted(log):
    record(log, shim.client("onednn"), "threads=100", "kill", status=-signal.SIGKILL)
    assert calls(rows_of(log)) == 200


def test_a_process_that_was_killed_before_its_onednn_asked_leaves_a_doubt(log):
    record(log, shim.client("onednn_loader"), f"open={FAKE}", "execute", f"open={shim.CLIENTS / 'libfake_onednn_now.so'}", "kill",
           status=-signal.SIGKILL)
    verdict, _ = verify(log)
    assert verdict == "inconclusive"


def test_a_summary_does_not_call_a_onednn_uncounted_that_told_its_products(log):
    done = subprocess.run([COMMAND, "run", "--pin", "--log", log, "--", shim.client("onednn"), "execute"], capture_output=True, text=True,
                          check=True, env=environment())
    assert "onednn_matmul" in done.stderr and "These libraries were loaded but are not covered" not in done.stderr


# ---- settings


@pytest.mark.parametrize("variables", [{"FP32_MATMUL_ONEDNN": "0"}, {}], ids=["off", "not set"])
def test_without_the_setting_lines_are_not_taken(tmp_path, variables):
    for verbose in ("", "1", "2"):
        words = [shim.client("onednn"), *WORDS]
        plain = start(words, shim.environment(env={"ONEDNN_VERBOSE": verbose}))
        folder = tmp_path / f"log{verbose}"
        folder.mkdir()
        under = shim.environment(preload=[shim.LIBRARY], log=folder / "a.fp32rec", env={"ONEDNN_VERBOSE": verbose, **variables})
        assert start(words, under) == plain
        assert not list(folder.iterdir()) or rows_of(folder) == []


def test_a_policy_asks_for_executions(tmp_path):
    policy, log = tmp_path / "policy.toml", tmp_path / "run.fp32rec"
    policy.write_text(f"schema = 1\n[log]\nonednn = true\npath = '{log}'\n")
    words = [shim.client("onednn"), *WORDS]
    plain = start(words, shim.environment())
    assert start(words, shim.environment(preload=[shim.LIBRARY], policy=policy)) == plain
    assert calls(rows_of(log)) == 3


def test_a_bad_value_is_an_error_that_names_the_allowed_ones(tmp_path):
    words = [shim.client("onednn"), "execute", "text=own"]
    seen = start(words, shimmed(tmp_path / "run.fp32rec", FP32_MATMUL_ONEDNN="yes"))
    assert seen.stdout == b"own" and seen.status == 0
    assert "FP32_MATMUL_ONEDNN" in seen.stderr and '"yes"' in seen.stderr and "0" in seen.stderr and "1" in seen.stderr


@pytest.mark.parametrize("log", ["log.jsonl", None], ids=["JSON", "none"])
@pytest.mark.parametrize("verbose", ["", "1"])
def test_without_a_recording_nothing_is_captured(tmp_path, log, verbose):
    words = [shim.client("onednn"), *WORDS]
    plain = start(words, shim.environment(env={"ONEDNN_VERBOSE": verbose}))
    assert start(words, shimmed(log and tmp_path / log, ONEDNN_VERBOSE=verbose)) == plain
    assert "onednn_matmul" not in "".join(file.read_text() for file in tmp_path.iterdir())


# ---- Debian's oneDNN, through its C API (include/oneapi/dnnl/dnnl.h of 2.6)

REAL = """
    import ctypes, os, sys, threading
    from ctypes import byref, c_float, c_int, c_int64, c_void_p
    onednn = ctypes.CDLL("libdnnl.so.2")
    f32, tag_any, tag_ab, cpu = 3, 1, 3, 1
    source_argument, result_argument, weights_argument = 1, 17, 33

    def must(status):
        assert status == 0, status

    engine, stream = c_void_p(), c_void_p()
    must(onednn.dnnl_engine_create(byref(engine), cpu, 0))
    must(onednn.dnnl_stream_create(byref(stream), engine, 1))

    class Argument(ctypes.Structure):
        _fields_ = [("argument", c_int), ("memory", c_void_p)]

    def matmul(m, n, k, fpmath=0):
        memories, shapes = [], [(m, k), (k, n), (m, n)]
        descriptions = [ctypes.create_string_buffer(4096) for _ in shapes]
        for description, shape in zip(descriptions, shapes):
            must(onednn.dnnl_memory_desc_init_by_tag(description, 2, (c_int64 * 2)(*shape), f32, tag_ab))
            memories.append(c_void_p())
            numbers = (c_float * (shape[0] * shape[1]))(*[1.0] * (shape[0] * shape[1]))
            memories[-1].numbers = numbers
            must(onednn.dnnl_memory_create(byref(memories[-1]), description, engine, numbers))
        source, weights, result = descriptions
        product, attributes, kind, primitive = ctypes.create_string_buffer(16384), c_void_p(), c_void_p(), c_void_p()
        must(onednn.dnnl_matmul_desc_init(product, source, weights, None, result))
        must(onednn.dnnl_primitive_attr_create(byref(attributes)))
        must(onednn.dnnl_primitive_attr_set_fpmath_mode(attributes, fpmath))
        must(onednn.dnnl_primitive_desc_create(byref(kind), product, attributes, engine, None))
        must(onednn.dnnl_primitive_create(byref(primitive), kind))
        arguments = (Argument * 3)(*[Argument(*one) for one in zip((source_argument, weights_argument, result_argument), memories)])
        must(onednn.dnnl_primitive_execute(primitive, stream, 3, arguments))
        must(onednn.dnnl_stream_wait(stream))
        assert list(memories[-1].numbers) == [k] * (m * n)

    for word in sys.argv[1:]:
        if word == "sgemm":
            a, b, c = ((c_float * 64)(*[1.0] * 64) for _ in range(3))
            must(onednn.dnnl_sgemm(ctypes.c_char(b"N"), ctypes.c_char(b"N"), c_int64(8), c_int64(8), c_int64(8), c_float(1), a, c_int64(8), b, c_int64(8), c_float(0), c, c_int64(8)))
        elif word.startswith("set="):
            must(onednn.dnnl_set_verbose(int(word[4:])))
        elif word == "threads":
            threads = [threading.Thread(target=lambda: [matmul(4, 4, 4) for _ in range(50)]) for _ in range(2)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        elif word == "fork":
            child = os.fork()
            if child:
                os.waitpid(child, 0)
        else:
            matmul(*map(int, word.split("x")))
        print("done", word)
"""


@pytest.fixture
def real(tmp_path):
    """Words that run the script above."""
    shim.need(list(shim.SYSTEM_LIBRARIES.glob("libdnnl.so.2.*")), "libdnnl2 is not installed")
    script = tmp_path / "real.py"
    script.write_text(textwrap.dedent(REAL))
    return [shim.SYSTEM_PYTHON, script]


@pytest.fixture(scope="module")
def without_gpu(tmp_path_factory):
    """A folder with a copy of Debian's oneDNN in which libOpenCL has another name, as if it had been built for CPUs only."""
    folder = tmp_path_factory.mktemp("without_gpu")
    library, = shim.SYSTEM_LIBRARIES.glob("libdnnl.so.2.*") or [None]
    (folder / "libdnnl.so.2").write_bytes(library.read_bytes().replace(b"\0libOpenCL.so.1\0", b"\0libSameCL.so.1\0"))
    for opencl in shim.SYSTEM_LIBRARIES.glob("libOpenCL.so.1"):
        (folder / "libSameCL.so.1").symlink_to(opencl)
    return folder


def without_times(output):
    return re.sub(rb"^(onednn_verbose,.*),[0-9.e+-]+$", rb"\1", output, flags=re.MULTILINE).splitlines()


@pytest.mark.parametrize("verbose", ["", "0", "1", "2"])
def test_debian_s_onednn_tells_each_product(tmp_path, real, without_gpu, verbose):
    words = [*real, "64x48x32", "sgemm", "8x8x8x1", "threads", "fork", "64x48x32"]
    env = {"ONEDNN_VERBOSE": verbose, "FP32_MATMUL_WHERE": "python", "LD_LIBRARY_PATH": str(without_gpu)}
    plain, folder = start(words, shim.environment(env=env)), tmp_path / "log"
    folder.mkdir()
    seen = start(words, shimmed(folder / "run.fp32rec", **env))
    assert (plain.status, seen.status, seen.stderr) == (0, 0, plain.stderr)
    shown = without_times(start(words, shim.environment(env={**env, "ONEDNN_VERBOSE": "1"})).stdout)
    rows = rows_of(folder)
    assert calls(rows) == sum(b",exec," in line and b",reorder," not in line for line in shown) > 100
    assert {row["applied"] for row in rows} == {"fp32", "bf16"} and {row["provider"] for row in rows} == {"libdnnl.so.2"}
    assert calls(rows, m="64", n="48", k="32") == 3 and all(row["where"].startswith("real.py:") for row in rows)
    if verbose in ("", "0"):
        assert seen.stdout == plain.stdout
    elif verbose == "1":
        assert sorted(without_times(seen.stdout)) == sorted(shown)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_debian_s_onednn_shows_what_the_program_sets(tmp_path, real, without_gpu, level):
    words = [*real, "4x4x4", f"set={level}", "8x8x8", "set=0", "16x16x16"]
    plain = start(words, shim.environment(libraries=[without_gpu]))
    seen = start(words, shimmed(tmp_path / "run.fp32rec", LD_LIBRARY_PATH=str(without_gpu)))
    assert (seen.status, without_times(seen.stdout)) == (plain.status, without_times(plain.stdout))
    assert calls(rows_of(tmp_path / "run.fp32rec")) == 3


def test_debian_s_onednn_itself_tells_each_product_where_opencl_finds_no_device(tmp_path, real):
    shim.need(not os.path.exists("/etc/OpenCL/vendors"), "OpenCL may find a device here")
    words = [*real, "64x48x32", "threads", "8x8x8x1"]
    plain, seen = start(words, shim.environment()), start(words, shimmed(tmp_path / "run.fp32rec"))
    shown = without_times(start(words, shim.environment(env={"ONEDNN_VERBOSE": "1"})).stdout)
    assert (seen.stdout, seen.status, seen.stderr) == (plain.stdout, 0, plain.stderr)
    products = sum(b",exec," in line and b",reorder," not in line for line in shown)
    assert calls(rows_of(tmp_path / "run.fp32rec")) == products > 100


def test_a_onednn_that_may_use_a_gpu_is_left_alone(log, real):
    shim.need(list(shim.SYSTEM_LIBRARIES.glob("libOpenCL.so.1")), "oneDNN is built for CPUs only here")
    done = record(log, *real, "4x4x4", OCL_ICD_VENDORS="/nowhere")
    verdict, result = verify(log)
    assert done.stdout == "done 4x4x4\n" and verdict == "inconclusive"
    assert rows_of(log) == [] and "oneDNN may use a GPU" in reasons(result)[0]
