"""Recordings of one run that are not given: a recording knows which others belong to it, and verify asks for each."""

import os
import shutil
import struct
import subprocess

import pytest

import shim
from command import COMMAND, build, environment, fp32shim
from test_verify_bypasses import bypasses, plugin, verify

# Follows its words: `product`; `fork WORDS ]`, `exec WORDS ]` and `orphan WORDS ]` follow the words up to the bracket in
# a child that the program waits for (an orphan's parent ends first); `shell COMMAND`; `load FILE`; `few-files`: no
# further one can be opened; `overwrite-environment`: with zeros, as servers do that show a title.
FAMILY = r"""
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/prctl.h>
    #include <sys/resource.h>
    #include <sys/wait.h>
    #include <unistd.h>
    void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    static char** self;
    static char** end_of(char** words) {
        int depth = 1;
        for (;; ++words) {
            if (!strcmp(*words, "fork") || !strcmp(*words, "exec") || !strcmp(*words, "orphan")) ++depth;
            if (!strcmp(*words, "]") && --depth == 0) return words;
        }
    }
    static void follow(char** words, char** end) {
        for (; words != end; ++words) {
            if (!strcmp(*words, "product")) {
                static float a[16], b[16], c[16];
                cblas_sgemm(101, 111, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4);
            } else if (!strcmp(*words, "shell")) {
                if (system(*++words) != 0) exit(97);
            } else if (!strcmp(*words, "few-files")) {
                const struct rlimit limit = {3, 3};
                if (setrlimit(RLIMIT_NOFILE, &limit) != 0) exit(91);
            } else if (!strcmp(*words, "overwrite-environment")) {
                char** last = environ;
                while (last[1] != 0) ++last;
                memset(environ[0], 0, *last + strlen(*last) - environ[0]);
            } else if (!strcmp(*words, "load")) {
                if (!dlopen(*++words, RTLD_NOW)) exit(96);
            } else {
                char* how = *words++;
                char** after = end_of(words);
                if (!strcmp(how, "orphan")) prctl(PR_SET_CHILD_SUBREAPER, 1);
                if (fork() == 0) {
                    if (!strcmp(how, "orphan")) {
                        int alive[2];
                        char letter;
                        if (pipe(alive) != 0) exit(95);
                        if (fork() != 0) _exit(0);
                        close(alive[1]);
                        if (read(alive[0], &letter, 1) != 0) exit(92);  // until its parent has ended
                    }
                    *after = 0;
                    if (strcmp(how, "fork")) { *--words = self[0]; execv(self[0], words); exit(94); }
                    follow(words, after);
                    exit(0);
                }
                int status;
                while (wait(&status) > 0) if (status != 0) exit(93);
                words = after;
            }
        }
    }
    int main(int argc, char** argv) { self = argv; follow(argv + 1, argv + argc); return 0; }
"""


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    return build(folder / "family", FAMILY, "-x", "none", shim.blas_library("reference"), "-ldl")


@pytest.fixture
def log(tmp_path):
    (tmp_path / "made").mkdir()
    return tmp_path / "made" / "run.fp32rec"


def run(log, *words, by="run", status=0, **settings):
    """Runs a program by `fp32shim run`, or only with variables of the environment."""
    settings["LD_LIBRARY_PATH"] = shim.blas_directory("reference")
    start = [COMMAND, "run", "--quiet", "--log", log, "--"] if by == "run" else []
    if by != "run":
        settings.update(LD_PRELOAD=shim.LIBRARY, FP32_MATMUL_LOG=log)
    done = subprocess.run([*start, *words], capture_output=True, text=True, check=False, env=environment(**settings))
    assert done.returncode == status, done.stderr
    return done


def words(text):
    return text.split()


def files(log):
    return sorted(path.name for path in log.parent.iterdir())


def only(log, tmp_path, *names):
    """Makes a folder that has only copies of these files."""
    folder = tmp_path / "copies"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in names:
        shutil.copy(log.parent / name, folder)
    return folder


def missing(result):
    return " ".join(doubt["reason"] for doubt in result.json["doubts"] if "missing" in doubt["reason"])


FAMILIES = {
    "a forked child": "product fork product ]",
    "an executed child": "product exec product ]",
    "a child of a child without a product": "product exec exec product ] ]",
    "a forked child of a forked child without a product": "product fork fork product ] ]",
    "a child of a shell": "product shell {program}\x00product",
    "a child before its parent's first product": "fork product ] product",
}


