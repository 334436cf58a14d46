"""Makes tables and plots of the measurements of bench/run.sh: text for a terminal, and the figures of docs/performance.md.

A page has a place for each table between the lines `<!-- measured: NAME -->` and `<!-- end -->`. write() replaces what is
between them, and the plots in images/ beside the page.
"""

import math
import re
import shutil
import statistics
import subprocess
from xml.sax.saxutils import escape

# Nanoseconds that fp32shim adds to a call: the number that README and pages claim, and the limit.
CLAIMS = {"off": (0.5, 1), "summary": (10, 10), "calls": (30, 20)}
CASES = {"sgemm_ 8": "`sgemm_` 8×8×8", "cblas_sgemm 8": "`cblas_sgemm` 8×8×8", "sgemm_ 0": "`sgemm_` 0×0×0"}

# The path of a call that nothing governs: each instruction of an entry point, as objdump names it on x86-64, and its use.
GATE = [
    ("endbr64", "lets indirect calls land here where the processor checks that (CET); otherwise does nothing"),
    ("mov", "loads this function's table of call sites"),
    ("test", "no function was called yet: there is no table"),
    ("je", "then the slow way makes one"),
    ("mov", "reads the return address, which tells who calls"),
    ("imul", "hashes it: the multiplier was chosen so that no two known callers meet"),
    ("shr", "keeps the upper bits, which are mixed best"),
    ("and", "cuts them to the size of the table"),
    ("mov", "loads the call site at that place; it is never null"),
    ("mov", "reads the return address again, since only two registers may change"),
    ("cmp", "compares it with the caller of that site"),
    ("jne", "another caller: the slow way makes a site for it"),
    ("jmp", "goes on to the site's target, here the library's function, with all arguments as they were"),
    ("mov", "the slow way: says which function was called"),
    ("jmp", "finds or makes the site, once for each caller"),
]

COLOURS = ("#555555", "#0072b2", "#56b4e9", "#009e73", "#d55e00", "#cc79a7")


def gate_of(library):
    """Returns [[instruction, its use]] for sgemm_ in a library. Returns None without objdump, or if it is not for x86-64."""
    if not shutil.which("objdump"):
        return None
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=sgemm_", library], text=True,
                             stdout=subprocess.PIPE, check=True).stdout
    if "x86-64" not in listing:
        return None
    lines = re.findall(r"^ +[0-9a-f]+:\t(.+?)\s*$", listing, re.M)[:len(GATE)]
    if [line.split()[0] for line in lines] != [name for name, _ in GATE]:
        raise SystemExit(f"bench/performance_page.py: GATE explains other instructions than sgemm_ has: {lines}")
    return [[re.sub(r"\s+", " ", re.sub(r"\s*[#<].*", "", line)), use] for line, (_, use) in zip(lines, GATE)]


def quartiles(values):
    values = sorted(values)
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3


def number(value):
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def spread(values):
    low, middle, high = quartiles(values)
    return f"{number(middle)} ({number(low)} to {number(high)})"


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# ---- what was measured, by block --------------------------------------------------------------------------------


def machine(results):
    m = results["machine"]
    units = ", ".join(m["units"]) or "no AVX-512"
    place = " of a virtual machine" if m["virtual"] else ""
    return (f"{m['processor']} ({units}), {m['cores']} core{'s' * (m['cores'] != 1)}{place}, Linux {m['kernel']}, {m['libc']}, "
            f"{m['blas']}, Python {m['python']}; {results['date']}, {results['rounds']} rounds; load at the start {m['load']}.")


def more_ns(results):
    """Returns the nanoseconds that each contender adds to sgemm_ 8x8x8: {name: one value for each round}."""
    found = {name: [sample["sgemm_ 8"][1] for sample in rounds] for name, rounds in results["calls"]["samples"].items()}
    whole = results["calls"]["processes"]
    for name, alone in (("uftrace", "OpenBLAS"), ("MKL_VERBOSE", "MKL")):
        if name in whole:
            found[name] = [own - other for own, other in zip(whole[name], whole[alone])]
    return found


