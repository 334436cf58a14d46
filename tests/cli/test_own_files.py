"""What the command reads back from the disk: caches and states of searches. Only files count that this user made and nobody
else can change, and nothing that stands in their place is waited for, followed or removed."""

import json
import os
import pathlib
import shutil
import socket
import stat
import subprocess

import pytest

import shim
from command import COMMAND, environment, fp32shim

NOBODY = 65534
LIBRARIES = pathlib.Path("fp32shim/libraries")
PLANTED = {"name": "planted", "title": "planted", "object": "planted", "device": "cpu", "message": "", "remedy": "", "pins": 0, "is_float32": False}


def is_safe(folder):
    """Tells if nobody but root and this user can replace anything on the way to a folder."""
    facts = [each.stat() for each in (folder, *folder.parents)]
    return all(each.st_uid in (0, os.geteuid()) and (not each.st_mode & 0o022 or each.st_mode & stat.S_ISVTX) for each in facts)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A recording of a process with large libraries, and a cache in which all of them have the bypass "planted", which no
    scan would find."""
    folder = tmp_path_factory.mktemp("planted")
    shim.need(is_safe(folder), f"other users can change {folder}")
    shim.need(shim.has_module("numpy"), "no numpy")
    log = folder / "run.fp32rec"
    subprocess.run([COMMAND, "run", "--quiet", "--log", log, "--", shim.SYSTEM_PYTHON, "-c",
                    "import numpy; a = numpy.ones((9, 9), 'f'); a @ a"], check=True, env=environment())
    assert bypasses(log, folder / "cache") == []
    results = list((folder / "cache" / LIBRARIES).iterdir())
    assert results
    for file in results:
        result = json.loads(file.read_text())
        result["found"]["bypasses"] = [PLANTED]
        file.write_text(json.dumps(result))
    return log, folder / "cache"


def bypasses(log, cache, **variables):
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", log,
                      env={"XDG_CACHE_HOME": cache, **variables})
    assert result.stderr == ""
    return [bypass["bypass"] for bypass in result.json["bypasses"]]


@pytest.fixture
def cache(recorded, tmp_path):
    shutil.copytree(recorded[1], tmp_path / "cache")
    return tmp_path / "cache"


def results_in(cache):
    return sorted((cache / LIBRARIES).iterdir())


def test_results_of_this_user_alone_are_used_again_and_new_ones_are_for_this_user_alone(recorded, cache, tmp_path):
    assert bypasses(recorded[0], cache) == ["planted"]
    os.chmod(tmp_path / "cache", 0o755)
    assert bypasses(recorded[0], cache) == ["planted"]
    (tmp_path / "home").mkdir()
    assert bypasses(recorded[0], "", HOME=tmp_path / "home") == []
    made = [tmp_path / "home/.cache", *(tmp_path / "home/.cache").rglob("*")]
    assert len(made) > 3 and not any(each.stat().st_mode & 0o077 for each in made)


@pytest.mark.parametrize("which", [".", "fp32shim", LIBRARIES, "files"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_results_that_others_can_change_are_not_used(recorded, cache, which, mode):
    for path in results_in(cache) if which == "files" else [cache / which]:
        path.chmod(path.stat().st_mode | mode)
    assert bypasses(recorded[0], cache) == []


@pytest.mark.parametrize("which", [".", "fp32shim", LIBRARIES, "files"])
def test_results_of_another_user_are_not_used(recorded, cache, which):
    shim.need(os.geteuid() == 0, "only root can give files away")
    for path in results_in(cache) if which == "files" else [cache / which]:
        os.chown(path, NOBODY, NOBODY)
    before = sorted(cache.rglob("*"))
    assert bypasses(recorded[0], cache) == []
    assert which == "files" or sorted(cache.rglob("*")) == before


def test_root_with_the_home_of_another_user_believes_nothing_that_is_there_and_leaves_nothing(recorded, tmp_path):
    shim.need(os.geteuid() == 0, "only root can have the home of another user")
    shutil.copytree(recorded[1], tmp_path / "home/.cache")
    for path in [tmp_path / "home", *(tmp_path / "home").rglob("*")]:
        os.chown(path, NOBODY, NOBODY)
    before = sorted(tmp_path.rglob("*"))
    assert bypasses(recorded[0], "", HOME=tmp_path / "home") == []
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_above_that_everybody_writes_counts_only_if_it_is_sticky(recorded, cache, tmp_path):
    tmp_path.chmod(0o777)
    assert bypasses(recorded[0], cache) == []
    tmp_path.chmod(0o1777)
    assert bypasses(recorded[0], cache) == ["planted"]


@pytest.mark.parametrize("which", ["fp32shim", LIBRARIES])
def test_a_link_in_the_place_of_the_cache_is_not_followed(recorded, cache, tmp_path, which):
    (cache / which).rename(tmp_path / "elsewhere")
    (cache / which).symlink_to(tmp_path / "elsewhere")
    before = sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "elsewhere").rglob("*"))
    assert bypasses(recorded[0], cache) == []
    assert sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "elsewhere").rglob("*")) == before


def make_huge(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)


def make_socket(path):
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's path is at most 107 bytes long
    socket.socket(socket.AF_UNIX).bind(path.name)
    os.chdir(here)


@pytest.mark.parametrize("make", [os.mkfifo, pathlib.Path.mkdir, make_socket, make_huge,
                                  lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to(path)],
                         ids=["fifo", "folder", "socket", "huge", "device", "loop"])
def test_whatever_stands_in_the_place_of_a_result_does_no_harm(recorded, cache, make):
    for file in results_in(cache):
        file.unlink()
        make(file)
    assert bypasses(recorded[0], cache) == []


def test_only_old_results_are_removed_and_nothing_else(recorded, cache):
    folder = cache / LIBRARIES
    foreign = [folder / name for name in ["notes", "0123456789abcdef", "0123456789abcdef.json.x", "0123456789ABCDEF.json",
                                          "0123456789abcdef.json.0123456789abcdef.json", "0123456789abcde.json"]]
    for path in foreign:
        path.write_text("mine")
    (folder / "fedcba9876543210.json").symlink_to(folder / "notes")
    (folder / "fedcba9876543211.json").mkdir()
    old = [folder / f"{number:016x}.json{ending}" for number in range(1100) for ending in ("", f".{number:016x}")]
    for path in old:
        path.touch()
    for path in [*foreign, *old]:
        os.utime(path, (1, 1))
    results = [path for path in results_in(cache) if path not in (*foreign, *old) and path.stat().st_size > 4]
    results[0].unlink()  # a new one will be written
    assert bypasses(recorded[0], cache) in ([], ["planted"])
    assert all(path.read_text() == "mine" for path in foreign)
    assert (folder / "fedcba9876543211.json").is_dir() and results[0].exists()
    assert 0 < sum(path.exists() for path in old) < 1100


# ---- states of searches --------------------------------------------------------------------------------------------


def make_of_nobody(path):
    shim.need(os.geteuid() == 0, "only root can give files away")
    path.touch()
    os.chown(path, NOBODY, NOBODY)


def make_for_all(path):
    path.touch()
    path.chmod(0o666)


@pytest.mark.parametrize("make, problem", [
    (os.mkfifo, "is not a regular file"), (pathlib.Path.mkdir, "is not a regular file"),
    (lambda path: path.symlink_to("elsewhere"), "is a symbolic link"),
    (make_of_nobody, f"belongs to user {NOBODY}, and this command runs as user {os.geteuid()}"),
    (make_for_all, "can be written by its group or by others; chmod go-w it")], ids=["fifo", "folder", "link", "other", "all"])
@pytest.mark.parametrize("command, name", [("bisect", "bisect-state.jsonl"), ("sensitivity", "sensitivity-state.jsonl")])
def test_a_state_that_another_user_could_have_written_is_refused(tmp_path, command, name, make, problem):
    make(tmp_path / name)
    result = fp32shim(command, "--", shim.tool("touch"), "ran", cwd=tmp_path)
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
    assert result.lines[0].endswith(f'"{name}": {problem}; --state names another file')
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


@pytest.mark.parametrize("command", ["bisect", "sensitivity"])
def test_a_state_is_for_this_user_alone_to_write(tmp_path, command):
    """The state is kept after a run that says nothing, and the next call finds it again."""
    words = [command, "--state", "state", "--", shim.tool("sh"), "-c", "ls -l state >>seen; umask >>seen"]
    old = os.umask(0)
    try:
        fp32shim(*words, cwd=tmp_path)
    finally:
        os.umask(old)
    assert (tmp_path / "seen").read_text().startswith("-rw-r--r-- ")


@pytest.mark.parametrize("command, words", [("sensitivity", []), ("bisect", ["--rtol", "1"])])
def test_numbers_in_a_fifo_are_not_waited_for(tmp_path, command, words):
    """The searches block SIGTERM, so only SIGKILL would end a search that waits."""
    shim.need(shim.has_module("numpy"), "no numpy")
    os.mkfifo(tmp_path / "numbers")
    program = "import numpy, os; a = numpy.ones((9, 9), 'f'); a @ a; os.utime('numbers')"
    result = fp32shim(command, "--cpu", "emulate", "--compare", "numbers", *words, "--", shim.SYSTEM_PYTHON, "-c", program,
                      cwd=tmp_path)
    assert result.returncode == 1 and '"numbers" is not a regular file' in result.stderr
