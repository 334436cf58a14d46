"""Rules by the location of a call: `call_site`, a compiled function, and `stack`, the lines of Python that led to it."""

import json
import re
import subprocess

import pytest

from shim import BUILD, SYSTEM_PYTHON, client, has_module, need, python, run

SIZES = {2: "physics::solve<int>", 3: "physics::(anonymous namespace)::hidden", 4: "first_function", 5: "first_function"}
SOLVE = "_ZN7physics5solveIiEEvT_"  # hidden() is not exported


def rules(*conditions):
    """Returns a policy that runs calls with any of these conditions at TF32, and all others at FP32."""
    return 'schema = 1\ndefault = "highest"\n[cpu]\nmode = "emulate"\n' + "".join(
        f'[[rule]]\nprecision = "high"\nwhen = {{ {condition} }}\n' for condition in conditions)


def changed_sizes(result):
    """Returns the sizes of the products at TF32. All others must be at FP32."""
    assert {decision["applied"] for decision in result.decisions} <= {"tf32", "fp32"}
    for decision in result.decisions:
        assert (decision["applied"] == "tf32") == (decision["rule"] is not None)
    changed = {decision["m"] for decision in result.decisions if decision["applied"] == "tf32"}
    assert not changed & {decision["m"] for decision in result.decisions if decision["applied"] == "fp32"}
    return changed


def call_sites(library, *conditions, threads=1, **keywords):
    library = client(f"libcall_sites_{library}.so")
    result = run("call_sites", "threads", threads, library, policy=rules(*conditions), **keywords)
    assert sorted(decision["m"] for decision in result.decisions) == sorted(list(SIZES) * threads)
    return changed_sizes(result)


@pytest.mark.parametrize("pattern, changed", [
    (f"libcall_sites_first.so!{SOLVE}", {2}),
    ("*!*7physics*", {2}),
    ("*!*hidden*", set()),
    ("*!first_function", {4, 5}),
    ("*!first_function+0x*", {4, 5}),
    ("libcall_sites_first.so", {3}),
    ("libcall_sites_first.so*", {2, 3, 4, 5}),
    ("libcall_sites_first.so+0x*", {2, 3, 4, 5}),
    ("*!solve", set()),
    (f"*!{SOLVE}+0x0", set()),
    ("", set()),
    ("*", {2, 3, 4, 5}),
])
def test_a_rule_can_name_a_function_of_a_library(pattern, changed):
    assert call_sites("first", f'call_site = "{pattern}"') == changed


def test_a_rule_can_leave_a_function_out():
    assert call_sites("first", 'function = "sgemm_" }\nunless = { call_site = ["*!*7physics*", "*!nothing"]') == {3, 4, 5}


def test_of_a_stripped_library_exported_functions_have_names_and_others_offsets():
    assert call_sites("stripped", 'call_site = "*.so!*"') == {2, 4, 5}
    assert call_sites("stripped", 'call_site = "*hidden*"') == set()
    assert call_sites("stripped", 'call_site = "libcall_sites_stripped.so+0x*"') == {2, 3, 4, 5}
    assert call_sites("stripped", 'call_site = "libcall_sites_stripped.so"') == {3}


def test_a_rule_can_ask_for_sizes_as_well():
    assert call_sites("first", 'call_site = "*!first_function", m = 5') == {5}
    assert call_sites("first", "m = 3", f'call_site = "*!{SOLVE}"') == {2, 3}


@pytest.mark.parametrize("condition", [f'call_site = "*!{SOLVE}"', 'call_site = "libcall_sites_first.so", max_dim = "<=100"'])
def test_threads_that_all_call_first_get_the_same_answer(condition):
    for _ in range(5):
        assert call_sites("first", condition, threads=8) == ({2} if "solve" in condition else {3})


def test_a_library_at_the_address_of_another_one_has_its_own_functions():
    libraries = [client(f"libcall_sites_{name}.so") for name in ("first", "other")]
    result = run("call_sites", "reload", 50, *libraries, policy=rules('call_site = "*!first_function"'))
    need(result.stdout.startswith("1 address"), "the loader puts each library at an address of its own")
    assert {(d["caller"], d["m"], d["applied"]) for d in result.decisions if d["m"] > 3} == {
        ("libcall_sites_first.so", 4, "tf32"), ("libcall_sites_first.so", 5, "tf32"),
        ("libcall_sites_other.so", 4, "fp32"), ("libcall_sites_other.so", 5, "fp32")}


def test_libraries_that_are_loaded_again_and_again_need_no_more_memory():
    libraries = [client(f"libcall_sites_{name}.so") for name in ("first", "other")]
    result = run("call_sites", "reload", 1000, *libraries, policy=rules('call_site = "*!first_function"'), log=False,
                 blas="reference")
    assert int(re.search(r"grew by (-?\d+) KiB", result.stdout)[1]) < 200


@pytest.mark.parametrize("condition, applied", [('call_site = ""', "tf32"), ('call_site = "?*"', "fp32")])
def test_code_that_is_made_at_run_time_has_no_call_site(condition, applied):
    result = run("runtime_code", "churn", "300", blas=None, policy=rules(condition))
    assert [decision["applied"] for decision in result.decisions] == [applied] * 600


@pytest.mark.parametrize("stack", ["16384", "20480"])
def test_the_first_product_may_come_from_the_smallest_of_threads(stack):
    words = ("small_stack", client("libfake_b.so"), "direct", stack)
    unshimmed = run(*words, blas=None, preload=False)
    need("pthread_create" not in unshimmed.stdout, f"this system has no threads of {stack} bytes")
    shimmed = run(*words, blas=None, policy=rules('call_site = "small_stack+0x*", stack = ""'))
    assert [decision["applied"] for decision in shimmed.decisions] == ["tf32"]