@pytest.mark.parametrize("by", ["run", "environment"])
@pytest.mark.parametrize("kind", FAMILIES)
def test_without_the_recording_of_a_child_nothing_is_shown(family, log, tmp_path, kind, by):
    run(log, family, *[word.replace("{program}", str(family)).replace("\x00", " ") for word in words(FAMILIES[kind])], by=by)
    names = set(files(log)) - {"run.children.fp32rec"}
    assert names == {"run.1.fp32rec", "run.fp32rec"}
    assert verify(log).returncode == 0 and verify(log.parent).returncode == 0
    result = verify(only(log, tmp_path, "run.fp32rec") / "run.fp32rec")
    assert result.returncode == 3
    assert "1 recording of the same run is missing, so what its process multiplied is not known: run.1.fp32rec" in missing(result)
    both = only(log, tmp_path, *files(log))
    assert verify(both / "run.fp32rec").returncode == 0


@pytest.mark.parametrize("by", ["run", "environment"])
@pytest.mark.parametrize("kind", FAMILIES)
def test_without_the_recording_that_lists_it_nothing_is_shown_of_a_child(family, log, tmp_path, kind, by):
    run(log, family, *[word.replace("{program}", str(family)).replace("\x00", " ") for word in words(FAMILIES[kind])], by=by)
    child = only(log, tmp_path, *set(files(log)) - {"run.fp32rec"}) / "run.1.fp32rec"
    result = verify(child)
    assert result.returncode == 3
    assert missing(result) == "the recording that lists this one is missing, so what its process multiplied is not known"
    report = fp32shim("report", child)
    assert "1 recording of the same run is not read and not beside the others: its name is not known" in report.stderr
    shutil.copy(log, child.parent)
    assert verify(child).returncode == 0
    assert f"it belongs to the same run: {child.with_name('run.fp32rec')}. Name it" in fp32shim("report", child).stderr


def test_a_violation_in_a_child_does_not_become_a_proof_when_its_recording_is_left_behind(family, log, tmp_path):
    command = f"FP32_MATMUL_PRECISION=medium FP32_MATMUL_CPU=emulate '{family}' product"
    run(log, family, "product", "shell", command)
    assert verify(log).returncode == 1
    assert verify(only(log, tmp_path, "run.fp32rec")).returncode == 3


@pytest.mark.parametrize("name", ["run-%p.fp32rec", "run-%t-%p.fp32rec"])
def test_names_with_the_process_id_belong_together_too(family, log, tmp_path, name):
    run(log.with_name(name), family, *words("product exec product ] fork product ]"))
    names = files(log)
    assert verify(log.parent).returncode == 0
    parents = [found for found in names if "children" not in found and
               verify(only(log, tmp_path, found)).returncode == 3]
    assert len(names) >= 3 and parents, names


def test_a_child_is_listed_by_its_ancestor_where_names_have_the_process_id_and_there_is_no_run(family, log, tmp_path):
    run(log.with_name("run-%p.fp32rec"), family, *words("product exec exec product ] ]"), by="environment")
    assert len(files(log)) == 2 and verify(log.parent).returncode == 0
    assert [verify(only(log, tmp_path, name)).returncode for name in files(log)] == [3, 3]


@pytest.mark.parametrize("name", ["run.fp32rec", "run-%p.fp32rec"])
def test_a_child_many_processes_below_is_listed_by_its_ancestor_where_there_is_no_run(family, log, tmp_path, name):
    run(log.with_name(name), family, "product", *["exec"] * 20, "product", *["]"] * 20, by="environment")
    assert len(files(log)) == 2 and verify(log.parent).returncode == 0
    assert [verify(only(log, tmp_path, found)).returncode for found in files(log)] == [3, 3]


@pytest.mark.parametrize("name", ["run.fp32rec", "run.20261128.fp32rec"])
def test_the_file_for_children_is_found_where_the_name_of_the_log_ends_in_a_number(family, log, name):
    log = log.with_name(name)
    run(log, "sh", "-c", f"env -u LD_PRELOAD '{family}' product; '{family}' product", by="environment")
    assert files(log) == [name.replace(".fp32rec", ".children.fp32rec"), name]
    result = verify(log)
    assert (result.returncode, bypasses(result), missing(result)) == (3, ["child:family"], "")


