"""The call paths of fp32shim report --format html, in a browser: drawn, clicked, searched, walked by keys."""

import os
import pathlib

import pytest

import browser
from command import calls_from, fp32shim, make_recording, source_file

UP, DOWN, LEFT, RIGHT, ESCAPE = "\ue013", "\ue015", "\ue012", "\ue014", "\ue00c"


@pytest.fixture
def program(tmp_path):
    """A source file, whose lines the page shows."""
    return source_file(tmp_path / "model.py", changed_at=1)


def recorded(path, program, forward="", backward=""):
    top = f"main@{program}@9"
    return make_recording(
        path, "calls",
        calls_from(f"{top};Model.forward@{program}@41;/usr/lib/libtorch.so+0x1c4", "cblas_sgemm", 64, "tf32", 60, 900000, scope=forward),
        calls_from(f"{top};Model.backward@{program}@60;/usr/lib/libtorch.so+0x1c4", "cblas_sgemm", 64, "fp32", 30, 900000, scope=backward),
        calls_from("/usr/lib/libphysics.so+0x31c4", "sgemm_", 8, "fp32", 10, 900000))


@pytest.fixture
def recording(tmp_path, program):
    return recorded(tmp_path / "a.fp32rec", program)


def boxes(page):
    """Returns text, left edge, width and row of each box with a text, from top to bottom and left to right."""
    return page.run("""
        return [...document.querySelectorAll('.box[role=treeitem]')]
          .map(box => [box.textContent, parseFloat(box.style.left), parseFloat(box.style.width), parseFloat(box.style.top) / 20])
          .sort((a, b) => a[3] - b[3] || a[1] - b[1])""")


def box(page, words):
    return next(one for one in page.all(".box[role=treeitem]") if one.text.startswith(words))


def test_boxes_are_as_wide_as_their_share_of_host_time(open_page, recording):
    page = open_page(recording)
    found = {text: (width, row) for text, _, width, row in boxes(page)}
    whole = found["all calls"][0]
    shares = {text: width / whole for text, (width, _) in found.items()}
    assert shares["main model.py:9"] == pytest.approx(0.9, abs=0.01)
    assert shares["Model.forward model.py:41"] == pytest.approx(0.6, abs=0.01)
    assert shares["libphysics.so+0x31c4"] == pytest.approx(0.1, abs=0.01)
    assert [found[text][1] for text in ("all calls", "main model.py:9", "Model.forward model.py:41")] == [0, 1, 2]
    assert page.text("#paths-legend").split("\n") == ["tf32 60.0 %", "fp32 40.0 %"]


def test_the_width_can_be_calls(open_page, recording):
    page = open_page("--sort", "flops", recording)
    assert page.run("return document.getElementById('paths-width').value") == "work"
    page.find("#paths-width option[value=calls]").click()
    whole = boxes(page)[0][2]
    assert {text: round(width / whole, 1) for text, _, width, _ in boxes(page)}["Model.backward model.py:60"] == 0.3


def test_a_click_shows_only_these_calls_everywhere(open_page, recording):
    page = open_page(recording)
    assert len(page.column("Calls")) == 3
    box(page, "Model.forward").click()
    page.settle()
    assert page.column("Calls") == ["60"] and page.column("Where") == ["model.py:41 Model.forward"]
    assert page.column("Share") == ["100.0 %"]
    assert "Only calls below main › Model.forward" in page.text("#selected")
    assert page.text("#formats tbody").startswith("tf32 60 100.0 %")
    assert page.run("return Chart.getChart('map-chart').data.datasets.flatMap(set => set.data).length") == 1
    assert page.text("#shown").startswith("Showing 1 of 1 decision of this call path: 60 calls")
    assert page.find("#timeline-all").is_displayed()
    page.find("#selected button").click()
    page.settle()
    assert len(page.column("Calls")) == 3 and not page.find("#selected").is_displayed()


def test_a_click_on_a_part_of_a_decision_shows_its_part_of_the_calls(open_page, tmp_path, program):
    words = [calls_from(f"f@{program}@{line};g@{program}@3;/usr/lib/a.so+0x4", "sgemm_", 8, "tf32", number, 90000)
             for line, number in ((1, 7), (2, 5))]
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", *words))
    assert page.column("Calls") == ["12"]
    box(page, "f model.py:2").click()
    page.settle()
    assert page.column("Calls") == ["5"]


def test_a_search_marks_what_it_finds_and_says_its_share(open_page, recording):
    page = open_page(recording)
    page.find("#paths-search").send_keys("model.backward")
    assert [one.text for one in page.all(".box.hit")] == ["Model.backward model.py:60"]
    assert "1 place found: 30.0 % of all" in page.text("#paths-answer")
    page.find("#paths-search").clear()
    page.find("#paths-search").send_keys("model.py")  # main contains the other frames, so no call counts twice
    assert "3 places found: 90.0 % of all" in page.text("#paths-answer")
    page.find("#paths-search").clear()
    page.find("#paths-search").send_keys("nothing like it")
    assert page.text("#paths-answer") == "Nothing found."