def bounds(results):
    rows = []
    for name, (claimed, most) in CLAIMS.items():
        of_all_cases = [more for sample in results["calls"]["samples"][name] for _, more in sample.values()]
        middle = statistics.median(of_all_cases)
        rows.append([name, f"{middle / claimed:.2f}", spread(of_all_cases), str(claimed), str(most), "yes" if middle <= most
                     else f"no, {middle / most:.1f} times"])
    return table(["", "ratio to the claim", "ns more a call", "claimed", "at most", "within"], rows)


def calls(results):
    rows = []
    for name, rounds in results["calls"]["samples"].items():
        ratios = [1 + more / direct for direct, more in (sample["sgemm_ 8"] for sample in rounds)]
        rows.append([name, spread(ratios), *(spread([sample[case][1] for sample in rounds]) for case in CASES)])
    whole = results["calls"]["processes"]
    for name, alone in (("uftrace", "OpenBLAS"), ("MKL_VERBOSE", "MKL")):
        if name in whole:
            rows.append([name, spread([own / other for own, other in zip(whole[name], whole[alone])]),
                         spread(more_ns(results)[name]), "", ""])
    rows += [[name, why, *[""] * len(CASES)] for name, why in results["calls"]["missing"]]
    return table(["", "ratio at 8×8×8", *(f"{title}: ns more" for title in CASES.values())], rows)


def product_ratios(results):
    """Returns the ratio of times with and without each mode: {mode: {shape: one ratio for each round}}."""
    samples = results["products"]["samples"]
    return {mode: {shape: [own[shape] / alone[shape] for own, alone in zip(rounds, samples["alone"])]
                   for shape in results["products"]["shapes"]} for mode, rounds in samples.items() if mode != "alone"}


def time(ns):
    for unit, scale in (("ns", 1), ("µs", 1e3), ("ms", 1e6)):
        if ns < 1000 * scale:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns / 1e9:.3g} s"


def products(results):
    ratios = product_ratios(results)
    alone = {shape: statistics.median(sample[shape] for sample in results["products"]["samples"]["alone"])
             for shape in results["products"]["shapes"]}
    rows = [[shape, *(spread(ratios[mode][shape]) for mode in ratios), time(alone[shape])] for shape in alone]
    return table(["product", *ratios, "alone"], rows)


def sizes(shape):
    return [int(size) for size in re.match(r"c?(\d+)x(\d+)x(\d+)", shape).groups()]


def summary(results):
    """Returns a line for each mode, with means over all products."""
    lines = []
    for mode, of_shapes in product_ratios(results).items():
        medians = {shape: statistics.median(values) for shape, values in of_shapes.items()}
        groups = {"all": medians, "with all sizes from 256 on": {s: r for s, r in medians.items() if min(sizes(s)) >= 256},
                  "complex": {s: r for s, r in medians.items() if s[0] == "c"},
                  "stacks": {s: r for s, r in medians.items() if "*" in s}}
        parts = [f"{geometric_mean(group.values()):.2f} ({len(group)} {name})" for name, group in groups.items() if group]
        slowest = max(medians, key=medians.get)
        lines.append(f"- {mode}: geometric means {', '.join(parts)}; most: {number(medians[slowest])} at {slowest}")
    return "\n".join(lines)


def fixed_order(results):
    samples = results["fixed"]["samples"]
    routines = list(next(iter(samples.values()))[0])
    rows = [[routine, *(spread([of_round[routine] for of_round in rounds]) for rounds in samples.values())] for routine in routines]
    return table(["call", *samples], rows)


def fixed_order_groups(results):
    """Returns a table with the geometric mean of the medians of each group of routines, and the largest median."""
    groups = {"gemm": r"[dcz]?\d", "symm, syrk, trmm, trsm": r"[dcz]?(symm|syrk|tr.m)", "gemv, ger": r"[dcz]?(gemv|ger)",
              "symv, trmv": r"[dcz]?(symv|trmv)", "dot, asum, nrm2": r"d?(dot|asum|nrm2)"}
    samples = results["fixed"]["samples"]
    rows = []
    for name, pattern in groups.items():
        routines = [routine for routine in next(iter(samples.values()))[0] if re.match(pattern, routine)]
        if not routines:
            continue
        cells = []
        for rounds in samples.values():
            medians = {routine: statistics.median(of_round[routine] for of_round in rounds) for routine in routines}
            most = max(medians, key=medians.get)
            cells.append(f"{number(geometric_mean(medians.values()))}; most: {number(medians[most])} at {most}")
        rows.append([f"{name} ({len(routines)})", *cells])
    return table(["routines", *samples], rows)