def test_programs_that_a_shell_starts_in_a_run_belong_together(family, log, tmp_path):
    run(log, "bash", "-c", f"'{family}' product; '{family}' product; '{family}' product; true")
    assert files(log) == ["run.1.fp32rec", "run.2.fp32rec", "run.fp32rec"]
    result = verify(only(log, tmp_path, "run.fp32rec"))
    assert result.returncode == 3 and "run.1.fp32rec, run.2.fp32rec" in missing(result)
    result = verify(only(log, tmp_path, "run.fp32rec", "run.1.fp32rec"))
    assert result.returncode == 3 and missing(result).endswith("not known: run.2.fp32rec")


def test_programs_that_a_shell_starts_belong_together_whatever_their_names(family, log, tmp_path):
    run(log.with_name("run-%p.fp32rec"), "bash", "-c", f"'{family}' product; '{family}' product; true")
    names = [name for name in files(log) if "children" not in name]
    assert len(names) == 3 and verify(log.parent).returncode == 0  # the shell, as the run's program, has one too
    for name in names:
        result = verify(only(log, tmp_path, name))
        assert result.returncode == 3 and "file for the children of its run" in missing(result)
        children, = set(files(log)) - set(names)
        result = verify(only(log, tmp_path, name, children))
        assert result.returncode == 3 and "of the same run" in missing(result) and "run-" in missing(result)


def test_programs_without_a_run_that_are_not_related_do_not_ask_for_each_other(family, log, tmp_path):
    for _ in range(2):
        run(log, family, "product", by="environment")
    assert files(log) == ["run.1.fp32rec", "run.fp32rec"]
    for name in files(log):
        assert verify(only(log, tmp_path, name)).returncode == 0
    assert verify(log).json["calls"] == 1


def test_two_runs_with_one_name_do_not_ask_for_each_other(family, log, tmp_path):
    for _ in range(2):
        run(log, family, *words("product fork product ]"))
    assert files(log) == ["run.1.fp32rec", "run.2.fp32rec", "run.3.fp32rec", "run.fp32rec"]
    assert verify(only(log, tmp_path, "run.fp32rec", "run.1.fp32rec")).returncode == 0
    assert verify(only(log, tmp_path, "run.2.fp32rec", "run.3.fp32rec")).returncode == 0
    assert verify(only(log, tmp_path, "run.fp32rec", "run.3.fp32rec")).returncode == 3


WITHOUT_ROOTS_RIGHTS = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


def verify_as_a_user(*recordings):
    """Runs `verify` as a user who cannot read files of mode 0."""
    shim.need(os.geteuid() != 0 or shutil.which("setpriv"), "no setpriv")
    prefix = WITHOUT_ROOTS_RIGHTS if os.geteuid() == 0 else []
    return subprocess.run([*prefix, COMMAND, "verify", "--at-least", "fp32", *recordings], capture_output=True, text=True,
                          check=False, env=environment())


def test_a_recording_beside_that_cannot_be_read_is_a_doubt(family, log):
    for _ in range(2):
        run(log, family, "product")
    log.with_name("run.1.fp32rec").chmod(0)
    result = verify_as_a_user(log)
    assert result.returncode == 3 and "run.1.fp32rec" in result.stdout
    assert "may belong to the same run, but cannot be read" in result.stderr


def test_an_unreadable_recording_with_another_name_that_is_older_is_none(family, log):
    for name in ("old.fp32rec", "run.fp32rec"):
        run(log.with_name(name), family, "product")
    log.with_name("old.fp32rec").chmod(0)
    assert verify_as_a_user(log).returncode == 3
    with open(log, "r+b") as recording:  # began in a day, according to its header
        recording.seek(32)
        began, = struct.unpack("<q", recording.read(8))
        recording.seek(32)
        recording.write(struct.pack("<q", began + 86400 * 10**9))
    assert verify_as_a_user(log).returncode == 0


def test_a_process_whose_files_have_no_names_is_told_in_a_whole_sentence(family, log, tmp_path):
    shim.need(os.geteuid() == 0 and shutil.which("chroot"), "only root may chroot")
    blas = shim.blas_directory("reference")
    listed = "".join(subprocess.run(["ldd", file], capture_output=True, text=True, check=True,
                                    env=environment(LD_LIBRARY_PATH=blas)).stdout for file in (family, shim.LIBRARY))
    for file in {str(family), str(shim.LIBRARY), *(word for word in words(listed) if word.startswith("/"))}:
        copy = tmp_path / "root" / file[1:]
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)  # the root has no /proc, which would give the program's name
    run(log, "bash", "-c", f"'{family}' product; chroot '{tmp_path}/root' '{family}'; true")
    reasons = [bypass["reason"] for bypass in verify(log).json["bypasses"]]
    assert any("the name of a loaded file is not known; in a process of an unknown program" in reason for reason in reasons)
    assert not any(": :" in reason for reason in reasons)