def test_keys_walk_zoom_and_search(open_page, recording):
    page = open_page(recording)
    page.run("document.getElementById('paths-graph').focus()")

    def current():
        return page.run("const id = document.getElementById('paths-graph').getAttribute('aria-activedescendant');"
                        "return document.getElementById(id).textContent")

    for key, expected in ((DOWN, "main"), (DOWN, "Model.forward"), (RIGHT, "Model.backward"), (LEFT, "Model.forward"), (UP, "main")):
        page.press(key)
        assert current().startswith(expected)
    page.press(DOWN)
    page.press(browser.ENTER)
    page.settle()
    assert page.column("Calls") == ["60"]
    page.press(ESCAPE)
    page.settle()
    assert len(page.column("Calls")) == 3
    page.press("/")
    assert page.run("return document.activeElement.id") == "paths-search"


def test_a_box_says_file_line_and_source_text(open_page, recording, program):
    page = open_page(recording)
    page.run("document.getElementById('paths-graph').focus()")
    page.press(DOWN)
    page.press(DOWN)
    text = page.text("#paths-tip")
    assert "false" not in text and text.endswith("tf32 100.0 %"), text
    assert f"{program}:41" in text and "line_41 = 'ärger <b>'" in text and "60.0 % of all" in text and "changed" not in text


@pytest.mark.parametrize("content, expected", [
    (b"\xff\xfe not text\n" * 60, "not UTF-8"),
    (b"only one line\n", "no such line"),
    (None, "No such file"),
])
def test_a_source_file_that_cannot_be_shown_is_named_as_such(open_page, recording, program, content, expected):
    if content is None:
        program.unlink()
    else:
        program.write_bytes(content)
    page = open_page(recording)
    page.run("document.getElementById('paths-graph').focus()")
    page.press(DOWN)
    assert expected in page.text("#paths-tip")


def test_a_source_file_that_was_changed_later_is_shown_as_such(open_page, recording, program):
    os.utime(program, (4e9, 4e9))
    page = open_page(recording)
    page.run("document.getElementById('paths-graph').focus()")
    page.press(DOWN)
    assert "line_9" in page.text("#paths-tip") and "changed after the first call" in page.text("#paths-tip")


def test_only_source_files_are_read(recording, tmp_path, program):
    secret = tmp_path / "id_rsa"
    secret.write_text("secret words\n" * 60)
    other = make_recording(tmp_path / "b.fp32rec", "summary", calls_from(f"f@{secret}@1;/a.so+0x4", "sgemm_", 8, "tf32", 1, 900))
    html = fp32shim("report", "--format", "html", other).stdout
    assert "secret words" not in html and "its name is not that of a source file" in html
    program.unlink()
    os.mkfifo(program)
    assert "not a regular file" in fp32shim("report", "--format", "html", recording).stdout


def test_scopes_come_first_with_lines_below_them_and_call_paths_can_be_chosen(open_page, tmp_path, program):
    page = open_page(recorded(tmp_path / "a.fp32rec", program, forward="net/layers.0", backward="net/layers.1"))
    found = {text: row for text, _, _, row in boxes(page)}
    assert found == {"all calls": 0, "net": 1, "(no scope)": 1, "layers": 2, "sgemm_": 2, "0": 3, "1": 3,
                     "model.py:41 Model.forward": 4, "model.py:60 Model.backward": 4, "cblas_sgemm": 5}
    box(page, "net").click()
    page.settle()
    assert sorted(page.column("Calls")) == ["30", "60"]
    page.find("#paths-of option[value=paths]").click()
    assert "main model.py:9" in [text for text, *_ in boxes(page)] and len(page.column("Calls")) == 3


TORCH = "/usr/lib/python3/dist-packages/torch/nn/modules"


@pytest.fixture
def of_torch(tmp_path, program):
    call = f"Module.call@{TORCH}/module.py@1194"
    into = f"main@{program}@9;{call};Model.forward@{program}@41;{call};"
    return make_recording(
        tmp_path / "a.fp32rec", "summary",
        calls_from(f"{into}Linear.forward@{TORCH}/linear.py@114;/usr/lib/libtorch_cpu.so+0x1c4", "sgemm_", 64, "tf32", 60, 900000),
        calls_from(f"{into}Attention.forward@{TORCH}/activation.py@9;/usr/lib/libtorch_cpu.so+0x1c4", "sgemm_", 8, "fp32", 40, 900000))


def test_frames_of_torch_are_one_box_that_a_click_opens(open_page, of_torch):
    page = open_page(of_torch)
    folded = ["all calls", "main model.py:9", "Module.call module.py:1194", "Model.forward model.py:41", "torch (5 frames)", "sgemm_"]
    assert [text for text, *_ in boxes(page)] == folded
    assert box(page, "torch (5").get_attribute("aria-expanded") == "false"
    box(page, "torch (5").click()
    page.settle()
    opened = [text for text, *_ in boxes(page)]
    assert "Linear.forward linear.py:114" in opened and opened.count("sgemm_") == 2 and len(page.column("Calls")) == 2
    box(page, "Linear.forward").click()
    page.settle()
    assert page.column("Calls") == ["60"]
    page.find("#paths-fold").click()  # opens all
    assert page.column("Calls") == ["60"]
    page.find("#paths-fold").click()
    page.settle()
    assert "torch (5 frames)" in [text for text, *_ in boxes(page)]
    assert page.column("Calls") == ["60", "40"] and "torch (5 frames)" in page.text("#selected")  # what the box has


