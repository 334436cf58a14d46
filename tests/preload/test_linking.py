"""Linked ahead of the BLAS instead of preloaded, the library behaves the same."""

from shim import LIBRARY, read_log, run


def linked(program, **settings):
    return run(program, preload=False, libraries=[LIBRARY.parent], **settings)


def settings_of(log, **more):
    return {"FP32_MATMUL_LOG": str(log), **more}


def test_a_linked_program_behaves_as_a_preloaded_one(blas, tmp_path):
    log = tmp_path / "log.jsonl"
    env = settings_of(log, FP32_MATMUL_PRECISION="high", FP32_MATMUL_CPU="emulate")
    result = linked("linked_product", blas=blas, env=env)
    preloaded = run("cblas_product", blas=blas, precision="high", cpu="emulate")
    assert result.stdout == preloaded.stdout
    (decision,) = [event for event in read_log(log) if event["event"] == "decision"]
    (expected,) = preloaded.decisions
    assert (decision["caller"], decision["provider"]) == ("linked_product", expected["provider"])
    for key in ("function", "requested", "source", "applied", "how", "reason", "m", "n", "k"):
        assert decision[key] == expected[key]


def test_a_linked_program_that_is_preloaded_as_well_counts_each_product_once(blas):
    result = run("linked_product", blas=blas, libraries=[LIBRARY.parent])
    assert len(result.decisions) == 1


def test_a_program_that_was_left_without_a_blas_is_told_what_to_do():
    result = linked("linked_without_blas", blas=None, check=False)
    assert result.returncode != 0
    (line,) = result.stderr.splitlines()
    assert line.startswith("fp32shim: ") and "cblas_sgemm" in line and "-Wl,--no-as-needed" in line
