"""fp32shim diff: the results of two runs, product by product, as text, JSON and a page."""

import random
import shutil
import struct

import pytest

import processor
import shim
from command import calls_with_results, calls_from, fp32shim, make_recording

MAIN = "main@/app/model.py@{line};{function}@/app/model.py@{line}"


def at(line, function="forward"):
    return MAIN.format(line=line, function=function)


@pytest.fixture
def record(tmp_path):
    """Writes a recording of this name. Each description has a size, a place and the results of its calls."""
    def write(name, *descriptions, **more):
        calls = [calls_with_results(place, size, results, **more) for size, place, results in descriptions]
        return make_recording(tmp_path / f"{name}.fp32rec", "summary", "--one-thread", *calls)

    return write


def test_equal_results_are_said_in_a_few_lines_and_by_the_status(record):
    a, b = (record(name, (64, at(41), [1.0, 2.0, 3.0])) for name in "ab")
    result = fp32shim("diff", a, b)
    assert result.returncode == 0 and result.stderr == ""
    assert "3 products aligned: 3 with the same bits, 0 with different bits, 0 beyond 0.001\n" in result.stdout
    assert "First" not in result.stdout


def test_the_first_other_result_the_first_beyond_the_bound_and_the_largest_are_named(record):
    a = record("a", (64, at(41), [1.0] * 10), (32, at(52, "backward"), [4.0] * 10))
    b = record("b", (64, at(41), [1.0] * 6 + [1.0001] * 4), (32, at(52, "backward"), [4.0, 4.4] + [4.0] * 7 + [5.0]), applied="tf32")
    result = fp32shim("diff", a, b)
    assert result.returncode == 1
    text = result.stdout
    assert "20 products aligned: 14 with the same bits, 6 with different bits, 2 beyond 0.001" in text
    first, beyond, largest = (text.split(title)[1].split("\n\n")[0] for title in
                              ("First product with different bits: ", "First product beyond 0.001: ", "Largest difference: "))
    assert first.splitlines() == ["7", "  cblas_sgemm 64x64x64 at model.py:41 forward",
                                  "  A: fp32 by libprovider.so.0; B: tf32 by libprovider.so.0",
                                  "  estimated relative difference: 1.0e-04"]
    assert beyond.startswith("12\n  cblas_sgemm 32x32x32 at model.py:52 backward\n") and "difference: 1.0e-01" in beyond
    assert largest.startswith("20\n") and "difference: 2.5e-01" in largest
    assert "fp32 -> tf32" in text.split("By place")[1]
    assert fp32shim("diff", "--bound", "0.3", a, b).stdout.count("First product") == 1


def test_json_has_the_growth_by_position_and_groups_with_the_largest_difference_first(record):
    a = record("a", (64, at(41), [1.0] * 100), (8, at(42), [1.0] * 3))
    b = record("b", (64, at(41), [1.0 + i / 1000 for i in range(100)]), (8, at(42), [1.0] * 3))
    report = fp32shim("diff", "--format", "json", a, b).json
    growth = report["growth"]
    assert [(step["first"], step["last"]) for step in growth[:2]] == [(1, 6), (7, 12)] and growth[-1]["last"] == 103
    assert len(growth) <= 20 and sum(step["same_bits"] for step in growth) == report["same_bits"] == 4
    assert growth[1]["median"] == pytest.approx(0.008) and growth[1]["largest"]["difference"] == pytest.approx(0.011)
    large, small = report["groups"]
    assert (large["products"], large["other_bits"], large["largest"]["position"]) == (100, 99, 100)
    assert (small["products"], small["other_bits"], small["first_other_bits"]) == (3, 0, None)


def test_products_more_or_less_on_a_side_are_left_out_and_counted(record):
    a = record("a", (64, at(41), [1.0, 2.0]), (8, at(60, "warm_up"), [9.0] * 5), (64, at(41), [3.0, 4.0]))
    b = record("b", (64, at(41), [1.0, 2.0, 3.5, 4.0]), (16, at(41), [1.0]))
    result = fp32shim("diff", "--format", "json", a, b)
    report = result.json
    assert result.returncode == 1
    assert (report["aligned"], report["a"]["unaligned"], report["b"]["unaligned"]) == (4, 5, 1)
    first = report["first_other_bits"]
    assert (first["a"]["number"], first["b"]["number"], first["position"]) == (8, 3, 3)
    text = fp32shim("diff", a, b).stdout
    assert "Not aligned: 5 products of A, 1 product of B\n" in text
    listed = [line.split() for line in text.split("Not aligned, because")[1].split("\n\n")[0].splitlines()[2:]]
    assert [row[:5] for row in listed] == [["A", "5", "3", "cblas_sgemm", "8x8x8"], ["B", "1", "5", "cblas_sgemm", "16x16x16"]]
    only = fp32shim("diff", "--format", "json", a, b).json["only_a"]
    assert [(one["products"], one["m"], one["where"]) for one in only] == [(5, 8, "model.py:60 warm_up")]


