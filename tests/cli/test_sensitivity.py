"""fp32shim sensitivity: the output's error with each place lowered alone and kept exact alone, and a policy that was run."""

import json
import re
import signal
import subprocess

import pytest

import shim
from command import environment, fp32shim

HEAD = """
import os, sys
import numpy as np

rng = np.random.default_rng(0)
size = 64
q, _ = np.linalg.qr(rng.standard_normal((size, size)))
exact = (q * np.logspace(0, -3, size)) @ q.T
matrix, inverse = exact.astype("f"), np.linalg.inv(exact).astype("f")
"""
# Iterative refinement: the residual needs FP32, the correction does not.
REFINEMENT = HEAD + """
def multiply(x):
    return matrix @ x


def precondition(r):
    return inverse @ r


b, x = (exact @ np.ones((size, 2))).astype("f"), np.zeros((size, 2), "f")
for _ in range(10):
    x = x + precondition(b - multiply(x))
"""
PRINTED = "for value in x.ravel(): print(f'{value:.9g}')\n"


@pytest.fixture
def sensitivity(tmp_path):
    def run(program, *words, ending=PRINTED, arguments=(), **keywords):
        (tmp_path / "program.py").write_text(program + ending)
        blas = {"LD_LIBRARY_PATH": str(shim.blas_directory("openblas")), "OPENBLAS_NUM_THREADS": "1"}
        return fp32shim("sensitivity", "--cpu", "emulate", *words, "--", shim.SYSTEM_PYTHON, "program.py", *arguments,
                        env={**blas, **keywords.pop("env", {})}, cwd=tmp_path, **keywords)

    return run


def places_of(result):
    return {place["place"].split()[-1]: place for place in result.json["places"]}


def errors_of(result, precision="high"):
    runs = {name: next(run for run in place["runs"] if run["precision"] == precision) for name, place in places_of(result).items()}
    return {name: (run["alone"]["error"], run["all_but_it"]["error"]) for name, run in runs.items()}


def test_the_place_that_needs_fp32_is_told_by_both_of_its_runs(sensitivity, tmp_path):
    result = sensitivity(REFINEMENT, "--format", "json")
    assert result.returncode == 0, result.stderr
    errors = errors_of(result)
    assert errors["multiply"][0] > 1e-3 > 1e-4 > errors["multiply"][1]
    assert errors["precondition"][0] < 1e-4 < 1e-3 < errors["precondition"][1]
    assert result.json["everything"][0]["error"] > 1e-3 and result.json["noise"] == 0 and result.json["policy"] is None
    assert result.json["runs"] == 5 + 1 + 1 + 2 * 2
    assert not list(tmp_path.glob("sensitivity*"))


def test_a_policy_is_written_and_is_within_the_tolerance(sensitivity, tmp_path):
    result = sensitivity(REFINEMENT, "--format", "json", "--tolerance", "1e-3", "--precision", "tf32,bf16")
    assert result.returncode == 0, result.stderr
    policy = result.json["policy"]
    assert policy["found"] and policy["run"]["error"] <= 1e-3 and (policy["tried"], policy["refused"]) == (2, 1)
    assert {name: place["chosen"] for name, place in places_of(result).items()} == {"multiply": "highest", "precondition": "bf16"}
    text = (tmp_path / policy["path"]).read_text()
    assert 'where = "program.py:* multiply"' in text and "With one more place a step cheaper, the output was beyond it" in text
    log = tmp_path / "run.fp32rec"
    run = fp32shim("run", "--policy", tmp_path / policy["path"], "--log", log, "--", shim.SYSTEM_PYTHON, "program.py",
                   cwd=tmp_path, env={"LD_LIBRARY_PATH": str(shim.blas_directory("openblas"))})
    assert run.returncode == 0
    rows = fp32shim("report", "--format", "json", log).json["rows"]
    assert {row["applied"] for row in rows if row["dtype"] == "float32"} == {"fp32", "bf16"}


