"""Addresses of calls become functions, files and lines. The programs tell the address and the line of each call."""

import json
import os
import random
import re
import shutil
import struct
import subprocess

import pytest

import shim

MARK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>
void mark(int line) {
    const char* address = __builtin_return_address(0);
    struct link_map* map;
    Dl_info info;
    dladdr1(address, &info, (void**)&map, RTLD_DL_LINKMAP);
    char path[4096] = {0};
    if (map->l_name[0] == 0 && readlink("/proc/self/exe", path, sizeof path - 1) < 0) return;
    printf("%s\t%#lx\t%d\n", path[0] ? path : map->l_name, (unsigned long)(address - (const char*)map->l_addr), line);
}
"""
# A Fortran caller passes the line by reference.
FORTRAN_MARK = MARK.replace("void mark(int line)", "void mark_(int* place)").replace(", line)", ", *place)")

CPP = r"""extern "C" void mark(int);
#define HERE mark(__LINE__); asm volatile("")
namespace physics {
template <class T> inline __attribute__((always_inline)) void inner(T) {
    HERE;
}
static inline __attribute__((always_inline)) void middle(int x) {
    inner<float>(x);
}
struct Grid {
    void step(int x) const;
};
__attribute__((noinline)) void Grid::step(int x) const {
    middle(x);
    const auto closure = [](int) __attribute__((noinline)) { HERE; };
    closure(x);
    HERE;
}
namespace {
__attribute__((noinline)) void hidden() { HERE; }
}
template <class T> __attribute__((noinline, noipa)) void solve(T) { HERE; }
__attribute__((noinline)) void größe() { HERE; }
}
extern "C" __attribute__((visibility("default"))) void run() {
    physics::Grid().step(1);
    physics::hidden();
    physics::solve<double>(2);
    physics::größe();
    HERE;
}
"""
FUNCTIONS = [
    ["physics::inner<float>", "physics::middle", "physics::Grid::step"],
    ["physics::Grid::step::{lambda}::operator()"],
    ["physics::Grid::step"],
    ["physics::(anonymous namespace)::hidden"],
    ["physics::solve<double>"],
    ["physics::größe"],
    ["run"],
]
SYMBOLS = ["physics::Grid::step", "physics::Grid::step::{lambda#1}::operator()", "physics::Grid::step",
           "physics::(anonymous namespace)::hidden", "physics::solve", "physics::größe", "run"]
LINES = [[5, 8, 14], [15], [17], [20], [22], [23], [30]]

FORTRAN = """module physics
contains
  subroutine solve(n)
    integer, value :: n
    call mark(__LINE__)
    call inner(n)
  contains
    subroutine inner(m)
      integer, value :: m
      if (m > 0) call mark(__LINE__)
    end subroutine
  end subroutine
end module
subroutine outside()
  call mark(__LINE__)
end subroutine
program my_program
  use physics
  call mark(__LINE__)
  call solve(1)
  call outside()
