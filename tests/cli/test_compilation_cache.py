"""JAX's compilation cache under `fp32shim run`: a folder for each policy, where the user has a cache at all."""

import re

import pytest

from command import fp32shim

VARIABLE = "JAX_COMPILATION_CACHE_DIR"


def cache(*words, folder="/cache", **variables):
    """Returns the value that the variable has in the program, and what `run` said."""
    result = fp32shim("run", *words, "--", "sh", "-c", f'echo "${VARIABLE}"', env={VARIABLE: folder, **variables})
    assert result.returncode == 0, result.stderr
    return result.stdout.strip(), [line for line in result.lines if VARIABLE in line]


def write(path, text):
    path.write_text(f"schema = 1\n{text}")
    return path


def test_each_policy_has_a_folder_of_its_own(tmp_path):
    lowering = write(tmp_path / "a.toml", '[[rule]]\nprecision = "high"\nwhen = { m = ">=512" }\n')
    other = write(tmp_path / "b.toml", '[[rule]]\nprecision = "high"\nwhen = { m = ">=513" }\n')
    folders = [cache(*words)[0] for words in (
        ["--precision", "high"], ["--precision", "medium"], ["--precision", "highest"], ["--floor", "tf32"],
        ["--floor", "fp32"], ["--pin"], ["--policy", lowering], ["--policy", other],
        ["--policy", lowering, "--floor", "tf32"])]
    assert all(re.fullmatch("/cache/fp32shim-[0-9a-f]{12}", folder) for folder in folders)
    assert len(set(folders)) == len(folders)


def test_limits_of_algorithms_have_folders_of_their_own(tmp_path):
    limits = ["split_k = 1", 'reduction = "compute_type"', "avoid_known_wrong = true"]
    texts = [f"[cuda]\n{limit}" for limit in limits] + [f"[[rule]]\n{limit}" for limit in limits[:2]]
    folders = {cache("--policy", write(tmp_path / "p.toml", text))[0] for text in texts}
    assert len(folders) == len(texts) and "/cache" not in folders


def test_tolerances_and_guards_of_audits_have_folders_of_their_own(tmp_path):
    texts = [f'[[rule]]\nprecision = {precision}\n' for precision in
             ("{ tolerance = 0.01 }", "{ tolerance = 0.02 }", '{ tolerance = 0.01, metric = "norm" }')]
    texts += ['default = "high"\n[audit]\nsample = 1\n' + action for action in
              ("", 'action = "pin"\n', 'action = "pin"\ntolerance = 0.02\n')]
    folders = {cache("--policy", write(tmp_path / "p.toml", text))[0] for text in texts}
    assert len(folders) == len(texts)


def test_policies_that_differ_in_one_condition_only_have_folders_of_their_own(tmp_path):
    conditions = ['scope = "a"', 'where = "a"', 'where = "b"', 'call_site = "a"', 'call_site = "b"', 'stack = "a"', 'stack = "b"',
                  'where = "a", text = "a"', 'where = "a", text = "b"']
    folders = {cache("--policy", write(tmp_path / "p.toml", f'[[rule]]\nprecision = "high"\nwhen = {{ {condition} }}\n'))[0]
               for condition in conditions}
    assert len(folders) == len(conditions)


def test_the_same_settings_have_the_same_folder_wherever_they_come_from(tmp_path):
    high = cache("--precision", "high")[0]
    assert cache("--precision", "tf32")[0] == cache("-q", FP32_MATMUL_PRECISION="high")[0] == high
    # Names, logs and settings for the CPU do not change the folder of the cache.
    policy = write(tmp_path / "p.toml", 'name = "mine"\ndefault = "high"\n[log]\nmax_size = "1G"\n[cpu]\nmode = "emulate"\n')
    assert cache("--policy", policy, "--log", tmp_path / "a.fp32rec")[0] == high
    assert cache("--precision", "high", folder="/cache/")[0] == high
    # A run inside another run inherits the outer run's variable.
    assert cache("--precision", "high", folder=high)[0] == high
    assert cache("--floor", "fp32", folder=high)[0] == cache("--floor", "fp32")[0]
    assert cache(folder=high)[0] == "/cache"


@pytest.mark.parametrize("folder", ["gs://bucket/cache", "relative", "/c a/fp32shim-", "/cache/fp32shim-123456789abg", "/"])
def test_any_name_of_a_folder_is_as_good(folder):
    chosen = cache("--precision", "high", folder=folder)[0]
    assert re.fullmatch(re.escape(folder.rstrip("/")) + "/fp32shim-[0-9a-f]{12}", chosen)


def test_nothing_changes_where_no_product_does():
    assert cache("--log", "stderr") == ("/cache", [])
    assert cache("--precision", "native", "--cpu", "emulate") == ("/cache", [])
    assert cache("--precision", "high", FP32_MATMUL_DISABLE="1") == ("/cache", [])
    assert cache("--precision", "high", folder="") == ("", [])
    without = fp32shim("run", "--pin", "--", "env")
    assert VARIABLE not in without.stdout + without.stderr


def test_a_line_says_so_but_not_a_quiet_one():
    folder, lines = cache("--precision", "high")
    assert lines == [f'fp32shim run: {VARIABLE} is set to "{folder}" for the program, because code that JAX compiles '
                     'depends on these settings']
    assert cache("--precision", "high", "--quiet") == (folder, [])


def test_doctor_names_a_cache_that_other_settings_filled():
    own = cache("--precision", "high")[0]
    settings = {"FP32_MATMUL_PRECISION": "high"}
    text = " ".join(fp32shim("doctor", env={**settings, VARIABLE: "/cache"}).stdout.split())
    assert f"{VARIABLE}=/cache" in text and f"{VARIABLE}={own}, which fp32shim run sets by itself" in text
    assert VARIABLE not in fp32shim("doctor", env={**settings, VARIABLE: own}).stdout
    assert VARIABLE not in fp32shim("doctor", env={VARIABLE: "/cache"}).stdout
