"""The Dockerfile of docs/deploy.md, built and run by buildah; the Kubernetes manifest against the schemas of Kubernetes."""

import os
import pathlib
import platform
import shutil
import subprocess

import page
import shim
from root import FOLDER, inside

WHEELS = pathlib.Path(os.environ.get("FP32SHIM_WHEEL_FOLDER", shim.BUILD / "nightly/wheels"))
BUILDAH = "export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot; b() { buildah --root /srv/disk/store --runroot /run/store \"$@\"; }\n"


def test_the_dockerfile_builds_an_image_that_records_as_another_user():
    build = FOLDER / "disk"
    shutil.rmtree(build)
    build.mkdir()
    for file in [FOLDER / "base.tar", page.FILES / "policy.toml", *WHEELS.glob(f"fp32shim-*_{platform.machine()}.whl")]:
        shutil.copy(file, build)
    (build / "base").write_text("FROM scratch\nADD base.tar /\n")
    # Without a network: pip installs the local wheel, which needs no other.
    lines = inside(BUILDAH + """cd /srv/disk
        (b bud -t base -f base . && b bud --build-arg BASE=localhost/base -t model -f /srv/deploy/Dockerfile .) > /tmp/log 2>&1 ||
            { cat /tmp/log; exit 1; }
        c=$(b from localhost/model); b copy -q $c /srv/model.py /app/model.py > /dev/null
        b run $c -- sh -c 'id -u; python3 /app/model.py < /dev/null; ls -l /var/log/fp32shim | tail -n +2 | cut -d" " -f1,3; fp32shim --version'
        rm -rf /srv/disk/*""", timeout=600)
    assert lines[:3] == ["1000", "product 131072", "-rw------- 1000"] and lines[3].startswith("fp32shim ")


def validated(manifest):
    return subprocess.run([FOLDER / "venv/bin/kubernetes-validate", "--strict", manifest], capture_output=True, text=True,
                          check=False)


def test_the_manifest_passes_the_schemas_and_one_with_a_mistake_does_not(tmp_path):
    manifest = page.FILES / "kubernetes.yaml"
    assert validated(manifest).returncode == 0
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(manifest.read_text().replace("readOnlyRootFilesystem", "readOnlyRoot"))
    assert validated(wrong).returncode == 1