def test_a_recording_that_a_link_names_is_judged_with_the_files_beside_the_recording(family, log, tmp_path):
    run(log, "bash", "-c", f"'{family}' product; FP32_MATMUL_LOG='{tmp_path}/other.fp32rec' '{family}' product; true")
    assert files(log) == ["run.children.fp32rec", "run.fp32rec"] and verify(log).returncode == 3
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "run.fp32rec"
    link.symlink_to(log)
    assert verify(link).returncode == 3


def test_recordings_with_the_process_id_for_want_of_a_number_are_listed(family, log, tmp_path):
    for number in range(16):
        log.with_name(f"run.{number}.fp32rec" if number else "run.fp32rec").touch()
    run(log, "bash", "-c", f"'{family}' product; '{family}' product; true")
    made = [path.name for path in log.parent.iterdir() if path.stat().st_size and "children" not in path.name]
    assert len(made) == 2
    for name in made:
        assert verify(only(log, tmp_path, name)).returncode == 3
    assert verify(only(log, tmp_path, *made, "run.children.fp32rec")).returncode == 0


def test_a_child_of_a_recording_with_the_process_id_for_want_of_a_number_is_listed(family, log, tmp_path):
    for number in range(16):
        log.with_name(f"run.{number}.fp32rec" if number else "run.fp32rec").touch()
    run(log, family, *words("product exec product ]"), by="environment")
    made = [path.name for path in log.parent.iterdir() if path.stat().st_size]
    assert len(made) == 2
    assert [verify(only(log, tmp_path, name)).returncode for name in made] == [3, 3]
    assert verify(only(log, tmp_path, *made)).returncode == 0


def test_two_recordings_that_were_joined_into_one_file_are_a_doubt(family, log):
    run(log, family, "product")
    run(log, family, "product", FP32_MATMUL_PRECISION="medium", FP32_MATMUL_CPU="emulate")
    other = log.with_name("run.1.fp32rec")
    assert verify(log).returncode == 0 and verify(other).returncode == 1
    with open(log, "ab") as both:
        both.write(other.read_bytes())
    other.unlink()
    result = verify(log)
    assert result.returncode == 3 and "another recording begins here" in result.stdout


def test_a_relative_name_in_the_environment_means_the_folder_where_the_run_began(family, log):
    (log.parent / "sub").mkdir()
    done = subprocess.run([COMMAND, "run", "--quiet", "--", "sh", "-c", f"'{family}' product; cd sub; '{family}' product"],
                          check=False, cwd=log.parent,
                          env=environment(FP32_MATMUL_LOG="run.fp32rec", LD_LIBRARY_PATH=shim.blas_directory("reference")))
    assert done.returncode == 0
    assert files(log) == ["run.1.fp32rec", "run.fp32rec", "sub"] and not list((log.parent / "sub").iterdir())


def test_a_run_within_a_run_belongs_to_it_if_it_records_under_the_same_name(family, log, tmp_path):
    inner = f"'{COMMAND}' run --quiet --log '{log}' --precision medium --cpu emulate -- '{family}' product"
    run(log, "bash", "-c", f"'{family}' product; {inner}; true")
    assert files(log) == ["run.1.fp32rec", "run.fp32rec"] and verify(log).returncode == 1
    assert verify(only(log, tmp_path, "run.fp32rec")).returncode == 3


def test_a_child_that_does_not_know_the_run_of_its_parent_is_listed(family, log, tmp_path):
    child = f"env -u FP32SHIM_RUN FP32_MATMUL_PRECISION=medium FP32_MATMUL_CPU=emulate '{family}' product"
    run(log, family, "product", "shell", child)
    assert files(log) == ["run.1.fp32rec", "run.children.fp32rec", "run.fp32rec"] and verify(log).returncode == 1
    assert verify(only(log, tmp_path, "run.fp32rec")).returncode == 3


def test_a_recording_of_another_run_with_the_same_name_at_the_same_time_is_a_doubt(family, log, tmp_path):
    child = f"FP32SHIM_RUN='00000000000000ff {tmp_path}/other.children.fp32rec' '{family}' product"
    run(log, family, "product", "shell", child)
    assert files(log) == ["run.1.fp32rec", "run.children.fp32rec", "run.fp32rec"]
    for name in ("run.1.fp32rec", "run.fp32rec"):
        result = verify(log.with_name(name))
        assert result.returncode == 3 and "ran at the same time as that of" in result.stdout
    result = verify(log.parent)
    assert result.returncode == 3 and "was started with another FP32SHIM_RUN" in result.stdout


