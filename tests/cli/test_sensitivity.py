"""fp32shim sensitivity: the output's error with each place lowered alone and kept exact alone, and a policy that was run."""

import json
import re
import signal
import subprocess

import pytest

import shim
from command import COMMAND, environment, fp32shim

# `product` multiplies a square matrix by two columns, which are pairs in memory. It is a function of C, so the place of a product
# is the line that calls it. With numpy, whose import takes a tenth of a second, a run would take four times as long.
HEAD = """
import ctypes, math, os, sys

size = 32
Square, Columns = ctypes.c_float * size**2, ctypes.c_float * (2 * size)
flags = [(1, "order", 101), (1, "trans_a", 111), (1, "trans_b", 111), (1, "m", size), (1, "n", 2), (1, "k", size), (1, "alpha", 1),
         (1, "a"), (1, "lda", size), (1, "b"), (1, "ldb", 2), (1, "beta", 0), (2, "c"), (1, "ldc", 2)]
types = {"alpha": ctypes.c_float, "a": ctypes.c_void_p, "b": ctypes.c_void_p, "beta": ctypes.c_float, "c": ctypes.POINTER(Columns)}
prototype = ctypes.CFUNCTYPE(None, *(types.get(flag[1], ctypes.c_int) for flag in flags))
product = prototype(("cblas_sgemm", ctypes.CDLL("libblas.so.3")), tuple(flags))


def diagonal(values):
    return Square(*(values[i // size] if i % (size + 1) == 0 else 0 for i in range(size**2)))


wave = Square(*(4 * math.sin(i * i) for i in range(size**2)))
columns = Columns(*(math.cos(i * i) for i in range(2 * size)))
"""
# Iterative refinement: the residual needs FP32, the correction does not.
REFINEMENT = HEAD + """
vector = [math.sin(i) / math.sqrt(sum(math.sin(k)**2 for k in range(size))) for i in range(size)]


def reflected(d):
    # Q D Q, where D is diagonal and Q a reflection
    weight = 4 * sum(value * v**2 for value, v in zip(d, vector))
    return [[(weight - 2 * d[i] - 2 * d[j]) * vector[i] * vector[j] + d[i] * (i == j) for j in range(size)] for i in range(size)]


eigenvalues = [10**(-3 * i / (size - 1)) for i in range(size)]
exact = reflected(eigenvalues)
matrix, inverse = Square(*sum(exact, [])), Square(*sum(reflected([1 / value for value in eigenvalues]), []))


def multiply(x):
    return product(a=matrix, b=x)


def precondition(r):
    return product(a=inverse, b=r)


b, x = Columns(*(sum(row) for row in exact for _ in range(2))), Columns()
for _ in range(10):
    r = Columns(*(one - other for one, other in zip(b, multiply(x))))
    x = Columns(*(one + other for one, other in zip(x, precondition(r))))
"""
PRINTED = "for value in x: print(f'{value:.9g}')\n"
# A number that differs in each run. The runs spread it evenly: with random numbers, a test may fail by chance.
SPREAD = """
import os
runs = os.path.abspath(".") + ".runs"  # beside the folder, where no command sees it change
with open(runs, "a") as file: file.write("x")
spread = os.path.getsize(runs) * 0.6180339887 % 1
"""


@pytest.fixture
def sensitivity(tmp_path):
    def run(program, *words, ending=PRINTED, arguments=(), **keywords):
        (tmp_path / "program.py").write_text(program + ending)
        blas = {"LD_LIBRARY_PATH": str(shim.blas_directory("openblas")), "OPENBLAS_NUM_THREADS": "1"}
        return fp32shim("sensitivity", "--cpu", "emulate", *words, "--", shim.SYSTEM_PYTHON, "program.py", *arguments,
                        env={**blas, **keywords.pop("env", {})}, cwd=tmp_path, **keywords)

    return run


def line_of(text, program):
    return program[:program.index(text)].count("\n") + 1


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
    assert result.json["runs"] == 5 + 1 + 1 + 2 * 2 + 1
    assert not list(tmp_path.glob("sensitivity*"))


def test_a_policy_is_written_and_is_within_the_tolerance(sensitivity, tmp_path):
    result = sensitivity(REFINEMENT, "--format", "json", "--tolerance", "1e-3", "--precision", "tf32,bf16")
    assert result.returncode == 0, result.stderr
    policy = result.json["policy"]
    assert policy["found"] and policy["run"]["error"] <= 1e-3 and (policy["tried"], policy["refused"]) == (2, 1)
    assert {name: place["chosen"] for name, place in places_of(result).items()} == {"multiply": "highest", "precondition": "bf16"}
    text = (tmp_path / policy["path"]).read_text()
    assert 'where = "program.py:* multiply"' in text and "Lowering one more place moved the output beyond the tolerance" in text
    log = tmp_path / "run.fp32rec"
    run = fp32shim("run", "--policy", tmp_path / policy["path"], "--log", log, "--", shim.SYSTEM_PYTHON, "program.py",
                   cwd=tmp_path, env={"LD_LIBRARY_PATH": str(shim.blas_directory("openblas"))})
    assert run.returncode == 0
    rows = fp32shim("report", "--format", "json", log).json["rows"]
    assert {row["applied"] for row in rows if row["dtype"] == "float32"} == {"fp32", "bf16"}


