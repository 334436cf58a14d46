"""An installation, also after it was moved: what other projects find it by, and that each command keeps to its own library."""

import os
import re
import shutil
import subprocess

import pytest

import shim
from command import environment

PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(client C)
find_package(fp32shim VERSION CONFIG REQUIRED)
add_executable(scopes scopes.c)
target_link_libraries(scopes PRIVATE fp32shim::fp32shim BLAS m)
file(WRITE ${CMAKE_BINARY_DIR}/files.txt "${fp32shim_LIBRARY}\\n${fp32shim_COMMAND}\\n")
"""
WITHOUT = "fp32shim is not loaded: scopes do nothing"
WITH = re.compile(r"^model/solver +asked high +by thread +floor fp32", re.MULTILINE)


def text_of(words, **keywords):
    done = subprocess.run([str(word) for word in words], env=environment(**keywords), capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def install(prefix):
    text_of([shim.tool("cmake"), "--install", shim.BUILD, "--prefix", prefix])
    return prefix


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return install(tmp_path_factory.mktemp("prefix") / "installed")


@pytest.fixture(params=["where it was installed", "elsewhere"], scope="module")
def prefix(request, original, tmp_path_factory):
    if request.param == "where it was installed":
        return original
    folder = tmp_path_factory.mktemp("moved")
    (folder / "deeper").mkdir()
    return install(folder / "before").rename(folder / "deeper/after")


@pytest.fixture(scope="module")
def blas():
    """The BLAS and the headers with which the examples were built."""
    cache = (shim.BUILD / "CMakeCache.txt").read_text()
    found = [re.search(rf"^FP32SHIM_EXAMPLES_{name}:\w+=(.*)$", cache, re.MULTILINE)[1] for name in ("BLAS", "CBLAS_INCLUDE")]
    shim.need(not any(name.endswith("NOTFOUND") for name in found), "no shared BLAS with cblas.h")
    return found


def installed_library(prefix):
    return next(prefix.glob("lib*/**/libfp32shim.so"))


def check_client(program, prefix):
    """Checks that the client links nothing of fp32shim, runs without the shim, and opens its scopes with it."""
    assert "fp32shim" not in text_of([shim.tool("readelf"), "-d", program])
    assert WITHOUT in text_of([program])
    assert WITH.search(text_of([prefix / "bin/fp32shim", "run", "-q", "--", program]))


def configure(folder, prefix, version, blas):
    (folder / "CMakeLists.txt").write_text(PROJECT.replace("VERSION CONFIG", f"{version} CONFIG").replace("BLAS", blas[0]))
    shutil.copy(shim.ROOT / "examples/c_api/scopes.c", folder)
    return [shim.tool("cmake"), "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_C_FLAGS=-isystem {blas[1]}"]


def test_a_cmake_project_finds_the_package_builds_and_runs(prefix, blas, tmp_path):
    text_of(configure(tmp_path, prefix, "0.1", blas))
    text_of([shim.tool("cmake"), "--build", tmp_path / "build"])
    check_client(tmp_path / "build/scopes", prefix)
    library, command = (tmp_path / "build/files.txt").read_text().splitlines()
    assert os.path.samefile(library, installed_library(prefix)) and os.path.samefile(command, prefix / "bin/fp32shim")


def test_cmake_refuses_another_major_version_and_says_which_one_is_there(original, blas, tmp_path):
    done = subprocess.run(configure(tmp_path, original, "7.0", blas), capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "7.0" in done.stderr and re.search(r"fp32shim-config.cmake, version: \d", done.stderr), done.stderr


def test_pkg_config_finds_the_file_and_the_client_builds_and_runs(prefix, blas, tmp_path):
    def pkg_config(*words):
        folder = next(prefix.glob("lib*/**/pkgconfig"))
        return text_of([shim.tool("pkg-config"), *words, "fp32shim"], PKG_CONFIG_PATH=folder).split()

    text_of([shim.tool("cc", "gcc"), shim.ROOT / "examples/c_api/scopes.c", *pkg_config("--cflags"), "-isystem", blas[1],
             "-o", tmp_path / "scopes", *pkg_config("--libs"), blas[0], "-lm"])
    check_client(tmp_path / "scopes", prefix)
    assert os.path.samefile(pkg_config("--variable=library")[0], installed_library(prefix))
    assert os.path.samefile(pkg_config("--variable=command")[0], prefix / "bin/fp32shim")
    assert text_of([prefix / "bin/fp32shim", "--version"]).split()[1:] == pkg_config("--modversion")


def test_the_cpp_header_needs_no_library_and_tells_what_ran_with_the_shim_only(prefix, blas, tmp_path):
    program = tmp_path / "last_product"
    text_of([shim.tool("c++", "g++"), "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wold-style-cast", "-Werror", f"-I{prefix}/include",
             "-isystem", blas[1], shim.ROOT / "examples/c_api/last_product.cpp", "-o", program, blas[0]])
    assert text_of([program]) == "what ran is not known: fp32shim is not loaded\n"
    run = [prefix / "bin/fp32shim", "run", "-q", "--cpu", "emulate"]
    assert text_of([*run, "--", program]) == "what ran is not known: nothing is recorded\n"
    assert text_of([*run, "--log", tmp_path / "run.fp32rec", "--", program]) == (
        "cblas_sgemm 64x64x64: thread asked for high, ran at tf32 by round_operands: as_requested\n")


def test_no_installed_text_names_the_folder_of_the_build_or_of_the_installation(original):
    for file in original.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert str(shim.ROOT).encode() not in content, file
            assert str(original).encode() not in content, file


def test_a_moved_installation_works_and_leaves_the_old_place(prefix):
    assert ": valid, " in text_of([prefix / "bin/fp32shim", "check", *sorted((prefix / "share/fp32shim/policies").glob("*.toml"))])
    module = prefix / "share/fp32shim/python"
    printed = text_of([shim.SYSTEM_PYTHON, "-c", "import fp32shim; print(fp32shim.library_path(), fp32shim.command_path())"],
                      PYTHONPATH=module)
    assert printed.split() == [str(installed_library(prefix)), str(prefix / "bin/fp32shim")]


def test_of_two_installations_each_command_preloads_the_library_beside_itself(original, tmp_path):
    """The installations are a wheel and a package of the distribution, of different versions."""
    first, second = tmp_path / "first", tmp_path / "second"
    for place in (first, second):
        shutil.copytree(original, place, symlinks=True)
    with installed_library(second).open("ab") as file:
        file.write(b"another version")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/fp32shim").symlink_to(second / "bin/fp32shim")
    path = f"{tmp_path}/bin:{first}/bin:{os.environ['PATH']}"
    for command, owner in ((first / "bin/fp32shim", first), (second / "bin/fp32shim", second), ("fp32shim", second)):
        words = ["env", f"PATH={path}", command, "run", "-q", "--", "sh", "-c", "echo $LD_PRELOAD"]
        preloaded = text_of(words, LD_LIBRARY_PATH=installed_library(first).parent).strip()
        assert os.path.samefile(preloaded, installed_library(owner)), command
