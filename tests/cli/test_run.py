"""fp32shim run: nothing is different for the program, but that it runs under the shim."""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess

import pytest

import shim
from command import COMMAND, environment, fp32shim, need_terminals, without_special_rights


@pytest.fixture
def temporary(tmp_path):
    """A folder for temporary recordings, which must be empty again at the end."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    yield folder
    assert not list(folder.iterdir())


NOTHING_SEEN = "fp32shim run: no matrix product was recorded; fp32shim doctor -- PROGRAM lists bypasses in what it loads"


def nothing_seen(status):
    return NOTHING_SEEN if status == 0 else NOTHING_SEEN.replace("; ", f"; the program ended with status {status}; ")


def run(*words, **keywords):
    """Runs the command so that no recording is kept. test_kept_runs.py is about kept recordings."""
    return fp32shim("run", *(["--no-log"] if "--log" not in words else []), *words, **keywords)


def test_the_program_gets_the_library_and_the_settings(temporary):
    result = run("--precision", "high", "--cpu", "emulate", "--floor", "bf16", "--", "env", env={"TMPDIR": temporary})
    assert result.returncode == 0
    assert f"LD_PRELOAD={shim.LIBRARY}" in result.stdout.splitlines()
    for line in ("FP32_MATMUL_PRECISION=high", "FP32_MATMUL_CPU=emulate", "FP32_MATMUL_FLOOR=bf16"):
        assert line in result.stdout.splitlines()


def test_a_preload_that_is_there_already_stays():
    other = "libm.so.6"
    result = run("--quiet", "--", "sh", "-c", "echo $LD_PRELOAD", env={"LD_PRELOAD": other})
    assert result.stdout == f"{shim.LIBRARY}:{other}\n"


def test_the_library_is_not_preloaded_twice():
    result = run("--quiet", "--", "sh", "-c", "echo $LD_PRELOAD", env={"LD_PRELOAD": shim.LIBRARY})
    assert result.stdout == f"{shim.LIBRARY}\n"


@pytest.mark.parametrize("where, named", [
    (None, False), ("python", False), ("nvtx", True), ("python,nvtx", True), ("auto", True)])
def test_the_library_is_named_to_programs_with_ranges_where_these_are_asked_for(where, named):
    env = {} if where is None else {"FP32_MATMUL_WHERE": where}
    lines = run("--quiet", "--", "env", env=env).stdout.splitlines()
    assert [line for line in lines if line.startswith("NVTX_INJECTION64_PATH")] == [
        f"NVTX_INJECTION64_PATH={shim.LIBRARY}"] * named
    assert not any("ITTNOTIFY" in line for line in lines)


def test_a_profiler_keeps_the_ranges_that_it_has_asked_for():
    named = {"NVTX_INJECTION64_PATH": "/opt/profiler.so"}
    lines = run("--quiet", "--", "env", env=named | {"FP32_MATMUL_WHERE": "auto"}).stdout.splitlines()
    assert "NVTX_INJECTION64_PATH=/opt/profiler.so" in lines


def test_pin_also_governs_the_libraries_that_the_shim_does_not(temporary):
    lines = run("--pin", "--", "env", env={"TMPDIR": temporary}).stdout.splitlines()
    for line in ("FP32_MATMUL_FLOOR=fp32", "FP32_MATMUL_ON_ERROR=abort", "NVIDIA_TF32_OVERRIDE=0",
                 "CUBLAS_EMULATE_SINGLE_PRECISION=0", "ONEDNN_DEFAULT_FPMATH_MODE=STRICT",
                 "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=0", "TRITON_F32_DEFAULT=ieee", "CUPY_TF32=0",
                 "JAX_DEFAULT_MATMUL_PRECISION=highest", "MLX_ENABLE_TF32=0", "CUBLAS_EMULATE_DOUBLE_PRECISION=0",
                 "FP32SHIM_XLA_FLAG=--xla_gpu_enable_triton_gemm=false"):
        assert line in lines


def test_a_floor_does_not_hide_one_of_the_environment_that_cannot_be_read():
    result = run("-q", "--floor", "tf32", "true", env={"FP32_MATMUL_FLOOR": "fp23"})
    assert result.returncode == 125
    assert result.lines == ['fp32shim run: FP32_MATMUL_FLOOR: found "fp23"; allowed: none, fp16, bf16, tf32, bf16x9, '
                            'fp32; did you mean "fp32"?']
    strictest = run("-q", "--pin", "sh", "-c", "echo $FP32_MATMUL_FLOOR", env={"FP32_MATMUL_FLOOR": "fp23"})
    assert strictest.stdout == "fp32\n"


def test_a_floor_cannot_loosen_that_of_the_environment():
    result = run("-q", "--floor", "bf16", "sh", "-c", "echo $FP32_MATMUL_FLOOR", env={"FP32_MATMUL_FLOOR": "fp32"})
    assert result.stdout == "fp32\n"


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_the_exit_status_is_the_programs(quiet, temporary):
    for status in (0, 1, 2, 3, 125, 255):
        result = run(*quiet, "--", "sh", "-c", f"exit {status}", env={"TMPDIR": temporary})
        assert (result.returncode, result.stdout) == (status, "")
        assert result.lines == ([] if quiet else [nothing_seen(status)])


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGINT, signal.SIGPIPE])
def test_a_program_that_dies_by_a_signal_ends_the_command_by_it(quiet, number, temporary):
    result = run(*quiet, "--", "sh", "-c", f"kill -{number.value} $$", env={"TMPDIR": temporary})
    assert result.returncode == -number


def test_stdin_and_stdout_are_the_programs(temporary):
    text = "one\ntwo\n" * 10000
    result = run("--", "cat", stdin=text, env={"TMPDIR": temporary})
    assert (result.stdout, result.lines) == (text, [NOTHING_SEEN])


def test_what_stands_behind_the_program_is_never_ours():
    for words in (["echo", "--quiet", "-q", "--", "--help"], ["--", "echo", "--quiet", "-q", "--", "--help"]):
        assert run("--quiet", *words).stdout == "--quiet -q -- --help\n"


def test_arguments_are_passed_on_as_they_are():
    arguments = ["", " ", "a b", "ü", "$HOME", "*", "\\", "\n", "-", "[1,2]", "[]", "[[a]]", "[b", "--x=", "--log="]
    result = run("--quiet", "--", shim.SYSTEM_PYTHON, "-c", "import sys; print(sys.argv[1:])", *arguments)
    assert result.stdout.strip() == str(arguments)


def started(*words, **keywords):
    process = subprocess.Popen([str(COMMAND), "run", *words], env=environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "USR1", "USR2", "WINCH", "QUIT", "ALRM", "ABRT", "SEGV", "PIPE"])
def test_a_signal_that_is_sent_to_the_command_reaches_the_program(name):
    program = f"trap 'echo got; exit 9' {name}; echo ready; while :; do sleep 0.01; done"
    process = started("--", "sh", "-c", program)
    process.send_signal(getattr(signal, "SIG" + name))
    out, _ = process.communicate(timeout=600)
    assert (out, process.returncode) == ("got\n", 9)


def test_an_ignored_signal_stays_ignored():
    program = "echo ready; kill -HUP $$; sleep 0.2; echo alive"
    process = started("--", "sh", "-c", program, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate(timeout=600)
    assert (out, process.returncode) == ("alive\n", 0)


def test_children_are_waited_for_where_sigchld_is_ignored():
    done = subprocess.run([str(COMMAND), "run", "--", "sh", "-c", "exit 5"], env=environment(), check=False,
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == 5


def test_the_shells_job_control_sees_one_job(tmp_path):
    """In an interactive bash on a terminal, Ctrl-Z stops program and command, fg continues them, and Ctrl-C ends them."""
    shim.tool("bash")
    need_terminals()
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"],
                   environment(PS1="READY> ", TERM="dumb", HISTFILE="/dev/null", INPUTRC="/dev/null"))
    seen = ""

    def wait_for(text):
        nonlocal seen
        while text not in seen:
            assert select.select([terminal], [], [], 600)[0], f"no {text!r} in {seen!r}"
            seen += os.read(terminal, 4096).decode(errors="replace")
        seen = seen[seen.index(text) + len(text):]

    def type_in(text):
        os.write(terminal, text.encode())

    # Not a shell script: dash starts programs by vfork. If it is stopped between vfork and exec it stays waiting,
    # with or without the command.
    program = "import time; print('be''gun', flush=True)\nwhile True: time.sleep(0.05); print('ti''ck', flush=True)"
    (tmp_path / "program.py").write_text(program)
    try:
        wait_for("READY> ")
        type_in(f"{COMMAND} run -- {shim.SYSTEM_PYTHON} {tmp_path}/program.py\n")
        wait_for("begun")
        type_in("\x1a")
        wait_for("Stopped")
        wait_for("READY> ")
        type_in("jobs; echo list''ed\n")
        wait_for("Stopped")
        wait_for("listed")
        wait_for("READY> ")
        type_in("fg\n")
        wait_for("fp32shim run")
        wait_for("tick")
        type_in("\x03")
        wait_for("READY> ")
        type_in("echo status=$?\n")
        wait_for("status=130")
    finally:
        os.close(terminal)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_missing_program_is_127():
    for name in ("/no/such/program", "no-such-program-at-all", "./none", ""):
        result = run("--", name)
        assert (result.returncode, len(result.lines)) == (127, 1)
        assert result.lines[0].startswith("fp32shim run: ")


def test_a_program_is_not_supposed_in_a_folder_of_path_that_may_not_be_searched(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    path = {"PATH": f"{closed}:{os.environ['PATH']}"}
    prefix = without_special_rights()
    result = fp32shim("run", "--", "no-such-program-at-all", env=path, prefix=prefix)
    assert (result.returncode, result.lines) == (
        127, ["fp32shim run: no-such-program-at-all: it is not in any folder of PATH"])
    result = fp32shim("doctor", "--", "no-such-program-at-all", env=path, prefix=prefix)
    assert (result.returncode, result.lines) == (
        2, ["fp32shim doctor: no-such-program-at-all: it is not in any folder of PATH"])


def test_a_script_without_its_interpreter_is_asked_about(tmp_path):
    (tmp_path / "train.py").write_text("print(1)")
    (tmp_path / "tool").write_text("echo")
    assert fp32shim("run", "tool", cwd=tmp_path).lines[0].endswith("it is not in any folder of PATH")
    (tmp_path / "tool").chmod(0o755)
    for name, meant in (("train.py", "python3 train.py"), ("tool", "./tool")):
        (line,) = fp32shim("run", name, cwd=tmp_path).lines
        assert line.endswith(f"is not in any folder of PATH; did you mean -- {meant}?")


def test_a_precision_that_reaches_no_product_is_said_and_one_that_does_is_not():
    shim.need(shim.has_module("numpy"), "python3-numpy is not installed")
    for dtype, is_said in (("float64", True), ("float32", False)):
        code = f"import numpy; a = numpy.ones((8, 8), numpy.{dtype}); a @ a"
        found = fp32shim("run", "--precision", "high", "--", shim.SYSTEM_PYTHON, "-c", code)
        assert ("--precision high reached no product" in found.stderr) == is_said, found.stderr


def test_a_program_that_cannot_be_executed_is_126(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("text")
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF and nothing else")
    broken.chmod(0o755)
    for name in (plain, broken, tmp_path):
        for quiet in ([], ["--quiet"]):
            result = run(*quiet, "--", name)
            assert (result.returncode, len(result.lines)) == (126, 1), name


def test_a_script_without_a_first_line_is_the_shells(tmp_path):
    script = tmp_path / "script"
    script.write_text("echo script $1; exit 4\n")
    script.chmod(0o755)
    result = run("--", script, "one")
    assert (result.stdout, result.returncode) == ("script one\n", 4)


@pytest.mark.parametrize("words, message", [
    (["--precision", "hihg", "--", "true"], 'did you mean "high"?'),
    (["--precision", "bf16x9", "--", "true"], "allowed: native"),
    (["--floor", "tf23", "--", "true"], 'did you mean "tf32"?'),
    (["--cpu", "on", "--", "true"], "allowed: off, emulate, accelerate, reproducible"),
    (["--level", "all", "--", "true"], "allowed: summary, calls"),
    (["--log", "calls.txt", "--", "true"], '--log: found "calls.txt"; allowed: stderr, NAME.jsonl, NAME.fp32rec'),
    (["--log", "stderr", "--level", "calls", "--", "true"], "--level calls has no effect"),
    (["--log", "no-such-folder/%h.fp32rec", "--", "true"], 'run: --log: the folder "no-such-folder"'),
    (["--log", "no-such-folder/calls.%p.jsonl", "--", "true"], "(No such file or directory); create it"),
    (["-q", "--pin", "--log", "/dev/null/run.%p.fp32rec", "--", "true"], '"/dev/null" (in'),
    (["--log", "%q.fp32rec", "--", "true"], "is not a placeholder"),
    (["--log", 250 * "a" + ".fp32rec", "--", "true"], "(File name too long); name a shorter one"),
    (["--log", 2048 * "a/" + "a.fp32rec", "--", "true"], "the path is longer than 4095 bytes; name a shorter one"),
    (["--log", "", "--", "true"], '--log: found ""; allowed: NAME; omit the option for none'),
    (["--policy", "", "--", "true"], '--policy: found ""; allowed: FILE; omit the option for none'),
    (["--policy", "/no/such.toml", "--", "true"], "/no/such.toml"),
    (["--precison", "high", "--", "true"], 'did you mean "--precision"?'),
    (["--pin", "--floor", "tf32", "--", "true"], "--floor: found together with --pin"),
    (["--precision"], "--precision"),
    ([], "PROGRAM"),
    (["--"], "PROGRAM"),
])
def test_what_is_wrong_with_the_command_line_is_one_line_and_125(words, message):
    result = run(*words)
    assert (result.returncode, result.stdout, len(result.lines)) == (125, "", 1), result.stderr
    assert message in result.stderr


def test_a_policy_with_errors_keeps_the_program_from_starting(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text('schema = 1\ndefault = "hihg"\nflor = 1\n')
    result = run("--policy", policy, "--", "echo", "started")
    assert (result.returncode, result.stdout, len(result.lines)) == (125, "", 1)
    assert "policy.toml:" in result.stderr and "1 more" in result.stderr


def test_a_bad_variable_of_the_environment_is_found_too():
    result = run("--", "true", env={"FP32_MATMUL_CPU": "on"})
    assert (result.returncode, len(result.lines)) == (125, 1)
    assert "FP32_MATMUL_CPU" in result.stderr


def test_a_variable_that_does_not_exist_is_warned_of_once():
    result = run("-q", "--", shim.client("cblas_product"),
                 env={"FP32_MATMUL_PRECISON": "high", "LD_LIBRARY_PATH": shim.blas_directory("openblas")})
    assert (result.returncode, len(result.lines)) == (0, 1)
    assert "FP32_MATMUL_PRECISON" in result.stderr and "mean FP32_MATMUL_PRECISION" in result.stderr


def test_a_log_in_a_working_folder_that_was_deleted_keeps_the_program_from_starting(tmp_path):
    for words in ("--log a.fp32rec", "--log a.jsonl"):
        result = run("-q", "--", "sh", "-c", f'mkdir "$1"; cd "$1"; rmdir "$1"; "$2" run {words} -- echo started', "sh",
                     tmp_path / "gone", COMMAND)
        assert (result.returncode, result.stdout, len(result.lines)) == (125, "", 1), result.stderr
        assert "is relative to the working folder, which cannot be used" in result.stderr


def test_a_log_of_the_environment_is_named_by_its_variable():
    for words, name in ((["-q"], "calls.txt"), (["--pin"], "no-such-folder/run.fp32rec")):
        result = run(*words, "--", "true", env={"FP32_MATMUL_LOG": name})
        assert (result.returncode, len(result.lines)) == (125, 1)
        assert result.stderr.startswith("fp32shim run: FP32_MATMUL_LOG: ")


def test_a_log_of_the_environment_that_cannot_be_written_keeps_no_program_from_running(tmp_path):
    for name in ("no-such-folder/run.fp32rec", "no-such-folder/calls.jsonl", tmp_path / "none/run.fp32rec"):
        result = run("-q", "--", "echo", "ran", env={"FP32_MATMUL_LOG": name})
        assert (result.returncode, result.stdout, len(result.lines)) == (0, "ran\n", 1)
        assert result.stderr.startswith("fp32shim run: FP32_MATMUL_LOG: the folder ")


@pytest.mark.parametrize("placeholder", ["%p", "%t", "%h", "%r", "%j"])
def test_a_folder_whose_name_is_not_known_yet_is_left_to_the_shim(tmp_path, placeholder):
    """The program may run on another host, with a rank and a job that the command does not know."""
    assert run("-q", "--log", tmp_path / placeholder / "run.fp32rec", "--", "true").returncode == 0


@pytest.mark.parametrize("variable, letter", [("RANK", "r"), ("JOB_ID", "j")])
def test_a_rank_and_a_job_that_are_not_known_yet_are_left_to_the_shim(tmp_path, variable, letter):
    for value in ("none", "0"):
        (tmp_path / f"of.{value}.fp32rec").touch()
    words = ["-q", "--pin", "--log", tmp_path / f"of.%{letter}.fp32rec", "--", "true"]
    assert run(*words).returncode == 0
    result = run(*words, env={variable: "0"})
    assert (result.returncode, "of.0.fp32rec" in result.stderr) == (125, True)


def test_json_lines_go_to_a_file_that_is_there(tmp_path):
    (tmp_path / "calls.jsonl").write_text("{}\n")
    for _ in range(2):
        assert run("-q", "--log", tmp_path / "calls.jsonl", "--", "true").returncode == 0


def test_what_a_fleets_policy_names_as_log_keeps_no_program_from_running(tmp_path):
    policy = tmp_path / "policy.toml"
    for log in (tmp_path / "none/run.fp32rec", tmp_path / "taken.fp32rec"):
        policy.write_text(f'schema = 1\n[log]\npath = "{log}"\n')
        (tmp_path / "taken.fp32rec").touch()
        assert run("-q", "--policy", policy, "--", "echo", "ran").stdout == "ran\n"


def test_a_floor_under_a_shim_that_is_switched_off_is_refused():
    result = run("--pin", "--", "true", env={"FP32_MATMUL_DISABLE": "1"})
    assert result.returncode == 125
    assert "FP32_MATMUL_DISABLE=1" in result.stderr


def test_the_library_is_found_where_the_variable_says(tmp_path):
    library = tmp_path / "libfp32shim.so"
    library.symlink_to(shim.LIBRARY)
    result = run("-q", "--", "sh", "-c", "echo $LD_PRELOAD", env={"FP32SHIM_LIBRARY": library})
    assert result.stdout == f"{library}\n"


@pytest.mark.parametrize("name", ["none.so", "with blank.so", "with:colon.so"])
def test_a_library_that_cannot_be_preloaded_is_125(tmp_path, name):
    library = tmp_path / name
    if name != "none.so":
        library.symlink_to(shim.LIBRARY)
    result = run("--", "true", env={"FP32SHIM_LIBRARY": library})
    assert (result.returncode, len(result.lines)) == (125, 1)


def test_a_library_that_is_not_the_shims_is_125(tmp_path):
    foreign = tmp_path / "foreign.so"
    content = bytearray(shim.LIBRARY.read_bytes())
    content[18:20] = (8).to_bytes(2, "little")  # e_machine becomes MIPS
    foreign.write_bytes(content)
    for library in ("/etc/passwd", pathlib.Path(shim.SYSTEM_PYTHON).resolve(), foreign):
        result = run("-q", "--pin", "--", "echo", "started", env={"FP32SHIM_LIBRARY": library})
        assert (result.returncode, result.stdout, len(result.lines)) == (125, "", 1)
        assert str(library) in result.stderr and "FP32SHIM_LIBRARY" in result.stderr


def test_the_command_finds_the_library_beside_itself(tmp_path):
    for folder in ("bin", "lib"):
        (tmp_path / folder).mkdir()
    shutil.copy(COMMAND, tmp_path / "bin")
    shutil.copy(shim.LIBRARY, tmp_path / "lib")
    done = subprocess.run([tmp_path / "bin/fp32shim", "run", "-q", "--", "sh", "-c", "echo $LD_PRELOAD"],
                          env=environment(), text=True, capture_output=True, check=True)
    assert pathlib.Path(done.stdout.strip()).resolve() == (tmp_path / "lib/libfp32shim.so").resolve()


def test_a_log_that_the_shim_would_refuse_keeps_the_program_from_starting(tmp_path):
    """Such logs are a link in the place of JSON lines, and a file of another user."""
    (tmp_path / "target").touch()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "target")
    foreign = tmp_path / "foreign.jsonl"
    foreign.touch()
    names = {"link.jsonl": "is a symbolic link"}
    if os.geteuid() == 0:
        os.chown(foreign, 54321, 54321)
        names["foreign.jsonl"] = "belongs to another user (who is not root)"
    for name, why in names.items():
        result = run("--log", tmp_path / name, "--", "echo", "started")
        assert (result.returncode, result.stdout, len(result.lines)) == (125, "", 1)
        assert f'--log: "{tmp_path / name}" {why}' in result.stderr
    assert (tmp_path / "target").read_text() == ""


def test_a_program_that_uses_musl_is_started_without_the_preload_that_would_end_it(tmp_path):
    """With the preload, musl's loader would report symbols that it lacks, and end the program."""
    compiler = shim.tool("musl-gcc", "musl-tools")
    source = tmp_path / "product.c"
    source.write_text('#include <stdio.h>\n#include <stdlib.h>\n'
                      'int main(void) { printf("%s\\n", getenv("LD_PRELOAD") ? "preload" : "none"); return 5; }\n')
    subprocess.run([compiler, source, "-o", tmp_path / "product"], check=True)
    ended = subprocess.run([tmp_path / "product"], env={"LD_PRELOAD": str(shim.LIBRARY)}, capture_output=True, check=False)
    assert ended.returncode == 127, "musl has learnt to load libraries for glibc"
    for words in ([], ["-q"]):
        result = run(*words, "--", tmp_path / "product")
        assert (result.returncode, result.stdout) == (5, "none\n")
        assert "uses musl" in result.lines[0] and "status 127" in result.lines[0]


