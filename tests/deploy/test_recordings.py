"""Which recordings docs/deploy.md removes, and which processes its `reload` reaches."""

import os
import subprocess

import page
import shim
from command import COMMAND, environment, fp32shim

MODEL = page.PAGE.parents[1] / "tests/deploy/model.py"


class Model:
    """A process that has multiplied, and multiplies again when it is asked."""

    def __init__(self, **settings):
        shim.need(shim.has_module("numpy"), "no numpy")
        self.process = subprocess.Popen([shim.SYSTEM_PYTHON, MODEL], env=environment(LD_PRELOAD=shim.LIBRARY, **settings),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.pid = str(self.process.pid)
        assert self.process.stdout.readline().startswith("product ")

    def multiply(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline().startswith("product ")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()


def remove(folder, days):
    text = page.block("fp32shim report --format jsonl /var/log/fp32shim |")
    assert text.count("30 * 86400") == 1
    script = text.replace("/var/log/fp32shim", str(folder)).replace("30 * 86400", f"{days} * 86400")
    shim.tool("jq")
    done = subprocess.run(["sh", "-euc", script], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=environment(PATH=f"{COMMAND.parent}:{os.environ['PATH']}"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return sorted(path.name for path in folder.iterdir())


def test_only_old_recordings_of_processes_that_have_ended_are_removed(tmp_path):
    with Model(FP32_MATMUL_LOG=tmp_path / "ended, 'with' a\nline.fp32rec"):
        pass
    with Model(FP32_MATMUL_LOG=tmp_path / "idle.fp32rec"):
        os.utime(tmp_path / "idle.fp32rec", (0, 0))
        assert len(remove(tmp_path, 30)) == 2, "neither is old"
        assert remove(tmp_path, 0) == ["idle.fp32rec"]
    assert remove(tmp_path, 30) == ["idle.fp32rec"]
    assert remove(tmp_path, 0) == []


def test_an_idle_process_reloads_at_its_next_product(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(f"schema = 1\n[log]\npath = '{tmp_path}/a.fp32rec'\n")
    with Model(FP32_MATMUL_POLICY=policy) as model:
        policy.write_text(policy.read_text() + "level = 'calls'\n")
        assert fp32shim("reload", "--wait", "0.1", model.pid).returncode == 3
        model.multiply()
        assert model.pid in fp32shim("ps").stdout
        # If the named file is missing, the settings stay as they are, and reload says so.
        policy.rename(tmp_path / "away.toml")
        assert fp32shim("reload", "--wait", "0.1", model.pid).returncode == 3
        model.multiply()
        assert model.pid in fp32shim("ps").stdout


def test_a_process_whose_policy_loses_its_log_is_reached_by_no_reload(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(f"schema = 1\n[log]\npath = '{tmp_path}/a.fp32rec'\n")
    with Model(FP32_MATMUL_POLICY=policy) as model:
        policy.write_text("schema = 1\n")
        fp32shim("reload", "--wait", "0.1", model.pid)
        model.multiply()
        assert model.pid not in fp32shim("ps").stdout
        assert fp32shim("reload", model.pid).returncode == 2
