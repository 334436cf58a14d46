"""Finds the format in which a GPU kernel multiplies by the kernel's name. cuBLAS, CUTLASS and cublasLt name kernels after
operands and instructions: bf16, tf32, and s1688gemm without another format for TF32 tensor cores; sgemm, ffma and simt for
FP32 units."""

import re

# The first matching rule counts.
_RULES = [
    ("none", r"reduce|memcpy|memset"),
    ("bf16", r"bf16"),
    ("fp16", r"fp16|_h1688|_h16816|hgemm|f16f16|_f16_"),
    ("tf32", r"tf32|xf32|s1688gemm"),
    ("fp32", r"ffma|sgemm|f32f32_f32f32"),
    ("unknown", r"gemm|triton|gemv|nvjet|cutlass|xmma|splitk|matmul|wgmma"),
]


def format_of_kernel(name):
    """Returns tf32, bf16, fp16 or fp32; unknown: the kernel multiplies, but its name does not say how; none: it does not
    multiply."""
    lower = name.lower()
    return next((format_name for format_name, pattern in _RULES if re.search(pattern, lower)), "none")
