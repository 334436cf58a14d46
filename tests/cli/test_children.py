"""Programs that are started without the shim: the recording of a run names them, and verify doubts."""

import os
import shutil
import subprocess

import pytest

import shim
from command import COMMAND, build, environment, fp32shim

PRODUCTS = """
    #include <stdio.h>
    void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    int main(void) {
        static float a[16], b[16], c[16];
        for (int i = 0; i < 10; ++i) cblas_sgemm(101, 111, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4);
        return 0;
    }
"""

# Starts argv[2] by the function argv[1], and ends with the same status. The last word is for functions like execle.
STARTER = """
    #define _GNU_SOURCE
    #include <errno.h>
    #include <fcntl.h>
    #include <signal.h>
    #include <spawn.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/wait.h>
    #include <unistd.h>
    extern char** environ;
    static int status_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }
    static char* program; static char* words[2];
    static void in_handler(int number) { (void)number; execve(program, words, environ); _exit(errno); }
    int main(int argc, char** argv) {
        (void)argc;
        const char* how = argv[1];
        program = argv[2]; words[0] = program;
        int status = 0;
        errno = 0;
        if (!strcmp(how, "execve")) execve(program, words, environ);
        if (!strcmp(how, "execv")) execv(program, words);
        if (!strcmp(how, "execvp")) execvp(strrchr(program, '/') + 1, words);
        if (!strcmp(how, "execvpe")) execvpe(strrchr(program, '/') + 1, words, environ);
        if (!strcmp(how, "execl")) execl(program, program, "one", "two", (char*)0);
        if (!strcmp(how, "execlp")) execlp(strrchr(program, '/') + 1, program, "one", (char*)0);
        if (!strcmp(how, "execle")) execle(program, program, "one", "two", "three", (char*)0, environ);
        if (!strcmp(how, "fexecve")) fexecve(open(program, O_RDONLY | O_CLOEXEC), words, environ);
        if (!strcmp(how, "execveat")) execveat(AT_FDCWD, program, words, environ, 0);
        if (!strncmp(how, "exec", 4)) return errno;
        if (!strcmp(how, "handler")) {
            stack_t stack = {.ss_sp = malloc(16384), .ss_size = 16384};
            sigaltstack(&stack, 0);
            struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};
            sigaction(SIGUSR1, &action, 0);
            raise(SIGUSR1);
        }
        if (!strcmp(how, "vfork")) {
            pid_t child = vfork();
            if (child == 0) { execve(program, words, environ); _exit(errno); }
            waitpid(child, &status, 0);
            return status_of(status);
        }
        if (!strncmp(how, "posix_spawn", 11)) {
            pid_t child;
            int error = how[11] ? posix_spawnp(&child, strrchr(program, '/') + 1, 0, 0, words, environ)
                                : posix_spawn(&child, program, 0, 0, words, environ);
            if (error) return error;
            waitpid(child, &status, 0);
            return status_of(status);
        }
        if (!strcmp(how, "system")) return status_of(system(program));
        if (!strcmp(how, "popen")) {
            FILE* pipe = popen(program, "r");
            int letter = fgetc(pipe);
            if (letter != EOF) putchar(letter);
            return status_of(pclose(pipe));
        }
        return 99;
    }
"""
# Starts /static in another root folder, argv[1], without a call of chroot; or argv[2] in the folder argv[1].
ELSEWHERE = """
    #define _GNU_SOURCE
    #include <errno.h>
    #include <fcntl.h>
    #include <sched.h>
    #include <signal.h>
    #include <spawn.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/mount.h>
    #include <sys/syscall.h>
    #include <sys/wait.h>
    #include <unistd.h>
    extern char** environ;
    static int enter(const char* root, int itself) {
        if (unshare(CLONE_NEWNS) != 0) return 98;
        if (itself && mount("none", "/", 0, MS_REC | MS_PRIVATE, 0) != 0) return 97;
        if (!itself && syscall(SYS_mount, "none", "/", 0, MS_REC | MS_PRIVATE, 0) != 0) return 97;
        if (syscall(SYS_mount, root, root, 0, MS_BIND, 0) != 0 || chdir(root) != 0) return 96;
        if (syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0) return 95;
        return 0;
    }
    int main(int argc, char** argv) {
        const char* how = argv[1];
        char* words[] = {argv[3], 0};
        if (argc != 4) return 2;
        if (!strncmp(how, "posix_spawn", 11)) {
            posix_spawn_file_actions_t actions;
            posix_spawn_file_actions_init(&actions);
            posix_spawn_file_actions_addchdir_np(&actions, argv[2]);
            pid_t child;
            int status = 0;
            const int error = (how[11] ? posix_spawnp : posix_spawn)(&child, argv[3], &actions, 0, words, environ);
            if (error != 0) return error;
            waitpid(child, &status, 0);
            return WEXITSTATUS(status);
        }
        if (!strcmp(how, "setns")) {
            int ready[2];
            if (pipe(ready) != 0) return 99;
            const pid_t other = fork();
            if (other == 0) {
                const char error = (char)enter(argv[2], 0);
                if (write(ready[1], &error, 1) == 1) pause();
                _exit(0);
            }
            char error = 0, path[64];
            if (read(ready[0], &error, 1) != 1 || error != 0) return error;
            sprintf(path, "/proc/%d/ns/mnt", (int)other);
            const int result = setns(open(path, O_RDONLY), 0);
            kill(other, SIGKILL);
            waitpid(other, 0, 0);
            if (result != 0) return 98;
        } else {
            const int error = enter(argv[2], 1);
            if (error != 0) return error;
        }
        execve(argv[3], words, environ);
        return errno;
    }
"""

