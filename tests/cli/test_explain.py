"""fp32shim explain: it knows what the shim knows of a function, and says what the shim would record."""

import functools
import json
import os
import pathlib
import random
import re
import subprocess
import sys

import pytest

import shim
from command import fp32shim

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cublas"))
import cublas  # noqa: E402


@functools.cache
def explained(*words):
    return fp32shim("explain", "--format", "json", *words).json


def told(result):
    """Returns (applied, reason) of each outcome that explain names."""
    return {(outcome["applied"], outcome["reason"]) for outcome in [result, *result["others"]]}


def words_of(decision, *settings):
    """Returns words for explain. They have only the sizes that are zero: without rules, other sizes do not matter."""
    zeros = [word for size in ("m", "n", "k", "batch") if decision[size] == 0 for word in (f"--{size}", "0")]
    return ["--function", decision["function"], "--dtype", decision["dtype"], *zeros, *settings]


def disagreements(decisions, *settings):
    """Returns the recorded decisions that explain does not name."""
    found = {(d["function"], d["applied"], d["reason"]) for d in decisions
             if (d["applied"], d["reason"]) not in told(explained(*words_of(d, *settings)))}
    assert decisions
    return sorted(found)


@pytest.mark.parametrize("precision", ["native", "high", "medium"])
@pytest.mark.parametrize("client, blas", [("level3", "openblas"), ("level3_extensions", "blis")])
def test_explain_says_what_the_shim_records_of_cpu_products(client, blas, precision):
    decisions = shim.run(client, precision=precision, cpu="emulate", blas=blas).decisions
    assert not disagreements(decisions, "--precision", precision, "--cpu", "emulate")


@pytest.mark.parametrize("settings", [
    {"precision": "native"}, {"precision": "native", "floor": "tf32"}, {"precision": "highest"},
    {"precision": "high"}, {"precision": "medium"}, {"precision": "medium", "floor": "tf32"},
], ids=lambda settings: "-".join(settings.values()))
@pytest.mark.parametrize("client, only", [("products", None), ("lt", "*ProductsWithoutAnAlgorithmRun")])
def test_explain_says_what_the_shim_records_of_cublas_products(client, only, settings):
    decisions = [d for d in cublas.run_client(client, only=only, compute_capability="9.0", **settings).decisions
                 if d["compute_capability"] is not None or d["reason"] == "not_governable"]
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    assert not disagreements(decisions, "--compute-capability", "9.0", *options)


@pytest.mark.parametrize("math_mode", [cublas.TENSOR_OP, cublas.TF32_MODE])
def test_explain_says_what_becomes_of_another_math_mode(math_mode):
    decisions = cublas.run_client("products", precision="native", compute_capability="9.0", math_mode=math_mode).decisions
    assert not disagreements(decisions, "--precision", "native", "--compute-capability", "9.0")


@pytest.mark.parametrize("function, applied, reason", [
    ("cblas_strsm", "fp32", "not_governable"), ("cblas_sbgemm", "unchanged", "observed"),
    ("cblas_sgemm_pack", "unchanged", "not_governable"), ("mkl_jit_create_sgemm", "unchanged", "not_governable"),
    ("cublasHgemm", "unchanged", "observed"), ("cublasXtSgemm", "fp32", "not_governable"),
    ("cublasSgemm", "fp32", "not_governable"), ("cublasSsyrk_v2", "fp32", "no_such_format"),
    ("cublasCgemm3m", "tf32", "no_such_format"), ("cublasSgemmBatched", "fp32", "alignment"),
    ("cublasSgemm_v2", "bf16", "as_requested"), ("cblas_sgemm", "bf16", "as_requested"),
])
def test_explain_knows_what_each_function_can_do(function, applied, reason):
    result = explained("--function", function, "--precision", "medium", "--cpu", "emulate", "--compute-capability", "9.0")
    assert (result["applied"], result["reason"]) == (applied, reason)


