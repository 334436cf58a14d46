"""Programs of which it is known what must stay exact, given to bisect, sensitivity and verify.

They have what makes such a search go wrong: results kept in files, children, output of several kinds, and chance. A
command may find the truth, or say why it cannot tell. It must not conclude anything else. tests/nightly.sh runs this
file, since the programs take some minutes.
"""

import dataclasses
import itertools
import json
import re

import pytest

import shim
from command import fp32shim

# Rounding the operands to TF32 moves the products by 1e-2, where FP32 is off by 4e-6.
HEAD = """
import json, os, random, subprocess, sys, threading, time
import numpy as np

numbers = np.random.default_rng(0)
A, B = numbers.standard_normal((40, 50)).astype("f"), numbers.standard_normal((50, 30)).astype("f")
exact = A.astype("d") @ B
is_off = lambda C: bool(np.abs(np.asarray(C, "d") - exact).max() > 1e-4)
error_of = lambda C: float(np.abs(np.asarray(C, "d") - exact).max())

def one(): return A @ B
def two(): return A @ B
def three(): return A @ B

"""
FUNCTIONS = ("one", "two", "three")


@dataclasses.dataclass(frozen=True)
class Planted:
    """A program: its text after HEAD, and the right answers, each of which is a set of functions that must stay exact."""

    text: str
    answers: tuple = ()
    words: tuple = ()  # further options of the command


def keep(*names):
    return tuple(frozenset([name] if isinstance(name, str) else name) for name in names)


