"""JAX on a CPU: the products in the programs that XLA compiles are recorded, and JAX runs as without the shim."""

import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

import shim
from wheels import KEEP_BYTE_CODE

COMMAND = pathlib.Path(os.environ.get("FP32SHIM_COMMAND", shim.BUILD / "bin/fp32shim"))
XLA = {"XLA-CPU", "Eigen-half"}

PROGRAM = """
    import os, sys
    if sys.argv[1] in ("unknown", "late"):
        import jaxlib.xla_client
    if sys.argv[1] == "unknown":  # a later version of JAX
        jaxlib._jax.Client.compile_otherwise = None
    import jax, jax.numpy as jnp
    from jax import lax

    def network():
        key = jax.random.key(0)
        weights = [jax.random.normal(key, (3, 16, 16)), jax.random.normal(key, (16, 4))]
        x = jax.random.normal(key, (8, 16))
        def layers(weights, x):
            x, _ = lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, weights[0])
            return x @ weights[1]
        loss = jax.jit(jax.value_and_grad(lambda weights: (layers(weights, x) ** 2).mean()))
        for _ in range(3):
            value, gradients = loss(weights)
            weights = [w - 0.1 * g for w, g in zip(weights, gradients)]
        print(value, lax.conv_general_dilated(jnp.ones((1, 3, 8, 8)), jnp.ones((4, 3, 3, 3)), (1, 1), "SAME").sum())
        print(jnp.linalg.solve(weights[0][0], x.T).sum(), jnp.arange(3) @ jnp.arange(3))
        print(jax.jit(lambda x: lax.dot(x, x, precision="BF16_BF16_F32"))(weights[0][0]).sum())
        try:
            lax.dot(jnp.ones((1, 64)), jnp.ones((64, 1)), precision="BF16_BF16_F32")
        except Exception as problem:
            print(type(problem), problem)
        sys.exit(3)

    def product(x, precision=None):
        return lax.dot(x, x, precision=precision)

    def lower():
        ones = jnp.ones((8, 8))
        print(jax.jit(lambda x: product(x, "F16_F16_F16"))(ones)[0, 0])
        print(jax.jit(lambda x: x @ x)(ones.astype(jnp.bfloat16))[0, 0])
        print(product(ones.astype(jnp.int8))[0, 0])
        print(lax.dot(*[ones.astype(jnp.float8_e4m3fn)] * 2, preferred_element_type=jnp.float32)[0, 0])
        return ones

    def rounded():
        ones = jnp.ones((8, 8))
        narrow = ones.astype(jnp.bfloat16)
        print(product(ones.astype(jnp.bfloat16).astype(jnp.float32))[0, 0])
        print(product(lax.reduce_precision(ones, 8, 7))[0, 0])
        print(jnp.outer(narrow, narrow)[0, 0])

    def late():
        print(product(jnp.ones((8, 8)))[0, 0])

    def interrupted():
        import signal
        came = []
        def handler(*_):
            came.append(1)
            raise TimeoutError("ours")
        signal.signal(signal.SIGALRM, handler)
        compiled = jax.jit(lambda x: [x @ (x + i) for i in range(300)]).lower(jnp.ones((8, 8)))
        caught = 0
        for i in range(12):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.01 * (i + 1))
                compiled.compile()
                while len(came) <= i:
                    pass
            except TimeoutError:
                caught += 1
        print(caught, len(came), flush=True)
        os._exit(0)  # JAX crashes at its end after an exception in a compilation, without the shim too

    def deserialised():
        from jax.experimental import serialize_executable
        compiled = jax.jit(product).lower(jnp.ones((8, 8))).compile()
        print(serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))(jnp.ones((8, 8)))[0, 0])

    def forked():
        import numpy
        ones = numpy.asarray(lower())
        sys.stdout.flush()
        if os.fork() == 0:
            print((ones @ ones)[0, 0], flush=True)
            os._exit(0)
        print(os.wait()[1])

    def unknown():
        import numpy
        print(product(numpy.ones((8, 8), "f") @ numpy.eye(8, dtype="f"))[0, 0])

    globals()[sys.argv[1]]()
"""


@pytest.fixture
def run(tmp_path):
    """Runs a part of the program under --pin. Returns its result, and its recordings."""
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM))
    (tmp_path / "log").mkdir()

    def run_part(part, *options, under=(COMMAND, "run", "--quiet", "--pin", "--log", tmp_path / "log/%p.fp32rec", "--")):
        done = subprocess.run([*under, sys.executable, *options, script, part], capture_output=True, text=True, check=False,
                              env=shim.environment(env={**KEEP_BYTE_CODE, "JAX_PLATFORMS": "cpu"}))
        return done, sorted((tmp_path / "log").iterdir())

    return run_part


def verify(*recordings):
    """Returns the verdict, its doubts as one text, and the names of the bypasses that are a doubt."""
    done = subprocess.run([COMMAND, "verify", "--at-least", "fp32", "--format", "json", *recordings], capture_output=True,
                          text=True, check=False, env=shim.environment())
    verdict = json.loads(done.stdout)
    doubts = "\n".join(doubt["reason"] for doubt in verdict["doubts"])
    return verdict["verdict"], doubts, {each["bypass"] for each in verdict["bypasses"]}


