#!/usr/bin/env python3
"""Makes the images that kernel_image_test.cpp reads, from kernels written here, by the tools of CUDA 13.0.

    tests/unit/record/kernel_images/make_images.py [FOLDER OF ptxas]

A kernel's name begins with the formats that the scanner shall find in it: `tf32__wgmma_descriptor`.
"""

import itertools
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
TOOLS = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/local/cuda-13.0/bin")
PTX_VERSION = "9.0"

FP8 = ("e4m3", "e5m2")
NARROW = (*FP8, "e3m2", "e2m3", "e2m1")
ORDERED = ".sp::ordered_metadata"


def registers(prefix, count):
    return "{" + ",".join(f"{prefix}{i}" for i in range(count)) + "}"


def body_of_mma(instruction, a_count, b_count, c_count, operand="b32", result="f32", behind=""):
    """Returns the body of a kernel that loads registers, multiplies, and stores the result."""
    lines = [f".reg .{operand} a<{a_count}>, b<{b_count}>; .reg .{result} c<{c_count}>; .reg .b32 e, sa, sb;"]
    for offset, (letter, count, kind) in enumerate((("a", a_count, operand), ("b", b_count, operand), ("c", c_count, result))):
        lines += [f"ld.global.{kind} {letter}{i}, [x+{4096 * offset + 8 * i}];" for i in range(count)]
    lines += [f"ld.global.b32 {name}, [x+{800 + 8 * i}];" for i, name in enumerate(("e", "sa", "sb"))]
    a, b, c = registers("a", a_count), registers("b", b_count), registers("c", c_count)
    lines.append(f"{instruction} {c}, {a}, {b}, {c}{behind};")
    lines += [f"st.global.{result} [x+{20000 + 8 * i}], c{i};" for i in range(c_count)]
    return lines


def mma_forms():
    """Yields (format, name, first architecture, last architecture, body) for mma and mma.sp."""

    def form(formats, shape, types, counts, since, last=121, sparse="", **more):
        if sparse:
            more["behind"] = ", e, 0x0" + more.get("behind", "")
        name = f"{formats}__mma{'_sp' if sparse else ''}_{shape}_{types}".replace(".", "_").replace("::", "_")
        return formats, name, since, last, body_of_mma(f"mma{sparse}.sync.aligned.{shape}.row.col.{types}", *counts, **more)

    halves = {"result": "b32"}
    yield form("fp16", "m8n8k4", "f32.f16.f16.f32", (2, 2, 8), 70, 75)
    yield form("fp16", "m8n8k4", "f16.f16.f16.f16", (2, 2, 4), 70, 75, **halves)
    for shape, counts, since in (("m16n8k8", (2, 1), 75), ("m16n8k16", (4, 2), 80)):
        yield form("fp16", shape, "f32.f16.f16.f32", (*counts, 4), since)
        yield form("fp16", shape, "f16.f16.f16.f16", (*counts, 2), since, **halves)
        yield form("bf16", shape, "f32.bf16.bf16.f32", (*counts, 4), 80)
    for shape, counts in (("m16n8k4", (2, 1)), ("m16n8k8", (4, 2))):
        yield form("tf32", shape, "f32.tf32.tf32.f32", (*counts, 4), 80)
    for count in (2, 4):
        counts = (count, count)
        yield form("fp16", f"m16n8k{8 * count}", "f32.f16.f16.f32", (*counts, 4), 80, sparse=".sp")
        yield form("fp16", f"m16n8k{8 * count}", "f16.f16.f16.f16", (*counts, 2), 80, sparse=".sp", **halves)
        yield form("bf16", f"m16n8k{8 * count}", "f32.bf16.bf16.f32", (*counts, 4), 80, sparse=".sp")
        yield form("tf32", f"m16n8k{4 * count}", "f32.tf32.tf32.f32", (*counts, 4), 80, sparse=".sp")
        yield form("integer", f"m16n8k{16 * count}", "s32.s8.u8.s32", (*counts, 4), 80, sparse=".sp", result="b32")
    for shape, counts, since in (("m8n8k4", (1, 1, 2), 80), ("m16n8k8", (4, 2, 4), 90), ("m16n8k16", (8, 4, 4), 90)):
        yield form("fp64", shape, "f64.f64.f64.f64", counts, since, operand="f64", result="f64")
    for a, b in itertools.product(("s8", "u8"), repeat=2):
        yield form("integer", "m8n8k16", f"s32.{a}.{b}.s32", (1, 1, 2), 75, result="b32")
        yield form("integer", "m16n8k32", f"s32.{a}.{b}.s32", (4, 2, 4), 80, result="b32")
    yield form("integer", "m8n8k32", "s32.s4.u4.s32", (1, 1, 2), 75, result="b32")
    yield form("integer", "m8n8k128", "s32.b1.b1.s32.xor.popc", (1, 1, 2), 75, 89, result="b32")
    yield form("integer", "m16n8k256", "s32.b1.b1.s32.and.popc", (4, 2, 4), 80, 90, result="b32")
    for a, b in zip(FP8, reversed(FP8)):
        for architecture in (89, 120):
            yield form("fp8", "m16n8k32", f"f32.{a}.{b}.f32", (4, 2, 4), architecture, architecture)
            yield form("fp8", "m16n8k32", f"f16.{a}.{b}.f16", (4, 2, 2), architecture, architecture, **halves)
    for a, b in zip(NARROW, NARROW[1:] + NARROW[:1]):
        types = f"kind::f8f6f4.f32.{a}.{b}.f32"
        yield form("fp8", "m16n8k32", types, (4, 2, 4), 120)
        yield form("fp8", "m16n8k64", types, (4, 4, 4), 120, sparse=ORDERED)
        types = f"kind::mxf8f6f4.block_scale.scale_vec::1X.f32.{a}.{b}.f32.ue8m0"
        yield form("fp8", "m16n8k32", types, (4, 2, 4), 120, behind=", sa, {0,0}, sb, {0,0}")
    for kind, vector, scale in (("mxf4", "2X", "ue8m0"), ("mxf4nvf4", "4X", "ue4m3")):
        types = f"kind::{kind}.block_scale.scale_vec::{vector}.f32.e2m1.e2m1.f32.{scale}"
        yield form("fp8", "m16n8k64", types, (4, 2, 4), 120, behind=", sa, {0,0}, sb, {0,0}")
        yield form("fp8", "m16n8k128", types, (4, 4, 4), 120, sparse=ORDERED, behind=", sa, {0,0}, sb, {0,0}")


