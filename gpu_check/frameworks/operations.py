"""Float32 products of each framework. load_NAME(own) returns (version, name of the device, {operation: function of (a, b)}).
It raises ImportError if the framework is missing, and RuntimeError if a device is missing. `own` is the precision that the
program itself requests: default, fp32 or tf32. Operations return the first 64 rows of the product.
"""

import os


def load_numpy(own):
    """Loads numpy, which runs on the CPU and ignores `own`. Shows that measuring and reading the log work without a GPU."""
    import numpy

    return numpy.__version__, "cpu", {"numpy.matmul": lambda a, b: numpy.matmul(a, b)[:64]}


def load_torch(own):
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("it sees no CUDA device")
    if own == "fp32":
        torch.backends.cuda.matmul.allow_tf32 = False
    elif own == "tf32":
        torch.set_float32_matmul_precision("high")

    def run_on_device(operation):
        return lambda a, b: operation(torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda())[:64].cpu().numpy()

    return torch.__version__, torch.cuda.get_device_name(0), {
        "torch.mm": run_on_device(torch.mm),
        "torch.bmm": run_on_device(lambda a, b: torch.bmm(a.expand(4, -1, -1), b.expand(4, -1, -1).contiguous())[3]),
        "Linear with bias": run_on_device(
            lambda a, b: torch.nn.functional.linear(a, b.T.contiguous(), torch.zeros(b.shape[1], device="cuda"))),
        "torch.einsum": run_on_device(lambda a, b: torch.einsum("ik,kj->ij", a, b)),
    }


def load_cupy(own):
    os.environ.pop("CUPY_TF32", None)  # CuPy reads this variable when it is loaded
    if own != "default":
        os.environ["CUPY_TF32"] = "1" if own == "tf32" else "0"
    import cupy

    try:
        device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise RuntimeError("it sees no CUDA device") from error

    def run_on_device(operation):
        return lambda a, b: cupy.asnumpy(operation(cupy.asarray(a), cupy.asarray(b))[:64])

    return cupy.__version__, device, {
        "cupy.matmul": run_on_device(cupy.matmul),
        "cupy.matmul, batch": run_on_device(lambda a, b: cupy.matmul(cupy.stack([a] * 4), cupy.stack([b] * 4))[3]),
        "cupy.einsum": run_on_device(lambda a, b: cupy.einsum("ik,kj->ij", a, b)),
    }


def load_jax(own):
    """Loads JAX. Its compiler, XLA, chooses between cuBLAS and kernels of its own, which no preloaded library sees. With
    XLA_FLAGS=--xla_gpu_enable_triton_gemm=false it takes cuBLAS."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import numpy

    try:
        device = jax.devices("cuda")[0]
    except RuntimeError as error:
        raise RuntimeError("it sees no CUDA device") from error
    if own != "default":  # by default, JAX uses TF32 where the device has it
        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if own == "tf32" else "float32")

    def run_on_device(operation):
        compiled = jax.jit(operation)
        return lambda a, b: numpy.asarray(compiled(jax.device_put(a, device), jax.device_put(b, device))[:64])

    return jax.__version__, device.device_kind, {
        "jnp.matmul": run_on_device(jax.numpy.matmul),
        "lax.dot_general, batch": run_on_device(lambda a, b: jax.lax.dot_general(
            jax.numpy.stack([a] * 4), jax.numpy.stack([b] * 4), (((2,), (1,)), ((0,), (0,))))[3]),
        "jnp.einsum": run_on_device(lambda a, b: jax.numpy.einsum("ik,kj->ij", a, b)),
    }


def kernels_of_torch_operation(operation):
    """Returns the names of the kernels that an operation of PyTorch starts, as torch.profiler gives them."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        operation()
        torch.cuda.synchronize()
    return sorted({event.key for event in profiler.key_averages() if not event.key.startswith(("Memcpy", "Memset"))})
