"""What commands write for programs is what docs/schema.md says."""

import csv
import io
import json
import re
import subprocess

import pytest

import shim
from command import calls_with_results, fp32shim, live_recording, make_recording

TF32 = "cblas_sgemm:128:high:tf32:as_requested:1000:2"
REFUSED = "cblas_sgemm:64:high:fp32:cpu_mode_off:10"
EXACT = "cblas_sgemm:32:native:fp32:as_requested:7"


def section(file, title):
    """Returns the text below a heading of a page, up to the next heading of its kind, or the whole page without a title."""
    text = (shim.ROOT / "docs" / file).read_text()
    if title is None:
        return text
    level = title.split()[0]
    return re.split(rf"^#{{2,{len(level)}}} ", text.split(f"\n{title}\n")[1], flags=re.MULTILINE)[0]


def keys_in(text, only=""):
    """Returns the keys in the first column of a text's tables, from the lines that end with `only`."""
    return [key for line in text.splitlines() if line.startswith("| `") and line.endswith(only)
            for key in re.findall(r"`([^`]+)`", line.split("|")[1])]


def documented(file, title):
    return keys_in(section(file, title))


def keys_of(value, path="", *, whole=()):
    """Returns the paths of all keys, with [] between an array and the keys of its entries. Leaves out keys below `whole`."""
    below = set()
    if isinstance(value, list):
        below = {key for entry in value for key in keys_of(entry, path + "[]", whole=whole)}
    elif isinstance(value, dict) and path.removesuffix("[]") not in whole:
        below = {key for name, entry in value.items() for key in keys_of(entry, f"{path}.{name}".lstrip("."), whole=whole)}
    return below | {path.removesuffix("[]")} - {""}


def listed(name, title="## JSON lines"):
    """Returns the keys of a JSON line of this name, in the order of the page's list."""
    items = re.findall(rf"^- {name}[^:]*: (.*?)(?=^[-\n])", section("schema.md", title), re.MULTILINE | re.DOTALL)
    return re.findall(r"`(\w+)`", items[0].partition(". ")[0])


DECISION = documented("schema.md", "## A decision")
DECISION = DECISION[:DECISION.index("algorithm") + 1]
COMMON = listed("every event")
COUNTS = documented("schema.md", "## A row")
ROW = [key for key in DECISION if key != "host_ns"] + COUNTS


@pytest.fixture
def folder(tmp_path):
    """A recording of each kind."""
    make_recording(tmp_path / "a.fp32rec", "calls", TF32, REFUSED)
    make_recording(tmp_path / "b.fp32rec", "summary", TF32, EXACT)
    return tmp_path


def test_every_key_of_a_line_is_documented_in_its_order(folder):
    lines = [json.loads(line) for line in fp32shim("log", "--format", "jsonl", folder).stdout.splitlines()]
    keys = {line["event"]: list(line) for line in lines}
    assert keys == {"start": COMMON + listed("`start`"), "decision": COMMON + DECISION, "row": COMMON + ROW}
    tables = [section("schema.md", title).partition("\n### ")[0] for title in ("## JSON lines", "## A process", "## A decision", "## A row")]
    never_null = {key for table in tables for key in keys_in(table, only="| never |")}
    assert len(never_null & set(keys["start"])) > 10
    assert [key for line in lines for key, value in line.items() if key in never_null and value is None] == []


def test_every_key_of_a_process_is_documented_once(folder):
    (process, *_) = fp32shim("report", "--format", "json", folder).json["processes"]
    page = section("schema.md", "## The report")
    row = next(line for line in page.splitlines() if line.startswith("| `processes` | array"))
    assert set(re.findall(r"`(\w+)`", row.split("alone: ")[1])) == set(process)
    described = documented("schema.md", "## A process")
    assert len(set(described)) == len(described) and set(process) <= set(described)
    assert set(listed("`start`")) <= set(described)