def test_lines_that_an_edit_has_moved_and_other_name_forms_of_a_function_still_match(record):
    a = record("a", (64, at(41), [1.0, 2.0]))
    b = record("b", (64, at(47), [1.0, 2.5]), function="cblas_sgemm64_")
    report = fp32shim("diff", "--format", "json", a, b).json
    assert (report["aligned"], report["other_bits"]) == (2, 1)
    first = report["first_other_bits"]
    assert (first["a"]["where"], first["b"]["where"]) == ("model.py:41 forward", "model.py:47 forward")
    assert (first["a"]["function"], first["b"]["function"]) == ("cblas_sgemm", "cblas_sgemm64_")


def test_programs_with_nothing_in_common_align_nothing(record):
    a, b = record("a", (64, at(41), [1.0] * 4)), record("b", (65, at(41), [1.0] * 3))
    result = fp32shim("diff", a, b)
    assert result.returncode == 3
    assert result.lines == ["fp32shim diff: no product of A has a counterpart in B: the programs, their functions or sizes differ"]
    assert "0 products aligned: 0 with the same bits, 0 with different bits, 0 beyond 0.001\n" in result.stdout
    report = fp32shim("diff", "--format", "json", a, b).json
    assert (report["a"]["unaligned"], report["b"]["unaligned"], report["growth"], report["groups"]) == (4, 3, [], [])


def test_recordings_of_which_one_has_no_lines_align_nothing_and_say_why(tmp_path, record):
    a = record("a", (64, at(41), [1.0]))
    b = tmp_path / "b.fp32rec"
    make_recording(b, "summary", "cblas_sgemm:64:native:fp32:as_requested:1:1:1000:::1.0")
    result = fp32shim("diff", a, b)
    assert result.returncode == 3
    assert "A has lines of the program, B has none; record both with the same --where" in result.stderr


def test_a_side_that_asked_for_less_and_ran_at_fp32_is_told(tmp_path):
    for name, requested, reason in (("a", "native", "as_requested"), ("b", "high", "cpu_mode_off")):
        make_recording(tmp_path / f"{name}.fp32rec", "summary", f"cblas_sgemm:64:{requested}:fp32:{reason}:2:1:1000:::1.0,2.0")
    result = fp32shim("diff", tmp_path / "a.fp32rec", tmp_path / "b.fp32rec")
    assert result.returncode == 0
    line, = result.lines
    assert line.endswith("b.fp32rec: 2 products asked for high, but ran at fp32 (cpu_mode_off); on a CPU, run with --cpu emulate")


def test_a_result_that_is_not_finite_differs_infinitely_from_one_that_is(record):
    a = record("a", (64, at(41), [1.0, float("nan"), float("inf")]))
    b = record("b", (64, at(41), [float("nan"), float("nan"), float("nan")]))
    report = fp32shim("diff", "--format", "json", a, b).json
    assert (report["other_bits"], report["beyond_bound"]) == (2, 1)
    assert report["first_other_bits"]["difference"] is None and report["first_beyond_bound"]["position"] == 1
    assert "difference: inf" in fp32shim("diff", a, b).stdout


def test_a_zero_result_that_becomes_another_differs_infinitely(record):
    a, b = record("a", (64, at(41), [0.0, 1.0])), record("b", (64, at(41), [1e-9, 1.0]))
    assert fp32shim("diff", "--format", "json", a, b).json["largest"]["difference"] is None


