"""docs/deploy.md: beside libraries of the kinds that sites preload, in both orders, and the recipes of packaging/."""

import ast
import itertools
import os
import re
import subprocess

import pytest

import shim
from command import COMMAND, environment, fp32shim
from test_mpi import OPEN_MPI

KINDS = ("tracker", "io", "profiler")
EXACT, ROUNDED = "64.03125\n", "64\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the stand-ins tracker.so, io.so and profiler.so, and with the programs."""
    folder = tmp_path_factory.mktemp("neighbours")
    compiler, source = shim.tool("cc", "gcc"), shim.HERE.parent / "deploy/neighbours.c"
    for kind in KINDS:
        subprocess.run([compiler, "-shared", "-fPIC", f"-D{kind.upper()}", source, "-o", folder / f"{kind}.so"], check=True)
    blas = shim.blas_library("openblas")
    for name, options in ("program", ()), ("mpi/program", ("-DMPI", "-l:libmpi.so.40")):
        (folder / name).parent.mkdir(exist_ok=True)
        if "-DMPI" in options and not list(shim.SYSTEM_LIBRARIES.glob("libmpi.so.40")):
            continue
        subprocess.run([compiler, "-DPROGRAM", source, *options, blas, "-o", folder / name], check=True)
    return folder


def run(built, tmp_path, order, *, program="program", prefix=(), shimmed=True, **variables):
    """Runs the program with these libraries preloaded, one of them `shim`. Returns its output and that of the libraries."""
    said = tmp_path / "said"
    said.unlink(missing_ok=True)
    preload = [shim.LIBRARY if name == "shim" else built / f"{name}.so" for name in order if shimmed or name != "shim"]
    done = subprocess.run([*prefix, built / program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600,
                          env=shim.environment(blas="openblas", preload=preload, env={
                              "NEIGHBOURS": str(said), **{name: str(value) for name, value in variables.items()}}))
    assert done.returncode == 0, f"{order}\n{done.stderr}"
    return done.stdout, sorted(said.read_text().splitlines()) if said.exists() else []


def orders(*kinds):
    return [order for order in itertools.permutations(("shim", *kinds))]


@pytest.mark.parametrize("order", [order for kind in KINDS for order in orders(kind)] + [("shim", *KINDS), (*KINDS, "shim")],
                         ids="-".join)
def test_the_neighbours_see_the_same_and_so_does_the_shim_in_both_orders(built, tmp_path, order):
    plain = run(built, tmp_path, order, shimmed=False)
    assert plain[0] == EXACT and len(plain[1]) == sum({"tracker": 2, "io": 1, "profiler": 1}[kind] for kind in order if kind != "shim")
    assert run(built, tmp_path, order) == plain  # unconfigured
    rounded, said = run(built, tmp_path, order, FP32_MATMUL_PRECISION="high", FP32_MATMUL_CPU="emulate",
                        FP32_MATMUL_LOG=tmp_path / "run.fp32rec")
    assert [re.sub(r"recordings \d+", "recordings 0", line) for line in said] == plain[1]
    (row,) = fp32shim("report", "--format", "json", tmp_path / "run.fp32rec").json["rows"]
    if "profiler" in order and order.index("shim") < order.index("profiler"):
        # The wrapper is the library that is called, and nobody can ask it for the width of its integers.
        assert (rounded, row["caller"], row["provider"]) == (EXACT, "program", "profiler.so")
        assert (row["calls"], row["applied"], row["reason"]) == (3, "fp32", "width_unknown")
    else:
        caller = "profiler.so" if "profiler" in order else "program"
        assert (rounded, row["caller"], row["provider"]) == (ROUNDED, caller, "libblas.so.3")
        assert (row["calls"], row["applied"], row["reason"]) == (3, "tf32", "as_requested")


def test_a_helper_that_a_tracker_starts_without_the_preload_is_examined_by_verify(built, tmp_path):
    run(built, tmp_path, ("shim", "tracker"), FP32_MATMUL_LOG=tmp_path / "run.fp32rec")
    verdict = fp32shim("verify", "--at-least", "fp32", tmp_path)
    assert verdict.returncode == 0 and "their files contain nothing that is known to multiply:\n- child:true" in verdict.stdout


@pytest.mark.parametrize("order", orders("io"), ids="-".join)
def test_mpi_is_wrapped_by_the_neighbour_as_without_the_shim(built, tmp_path, order):
    shim.tool("mpirun.openmpi", "openmpi-bin")
    shim.need((built / "mpi/program").exists(), "no libmpi.so.40")
    mpirun = ["mpirun.openmpi", "-n", "2"]
    plain = run(built, tmp_path, order, program="mpi/program", prefix=mpirun, shimmed=False, **OPEN_MPI)
    assert plain == (2 * EXACT, 2 * ["io: output 1, recordings 0, MPI 11"])
    assert run(built, tmp_path, order, program="mpi/program", prefix=mpirun, **OPEN_MPI) == plain


def test_run_puts_the_library_before_those_that_are_preloaded_already(built):
    done = subprocess.run([COMMAND, "run", "-q", "--", "sh", "-c", "echo $LD_PRELOAD"], capture_output=True, text=True, check=True,
                          env=environment(LD_PRELOAD=built / "io.so"))
    assert done.stdout == f"{shim.LIBRARY}:{built / 'io.so'}\n"


def test_the_recipes_name_this_version_and_files_that_are_installed():
    version = re.search(r"project\(fp32shim VERSION ([\d.]+)", (shim.ROOT / "CMakeLists.txt").read_text())[1]
    easyconfig = shim.ROOT / f"packaging/easybuild/fp32shim-{version}.eb"
    values = {}
    exec(compile(easyconfig.read_text(), easyconfig, "exec"), {"SYSTEM": "system"}, values)  # as EasyBuild reads it
    assert values["version"] == version and values["toolchain"] == "system"
    recipe = ast.parse((shim.ROOT / "packaging/spack/spack_repo/fp32shim/packages/fp32shim/package.py").read_text())
    (package,) = [node for node in recipe.body if isinstance(node, ast.ClassDef)]
    versions = [ast.literal_eval(node.value.args[0]) for node in package.body
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "version"]
    assert versions == [version]
    installed = (shim.ROOT / "docs/install.md").read_text()
    for path in (*values["sanity_check_paths"]["files"], *values["sanity_check_paths"]["dirs"]):
        assert f"`{path}" in installed, path
