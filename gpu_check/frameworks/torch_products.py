"""PyTorch's float32 products."""

import torch


def start(own):
    """own: default, fp32 or tf32, by torch's own settings. (name of the device, {operation: function of (a, b)})"""
    if not torch.cuda.is_available():
        raise RuntimeError("it sees no CUDA device")
    if own == "fp32":
        torch.backends.cuda.matmul.allow_tf32 = False
    elif own == "tf32":
        torch.set_float32_matmul_precision("high")

    def on_device(operation):
        def run(a, b):
            return operation(torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda())[:64].cpu().numpy()
        return run

    return torch.cuda.get_device_name(0), {
        "torch.mm": on_device(torch.mm),
        "torch.bmm": on_device(lambda a, b: torch.bmm(a.expand(4, -1, -1), b.expand(4, -1, -1).contiguous())[3]),
        "Linear with bias": on_device(
            lambda a, b: torch.nn.functional.linear(a, b.T.contiguous(), torch.zeros(b.shape[1], device="cuda"))),
        "torch.einsum": on_device(lambda a, b: torch.einsum("ik,kj->ij", a, b)),
    }


def kernels_of(operation):
    """[{name, format}] of the kernels that an operation starts, by torch.profiler."""
    import kernel_names
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        operation()
        torch.cuda.synchronize()
    names = sorted({event.key for event in profiler.key_averages() if "memcpy" not in event.key.lower()})
    return [{"name": name, "format": kernel_names.format_of(name)} for name in names]


def version():
    return torch.__version__
