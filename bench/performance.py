#!/usr/bin/env python3
"""Measures the costs and gains of fp32shim, and the costs of similar tools (peers). bench/run.sh calls this script.

A contender is a command with an environment. Each round runs every contender once, on one processor core, and begins with
another contender than the round before. Times are processor time, which other programs of the machine do not affect. All
samples go into a JSON file. Tables and plots (performance_page.py) have the medians and quartiles of the rounds.

  calls     time added to a call by fp32shim: preloaded only, recorded, recorded with the call's source line
  peers     time added to a call by other libraries and tools, if they are installed
  products  times of products in each CPU mode, as ratio to the program's own BLAS
  fixed     times of all routines and types in the fixed order, as ratio to OpenBLAS's best kernel, by instructions and threads
  start     processor time and memory of whole programs
  run       processor time of programs alone, and under `fp32shim run` with --no-log, without options, and with --where auto
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import performance_page

ROOT = pathlib.Path(__file__).resolve().parent.parent
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS")

MODES = {
    "loaded": {},
    "preview TF32": {"CPU": "emulate", "PRECISION": "high"},
    "preview BF16": {"CPU": "emulate", "PRECISION": "medium"},
    "reproducible": {"CPU": "reproducible"},
    "accelerate": {"CPU": "accelerate", "PRECISION": "medium"},
}
SECTIONS = ("calls", "peers", "products", "fixed", "start", "run")
CUBES = (64, 128, 256, 512, 1024, 2048, 4096)
SHAPES = [f"{n}x{n}x{n}" for n in CUBES] + [
    "1x4096x4096", "4096x1x4096", "128x4096x4096", "4096x128x4096",  # one row, one column, 128 rows, 128 columns
    "10000x64x64", "64x10000x64", "64x64x10000", "32x1024x1024", "1024x1024x16",  # tall, flat, long and short sums
    "256x256x256:TN", "256x256x256:NT", "1024x1024x1024:TN", "1024x1024x1024:NT", "1024x1024x1024:TT",
    "8x8x8*1000", "64x64x64*256", "128x128x128*64",  # stacks
    "c64x64x64", "c256x256x256", "c1024x1024x1024"]  # complex64
TYPES = ("", "d", "c", "z")  # letters for types, as bench/products.c takes them; "" is float32
FIXED_ORDER = [f"{kind}{n}x{n}x{n}" for n in (128, 256, 512, 1024) for kind in TYPES] + [
    "2x1024x1024", "d2x1024x1024", "1024x2x1024", "1024x2x1024:TN", "256x256x256:TT", "d256x256x256:TT",
    *(f"{kind}{name}512x512" for name in ("symm", "syrk", "trmm", "trsm") for kind in TYPES),
    *(f"{kind}gemv4096x4096{trans}" for trans in ("", ":T") for kind in TYPES),
    *(f"{kind}{name}4096{other}" for name, other in (("ger", "x4096"), ("symv", ""), ("trmv", "")) for kind in TYPES),
    *(f"{kind}{name}20000000" for name in ("dot", "asum", "nrm2") for kind in ("", "d"))]
QUICK_FIXED_ORDER = ["32x32x32", "dtrsm32x32", "cgemv64x64:T", "ddot1000"]
UNITS = {"avx2": "AVX2", "avx512f": "AVX-512", "avx512_bf16": "AVX512_BF16", "amx_bf16": "AMX"}
# OpenBLAS's kernel for each instruction set. The keys are flags of /proc/cpuinfo.
KERNELS = {"avx2": "Haswell", "avx512f": "SkylakeX"} if platform.machine() == "x86_64" else {"": ""}
QUICK_SHAPES = ["16x16x16", "64x64x64", "96x32x64:TN", "8x8x8*10", "c32x32x32"]

# Runs call_overhead inside nested calls of a Python function, so that the shim has a Python stack to read source lines from.
CALLS_IN_PYTHON = """
import ctypes, sys
def call(library, depth):
    if depth: return call(library, depth - 1)
    words = [b"call_overhead", *(word.encode() for word in sys.argv[2:])]
    return library.main(len(words), (ctypes.c_char_p * len(words))(*words))
