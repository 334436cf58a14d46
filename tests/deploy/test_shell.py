"""The file for /etc/profile.d of docs/deploy.md, in the shells that read such files."""

import os
import shutil
import subprocess

import pytest

import page
import shim
from command import environment

PROFILE = page.FILES / "profile.sh"
PLACE = "/usr/local/lib/libfp32shim.so"
# Shells, with options that end them after a mistake.
SHELLS = {"bash": ["bash", "-euo", "pipefail"], "dash": ["dash", "-eu"], "posix": ["bash", "--posix", "-eu"],
          "busybox": ["busybox", "sh", "-eu"], "zsh": ["zsh", "--emulate", "sh", "-eu"]}


@pytest.fixture
def profile(tmp_path):
    """The file, for this build's library."""
    text = PROFILE.read_text()
    assert text.count(PLACE) == 1
    file = tmp_path / "profile.sh"
    file.write_text(text.replace(PLACE, str(shim.LIBRARY)))
    return file


def preload_after(shell, *files, **variables):
    """LD_PRELOAD of a program that the shell starts once it has read the files."""
    words = SHELLS[shell]
    shim.tool(words[0])
    script = "".join(f". {file}; " for file in files) + 'printenv LD_PRELOAD || echo none; echo "[${fp32shim_library-}]"'
    done = subprocess.run([*words, "-c", script], env={**environment(), **variables}, capture_output=True, text=True,
                          check=False)
    assert (done.returncode, done.stderr) == (0, "")
    preload, leftover = done.stdout.splitlines()
    assert leftover == "[]"
    return preload


@pytest.mark.parametrize("shell", SHELLS)
def test_programs_are_preloaded_once_however_often_it_is_read(shell, profile):
    assert preload_after(shell, profile, profile) == str(shim.LIBRARY)


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_preloaded_already_stays(shell, profile):
    other = shim.system_library("libm.so.6", "libc6")
    assert preload_after(shell, profile, LD_PRELOAD=str(other)) == f"{other}:{shim.LIBRARY}"
    assert preload_after(shell, profile, LD_PRELOAD=f"{shim.LIBRARY}:{other}") == f"{shim.LIBRARY}:{other}"


@pytest.mark.parametrize("shell", SHELLS)
def test_without_the_library_nothing_changes(shell):
    assert preload_after(shell, PROFILE) == "none"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_library_of_the_deb_is_found_too_and_the_other_one_goes_first(shell, tmp_path):
    places = [tmp_path / f"usr/lib/{os.uname().machine}-linux-gnu/fp32shim/libfp32shim.so",
              tmp_path / "usr/local/lib/libfp32shim.so"]
    profile = tmp_path / "profile.sh"
    profile.write_text(PROFILE.read_text().replace("/usr/l", f"{tmp_path}/usr/l"))
    for place in places:
        place.parent.mkdir(parents=True)
        shutil.copy(shim.LIBRARY, place)
        assert preload_after(shell, profile, profile) == str(place)


def test_the_check_of_the_page_tells_if_it_is_loaded():
    check = page.block("bash -lc").removeprefix("bash -lc '").removesuffix("'\n")
    for preload, status in ((shim.LIBRARY, 0), ("", 1)):
        done = subprocess.run(["bash", "-c", check], env=environment(LD_PRELOAD=preload), capture_output=True, text=True,
                              check=False)
        assert (done.returncode, int(done.stdout) > 0) == (status, status == 0)
