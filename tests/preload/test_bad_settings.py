"""What is wrong with a setting is said once, on one line, and the program goes on as FP32_MATMUL_ON_ERROR says."""

import os
import re
import signal
import stat

import pytest

from shim import explain, need, python, run, tool

# Pairs of variable and value, with the text that the error line must contain. The unit tests have all kinds of errors.
BAD_VALUES = [
    (("FP32_MATMUL_PRECISION", "hihg"), ['FP32_MATMUL_PRECISION', '"hihg"', "native", "medium", 'mean "high"']),
    (("FP32_MATMUL_POLICY", "/nonexistent/policy.toml"), ["/nonexistent/policy.toml", "No such file"]),
    (("FP32_MATMUL_PRECISION", "tf\n32"), ["FP32_MATMUL_PRECISION", r"tf\x0a32"]),
    (("FP32_MATMUL_COLOUR", "red"), ["FP32_MATMUL_COLOUR", "unknown"]),
]

# Policies with the error's (line, column) or None, and the text that the error line must contain.
BAD_POLICIES = [
    ('schema = 1\ndefault = "hihg"\n', (2, 11), ['"hihg"', 'mean "high"']),
    ('schema = 1\n[[rule]]\nprecision = "high"\n[[rule]]\nprecision = "native"\nwhen = { m = 3 }\n', None, ["rule"]),
    ('schema = 1\ndefault = high\n', (2, None), []),
    ('', None, ["schema"]),
]


def one_line(result):
    lines = result.stderr.splitlines()
    assert len(lines) == 1, explain(result)
    assert lines[0].startswith("fp32shim: ")
    return lines[0]


@pytest.mark.parametrize("setting, words", BAD_VALUES, ids=[f"{s[0]}={s[1]!r}" for s, _ in BAD_VALUES])
def test_a_bad_value_gives_one_line_and_the_program_runs_as_without_the_shim(setting, words):
    plain = run("cblas_product", "fp32", 3, blas="reference", preload=False)
    result = run("cblas_product", "fp32", 3, blas="reference", log=False, cpu=None, env=dict([setting]))
    line = one_line(result)
    assert not [word for word in words if word not in line], line
    assert result.stdout == plain.stdout


@pytest.mark.parametrize("policy, place, words", BAD_POLICIES, ids=range(len(BAD_POLICIES)))
def test_a_bad_policy_gives_one_line_with_its_place_and_nothing_of_it_is_applied(policy, place, words):
    # Adds every valid setting before or after the error, to show that none of them is applied.
    policy += "" if "[" in policy or "default" in policy else 'default = "high"\n'
    plain = run("cblas_product", blas="reference", preload=False)
    result = run("cblas_product", blas="reference", log=False, policy=policy, cpu="emulate")
    line = one_line(result)
    if place:
        row, column = place
        assert re.search(rf"policy\.toml:{row}:{column or ''}", line), line
    assert "policy.toml" in line
    assert not [word for word in words if word not in line], line
    assert result.stdout == plain.stdout


def test_several_errors_are_still_one_line():
    result = run("cblas_product", blas="reference", log=False, precision="x", cpu="y", floor="z",
                 policy='schema = 1\na = 1\nb = 2\n', env={"FP32_MATMUL_ON_ERROR": "continue"})
    assert "more" in one_line(result)


def test_on_error_continue_runs_the_program_as_without_the_shim():
    plain = run("cblas_product", blas="reference", preload=False)
    result = run("cblas_product", blas="reference", precision="high", cpu="emulat",
                 env={"FP32_MATMUL_ON_ERROR": "continue"})
    assert result.stdout == plain.stdout
    assert one_line(result)
    assert [d["requested"] for d in result.decisions] == ["native"]
    assert [e["code"] for e in result.errors] == ["bad_setting"]


