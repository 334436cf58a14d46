"""What ps, top and set open: the very file that a process has mapped, whatever its name leads to by now. Who looks may
be root, and the process anybody's."""

import ctypes
import os
import shutil
import stat
import struct
import subprocess

import pytest

import shim
from command import fp32shim, live_recording

EXACT = "cblas_sgemm:32:native:fp32:as_requested:7"
OPENED = 0x20  # IN_OPEN; opening with O_PATH does not count as such an event


class Watched:
    """Watches files by inotify, and tells which of them were opened."""

    def __init__(self, *paths):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.paths = {self.libc.inotify_add_watch(self.descriptor, os.fsencode(path), OPENED): path for path in paths}
        assert -1 not in self.paths

    def opened(self):
        try:
            events = os.read(self.descriptor, 65536)
        except BlockingIOError:
            return set()
        found = set()
        while events:
            watch, _, _, size = struct.unpack_from("iIII", events)
            found.add(self.paths[watch])
            events = events[16 + size:]
        return found

    def close(self):
        os.close(self.descriptor)


@pytest.fixture
def live(tmp_path):
    (tmp_path / "folder").mkdir()
    log = tmp_path / "folder/run.fp32rec"
    process = live_recording(log, "summary", EXACT)
    yield log, process
    process.communicate(timeout=600)


def test_a_watch_sees_what_is_opened(tmp_path):
    file = tmp_path / "file"
    file.touch()
    watched = Watched(file)
    file.read_bytes()
    assert watched.opened() == {file}
    os.close(os.open(file, os.O_PATH))
    assert watched.opened() == set()
    watched.close()


@pytest.mark.parametrize("kind", ["file", "pipe", "device", "recording"])
def test_a_link_in_the_place_of_a_recording_is_not_followed(live, tmp_path, kind):
    log, process = live
    target = tmp_path / "target"
    if kind == "device":
        try:
            os.mknod(target, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        except OSError as problem:
            shim.need(False, f"no device can be made here: {problem}")
    elif kind == "file":
        target.write_text("secret")
        target.chmod(0o600)
    elif kind == "pipe":
        os.mkfifo(target)
    elif kind == "recording":
        shutil.copy(log, target)
    log.unlink()
    log.symlink_to(target)
    log.with_name("run.fp32rec (deleted)").symlink_to(target)
    watched = Watched(target)
    for words in (["ps", process.pid], ["ps"], ["top", "--count", "1", process.pid], ["set", process.pid, "highest"]):
        result = fp32shim(*words)
        assert result.returncode == 0, result.stderr
        assert str(process.pid) in result.stdout, "found by the descriptor that the process still has"
    assert watched.opened() == set()
    watched.close()


def test_another_file_of_that_name_behind_another_folder_is_not_opened(live, tmp_path):
    log, process = live
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(log, other / "run.fp32rec")
    log.parent.rename(tmp_path / "moved")
    log.parent.symlink_to(other)
    watched = Watched(other / "run.fp32rec")
    before = (other / "run.fp32rec").read_bytes()
    watched.opened()
    assert fp32shim("set", process.pid, "highest").returncode == 0
    assert fp32shim("ps", process.pid).returncode == 0
    assert watched.opened() == set()
    watched.close()
    assert (other / "run.fp32rec").read_bytes() == before
    assert fp32shim("report", "--format", "json", tmp_path / "moved/run.fp32rec").json["processes"][0]["changes"]


def test_the_command_that_is_shown_is_the_kernels_not_the_recordings(live):
    log, process = live
    content = log.read_bytes()
    assert content.count(b" --stay ") >= 1
    with log.open("r+b") as file:
        offset = content.index(b" --stay ")
        file.seek(offset)
        file.write(b" --lies ")
    seen, = fp32shim("ps", process.pid, "--format", "json").json["processes"]
    assert " --stay " in seen["command"] and seen["executable"] == str(shim.client("make_recording").resolve())
    assert " --stay " in fp32shim("ps", process.pid).stdout


def mounted(tmp_path, *words):
    """Mounts another file system at a new folder, and returns the folder."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    done = subprocess.run([shim.tool("mount"), *map(str, words), folder], capture_output=True, text=True, check=False)
    shim.need(done.returncode == 0, f"nothing can be mounted here: {done.stderr.strip()}")
    return folder


@pytest.mark.parametrize("system", ["btrfs", "overlay"])
def test_a_recording_is_found_where_maps_and_stat_name_other_devices(tmp_path, system):
    if system == "btrfs":
        image = tmp_path / "image"
        with image.open("wb") as file:
            file.truncate(128 << 20)
        subprocess.run([shim.tool("mkfs.btrfs", "btrfs-progs"), "-q", image], check=True)
        folder = mounted(tmp_path, "-o", "loop", image)
    else:
        for name in ("lower", "upper", "work"):
            (tmp_path / name).mkdir()
        folder = mounted(tmp_path, "-t", "overlay", "overlay", "-o",
                        f"lowerdir={tmp_path}/lower,upperdir={tmp_path}/upper,workdir={tmp_path}/work")
    try:
        process = live_recording(folder / "run.fp32rec", "summary", EXACT)
        try:
            assert fp32shim("ps", process.pid).returncode == 0
            assert fp32shim("set", process.pid, "highest").returncode == 0
            (folder / "run.fp32rec").unlink()
            assert fp32shim("ps", process.pid).returncode == 0
        finally:
            process.communicate(timeout=600)
    finally:
        subprocess.run(["umount", folder], check=True)
