"""Lines of Python that are odd, too many, or about to vanish: the program runs as without the shim, and reports say so."""

import json
import re
import subprocess

import pytest

from shim import BUILD, client, has_module, need, python, run

PYTHON = {"FP32_MATMUL_WHERE": "python"}
COMMAND = BUILD / "bin/fp32shim"


@pytest.fixture(autouse=True)
def numpy():
    need(has_module("numpy"), "the system's Python has no numpy")


def rows(recording, *filters):
    """Yields the rows of a recording, one for each call path."""
    listed = recording.with_suffix(".jsonl")
    with open(listed, "wb") as out:
        subprocess.run([COMMAND, "log", "--rows", "--format", "jsonl", *filters, recording], stdout=out, check=True, timeout=600)
    with open(listed, encoding="utf-8") as lines:
        yield from (row for row in map(json.loads, lines) if row["event"] == "row")


def locations(result):
    return [decision["where"] for decision in result.decisions]


def odd_frames(code, **keywords):
    library = client("libodd_frames.so")
    return python(f"import ctypes, sys\nlibrary = ctypes.CDLL({str(library)!r})\n{code}", env=PYTHON, **keywords)


def test_names_of_all_characters_are_kept_and_bounded(tmp_path):
    recording = tmp_path / "r.fp32rec"
    ran = run("odd_names.py", env=PYTHON, log=recording)
    own = [json.loads(line) for line in ran.stdout.splitlines()]
    logged = run("odd_names.py", env=PYTHON)
    assert logged.stdout == ran.stdout == run("odd_names.py", preload=False).stdout
    for location, name in zip(locations(logged), own, strict=True):
        if name == ":1 ":  # neither the file nor the function has a name
            assert location is None
            continue
        assert len(location.encode()) <= 512
        if len(name) > 500:
            assert re.fullmatch("(long|文)*(l|lo|lon)?…:1 (long|文)*(l|lo|lon)?…", location)
        elif re.search("[\ud800-\udfff]", name):
            assert location == re.sub("\udcff", "\ufffd", re.sub("\ud800", "\ufffd" * 3, name))
        else:
            assert location == name


@pytest.mark.parametrize("form", ["json", "csv", "html", "folded", "speedscope"])
def test_reports_of_odd_names_are_valid_and_show_no_control_characters(tmp_path, form):
    recording, out = tmp_path / "r.fp32rec", tmp_path / "out"
    run("odd_names.py", env=PYTHON, log=recording)
    run(COMMAND, "report", "--format", form, "-o", out, recording, preload=False)
    text = out.read_bytes().decode()
    assert "feed.py" in text and not set("\x00\x1b\u202e") & set(text)
    if form in ("json", "speedscope"):
        json.loads(text)
    if form == "html":
        assert "</script><b>" not in text


def test_a_recursion_of_ten_thousand_functions_is_cut(tmp_path):
    code = """import numpy, sys, threading
a = numpy.ones((4, 4), numpy.float32)
def deep(depth):
    if depth: deep(depth - 1)
    else: a @ a
sys.setrecursionlimit(20_000)
threading.stack_size(512 << 20)
thread = threading.Thread(target=deep, args=(10_000,))
thread.start()
thread.join()
print("done")
"""
    recording = tmp_path / "r.fp32rec"
    assert python(code, env=PYTHON, log=recording).stdout == "done\n"
    assert [row["where"] for row in rows(recording)] == ["<string>:5 deep"]


def test_code_that_is_made_and_deleted_again_and_again_has_its_own_lines():
    code = """import numpy
a = numpy.ones((4, 4), numpy.float32)
for number in range(1, 300):
    variables = {"a": a}
    exec(compile("\\n" * number + "a @ a", "cell", "exec"), variables)
    del variables
"""
    assert locations(python(code, env=PYTHON)) == [f"cell:{number + 1} <module>" for number in range(1, 300)]


def test_a_cycle_of_frames_ends():
    result = odd_frames("def f():\n    library.multiply_called_by(sys.hexversion, ctypes.c_void_p(0))\nf()")
    assert locations(result) == ["<string>:4 f"]


@pytest.mark.parametrize("number", ["0xdddddddddddddddd", "0xfdfdfdfdfdfdfdfd", "0x7f0000000003", "0x100", "1"])
def test_a_number_that_is_no_address_ends_the_stack(number):
    result = odd_frames(f"def f():\n    library.multiply_called_by(sys.hexversion, ctypes.c_void_p({number}))\nf()")
    assert locations(result) == ["<string>:4 f"]


def test_a_thread_state_that_another_thread_has_deleted_is_not_read():
    code = """def f():
    for _ in range(5):
        library.multiply_after_deletion()
    library.multiply_for(1)
f()
"""
    assert set(locations(odd_frames(code))) == {"(thread without Python frames)", "<string>:6 f"}


@pytest.mark.parametrize("side", ["preload_before", "preload_after"])
def test_a_second_python_in_the_process_is_not_asked_about_the_first(side):
    result = odd_frames("library.multiply_for(1)", **{side: [client("libsecond_python.so")]})
    assert set(locations(result)) == {"<string>:3 <module>"}


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_that_multiply_while_python_shuts_down_have_no_lines(tmp_path, threads):
    """A daemon thread stays in C, without the GIL, until the process ends. Python frees the thread's frames before that."""
    code = f"""import threading, time
class Last:
    def __del__(self, sleep=time.sleep): sleep(0.5)
sys.last = Last()  # lives longer than what the threads can reach
started = threading.Barrier({threads} + 1)
def work():
    started.wait()
    library.multiply_for(60_000)
threads = [threading.Thread(target=work, daemon=True) for _ in range({threads})]
for thread in threads:
    thread.start()
started.wait()
while any(time.clock_gettime(time.pthread_getcpuclockid(thread.ident)) < 0.05 for thread in threads):
    time.sleep(0.01)  # until each of them multiplies
"""
    recording = tmp_path / "r.fp32rec"
    # The BLAS is not OpenBLAS, whose threads may kill a process that exits, even without the shim.
    odd_frames(code, log=recording, blas="reference")
    assert {row["where"] for row in rows(recording)} == {"<string>:10 work", "(Python is shutting down)"}


def test_products_of_objects_that_die_at_exit_are_counted():
    code = """import numpy
a = numpy.ones((4, 4), numpy.float32)
class Last:
    def __del__(self, a=a): a @ a
last = Last()
last.itself = last
a @ a
"""
    assert locations(python(code, env=PYTHON)) == ["<string>:7 <module>", "(Python is shutting down)"]


def test_beyond_half_a_million_rows_new_paths_end_at_a_function_that_is_known(tmp_path):
    recording = tmp_path / "r.fp32rec"
    known, paths = 20, 4000
    run("many_paths.py", known, 1 << 19, paths, env=PYTHON, log=recording, timeout=600)
    found = list(rows(recording, "--where", "many_paths.py:* multiply"))
    assert sum(row["calls"] for row in found) == known + paths
    functions = 2 * known * (known + paths).bit_length()  # upper limit for the known paths
    assert known + 1 < len(found) <= known + functions
