"""Every process of a run is judged by what it had loaded, also one without a call that the shim sees, however it ends."""

import os
import pathlib
import shutil
import signal
import subprocess

import pytest

import shim
from command import COMMAND, build, environment, fp32shim
from test_verify_bypasses import bypasses, plugin, verify

# Follows its arguments `product`, `set=NAME=VALUE` (putenv), `load=FILE` (dlopen), `close`, `block` (all signals),
# `chroot=FOLDER` and `setuid`, and then ends in the way that the first argument names.
PROGRAM = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <signal.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/syscall.h>
    #include <sys/wait.h>
    #include <unistd.h>
    void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    static void product(void) {
        static float a[16], b[16], c[16];
        cblas_sgemm(101, 111, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4);
    }
    static void leave(int number) { (void)number; _exit(7); }
    static char* self;
    static void become(int number) { (void)number; execv(self, (char*[]){self, "return", 0}); }
    static void act(char** words) {
        void* last = 0;
        for (; *words && strcmp(*words, "then"); ++words) {
            if (!strcmp(*words, "product")) product();
            if (!strcmp(*words, "close")) dlclose(last);
            if (!strcmp(*words, "block")) { sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0); }
            if (!strncmp(*words, "chroot=", 7) && chroot(*words + 7) != 0) exit(99);
            if (!strcmp(*words, "setuid") && setuid(65534) != 0) exit(99);
            if (!strncmp(*words, "set=", 4)) putenv(*words + 4);
            if (!strncmp(*words, "load=", 5) && !(last = dlopen(*words + 5, RTLD_NOW))) exit(99);
        }
    }
    /// Acts in a child, and leaves it by the given function.
    static void in_child(char** words, void end(int)) {
        const pid_t child = fork();
        if (child == 0) { act(words); end(7); }
        int status = 0;
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) exit(98);
    }
    int main(int argc, char** argv) {
        const char* how = argv[1];
        char** words = argv + 2;
        (void)argc;
        self = argv[0];
        if (!strncmp(how, "forks", 5)) {  // words of the parent, `then`, words of the child
            act(words);
            while (strcmp(*words++, "then")) {}
            in_child(words, how[5] ? become : _exit);
            return 7;
        }
        act(words);
        if (!strcmp(how, "return")) return 7;
        if (!strcmp(how, "execv")) execv(argv[0], (char*[]){argv[0], "return", "product", 0});
        if (!strcmp(how, "execvp")) execvp(argv[0], (char*[]){argv[0], "return", "product", 0});
        if (!strcmp(how, "_exit")) _exit(7);
        if (!strcmp(how, "_Exit")) _Exit(7);
        if (!strcmp(how, "quick_exit")) quick_exit(7);
        if (!strcmp(how, "exit_group")) syscall(SYS_exit_group, 7);
        if (!strcmp(how, "vfork")) {
            if (vfork() == 0) _exit(0);
            kill(getpid(), SIGKILL);
        }
        struct sigaction action = {.sa_handler = leave};
        if (!strcmp(how, "own stack")) {
            stack_t stack = {.ss_sp = malloc(4096), .ss_size = 4096};
            sigaltstack(&stack, 0);
            action.sa_flags = SA_ONSTACK;
            sigaction(SIGUSR1, &action, 0);
            raise(SIGUSR1);
        }
        if (!strcmp(how, "crash and exec")) action.sa_handler = become;
        sigaction(SIGSEGV, &action, 0);
        if (!strncmp(how, "crash", 5)) *(volatile int*)8 = 1;
        return 97;
    }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "program"
    return str(build(path, PROGRAM, "-Wl,--no-as-needed", "-x", "none", shim.blas_library("reference")))


@pytest.fixture
def bypass(tmp_path):
    return build(tmp_path / "libXNNPACK.so.3", "void run(void) {}", "-shared", "-fPIC")


@pytest.fixture
def log(tmp_path):
    return tmp_path / "run.fp32rec"


def run(log, *words, options=("-q",), status=7):
    done = subprocess.run([COMMAND, "run", *options, "--pin", "--log", log, "--", *map(str, words)], capture_output=True,
                          text=True, check=False, env=environment(LD_LIBRARY_PATH=shim.blas_directory("reference")))
    assert done.returncode == status, done.stderr
    return done


def files(folder):
    return sorted(path.name for path in folder.glob("*.fp32rec"))