def start(results):
    samples = results["start"]["samples"]
    rows = []
    for program in results["start"]["programs"]:
        alone = samples[f"{program}: alone"]
        for variant in ("off", "summary"):
            own = samples[f"{program}: {variant}"]
            rows.append([f"`{program}`, {variant}" if program in ("true", "python3 -c pass", "import numpy") else
                         f"{program}, {variant}", spread([a[0] / b[0] for a, b in zip(own, alone)]),
                         spread([a[0] - b[0] for a, b in zip(own, alone)]),
                         number(statistics.median(sample[0] for sample in alone)),
                         *(number(statistics.median(a[i] - b[i] for a, b in zip(own, alone))) for i in (1, 2)),
                         number(statistics.median(sample[1] for sample in alone))])
    return table(["program", "ratio of times", "ms more", "alone, ms", "RSS: KiB more", "PSS: KiB more", "RSS alone"], rows)


def run(results):
    """Returns a table with ratios of times: the cost of `fp32shim run`, of keeping the recording, and of --where auto."""
    samples = results["run"]["samples"]
    rows = []
    for program in results["run"]["programs"]:
        of = {variant: samples[f"{program}: {variant}"] for variant in ("alone", "--no-log", "kept", "--where auto")}
        ratios = [[a / b for a, b in zip(of[more], of[less])]
                  for more, less in (("--no-log", "alone"), ("kept", "--no-log"), ("--where auto", "kept"))]
        rows.append([program, *map(spread, ratios), number(statistics.median(of["alone"]))])
    columns = ["program", "`--no-log` to alone", "kept to `--no-log`", "`--where auto` to kept", "alone, ms"]
    return f"{table(columns, rows)}\n\n{machine(results)}"


def gate(results):
    width = max(len(instruction) for instruction, _ in results["gate"])
    lines = [f"{instruction:{width}}  {use}" for instruction, use in results["gate"]]
    return "```\n" + "\n".join(lines) + "\n```"


BLOCKS = {"machine": (machine, "machine"), "bounds": (bounds, "calls"), "calls": (calls, "calls"),
          "products": (products, "products"), "summary": (summary, "products"), "fixed": (fixed_order, "fixed"),
          "groups": (fixed_order_groups, "fixed"), "start": (start, "start"), "run": (run, "run"),
          "gate": (gate, "gate")}


def text(results):
    return "\n\n".join(show(results) for show, needs in BLOCKS.values() if needs in results)


# ---- plots ------------------------------------------------------------------------------------------------------


class Plot:
    """An SVG picture with logarithmic axes. `x` and `y` are the ranges of the axes, as (lowest, highest)."""

    def __init__(self, title, width, height, left, *, x, y=None, top=44, bottom=40, right=24):
        self.width, self.height, self.left, self.right, self.top, self.bottom = width, height, left, right, top, bottom
        self.x_range, self.y_range = x, y
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
                      f'font-size="13" role="img"><title>{escape(title)}</title>'
                      f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
        self.words(left, 22, title, weight="bold")

    def x(self, value):
        low, high = map(math.log, self.x_range)
        return self.left + (math.log(value) - low) / (high - low) * (self.width - self.left - self.right)

    def y(self, value):
        low, high = map(math.log, self.y_range)
        return self.height - self.bottom - (math.log(value) - low) / (high - low) * (self.height - self.top - self.bottom)

    def words(self, x, y, text, *, anchor="start", weight="normal", colour="#222222"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" fill="{colour}">'
                          f"{escape(text)}</text>")

    def line(self, points, *, colour="#dddddd", width=1):
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width}"/>')

    def dot(self, x, y, colour):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>')

    def axis_x(self, ticks, label):
        bottom = self.height - self.bottom
        for tick in ticks:
            self.line([(self.x(tick), self.top - 8), (self.x(tick), bottom)])
            self.words(self.x(tick), bottom + 16, f"{tick:g}", anchor="middle")
        self.words((self.left + self.width - self.right) / 2, bottom + 33, label, anchor="middle")

    def svg(self):
        return "\n".join([*self.parts, "</svg>"]) + "\n"