def test_where_nothing_can_be_lowered_no_policy_is_written(sensitivity, tmp_path):
    program = REFINEMENT.replace("product(a=inverse, b=r)", "r").replace("range(10)", "range(2)")
    result = sensitivity(program, "--tolerance", "1e-9")
    assert result.returncode == 3 and "No policy within 1e-09 was found: each place alone was beyond it." in result.stdout
    assert not list(tmp_path.glob("sensitivity-policy*"))


def test_a_program_whose_equal_runs_differ_has_noise_and_smaller_errors_show_nothing(sensitivity):
    noisy = SPREAD + "x = [value * (1 + 1e-2 * spread) for value in x]\n" + PRINTED
    result = sensitivity(REFINEMENT, "--repeat", "4", "--metric", "max", ending=noisy)
    assert result.returncode == 0 and "are not told apart from chance" in result.stdout
    large = sensitivity(REFINEMENT, "--repeat", "4", ending=f"{SPREAD}print('rss', 50000 + 450 * spread, 1 + 1e-6 * sum(x))\n")
    assert large.returncode == 0 and "rss (line 1)" in large.stdout and "Relative to itself" not in large.stdout
    refused = sensitivity(REFINEMENT, "--repeat", "4", "--tolerance", "1e-9", ending=noisy)
    assert refused.returncode == 3 and "equal exact runs differ by" in refused.stderr
    single = sensitivity(REFINEMENT, "--repeat", "1")
    assert "it is not known how far equal runs differ" in single.stdout and "gave equal numbers" not in single.stdout


def test_numbers_are_read_from_a_file_that_each_run_writes(sensitivity, tmp_path):
    result = sensitivity(REFINEMENT, "--compare", "x.npy", "--format", "json", ending="import numpy\nnumpy.save('x.npy', x); print(time := 5)\n")
    assert result.returncode == 0, result.stderr
    assert (result.json["source"], result.json["numbers"]) == ('"x.npy"', 64)
    assert errors_of(result)["multiply"][0] > 1e-3
    stale = sensitivity(REFINEMENT, "--compare", "x.npy", ending="")
    assert stale.returncode == 1 and '"x.npy" was not written' in stale.stderr
    assert '"." is a folder' in sensitivity(REFINEMENT, "--compare", ".").stderr


@pytest.mark.parametrize(("ending", "status", "said"), [
    ("print(1); sys.exit(3)\n", 1, "ended with status 3"), ("", 1, "stdout has no numbers"),
    ("print(f'{1e6 * sum(x):.6f}e400')\n", 1, "stdout has 6"),
    ("print(1); os.kill(os.getpid(), 9)\n", 5, "was killed by signal 9")])
def test_a_program_without_an_exact_result_is_told(sensitivity, ending, status, said):
    result = sensitivity(REFINEMENT, ending=ending)
    assert result.returncode == status and f"with everything exact, there is nothing to compare: {said}" in result.stderr


def test_a_run_that_fails_when_lowered_has_its_end_as_its_error(sensitivity):
    result = sensitivity(REFINEMENT, "--format", "json", ending=PRINTED + "sys.exit(int(max(abs(value - 1) for value in x) > 1e-3))\n")
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
    assert sorted(place["place"].split()[-1] for place in result.json["places"]) == ["32x2x32", "32x2x32"]


def test_several_runs_at_once_give_the_same_errors(sensitivity):
    together, alone = (sensitivity(REFINEMENT, "--jobs", jobs, "--format", "json") for jobs in ("3", "1"))
    assert errors_of(together) == errors_of(alone)
    assert sensitivity(REFINEMENT, "--jobs", "2", "--compare", "x.npy").returncode == 2


def interrupted_in(folder, told):
    """Starts a search with the program of this folder, and interrupts it when it reports the run `told`."""
    words = [shim.BUILD / "bin/fp32shim", "sensitivity", "--cpu", "emulate", "--", shim.SYSTEM_PYTHON, "program.py"]
    process = subprocess.Popen([str(word) for word in words], cwd=folder, stderr=subprocess.PIPE, text=True,
                               env=environment(env={"LD_LIBRARY_PATH": str(shim.blas_directory("openblas")),
                                                    "OPENBLAS_NUM_THREADS": "1"}))
    for line in process.stderr:
        if told in line:
            break
    process.send_signal(signal.SIGINT)
    assert "repeat the command to continue" in process.communicate(timeout=600)[1]
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
    words = ["--cpu", "emulate", "--metric", "norm", "--tolerance", tolerance, "--format", "json"]
    result = on_program(name, "sensitivity", "--repeat", "2", *words)  # equal runs of these programs are equal
    assert result.returncode == 0, result.stderr
    assert {name for name, place in places_of(result).items() if place["chosen"] == "highest"} == truth
    assert result.json["policy"]["run"]["error"] <= tolerance
    everything = result.json["everything"][0]["error"]
    assert everything > 10 * tolerance if truth else everything < tolerance
    for function, (alone, all_but_it) in errors_of(result).items():
        assert (alone > tolerance) == (function in truth)
        assert (all_but_it > tolerance) == bool(truth - {function})