def wmma_forms():
    for formats, shape, kind, result, counts, since in (
        ("fp16", "m16n16k16", "f16", "f32", (8, 8, 8), 70),
        ("fp16", "m32n8k16", "f16", "f16", (8, 8, 4), 70),
        ("bf16", "m16n16k16", "bf16", "f32", (4, 4, 8), 80),
        ("tf32", "m16n16k8", "tf32", "f32", (4, 4, 8), 80),
        ("fp64", "m8n8k4", "f64", "f64", (1, 1, 2), 80),
        ("integer", "m16n16k16", "s8", "s32", (2, 2, 8), 75),
    ):
        operand = "f64" if kind == "f64" else "b32"
        register = {"f32": "f32", "f64": "f64"}.get(result, "b32")
        a, b, c = (registers(letter, count) for letter, count in zip("abc", counts))
        types = f"{result}.{result}" if kind == "f16" else f"{result}.{kind}.{kind}.{result}"
        yield formats, f"{formats}__wmma_{shape}_{kind}_{result}", since, 121, [
            f".reg .{operand} a<{counts[0]}>, b<{counts[1]}>; .reg .{register} c<{counts[2]}>;",
            f"wmma.load.a.sync.aligned.row.{shape}.global.{kind} {a}, [x];",
            f"wmma.load.b.sync.aligned.col.{shape}.global.{kind} {b}, [x+4096];",
            f"wmma.load.c.sync.aligned.row.{shape}.global.{result} {c}, [x+8192];",
            f"wmma.mma.sync.aligned.row.col.{shape}.{types} {c}, {a}, {b}, {c};",
            f"wmma.store.d.sync.aligned.row.{shape}.global.{result} [x+16384], {c};",
        ]


