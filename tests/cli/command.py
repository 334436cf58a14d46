"""Runs the `fp32shim` command as a whole process."""

import dataclasses
import fcntl
import json
import os
import pathlib
import pty
import struct
import subprocess
import termios
import textwrap

import shim  # from tests/preload: paths of the build, and a list of installed programs

COMMAND = pathlib.Path(os.environ.get("FP32SHIM_COMMAND", shim.BUILD / "bin/fp32shim"))
COMMANDS = ["run", "doctor", "explain", "verify", "suggest", "bisect", "diff", "check", "report", "log", "top", "ps", "set",
            "reload", "kernel", "gpu-check", "completion"]


@dataclasses.dataclass
class Result:
    stdout: str
    stderr: str
    returncode: int

    @property
    def json(self):
        return json.loads(self.stdout)

    @property
    def lines(self):
        """Returns the lines of stderr, where errors are."""
        return self.stderr.splitlines()


def environment(**variables):
    """Returns the environment of shim.py, with these variables added."""
    return shim.environment(env={name: str(value) for name, value in variables.items()})


def fp32shim(*words, env=None, stdin=None, cwd=None, timeout=600, prefix=()):
    """Runs the command and returns its result. `env` are variables to set, `stdin` is text."""
    finished = subprocess.run([*map(str, prefix), str(COMMAND), *map(str, words)], env=environment(**(env or {})),
                              input=stdin if stdin is not None else "", cwd=cwd, timeout=timeout, text=True,
                              errors="backslashreplace", capture_output=True, check=False)
    return Result(finished.stdout, finished.stderr, finished.returncode)


def build(output, source, *words):
    """Compiles a program or library of C; `words` are options of the compiler."""
    subprocess.run([shim.tool("cc", "gcc"), "-x", "c", "-", "-o", output, *map(str, words)], input=textwrap.dedent(source),
                   text=True, check=True)
    return output


def without_special_rights():
    """Returns words to put before a command, so that file permissions hold for it even if root runs the tests."""
    if os.geteuid() != 0:
        return []
    return [shim.tool("setpriv", "util-linux"), "--bounding-set", "-dac_override,-dac_read_search"]


def need_terminals():
    """Skips the test if no terminal can be made, as in a chroot without /dev/pts."""
    try:
        ends = pty.openpty()
    except OSError as problem:
        shim.need(False, f"no terminal can be made here: {problem}")
    for end in ends:
        os.close(end)


def on_a_terminal(words, *, width=None, prefix=(), answer="", **variables):
    """Returns what the command writes to a terminal of `width` columns. `answer` is typed there."""
    need_terminals()
    child, terminal = pty.fork()
    if child == 0:
        if width:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, width, 0, 0))
        whole = [*map(str, prefix), str(COMMAND), *map(str, words)]
        os.execvpe(whole[0], whole, environment(**{"TERM": "xterm", **variables}))
    os.write(terminal, answer.encode())
    seen = b""
    try:
        while block := os.read(terminal, 65536):
            seen += block
    except OSError:  # on Linux, the error means that the other side has closed
        pass
    os.close(terminal)
    os.waitpid(child, 0)
    return seen.decode()


def calls_from(stack, function, size, applied, number, ticks=9000, scope=""):
    """Returns calls of one decision by one call path, for make_recording(). A stack is FUNCTION@FILE@LINE or OBJECT+OFFSET
    for each level, outermost first, with `;` between them. The calls asked for TF32."""
    reason = "as_requested" if applied == "tf32" else "cpu_mode_off"
    return f"{function}:{size}:high:{applied}:{reason}:{number}:1:{ticks}:{scope}:{stack}"


def calls_with_results(stack, size, results, function="cblas_sgemm", applied="fp32"):
    """Returns calls by one call path, one for each of `results`. These are numbers, whose differences are those of the
    fingerprints. A text "2.5/7" also has a hash of operand A, and "2.5/7/3" one of the rows of the result, which is
    row-major. If `applied` is fp32, the calls asked for nothing else."""
    calls = calls_from(stack, function, size, applied, len(results)).replace(":high:fp32:cpu_mode_off:", ":native:fp32:as_requested:")
    return calls + ":" + ",".join(result if isinstance(result, str) else repr(result) for result in results)


def source_file(path, changed_at):
    """Writes 60 lines that a recording can name, last changed at a time in seconds since 1970. Returns the path."""
    path.write_text("".join(f"line_{number} = 'ärger <b>'\n" for number in range(1, 61)))
    os.utime(path, (changed_at, changed_at))
    return path


def make_recording(path, level, *calls, program=None):
    """Writes a recording and returns its path. `calls` are texts as calls_from() returns them:
    FUNCTION:SIZE:REQUESTED:APPLIED:REASON:CALLS[:THREADS[:TICKS[:SCOPE[:STACK[:RESULTS]]]]].
    `program` is a link to the client, if it is to run under another name."""
    program = program or shim.client("make_recording")
    done = subprocess.run([str(program), str(path), level, *calls], text=True, capture_output=True, check=True,
                          env=environment())
    return pathlib.Path(done.stdout.strip())


def live_recording(path, level, *calls):
    """Starts a process that records these calls and stays until its standard input is closed, as communicate() does."""
    process = subprocess.Popen([shim.client("make_recording"), path, level, "--stay", *calls], text=True,
                               env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    written = f"{path}\n"
    assert process.stdout.read(len(written)) == written
    return process
