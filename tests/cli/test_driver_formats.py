"""report --format benchdnn, rocblas-bench and shapes: input of programs that measure products."""

import csv
import io
import re

import pytest

import shim
from command import fp32shim, make_recording

GEMMS = [
    "sgemm_:64x32x16/NT:native:fp32:as_requested:5",
    "cblas_sgemm:64x32x16/NT:high:tf32:as_requested:4",
    "sgemm_batch_strided_:64x32x16/TN/8:native:fp32:as_requested:3",
    "cublasSgemmBatched:64x32x16/NN/7:medium:bf16:as_requested:2",
    "cgemm_:64x32x16/CN:native:fp32:as_requested:6",
]
OTHERS = [
    "ssyrk_:32x32x8/NN:native:fp32:as_requested:9",
    "sgemm_:0x32x16/NN:native:fp32:as_requested:8",
    "made_up_gemm:64x32x16/NN:native:fp32:as_requested:7",
    "sgemm_:64x32x16/;N:native:fp32:as_requested:11",
    "sbgemm_:32:native:unchanged:observed:12",
    "onednn_matmul:32:native:fp32:not_governable:13",
]


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return make_recording(tmp_path_factory.mktemp("recordings") / "a.fp32rec", "summary", *GEMMS, *OTHERS)


def written(recording, format_, *more):
    return fp32shim("report", "--format", format_, "--sort", "calls", *more, recording).stdout


def measured(text):
    """Returns the lines that are no comments. The keys are the numbers of calls in the comments before them."""
    lines = text.splitlines()
    return {int(re.match(r"# (\d+) calls? of", lines[i - 1 - lines[i - 1].startswith("# oneDNN")])[1]): line
            for i, line in enumerate(lines) if line.startswith(("rocblas-bench", "--stag"))}


def left_out(text):
    return {int(match[1]): match[2] for match in re.finditer(r"^# left out: (\d+) calls? of .*: (.*)$", text, re.MULTILINE)}


def test_benchdnn_gets_row_major_products_of_the_same_memory(recording):
    lines = measured(written(recording, "benchdnn"))
    # C = A B' in column-major order is C' = B A' in row-major order.
    assert lines == {
        5: "--stag=ba --wtag=ab --dtag=ab --attr-fpmath=strict 32x16:16x64",
        4: "--stag=ab --wtag=ba --dtag=ab --attr-fpmath=tf32 64x16:16x32",
        3: "--stag=abc --wtag=acb --dtag=abc --attr-fpmath=strict 8x32x16:8x16x64",
        2: "--stag=abc --wtag=abc --dtag=abc --attr-fpmath=bf16 7x32x16:7x16x64",
    }


def test_rocblas_bench_gets_column_major_products_of_the_same_memory(recording):
    rest = "--alpha 1 --lda {} --ldb {} --beta 0 --ldc {}"
    assert measured(written(recording, "rocblas-bench")) == {
        5: "rocblas-bench -f gemm -r f32_r --transposeA N --transposeB T -m 64 -n 32 -k 16 " + rest.format(64, 32, 64),
        4: "rocblas-bench -f gemm -r f32_r --transposeA T --transposeB N -m 32 -n 64 -k 16 " + rest.format(16, 16, 32),
        3: "rocblas-bench -f gemm_strided_batched -r f32_r --transposeA T --transposeB N -m 64 -n 32 -k 16 "
           + rest.format(16, 16, 64) + " --stride_a 1024 --stride_b 512 --stride_c 2048 --batch_count 8",
        2: "rocblas-bench -f gemm_batched -r f32_r --transposeA N --transposeB N -m 64 -n 32 -k 16 "
           + rest.format(64, 16, 64) + " --batch_count 7",
        6: "rocblas-bench -f gemm -r f32_c --transposeA C --transposeB N -m 64 -n 32 -k 16 " + rest.format(16, 16, 64),
    }


