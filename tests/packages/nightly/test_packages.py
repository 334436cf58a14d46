"""The packages themselves: what they need, what they hold, what lintian says of them."""

import os
import re
import subprocess
import tarfile

import pytest

import shim
from conftest import unpack_wheel

OLDEST = (2, 17)


def text_of(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


@pytest.fixture(params=["deb", "tarball", "wheel"])
def unpacked(request, tmp_path):
    """Each package, unpacked."""
    package = request.getfixturevalue(request.param)
    if request.param == "deb":
        text_of(shim.tool("dpkg-deb"), "--extract", package, tmp_path)
    elif request.param == "tarball":
        text_of("tar", "-xf", package, "-C", tmp_path)
    else:
        unpack_wheel(package, tmp_path)
    return tmp_path


def test_library_and_command_need_the_oldest_c_library_and_nothing_else(unpacked):
    files = [*unpacked.rglob("libfp32shim.so"), *unpacked.rglob("bin/fp32shim")]
    assert len(files) == 2
    for file in files:
        needs = text_of(shim.tool("readelf"), "--version-info", file)
        versions = [tuple(map(int, version.split("."))) for version in re.findall(r"Name: GLIBC_([0-9.]+)", needs)]
        assert versions and max(versions) <= OLDEST, (file, max(versions))
        assert set(re.findall(r"Name: ([A-Z]+)_", needs)) == {"GLIBC"}, file
        libraries = set(re.findall(r"\(NEEDED\).*\[(.*)\]", text_of(shim.tool("readelf"), "--dynamic", file)))
        loader = {f"ld-linux-{os.uname().machine.replace('_', '-')}.so.2", "ld-linux-aarch64.so.1"}
        assert libraries <= {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"} | loader, libraries


def test_every_package_has_the_same_things(unpacked):
    names = {file.name.removesuffix(".gz") for file in unpacked.rglob("*") if file.is_file()}
    wanted = {"fp32shim", "libfp32shim.so", "fp32shim.h", "fp32shim.f90", "sitecustomize.py", "copyright", "_fp32shim",
              "fp32shim.fish", "fp32shim-config.cmake", "fp32shim.pc"}
    wanted |= {file.name for folder in ("config/*.toml", "docs/cli/*.1") for file in shim.ROOT.glob(folder)}
    assert wanted <= names, wanted - names


def test_no_package_names_the_folder_it_was_built_in(unpacked, deb):
    for file in unpacked.rglob("*"):
        if file.is_file():
            assert not re.search(rb"/build/(packages|wheel)|" + re.escape(str(deb.parent).encode()), file.read_bytes()), file


def test_the_archive_belongs_to_root_and_has_one_time(tarball):
    with tarfile.open(tarball) as archive:
        entries = archive.getmembers()
    assert {(entry.uid, entry.gid) for entry in entries} == {(0, 0)}
    assert len({entry.mtime for entry in entries}) == 1
    assert {entry.mode & 0o022 for entry in entries if not entry.issym()} == {0}
    assert {entry.name.split("/")[0] for entry in entries} == {tarball.name.removesuffix(".tar.gz")}


def test_the_debian_package_depends_on_the_oldest_c_library_alone(deb):
    fields = dict(re.findall(r"^ ([A-Za-z-]+): (.*)$", text_of(shim.tool("dpkg-deb"), "--info", deb), re.MULTILINE))
    assert re.fullmatch(r"libc6 \(>= 2\.1[0-7](\.\d)?\)", fields["Depends"]), fields["Depends"]
    assert fields["Section"] == "science" and fields["Version"].endswith("-1")


def test_lintian_finds_nothing(deb):
    done = subprocess.run([shim.tool("lintian"), "--fail-on", "error,warning", "--allow-root", deb], capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_pip_refuses_the_wheel_where_the_c_library_is_musl(wheel, tmp_path):
    words = [shim.SYSTEM_PYTHON, "-m", "pip", "download", "--no-index", "--find-links", wheel.parent, "--only-binary=:all:",
             "--no-deps", "--dest", tmp_path, "fp32shim"]
    machine = os.uname().machine
    refused = subprocess.run([*words, "--platform", f"musllinux_1_2_{machine}"], capture_output=True, text=True, check=False)
    shim.need("No module named pip" not in refused.stderr, "no pip")
    assert refused.returncode != 0 and "No matching distribution found for fp32shim" in refused.stderr
    taken = subprocess.run([*words, "--platform", f"manylinux2014_{machine}"], capture_output=True, text=True, check=False)
    assert taken.returncode == 0, taken.stderr
