"""Stacks of compiled functions: those that backtrace(3) has inside of the program, whatever built it."""

import collections
import json
import os
import pathlib
import random
import re
import shutil
import subprocess

import pytest

from shim import BUILD, CLIENTS, client, need, run, tool

CUT, MADE_CODE, NOT_KNOWN = "(outer frames left out)", "(code made at run time)", "(outer frames not known)"
BUILDS = ["native_stacks", "native_stacks_unoptimised", "native_stacks_pointers", "native_stacks_stripped",
          "native_stacks_clang"]


def recorded(tmp_path, program, *arguments, where="native:64", **keywords):
    """Runs a program. Returns its result, and the call paths of its recording."""
    recording = tmp_path / "run.fp32rec"
    ran = run(program, *arguments, log=recording, env={"FP32_MATMUL_WHERE": where}, **keywords)
    return ran, paths_of(recording)


def paths_of(recording, *arguments):
    printed = subprocess.run([BUILD / "tests/clients/print_call_paths", recording, *arguments], check=True,
                             capture_output=True, text=True).stdout
    return [json.loads(line) for line in printed.splitlines()]


def words(frame):
    return frame["function"] or f"{os.path.realpath(frame['file'])}+{frame['offset']:#x}"


def callers(path):
    """Returns the callers of the function that multiplied, the innermost first."""
    return [words(frame) for frame in path["frames"]][1:]


def said(ran):
    """Returns the callers of each size's product, as backtrace(3) printed them."""
    result = collections.defaultdict(set)
    for line in ran.stdout.splitlines():
        size, *locations = line.split("\t")
        result[int(size)].add(tuple(
            location if location == "-" else "+".join([os.path.realpath(location.rpartition("+")[0]), location.rpartition("+")[2]])
            for location in locations))
    return result


def after_a_signal(locations):
    """Changes the address of the interrupted instruction, which has not run yet. The recorded address lies 1 beyond it, as
    if it were the return address of a call."""
    interrupted = 1 + next(i for i, location in enumerate(locations) if "/libc." in location)  # follows the kernel's frame
    path, _, offset = locations[interrupted].rpartition("+")
    return (*locations[:interrupted], f"{path}+{int(offset, 16) + 1:#x}", *locations[interrupted + 1:])


@pytest.mark.parametrize("program", BUILDS)
def test_every_stack_is_the_one_that_backtrace_has(tmp_path, program):
    ran, paths = recorded(tmp_path, program, "kinds", client("librelay_one.so"))
    expected = said(ran)
    assert len(expected) == 14
    for size, stacks in expected.items():
        found = {tuple(callers(path)) for path in paths if path["m"] == size}
        if size in (11, 12):
            stacks = set(map(after_a_signal, stacks))
        if size == 31:  # glibc's function at the bottom of a context has no unwind table
            found = {tuple(word for word in stack if word != NOT_KNOWN) for stack in found}
        if size == 41:
            assert all(stack[0] == "-" for stack in stacks)
            stacks = {(MADE_CODE,)}
        assert found == stacks, size
    assert all(path["frames"][0]["file"] == str(client(program)) for path in paths)


def test_results_and_output_are_as_without_stacks(tmp_path):
    plain = run("native_stacks", "kinds", client("librelay_one.so"), preload=False)
    ran, _ = recorded(tmp_path, "native_stacks", "kinds", client("librelay_one.so"))
    # Offsets are the same in each run, although addresses differ.
    assert ran.stdout == plain.stdout and ran.stderr == plain.stderr


@pytest.mark.parametrize("most", [2, 3, 8, 64])
def test_no_more_callers_are_recorded_than_were_asked_for(tmp_path, most):
    _, paths = recorded(tmp_path, "native_stacks", "deep", 100, where=f"native:{most}")
    assert [len(path["frames"]) for path in paths] == [most + 1]
    assert words(paths[0]["frames"][-1]) == CUT
    assert CUT not in map(words, paths[0]["frames"][:-1])


def test_a_whole_stack_has_no_remark(tmp_path):
    ran, paths = recorded(tmp_path, "native_stacks", "deep", 3)
    assert len(paths) == 1 and {tuple(callers(path)) for path in paths} == said(ran)[1]
    assert all(frame["file"] for frame in paths[0]["frames"])


@pytest.mark.parametrize("where", ["native", "auto", "native:8,none", "python"])
def test_without_a_number_only_the_calling_place_is_recorded(tmp_path, where):
    _, paths = recorded(tmp_path, "native_stacks", "deep", 100, where=where)
    assert [len(path["frames"]) for path in paths] == [1]


