"""`%%fp32shim` in the kernel of `fp32shim kernel install` (docs/python.md): notebooks that nbconvert and JupyterLab execute."""

import os
import pathlib
import shutil
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


@pytest.fixture
def environment(tmp_path):
    """The environment of a Jupyter that has the kernel."""
    variables = shim.environment(env={
        "PYTHONPATH": str(shim.ROOT / "python"), "PATH": f"{COMMAND.parent}:{os.environ['PATH']}", "FP32SHIM_LIBRARY": str(shim.LIBRARY),
        "JUPYTER_PATH": str(tmp_path / "share/jupyter"), "HOME": str(tmp_path), "TMPDIR": str(tmp_path)})
    subprocess.run([COMMAND, "kernel", "install", "--python", sys.executable, "--prefix", tmp_path], env=variables, check=True)
    return variables


def write_book(path, cells):
    version = nbformat.v4
    kernel = {"name": "fp32shim", "display_name": "Python 3 (fp32shim)", "language": "python"}
    nbformat.write(version.new_notebook(cells=[version.new_code_cell(text) for text in cells], metadata={"kernelspec": kernel}), path)


def executed(cells, folder, environment):
    """Executes cells by nbconvert. Returns their outputs."""
    write_book(folder / "book.ipynb", cells)
    subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--allow-errors", "--output", "out.ipynb",
                    folder / "book.ipynb"], env=environment, check=True, timeout=300)
    return [cell.outputs for cell in nbformat.read(folder / "out.ipynb", 4).cells]


def test_a_notebook_shows_products_of_cells_below_them(tmp_path, environment):
    outputs = executed(CELLS, tmp_path, environment)
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


# Options with which a cell does not run, and the line that is printed instead.
REFUSED = {
    "--policy bad.toml": "bad.toml:2:11: default: found \"hihg\"",
    "--policy missing.toml": "missing.toml: cannot be read",
    "--policy audit.toml --audit": "audit.toml has audit settings of its own",
    "--policy high.toml --precision high": "found --precision together with --policy",
    "--policy": "expected one argument",
    "--precision hihg": "'hihg'",
    "--audit 2": "found '2'; allowed: a number above 0, up to 1",
    "--audit x": "found 'x'; allowed: a number above 0, up to 1",
    "--precision 'high": "No closing quotation",
    "-o 1x": "found '1x'",
}


def test_a_wrong_option_is_one_line_and_the_cell_does_not_run(tmp_path, environment):
    (tmp_path / "bad.toml").write_text('schema = 1\ndefault = "hihg"\n')
    (tmp_path / "audit.toml").write_text("schema = 1\n[audit]\nsample = 1\n")
    (tmp_path / "high.toml").write_text('schema = 1\ndefault = "high"\n[cpu]\nmode = "emulate"\n')
    cells = [CELLS[0] + "\nruns = 0", *(f"%%fp32shim {options}\nruns += 1" for options in REFUSED),
             "%%fp32shim --table --policy high.toml\nruns += 1\nfloat((a @ a)[0, 0])", "runs"]
    _, *refused, allowed, runs = executed(cells, tmp_path, environment)
    for output, message in zip(refused, REFUSED.values()):
        assert len(output) == 1 and output[0].text.count("\n") == 1 and message in output[0].text, (message, output)
    assert allowed[0].data["text/plain"] == "64.0" and "high (file)" in allowed[1].data["text/plain"]
    assert runs[0].data["text/plain"] == "1"


def test_jupyterlab_draws_the_flame_graph_below_the_cell_from_the_cell_on(tmp_path, environment):
    pytest.importorskip("jupyterlab", reason="jupyterlab is not in this environment")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not in this environment")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    shim.need(chromium, "chromium is not installed")
    write_book(tmp_path / "book.ipynb", CELLS[:3])
    server = subprocess.Popen([sys.executable, "-m", "jupyterlab", "--allow-root", "--no-browser", "--port=0", "--ServerApp.password=",
                               "--IdentityProvider.token=", f"--ServerApp.root_dir={tmp_path}"], env=environment,
                              stderr=subprocess.PIPE, text=True)
    try:
        address = next(line.split()[-1] for line in server.stderr if "http://" in line and line.endswith("/lab\n"))
        with playwright.sync_playwright() as tools:
            browser = tools.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            page = browser.new_page(viewport={"width": 1000, "height": 1300})
            page.set_default_timeout(90_000)
            page.goto(f"{address}/tree/book.ipynb?reset", wait_until="domcontentloaded")
            page.wait_for_selector(".jp-Notebook .jp-CodeCell")
            page.get_by_text("| Idle").wait_for()
            page.click("text=Run >> nth=0")
            page.get_by_text("Run All Cells", exact=True).first.click()
            frame = page.frame_locator("iframe[title^=fp32shim]")
            page.wait_for_selector("iframe[title^=fp32shim]")
            page.wait_for_timeout(3000)
            page.screenshot(path=tmp_path / "lab.png")  # also makes a browser without a screen draw the frame
            frame.locator("#paths-graph").wait_for()
            boxes = frame.locator("#paths-graph").inner_text().splitlines()
            text = frame.locator("body").inner_text()
            browser.close()
    finally:
        server.terminate()
        server.communicate(timeout=60)
    assert boxes[:3] == ["all calls", "<module> In [3]:2", "g In [2]:2"], boxes
    assert "More calls may follow" not in text and "kernel.py" not in text.split("The run")[0]
