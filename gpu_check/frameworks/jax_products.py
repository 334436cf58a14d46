"""JAX's float32 products. XLA chooses between cuBLAS and kernels of its own, which no preload sees; with
XLA_FLAGS=--xla_gpu_enable_triton_gemm=false it takes cuBLAS."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402


def start(own):
    """own: default (TF32 where the device has it), fp32 or tf32. (device's name, {operation: function of (a, b)})"""
    try:
        device = jax.devices("cuda")[0]
    except RuntimeError as error:
        raise RuntimeError("it sees no CUDA device") from error
    if own != "default":
        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if own == "tf32" else "float32")

    def on_device(operation):
        compiled = jax.jit(operation)
        return lambda a, b: numpy.asarray(compiled(jax.device_put(a, device), jax.device_put(b, device))[:64])

    return device.device_kind, {
        "jnp.matmul": on_device(jnp.matmul),
        "lax.dot_general, batch": on_device(
            lambda a, b: jax.lax.dot_general(jnp.stack([a] * 4), jnp.stack([b] * 4), (((2,), (1,)), ((0,), (0,))))[3]),
        "jnp.einsum": on_device(lambda a, b: jnp.einsum("ik,kj->ij", a, b)),
    }


def version():
    return jax.__version__
