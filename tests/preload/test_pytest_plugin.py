"""The plugin for pytest (python/pytest_fp32shim, docs/pytest.md): whole runs of pytest over small suites."""

import json
import os
import re
import shlex
import subprocess
import textwrap
import xml.etree.ElementTree

import pytest

import processor
import shim
from command import COMMAND

SUITE = """
import numpy, os, pytest, sys
A = numpy.full((64, 64), 1 + 2**-12, numpy.float32)  # not TF32 numbers: at TF32 the product is 64, and else 64.03125
EXACT = numpy.float32(64.03125)

def product(size=64):
    return (A[:size] @ A)[0, 0]

@pytest.fixture(scope="module")
def model():
    return product(32)

def test_exact():
    assert product() == EXACT

def test_loose():
    assert abs(product() - 64) < 1

def test_first_of_model(model):
    assert model > 63

def test_second_of_model(model):
    assert model == EXACT

def test_fails_always():
    assert product() < 0

def test_without_a_product():
    print("seen", file=sys.stderr)

@pytest.mark.fp32shim(precision="highest")
def test_marked():
    assert product() == EXACT

@pytest.mark.limit_precision("fp32")
def test_limited():
    assert product() == EXACT

@pytest.mark.parametrize("size", [16, 24])
def test_with_the_fixture(size, limit_precision):
    with limit_precision("fp32"):
        assert product(size) == EXACT
"""
OUTCOMES = re.compile(r"^(\S+::\S+) (PASSED|FAILED|SKIPPED|ERROR)", re.MULTILINE)
PLUGIN = ["-p", "pytest_fp32shim"]


class Run:
    def __init__(self, words, environment, done):
        self.words, self.environment = words, environment
        self.returncode, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        self.outcomes = dict(OUTCOMES.findall(done.stdout))

    def section(self, title):
        """Returns the lines of a section that the plugin printed."""
        parts = re.split(r"^=+ (.*?) =+$", self.stdout, flags=re.MULTILINE)
        assert f"fp32shim: {title}" in parts, f"{self.words}\n{self.stdout}\n{self.stderr}"
        return parts[parts.index(f"fp32shim: {title}") + 1].strip().splitlines()