def test_a_static_program_runs_and_is_said_to_be_unseen(tmp_path):
    source = tmp_path / "static.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("ran"); return 3; }\n')
    compiler = shim.tool("cc", "gcc")
    built = subprocess.run([compiler, "-static", source, "-o", tmp_path / "static"], capture_output=True, check=False)
    shim.need(built.returncode == 0, "no static C library")
    result = run("--", tmp_path / "static")
    assert (result.stdout, result.returncode, len(result.lines)) == ("ran\n", 3, 1)
    assert "statically linked" in result.stderr


def test_a_script_is_judged_by_its_interpreter(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"#!{shim.SYSTEM_PYTHON}\nprint('ran')\n")
    script.chmod(0o755)
    result = run("--", script)
    assert (result.stdout, result.lines) == ("ran\n", [NOTHING_SEEN])


def test_a_program_of_another_processor_is_said_to_be_unseen(tmp_path):
    binary = tmp_path / "other"
    header = bytearray(pathlib.Path(shim.SYSTEM_PYTHON).resolve().read_bytes()[:4096])
    header[18:20] = (8).to_bytes(2, "little")  # e_machine becomes MIPS
    binary.write_bytes(header)
    binary.chmod(0o755)
    result = run("--", binary)
    assert result.returncode == 126
    assert "a different processor" in result.lines[0]