@pytest.mark.parametrize("options", [["-q"], []], ids=["quiet", "with a summary"])
@pytest.mark.parametrize("name", ["run.fp32rec", "run.%p.fp32rec"])
@pytest.mark.parametrize("end", ["return", "_exit"])
@pytest.mark.parametrize("order", ["seen first", "unseen first"])
def test_a_process_without_a_call_is_judged_beside_one_with_calls(tmp_path, program, bypass, options, name, end, order):
    lines = [f"'{program}' return product", f"'{program}' {end} 'load={bypass}'"]
    if order == "unseen first":
        lines.reverse()
    done = run(tmp_path / name, "sh", "-c", "; ".join(lines), options=options)
    if not options:
        assert "These libraries were loaded but are not covered: XNNPACK in libXNNPACK.so.3" in done.stderr
    recording, = (path for path in tmp_path.glob("*.fp32rec")
                  if ".children." not in path.name and fp32shim("report", "--format", "json", path).json["rows"])
    result = verify(recording)
    assert (result.returncode, bypasses(result)) == (3, ["XNNPACK"])
    assert "in a process of program without a call that is seen" in result.json["bypasses"][0]["reason"]
    assert verify("--assume-unused", "XNNPACK", recording).returncode == 0


@pytest.mark.parametrize("words", [
    ["forks", "product", "then", "load={}"],
    ["forks", "then", "product", "load={}"],
    ["forks", "load={}", "then", "product"],
], ids=["the child loads", "the child does both", "the parent loads"])
def test_a_forked_child_that_ends_by__exit_is_judged(log, program, bypass, words):
    run(log, program, *(word.format(bypass) for word in words))
    result = verify(log)
    assert (result.returncode, bypasses(result)) == (3, ["XNNPACK"])


@pytest.mark.parametrize("words", [["_exit", "load={}", "close"], ["return", "load={}", "close", "product"]],
                         ids=["no product", "a product later"])
def test_a_library_that_was_closed_before_the_process_was_recorded_is_judged(log, program, bypass, words):
    lines = [[program, "return", "product"], [program, *(word.format(bypass) for word in words)]]
    run(log, "sh", "-c", "; ".join(" ".join(f"'{word}'" for word in line) for line in lines))
    assert bypasses(verify(log)) == ["XNNPACK"]


def test_a_process_that_closed_a_library_before_its_first_product_leaves_its_recording_only(log, program, bypass):
    run(log, program, "return", f"load={bypass}", "close", "product")
    assert files(log.parent) == ["run.fp32rec"]
    assert bypasses(verify(log)) == ["XNNPACK"]


def test_a_file_of_marks_counts_as_no_recording(log, program, bypass):
    run(log, "sh", "-c", f"'{program}' return product; '{program}' _exit 'load={bypass}'")
    assert files(log.parent) == ["run.children.fp32rec", "run.fp32rec"]
    assert "1 call in 1 recording on 1 machine" in fp32shim("report", log.parent).stdout
    assert fp32shim("report", "--format", "json", log.parent).json["totals"]["recordings"] == 1


def test_a_process_in_another_root_leaves_its_mark(log, program, bypass, tmp_path):
    shim.need(os.geteuid() == 0, "only root may change the root folder")
    (tmp_path / "root").mkdir()
    done = run(log, program, "_exit", f"load={bypass}", f"chroot={tmp_path / 'root'}", status=7)
    assert done.stderr == "" and files(log.parent) == ["run.children.fp32rec"]
    # Without /proc in that root, the program's own file is unknown, which is a further doubt.
    assert bypasses(verify(log.parent)) == ["XNNPACK", "unread"]


def test_a_mark_that_cannot_be_left_is_one_line(log, program, bypass):
    shim.need(os.geteuid() == 0, "only root may become another user")
    log.parent.chmod(0o700)
    done = run(log, program, "_exit", f"load={bypass}", "setuid")
    assert done.stderr.startswith("fp32shim: the files that this process had loaded cannot be recorded for fp32shim verify: permission")
    assert done.stderr.count("\n") == 1 and files(log.parent) == []


@pytest.mark.parametrize("way", ["execv", "execvp"])
def test_what_a_process_had_loaded_before_it_became_another_program_is_judged(log, program, bypass, way):
    run(log, program, way, f"load={bypass}")
    assert bypasses(verify(log)) == ["XNNPACK"]


def test_what_a_forked_child_had_loaded_before_it_became_another_program_is_judged(log, program, bypass):
    run(log, "bash", "-c", f"'{program}' 'forks and execs' product then 'load={bypass}'; exit 7")
    assert bypasses(verify(log)) == ["XNNPACK"]