@pytest.fixture
def suite(tmp_path):
    """Runs pytest in a folder of its own, which has the suite above; `words` are its arguments."""
    shim.need(shim.has_module("numpy") and shim.has_module("pytest"), "python3-numpy or python3-pytest is not installed")
    shim.need(COMMAND.exists(), f"{COMMAND} was not built")
    (tmp_path / "tests").mkdir()
    (tmp_path / "temporary").mkdir()
    file = tmp_path / "tests/test_suite.py"
    file.write_text(SUITE)

    def run(*words, text=None, start=("-m", "pytest"), stdin=None, prefix=(), verbosity=("-v", "--tb=no"), **variables):
        if text is not None:
            file.write_text(text)
        environment = shim.environment(blas="openblas", env={
            "PYTHONPATH": str(shim.ROOT / "python"), "PATH": f"{COMMAND.parent}:{os.environ['PATH']}",
            "FP32SHIM_LIBRARY": str(shim.LIBRARY), "TMPDIR": str(tmp_path / "temporary"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **variables})
        line = [*map(str, prefix), shim.SYSTEM_PYTHON, *start, *verbosity, "-p", "no:cacheprovider", "--strict-markers",
                *PLUGIN, *map(str, words)]
        done = subprocess.run(line, env=environment, cwd=tmp_path / "tests", text=True, capture_output=True, check=False,
                              input=stdin or "", timeout=600)
        return Run(line, environment, done)

    yield run
    assert list((tmp_path / "temporary").iterdir()) == []


def test_the_preview_names_the_tests_that_fail_only_then_and_their_products(suite):
    plain, found = suite(), suite("--fp32shim-preview", "tf32")
    assert (plain.returncode, found.returncode) == (1, 1)
    name = "test_suite.py::test_{}".format
    assert [test for test, outcome in plain.outcomes.items() if outcome == "FAILED"] == [name("fails_always")]
    different = {test for test in plain.outcomes if plain.outcomes[test] != found.outcomes[test]}
    assert different == {name("exact"), name("second_of_model")}
    lines = found.section("preview of tf32")
    at = lines.index(f"{name('exact')}: fails only at tf32")
    assert lines[at + 1] == "  1 of 1 product in it ran below fp32:"
    assert re.fullmatch(r" +1 x \w*sgemm\w* 64x64x64 NN at tf32 \(environment asked for high\), test_suite.py:7 product",
                        lines[at + 2])
    at = lines.index(f"{name('second_of_model')}: fails only at tf32")
    assert lines[at + 1] == "  in the fixture model, which ran before, for another test:"
    assert not any("fails_always" in line for line in lines)
    assert "4 of 10 tests that ran had products that ran below fp32; 3 failed." in lines
    assert "2 of 3 failures passed natively, 1 failed there too." in lines
    assert not any("not seen" in line or "not covered" in line for line in lines)  # pytest's own processes are covered


def test_the_page_shows_what_its_examples_print(suite, tmp_path):
    page = (shim.ROOT / "docs/pytest.md").read_text()
    (tmp_path / "tests/test_search.py").write_text(re.search(r"```python\n(# test_search.py.*?)```", page, re.DOTALL)[1])
    (tmp_path / "tests/test_suite.py").unlink()

    def comparable(text):
        text = re.sub(r"in \d+\.\d+s", "in 1.00s", text)
        text = re.sub(r"-- \S+ -m pytest( -p \S+)*", "-- python3 -m pytest", text)
        return re.sub(r" \w*cblas_", " cblas_", text).strip().splitlines()

    suite("--fp32shim-baseline", "products.json", "--fp32shim-baseline-update")
    examples = re.findall(r"```\n\$ (.*?)pytest (.*)\n((?:.|\n)*?)```", page)
    assert len(examples) == 2
    for variables, words, shown in examples:
        found = suite(*words.split(), verbosity=[], **dict(each.split("=") for each in variables.split()))
        assert comparable(found.stdout) == comparable(shown)


def test_the_search_that_a_preview_names_works_as_it_is_printed(suite, tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")  # names of tests begin in the folder above
    found = suite("--fp32shim-preview", "bf16", "-k", "exact")
    line, = [each for each in found.section("preview of bf16") if "fp32shim bisect" in each]
    command = shlex.split(line.partition("exact: ")[2])
    done = subprocess.run(command, env=found.environment, cwd=tmp_path / "tests", text=True, capture_output=True, check=False)
    assert done.returncode == 0 and "test_suite.py:7 product" in done.stdout, done.stdout + done.stderr
    other = suite("--fp32shim-preview", "e5m2", "-k", "exact")
    assert "fails only at e5m2" in other.stdout and "fp32shim bisect" not in other.stdout


def test_the_preview_names_the_products_of_onednn_which_it_does_not_round(suite):
    found = suite("--fp32shim-preview", "tf32", text=textwrap.dedent(f"""
        import ctypes, pytest
        library = ctypes.CDLL({str(shim.CLIENTS / "libfake_onednn.so")!r})
        @pytest.fixture(scope="module")
        def layer():
            library.fake_execute(b"cpu,convolution,jit:avx2,forward_training,src:f32::blocked:acdb::f0 wei:f32::blocked:Acdb16a::f0 "
                                 b"bia:undef::undef::: dst:f32::blocked:acdb::f0,,alg:convolution_direct,mb1_ic3oc8_ih8oh6kh3sh1dh0ph0")
        def test_layer(layer):
            pass
        """))
    lines = found.section("preview of tf32")
    headline = "Not previewed: 1 product by oneDNN or XLA, which no policy lowers:"  # it is in a fixture and in a test
    assert headline in lines, lines
    assert lines[lines.index(headline) + 1].startswith("    1 x onednn_convolution at fp32, test_suite.py:"), lines


ONEDNN = f"""
import ctypes, sys, types
library = ctypes.CDLL({str(shim.CLIENTS / "libfake_onednn.so")!r})
def test_layer():
    library.fake_execute(b"cpu,matmul,brg_matmul:avx512_core,undef,src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 "
                         b"dst:f32::blocked:ab::f0,attr-fpmath:bf16,,64x32:32x48")
    sys.modules["torch"] = types.SimpleNamespace(get_float32_matmul_precision=lambda: "medium")
"""


def test_what_onednn_was_allowed_and_did_not_do_is_said_and_fails_no_test(suite):
    for option in ("--fp32shim-fail", "--fp32shim-expect"):
        found = suite(option, "fp32", text=ONEDNN)
        lines = found.section(f"{option[11:]} fp32")
        at = lines.index("Allowed below fp32, but not so run here; another processor may round them:")
        assert found.returncode == 0 and "onednn_matmul 64x48x32 at fp32, test_suite.py:5 test_layer" in lines[at + 1], found.stdout


def test_a_test_that_lets_torch_round_unseen_fails_by_the_gate_as_expect_says(suite):
    expected = suite("--fp32shim-expect", "fp32", text=ONEDNN, FP32_MATMUL_ONEDNN="0")
    assert expected.returncode == 1 and "test_suite.py::test_layer: ALLOWED below fp32" in expected.section("expect fp32")
    found = suite("--fp32shim-fail", "fp32", "--tb=short", text=ONEDNN, FP32_MATMUL_ONEDNN="0")
    assert found.outcomes == {"test_suite.py::test_layer": "FAILED"}
    assert "allowed to run below fp32 (--fp32shim-fail fp32): torch.get_float32_matmul_precision() was 'medium'" in found.stdout
    assert suite("--fp32shim-fail", "bf16", text=ONEDNN, FP32_MATMUL_ONEDNN="0").returncode == 0


def test_junit_has_the_products_of_a_test_that_also_fails_by_itself(suite, tmp_path):
    file = tmp_path / "junit.xml"
    found = suite("--fp32shim-fail", "fp32", "--fp32shim-preview", "tf32", "-k", "exact", f"--junitxml={file}")
    assert found.returncode == 1
    case, = xml.etree.ElementTree.parse(file).getroot().iter("testcase")
    value, = [each.get("value") for each in case.iter("property") if each.get("name") == "fp32shim"]
    assert "1 x cblas_sgemm 64x64x64 NN at tf32" in value and "test_suite.py:7 product" in value, value


def test_a_preview_that_a_floor_prevents_says_so(suite):
    found = suite("--fp32shim-preview", "tf32", "-k", "exact", FP32_MATMUL_FLOOR="fp32")
    assert ("No product was rounded, so this run says nothing about the preview. Reasons in the recording: floor."
            in found.section("preview of tf32")), found.stdout


def test_a_failure_of_the_gate_is_none_of_the_preview(suite):
    found = suite("--fp32shim-preview", "tf32", "--fp32shim-fail", "fp32", "-k", "exact or loose")
    name = "test_suite.py::test_{}".format
    assert found.outcomes == {name("exact"): "FAILED", name("loose"): "FAILED"}
    lines = found.section("preview of tf32")
    assert f"{name('exact')}: fails only at tf32" in lines
    assert "1 more test failed only because of --fp32shim-fail fp32." in lines
    assert not any(name("loose") in line for line in lines) and "fp32shim bisect" not in found.stdout


@pytest.mark.parametrize("word", ["bf16x3", "e5m2"])
def test_a_format_that_only_rules_know_can_be_previewed_and_marked_tests_stay_exact(suite, word):
    found = suite("--fp32shim-preview", word, "-k", "exact or marked or limited")
    assert any(line.startswith("1 of 3 tests that ran had products that ran below fp32;")
               for line in found.section(f"preview of {word}"))
    assert found.outcomes["test_suite.py::test_marked"] == found.outcomes["test_suite.py::test_limited"] == "PASSED"
    is_named = "test_suite.py::test_exact: fails only at e5m2" in found.section(f"preview of {word}")
    assert (found.outcomes["test_suite.py::test_exact"] == "FAILED") == (word == "e5m2") == (found.returncode == 1) == is_named


def test_failures_that_are_chance_or_depend_on_order_are_not_due_to_the_preview(suite):
    found = suite("--fp32shim-preview", "tf32", text="""
import random, numpy
SEEN = []
def test_pollutes(): SEEN.append(1)
def test_depends_on_the_one_before(): assert not SEEN
def test_draws_the_same_numbers(): assert numpy.random.default_rng().random() > 2
def test_order_of_a_set(): assert list({"a", "b", "c", "d"}) == sorted({"a", "b", "c", "d"}, key=hash)[::-1]
""")
    lines = found.section("preview of tf32")
    assert "No product was rounded, so this run says nothing about the preview." in lines
    assert not any("fails only" in line for line in lines)


@pytest.mark.parametrize("option", ["--fp32shim-preview=tf32", "--fp32shim-expect=fp32"])
@pytest.mark.parametrize("change", ["os.environ.clear()", "os.environ.update(PATH='', LD_PRELOAD='', FP32_MATMUL_LOG='no.fp32rec')",
                                    "os.chdir('/')"])
def test_a_test_that_changes_the_environment_or_the_folder_does_not_break_the_judgement(suite, option, change):
    found = suite(option, text=f"""
import numpy, os
def test_isolated(): {change}
def test_wrong(): assert numpy.float32(3) == (numpy.ones((8, 8), numpy.float32) @ numpy.ones((8, 8), numpy.float32))[0, 0]
""")
    assert found.outcomes == {"test_suite.py::test_isolated": "PASSED", "test_suite.py::test_wrong": "FAILED"}
    assert found.returncode == 1 and "Error" not in found.stderr
    if "preview" in option:
        assert "0 of 1 failure passed natively, 1 failed there too." in found.section("preview of tf32")
    else:
        assert "test_suite.py::test_wrong: 1 seen, none below" in found.section("expect fp32")


def test_what_cannot_be_attributed_is_said(suite):
    found = suite("--fp32shim-preview", "tf32", text="""
import numpy, threading
A = numpy.full((64, 64), 1 + 2**-12, numpy.float32)
def test_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append((A @ A)[0, 0]))
    thread.start(), thread.join()
    assert found[0] > 64
MODULE = A @ A
def test_module(): assert MODULE[0, 0] > 64
""")
    lines = found.section("preview of tf32")
    at = lines.index("test_suite.py::test_thread: fails only at tf32")
    assert lines[at + 1] == "  when test_suite.py was collected:"
    assert "test_suite.py::test_module: fails only at tf32" in lines
    assert "1 more product ran below fp32 on other threads, in other programs, or between tests." in lines


def test_expect_gives_each_test_a_verdict_and_ends_with_1_if_a_product_ran_below(suite):
    passing = "not always and not second"
    found = suite("--fp32shim-expect", "fp32", "-k", passing)
    assert found.returncode == 0 and set(found.outcomes.values()) == {"PASSED"}
    lines = found.section("expect fp32")
    assert "test_suite.py::test_loose: 1 seen, none below" in lines
    assert "test_suite.py::test_without_a_product: no product seen" in lines
    assert ("8 tests ran: 0 ran below fp32, 0 were allowed to, 0 had products of unknown format, 7 had products seen, all at fp32 "
            "or above, 1 had no product that was seen.") in lines

    text = SUITE.split("@pytest")[0] + "def test_skips():\n    product(), pytest.skip()\n"
    skipped = suite("--fp32shim-expect", "fp32", text=text, FP32_MATMUL_CPU="emulate", FP32_MATMUL_PRECISION="high")
    assert skipped.returncode == 1 and skipped.section("expect fp32")[0] == "test_suite.py::test_skips: BELOW fp32"

    planted = SUITE.replace("def test_loose():\n", "def test_loose():\n    import fp32shim; fp32shim.set_precision('medium')\n")
    found = suite("--fp32shim-expect", "fp32", "-k", "loose", text=planted, FP32_MATMUL_CPU="emulate")
    assert found.returncode == 1 and found.outcomes == {"test_suite.py::test_loose": "PASSED"}
    lines = found.section("expect fp32")
    assert lines[0] == "test_suite.py::test_loose: BELOW fp32"
    assert lines[1].endswith("64x64x64 NN at bf16 (process asked for medium), test_suite.py:7 product")
    found = suite("--fp32shim-expect", "bf16", "-k", "loose", FP32_MATMUL_CPU="emulate")
    assert found.returncode == 0


def test_expect_fails_a_test_that_lets_torch_round_and_names_what_is_unseen(suite):
    shim.need(shim.has_module("torch"), "python3-torch is not installed")
    shim.need("avx512bw" in processor.flags_of_machine(), "oneDNN has nothing below float32 on this processor")
    text = """
import torch
def test_plain(): torch.ones(8, 8) @ torch.ones(8, 8)
def test_medium(): torch.set_float32_matmul_precision("medium")
"""
    assert not any("oneDNN" in line for line in suite("--fp32shim-expect", "fp32", text=text).section("expect fp32"))
    found = suite("--fp32shim-expect", "fp32", text=text, FP32_MATMUL_ONEDNN="0")
    assert found.returncode == 1 and set(found.outcomes.values()) == {"PASSED"}
    lines = found.section("expect fp32")
    assert lines[:2] == [
        "test_suite.py::test_medium: ALLOWED below fp32",
        "    torch.get_float32_matmul_precision() was 'medium': it allows oneDNN to multiply at bf16, and oneDNN's products are "
        "not seen"]
    assert "test_suite.py::test_plain: 1 seen, none below" in lines
    assert "Not shown, because it was not seen:" in lines
    assert any(line.startswith(("  oneDNN: ", "  XNNPACK: ")) for line in lines)


def test_a_baseline_that_is_no_regular_file_is_refused_and_not_waited_for(suite, tmp_path):
    os.mkfifo(tmp_path / "products.json")
    refused = suite("--fp32shim-baseline", tmp_path / "products.json")
    assert refused.returncode == 4 and "it is no regular file" in refused.stderr


def test_the_baseline_fails_what_became_worse_and_shows_it(suite, tmp_path):
    file = tmp_path / "tests/products.json"
    missing = suite("--fp32shim-baseline", file)
    assert missing.returncode == 4 and "--fp32shim-baseline-update writes it" in missing.stderr
    some = ["--fp32shim-baseline", file, "-k", "loose or limited or without"]
    assert suite(*some, "--fp32shim-baseline-update").returncode == 0
    text = file.read_text()
    assert sorted(json.loads(text)["tests"]) == ["test_suite.py::test_limited", "test_suite.py::test_loose"]
    assert re.search(r'^   "\w*sgemm\w* 64x64x64 NN": {"calls": {"fp32": 1}}$', text, flags=re.MULTILINE)
    assert suite(*some).returncode == 0
    worse = suite(*some, FP32_MATMUL_CPU="emulate", FP32_MATMUL_PRECISION="high")
    lines = worse.section("baseline")
    assert worse.returncode == 1 and set(worse.outcomes.values()) == {"PASSED"}
    assert lines[0] == "test_suite.py::test_loose: WORSE than the baseline: calls at tf32 or below: 0 -> 1"
    assert lines[1].endswith("NN: 1 fp32") and lines[2].endswith("NN: 1 tf32")
    other = suite(*some, "--fp32shim-preview", "tf32")
    assert other.returncode == 4 and "keep a file for each" in other.stderr


def test_the_baseline_fails_a_larger_error_of_an_audit(suite, tmp_path):
    file = tmp_path / "tests/products.json"
    some = ["--fp32shim-baseline", file, "--fp32shim-preview", "tf32", "-k", "loose"]
    assert suite(*some, "--fp32shim-baseline-update", FP32_MATMUL_AUDIT="1").returncode == 0
    found = json.loads(file.read_text())
    (product,) = found["tests"]["test_suite.py::test_loose"].values()
    assert product["error"] > 1e-6
    assert suite(*some, FP32_MATMUL_AUDIT="1").returncode == 0
    product["error"] /= 10
    file.write_text(json.dumps(found))
    worse = suite(*some, FP32_MATMUL_AUDIT="1")
    assert worse.returncode == 1 and "largest error: " in worse.section("baseline")[0]


def test_an_error_in_the_baseline_is_that_of_its_product_and_of_none_whose_sizes_begin_alike(suite, tmp_path):
    file = tmp_path / "tests/products.json"
    text = ("import numpy\ndef test_two():\n    numpy.ones((64, 640), 'f') @ numpy.ones((640, 64), 'f')\n"
            "    numpy.random.default_rng(1).random((64, 64), 'f') @ numpy.eye(64, dtype='f')\n")
    assert suite("--fp32shim-baseline", file, "--fp32shim-preview", "tf32", "--fp32shim-baseline-update", text=text,
                 FP32_MATMUL_AUDIT="1").returncode == 0
    (products,) = json.loads(file.read_text())["tests"].values()
    errors = {name.split()[1]: product["error"] for name, product in products.items()}
    assert errors["64x64x640"] == 0 and errors["64x64x64"] > 1e-6


def test_wrong_words_and_markers_are_errors_that_name_what_is_allowed(suite):
    wrong = suite("--fp32shim-preview", "tf23")
    assert wrong.returncode == 4 and "tf23" in wrong.stderr and "bf16x3" in wrong.stderr
    text = """
import pytest
@pytest.mark.fp32shim(precission="high")
def test_key(): pass
@pytest.mark.fp32shim(precision="tf23")
def test_word(): pass
@pytest.mark.limit_precision()
def test_floor(): pass
"""
    for options in ([], ["--fp32shim"]):  # an error of the collection, with and without an option
        found = suite(*options, "--tb=short", text=text)
        assert found.returncode == 2 and found.outcomes == {}, found.stdout
        assert "ERROR collecting" in found.stdout
    for words in ("found precission; allowed: precision=…, floor=…", "precision: found 'tf23'; allowed: native, highest, high",
                  "found 0 arguments and the keys []; allowed: one floor"):
        assert words in found.stdout


FAILING = """
import numpy, os, pytest, threading
A = numpy.full((64, 64), 1 + 2**-12, numpy.float32)
product = lambda: (A @ A)[0, 0]

def test_plain(): assert product() == 64

def test_fails_anyway(): assert product() > 64

@pytest.mark.limit_precision("fp32")
def test_exact(): assert product() > 64

@pytest.mark.fp32shim(precision="high")
def test_lowered(): assert product() == 64

@pytest.mark.fp32shim(precision="high")
@pytest.mark.xfail(strict=True)
def test_expected(): assert product() > 64

@pytest.mark.parametrize("x", ["[a]/b"])
def test_default(x): assert product() > 0

@pytest.fixture
def late():
    yield
    product()

def test_teardown(late): pass

def test_thread():
    thread = threading.Thread(target=product)
    thread.start(), thread.join()
"""


def test_a_test_whose_products_ran_below_the_format_fails_itself_with_their_places(suite, tmp_path):
    high = {"FP32_MATMUL_CPU": "emulate", "FP32_MATMUL_PRECISION": "high"}
    junit = tmp_path / "junit.xml"
    found = suite("--fp32shim-fail", "fp32", "--tb=short", f"--junitxml={junit}", text=FAILING, **high)
    assert found.returncode == 1
    words = found.stdout + junit.read_text()
    # A marker that allows less is obeyed, and one that forbids it keeps its product exact.
    by_outcome = {kind: set(re.findall(rf"^{kind} test_suite.py::test_([^ \n]*)", found.stdout, re.MULTILINE))
                  for kind in ("FAILED", "ERROR")}
    assert by_outcome == {"FAILED": {"default[[a]/b]", "plain", "fails_anyway"}, "ERROR": {"teardown"}}
    assert re.search(r"1 product ran below fp32 \(--fp32shim-fail fp32\):\n +1 x \w*sgemm\w* 64x64x64 NN at tf32 "
                     r"\(environment asked for high\), test_suite.py:4 <lambda>", found.stdout)
    assert "- fp32shim -" in found.stdout.partition("assert 64.0 > 64")[2].partition("test_default")[0]
    assert words.count("at tf32 (environment asked for high), test_suite.py:4") >= 6  # in the terminal and in JUnit's report
    assert "On other threads, in other programs, or between tests: BELOW fp32" in found.section("fail fp32")


def test_the_ini_file_can_ask_tests_to_fail_and_nothing_fails_where_nothing_is_lowered(suite, tmp_path):
    text = "import numpy\nA = numpy.ones((8, 8), numpy.float32)\ndef test_product(): assert (A @ A)[0, 0] == 8\n"
    ini = tmp_path / "tests/pytest.ini"
    ini.write_text("[pytest]\nfp32shim_fail = FP32\n")
    assert suite(text=text).returncode == 0
    lowered = suite("--tb=short", FP32_MATMUL_CPU="emulate", FP32_MATMUL_PRECISION="medium")
    assert lowered.returncode == 1 and "at bf16 (environment asked for medium)" in lowered.stdout
    assert suite("--fp32shim-fail", "bf16", FP32_MATMUL_CPU="emulate", FP32_MATMUL_PRECISION="medium").returncode == 0
    ini.write_text("[pytest]\nfp32shim_fail = fp23\n")
    wrong = suite()
    assert wrong.returncode == 4 and "found 'fp23'; allowed: fp32, bf16x9" in wrong.stderr


def test_markers_lower_a_product_on_a_cpu_if_fp32shim_is_asked_for(suite):
    text = SUITE.replace('precision="highest"', 'precision="high"')
    assert suite("-k", "marked", text=text).outcomes == {"test_suite.py::test_marked": "PASSED"}
    found = suite("-k", "marked", "--fp32shim")
    assert found.outcomes == {"test_suite.py::test_marked": "FAILED"}
    # numpy multiplies two vectors when it is imported.
    assert re.fullmatch("[12] products were seen, 1 of them below fp32.", found.section("products")[0])


def test_no_option_imports_nothing_and_options_that_run_no_test_change_nothing(suite):
    text = "import sys\ndef test_modules(): assert not {'ctypes', 'fp32shim', 'pytest_fp32shim.start'} & set(sys.modules)\n"
    assert suite(text=text).returncode == 0
    plain, found = suite("--collect-only", "-q", text=SUITE), suite("--collect-only", "-q", "--fp32shim-preview", "tf32")
    assert found.stdout.splitlines()[:-1] == plain.stdout.splitlines()[:-1] and found.returncode == 0
    assert suite("--fp32shim-preview", "tf32", "-k", "no_such_test").returncode == 5


def test_pytest_starts_again_with_its_input_its_arguments_and_those_of_python(suite):
    text = """
import sys
def test_started():
    assert sys.stdin.read() == "hello" and sys.flags.utf8_mode and sys.dont_write_bytecode
    print("arguments", sys.argv[-1], flush=True)
"""
    found = suite("--fp32shim", "-s", "-k", "test_started and not other", text=text, stdin="hello",
                  start=["-X", "utf8", "-m", "pytest"])
    assert found.returncode == 0, found.stdout
    assert "arguments test_started and not other" in found.stdout


def test_a_program_that_calls_pytest_is_not_started_twice_but_told_how(suite, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import pytest, sys\nprint('begun')\nsys.exit(pytest.main(sys.argv[1:]))\n")
    found = suite("--fp32shim-preview", "tf32", start=[str(program)])
    assert (found.returncode, found.stdout) == (4, "begun\n")
    assert "fp32shim run --quiet --log NEW_FOLDER/run.fp32rec --cpu emulate --precision high" in found.stderr
    folder = tmp_path / "recordings"
    folder.mkdir()
    (folder / "earlier.fp32rec").write_text("not a recording, and not of this run")
    by_hand = [COMMAND, "run", "--quiet", "--log", folder / "run.fp32rec", "--cpu", "emulate", "--precision", "high", "--"]
    found = suite("--fp32shim-preview", "tf32", "-k", "exact", start=[str(program)], prefix=by_hand)
    assert "test_suite.py::test_exact: fails only at tf32" in found.section("preview of tf32")


def test_recordings_are_kept_on_request_in_a_new_folder_only(suite, tmp_path):
    keep = ["--fp32shim-expect", "fp32", "-k", "loose", "--fp32shim-keep", tmp_path / "kept"]
    assert suite(*keep).returncode == 0
    assert (tmp_path / "kept/run.fp32rec").exists()
    again = suite(*keep)
    assert again.returncode == 4 and "is not empty" in again.stderr


def test_a_report_of_the_user_is_written_by_the_preview_and_not_by_the_native_run(suite, tmp_path):
    report = tmp_path / "report.xml"
    suite("--fp32shim-preview", "tf32", f"--junitxml={report}", "-x")
    assert 'failures="1"' in report.read_text()


def test_the_words_of_options_are_those_of_policies():
    text = (shim.ROOT / "python/pytest_fp32shim/__init__.py").read_text()
    words = set(re.findall(r'"(\w+)"', re.search(r"^PREVIEWS = \(.*?\)$", text, flags=re.MULTILINE | re.DOTALL).group()))
    formats = {name for name, _, _ in shim.number_formats("PREVIEW")}
    asking = {word: name for kind in ("PRECISION", "RULE_PRECISION") for _, word, name in shim.number_formats(kind)}
    asking.update({word: asking[precision] for word, precision in shim.number_formats("ALIAS")})
    assert words == {word for word, name in asking.items() if name in formats}
    levels = {name: int(number) for kind in ("FLOOR", "VERIFIED_FLOOR") for number, name in shim.number_formats(kind)}
    recorded = (shim.ROOT / "python/pytest_fp32shim/recorded.py").read_text()
    own = dict(re.findall(r'"(\w+)": (\d)', recorded[recorded.index("LEVELS"):recorded.index("GOVERNED")]))
    assert own == {row[1]: str(levels.get(row[2], 0)) for row in shim.number_formats("FORMAT") if row[1] not in ("unchanged", "fp64_emulated", "fixed")}


def test_products_of_float64_are_seen_above_fp32_and_no_preview_changes_them(suite):
    text = "import numpy\ndef test_double():\n    a = numpy.full((64, 64), 1 + 2**-20)\n    assert (a @ a)[0, 0] == 64 * (1 + 2**-20) ** 2\n"
    assert suite("--fp32shim-preview", "tf32", text=text).outcomes == {"test_suite.py::test_double": "PASSED"}
    found = suite("--fp32shim-expect", "fp32", text=text)
    assert found.returncode == 0 and "test_suite.py::test_double: 1 seen, none below" in found.section("expect fp32")
