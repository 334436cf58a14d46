"""A page in headless Chromium, driven by Selenium: what the tests of `fp32shim report --format html` look at."""

import contextlib
import json
import os
import shutil
import socket

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
CHROMEDRIVER = shutil.which("chromedriver")

# Counts the pixels of a canvas that have been drawn on.
INK = """
const canvas = arguments[0];
const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
let ink = 0;
for (let i = 0; i < data.length; i += 4) ink += data[i + 3] > 0 ? 1 : 0;
return ink;
"""

SETTLED = """
const done = arguments[0];
setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));
"""


ENTER, SPACE = "\ue007", "\ue00d"  # WebDriver's codes for these keys


class Page:
    def __init__(self, driver, path):
        self.driver = driver
        driver.get("about:blank")
        driver.get_log("performance")  # drops messages about the browser's own start page
        driver.get(path.resolve().as_uri())

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def text(self, selector):
        """Returns the text that a reader sees, without hidden parts."""
        return self.find(selector).text

    def titles(self):
        """Returns the titles of all columns, also of those that a narrow page does not show."""
        return self.run("return [...document.querySelectorAll('#decisions thead button')].map(b => b.textContent)")

    def column(self, title):
        """Returns the first lines of a column's cells, in the order of the rows that are shown."""
        index = self.titles().index(title)
        return self.run("return [...document.querySelectorAll('#decisions tbody tr:not(.none)')]"
                        ".map(row => row.cells[arguments[0]].firstChild.textContent)", index)

    def sort_by(self, title):
        next(button for button in self.all("#decisions thead button") if button.text.startswith(title)).click()

    def sorted_by(self):
        """Returns the title and the direction of the one column that says that it is sorted."""
        [found] = self.run("return [...document.querySelectorAll('#decisions th')]"
                           ".filter(th => th.ariaSort !== 'none').map(th => [th.textContent, th.ariaSort])")
        return tuple(found)

    def ink(self, selector):
        return self.run(INK, self.find(selector))

    def background(self):
        """Returns the background colour of the page: red, green, blue."""
        colour = self.run("return getComputedStyle(document.body).backgroundColor")
        return [int(part) for part in colour.strip("rgb()").split(",")]

    def use_scheme(self, scheme):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.settle()

    def use_width(self, width):
        """Gives the page a screen of this width in pixels, as on a phone."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": True})
        self.settle()

    def press(self, key):
        """Sends a key to the element that has the focus."""
        self.driver.switch_to.active_element.send_keys(key)

    def reset_filters(self):
        self.find("#filters button").click()
        self.settle()

    def settle(self):
        """Returns when the page has run the timers that are due, and what it does before the next frame."""
        self.driver.execute_async_script(SETTLED)

    def screenshot(self, path):
        """Writes a picture of the whole page, in its full length."""
        height = self.run("return document.documentElement.scrollHeight")
        width = self.run("return innerWidth")
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.driver.save_screenshot(str(path))
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def complaints(self):
        """Returns what the page wrote to the console, and what its security policy refused."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Returns every address that was requested since the page was opened."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]


@contextlib.contextmanager
def chromium(folder):
    """Returns a driver with a fresh profile below `folder`. Skips the test if something is missing, and says what."""
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        pytest.skip("python3-selenium is not installed")
    if not CHROMIUM or not CHROMEDRIVER:
        pytest.skip("chromium or chromium-driver is not installed")
    try:
        socket.gethostbyname("localhost")  # Selenium reaches its driver by this name
    except OSError:
        pytest.skip("localhost has no address: /etc/hosts is missing, or has no line for it")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--window-size=1440,1000", "--disable-gpu", "--disable-dev-shm-usage",
                     f"--user-data-dir={folder}"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium has no sandbox for root
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Chromium makes a socket in TMPDIR, and the path of a socket has at most 107 bytes.
    elsewhere = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
    driver = webdriver.Chrome(service=Service(CHROMEDRIVER, env=elsewhere), options=options)
    try:
        yield driver
    finally:
        driver.quit()