@pytest.mark.parametrize("setting", ["FP32_MATMUL_LOG=stderr", "FP32_MATMUL_LOG=", "FP32_MATMUL_DISABLE=1",
                                     "FP32_MATMUL_LOG={}/other.fp32rec"])
def test_a_process_that_changes_its_own_log_is_not_covered(log, program, setting, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    setting = setting.format(tmp_path / "elsewhere")
    run(log, "bash", "-c", f"'{program}' return product; '{program}' return set={setting} product")
    entry, = verify(log).json["bypasses"]
    assert entry["bypass"] == "child:program" and "changed its own FP32_MATMUL_LOG" in entry["reason"]


def test_a_program_that_is_named_like_the_command_leaves_its_mark(log, program, bypass, tmp_path):
    (tmp_path / "bin").mkdir()
    other = shutil.copy(program, tmp_path / "bin/fp32shim")
    run(log, "sh", "-c", f"{COMMAND} --version >/dev/null; '{program}' return product; '{other}' return 'load={bypass}'")
    assert bypasses(verify(log)) == ["XNNPACK"]
    (log.parent / "run.children.fp32rec").unlink()
    run(tmp_path / "second.fp32rec", "sh", "-c", f"{COMMAND} --version >/dev/null; exec '{program}' return product")
    assert not (tmp_path / "second.children.fp32rec").exists()


def test_a_program_that_is_named_like_a_tool_outside_the_systems_folders_leaves_its_mark(log, program, bypass):
    script = (f"mount -t tmpfs none /usr/local/bin && cp '{program}' /usr/local/bin/sort; '{program}' return product; "
              f"/usr/local/bin/sort return 'load={bypass}'")
    shim.need(subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/usr/local/bin"], check=False,
                             capture_output=True).returncode == 0, "no mount namespaces can be made here")
    run(log, "unshare", "-m", "bash", "-c", script)
    assert bypasses(verify(log)) == ["XNNPACK", "unread"]  # the program is no longer there


def test_processes_that_were_killed_are_one_doubt(log, program):
    run(log, "sh", "-c", f"for i in 1 2 3; do '{program}' exit_group product; done; exit 7")
    entry, = verify(log).json["bypasses"]
    assert (entry["bypass"], len(entry["recordings"])) == ("later", 3)


def test_a_forked_child_that_loads_nothing_and_multiplies_nothing_leaves_no_file(log, program):
    run(log, program, "forks", "product", "then")
    assert files(log.parent) == ["run.fp32rec"] and verify(log).returncode == 0


def test_the_file_with_marks_counts_as_no_recording(log, program, tmp_path):
    other = build(tmp_path / "libother.so", "int nothing;", "-shared", "-fPIC")
    run(log, program, "forks", "product", "then", f"load={other}")
    assert files(log.parent) == ["run.children.fp32rec", "run.fp32rec"]
    assert fp32shim("verify", "--at-least", "fp32", log).stdout.startswith("Shown: the one call ")


@pytest.mark.parametrize("options", [["-q"], []], ids=["quiet", "with a summary"])
def test_tools_that_a_program_starts_leave_no_file_and_take_no_name(log, program, options):
    compiler = shim.tool("g++", "g++")
    script = f"uname -p >&2; lscpu >/dev/null; '{compiler}' -v -E -x c++ - </dev/null >/dev/null; exec '{program}' return product"
    run(log, "sh", "-c", script, options=options)
    assert files(log.parent) == ["run.fp32rec"]
    assert verify(log).returncode == 0


def test_the_name_belongs_to_the_first_process_that_multiplies(log, program, bypass):
    script = f"'{program}' return; '{program}' return 'load={bypass}'; '{program}' return product; '{program}' return product"
    run(log, "bash", "-c", script)
    assert files(log.parent) == ["run.1.fp32rec", "run.children.fp32rec", "run.fp32rec"]
    report = fp32shim("report", log)
    assert report.stderr == ("fp32shim report: not read, although it belongs to the same run: " +
                             str(log.parent / "run.1.fp32rec") + ". Name it too, or its folder.\n")
    both = fp32shim("report", "--format", "json", log, log.parent / "run.1.fp32rec")
    assert sum(row["calls"] for row in both.json["rows"]) == 2 and both.stderr == ""
    assert fp32shim("report", log.parent).stderr == ""


