"""The Debian package in bare systems: installed, used, upgraded, removed, and nothing left of it. Part `packages` of
tests/nightly.sh."""

import json
import os
import shutil
import subprocess
import zipfile

import pytest

import packages
from debian_root import debian_root

PYTHON_OF = {"bullseye": "3.9", "bookworm": "3.11", "trixie": "3.13"}
LIBRARY = f"/usr/lib/{packages.PROCESSOR}-linux-gnu/fp32shim/libfp32shim.so"
OTHER = f"/lib/{packages.PROCESSOR}-linux-gnu/libutil.so.1"
PRODUCT = "import numpy; a = numpy.full((64, 64), 1 + 2**-12, numpy.float32); print((a @ a)[0, 0])"
ECHO = ["run", "-q", "--", "sh", "-c", "echo $LD_PRELOAD"]


def install(root):
    shutil.copy(packages.debian_package(), root.folder / "root.deb")
    root.run("dpkg", "--install", "/root.deb")
    (root.folder / "root.deb").unlink()


@pytest.fixture(scope="module")
def bookworm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bookworm")
    yield debian_root("bookworm", folder, packages.ARCHITECTURE)
    shutil.rmtree(folder)


@pytest.fixture
def root(bookworm):
    """A Debian 12 system with the package installed."""
    install(bookworm)
    yield bookworm
    (bookworm.folder / "etc/ld.so.preload").unlink(missing_ok=True)
    bookworm.run("dpkg", "--purge", "fp32shim")


def contents(root):
    """Returns mode, owner and content of all files, except for those in which dpkg records its actions."""
    notes = ("var/lib/dpkg/", "var/log/", "var/cache/")
    found = {}
    for file in root.folder.rglob("*"):
        name = str(file.relative_to(root.folder))
        if not name.startswith(notes):
            status = file.lstat()
            content = os.readlink(file) if file.is_symlink() else file.read_bytes() if file.is_file() else None
            found[name] = (status.st_mode, status.st_uid, status.st_gid, content)
    return found


def preloaded(root, command="fp32shim"):
    """Returns the library that the command preloads."""
    return root.run(command, *ECHO).stdout.strip()


@pytest.mark.parametrize("release", PYTHON_OF)
def test_it_is_used_and_removed_and_leaves_only_the_users_files(release, scratch, numpy_wheel):
    root = debian_root(release, scratch, packages.ARCHITECTURE)
    version = PYTHON_OF[release]
    with zipfile.ZipFile(numpy_wheel(version, packages.PROCESSOR)) as numpy:
        numpy.extractall(root.folder / f"usr/local/lib/python{version}/dist-packages")
    before = contents(root)
    install(root)

    findings = json.loads(root.run("fp32shim", "doctor", "--format", "json", check=False).stdout)["findings"]
    assert not [finding for finding in findings if "preloaded" in finding["message"]], findings
    run = ["fp32shim", "run", "-q", "--precision", "high", "--cpu", "emulate", "--log", "/home/run.fp32rec"]
    assert root.run(*run, "--", "python3", "-c", PRODUCT).stdout == "64.0\n"
    assert root.run("python3", "-c", PRODUCT).stdout == "64.03125\n"
    code = "import fp32shim; print(fp32shim.library_path(), fp32shim.command_path()); " \
           "print([(row['applied'], row['calls']) for row in fp32shim.Recording('/home/run.fp32rec').rows()])"
    told = root.run("python3", "-c", code, PYTHONDONTWRITEBYTECODE="").stdout
    assert told == f"{LIBRARY} /usr/bin/fp32shim\n[('tf32', 1)]\n"
    assert list(root.folder.glob("usr/lib/python3/dist-packages/fp32shim/__pycache__/*.pyc"))

    root.run("dpkg", "--remove", "fp32shim")
    root.run("dpkg", "--purge", "fp32shim")
    after = contents(root)
    new = {name for name in set(after) - set(before) if "/__pycache__" not in name or "fp32shim" in name}
    assert new == {"home/run.fp32rec"}
    assert {name: entry for name, entry in after.items() if name in before} == before