def test_where_nothing_can_be_lowered_no_policy_is_written(sensitivity, tmp_path):
    program = REFINEMENT.replace("inverse @ r", "r").replace("range(10)", "range(2)")
    result = sensitivity(program, "--tolerance", "1e-9")
    assert result.returncode == 3 and "No policy within 1e-09 was found: each place alone was beyond it." in result.stdout
    assert not list(tmp_path.glob("sensitivity-policy*"))


def test_a_program_whose_equal_runs_differ_has_noise_and_smaller_errors_show_nothing(sensitivity):
    noisy = "x = x * (1 + 1e-2 * int.from_bytes(os.urandom(2), 'big') / 65536)\n" + PRINTED
    result = sensitivity(REFINEMENT, "--repeat", "4", "--metric", "max", ending=noisy)
    assert result.returncode == 0 and "are not told apart from chance" in result.stdout
    refused = sensitivity(REFINEMENT, "--repeat", "4", "--tolerance", "1e-9", ending=noisy)
    assert refused.returncode == 3 and "equal exact runs differ by" in refused.stderr
    single = sensitivity(REFINEMENT, "--repeat", "1")
    assert "it is not known how far equal runs differ" in single.stdout and "gave equal numbers" not in single.stdout


def test_numbers_are_read_from_a_file_that_each_run_writes(sensitivity, tmp_path):
    result = sensitivity(REFINEMENT, "--compare", "x.npy", "--format", "json", ending="np.save('x.npy', x); print(time := 5)\n")
    assert result.returncode == 0, result.stderr
    assert (result.json["source"], result.json["numbers"]) == ('"x.npy"', 128)
    assert errors_of(result)["multiply"][0] > 1e-3
    stale = sensitivity(REFINEMENT, "--compare", "x.npy", ending="")
    assert stale.returncode == 1 and '"x.npy" was not written' in stale.stderr


@pytest.mark.parametrize(("ending", "status", "said"), [
    ("print(1); sys.exit(3)\n", 1, "ended with status 3"), ("", 1, "stdout has no numbers"),
    ("print(1); os.kill(os.getpid(), 9)\n", 5, "was killed by signal 9")])
def test_a_program_without_an_exact_result_is_told(sensitivity, ending, status, said):
    result = sensitivity(REFINEMENT, ending=ending)
    assert result.returncode == status and f"with everything exact, there is nothing to compare: {said}" in result.stderr


def test_a_run_that_fails_when_lowered_has_its_end_as_its_error(sensitivity):
    result = sensitivity(REFINEMENT, "--format", "json", ending=PRINTED + "sys.exit(int(abs(x - 1).max() > 1e-3))\n")
    assert result.returncode == 0, result.stderr
    (run,) = places_of(result)["multiply"]["runs"]
    assert run["alone"]["error"] is None and run["alone"]["problem"] == "ended with status 1"


def test_without_a_product_or_with_nothing_lowered_it_says_so(sensitivity, tmp_path):
    assert sensitivity("x = __import__('numpy').ones(3)\n").returncode == 4
    result = fp32shim("sensitivity", "--cpu", "off", "--", shim.SYSTEM_PYTHON, "-c",
                      "import numpy as np; print((np.ones((8, 8), 'f') @ np.ones((8, 4), 'f')).sum())",
                      cwd=tmp_path)
    assert result.returncode == 3 and "nothing did (cpu_mode_off)" in result.stderr


def test_places_beyond_the_most_become_one_and_scopes_can_be_places(sensitivity):
    result = sensitivity(REFINEMENT, "--most", "1", "--format", "json")
    assert [place["place"] for place in result.json["places"]] == ["(2 other places)"]
    result = sensitivity(REFINEMENT, "--by", "scope", "--format", "json")
    assert [place["place"] for place in result.json["places"]] == ["(outside of scopes)"]
    result = sensitivity(REFINEMENT, "--by", "size", "--format", "json")
    assert sorted(place["place"].split()[-1] for place in result.json["places"]) == ["64x2x64", "64x2x64"]