def test_folders_of_many_processes_are_compared_process_by_process(tmp_path, record):
    for side in "ab":
        (tmp_path / side).mkdir()
        for number in range(3):
            results = [1.0, 2.0 if (side, number) == ("a", 1) else 2.5, 3.0]
            make_recording(tmp_path / side / f"{number}.fp32rec", "summary", calls_with_results(at(41), 64 + number, results))
    report = fp32shim("diff", "--format", "json", tmp_path / "a", tmp_path / "b").json
    assert (report["a"]["processes"], report["a"]["recordings"], report["aligned"], report["other_bits"]) == (3, 3, 9, 1)
    assert [report["first_other_bits"][size] for size in "mnk"] == [65, 65, 65]
    assert report["first_other_bits"]["recording"] == str(tmp_path / "a" / "1.fp32rec")
    text = fp32shim("diff", tmp_path / "a", tmp_path / "b").stdout
    assert "First product with different bits: 2 of process " in text


def test_recordings_without_fingerprints_have_a_message_and_a_status_of_their_own(tmp_path, record):
    with_some = record("a", (64, at(41), [1.0]))
    without = make_recording(tmp_path / "none.fp32rec", "summary", calls_from(at(41), "cblas_sgemm", 64, "fp32", 7))
    result = fp32shim("diff", with_some, without)
    assert result.returncode == 3 and result.stdout.startswith("Results were not compared, because B has no fingerprints\n")
    assert result.lines == [f"fp32shim diff: {without}: found no fingerprints: 7 calls without fingerprints, which fp32shim run "
                            "--audit fingerprint records, for products on a CPU"]
    assert len(fp32shim("diff", without, without).lines) == 2


def test_recordings_without_fingerprints_are_followed_by_the_commands_that_record_them(tmp_path):
    blas = {"LD_LIBRARY_PATH": shim.blas_directory("openblas")}
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    (tmp_path / "program.py").write_text("import numpy as np\na = np.ones((9, 9), 'f')\na @ a\n")
    words = ["--", shim.SYSTEM_PYTHON, "program.py"]
    for name, options in (("a", []), ("b", ["--precision", "high", "--cpu", "emulate", "--where", "python"])):
        assert fp32shim("run", "-q", "--log", f"{name}.fp32rec", *options, *words, env=blas, cwd=tmp_path).returncode == 0
    lines = fp32shim("diff", "a.fp32rec", "b.fp32rec", cwd=tmp_path).stdout.splitlines()
    assert "Settings: CPU mode off, default native -> CPU mode emulate, default high" in lines
    commands = [line.split() for line in lines if line.startswith("  fp32shim run --audit fingerprint ")]
    assert [command[-2:] for command in commands] == [words[1:]] * 2 and len(commands) == 2
    for command in commands:
        assert fp32shim(*command[1:], env=blas, cwd=tmp_path).returncode == 0
    report = fp32shim("diff", "--format", "json", "a-results.fp32rec", "b-results.fp32rec", cwd=tmp_path).json
    assert (report["aligned"] + len(report["only_a"]), report["b"]["applied"]) == (1, {"tf32": 1})


def test_options_that_select_no_call_are_not_taken_for_a_lack_of_fingerprints(tmp_path, record):
    recording = record("a", (64, at(41), [1.0]))
    result = fp32shim("diff", "--function", "nothing", recording, recording)
    assert result.returncode == 3 and result.stdout.startswith("Results were not compared, because no call of A and B is selected\n")
    assert result.lines == [f"fp32shim diff: {recording}: the options select none of 1 call"] * 2


@pytest.mark.parametrize("arguments, said", [
    ([], "name 2 recordings"),
    (["{a}"], "name two recordings"),
    (["{a}", "{a}", "{a}"], "did not expect the argument"),
    (["{a}", "missing.fp32rec"], "missing.fp32rec: no such file or folder"),
    (["--bound", "-1", "{a}", "{a}"], "--bound"),
    (["--format", "csv", "{a}", "{a}"], "found \"csv\"; allowed: text, json, html"),
    (["-o", "{a}", "{a}", "{a}"], "is one of the recordings"),
    (["--top", "x", "{a}", "{a}"], "--top"),
])
def test_wrong_arguments_are_one_line_and_status_2(record, arguments, said):
    a = record("a", (64, at(41), [1.0]))
    result = fp32shim("diff", *(argument.format(a=a) for argument in arguments))
    assert result.returncode == 2 and len(result.lines) == 1 and said in result.stderr, result.stderr