def test_the_columns_of_the_log_are_the_keys_of_its_json_for_calls_and_decisions_alike(folder):
    header, *rows = csv.reader(io.StringIO(fp32shim("log", "--format", "csv", folder).stdout))
    assert header == COMMON + ROW
    assert {len(row) for row in rows} == {len(header)}
    read = [dict(zip(header, row)) for row in rows]
    for entry in fp32shim("log", "--format", "json", folder).json:
        if entry["event"] == "start":
            continue
        line = read.pop(0)
        # Each read measures the counter's rate again, so durations of a young recording differ by some millionths.
        for name in set(header) - {"time", "time_ns", "first", "last"}:
            value = entry.get(name)
            if value is None or isinstance(value, (str, bool)):
                assert line[name] == ("" if value is None else str(value).lower() if value is False else value), name
            else:
                assert float(line[name]) == pytest.approx(value, rel=1e-4, abs=1), name
    assert read == []


def test_the_columns_of_the_report_are_the_keys_of_a_row(folder):
    header = fp32shim("report", "--format", "csv", folder).stdout.splitlines()[0].split(",")
    assert header == ROW == list(fp32shim("report", "--format", "json", folder).json["rows"][0])


def test_the_fields_of_decisions_are_those_of_the_table_with_its_types():
    table = (shim.ROOT / "record/decision_fields.def").read_text()
    fields = re.findall(r"^(?:DECISION|CALL)_FIELD\((\w+), [\w.]+, (\w+)", table, flags=re.MULTILINE)
    types = {key: "integer" if kind in ("size", "integer", "positive") else "string" for key, kind in fields}
    page = section("schema.md", "## A decision").split("\n`how` is one of\n")[0]
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    written = {key: row[2].strip() for row in rows for key in re.findall(r"`(\w+)`", row[1])}
    assert list(types) == DECISION and types == written


def test_the_codes_of_reasons_are_those_of_the_table_in_its_order():
    table = re.findall(r"^REASON\((\d+), (\w+),", (shim.ROOT / "policy/reasons.def").read_text(), flags=re.MULTILINE)
    codes = [code for _, code in table]
    assert [int(number) for number, _ in table] == list(range(len(codes)))
    decision = section("schema.md", "## A decision").split("\n`reason` is one of\n")[1]
    assert re.findall(r"^\| `(\w+)` \|", decision, flags=re.MULTILINE) == codes


def test_the_number_formats_are_those_of_the_table_by_its_numbers():
    def by_number(*kinds, others=()):
        rows = [*others, *((int(line[0]), line[1]) for kind in kinds for line in shim.number_formats(kind))]
        assert sorted(number for number, _ in rows) == list(range(len(rows)))
        return [name for _, name in sorted(rows)]

    precisions = by_number("PRECISION", "RULE_PRECISION", others=[(0, "native"), (4, "auto")])
    formats = by_number("FORMAT")
    codes = " ".join(section("recording-format.md", None).split("Codes count from 0 in the order of these lists:")[1].split())
    for about, words in [("- precision:", precisions), ("applied and actual:", formats),
                         ("- floor:", by_number("FLOOR", others=[(0, "none")])),
                         ("reference of an audit:", by_number("AUDITED"))]:
        assert codes.split(about)[1].split("`")[1].split() == words
    decision = section("schema.md", "## A decision")
    for key, words in (("requested", precisions), ("applied", formats)):
        row = next(line for line in decision.splitlines() if line.startswith(f"| `{key}` |"))
        assert re.findall(r"`(\w+)`", row.split("|")[3]) == words