def test_several_runs_at_once_give_the_same_errors(sensitivity):
    together, alone = (sensitivity(REFINEMENT, "--jobs", jobs, "--format", "json") for jobs in ("3", "1"))
    assert errors_of(together) == errors_of(alone)
    assert sensitivity(REFINEMENT, "--jobs", "2", "--compare", "x.npy").returncode == 2


def interrupted_in(folder, told):
    """Starts the program of this folder, and interrupts the search when it tells of this run."""
    words = [shim.BUILD / "bin/fp32shim", "sensitivity", "--cpu", "emulate", "--", shim.SYSTEM_PYTHON, "program.py"]
    process = subprocess.Popen([str(word) for word in words], cwd=folder, stderr=subprocess.PIPE, text=True,
                               env=environment(env={"LD_LIBRARY_PATH": str(shim.blas_directory("openblas")),
                                                    "OPENBLAS_NUM_THREADS": "1"}))
    for line in process.stderr:
        if told in line:
            break
    process.send_signal(signal.SIGINT)
    assert "interrupted; repeat the command to continue" in process.communicate(timeout=600)[1]
    assert process.returncode == -signal.SIGINT


def test_an_interrupted_search_goes_on_and_notices_a_changed_program(sensitivity, tmp_path):
    sensitivity(REFINEMENT)  # writes the program
    interrupted_in(tmp_path, "run 9")
    state = tmp_path / "sensitivity-state.jsonl"
    kept = state.read_text()
    assert len([line for line in kept.splitlines() if "run" in json.loads(line)]) >= 2
    result = sensitivity(REFINEMENT, "--format", "json")
    assert result.returncode == 0 and result.json["earlier_runs"] >= 2 and not state.exists()
    state.write_text(kept)
    other = sensitivity(REFINEMENT + "# changed\n")
    assert other.returncode == 2 and "has changed since the runs" in other.stderr and state.exists()
    assert sensitivity(REFINEMENT, "--metric", "max").returncode == 2


# Largest output error that is accepted, and the functions that then need FP32. docs/choosing-a-precision.md has the errors.
PROGRAMS = {
    "refinement": (1e-3, {"multiply"}), "gram_schmidt": (1e-5, {"project", "subtract"}), "neighbours": (5e-3, {"cross"}),
    "newton_schulz": (1e-5, {"step"}), "kalman": (1e-3, {"predict"}), "mlp": (1e-2, set()), "levenberg_marquardt": (1e-2, set()),
    "attention": (1e-2, set()), "normal_equations": (1e-2, set()), "pca": (1e-2, set())}


@pytest.fixture
def on_program(tmp_path):
    def run(name, *words, **variables):
        path = shim.ROOT / "tests/cli/programs" / f"{name}.py"
        blas = {"LD_LIBRARY_PATH": str(shim.blas_directory("openblas")), "OPENBLAS_NUM_THREADS": "1"}
        return fp32shim(*words, "--", shim.SYSTEM_PYTHON, path, env={**blas, **variables}, cwd=tmp_path)

    return run


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_functions_that_need_fp32_are_named(name, on_program):
    tolerance, truth = PROGRAMS[name]
    result = on_program(name, "sensitivity", "--cpu", "emulate", "--tolerance", tolerance, "--format", "json")
    assert result.returncode == 0, result.stderr
    assert {name for name, place in places_of(result).items() if place["chosen"] == "highest"} == truth
    assert result.json["policy"]["run"]["error"] <= tolerance
    everything = result.json["everything"][0]["error"]
    assert everything > 10 * tolerance if truth else everything < tolerance
    for function, (alone, all_but_it) in errors_of(result).items():
        assert (alone > tolerance) == (function in truth)
        assert (all_but_it > tolerance) == bool(truth - {function})


