"""The file for /etc/profile.d of docs/deploy.md, in the shells that read such files."""

import os
import shutil
import subprocess

import pytest

import page
import shim
from command import COMMAND, environment

PROFILE = page.FILES / "profile.sh"
PLACE = "/usr/local/lib/libfp32shim.so"
# Shells, with options that end them after a mistake.
SHELLS = {"bash": ["bash", "-euo", "pipefail"], "dash": ["dash", "-eu"], "posix": ["bash", "--posix", "-eu"],
          "busybox": ["busybox", "sh", "-eu"], "zsh": ["zsh", "--emulate", "sh", "-eu"]}


@pytest.fixture
def profile(tmp_path):
    """The file profile.sh, changed to name this build's library."""
    text = PROFILE.read_text()
    assert text.count(PLACE) == 1
    file = tmp_path / "profile.sh"
    file.write_text(text.replace(PLACE, str(shim.LIBRARY)))
    return file


def preload_after(shell, *files, **variables):
    """Returns the LD_PRELOAD of a program that the shell starts after it has read the files."""
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


SET_UP = str(page.FILES / "set-up-machine.sh")


def on_a_machine(folder, script, readable=True):
    """Runs a script of the shell where /etc is a copy, /opt and /var/log are empty, and the command is in /opt."""
    shim.need(os.geteuid() == 0, "only root can set up a machine")
    inside = f"""
        rm -rf etc; cp -a /etc etc
        for folder in /etc /opt /var/log; do mount -t tmpfs tmpfs $folder; done
        cp -a etc/. /etc
        mkdir -p -m {755 if readable else 700} /opt/shim/bin /opt/shim/lib
        cp {COMMAND} /opt/shim/bin; cp {shim.LIBRARY} /opt/shim/lib; export PATH=/opt/shim/bin:$PATH
    """
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-euc"]
    mounts = subprocess.run([*words, inside], cwd=folder, capture_output=True, text=True, check=False)
    shim.need(mounts.returncode == 0, f"no file system can be mounted here: {mounts.stderr}")
    return subprocess.run([*words, inside + script], cwd=folder, env=environment(), capture_output=True, text=True,
                          check=False)


def test_a_machine_is_set_up_by_one_command_and_keeps_what_its_jobs_did(tmp_path):
    policy = page.FILES / "slurm/policy.toml"
    client, libraries = shim.client("cblas_product"), f"LD_LIBRARY_PATH={shim.blas_directory('reference')}"
    done = on_a_machine(tmp_path, f"""
        umask 077
        for time in 1 2; do sh {SET_UP} --all-programs {policy}; done
        cat /etc/ld.so.preload; cmp {policy} /etc/fp32shim/policy.toml; stat -c %a /var/log/fp32shim
        umask 022
        export FP32_MATMUL_PRECISION=medium
        SLURM_JOB_ID=1 {libraries} {client} > /dev/null
        SLURM_JOB_ID=2 {libraries} setpriv --reuid=1017 --regid=4242 --clear-groups {client} > /dev/null
        fp32shim verify /var/log/fp32shim
        unset FP32_MATMUL_PRECISION
        for name in a b; do {libraries} fp32shim run -q --log $name.fp32rec -- {client} > /dev/null; done
        fp32shim diff a.fp32rec b.fp32rec || true
    """)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines.count("/opt/shim/lib/libfp32shim.so") == 1 and "1777" in lines
    assert "Shown: 2 of 2 jobs are shown to have kept the floors that bound them." in lines
    rows = [line.split() for line in lines]
    assert ["1", "root", "fp32", "1", "fp32", "shown"] in rows
    assert any(row[:3] == ["2", "1017", "tf32"] and row[-3:] == ["1", "fp32", "shown"] for row in rows), done.stdout
    # The site's policy needs no option.
    assert f"  fp32shim run --audit fingerprint --log a-results.fp32rec -- {client}" in lines


def test_a_machine_is_left_alone_if_a_policy_has_errors_or_a_user_cannot_load_the_library(tmp_path):
    good, relative, jobs, own = "/var/log/shim/%p.fp32rec", "shim.%p.fp32rec", "/var/log/%j/%p.fp32rec", "/root/%p.fp32rec"
    for schema, path, readable, says in ((2, good, True, "has errors, so nothing was changed"),
                                         (1, good, False, "the user nobody cannot load /opt/shim/lib/libfp32shim.so ("),
                                         (1, relative, True, f'found [log] path "{relative}" in policy.toml; a'),
                                         (1, jobs, True, "its folder may have no placeholders"),
                                         (1, own, True, "not every user can write to /root"),
                                         (1, "/root/none/%p.fp32rec", True, "not every user can write to /root/none")):
        (tmp_path / "policy.toml").write_text(f'schema = {schema}\n[log]\npath = "{path}"\n')
        done = on_a_machine(tmp_path, f"""
            status=0; sh {SET_UP} --all-programs policy.toml || status=$?
            [ ! -e /root/none ]; ls /etc/fp32shim /var/log/shim /etc/ld.so.preload 2>&1 || true; exit $status
        """, readable)
        assert done.returncode == 2 and says in done.stderr, done.stdout + done.stderr
        assert done.stdout.count("No such file") == 3, done.stdout