def test_a_program_that_multiplies_nothing_in_float32_is_said_to(temporary):
    for status in (0, 7):
        result = run("--", "sh", "-c", f"exit {status}", env={"TMPDIR": temporary})
        assert (result.returncode, result.lines) == (status, [nothing_seen(status)])
        for words, settings in ((["--quiet"], {}), ([], {"RANK": "1"}), ([], {"FP32_MATMUL_DISABLE": "1"})):
            result = run(*words, "--", "sh", "-c", f"exit {status}", env={"TMPDIR": temporary, **settings})
            assert (result.returncode, nothing_seen(status) in result.lines) == (status, False)


def test_a_folder_for_recordings_that_is_not_there_does_not_keep_the_program_from_running(tmp_path):
    result = run("--", "echo", "ran", env={"TMPDIR": tmp_path / "none"})
    assert (result.returncode, result.stdout, len(result.lines)) == (0, "ran\n", 1)
    assert "TMPDIR" in result.stderr


def test_a_relative_folder_for_recordings_is_found_where_the_program_goes_to_another_one(tmp_path):
    (tmp_path / "tmp").mkdir()
    result = run("--", "sh", "-c", f"cd /; exec {shim.client('cblas_product')}", cwd=tmp_path,
                 env={"LD_LIBRARY_PATH": shim.blas_directory("openblas"), "TMPDIR": "tmp"})
    assert "1 call in 1 recording" in result.stderr and NOTHING_SEEN not in result.lines
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize("fails_for", ["the program alone", "all that is run"])
def test_that_no_product_was_seen_is_not_said_where_recording_failed(tmp_path, fails_for):
    program, log = shim.client("cblas_product"), tmp_path / "a.fp32rec"
    blas = {"LD_LIBRARY_PATH": shim.blas_directory("openblas")}
    if fails_for == "the program alone":
        result = run("--log", log, "--", "sh", "-c", f"ulimit -f 0; exec {program}", env=blas)
        # `run` itself has made an empty log, and the file that counts the program, which could not record.
        assert sorted(tmp_path.iterdir()) == [log.with_name("a.children.fp32rec"), log]
        assert fp32shim("report", "--format", "json", log).json["totals"]["calls"] == 0
        assert fp32shim("verify", "--at-least", "fp32", log).returncode == 3
        last = NOTHING_SEEN
    else:
        result = run("--log", log, "--", program, env=blas, prefix=["sh", "-c", 'ulimit -f 0; exec "$@"', "sh"])
        assert not list(tmp_path.iterdir())
        last = result.lines[0].replace("fp32shim: ", "fp32shim run: what the program multiplied is not known: ")
    assert "nothing is recorded" in result.lines[0] and result.lines[1:] == [last], result.stderr