NOTHING = (frozenset(),)
COMPARED = ("--compare", "out", "--rtol", "1e-3")
# variants() replaces X, Y and Z by the three functions in turn, so that each function is the culprit once.
SEARCHED = {
    # Programs that keep results of earlier runs.
    "kept_in_a_file": Planted("""
two(), one(), three()
if not os.path.exists("kept.npy"): np.save("kept.npy", X())
sys.exit(is_off(np.load("kept.npy")))
""", keep("X")),
    "another_product_is_kept": Planted("""
if not os.path.exists("kept.npy"): np.save("kept.npy", Y())
sys.exit(is_off(X()) or Z() is None)
""", keep("X")),
    "goes_on_from_a_checkpoint": Planted("""
done = json.load(open("state")) if os.path.exists("state") else {}
for name in FUNCTIONS:
    if name not in done: done[name] = error_of(globals()[name]())
json.dump(done, open("state", "w"))
sys.exit(done["X"] > 1e-4)
""".replace("FUNCTIONS", str(FUNCTIONS)), keep("X")),
    "kept_in_memory": Planted("""
import functools
kept = functools.cache(X)
sys.exit(is_off(kept()) or is_off(kept()) or Y() is None or Z() is None)
""", keep("X")),
    "kept_for_a_time": Planted("""
if not os.path.exists("kept.npy") or random.Random(len(os.listdir("runs"))).random() < 0.5: np.save("kept.npy", X())
open(f"runs/{time.time_ns()}", "w")
sys.exit(is_off(np.load("kept.npy")) or Y() is None)
""", keep("X")),
    "keeps_the_best_result_of_all_runs": Planted("""
Y(), Z()
best = min(error_of(X()), float(open("best").read()) if os.path.exists("best") else 1e9)
open("best", "w").write(repr(best))
print(best)
sys.exit(best > 1e-4)
""", keep("X")),
    "multiplies_and_uses_what_is_kept": Planted("""
C = X()
if not os.path.exists("kept.npy"): np.save("kept.npy", C)
Y(), Z()
sys.exit(is_off(np.load("kept.npy")))
""", keep("X")),
    # Programs whose results decide what they do next.
    "stops_after_a_time": Planted("""
Z()
end = time.time() + 0.3
while time.time() < end: C = X(); time.sleep(0.05)
sys.exit(is_off(C) or Y() is None)
""", keep("X")),
    "the_median_of_three": Planted("sys.exit(sorted(map(error_of, (X(), Y(), Z())))[1] > 1e-4)", keep(("X", "Y"), ("X", "Z"), ("Y", "Z"))),
    "a_low_product_makes_the_test_lax": Planted("""
lax = is_off(Y())
sys.exit(error_of(X()) > (1e-1 if lax else 1e-4) or Z() is None)
""", keep("X", ())),
    "judges_at_exit": Planted("""
import atexit
Y(), Z()
atexit.register(lambda: os._exit(is_off(X())))
""", keep("X")),
    "asks_for_another_precision_itself": Planted("""
if len(sys.argv) < 2: os.execve(sys.executable, [sys.executable, sys.argv[0], "again"], {**os.environ, "FP32_MATMUL_PRECISION": "medium"})
Y(), Z()
sys.exit(error_of(X()) > 5e-2)  # TF32 is off by a fifth of this
"""),
    "falls_back": Planted("""
C = X()
if is_off(C): C = exact
sys.exit(is_off(C) or is_off(Y()) or Z() is None)
""", keep("Y")),
    "tries_again": Planted("""
sys.exit(all(is_off(X()) for _ in range(3)) or Y() is None)
""", keep("X")),
    "ends_at_the_first_error": Planted("""
if is_off(X()): sys.exit(1)
Z()
if is_off(Y()): sys.exit(2)
""", keep(("X", "Y"))),
    "a_low_product_hides_another": Planted("""
if is_off(X()): sys.exit(0)
sys.exit(is_off(Y()) or Z() is None)
""", keep("Y", ())),
    "a_low_product_calls_another": Planted("""
if is_off(X()): sys.exit(is_off(Y()))
Z()
""", keep("X", "Y")),
    "either_of_two_is_enough": Planted("sys.exit(is_off(X()) and is_off(Y()) or Z() is None)", keep("X", "Y")),
    "two_errors_cancel": Planted("sys.exit(is_off(X()) != is_off(Y()) or Z() is None)", keep((), ("X", "Y"))),
    "two_culprits": Planted("sys.exit(is_off(X()) or is_off(Y()) or Z() is None)", keep(("X", "Y"))),
    "one_shows_nothing_when_low": Planted("""
if is_off(X()): sys.exit(125)
sys.exit(is_off(Y()) or Z() is None)
""", keep(("X", "Y"))),
    "dies_of_a_signal": Planted("""
Y(), Z()
if is_off(X()): os.abort()
""", keep("X")),
    "only_one_size_matters": Planted("""
def of_size(n): return A[:n] @ B
for n in (8, 16, 40): C = of_size(n)
sys.exit(is_off(C) or X() is None)
""", keep("of_size")),
    # Results in a file that are no numbers, and a clock beside them.
    "writes_a_right_ascension": Planted("""
Y(), Z()
open("out", "w").write(f"{time.ctime()} RA 0{8 if is_off(X()) else 5}:30:05.25 flux 1.5")
""", keep("X"), COMPARED),
    "writes_empty_cells": Planted('Y(), Z(); open("out", "w").write("7,,1" if is_off(X()) else "7,1,")', keep("X"), COMPARED),
    "writes_signs": Planted('Y(), Z(); open("out", "w").write(f"residual {chr(62 if is_off(X()) else 60)} 0.001")', keep("X"), COMPARED),
    "writes_the_time_after_a_while": Planted("""
Y(), Z()
if is_off(X()): time.sleep(1)
open("out", "w").write(time.strftime("%F %T ") + time.strftime("%T", time.gmtime(time.time() + 40000)) + " 1.5")
""", NOTHING, COMPARED),
    # Children and threads.
    "in_a_child": Planted("""
if len(sys.argv) > 1: sys.exit(is_off(X()))
Y(), Z()
sys.exit(subprocess.call([sys.executable, sys.argv[0], "child"]))
""", keep("X")),
    "in_a_fork": Planted("""
Y()
child = os.fork()
if child == 0: os._exit(is_off(X()))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or Z() is None)
""", keep("X")),
    "in_a_pool": Planted("""
import multiprocessing
def work(name): return is_off(globals()[name]())
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        ends = pool.map(work, ["one", "two", "three"])
        pool.close(), pool.join()
    sys.exit(ends[["one", "two", "three"].index("X")])
""", keep("X")),
    "in_a_thread": Planted("""
ends = {}
def run(f): ends[f.__name__] = is_off(f())
threads = [threading.Thread(target=run, args=(f,)) for f in (one, two, three)]
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.exit(ends["X"])
""", keep("X")),
    "in_a_child_without_the_shim": Planted("""
if len(sys.argv) > 1: sys.exit(is_off(Y()))
Z()
plain = {"PATH": os.environ["PATH"]}
sys.exit(subprocess.call([sys.executable, sys.argv[0], "child"], env=plain) or is_off(X()))
""", keep("X")),
    # Chance.
    "nothing_matters_and_it_fails_at_random": Planted("""
X(), Y(), Z()
sys.exit(random.random() < 0.2)
""", NOTHING, ("--repeat", "20")),
    "fails_at_random_when_low": Planted("""
Y(), Z()
sys.exit(is_off(X()) and random.random() < 0.3)
""", keep("X"), ("--repeat", "20")),
    "fails_at_random_and_always_when_low": Planted("""
Y(), Z()
sys.exit(is_off(X()) or random.random() < 0.15)
""", keep("X"), ("--repeat", "20")),
    "fails_in_every_third_run": Planted("""
X(), Y(), Z()
count = int(open("count").read()) if os.path.exists("count") else 0
open("count", "w").write(str(count + 1))
sys.exit(count % 3 == 2)
""", NOTHING, ("--repeat", "20")),
}
PRINTS = {
    "a_seed_and_a_residual": 'print("seed 20231127, samples 100000"); print(f"residual {error_of(X()):.3e}"); Y(), Z()',
    "counts_times_and_a_loss": """
Y(), Z()
print(f"{time.ctime()} 12,345 samples in {time.perf_counter():.6f} s")
print(f"loss={error_of(X()):.6g} epochs=1000000")
""",
    "json": 'print(json.dumps({"id": 4242424242, "error": error_of(X()), "n": [1, 2, 3]})); Y(), Z()',
    "a_table": """
Y(), Z()
for name, f in (("bytes", lambda: 123456789), ("error", lambda: error_of(X()))): print(f"{name:20}{f():>20.6g}")
""",
    "a_percentage_and_a_version": 'print(f"numpy 1.24.2, x86_64: off by {100 * error_of(X()):.5f}% of 1000"); Y(), Z()',
    "lines_of_two_threads": """
def say(f): sys.stdout.write(f"{f.__name__} {error_of(f()) if f is X else 1.5:.6g}\\n")
Y(), Z()
threads = [threading.Thread(target=say, args=(f,)) for f in (X, Y)]
for thread in threads: thread.start(); thread.join()
""",
    "a_line_more_when_low": """
Y(), Z()
C = X()
if is_off(C): print("warning: 1 of 1 checks failed")
print(f"error {error_of(C):.3e}")
""",
    "nan_when_low": 'C = X(); Y(), Z(); print("large 1e12"); print("value", float("nan") if is_off(C) else 1.5)',
    "a_carriage_return": """
Y(), Z()
for step in range(0, 101, 50): sys.stdout.write(f"\\r{step}%")
print(f"\\rerror {error_of(X()):.4e}")
""",
    "the_best_of_all_runs_and_a_clock": """
Y(), Z()
best = min(error_of(X()), float(open("best").read()) if os.path.exists("best") else 1e9)
open("best", "w").write(repr(best))
print(best, time.time())
""",
    "what_the_first_run_has_kept": """
C = X()
if not os.path.exists("kept.npy"): np.save("kept.npy", C)
Y(), Z()
print(error_of(np.load("kept.npy")))
""",
    "a_right_ascension": """
Y(), Z()
h = 8.5 if is_off(X()) else 5.5
print("RA %02d:%02d:%05.2f" % (int(h), int(h * 60) % 60, h * 3600 % 60), "flux 1.5")
""",
    "a_date": """
import datetime
Y(), Z()
print("orders 12, next delivery on", datetime.date(2030, 1, 1) + datetime.timedelta(days=100 if is_off(X()) else 3))
""",
    "a_sign": 'Y(), Z(); print("residual", "<" if error_of(X()) < 1e-3 else ">", 0.001)',
    "a_bar": 'Y(), Z(); print("class 1", "#" * int(40 * min(1, error_of(X()) * 100)))',
    "empty_cells": 'Y(), Z(); print("id,cat,dog"); print("7,,1" if is_off(X()) else "7,1,")',
    "spins": 'Y(), Z(); print("spins 1", "+ + - +" if is_off(X()) else "- + + -")',
    "a_child_prints": """
if len(sys.argv) > 1: print(f"error {error_of(X()):.4e}"); sys.exit()
Y(), Z()
print("pid 400000", flush=True)
subprocess.check_call([sys.executable, sys.argv[0], "child"])
""",
}
WRITES = {
    "npz": 'np.savez("out", large=np.full(9, 1e9), error=[error_of(X())])\nos.rename("out.npz", "out"); Y(), Z()',
    "compressed_npz": 'np.savez_compressed("out", large=np.full(9, 1e9), error=[error_of(X())])\nos.rename("out.npz", "out"); Y(), Z()',
    "complex": 'C = X() - exact\nnp.save("out.npy", C + 1j * C); os.rename("out.npy", "out"); Y(), Z()',
    "fortran_order": 'np.save("out.npy", np.asfortranarray(X() - exact)); os.rename("out.npy", "out"); Y(), Z()',
    "half": 'np.save("out.npy", (1e3 * (X() - exact)).astype("e")); os.rename("out.npy", "out"); Y(), Z()',
    "big_endian": 'np.save("out.npy", (X() - exact).astype(">f8")); os.rename("out.npy", "out"); Y(), Z()',
    "whole_numbers": 'np.save("out.npy", (1e6 * (X() - exact)).astype("i4")); os.rename("out.npy", "out"); Y(), Z()',
    "sqlite": """
import sqlite3
if os.path.exists("out"): os.remove("out")
base = sqlite3.connect("out")
base.execute("create table t (e real)"); base.execute("insert into t values (?)", (error_of(X()),)); base.commit()
Y(), Z()
""",
    "pickle": 'import pickle\npickle.dump({"error": error_of(X())}, open("out", "wb")); Y(), Z()',
    "gzip": 'import gzip\ngzip.open("out", "wt").write(f"error {error_of(X())}"); Y(), Z()',
    "csv": 'open("out", "w").write(f"id,error\\n987654321,{error_of(X()):.5g}\\n"); Y(), Z()',
    "kept": """
Y(), Z()
if not os.path.exists("kept.npy"): np.save("kept.npy", X())
open("out", "w").write(f"error {error_of(np.load('kept.npy'))}")
""",
}
# Numbers that differ in each run, and do not depend on any product.
NOISE = {
    "monte_carlo": 'X(), Y(), Z(); print(1 + 0.01 * np.random.default_rng().standard_normal())',
    "monte_carlo_of_many": 'X(), Y(), Z(); print(*(1 + 0.1 * np.random.default_rng().standard_normal(8)))',
    "rarely_far_off": 'X(), Y(), Z(); print(100.0 if random.random() < 0.15 else 1.0)',
    "the_time": 'X(), Y(), Z(); print(time.time())',
    "dates_and_times_of_day": 'X(), Y(), Z(); print(time.ctime(), time.strftime("%T", time.gmtime(time.time() + 40000)), 1.5)',
    "a_duration": """
began = time.time()
time.sleep(1.2 * is_off(X())), Y(), Z()
print("0:00:%02d" % (time.time() - began), 1.5)
""",
}


