"""What experiments.py measures of PyTorch."""

import collections
import ctypes
import json
import os
import subprocess
import time

import torch

from experiment_rules import NoDevice


def _need_device():
    if not torch.cuda.is_available():
        raise NoDevice("no CUDA device")
    torch.manual_seed(1)


def _format(result, reference):
    """Returns the format, judged by the error against float64: some 3e-4 for TF32, some 1e-6 for FP32."""
    error = float((result.double() - reference).norm() / reference.norm())
    return "fp32" if error < 3e-5 else "tf32" if error < 1.5e-3 else "bf16 or lower"


def measure_torch_convolutions():
    _need_device()
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    image = torch.rand(8, 64, 56, 56, device="cuda") - 0.5
    answers = {}
    for name, size in (("1x1", 1), ("3x3", 3)):
        layer = torch.nn.Conv2d(64, 128, size, padding=size // 2).cuda()
        with torch.no_grad():
            answers[f"convolution {name}"] = _format(layer(image), layer.double()(image.double()))
    layer = torch.nn.LSTM(256, 256).cuda()
    sequence = torch.rand(16, 32, 256, device="cuda") - 0.5
    with torch.no_grad():
        answers["LSTM"] = _format(layer(sequence)[0], layer.double()(sequence.double())[0])
    return answers


def measure_torch_solves():
    _need_device()
    torch.backends.cuda.matmul.allow_tf32 = False
    n = 1024
    x = torch.randn(n, n, device="cuda", dtype=torch.float64)
    spd = (x @ x.T / n + torch.eye(n, device="cuda", dtype=torch.float64)).float()
    right = torch.randn(n, 256, device="cuda")
    triangle = torch.linalg.cholesky(spd)
    wide = spd.double()

    def residual(matrix, solution):
        matrix, solution = matrix.double(), solution.double()
        return float((matrix @ solution - right.double()).norm() / (matrix.norm() * solution.norm()))

    lower = triangle.double()
    return {"cholesky": f"{float((lower @ lower.T - wide).norm() / wide.norm()):.1e}",
            "solve": f"{residual(spd, torch.linalg.solve(spd, right)):.1e}",
            "solve_triangular": f"{residual(triangle, torch.linalg.solve_triangular(triangle, right, upper=False)):.1e}"}


def _product(asks_for_tf32):
    """Returns the format of a product whose program asks for TF32, or for nothing."""
    torch.backends.cuda.matmul.allow_tf32 = asks_for_tf32
    a = torch.rand(1024, 1024, device="cuda") - 0.5
    b = torch.rand(1024, 1024, device="cuda") - 0.5
    result = a @ b
    return _format(result, a.double() @ b.double())


def measure_torch_override():
    _need_device()
    return {"asks for nothing": _product(False), "asks for TF32": _product(True)}


def measure_torch_late_override():
    """cublasLtCreate reads the variable once, so a value that is set afterwards comes too late."""
    _need_device()
    before = f"{_product(False)} and {_product(True)}"
    os.environ["NVIDIA_TF32_OVERRIDE"] = "0"
    return {"before": before, "after": f"{_product(False)} and {_product(True)}"}


def measure_torch_graph():
    """Without the library the program asks for TF32 itself."""
    _need_device()
    torch.backends.cuda.matmul.allow_tf32 = "LD_PRELOAD" not in os.environ
    a = torch.rand(1024, 1024, device="cuda") - 0.5
    b = torch.rand(1024, 1024, device="cuda") - 0.5
    eager = a @ b
    captured = torch.empty_like(eager)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # PyTorch requires one run outside the capture
        torch.mm(a, b, out=captured)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.mm(a, b, out=captured)
    captured.zero_()
    for _ in range(2):
        graph.replay()
    torch.cuda.synchronize()
    return {"format": _format(captured, a.double() @ b.double()),
            "replayed": "the bits of eager" if torch.equal(captured, eager) else "other bits"}


def measure_torch_cublaslt():
    _need_device()
    torch.backends.cuda.preferred_blas_library("cublaslt")
    # A floor only has an effect if the program asks for less than FP32.
    return {"matmul": _product("FP32_MATMUL_FLOOR" in os.environ)}


def measure_torch_linear():
    """Measures a loop of layers so small that only the host's work counts. A turn returns microseconds a layer."""
    _need_device()
    torch.backends.cuda.matmul.allow_tf32 = "EXPERIMENT_ASKS_FOR_TF32" in os.environ
    layers = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(20))).cuda()
    rows = torch.randn(16, 64, device="cuda")

    def turn(repetitions=50):
        with torch.no_grad():
            torch.cuda.synchronize()
            begun = time.perf_counter()
            for _ in range(repetitions):
                layers(rows)
            torch.cuda.synchronize()
        return (time.perf_counter() - begun) * 1e6 / (repetitions * len(layers))

    turn()
    with torch.no_grad():
        exact = torch.nn.functional.linear(rows.double(), layers[0].weight.double(), layers[0].bias.double())
        return {"format": _format(layers[0](rows), exact)}, turn


