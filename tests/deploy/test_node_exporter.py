"""`report --format prometheus` as the textfile collector of node_exporter reads it: docs/deploy.md."""

import os
import subprocess

import pytest

import page
import shim
from command import environment, fp32shim, make_recording

MODEL = page.PAGE.parents[1] / "tests/deploy/model.py"
NAME = 'a "b" \\ ä'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Recordings of two jobs under a policy with a name, and of two processes without a policy."""
    shim.need(shim.has_module("numpy"), "no numpy")
    folder = tmp_path_factory.mktemp("recordings")
    policy = folder / "policy.toml"
    policy.write_text(f"schema = 1\nname = '{NAME}'\nrevision = '7'\ndefault = 'high'\n[cpu]\nmode = 'emulate'\n")
    for job, settings in (("1", {"FP32_MATMUL_POLICY": policy}), ("2", {"FP32_MATMUL_POLICY": policy}), ("", {}), ("", {})):
        subprocess.run([shim.SYSTEM_PYTHON, MODEL], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       env=environment(LD_PRELOAD=shim.LIBRARY, FP32_MATMUL_LOG=folder / "%p.fp32rec", SLURM_JOB_ID=job,
                                       **settings))
    return folder


def metrics(*words, status=0):
    parser = pytest.importorskip("prometheus_client.parser", reason="python3-prometheus-client is not installed")
    done = fp32shim("report", "--format", "prometheus", *words)
    assert done.returncode == status, done.stderr
    families = {family.name: family for family in parser.text_string_to_metric_families(done.stdout)}
    assert all(family.documentation and family.type in ("counter", "gauge") for family in families.values())
    return {name: family.samples for name, family in families.items()}


def test_series_have_the_host_job_executable_and_policy(folder):
    samples = metrics(folder)["fp32shim_calls"]
    assert {sample.labels["host"] for sample in samples} == {os.uname().nodename}
    assert {sample.labels["executable"] for sample in samples} == {os.path.basename(os.path.realpath(shim.SYSTEM_PYTHON))}
    assert sorted((sample.labels["job_id"], sample.labels["policy"], sample.labels["policy_revision"],
                   sample.labels["applied"], sample.value) for sample in samples) == [
        ("", "", "", "fp32", 2), ("1", NAME, "7", "tf32", 1), ("2", NAME, "7", "tf32", 1)]


def test_a_policy_without_a_name_is_known_by_its_hash(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text("schema = 1\ndefault = 'high'\n")
    shim.need(shim.has_module("numpy"), "no numpy")
    subprocess.run([shim.SYSTEM_PYTHON, MODEL], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   env=environment(LD_PRELOAD=shim.LIBRARY, FP32_MATMUL_LOG=tmp_path / "a.fp32rec",
                                   FP32_MATMUL_POLICY=policy))
    [process] = fp32shim("report", "--format", "json", tmp_path).json["processes"]
    [sample] = metrics(tmp_path)["fp32shim_calls"]
    assert sample.labels["policy"] == f"sha256:{process['policy_sha256'][:12]}"


def test_a_filter_chooses_the_series(folder):
    assert [sample.value for sample in metrics("--dtype", "complex64", folder).get("fp32shim_calls", [])] == []
    assert len(metrics("--host", os.uname().nodename, folder)["fp32shim_calls"]) == 3


def test_sizes_and_places_make_no_series(tmp_path):
    """docs/deploy.md names the number of series: 3 for each function and kind of decision, and 5 more."""
    calls = [f"sgemm_:{size}:native:fp32:as_requested:1" for size in range(1, 200)]
    make_recording(tmp_path / "a.fp32rec", "summary", *calls, "sgemm_:9:high:tf32:as_requested:1")
    samples = metrics(tmp_path)
    assert len(samples["fp32shim_calls"]) == 2
    assert sum(map(len, samples.values())) == 2 * 3 + 5


def test_the_file_is_replaced_at_once_and_readable_for_node_exporter(folder, tmp_path):
    file = tmp_path / "fp32shim.prom"
    unit = (page.FILES / "node-exporter/fp32shim-metrics.service").read_text().replace("\\\n", "")
    words = unit.split("ExecStart=")[1].split()[1:]
    assert words[-1] == "/var/log/fp32shim" and words[-2].endswith("/fp32shim.prom")
    inodes = set()
    for _ in range(2):
        assert fp32shim(*words[:-2], file, folder).returncode == 0
        inodes.add(file.stat().st_ino)
        assert file.stat().st_mode & 0o444 == 0o444
        kept = tmp_path / f"kept{len(inodes)}"
        os.link(file, kept)  # keeps the inode in use, so that the second file gets another one
    assert len(inodes) == 2 and {path.name for path in tmp_path.iterdir()} == {"fp32shim.prom", "kept1", "kept2"}


def value_of(samples, name):
    [sample] = samples[name]
    return sample.value


def test_without_recordings_the_file_says_so(tmp_path):
    file = tmp_path / "fp32shim.prom"
    file.write_text("fp32shim_recordings 7\n")
    (tmp_path / "empty").mkdir()
    done = fp32shim("report", "--format", "prometheus", "--output", file, tmp_path / "empty")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "\nfp32shim_recordings 0\n" in file.read_text() and "fp32shim_calls_total{" not in file.read_text()
    assert value_of(metrics(tmp_path / "empty"), "fp32shim_recordings") == 0


def test_without_the_folder_the_old_file_stays_and_the_status_is_2(tmp_path):
    file = tmp_path / "fp32shim.prom"
    file.write_text("old\n")
    done = fp32shim("report", "--format", "prometheus", "--output", file, tmp_path / "none")
    assert done.returncode == 2 and file.read_text() == "old\n" and "no such file or folder" in done.stderr


def test_damaged_recordings_are_counted_and_the_unit_goes_on(tmp_path):
    (tmp_path / "bad.fp32rec").write_text("nothing of ours")
    samples = metrics(tmp_path, status=1)
    assert (value_of(samples, "fp32shim_recordings"), value_of(samples, "fp32shim_unreadable_recordings")) == (0, 1)
    make_recording(tmp_path / "good.fp32rec", "summary", "sgemm_:9:high:tf32:as_requested:1")
    samples = metrics(tmp_path, status=1)
    assert (value_of(samples, "fp32shim_recordings"), value_of(samples, "fp32shim_unreadable_recordings")) == (1, 1)
    assert "\nSuccessExitStatus=1\n" in (page.FILES / "node-exporter/fp32shim-metrics.service").read_text()


def test_calls_of_a_full_recording_are_in_a_series_without_a_function(tmp_path):
    path = make_recording(tmp_path / "a.fp32rec", "summary", "--rows", "2", "sgemm_:9:high:tf32:as_requested:1",
                          "sgemm_:10:high:tf32:as_requested:4")
    samples = metrics(path)
    assert [sample.value for sample in samples["fp32shim_calls"] if sample.labels["applied"] == "unknown"] == [4]
    assert value_of(samples, "fp32shim_uncounted_calls") == 0