end program
"""


def look_up(lines):
    """Returns the locations of lines `path TAB offset …`, and the seconds of processor time that the look-up took."""
    finished = subprocess.run([shim.CLIENTS / "look_up_locations"], input="".join(f"{line}\n" for line in lines),
                              capture_output=True, text=True, check=True, timeout=600)
    *locations, seconds = finished.stdout.splitlines()
    return [json.loads(location) for location in locations], float(seconds)


def build(folder, *options, name="program", source=CPP, compiler="g++"):
    """Builds a program of CPP, or a library and a program that calls it. Returns the file with the calls."""
    folder.mkdir(exist_ok=True)
    (folder / "mark.c").write_text(MARK)
    (folder / "physics.cpp").write_text(source)
    (folder / "main.c").write_text("void run(void);\nint main(void) { run(); return 0; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", "libmark.so", "mark.c", "-ldl"], cwd=folder, check=True)
    here = f"-Wl,-rpath,{folder}"
    subprocess.run([shim.tool("gcc"), "-c", "-fPIC", "main.c"], cwd=folder, check=True)
    if name == "program":
        subprocess.run([shim.tool(compiler), *options, "-o", name, "physics.cpp", "main.o", "./libmark.so", here],
                       cwd=folder, check=True)
    else:
        subprocess.run([shim.tool(compiler), *options, "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", name, "physics.cpp", "./libmark.so",
                        here], cwd=folder, check=True)
        subprocess.run(["gcc", "-o", "program", "main.o", f"./{name}", "./libmark.so", here], cwd=folder, check=True)
    return folder / name


def calls_of(folder):
    """Returns path, offset and line of each call, as the running program knows them."""
    finished = subprocess.run([folder / "program"], capture_output=True, text=True, check=True, cwd=folder)
    return [line.split("\t") for line in finished.stdout.splitlines()]


def locations_of(folder):
    return look_up("\t".join(call[:2]) for call in calls_of(folder))[0]


def expect_lines(folder):
    calls = calls_of(folder)
    locations, _ = look_up("\t".join(call[:2]) for call in calls)
    assert len(calls) == len(LINES)
    for call, location, functions, lines, symbol in zip(calls, locations, FUNCTIONS, LINES, SYMBOLS):
        assert int(call[2]) == lines[0]
        assert [frame["function"] for frame in location["frames"]] == functions, location
        assert [frame["line"] for frame in location["frames"]] == lines
        assert {frame["file"] for frame in location["frames"]} == {str(folder / "physics.cpp")}
        assert [frame["is_inlined"] for frame in location["frames"]] == [True] * (len(lines) - 1) + [False]
        assert (location["symbol"], location["why_unknown"]) == (symbol, "")


@pytest.mark.parametrize("options", [
    ["-pie", "-fPIE"], ["-no-pie", "-fno-pie"], ["-no-pie", "-fno-pie", "-Wl,-Ttext-segment=0x10000000"],
    ["-gdwarf-4"], ["-gz"], ["-g3", "-O3"], ["-gsplit-dwarf"], ["-gdwarf-4", "-gsplit-dwarf"], ["-static-libstdc++"],
    ["-flto"],
], ids=" ".join)
def test_each_call_of_a_program_has_its_line_and_inlined_functions(tmp_path, options):
    build(tmp_path, "-g", "-O2", *options)
    expect_lines(tmp_path)


@pytest.mark.parametrize("options", [[], ["-Wl,-Ttext-segment=0x200000"], ["-Wl,-z,noseparate-code"],
                                     ["-Wl,--build-id=none"]], ids=" ".join)
def test_each_call_of_a_library_has_its_line_and_inlined_functions(tmp_path, options):
    build(tmp_path, "-g", "-O2", *options, name="libphysics.so")
    expect_lines(tmp_path)


def test_clang_leaves_no_index_of_addresses_and_lines_are_found(tmp_path):
    shim.tool("clang++", "clang")
    build(tmp_path, "-g", "-O1", compiler="clang++", name="libphysics.so")
    for call, location in zip(calls_of(tmp_path), locations_of(tmp_path)):
        assert location["frames"][0]["line"] == int(call[2])


def test_debug_information_is_found_beside_the_file_and_by_build_id(tmp_path):
    library = build(tmp_path, "-g", "-O2", name="libphysics.so")
    apart = tmp_path / ".debug/libphysics.so.debug"
    apart.parent.mkdir()
    subprocess.run(["objcopy", "--only-keep-debug", "--compress-debug-sections", library, apart], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={apart}", library], check=True)
    expect_lines(tmp_path)
    apart.write_bytes(apart.read_bytes()[:-1] + b"x")  # by its build id it is still the same file
    expect_lines(tmp_path)
    apart.unlink()
    locations = locations_of(tmp_path)
    assert {location["why_unknown"] for location in locations} == {"has no debug information"}


def test_a_debug_file_of_another_build_is_not_taken(tmp_path):
    library = build(tmp_path / "a", "-g", "-O2", name="libphysics.so")
    other = build(tmp_path / "b", "-g", "-O2", name="libphysics.so", source="\n" * 100 + CPP)
    subprocess.run(["objcopy", "--only-keep-debug", other, library.with_name("libphysics.so.debug")], check=True)
    subprocess.run(["objcopy", "--strip-all", library], check=True)
    assert {location["why_unknown"] for location in locations_of(tmp_path / "a")} == {"has no debug information"}


def test_parts_shared_by_dwz_are_found(tmp_path):
    shim.tool("dwz")
    library = build(tmp_path, "-g", "-O2", "-gdwarf-4", name="libphysics.so")
    shutil.copy(library, tmp_path / "other.so")
    subprocess.run(["dwz", "-m", "shared.debug", "libphysics.so", "other.so"], cwd=tmp_path, check=True)
    if b".gnu_debugaltlink" not in library.read_bytes():
        pytest.skip("dwz shared nothing")
    expect_lines(tmp_path)
    (tmp_path / "shared.debug").unlink()
    for call, location in zip(calls_of(tmp_path), locations_of(tmp_path)):
        assert location["symbol"] and (location["why_unknown"] or location["frames"][0]["line"] in (0, int(call[2])))


def test_without_debug_information_there_is_the_symbol(tmp_path):
    library = build(tmp_path, "-O2", name="libphysics.so")
    locations = locations_of(tmp_path)
    assert [location["symbol"] for location in locations] == SYMBOLS
    assert {location["why_unknown"] for location in locations} == {"has no debug information"}
    for call, location in zip(calls_of(tmp_path), locations):
        assert location["call_site"] == (f"libphysics.so!{location['symbol']}{location['clone']}"
                                      f"+{location['symbol_offset']:#x}")
    subprocess.run(["strip", library], check=True)
    locations = locations_of(tmp_path)
    assert [location["symbol"] for location in locations] == [
        "physics::Grid::step", "", "physics::Grid::step", "", "physics::solve", "physics::größe", "run"]
    for call, location in zip(calls_of(tmp_path), locations):
        if not location["symbol"]:
            assert location["call_site"] == f"libphysics.so+{call[1]}"


def test_fortran_has_its_procedures_in_their_modules(tmp_path):
    shim.tool("gfortran")
    (tmp_path / "mark.c").write_text(FORTRAN_MARK)
    (tmp_path / "physics.F90").write_text(FORTRAN)
    subprocess.run(["gcc", "-c", "mark.c"], cwd=tmp_path, check=True)
    subprocess.run(["gfortran", "-g", "-o", "program", "physics.F90", "mark.o"], cwd=tmp_path, check=True)
    calls = calls_of(tmp_path)
    locations = locations_of(tmp_path)
    assert [location["frames"][0]["function"] for location in locations] == [
        "my_program", "physics::solve", "physics::solve::inner", "outside"]
    assert [location["frames"][0]["line"] for location in locations] == [int(call[2]) for call in calls] == [19, 5, 10, 15]
    assert [location["symbol"] for location in locations] == ["MAIN__", "physics::solve", "inner", "outside"]
    subprocess.run(["strip", "--strip-debug", "program"], cwd=tmp_path, check=True)
    assert [location["symbol"] for location in locations_of(tmp_path)] == ["MAIN__", "physics::solve", "inner", "outside"]
    subprocess.run(["strip", "program"], cwd=tmp_path, check=True)
    for call, location in zip(calls, locations_of(tmp_path)):
        assert location["call_site"] == f"program+{call[1]}"


def test_a_file_that_is_gone_or_another_one_is_named_as_such(tmp_path):
    library = build(tmp_path, "-g", "-O2", "-Wl,--build-id=none", name="libphysics.so")
    _, offset, _ = calls_of(tmp_path)[0]
    changed = library.stat().st_ctime_ns
    other_id = "00" * 20
    reasons = [location["why_unknown"] for location in look_up([
        f"{tmp_path}/gone.so\t{offset}", f"{library}\t{offset}\t\t{changed + 1}",
        f"{library}\t{offset}\t{other_id}\t{changed + 1}", f"libphysics.so\t{offset}", f"\t{offset}",
        f"{tmp_path}/mark.c\t{offset}", f"{tmp_path}\t{offset}"])[0]]
    assert reasons == ["does not exist here, or cannot be read", "", "is a different file now", "has no complete path",
                       "is code that was made at run time", "does not exist here, or cannot be read",
                       "does not exist here, or cannot be read"]
    assert look_up([f"{library}\t{offset}\t\t{changed}"])[0][0]["why_unknown"].startswith("has changed or was copied since")
    library.unlink()
    os.mkfifo(library)
    assert look_up([f"{library}\t{offset}"])[0][0]["why_unknown"] == "does not exist here, or cannot be read"


def test_an_address_outside_of_every_function_has_a_reason(tmp_path):
    library = build(tmp_path, "-g", "-O2", name="libphysics.so")
    for offset in (0, 1, 2**63, 2**64 - 1):
        location = look_up([f"{library}\t{offset}"])[0][0]
        assert location["why_unknown"] == "has no debug information for this place"
        assert location["call_site"] == f"libphysics.so+{offset:#x}"


def damaged(data, rng):
    """Returns the bytes damaged: cut, or with some of them changed, more often in headers and debug information."""
    data = bytearray(data)
    if rng.random() < 0.2:
        return data[:rng.randrange(len(data))]
    offsets = [0, struct.unpack_from("<Q", data, 40)[0], len(data) // 2, rng.randrange(len(data))]
    for _ in range(rng.choice([1, 4, 40, 400])):
        offset = (rng.choice(offsets) + rng.randrange(rng.choice([64, 4096, len(data)]))) % len(data)
        data[offset] = rng.choice([0, 1, 0x7f, 0x80, 0xff, rng.randrange(256)])
    return data


@pytest.mark.parametrize("options", [["-gdwarf-5"], ["-gdwarf-4", "-gz"]], ids=" ".join)
def test_a_damaged_file_gives_an_answer_or_a_reason(tmp_path, options):
    library = build(tmp_path, "-g", "-O2", *options, "-Wl,--build-id=none", name="libphysics.so")
    offsets = [call[1] for call in calls_of(tmp_path)]
    rng, questions = random.Random(16), []
    data = library.read_bytes()
    for number in range(150):
        path = tmp_path / f"damaged{number}.so"
        path.write_bytes(damaged(data, rng))
        questions += [f"{path}\t{offset}" for offset in offsets]
    good = [f"{library}\t{offset}" for offset in offsets]
    locations, _ = look_up(questions + good)
    assert len(locations) == len(questions) + len(good)
    assert not [location for location in locations if "took over" in (location["why_unknown"] or "")]
    assert all(location["frames"] or location["why_unknown"] for location in locations)
    assert [location["frames"][0]["line"] for location in locations[-len(good):]] == [lines[0] for lines in LINES]


def test_the_network_is_never_asked(tmp_path):
    """For a stripped file with a build id, libdw would ask a server of debug information."""
    strace = shim.tool("strace")
    library = build(tmp_path, "-O2", name="libphysics.so")
    offset = calls_of(tmp_path)[0][1]
    finished = subprocess.run(
        [strace, "-f", "-e", "trace=socket,connect", shim.CLIENTS / "look_up_locations"], input=f"{library}\t{offset}\n",
        env={**os.environ, "DEBUGINFOD_URLS": "http://127.0.0.1:9"}, capture_output=True, text=True, check=True)
    assert "physics::Grid::step" in finished.stdout
    assert "socket(" not in finished.stderr and "connect(" not in finished.stderr


def test_without_libdw_there_are_symbols(tmp_path):
    """The test puts an empty file in the place of the library, so that it cannot be loaded."""
    library = build(tmp_path, "-g", "-O2", name="libphysics.so")
    offset = calls_of(tmp_path)[0][1]
    (tmp_path / "none").mkdir()
    (tmp_path / "none/libdw.so.1").write_bytes(b"")
    finished = subprocess.run([shim.CLIENTS / "look_up_locations"], input=f"{library}\t{offset}\n", text=True,
                              env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path / "none")}, capture_output=True,
                              check=True)
    location = json.loads(finished.stdout.splitlines()[0])
    assert location["symbol"] == "physics::Grid::step"
    assert location["why_unknown"] == "can be searched for lines only with libdw.so.1 (Debian's package libdw1)"


@pytest.mark.parametrize("fate, how", [
    ("abort()", "was killed by signal 6"),
    ("*(volatile int*)0 = 1", "was killed by signal 11"),
    ("_exit(1)", "ended with status 1 and no answer"),
    # The process has set an alarm of at most 30 seconds, which ends it.
    ("left = alarm(1); if (left == 0 || left > 30) _exit(7); for (;;) pause()", "took over 30 s"),
])
def test_a_reader_that_crashes_or_hangs_leaves_the_symbols(tmp_path, fate, how):
    """The test puts a library in the place of libdw whose first function does not return."""
    library = build(tmp_path, "-g", "-O2", name="libphysics.so")
    calls = calls_of(tmp_path)
    names = re.findall(r"ROW\((\w+)\)", (shim.ROOT / "cli/source_locations/libdw.hpp").read_text())
    stubs = "".join(f"void* {name}(void) {{ unsigned left = 0; (void)left; {fate}; return 0; }}\n" for name in names)
    (tmp_path / "stub.c").write_text(f"#include <stdlib.h>\n#include <unistd.h>\n{stubs}")
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-o", "libdw.so.1", "stub.c"], cwd=tmp_path, check=True)
    finished = subprocess.run([shim.CLIENTS / "look_up_locations"], text=True, capture_output=True, check=True,
                              input="".join(f"{library}\t{call[1]}\n" for call in calls),
                              env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}, timeout=600)
    locations = list(map(json.loads, finished.stdout.splitlines()[:-1]))
    assert [location["symbol"] for location in locations] == SYMBOLS
    reason = f"has debug information that could not be read: the process that read it {how}"
    assert {location["why_unknown"] for location in locations} == {reason}


def seconds_to_look_up(folder, functions, calls, call, optimised):
    """Looks up all calls of a library with this number of functions and of calls in each. Returns the seconds."""
    folder.mkdir()
    lines = ['extern "C" void mark(int);', "static inline __attribute__((always_inline)) void wrapped(int x) { mark(x); }"]
    for number in range(functions):
        lines += [f"void function_{number}() {{", *[call] * calls, "}"]
    (folder / "many.cpp").write_text("\n".join(lines))
    subprocess.run(["g++", "-g", "-fPIC", optimised, "-c", "many.cpp"], cwd=folder, check=True)
    subprocess.run(["gcc", "-shared", "-o", "libmany.so", "many.o"], cwd=folder, check=True)
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "libmany.so"], cwd=folder, check=True,
                             capture_output=True, text=True).stdout.splitlines()
    after = [next_line.split(":")[0].strip() for line, next_line in zip(listing, listing[1:])
             if "<mark@plt>" in line and ("call" in line or "bl" in line)]
    locations, seconds = look_up(f"{folder}/libmany.so\t0x{offset}" for offset in after if offset)
    assert len(locations) > 0.9 * functions * calls
    assert all(len(location["frames"]) == (2 if "wrapped" in call else 1) for location in locations)
    assert len({location["frames"][-1]["line"] for location in locations}) == len(locations)
    return seconds


@pytest.mark.parametrize("few, many, call, optimised", [((30, 100), (300, 100), "wrapped(1);", "-O1"),
                                                        ((1, 3000), (1, 30_000), "mark(1);", "-O0")])
def test_ten_times_as_many_locations_take_about_ten_times_as_long(tmp_path, few, many, call, optimised):
    less = seconds_to_look_up(tmp_path / "few", *few, call, optimised)
    assert seconds_to_look_up(tmp_path / "many", *many, call, optimised) < 30 * less  # with quadratic time it would be 100