def measure_torch_pinv():
    """torch guards the products inside pinv against TF32."""
    _need_device()
    matrix = torch.randn(512, 384, device="cuda")
    inverse = torch.linalg.pinv(matrix).double()
    wide = matrix.double()
    return {"pinv": f"{float((wide @ inverse @ wide - wide).norm() / wide.norm()):.1e}"}


REPLAYS = 3


def _kernel_work():
    """Runs products, convolutions, an LSTM, attention, a transform, a factorisation, a compiled function and a graph."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    image, a = torch.randn(2, 16, 32, 32, device="cuda"), torch.randn(256, 256, device="cuda")
    with torch.no_grad():
        torch.nn.Sequential(torch.nn.Conv2d(16, 32, 3), torch.nn.BatchNorm2d(32), torch.nn.ReLU()).cuda()(image)
        torch.nn.LSTM(64, 64).cuda()(torch.randn(8, 4, 64, device="cuda"))
        head = torch.randn(2, 4, 64, 64, device="cuda")
        torch.nn.functional.scaled_dot_product_attention(head, head, head)
        torch.fft.fft(a)
        torch.linalg.cholesky(a @ a.T + 600 * torch.eye(256, device="cuda"))
        a.half() @ a.half()
        torch.compile(lambda x: torch.relu(x @ x) + 1)(a)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            a.cumsum(0)
        for _ in range(REPLAYS):
            graph.replay()
    torch.cuda.synchronize()


def _recorded_kernels():
    """Returns the number of launches of each kernel, from this process's recording so far."""
    folder = os.path.dirname(os.environ["LD_PRELOAD"])
    beside = [os.environ.get("FP32SHIM_COMMAND", ""), f"{folder}/fp32shim", f"{folder}/../bin/fp32shim"]
    command = next((path for path in beside if os.path.exists(path)), None)
    if command is None:
        raise NoDevice("no command fp32shim, which reads recordings, beside the library or in FP32SHIM_COMMAND")
    done = subprocess.run([command, "report", "--format", "json", os.environ["FP32_MATMUL_LOG"]], check=True,
                          stdout=subprocess.PIPE, env={**os.environ, "LD_PRELOAD": ""})
    demangle = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    demangle.restype = ctypes.c_char_p
    counts = collections.Counter()
    for row in json.loads(done.stdout)["rows"]:
        if row["function"].startswith("kernel:"):
            name = row["function"].removeprefix("kernel:")
            plain = demangle(name.encode(), None, None, ctypes.byref(ctypes.c_int()))
            counts[plain.decode() if plain else name] += row["calls"]
    return counts


def measure_torch_kernels():
    _need_device()
    if "LD_PRELOAD" in os.environ:
        _kernel_work()
        return _recorded_kernels()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiled:
        _kernel_work()
    return collections.Counter(event.name for event in profiled.events() if str(event.device_type).endswith("CUDA")
                               and not event.name.startswith(("Memcpy", "Memset")))


def _decisions(path):
    try:
        with open(path, encoding="utf-8") as file:
            return sum(json.loads(line)["event"] == "decision" for line in file)
    except FileNotFoundError:
        return 0


def measure_torch_autotune():
    """The program asks for TF32 itself. A floor has to prevent that."""
    _need_device()
    torch.set_float32_matmul_precision("high")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(os.environ["EXPERIMENT_FOLDER"], str(os.getpid()))
    os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
    a = torch.rand(2048, 2048, device="cuda") - 0.5
    b = torch.rand(2048, 2048, device="cuda") - 0.5
    multiply = torch.compile(lambda left, right: left @ right, mode="max-autotune-no-cudagraphs")
    multiply(a, b)
    log = os.environ["FP32_MATMUL_LOG"]
    before = _decisions(log)
    result = multiply(a, b)
    torch.cuda.synchronize()
    preloaded = "LD_PRELOAD" in os.environ
    chosen = "unknown, no shim" if not preloaded else "cuBLAS" if _decisions(log) > before else "a kernel of its own"
    return {"format": _format(result, a.double() @ b.double()), "chosen": chosen}
