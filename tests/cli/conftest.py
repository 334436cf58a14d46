import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "preload")]

import browser  # noqa: E402
import command  # noqa: E402


@pytest.fixture(autouse=True)
def command_is_built():
    command.shim.need(command.COMMAND.exists(), f"{command.COMMAND} was not built")


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with browser.chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def open_page(driver, tmp_path):
    """open_page(WORDS) opens the report of these recordings, or the page of another command, in the browser. At the end of
    the test, there must be no complaint, and no request for anything but the page itself."""
    pages = []

    def open_report(*words, status=0, name="report"):
        file = tmp_path / f"report{len(pages)}.html"
        result = command.fp32shim(name, "--format", "html", "--output", file, *words)
        assert (result.returncode, result.stdout) == (status, ""), result.stderr
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        pages.append(browser.Page(driver, file))
        return pages[-1]

    yield open_report
    assert pages[-1].complaints() == []
    assert [url for url in pages[-1].requests() if not url.startswith(("file:", "data:"))] == []