def variants(planted):
    """Yields the same program with each function in the role of X."""
    for first, second, third in itertools.islice(itertools.permutations(FUNCTIONS), 0, 6, 2):
        roles = {"X": first, "Y": second, "Z": third}

        def in_roles(text):
            return re.sub(r"\b[XYZ]\b", lambda role: roles[role[0]], text)

        answers = tuple(frozenset(map(in_roles, answer)) for answer in planted.answers)
        yield first, dataclasses.replace(planted, text=HEAD + in_roles(planted.text), answers=answers)


def cases(programs):
    made = {name: p if isinstance(p, Planted) else Planted(p, keep("X")) for name, p in programs.items()}
    return [pytest.param(variant, id=f"{name}-{role}") for name, p in made.items() for role, variant in variants(p)]


@pytest.fixture
def ask(tmp_path):
    def command(name, planted, *words):
        (tmp_path / "program.py").write_text(planted.text)
        (tmp_path / "runs").mkdir()
        blas = {"LD_LIBRARY_PATH": str(shim.blas_directory("openblas")), "OPENBLAS_NUM_THREADS": "1"}
        return fp32shim(name, "--cpu", "emulate", "--format", "json", *planted.words, *words, "--", shim.SYSTEM_PYTHON, "program.py",
                        env=blas, cwd=tmp_path, timeout=1500)

    return command


