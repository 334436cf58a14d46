"""What takes another's place while the program runs: a library, a policy."""

import pytest

from cublas import CLIENTS, STAND_IN, need, recorded, run_client
from shim import run

# Each rule, and the decisions that may name it. The two policies have different rules, at different places. Products
# that match no rule of the policy in force follow the process's setting.
IN_TF32 = """schema = 1
[[rule]]
name = "gemm in tf32"
precision = "high"
when = { function = "cublasSgemm_v2" }
"""
IN_FLOAT32 = """schema = 1
[[rule]]
name = "nobody"
precision = "medium"
when = { function = "cublasSsyrk_v2", caller = "nobody" }
[[rule]]
name = "nobody else"
precision = "medium"
when = { function = "cublasSgemm_v2", caller = "nobody" }
[[rule]]
name = "gemm in float32"
precision = "highest"
when = { function = "cublasSgemm_v2" }
"""
POSSIBLE = {
    ("cublasSgemm_v2", "gemm in tf32", "rule", "high", "tf32"),
    ("cublasSgemm_v2", "gemm in float32", "rule", "highest", "fp32"),
    ("cublasSsyrk_v2", None, "process", "high", "fp32"),  # this function has no TF32
    ("cublasSsyrk_v2", None, "process", "highest", "fp32"),
}
BEFORE_THE_FIRST_CHANGE = ("cublasSsyrk_v2", None, "native", "native", "fp32")


def test_decisions_name_rules_of_the_policy_that_they_were_made_under(tmp_path):
    files = [tmp_path / "tf32.toml", tmp_path / "float32.toml"]
    for file, text in zip(files, [IN_TF32, IN_FLOAT32]):
        file.write_text(text)
    result = run_client("counted", policy=IN_FLOAT32, only="*MeetChangesOfTheSettings",
                        libraries=[CLIENTS / "counting", STAND_IN],
                        env={"CLIENT_POLICIES": ":".join(map(str, files))})
    assert "[       OK ]" in result.stdout
    keys = ("function", "rule", "source", "requested", "applied")
    found = {tuple(decision[key] for key in keys) for decision in result.decisions}
    assert found - {BEFORE_THE_FIRST_CHANGE} == POSSIBLE
    assert result.errors == []


def test_a_product_that_fails_during_a_reload_is_recorded_under_the_policy_that_it_ran_under(tmp_path):
    """A recorded rule is a number, which would mean nothing in the next policy, because that one has no rules."""
    before, after, log = tmp_path / "before.toml", tmp_path / "after.toml", tmp_path / "run.fp32rec"
    before.write_text(IN_FLOAT32.replace('"highest"', '"high"').replace("gemm in float32", "the last of three"))
    after.write_text("schema = 1\n")
    run_client("counted", only="*FailsWhileThePolicyIsReadAgain", libraries=[CLIENTS / "counting", STAND_IN],
               env={"CLIENT_POLICIES": after, "FP32_MATMUL_POLICY": before, "FP32_MATMUL_LOG": log})
    found = {(row["status"], row["rule"], row["requested"], row["applied"], row["calls"])
             for row in recorded(log) if row["function"] == "cublasSgemm_v2"}
    assert found == {(0, None, "native", "fp32", 1), (0, "the last of three", "high", "tf32", 5),
                     (13, "the last of three", "high", "tf32", 1)}


@pytest.mark.parametrize("precision, mode", [("native", 3), ("highest", 0)])
def test_a_cublas_in_the_place_of_another_is_called_where_its_own_functions_are(precision, mode):
    """The program closes cuBLAS and opens it again, in turn with a file of the same name whose functions lie elsewhere."""
    names = ["counting", "counting_reordered", "counting", "counting_reordered"]
    files = [CLIENTS / name / "libcublas.so.13" for name in names]
    need(all(file.exists() for file in files), "the counting libraries were not built")
    result = run(CLIENTS / "reloads", *files, precision=precision, blas=None, libraries=[STAND_IN])
    lines = result.stdout.splitlines()
    places, answers = zip(*(line.split(" ", 1) for line in lines))
    assert len(set(places)) == 1, "all of them lay at the same address"
    assert answers == (f"status 0 products 1 in mode {mode}, then 3",) * len(files)
    assert [decision["status"] for decision in result.decisions] == [0] * len(files)