@pytest.mark.parametrize("format_", ["benchdnn", "rocblas-bench"])
def test_what_a_driver_cannot_express_is_named_with_its_reason(recording, format_):
    text = written(recording, format_)
    reasons = left_out(text)
    assert {key: reasons[key] for key in (7, 8, 9, 11, 12, 13)} == {
        9: "syrk is not a gemm", 8: "it multiplies nothing", 7: "this version does not know the function",
        11: "its sizes or transpositions are not known", 12: "the type of its result is not recorded",
        13: "oneDNN ran it itself, and no function of a BLAS"}
    assert (6 in reasons) == (format_ == "benchdnn")
    assert len(measured(text)) + len(reasons) == len(GEMMS) + len(OTHERS)
    assert all(line.startswith(("#", "--", "rocblas-bench -f gemm")) for line in text.splitlines())


def test_products_of_a_full_recording_are_counted_where_they_are_left_out(tmp_path):
    descriptions = [f"sgemm_:{size}x8x8:native:fp32:as_requested:10" for size in range(8, 28)]
    full = make_recording(tmp_path / "full.fp32rec", "summary", "--rows", "16", *descriptions)
    for format_ in ("benchdnn", "rocblas-bench"):
        text = written(full, format_)
        assert measured(text) and left_out(text)
        counts = [int(count) for count in re.findall(r"^# (?:left out: )?(\d+) calls? of", text, re.MULTILINE)]
        assert sum(counts) == 200
    rows = list(csv.DictReader(io.StringIO(written(full, "shapes"))))
    assert sum(int(row["calls"]) for row in rows) == 200


def test_shapes_have_all_products(recording):
    rows = list(csv.DictReader(io.StringIO(written(recording, "shapes"))))
    assert len(rows) == len(GEMMS) + len(OTHERS)
    by_calls = {int(row["calls"]): row for row in rows}
    assert by_calls[5] == {
        "operation": "gemm", "dtype": "float32", "trans_a": "N", "trans_b": "T", "m": "64", "n": "32", "k": "16",
        "batch": "1", "batching": "single", "layout": "column-major", "device": "cpu", "precision": "fp32",
        "sizes_folded": "false", "calls": "5", "host_ns": by_calls[5]["host_ns"], "flops_total": str(5 * 2 * 64 * 32 * 16)}
    assert by_calls[4]["layout"] == "unknown" and by_calls[4]["precision"] == "tf32"
    assert by_calls[3]["batching"] == "strided" and by_calls[2]["batching"] == "pointers"
    assert by_calls[7]["operation"] == "" and by_calls[9]["operation"] == "syrk"


def test_the_columns_of_shapes_are_documented(recording):
    page = (shim.ROOT / "docs/schema.md").read_text()
    described = page.split("## Shapes\n")[1].split("\n## ")[0]
    header = written(recording, "shapes").splitlines()[0].split(",")
    assert set(header) <= set(re.findall(r"`(\w+)`", described))


def test_calls_of_one_kind_are_one_line(tmp_path):
    recording = make_recording(tmp_path / "a.fp32rec", "summary", "sgemm_:64x32x16/NT:native:fp32:as_requested:5",
                               "sgemm_64_:64x32x16/NT:native:fp32:as_requested:7", "sgemm_:64x32x16/NT:high:fp32:cpu_mode_off:9")
    assert list(measured(written(recording, "benchdnn"))) == [21]
    assert list(measured(written(recording, "benchdnn", "--function", "sgemm_"))) == [14]


def test_groups_are_not_for_drivers(recording):
    result = fp32shim("report", "--format", "benchdnn", "--by", "size", recording)
    assert result.returncode == 2 and "which has a line for each kind of product" in result.stderr


def test_products_of_float64_are_for_rocblas_and_not_for_onednn(tmp_path):
    doubles = make_recording(tmp_path / "a.fp32rec", "summary", "dgemm_:64x32x16/NT:native:fp64:as_requested:5",
                             "zgemm_:64x32x16/NN:native:fp64:as_requested:6")
    lines = measured(written(doubles, "rocblas-bench"))
    assert [lines[calls].split(" -r ")[1].split()[0] for calls in (5, 6)] == ["f64_r", "f64_c"]
    assert left_out(written(doubles, "benchdnn")) == {5: "oneDNN has no float64 on a CPU", 6: "oneDNN has no complex numbers"}