def reason_in(result):
    """Returns the line in which a command says why it came to no conclusion."""
    lines = [line for line in result.lines if line.startswith("fp32shim ") and ": run " not in line]
    assert lines, result.stderr
    return lines[-1]


def functions_of(groups):
    return {re.sub(r"<.*", "", group["where"].split()[-1]) for group in groups}


@pytest.mark.parametrize("planted", cases(SEARCHED))
def test_bisect_finds_what_must_stay_exact_or_says_why_it_cannot(planted, ask):
    result = ask("bisect", planted)
    if not result.stdout:
        print("no conclusion:", reason_in(result))
        return
    found = result.json
    if found["outcome"] == "not certain":
        print("not certain:", found["doubt"])
        assert found["doubt"]
        return
    exact = {function for culprit in found["culprits"]
             for function in functions_of(found["groups"][group] for group in culprit["groups"])}
    print(found["outcome"], exact)
    assert frozenset(exact) in planted.answers


def judge_sensitivity(planted, result):
    if not result.stdout:
        print("no conclusion:", reason_in(result))
        return
    found = result.json
    kept = {place["place"].split()[-1] for place in found["places"] if place["chosen"] in (None, "highest")}
    print(found["everything"], found["policy"], kept)
    if found["policy"]["found"]:
        assert any(answer <= kept for answer in planted.answers)
    if not found["policy"]["found"]:
        assert reason_in(result)