def test_explain_says_what_it_supposes_where_the_outcome_depends_on_it():
    result = explained("--function", "cublasSgemm_v2", "--compute-capability", "9.0", "--precision", "native")
    assert (result["applied"], result["supposed"]) == ("fp32", ["math mode CUBLAS_DEFAULT_MATH"])
    assert {"applied": "tf32", "accumulator": None, "reason": "as_requested", "where": ["math mode CUBLAS_TF32_TENSOR_OP_MATH"]} in result["others"]
    lowered = explained("--function", "cublasSgemm_v2", "--compute-capability", "9.0", "--precision", "high")
    assert (lowered["applied"], lowered["supposed"]) == ("tf32", ["math mode CUBLAS_DEFAULT_MATH"])
    assert {(other["applied"], other["reason"]) for other in lowered["others"]} == {("fp32", "guarded")}


def test_explain_reads_the_variables_that_cublas_reads():
    result = fp32shim("explain", "--format", "json", "--function", "cublasSgemm_v2", "--compute-capability", "9.0",
                      "--precision", "high", env={"NVIDIA_TF32_OVERRIDE": "0"}).json
    assert (result["applied"], result["reason"]) == ("fp32", "tf32_override")


@pytest.mark.parametrize("size", ["m", "n", "k", "batch"])
def test_explain_says_that_nothing_is_multiplied_where_a_size_is_zero(size):
    for function in ("cblas_sgemm", "cublasSgemm_v2"):
        result = explained("--function", function, "--precision", "high", "--cpu", "emulate", "--compute-capability", "9.0",
                           f"--{size}", "0")
        assert (result["applied"], result["reason"]) == ("fp32", "no_product")


@pytest.mark.parametrize("function, words", [
    ("cblas_dgbmv", 'did you mean "cblas_dgemv"?'), ("cublasDgemv_v2", 'did you mean "cublasDgemm_v2"?'),
    ("cusolverDnSgetrf", "does not intercept"), ("nosuch", "does not intercept"),
    ("cblas_sgem", 'did you mean "cblas_sgemm"?'), ("CBLAS_SGEMM", 'did you mean "cblas_sgemm"?'),
    ("cublasSetMathMode", "multiplies nothing"),
])
def test_explain_refuses_functions_that_are_not_intercepted(function, words):
    result = fp32shim("explain", "--function", function)
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
    assert f'found "{function}"' in result.stderr and words in result.stderr


@pytest.mark.parametrize("words", [
    ["cublasSgemm_v2", "--device", "cpu"], ["cblas_sgemm", "--device", "cuda"], ["cblas_sgemm", "--dtype", "complex64"],
    ["cublasSgemm_v2", "--dtype", "float16"], ["cublasHgemm", "--dtype", "float32"],
])
def test_explain_refuses_a_device_or_a_type_that_the_function_does_not_have(words):
    result = fp32shim("explain", "--function", *words)
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
    assert f'{words[1]}: found "{words[2]}"; allowed for {words[0]}: ' in result.stderr


def test_explain_takes_the_type_of_functions_that_are_told_it_by_each_call():
    assert explained("--function", "cublasGemmEx", "--dtype", "float16")["reason"] == "observed"
    assert "--dtype" in explained("--function", "cublasGemmEx")["notes"][0]


def test_explain_takes_sizes_as_policies_do():
    call = explained("--function", "cblas_sgemm", "--m", "2G", "--n", "2k", "--k", "64")["call"]
    assert (call["m"], call["n"], call["k"]) == (2_000_000_000, 2000, 64)


def test_explain_counts_what_a_rank_k_update_makes_as_square():
    assert explained("--function", "cblas_ssyrk", "--n", "64", "--k", "8")["call"]["m"] == 64


def test_explain_names_the_option_for_what_it_does_not_know(tmp_path):
    policy = tmp_path / "policy.toml"
    for condition, option in (('caller = "libfoo*"', "--caller"), ('command = "train*"', "--command"),
                              ('executable = "train"', "--executable"), ("max_dim = 8", "--m, --n, --k"), ("m = 8", "--m")):
        policy.write_text('schema = 1\n[[rule]]\nname = "a"\nprecision = "high"\nwhen = { %s }\n' % condition)
        text = fp32shim("explain", "--policy", policy, "--function", "cblas_sgemm").stdout
        assert "is not known to apply" in text and f"but is unknown ({option})" in text