def test_the_words_of_number_formats_are_those_of_the_table():
    names = lambda kind, place: {line[place] for line in shim.number_formats(kind)}
    policies = section("policy-file.md", "## Precisions")
    words = {word for line in policies.split("\n\n")[0].splitlines() for word in re.findall(r"`(\w+)`", "|".join(line.split("|")[:3]))}
    assert words == {"native", "auto"} | names("PRECISION", 1) | names("RULE_PRECISION", 1) | names("ALIAS", 0) | names("RULE_ALIAS", 0)
    parts = {line[0] for line in shim.number_formats("PREVIEW") if int(line[2]) > 1} | {"xf32"}
    assert set(re.findall(r"^\| `(\w+)` \| (?:one|two|three) ", section("policy-file.md", "### Formats of several parts"), flags=re.MULTILINE)) == parts
    against = next(line for line in section("policy-file.md", None).splitlines() if line.startswith("| `against` |"))
    assert set(re.findall(r"`(\w+)`", against.split("|")[2])) == names("AUDITED", 1) - {
        "fp32", "fixed", "sgemm", "double_double", "fp64_emulated"}
    header = " ".join((shim.ROOT / "shim/include/fp32shim/fp32shim.h").read_text().replace("*", "").split())
    for_rules = re.search(r'decide again\. ([^.]*) are for rules only', header).group(1)
    assert set(re.findall(r'"(\w+)"', for_rules)) == names("RULE_PRECISION", 1)
    floors = re.search(r"floor: ([^.]*), from strict to loose", header).group(1)
    assert re.findall(r'"(\w+)"', floors) == [line[1] for line in shim.number_formats("FLOOR")]


def test_the_names_of_the_columns_come_first_also_where_nothing_follows(folder):
    for command in ("log", "report"):
        text = fp32shim(command, "--format", "csv", "--m", "9999", folder).stdout
        assert list(csv.DictReader(io.StringIO(text))) == [] and text.count("\n") == 1
        assert text.split(",")[0] == ("event" if command == "log" else "function")


# Lists of `verify` with the keys of `bypasses[]`.
LIKE_BYPASSES = ("assumed_unused", "recorded_bypasses", "always_float32", "examined_children")
POLICY = """
schema = 1
name = "one"
[[rule]]
name = "no"
precision = "high"
when = { m = ">=4096" }
unless = { k = 1 }
[[rule]]
name = "never reached"
precision = "high"
when = { m = ">=8192", k = ">1" }
"""
BROKEN = 'schema = 1\ndefault = "hihg"\n'


def printed(command, tmp_path):
    """Returns what the command writes about something that fills as many keys as possible."""
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(POLICY)
    bad.write_text(BROKEN)
    if command == "check":
        return fp32shim("check", "--format", "json", good, bad)
    if command == "doctor":
        return fp32shim("doctor", "--format", "json", "--bindings", "--", shim.client("cblas_product"),
                        env={"LD_LIBRARY_PATH": shim.blas_directory("openblas"), "FP32_MATMUL_FLOOR": "fp23"})
    if command == "explain":
        return fp32shim("explain", "--format", "json", "--function", "cublasGemmEx", "--m", "64", "--policy", good,
                        "--compute-capability", "8.0")
    if command == "bisect":
        shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
        program = ("import numpy, sys; a = numpy.ones((2, 2), 'f') * 1.0001; "
                   "sys.exit(any((a @ a)[0, 0] == 2 for i in range(3)))")
        return fp32shim("bisect", "--cpu", "emulate", "--calls", "--format", "json", "--", shim.SYSTEM_PYTHON, "-c", program,
                        cwd=tmp_path, env={"LD_LIBRARY_PATH": shim.blas_directory("openblas")})
    if command == "sensitivity":
        shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
        program = "import numpy, os; a = numpy.ones((2, 2), 'f') * 1.0001; print((a @ a)[0, 0], int.from_bytes(os.urandom(8), 'big'))"
        return fp32shim("sensitivity", "--cpu", "emulate", "--tolerance", "0.1", "--format", "json", "--", shim.SYSTEM_PYTHON, "-c",
                        program, cwd=tmp_path, env={"LD_LIBRARY_PATH": shim.blas_directory("openblas")})
    if command == "diff":
        for name, results in (("a", [1.0, 2.0]), ("b", [1.0, 3.0])):
            make_recording(tmp_path / f"{name}.fp32rec", "summary", calls_with_results("main@model.py@1", 64, results),
                           calls_with_results("main@model.py@1", 8 if name == "a" else 9, [1.0]))
        return fp32shim("diff", "--format", "json", tmp_path / "a.fp32rec", tmp_path / "b.fp32rec")
    if command == "diff --by row":
        sides = [make_recording(tmp_path / f"{name}.fp32rec", "summary", calls_with_results("main@model.py@1", 64, [f"1/1/{rows}"]))
                 for name, rows in (("a", 1), ("b", 2))]
        return fp32shim("diff", "--by", "row", "--format", "json", *sides)
    if command.startswith("verify"):
        (tmp_path / "broken.fp32rec").write_bytes(b"nothing")
        make_recording(tmp_path / "a.fp32rec", "summary", TF32)
        return fp32shim("verify", "--format", "json", *(["--at-least", "fp32"] if command == "verify" else []), tmp_path)
    process = live_recording(tmp_path / "live.fp32rec", "summary", TF32)
    try:
        how = ["--count", "1", "--by", "where"] if command == "top" else []  # `top` prints groups, the others rows
        return fp32shim(command, "--format", "json", process.pid, *how)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("command, title", [("check", "## `check`"), ("doctor", "## `doctor`"), ("explain", "## `explain`"),
                                            ("ps", "## `ps` and `top`"), ("top", "## `ps` and `top`"),
                                            ("verify", "## `verify`"), ("verify by floors", "## `verify` by floors"), ("bisect", "## `bisect`"),
                                            ("diff", "## `diff`"), ("diff --by row", "## `diff --by row`"), ("sensitivity", "## `sensitivity`")])
