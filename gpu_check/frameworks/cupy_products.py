"""CuPy's float32 products. CUPY_TF32 is read when it is loaded: `own` is a matter of the environment."""

import os


def start(own):
    """own: default, fp32 or tf32. (name of the device, {operation: function of (a, b)})"""
    os.environ.pop("CUPY_TF32", None)
    if own != "default":
        os.environ["CUPY_TF32"] = "1" if own == "tf32" else "0"
    import cupy

    try:
        device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise RuntimeError("it sees no CUDA device") from error

    def on_device(operation):
        return lambda a, b: cupy.asnumpy(operation(cupy.asarray(a), cupy.asarray(b))[:64])

    return device, {
        "cupy.matmul": on_device(cupy.matmul),
        "cupy.matmul, batch": on_device(
            lambda a, b: cupy.matmul(cupy.stack([a] * 4), cupy.stack([b] * 4))[3]),
        "cupy.einsum": on_device(lambda a, b: cupy.einsum("ik,kj->ij", a, b)),
    }


def version():
    import cupy

    return cupy.__version__