call(ctypes.PyDLL(sys.argv[1]), 5)
"""
PROGRAMS = {
    "true": ["true"],
    "python3 -c pass": [sys.executable, "-c", "pass"],
    "import numpy": [sys.executable, "-c", "import numpy"],
    "a product in numpy": [sys.executable, "-c", "import numpy; a = numpy.ones((64, 64), 'f'); a @ a"],
}
# Programs for `fp32shim run`. The last two need torch and scikit-learn, which the Python that --python names may have.
UNDER_RUN = {
    "a product in numpy": "import numpy; a = numpy.ones((64, 64), 'f'); a @ a",
    "numpy: 300,000 of 8×8×8": "import numpy; a = numpy.ones((8, 8), 'f')\nfor _ in range(300000): a @ a",
    "numpy: 30,000 of 64×64×64": "import numpy; a = numpy.ones((64, 64), 'f')\nfor _ in range(30000): a @ a",
    "numpy: 150 of 512×512×512": "import numpy; a = numpy.ones((512, 512), 'f')\nfor _ in range(150): a @ a",
    "torch: training, 400 steps": """
import torch
from torch.nn import Linear, ReLU, Sequential, functional
model = Sequential(Linear(64, 256), ReLU(), Linear(256, 256), ReLU(), Linear(256, 10))
optimizer = torch.optim.Adam(model.parameters())
values, labels = torch.randn(128, 64), torch.randint(10, (128,))
for _ in range(400):
    optimizer.zero_grad()
    functional.cross_entropy(model(values), labels).backward()
    optimizer.step()
""",
    "scikit-learn: PCA, KMeans, logistic regression": """
import numpy
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
values = numpy.random.default_rng(0).standard_normal((4000, 64)).astype('f')
for _ in range(10):
    PCA(16).fit(values)
