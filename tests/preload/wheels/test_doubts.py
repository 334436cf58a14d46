"""Some doubts of `verify` are real: in each of these runs, a library rounded float32 data, unseen by the shim."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import shim

COMMAND = pathlib.Path(os.environ.get("FP32SHIM_COMMAND", shim.BUILD / "bin/fp32shim"))

# Weights of 8 bits, which the model itself converts to float32 and then multiplies by. The model is encoded by hand, since the
# wheel has no encoder: `field` is a length-delimited field of a protocol buffer, `number` an integer.
ONNXRUNTIME = """
    import numpy, onnxruntime
    def varint(value):
        return bytes([value & 127 | 128]) + varint(value >> 7) if value > 127 else bytes([value])
    def number(tag, value):
        return varint(tag << 3) + varint(value)
    def field(tag, *parts):
        body = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
        return bytes([tag << 3 | 2]) + varint(len(body)) + body
    def tensor(name, kind, array):
        return field(5, *(number(1, size) for size in array.shape), number(2, kind), field(8, name), field(9, array.tobytes()))
    def value(tag, name, *sizes):
        shape = field(2, *(field(1, number(1, size)) for size in sizes))
        return field(tag, field(1, name), field(2, field(1, number(1, 1), shape)))
    random = numpy.random.default_rng(1)
    weights = random.integers(-127, 128, (256, 64), numpy.int8)
    scales = random.random((8, 64), numpy.float32)
    a = random.standard_normal((16, 256), numpy.float32)
    blocks = (field(5, field(1, word), number(3, of), number(20, 2)) for word, of in (("block_size", 32), ("axis", 0)))
    graph = field(7, field(1, field(1, "w"), field(1, "s"), field(2, "d"), field(4, "DequantizeLinear"), *blocks),
                  field(1, field(1, "a"), field(1, "d"), field(2, "c"), field(4, "MatMul")), field(2, "g"),
                  tensor("w", 3, weights), tensor("s", 1, scales), value(11, "a", 16, 256), value(12, "c", 16, 64))
    exact = a.astype(float) @ (weights * numpy.repeat(scales, 32, 0).astype(float))
    for name, options in {"default": {}, "level 1": {"session.qdq_matmulnbits_accuracy_level": "1"}}.items():
        settings = onnxruntime.SessionOptions()
        for key, word in options.items():
            settings.add_session_config_entry(key, word)
        session = onnxruntime.InferenceSession(number(1, 10) + field(8, number(2, 21)) + graph, settings)
        errors[name] = abs(session.run(None, {"a": a})[0] - exact).max() / abs(exact).max()
"""
JAX = """
    import jax, numpy
    a, b = (jax.random.normal(jax.random.key(i), (256, 256)) for i in range(2))
    exact = numpy.asarray(a, float) @ numpy.asarray(b, float)
    for name in (None, "bfloat16", "BF16_BF16_F32", "F16_F16_F16"):
        errors[name] = abs(jax.jit(lambda a, b: jax.numpy.matmul(a, b, precision=name))(a, b) - exact).max() / abs(exact).max()
"""


def errors_and_doubts(tmp_path, program):
    """Returns the relative error of each product of a pinned run, and the names of the doubts that `verify` has about it."""
    words = f"import json\nerrors = {{}}\n{textwrap.dedent(program)}"
    words += "print(json.dumps({str(name): float(error) for name, error in errors.items()}))"
    recording = tmp_path / "run.fp32rec"
    ran = subprocess.run([COMMAND, "run", "--quiet", "--pin", "--log", recording, "--", sys.executable, "-c", words],
                         capture_output=True, text=True, check=True, env=shim.environment())
    verdict = subprocess.run([COMMAND, "verify", "--at-least", "fp32", "--format", "json", recording],
                             capture_output=True, text=True, check=False, env=shim.environment())
    assert verdict.returncode == 3, verdict.stdout
    return json.loads(ran.stdout.splitlines()[-1]), {bypass["bypass"] for bypass in json.loads(verdict.stdout)["bypasses"]}


def test_onnxruntime_rounds_float32_to_8_bits_by_default(tmp_path):
    errors, doubts = errors_and_doubts(tmp_path, ONNXRUNTIME)
    assert errors["default"] > 1e-3 and errors["level 1"] < 1e-5 and "MLAS" in doubts


def test_jax_rounds_float32_on_a_cpu_for_one_algorithm(tmp_path):
    errors, doubts = errors_and_doubts(tmp_path, JAX)
    assert errors.pop("F16_F16_F16") > 1e-4 and max(errors.values()) < 1e-5 and "XLA-CPU" in doubts