def test_a_file_that_is_no_recording_and_a_truncated_one_are_said(tmp_path, record):
    a = record("a", (64, at(41), [float(i) for i in range(1, 600)]))
    broken = tmp_path / "broken.fp32rec"
    broken.write_bytes(b"nothing")
    result = fp32shim("diff", a, broken)
    assert result.returncode == 2 and "broken.fp32rec" in result.stderr
    cut = tmp_path / "cut.fp32rec"
    cut.write_bytes(a.read_bytes()[:-100_000])
    result = fp32shim("diff", "--format", "json", a, cut)
    assert result.returncode == 1 and "cut.fp32rec: offset" in result.stderr
    report = result.json
    assert 200 < report["aligned"] == report["same_bits"] < 599
    assert report["a"]["unaligned"] == 599 - report["aligned"]


def test_damaged_fingerprints_differ_and_nothing_more(record):
    a, b = (record(name, (64, at(41), [123.5] * 50)) for name in "ab")
    for number, nonsense in ((-1, "nan"), (-1, "inf"), (1, "nan"), (1, "-1.0")):
        written = struct.pack("d", 123.5)
        contents = b.read_bytes()
        offsets = [offset for offset in range(len(contents)) if contents.startswith(written, offset)]
        offsets = offsets[::2] if number < 0 else offsets[1::2]
        damaged = bytearray(contents)
        for offset in offsets[:20]:
            damaged[offset:offset + 8] = struct.pack("d", float(nonsense))
        other = b.with_name("damaged.fp32rec")
        other.write_bytes(damaged)
        for sides in ((a, other), (other, a)):
            result = fp32shim("diff", "--format", "json", *sides)
            assert result.returncode == 1 and result.json["aligned"] == 50, result.stderr
            assert 0 < result.json["other_bits"] <= 20 and result.json["same_bits"] >= 30


def test_a_copy_is_equal_to_its_original(record, tmp_path):
    a = record("a", (64, at(41), [1.0, 2.0]))
    copy = tmp_path / "copy.fp32rec"
    copy.write_bytes(a.read_bytes())
    assert fp32shim("diff", a, copy).returncode == 0
    assert fp32shim("diff", a, a).returncode == 0


def test_the_largest_difference_is_never_a_product_with_the_same_bits(record):
    a, b = record("a", (64, at(41), [1.0, 0.0, 2.0])), record("b", (64, at(41), [1.0, -0.0, 2.0]))
    report = fp32shim("diff", "--format", "json", a, b).json
    assert report["first_other_bits"]["position"] == report["largest"]["position"] == 2


def test_names_in_recordings_cannot_write_to_the_terminal(tmp_path):
    for name, result in (("a", 1.0), ("b", 2.0)):
        make_recording(tmp_path / f"{name}.fp32rec", "summary",
                       f"cblas_sgemm:64:native:fp32:as_requested:1:1:1000:sc\x1b[31mope:main@model.py@1:{result}")
    result = fp32shim("diff", tmp_path / "a.fp32rec", tmp_path / "b.fp32rec")
    assert result.returncode == 1 and "\x1b" not in result.stdout and "in sc" in result.stdout


def test_fingerprints_without_room_are_said_to_be_lost(tmp_path):
    for name in "ab":
        make_recording(tmp_path / f"{name}.fp32rec", "summary", "--max-size", "1048576",
                       calls_with_results(at(41), 64, [1.0]).replace(":1:1:", ":5000:1:"))
    result = fp32shim("diff", "--format", "json", tmp_path / "a.fp32rec", tmp_path / "b.fp32rec")
    report = result.json
    assert result.returncode == 1 and report["other_bits"] == 0
    assert report["a"]["lost"] > 0 and report["a"]["lost"] + report["a"]["fingerprints"] == 5000


def test_top_limits_the_groups_of_the_text(record):
    a = record("a", *((size, at(41), [1.0]) for size in range(8, 40)))
    b = record("b", *((size, at(41), [1.0 + size / 100]) for size in range(8, 40)))
    table = lambda *more: fp32shim("diff", *more, a, b).stdout.split("By place")[1].split("\n\n")[0]  # noqa: E731
    assert table("--top", "3").count("cblas_sgemm") == 3 and "29 more groups; --top 0 shows all" in table("--top", "3")
    assert table().count("cblas_sgemm") == 20 and table("--top", "0").count("cblas_sgemm") == 32
    assert table("--top", "1").splitlines()[2].split()[:4] == ["3.9e-01", "1", "1", "32"]


