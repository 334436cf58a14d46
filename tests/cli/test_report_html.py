"""fp32shim report --format html, in a browser: what a reader sees, clicks and types. And --output, which it is for."""

import json
import os
import pathlib
import re
import stat
import subprocess
import textwrap

import pytest

import browser
import shim
from command import COMMAND, calls_from, environment, fp32shim, live_recording, make_recording

TF32 = "cblas_sgemm:128:high:tf32:as_requested:1000:2"
REFUSED = "cblas_sgemm:64:high:fp32:cpu_mode_off:10"
EXACT = "sgemm_:32:native:fp32:as_requested:7"
OBSERVED = "sbgemm_:32:native:unchanged:observed:5"
HOSTILE = "</script><img src=x onerror=document.title='owned'><!--"


def page_data(html):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])


def milliseconds(text):
    """Returns the milliseconds in a cell of the column `Host time`."""
    value, unit = text.removeprefix("≈ ").split()
    return float(value) * {"ns": 1e-6, "µs": 1e-3, "ms": 1, "s": 1e3}[unit]


# Layers and products of many sizes. The policy below decides by size.
TORCH = """
    import torch
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(96, 160), torch.nn.ReLU(), torch.nn.Linear(160, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for step in range(20):
        loss = model(torch.randn(48, 96)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for n in (8, 16, 64, 256):
        for _ in range(10):
            torch.randn(n, n) @ torch.randn(n, n)
"""
TORCH_POLICY = """
    schema = 1
    name = "layers"
    revision = "3"
    [[rule]]
    name = "small products stay exact"
    precision = "highest"
    when = { max_dim = "<=64" }
"""


@pytest.fixture(scope="module")
def torch_recording(tmp_path_factory):
    shim.need(shim.has_module("torch"), f"{shim.SYSTEM_PYTHON} has no torch (python3-torch)")
    folder = tmp_path_factory.mktemp("torch")
    (folder / "train.py").write_text(textwrap.dedent(TORCH))
    (folder / "policy.toml").write_text(textwrap.dedent(TORCH_POLICY))
    result = fp32shim("run", "--quiet", "--precision", "high", "--cpu", "emulate", "--policy", folder / "policy.toml",
                      "--log", folder / "torch.fp32rec", "--level", "calls", "--", shim.SYSTEM_PYTHON, folder / "train.py",
                      timeout=600)
    assert result.returncode == 0, result.stderr
    return folder / "torch.fp32rec"


def test_a_torch_run_is_a_page_that_sorts_and_filters(open_page, torch_recording, tmp_path):
    report = fp32shim("report", "--format", "json", torch_recording).json
    page = open_page(torch_recording)
    assert page.find("title").get_attribute("text").startswith("python3")
    head = page.text("header")
    for word in ("default high", "CPU mode emulate", "policy layers, revision 3", str(report["processes"][0]["pid"])):
        assert word in head
    assert page.text("#command") == report["processes"][0]["command"]
    assert page.text("#totals dd") == f"{report['totals']['calls']:,}"
    assert not page.find("#warnings").is_displayed()

    rows = len(report["rows"])
    assert rows > 6 and len(page.column("Calls")) == rows
    assert page.sorted_by() == ("Host time", "descending")
    times = [milliseconds(text) for text in page.column("Host time")]
    assert times == sorted(times, reverse=True)

    page.sort_by("Calls")
    calls = [int(text.replace(",", "")) for text in page.column("Calls")]
    assert page.sorted_by() == ("Calls", "descending")
    assert calls == sorted(calls, reverse=True) and sum(calls) == report["totals"]["calls"]
    page.sort_by("Calls")
    assert page.sorted_by() == ("Calls", "ascending") and page.column("Calls") != [f"{count:,}" for count in calls]
    page.sort_by("Requested")
    assert page.sorted_by() == ("Requested", "ascending")
    assert page.column("Requested") == sorted(page.column("Requested"))

    page.find("#filter-text").send_keys("small products 64×64×64")
    assert page.column("Size m×n×k") == ["64×64×64"] and page.column("Requested") == ["highest"]
    assert page.text("#shown").startswith(f"Showing 1 of {rows} decisions: 10 calls")
    page.reset_filters()
    page.find("#filter-applied option[value=tf32]").click()
    expected = sum(row["applied"] == "tf32" for row in report["rows"])
    assert 0 < len(page.column("Calls")) == expected < rows

    page.screenshot(screenshots(tmp_path) / "torch.png")