def test_children_without_a_product_leave_no_doubt(family, log, tmp_path):
    run(log, family, *words("product exec ] fork ] exec fork ] ]"))
    assert verify(log).returncode == 0
    assert verify(only(log, tmp_path, *files(log))).returncode == 0


def test_a_child_whose_parent_has_ended_is_listed(family, log, tmp_path):
    run(log, family, *words("product orphan product ]"))
    assert files(log) == ["run.1.fp32rec", "run.fp32rec"]
    assert verify(log).returncode == 0
    assert verify(only(log, tmp_path, "run.fp32rec")).returncode == 3


def test_more_children_than_have_room_in_the_list_are_counted(family, log, tmp_path):
    run(log, family, "product", *words("fork product ]") * 40)
    names = files(log)
    assert len(names) == 41 and verify(log).returncode == 0
    result = verify(only(log, tmp_path, "run.fp32rec"))
    assert result.returncode == 3 and "40 recordings of the same run are missing" in missing(result)
    assert "and 35 more" in missing(result)
    result = verify(only(log, tmp_path, *[name for name in names if name != "run.7.fp32rec"]))
    assert result.returncode == 3 and missing(result).endswith("not known: run.7.fp32rec")


def test_children_that_start_at_the_same_time_are_all_listed(family, log, tmp_path):
    run(log, "bash", "-c", f"for i in 1 2 3 4 5 6 7 8; do '{family}' product & done; wait")
    assert len(files(log)) == 8 and verify(log).returncode == 0
    result = verify(only(log, tmp_path, "run.fp32rec"))
    assert result.returncode == 3 and "7 recordings of the same run are missing" in missing(result)


def test_a_recording_that_takes_long_to_be_made_is_waited_for(family, log, tmp_path):
    """On a busy machine, the process that makes the recording may have to wait for a processor."""
    unmade = f"mv '{log}' whole; : > '{log}'; (sleep 0.3; cat whole > '{log}') & '{family}' product; wait"
    run(log, family, "product", "shell", f"cd '{tmp_path}'; {unmade}", by="environment")
    assert files(log) == ["run.1.fp32rec", "run.fp32rec"]
    result = verify(only(log, tmp_path, "run.fp32rec"))
    assert result.returncode == 3 and missing(result).endswith("not known: run.1.fp32rec")


def test_what_ran_without_a_recording_does_not_vanish_with_the_file_that_names_it(family, log, tmp_path):
    bypass = plugin(tmp_path / "libbypass.so", 'const char* mark(void) { return "MlasGemm"; }')
    run(log, family, "exec", "load", bypass, "]", "product")
    assert files(log) == ["run.children.fp32rec", "run.fp32rec"]
    assert bypasses(verify(log)) == ["MLAS"]
    result = verify(only(log, tmp_path, "run.fp32rec"))
    assert result.returncode == 3 and "file for the children of its run" in missing(result)


def test_forked_children_that_cannot_make_a_recording_are_counted_in_that_of_their_parent(family, log):
    done = run(log, family, *words("product fork few-files product product fork product ] ] fork few-files product ] fork few-files ]"))
    assert files(log) == ["run.fp32rec"] and "this forked process records nothing" in done.stderr
    result = verify(log)
    assert result.returncode == 3 and "2 processes of its family multiplied but could not make a recording" in result.stdout


def test_a_list_that_cannot_be_written_is_said_on_stderr(family, log):
    shim.need(os.geteuid() != 0 or shutil.which("setpriv"), "no setpriv")
    prefix = WITHOUT_ROOTS_RIGHTS if os.geteuid() == 0 else []
    done = run(log, *prefix, family, "product", "shell", f"chmod 400 '{log}'", "exec", "product", "]")
    assert "run.1.fp32rec: " in done.stderr and "name it for fp32shim verify" in done.stderr


def test_a_report_says_which_recordings_of_the_run_it_did_not_read(family, log, tmp_path):
    run(log, family, *words("product fork product ] exec product ]"))
    copies = only(log, tmp_path, "run.fp32rec", "run.1.fp32rec")
    result = fp32shim("report", copies / "run.fp32rec")
    assert f"not read, although it belongs to the same run: {copies / 'run.1.fp32rec'}. Name it too" in result.stderr
    assert "1 recording of the same run is not read and not beside the others: run.2.fp32rec" in result.stderr
    assert "not read" not in fp32shim("report", log.parent).stderr
