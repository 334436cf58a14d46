"""The start-up file that `run` gives to Python programs where FP32_MATMUL_WHERE asks for module paths of torch: programs
without torch, and with modules of that name, run as without it. tests/preload/wheels/test_module_paths.py has the real
torch."""

import json
import shutil
import subprocess
import sys
import zipfile

import pytest

import shim
from command import COMMAND, environment

FOLDER = shim.BUILD / "share/fp32shim/site-packages"
UNSUITABLE = "fp32shim: module paths are not available for torch"  # message for a module named torch that is not PyTorch


def works(python):
    return python and subprocess.run([python, "-c", "import ctypes"], env=environment(), capture_output=True,
                                     check=False).returncode == 0


PYTHONS = [shim.SYSTEM_PYTHON, *filter(works, (shutil.which(f"python3.{minor}") for minor in (9, 10, 12, 13, 14)))]
on_every_python = pytest.mark.parametrize("python", PYTHONS)


def start(*words, where="torch", paths=(), cwd=None, **variables):
    """Runs the words under `run`, or without the command if `where` is None."""
    variables = {**variables, **({"PYTHONPATH": ":".join(map(str, paths))} if paths else {})}
    before = []
    if where is not None:
        variables["FP32_MATMUL_WHERE"] = where
        before = [COMMAND, "run", "-q", "--"]
    done = subprocess.run([*map(str, before), *map(str, words)], env=environment(**variables), cwd=cwd, capture_output=True,
                          text=True, check=False, timeout=600)
    done.stderr = "".join(line for line in done.stderr.splitlines(True) if "FP32_MATMUL_WHERE: unknown" not in line)
    return done


def same(*words, **keywords):
    """Runs the words with and without the command. They must print and end the same. Returns what they print."""
    plain, started = start(*words, where=None, **keywords), start(*words, **keywords)
    assert (started.stdout, started.stderr, started.returncode) == (plain.stdout, plain.stderr, plain.returncode)
    return plain.stdout


def package(folder, name, text):
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(text)
    return folder


def test_the_folder_stands_first_on_pythonpath_only_where_torch_or_onednn_is_asked_for():
    def python_path(**variables):
        done = start("sh", "-c", 'echo "${PYTHONPATH-unset}"', **variables)
        return done.stdout.strip()

    assert python_path() == python_path(where="auto") == python_path(where=" NVTX, Torch") == str(FOLDER)
    assert python_path(where="python,nvtx") == "unset"
    assert python_path(where="python", FP32_MATMUL_ONEDNN="1") == str(FOLDER)
    assert python_path(paths=["/a", "", "/b"]) == f"{FOLDER}:/a::/b"
    assert python_path(paths=[FOLDER, "/a"]) == f"{FOLDER}:/a"
    assert python_path(paths=[FOLDER]) == f"{FOLDER}"


@on_every_python
def test_a_program_sees_the_same_path_and_finders(python):
    show = ("import sys, json; print(json.dumps([sys.path, 0, [str(f).split(' at ')[0] for f in sys.meta_path],"
            " getattr(sys.modules.get('sitecustomize'), '__file__', None)]))")
    plain, started = start(python, "-c", show, where=None), start(python, "-c", show)
    plain, started = json.loads(plain.stdout), json.loads(started.stdout)
    assert started[0] == plain[0] and started[3] == plain[3]
    finders = [each for each in started[2] if "PackageImportWatcher" not in each]
    assert finders == plain[2] and len(started[2]) == len(plain[2]) + 1
    assert json.loads(start(python, "-c", show, where="nvtx").stdout) == plain


@on_every_python
@pytest.mark.parametrize("kind", ["file", "zip", "package"])
def test_another_start_up_file_runs_as_without_it(python, kind, tmp_path):
    text = "import sys\nNAME = __name__\nprint('theirs', __file__, __spec__.name, sys.modules[__name__].NAME)\n"
    place = tmp_path / "theirs"
    if kind == "package":
        package(place, "sitecustomize", text)
    elif kind == "zip":
        place = tmp_path / "theirs.zip"
        with zipfile.ZipFile(place, "w") as archive:
            archive.writestr("sitecustomize.py", text)
    else:
        place.mkdir()
        (place / "sitecustomize.py").write_text(text)
    shown = same(python, "-c", "import sitecustomize; print(sitecustomize.__spec__.origin, sitecustomize.NAME)", paths=[place])
    assert shown.startswith("theirs") and str(place) in shown.splitlines()[1]


@on_every_python
@pytest.mark.parametrize("text", ["raise ValueError('theirs')", "import missing_module", "raise SystemExit(3)", "syntax error",
                                  "import sys; sys.path.insert(0, '/theirs')"])