@pytest.fixture(scope="module")
def writes_recordings(tmp_path_factory):
    """Skips the test if the library does not write recordings."""
    folder = tmp_path_factory.mktemp("probe")
    done = shim.run("cblas_product", log=folder / "probe.fp32rec", check=False)
    shim.need((folder / "probe.fp32rec").exists(), "the library writes no recordings: " + done.stderr.strip())


def product(*words, **keywords):
    blas = {"LD_LIBRARY_PATH": shim.blas_directory("openblas")}
    return run(*words, "--", shim.client("cblas_product"), env={**blas, **keywords})


def test_the_summary_says_what_was_multiplied(writes_recordings, temporary):
    result = product("--precision", "high", "--cpu", "emulate", TMPDIR=temporary)
    assert result.returncode == 0
    assert "cblas_sgemm" in result.stderr and "tf32" in result.stderr
    assert "fp32shim run --floor fp32 -- " in result.stderr
    command = f"FP32_MATMUL_FLOOR=none FP32_MATMUL_PRECISION=high {shim.client('steps')} products:1"
    result = run("--floor", "fp32", "--cpu", "emulate", "--", "sh", "-c", command, env={"TMPDIR": temporary})
    assert "tf32" in result.stderr and "fp32shim run --floor fp32 -- " not in result.stderr