@pytest.mark.parametrize("word, rounding, words", [
    ("a100", "away", "to nearest, ties away from zero"), ("even", "even", "to nearest, ties to even"),
    ("Hopper", "even", "to nearest, ties to even"), ("mi300", "truncate", "bits are cut off")])
def test_explain_says_how_operands_are_rounded_to_tf32(tmp_path, word, rounding, words):
    policy = tmp_path / "policy.toml"
    policy.write_text(f'schema = 1\ndefault = "high"\n[cpu]\nmode = "emulate"\ntf32_rounding = "{word}"\n')
    about = ["--policy", policy, "--function", "cblas_sgemm"]
    assert f"\n  rounding    {rounding}: {words}\n" in fp32shim("explain", *about).stdout
    assert explained(*about)["tf32_rounding"] == rounding
    assert "rounding  " not in fp32shim("explain", *about, "--precision", "medium").stdout


@pytest.mark.parametrize("word, gpu", [("l40s", "ada"), ("H200", "hopper"), ("a2", "a100"), ("b200_tcgen05", "b200_tcgen05")])
def test_explain_says_how_products_are_added(tmp_path, word, gpu):
    policy = tmp_path / "policy.toml"
    policy.write_text(f'schema = 1\ndefault = "high"\n[cpu]\nmode = "emulate"\naccumulation = "{word}"\n')
    about = ["--policy", policy, "--function", "cblas_sgemm"]
    assert f"\n  addition    {gpu}: in blocks with truncation, as tensor cores of {gpu} add; slow\n" in fp32shim("explain", *about).stdout
    assert explained(*about)["accumulation"] == gpu
    assert explained(*about)["tf32_rounding"] == ("even" if gpu == "hopper" else "away")
    assert "addition " not in fp32shim("explain", *about, "--precision", "highest").stdout
    assert "addition " not in fp32shim("explain", "--policy", policy, "--function", "cblas_dgemm").stdout


def test_explain_says_when_tensor_cores_do_not_have_the_format(tmp_path):
    policy = tmp_path / "policy.toml"
    says = "\n  addition    by the program's library: tensor cores of v100 do not have this format\n"
    for precision, is_said in (("fp16", False), ("e4m3", False), ("high", True), ("medium", True), ("bf16x3", True),
                               ("fp32_perturbed", True)):
        policy.write_text('schema = 1\n[cpu]\nmode = "emulate"\naccumulation = "v100"\n[[rule]]\n'
                          f'precision = "{precision}"\n')
        text = fp32shim("explain", "--policy", policy, "--function", "cblas_sgemm").stdout
        assert (says in text, "addition    v100: in blocks" in text) == (is_said, not is_said), precision


@pytest.mark.parametrize("precision, on_cpu, on_gpu", [
    ("bf16x2", "bf16x2", ("fp32", "no_such_format")), ("bf16x3", "bf16x3", ("fp32", "no_such_format")),
    ("tf32x3", "tf32x3", ("fp32", "no_such_format")), ("xf32", "xf32", ("tf32", "no_such_format")),
    ("bf16x9", "bf16x9", ("fp32", "bf16x9_unavailable")), ("fp16", "fp16", ("fp16", "as_requested")),
    ("e4m3", "e4m3", ("fp16", "no_such_format")), ("e5m2", "e5m2", ("fp16", "no_such_format"))])
def test_explain_tells_formats_of_rules_on_a_cpu_from_those_on_a_gpu(tmp_path, precision, on_cpu, on_gpu):
    policy = tmp_path / "policy.toml"
    policy.write_text(f'schema = 1\n[cpu]\nmode = "emulate"\n[[rule]]\nprecision = "{precision}"\n')
    assert told(explained("--policy", policy, "--function", "sgemm_")) == {(on_cpu, "as_requested")}
    gpu = ["--function", "cublasSgemm_v2", "--compute-capability", "9.0"]
    assert explained("--policy", policy, *gpu)["applied"] == on_gpu[0]
    assert explained("--policy", policy, *gpu)["reason"] == on_gpu[1]


