"""The Debian package's prerm, which takes the library out of /etc/ld.so.preload, on files below a folder.

In a real root, by dpkg: systems/test_debian_package.py.
"""

import os
import re
import shutil
import subprocess

import pytest

import shim

SCRIPT = shim.BUILD / "package/prerm"
OTHER = "/usr/lib/libother.so"


@pytest.fixture(scope="module")
def library():
    """The library's path in the package."""
    return re.search(r"^library=(.*)$", SCRIPT.read_text(), re.MULTILINE)[1]


@pytest.fixture
def root(tmp_path, library):
    """A folder with the library, and links to it elsewhere."""
    for path in (library, OTHER, "/opt/libother.so"):
        file = tmp_path / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (tmp_path / "etc").mkdir()
    (tmp_path / "opt/link.so").symlink_to(os.path.relpath(tmp_path / library[1:], tmp_path / "opt"))
    (tmp_path / "lib").symlink_to("usr/lib")
    return tmp_path


def prerm(root, *words, shell="sh", path=None):
    environment = {"PATH": path or "/usr/sbin:/usr/bin:/sbin:/bin", "DPKG_ROOT": str(root)}
    return subprocess.run([shell, SCRIPT, *words], env=environment, capture_output=True, text=True, check=False)


def after_removal(root, before, **keywords):
    """Removes the package. Returns the content of the list afterwards."""
    preload = root / "etc/ld.so.preload"
    preload.write_bytes(before)
    done = prerm(root, "remove", **keywords)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert ("taken out of" in done.stdout) == (preload.read_bytes() != before), done.stdout
    assert [path.name for path in (root / "etc").iterdir()] == ["ld.so.preload"]  # no temporary file is left
    return preload.read_bytes()


CASES = {  # LIBRARY stands for the path of the library
    b"LIBRARY\n": b"",
    b"LIBRARY": b"",
    b"LIBRARY\n/usr/lib/libother.so\n": b"/usr/lib/libother.so\n",
    b"/usr/lib/libother.so\nLIBRARY": b"/usr/lib/libother.so\n",
    b"a.so\n\n  \t\nLIBRARY\n b.so \t\n": b"a.so\n\n  \t\n b.so \t\n",
    b"a.so LIBRARY b.so\n": b"a.so b.so\n",
    b"a.so:LIBRARY:b.so\n": b"a.so:b.so\n",
    b"LIBRARY:b.so": b"b.so",
    b"a.so\tLIBRARY": b"a.so",
    b"LIBRARY LIBRARY\n": b"",
    b"# why\nLIBRARY\n": b"# why\n",
    b"a.so # not LIBRARY\n": b"a.so # not LIBRARY\n",
    b"LIBRARY # why\n": b"# why\n",
    b"/usr/..LIBRARY\n": b"",
    b"/opt/link.so\n": b"",
    b"/opt/../opt/./link.so\nx": b"x",
    b"relative/libfp32shim.so\n": b"relative/libfp32shim.so\n",
    b"/elsewhere/libfp32shim.so\n": b"/elsewhere/libfp32shim.so\n",
    b"/opt/libother.so \\n%s $(touch /tmp/x) * \xff\n": b"/opt/libother.so \\n%s $(touch /tmp/x) * \xff\n",
    b"LIBRARY \\n%s $(touch /tmp/x) * \xff\r\n": b"\\n%s $(touch /tmp/x) * \xff\r\n",
    b"LIBRARY\r\n": b"LIBRARY\r\n",  # the loader reads \r as part of the name
    b"": b"",
    b"\n": b"\n",
}


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize("before", CASES)
def test_only_the_librarys_own_entries_go(root, library, before, shell):
    path = library.encode()
    after = CASES[before].replace(b"LIBRARY", path)
    assert after_removal(root, before.replace(b"LIBRARY", path), shell=shim.tool(shell)) == after


@pytest.mark.parametrize("entry", ["$LIB/libbare.so", "/$LIB/libbare.so", "/usr/${LIB}/libbare.so", "libbare.so",
                                   "$ORIGIN/../lib/SHORT", "/lib/SHORT"])
def test_entries_in_the_loaders_own_words_are_understood(root, library, entry):
    loader_folder = root / f"usr/lib/{os.uname().machine}-linux-gnu"
    loader_folder.mkdir(exist_ok=True)
    (loader_folder / "libbare.so").symlink_to(os.path.relpath(root / library[1:], loader_folder))
    entry = entry.replace("SHORT", library.removeprefix("/usr/lib/"))
    before = f"{OTHER}\n{entry}\n".encode()
    is_own = not entry.startswith("$LIB")  # without a slash before $LIB, the path is relative to an unknown folder
    assert after_removal(root, before) == (f"{OTHER}\n".encode() if is_own else before)