def test_an_output_file_is_written_whole(record, tmp_path):
    a, b = record("a", (64, at(41), [1.0])), record("b", (64, at(41), [2.0]))
    result = fp32shim("diff", "-o", tmp_path / "out.txt", a, b)
    assert (result.returncode, result.stdout) == (1, "")
    assert (tmp_path / "out.txt").read_text() == fp32shim("diff", a, b).stdout


# --- Products in another order, as the tasks of a pool of threads have


def pool(tmp_path, name, tasks, threads=3, **more):
    """Writes a recording in which tasks of one kind, each with its result, were taken by threads in this order."""
    calls = [calls_with_results(at(41), 64, tasks[thread::threads], **more) for thread in range(threads)]
    return make_recording(tmp_path / f"{name}.fp32rec", "summary", *calls)


def tasks_of_a_pool(count, seed):
    """Returns results from 1 to 2 in any order; two neighbours are 1/count apart."""
    return random.Random(seed).sample([1 + i / count for i in range(count)], count)


def test_tasks_that_a_pool_took_in_another_order_have_the_same_results(tmp_path):
    a, b = pool(tmp_path, "a", tasks_of_a_pool(600, 1)), pool(tmp_path, "b", tasks_of_a_pool(600, 2), threads=2)
    result = fp32shim("diff", a, b)
    assert result.stdout.startswith("Same results in another order: 600 of 600 products; "), result.stdout + result.stderr
    assert result.returncode == 0
    report = fp32shim("diff", "--format", "json", a, b).json
    assert report["same_bits"] == 600 and 500 < report["same_bits_elsewhere"] <= 600
    assert fp32shim("diff", a, a).stdout.startswith("Same results in the same order: 600 of 600 products\n")