@pytest.mark.parametrize("function", ["sgemm_", "cublasSgemm_v2", "cublasLtMatmul"])
def test_explain_says_that_a_tolerance_is_float32_until_audits_have_judged_it(tmp_path, function):
    policy = tmp_path / "policy.toml"
    policy.write_text('schema = 1\n[cpu]\nmode = "emulate"\n[[rule]]\nprecision = { tolerance = 1e-2 }\n')
    device = [] if function == "sgemm_" else ["--compute-capability", "9.0"]
    result = explained("--policy", policy, "--function", function, *device)
    assert (result["applied"], result["reason"]) == ("fp32", "learning")


def test_explain_tells_an_old_gpu_from_none():
    words = ["explain", "--function", "cublasSgemm_v2", "--precision", "high"]
    assert "no GPU was named" not in fp32shim(*words, "--compute-capability", "7.0").stdout
    assert "no GPU was named" in fp32shim(*words).stdout


# Products for every kind of condition, called through ctypes. Each line: function, m, n, k, labels of a scope.
PRODUCTS = """
import ctypes, json, sys
blas, shim = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(None)
memory = (ctypes.c_float * (2 * 64 * 64))()
one, zero, size = (ctypes.c_float * 2)(1), (ctypes.c_float * 2)(0), lambda n: ctypes.byref(ctypes.c_int(n))
for function, m, n, k, scope in json.loads(sys.argv[2]):
    for label in scope.split("/") if scope else []:
        assert shim.fp32shim_push_scope(label.encode(), None, None) == 0
    getattr(blas, function)(b"N", b"N", size(m), size(n), size(k), one, memory, size(64), memory, size(64), zero,
                            memory, size(64))
    for label in scope.split("/") if scope else []:
        shim.fp32shim_pop_scope()
"""


PRECISIONS = ["native", "auto", *(line[1] for kind in ("PRECISION", "RULE_PRECISION") for line in shim.number_formats(kind))]


