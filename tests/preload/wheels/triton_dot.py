"""Multiplies with Triton's tl.dot, without torch: one kernel for each input precision, launched as often as asked.

    triton_dot.py COUNT [PRECISION...]

COUNT: launches of each kernel by Triton's launcher. PRECISION: tf32, ieee, tf32x3 (default: these three), bf16x3,
bf16x6. The kernels are named dot_PRECISION. Prints nothing.
"""

import ctypes
import sys

class NoTorch:
    """Hides torch, which would look for a GPU when it starts."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError(name)


sys.meta_path.insert(0, NoTorch())

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

M = tl.constexpr(64)


@triton.jit
def product(a, b, c, precision: tl.constexpr):
    i = tl.arange(0, M)
    offsets = i[:, None] * M + i[None, :]
    tl.store(c + offsets, tl.dot(tl.load(a + offsets), tl.load(b + offsets), input_precision=precision))


@triton.jit
def dot_tf32(a, b, c):
    product(a, b, c, "tf32")


@triton.jit
def dot_ieee(a, b, c):
    product(a, b, c, "ieee")


@triton.jit
def dot_tf32x3(a, b, c):
    product(a, b, c, "tf32x3")


@triton.jit
def dot_bf16x3(a, b, c):
    product(a, b, c, "bf16x3")


@triton.jit
def dot_bf16x6(a, b, c):
    product(a, b, c, "bf16x6")


class Matrix:
    """Has the attributes of a tensor that Triton's launcher uses."""

    dtype = "float32"

    def __init__(self, driver):
        address = ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(address), M.value * M.value * 4) == 0
        self.address = address.value

    def data_ptr(self):
        return self.address


def main(count, *precisions):
    triton.runtime.driver.active.get_current_device()  # makes a context
    driver = ctypes.CDLL("libcuda.so.1")
    a, b, c = (Matrix(driver) for _ in range(3))
    for precision in precisions or ("tf32", "ieee", "tf32x3"):
        for _ in range(int(count)):
            globals()[f"dot_{precision}"][(1,)](a, b, c)
    assert driver.cuCtxSynchronize() == 0
    assert "torch" not in sys.modules


if __name__ == "__main__":
    main(*sys.argv[1:])