def test_the_summary_says_how_to_see_rows_that_it_leaves_out(writes_recordings, tmp_path, temporary):
    sizes = [shim.client("steps"), "sizes:7"]
    left_out = run("--", *sizes, env={"TMPDIR": temporary}).stderr
    assert "\n2 more rows; to see all of them, record with --log NAME.fp32rec and run fp32shim report\n" in left_out
    kept = run("--log", tmp_path / "it's kept.fp32rec", "--", *sizes).stderr
    command = re.search(r"\n2 more rows; (fp32shim report .*) shows all\n", kept)[1]
    shown = subprocess.run(["bash", "-c", command.replace("fp32shim", str(COMMAND), 1)], text=True, capture_output=True,
                           check=True, env=environment()).stdout
    assert shown.count(" sgemm_ ") == 7


ODD_WORDS = [b"a b", b"it's", b'"a" b', b"new\nline\r", b"\xff\xfe", b"$HOME `id` $(id)", b"-dash", b"back\\slash'\x01", "\u202e".encode(),
             b"tab\t;&|<>", b"*?[a]{b}~!#", b"\\x41", b"\xc3\xbc"]


def run_bytes(words, folder):
    variables = environment(LD_LIBRARY_PATH=shim.blas_directory("openblas"), PATH=f"{COMMAND.parent}:{os.environ['PATH']}")
    return subprocess.run(words, env=variables, cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL)