def test_a_start_up_file_that_fails_fails_as_without_it(python, text, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(text)
    words = (python, "-c", "import sys; print(sys.path, 'sitecustomize' in sys.modules)")
    plain, started = start(*words, where=None, paths=[tmp_path]), start(*words, paths=[tmp_path])
    assert (started.stdout, started.returncode) == (plain.stdout, plain.returncode)
    assert started.stderr.splitlines()[-1:] == plain.stderr.splitlines()[-1:]  # tracebacks have further lines


def test_another_tools_start_up_file_that_stands_before_runs_once(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\nprint('theirs')\nhere = os.path.dirname(__file__)\n"
        "rest = [p for p in sys.path if p != here]\nfrom importlib.machinery import PathFinder\n"
        "spec = PathFinder.find_spec('sitecustomize', rest)\n"
        "if spec:\n    from importlib.util import module_from_spec\n    module = module_from_spec(spec)\n"
        "    sys.modules['sitecustomize'] = module\n    spec.loader.exec_module(module)\n")
    done = start(shim.SYSTEM_PYTHON, "-c", "import sys; print([type(f).__name__ for f in sys.meta_path][0])",
                 LD_PRELOAD=shim.LIBRARY, FP32_MATMUL_WHERE="torch", where=None, paths=[tmp_path, FOLDER])
    assert done.stdout.splitlines() == ["theirs", "PackageImportWatcher"], done.stderr


@pytest.mark.parametrize("option", ["-S", "-I", "-E"])
def test_python_that_ignores_start_up_files_or_pythonpath_ignores_this_one(option, tmp_path):
    package(tmp_path, "torch", "print('their torch')")
    same(shim.SYSTEM_PYTHON, option, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import torch; print(torch)")


def test_nothing_is_done_where_the_shim_is_not_preloaded(tmp_path):
    package(tmp_path, "torch", "")
    done = start(shim.SYSTEM_PYTHON, "-c", "import sys, torch; print([str(f) for f in sys.meta_path if 'Package' in str(f)],"
                 " 'ctypes' in sys.modules)", where=None, FP32_MATMUL_WHERE="torch", paths=[FOLDER, tmp_path])
    assert (done.stdout, done.stderr) == ("[] False\n", "")


def test_a_program_without_torch_and_jax_does_not_import_ctypes():
    assert same(shim.SYSTEM_PYTHON, "-c", "import sys; print('ctypes' in sys.modules)", FP32_MATMUL_ONEDNN="1") == "False\n"


@on_every_python
@pytest.mark.parametrize("code", [
    "import torch",
    "import importlib; importlib.import_module('torch.part')",
    "import importlib.util as u; assert u.find_spec('torch').loader and u.find_spec('torch.part'); import torch",
    "import importlib.util as u, sys; spec = u.find_spec('torch'); spec.loader = u.LazyLoader(spec.loader)\n"
    "module = u.module_from_spec(spec); sys.modules['torch'] = module; spec.loader.exec_module(module)\n"
    "print('lazy', flush=True); module.value",
    "import threading; [t.start() or t.join() for t in [threading.Thread(target=__import__, args=('torch',))]]",
])
def test_torch_is_met_however_it_is_imported(python, code, tmp_path):
    package(tmp_path, "torch", "print('their torch')\nvalue = 1\n")
    (tmp_path / "torch/part.py").write_text("")
    show = ("\nimport sys, importlib.util; m = sys.modules['torch']; print(type(m.__spec__.loader), vars(m.__spec__.loader),"
            " m.__loader__ is m.__spec__.loader, [str(f).split(' at ')[0] for f in sys.meta_path])")
    plain = start(python, "-c", code + show, where=None, paths=[tmp_path])
    met = start(python, "-c", code + show, paths=[tmp_path])
    assert met.stdout == plain.stdout and met.returncode == plain.returncode == 0
    assert plain.stderr == "" and met.stderr.startswith(UNSUITABLE) and len(met.stderr.splitlines()) == 1


def test_a_torch_that_fails_to_import_can_be_imported_again(tmp_path):
    package(tmp_path, "torch", "import os\nif not os.environ.get('AGAIN'): raise ImportError('not yet')\n")
    done = start(shim.SYSTEM_PYTHON, "-c", "import os\ntry: import torch\nexcept ImportError as e: print(e)\n"
                 "os.environ['AGAIN'] = '1'; import torch", paths=[tmp_path])
    assert done.stdout == "not yet\n" and done.stderr.startswith(UNSUITABLE), done.stderr


def test_a_torch_that_nothing_finds_is_missed_in_the_same_words():
    same(shim.SYSTEM_PYTHON, "-c", "import importlib.util as u\nprint(u.find_spec('torch_no'))\n"
         "import sys; sys.path[:] = []\ntry: import torch\nexcept ImportError as e: print(repr(e), e.name)")


CHILD = """
import multiprocessing, subprocess, sys
def work():
    import torch
if __name__ == "__main__":
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    for method in ("fork", "spawn", "forkserver"):
        process = multiprocessing.get_context(method).Process(target=work)
        process.start()
        process.join()
        print(method, process.exitcode)
"""


@on_every_python
def test_children_of_a_program_have_the_start_up_file_too(python, tmp_path):
    package(tmp_path, "torch", "")
    (tmp_path / "program.py").write_text(CHILD)
    done = start(python, tmp_path / "program.py", paths=[tmp_path])
    assert done.stdout.split() == ["fork", "0", "spawn", "0", "forkserver", "0"], done.stderr
    assert done.stderr.count(UNSUITABLE) == 4, done.stderr


def test_pytest_rewrites_assertions_and_imports_are_timed_as_before(tmp_path):
    package(tmp_path, "torch", "")
    (tmp_path / "test_it.py").write_text("import torch\ndef test_it():\n    assert 1 + 1 == 3\n")
    done = start(shim.SYSTEM_PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", paths=[tmp_path],
                 cwd=tmp_path)
    assert "assert (1 + 1) == 3" in done.stdout, done.stdout
    timed = start(shim.SYSTEM_PYTHON, "-X", "importtime", "-c", "import torch", paths=[tmp_path]).stderr
    assert [line for line in timed.splitlines() if line.endswith("| torch")], timed


def test_old_pythons_can_read_the_file():
    """Python 2.7 and 3.4 know no f-string, no annotation of a variable and no keyword-only call."""
    text = (FOLDER / "sitecustomize.py").read_text()
    compile(text, "sitecustomize.py", "exec", dont_inherit=True)
    shim.need(sys.version_info < (3, 13), "this Python's ast refuses feature versions that old")
    import ast
    ast.parse(text, feature_version=(3, 4))
    assert all(ord(letter) < 128 for letter in text)
