#!/usr/bin/env python3
"""Measures what the tests catch: changes one place of the code at a time, and runs tests until one fails.

  tests/mutants.py --count 300                      changes places in shim/ and policy/, by --seed; hours on two cores
  tests/mutants.py --count 20 --under policy        only of files below policy/
  tests/mutants.py --list --count 5                 shows the mutants, and runs nothing
  tests/mutants.py --replay before.jsonl            the same changes again, where the code still has them

Works on a copy of the last commit in build/mutants/, and never on the checkout. Each mutant is a line of the results
file (--results), which a run that was interrupted goes on with. A mutant that compiles to the same machine code as the
original is no mutant, and another one is drawn. Quick tests run first, slow ones only for mutants that they miss.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Each operator replaces the text of one match. clang-format puts blanks around binary operators, but not in template
# argument lists.
OPERATORS = [
    ("boundary", r" (<|>|<=|>=) ", {"<": "<=", ">": ">=", "<=": "<", ">=": ">"}),
    ("equality", r" (==|!=) ", {"==": "!=", "!=": "=="}),
    ("logic", r" (&&|\|\|) ", {"&&": "||", "||": "&&"}),
    ("sum", r"(?<=[\w)\]]) ([+-]) ", {"+": "-", "-": "+"}),
    ("product", r"(?<=[\w)\]]) ([*/%]) (?=[\w(])", {"*": "/", "/": "*", "%": "*"}),
    ("bits", r"(?<=[\w)\]]) (&|\||<<|>>) (?=[\w(~])", {"&": "|", "|": "&", "<<": ">>", ">>": "<<"}),
    ("negation", r"(?<=[( ])(!)(?=[\w(])", {"!": ""}),
    ("truth", r"return (true|false);", {"true": "false", "false": "true"}),
    ("number", r"(?<=[(,= ])(0|1|2)(?=[;,)\]])", {"0": "1", "1": "2", "2": "3"}),
    ("step", r"(\+\+|--)(?=\w+[;)])", {"++": "--", "--": "++"}),
    ("loop", r"^ +(continue|break);", {"continue": "break", "break": "continue"}),
    ("statement", r"^ +((?:\w|::|\.|->|\[[^]]*\])+(?:\([^;]*\)| [+|&-]?= [^;]*);)$", None),  # the statement is
                                                                                             # removed
]
# Declarations look like statements that could be removed, but are not removed.
DECLARATION = re.compile(r"^ *(return|using|auto|const|constexpr|static|delete|throw|goto|case|default|public|private)\b")


# Files of the code, with the tests that cover them. The tests that fail fastest come first.
STAGES = {
    "policy/": [r"^policy\.", r"^(cli\.explain|cli\.policies|preload\.policies|preload\.bad_settings)"],
    "shim/audit/": [r"^shim\.", r"^preload\.(audit|published)", r"^cublas\.audit"],
    "shim/blas/": [r"^(shim|emulate|fingerprint)\.", r"^preload\.(emulation|published|policies|nonfinite|fingerprints|float64)",
                   r"^preload\.(audit|random)"],
    "shim/blas/govern/": [r"^shim\.", r"^preload\.(policies|emulation|audit|nonfinite)", r"^recording\.(express|files|threads)"],
    "shim/blas/multiply/": [r"^(emulate|shim)\.", r"^preload\.(accelerate|reproducible|random)"],
    "shim/children/": [r"^recording\.(marks|lost_files)", r"^cli\.(run|children|verify)"],
    "shim/cublas/": [r"^shim\.", r"^cublas\.(policies|lt|handles|loading|reloads)", r"^cublas\.(products|recordings)"],
    "shim/cublas/audit/": [r"^shim\.", r"^cublas\.audit"],
    "shim/decision/": [r"^shim\.", r"^preload\.(location|scope|policies|environment)", r"^recording\.(express|files|forks|control)",
                       r"^cublas\.policies"],
    "shim/loader/": [r"^shim\.", r"^preload\.(providers|call_sites|linking|neighbours)", r"^recording\.(marks|lost_files)",
                     r"^preload\.(programs|environment)", r"^cublas\.(loading|reloads)", r"^cli\.verify"],
    "shim/ranges/": [r"^shim\.", r"^preload\.(ranges|scope|where$)"],
    "shim/scopes/": [r"^shim\.", r"^preload\.(ranges|scope|python_module)"],
    "shim/where/": [r"^shim\.", r"^preload\.(where|native|location|call_sites)"],
    "shim/": [r"^(shim|emulate)\.", r"^preload\.(providers|process_life|call_sites|programs|policies|scope)",
              r"^recording\.(express|files|forks|control|threads)"],
}
THEN = [r"^preload\.", r"^(recording|cublas)\.", r"^cli\."]


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str
    line: int  # line number, from 1
    column: int
    kind: str
    before: str  # text of the whole line
    after: str

    def key(self):
        return hashlib.sha256(repr((self.file, self.kind, self.before, self.after)).encode()).hexdigest()[:12]


def without_comments_and_texts(source):
    """Returns the source with blanks in place of comments, texts and preprocessor lines, at the same positions."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^#(?:\\\n|[^\n])*', re.S | re.M)
    return token.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), source)