def next_commands(stderr):
    """Returns the commands under `Next:` in the output of `run`, which must be readable text for any words."""
    lines = stderr.decode().partition("Next:\n")[2].splitlines()
    commands = [line for line in lines if line.startswith("  fp32shim ")]
    assert commands and all(line.startswith("fp32shim run: recorded in .fp32shim/") for line in lines[len(commands):]), stderr
    return commands


@pytest.mark.parametrize("word", ODD_WORDS, ids=repr)
def test_the_next_commands_run_in_bash_whatever_the_words_of_the_program_are(writes_recordings, tmp_path, word):
    program = [b"sh", b"-c", b'"$0" >/dev/null; printf %s "$1" >seen', os.fsencode(shim.client("cblas_product")), word]
    commands = next_commands(run_bytes([os.fsencode(COMMAND), b"run", b"--", *program], tmp_path).stderr)
    assert [command.split()[1] for command in commands] == ["report", "verify", "run", "run"]
    for command in commands:
        (tmp_path / "seen").unlink(missing_ok=True)
        done = run_bytes(["bash", "-c", command], tmp_path)
        assert done.returncode in (0, 3), (command, done.stderr)
        assert not command.startswith("  fp32shim run") or (tmp_path / "seen").read_bytes() == word, command
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize("name", ODD_WORDS, ids=repr)
def test_the_next_commands_run_in_bash_whatever_the_name_of_the_recording_is(writes_recordings, tmp_path, name):
    log = name.replace(b"/", b"") + b".fp32rec"
    ran = run_bytes([os.fsencode(COMMAND), b"run", b"--log=" + log, b"--", os.fsencode(shim.client("cblas_product"))], tmp_path)
    assert log in os.listdir(os.fsencode(tmp_path))
    for command in next_commands(ran.stderr):
        done = run_bytes(["bash", "-c", command], tmp_path)
        assert done.returncode in (0, 3), (command, done.stderr)
    assert (tmp_path / "report.html").exists()


def test_only_rank_0_has_a_summary(writes_recordings, temporary):
    assert "cblas_sgemm" in product(RANK="0", TMPDIR=temporary).stderr
    assert product(RANK="1", TMPDIR=temporary).stderr == ""


def test_quiet_silences_the_summary(writes_recordings, temporary):
    assert product("--quiet", TMPDIR=temporary).stderr == ""


def test_a_log_is_kept(writes_recordings, tmp_path, temporary):
    result = product("--log", tmp_path / "kept.%p.fp32rec", TMPDIR=temporary)
    assert "cblas_sgemm" in result.stderr
    kept = list(tmp_path.glob("kept.*.fp32rec"))
    assert len(kept) == 1
    assert fp32shim("report", "--format", "json", kept[0]).json["totals"]["calls"] > 0


def test_a_summary_that_nobody_reads_does_not_change_the_exit_status(writes_recordings):
    command = f"{COMMAND} run -- {shim.client('cblas_product')} 2>&1 >/dev/null | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], check=False,
                          env=environment(LD_LIBRARY_PATH=shim.blas_directory("openblas")))
    assert done.returncode == 0


@pytest.mark.parametrize("name", ["calls.jsonl", "stderr"])
def test_a_log_that_is_no_recording_leaves_no_summary_and_one_line_says_so(tmp_path, name, temporary):
    log = name if name == "stderr" else tmp_path / name
    said = product("--log", log, TMPDIR=temporary).lines
    assert said[0].startswith("fp32shim run: there will be no summary") and str(log) in said[0]
    assert not any("calls in" in line for line in said)
    for words, settings in ((["--quiet"], {}), ([], {"RANK": "1"})):
        assert "no summary" not in product(*words, "--log", log, TMPDIR=temporary, **settings).stderr