def test_a_network_is_shown_and_prints_and_ends_as_without_the_shim(run):
    done, recordings = run("network")
    plain, _ = run("network", under=())
    assert (done.stdout, done.stderr, done.returncode) == (plain.stdout, plain.stderr, 3) and "not supported" in done.stdout
    assert verify(*recordings) == ("shown", "", set())
    table = subprocess.run([COMMAND, "report", "--format", "csv", *recordings], capture_output=True, text=True, check=True,
                           env=shim.environment()).stdout
    rows = [row for row in csv.DictReader(io.StringIO(table)) if row["function"].startswith("xla_compiled_")]
    assert {row["function"] for row in rows} == {"xla_compiled_dot_general", "xla_compiled_convolution"}
    assert {row["provider"] for row in rows} == {"libjax_common.so"}
    assert "program.py:16 network.<locals>.layers" in {row["where"] for row in rows}
    # The named algorithm permits bf16, but XLA multiplies in float32.
    assert {(row["applied"], row["actual"]) for row in rows} == {("fp32", "fp32"), ("bf16", "fp32")}


def test_no_share_of_the_time_is_claimed_for_products_that_xla_runs_untimed(run):
    recordings = run("", "-c", "import numpy, jax.numpy as jnp\nnumpy.ones((8, 8), 'f') @ numpy.ones((8, 8), 'f')\n"
                                "jnp.ones((8, 8)) @ jnp.ones((8, 8))")[1]
    text = subprocess.run([COMMAND, "report", *recordings], capture_output=True, text=True, check=True,
                          env=shim.environment()).stdout
    change = subprocess.run([COMMAND, "diff", *[recordings[0].parent] * 2], capture_output=True, text=True, check=False,
                            env=shim.environment()).stdout
    assert re.search(r"^\d calls in 1 recording on 1 machine, >[\d.]+ [mu]s on the host", text), text
    assert "not timed" in change and not re.search(r"not timed +not timed +\+", change), change
    # Both sums lack XLA's products, so their difference is not known.
    assert re.search(r"^change +\+0 *$", change, re.M) and not re.search(r"^change .*ns", change, re.M), change
    assert "The share of products in 1 process is not known: not all calls were timed." in text and "times as fast:" not in text


def test_products_below_float32_are_doubts_with_their_lines_and_a_forked_child_may_run_them(run):
    done, recordings = run("forked")
    assert done.stdout.splitlines()[-1] == "0" and len(recordings) == 2, done.stderr
    verdict, doubts, bypasses = verify(*recordings)
    assert verdict == "inconclusive" and bypasses == XLA and len(doubts.splitlines()) == 7
    assert "program.py:31 product): operands are float16" in doubts
    assert "program.py:36 lower.<locals>.<lambda>): operands are bfloat16" in doubts
    assert "program.py:31 product): operands are int8" in doubts and "program.py:38 lower): operands are float8" in doubts
    assert all(verify(recording)[2] == XLA for recording in recordings)


def test_what_rounds_float32_before_a_product_or_multiplies_narrow_numbers_by_themselves_is_a_doubt_with_its_line(run):
    verdict, doubts, bypasses = verify(*run("rounded")[1])
    assert verdict == "inconclusive" and bypasses == XLA
    for kind in ("xla_compiled_convert", "reduce_precision", "xla_compiled_multiply"):
        assert kind in doubts, doubts


def test_a_product_that_may_never_have_run_violates_no_floor_of_fp64(run):
    done = subprocess.run([COMMAND, "verify", "--at-least", "fp64", *run("unknown", "-c", "import jax, jax.numpy as jnp\n"
                          "jax.jit(lambda x: x @ x).lower(jax.ShapeDtypeStruct((8, 8), jnp.float32)).compile()")[1]],
                          capture_output=True, text=True, check=False, env=shim.environment())
    assert done.returncode == 3 and "if it multiplies" in done.stdout, done.stdout


def test_what_a_handler_of_a_signal_raises_while_products_are_told_reaches_the_program(run):
    done, recordings = run("interrupted")
    assert done.stdout == run("interrupted", under=())[0].stdout == "12 12\n", done.stderr
    verify(*recordings)


def test_an_executable_that_was_compiled_elsewhere_is_a_doubt(run):
    verdict, doubts, bypasses = verify(*run("deserialised")[1])
    assert verdict == "inconclusive" and bypasses == XLA
    assert "from deserialize_executable" in doubts and "what it multiplies is not known" in doubts


@pytest.mark.parametrize("words", [("unknown",), ("unknown", "-E"), ("late",)])
def test_the_doubt_stays_where_jax_has_an_unknown_way_to_compile_or_no_start_up_file_is_read(run, words):
    done, recordings = run(*words)
    assert done.stdout == "8.0\n" and verify(*recordings)[2] == XLA
