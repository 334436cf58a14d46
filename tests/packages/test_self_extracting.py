"""The file that unpacks itself and runs `fp32shim gpu-check`, made of this build."""

import re
import subprocess
import tarfile

import pytest

import shim

STAND_IN = shim.BUILD.resolve() / "tests/cublas/stand_in"
PYTHON = shim.ROOT / "tests/cublas/python_without_packages"


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The self-extracting script, made as packaging/packages.sh makes it from the archive."""
    folder = tmp_path_factory.mktemp("self_extracting")
    subprocess.run([shim.tool("cmake"), "--install", shim.BUILD, "--prefix", folder / "fp32shim-0"], check=True, capture_output=True)
    with tarfile.open(folder / "fp32shim-0.tar.gz", "w:gz") as archive:
        archive.add(folder / "fp32shim-0", "fp32shim-0")
    made = folder / "fp32shim-0-gpu-check.sh"
    subprocess.run([shim.ROOT / "packaging/self-extracting.sh", folder / "fp32shim-0.tar.gz", made], check=True)
    return made


def run(script, *words, shell="sh", **variables):
    return subprocess.run([shell, script, *map(str, words)], text=True, check=False, cwd=script.parent, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**shim.environment(), **variables})


@pytest.mark.parametrize("shell", ["sh", "bash", "busybox"])
def test_it_runs_and_leaves_nothing_but_the_report(script, tmp_path, shell):
    shim.need((STAND_IN / "libcuda.so.1").exists(), "the stand-in was not built")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words = [shim.tool(shell), "sh"] if shell == "busybox" else [shell]
    report = tmp_path / "report.json"
    finished = subprocess.run([*words, script, "--seconds", "30", "--libraries", STAND_IN, "--python", PYTHON, "-o", report],
                              text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=shim.environment(env={"TMPDIR": str(scratch)}))
    assert finished.returncode == 0, finished.stdout
    assert "shown      library " in finished.stdout and report.exists()
    assert list(scratch.iterdir()) == []


def test_without_cuda_it_is_one_line_and_77(script, tmp_path):
    finished = run(script, "--libraries", tmp_path, TMPDIR=str(tmp_path))
    assert (finished.returncode, finished.stdout.count("\n")) == (77, 1), finished.stdout
    assert list(tmp_path.iterdir()) == []


def test_it_has_help_and_can_be_unpacked_only(script, tmp_path):
    assert "Usage: fp32shim gpu-check" in run(script, "--help").stdout
    assert run(script, "--extract", tmp_path / "here").returncode == 0
    assert (tmp_path / "here/fp32shim-0/libexec/fp32shim/gpu-check").exists()
    assert (tmp_path / "here/fp32shim-0/share/fp32shim/gpu-check/products.py").exists()


def test_where_no_program_may_be_started_it_names_the_remedy(script, tmp_path):
    inside = 'mount -t tmpfs -o noexec none "$1" || exit 99; TMPDIR=$1 exec sh "$2"'
    finished = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", inside, "sh", tmp_path, script], text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=shim.environment())
    shim.need(finished.returncode != 99 and "unshare" not in finished.stdout, "no mount namespace here")
    assert finished.returncode == 126
    assert re.search(r"no program may be started in .*; let TMPDIR name another folder$", finished.stdout)


def test_a_file_that_is_cut_off_says_so(script, tmp_path):
    cut = tmp_path / "cut.sh"
    cut.write_bytes(script.read_bytes()[:100000])
    finished = run(cut, TMPDIR=str(tmp_path))
    assert finished.returncode == 2 and "cannot be unpacked; is it whole?" in finished.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["cut.sh"]