def screenshots(tmp_path):
    """The folder for screenshots. FP32SHIM_SCREENSHOTS can name one in which people look at them."""
    return pathlib.Path(os.environ.get("FP32SHIM_SCREENSHOTS", tmp_path))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_are_drawn_in_both_colour_schemes(open_page, tmp_path, scheme):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "calls", TF32, REFUSED, EXACT))
    page.use_scheme(scheme)
    red, green, blue = page.background()
    assert (red + green + blue > 3 * 230) == (scheme == "light")
    for chart in ("#formats-chart", "#timeline-chart", "#map-chart"):
        assert page.find(chart).is_displayed() and page.ink(chart) > 2000, chart
    # Texts in charts have the colour of the page's text, and follow a change of the colour scheme.
    colours = page.run("return [Chart.getChart('map-chart').options.color, getComputedStyle(document.documentElement)"
                       ".getPropertyValue('--muted').trim()]")
    assert colours[0] == colours[1]
    page.screenshot(screenshots(tmp_path) / f"{scheme}.png")


def test_a_page_is_printed_in_light_colours(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "calls", TF32))
    page.use_scheme("dark")
    assert page.run("dispatchEvent(new Event('beforeprint'));"
                    "return getComputedStyle(document.documentElement).getPropertyValue('--text')") == "#1b1f24"
    assert page.run("return Chart.getChart('map-chart').options.color") == "#59626d"
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.run("return Chart.getChart('map-chart').options.color") == "#a2abb5"


def test_heights_of_charts_can_be_chosen(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "calls", TF32, EXACT))
    page.find("#timeline-height option[value=calls]").click()
    page.find("#map-height option[value=calls]").click()
    axes = page.run("return ['timeline-chart', 'map-chart'].map(id => Chart.getChart(id).options.scales.y.title.text)")
    assert axes == ["calls per second", "number of calls"]
    heights = page.run("return Chart.getChart('map-chart').data.datasets.flatMap(set => set.data.map(point => point.y))")
    assert sorted(heights) == [7, 2000]


def test_the_timeline_has_every_call_and_its_time(tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "calls", TF32, REFUSED)
    data = page_data(fp32shim("report", "--format", "html", recording).stdout)
    bins = data["timeline"]["bins"]
    assert sum(sum(one["calls"]) for one in bins) == 2010
    assert bins[-1]["number"] < 240
    # Ticks are rounded to nanoseconds once for each call in the bins, and once for each sum in the totals.
    assert abs(sum(sum(one["host_ns"]) for one in bins) - data["totals"]["host_ns"]) <= 2010 * 2


# Labels of the axis below the timeline: where each begins and ends, and its text.
TIME_TICKS = """
const chart = Chart.getChart("timeline-chart");
const axis = Object.values(chart.scales).find((scale) => scale.axis === "x" && scale.options.display);
chart.ctx.font = `12px ${Chart.defaults.font.family}`;
return axis.ticks.map((tick, i) => {
  const half = chart.ctx.measureText(tick.label).width / 2;
  return [axis.getPixelForTick(i) - half, axis.getPixelForTick(i) + half, tick.label];
});
"""


@pytest.mark.parametrize("width", [400, 1280])
def test_times_below_the_timeline_are_round_and_have_room(open_page, tmp_path, width):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "calls", TF32, EXACT))
    page.use_width(width)
    ticks = page.run(TIME_TICKS)
    assert len(ticks) >= 2  # 0 and one more; steps of 1, 2, 5 may leave no room for others on a narrow page
    assert all(end < begin for (_, end, _), (begin, _, _) in zip(ticks, ticks[1:]))
    first, *others = [text for _, _, text in ticks]
    step, unit = others[0].split()
    assert first == "0" and re.fullmatch("(1|2|5|10|20|50|100|200|500)", step) and unit.endswith("s")


def test_a_narrow_page_does_not_scroll_sideways(open_page, tmp_path):
    program = tmp_path / ("a_program_of_one_long_word" * 8)
    program.symlink_to(shim.client("make_recording"))
    page = open_page(make_recording(tmp_path / "a.fp32rec", "calls", TF32, EXACT, REFUSED, program=program))
    assert str(program)[:150] in page.text("header")  # the page cuts names longer than 400 bytes
    for width in (400, 320):
        page.use_width(width)
        assert page.run("return document.documentElement.scrollWidth") == width


def test_one_call_is_one_call(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "calls", "cblas_sgemm:8:native:fp32:as_requested:1"))
    assert page.run("return [...document.querySelectorAll('#totals dt')].map(name => name.textContent)") == [
        "call", "host time", "work", "distinct decision", "recording"]