def test_on_error_highest_asks_for_full_precision():
    plain = run("cblas_product", blas="reference", preload=False)
    result = run("cblas_product", blas="reference", policy='schema = 1\ndefault = "hihg"\n', cpu="emulate",
                 env={"FP32_MATMUL_ON_ERROR": "highest"})
    assert result.stdout == plain.stdout
    assert one_line(result)
    assert [(d["requested"], d["applied"]) for d in result.decisions] == [("highest", "fp32")]


def test_on_error_abort_ends_the_process_before_the_product():
    result = run("cblas_product", blas="reference", precision="hihg", check=False,
                 env={"FP32_MATMUL_ON_ERROR": "abort"})
    assert result.returncode == -signal.SIGABRT
    assert result.stdout == ""
    assert "abort" in one_line(result)


@pytest.mark.parametrize("settings", [
    {"floor": "fp32", "precision": "hihg"},
    {"floor": "fp23"},
    {"floor": "fp32", "policy": "schema = 1\ndefault = 3\n"},
])
def test_an_error_beside_a_floor_ends_the_process(settings):
    result = run("cblas_product", blas="reference", check=False, **settings)
    assert result.returncode == -signal.SIGABRT
    assert one_line(result)


def test_a_floor_of_the_environment_holds_also_where_the_policy_is_broken():
    result = run("cblas_product", blas="reference", cpu="emulate", floor="fp32",
                 policy='schema = 1\ndefault = "medium"\nx = 1\n', env={"FP32_MATMUL_ON_ERROR": "continue"})
    assert one_line(result).endswith("except that its floor applies")
    assert [d["applied"] for d in result.decisions] == ["fp32"]


@pytest.mark.parametrize("path", ["/nonexistent/directory/log.jsonl", "/proc/version.jsonl"])
def test_a_log_that_cannot_be_opened_gives_one_line_and_harms_nobody(path):
    rounded = run("cblas_product", "tf32", 3, blas="reference", preload=False)
    result = run("cblas_product", "fp32", 3, blas="reference", precision="high", cpu="emulate", log=path)
    assert path in one_line(result)
    assert result.stdout == rounded.stdout, "the precision is not the log's affair"


def test_a_log_on_a_full_device_gives_one_line_and_harms_nobody(tmp_path):
    full = tmp_path / "full.jsonl"
    try:
        os.mknod(full, 0o600 | stat.S_IFCHR, os.makedev(1, 7))
        full.open("wb").close()
    except OSError as problem:
        need(False, f"/dev/full cannot be made here: {problem}")
    result = run("cblas_product", "fp32", 50, blas="reference", log=full)
    assert one_line(result)


def test_a_thread_that_comes_when_another_has_just_read_the_settings_does_not_read_them_again():
    """Each thread's getpid takes long, so that the second thread looks for settings before the first one has read them, and
    goes on afterwards."""
    slowed = [tool("strace"), "-f", "-o", "/dev/null", "-e", "trace=getpid", "-e", "inject=getpid:delay_exit=200000"]
    result = python("""if True:
        import ctypes, threading, time
        product = ctypes.CDLL("libblas.so.3").cblas_sgemm
        pointer = ctypes.c_void_p
        product.argtypes = [*[ctypes.c_int] * 6, ctypes.c_float, pointer, ctypes.c_int, pointer, ctypes.c_int,
                            ctypes.c_float, pointer, ctypes.c_int]
        def multiply():
            a, c = (ctypes.c_float * 1)(2), (ctypes.c_float * 1)()
            product(102, 111, 111, 1, 1, 1, 1, a, 1, a, 1, 0, c, 1)
        threads = [threading.Thread(target=multiply) for _ in range(2)]
        for thread in threads:
            thread.start()
            time.sleep(0.1)
        for thread in threads:
            thread.join()""", prefix=slowed, precision="hihg", blas="reference", log=False, check=False)
    need("ptrace" not in result.stderr.lower(), f"strace may not trace here: {result.stderr.strip()}")
    assert result.returncode == 0, explain(result)
    one_line(result)
