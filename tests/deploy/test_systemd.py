"""The drop-in of docs/deploy.md: systemd understands it, and the library works under the hardening of units."""

import pathlib
import re
import subprocess
import sys

import pytest

import page
import shim
from command import environment, fp32shim
from container import container, need_containers

HERE = pathlib.Path(__file__).parent
DONE = "product 131072\n"


def verified(tmp_path, drop_in):
    analyze = shim.tool("systemd-analyze", "systemd")
    (tmp_path / "model.service.d").mkdir()
    (tmp_path / "model.service").write_text("[Service]\nExecStart=/usr/bin/true\n")
    (tmp_path / "model.service.d/fp32shim.conf").write_text(drop_in)
    done = subprocess.run([analyze, "verify", "--man=no", tmp_path / "model.service"], capture_output=True, text=True,
                          check=False)
    return [line for line in done.stderr.splitlines() if str(tmp_path) in line]


def test_systemd_understands_the_drop_in(tmp_path):
    assert verified(tmp_path, (page.FILES / "systemd/fp32shim.conf").read_text()) == []


def test_systemd_complains_of_a_drop_in_with_a_mistake(tmp_path):
    [line] = verified(tmp_path, "[Service]\nEnvironmnt=LD_PRELOAD=/x.so\n")
    assert "Unknown key" in line


@pytest.mark.parametrize("name", ["service", "timer"])
def test_systemd_understands_the_units_for_node_exporter(tmp_path, name):
    analyze = shim.tool("systemd-analyze", "systemd")
    for kind in ("service", "timer"):
        text = (page.FILES / f"node-exporter/fp32shim-metrics.{kind}").read_text()
        (tmp_path / f"fp32shim-metrics.{kind}").write_text(re.sub("ExecStart=.*/fp32shim ", "ExecStart=/usr/bin/true ", text))
    done = subprocess.run([analyze, "verify", "--man=no", tmp_path / f"fp32shim-metrics.{name}"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0 and str(tmp_path) not in done.stderr, done.stderr


def test_the_units_environment_records_into_its_logs_directory(tmp_path):
    need_containers()
    shim.need(shim.has_module("numpy"), "no numpy")
    logs = tmp_path / "logs"
    logs.mkdir()
    logs.chmod(0o777)
    unit = page.settings("systemd/fp32shim.conf")
    assert re.findall("%.", unit["FP32_MATMUL_LOG"].replace("%%", "")) == []  # systemd itself expands a single %
    # ProtectSystem=strict, PrivateTmp, DynamicUser: everything is read-only except the logs and a private /tmp.
    done = container("python3", "/app/model.py", volumes={"/var/log/model": logs}, tmp_size=1 << 20,
                     read_only={"/app/model.py": HERE / "model.py", unit["LD_PRELOAD"]: shim.LIBRARY},
                     env={name: value.replace("%%", "%") for name, value in unit.items()})
    assert (done.returncode, done.stdout, done.stderr) == (0, DONE, "")
    [recording] = logs.iterdir()
    assert re.fullmatch(r"container\.\d+\.fp32rec", recording.name)


def system_calls(group):
    """Returns the names of the system calls in a group of systemd, including the groups within it."""
    done = subprocess.run([shim.tool("systemd-analyze", "systemd"), "syscall-filter", group], capture_output=True, text=True,
                          check=True)
    names = set()
    for line in done.stdout.splitlines()[1:]:
        name = line.strip()
        if name.startswith("@"):
            names |= system_calls(name)
        elif name and not name.startswith("#"):
            names.add(name)
    return names


def in_sandbox(*options, log):
    shim.need(shim.has_module("numpy"), "no numpy")
    words = [sys.executable, HERE / "sandbox.py", *options, "--", "env", f"LD_PRELOAD={shim.LIBRARY}",
             f"FP32_MATMUL_LOG={log}", "FP32_MATMUL_PRECISION=high", "FP32_MATMUL_CPU=emulate", shim.SYSTEM_PYTHON,
             HERE / "model.py"]
    return subprocess.run(words, env=environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def options_of(hardening):
    if hardening == "MemoryDenyWriteExecute":
        return ["--deny-write-execute"]
    return ["--system-calls", ",".join(sorted(system_calls("@system-service")))]


@pytest.mark.parametrize("hardening", ["MemoryDenyWriteExecute", "SystemCallFilter"])
def test_a_hardened_unit_is_governed_and_recorded(tmp_path, hardening):
    done = in_sandbox(*options_of(hardening), log=tmp_path / "run.fp32rec")
    assert (done.returncode, done.stdout, done.stderr) == (0, DONE, "")
    by_format = fp32shim("report", "--format", "json", tmp_path / "run.fp32rec").json["by_format"]
    assert by_format["tf32"]["calls"] == 1


def test_a_unit_with_a_proc_of_processes_only_is_recorded(tmp_path):
    """The unit has ProcSubset=pid and ProtectProc=invisible."""
    shim.need(shim.has_module("numpy"), "no numpy")
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc",
             'mount -t proc -o subset=pid,hidepid=invisible proc /proc; [ ! -e /proc/meminfo ]; exec "$@"', "sh"]
    possible = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    shim.need(possible.returncode == 0, f"no such /proc can be mounted here: {possible.stderr}")
    done = subprocess.run([*words, shim.SYSTEM_PYTHON, HERE / "model.py"], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL,
                          env=environment(LD_PRELOAD=shim.LIBRARY, FP32_MATMUL_LOG=tmp_path / "run.fp32rec"))
    assert (done.returncode, done.stdout, done.stderr) == (0, DONE, "")
    assert fp32shim("report", "--format", "json", tmp_path / "run.fp32rec").json["totals"]["calls"] == 1


# Checks that the sandbox really forbids these actions; otherwise the test above would prove nothing.
FORBIDDEN = {"MemoryDenyWriteExecute": "import mmap; mmap.mmap(-1, 4096, prot=7)",
             "SystemCallFilter": "import os; os.chroot('/')"}


@pytest.mark.parametrize("hardening", FORBIDDEN)
def test_the_sandbox_forbids_what_the_hardening_does(hardening):
    done = subprocess.run([sys.executable, HERE / "sandbox.py", *options_of(hardening), "--", shim.SYSTEM_PYTHON, "-c",
                           FORBIDDEN[hardening]], env=environment(), capture_output=True, text=True, check=False)
    assert "PermissionError" in done.stderr