def wgmma_forms():
    for (formats, depth, types, result, scale), sparse, is_register in itertools.product(
        (
            ("fp16", 16, "f32.f16.f16", "f32", ", p, 1, 1, 0, 0"),
            ("fp16", 16, "f16.f16.f16", "b32", ", p, 1, 1, 0, 0"),
            ("bf16", 16, "f32.bf16.bf16", "f32", ", p, -1, -1, 0, 0"),
            ("tf32", 8, "f32.tf32.tf32", "f32", ", p, 1, 1"),
            ("fp8", 32, "f32.e4m3.e5m2", "f32", ", p, 1, 1"),
            ("integer", 32, "s32.s8.u8", "b32", ", p"),
            ("integer", 256, "s32.b1.b1.and.popc", "b32", ", p"),
        ),
        ("", ".sp"),
        (False, True),
    ):
        if sparse and depth == 256:
            continue
        count = 2 if types.startswith("f16.") else 4
        c, shape = registers("c", count), f"m64n8k{depth * 2 if sparse else depth}"
        a = registers("a", 4) if is_register else "da"
        if is_register and scale.count(",") == 5:
            scale = scale.rsplit(",", 1)[0]
        meta = ", e, 0" if sparse else ""
        name = f"{formats}__wgmma{sparse}_{types}_{'registers' if is_register else 'descriptor'}".replace(".", "_")
        yield formats, name, 90, 90, [
            f".reg .{result} c<{count}>; .reg .b32 a<4>, e; .reg .b64 da, db; .reg .pred p;",
            "ld.global.b64 da, [x]; ld.global.b64 db, [x+8]; ld.global.b32 e, [x+16]; setp.ne.b32 p, e, 0;",
            *(f"ld.global.b32 a{i}, [x+{100 + 4 * i}];" for i in range(4)),
            *(f"ld.global.{result} c{i}, [x+{200 + 4 * i}];" for i in range(count)),
            f"wgmma.fence.sync.aligned; wgmma.mma_async{sparse}.sync.aligned.{shape}.{types} {c}, {a}, db{meta}{scale};",
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
            *(f"st.global.{result} [x+{900 + 4 * i}], c{i};" for i in range(count)),
        ]


def tcgen05_forms():
    """Yields forms of tcgen05.mma. The format is known if the descriptor is a constant, and unknown if it is in memory."""
    kinds = [
        ("fp16", "f16", "0x08200010"),
        ("bf16", "f16", "0x08200490"),
        ("tf32", "tf32", "0x08200910"),
        ("unknown", "tf32", None),
        ("fp8", "f8f6f4", None),
        ("integer", "i8", None),
        ("fp8", "mxf8f6f4.block_scale.scale_vec::1X", None),
        ("fp8", "mxf4.block_scale.scale_vec::2X", None),
        ("fp8", "mxf4nvf4.block_scale.scale_vec::4X", None),
    ]
    for (formats, kind, descriptor), mode, group, a in itertools.product(kinds, ("", ".sp", ".ws"), (1, 2), ("a", "[z]")):
        if mode == ".ws" and (group == 2 or "scale" in kind):
            continue
        scales = "[sa], [sb], " if "scale" in kind else ""
        name = f"{formats}__tcgen05{mode}_{kind.split('.')[0]}_{group}_{'tensor_memory' if a != 'a' else 'shared'}".replace(".", "_")
        meta = "[z], " if mode == ".sp" else ""
        yield formats, name, 100, 110, [
            ".reg .b32 d, i, z, sa, sb; .reg .b64 a, b; .reg .pred p;",
            "ld.global.b32 d, [x]; ld.global.b64 a, [x+8]; ld.global.b64 b, [x+16]; ld.global.b32 i, [x+24];",
            "ld.global.b32 z, [x+28]; ld.global.b32 sa, [x+32]; ld.global.b32 sb, [x+36]; setp.ne.b32 p, z, 0;",
            *([f"mov.b32 i, {descriptor};"] if descriptor else []),
            f"tcgen05.mma{mode}.cta_group::{group}.kind::{kind} [d], {a}, b, {meta}i, {scales}p;",
        ]


def other_forms():
    """Yields products of vectors, not of matrices."""
    yield "none", "none__fma_f32", 70, 121, [".reg .f32 q; ld.global.f32 q, [x]; fma.rn.f32 q, q, q, q; st.global.f32 [x], q;"]
    yield "none", "none__fma_f16x2", 70, 121, [".reg .b32 q; ld.global.b32 q, [x]; fma.rn.f16x2 q, q, q, q; st.global.b32 [x], q;"]
    yield "none", "none__fma_bf16x2", 80, 121, [".reg .b32 q; ld.global.b32 q, [x]; fma.rn.bf16x2 q, q, q, q; st.global.b32 [x], q;"]
    yield "none", "none__fma_f64", 70, 121, [".reg .f64 q; ld.global.f64 q, [x]; fma.rn.f64 q, q, q, q; st.global.f64 [x], q;"]
    yield "none", "none__dp4a", 70, 121, [".reg .b32 q; ld.global.b32 q, [x]; dp4a.s32.s32 q, q, q, q; st.global.b32 [x], q;"]


