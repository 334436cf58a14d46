"""The decision rules of experiments.py: from each variant's answer to (what was seen, what follows). No framework is
needed here, so that they can be tested anywhere.
"""

import statistics

NOTHING = "nothing: as assumed"


class NoDevice(RuntimeError):
    """An experiment raises this error if there is no CUDA device."""


def _listed(answers):
    return "; ".join(f"{variant}: " + ", ".join(f"{key} {value}" for key, value in answer.items())
                     for variant, answer in answers.items())


def _formats(answers, variant):
    return set(answers[variant].values())


def torch_convolutions(answers):
    lowered = [name for name, value in answers["high"].items() if value != "fp32" and answers["native"][name] == "fp32"]
    return _listed(answers), (f"cuDNN's cublasLt calls are lowered: {', '.join(lowered)}" if lowered else NOTHING)


def torch_solves(answers):
    lost = [name for name, residual in answers["high"].items() if float(residual) > 10 * float(answers["native"][name])]
    return _listed(answers), (f"a solve is lowered: {', '.join(lost)}" if lost else NOTHING)


def _pinned(answers, who):
    past_floor = _formats(answers, "floor fp32") != {"fp32"}
    past_pin = _formats(answers, "pin") != {"fp32"}
    if past_pin:
        return f"{who} bypasses a pin, even under the variables of `run --pin`: verify must doubt it"
    return f"{who} bypasses a floor; the variables of `run --pin` stop it" if past_floor else NOTHING


def torch_autotune(answers):
    seen = {variant: {"format": answer["format"], "chosen": answer["chosen"]} for variant, answer in answers.items()}
    formats = {variant: {"format": answer["format"]} for variant, answer in answers.items()}
    return _listed(seen), _pinned(formats, "inductor's autotuner")


def torch_override(answers):
    held = _formats(answers, "override, floor fp32")
    if held != {"fp32"}:
        return _listed(answers), "a floor does not work against NVIDIA_TF32_OVERRIDE=1: refuse it under this variable"
    return _listed(answers), NOTHING if _formats(answers, "override") != {"fp32"} else \
        "the variable lowered nothing, so the experiment proves nothing"


def torch_late_override(answers):
    changed = [variant for variant, answer in answers.items() if answer["before"] != answer["after"]]
    return _listed(answers), (f"the variable is read again later: {', '.join(changed)}" if changed else NOTHING)


def torch_graph(answers):
    if any(answer["replayed"] != "the bits of eager" for answer in answers.values()):
        return _listed(answers), "a replay differs: compare the nodes of both graphs"
    return _listed(answers), NOTHING if answers["high"]["format"] == "tf32" else "a captured product is not forced"


def _obeys(answers, who):
    high, held = _formats(answers, "high"), _formats(answers, "floor fp32")
    if held != {"fp32"}:
        return f"{who} bypasses a floor"
    return NOTHING if high == {"tf32"} else f"{who} is not forced to TF32"


def torch_cublaslt(answers):
    return _listed(answers), _obeys(answers, "torch's cublasLt")


def onnxruntime_matmul(answers):
    return _listed(answers), _obeys(answers, "onnxruntime")


def _difference(left, right):
    """Returns the median of the differences in each round, and the bounds between which the true median lies with 99%
    certainty, like send_difference() of gpu_check/sections/host_time.cpp."""
    each = sorted(a - b for a, b in zip(left, right))
    rank = max(int(len(each) / 2 - 2.576 * len(each) ** 0.5 / 2), 0)
    return statistics.median(each), each[rank], each[-1 - rank]


def torch_linear(answers):
    """Two processes that do the same also differ. So a difference counts only if it is larger than theirs can be."""
    plain, asks, again, high = (answers[name] for name in ("plain", "asks for TF32", "asks for TF32, again", "high"))
    cost, low, up = _difference(high["turns"], asks["turns"])
    equal = _difference(again["turns"], asks["turns"])
    seen = "; ".join(f"{name}: {statistics.median(each['turns']):.2f} us a layer, {each['format']}"
                     for name, each in answers.items())
    seen += (f"; high less asking: {cost:+.2f} ({low:+.2f} to {up:+.2f}); asking again less asking: {equal[0]:+.2f} "
             f"({equal[1]:+.2f} to {equal[2]:+.2f})")
    if (plain["format"], asks["format"], high["format"]) != ("fp32", "tf32", "tf32"):
        return seen, "the formats are not FP32, TF32 and TF32, so the experiment proves nothing"
    shown = max(abs(bound) for bound in equal)
    if low <= 0 <= up:
        shown = max(shown, abs(low), abs(up))
    if abs(cost) <= shown:
        return seen, f"nothing: the difference is below what this machine can show ({shown:.2f} us)"
    if cost < 0:
        return seen, f"nothing: forcing TF32 costs {-cost:.2f} us a layer less than asking for it"
    return seen, f"forcing TF32 costs {cost:.2f} us a layer more than asking for it: look for calls that it makes in addition"


def torch_kernels(answers):
    """Kernels inside products of cuBLAS have no rows, so names of products may be missing. Kernels of graphs are counted
    once, when they are captured, and names may be cut."""
    profiled, recorded = dict(answers["profiled"]), dict(answers["recorded"])
    replays, unknown = recorded.pop("graph replay", 0), recorded.pop("unknown", 0)
    of_products = ("gemm", "xmma", "nvjet", "cutlass", "splitK", "gemv", "cublas")
    whole = {next((full for full in profiled if full.startswith(name[:400])), name): count for name, count in recorded.items()}
    missing = [name for name in profiled if name not in whole and not any(word in name for word in of_products)]
    other = [name for name, count in whole.items() if name in profiled and count != profiled[name] and "scan" not in name]
    more = [name for name in whole if name not in profiled]
    seen = (f"profiled: {len(profiled)} kernels, {sum(profiled.values())} launches; recorded: {len(whole)} kernels, "
            f"{sum(whole.values())} launches, {replays} replays, {unknown} of unknown kernels")
    for what, names in (("missing", missing), ("another count", other), ("not profiled", more)):
        if names:
            seen += f"; {what}: " + ", ".join(name[:80] for name in names[:5])
    if unknown or missing or other or more:
        return seen, "kernels are launched by a way that is not seen: verify must not say Shown"
    return seen, NOTHING if replays else "no graph was replayed, so the experiment proves less"


def torch_pinv(answers):
    return torch_solves(answers)


def jax_triton(answers):
    return _listed(answers), _pinned(answers, "XLA's autotuner")


def jax_cache(answers):
    written = _formats(answers, "high, writes")
    read = _formats(answers, "native, reads")
    if read != {"fp32"}:
        return _listed(answers), "code compiled under high is reused: use a cache folder for each policy"
    return _listed(answers), NOTHING if "tf32" in written else "high lowered nothing, so the experiment proves nothing"