def calls_plot(results):
    """Draws the nanoseconds that each contender adds to a call: a dot for the median, and a line between the quartiles."""
    found = {name: quartiles(values) for name, values in more_ns(results).items() if name != "not preloaded"}
    least = 0.1
    most = 10 ** math.ceil(math.log10(max(high for _, _, high in found.values())))
    plot = Plot("A call of 8×8×8: nanoseconds more", 720, 84 + 24 * len(found), 200, x=(least, most), right=70)
    plot.axis_x([10 ** power for power in range(-1, round(math.log10(most)) + 1)], "ns, logarithmic; bars: quartiles")
    peers = {"FlexiBLAS", "FlexiBLAS, profile hook", "libblastrampoline", "uftrace", "MKL_VERBOSE"}
    for row, (name, values) in enumerate(found.items()):
        y = plot.top + 12 + 24 * row
        low, middle, high = (max(value, least) for value in values)
        colour = COLOURS[4] if name in peers else COLOURS[1]
        plot.words(plot.left - 10, y + 4, name, anchor="end")
        plot.line([(plot.x(low), y), (plot.x(high), y)], colour=colour, width=3)
        plot.dot(plot.x(middle), y, colour)
        plot.words(plot.x(high) + 9, y + 4, number(values[1]), colour=colour)
    return plot.svg()


def products_plot(results):
    """Draws a line for each mode: the ratio of times over the size n of n×n×n. Returns None if no cubes were measured."""
    ratios = product_ratios(results)
    cubes = [shape for shape in results["products"]["shapes"] if re.fullmatch(r"(\d+)x\1x\1", shape)]
    if not cubes:
        return None
    medians = {mode: [statistics.median(ratios[mode][shape]) for shape in cubes] for mode in ratios}
    x = [sizes(shape)[0] for shape in cubes]
    every = [ratio for values in medians.values() for ratio in values]
    y_range = (min(0.5, *every) / 1.1, max(2, *every) * 1.1)
    plot = Plot("Times of n×n×n, as ratio to OpenBLAS alone", 720, 400, 56, right=130, y=y_range,
                x=(min(x), max(*x, min(x) + 1)))
    plot.axis_x(x, "n")
    for tick in (0.1, 0.2, 0.3, 0.5, 1, 2, 3, 5, 10, 20, 50):
        if y_range[0] <= tick <= y_range[1]:
            plot.line([(plot.left, plot.y(tick)), (plot.width - plot.right, plot.y(tick))],
                      colour="#888888" if tick == 1 else "#dddddd")
            plot.words(plot.left - 8, plot.y(tick) + 4, f"{tick:g}", anchor="end")
    used = []
    for (mode, values), colour in sorted(zip(medians.items(), COLOURS), key=lambda item: -item[0][1][-1]):
        places = [(plot.x(n), plot.y(ratio)) for n, ratio in zip(x, values)]
        plot.line(places, colour=colour, width=2)
        for place in places:
            plot.dot(*place, colour)
        y = max([places[-1][1] + 4, *(other + 16 for other in used)])
        used.append(y)
        plot.words(places[-1][0] + 10, y, mode, colour=colour)
    return plot.svg()


PLOTS = {"performance-calls.svg": (calls_plot, "calls"), "performance-products.svg": (products_plot, "products")}


# ---- the page ---------------------------------------------------------------------------------------------------


def write(page, results):
    """Replaces the blocks of a page for which there are results, and its plots."""
    content = page.read_text()
    for name, (show, needs) in BLOCKS.items():
        if needs not in results or (name == "machine" and "calls" not in results):
            continue
        block = re.compile(rf"(<!-- measured: {name} -->\n).*?(<!-- end -->)", re.S)
        content = block.sub(lambda found: f"{found[1]}{show(results)}\n{found[2]}", content)
    page.write_text(content)
    (page.parent / "images").mkdir(exist_ok=True)
    for name, (draw, needs) in PLOTS.items():
        if needs in results and (drawn := draw(results)):
            (page.parent / "images" / name).write_text(drawn)