PROGRAM = """
import threading
import numpy

def product(size):
    return numpy.ones((size, size), numpy.float32) @ numpy.ones((size, size), numpy.float32)

class Trainer:
    def step(self, size):
        return product(size)

def check(size):
    return product(size)

def recursion(depth, size):
    return recursion(depth - 1, size) if depth else product(size)

def train():
    Trainer().step(2)
    check(3)
    recursion(400, 6)

train()
check(4)
thread = threading.Thread(target=Trainer().step, args=[5])
thread.start()
thread.join()
"""


def stacks(*conditions, **keywords):
    need(has_module("numpy"), "the system's Python has no numpy")
    return changed_sizes(python(PROGRAM, policy=rules(*conditions), **keywords))


@pytest.mark.parametrize("pattern, changed", [
    ("* train", {2, 3}),
    ("<string>:* *step", {2, 5}),
    ("* product", {2, 3, 4, 5, 6}),
    ("threading.py:* *", {5}),
    ("* <module>", {2, 3, 4}),
    ("* recursion", {6}),
    ("(outer frames left out)", {6}),
    ("train", set()),
    ("lib*", set()),
    ("", set()),
])
def test_a_rule_can_name_any_function_on_the_way_to_a_product(pattern, changed):
    assert stacks(f'stack = "{pattern}"') == changed


def test_a_rule_can_leave_out_what_a_function_leads_to():
    assert stacks('where = "*:* product" }\nunless = { stack = ["* train", "threading.py:*"]') == {4, 6}
    assert stacks('stack = "* check", m = 3', 'stack = "*step", m = ">4"') == {3, 5}


def test_lines_of_an_outer_function_are_told_apart():
    first = 1 + PROGRAM.splitlines().index("    Trainer().step(2)")
    assert stacks(f'stack = "<string>:{first} train"') == {2}
    assert stacks(f'stack = "<string>:{first + 1} train"') == {3}


@pytest.mark.parametrize("where", ["python", "python,native:8", "native:8"])
def test_a_rule_by_stack_holds_whatever_is_logged(where):
    assert stacks('stack = "* train"', env={"FP32_MATMUL_WHERE": where}) == {2, 3}


def test_a_program_without_python_has_no_lines():
    assert call_sites("first", 'stack = "?*"') == set()
    assert call_sites("first", 'stack = ""') == {2, 3, 4, 5}


@pytest.mark.parametrize("where", ["python", "python,native:8"])
def test_a_thread_without_frames_says_so(where):
    library = client("libthread_product.so")
    code = f"import ctypes; assert ctypes.CDLL({str(library)!r}).multiply_on_a_thread() == 0"
    for pattern, applied in (("(thread without Python frames)", "tf32"), ("* <module>", "fp32")):
        result = run(SYSTEM_PYTHON, "-c", code, policy=rules(f'stack = "{pattern}"'), env={"FP32_MATMUL_WHERE": where})
        assert [decision["applied"] for decision in result.decisions] == [applied]


def test_what_a_rule_asks_of_a_place_leaves_the_program_as_it_was():
    need(has_module("numpy"), "the system's Python has no numpy")
    policy = rules('call_site = "*!nothing"', 'stack = "nothing"')
    plain = run("numpy_products.py", preload=False)
    assert run("numpy_products.py", policy=policy).stdout == plain.stdout


NUMBERED = """
import numpy as np
a = np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32)

def one(): return a @ a
def other(): return a @ a

exact = one().tobytes()
for i in range(1, 7):
    print(i, *(f().tobytes() != exact for f in (one, other)))
"""


@pytest.mark.parametrize("condition, changed", [
    ('where = "*:5 one", call_number = ">=3 <=4"', ["2 True False", "3 True False"]),
    ('call_number = 2', ["1 True False"]),  # calls are numbered by call site, since no rule depends on lines
    ('call_number = 2, function = "ssymm_"', []),
    ('where = "*", call_number = 2', ["1 True False", "2 False True"]),
])
def test_a_rule_can_name_calls_of_a_place_by_their_numbers(condition, changed, tmp_path):
    need(has_module("numpy"), "the system's Python has no numpy")
    script = tmp_path / "numbered.py"
    script.write_text(NUMBERED)
    result = run(SYSTEM_PYTHON, script, policy=rules(condition))
    assert [line for line in result.stdout.splitlines() if "True" in line] == changed


def test_calls_that_run_as_called_are_recorded_with_the_rules_of_their_numbers(tmp_path):
    need(has_module("numpy"), "the system's Python has no numpy")
    need((BUILD / "bin/fp32shim").exists(), "the command was not built")
    recording = tmp_path / "run.fp32rec"
    code = "import numpy as np; a = np.ones((8, 8), np.float32); [a @ a for _ in range(6)]"
    run(SYSTEM_PYTHON, "-c", code, policy=rules('call_number = "<=2"'), env={"FP32_MATMUL_CPU": "off", "FP32_MATMUL_LOG": str(recording)},
        log=False)
    report = subprocess.run([BUILD / "bin/fp32shim", "report", "--format", "json", recording], capture_output=True, text=True, check=True)
    calls = {row["source"]: row["calls"] for row in json.loads(report.stdout)["rows"]}
    assert calls == {"rule": 2, "file": 4}, report.stdout
