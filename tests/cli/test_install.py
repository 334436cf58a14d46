"""What `cmake --install` puts where people and shells look for it."""

import os
import subprocess

import pytest

import shim
from command import environment, make_recording


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    done = subprocess.run([shim.tool("cmake"), "--install", shim.BUILD, "--prefix", prefix], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return prefix


def fp32shim(prefix, *words):
    return subprocess.run([prefix / "bin/fp32shim", *words], env=environment(), capture_output=True, text=True, check=False)


def fp32shim_library(prefix):
    (found,) = prefix.glob("lib*/**/libfp32shim.so")
    return found


def test_the_command_finds_its_library(installed):
    done = fp32shim(installed, "run", "-q", "--", "sh", "-c", "echo $LD_PRELOAD")
    assert done.returncode == 0, done.stderr
    assert os.path.realpath(done.stdout.strip()).startswith(os.path.realpath(installed))


def test_the_command_finds_its_library_where_proc_is_not_mounted(installed):
    hidden = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    probe = subprocess.run([*hidden, "true"], capture_output=True, text=True, check=False)
    shim.need(probe.returncode == 0, f"/proc cannot be hidden in a user namespace here: {probe.stderr.strip()}")
    show = ["run", "-q", "--", "sh", "-c", "echo $LD_PRELOAD"]
    for words in [installed / "bin/fp32shim", *show], ["sh", "-c", f"cd {installed}/share && ../bin/fp32shim \"$@\"", "sh", *show]:
        done = subprocess.run([*hidden, *words], env=environment(), capture_output=True, text=True, check=False)
        assert done.stdout.strip() and os.path.samefile(done.stdout.strip(), fp32shim_library(installed)), done.stderr


def test_the_policies_are_there_and_in_order(installed):
    policies = sorted((installed / "share/fp32shim/policies").glob("*.toml"))
    assert [policy.name for policy in policies] == sorted(path.name for path in (shim.ROOT / "config").glob("*.toml"))
    assert fp32shim(installed, "check", *policies).returncode == 0


@pytest.mark.parametrize("shell, path", [("bash", "bash-completion/completions/fp32shim"),
                                         ("zsh", "zsh/site-functions/_fp32shim"),
                                         ("fish", "fish/vendor_completions.d/fp32shim.fish")])
def test_completion_files_are_those_that_the_command_writes(installed, shell, path):
    assert (installed / "share" / path).read_text() == fp32shim(installed, "completion", shell).stdout


def test_the_files_for_rolling_out_and_for_fleets_are_there(installed):
    for folder in "deploy", "fleet":
        have = {path.relative_to(shim.ROOT / "examples") for path in (shim.ROOT / "examples" / folder).rglob("*.*")}
        examples = installed / "share/fp32shim/examples"
        assert have and {path for path in have if "__pycache__" not in path.parts} <= {
            path.relative_to(examples) for path in examples.rglob("*")}


def test_python_finds_the_module_and_it_does_nothing_without_the_library(installed):
    done = subprocess.run([shim.SYSTEM_PYTHON, "-c", "import fp32shim; print(fp32shim.__file__)"], capture_output=True,
                          text=True, check=False, env={**environment(), "PYTHONPATH": str(installed / "share/fp32shim/python")})
    assert done.stdout.strip() == str(installed / "share/fp32shim/python/fp32shim/__init__.py"), done.stderr


MODULE = """
import fp32shim, os, warnings
print(os.path.samefile(fp32shim.command_path(), PREFIX + "/bin/fp32shim"), os.path.basename(fp32shim.library_path()))
print(fp32shim.active(), fp32shim.get_float32_matmul_precision())
fp32shim.set_float32_matmul_precision("high")
print(fp32shim.get_float32_matmul_precision(), fp32shim.get_precision())
try:
    fp32shim.set_float32_matmul_precision("tf32")
except ValueError as error:
    print(error)
with fp32shim.scope("layer", precision="highest"):
    print(fp32shim.get_float32_matmul_precision())
try:
    fp32shim.set_floor("fp31")
except fp32shim.FP32ShimError as error:
    print(error.status, error)
print([(row["function"], row["calls"]) for row in fp32shim.Recording(RECORDING).rows()])
try:
    fp32shim.Recording(PREFIX).rows()
except OSError as error:
    print(error)
"""


def test_the_python_module_sets_the_precision_names_the_files_and_reads_recordings(installed, tmp_path):
    recording = make_recording(tmp_path / "run.fp32rec", "summary", "sgemm_:8:native:fp32:as_requested:9")
    code = MODULE.replace("PREFIX", repr(str(installed))).replace("RECORDING", repr(str(recording)))
    done = subprocess.run([installed / "bin/fp32shim", "run", "-q", "--", shim.SYSTEM_PYTHON, "-c", code], text=True,
                          capture_output=True, check=False,
                          env=environment(PYTHONPATH=installed / "share/fp32shim/python"))
    assert done.stdout.splitlines() == [
        "True libfp32shim.so", "True native", "high ('high', 'process')", "found 'tf32'; allowed: highest, high, medium",
        "highest", "1 fp32shim_set_floor: invalid argument", "[('sgemm_', 9)]", f"fp32shim report: {installed}: no *.fp32rec in this folder; fp32shim run --log NAME.fp32rec -- PROGRAM writes one"], done.stderr


def test_the_python_module_runs_the_command(installed):
    done = subprocess.run([shim.SYSTEM_PYTHON, "-m", "fp32shim", "run", "-q", "--", "sh", "-c", "exit 7"], text=True,
                          capture_output=True, check=False, env=environment(PYTHONPATH=installed / "share/fp32shim/python"))
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")


def test_the_command_finds_the_start_up_file_of_python_programs(installed):
    done = subprocess.run([installed / "bin/fp32shim", "run", "-q", "--", "sh", "-c", "echo $PYTHONPATH"], text=True,
                          env=environment(FP32_MATMUL_WHERE="torch"), capture_output=True, check=False)
    folder = installed / "share/fp32shim/site-packages"
    assert done.stdout.strip() == str(folder), done.stderr
    assert {path.name for path in folder.iterdir()} == {path.name for path in (shim.ROOT / "python/site-packages").glob("*.py")}


def test_fortran_compiles_the_module(installed, tmp_path):
    compiler = shim.tool("gfortran")
    module = installed / "share/fp32shim/fortran/fp32shim.f90"
    subprocess.run([compiler, "-c", module, "-o", tmp_path / "module.o"], cwd=tmp_path, check=True)
    assert (tmp_path / "fp32shim.mod").exists()


def test_every_command_has_its_manual_page(installed):
    pages = {page.name for page in (installed / "share/man/man1").iterdir()}
    assert pages == {page.name for page in (shim.ROOT / "docs/cli").glob("*.1")}