def test_the_one_changed_task_of_a_pool_is_named(tmp_path):
    tasks = tasks_of_a_pool(200, 2)
    changed = [7.5 if task == 1.25 else task for task in tasks]
    a, b = pool(tmp_path, "a", tasks_of_a_pool(200, 1)), pool(tmp_path, "b", changed)
    report = fp32shim("diff", "--format", "json", a, b).json
    assert (report["other_bits"], report["beyond_bound"], report["uncertain"]) == (1, 1, 0)
    first, number = report["first_other_bits"], tasks.index(1.25)
    assert first["difference"] == pytest.approx(5)
    assert (first["b"]["thread"], first["b"]["number"]) == (number % 3 + 1, number // 3 + 1)
    number = tasks_of_a_pool(200, 1).index(1.25)
    assert (first["a"]["thread"], first["a"]["number"]) == (number % 3 + 1, number // 3 + 1)
    text = fp32shim("diff", a, b).stdout
    assert text.startswith("Other results: 1 of 200 products; all ran at the same precision\nEnvironment: no difference is recorded\n"
                           "Inputs: not recorded on both sides\nAnother order: ")


@pytest.fixture
def million(tmp_path):
    """Writes a recording of a million products, 1000 of each of 1000 sizes, which three threads took in any order, and of one more."""
    shim.need(shutil.disk_usage(tmp_path).free > 2 << 30, "recordings of a million products take 900 MB")
    written = []

    def write(name, seed, last):
        tasks = tasks_of_a_pool(1000, seed)
        shares = [tasks[:300], tasks[300:650], tasks[650:]]
        calls = [calls_with_results(at(41), "8-1007", share) for share in shares]
        written.append(make_recording(tmp_path / f"{name}.fp32rec", "summary", "--max-size", str(1 << 30), *calls,
                                      calls_with_results(at(41), 64, [last])))
        return written[-1]

    yield write
    for path in written:
        path.unlink()


def test_a_million_products_in_another_order_are_the_same_and_the_one_changed_is_named(million):
    a, b = million("a", 1, 4.5), million("b", 2, 4.5)
    result = fp32shim("diff", a, b)
    assert result.stdout.startswith("Same results in another order: 1,000,001 of 1,000,001 products; "), result.stdout + result.stderr
    assert result.returncode == 0
    changed = fp32shim("diff", "--format", "json", a, million("c", 3, 7.5)).json
    assert (changed["aligned"], changed["other_bits"], changed["uncertain"]) == (1_000_001, 1, 0)
    first = changed["first_other_bits"]
    assert (first["a"]["thread"], first["a"]["number"], first["b"]["thread"], first["b"]["number"]) == (4, 1, 4, 1)
    assert first["m"] == 64 and first["difference"] == pytest.approx(3 / 4.5)


def test_tasks_of_a_pool_at_another_precision_are_compared_with_the_nearest_results(tmp_path):
    a = pool(tmp_path, "a", tasks_of_a_pool(200, 1))
    b = pool(tmp_path, "b", [task * 1.0002 for task in tasks_of_a_pool(200, 2)], applied="tf32")
    report = fp32shim("diff", "--format", "json", a, b).json
    assert report["summary"] == "200 of 200 products ran at another precision (fp32 -> tf32); of these, 200 gave other results"
    assert (report["other_precision"], report["beyond_bound"], report["uncertain"]) == (200, 0, 0)
    assert report["paired_by_nearest"] > 100


def test_tasks_too_many_to_compare_each_with_each_are_said_to_be_uncertain(tmp_path):
    a = pool(tmp_path, "a", tasks_of_a_pool(1200, 1))
    b = pool(tmp_path, "b", [task * 1.0002 for task in tasks_of_a_pool(1200, 2)])
    report = fp32shim("diff", "--format", "json", a, b).json
    assert (report["uncertain"], report["other_bits"]) == (1200, 1200)
    assert any(remark.startswith("Uncertain: 1,200 pairs with other bits") for remark in report["remarks"])


def test_tasks_of_a_pool_are_paired_by_their_operands_however_many_and_far_apart_they_are(tmp_path):
    def tasks(seed, more):
        numbers = random.Random(seed).sample(range(1200), 1200)
        return [f"{1 + number + more}/{number}" for number in numbers]
    a, b = pool(tmp_path, "a", tasks(1, 0)), pool(tmp_path, "b", tasks(2, 0.25))
    report = fp32shim("diff", "--format", "json", a, b).json
    assert (report["other_bits"], report["same_operands"], report["uncertain"], report["paired_by_nearest"]) == (1200, 1200, 0, 0)
    assert report["largest"]["difference"] == pytest.approx(0.25)
    text = fp32shim("diff", a, b).stdout
    assert "; 1,199 more differ, with equal inputs\n" in text


def test_operands_that_differed_already_are_told_from_a_product_with_another_result(record):
    a = record("a", (64, at(41), ["1.0/1", "2.0/2", "3.0/3"]))
    b = record("b", (64, at(41), ["1.5/9", "2.5/2", "3.5"]))
    report = fp32shim("diff", "--format", "json", a, b).json
    assert (report["other_bits"], report["same_operands"], report["unknown_operands"]) == (3, 1, 1)
    assert report["first_other_bits"]["other_operands"] == ["a"] and report["first_same_operands"]["position"] == 2
    text = fp32shim("diff", a, b).stdout
    assert text.startswith("A difference begins at model.py:41 ") and (
        ": equal inputs, other bits; 2 more differ: 1 with other inputs, 1 with inputs that are not recorded on both sides\n") in text
    assert "\nFirst product with different bits: 1\n" in text and "\n  operands: other bits in a\n" in text
    assert text.split("First product with different bits from the same operands: ")[1].startswith("2\n")


def test_a_thread_alone_keeps_its_order_however_far_results_are_apart(record):
    a, b = record("a", (64, at(41), [1.0, 2.0, 3.0])), record("b", (64, at(41), [3.1, 1.1, 2.1]))
    report = fp32shim("diff", "--format", "json", a, b).json
    assert report["largest"]["difference"] == pytest.approx(2.1) and report["paired_by_nearest"] == report["uncertain"] == 0
    assert report["summary"] == "Other results: 3 of 3 products; all ran at the same precision"


def test_a_kind_that_one_thread_moved_behind_another_is_compared_with_the_nearest_results_or_uncertain(record):
    first, second = (64, at(41), [1.0, 2.0, 3.0, 4.0]), (32, at(42), [5.0, 6.0, 7.0])
    a = record("a", first, second)
    near = record("b", (32, at(42), [7.001, 5.001, 6.001]), (64, at(41), [1.001, 2.001, 3.001, 4.001]))
    report = fp32shim("diff", "--format", "json", a, near).json
    assert (report["other_bits"], report["paired_by_nearest"], report["uncertain"]) == (7, 3, 0)
    assert report["largest"]["difference"] == pytest.approx(0.001)
    far = record("c", (32, at(42), [70.0, 50.0, 60.0]), first)
    report = fp32shim("diff", "--format", "json", a, far).json
    assert (report["other_bits"], report["paired_by_nearest"], report["uncertain"]) == (3, 0, 3)


def test_a_headline_tells_equal_results_at_another_precision(record):
    a, b = record("a", (64, at(41), [1.0, 2.0])), record("b", (64, at(41), [1.0, 2.0]), applied="tf32")
    assert fp32shim("diff", a, b).stdout.startswith(
        "Same results in the same order: 2 of 2 products; 2 of them at another precision (fp32 -> tf32)\n")


def test_a_real_pool_of_threads_gives_the_same_results_in_another_order(tmp_path):
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    code = """if True:
        import random, sys, numpy as np
        from concurrent.futures import ThreadPoolExecutor
        def task(number):
            a = np.random.default_rng(number).standard_normal((48, 48), dtype="f")
            if number == int(sys.argv[2]): a[0, 0] += 1
            return a @ (a + 1)
        numbers = random.Random(int(sys.argv[1])).sample(range(200), 200)
        with ThreadPoolExecutor(4) as pool: list(pool.map(task, numbers))"""
    for name, seed, changed in (("a", 1, -1), ("b", 2, -1), ("c", 3, 117)):
        done = fp32shim("run", "--quiet", "--where", "python", "--log", tmp_path / f"{name}.fp32rec",
                        "--", shim.SYSTEM_PYTHON, "-c", code, seed, changed,
                        env={"FP32_MATMUL_AUDIT": "fingerprint", "OPENBLAS_NUM_THREADS": "1",
                             "LD_LIBRARY_PATH": shim.blas_directory("openblas")})
        assert done.returncode == 0, done.stderr
    result = fp32shim("diff", tmp_path / "a.fp32rec", tmp_path / "b.fp32rec")
    assert result.stdout.startswith("Same results in another order: 200 of 200 products; "), result.stdout + result.stderr
    assert result.returncode == 0
    result = fp32shim("diff", tmp_path / "a.fp32rec", tmp_path / "c.fp32rec")
    assert result.returncode == 1 and result.stdout.startswith("Other results: 1 of 200 products; "), result.stdout


# --- The page


def test_the_page_draws_the_growth_and_has_all_tables(record, open_page):
    a = record("a", (64, at(41), [1.0] * 3000), (8, at(42, "<b>last"), [1.0] * 5))
    b = record("b", (64, at(41), [1.0] * 1000 + [1.0 + 1e-7 * i for i in range(1, 2001)]), (8, at(42, "<b>last"), [1.0, 2.0] * 2 + [float("nan")]))
    page = open_page(a, b, name="diff", status=1)
    page.settle()
    assert page.ink("#growth-chart") > 1000
    assert page.text("#outcome") == "3,005 products aligned: 1,002 with the same bits, 2,003 with different bits, 3 beyond 0.001."
    assert page.text("#summary") == ("Other results: 2,003 of 3,005 products; all ran at the same precision. "
                                     "Environment: no difference is recorded. Inputs: not recorded on both sides.")
    assert "1,001" in page.text("#products") and "difference: inf" in page.text("#products")
    assert "model.py:42 <b>last" in page.text("#groups")
    assert "not shown: 1 infinite difference" in page.text("#growth-note")
    assert len(page.all("#steps tbody tr")) == 20


def test_products_that_differ_only_in_scope_or_transposition_are_told_apart(open_page, tmp_path):
    for name, factor in (("a", 1), ("b", 2)):
        calls = [calls_with_results(at(41), 64, [factor * 1.5]).replace(":9000::", f":9000:net.layers.{layer}:") for layer in range(5)]
        make_recording(tmp_path / f"{name}.fp32rec", "summary", "--one-thread", *calls)
    page = open_page(tmp_path / "a.fp32rec", tmp_path / "b.fp32rec", name="diff", status=1)
    rows = page.run("return [...document.querySelectorAll('#groups tbody tr')].map(row => [...row.cells].slice(4).map(cell => cell.textContent).join())")
    assert len(rows) == len(set(rows)) == 5 and all("net.layers." in row for row in rows)

    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    code = "import numpy as np\nx, a = (np.ones((64, 64), 'f') * n for n in (1 / 3, 1 / 7))\nx @ a, x @ a.T"
    for name, precision in (("c", "native"), ("d", "high")):
        done = fp32shim("run", "--quiet", "--precision", precision, "--cpu", "emulate", "--log", tmp_path / f"{name}.fp32rec", "--",
                        shim.SYSTEM_PYTHON, "-c", code, env={"FP32_MATMUL_AUDIT": "fingerprint"})
        assert done.returncode == 0, done.stderr
    table = fp32shim("diff", tmp_path / "c.fp32rec", tmp_path / "d.fp32rec").stdout.split("By place")[1]
    assert " NN " in table and " NT " in table


def test_the_page_of_equal_or_of_no_aligned_results_has_no_errors(record, open_page):
    a, b = record("a", (64, at(41), [1.0, 2.0])), record("b", (65, at(41), [1.0]))
    for other, shown in ((a, True), (b, False)):
        page = open_page(a, other, name="diff", status=0 if shown else 3)
        page.settle()
        assert page.complaints() == []
        assert page.find("#growth").is_displayed() == shown


def test_real_products_of_two_precisions_go_apart_in_a_table(tmp_path):
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    code = "import numpy as np\nx = a = np.linspace(-1, 1, 4096, dtype='f').reshape(64, 64)\nfor _ in range(30): x = x @ a / 5"
    for name, options in (("a", []), ("b", ["--precision", "high", "--cpu", "emulate"])):
        done = fp32shim("run", "--quiet", "--where", "python", *options, "--log", tmp_path / f"{name}.fp32rec", "--", shim.SYSTEM_PYTHON, "-c",
                        code, env={"FP32_MATMUL_AUDIT": "fingerprint", "LD_LIBRARY_PATH": shim.blas_directory("openblas")})
        assert done.returncode == 0, done.stderr
    result = fp32shim("diff", "--bound", "1e-4", tmp_path / "a.fp32rec", tmp_path / "b.fp32rec")
    assert "30 products aligned: 0 with the same bits, 30 with different bits" in result.stdout
    assert "First product beyond 0.0001: 1\n  cblas_sgemm 64x64x64 at <string>:3 <module>\n  A: fp32" in result.stdout


def test_two_libraries_differ_in_the_last_digits_of_float64_from_the_first_product_on(tmp_path):
    shim.need(shim.has_module("numpy"), "the system's Python has no numpy")
    code = ("import numpy as np\na = np.random.default_rng(0).standard_normal((96, 96))\nb = a[:, :48].copy()\n"
            "for _ in range(4): b = a @ b / 10\n(a + 1j * a) @ (a - 2j * a)")
    logs = []
    for blas in ("reference", "openblas"):
        logs.append(tmp_path / f"{blas}.fp32rec")
        # The kernel Prescott, which OpenBLAS takes on processors that it does not know, may add in the reference's order.
        fp32shim("run", "--quiet", "--log", logs[-1], "--", shim.SYSTEM_PYTHON, "-c", code,
                 env={"FP32_MATMUL_AUDIT": "fingerprint", "LD_LIBRARY_PATH": shim.blas_directory(blas),
                      "OPENBLAS_CORETYPE": processor.openblas_kernels()[-1]})
    text = fp32shim("diff", *logs).stdout
    first = text.split("First product with different bits: ")[1].split("\n\n")[0]
    assert first.startswith("1\n  cblas_dgemm 96x48x96") and "A: fp64 by" in first and "operands: the same bits" in first
    assert 0 < float(first.split("difference: ")[1]) < 1e-14
    assert "cblas_zgemm" in text and "0 beyond 0.001" in text
    lowered = fp32shim("diff", logs[0], make_policy_run(tmp_path, code))
    assert "asked for single" not in lowered.stderr and "fp64 -> fp32" in lowered.stdout


def make_policy_run(tmp_path, code):
    policy, log = tmp_path / "single.toml", tmp_path / "single.fp32rec"
    policy.write_text('schema = 1\n[cpu]\nmode = "emulate"\n[[rule]]\nprecision = "fp32"\nwhen = { dtype = ["float64", "complex128"] }\n')
    fp32shim("run", "--quiet", "--policy", policy, "--log", log, "--", shim.SYSTEM_PYTHON, "-c", code,
             env={"FP32_MATMUL_AUDIT": "fingerprint", "LD_LIBRARY_PATH": shim.blas_directory("reference")})
    return log