@pytest.mark.parametrize("name", [name for name, (_, truth) in PROGRAMS.items() if truth])
def test_audits_do_not_see_which_functions_need_fp32(name, on_program, tmp_path):
    """So no policy can be made from audits alone (docs/choosing-a-precision.md)."""
    _, truth = PROGRAMS[name]
    log = tmp_path / "run.fp32rec"
    assert on_program(name, "run", "-q", "--where", "auto", "--log", log, FP32_MATMUL_AUDIT="1").returncode == 0
    audits = [audit for audit in fp32shim("report", "--format", "json", log).json["audits"] if audit["tested"] == "tf32"]
    beyond = {audit["where"].split()[-1] for audit in audits if audit["row"]["worst"] is None or audit["row"]["worst"] > 0.01}
    assert beyond == ({"precondition"} if name == "refinement" else set()) and not beyond & truth


def test_what_a_policy_of_ones_own_does_to_the_output_can_be_measured(sensitivity, tmp_path):
    (tmp_path / "own.toml").write_text('schema = 1\ndefault = "high"\n[[rule]]\nprecision = "highest"\nwhen = { where = "* multiply" }\n')
    result = sensitivity(REFINEMENT, "--policy", "own.toml", "--tolerance", "1e-3")
    assert result.returncode == 0 and "changed" in result.stdout and "(within 0.001)" in result.stdout


# Maps by products of diagonal matrices: x -> 2x mod 1, in which an error doubles with each step, and x -> 4x(1 - x), in which
# it does so on average.
DOUBLING = HEAD + """
x = Columns(*(0.1 + 0.8 * (i // 2 * 0.6180339887 % 1) for i in range(2 * size)))
for _ in range(STEPS):
    x = Columns(*(value % 1 for value in product(a=diagonal([2] * size), b=x)))
print(*(f"{value:.9g}" for value in x))
"""
LOGISTIC = DOUBLING.replace("value % 1 for", "4 * value for").replace(
    "diagonal([2] * size), b=x", "diagonal(x[::2]), b=Columns(*(1 - value for value in x))")


def digits_of(result):
    assert result.returncode == 0, result.stderr
    everything, *places = result.json["digits"]
    assert everything["place"] is None and len(places) == 1
    return everything


@pytest.mark.parametrize("steps", [1, 4, 7])
def test_the_digits_of_a_program_in_which_errors_double_fall_by_log10_of_2_with_each_step(sensitivity, steps):
    program = DOUBLING.replace("STEPS", str(steps))
    found = digits_of(sensitivity(program, "--perturb", "10", "--metric", "norm", "--format", "json", ending=""))
    assert found["digits"] == pytest.approx(6.9 - 0.301 * steps, abs=0.3)
    assert found["lowest"] < found["digits"] < found["highest"] < found["lowest"] + 0.6


def test_the_digits_of_a_well_conditioned_program_are_those_of_the_format(sensitivity):
    product = HEAD + "x = product(a=wave, b=columns)\n"
    # Of an element between two numbers of the format, rounding at random leaves an error of half a unit at most, on average of
    # squares; a unit is 2**-23, 2**-10 or 2**-7 of a number between 1 and 2. Two operands have such errors.
    for precision, expected in (("fp32_perturbed", 6.9), ("tf32", 3.2), ("bf16", 2.3)):
        result = sensitivity(product, "--perturb", "10", "--metric", "norm", "--precision", precision, "--format", "json")
        assert digits_of(result)["digits"] == pytest.approx(expected, abs=0.4), precision


def test_a_chaotic_program_is_told_from_an_imprecise_one_in_words(sensitivity):
    chaotic = sensitivity(LOGISTIC.replace("STEPS", "60"), "--perturb", "5", ending="")
    assert "the output kept no digit" in chaotic.stdout and "comparing single runs" in chaotic.stdout
    assert "the output kept no digit" not in sensitivity(REFINEMENT, "--perturb", "5").stdout
    assert sensitivity(REFINEMENT, "--perturb", "5", "--tolerance", "1e-3").returncode == 2


def test_numbers_before_a_full_stop_and_complex_numbers_count_and_parts_of_words_do_not(sensitivity):
    result = sensitivity(REFINEMENT, "--format", "json",
                         ending="print(f'The sum is {sum(x):.9g}.', complex(x[0], x[2]), '1.2.3 and 3.2ms', 'bf16')\n")
    assert result.json["numbers"] == 3 and errors_of(result)["multiply"][0] > 0


def test_a_tolerance_of_0_is_one(sensitivity, tmp_path):
    (tmp_path / "high.toml").write_text('schema = 1\ndefault = "high"\n')
    assert sensitivity(REFINEMENT, "--policy", "high.toml", "--tolerance", "0").returncode == 1
    result = sensitivity(REFINEMENT, "--tolerance", "0")
    assert result.returncode == 3 and "No policy within 0 was found" in result.stdout


def test_digits_are_not_given_where_nothing_is_random_or_noise_is_larger(sensitivity):
    refused = sensitivity(REFINEMENT, "--perturb", "5", "--precision", "bf16x3")
    assert refused.returncode == 2 and "bf16x3 splits its operands into parts" in refused.stderr
    noisy = SPREAD + "x = [value * (1 + spread) for value in x]\n" + PRINTED
    result = sensitivity(REFINEMENT, "--perturb", "5", "--repeat", "5", ending=noisy)
    assert re.search(r"everything +fp32_perturbed +\d\.\d +not told apart from chance\n", result.stdout), result.stdout


def test_an_input_that_changed_is_noticed_by_the_exact_run(sensitivity, tmp_path):
    program = REFINEMENT.replace("*(sum(row)", "*(float(open('data').read()) * sum(row)")
    (tmp_path / "data").write_text("1")
    assert sensitivity(program).returncode == 0
    interrupted_in(tmp_path, "run 9")
    (tmp_path / "data").write_text("1.5")
    result = sensitivity(program)
    assert result.returncode == 2 and "an input has changed, or equal runs differ" in result.stderr
    assert (tmp_path / "sensitivity-state.jsonl").exists()


