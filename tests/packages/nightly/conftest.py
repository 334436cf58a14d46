"""Packages that packaging/packages.sh and packaging/wheel.sh built, in the folder FP32SHIM_PACKAGES, and a Debian to install
them in. Run by tests/nightly.sh packages."""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("cli", "preload")]

import shim  # noqa: E402

RELEASE = "bookworm"


def package(pattern):
    folder = os.environ.get("FP32SHIM_PACKAGES")
    shim.need(folder, "FP32SHIM_PACKAGES names no folder of packages")
    found = sorted(pathlib.Path(folder).glob(pattern))
    assert len(found) == 1, f"{folder} has {len(found)} files {pattern}; needed: one"
    return found[0]


@pytest.fixture(scope="session")
def deb():
    return package("fp32shim_*.deb")


@pytest.fixture(scope="session")
def tarball():
    return package("fp32shim-*.tar.gz")


@pytest.fixture(scope="session")
def wheel():
    return package("fp32shim-*.whl")


def unpack_wheel(wheel, prefix):
    """Unpacks the part of a wheel that pip puts below the environment's folder."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            _, data, name = entry.filename.partition(".data/data/")
            if data and not entry.is_dir():
                file = prefix / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(archive.read(entry))
                file.chmod(entry.external_attr >> 16 & 0o777)


@dataclasses.dataclass
class Root:
    """A root file system of its own. Its mounts are seen by nobody else, and go with the process."""

    path: pathlib.Path

    def run(self, *words, mount=""):
        script = f'mount -t proc proc "$1/proc" && cd "$1" && {{ {mount or "true"}; }} && exec chroot "$@"'
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        return subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", self.path, *map(str, words)],
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def output(self, *words):
        done = self.run(*words)
        assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
        return done.stdout

    def files(self):
        """All files with their contents, but for what dpkg notes about packages."""
        notes = ("var/lib/dpkg", "var/log", "var/cache/debconf")
        found = {}
        for file in sorted(self.path.rglob("*")):
            name = str(file.relative_to(self.path))
            if not name.startswith(notes):
                found[name] = (file.lstat().st_mode, os.readlink(file) if file.is_symlink() else
                               file.read_bytes() if file.is_file() else None)
        return found


@pytest.fixture(scope="session")
def debian(tmp_path_factory):
    """A bare Debian with numpy. FP32SHIM_DEBIAN_ROOT: where it is kept, default build/nightly/roots/RELEASE."""
    shim.need(os.geteuid() == 0, "needs root")
    place = pathlib.Path(os.environ.get("FP32SHIM_DEBIAN_ROOT", shim.ROOT / "build/nightly/roots" / RELEASE))
    if not place.exists():
        unfinished = place.with_name(f"{place.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([shim.tool("debootstrap"), "--variant=minbase", "--include=python3-numpy", RELEASE, unfinished],
                       stdout=subprocess.DEVNULL, check=True)
        unfinished.rename(place)
    return place


@pytest.fixture
def root(debian, tmp_path):
    """A copy of it, for one test."""
    subprocess.run(["cp", "-a", debian, tmp_path / "root"], check=True)
    yield Root(tmp_path / "root")
    shutil.rmtree(tmp_path / "root")
