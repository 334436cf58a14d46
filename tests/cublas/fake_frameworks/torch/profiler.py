"""torch.profiler: the kernels are named by the format that was asked for, or by FAKE_KERNEL."""

import contextlib
import os
import types

ProfilerActivity = types.SimpleNamespace(CUDA="CUDA")
NAMES = {"tf32": "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_kernel__5x_cublas",
         "fp32": "ampere_sgemm_128x128_nn"}


@contextlib.contextmanager
def profile(activities):
    default = "fp32" if "FP32_MATMUL_FLOOR" in os.environ else "tf32"
    names = [os.environ.get("FAKE_KERNEL") or NAMES[default], "Memcpy HtoD (Pageable -> Device)"]
    yield types.SimpleNamespace(key_averages=lambda: [types.SimpleNamespace(key=name) for name in names])
