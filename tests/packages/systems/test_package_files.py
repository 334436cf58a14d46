"""The packages themselves: what they need, what they hold, what lintian says of them. Part `packages` of tests/nightly.sh."""

import os
import re
import subprocess
import tarfile

import pytest

import shim
from packages import archive, debian_package, unpack_archive, unpack_debian_package, unpack_wheel

LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def text_of(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


@pytest.fixture(params=[unpack_debian_package, unpack_archive, unpack_wheel], ids=["deb", "tar.gz", "wheel"])
def unpacked(request, tmp_path):
    """The folder of each package's files in turn."""
    return request.param(tmp_path)


def test_library_and_command_need_the_c_library_2_17_and_nothing_else(unpacked):
    files = [*unpacked.rglob("libfp32shim.so"), *unpacked.rglob("bin/fp32shim")]
    assert len(files) == 2
    for file in files:
        needs = text_of(shim.tool("readelf"), "--wide", "--version-info", file)
        versions = [tuple(map(int, version.split("."))) for version in re.findall(r"Name: GLIBC_([0-9.]+)", needs)]
        assert versions and max(versions) <= (2, 17), (file, max(versions))
        assert set(re.findall(r"Name: ([A-Z]+)_", needs)) == {"GLIBC"}, file
        dynamic = text_of(shim.tool("readelf"), "--wide", "--dynamic", file)
        assert set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)) <= LIBRARIES and not re.search("RPATH|RUNPATH", dynamic)


def test_every_package_has_everything(unpacked):
    names = {file.name.removesuffix(".gz") for file in unpacked.rglob("*") if file.is_file()}
    wanted = {"fp32shim", "libfp32shim.so", "fp32shim.h", "fp32shim.f90", "sitecustomize.py", "copyright", "_fp32shim",
              "fp32shim.fish", "fp32shim-config.cmake", "fp32shim.pc"}
    wanted |= {file.name for pattern in ("config/*.toml", "docs/cli/*.1", "examples/deploy/*.*", "examples/fleet/*.*") for file in shim.ROOT.glob(pattern)}
    assert wanted <= names, wanted - names


def test_cmake_and_pkg_config_find_the_files_of_every_package(unpacked, tmp_path_factory):
    files = [str(next(unpacked.rglob(name))) for name in ("libfp32shim.so", "bin/fp32shim")]
    project = tmp_path_factory.mktemp("project")
    (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.16)\nproject(client NONE)\n"
                                            "find_package(fp32shim 0.1 CONFIG REQUIRED)\n"
                                            "file(WRITE files.txt \"${fp32shim_LIBRARY};${fp32shim_COMMAND}\")\n")
    package = next(unpacked.rglob("fp32shim-config.cmake")).parent
    text_of(shim.tool("cmake"), "-S", project, "-B", project / "build", f"-Dfp32shim_DIR={package}")
    assert (project / "files.txt").read_text().split(";") == files
    folder = next(unpacked.rglob("pkgconfig"))
    for name, file in zip(("library", "command"), files):
        found = text_of("env", f"PKG_CONFIG_PATH={folder}", shim.tool("pkg-config"), f"--variable={name}", "fp32shim").strip()
        assert os.path.samefile(found, file)


def test_the_archive_belongs_to_root_and_has_one_time():
    with tarfile.open(archive()) as content:
        entries = content.getmembers()
    assert {(entry.uid, entry.gid) for entry in entries} == {(0, 0)}
    assert len({entry.mtime for entry in entries}) == 1
    assert {entry.mode for entry in entries} == {0o755, 0o644}
    assert {entry.name.split("/")[0] for entry in entries} == {archive().name.removesuffix(".tar.gz")}


def test_the_debian_package_depends_on_that_c_library_alone():
    fields = dict(re.findall(r"^ ([A-Za-z-]+): (.*)$", text_of("dpkg-deb", "--info", debian_package()), re.MULTILINE))
    assert re.fullmatch(r"libc6 \(>= 2\.1[0-7](\.\d)?\)", fields["Depends"]), fields["Depends"]


def test_lintian_finds_nothing():
    """What it is told to overlook, and why: packaging/debian/lintian-overrides."""
    done = subprocess.run([shim.tool("lintian"), "--allow-root", debian_package()], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