def test_every_key_of_a_commands_json_is_documented_and_no_other(command, title, tmp_path):
    result = printed(command, tmp_path)
    assert result.returncode in (0, 1, 3), result.stderr
    described = {"schema", *(key.removesuffix("[]") for key in documented("schema.md", title))}
    described |= {key.replace("bypasses[]", f"{name}[]") for key in described for name in LIKE_BYPASSES if key.startswith("bypasses[]")
                  and name in described}
    described_elsewhere = {"a.environment", "b.environment", "a.applied", "b.applied", "changes[].a.applied", "changes[].b.applied",
                           "processes[].rows", "processes[].groups", "violations", "processor.features", "program.processes[].calls[].library",
                           "first_beyond_bound", "largest", "growth[].largest", "groups[].first", "groups[].first_other_bits", "groups[].largest",
                           "places[].runs[].alone", "places[].runs[].all_but_it", "policy.run", "jobs[].formats"}
    if command == "diff --by row":
        described_elsewhere |= {"a", "b", "changes"}
    keys = keys_of(result.json, whole=described_elsewhere)
    # An array or object needs no line of its own if its members have lines.
    parents = {key for key in keys if any(other.startswith((key + ".", key + "[]")) for other in described)}
    assert sorted(keys - parents - described) == []
    empty = ("gpus.devices[].", "program.processes[].bypasses[].", "program.processes[].notes[].", "not_seen[].",
             "blas_libraries[].", "bypasses[].", "assumed_unused[].", "always_float32[].", "recorded_bypasses[].", "examined_children[].", "settings.preloads[].",
             "processes[].files[].", "rules[].", "other_algorithms[].", "random_failures.", "violations[].made_by", "digits")
    assert sorted(key for key in described - keys if not key.startswith(empty)) == []


def example():
    """Returns the command of jq in schema.md, and its output for the golden log."""
    return re.search(r"```sh\n(.*?)```\n```\n(.*?)```", section("schema.md", "### Reading lines"), re.DOTALL).groups()


def run_example(file):
    shim.tool("jq")
    code = example()[0].replace("run.jsonl", f"'{file}'")
    return subprocess.run(["bash", "-c", code], text=True, capture_output=True, check=True).stdout


def test_the_example_for_readers_writes_what_the_page_says():
    assert run_example(shim.ROOT / "tests/unit/record/golden/decision_log_schema1.jsonl") == example()[1]


def test_the_example_for_readers_finds_decisions_as_well_as_calls(tmp_path):
    for name, level in (("calls", "calls"), ("summary", "summary")):
        recording = make_recording(tmp_path / f"{name}.fp32rec", level, TF32, REFUSED, EXACT)
        (tmp_path / name).write_text(fp32shim("log", "--format", "jsonl", recording).stdout)
        assert set(run_example(tmp_path / name).splitlines()) == {'["cblas_sgemm",64,64,64,"high","fp32","cpu_mode_off"]'}
