"""The Debian package in a root of its own: installed, used, upgraded, removed, and nothing left of it."""

import json
import shutil
import subprocess
import tarfile

from conftest import unpack_wheel

PRODUCT = "import numpy; a = numpy.ones((8, 8), 'float32'); print((a @ a)[0, 0])"
ECHO = ["run", "-q", "--", "sh", "-c", "echo $LD_PRELOAD"]


def install(root, deb):
    shutil.copy(deb, root.path / "root.deb")
    root.output("dpkg", "--install", "/root.deb")
    (root.path / "root.deb").unlink()


def library(root):
    return root.output("fp32shim", *ECHO).strip()


def check_product(root, command, recording):
    """A product runs at the previewed format, and the recording says so."""
    run = [command, "run", "-q", "--precision", "high", "--cpu", "emulate", "--log", recording]
    assert root.output(*run, "--", "python3", "-B", "-c", PRODUCT) == "8.0\n"
    rows = json.loads(root.output(command, "report", "--format", "json", recording))["rows"]
    assert [(row["applied"], row["calls"]) for row in rows] == [("tf32", 1)]


def test_it_is_used_removed_and_leaves_only_the_users_files(root, deb):
    before = root.files()
    install(root, deb)
    findings = json.loads(root.run("fp32shim", "doctor", "--format", "json").stdout)["findings"]
    assert not [finding for finding in findings if "preloaded" in finding["message"]], findings
    check_product(root, "fp32shim", "/home/run.fp32rec")
    printed = root.output("python3", "-c", "import fp32shim; print(fp32shim.library_path(), fp32shim.command_path())")
    assert printed.split() == [library(root), "/usr/bin/fp32shim"]
    root.output("env", "FP32_MATMUL_WHERE=torch", "fp32shim", "run", "-q", "--", "python3", "-c", "import sitecustomize")
    assert list(root.path.glob("usr/lib/python3/dist-packages/fp32shim/__pycache__/*"))
    root.output("dpkg", "--remove", "fp32shim")
    root.output("dpkg", "--purge", "fp32shim")

    after = root.files()
    assert set(after) - set(before) == {"home/run.fp32rec"}
    assert {name: entry for name, entry in after.items() if name in before} == before


def test_a_removal_clears_the_loaders_list_and_an_upgrade_does_not(root, deb):
    install(root, deb)
    preload = root.path / "etc/ld.so.preload"
    other = "/lib/x86_64-linux-gnu/libutil.so.1" if (root.path / "lib/x86_64-linux-gnu").exists() else "/lib/aarch64-linux-gnu/libutil.so.1"
    text = f"# of this machine\n{other}:{library(root)}\n$ORIGIN/../$LIB/fp32shim/libfp32shim.so\n"
    preload.write_text(text)
    preload.chmod(0o640)
    assert library(root) in root.output("cat", "/proc/self/maps") and other.rpartition("/")[2] in root.output(
        "cat", "/proc/self/maps")

    install(root, deb)
    assert preload.read_text() == text
    done = root.run("dpkg", "--remove", "fp32shim")
    assert done.returncode == 0 and "taken out of /etc/ld.so.preload" in done.stdout, done.stderr
    assert "cannot be preloaded" not in done.stderr
    assert preload.read_text() == f"# of this machine\n{other}\n" and preload.stat().st_mode & 0o777 == 0o640
    done = root.run("true")
    assert (done.returncode, done.stderr) == (0, "")
    assert other.rpartition("/")[2] in root.output("cat", "/proc/self/maps")


def test_without_the_script_every_program_would_complain(root, deb):
    """The reason for the script."""
    install(root, deb)
    path = library(root)
    (root.path / "etc/ld.so.preload").write_text(f"{path}\n")
    (root.path / path[1:]).unlink()
    done = root.run("true")
    assert f"object '{path}' from /etc/ld.so.preload cannot be preloaded" in done.stderr


def test_a_list_that_cannot_be_replaced_keeps_the_package(root, deb):
    install(root, deb)
    preload = root.path / "etc/ld.so.preload"
    text = f"{library(root)}\n"
    preload.write_text(text)
    done = root.run("dpkg", "--remove", "fp32shim", mount="mount --bind etc/ld.so.preload etc/ld.so.preload")
    assert done.returncode != 0 and "cannot be changed" in done.stderr and "then remove the package" in done.stderr
    assert preload.read_text() == text and library(root)
    assert [path.name for path in (root.path / "etc").glob("ld.so.preload*")] == ["ld.so.preload"]
    root.output("dpkg", "--remove", "fp32shim")  # now it can


def test_beside_a_wheel_and_an_archive_each_command_uses_its_own_library(root, deb, wheel, tarball):
    install(root, deb)
    unpack_wheel(wheel, root.path / "opt/venv")
    with tarfile.open(tarball) as archive:
        archive.extractall(root.path / "opt", filter="data")
    top = "/opt/" + tarball.name.removesuffix(".tar.gz")
    for prefix in ("/opt/venv", top):
        assert root.output(f"{prefix}/bin/fp32shim", *ECHO).strip() == f"{prefix}/lib/libfp32shim.so"
        check_product(root, f"{prefix}/bin/fp32shim", f"/home{prefix.replace('/', '.')}.fp32rec")
    assert library(root).startswith("/usr/lib/")
    root.output("dpkg", "--purge", "fp32shim")
    assert root.output("/opt/venv/bin/fp32shim", *ECHO).strip() == "/opt/venv/lib/libfp32shim.so"


def test_on_a_system_without_glibc_the_shell_says_that_there_is_no_such_program(root, tarball, tmp_path):
    """The kernel finds no loader. docs/install.md says what that means."""
    bare = tmp_path / "bare"
    (bare / "bin").mkdir(parents=True)
    source = tmp_path / "start.c"
    source.write_text('#include <errno.h>\n#include <unistd.h>\nint main(void) { execl("/bin/fp32shim", "fp32shim", '
                      '"doctor", (char*)0); return errno == ENOENT ? 42 : 1; }\n')
    subprocess.run(["cc", "-static", source, "-o", bare / "bin/start"], check=True)
    with tarfile.open(tarball) as archive:
        member = next(entry for entry in archive.getmembers() if entry.name.endswith("/bin/fp32shim"))
        (bare / "bin/fp32shim").write_bytes(archive.extractfile(member).read())
    (bare / "bin/fp32shim").chmod(0o755)
    assert subprocess.run(["chroot", bare, "/bin/start"], check=False).returncode == 42