@pytest.mark.parametrize("name", PROGRAMS)
def test_suggest_does_not_claim_more_than_its_audits_show_and_its_policy_can_be_measured(name, on_program, tmp_path):
    tolerance, truth = PROGRAMS[name]
    log, policy = tmp_path / "run.fp32rec", tmp_path / "policy.toml"
    assert on_program(name, "run", "-q", "--where", "auto", "--log", log, FP32_MATMUL_AUDIT="1").returncode == 0
    result = fp32shim("suggest", "-o", policy, log)
    assert result.returncode == 0, result.stderr
    for text in result.stdout, policy.read_text():
        assert "Audits judge products, not what the program makes of them" in text
        assert "fp32shim sensitivity --cpu emulate" in text
    measured = on_program(name, "sensitivity", "--cpu", "emulate", "--policy", policy, "--tolerance", tolerance, "--format", "json")
    (under,) = measured.json["everything"]
    assert measured.returncode == (0 if under["error"] <= tolerance else 1), measured.stderr
    assert measured.returncode == 0 or truth


# Maps by products of diagonal matrices: x -> 2x mod 1, in which an error doubles with each step, and x -> 4x(1 - x), in which
# it does so on average.
DOUBLING = """
import numpy as np

x = np.diag(np.random.default_rng(2).uniform(0.1, 0.9, 64)).astype("f")
for _ in range({steps}):
    x = (2 * np.eye(64, dtype="f") @ x) % 1
print(*(f"{{value:.9g}}" for value in np.diag(x)))
"""
LOGISTIC = DOUBLING.replace('(2 * np.eye(64, dtype="f") @ x) % 1', '4 * (x @ (np.eye(64, dtype="f") - x))')


def digits_of(result):
    assert result.returncode == 0, result.stderr
    everything, *places = result.json["digits"]
    assert everything["place"] is None and len(places) == 1
    return everything


@pytest.mark.parametrize("steps", [1, 4, 7])
def test_the_digits_of_a_program_in_which_errors_double_fall_by_log10_of_2_with_each_step(sensitivity, steps):
    found = digits_of(sensitivity(DOUBLING.format(steps=steps), "--perturb", "10", "--format", "json", ending=""))
    assert found["digits"] == pytest.approx(6.9 - 0.301 * steps, abs=0.3)
    assert found["lowest"] < found["digits"] < found["highest"] < found["lowest"] + 0.6


def test_the_digits_of_a_well_conditioned_program_are_those_of_the_format(sensitivity):
    product = HEAD + "x = (rng.standard_normal((64, 64)).astype('f') @ rng.standard_normal((64, 64)).astype('f'))\n"
    # Of an element between two numbers of the format, rounding at random leaves an error of half a unit at most, on average of
    # squares; a unit is 2**-23, 2**-10 or 2**-7 of a number between 1 and 2. Two operands have such errors.
    for precision, expected in (("fp32_perturbed", 6.9), ("tf32", 3.2), ("bf16", 2.3)):
        result = sensitivity(product, "--perturb", "10", "--precision", precision, "--format", "json")
        assert digits_of(result)["digits"] == pytest.approx(expected, abs=0.4), precision


def test_a_chaotic_program_is_told_from_an_imprecise_one_in_words(sensitivity):
    chaotic = sensitivity(LOGISTIC.format(steps=60), "--perturb", "5", ending="")
    assert "the output kept no digit" in chaotic.stdout and "comparing single runs" in chaotic.stdout
    assert "the output kept no digit" not in sensitivity(REFINEMENT, "--perturb", "5").stdout
    assert sensitivity(REFINEMENT, "--perturb", "5", "--tolerance", "1e-3").returncode == 2


def test_numbers_before_a_full_stop_and_complex_numbers_count_and_parts_of_words_do_not(sensitivity):
    result = sensitivity(REFINEMENT, "--format", "json",
                         ending="print(f'The sum is {x.sum():.9g}.', complex(x[0, 0], x[1, 0]), '1.2.3 and 3.2ms', 'bf16')\n")
    assert result.json["numbers"] == 3 and errors_of(result)["multiply"][0] > 0


