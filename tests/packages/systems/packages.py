"""The packages that packaging/packages.sh and packaging/wheel.sh have built for this machine's processor."""

import os
import pathlib
import platform
import re
import subprocess
import zipfile

import shim

FOLDER = pathlib.Path(os.environ.get("FP32SHIM_PACKAGE_FOLDER", shim.BUILD / "packages-out"))
PROCESSOR = platform.machine()
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[PROCESSOR]
LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def text_of(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


def expect_needs_of_an_old_c_library(folder):
    """Checks that the library and the programs below the folder need only a C library of version 2.17 or older."""
    files = [*folder.rglob("libfp32shim.so"), *folder.rglob("bin/fp32shim"), *folder.rglob("libexec/fp32shim/gpu-check")]
    assert len(files) == 3
    for file in files:
        needs = text_of(shim.tool("readelf"), "--wide", "--version-info", file)
        versions = [tuple(map(int, version.split("."))) for version in re.findall(r"Name: GLIBC_([0-9.]+)", needs)]
        assert versions and max(versions) <= (2, 17), (file, max(versions))
        assert set(re.findall(r"Name: ([A-Z]+)_", needs)) == {"GLIBC"}, file
        dynamic = text_of(shim.tool("readelf"), "--wide", "--dynamic", file)
        assert set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)) <= LIBRARIES and not re.search("RPATH|RUNPATH", dynamic)


def package(pattern):
    found = sorted(FOLDER.glob(pattern))
    shim.need(found, f"no {pattern} in {FOLDER}: packaging/packages.sh, packaging/wheel.sh")
    assert len(found) == 1, found
    return found[0]


def debian_package():
    return package(f"fp32shim_*_{ARCHITECTURE}.deb")


def archive():
    return package(f"fp32shim-*-linux-{PROCESSOR}.tar.gz")


def wheel():
    return package(f"fp32shim-*-manylinux*_{PROCESSOR}.whl")


def unpack_archive(prefix):
    """Unpacks the archive. Returns the folder of its prefix."""
    prefix.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-xf", archive(), "-C", prefix], check=True)
    return prefix / archive().name.removesuffix(".tar.gz")


def unpack_wheel(prefix):
    """Unpacks the files that pip puts below an environment's folder."""
    with zipfile.ZipFile(wheel()) as content:
        for entry in content.infolist():
            _, is_data, name = entry.filename.partition(".data/data/")
            if not entry.is_dir():
                file = prefix / (name if is_data else f"lib/python3/site-packages/{entry.filename}")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.read(entry))
                file.chmod(entry.external_attr >> 16 & 0o777)
    return prefix


def unpack_debian_package(prefix):
    subprocess.run([shim.tool("dpkg-deb", "dpkg"), "--extract", debian_package(), prefix], check=True)
    return prefix
