"""NVTX ranges as scopes, in an unmodified program, by the header that programs are built with."""

import pytest

from shim import CLIENTS, LIBRARY, client, run

WHERE = {"FP32_MATMUL_WHERE": "nvtx", "NVTX_INJECTION64_PATH": str(LIBRARY)}
ATTENTION = """schema = 1
[cpu]
mode = "emulate"
[[rule]]
name = "attention"
precision = "medium"
when = { scope = "attention*" }
"""


def ranges(mode, program="ranges", env=None, **keywords):
    client(program)
    return run(program, mode, env=WHERE if env is None else env, **keywords)


def scopes(result):
    return {decision["m"]: decision["scope"] for decision in result.decisions}


def returned(result):
    return [line for line in result.stdout.splitlines() if ": " in line]


def products(result):
    return [line for line in result.stdout.splitlines() if ": " not in line]


def test_ranges_of_all_kinds_label_the_products_inside_them():
    result = ranges("kinds")
    wide = "plain/wide α€😀"
    assert scopes(result) == {
        1: None, 2: "plain", 3: wide, 4: f"{wide}/attributes",
        5: f"{wide}/attributes/physics:solve/chimie é:mélange",
        6: f"{wide}/attributes/physics:solve/chimie é:mélange/physics:ü",
        7: f"{wide}/attributes/physics:solve/physics:ü",
        8: f"{wide}/physics:solve/physics:ü", 9: None, 10: None}


def test_levels_are_returned_per_domain():
    assert returned(ranges("kinds")) == [
        "push A: 0", "push W: 1", "push Ex: 2", "push physics: 0", "push chemistry: 0", "push physics: 1",
        "pop chemistry: 0", "pop: 2", "pop physics: 1", "pop physics: 0", "pop physics: -1", "pop: 1", "pop: 0", "pop: -1",
        "push without message: 0", "pop: 0", "same handle: 1"]


def test_ranges_and_scopes_of_the_c_api_nest():
    result = ranges("api", cpu="emulate")
    assert scopes(result) == {
        1: "range/Model", 2: "range/Model/inner.encoder", 3: "range/Model.encoder", 4: "range/Model", 5: "Model", 6: None}
    assert [d["requested"] for d in result.decisions] == ["high"] * 5 + ["native"]


def test_a_range_belongs_to_its_thread():
    result = ranges("threads")
    assert scopes(result) == {1: None, 2: "second", 3: "main"}
    assert returned(result) == ["pop in the second thread: -1"]


def test_a_rule_for_a_scope_changes_only_the_products_of_these_ranges():
    plain = ranges("attention", preload=False, env={})
    result = ranges("attention", policy=ATTENTION)
    assert {d["m"] for d in result.decisions if d["applied"] == "bf16"} == {8, 16, 24}
    assert {d["rule"] for d in result.decisions if d["m"] % 8 == 0} == {"attention"}
    changed = [before != after for before, after in zip(products(plain), products(result), strict=True)]
    assert changed == [True, False] * 3


@pytest.mark.parametrize("where", [None, "python", "itt", "nvtxx"])
def test_nothing_changes_where_ranges_are_not_asked_for(where):
    env = {"NVTX_INJECTION64_PATH": str(LIBRARY)} | ({"FP32_MATMUL_WHERE": where} if where else {})
    plain = ranges("kinds", preload=False, env={})
    result = ranges("kinds", env=env)
    assert result.stdout == plain.stdout and "push A: -2" in result.stdout
    assert set(scopes(result).values()) == {None}


def test_a_signal_handler_that_opens_and_closes_ranges_does_no_harm():
    assert returned(ranges("signals")) == ["whole: 1"]


def test_a_disabled_shim_takes_no_ranges():
    assert "push A: -2" in ranges("kinds", env=WHERE | {"FP32_MATMUL_DISABLE": "1"}).stdout


def test_a_program_that_has_lost_its_preload_is_left_alone():
    plain = ranges("kinds", preload=False, env={})
    result = ranges("kinds", preload=False, env=WHERE | {"FP32_MATMUL_LOG": "stderr"})
    assert (result.stdout, result.stderr) == (plain.stdout, "")


def test_another_injection_library_stays():
    other = CLIENTS / "libother_injection.so"
    result = ranges("kinds", env=WHERE | {"NVTX_INJECTION64_PATH": str(other)})
    assert result.stdout.count("other injection") == 1 and "push A: -2" in result.stdout
    assert set(scopes(result).values()) == {None}


def test_a_program_that_looks_for_a_preloaded_library_needs_no_variable():
    where = {"FP32_MATMUL_WHERE": "nvtx"}
    assert scopes(ranges("threads", "ranges_preinjected", env=where)) == {1: None, 2: "second", 3: "main"}
    assert scopes(ranges("threads", env=where)) == {1: None, 2: None, 3: None}
    assert "push A: -2" in ranges("kinds", "ranges_preinjected", env={}).stdout


@pytest.mark.parametrize("side", ["preload_before", "preload_after"])
def test_another_preloaded_injection_comes_first(side):
    other = CLIENTS / "libother_preloaded_injection.so"
    result = ranges("threads", "ranges_preinjected", env={"FP32_MATMUL_WHERE": "nvtx"}, **{side: [other]})
    assert result.stdout.count("other injection") == 1
    assert set(scopes(result).values()) == {None}


def test_more_ranges_domains_and_strings_than_there_is_room_for_are_bounded():
    result = ranges("floods")
    assert scopes(result) == {1: "/".join(["deep"] * 64), 2: "inside", 3: None, 4: None, 5: None}
    assert returned(result) == ["push: 0", "pop: 0"] * 3
    said = [line for line in result.stderr.splitlines() if "too many" in line]
    assert len(said) == 2 and "domains" in said[0] and "registered strings" in said[1]


def test_threads_that_register_the_same_names_at_once_get_the_same_handles():
    for _ in range(5):
        assert returned(ranges("races")) == ["equal: 1"] * 4 + ["distinct: 1"]
