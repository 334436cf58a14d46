"""Algorithms of cublasLt: recorded, compared, limited by a policy, and replaced if they are known to be wrong."""

import json
import subprocess

import pytest
import shim

from cublas import FAST_TF32, STAND_IN, recorded, reported, run_client

SPLIT = "66:4:2"  # the stand-in's split algorithm: id, parts, and the scheme that adds them in the compute type
IN_OUTPUT_TYPE = "66:4:4"
SEARCH, STORED, CHOSEN = ("search", 1), ("stored", 66), ("chosen", 1)
WORD = {"search": "66:t15:s4:k4:r2", "stored": "66:t15:s4:k4:r2:w1"}


def policy(text, rule=""):
    return f"schema = 1\n[cuda]\n{text}\n" + (f"[[rule]]\nname = \"limits\"\n{rule}\n" if rule else "")


def run(pattern, dtype="float32", number=1, split=SPLIT, **keywords):
    """Returns the lines of the client as `(results, hash)`, and the decisions."""
    env = {"STAND_IN_SPLIT_K": split, **keywords.pop("env", {})} if split else keywords.pop("env", {})
    result = run_client("lt_algorithms", pattern, dtype, str(number), env=env, **keywords)
    lines = [line.split() for line in result.stdout.splitlines() if line.startswith("results ")]
    return [(int(count), bits) for _, count, _, bits in lines], result.decisions


def bits(*words, **keywords):
    return {found for _, found in run(*words, **keywords)[0]}


def facts(decisions, *keys):
    return {tuple(decision[key] for key in keys) for decision in decisions}