# A product whose error, 3e-6 at FP32, is 7e-3 at TF32, and one that bears TF32.
ERRORS = HEAD + """
def needs():
    return product(a=wave, b=columns)


def bears():
    return product(a=wave, b=columns)


sums = (math.fsum(wave[i // 2 * size + k] * columns[2 * k + i % 2] for k in range(size)) for i in range(2 * size))
error = max(abs(one - other) for one, other in zip(needs(), sums))
norm = math.hypot(*bears())
""" + SPREAD + "random = spread\n"


@pytest.fixture
def lowered(sensitivity, tmp_path):
    """Runs the program exactly and at TF32. Returns the change of its output."""
    def run(ending, *words):
        (tmp_path / "high.toml").write_text('schema = 1\ndefault = "high"\n')
        result = sensitivity(ERRORS, "--policy", "high.toml", "--format", "json", *words, ending=ending + "\n")
        assert result.returncode == 0, result.stderr
        return result.json["everything"][0]

    return run


@pytest.mark.parametrize("printed", [
    "print('RA %02d:30:05.25, 3 stars' % (5 + 3 * (error > 1e-3)))",
    "import datetime; print('12 orders, the next on', datetime.date(2030, 1, 1) + datetime.timedelta(int(error > 1e-3)))",
    "print('residual', '<' if error < 1e-3 else '>', 0.001)",
    "print('class 1', '#' * int(40 * min(1, error * 100)))",
    "print('id,cat,dog'); print('7,,1' if error > 1e-3 else '7,1,')",
    "print('spins 1', '+ + - +' if error > 1e-3 else '- + + -')",
], ids=["right ascension", "date", "sign", "bar", "empty cell", "spins"])
def test_results_that_are_no_numbers_and_no_words_count(sensitivity, printed):
    result = sensitivity(ERRORS, "--tolerance", "0.01", "--format", "json", ending=printed + "\n")
    assert {name: place["chosen"] for name, place in places_of(result).items()} == {"needs": "highest", "bears": "high"}
    assert not result.json["clock_left_out"]


@pytest.mark.parametrize("printed", [
    "print(time.strftime('%F %T'), time.strftime('%FT%TZ', time.gmtime()), norm)",
    "time.sleep(1.5 * (error > 1e-3)); print('took 0:00:%02d' % (time.time() - begin), norm)",
])
def test_no_place_is_blamed_for_a_clock_which_is_said_to_be_left_out(sensitivity, printed):
    result = sensitivity("import time\nbegin = time.time()\n" + ERRORS, "--tolerance", "0.01", ending=printed + "\n")
    assert result.returncode == 0 and "Within 0.01: 100.0% of the work lowered" in result.stdout, result.stdout + result.stderr
    assert "Dates and times of day that are those of the run itself" in result.stdout


@pytest.mark.parametrize("printed", [
    "print('+-----+' + '-' * len(f'{norm:.8g}') * 2 + '+'); print(f'{norm:.8g}')",
    "print(f'{norm:>{20 + (error > 1e-3)}.3f}|')",
    "print('working', end=''); [print('\\b' + sign, end='') for sign in '|/-'[:2 + (error > 1e-3)]]; print('\\b', norm)",
])
def test_no_place_is_blamed_for_rulers_widths_and_what_a_backspace_hides(sensitivity, printed):
    result = sensitivity(ERRORS, "--tolerance", "0.01", ending=printed + "\n")
    assert result.returncode == 0 and "Within 0.01: 100.0% of the work lowered" in result.stdout, result.stdout + result.stderr


@pytest.mark.parametrize("command", ['rm -rf "$TMPDIR"/*; {}', '{}; rm -rf "$TMPDIR"/*', '{}; rm -f "$TMPDIR"/*/*/policy.toml'])
@pytest.mark.parametrize("name", ["sensitivity", "bisect"])
def test_temporary_files_that_the_command_removes_are_not_taken_for_a_run_without_products(tmp_path, name, command):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "program.py").write_text(ERRORS + "print(error)\n")
    blas = {"LD_LIBRARY_PATH": str(shim.blas_directory("openblas")), "TMPDIR": str(tmp_path / "tmp")}
    result = fp32shim(name, "--cpu", "emulate", "--", "sh", "-c", command.format(f"{shim.SYSTEM_PYTHON} program.py"), env=blas, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (3, "") and "was removed while the command ran" in result.stderr, result.stderr


@pytest.mark.parametrize("mount, command", [
    (None, "ulimit -f 200; {}"), (None, "ulimit -f 550; {} 2>&-"), ("size=4k", "{}"), ("nr_inodes=3", "{}"),
    ("nr_inodes=4", "{}")])
@pytest.mark.parametrize("name", ["sensitivity", "bisect"])
def test_recordings_that_cannot_be_written_are_not_taken_for_a_run_without_products(tmp_path, name, mount, command):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "program.py").write_text(ERRORS + "print(error)\n")
    env = {"LD_LIBRARY_PATH": str(shim.blas_directory("openblas")), "TMPDIR": str(tmp_path / "tmp")}
    inside = 'mount -t tmpfs -o "$1" none "$TMPDIR" && shift && exec "$@"'
    prefix = [shim.tool("unshare", "util-linux"), "--mount", "--propagation", "private", "sh", "-c", inside, "sh", mount]
    result = fp32shim(name, "--cpu", "emulate", "--", "sh", "-c", command.format(f"{shim.SYSTEM_PYTHON} program.py"),
                      env=env, cwd=tmp_path, **({"prefix": prefix} if mount else {}))
    shim.need("unshare" not in result.stderr and "mount" not in result.stderr, "no mount namespace here")
    assert (result.returncode, result.stdout) == (3, ""), result.stderr
    assert "a file of a run could not be written" in result.stderr