# Multiplies, enters the jail argv[2] by argv[1], and gives up its rights. Then tries each descriptor as a way out of
# the jail, also in a forked child and in a started program. Its status is the number of ways out.
PRISONER = """
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <grp.h>
    #include <sched.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/mount.h>
    #include <sys/syscall.h>
    #include <sys/wait.h>
    #include <unistd.h>
    void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
    static void multiply(void) {
        static float a[16], b[16], c[16];
        cblas_sgemm(101, 111, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4);
    }
    static int ways_out(void) {
        int ways = 0;
        for (int descriptor = 0; descriptor < 1 << 16; ++descriptor) {
            const int outside = openat(descriptor, "../../../../../../../../etc/passwd", O_RDONLY);
            if (outside >= 0) printf("descriptor %d leads out\\n", descriptor), close(outside), ++ways;
            if (fchdir(descriptor) == 0) printf("descriptor %d is of a folder\\n", descriptor), ++ways;
        }
        return ways;
    }
    static int enter(const char* how, const char* jail) {
        if (!strcmp(how, "chroot")) return chdir(jail) != 0 || chroot(".") != 0;
        if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", 0, MS_REC | MS_PRIVATE, 0) != 0) return 1;
        if (mount(jail, jail, 0, MS_BIND, 0) != 0 || chdir(jail) != 0) return 1;
        return syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0;
    }
    int main(int argc, char** argv) {
        if (argc == 2) return ways_out();
        multiply();
        if (enter(argv[1], argv[2]) != 0 || chdir("/") != 0) return 90;
        int ways = ways_out(), status = 0;  // while it may enter any folder
        if (setgroups(0, 0) != 0 || setgid(65534) != 0 || setuid(65534) != 0) return 91;
        multiply();
        ways += ways_out();
        const pid_t child = fork();
        if (child == 0) {
            multiply();
            if (ways_out() != 0) _exit(92);
            execl("/prisoner", "prisoner", "again", (char*)0);
            _exit(93);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 94;
        return ways + WEXITSTATUS(status);
    }
"""

