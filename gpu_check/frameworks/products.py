#!/usr/bin/env python3
"""Runs a framework's float32 products and compares the measured format with what the shim decided.

    products.py torch|cupy|jax|numpy --own default|fp32|tf32 --shim TEXT [--log FILE] [--expect FORMAT] [--must-be-seen]
                [--size N] [--json] [--kernels]

--own is the precision that the program itself requests from the framework. --shim is a text for the table about the shim's
settings. --log is the value of FP32_MATMUL_LOG of this process. --expect is the format that the shim's settings request.
Prints a row of a Markdown table for each operation, as soon as its result is known. With --json, prints a line
{"version", "device"}, and a line for each operation. Each operation runs twice, and the lower format counts. With --kernels,
it runs once more under torch.profiler, which gives the names of its kernels.
If the log has no decision for a product, the product bypassed the shim. Its row then says `not seen`, which is a failure
with --must-be-seen. If the framework cannot run an operation here (for example because NVRTC has no headers), the
operation's row says so, and the other operations still run.
Ends with status 0, or 1 if a result is lower than its decision, if a decision or result is not as expected, if no operation
ran, or if --must-be-seen is given and the log was not written. Ends with 77 if the framework or a CUDA device is missing.
"""

import argparse
import json
import math
import os
import sys

HEADING = ("| framework | operation | own setting | shim | measured | error | decisions | verdict |\n"
           "|---|---|---|---|---|---|---|---|")


class DecisionLog:
    """Reads the decisions that the shim appends to its log. Each decision is returned once."""

    def __init__(self, path):
        self.path = path
        self.position = 0

    def file_exists(self):
        return os.path.exists(self.path)

    def new_decisions(self):
        if not self.path:
            return []
        try:
            with open(self.path, encoding="utf-8") as file:
                file.seek(self.position)
                text = file.read()
        except FileNotFoundError:
            return []
        # The program may still be writing the last line, so only whole lines are read.
        whole = text[: text.rfind("\n") + 1]
        self.position += len(whole.encode())
        events = [json.loads(line) for line in whole.splitlines()]
        return [event for event in events if event["event"] == "decision"]


def error_in_one_line(error):
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}".replace("|", "/")


def summarize_decisions(decisions):
    """Returns each distinct decision once, with its count."""
    lines = {}
    for d in decisions:
        reason = "" if d["reason"] == "as_requested" else f", {d['reason']}"
        text = f"`{d['function']}` from {d['caller']} in {d['provider']}: {d['applied']} by {d['how']}{reason}"
        lines[text] = lines.get(text, 0) + 1
    return "<br>".join(f"{count} x {text}" for text, count in lines.items())


def judge_operation(measured, decisions, arguments, formats):
    """Judges the measured format by the decisions. Returns a text, and True if the text tells a failure."""
    expect = arguments.expect
    known = [d["applied"] for d in decisions if d["applied"] != "unchanged"]
    if measured == "wrong":
        return "FAIL: the result is wrong", True
    if not decisions:
        return ("FAIL: not seen", True) if arguments.must_be_seen else ("not seen", False)
    if not known:
        return ("FAIL: left unchanged", True) if expect else ("left unchanged", False)
    applied = formats.lowest_format(known)
    if formats.is_lower_format(measured, applied):
        return f"FAIL: {measured} is lower than {applied}", True
    if measured not in (applied, "tf32", "fp32"):  # FP16 does not permit BF16, which has fewer bits of mantissa
        return f"FAIL: {applied} does not permit {measured}", True
    if expect and applied != expect:
        return f"FAIL: decided {applied}, not {expect}", True
    if expect and measured == "fp32" != expect:
        return f"FAIL: {expect} permitted, {measured} used", True
    # BF16x9 is as accurate as FP32, so a result does not tell which of them ran.
    return ("ok" if measured == applied or applied == "bf16x9" else f"ok: {applied} permits {measured}, which was used"), False


def print_operation(answer, framework, arguments):
    """Prints the result of one operation: a row of the table, or a line of JSON."""
    if arguments.json:
        answer["decisions"] = [{key: d[key] for key in ("function", "applied", "how", "reason")} for d in answer["decisions"]]
        print(json.dumps(answer), flush=True)
        return
    error = "-" if answer["error"] is None else f"{answer['error']:.1e}"
    print(f"| {arguments.framework} {framework} | {answer['operation']} | {arguments.own} | {arguments.shim} "
          f"| {answer['measured'] or '-'} | {error} | {summarize_decisions(answer['decisions']) or '-'} | {answer['verdict']} |",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("framework", choices=["torch", "cupy", "jax", "numpy"])
    parser.add_argument("--own", choices=["default", "fp32", "tf32"], default="default")
    parser.add_argument("--shim", default="none")
    parser.add_argument("--log")
    parser.add_argument("--expect", choices=["fp32", "tf32", "bf16"])
    parser.add_argument("--must-be-seen", action="store_true")
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of the table")
    parser.add_argument("--kernels", action="store_true", help="with --json: the names of PyTorch's kernels")
    arguments = parser.parse_args()

    try:
        import measured as formats
        import operations

        version, device, functions = getattr(operations, f"load_{arguments.framework}")(arguments.own)
    except (ImportError, RuntimeError) as error:
        print(f"products.py: {arguments.framework}: {error}", file=sys.stderr)
        return 77

    if arguments.json:
        print(json.dumps({"version": version, "device": device}), flush=True)
    a, b = formats.random_operands(arguments.size)
    product = formats.ReferenceProduct(a, b)
    log = DecisionLog(arguments.log)
    failed = False
    ran = 0
    for name, operation in functions.items():
        log.new_decisions()
        answer = {"operation": name, "measured": None, "error": None, "decisions": [], "fails": False}
        try:
            results = [operation(a, b), operation(a, b)]
        except Exception as error:  # frameworks raise all kinds of errors, and the other operations still have to run
            answer["verdict"] = f"did not run: {error_in_one_line(error)}"
            print_operation(answer, f"{version}, {device}", arguments)
            continue
        ran += 1
        decisions = log.new_decisions()
        # The second call may replay a graph that was captured during the first call, with the first call's decisions.
        # So both results count.
        judged = [product.judge_result(result) for result in results]
        answer["measured"], _, error = max(judged, key=lambda each: formats.FORMATS.index(each[0]))
        answer["error"] = error if math.isfinite(error) else None  # JSON has no infinity
        answer["verdict"], answer["fails"] = judge_operation(answer["measured"], decisions, arguments, formats)
        answer["decisions"] = decisions
        if arguments.kernels:
            answer["kernels"] = operations.kernels_of_torch_operation(lambda: operation(a, b))
        failed |= answer["fails"]
        print_operation(answer, f"{version}, {device}", arguments)
    if not ran:
        print("products.py: no operation ran", file=sys.stderr)
    if arguments.log and not log.file_exists():
        print(f"products.py: {arguments.log} was not written: the shim was not loaded, or saw nothing", file=sys.stderr)
        failed |= arguments.must_be_seen
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