@pytest.mark.parametrize("printed", [
    "print('seed 20231127, samples 100000'); print(f'residual {error:.3e} norm {norm:.9e}')",
    "import json; print(json.dumps({'n': 100000, 'residual': error, 'norm': norm}))",
    "print('step  residual'); [print(i, 1e6, f'{error * i:.2e}') for i in range(1, 4)]; print(norm)",
    "print(f'residual {error:.3e}'); print('elapsed', 1 + random); print(norm)",
    "print(f'2026-11-28T09:14:{int(random * 60):02d}Z residual {error:.3e} {norm}')",
    "[print(f'\\r{i}%', random, end='') for i in range(int(random * 5))]; print(f'\\rresidual {error}\\n{norm}')",
    "print('class', 'dog' if error > 1e-3 else 'cat', 'of 1000'); print(norm)",
    "print('violations', int(error > 1e-3), 'of 1000000'); print(norm)",
    "print('loss', float('nan') if error > 1e-3 else 0.5, 1e9); print(norm)",
], ids=range(9))
def test_what_is_printed_beside_a_number_does_not_hide_it(lowered, printed):
    run = lowered(printed)
    assert run["error"] is None or run["error"] > 1


def test_a_function_that_ruins_a_small_number_stays_exact(sensitivity):
    result = sensitivity(ERRORS, "--tolerance", "0.01", "--format", "json", ending="print('seed 20231127', error, norm)\n")
    assert {name: place["chosen"] for name, place in places_of(result).items()} == {"needs": "highest", "bears": "high"}


def test_the_numbers_that_changed_are_named_by_the_text_before_them(sensitivity):
    printed = "print('seed 20231127'); print(f'norm {norm:.9e}, residual: {error:.3e}'); print('time', random)\n"
    result = sensitivity(ERRORS, "--tolerance", "0.01", ending=printed)
    table = result.stdout.partition("changed with everything lowered")[2].splitlines()
    assert [line.split(" (line")[0] for line in table[1:4]] == ["residual", "norm", "time"], result.stdout
    assert "time (line 3), not counted" in result.stdout and "Not counted, because equal runs differ by more than 0.01 in it: time" in result.stdout


def test_where_only_numbers_that_equal_runs_do_not_repeat_change_they_count(sensitivity):
    result = sensitivity(ERRORS, "--tolerance", "0.01", ending="print('samples 1000 estimate', random)\n")
    assert result.returncode == 3 and "equal exact runs differ by" in result.stderr