def test_a_recording_that_is_there_is_kept_and_the_program_runs(writes_recordings, tmp_path):
    log = tmp_path / "same.fp32rec"
    assert product("-q", "--log", log).stderr == ""
    first = log.read_bytes()
    numbered = [tmp_path / f"same.{number}.fp32rec" for number in (1, 2)]
    said = (f'fp32shim run: --log: "{log}" exists already and is kept; this run records under the next free number, '
            f'"{numbered[0]}" or higher')
    result = product("--log", log)
    assert (result.returncode, result.lines[0]) == (0, said)
    assert f"fp32shim run: recorded in {numbered[0]}" in result.lines
    result = product("-q", "--log", log)
    assert (result.returncode, result.lines) == (0, [said])
    assert sorted(tmp_path.iterdir()) == sorted([log, *numbered]) and log.read_bytes() == first


def test_a_recording_that_is_there_is_no_proof_of_a_pinned_run(writes_recordings, tmp_path):
    log = tmp_path / "same.fp32rec"
    assert product("-q", "--pin", "--log", log).returncode == 0
    result = product("-q", "--pin", "--log", log)
    assert (result.returncode, result.stdout, len(result.lines)) == (125, "", 1)
    assert f'--log: "{log}" exists already' in result.stderr and "%p" in result.stderr
    assert list(tmp_path.iterdir()) == [log]


def test_a_long_path_is_named_to_its_end(tmp_path):
    folder = tmp_path / ("a_folder_of_many_letters" * 10)
    folder.mkdir()
    log = folder / "run.fp32rec"
    log.touch()
    assert f'--log: "{log}" exists already' in run("-q", "--pin", "--log", log, "--", "true").stderr
    library = folder / "none.so"
    assert f'"{library}"' in run("--", "true", env={"FP32SHIM_LIBRARY": library}).stderr


def test_a_relative_log_means_the_folder_of_the_command(writes_recordings, tmp_path):
    folder = tmp_path / "a %p %"
    (folder / "sub").mkdir(parents=True)
    program = ["sh", "-c", f"cd sub; exec {shim.client('cblas_product')}"]
    blas = {"LD_LIBRARY_PATH": shim.blas_directory("openblas")}
    for name, shown in (("rel.fp32rec", "rel.fp32rec"), ("sub/50%%.fp32rec", "sub/50%.fp32rec"),
                        ("../up.fp32rec", "../up.fp32rec")):
        result = run("--log", name, "--", *program, env=blas, cwd=folder)
        assert f"fp32shim run: recorded in {shown}" in result.lines
        assert (folder / shown).exists()
    assert run("-q", "--log", "calls.jsonl", "--", *program, env=blas, cwd=folder).returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == ["calls.jsonl", "rel.fp32rec", "sub"]
    result = run("--log", "none.fp32rec", "--", "true", cwd=folder)
    assert result.lines == [NOTHING_SEEN]


@pytest.mark.parametrize("words, variables", [(["--policy", "high.toml"], {}), ([], {"FP32_MATMUL_POLICY": "high.toml"})],
                         ids=["option", "variable"])
def test_a_relative_policy_holds_where_the_program_goes_to_another_folder(writes_recordings, tmp_path, words, variables):
    (tmp_path / "high.toml").write_text('schema = 1\ndefault = "high"\n[cpu]\nmode = "emulate"\n')
    program = ["sh", "-c", f"cd /; exec {shim.client('cblas_product')}"]
    result = run(*words, "--log", "run.fp32rec", "--", *program, cwd=tmp_path,
                 env={"LD_LIBRARY_PATH": shim.blas_directory("openblas"), **variables})
    assert (result.returncode, "cannot be read" in result.stderr) == (0, False)
    assert list(fp32shim("report", "--format", "json", tmp_path).json["by_format"]) == ["tf32"]


def test_that_nothing_was_recorded_is_not_said_where_it_cannot_be_told(writes_recordings, tmp_path):
    (tmp_path / "sub").mkdir()
    program = ["sh", "-c", f"cd sub; exec {shim.client('cblas_product')}"]
    blas = {"LD_LIBRARY_PATH": shim.blas_directory("openblas")}
    (tmp_path / "log.toml").write_text('schema = 1\n[log]\npath = "rel.fp32rec"\n')
    result = run("--policy", "log.toml", "--", *program, env=blas, cwd=tmp_path)
    assert (tmp_path / "sub/rel.fp32rec").exists()
    assert (result.returncode, len(result.lines)) == (0, 1)
    assert 'no recording was found at "rel.fp32rec": the program recorded elsewhere' in result.stderr
    for log in (tmp_path / "none/run.fp32rec", tmp_path / "%h/run.fp32rec"):
        result = product(FP32_MATMUL_LOG=log)
        assert "no recording was found at" in result.lines[-1] and NOTHING_SEEN not in result.lines


def test_a_quiet_run_is_the_program_also_with_a_log(writes_recordings, tmp_path):
    process = started("--quiet", "--log", str(tmp_path / "run.fp32rec"), "--", "sh", "-c", "echo ready; echo $$; read line")
    assert int(process.stdout.readline()) == process.pid
    process.communicate(timeout=600)


def test_a_recording_with_a_like_name_is_not_named(writes_recordings, tmp_path):
    program, log = shim.client("cblas_product"), tmp_path / "y.fp32rec"
    others = [tmp_path / name for name in ("y.2foreign.fp32rec", "y.2.3.fp32rec", "y.old.3.fp32rec", "y..fp32rec")]
    script = "; ".join([program.as_posix(), *(f"FP32_MATMUL_LOG={other} {program}" for other in others), str(program)])
    result = run("--log", log, "--", "sh", "-c", script, env={"LD_LIBRARY_PATH": shim.blas_directory("openblas")})
    assert all(other.exists() for other in others)
    recorded, elsewhere = result.lines[-2:]
    assert f"in 2 files, one per process: {log}, {tmp_path}/y.1.fp32rec." in recorded
    assert f"{program}, which was started with another FP32_MATMUL_LOG" in elsewhere and "(4 times)" in elsewhere