def test_keys_open_a_folded_box_and_a_search_finds_its_frames(open_page, of_torch):
    page = open_page(of_torch)
    page.run("document.getElementById('paths-graph').focus()")
    for _ in range(4):
        page.press(DOWN)
    assert "A click shows its frames" in page.text("#paths-tip")
    page.press(browser.ENTER)
    page.settle()
    assert "Linear.forward linear.py:114" in [text for text, *_ in boxes(page)]
    page = open_page(of_torch)
    page.find("#paths-search").send_keys("linear.py")
    assert [one.text for one in page.all(".box.hit")] == ["Linear.forward linear.py:114"] and "60.0 % of all" in page.text("#paths-answer")


def test_without_scopes_there_is_no_choice_of_levels(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", "sgemm_:8:high:tf32:as_requested:3"))
    assert not page.find("#paths-levels").is_displayed() and not page.find("#paths-fold").is_displayed()
    assert [text for text, *_ in boxes(page)] == ["all calls", "libcaller.so", "sgemm_"]


def test_rows_can_be_grouped_by_where(open_page, recording):
    page = open_page("--by", "where", recording)
    assert page.column("Where") == ["model.py:41 Model.forward", "model.py:60 Model.backward", "–"]


@pytest.mark.parametrize("words, rows", [("where,function", 3), ("precision", 2)])
def test_a_page_begins_with_the_groups_that_were_asked_for(open_page, recording, words, rows):
    page = open_page("--by", words, recording)
    assert page.run("return document.getElementById('filter-by').value") == words.replace(",", " ")
    assert len(page.column("Calls")) == rows


def test_names_of_frames_are_text(open_page, tmp_path):
    hostile = "</script><img src=x onerror=document.title='owned'>"
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", calls_from(f"{hostile}@/x.py@1", "sgemm_", 8, "tf32", 1, 900)))
    assert boxes(page)[1][0].startswith(hostile) and page.all("img") == []


@pytest.mark.parametrize("scheme, width", [("light", 1440), ("dark", 1440), ("light", 400)])
def test_boxes_have_colours_of_their_formats_and_a_narrow_page_has_room(open_page, recording, tmp_path, scheme, width):
    from selenium.webdriver.support.ui import WebDriverWait
    page = open_page(recording)
    page.use_scheme(scheme)
    if width < 1000:
        page.run("window.earlierBox = document.querySelector('.box[role=treeitem]')")
        page.use_width(width)
        # The page draws new boxes some time after the change.
        WebDriverWait(page.driver, 600).until(lambda _: page.run("return !window.earlierBox.isConnected"))
        assert page.run("return document.documentElement.scrollWidth") == width
    colours = page.run("return [...document.querySelectorAll('.box[role=treeitem]')].map(box => getComputedStyle(box).backgroundImage)")
    assert len(set(colours)) >= 3 and all("linear-gradient" in colour for colour in colours)
    hatched = [page.run("return arguments[0].querySelectorAll('.hatch.rising').length", box(page, words)) for words in ("main", "Model.forward", "Model.backward")]
    assert hatched == [1, 1, 0]  # TF32 has a hatch, FP32 none
    page.screenshot(pathlib.Path(os.environ.get("FP32SHIM_SCREENSHOTS", tmp_path)) / f"flame-{scheme}-{width}.png")


def seconds_to_open(open_page, driver, recording):
    """Returns the page, and the processor time of its thread, which other programs do not affect."""
    driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    try:
        page = open_page(recording)
        page.settle()
        metrics = {one["name"]: one["value"] for one in driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]}
    finally:
        driver.execute_cdp_cmd("Performance.disable", {})
    opened = page.run("const [timing] = performance.getEntriesByType('navigation'); return timing.loadEventEnd - timing.startTime")
    print(f"opened in {opened:.0f} ms; {1000 * metrics['TaskDuration']:.0f} ms of the page's thread")
    return page, metrics["TaskDuration"]


def test_a_hundred_thousand_call_paths_open_in_a_time_that_grows_as_they_do(open_page, driver, tmp_path):
    def of_so_many(paths):
        words = [calls_from("main@/app/train.py@9;layer_%@/app/model.py@41;/usr/lib/libtorch.so+0x1c4", "sgemm_", f"1-{paths}", "tf32", 1, 9000)]
        return make_recording(tmp_path / f"{paths}.fp32rec", "summary", "--rows", "200000", *words)

    _, few = seconds_to_open(open_page, driver, of_so_many(10000))
    page, many = seconds_to_open(open_page, driver, of_so_many(100000))
    assert 0 < few and many < 30 * few  # with quadratic time the ratio would be 100
    assert page.run("return document.querySelectorAll('.box').length") < 10000
    page.find("#paths-search").send_keys("layer_77777")
    assert "1 place found" in page.text("#paths-answer")