def forms():
    return [*mma_forms(), *wmma_forms(), *wgmma_forms(), *tcgen05_forms(), *other_forms()]


def ptx(target, *kernels, head=""):
    text = f".version {PTX_VERSION}\n.target {target}\n.address_size 64\n{head}"
    for name, body in kernels:
        lines = "\n".join(body)
        text += f".visible .entry {name}(.param .u64 p0)\n{{\n.reg .b64 x;\nld.param.u64 x, [p0];\n{lines}\nret;\n}}\n"
    return text


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


def assemble(text, target, folder, *options):
    source = folder / f"{len(list(folder.iterdir()))}.ptx"
    source.write_text(text)
    run(TOOLS / "ptxas", *options, "-arch", target, source, "-o", source.with_suffix(".cubin"))
    return source.with_suffix(".cubin")


def elf(target, file):
    return f"--image3=kind=elf,sm={target[3:]},file={file}"


def make_formats(folder):
    """Makes formats.fatbin: every form for one architecture of each instruction set, compressed by zstd."""
    images = []
    for target in ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"):
        number = int(target[3:].rstrip("a"))
        kernels = [(name, body) for _, name, since, last, body in forms() if since <= number <= last]
        images.append(elf(target, assemble(ptx(target, *kernels), target, folder)))
    run(TOOLS / "fatbinary", "-64", "--compress-mode=size", f"--create={HERE / 'formats.fatbin'}", *images)
    kernels = [(name, body) for _, name, since, last, body in forms() if since <= 90 <= last and not name.startswith("integer__mma")]
    (HERE / "formats.ptx").write_text(ptx("sm_90a", *kernels))


def make_choice(folder):
    """Makes choice_*.fatbin: the kernel `chosen` for several devices, each time with another format."""
    body_of = {formats: body for formats, name, _, _, body in forms() if name.startswith(f"{formats}__mma_m") or formats == "none"}
    images = []
    for target, formats in (("sm_80", "fp16"), ("sm_86", "bf16"), ("sm_90", "tf32"), ("sm_90a", "integer"), ("sm_100f", "fp64")):
        images.append(elf(target, assemble(ptx(target, ("chosen", body_of[formats])), target, folder)))
    for target, formats in (("sm_80", "integer"), ("sm_90", "bf16")):
        source = folder / f"{target}.ptx"
        source.write_text(ptx(target, ("chosen", body_of[formats])))
        images.append(f"--image3=kind=ptx,sm={target[3:]},file={source}")
    for mode in ("none", "speed", "size"):
        more = [] if mode == "none" else ["--compress-all"]
        run(TOOLS / "fatbinary", "-64", f"--compress-mode={mode}", *more, f"--create={HERE / f'choice_{mode}.fatbin'}", *images)


def make_functions(folder):
    """Makes functions.cubin, with kernels beside a function that multiplies, and unlinked.cubin, which lacks functions."""
    bf16 = next(body for formats, name, _, _, body in forms() if name.startswith("bf16__mma_m16n8k8"))
    lines = "\n".join(bf16)
    function = f".visible .func multiply(.param .b64 p0)\n{{\n.reg .b64 x;\nld.param.u64 x, [p0];\n{lines}\nret;\n}}\n"
    call = [".param .b64 q;", "st.param.b64 [q], x;", "call multiply, (q);"]
    text = ptx("sm_80", ("calls", call), ("calls_nothing", ["st.global.b32 [x], 1;"]), head=function)
    (HERE / "functions.ptx").write_text(text)
    run(TOOLS / "nvlink", "-arch=sm_80", assemble(text, "sm_80", folder, "-c"), "-o", HERE / "functions.cubin")
    for name, missing in (("unlinked", "multiply"), ("launches", "__cudaCDP2LaunchDeviceV2")):
        head = f".extern .func {missing}(.param .b64 p0);\n"
        text = ptx("sm_80", ("calls", [line.replace("multiply", missing) for line in call]), head=head)
        assemble(text, "sm_80", folder, "-c").rename(HERE / f"{name}.cubin")


with tempfile.TemporaryDirectory() as temporary:
    for make in (make_formats, make_choice, make_functions):
        make(pathlib.Path(temporary))