def test_a_tolerance_of_0_is_one(sensitivity, tmp_path):
    (tmp_path / "high.toml").write_text('schema = 1\ndefault = "high"\n')
    assert sensitivity(REFINEMENT, "--policy", "high.toml", "--tolerance", "0").returncode == 1
    result = sensitivity(REFINEMENT, "--tolerance", "0")
    assert result.returncode == 3 and "No policy within 0 was found" in result.stdout


def test_digits_are_not_given_where_nothing_is_random_or_noise_is_larger(sensitivity):
    refused = sensitivity(REFINEMENT, "--perturb", "5", "--precision", "bf16x3")
    assert refused.returncode == 2 and "bf16x3 splits its operands into parts" in refused.stderr
    noisy = "x = x * (1 + int.from_bytes(os.urandom(2), 'big') / 65536)\n" + PRINTED
    result = sensitivity(REFINEMENT, "--perturb", "5", "--repeat", "5", ending=noisy)
    assert re.search(r"everything +fp32_perturbed +\d\.\d +not told apart from chance\n", result.stdout), result.stdout


def test_an_input_that_changed_is_noticed_by_the_exact_run(sensitivity, tmp_path):
    program = REFINEMENT.replace("exact @ np.ones((size, 2))", "exact @ np.full((size, 2), float(open('data').read()))")
    (tmp_path / "data").write_text("1")
    assert sensitivity(program).returncode == 0
    interrupted_in(tmp_path, "run 9")
    (tmp_path / "data").write_text("1.5")
    result = sensitivity(program)
    assert result.returncode == 2 and "an input has changed, or equal runs differ" in result.stderr
    assert (tmp_path / "sensitivity-state.jsonl").exists()


def first_lines(result):
    return result.stderr.splitlines()[0]


def test_a_place_whose_products_only_the_first_run_made_is_not_tried_and_stays_exact(sensitivity, tmp_path):
    cached = REFINEMENT.replace("inverse @ r", "inverse @ r\n\n\ndef features():\n    return matrix @ inverse") + """
if not os.path.exists("features.npy"):
    np.save("features.npy", features())
x = x + np.load("features.npy")[:, :2]
"""
    result = sensitivity(cached, "--tolerance", "1e-3", "--format", "json")
    assert result.returncode == 0, result.stderr
    (untried,) = result.json["untried"]
    places = places_of(result)
    assert untried.endswith("features") and places["features"]["untried"] and places["features"]["chosen"] == "highest"
    assert places["features"]["runs"][0]["alone"]["problem"] == "not tried"
    assert "features" in (tmp_path / result.json["policy"]["path"]).read_text()
    (tmp_path / "features.npy").unlink()
    table = sensitivity(cached, "--perturb", "5").stdout
    assert "nothing is known about program.py" in table and "only program.py:19 features" not in table
    (tmp_path / "features.npy").unlink()
    (tmp_path / "high.toml").write_text('schema = 1\ndefault = "high"\n')
    assert sensitivity(cached, "--policy", "high.toml", "--tolerance", "1").returncode == 3


def test_a_place_that_cannot_be_lowered_stays_exact_in_the_policy(sensitivity, tmp_path):
    """So a place that a run happens not to reach is not lowered because of that run."""
    program = REFINEMENT.replace("x = x + precondition", "x += 0 if os.path.exists('done') else 0 * multiply(x)\n    x = x + precondition")
    program = program.replace("def precondition", "def once(x):\n    return matrix @ x\n\n\ndef precondition")
    program += "count = int(open('n').read()) if os.path.exists('n') else 0\nopen('n', 'w').write(str(count + 1))\n"
    program += "x = x + (0 * once(x) if count < 5 else 0)\n"  # the exact runs only
    result = sensitivity(program, "--tolerance", "1e-3", "--format", "json")
    assert result.returncode == 0, result.stderr
    assert places_of(result)["once"]["chosen"] == "highest" and "once" in (tmp_path / result.json["policy"]["path"]).read_text()