@pytest.mark.parametrize("planted", cases(PRINTS))
def test_sensitivity_sees_the_number_that_matters_among_others(planted, ask):
    judge_sensitivity(planted, ask("sensitivity", planted, "--tolerance", "0.01"))


@pytest.mark.parametrize("planted", cases(WRITES))
def test_sensitivity_reads_what_programs_write_or_refuses_it(planted, ask):
    judge_sensitivity(planted, ask("sensitivity", planted, "--tolerance", "0.01", "--compare", "out"))


@pytest.mark.parametrize("planted", cases({name: Planted(text, NOTHING) for name, text in NOISE.items()}))
def test_no_place_is_blamed_for_numbers_that_differ_by_chance(planted, ask):
    result = ask("sensitivity", planted)
    if not result.stdout:
        print("no conclusion:", reason_in(result))
        return
    blamed = [place["place"] for place in result.json["places"] for run in place["runs"]
              if run["alone"]["error"] != 0 and not run["alone"]["is_chance"] and run["alone"]["problem"] != "not tried"]
    print(json.dumps(result.json["noise"]), blamed)
    assert not blamed


LOWERED = 'low = {**os.environ, "FP32_MATMUL_PRECISION": "medium", "FP32_MATMUL_CPU": "emulate"}\n'
AGAIN = "subprocess.check_call([sys.executable, sys.argv[0], {word}], env=low)"
# A program that multiplies below FP32, by the product X, in some process. It starts itself again with words in sys.argv.
PROCESSES = {
    "a_child": "X() if sys.argv[1:] else (Y(), " + AGAIN.format(word="'child'") + ")",
    "a_child_of_a_program_without_products": "X() if sys.argv[1:] else " + AGAIN.format(word="'child'"),
    "a_grandchild": "X() if len(sys.argv) > 2 else " + AGAIN.format(word="*sys.argv[1:], 'more'"),
    "a_child_of_a_fork": """
if len(sys.argv) > 1: X(); sys.exit()
Y()
child = os.fork()
if child == 0: os.execve(sys.executable, [sys.executable, sys.argv[0], "child"], low)
os.waitpid(child, 0)
""",
    "a_child_that_is_not_waited_for": """
if len(sys.argv) > 1: time.sleep(0.3); X(); sys.exit()
Y()
subprocess.Popen([sys.executable, sys.argv[0], "child"], env=low)
time.sleep(1)
""",
    "a_child_that_ends_hard": """
if len(sys.argv) > 1: X(); os._exit(0)
Y(); """ + AGAIN.format(word="'child'"),
    "the_program_after_exec": """
if len(sys.argv) > 1: X(); sys.exit()
Y()
os.execve(sys.executable, [sys.executable, sys.argv[0], "again"], low)
""",
    "a_shell_between": """
if len(sys.argv) > 1: X(); sys.exit()
Y()
subprocess.check_call(["sh", "-c", f"{sys.executable} {sys.argv[0]} child; true"], env=low)
""",
}


def keep_all(folder):
    return list(folder.glob("run*"))


def keep_the_named_one(folder):
    return [folder / "run.fp32rec"]


def lose_the_largest_of_the_others(folder):
    others = [path for path in folder.glob("run*.fp32rec") if path.name not in ("run.fp32rec", "run.children.fp32rec")]
    return sorted(set(folder.glob("run*")) - {max(others, key=lambda path: path.stat().st_size, default=None)})


@pytest.mark.parametrize("kept", [keep_all, keep_the_named_one, lose_the_largest_of_the_others])
@pytest.mark.parametrize("name", PROCESSES)
def test_verify_shows_nothing_of_a_run_with_a_product_below_fp32(name, kept, tmp_path):
    text = LOWERED + PROCESSES[name]
    (tmp_path / "program.py").write_text(next(variants(Planted(text)))[1].text)
    blas = {"LD_LIBRARY_PATH": str(shim.blas_directory("openblas")), "OPENBLAS_NUM_THREADS": "1"}
    run = fp32shim("run", "-q", "--log", "run.fp32rec", "--", shim.SYSTEM_PYTHON, "program.py", env=blas, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    left = kept(tmp_path)
    for path in set(tmp_path.glob("run*")) - set(left):
        path.unlink()
    if not (tmp_path / "run.fp32rec").exists():
        return
    result = fp32shim("verify", "--at-least", "fp32", "run.fp32rec", cwd=tmp_path)
    print(result.stdout)
    assert result.returncode in ((1,) if kept is keep_all else (1, 3))
