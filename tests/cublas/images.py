"""Small images of GPU code, without a compiler: the text of PTX with empty kernels, and fatbins of it."""

import struct

# Body of a kernel that multiplies in TF32.
TF32 = """.reg .b32 a<4>; .reg .b32 b<2>;
    mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {a0,a1,a2,a3}, {a0,a1,a2,a3}, {b0,b1}, {a0,a1,a2,a3};
    ret;"""
BF16 = TF32.replace("m16n8k8", "m16n8k16").replace("tf32.tf32", "bf16.bf16")


def ptx(*kernels, body="ret;"):
    """Returns PTX with these kernels. `body` has their instructions."""
    entries = "".join(f".visible .entry {name}()\n{{\n    {body}\n}}\n" for name in kernels)
    return f".version 8.0\n.target sm_80\n.address_size 64\n{entries}".encode()


def fatbin(*texts):
    """Returns a fatbin with one part for each text of PTX, laid out as by NVIDIA's fatbinary."""
    parts = b""
    for text in texts:
        text += bytes(-len(text) % 8)
        # kind (PTX), version, size of this header, size of the part; two sizes of compression; version and target of
        # PTX; a name; flags (64 bits, Linux)
        parts += struct.pack("<HHIQIIHHIIIQ", 1, 0x101, 64, len(text), 0, 0, 0, 8, 80, 0, 0, 0x11) + bytes(16) + text
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(parts)) + parts