# Starts argv[2] by argv[1] with an environment that is partly or wholly unreadable, or (4) without a path. Returns
# the error.
UNREADABLE = """
    #define _GNU_SOURCE
    #include <errno.h>
    #include <fcntl.h>
    #include <spawn.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <unistd.h>
    int main(int argc, char** argv) {
        if (argc != 4) return 2;
        char* words[] = {argv[2], 0};
        char* volatile path = argv[2];
        char* end = (char*)mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;
        munmap(end, 4096);
        char* bad_entry[] = {"A=1", (char*)8, 0};
        char* without_end[] = {end - 11, 0};
        char** environments[] = {(char**)8, bad_entry, without_end, (char**)end - 2, environ};
        const int number = argv[3][0] - '0';
        if (number == 2) memcpy(end - 11, "LD_PRELOAD=", 11);
        if (number == 3) environments[3][0] = environments[3][1] = "A=1";
        if (number == 4) path = 0;
        pid_t child;
        if (!strcmp(argv[1], "posix_spawn")) return posix_spawn(&child, path, 0, 0, words, environments[number]);
        if (!strcmp(argv[1], "execvpe")) execvpe(path, words, environments[number]);
        if (!strcmp(argv[1], "execve")) execve(path, words, environments[number]);
        if (!strcmp(argv[1], "execveat")) execveat(AT_FDCWD, path, words, environments[number], 0);
        return errno;
    }
"""
# Prints what programs see of functions that start others: statuses, errors, signals, descriptors, cancellation.
# `state` prints what a child sees of itself; its first argument is the path of this program.
BEHAVIOUR = """
    #define _GNU_SOURCE
    #include <errno.h>
    #include <fcntl.h>
    #include <pthread.h>
    #include <signal.h>
    #include <spawn.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/wait.h>
    #include <unistd.h>
    extern char** environ;
    static char* self;
    static volatile sig_atomic_t signals;
    static void on_signal(int number) { (void)number; ++signals; }
    static void show(const char* what, long result) {
        printf("%s: %ld, errno %d\\n", what, result, result == -1 ? errno : 0);
        fflush(stdout);
    }
    static int state(void) {
        sigset_t mask;
        sigprocmask(SIG_BLOCK, 0, &mask);
        for (int i = 1; i < 65; ++i) {
            struct sigaction action;
            if (sigismember(&mask, i) == 1) printf(" blocked %d", i);
            if (sigaction(i, 0, &action) == 0 && action.sa_handler == SIG_IGN) printf(" ignored %d", i);
        }
        for (int i = 0; i < 1024; ++i)
            if (fcntl(i, F_GETFD) != -1) printf(" descriptor %d", i);
        printf(" group %d session %d\\n", getpgrp() == getpid(), getsid(0) == getpid());
        return 42;
    }
    static void* run_for_long(void* unused) { system("exec sleep 60"); return unused; }
    static void with_system(const char* command) {
        show("no command", system(0));
        show("exit 3", system("exit 3"));
        show("killed", system("kill -9 $$"));
        show("missing", system("no_such_command 2>/dev/null"));
        signal(SIGCHLD, SIG_IGN);
        show("SIGCHLD ignored", system("exit 4"));
        signal(SIGCHLD, on_signal);
        show("SIGCHLD handled", system("exit 5"));
        show("signals", signals);
        signal(SIGCHLD, SIG_DFL);
        show("interrupt", system("kill -INT $PPID; kill -QUIT $PPID; exit 6"));
        show("state", system(command));
        pthread_t thread;
        void* result = 0;
        pthread_create(&thread, 0, run_for_long, 0);
        usleep(200000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        show("cancelled", result == PTHREAD_CANCELED);
        show("child left", waitpid(-1, 0, WNOHANG));
    }
    static void with_popen(const char* command) {
        char text[4096];
        FILE* first = popen("cat >/dev/null; exit 11", "w");
        FILE* second = popen(command, "re");
        FILE* third = popen("cat >/dev/null; exit 12", "we");
        FILE* fourth = popen(command, "r");
        while (fgets(text, sizeof text, second) != 0 || fgets(text, sizeof text, fourth) != 0) fputs(text, stdout);
        show("close on exec", fcntl(fileno(first), F_GETFD) | fcntl(fileno(second), F_GETFD) << 1);
        FILE* all[] = {first, second, third, fourth};
        for (int i = 0; i < 4; ++i) show("pclose", pclose(all[i]));
        errno = 0;
        show("wrong mode", popen("true", "x") == 0 ? -1 : 0);
    }
    static void with_attributes(short flags) {
        char* words[] = {self, "state", 0};
        posix_spawnattr_t attributes;
        posix_spawn_file_actions_t actions;
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes, flags);
        posix_spawnattr_setsigdefault(&attributes, &set);
        posix_spawnattr_setsigmask(&attributes, &set);
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, 1, 7);
        posix_spawn_file_actions_addclose(&actions, 0);
        pid_t child = 0;
        int status = 0;
        const int error = posix_spawn(&child, self, &actions, &attributes, words, environ);
        waitpid(child, &status, 0);
        show("spawned", error << 16 | status);
        posix_spawn_file_actions_addopen(&actions, 3, "/nonexistent/file", O_RDONLY, 0);
        show("an action that fails", posix_spawn(&child, self, &actions, &attributes, words, environ));
    }
    int main(int argc, char** argv) {
        if (argc > 1) return state();
        char command[4096];
        self = argv[0];
        snprintf(command, sizeof command, "%s state", self);
        if (open("/dev/null", O_RDONLY) < 0 || open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) return 1;
        with_system(command);
        with_popen(command);
        signal(SIGUSR1, SIG_IGN);
        with_attributes(0);
        with_attributes(POSIX_SPAWN_SETSIGDEF);
        with_attributes(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
        with_attributes(POSIX_SPAWN_SETSID);
        return state();
    }
"""
DIRECTLY = ["execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat", "posix_spawn",
            "posix_spawnp", "vfork", "handler"]