# The innocent place of a program whose output has chance in it: the numbers of sixteen runs.
CHANCE = """
count = int(open("n").read()) if os.path.exists("n") else 0
open("n", "w").write(str(count + 1))
multiply(b), precondition(b)
print(1 + 0.01 * (0.3, -0.5, 1.1, -0.2, -1.3, 0.6, -0.9, 0.1, 1.6, -1.1, 0.4, -0.6, 0.9, -0.1, 1.2, -0.4)[count % 16])
"""


def test_errors_that_chance_explains_are_not_told_apart_from_it(sensitivity, tmp_path):
    result = sensitivity(REFINEMENT, ending=CHANCE)
    assert result.returncode == 0, result.stderr
    assert len(re.findall(r"chance +chance +not told apart from chance\n", result.stdout)) == 2
    assert re.search(r"Errors up to 0\.0\d+ are not told apart from chance", result.stdout)
    assert not re.search(r"\de-0\d", result.stdout)
    (tmp_path / "n").unlink()
    refused = sensitivity(REFINEMENT, "--tolerance", "0.02", ending=CHANCE)
    assert refused.returncode == 3 and "an error up to 0.0" in refused.stderr and "is not told apart from chance" in refused.stderr
    pair = sensitivity(REFINEMENT, "--repeat", "2", "--tolerance", "1", ending=CHANCE)
    assert pair.returncode == 3 and "two of them are too few to tell an error from chance" in pair.stderr


def test_more_exact_runs_are_made_where_they_differ_and_there_are_many_places(sensitivity):
    many = REFINEMENT + "".join(f"\n\ndef place{i}():\n    return matrix @ x\n\n\nplace{i}()\n" for i in range(6))
    result = sensitivity(many, "--format", "json", ending=CHANCE)
    assert result.json["runs"] == 8 + 1 + 1 + 2 * 8 and result.json["noise"] <= result.json["chance"]


def test_a_run_that_reads_what_the_last_one_has_left_is_refused(sensitivity):
    warm = "last = float(open('last').read()) if os.path.exists('last') else float(x.sum())\nopen('last', 'w').write(str(float(x.sum())))\nprint(last)\n"
    result = sensitivity(REFINEMENT, ending=warm)
    assert result.returncode == 3 and "an exact run right after a lowered one differs" in result.stderr


def test_a_program_that_multiplies_on_a_cpu_is_previewed_there_unless_a_mode_was_chosen(sensitivity, tmp_path):
    counted = PRINTED + "open('n', 'a').write('x')\n"
    sensitivity(REFINEMENT, "--most", "1", ending=counted)
    words = ["sensitivity", "--most", "1", "--format", "json"]
    command = ["--", shim.SYSTEM_PYTHON, "program.py"]
    blas = {"LD_LIBRARY_PATH": str(shim.blas_directory("openblas")), "OPENBLAS_NUM_THREADS": "1"}
    result = fp32shim(*words, *command, cwd=tmp_path, env=blas)
    assert result.returncode == 0 and result.json["everything"][0]["error"] > 1e-3
    assert first_lines(result).endswith("each product that was seen ran on a CPU, so lower precisions are previewed there (--cpu emulate)")
    for options, env in ((["--cpu", "off", "--perturb", "8"], {}), (["--perturb", "8"], {"FP32_MATMUL_CPU": "off"})):
        before = len((tmp_path / "n").read_text())
        refused = fp32shim(*words, *options, *command, cwd=tmp_path, env={**blas, **env})
        assert refused.returncode == 3 and "nothing did (cpu_mode_off)" in refused.stderr
        assert len((tmp_path / "n").read_text()) == before + 5 + 1
