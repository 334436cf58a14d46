"""What experiments.py measures of JAX."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
if "EXPERIMENT_FOLDER" in os.environ:
    os.environ["JAX_COMPILATION_CACHE_DIR"] = os.path.join(os.environ["EXPERIMENT_FOLDER"], "jax")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
import jax  # noqa: E402
import numpy  # noqa: E402

import measured  # noqa: E402
from experiment_rules import NoDevice  # noqa: E402


def _format_of_product(n=2048):
    try:
        device = jax.devices("cuda")[0]
    except RuntimeError as error:
        raise NoDevice("no CUDA device") from error
    a, b = measured.random_operands(n)
    result = jax.jit(jax.numpy.matmul)(jax.device_put(a, device), jax.device_put(b, device))
    return measured.ReferenceProduct(a, b).judge_result(numpy.asarray(result[:64]))[0]


def measure_jax_triton():
    """At the default precision, XLA may use TF32. Each process has its own cache; otherwise variants would share kernels."""
    jax.config.update("jax_enable_compilation_cache", False)
    return {"matmul": _format_of_product()}


def measure_jax_cache():
    jax.config.update("jax_default_matmul_precision", "float32")
    return {"matmul": _format_of_product()}
