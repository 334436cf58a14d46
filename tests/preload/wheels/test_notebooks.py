"""`%%fp32shim` in a notebook that nbconvert executes in the kernel of `fp32shim kernel install` (docs/notebooks.md)."""

import os
import pathlib
import subprocess
import sys

import pytest

import shim

for name in ("ipykernel", "nbconvert", "nbformat", "pandas"):
    pytest.importorskip(name, reason=f"{name} is not in this environment")
import nbformat  # noqa: E402

COMMAND = pathlib.Path(os.environ.get("FP32SHIM_COMMAND", shim.BUILD / "bin/fp32shim"))
CELLS = [
    "import numpy as np, fp32shim\na = np.full((64, 64), 1 + 2**-12, np.float32)",
    "def g(a):\n    return (a @ a)[0, 0]",
    "%%fp32shim\nfloat(g(a))",
    "%%fp32shim --preview tf32 -o seen\nfloat(g(a))",
    "seen.to_pandas()['where'].tolist(), fp32shim.get_precision()",
    "%%fp32shim --preview e4m3 --audit --table\nb = a @ a",
    "float(g(a))",
    "%%fp32shim --table\n1/0",
    "%%fp32shim --presicion high\n1",
]


def test_a_notebook_shows_products_of_cells_below_them(tmp_path):
    environment = shim.environment(env={
        "PYTHONPATH": str(shim.ROOT / "python"), "PATH": f"{COMMAND.parent}:{os.environ['PATH']}", "FP32SHIM_LIBRARY": str(shim.LIBRARY),
        "JUPYTER_PATH": str(tmp_path / "share/jupyter"), "HOME": str(tmp_path), "TMPDIR": str(tmp_path)})
    subprocess.run([COMMAND, "kernel", "install", "--python", sys.executable, "--prefix", tmp_path], env=environment, check=True)
    version = nbformat.v4
    book = version.new_notebook(cells=[version.new_code_cell(text) for text in CELLS])
    nbformat.write(book, tmp_path / "book.ipynb")
    subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--allow-errors", "--output", "out.ipynb",
                    "--ExecutePreprocessor.kernel_name=fp32shim", tmp_path / "book.ipynb"], env=environment, check=True, timeout=300)
    outputs = [cell.outputs for cell in nbformat.read(tmp_path / "out.ipynb", 4).cells]
    value, shown = outputs[2]
    assert value.data["text/plain"] == "64.03125" and "In [2]:2 g" in shown.data["text/plain"]
    assert "<iframe" in shown.data["text/html"] and "In [2]" in shown.data["text/html"]
    assert outputs[3][0].data["text/plain"] == "64.0" and "1 at tf32" in outputs[3][1].data["text/plain"]
    assert outputs[4][0].data["text/plain"] == "(['In [2]:2 g'], ('native', 'native'))"
    audited = outputs[5][-1].data["text/plain"]
    assert "1 at e4m3" in audited and "In [6]:2 " in audited and "1 audit" in audited and "<iframe" not in outputs[5][-1].data["text/html"]
    assert outputs[6][0].data["text/plain"] == "64.03125"
    assert [each.ename for each in outputs[7] if each.output_type == "error"] == ["ZeroDivisionError"]
    assert "--presicion" in outputs[8][0].text
    assert list(tmp_path.glob("fp32shim-*")) == []
