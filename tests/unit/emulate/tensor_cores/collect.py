"""Writes the files of this folder from a clone of their source: python3 collect.py MATLAB-tensor-core [--lines 5000] [--to FOLDER]

README.md describes the files. With all 5,000 lines, FP32SHIM_TENSOR_CORE_RESULTS=FOLDER build/bin/emulate_tests reads
FOLDER instead of this one.
"""

import argparse
import pathlib

# For each format, the hexadecimal digits of an operand, and the GPUs of which the source has results.
FORMATS = {"tf32": (5, "A100 A2 Ada L40S H100 H200 B200"), "bf16": (4, "A100 A2 Ada L40S H100 H200 B200"),
           "fp16": (5, "V100 A100 A2 Ada L40S H100 H200 B200"), "E4M3": (3, "Ada L40S H100 H200 B200"),
           "E5M2": (3, "Ada L40S H100 H200 B200")}
# Only this result shows that a B200 adds in steps, and does not round the whole sum once.
ALSO = {"E5M2": [3935]}


def numbers(folder, name):
    return [line.split() for line in (folder / f"{name}.txt").read_text().splitlines()]


def word(bits):
    return f"{int(bits, 2):08x}"


def collect(source, form, lines):
    digits, gpus = FORMATS[form]
    gpus = gpus.split()
    results = {}
    for gpu in gpus:
        folder = source / "model_validation" / gpu / form
        results[gpu] = [numbers(folder, name) for name in (f"a_{gpu}_{form}", f"b_{gpu}_{form}", f"c_{gpu}_fp32", f"d_{gpu}_fp32")]
    longest = max(gpus, key=lambda gpu: len(results[gpu][0][0]))
    yield " ".join(f"{gpu}:{len(results[gpu][0][0])}" for gpu in gpus)
    for line in [*range(lines), *(each for each in ALSO.get(form, []) if each >= lines)]:
        a, b = (results[longest][operand][line] for operand in (0, 1))
        assert not any(each[digits:].strip("0") for each in a + b)
        words = []
        for gpu in gpus:
            count = len(results[gpu][0][line])
            assert (results[gpu][0][line], results[gpu][1][line]) == (a[:count], b[:count])
            leaves_c_out = gpu in ("H100", "H200") and form in ("E4M3", "E5M2")
            words += ["0" if leaves_c_out else word(results[gpu][2][line][0]), word(results[gpu][3][line][0])]
        yield " ".join([each[:digits] for each in a + b] + words)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--to", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    options = parser.parse_args()
    for form in FORMATS:
        (options.to / f"{form.lower()}.txt").write_text("\n".join(collect(options.source, form, options.lines)) + "\n")


if __name__ == "__main__":
    main()
