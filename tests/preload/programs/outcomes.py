"""Programs of others under `fp32shim run --reproducible`, with two kernels of OpenBLAS, and with BLIS.

Each prints its results in as many digits as it can. docs/reproducible.md has the outcomes. tests/nightly.sh runs this file,
since the programs take two minutes. A program that is not installed is skipped.
"""

import dataclasses
import pathlib
import re
import shutil
import subprocess

import pytest

import processor
import shim

COMMAND = shim.BUILD / "bin/fp32shim"
PLACE = shim.HERE / "programs"
PYTHON_PACKAGES = "/usr/lib/python3/dist-packages"
EIGENSOFT = "/usr/share/doc/eigensoft/examples/EIGENSTRAT/example"


@dataclasses.dataclass(frozen=True)
class Program:
    needs: str     # a file or a command of the program's package
    command: str   # command of the shell, which runs in a folder with the files of PLACE
    verdict: str = "Shown"
    with_times: bool = True  # true if the output has times, sizes of memory and the like


# The verdict of each program is the one with OpenBLAS's LAPACK.
PROGRAMS = {
    "R": Program("Rscript", "Rscript r.R", with_times=False),
    "R packages": Program("/usr/lib/R/site-library/lme4", "Rscript r_packages.R", "Inconclusive", False),
    "Octave": Program("octave-cli", "octave-cli --no-init-file octave.m", with_times=False),
    "Scilab": Program("scilab-cli", "scilab-cli -nb -f scilab.sce", "Inconclusive", False),
    "scikit-learn": Program(f"{PYTHON_PACKAGES}/sklearn", "/usr/bin/python3 scikit_learn.py", with_times=False),
    "statsmodels": Program(f"{PYTHON_PACKAGES}/statsmodels", "/usr/bin/python3 -W ignore stats_models.py",
                           with_times=False),
    "CVXOPT": Program(f"{PYTHON_PACKAGES}/cvxopt", "/usr/bin/python3 convex.py", with_times=False),
    "gretl": Program("gretlcli", "gretlcli -b -e gretl.inp | sed '1,/nulldata/d'", with_times=False),
    "NWChem": Program("nwchem", r"nwchem h2o.nw | sed '/Space remaining/d; /maximum total bytes/d; s/\(diis.*\) [^ ]*$/\1/'"),
    "Psi4": Program("psi4", "psi4 psi4.dat out && cat out"),
    "MOPAC": Program("mopac", "mopac mopac.mop && cat mopac.out mopac.aux"),
    "xtb": Program("xtb", "xtb h2o.xyz --acc 0.01"),
    "ergo": Program("ergo",
                    "ergo -m h2o.mol -e 'basis=\"6-31Gss\"; use_simple_starting_guess = 1; run \"HF\"'; cat ergoscf.out"),
    "CSDP": Program("csdp", "csdp-randgraph graph 40 0.4 7; csdp-graphtoprob graph problem; csdp problem found; cat found"),
    "SDPA": Program("sdpa", "csdp-randgraph graph 20 0.4 7; csdp-graphtoprob graph problem; sdpa -ds problem -o out; "
                            "sed '/ = .*, /d' out", "Inconclusive"),
    "BART": Program("bart", "bart phantom -k -s 4 -x 32 k; bart noise -s 1 -n 0.001 k n; bart ecalib -m 1 n s; "
                            "bart pics -r 0.01 n s i; bart cc -p 2 n c; bart show i; bart show c"),
    "EIGENSOFT": Program("/usr/lib/eigensoft/smartpca",
                         f"cp {EIGENSOFT}.* .; /usr/lib/eigensoft/smartpca -p example.pca.par; "
                         "cat example.eval example.pca.evec"),
    "PLINK 1.9": Program("plink1.9",
                         "plink1.9 --dummy 60 2000 --seed 1 --make-bed --out d; plink1.9 --bfile d --pca 5 --out p; "
                         "cat p.eigenval p.eigenvec"),
    "PLINK 2": Program("plink2", "plink2 --dummy 60 2000 --seed 1 --make-pgen --out d; plink2 --pfile d --freq --out f; "
                                 "plink2 --pfile d --read-freq f.afreq --pca 5 --glm allow-no-covars --out p; "
                                 "cat p.eigenval p.eigenvec p.*.glm*"),
}
TIMES = re.compile(r"\b(times?|seconds?|elapsed|date|pid|process id|cpu|cpu-time|wall|wall-time|speed|speedup|memory|"
                   r"hostname|mem|mb|sec|doubles|avail|temporary|renamed|utiliz\w*)\b|"
                   r":\d\d\b|\(real\)|MHz|Mb |Mbytes|\b20[2-9]\d\b|ratio",
                   re.IGNORECASE)