def mutants_of(file, source):
    code = without_comments_and_texts(source).split("\n")
    for number, (line, bare) in enumerate(zip(source.split("\n"), code)):
        if "static_assert" in bare or "template <" in bare:
            continue
        for kind, pattern, swaps in OPERATORS:
            for found in re.finditer(pattern, bare):
                if swaps is None and DECLARATION.match(bare):
                    continue
                text = ";" if swaps is None else swaps[found.group(1)]
                after = line[: found.start(1)] + text + line[found.end(1):]
                yield Mutant(file, number + 1, found.start(1), kind, line, after)


def all_mutants(tree, folders):
    names = subprocess.run(["git", "ls-files", *folders], cwd=tree, check=True, capture_output=True, text=True).stdout.split()
    for name in sorted(names):
        if name.endswith((".cpp", ".hpp")):
            yield from mutants_of(name, (tree / name).read_text())


class Tree:
    """A copy of the last commit with a build of its own."""

    def __init__(self, folder, jobs):
        self.folder, self.jobs = folder, jobs
        self.build_folder = folder / "build"

    def prepare(self):
        if not self.folder.exists():
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(self.folder)], check=True)
        else:
            subprocess.run(["git", "fetch", "--quiet", str(ROOT), "HEAD"], cwd=self.folder, check=True)
            subprocess.run(["git", "reset", "--quiet", "--hard", "FETCH_HEAD"], cwd=self.folder, check=True)
        subprocess.run(["cmake", "--preset", "release", "-DFP32SHIM_BENCH=OFF", "-DFP32SHIM_TESTS=ON"],
                       cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        if not self.build():
            sys.exit("tests/mutants.py: the last commit does not build; see build/mutants/build.log")
        self.original = self.fingerprint()

    def build(self):
        with open(self.folder.with_suffix(".log"), "w") as log:
            return subprocess.run(["cmake", "--build", "build", "-j", str(self.jobs)], cwd=self.folder, stdout=log,
                                  stderr=subprocess.STDOUT).returncode == 0

    def fingerprint(self):
        """Returns a number for the machine code of all programs, without the identities that linkers add."""
        code = hashlib.sha256()
        for program in sorted([*self.build_folder.glob("lib/*.so"), *self.build_folder.glob("bin/*"),
                               *self.build_folder.glob("archive/*.a")]):
            shown = subprocess.run(["objdump", "-d", "-j", ".text", "-j", ".rodata", "-j", ".data", "-j", ".data.rel.ro",
                                    "--no-show-raw-insn", str(program)], capture_output=True)
            code.update(shown.stdout)
        return code.hexdigest()

    def run(self, tests, limit):
        """Returns the first test of these that failed, or None."""
        log = self.build_folder / "Testing" / "Temporary" / "LastTestsFailed.log"
        log.unlink(missing_ok=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("FP32_", "LD_PRELOAD"))}
        try:
            done = subprocess.run(["ctest", "--test-dir", "build", "-R", tests, "--stop-on-failure", "-j", str(self.jobs),
                                   "--quiet", "--timeout", str(limit)], cwd=self.folder, capture_output=True,
                                  env=environment, timeout=20 * limit)
        except subprocess.TimeoutExpired:
            return f"no end: {tests}"
        if done.returncode == 0:
            return None
        return log.read_text().split("\n")[0] if log.exists() else f"ctest: {tests}"