def random_policy(chance):
    """Returns a policy with every condition that a product on the CPU can have. By chance, some rules never apply."""
    some_size = lambda: chance.choice(['"<=%d"', '">%d"', '">=%d <=48"', "%d"]) % chance.choice([0, 1, 8, 16, 17, 32, 40])
    values = {
        **{key: some_size for key in ("m", "n", "k", "min_dim", "max_dim", "batch")},
        "flops": lambda: chance.choice(['">=2K"', '"<=32K"', '">8192"', '">=1G"']),
        "function": lambda: chance.choice(['"sgemm_"', '"[cd]gemm_"', '"*gemm*"', '["zz", "?gemm_"]', '"[!c]*"']),
        "caller": lambda: chance.choice(['"libffi*"', '"*.so.3"', '"?*"']),
        "executable": lambda: chance.choice(['"python3*"', '"*/python3*"', '"*"']),
        "command": lambda: chance.choice(['"*python3 -c*"', '"python3"', '"*ctypes*"']),
        "host": lambda: chance.choice(['"*"', '"nowhere"']),
        "scope": lambda: chance.choice(['""', '"a"', '"a/b"', '"b"', '"*"', '"a/*"']),
        "device": lambda: chance.choice(['"cpu"', '"cuda"', '["cuda", "cpu"]']),
        "dtype": lambda: chance.choice(['"float32"', '"complex64"']),
    }

    def conditions():
        return "{ %s }" % ", ".join(f"{key} = {values[key]()}" for key in chance.sample(sorted(values), chance.randint(1, 2)))

    lines = ["schema = 1", f'default = "{chance.choice(["native", "high", "medium", "auto", "highest"])}"', "[cpu]",
             f'mode = "{chance.choice(["off", "emulate", "emulate", "accelerate", "reproducible"])}"']
    if chance.random() < 0.4:
        lines += ["[limits]", f'floor = "{chance.choice(["none", "bf16", "tf32", "bf16x9", "fp32"])}"']
    for _ in range(chance.randint(1, 6)):
        lines += ["[[rule]]", f'precision = "{chance.choice(PRECISIONS)}"',
                  f"when = {conditions()}"]
        if chance.random() < 0.4:
            lines.append(f"unless = {conditions()}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(6))
def test_explain_says_of_random_calls_under_random_policies_what_the_shim_then_does(seed, tmp_path):
    chance = random.Random(seed)
    policy = tmp_path / "policy.toml"
    while True:  # a random rule may be impossible to satisfy, which is an error
        policy.write_text(random_policy(chance))
        if fp32shim("check", policy).returncode == 0:
            break
    calls = [(chance.choice(["sgemm_", "sgemm_", "cgemm_"]), *(chance.choice([0, 1, 8, 16, 17, 32, 40]) for _ in "mnk"),
              chance.choice(["", "", "a", "a/b", "b"])) for _ in range(12)]
    result = shim.run(shim.SYSTEM_PYTHON, "-c", PRODUCTS, shim.blas_library("openblas"), json.dumps(calls),
                      policy=policy.read_text())
    assert [tuple(d[key] or "" if key == "scope" else d[key] for key in ("function", "m", "n", "k", "scope"))
            for d in result.decisions] == calls
    for decision in result.decisions:
        words = [f"--{key}={decision[key]}" for key in ("function", "m", "n", "k", "scope", "caller", "executable")
                 if decision[key] is not None]
        told = explained("--policy", policy, f"--command={result.starts[0]['command']}", *words)
        keys = ("requested", "source", "rule", "applied", "reason")
        assert {key: told[key] for key in keys} == {key: decision[key] for key in keys}, (words, policy.read_text())


# Multiplies from its own code, so that this library is the caller. sgemm and cgemm are two call sites.
CALLER = """
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);
void cgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);
void multiply(int is_complex, int m, int n, int k) {
    static float memory[2 * 64 * 64];
    const float one[2] = {1, 0}, zero[2] = {0, 0};
    const int large = 64;
    if (is_complex)
        cgemm_("N", "N", &m, &n, &k, one, memory, &large, memory, &large, zero, memory, &large);
    else
        sgemm_("N", "N", &m, &n, &k, one, memory, &large, memory, &large, zero, memory, &large);
}
"""
STEPS = """
import ctypes, json, os, shutil, sys
shim = ctypes.CDLL(None)
callers = {}
for step, *words in json.load(open(sys.argv[1])):
    if step == "policy":
        shutil.copy(words[0], os.environ["FP32_MATMUL_POLICY"])
        assert shim.fp32shim_reload_policy() == 0
    elif step == "floor":
        assert shim.fp32shim_set_floor(words[0].encode()) == 0
    else:
        caller, is_complex, sizes, scope = words
        if scope:
            assert shim.fp32shim_push_scope(scope.encode(), None, None) == 0
        callers.setdefault(caller, ctypes.CDLL(caller)).multiply(is_complex, *sizes)
        if scope:
            shim.fp32shim_pop_scope()
"""


def write_policy_of_many_rules(policy, chance, callers, sizes):
    """Writes rules that each apply to few calls, so that calls which differ in one fact match different rules."""
    values = {**{key: lambda: str(chance.choice(sizes)) for key in "mnk"},
              "flops": lambda: chance.choice(['">=2K"', '"<=32K"', '">8192"']),
              "function": lambda: chance.choice(['"sgemm_"', '"cgemm_"', '"?gemm_"']),
              "caller": lambda: chance.choice([f'"{caller.name}"' for caller in callers]),
              "scope": lambda: chance.choice(['"a"', '"*"'])}
    rules = {}
    for i in range(250):
        keys = set(chance.sample(sorted(values), 3)) | {chance.choice("mnk")}
        if keys >= {"m", "n", "k", "flops"}:  # these conditions may contradict each other, which is an error
            keys.remove("flops")
        rules[str(i)] = ["[[rule]]", f'name = "{i}"', f'precision = "{chance.choice(["native", "highest", "high", "medium"])}"',
                         "when = { %s }" % ", ".join(f"{key} = {values[key]()}" for key in sorted(keys))]

    def problems():
        head = ["schema = 1", 'default = "medium"', "[cpu]", 'mode = "emulate"']
        policy.write_text("\n".join(sum(rules.values(), head)) + "\n")
        return re.findall(r'error: [^ ]* rule "(\d+)" is never reached', fp32shim("check", policy).stdout)

    while unreached := problems():
        for name in unreached:
            del rules[name]
    assert len(rules) > 100 and fp32shim("check", policy).returncode == 0


@pytest.fixture(scope="module")
def callers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("callers")
    paths = [folder / f"lib{name}_caller.so" for name in ("first", "second")]
    for path in paths:
        subprocess.run([shim.tool("gcc"), "-shared", "-fPIC", "-xc", "-", "-xnone", "-o", path, "-Wl,--no-as-needed",
                        shim.blas_library("openblas")], input=CALLER, text=True, check=True)
    return paths


@pytest.mark.parametrize("seed", range(int(os.environ.get("FP32SHIM_EXPLAIN_SEEDS", "3"))))
def test_what_the_shim_keeps_of_its_decisions_is_what_explain_says_of_each_call(seed, callers, tmp_path):
    """Makes the same calls again and again, in any order, under hundreds of rules. Policies and floors change."""
    chance = random.Random(seed)
    sizes = [8, 16, 24, 40]
    policies = [tmp_path / f"{i}.toml" for i in range(2)]
    for policy in policies:
        write_policy_of_many_rules(policy, chance, callers, sizes)
    first = [chance.choice(sizes) for _ in "mnk"]
    calls = [(str(caller), is_complex, first, "") for caller in callers for is_complex in (0, 1)]
    calls += [(str(callers[0]), 0, [other if i == index else first[i] for i in range(3)], "")
              for index in range(3) for other in sizes if other != first[index]]
    calls.append((str(callers[0]), 0, first, "a"))
    steps, in_force = [], []
    # A floor of the C API cannot be removed. It is the only change here that is not a reload.
    for policy, floor in [(policies[0], ""), (policies[1], ""), (policies[0], ""), (policies[0], "tf32"), (policies[1], "tf32")]:
        steps.append(["floor", floor] if floor and policy == policies[0] else ["policy", str(policy)])
        again = calls * 4
        chance.shuffle(again)
        steps += [["call", *call] for call in again]
        in_force += [(policy, floor)] * len(again)
    (tmp_path / "steps.json").write_text(json.dumps(steps))
    result = shim.run(shim.SYSTEM_PYTHON, "-c", STEPS, tmp_path / "steps.json", policy=policies[0].read_text())
    assert len(result.decisions) == len(in_force)
    rules = set()
    for decision, (policy, floor) in zip(result.decisions, in_force, strict=True):
        words = [f"--{key}={decision[key]}" for key in ("function", "m", "n", "k", "scope", "caller")
                 if decision[key] is not None]
        told = explained("--policy", policy, *(["--floor", floor] if floor else []), *words)
        keys = ("requested", "source", "rule", "applied", "reason")
        assert {key: told[key] for key in keys} == {key: decision[key] for key in keys}, (words, floor, policy.read_text())
        rules.add((policy, decision["rule"]))
    assert len(rules) > 6, "the rules did not tell the calls apart"


def test_no_bf16_units_are_promised_to_a_product_that_never_runs_on_them():
    options = ("--cpu", "accelerate", "--precision", "medium", "--m", "9", "--n", "9", "--function")
    assert [explained(*options, name)["applied"] for name in ("sgemm_", "strmm_")] == ["bf16", "fp32"]
    assert explained(*options, "cblas_ctrmm")["reason"] == "slower_in_bf16"


def test_float64_is_explained_as_the_shim_treats_it(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text('schema = 1\ndefault = "high"\n[cpu]\nmode = "emulate"\n[[rule]]\nprecision = "fp32"\nwhen = { dtype = "float64", m = ">8" }\n')
    def applied(*words):
        return [fp32shim("explain", "--policy", policy, "--format", "json", "--n", "5", "--k", "5", *words).json[key]
                for key in ("applied", "detail")]
    assert applied("--function", "dgemm_", "--m", "9") == ["fp32", "the operands are rounded to float32 first"]
    assert applied("--function", "dgemm_", "--m", "5")[0] == "fp64", "a default is not for float64"
    emulated = fp32shim("explain", "--format", "json", "--function", "cublasGemmEx", "--dtype", "float64").json
    assert emulated["applied"] == "fp64" and emulated["others"][0]["applied"] == "fp64_emulated"


@pytest.mark.parametrize("precision", ["native", "fp64", "fp64_emulated", "fp32"])
@pytest.mark.parametrize("floor", [None, "tf32"])
def test_explain_says_what_the_shim_records_of_float64_on_a_gpu(tmp_path, precision, floor):
    policy = tmp_path / "policy.toml"
    policy.write_text(f'schema = 1\n[[rule]]\nprecision = "{precision}"\nwhen = {{ dtype = ["float64", "complex128"] }}\n')
    plain = ["Dgemm", "Zgemm", "Dsyrk", "DgemmBatched", "GemmEx:70", "Lt:70"]
    decisions = cublas.run_script("float64_cublas_products.py", *plain, "Dgemm@8", "Dgemm@2", "GemmEx:79", "GemmEx:71", "Lt:79",
                                  policy=policy.read_text(), floor=floor).decisions
    for number, decision in enumerate(decisions):
        result = explained("--policy", policy, *(["--floor", floor] if floor else []), "--compute-capability", "9.0",
                           "--function", decision["function"], "--dtype", decision["dtype"])
        assert (decision["applied"], decision["reason"]) in told(result), decision
        if number < len(plain):
            assert (decision["applied"], decision["reason"]) == (result["applied"], result["reason"]), decision


def test_explain_names_the_cublas_that_has_emulated_float64(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text('schema = 1\n[[rule]]\nprecision = "fp64_emulated"\nwhen = { dtype = "float64" }\n')
    result = explained("--policy", policy, "--compute-capability", "9.0", "--function", "cublasDgemm_v2")
    assert result["applied"] == "fp64_emulated"
    assert ("fp64", "fp64_emulation_unavailable", ["cuBLAS before 13.1"]) in [
        (other["applied"], other["reason"], other["where"]) for other in result["others"]]
    by_environment = fp32shim("explain", "--format", "json", "--policy", policy, "--function", "cublasXtDgemm",
                              env={"CUBLAS_EMULATE_DOUBLE_PRECISION": "1"}).json
    assert (by_environment["applied"], by_environment["others"]) == ("fp64_emulated", [])
    on_a_cpu = fp32shim("explain", "--policy", policy, "--function", "dgemm_").stdout
    assert "fp64_emulation_unavailable: emulated FP64 is not available here" in on_a_cpu and "cuBLAS has it since" in on_a_cpu


def test_limits_of_the_algorithm_of_cublaslt_are_named(tmp_path):
    policy = tmp_path / "p.toml"
    policy.write_text('schema = 1\n[cuda]\navoid_known_wrong = true\n[[rule]]\nname = "one part"\nsplit_k = 1\nwhen = { m = 64 }\n')
    words = ["--policy", policy, "--dtype", "float32", "--compute-capability", "9.0", "--n", "64", "--k", "64"]
    note, = explained("--function", "cublasLtMatmul", "--m", "64", *words)["notes"]
    assert 'rule "one part" and [cuda]: no split-K; none that is known to be wrong' in note
    note, = explained("--function", "cublasLtMatmul", "--m", "65", *words)["notes"]
    assert "by [cuda]: none that is known to be wrong" in note
    found = explained("--function", "cublasSgemm_v2", "--m", "64", *words)
    assert found["notes"] == [] and found["rule"] is None
    assert "precision must be set, but is not: the rule only limits algorithms" in fp32shim("explain", "--function", "cublasSgemm_v2", "--m", "64", *words).stdout