NEWER, OLDER = "Haswell", "Nehalem"
# For each LAPACK, the BLAS and the kernel of OpenBLAS. OpenBLAS's LAPACK calls some products within itself.
SETTINGS = {"own": (("openblas", NEWER), ("openblas", OLDER)),
            "reference": (("openblas", NEWER), ("openblas", OLDER), ("blis", NEWER))}


def start(program, lapack, blas, kernel, folder, with_mode):
    """Runs a program. Returns the lines of its output, and its exit status."""
    shutil.copytree(PLACE, folder)
    (folder / "recordings").mkdir()
    libraries = [shim.SYSTEM_LIBRARIES / "lapack"] if lapack == "reference" else []
    variables = shim.environment(blas=blas, libraries=libraries, env={"OPENBLAS_CORETYPE": kernel})
    variables["R_LD_LIBRARY_PATH"] = "/usr/lib/R/lib:" + variables["LD_LIBRARY_PATH"]  # R puts its own in front
    words = ["sh", "-c", program.command]
    if with_mode:
        words = [COMMAND, "run", "-q", "--reproducible", "--log", folder / "recordings/%p.fp32rec", "--", *words]
    done = subprocess.run(words, env=variables, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="backslashreplace", timeout=600, check=False)
    # Debian's OpenBLAS has each function twice. The shim prints a line about that if Cython passes a function by pointer.
    assert "fp32shim:" not in re.sub("fp32shim: several libraries provide .*", "", done.stderr), done.stderr
    lines = done.stdout.replace(str(folder), "").splitlines()
    return [line for line in lines if not (program.with_times and TIMES.search(line))], done.returncode


def table_of_the_page():
    """Returns the table of docs/reproducible.md: for each program, without the mode, and with it for each LAPACK."""
    found = {}
    for line in (shim.ROOT / "docs/reproducible.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and set(cells[1:4]) <= {"same", "differs"} and cells[4] not in ("same", "differs"):
            found |= {name: cells[1:4] for name in cells[0].split(", ")}
    return found


def test_the_page_has_all_programs():
    assert set(table_of_the_page()) == set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_others_gives_the_results_that_the_page_tells(name, tmp_path):
    program = PROGRAMS[name]
    shim.need(processor.has("avx2"), "OpenBLAS's kernel Haswell needs AVX2")
    shim.need(pathlib.Path(shutil.which(program.needs) or program.needs).exists(), f"{name} is not installed")
    outputs, statuses = {}, set()
    for with_mode in (False, True):
        for lapack, settings in SETTINGS.items():
            for number, (blas, kernel) in enumerate(settings):
                folder = tmp_path / f"{lapack}{number}{with_mode}"
                lines, status = start(program, lapack, blas, kernel, folder, with_mode)
                outputs.setdefault((with_mode, lapack), []).append(lines)
                statuses.add(status)
    assert statuses == {0} and len(outputs[False, "own"][0]) > 1, outputs[False, "own"][0][-5:]
    word = lambda texts: "same" if all(each == texts[0] for each in texts) else "differs"
    without = "same" if word(outputs[False, "own"]) == word(outputs[False, "reference"]) == "same" else "differs"
    assert [without, word(outputs[True, "own"]), word(outputs[True, "reference"])] == table_of_the_page()[name]
    words = [COMMAND, "verify", "--reproducible", tmp_path / "own0True/recordings"]
    verdict = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    assert verdict.startswith(program.verdict + ": "), verdict
