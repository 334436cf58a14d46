"""NVTX ranges of unmodified wheels: scopes of the products inside them."""

import importlib.util
import pathlib
import sys
import textwrap

import shim
from wheels import start

NVTX = {"FP32_MATMUL_WHERE": "nvtx", "NVTX_INJECTION64_PATH": str(shim.LIBRARY)}


def scopes_of(code, env, **keywords):
    """Returns the scopes of the products with each size m, in order."""
    result = start(sys.executable, "-c", textwrap.dedent(code), env=env, **keywords)
    found = {}
    for decision in result.decisions:
        found.setdefault(decision["m"], []).append(decision["scope"])
    return found


def test_ranges_of_torch_are_scopes():
    shim.need(importlib.util.find_spec("torch"), "torch is not installed")
    code = """
        import torch
        a = torch.ones(40, 40)
        assert torch.cuda.nvtx.range_push("outer") == 0
        a @ a
        with torch.cuda.nvtx.range("attention {}", 3):
            a[:30] @ a
        assert torch.cuda.nvtx.range_pop() == 0
        a[:20] @ a
    """
    found = scopes_of(code, NVTX)
    assert sorted(map(str, sum(found.values(), []))) == ["None", "outer", "outer/attention 3"]


def test_annotations_of_the_nvtx_package_are_scopes_of_numpy():
    package = importlib.util.find_spec("nvtx")
    shim.need(package, "the nvtx package is not installed")
    env = NVTX | {"PYTHONPATH": str(pathlib.Path(package.origin).parents[1])}
    shim.need(importlib.util.find_spec("numpy"), "numpy is not installed")
    code = """
        import threading
        import numpy as np
        import nvtx
        a = np.ones((40, 40), np.float32)

        @nvtx.annotate("attention", domain="model")
        def attention():
            a[:30] @ a
            with nvtx.annotate("inner"):
                a[:20] @ a

        @nvtx.annotate()
        def named_by_itself():
            a[:10] @ a

        attention()
        threading.Thread(target=named_by_itself).start()
        a @ a
    """
    assert scopes_of(code, env) == {30: ["model:attention"], 20: ["model:attention/inner"], 10: ["named_by_itself"],
                                     40: [None]}
    rule = """schema = 1
[cpu]
mode = "emulate"
[[rule]]
precision = "high"
when = { scope = "model:attention*" }
"""
    result = start(sys.executable, "-c", textwrap.dedent(code), env=env, policy=rule)
    assert {d["m"]: d["applied"] for d in result.decisions} == {30: "tf32", 20: "tf32", 10: "fp32", 40: "fp32"}