def test_processes_with_the_same_files_share_one_mark(log, program, bypass):
    run(log, "bash", "-c", f"for i in $(seq 50); do '{program}' _exit 'load={bypass}'; done; '{program}' return product")
    result = verify(log)
    assert len(result.json["bypasses"]) == 1
    assert (log.parent / "run.children.fp32rec").stat().st_size < 2 * 65536


def test_more_kinds_of_processes_than_there_is_room_for_are_a_doubt(log, program, tmp_path):
    first = build(tmp_path / "lib0.so", "int nothing;", "-shared", "-fPIC")
    for i in range(1, 260):
        os.link(first, tmp_path / f"lib{i}.so")
    run(log, "bash", "-c", f"for i in $(seq 0 259); do '{program}' _exit 'load={tmp_path}'/lib$i.so; done; '{program}' return product")
    result = verify(log)
    assert bypasses(result) == ["unread"]
    assert "the libraries of 4 more processes" in result.json["bypasses"][0]["reason"]


@pytest.mark.parametrize("end", ["_exit", "_Exit", "quick_exit"])
def test_what_a_process_had_loaded_is_known_where_it_runs_no_exit_handlers(log, program, bypass, end):
    run(log, program, end, "product")
    assert verify(log).returncode == 0
    run(log.with_name("b.fp32rec"), program, end, "product", f"load={bypass}")
    assert bypasses(verify(log.with_name("b.fp32rec"))) == ["XNNPACK"]


@pytest.mark.parametrize("end, status", [("exit_group", 7), ("crash", 7), ("own stack", 7), ("vfork", -signal.SIGKILL)])
def test_a_last_look_that_was_not_safe_was_not_taken_and_the_verdict_says_so(log, program, end, status):
    run(log, program, end, "product", status=status)
    result = verify(log)
    assert (result.returncode, bypasses(result)) == (3, ["later"])
    assert "was killed, became another program by exec, or ended by its own system call, not through the C library" in result.json["bypasses"][0]["reason"]


def test_after_a_crash_nothing_is_looked_at_before_an_exec(log, program, bypass):
    run(log, program, "crash and exec", f"load={bypass}")
    assert str(bypass) not in [file["path"] for process in verify(log.parent).json["processes"] for file in process["files"]]


@pytest.mark.parametrize("end", ["_exit block", "_Exit block", "quick_exit block", "execv block", "crash", "'own stack'"])
def test_a_process_without_a_call_that_cannot_leave_its_mark_is_counted(log, program, bypass, end):
    run(log, "sh", "-c", f"'{program}' return product; '{program}' {end} 'load={bypass}'")
    result = verify(log)
    assert (result.returncode, bypasses(result)) == (3, ["unread"])
    assert "the libraries of 1 more process without a call that is seen are not known" in result.json["bypasses"][0]["reason"]


def test_a_forked_child_that_loads_nothing_is_not_counted_where_it_blocks_all_signals(log, program):
    run(log, program, "forks", "product", "then", "block")
    assert files(log.parent) == ["run.fp32rec"] and verify(log).returncode == 0


def test_a_tool_leaves_its_mark_where_another_library_is_preloaded_into_it(log, program, bypass):
    run(log, "sh", "-c", f"'{program}' return product; LD_PRELOAD=\"$LD_PRELOAD:{bypass}\" /bin/true; exit 7")
    assert bypasses(verify(log)) == ["XNNPACK"]


@pytest.mark.parametrize("end", ["return", "_exit", "_Exit", "quick_exit", "exit_group", "crash", "own stack"])
def test_an_unrecorded_process_ends_as_without_the_library(program, end):
    done = subprocess.run([program, end], check=False, capture_output=True,
                          env=environment(LD_PRELOAD=shim.LIBRARY, LD_LIBRARY_PATH=shim.blas_directory("reference")))
    assert (done.returncode, done.stdout, done.stderr) == (7, b"", b"")


def test_programs_in_go_are_one_doubt_however_many_processes_they_are(tmp_path, program):
    in_go = pathlib.Path(build(tmp_path / "in_go", 'const char* mark = "Go buildinf:";' + PROGRAM, "-Wl,--no-as-needed", "-x",
                               "none", shim.blas_library("reference")))
    run(tmp_path / "run.fp32rec", "bash", "-c", f"'{in_go}' exit_group product; '{in_go}' exit_group product")
    entry, = verify(tmp_path / "run.fp32rec").json["bypasses"]
    assert entry["bypass"] == "later" and len(entry["recordings"]) == 2
    assert entry["reason"].startswith("libraries that a program in Go loads near its end are not known")