def test_ranks_that_record_under_one_name_all_run(writes_recordings, tmp_path):
    for rank in range(3):
        assert product("--log", tmp_path / "run.fp32rec", RANK=rank).returncode == 0
    assert len(list(tmp_path.iterdir())) == 3
    again = [product("--pin", "--log", tmp_path / "rank%r.fp32rec", RANK=1).returncode for _ in range(2)]
    assert again == [0, 125]


def test_the_recordings_of_other_ranks_are_not_named(writes_recordings, tmp_path):
    log, program = tmp_path / "run.%r.fp32rec", shim.client("cblas_product")
    result = run("--log", log, "--", "sh", "-c", f"{program}; export RANK=1; {program}",
                 env={"LD_LIBRARY_PATH": shim.blas_directory("openblas"), "RANK": "0"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.0.children.fp32rec", "run.0.fp32rec", "run.1.fp32rec"]
    assert f"fp32shim run: recorded in {tmp_path}/run.0.fp32rec" in result.lines
    result = run("--log", tmp_path / "of.%r.fp32rec", "--", "sh", "-c", f"RANK=1 {program}; RANK=2 {program}",
                 env={"LD_LIBRARY_PATH": shim.blas_directory("openblas")})
    assert f"in 2 files, one per process: {tmp_path}/of.1.fp32rec, {tmp_path}/of.2.fp32rec." in result.stderr


def test_the_recordings_are_named(writes_recordings, tmp_path):
    log = tmp_path / "a [1] %%.fp32rec"
    assert f"fp32shim run: recorded in {tmp_path}/a [1] %.fp32rec" in product("--log", log).lines
    result = product("--log", tmp_path / "run.%p.fp32rec")
    recording, = tmp_path.glob("run.*.fp32rec")
    assert f"fp32shim run: recorded in {recording}" in result.lines
    for name in ("run.%h-%p.fp32rec", "./run.%p.fp32rec"):
        result = run("--log", name, "--", shim.client("steps"), "products:1", cwd=tmp_path)
        shown, = (line.removeprefix("fp32shim run: recorded in ") for line in result.lines if "recorded in" in line)
        assert (tmp_path / shown).exists() and "no such file" not in result.stderr and "RECORDINGS" not in result.stderr


def test_the_recordings_of_children_are_named(writes_recordings, tmp_path):
    (tmp_path / "run.old.fp32rec").write_text("somebody's")
    blas = {"LD_LIBRARY_PATH": shim.blas_directory("openblas")}
    steps = [shim.client("steps"), "products:1", "forks:2"]
    result = run("--log", tmp_path / "run.fp32rec", "--", *steps, env=blas)
    names = ", ".join(str(tmp_path / name) for name in ("run.fp32rec", "run.1.fp32rec", "run.2.fp32rec"))
    assert (f"fp32shim run: recorded in 3 files, one per process: {names}. Give all of them to report and verify."
            in result.lines)
    assert result.returncode == 3


def test_a_quiet_run_that_recorded_as_it_was_asked_to_says_nothing(writes_recordings, tmp_path):
    assert product("--quiet", "--log", tmp_path / "run.fp32rec").stderr == ""


def test_a_large_library_is_scanned_once_and_a_damaged_result_is_none(tmp_path):
    shim.need(subprocess.run([shim.SYSTEM_PYTHON, "-c", "import numpy"], capture_output=True, check=False).returncode == 0,
              "python3-numpy is not installed")
    kept = tmp_path / "cache/fp32shim/libraries"
    product = "import numpy; a = numpy.ones((8, 8), numpy.float32); a @ a"

    def found(cache=tmp_path / "cache"):
        result = run("--", shim.SYSTEM_PYTHON, "-c", product, env={"XDG_CACHE_HOME": cache})
        assert result.returncode == 0 and re.search("(1 call|2 calls) in 1 recording", result.stderr)  # numpy multiplies vectors
        return re.findall("These libraries were loaded but are not covered: (.*)", result.stderr)

    really = found()
    results = list(kept.iterdir())
    assert results and found() == really
    for file in results:  # writes a result that no scan would give, which shows whether it is used
        json_text = json.loads(file.read_text())
        json_text["found"]["bypasses"] = [{"name": "oneDNN", "title": "oneDNN", "object": "any", "device": "cpu", "message": "",
                                           "remedy": "", "pins": 0, "is_float32": False}]
        file.write_text(json.dumps(json_text))
    assert found()[0].startswith("oneDNN in ")
    for file in results:
        file.write_text(file.read_text()[:-2])
    assert found() == really
    for file in results:
        file.unlink()
        file.mkdir()
    assert found() == really
    assert found("/proc/self/none") == really
    assert found("") == really


def test_a_program_of_float64_is_told_what_ran_and_gets_no_advice_for_float32(temporary):
    shim.need(shim.has_module("numpy"), "no numpy")
    result = run("--", shim.SYSTEM_PYTHON, "-c", "import numpy\na = numpy.ones((9, 8))\na @ a.T.copy()\na @ (a.T.copy() * 1j)", env={"TMPDIR": temporary})
    assert re.search(r"^fp64 +2 +100", result.stderr, re.MULTILINE), result.stderr
    assert "Operands: 1 call of float64, 1 call of complex128\n" in result.stderr
    assert "was recorded" not in result.stderr and "--precision" not in result.stderr