KMeans(20, n_init=2, random_state=0).fit(values)
LogisticRegression().fit(values, values[:, 0] > 0)
""",
}
READ_MEMORY = "; print(open('/proc/self/smaps_rollup').read())"


class Setup:
    """Paths, options, and the environment of runs."""

    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.library = options.build / "lib/libfp32shim.so"
        self.recordings = 0
        self.cores = os.sched_getaffinity(0)

    def program(self, name):
        return str(self.options.build / "bin" / name)

    def environment(self, variables):
        """Returns the environment of this process without settings of fp32shim and its peers, but with `variables`."""
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("FP32_", "FLEXIBLAS", "LBT_", "MKL_")) and name != "LD_PRELOAD"}
        return kept | {name: str(self.options.threads) for name in THREADS} | variables

    def shim(self, **settings):
        """Returns the variables that preload the shim with `settings`. recorded="summary" makes it write a new recording."""
        if level := settings.pop("recorded", None):
            self.recordings += 1
            settings |= {"LOG": str(self.scratch / f"{self.recordings}.fp32rec"), "LOG_LEVEL": level}
        return {"LD_PRELOAD": str(self.library)} | {f"FP32_MATMUL_{name}": value for name, value in settings.items()}

    def output(self, words, variables):
        done = subprocess.run([str(word) for word in words], env=self.environment(variables), cwd=self.scratch, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for recording in self.scratch.glob("*.fp32rec"):
            recording.unlink()
        if done.returncode != 0:
            sys.exit(f"bench/run.sh: {' '.join(map(str, words))[:200]} ended with {done.returncode}: {done.stderr}")
        return done.stdout


def in_turn(contenders, number):
    """Returns the contenders in the order of round `number`."""
    begin = number % len(contenders)
    return contenders[begin:] + contenders[:begin]


def rounds(setup, what):
    for number in range(setup.options.rounds):
        print(f"{what}: round {number + 1} of {setup.options.rounds}", file=sys.stderr, flush=True)
        yield number


def in_rounds(setup, what, contenders, measure):
    """Measures all contenders in each round. Returns {name: [result of measure(), one per round]}."""
    samples = {name: [] for name in contenders}
    for number in rounds(setup, what):
        for name in in_turn(list(contenders), number):
            samples[name].append(measure(contenders[name]))
    return samples


def overhead(output):
    """Reads the output of `call_overhead samples`. Returns {"sgemm_ 8": [time of a direct call, time that the shim adds]}:
    medians, in ns."""
    times = {}
    for function, size, direct, through in map(str.split, filter(None, output.splitlines())):
        times.setdefault(f"{function} {size}", []).append((float(direct), float(through) - float(direct)))
    return {case: [statistics.median(column) for column in zip(*pairs)] for case, pairs in times.items()}


def measure_calls(setup):
    rounds_and_calls = ["samples", "3", "10000"] if setup.options.quick else ["samples", "5", "100000"]
    program = [setup.program("call_overhead"), *rounds_and_calls]
    module = setup.options.build / "bench/libcall_overhead_library.so"
    python = [sys.executable, "-c", CALLS_IN_PYTHON, module, *rounds_and_calls]
    contenders = {
        "not preloaded": (program, dict),
        "off": (program, setup.shim),
        "summary": (program, lambda: setup.shim(recorded="summary")),
        "calls": (program, lambda: setup.shim(recorded="calls")),
        "summary, where = native": (python, lambda: setup.shim(recorded="summary", WHERE="native")),
        "summary, where = python": (python, lambda: setup.shim(recorded="summary", WHERE="python")),
        "summary, where = auto": (python, lambda: setup.shim(recorded="summary", WHERE="auto")),
        "summary, where = native:8": (python, lambda: setup.shim(recorded="summary", WHERE="native:8")),
        "calls, where = auto": (python, lambda: setup.shim(recorded="calls", WHERE="auto")),
    }
    missing = []
    for peer in peers_of_calls(setup) if "peers" in setup.options.only else ():
        if peer["missing"]:
            missing.append([peer["name"], peer["missing"]])
        else:
            contenders[peer["name"]] = (program, lambda variables=peer["variables"]: variables)
    samples = in_rounds(setup, "calls", contenders,
                        lambda contender: overhead(setup.output(contender[0], contender[1]())))
    if "peers" not in setup.options.only:
        return {"samples": samples, "missing": [], "processes": {}}
    return {"samples": samples, "missing": missing, "processes": measure_whole_processes(setup, missing)}


def found_library(setup, *names):
    """Returns the path of an installed library, or of one below --peers, or None if there is none."""
    for folder in (*(peers / "lib" for peers in setup.options.peers), pathlib.Path("/usr/lib"), pathlib.Path("/usr/local/lib"),
                   pathlib.Path("/usr/lib", f"{platform.machine()}-linux-gnu")):
        for name in names:
            if (folder / name).exists():
                return folder / name
    return None


def peers_of_calls(setup):
    """Yields the libraries that pass calls of BLAS on to OpenBLAS: name, environment variables, and what is missing."""
    blas = {"OPENBLAS": str(found_library(setup, "libopenblas.so.0") or "libopenblas.so.0")}
    flexiblas = found_library(setup, "libflexiblas.so.3")
    hint = "not installed: install libflexiblas, or build it and pass its prefix by --peers"
    hook = flexiblas and flexiblas.parent / "flexiblas/libflexiblas_hook_profile.so"
    through = {"LD_PRELOAD": str(flexiblas), "FLEXIBLAS": blas["OPENBLAS"],
               "LD_LIBRARY_PATH": str(flexiblas and flexiblas.parent)}
    yield {"name": "FlexiBLAS", "variables": through, "missing": None if flexiblas else hint}
    yield {"name": "FlexiBLAS, profile hook", "missing": None if hook and hook.exists() else hint,
           "variables": through | {"FLEXIBLAS_HOOK": str(hook), "FLEXIBLAS_PROFILE_FILE": str(setup.scratch / "profile.txt")}}
    trampoline = found_library(setup, "libblastrampoline.so.5")
    yield {"name": "libblastrampoline", "variables": {"LD_PRELOAD": str(trampoline), "LBT_DEFAULT_LIBS": blas["OPENBLAS"]},
           "missing": None if trampoline else "not installed: build it and pass its prefix by --peers"}


def measure_whole_processes(setup, missing):
    """Measures the peers that cannot be compared within one process: the time of 8x8x8 with and without each, in ns."""
    seconds = 0.02 if setup.options.quick else 0.1
    multiply = [setup.program("bench_products"), "cpu", str(seconds), "8x8x8"]
    contenders = {"OpenBLAS": (multiply, {})}
    if shutil.which("uftrace"):
        contenders["uftrace"] = (["uftrace", "record", "--no-pager", "--force", "-F", "sgemm_", "-d",
                                  setup.scratch / "uftrace", *multiply], {})
    else:
        missing.append(["uftrace", "not installed: apt install uftrace"])
    mkl = found_library(setup, *(f"libmkl_rt.so.{number}" for number in (3, 2, 1)))
    if mkl:
        own = {"LD_PRELOAD": str(mkl), "LD_LIBRARY_PATH": str(mkl.parent), "MKL_THREADING_LAYER": "SEQUENTIAL"}
        contenders["MKL"] = (multiply, own)
        contenders["MKL_VERBOSE"] = (
            multiply, own | {"MKL_VERBOSE": "1", "MKL_VERBOSE_OUTPUT_FILE": str(setup.scratch / "verbose.txt")})
    else:
        missing.append(["MKL_VERBOSE", "not installed: pip install mkl, and pass the environment by --peers"])

    def measure(contender):
        return float(re.search(r"^8x8x8 (\S+)$", setup.output(*contender), re.M)[1])

    return in_rounds(setup, "peers", contenders, measure)


def measure_products(setup):
    options = setup.options
    seconds = options.seconds or (0.01 if options.quick else 0.1)
    command = [setup.program("bench_products"), "wall" if options.threads > 1 else "cpu", str(seconds)]
    contenders = {"alone": {}} | {mode: setup.shim(**MODES[mode]) for mode in options.modes}
    samples = {mode: [{} for _ in range(options.rounds)] for mode in contenders}
    for number in rounds(setup, "products"):
        for shape in options.shapes:  # the modes of one shape follow each other, so that other programs disturb them alike
            for mode in in_turn(list(contenders), number):
                printed = setup.output([*command, shape], contenders[mode])
                samples[mode][number][shape] = float(printed.split()[1])
    return {"shapes": options.shapes, "threads": options.threads, "samples": samples}


def measure_fixed_order(setup):
    """Returns {"samples": {"AVX2, 1 thread": [{routine: ratio}, one per round]}}."""
    options, cores = setup.options, os.sched_getaffinity(0)
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    kernels = {word: kernel for word, kernel in KERNELS.items() if not word or word in flags}
    seconds = options.seconds or (0.01 if options.quick else 0.1)
    samples = {}
    for number in rounds(setup, "fixed"):
        for routine in QUICK_FIXED_ORDER if options.quick else FIXED_ORDER:
            for word, kernel in in_turn(list(kernels.items()), number):
                for threads in range(1, min(2, len(setup.cores)) + 1):
                    os.sched_setaffinity(0, cores if threads == 1 else setup.cores)
                    command = [setup.program("bench_products"), "cpu" if threads == 1 else "wall", str(seconds), routine]
                    common = {name: str(threads) for name in THREADS} | ({"OPENBLAS_CORETYPE": kernel} if kernel else {})
                    least = {"INSTRUCTIONS": "avx2"} if word == "avx2" else {}
                    times = {name: float(setup.output(command, common | variables).split()[1]) for name, variables in in_turn(
                        [("alone", {}), ("fixed", setup.shim(CPU="reproducible", **least))], number)}
                    column = f"{UNITS.get(word, platform.machine())}, {threads} thread{'s' * (threads > 1)}"
                    of_rounds = samples.setdefault(column, [{} for _ in range(options.rounds)])
                    of_rounds[number][routine] = times["fixed"] / times["alone"]
    os.sched_setaffinity(0, cores)
    return {"samples": samples}


def processor_time(setup, words, variables, silent=False):
    """Runs a process. Returns its user and system time, in ms."""
    environment = setup.environment(variables)
    to_null = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    begin = os.posix_spawnp(words[0], words, environment, file_actions=to_null if silent else [])
    _, status, usage = os.wait4(begin, 0)
    if status != 0:
        sys.exit(f"bench/run.sh: {' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}")
    return 1000 * (usage.ru_utime + usage.ru_stime)


def memory(setup, words, variables):
    """Returns the memory of a process at its end, in KiB: RSS, and PSS, which divides shared pages among the processes."""
    words = ["cat", "/proc/self/smaps_rollup"] if words == ["true"] else [*words[:2], words[2] + READ_MEMORY]
    sizes = dict(re.findall(r"^(Rss|Pss): +(\d+) kB$", setup.output(words, variables), re.M))
    return [int(sizes["Rss"]), int(sizes["Pss"])]


def measure_start(setup):
    programs = {name: words for name, words in PROGRAMS.items() if not (setup.options.quick and "numpy" in name)}
    variants = {"alone": dict, "off": setup.shim, "summary": lambda: setup.shim(recorded="summary")}
    contenders = {f"{program}: {variant}": (words, make)
                  for program, words in programs.items() for variant, make in variants.items()}

    def measure(contender):
        words, make = contender
        repeats = 1 if setup.options.quick else 5
        times = [processor_time(setup, words, make()) for _ in range(repeats)]
        return [min(times), *memory(setup, words, make())]

    return {"programs": list(programs), "samples": in_rounds(setup, "start", contenders, measure)}


def measure_run(setup):
    """Measures the processor time of `fp32shim run` and its program together, in ms. All runs begin in one folder, in which
    `fp32shim run` keeps the recordings of the last ten runs."""
    python = [str(setup.options.python), "-c"]
    programs = {"call_overhead, 8×8×8": [setup.program("call_overhead"), "samples", "3", "100000"]}
    programs |= {name: [*python, text] for name, text in UNDER_RUN.items()}
    for name in [name for name, words in programs.items()
                 if subprocess.run(words, capture_output=True, env=setup.environment({})).returncode != 0]:
        print(f"run: {name} is left out, since {python[0]} cannot run it", file=sys.stderr)
        del programs[name]
    run = [setup.program("fp32shim"), "run"]
    variants = {"alone": [], "--no-log": [*run, "--no-log", "--"], "kept": [*run, "--"],
                "--where auto": [*run, "--where", "auto", "--"]}
    contenders = {f"{program}: {variant}": [*before, *words]
                  for program, words in programs.items() for variant, before in variants.items()}
    with tempfile.TemporaryDirectory() as folder:  # one disk for the recordings in .fp32shim/ and for those in TMPDIR
        os.chdir(folder)
        samples = in_rounds(setup, "run", contenders,
                            lambda words: processor_time(setup, words, {"TMPDIR": folder}, silent=True))
        os.chdir(ROOT)
    return {"programs": list(programs), "samples": samples}


def machine(setup):
    """Returns what a reader needs to know about this machine, but nothing that identifies it."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", text, re.M)
    flags = re.search(r"^(?:flags|Features)\s*: (.*)$", text, re.M)
    units = [name for flag, name in UNITS.items() if flag != "avx2" and flags and flag in flags[1].split()]
    blas = found_library(setup, "libopenblas.so.0")
    version = re.search(r"libopenblas.*?-r([\d.]+)\.so", str(blas.resolve())) if blas else None
    return {"processor": model[1] if model else platform.machine(), "units": units, "cores": os.cpu_count(),
            "virtual": " hypervisor" in text, "kernel": platform.release().split("-")[0],
            "blas": f"OpenBLAS {version[1]}" if version else "OpenBLAS", "libc": " ".join(platform.libc_ver()),
            "python": platform.python_version(), "load": round(os.getloadavg()[0], 1)}