def test_a_removal_takes_the_library_out_of_the_loaders_list_and_an_upgrade_does_not(root):
    preload = root.folder / "etc/ld.so.preload"
    text = f"# of this machine\n{OTHER}:{LIBRARY}\n$ORIGIN/../$LIB/fp32shim/libfp32shim.so\n"
    preload.write_text(text)
    preload.chmod(0o640)
    loaded = root.run("cat", "/proc/self/maps").stdout
    assert LIBRARY in loaded and os.path.basename(OTHER) in loaded

    install(root)
    assert preload.read_text() == text
    done = root.run("dpkg", "--remove", "fp32shim")
    assert f"taken out of /etc/ld.so.preload: {LIBRARY} $ORIGIN/../$LIB/fp32shim/libfp32shim.so" in done.stdout
    assert "cannot be preloaded" not in done.stderr
    assert preload.read_text() == f"# of this machine\n{OTHER}\n" and preload.stat().st_mode & 0o777 == 0o640
    done = root.run("cat", "/proc/self/maps")
    assert os.path.basename(OTHER) in done.stdout and done.stderr == ""


def test_a_name_without_a_folder_goes_where_the_loaders_cache_leads_to_the_library(root):
    (root.folder / "etc/ld.so.conf.d/site.conf").write_text(os.path.dirname(LIBRARY) + "\n")
    root.run("ldconfig")
    preload = root.folder / "etc/ld.so.preload"
    preload.write_text("libfp32shim.so\n")
    assert LIBRARY in root.run("cat", "/proc/self/maps").stdout
    root.run("dpkg", "--remove", "fp32shim")
    assert preload.read_text() == "" and root.run("true").stderr == ""


def test_without_that_every_program_would_complain(root):
    (root.folder / "etc/ld.so.preload").write_text(f"{LIBRARY}\n")
    (root.folder / LIBRARY[1:]).rename(root.folder / "elsewhere")
    assert f"object '{LIBRARY}' from /etc/ld.so.preload cannot be preloaded" in root.run("true").stderr
    (root.folder / "elsewhere").rename(root.folder / LIBRARY[1:])


def test_a_list_that_cannot_be_replaced_keeps_the_package(root):
    """An example is a list that a container's host has mounted."""
    preload = root.folder / "etc/ld.so.preload"
    preload.write_text(f"{LIBRARY}\n")
    mounted = "mount --bind /etc/ld.so.preload /etc/ld.so.preload && dpkg --remove fp32shim"
    done = root.run("sh", "-c", mounted, check=False)
    assert done.returncode != 0 and "cannot be changed" in done.stderr and "then remove the package" in done.stderr
    assert preload.read_text() == f"{LIBRARY}\n" and preloaded(root) == LIBRARY
    assert [path.name for path in (root.folder / "etc").glob("ld.so.preload*")] == ["ld.so.preload"]
    assert root.run("dpkg-query", "--show", "--showformat=${db:Status-Status}", "fp32shim").stdout == "installed"
    root.run("dpkg", "--remove", "fp32shim")


def test_beside_a_wheel_and_an_archive_each_command_uses_its_own_library(root):
    others = [packages.unpack_wheel(root.folder / "opt/venv"), packages.unpack_archive(root.folder / "opt")]
    prefixes = [f"/{other.relative_to(root.folder)}" for other in others]
    assert preloaded(root) == LIBRARY
    for prefix in prefixes:
        assert preloaded(root, f"{prefix}/bin/fp32shim") == f"{prefix}/lib/libfp32shim.so"
    root.run("dpkg", "--purge", "fp32shim")
    for prefix in prefixes:
        assert preloaded(root, f"{prefix}/bin/fp32shim") == f"{prefix}/lib/libfp32shim.so"


def test_on_a_system_without_glibc_the_kernel_finds_no_loader_for_the_command(root, tmp_path):
    """docs/install.md says what "not found" means there."""
    source = tmp_path / "start.c"
    source.write_text('#include <errno.h>\n#include <unistd.h>\nint main(void) { execl("/bin/fp32shim", "fp32shim", '
                      '"doctor", (char*)0); return errno == ENOENT ? 42 : 1; }\n')
    bare = tmp_path / "bare"
    (bare / "bin").mkdir(parents=True)
    subprocess.run(["cc", "-static", source, "-o", bare / "bin/start"], check=True)
    shutil.copy(root.folder / "usr/bin/fp32shim", bare / "bin")
    assert subprocess.run(["chroot", bare, "/bin/start"], check=False).returncode == 42