def test_a_summary_has_no_timeline_and_says_why(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", TF32))
    assert not page.find("#timeline-chart").is_displayed()
    assert "--level calls" in page.text("#timeline-note")


def test_warnings_stand_out_and_lead_to_their_rows(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", TF32, REFUSED, OBSERVED))
    text = page.text("#warnings")
    assert "10 calls did not run as requested" in text
    assert "10 calls: high requested, fp32 applied (cpu_mode_off)" in text
    assert "5 calls were only observed" in text
    page.find("#warnings button").click()
    assert page.column("Reason") == ["cpu_mode_off"]


def test_no_match_is_said_and_a_reset_shows_all(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", TF32, EXACT))
    page.find("#filter-text").send_keys("nothing of this name")
    assert page.column("Calls") == []
    assert "No decision matches" in page.text("#decisions tbody")
    assert page.text("#shown").startswith("Showing 0 of 2 decisions")
    page.sort_by("Function")
    page.reset_filters()
    assert page.column("Function") == ["cblas_sgemm", "sgemm_"]


def test_hostile_names_are_shown_and_do_nothing(open_page, tmp_path):
    folder = tmp_path / "<"  # a folder, since the `/` in </script> separates folders of a path
    folder.mkdir()
    program = folder / HOSTILE.removeprefix("</")
    program.symlink_to(shim.client("make_recording"))
    done = subprocess.run([program, tmp_path / "a.fp32rec", "calls", f"{HOSTILE}{{{{data}}}}\u2028:8:high:tf32:as_requested:3"],
                          env=environment(), check=False)
    assert done.returncode == 0
    page = open_page(tmp_path / "a.fp32rec")
    assert HOSTILE in page.text("#decisions") and HOSTILE in page.text("#facts")
    assert page.all("img") == [] and page.run("return document.title") != "owned"
    assert page.column("Calls") == ["3"]


def test_hostile_scopes_and_rules_of_a_real_run_are_shown_and_do_nothing(open_page, tmp_path):
    shim.need(shim.has_module("numpy"), f"{shim.SYSTEM_PYTHON} has no numpy (python3-numpy)")
    (tmp_path / "policy.toml").write_text(f'schema = 1\n[[rule]]\nname = "{HOSTILE}"\nprecision = "highest"\n')
    (tmp_path / "scope.py").write_text(textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(shim.ROOT / "python")!r})
        import fp32shim
        import numpy
        with fp32shim.scope({HOSTILE!r}):
            numpy.ones((9, 9), numpy.float32) @ numpy.eye(9, dtype=numpy.float32)
    """))
    result = fp32shim("run", "--quiet", "--policy", tmp_path / "policy.toml", "--log", tmp_path / "a.fp32rec", "--",
                      shim.SYSTEM_PYTHON, tmp_path / "scope.py", HOSTILE)
    assert result.returncode == 0, result.stderr
    page = open_page(tmp_path / "a.fp32rec")
    text = page.text("#decisions")
    # numpy multiplies two vectors when it is imported.
    assert [scope for scope in page.column("Scope") if scope != "–"] == [HOSTILE] and f"rule “{HOSTILE}”" in text and HOSTILE in page.text("#facts")
    assert page.all("img") == [] and page.run("return document.title") != "owned"


def test_many_recordings_are_one_page(open_page, tmp_path):
    for i in range(7):
        make_recording(tmp_path / f"{i}.fp32rec", "calls", TF32, EXACT)
    page = open_page(tmp_path)
    assert page.text("#totals dd") == "14,049"
    assert len(page.column("Calls")) == 2
    assert "and 2 more" in page.text("header")
    page.find("#processes summary").click()
    assert len(page.all("#processes tbody tr")) == 7


def test_a_damaged_recording_is_shown_with_a_warning(open_page, tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "calls", TF32, EXACT)
    whole = recording.read_bytes()
    recording.write_bytes(whole[:3 * 65536 + 100])
    page = open_page(recording, status=1)
    assert "Recordings are damaged" in page.text("#warnings")
    assert "a.fp32rec: offset" in page.text("#warnings")


def test_a_recording_without_calls_is_a_page_that_says_so(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary"))
    assert "No calls were recorded" in page.text("#decisions")
    assert not page.find("#map-chart").is_displayed() and not page.find("#complete").is_displayed()
    shown = [title.text for title in page.all("h2") if title.is_displayed() and title.text]
    assert shown == ["No calls were recorded", "Totals", "Decisions", "The run"]


def test_a_filter_of_the_command_line_is_said(open_page, tmp_path):
    page = open_page("--m", "32", make_recording(tmp_path / "a.fp32rec", "calls", TF32, EXACT))
    assert page.text("#totals dd") == "7" and "filters of the command line" in page.text("#filtered")


def test_changes_are_listed_and_drawn(open_page, tmp_path):
    program = live_recording(tmp_path / "a.fp32rec", "calls", TF32)
    changed = fp32shim("set", program.pid, "highest")
    program.communicate()
    assert changed.returncode == 0, changed.stderr
    page = open_page(tmp_path / "a.fp32rec")
    assert "precision highest" in page.text("#changes tbody")


def test_audits_and_the_first_nan_or_infinity_have_tables(open_page, tmp_path):
    log = tmp_path / "audited.fp32rec"
    program = "import numpy as np\nfor a in (np.ones((8, 4), 'f'), np.full((16, 4), 1e30, 'f')): a @ a.T[:, :3].copy()\n"
    policy = 'schema = 1\n[audit]\nsample = 1\nagainst = "tf32"\nnonfinite = true\n'
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    shim.run(shim.SYSTEM_PYTHON, "-c", program, policy=policy, log=log, env={"FP32_MATMUL_WHERE": "python"})
    page = open_page(log)
    # Only the audits did. numpy multiplies two vectors when it is imported.
    assert page.text("#verdict-title") in {f"None of {calls} recorded calls ran below FP32" for calls in (2, 3)}
    found = page.text("#nonfinite table")
    assert "Found" in found and "|A| below" in found and "cblas_sgemm" in found and "infinity" in found and "2^100" in found
    audits = page.text("#audits table")
    assert "Component" in audits and "tf32 with fp32" in audits and "16x3x4" in audits and "8x3x4" in audits
    assert len(page.all("#nonfinite tbody tr")) == 1 and len(page.all("#audits tbody tr")) == 2


def test_without_audits_their_tables_are_hidden(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "calls", TF32))
    assert not page.find("#audits").is_displayed() and not page.find("#nonfinite").is_displayed()


# Two thousand decisions at FP32, each of which takes longer than any other decision.
MANY = "sgemm_:1-2100:native:fp32:as_requested:1:1:900000"


@pytest.mark.parametrize("level", ["summary", "calls"])
def test_a_filter_finds_what_ran_below_fp32_however_little_time_it_took(open_page, tmp_path, level):
    page = open_page(make_recording(tmp_path / "a.fp32rec", level, MANY, "cblas_sgemm:8:high:tf32:as_requested:3:1:10"))
    page.find("#filter-applied option[value=tf32]").click()
    assert page.column("Function") == ["cblas_sgemm"] and page.column("Calls") == ["3"]
    assert page.text("#shown").startswith("Showing 1 of 2,101 decisions: 3 calls")
    assert page.text("#answer-note") == ""
    page.find("#filter-applied option[value=fp32]").click()
    assert page.text("#shown").startswith("Showing 2,100 of 2,101 decisions: 2,100 calls")


def test_a_filter_finds_what_did_not_run_as_requested_however_little_time_it_took(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", MANY, "cblas_sgemm:8:high:fp32:cpu_mode_off:3:1:10"))
    page.find("#filter-refused").click()
    assert page.column("Reason") == ["cpu_mode_off"]
    assert page.text("#shown").startswith("Showing 1 of 2,101 decisions: 3 calls")


def test_an_answer_says_what_it_may_lack(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", MANY,
                                    "cblas_sgemm:7000-7099:native:fp32:as_requested:2:1:10"))
    # The page knows the hundred shortest by function and size class only, so a filter by function counts every call.
    assert "101 decisions" not in page.text("#shown") and "100 decisions of them are not listed" not in page.text("#shown")
    page.find("#filter-function option[value=cblas_sgemm]").click()
    assert page.text("#shown").startswith("Showing 100 of 2,200 decisions: 200 calls")
    assert page.column("Size m×n×k") == ["4097–8192"]
    assert "100 decisions of them are not listed one by one" in page.text("#answer-note")
    page.find("#filter-text").send_keys("7050x7050")
    assert page.text("#shown").startswith("Showing 0 of 2,200 decisions")
    note = page.text("#answer-note")
    assert "Not certain: 100 further decisions (200 calls)" in note and "fp32shim report --format csv" in note
    assert "warning" in page.find("#answer-note").get_attribute("class")
    page.reset_filters()
    assert page.text("#shown").startswith("Showing 2,200 of 2,200 decisions: 2,300 calls")


def test_a_page_is_bounded_and_still_counts_every_call(open_page, tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "calls", "sgemm_:1-22100:high:tf32:as_requested:2")
    page = open_page(recording)
    assert (tmp_path / "report0.html").stat().st_size < 4_500_000
    assert page.text("#totals dd") == "44,200"
    assert len(page.column("Calls")) == 1000 and page.text("#more-rows").startswith("19,00")
    assert page.text("#shown").startswith("Showing 22,100 of 22,100 decisions: 44,200 calls")
    assert "2,100 decisions of them are not listed one by one" in page.text("#answer-note")
    page.find("#filter-applied option[value=tf32]").click()
    assert page.text("#shown").startswith("Showing 22,100 of 22,100 decisions: 44,200 calls")
    page.find("#filter-text").send_keys("12345x12345x12345")
    page.settle()
    assert len(page.column("Calls")) <= 1
    assert "2,100 decisions that the table sums up" in page.text("#map-note")


def test_all_rows_can_be_had(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", "sgemm_:1-1500:high:tf32:as_requested:2"))
    assert len(page.column("Calls")) == 1000 and page.text("#more-rows") == "500 more rows of this table"
    page.find("#more button").click()
    assert len(page.column("Calls")) == 1500 and not page.find("#more").is_displayed()


@pytest.mark.parametrize("words", ["128x512", "128×512", "128X512x64", "128 x 512", "x512x", "128*512"])
def test_a_size_is_found_however_it_is_written(open_page, tmp_path, words):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", "sgemm_:128x512x64:high:tf32:as_requested:2",
                                    "cblas_sgemm:512x128x64:high:tf32:as_requested:2", "lib2x4_:9:high:tf32:as_requested:1"))
    page.find("#filter-text").send_keys(words)
    assert page.column("Size m×n×k") == ["128×512×64"]
    page.reset_filters()
    page.find("#filter-text").send_keys("2x4")
    assert page.column("Function") == ["lib2x4_"]


def test_decisions_are_grouped_by_function_and_size(open_page, tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", "sgemm_:65-128:high:tf32:as_requested:2",
                               "sgemm_:129:high:tf32:as_requested:3", "cblas_sgemm:100:native:fp32:as_requested:5")
    page = open_page(recording)
    assert len(page.column("Calls")) == 66
    page.find("#filter-by option[value='function size']").click()
    page.sort_by("Calls")
    assert list(zip(*map(page.column, ("Function", "Largest of m, n, k", "Applied", "Decisions", "Calls")))) == [
        ("sgemm_", "65–128", "", "64", "128"), ("cblas_sgemm", "65–128", "", "1", "5"), ("sgemm_", "129–256", "", "1", "3")]
    page.find("#filter-by option[value='size']").click()
    page.find("#filter-applied option[value=tf32]").click()
    assert page.column("Calls") == ["128", "3"] and "Function" not in page.titles()
    page.reset_filters()
    assert len(page.column("Calls")) == 66
    page = open_page("--by", "function", recording)
    assert sorted(page.column("Calls")) == ["131", "5"] and "Largest of m, n, k" not in page.titles()


def test_a_share_that_is_not_nothing_is_not_written_as_nothing(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", "sgemm_:8:high:fp32:as_requested:20000:1:100000",
                                    "cblas_sgemm:8:high:tf32:as_requested:1:1:10"))
    assert "<0.1 %" in page.text("#formats") and ">99.9 %" in page.text("#formats") and "0.0 %" not in page.text("body")
    assert page.column("Share") == [">99.9 %", "<0.1 %"]


def test_the_median_the_shortest_and_the_longest_call_stand_beside_the_mean(open_page, tmp_path):
    # Long calls, which are all timed. Every tenth of the 100 takes ten times as long.
    ticks = ",".join(["10000000"] * 9 + ["100000000"])
    for level in ("calls", "summary"):
        recording = make_recording(tmp_path / f"{level}.fp32rec", level, f"sgemm_:8:high:tf32:as_requested:100:1:{ticks}")
        [row] = fp32shim("report", "--format", "json", recording).json["rows"]
        page = open_page(recording)
        cell = page.run("return [...document.querySelector('#decisions tbody tr').cells].map(cell => cell.textContent)"
                        f"[{page.titles().index('Mean')}]")
        low, high = row["host_ns_min"], row["host_ns_max"]
        assert 9.5 < high / low < 10.5 and low < row["host_ns"] / row["calls"] < high
        if level == "calls":
            assert row["host_ns_median"] == pytest.approx(low, rel=0.01)
            assert milliseconds(page.column("Median")[0]) == pytest.approx(low / 1e6, rel=0.01)
        else:
            assert row["host_ns_median"] is None and "Median" not in page.titles()
        assert re.search(r"\d ms – \d+(\.\d+)? ms", cell)


# Texts of the tips of all bars and points.
TIPS = """
return ["formats-chart", "timeline-chart", "map-chart"].map((id) => Chart.getChart(id)).flatMap((chart) =>
  chart.data.datasets.flatMap((set, datasetIndex) => set.data.map((_, index) => {
    chart.tooltip.setActiveElements([{datasetIndex, index}], {x: 9, y: 9});
    chart.tooltip.update();
    return [...(chart.tooltip.title ?? []), ...(chart.tooltip.body ?? []).flatMap(({lines}) => lines)].join(" | ");
  })));
"""


def test_no_tip_of_a_chart_has_a_word_of_the_script(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "calls", TF32, EXACT, REFUSED, "sgemm_:9:native:unchanged:invalid_arguments:2"))
    tips = [tip for tip in page.run(TIPS) if tip]
    assert len(tips) > 10 and any("tf32" in tip for tip in tips)
    assert [tip for tip in tips if re.search(r"false|true|undefined|null|NaN|\[object", tip)] == []


# Positions of the map's points, the distances between them in pixels, and the number of decisions of each.
POINTS = """
const chart = Chart.getChart("map-chart");
return chart.data.datasets.flatMap((set, i) => set.data.map((point, k) => {
  const drawn = chart.getDatasetMeta(i).data[k];
  return [drawn.x, drawn.y, point.decisions];
}));
"""


@pytest.mark.parametrize("width", [400, 1280])
def test_no_point_of_the_map_hides_another(open_page, tmp_path, width):
    same = [f"{name}:{size}:high:{applied}:as_requested:10:1:1000" for name in ("sgemm_", "cblas_sgemm", "ssyrk_")
            for size in (64, 65, 66, 512) for applied in ("fp32", "tf32", "bf16")]
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", *same))
    page.use_width(width)
    points = page.run(POINTS)
    assert sum(decisions for *_, decisions in points) == len(same) and len(points) >= 6
    for i, (x, y, _) in enumerate(points):
        assert all(abs(x - other_x) + abs(y - other_y) > 11 for other_x, other_y, _ in points[:i])


def test_the_title_is_what_was_typed(open_page, tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", TF32)
    page = open_page(recording)
    words = f"make_recording {recording} summary {TF32}"
    assert page.text("h1") == words and page.run("return document.title") == f"{words} – fp32shim report"
    assert page.text("#command").endswith(f"/{words}")
    make_recording(tmp_path / "b.fp32rec", "summary", EXACT)
    assert open_page(tmp_path).text("h1") == "make_recording"  # the title of several recordings is their common part


@pytest.mark.parametrize("width, scrolls", [(1400, False), (800, True), (400, False)])
def test_a_table_of_any_width_loses_nothing(open_page, tmp_path, width, scrolls):
    scope = "Translator.encoder.layers.0.self_attn"
    words = [calls_from(f"Translator.forward@/app/transformer.py@{line};/usr/lib/libtorch_cpu.so.1.13+0x4", "cblas_sgemm", 2048, applied, 10, 5000000, scope=scope)
             for line, applied in ((24, "tf32"), (35, "fp32"))]
    page = open_page(make_recording(tmp_path / "a.fp32rec", "calls", *words))
    page.use_width(width)
    box = "const box = document.querySelector('#decisions').parentElement; "
    assert page.run(f"{box} return box.scrollWidth > box.clientWidth") == scrolls
    titles = page.titles()
    assert titles[0] == "Where" and titles[-1] == "Call site" and {"Scope", "Work", "Share", "Reason"} < set(titles)
    shown = page.run("return [...document.querySelectorAll('#decisions tbody tr:first-child td')].map(cell => cell.getBoundingClientRect().width > 0)")
    assert shown == [True] * len(titles)
    lines = page.run("return [...document.querySelectorAll('#decisions .where .whole')].map(part => part.getClientRects().length)")
    assert lines and set(lines) == {1}  # no part of a location is broken
    page.screenshot(screenshots(tmp_path) / f"table-{width}.png")


def headline(page):
    return page.text("#verdict-title"), page.text("#verdict")


@pytest.mark.parametrize("calls, expected", [
    ([], "No calls were recorded"),
    (["sgemm_:8:native:fp32:as_requested:1"], "The recorded call did not run below FP32"),
    ([EXACT, "cblas_sgemm:64:native:fp32:as_requested:10"], "None of 17 recorded calls ran below FP32"),
    (["sgemm_:8:high:tf32:as_requested:1"], "The recorded call ran below FP32"),
    ([TF32, "sgemm_:8:medium:bf16:as_requested:1"], "All 2,001 recorded calls ran below FP32"),
    (["cublasSgemm_v2:8:high:tf32:as_requested:3"], "All 3 recorded calls were allowed to run below FP32"),
    (["cublasSgemm_v2:8:high:tf32:as_requested:3", "sgemm_:8:high:tf32:as_requested:1"], "All 4 recorded calls ran below FP32, or were allowed to"),
    ([OBSERVED], "No call of known precision was recorded"),
    ([EXACT, OBSERVED], "None of 7 recorded calls of known precision ran below FP32"),
    (["sgemm_:8:native:unchanged:invalid_arguments:4", "sgemm_:8:high:tf32:as_requested:4"],
     "At least 4 of 8 recorded calls, with 50.0 % of the work, ran below FP32"),
    (["sgemm_:8:native:unchanged:invalid_arguments:4"], "The precision of 4 recorded calls is not known"),
])
def test_the_headline_says_what_ran_below_fp32(open_page, tmp_path, calls, expected):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", *calls))
    title, text = headline(page)
    assert title == expected and "fp32shim verify" in text
    assert ("narrower than float32" in text) == (OBSERVED in calls) and ("is not known" in text) == ("invalid_arguments" in str(calls))


def test_the_headline_counts_float64_apart(open_page, tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", "sgemm_:8:native:fp32:as_requested:4", "dgemm_:8:native:fp64:as_requested:3",
                               "cublasDgemm_v2:8:native:fp64_emulated:as_requested:2")
    title, text = headline(open_page(recording))
    assert title == "None of 7 recorded calls of known precision ran below FP32"
    assert "5 recorded calls are of float64." in text and "The precision of 2 calls is not known." in text
    assert "float64" not in headline(open_page("--dtype", "float32", recording))[1]


def test_the_headline_names_share_formats_and_places(open_page, tmp_path):
    def calls(line, size, applied, number):
        return calls_from(f"f@/app/model.py@{line};/usr/lib/a.so+0x4", "sgemm_", size, applied, number, 900000)

    recording = make_recording(tmp_path / "a.fp32rec", "summary", calls(1, 64, "tf32", 3), calls(2, 32, "bf16", 1), calls(3, 64, "fp32", 6))
    title, text = headline(open_page(recording))
    assert title == "4 of 10 recorded calls, with 34.2 % of the work, ran below FP32"  # 3.125 of 9.125 products of size 64
    assert "tf32: 3 calls, bf16: 1 call." in text and "Most of their work (96.0 %) is at model.py:1 f." in text
    assert "Most of the host time (60.0 %) is at model.py:3 f." in text
    title, text = headline(open_page("--ran-below", "fp32", recording))
    assert title == "All 4 selected calls ran below FP32" and "Most of the host time (75.0 %) is at model.py:1 f." in text
    assert headline(open_page("--m", "7", recording))[0] == "The filters select no call"


def test_the_headline_tells_previews(open_page, torch_recording):
    title, text = headline(open_page(torch_recording))
    assert re.fullmatch(r"[\d,]+ of [\d,]+ recorded calls, with [\d.]+ % of the work, ran below FP32", title)
    assert "They are previews, imitated on the CPU." in text


def test_words_of_a_scope_are_not_broken(open_page, tmp_path):
    scope = "TransformerEncoder/layers.3/self attention/out_projection"
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", f"sgemm_:64:high:tf32:as_requested:10:1:1000:{scope}",
                                    "a_function_with_a_rather_long_name_:64:high:tf32:as_requested:10:1:1000"))
    for width in (1440, 1000, 800):
        page.use_width(width)
        lines = page.run("""
            const cell = [...document.querySelectorAll("#decisions td.scope")].find(cell => cell.textContent.length > 9);
            const lines = new Map();
            for (const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT); walker.nextNode();) {
              const node = walker.currentNode;
              for (let i = 0; i < node.length; ++i) {
                const range = new Range();
                range.setStart(node, i);
                range.setEnd(node, i + 1);
                const {top} = range.getBoundingClientRect();
                lines.set(top, (lines.get(top) ?? "") + node.data[i]);
              }
            }
            return [...lines.values()];""")
        assert "".join(lines) == scope
        assert all(re.search("[/._ ]$", line) for line in lines[:-1]), lines


def test_characters_that_nobody_sees_are_seen(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", "a\u202eb\u200bc\x1b[31m:8:high:tf32:as_requested:3"))
    assert page.column("Function") == [r"a\xe2\x80\xaeb\xe2\x80\x8bc\x1b[31m"]


def test_the_table_can_be_used_without_a_mouse(open_page, tmp_path):
    page = open_page(make_recording(tmp_path / "a.fp32rec", "summary", TF32, EXACT))
    page.run("document.querySelector('#decisions thead button').focus()")
    for key, direction in ((browser.ENTER, "ascending"), (browser.SPACE, "descending")):
        page.press(key)
        assert page.sorted_by() == ("Function", direction)
        assert page.run("return document.activeElement.textContent") == "Function"


def test_a_million_decisions_are_a_page_too(open_page, tmp_path):
    """With FP32SHIM_MANY_ROWS=1000000, the test has a million decisions."""
    rows = int(os.environ.get("FP32SHIM_MANY_ROWS", "30000"))
    recording = make_recording(tmp_path / "a.fp32rec", "summary", f"sgemm_:1-{rows}:native:fp32:as_requested:2:1:5000",
                               "cblas_sgemm:8:high:tf32:as_requested:1:1:10")
    page = open_page(recording)
    assert (tmp_path / "report0.html").stat().st_size < 1_000_000
    page.find("#filter-applied option[value=tf32]").click()
    assert page.column("Function") == ["cblas_sgemm"]
    page.find("#filter-applied option[value=fp32]").click()
    assert page.text("#totals dd") == f"{2 * rows + 1:,}" and f": {2 * rows:,} calls" in page.text("#shown")


def test_output_goes_to_a_file_in_place_of_what_was_there(tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", TF32)
    for kind in ("table", "json", "csv", "prometheus"):
        file = tmp_path / f"report.{kind}"
        file.write_text("what was there before")
        file.chmod(0o640)
        result = fp32shim("report", "--format", kind, "-o", file, recording)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
        # Each reader measures the clock again, so times may differ, in their number of digits too.
        assert without_numbers(file.read_text()) == without_numbers(fp32shim("report", "--format", kind, recording).stdout)
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert fp32shim("report", "-o", "/dev/stdout", recording).stdout.startswith("2,000 calls")


def without_numbers(text):
    return re.sub(r"[ -]*\d[\d.,e-]*", "0", text)


@pytest.mark.parametrize("where, text", [("missing/report.html", "there is no folder"), (".", "is a folder"),
                                         ("a.fp32rec", "is one of the recordings")])
def test_an_output_that_cannot_be_is_one_line_and_leaves_nothing(tmp_path, where, text):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", TF32)
    before = recording.read_bytes()
    result = fp32shim("report", "--format", "html", "--output", tmp_path / where, recording)
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
    assert text in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.fp32rec"] and recording.read_bytes() == before


def test_an_output_that_does_not_fit_leaves_no_half_file(tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", TF32)
    file = tmp_path / "report.html"
    file.write_text("what was there before")
    # `ulimit -f` counts in units of 512 bytes, and a page has more than 50 KiB.
    script = f'trap "" XFSZ; ulimit -f 100; exec "{COMMAND}" report --format html -o "{file}" "{recording}"'
    result = fp32shim_by_shell(script)
    assert result.returncode == 2 and result.stderr.count("\n") == 1 and "cannot be written" in result.stderr
    assert file.read_text() == "what was there before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.fp32rec", "report.html"]


def fp32shim_by_shell(script):
    return subprocess.run(["sh", "-c", script], env=environment(), text=True, capture_output=True, check=False)


# Formats of float64, and those of which it is not known if they are below FP32, are not among these.
@pytest.mark.parametrize("applied", [line[1] for line in shim.number_formats("FORMAT")
                                     if line[1] not in ("fp32", "sgemm", "unchanged", "fp64", "fp64_emulated", "fixed")])
def test_products_below_float32_are_listed_before_others(tmp_path, applied):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", "sgemm_:1-20100:native:fp32:as_requested:2",
                               f"sgemm_:30000:native:{applied}:as_requested:1")
    listed = page_data(fp32shim("report", "--format", "html", recording).stdout)["decisions"]["listed"]
    assert applied in listed["texts"]


def test_the_footer_does_not_deny_products_that_a_run_may_record_too(tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", EXACT)
    page = fp32shim("report", "--format", "html", recording).stdout
    footer = " ".join(re.search(r"<footer>(.*?)</p>", page, re.DOTALL)[1].split())
    never = re.search(r"never those of ([^.]*)\.", footer)[1]
    assert "statically linked" in never and "oneDNN" not in never and "cuDNN" not in never
    assert re.search(r"oneDNN[^.]*cuDNN[^.]* only if .*--pin", footer)