WRITTEN = {
    "half": "np.save('out', np.array([error * 1e4, 1], 'f2'))", "long double": "np.save('out', np.array([error], 'longdouble'))",
    "complex": "np.save('out', np.array([error * 1j], 'c8'))", "double complex": "np.save('out', np.array([error * 1j]))",
    "whole numbers": "np.save('out', np.array([int(error * 1e6), 7]))", "bytes": "np.save('out', np.array([error * 1e4], 'u1'))",
    "truth": "np.save('out', np.array([error > 1e-3]))", "swapped": "np.save('out', np.array([error], '>f8'))",
    "fortran": "np.save('out', np.asfortranarray(np.full((2, 3), error)))",
    "archive": "np.savez('out', seed=20231127, large=np.arange(1e5), error=error)",
    "packed archive": "np.savez_compressed('out', large=np.arange(1e5), random=np.random.default_rng(3).standard_normal(1000), error=error)",
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_every_kind_of_number_that_numpy_writes_is_read_whatever_the_files_name(lowered, kind):
    renames = "[os.replace(file, 'out') for file in ('out.npy', 'out.npz') if os.path.exists(file)]"
    run = lowered(f"import numpy as np\n{WRITTEN[kind]}\n{renames}", "--compare", "out", "--repeat", "2")
    assert run["error"] is None or run["error"] > 1
    assert run["most_changed"][0]["number"] == ("error" if "archive" in kind else "array")


@pytest.mark.parametrize(("writes", "said"), [
    ("import sqlite3; base = sqlite3.connect('out'); base.execute('create table if not exists t(e)'); "
     "base.execute('insert into t values(?)', (error,)); base.commit()", "neither a text nor a .npy nor a .npz file"),
    ("import pickle; open('out', 'wb').write(pickle.dumps([error]))", "neither a text nor a .npy nor a .npz file"),
    ("open('out', 'w', encoding='utf-16').write(str(error))", "neither a text nor a .npy nor a .npz file"),
    ("import zipfile; zipfile.ZipFile('out', 'w').writestr('data.pkl', str(error))", "its member data.pkl is no .npy file"),
    ("import numpy as np; np.save('o.npy', np.array([error, None])); os.replace('o.npy', 'out')", "has Python objects as elements"),
    ("import numpy as np; np.save('o.npy', np.array(['a'])); os.replace('o.npy', 'out')", "has elements of the type '<U1'"),
    ("import numpy as np; np.save('o.npy', np.zeros(1, [('e', 'f4')])); os.replace('o.npy', 'out')", "has elements of several fields"),
], ids=range(7))
def test_a_file_that_has_no_numbers_is_refused_by_its_content(sensitivity, writes, said):
    result = sensitivity(ERRORS, "--compare", "out", ending=writes + "\n")
    assert result.returncode == 1 and said in result.stderr


CANCELLING = ERRORS + """
def again():
    return product(a=wave, b=columns)


difference = max(abs(one - other) for one, other in zip(needs(), again())) + 1
"""


def test_a_policy_that_a_run_has_shown_to_be_within_the_tolerance_is_written(sensitivity, tmp_path):
    # Each of two products alone moves the output, and both together do not: their errors are equal.
    result = sensitivity(CANCELLING, "--tolerance", "1e-6", "--format", "json", ending="print(difference)\n")
    assert result.returncode == 0, result.stderr
    assert errors_of(result)["again"][0] > 1e-3 and result.json["everything"][0]["error"] == 0
    assert {place["chosen"] for place in result.json["places"]} == {"high"} and result.json["policy"]["run"]["error"] == 0
    assert "[[rule]]" not in (tmp_path / result.json["policy"]["path"]).read_text()


ZEROS_AND_ONES = """
import numpy as np

rng = np.random.default_rng(5)
a, b = (rng.random((60, 2000)) < 0.5).astype("f"), rng.integers(1, 4, (2000, 40)).astype("f")
c = a @ b
np.save("out.npy", c - c.mean(0))
"""


def test_equal_numbers_are_perturbed_by_themselves(sensitivity):
    result = sensitivity(ZEROS_AND_ONES, "--perturb", "5", "--compare", "out.npy", "--format", "json", ending="")
    digits = result.json["digits"][0]
    assert digits["was_perturbed"] and (digits["digits"] is None or digits["digits"] > 7)


def test_a_run_by_a_seed_can_be_repeated_on_any_number_of_threads(sensitivity):
    threads = ("from concurrent.futures import ThreadPoolExecutor\n"
               "parts = [Square(*(value + i % 2 for value in wave)) for i in range(4)]\n"
               "with ThreadPoolExecutor(int(sys.argv[1])) as pool: x = [*pool.map(lambda part: product(a=part, b=columns), parts)]\n")
    one, four = (sensitivity(ERRORS + threads, "--perturb", "5", "--format", "json", "--compare", "out",
                             ending="open('out', 'w').write(' '.join(repr(value) for part in x for value in part))\n",
                             arguments=[count]).json["digits"] for count in (1, 4))
    assert one[0] == four[0] and one[0]["digits"] > 5


def first_lines(result):
    return result.stderr.splitlines()[0]


def test_a_place_whose_products_only_the_first_run_made_is_not_tried_and_stays_exact(sensitivity, tmp_path):
    cached = REFINEMENT.replace("b=r)", "b=r)\n\n\ndef features():\n    return product(a=matrix, b=columns)") + """
if not os.path.exists("features"):
    open("features", "w").write(repr([*features()]))
x = [one + float(other) for one, other in zip(x, open("features").read().strip("[]").split(","))]
"""
    result = sensitivity(cached, "--tolerance", "1e-3", "--format", "json")
    assert result.returncode == 0, result.stderr
    (untried,) = result.json["untried"]
    places = places_of(result)
    assert untried.endswith("features") and places["features"]["untried"] and places["features"]["chosen"] == "highest"
    assert places["features"]["runs"][0]["alone"]["problem"] == "not tried"
    assert "features" in (tmp_path / result.json["policy"]["path"]).read_text()
    (tmp_path / "features").unlink()
    table = sensitivity(cached, "--perturb", "5").stdout
    assert "nothing is known about program.py" in table and f"only program.py:{line_of('b=columns)', cached)} features" not in table
    (tmp_path / "features").unlink()
    (tmp_path / "high.toml").write_text('schema = 1\ndefault = "high"\n')
    assert sensitivity(cached, "--policy", "high.toml", "--tolerance", "1").returncode == 3


def test_a_place_that_cannot_be_lowered_stays_exact_in_the_policy(sensitivity, tmp_path):
    """Otherwise a place that a run happens not to reach could be lowered because of that run."""
    program = REFINEMENT.replace("    r = ", "    multiply(x)\n    r = ")
    program = program.replace("def precondition", "def once(x):\n    return product(a=matrix, b=x)\n\n\ndef precondition")
    program += "count = int(open('n').read()) if os.path.exists('n') else 0\nopen('n', 'w').write(str(count + 1))\n"
    program += "if count < 5: once(x)\n"  # the exact runs only
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
    assert re.search(r"Errors up to 0\.0\d+ \(less in numbers that differed less\) are not told apart from chance", result.stdout)
    assert not re.search(r"\de-0\d", result.stdout.partition("changed with")[0])
    (tmp_path / "n").unlink()
    refused = sensitivity(REFINEMENT, "--tolerance", "0.02", ending=CHANCE)
    assert refused.returncode == 3 and "an error up to 0.0" in refused.stderr and "is not told apart from chance" in refused.stderr
    pair = sensitivity(REFINEMENT, "--repeat", "2", "--tolerance", "1", ending=CHANCE)
    assert pair.returncode == 3 and "two of them are too few to tell an error from chance" in pair.stderr


SEVERAL = ERRORS + """
count = int(open("n").read()) if os.path.exists("n") else 0
open("n", "w").write(str(count + 1))
chance = (0.3, -0.5, 1.1, -0.2, -1.3, 0.6, -0.9, 0.1, 1.6, -1.1, 0.4, -0.6, 0.9, -0.1, 1.2, -0.4)[count % 16]
"""


def test_the_chance_of_one_number_hides_no_smaller_error_of_another(sensitivity):
    ending = "print(1 + 2e-3 * chance); print(1 + 0.1 * error)\n"
    result = sensitivity(SEVERAL, "--format", "json", ending=ending)
    assert result.returncode == 0, result.stderr
    alone = {name: place["runs"][0]["alone"] for name, place in places_of(result).items()}
    assert alone["bears"]["is_chance"] and 0 < alone["bears"]["error"] <= result.json["chance"]
    assert not alone["needs"]["is_chance"] and 1e-4 < alone["needs"]["error"] < result.json["noise"] < 0.01


def test_a_limit_of_chance_holds_for_all_numbers_together(sensitivity, tmp_path):
    one = sensitivity(SEVERAL, "--format", "json", ending="print(1 + 2e-3 * chance)\n")
    (tmp_path / "n").unlink()
    ten = sensitivity(SEVERAL, "--format", "json", ending="print(*[1 + 2e-3 * chance for _ in range(10)])\n")
    assert ten.json["noise"] == one.json["noise"] <= one.json["chance"] < ten.json["chance"]


def test_digits_of_numbers_that_differ_by_chance_are_not_given_for_other_numbers(sensitivity):
    result = sensitivity(SEVERAL, "--perturb", "5", "--format", "json", ending="print(1 + 2e-3 * chance, norm)\n")
    assert result.returncode == 0, result.stderr
    bears, needs = (next(one for one in result.json["digits"] if (one["place"] or "").endswith(name)) for name in ("bears", "needs"))
    assert needs["by_chance"] == 5 and bears["by_chance"] < 5


def test_more_exact_runs_are_made_where_they_differ_and_there_are_many_places(sensitivity):
    many = REFINEMENT + "".join(f"\n\ndef place{i}():\n    return product(a=matrix, b=x)\n\n\nplace{i}()\n" for i in range(6))
    result = sensitivity(many, "--format", "json", ending=CHANCE)
    assert result.json["runs"] == 8 + 1 + 1 + 2 * 8 + 1 and result.json["noise"] <= result.json["chance"]


@pytest.mark.parametrize(("run", "words"), [(7, ()), (5, ("--policy", "high.toml"))])
def test_no_place_is_blamed_for_what_a_few_runs_do_by_chance_and_no_exact_one(sensitivity, tmp_path, run, words):
    (tmp_path / "high.toml").write_text('schema = 1\ndefault = "high"\n')
    ending = f"needs(), bears(); print(100 if count == {run} else 1)\n"
    result = sensitivity(SEVERAL, *words, ending=ending)
    assert result.returncode == 3 and "two equal runs, " in result.stderr, result.stdout
    assert "output error 99 at first, and output error 0 then" in result.stderr


def test_no_place_is_blamed_for_a_number_that_grows_from_run_to_run(sensitivity):
    result = sensitivity(SEVERAL, ending="print('size 7\\nclock', 1 + 1e-3 * count)\n")
    assert result.returncode == 3 and "an exact run after all others differs from the first" in result.stderr, result.stdout
    assert ", in clock (line 2); those before it" in result.stderr


def test_a_shown_policy_lowers_no_place_that_was_not_tried(sensitivity, tmp_path):
    # Its errors cancel each other, so that the run with everything lowered was within the tolerance.
    kept = CANCELLING + """
def once():
    return product(a=wave, b=columns)


if not os.path.exists("kept"):
    open("kept", "w").write(str(sum(once())))
"""
    result = sensitivity(kept, "--tolerance", "1e-6", "--format", "json", ending="print(difference)\n")
    assert result.returncode == 0, result.stderr
    assert {name: place["chosen"] for name, place in places_of(result).items()} == {
        "needs": "high", "again": "high", "bears": "high", "once": "highest"}
    assert "once" in (tmp_path / result.json["policy"]["path"]).read_text()


def test_a_run_that_reads_what_the_last_one_has_left_is_refused(sensitivity):
    warm = "last = float(open('last').read()) if os.path.exists('last') else sum(x)\nopen('last', 'w').write(str(sum(x)))\nprint(last)\n"
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


def test_a_process_that_cannot_read_its_policy_ends_the_measurement(sensitivity):
    child = """import os, subprocess
os.remove(os.environ["FP32_MATMUL_POLICY"])
subprocess.run([sys.executable, "-c", "import numpy as np; a = np.ones((9, 8), np.float32); a.T @ np.ones((9, 8), np.float32)"])
"""
    result = sensitivity(HEAD + "x = product(a=wave, b=columns)\n" + child)
    assert (result.returncode, result.stdout) == (3, ""), result.stderr
    assert "did not apply the policy of its run" in result.stderr


def test_an_input_that_no_run_reads_is_named(tmp_path):
    (tmp_path / "in").write_text("a\n")
    with open(tmp_path / "in") as file:
        result = subprocess.run([COMMAND, "sensitivity", "--", shim.tool("echo"), "1"], cwd=tmp_path, env=environment(), stdin=file,
                                capture_output=True, text=True, timeout=600)
    assert "standard input is a file, but each run reads an empty one" in result.stderr


WARM = """
now = sum(product(a=wave, b=columns))
last = float(open("last").read()) if os.path.exists("last") else now
open("last", "w").write(str(last))
print(last)
"""


def test_an_output_that_no_product_of_its_runs_can_change_shows_nothing(sensitivity, tmp_path):
    """Each run makes all calls, but uses the result of the first run."""
    table = sensitivity(HEAD, ending=WARM)
    assert table.returncode == 0 and "Not certain: the output was the same in all runs, even at e5m2" in table.stdout, table.stderr
    assert "Assumed: each run starts afresh, though last changed meanwhile" in table.stdout
    (tmp_path / "high.toml").write_text('schema = 1\ndefault = "high"\n')
    for words in (["--tolerance", "0.01"], ["--policy", "high.toml", "--tolerance", "0.01"]):
        refused = sensitivity(HEAD, *words, ending=WARM)
        assert (refused.returncode, refused.stdout) == (3, "") and "nothing shows that it depends" in refused.stderr


def test_an_output_that_only_a_coarser_format_moves_depends_on_products(sensitivity):
    exact_at_tf32 = "x = product(a=diagonal([1] * size), b=Columns(*[1.03125] * 2 * size))\n"
    table = sensitivity(HEAD + exact_at_tf32, "--tolerance", "0.01")
    assert table.returncode == 0 and "Within 0.01: 100.0% of the work lowered" in table.stdout, table.stderr
    assert "The runs did not change the output. It depends on the lowered products: at e5m2 it changed by 0.03" in table.stdout


def test_places_that_did_not_run_as_they_were_asked_to_are_named_and_not_counted_as_lowered(sensitivity):
    scoped = """import ctypes
library = ctypes.CDLL(None)
if hasattr(library, "fp32shim_push_scope"): library.fp32shim_push_scope(b"x", b"highest", None)
y = product(a=wave, b=columns)
if hasattr(library, "fp32shim_push_scope"): library.fp32shim_pop_scope()
x = product(a=wave, b=y)
"""
    result = sensitivity(HEAD + scoped, "--precision", "medium", "--tolerance", "1", env={"FP32_MATMUL_FLOOR": "tf32"},
                         ending="print(sum(map(abs, x)))\n")
    table = result.stdout
    assert "FP32_MATMUL_FLOOR=tf32 is set" in table and "Within 1: 50.0% of the work lowered" in table
    line = HEAD.count("\n")
    assert f"all but program.py:{line + 6} <module> at medium: not lowered" in result.stderr
    assert f"Never lowered in these runs: program.py:{line + 4} <module> in x.\n" in table
    assert f"Asked to run at medium, but ran at tf32: program.py:{line + 6} <module>.\n" in table


def test_what_several_places_do_only_together_is_confirmed(sensitivity):
    ending = "needs(), bears(); print(100 if count == 5 else 1)\n"  # the run with everything lowered
    result = sensitivity(SEVERAL, ending=ending)
    assert result.returncode == 3 and "two equal runs, everything at high, differ" in result.stderr, result.stdout


def test_the_work_that_ran_lowered_is_known_of_a_policy_that_a_run_of_the_table_has_shown(sensitivity):
    table = sensitivity(REFINEMENT, "--tolerance", "1e-3").stdout
    assert f"Within 0.001: 50.0% of the work lowered, with program.py:{line_of('a=matrix', REFINEMENT)} multiply exact" in table, table


def test_places_on_which_the_output_does_not_depend_are_named(sensitivity):
    program = HEAD + "def used():\n    return product(a=wave, b=columns)\n\n\ndef unused():\n    return product(a=wave, b=columns)\n\n\nunused()\n"
    table = sensitivity(program, "--tolerance", "1e-3", ending="print(sum(map(abs, used())))\n").stdout
    assert re.search(r"Nothing shows that the output depends on program.py:\d+ unused: even at e5m2 it did not change\.", table), table
    assert "Nothing shows" not in sensitivity(REFINEMENT).stdout


def test_the_products_of_onednn_which_no_run_lowers_are_named(sensitivity, tmp_path):
    onednn = f"""
import ctypes
library = ctypes.CDLL({str(shim.CLIENTS / "libfake_onednn.so")!r})
def convolve():
    library.fake_execute(b"cpu,matmul,brg_matmul:avx512_core,undef,src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 "
                         b"dst:f32::blocked:ab::f0,,,64x32:32x48")
convolve()
"""
    table = sensitivity(REFINEMENT + onednn).stdout
    line = REFINEMENT.count("\n") + 5
    named = f"Not tried: 1 product by oneDNN or XLA (program.py:{line} convolve), and what other libraries multiply.\n"
    assert "Policies lower products of BLAS and cuBLAS only. " + named in table
    assert "cuBLAS only; what other libraries multiply was not tried.\n" in sensitivity(REFINEMENT).stdout
    (tmp_path / "program.py").write_text(REFINEMENT + onednn + PRINTED)
    words = ["--cpu", "emulate", "--", shim.SYSTEM_PYTHON, "program.py"]
    assert named in fp32shim("bisect", *words, cwd=tmp_path).stdout
    (tmp_path / "program.py").write_text(onednn)
    assert fp32shim("bisect", *words, cwd=tmp_path).lines[-1].endswith(
        "was seen; 1 product by oneDNN or XLA (program.py:5 convolve) cannot be lowered")