def command(*words, status=0):
    done = subprocess.run([shim.BUILD / "bin/fp32shim", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout


def record(path, pattern, dtype="float32", number=1, **keywords):
    run(pattern, dtype, number, env={"FP32_MATMUL_LOG": path, **keywords.pop("env", {})}, **keywords)
    return path


# ---- recorded

def test_the_stand_in_adds_in_another_order_with_split_k():
    assert len({*bits("search"), *bits("search", split=None), *bits("search", split="66:7:2")}) == 3
    assert bits("search", preload=False) == bits("search", precision="native") == bits("chosen")


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("pattern,number", [SEARCH, STORED])
def test_the_algorithm_that_ran_is_recorded(pattern, number, dtype):
    _, decisions = run(pattern, dtype, number)
    assert facts(decisions, "dtype", "algorithm", "status") == {(dtype, WORD[pattern], 0)}


def test_a_product_for_which_the_library_chooses_has_no_recorded_algorithm():
    _, decisions = run(*CHOSEN[:1])
    assert facts(decisions, "algorithm", "how") == {(None, "forward")}


def test_an_algorithm_that_replaces_another_is_the_one_that_is_recorded():
    _, decisions = run("stored", number=66, precision="high")
    assert facts(decisions, "applied", "how") == {("tf32", "compute_type")}
    assert not facts(decisions, "algorithm") & {(WORD["stored"],), (None,)}


def test_calls_with_two_algorithms_have_two_rows(tmp_path):
    log = record(tmp_path / "run.fp32rec", "search", number=5)
    row, = recorded(log)
    assert (row["algorithm"], row["calls"]) == (WORD["search"], 5)
    found = reported(log)["algorithms"]
    assert found == {WORD["search"]: {
        "id": 66, "tile": 15, "stages": 4, "split_k": 4, "reduction": "compute_type", "swizzle": 0, "inner_shape": None,
        "cluster_shape": None, "known_wrong": "NVIDIA's release notes of cuBLAS 13.4, known issue 6580689"}}


# ---- limited

LIMITS = ["split_k = 1", "avoid_known_wrong = true", "split_k = 1\nreduction = \"compute_type\""]


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("pattern,number", [SEARCH, STORED, CHOSEN])
@pytest.mark.parametrize("limits", LIMITS)
def test_within_its_limits_a_product_has_the_bits_of_an_algorithm_without_split_k(limits, pattern, number, dtype):
    without, = bits("search", dtype, split=None)
    split, = bits(pattern, dtype, number)
    assert without != split
    lines, decisions = run(pattern, dtype, number, policy=policy(limits))
    assert {found for _, found in lines} == {without}
    assert all("k" not in word and word[:2] != "66" for word, in facts(decisions, "algorithm"))
    # A search that was limited leaves the product as the program then makes it.
    is_searched = pattern == "search" and "split_k" in limits
    assert facts(decisions, "how", "requested") == {("forward" if is_searched else "algorithm", "native")}


def test_without_a_preload_nothing_is_limited():
    assert bits("search", preload=False) != bits("search", policy=policy(LIMITS[0]))


@pytest.mark.parametrize("pattern,number", [SEARCH, STORED, CHOSEN])
def test_parts_in_the_compute_type_are_allowed_and_others_are_not(pattern, number):
    limits = policy('reduction = "compute_type"')
    assert bits(pattern, "float16", number, policy=limits) == bits(pattern, "float16", number)
    if pattern != "stored":  # a program of this pattern sets the scheme itself
        without, = bits("search", split=None)
        assert bits(pattern, number=number, split=IN_OUTPUT_TYPE, policy=limits) == {without}


@pytest.mark.parametrize("index", range(2))
@pytest.mark.parametrize("limits", LIMITS)
def test_limited_searches_have_as_many_results_as_the_programs_own(limits, index):
    """XLA keeps the place of an algorithm in the list, and looks there without asking how long the list is."""
    own, _ = run("index", number=index)
    without, = bits("search", split=None)
    limited, decisions = run("index", number=index, policy=policy(limits))
    assert [count for count, _ in own] == [count for count, _ in limited] == [2]
    assert {found for _, found in limited} == {without}


def test_a_limit_leaves_the_precision_to_other_rules():
    rule = 'split_k = 1\nwhen = { function = "cublasLt*" }\n[[rule]]\nname = "fast"\nprecision = "high"'
    for pattern, number in (SEARCH, STORED, CHOSEN):
        _, decisions = run(pattern, number=number, policy=policy("", rule))
        assert facts(decisions, "applied", "rule", "how") == {("tf32", "fast", "compute_type")}
        assert all(word is None or "k" not in word for word, in facts(decisions, "algorithm")), pattern


def test_rules_limit_only_the_calls_that_they_match(tmp_path):
    for sizes, expected in (("k = \">=1024\"", set()), ("k = \"<1024\"", {"k4"})):
        _, decisions = run("stored", number=66, policy=policy("", f"split_k = 1\nwhen = {{ {sizes} }}"))
        assert {part for word, in facts(decisions, "algorithm") for part in word.split(":")} & {"k4"} == expected


def test_a_rule_that_limited_a_product_is_used_and_another_one_is_not(tmp_path):
    rules = 'split_k = 1\nwhen = { k = 1024 }\n[[rule]]\nname = "other"\nsplit_k = 1\nwhen = { k = 7 }'
    log = record(tmp_path / "run.fp32rec", "search", "float16", policy=policy("", rules))
    assert "rule \"other\"" in command("report", log) and "rule \"limits\"" not in command("report", log)


@pytest.mark.parametrize("pattern,number", [STORED, CHOSEN])
def test_if_the_library_refuses_to_search_the_product_runs_as_called(pattern, number):
    own = bits(pattern, number=number)
    lines, decisions = run(pattern, number=number, policy=policy("split_k = 1"), env={"STAND_IN_SEARCHES": "none"})
    assert {found for _, found in lines} == own
    assert facts(decisions, "applied", "how", "reason") == {("fp32", "forward", "no_algorithm")}


def test_precision_goes_before_the_limits():
    _, decisions = run("chosen", compute_type=FAST_TF32, precision="highest", policy=policy("split_k = 1"),
                       env={"STAND_IN_SEARCHES": "none"})
    assert facts(decisions, "applied", "how", "reason") == {("fp32", "compute_type", "no_algorithm")}


# ---- compared, and known to be wrong

def test_two_recordings_of_two_gpus_name_the_products_that_ran_by_another_algorithm(tmp_path):
    a = record(tmp_path / "a.fp32rec", "search", number=3)
    b = record(tmp_path / "b.fp32rec", "search", number=3, split=None, compute_capability="8.0")
    text = command("diff", a, b, status=3)
    assert "another algorithm (algorithm 66 -> 0, split-K 4 -> 1, reduction compute_type -> none)" in text
    assert "Algorithms of cublasLt: 1 of 1 product" in text
    found = json.loads(command("diff", "--format", "json", a, b, status=3))
    other, = found["other_algorithms"]
    assert found["kinds_with_algorithms"] == 1 and (other["a"], other["size"]) == (WORD["search"], "32x48x1024")
    same = json.loads(command("diff", "--format", "json", a, a, status=3))
    assert same["other_algorithms"] == [] and same["kinds_with_algorithms"] == 1


def test_report_names_calls_of_an_algorithm_that_is_known_to_be_wrong(tmp_path):
    text = command("report", record(tmp_path / "a.fp32rec", "search", number=3))
    assert "3 calls of cublasLtMatmul 32x48x1024 by algorithm 66:t15:s4:k4:r2, whose results may lack the end" in text
    assert "6580689" in text
    for split in ("66:1:2", "67:4:2"):
        assert "6580689" not in command("report", record(tmp_path / f"{split[:4]}.fp32rec", "search", split=split))


def test_doctor_names_a_library_with_an_algorithm_that_is_known_to_be_wrong():
    client = shim.BUILD / "tests/cublas/clients/lt_algorithms"
    done = subprocess.run([shim.BUILD / "bin/fp32shim", "doctor", "--", client, "search", "float32"], text=True,
                          capture_output=True, env={"LD_LIBRARY_PATH": str(STAND_IN), "PATH": "/usr/bin:/bin"})
    assert "its algorithm 66 may lack the end of the sums with split-K from 2 on" in done.stdout, done.stdout
