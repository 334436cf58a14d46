"""The Dockerfile and the Kubernetes manifest of docs/deploy.md, in containers of this machine's own programs."""

import pathlib
import shutil
import subprocess

import pytest

import page
import shim
from command import COMMAND, fp32shim
from container import container, need_containers, words

MODEL = pathlib.Path(__file__).with_name("model.py")
DONE = "product 131072\n"
IMAGE = {"/usr/local/lib/libfp32shim.so": shim.LIBRARY, "/usr/local/bin/fp32shim": COMMAND}


@pytest.fixture(autouse=True)
def ready():
    need_containers()
    shim.need(shim.has_module("numpy"), "no numpy")


def writable(folder):
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.fixture
def recordings(tmp_path):
    return writable(tmp_path / "recordings")


def calls_in(folder):
    report = fp32shim("report", "--format", "json", folder).json
    return [(process["host"], process["policy_name"], process["calls"]) for process in report["processes"]]


def in_image(*program, recordings=None, **keywords):
    """Runs a program in the image that the Dockerfile builds. The policy is in the image, and belongs to root."""
    files = {**IMAGE, "/etc/fp32shim/policy.toml": page.FILES / "policy.toml", "/app/model.py": MODEL}
    volumes = {"/var/log/fp32shim": recordings} if recordings else {}
    return container(*program, volumes=volumes, read_only=files, env=page.settings("Dockerfile"), **keywords)


@pytest.mark.parametrize("limits", [{}, {"shared_memory": False}, {"tmp_size": 65536}],
                         ids=["no_tmp", "no_dev_shm", "tmp_of_64_KiB"])
def test_the_image_records_on_its_volume_with_a_read_only_root(recordings, limits):
    done = in_image("python3", "/app/model.py", recordings=recordings, **limits)
    assert (done.returncode, done.stdout, done.stderr) == (0, DONE, "")
    assert calls_in(recordings) == [("container", "site", 1)]


def test_without_the_volume_one_line_says_so_and_the_program_goes_on():
    done = in_image("python3", "/app/model.py")
    assert (done.returncode, done.stdout) == (0, DONE)
    assert len(done.stderr.splitlines()) == 1 and "/var/log/fp32shim" in done.stderr


def test_the_command_works_in_the_image(recordings):
    done = in_image("fp32shim", "run", "-q", "--log", "/var/log/fp32shim/run.fp32rec", "--", "python3", "/app/model.py",
                    recordings=recordings)
    assert (done.returncode, done.stdout, done.stderr) == (0, DONE, "")
    assert (recordings / "run.fp32rec").exists()


# ---- Kubernetes

@pytest.fixture
def manifests():
    yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")
    return {document["kind"]: document for document in yaml.safe_load_all((page.FILES / "kubernetes.yaml").read_text())}


def test_the_pod_mounts_all_that_it_names_and_nothing_else(manifests):
    pod = manifests["Deployment"]["spec"]["template"]["spec"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    [prepare], [model] = pod["initContainers"], pod["containers"]
    assert {mount["name"] for each in (prepare, model) for mount in each["volumeMounts"]} == set(volumes)
    assert volumes["policy"]["configMap"]["name"] == manifests["ConfigMap"]["metadata"]["name"]
    assert (volumes["recordings"]["persistentVolumeClaim"]["claimName"]
            == manifests["PersistentVolumeClaim"]["metadata"]["name"])
    template = manifests["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert manifests["Deployment"]["spec"]["selector"]["matchLabels"] == template


def configured(folder, number, text):
    """Changes a mounted ConfigMap as the kubelet does: makes a new folder, and renames a link to it over the old link."""
    (folder / f"..{number}").mkdir()
    (folder / f"..{number}/policy.toml").write_text(text)
    (folder / "..data_tmp").symlink_to(f"..{number}")
    (folder / "..data_tmp").rename(folder / "..data")
    for old in folder.glob(f"..{number - 1}"):
        shutil.rmtree(old)
    if not (folder / "policy.toml").is_symlink():
        (folder / "policy.toml").symlink_to("..data/policy.toml")


# The pod multiplies; then the ConfigMap changes, as by kubectl; then `reload` runs, as by kubectl exec; then it multiplies.
POD = """
import subprocess, sys
model = subprocess.Popen(["python3", "/app/model.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
print(model.stdout.readline(), end="", flush=True)
sys.stdin.readline()
told = subprocess.Popen(["/shim/fp32shim", "reload", "--all"], stdout=subprocess.PIPE, text=True)
while told.poll() is None:
    model.stdin.write("\\n"); model.stdin.flush(); model.stdout.readline()
print(told.stdout.read(), end="")
model.stdin.close(); model.wait()
"""


def test_a_pod_records_and_reads_a_changed_config_map_again(tmp_path, recordings, manifests):
    pod = manifests["Deployment"]["spec"]["template"]["spec"]
    [prepare], [model] = pod["initContainers"], pod["containers"]
    shared, policy = writable(tmp_path / "shim"), tmp_path / "policy"
    policy.mkdir()
    first = manifests["ConfigMap"]["data"]["policy.toml"]
    configured(policy, 1, first)
    prepared = container(*prepare["command"], volumes={"/shim": shared}, read_only=IMAGE)
    assert prepared.returncode == 0, prepared.stderr
    places = {"shim": shared, "policy": policy, "recordings": recordings}
    mounts = {True: {"/app/model.py": MODEL}, False: {}}
    for mount in model["volumeMounts"]:
        mounts[mount.get("readOnly", False)][mount["mountPath"]] = places[mount["name"]]
    with subprocess.Popen(words("python3", "-c", POD, volumes=mounts[False], read_only=mounts[True],
                                env={entry["name"]: entry["value"] for entry in model["env"]}),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == DONE
        configured(policy, 2, first.replace('revision = "1"', 'revision = "2"'))
        out, errors = running.communicate("\n", timeout=600)
    assert (running.returncode, errors) == (0, "") and "done in 1 of 1 process" in out
    [process] = fp32shim("report", "--format", "json", recordings).json["processes"]
    assert (process["host"], process["policy_revision"]) == ("container", "1")
    assert [(change["kind"], change["done"], change["policy_revision"]) for change in process["changes"]] == [
        ("reload", True, "2")]
    metrics = fp32shim("report", "--format", "prometheus", recordings).stdout
    assert 'policy="model",policy_revision="2"' in metrics and 'policy_revision="1"' not in metrics