def measured(options):
    cores = os.sched_getaffinity(0)
    shared_memory = pathlib.Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="fp32shim-bench-",
                                     dir=shared_memory if os.access(shared_memory, os.W_OK) else None) as folder:
        setup = Setup(options, pathlib.Path(folder))
        if options.threads == 1:
            os.sched_setaffinity(0, {max(cores)})
        results = {"date": datetime.date.today().isoformat(), "rounds": options.rounds, "machine": machine(setup)}
        for section, measure in (("calls", measure_calls), ("products", measure_products),
                                 ("fixed", measure_fixed_order), ("start", measure_start), ("run", measure_run)):
            if section in options.only:
                results[section] = measure(setup)
    os.sched_setaffinity(0, cores)
    if "calls" in results and (gate := performance_page.gate_of(setup.library)):
        results["gate"] = gate
    return results


def arguments():
    parser = argparse.ArgumentParser(prog="bench/run.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few and small products; seconds")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="default: all; peers goes with calls")
    parser.add_argument("--rounds", type=int, help="default 7, with --quick 3")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--shapes", nargs="+", metavar="SHAPE", help="[c]MxNxK[:TRANS][*COUNT] and more, see bench/products.c")
    parser.add_argument("--seconds", type=float, help="of each product in each round")
    parser.add_argument("--threads", type=int, default=1, help="of the BLAS, for products; times are then wall-clock times")
    parser.add_argument("--peers", type=pathlib.Path, action="append", default=[], metavar="PREFIX",
                        help="look for peers in PREFIX/lib too; may be repeated")
    parser.add_argument("--python", type=pathlib.Path, default=sys.executable, help="for the programs of run; may have torch")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="all samples; default BUILD/performance.json")
    parser.add_argument("--from", type=pathlib.Path, dest="stored", metavar="FILE", help="measure nothing, read such a file")
    parser.add_argument("--write", type=pathlib.Path, metavar="PAGE", help="replace the figures and plots of this page")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.rounds = options.rounds or (3 if options.quick else 7)
    options.shapes = options.shapes or (QUICK_SHAPES if options.quick else SHAPES)
    return options


def main():
    options = arguments()
    if options.stored:
        results = json.loads(options.stored.read_text())
    else:
        results = measured(options)
        (options.json or options.build / "performance.json").write_text(json.dumps(results, separators=(",", ":")))
    print(performance_page.text(results))
    if options.write:
        performance_page.write(options.write, results)


if __name__ == "__main__":
    main()
