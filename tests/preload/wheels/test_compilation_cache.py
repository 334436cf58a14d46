"""JAX under `fp32shim run`: what it compiles is kept by policy, and found again under the same one."""

import os
import pathlib
import subprocess
import sys

import shim
from wheels import KEEP_BYTE_CODE

COMMAND = pathlib.Path(os.environ.get("FP32SHIM_COMMAND", shim.BUILD / "bin/fp32shim"))
PROGRAM = """
import jax
import jax.numpy as jnp
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
print(float(jax.jit(lambda a: a @ a + 1)(jnp.ones((64, 64)))[0, 0]))
"""


def compiled(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*-cache")}


def test_jax_compiles_once_for_each_policy(tmp_path):
    folder = tmp_path / "cache"
    seen = []
    for precision in ("native", "high", "high"):
        done = subprocess.run([COMMAND, "run", "-q", "--precision", precision, "--", sys.executable, "-c", PROGRAM],
                              env=shim.environment(env={**KEEP_BYTE_CODE, "JAX_PLATFORMS": "cpu",
                                                        "JAX_COMPILATION_CACHE_DIR": str(folder)}),
                              capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "65.0\n"), done.stderr
        seen.append(compiled(folder))
    native, high = seen[0], seen[1] - seen[0]
    assert native and all(name.startswith("jit_") for name in native)
    assert high and len({name.split("/")[0] for name in high}) == 1 and "/" in min(high)
    assert seen[2] == seen[1]