BY_A_SHELL = ["system", "popen"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """`dyn` multiplies ten times and is seen; `static` is statically linked, and ends with 7."""
    folder = tmp_path_factory.mktemp("programs")
    build(folder / "dyn", PRODUCTS, "-Wl,--no-as-needed", "-x", "none", shim.blas_library("reference"))
    build(folder / "static", "int main(void) { return 7; }", "-static")
    build(folder / "starter", STARTER)
    build(folder / "behaviour", BEHAVIOUR, "-pthread", "-Wno-unused-result")
    build(folder / "elsewhere", ELSEWHERE)
    build(folder / "unreadable", UNREADABLE)
    build(folder / "prisoner", PRISONER, "-Wl,--no-as-needed", "-x", "none", shim.blas_library("reference"))
    return folder


def settings(**variables):
    return environment(LD_LIBRARY_PATH=shim.blas_directory("reference"), **variables)


def run(folder, *words, log, options=("--pin",), **variables):
    return subprocess.run([COMMAND, "run", *options, "--log", log, "--", *map(str, words)], cwd=folder, text=True,
                          capture_output=True, check=False, errors="backslashreplace", env=settings(**variables))


def verify(*words):
    return fp32shim("verify", "--at-least", "fp32", "--format", "json", *words)


def children(result):
    return {bypass["bypass"]: bypass["reason"] for bypass in result.json["bypasses"] if bypass["bypass"].startswith("child:")}


@pytest.fixture
def log(tmp_path):
    return tmp_path / "m.fp32rec"


def test_verify_names_children_that_were_not_covered(programs, log):
    done = run(programs, "bash", "-c", "./dyn; ./static; env -i ./dyn; true", log=log)
    assert done.returncode == 0, done.stderr
    assert "started without the shim" in done.stderr and "./static, which is statically linked" in done.stderr
    result = verify(log)
    assert (result.returncode, result.json["calls_shown"]) == (3, 10)
    found = children(result)
    assert set(found) == {"child:static", "child:dyn"}
    assert f"./static in {programs}, is statically linked" in found["child:static"]
    assert "without the shim in LD_PRELOAD" in found["child:dyn"]
    text = fp32shim("verify", "--at-least", "fp32", log).stdout
    assert text.startswith("Inconclusive") and "./static" in text and "./dyn" in text


def test_a_child_is_accepted_by_its_name_and_the_verdict_says_so(programs, log):
    run(programs, "bash", "-c", "./dyn; ./static; env -i ./dyn; true", log=log)
    assert verify("--assume-unused", "child:static", log).returncode == 3
    for words in (["--assume-unused", "child:static,child:dyn"], ["--assume-unused", "child:static", "--assume-unused", "child:dyn"]):
        result = verify(*words, log)
        assert result.returncode == 0, result.stdout
        assert {bypass["bypass"] for bypass in result.json["assumed_unused"]} == {"child:static", "child:dyn"}


def test_a_run_whose_children_are_all_covered_leaves_no_file_for_them(programs, log):
    script = "for i in 1 2 3; do cat /dev/null | sort; done; ls >/dev/null; $(which env) true; ./dyn; true"
    assert run(programs, "bash", "-c", script, log=log).returncode == 0
    assert [path.name for path in log.parent.glob("*.fp32rec*")] == ["m.fp32rec"]
    assert verify(log).returncode == 0


@pytest.mark.parametrize("how", DIRECTLY + BY_A_SHELL)
def test_each_function_that_starts_programs_is_watched(programs, log, how):
    static = str(programs / "static")
    done = run(programs, programs / "starter", how, static, log=log, PATH=f"{programs}:{os.environ['PATH']}")
    assert done.returncode == 7, done.stderr
    found = children(verify(log.parent))
    assert set(found) == {"child:static"} and "statically linked" in found["child:static"]
    assert "times in all" not in found["child:static"]


def made_for_another_machine(program, path):
    """Writes a copy of the program, whose header names another processor."""
    content = bytearray(program.read_bytes())
    content[18:20] = (243).to_bytes(2, "little")  # e_machine becomes EM_RISCV
    path.write_bytes(content)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("how", DIRECTLY)
def test_a_program_that_cannot_be_started_is_not_noted_and_fails_as_without_the_shim(programs, tmp_path, log, how):
    foreign = made_for_another_machine(programs / "static", tmp_path / "foreign")
    by_shell = how in ("execvp", "execvpe", "execlp")  # these functions pass a file that the kernel refuses to a shell
    for program in ([] if by_shell else [foreign]) + [tmp_path / "missing", tmp_path]:
        plain = subprocess.run([programs / "starter", how, program], check=False, capture_output=True,
                               env=settings(PATH=f"{tmp_path}:/usr/bin:/bin"))
        done = run(programs, programs / "starter", how, program, log=log, options=["-q"], PATH=f"{tmp_path}:/usr/bin:/bin")
        assert done.returncode == plain.returncode, (program, done.stderr)
    assert children(verify(tmp_path) if list(tmp_path.glob("*.fp32rec")) else verify(make_one(programs, log))) == {}


def make_one(programs, log):
    run(programs, "./dyn", log=log, options=["-q"])
    return log.parent


def test_a_script_is_judged_by_its_interpreter(programs, tmp_path, log):
    script = tmp_path / "script"
    script.write_text(f"#!{programs}/static\n")
    script.chmod(0o755)
    run(programs, "bash", "-c", f"./dyn; {script}; true", log=log)
    assert f"run by {programs}/static, is statically linked" in children(verify(log))["child:script"]


def test_a_setuid_child_is_not_covered(programs, tmp_path, log):
    copy = tmp_path / "setuid"
    shutil.copy(programs / "dyn", copy)
    try:
        os.chown(copy, 65534, 65534)
    except PermissionError:
        pytest.skip("needs the right to give files away")
    copy.chmod(0o4755)
    run(programs, "bash", "-c", f"./dyn; {copy}; true", log=log)
    assert "setuid" in children(verify(log))["child:setuid"]


def test_settings_that_are_taken_from_a_child_are_named(programs, log):
    script = "./dyn; FP32_MATMUL_LOG= ./dyn; FP32_MATMUL_DISABLE=1 ./dyn; true"
    run(programs, "bash", "-c", script, log=log)
    result = verify(log)
    reasons = [bypass["reason"] for bypass in result.json["bypasses"]]
    assert any("another FP32_MATMUL_LOG" in reason for reason in reasons), reasons
    assert any("FP32_MATMUL_DISABLE=1" in reason for reason in reasons), reasons


def test_a_child_with_another_policy_is_named_where_the_policy_names_the_log(programs, tmp_path, log):
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text(f'schema = 1\n[log]\npath = "{log}"\n')
    second.write_text(f'schema = 1\n[log]\npath = "{tmp_path}/elsewhere.jsonl"\n')
    script = "./dyn; FP32_MATMUL_POLICY={} ./dyn; true"
    for policy, names in (first, set()), (second, {"child:dyn"}):
        subprocess.run([COMMAND, "run", "-q", "--policy", first, "--", "bash", "-c", script.format(policy)], cwd=programs, check=True,
                       env=settings())
        found = children(verify(log.parent))
        assert set(found) == names
    assert "another FP32_MATMUL_POLICY" in found["child:dyn"]


TWICE = """
    #include <unistd.h>
    extern char** environ;
    int main(int argc, char** argv) {
        char* all[4096] = {argv[2]};
        int count = 1;
        (void)argc;
        for (char** entry = environ; *entry; ++entry) all[count++] = *entry;
        all[count] = 0;
        return execve(argv[1], (char*[]){argv[1], 0}, all);
    }
"""


def test_of_a_variable_that_is_set_twice_the_first_value_counts(programs, tmp_path, log):
    twice = build(tmp_path / "twice", TWICE)
    run(programs, "bash", "-c", f"./dyn; {twice} ./dyn FP32_MATMUL_LOG={tmp_path}/elsewhere.jsonl", log=log)
    assert "another FP32_MATMUL_LOG" in children(verify(log))["child:dyn"]


@pytest.mark.parametrize("preload", ["{}/libfp32shim.so", "{}/cut/libfp32shim.so", "libfp32shim.so"])
def test_another_file_of_the_librarys_name_does_not_cover_a_child(programs, tmp_path, log, preload):
    (tmp_path / "cut").mkdir()
    build(tmp_path / "libfp32shim.so", "int nothing;", "-shared", "-fPIC")
    (tmp_path / "cut/libfp32shim.so").write_bytes(shim.LIBRARY.read_bytes()[:1000])
    run(programs, "bash", "-c", f"./dyn; LD_PRELOAD={preload.format(tmp_path)} ./dyn; true", log=log)
    assert "another file of the shim's name" in children(verify(log))["child:dyn"]


def test_another_path_to_the_library_covers_a_child(programs, tmp_path, log):
    (tmp_path / "libfp32shim.so").symlink_to(shim.LIBRARY)
    run(programs, "bash", "-c", f"./dyn; LD_PRELOAD={tmp_path}/libfp32shim.so ./dyn; true", log=log)
    assert children(verify(log.parent)) == {} and len(list(log.parent.glob("*.fp32rec"))) == 2


def test_a_library_that_was_found_by_its_name_covers_a_child(programs, log):
    subprocess.run(["bash", "-c", "./dyn; ./dyn; true"], cwd=programs, check=True,
                   env=environment(LD_PRELOAD="libfp32shim.so", FP32_MATMUL_LOG=log,
                                   LD_LIBRARY_PATH=f"{shim.blas_directory('reference')}:{shim.LIBRARY.parent}"))
    assert children(verify(log.parent)) == {} and len(list(log.parent.glob("*.fp32rec"))) == 2


UNCOVERED_SHELL = """
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <wordexp.h>
    int main(int argc, char** argv) {
        wordexp_t words;
        unsetenv("LD_PRELOAD");
        if (argc != 2) return 2;
        if (!strcmp(argv[1], "system")) return system("true");
        if (!strcmp(argv[1], "popen")) return pclose(popen("true", "r"));
        return wordexp(argv[1], &words, 0);
    }
"""


@pytest.mark.parametrize("how, starts", [("system", True), ("popen", True), ("$(true)", True), ("`true`", True), ("$HOME", False)])
def test_a_shell_that_the_c_library_starts_without_the_shim_is_noted(programs, tmp_path, log, how, starts):
    program = build(tmp_path / "program", UNCOVERED_SHELL)
    run(programs, "bash", "-c", f"./dyn; {program} '{how}'", log=log)
    assert set(children(verify(log))) == ({"child:sh"} if starts else set())


def test_a_child_in_a_chroot_is_not_covered_and_still_noted(programs, tmp_path, log):
    shim.need(os.geteuid() == 0, "only root can change its root folder")
    root = tmp_path / "root"
    root.mkdir()
    shutil.copy(programs / "static", root)
    with_its_libraries(programs / "dyn", root)
    for program in ("static", "dyn"):
        run(programs, "bash", "-c", f"./dyn; chroot {root} /{program}; true", log=tmp_path / f"{program}.fp32rec")
        found = children(verify(tmp_path / f"{program}.fp32rec"))
        assert set(found) == {f"child:{program}"}
        assert ("the library in LD_PRELOAD does not exist" if program == "dyn" else "statically") in found[f"child:{program}"]


def with_its_libraries(program, root):
    """Copies the program, and the libraries that it needs, into another root folder."""
    shutil.copy(program, root / program.name)
    linked = subprocess.run(["ldd", program], text=True, capture_output=True, check=True, env=settings()).stdout
    for word in {word for word in linked.split() if word.startswith("/")}:
        (root / word[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(word, root / word[1:])


@pytest.mark.parametrize("how", ["chroot", "mount"])
@pytest.mark.parametrize("variables", [{}, {"FP32_MATMUL_LOG": "m.fp32rec"}, {"FP32_MATMUL_LOG": "m.jsonl"}, {"FP32_MATMUL_LOG": "stderr"},
                                       {"FP32_MATMUL_LOG": "m.fp32rec", "FP32_MATMUL_LOG_LEVEL": "calls", "FP32_MATMUL_WHERE": "native:8"},
                                       "run", "run -q", "run before its first product"], ids=str)
def test_a_program_in_a_jail_has_no_descriptor_that_leads_out(programs, tmp_path, log, how, variables):
    shim.need(os.geteuid() == 0, "only root can make a jail")
    jail = tmp_path / "jail"
    jail.mkdir()
    with_its_libraries(programs / "prisoner", jail)
    words = [programs / "prisoner", how, jail]
    plain = subprocess.run(words, env=settings(), text=True, capture_output=True, check=False)
    shim.need(plain.returncode != 90, "no jail can be made here")
    assert (plain.returncode, plain.stdout) == (0, "")
    if isinstance(variables, dict):
        done = subprocess.run(words, cwd=tmp_path, env=settings(LD_PRELOAD=shim.LIBRARY, **variables), text=True, capture_output=True,
                              check=False)
    elif variables == "run before its first product":
        done = run(programs, "bash", "-c", " ".join(map(str, ["./dyn;", *words])), log=log, options=["-q"])
    else:
        done = run(programs, *words, log=log, options=variables.split()[1:])
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_a_process_that_records_notes_its_children_in_its_own_recording(programs, log, tmp_path):
    shim.need(shim.has_module("numpy"), "no numpy")
    script = tmp_path / "parent.py"
    script.write_text("import numpy, subprocess, sys\na = numpy.ones((9, 9), numpy.float32)\na @ a\n"
                      "for _ in range(3): subprocess.run([sys.argv[1]])\n")
    run(programs, shim.SYSTEM_PYTHON, script, programs / "static", log=log)
    assert [path.name for path in tmp_path.glob("*.fp32rec*")] == ["m.fp32rec"]
    assert "3 times in all" in children(verify(log))["child:static"]


def test_without_run_the_log_in_the_environment_is_enough(programs, log):
    subprocess.run(["bash", "-c", "./dyn; ./static; true"], cwd=programs, check=True,
                   env=settings(LD_PRELOAD=shim.LIBRARY, FP32_MATMUL_LOG=log))
    assert set(children(verify(log))) == {"child:static"}


def test_nothing_is_noted_where_nothing_is_recorded(programs, tmp_path):
    done = subprocess.run(["bash", "-c", "./dyn; ./static; true"], cwd=programs, check=True, text=True, capture_output=True,
                          env=settings(LD_PRELOAD=shim.LIBRARY, TMPDIR=tmp_path))
    assert done.stderr == "" and list(tmp_path.iterdir()) == []


def test_many_children_at_once_are_all_counted(programs, log):
    script = "./dyn; for i in $(seq 40); do ./static & done; wait; true"
    run(programs, "bash", "-c", script, log=log)
    assert "40 times in all" in children(verify(log))["child:static"]


def test_more_programs_than_have_room_are_counted(programs, tmp_path, log):
    for i in range(50):
        (tmp_path / f"program{i}").symlink_to(programs / "static")
    run(programs, "bash", "-c", f"./dyn; for i in {tmp_path}/program*; do $i; done; true", log=log)
    found = children(verify(log))
    assert len(found) == 41 and "10 times more" in found["child:*"]


def test_pin_refuses_a_program_that_is_not_covered(programs, log):
    done = run(programs, "./static", log=log)
    assert done.returncode == 125 and "is statically linked" in done.stderr and not list(log.parent.glob("*.fp32rec"))
    done = run(programs, "./static", log=log, options=[])
    assert done.returncode == 7
    assert set(children(verify(log.parent))) == {"child:static"}


def test_verify_takes_the_other_recordings_of_the_run_with_it(programs, log, tmp_path):
    run(programs, "bash", "-c", "./dyn; ./dyn; true", log=log)
    run(programs, "./dyn", log=tmp_path / "other.fp32rec")
    result = verify(log)
    assert (result.json["recordings"], result.json["calls"]) == (2, 20)
    assert "m.1.fp32rec: belongs to the same run" in result.stderr and "other.fp32rec" not in result.stderr


def test_a_file_of_children_that_was_put_there_is_not_written_to(programs, tmp_path, log):
    mine = tmp_path / "mine"
    mine.write_text("mine")
    done = subprocess.run(["bash", "-c", f"ln -s {mine} {tmp_path}/m.children.fp32rec; ./static; true"], cwd=programs,
                          check=True, text=True, capture_output=True,
                          env=settings(LD_PRELOAD=shim.LIBRARY, FP32_MATMUL_LOG=log))
    assert mine.read_text() == "mine"
    assert done.stderr.count("cannot be recorded for") == 1


@pytest.mark.parametrize("how", ["execvp", "execvpe", "execlp", "posix_spawnp"])
def test_the_folders_of_path_are_gone_through_as_those_functions_do(programs, tmp_path, log, how):
    (tmp_path / "first").mkdir()
    script = tmp_path / "first/static"
    script.write_text("#!/nonexistent/interpreter\n")
    script.chmod(0o755)
    path = f"{tmp_path}/first:{programs}:{os.environ['PATH']}"
    done = run(programs, programs / "starter", how, "in/static", log=log, PATH=path)
    assert done.returncode == 7, done.stderr
    found = children(verify(log.parent))
    assert set(found) == {"child:static"} and str(programs / "static")[-100:] in found["child:static"]
    assert "times in all" not in found["child:static"]


@pytest.mark.parametrize("how", ["execvp", "execvpe", "execlp"])
def test_what_is_given_to_a_shell_after_the_kernel_refused_it_is_not_noted(programs, tmp_path, log, how):
    foreign = made_for_another_machine(programs / "static", tmp_path / "foreign")
    path = f"{tmp_path}:{os.environ['PATH']}"
    plain = subprocess.run([programs / "starter", how, foreign], check=False, capture_output=True,
                           env=settings(PATH=path))
    done = run(programs, "bash", "-c", f"./dyn; exec ./starter {how} {foreign}", log=log, options=["-q"], PATH=path)
    assert done.returncode == plain.returncode and "Syntax error" in done.stderr, done.stderr
    assert children(verify(log)) == {}


def test_a_shell_that_is_given_a_file_without_a_header_is_judged_in_its_place(programs, tmp_path, log):
    script = tmp_path / "script"
    script.write_text(f"{programs}/dyn\n")
    script.chmod(0o755)
    run(programs, "bash", "-c", f"./dyn; env {script}; env -i {script}; true", log=log)
    result = verify(log)
    found = children(result)
    assert result.json["calls_shown"] == 20 and set(found) == {"child:sh"}
    assert "without the shim in LD_PRELOAD" in found["child:sh"] and "times in all" not in found["child:sh"]


@pytest.mark.parametrize("how", ["posix_spawn", "posix_spawnp"])
def test_a_child_that_is_started_in_another_folder_is_not_taken_for_covered(programs, tmp_path, log, how):
    (tmp_path / "folder").mkdir()
    shutil.copy(programs / "static", tmp_path / "folder/there")
    done = run(programs, "bash", "-c", f"./dyn; exec ./elsewhere {how} {tmp_path}/folder ./there", log=log)
    assert done.returncode == 7, done.stderr
    assert "its kind is not known" in children(verify(log))["child:there"]
    done = run(programs, "bash", "-c", f"./dyn; exec ./elsewhere {how} {tmp_path} ./there", log=tmp_path / "n.fp32rec")
    assert done.returncode == 2  # exit status ENOENT
    assert children(verify(tmp_path / "n.fp32rec")) == {}


@pytest.mark.parametrize("how", ["mount", "setns"])
def test_a_child_in_another_mount_namespace_is_noted(programs, tmp_path, log, how):
    shim.need(os.geteuid() == 0, "only root can make mount namespaces")
    root = tmp_path / "root"
    root.mkdir()
    shutil.copy(programs / "static", root / "static")
    plain = subprocess.run([programs / "elsewhere", how, root, "/static"], check=False)
    shim.need(plain.returncode == 7, "no mount namespaces can be made here")
    done = run(programs, "bash", "-c", f"./dyn; exec ./elsewhere {how} {root} /static", log=log)
    assert done.returncode == 7 and "cannot be recorded for" not in done.stderr, done.stderr
    assert "/static, is statically linked" in children(verify(log))["child:static"]


@pytest.mark.parametrize("is_recorded", [False, True])
def test_programs_are_started_as_without_the_shim(programs, log, is_recorded):
    """This covers statuses, errors, signals, descriptors and cancellation."""
    keywords = {"text": True, "capture_output": True, "check": False, "stdin": subprocess.DEVNULL}
    plain = subprocess.run([programs / "behaviour"], env=settings(), **keywords)
    assert plain.returncode == 42 and "cancelled: 1" in plain.stdout and plain.stdout.count("pclose") == 4
    variables = {"FP32_MATMUL_LOG": log} if is_recorded else {}
    done = subprocess.run([programs / "behaviour"], env=settings(LD_PRELOAD=shim.LIBRARY, **variables), **keywords)
    assert (done.returncode, done.stdout, done.stderr) == (42, plain.stdout, plain.stderr)


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("how", ["execve", "execvpe", "execveat", "posix_spawn"])
def test_arguments_that_cannot_be_read_fail_as_without_the_shim(programs, log, how, number):
    if (how, number) == ("execvpe", 4):
        pytest.skip("execvpe without a path crashes without the shim, too")
    words = [programs / "unreadable", how, programs / "dyn", str(number)]
    plain = subprocess.run(words, check=False, env=settings())
    assert plain.returncode == 14  # exit status EFAULT
    done = run(programs, *words, log=log)
    assert done.returncode == 14, done.stderr
