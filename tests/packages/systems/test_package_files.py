"""The packages themselves: what they need, what they hold, what lintian says of them. Part `packages` of tests/nightly.sh."""

import os
import re
import subprocess
import tarfile

import pytest

import shim
from packages import (archive, debian_package, expect_needs_of_an_old_c_library, text_of, unpack_archive,
                      unpack_debian_package, unpack_wheel)

@pytest.fixture(params=[unpack_debian_package, unpack_archive, unpack_wheel], ids=["deb", "tar.gz", "wheel"])
def unpacked(request, tmp_path):
    """The folder with the files of one package; each package in turn."""
    return request.param(tmp_path)


def test_library_and_command_need_the_c_library_2_17_and_nothing_else(unpacked):
    expect_needs_of_an_old_c_library(unpacked)


def test_every_package_has_everything(unpacked):
    names = {file.name.removesuffix(".gz") for file in unpacked.rglob("*") if file.is_file()}
    wanted = {"fp32shim", "libfp32shim.so", "fp32shim.h", "fp32shim.hpp", "fp32shim.f90", "sitecustomize.py", "copyright", "_fp32shim",
              "fp32shim.fish", "fp32shim-config.cmake", "fp32shim.pc", "gpu-check"}
    patterns = ("gpu_check/frameworks/*.py", "python/*fp32shim/*.py", "config/*.toml", "docs/cli/*.1", "examples/deploy/*.*",
                "examples/fleet/*.*")
    wanted |= {file.name for pattern in patterns for file in shim.ROOT.glob(pattern)}
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
    """packaging/debian/lintian-overrides has the exceptions, each with its reason."""
    done = subprocess.run([shim.tool("lintian"), "--allow-root", debian_package()], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