def test_threads_count_their_calls_by_stack(tmp_path):
    threads, rounds = 8, 1000
    _, paths = recorded(tmp_path, "native_stacks", "threads", threads, rounds)
    calls = collections.Counter()
    for path in paths:
        calls[path["m"], len(path["frames"])] += path["calls"]
    shallowest = min(frames for _, frames in calls)
    assert calls == {(i + 1, shallowest + i + deeper): rounds // 2 for i in range(threads) for deeper in (0, 1)}


def test_a_library_in_the_place_of_another_is_not_taken_for_it(tmp_path):
    libraries = [client("librelay_one.so"), client("librelay_two.so")]
    ran, paths = recorded(tmp_path, "native_stacks", "reload", *libraries, 50)
    calls = collections.Counter()
    for path in paths:
        calls[words(path["frames"][1]).rpartition("+")[0]] += path["calls"]
    assert calls == {os.path.realpath(library): 50 for library in libraries}
    need(ran.stdout == "1\n", "the loader put the libraries at different addresses")


def test_products_of_code_that_is_made_at_run_time_say_so(tmp_path):
    _, paths = recorded(tmp_path, "runtime_code", "places", 3, 256, 2)
    assert {path["where"] for path in paths} == {MADE_CODE}
    assert {tuple(map(words, path["frames"])) for path in paths} == {(MADE_CODE,)}


def test_lines_of_python_go_before_native_stacks(tmp_path):
    library = client("libthread_product.so")
    code = ("import ctypes, threading\n"
            f"library = ctypes.CDLL({str(library)!r})\n"
            "assert library.multiply_on_a_thread() == 0\n"
            "import numpy; numpy.ones((3, 3), numpy.float32) @ numpy.ones((3, 3), numpy.float32)\n")
    _, paths = recorded(tmp_path, "/usr/bin/python3", "-c", code, where="python,native:8")
    by_size = {path["m"]: path for path in paths}
    assert by_size[3]["where"] == "<string>:4 <module>"
    assert [frame["function"] for frame in by_size[3]["frames"]][1:] == ["<module>"]
    other = next(path for path in paths if path["m"] != 3)
    assert "libthread_product.so" in words(other["frames"][0]) and len(other["frames"]) >= 2
    assert all(frame["file"] for frame in other["frames"])


def sections(file):
    """Returns the offset and size of each section of a file, by name."""
    listed = subprocess.run([tool("readelf"), "-SW", file], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"\] (\.\S+) +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", listed)
    return {name: (int(offset, 16), int(size, 16)) for name, offset, size in found}


@pytest.mark.parametrize("section", [".eh_frame", ".eh_frame_hdr"])
@pytest.mark.parametrize("seed", range(int(os.environ.get("FP32SHIM_DAMAGED_TABLES", "15"))))
def test_damaged_tables_give_another_stack_but_no_crash(tmp_path, section, seed):
    chance = random.Random(seed)
    damaged = {}
    for name in ("native_stacks", "librelay_one.so"):
        damaged[name] = tmp_path / name
        shutil.copy(client(name), damaged[name])
        offset, size = sections(damaged[name])[section]
        data = bytearray(damaged[name].read_bytes())
        for _ in range(chance.choice([1, 10, size // 8, size])):
            data[offset + chance.randrange(size)] = chance.choice([0, 255, chance.randrange(256)])
        damaged[name].write_bytes(data)
    _, paths = recorded(tmp_path, damaged["native_stacks"], "quiet", damaged["librelay_one.so"])
    assert [path["calls"] for path in paths] == [1]
    assert paths[0]["frames"][0]["file"] == str(damaged["native_stacks"])


def test_an_object_without_tables_ends_the_stack(tmp_path):
    library = tmp_path / "librelay_one.so"
    data = bytearray(pathlib.Path(client("librelay_one.so")).read_bytes())
    offset, size = sections(client("librelay_one.so"))[".eh_frame_hdr"]
    data[offset:offset + size] = bytes(size)
    library.write_bytes(data)
    _, paths = recorded(tmp_path, "native_stacks", "quiet", library)
    found = list(map(words, paths[0]["frames"]))
    assert len(found) == 3 and str(library) in found[1] and found[2] == NOT_KNOWN


@pytest.mark.parametrize("how", ["locked", "unmapped"])
def test_tables_that_the_program_takes_away_end_the_stack_and_not_the_program(tmp_path, how):
    library = tmp_path / "librelay_one.so"
    shutil.copy(client("librelay_one.so"), library)
    _, paths = recorded(tmp_path, "native_stacks", "quiet", library, how)
    found = list(map(words, paths[0]["frames"]))
    assert len(found) == 3 and str(library) in found[1] and found[2] == NOT_KNOWN


def test_debug_information_names_the_lines_of_every_caller(tmp_path):
    recorded(tmp_path, "native_stacks", "deep", 3, where="native:8")
    paths = paths_of(tmp_path / "run.fp32rec", "levels")
    source = (pathlib.Path(__file__).parent / "clients/native_stacks.cpp").read_text().splitlines()
    levels = paths[0]["levels"]
    assert paths[0]["where"].startswith("native_stacks.cpp:") and "multiply" in paths[0]["where"]
    named = [level for level in levels if level["file"].endswith("native_stacks.cpp")]
    assert [level["function"].split("::")[-1] for level in named] == ["multiply", *["multiply_at_depth"] * 3, "main"]
    for level, text in zip(named, ["sgemm_(", "multiply(&m)", *["multiply_at_depth(depth - 1, m)"] * 2, '"deep"']):
        assert text in source[level["line"] - 1]
    assert any("libc_start" in level["function"] for level in levels)