def test_a_file_of_the_name_in_the_loaders_folder_is_somebody_elses(root):
    loader_folder = root / f"usr/lib/{os.uname().machine}-linux-gnu"
    loader_folder.mkdir(exist_ok=True)
    (loader_folder / "libfp32shim.so").write_text("")
    assert after_removal(root, b"libfp32shim.so\n") == b"libfp32shim.so\n"


@pytest.mark.parametrize("words", [["upgrade", "0.2.0-1"], ["deconfigure", "in-favour", "x", "1"], ["failed-upgrade", "0.1"]])
def test_an_upgrade_leaves_the_list_alone(root, library, words):
    preload = root / "etc/ld.so.preload"
    preload.write_text(f"{library}\n")
    before = preload.stat()
    done = prerm(root, *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (preload.read_text(), preload.stat().st_mtime_ns, preload.stat().st_ino) == (
        f"{library}\n", before.st_mtime_ns, before.st_ino)


def test_a_list_without_the_library_is_not_written(root):
    preload = root / "etc/ld.so.preload"
    preload.write_text(f"{OTHER}\n")
    before = preload.stat()
    assert prerm(root, "remove").returncode == 0
    assert (preload.stat().st_ino, preload.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_without_a_list_nothing_is_made(root):
    done = prerm(root, "remove")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list((root / "etc").iterdir()) == []


def test_mode_and_owner_stay_and_a_link_stays_a_link(root, library):
    target = root / "etc/real"
    target.write_text(f"{OTHER}\n{library}\n")
    target.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(target, 1234, 4321)
    before = target.stat()
    (root / "etc/ld.so.preload").symlink_to("real")
    assert prerm(root, "remove").returncode == 0
    assert (root / "etc/ld.so.preload").is_symlink() and target.read_text() == f"{OTHER}\n"
    after = target.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino  # replaced by renaming, so no program ever reads an incomplete file


@pytest.mark.parametrize("broken", ["mv", "awk", "cp", "mktemp", "sync", "sed", "readlink", "cmp"])
def test_a_list_that_cannot_be_changed_stops_the_removal_and_stays(root, library, tmp_path_factory, broken):
    """The list is a mounted or immutable file, or the disk is full. dpkg keeps a package if its prerm script fails."""
    tools = tmp_path_factory.mktemp("tools")
    for name in ("sh", "sed", "awk", "tr", "readlink", "mktemp", "cp", "cmp", "sync", "mv", "rm", "tail"):
        (tools / name).symlink_to(shutil.which(name))
    (tools / broken).unlink()
    (tools / broken).write_text("#!/bin/sh\necho part of a file\nexit 1\n")
    (tools / broken).chmod(0o755)
    preload = root / "etc/ld.so.preload"
    preload.write_text(f"{OTHER}\n{library}\n")
    done = prerm(root, "remove", path=str(tools))
    assert done.returncode == 1 and "cannot be changed" in done.stderr and "then remove the package" in done.stderr
    assert preload.read_text() == f"{OTHER}\n{library}\n"
    assert [path.name for path in (root / "etc").iterdir()] == ["ld.so.preload"]


def test_a_list_that_somebody_changes_meanwhile_keeps_that_change(root, library, tmp_path_factory):
    tools = tmp_path_factory.mktemp("tools")
    preload = root / "etc/ld.so.preload"
    (tools / "sync").write_text(f"#!/bin/sh\necho {OTHER} >> {preload}\n")
    (tools / "sync").chmod(0o755)
    preload.write_text(f"{library}\n")
    done = prerm(root, "remove", path=f"{tools}:/usr/sbin:/usr/bin:/sbin:/bin")
    assert done.returncode == 1 and preload.read_text() == f"{library}\n{OTHER}\n"


def test_a_link_that_leads_out_of_the_root_is_not_followed(root, library, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "list"
    outside.write_text(f"{library}\n")
    (root / "etc/ld.so.preload").symlink_to(outside)
    assert prerm(root, "remove").returncode == 1 and outside.read_text() == f"{library}\n"


@pytest.mark.parametrize("words", [["remove"], ["upgrade", "0.2.0-1"]])
def test_what_python_compiled_goes_too(root, words):
    folders = [root / "usr/share/fp32shim" / name / "__pycache__"
               for name in ("python/fp32shim", "python/pytest_fp32shim", "site-packages")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "x.pyc").write_text("")
        (folder.parent / "x.py").write_text("")
    assert prerm(root, *words).returncode == 0
    assert not any(folder.exists() for folder in folders) and all((folder.parent / "x.py").exists() for folder in folders)