def stages_for(file):
    longest = max((prefix for prefix in STAGES if file.startswith(prefix)), key=len)
    return [*STAGES[longest], *THEN]


def judge(tree, mutant, limit, quick):
    """Returns the outcome: not compiled, the same code, survived, or the name of the test that failed."""
    path = tree.folder / mutant.file
    source = path.read_text()
    lines = source.split("\n")
    if lines[mutant.line - 1] != mutant.before:
        return "gone"
    lines[mutant.line - 1] = mutant.after
    path.write_text("\n".join(lines))
    try:
        if not tree.build():
            return "not compiled"
        if tree.fingerprint() == tree.original:
            return "same code"
        for tests in stages_for(mutant.file)[: -len(THEN) if quick else None]:
            failed = tree.run(tests, limit)
            if failed:
                return "caught by " + failed
        return "survived"
    finally:
        path.write_text(source)


def relocated(tree, old):
    """Returns a recorded mutant at the line where the code stands now, or None."""
    candidates = [old.file] if (tree / old.file).exists() else []
    for name in candidates:
        lines = (tree / name).read_text().split("\n")
        places = [i + 1 for i, line in enumerate(lines) if line == old.before]
        if places:
            nearest = min(places, key=lambda line: abs(line - old.line))
            return dataclasses.replace(old, file=name, line=nearest)
    return None


def summary(results):
    judged = [r for r in results if r["outcome"] not in ("not compiled", "same code", "gone")]
    caught = sum(r["outcome"].startswith("caught") for r in judged)
    skipped = len(results) - len(judged)
    text = f"{caught} of {len(judged)} mutants caught"
    return text + (f"; {skipped} drawn that do not compile, make the same code or are gone" if skipped else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="mutants to judge")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--under", action="append", metavar="FOLDER", help="default: shim and policy")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build/mutants.jsonl")
    parser.add_argument("--replay", type=pathlib.Path, metavar="FILE", help="judge the mutants of these results again")
    parser.add_argument("--quick", action="store_true", help="only the tests that are about the changed file")
    parser.add_argument("--limit", type=int, default=300, metavar="SECONDS", help="of one test file")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true", help="show the mutants, run nothing")
    options = parser.parse_args()

    if options.replay:
        recorded = [json.loads(line) for line in options.replay.read_text().splitlines()]
        drawn = [Mutant(**r["mutant"]) for r in recorded if r["outcome"] not in ("not compiled", "same code")]
    else:
        drawn = list(all_mutants(ROOT, options.under or ["shim", "policy"]))
        random.Random(options.seed).shuffle(drawn)
    if options.list:
        for mutant in drawn[: options.count]:
            print(f"{mutant.file}:{mutant.line}: {mutant.kind}\n  - {mutant.before.strip()}\n  + {mutant.after.strip()}")
        return

    tree = Tree(ROOT / "build/mutants", options.jobs)
    tree.prepare()
    options.results.parent.mkdir(exist_ok=True)
    results = [json.loads(line) for line in options.results.read_text().splitlines()] if options.results.exists() else []
    known = {r["key"] for r in results}
    with open(options.results, "a") as file:
        for mutant in drawn:
            if sum(r["outcome"] == "survived" or r["outcome"].startswith("caught") for r in results) >= options.count:
                break
            if mutant.key() in known:
                continue
            begin = time.monotonic()
            now = relocated(tree.folder, mutant)
            outcome = judge(tree, now, options.limit, options.quick) if now else "gone"
            results.append({"key": mutant.key(), "outcome": outcome, "seconds": round(time.monotonic() - begin, 1),
                            "mutant": dataclasses.asdict(mutant)})
            file.write(json.dumps(results[-1]) + "\n")
            file.flush()
            print(f"{outcome:<40.40}  {mutant.file}:{mutant.line}: {mutant.kind}; {summary(results)}", flush=True)
    print(summary(results))


if __name__ == "__main__":
    main()
