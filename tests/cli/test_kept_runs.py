"""What `fp32shim run` keeps in .fp32shim without being asked, and how other commands find it."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

import shim
from command import COMMAND, environment, fp32shim, without_special_rights

PRODUCT = str(shim.client("cblas_product"))
MOST = 10
NAME = re.compile(r"\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z-\d+")


@pytest.fixture(autouse=True)
def blas(monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(shim.blas_directory("openblas")))
    for name in ("FP32_MATMUL_LOG", "RANK", "SLURM_PROCID", "PMIX_RANK"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def temporary(tmp_path_factory, monkeypatch):
    """The folder for recordings that are not kept. It must be empty again at the end of the test."""
    folder = tmp_path_factory.mktemp("tmp")
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert not list(folder.iterdir())


def run(folder, *words, prefix=(), **variables):
    return fp32shim("run", *words, cwd=folder, prefix=prefix, env={name: os.environ[name] for name in
                    ("LD_LIBRARY_PATH", "TMPDIR") if name in os.environ} | variables)


def product(folder, *words, **variables):
    return run(folder, *words, "--", PRODUCT, **variables)


def kept(folder):
    """Returns the names of the runs in a folder, in their order."""
    whole = folder / ".fp32shim"
    return sorted(run.name for run in whole.iterdir() if NAME.fullmatch(run.name)) if whole.is_dir() else []


def in_folder(folder, *words, env=None):
    return fp32shim(*words, cwd=folder, env={"LD_LIBRARY_PATH": os.environ["LD_LIBRARY_PATH"]} | (env or {}))


def start(folder, *words, **keywords):
    variables = environment(LD_LIBRARY_PATH=os.environ["LD_LIBRARY_PATH"])
    return subprocess.Popen([COMMAND, "run", *words], cwd=folder, env=variables, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)


def fill(folder):
    """Makes as many runs as are kept."""
    for _ in range(MOST):
        product(folder)


def test_the_last_line_names_what_is_kept(tmp_path, temporary):
    result = product(tmp_path)
    (name,) = kept(tmp_path)
    assert result.lines[-1] == f"fp32shim run: recorded in .fp32shim/{name}"
    assert result.stdout == subprocess.run([PRODUCT], capture_output=True, text=True, check=True).stdout
    (recording,) = (tmp_path / ".fp32shim" / name).iterdir()
    assert re.fullmatch(r"\d+\.fp32rec", recording.name)
    assert [path.stat().st_mode & 0o077 for path in (recording, recording.parent, recording.parent.parent)] == [0, 0, 0]


def test_git_does_not_see_it(tmp_path):
    git = [shim.tool("git"), "-C", str(tmp_path), "-c", "safe.directory=*"]
    subprocess.run([*git, "init", "-q"], check=True)
    product(tmp_path)
    assert kept(tmp_path)
    assert subprocess.run([*git, "status", "--porcelain"], check=True, capture_output=True, text=True).stdout == ""


@pytest.mark.parametrize("line", ["report", "report --format json", "log", "verify --at-least fp32"])
def test_commands_take_the_last_run_and_say_which(tmp_path, line):
    words = line.split()
    run(tmp_path, "--", shim.client("steps"), "sizes:7")
    product(tmp_path)
    last = f".fp32shim/{kept(tmp_path)[-1]}"
    found, named = in_folder(tmp_path, *words), in_folder(tmp_path, *words, last)
    assert (found.returncode, found.stdout) == (named.returncode, named.stdout) and found.returncode == 0
    first, *others = found.lines
    assert re.fullmatch(rf"fp32shim {words[0]}: {last} is the last run kept in this folder: {PRODUCT}, [\d.]+ m?s ago",
                        first)
    assert others == named.lines


def test_the_last_run_is_the_last_one_even_if_the_clock_was_set_back(tmp_path):
    product(tmp_path)
    first = tmp_path / ".fp32shim/2999-12-31T235959.999Z-1"
    (tmp_path / ".fp32shim" / kept(tmp_path)[0]).rename(first)
    for _ in range(MOST):
        product(tmp_path)
        assert in_folder(tmp_path, "report").lines[0].split()[2] == f".fp32shim/{kept(tmp_path)[-1]}"
    assert len(kept(tmp_path)) == MOST and not first.exists()


@pytest.mark.parametrize("files", [".fp32shim/*/*[0-9].fp32rec", ".fp32shim/*/*"])
def test_a_run_whose_recording_was_removed_is_not_called_one_without_products(tmp_path, files):
    result = run(tmp_path, "--", "sh", "-c", f"{PRODUCT} && rm {files}")
    assert "no recording was found at" in result.stderr and "no matrix product was recorded" not in result.stderr


def test_the_calls_of_a_run_are_followed_as_it_goes_on(tmp_path):
    process = start(tmp_path, "--level", "calls", "--", "sh", "-c", f"{PRODUCT}; read line; {PRODUCT}")
    process.stdout.readline()
    followed = in_folder(tmp_path, "log", "--follow", "--format", "jsonl")
    assert (followed.returncode, followed.stdout.count("\"cblas_sgemm\"")) == (0, 1), followed.stderr
    process.communicate("\n")


def test_verify_finds_all_processes_of_a_run(tmp_path):
    run(tmp_path, "--", "sh", "-c", f"{PRODUCT}; {PRODUCT} & {PRODUCT}; wait")
    verdict = in_folder(tmp_path, "verify", "--at-least", "fp32", "--json")
    assert (verdict.returncode, verdict.json["verdict"]) == (0, "shown"), verdict.stdout
    files = list((tmp_path / ".fp32shim" / kept(tmp_path)[0]).iterdir())
    assert len(in_folder(tmp_path, "report", "--json").json["processes"]) == len(files) > 2


def test_verify_knows_of_children_without_the_shim(tmp_path):
    result = run(tmp_path, "--", "sh", "-c", f"{PRODUCT}; LD_PRELOAD= {PRODUCT}")
    assert "started without the shim" in result.stderr
    assert list((tmp_path / ".fp32shim").glob("*/*.children.fp32rec"))
    verdict = in_folder(tmp_path, "verify", "--at-least", "fp32")
    assert verdict.returncode == 3 and PRODUCT in verdict.stdout


def test_diff_compares_the_last_two_runs(tmp_path):
    product(tmp_path, "--audit", "fingerprint")
    assert in_folder(tmp_path, "diff").lines == [
        "fp32shim diff: name 2 recordings: only one run is kept in this folder"]
    product(tmp_path, "--audit", "fingerprint", "--cpu", "emulate", "--precision", "medium")
    found = in_folder(tmp_path, "diff", "--format", "json")
    named = in_folder(tmp_path, "diff", "--format", "json", *(f".fp32shim/{name}" for name in kept(tmp_path)))
    assert (found.returncode, found.stdout) == (1, named.stdout)
    sides = [line.partition(" kept")[0].partition(" is ")[2] for line in found.lines[:2]]
    assert sides == ["the last run but one", "the last run"]
    one = in_folder(tmp_path, "diff", f".fp32shim/{kept(tmp_path)[0]}")
    assert (one.returncode, one.stdout) == (2, "") and "name two recordings" in one.stderr


@pytest.mark.parametrize("command", ["report", "log", "verify", "diff"])
def test_a_folder_without_runs_is_one_line(tmp_path, command):
    product(tmp_path)
    (tmp_path / "other").mkdir()
    result = in_folder(tmp_path / "other", command)
    assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
    assert "no run is kept in this folder; fp32shim run -- PROGRAM keeps one" in result.lines[0]


@pytest.mark.parametrize("words", [["--no-log"], ["--quiet"], ["--log", "a.fp32rec"]], ids=str)
def test_a_run_before_one_that_was_not_kept_is_not_taken_for_the_last(tmp_path, words):
    product(tmp_path)
    (first,) = kept(tmp_path)
    product(tmp_path, *words)
    result = in_folder(tmp_path, "verify", "--at-least", "fp32")
    assert (result.returncode, len(result.lines)) == (2, 1)
    assert "a later run in this folder was not kept" in result.stderr and f".fp32shim/{first}" in result.stderr
    product(tmp_path)
    assert in_folder(tmp_path, "verify", "--at-least", "fp32").returncode == 0
    run(tmp_path, "--", COMMAND, "run", *words, "--", PRODUCT)  # what a run starts belongs to it
    assert "was not kept" not in in_folder(tmp_path, "verify", "--at-least", "fp32").stderr


def test_evidence_of_a_kept_run_says_that_the_recording_goes(tmp_path):
    product(tmp_path)
    result = in_folder(tmp_path, "verify", "--at-least", "fp32", "--format", "json", "-o", "proof.json")
    assert result.returncode == 0 and "--log NAME.fp32rec keeps the evidence" in result.stderr


@pytest.mark.parametrize("words, variables", [
    (["--no-log"], {}), (["--quiet"], {}), ([], {"RANK": "1"}), ([], {"FP32_MATMUL_DISABLE": "1"}),
    (["--log", "a.fp32rec"], {}), (["--log", "a.jsonl"], {}), ([], {"FP32_MATMUL_LOG": "a.fp32rec"}),
    (["--policy", "policy.toml"], {}), (["--no-log", "--policy", "policy.toml"], {})], ids=str)
def test_one_thing_decides_where_the_recording_is(tmp_path, temporary, words, variables):
    (tmp_path / "policy.toml").write_text('schema = 1\n[log]\npath = "a.fp32rec"\n')
    result = product(tmp_path, *words, **variables)
    assert result.returncode == 0 and not (tmp_path / ".fp32shim").exists(), result.stderr
    has_log = any("a." in text or "policy" in text for text in [*words, *variables.values()])
    assert bool(list(tmp_path.glob("a.*"))) == has_log


def test_no_log_excludes_a_log():
    result = fp32shim("run", "--no-log", "--log", "a.fp32rec", "true")
    assert result.returncode == 125 and "found together with" in result.stderr


def test_a_run_in_a_run_belongs_to_it(tmp_path):
    run(tmp_path, "--", COMMAND, "run", "--no-log", "--", PRODUCT)
    assert len(kept(tmp_path)) == 1 and in_folder(tmp_path, "report", "--json").json["totals"]["calls"] == 1
    # This command contains the names by which libraries are recognised, but multiplies nothing.
    assert in_folder(tmp_path, "verify", "--at-least", "fp32").returncode == 0


@pytest.mark.parametrize("command", ["verify --at-least fp32", "report"])
def test_a_copy_beside_a_run_is_no_further_recording_of_it(tmp_path, command):
    product(tmp_path, "--log", "a.fp32rec")
    shutil.copy(tmp_path / "a.fp32rec", tmp_path / "b.fp32rec")
    result = in_folder(tmp_path, *command.split(), "a.fp32rec")
    assert result.returncode == 0 and re.search(r"\bcall\b.* in 1 recording\b", result.stdout)
    assert "b.fp32rec" not in result.stderr or "b.fp32rec: a copy of a.fp32rec" in result.stderr


def test_rank_0_says_that_others_keep_nothing(tmp_path):
    assert product(tmp_path, RANK="0").lines[-1].endswith(
        "; the fp32shim run of another rank keeps nothing without --log NAME.%r.fp32rec")


def test_a_program_may_change_its_folder(tmp_path):
    run(tmp_path, "--", "sh", "-c", f"cd /; exec {PRODUCT}")
    assert in_folder(tmp_path, "report", "--json").json["totals"]["calls"] == 1


def test_a_run_without_products_is_the_last_one(tmp_path):
    product(tmp_path)
    run(tmp_path, "--", "true")
    report = in_folder(tmp_path, "report", "--json")
    assert (report.returncode, report.json["totals"]["calls"]) == (0, 0)
    assert ": true, " in report.stderr
    assert in_folder(tmp_path, "verify", "--at-least", "fp32").returncode == 3


def test_a_program_that_cannot_start_leaves_no_folder(tmp_path, temporary):
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o700)
    assert run(tmp_path, "--", script).returncode == 126
    assert kept(tmp_path) == []


@pytest.mark.parametrize("name", ["a b", "100%p %", "new\nline", "ü", b"\xff\xfe", "*?[a]"], ids=repr)
def test_a_working_folder_may_have_any_name(tmp_path, name):
    folder = os.path.join(os.fsencode(tmp_path), os.fsencode(name))
    os.mkdir(folder)
    product(os.fsdecode(folder))
    report = in_folder(os.fsdecode(folder), "report", "--json")
    assert report.json["totals"]["calls"] == 1


# ---- where nothing can be kept ----------------------------------------------------------------------------------


def check_not_kept(result, why):
    assert result.returncode == 0 and "cblas_sgemm" in result.stderr
    assert result.lines[-1] == (f"fp32shim run: nothing was kept: .fp32shim {why}; --log NAME.fp32rec keeps a recording "
                                "elsewhere")


def test_a_file_in_the_place_of_the_folder_stays(tmp_path, temporary):
    (tmp_path / ".fp32shim").write_text("mine")
    check_not_kept(product(tmp_path), "is a file or a link")
    assert (tmp_path / ".fp32shim").read_text() == "mine"
    assert in_folder(tmp_path, "report").lines == ["fp32shim report: name 1 recording: .fp32shim is a file or a link"]


def test_a_link_in_the_place_of_the_folder_is_not_followed(tmp_path, temporary):
    (tmp_path / "other").mkdir()
    (tmp_path / ".fp32shim").symlink_to("other")
    check_not_kept(product(tmp_path), "is a file or a link")
    assert list((tmp_path / "other").iterdir()) == []


def test_a_folder_in_which_others_can_write_is_not_used(tmp_path, temporary):
    (tmp_path / ".fp32shim").mkdir()
    (tmp_path / ".fp32shim").chmod(0o777)
    check_not_kept(product(tmp_path), "can be written by its group or by others; chmod go-w it")
    assert list((tmp_path / ".fp32shim").iterdir()) == []


def test_a_folder_of_another_user_is_not_used(tmp_path, temporary):
    shim.need(os.geteuid() == 0, "only root can do this")
    (tmp_path / ".fp32shim").mkdir()
    os.chown(tmp_path / ".fp32shim", 12345, 12345)
    check_not_kept(product(tmp_path), "belongs to user 12345, and this command runs as user 0")
    assert list((tmp_path / ".fp32shim").iterdir()) == []


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path, temporary):
    (tmp_path / "here").mkdir(mode=0o500)
    result = run(tmp_path / "here", "--", PRODUCT, prefix=without_special_rights())
    check_not_kept(result, "cannot be used (Permission denied)")


@pytest.mark.parametrize("options, why", [("ro", "cannot be used (Read-only file system)"),
                                          ("size=4m", "has only 3 MiB of free space")])
def test_a_file_system_without_room_keeps_nothing(tmp_path, temporary, options, why):
    inside = 'mount -t tmpfs -o "$1" none "$2" && cd "$2" && { mkdir work || true; } 2>/dev/null && shift 2 && exec "$@"'
    prefix = [shim.tool("unshare", "util-linux"), "--mount", "--propagation", "private", "sh", "-c", inside, "sh"]
    result = run(None, "--", PRODUCT, prefix=[*prefix, options, tmp_path])
    shim.need("unshare" not in result.stderr and "mount" not in result.stderr, "no mount namespace here")
    check_not_kept(result, why)


def test_nothing_is_kept_in_the_root_folder(temporary):
    check_not_kept(product("/"), "is not made in /, which is the system's")
    assert not os.path.lexists("/.fp32shim")


def test_a_working_folder_that_is_gone_keeps_nothing(tmp_path, temporary):
    (tmp_path / "gone").mkdir()
    result = run(tmp_path / "gone", "--", PRODUCT, prefix=["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh"])
    check_not_kept(result, "cannot be used (No such file or directory)")


def test_the_folder_may_be_removed_while_the_program_runs(tmp_path, temporary):
    result = run(tmp_path, "--", "sh", "-c", f"rm -r .fp32shim; {shim.client('steps')} sizes:2 >/dev/null 2>&1; exit 3")
    assert (result.returncode, kept(tmp_path)) == (3, [])
    assert "no recording was found at" in result.lines[-1] and "no matrix product was recorded" not in result.stderr


# ---- limits -----------------------------------------------------------------------------------------------------


def test_the_last_ten_runs_are_kept(tmp_path):
    names = []
    for _ in range(MOST + 3):
        product(tmp_path)
        names.append(kept(tmp_path)[-1])
    assert kept(tmp_path) == names[-MOST:] and len(set(names)) == MOST + 3


def test_a_gibibyte_is_kept(tmp_path):
    shim.need(shutil.disk_usage(tmp_path).free > 3 << 30, "no 3 GiB of free space here")
    product(tmp_path), product(tmp_path)
    first, second = kept(tmp_path)
    (recording,) = (tmp_path / ".fp32shim" / second).iterdir()
    with open(recording, "r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, 1 << 30)
        except OSError as problem:
            shim.need(False, f"no file of 1 GiB here: {problem}")
    product(tmp_path)
    assert first not in kept(tmp_path) and second not in kept(tmp_path) and len(kept(tmp_path)) == 1


def runs_that_wait(folder):
    """Three runs whose programs wait for a line, before or after their product."""
    yield start(folder, "--", "sh", "-c", f"{PRODUCT} >/dev/null; read line; {PRODUCT}")
    yield start(folder, "--", "sh", "-c", f"read line; {PRODUCT} >/dev/null; {PRODUCT}")


def test_a_run_that_still_runs_is_not_removed(tmp_path):
    waiting = list(runs_that_wait(tmp_path))
    while len(kept(tmp_path)) < 2 or not list((tmp_path / ".fp32shim" / kept(tmp_path)[0]).glob("*.fp32rec")):
        time.sleep(0.01)
    report = in_folder(tmp_path, "report")
    assert ", and still runs: " in report.lines[0] and kept(tmp_path)[-1] in report.lines[0]
    first = kept(tmp_path)
    fill(tmp_path)
    assert len(kept(tmp_path)) == MOST and kept(tmp_path)[:2] == first
    for process in waiting:
        output, errors = process.communicate("\n")
        assert process.returncode == 0 and output.startswith("c ") and "2 calls in 2 recordings" in errors, errors
    assert in_folder(tmp_path, "verify", "--at-least", "fp32", f".fp32shim/{first[0]}").returncode == 0
    product(tmp_path)
    assert first[0] not in kept(tmp_path) and len(kept(tmp_path)) == MOST


def test_a_run_that_runs_outside_of_the_container_is_not_removed(tmp_path):
    waiting = start(tmp_path, "--", "sh", "-c", f"read line; {PRODUCT}")
    while not list((tmp_path / ".fp32shim").glob("*/*.children.fp32rec")):
        time.sleep(0.01)
    container = [shim.tool("unshare", "util-linux"), "--pid", "--fork", "--mount-proc", "--propagation", "private"]
    (first,) = kept(tmp_path)
    for _ in range(MOST):
        result = run(tmp_path, "--", PRODUCT, prefix=container)
        shim.need("unshare" not in result.stderr, "no namespaces here")
    assert kept(tmp_path)[0] == first and len(kept(tmp_path)) == MOST
    waiting.communicate("\n")
    assert in_folder(tmp_path, "report", "--json", f".fp32shim/{first}").json["totals"]["calls"] == 1


@pytest.mark.parametrize("multiplies", [False, True])
def test_a_run_whose_daemon_still_runs_is_not_removed(tmp_path, multiplies):
    code = "import ctypes, ctypes.util, os, signal\nlibrary = ctypes.CDLL('libblas.so.3')\n" \
           "numbers = (ctypes.c_float * 4)()\nlibrary.cblas_sgemm.argtypes = [ctypes.c_int] * 6 + [ctypes.c_float] + " \
           "[ctypes.c_void_p, ctypes.c_int] * 2 + [ctypes.c_float, ctypes.c_void_p, ctypes.c_int]\n" \
           "library.cblas_sgemm(101, 111, 111, 2, 2, 2, 1, numbers, 2, numbers, 2, 0, numbers, 2)\nsignal.pause()\n"
    words = [shim.SYSTEM_PYTHON, "-c", code] if multiplies else ["sleep", "1000"]
    script = f'{PRODUCT} >/dev/null; setsid "$@" </dev/null >/dev/null 2>&1 & echo $!; sleep 0.5'
    result = run(tmp_path, "--", "sh", "-c", script, "sh", *words)
    process = int(result.stdout)
    try:
        assert "still running, so more products may follow" in result.stderr
        (first,) = kept(tmp_path)
        fill(tmp_path)
        assert kept(tmp_path)[0] == first and len(kept(tmp_path)) == MOST
    finally:
        os.kill(process, signal.SIGKILL)
    with contextlib.suppress(OSError):  # readlink fails once the process has ended, even if nobody has waited for it
        while os.readlink(f"/proc/{process}/exe"):
            time.sleep(0.01)
    product(tmp_path)
    assert first not in kept(tmp_path) and len(kept(tmp_path)) == MOST


def test_a_killed_run_is_removed_like_others(tmp_path):
    process = start(tmp_path, "--", "sh", "-c", f"{PRODUCT}; read line", start_new_session=True)
    process.stdout.readline()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (first,) = kept(tmp_path)
    assert in_folder(tmp_path, "verify", "--at-least", "fp32").returncode == 3  # the end of the run is not noted
    fill(tmp_path)
    assert first not in kept(tmp_path)


def of_another_machine(recording):
    """Changes the boot and the host in a recording that has no end of a run."""
    content = recording.read_bytes()
    boot = bytes.fromhex(open("/proc/sys/kernel/random/boot_id").read().strip().replace("-", ""))
    assert boot in content and socket.gethostname().encode() in content
    host = socket.gethostname().encode()
    recording.write_bytes(content.replace(boot, bytes(reversed(boot))).replace(host, b"?" * len(host)))


def test_runs_of_another_machine_may_still_run_until_their_end_is_noted(tmp_path, temporary):
    for number in range(MOST):  # with a product, and before one
        script = f"{PRODUCT if number % 2 else 'echo'}; read line"
        process = start(tmp_path, "--", "sh", "-c", script, start_new_session=True)
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    names = kept(tmp_path)
    for recording in (tmp_path / ".fp32shim").glob("*/*.fp32rec"):
        of_another_machine(recording)
    result = product(tmp_path)
    assert re.search(r"nothing was kept: \.fp32shim has 10 runs with \d+ MiB that still run, or of which nothing shows that "
                     r"they have ended; remove it if they have; --log", result.lines[-1])
    assert kept(tmp_path) == names
    shutil.rmtree(tmp_path / ".fp32shim" / names[4])
    assert product(tmp_path).lines[-1].startswith("fp32shim run: recorded in .fp32shim/")


def test_what_the_command_did_not_make_stays(tmp_path):
    fill(tmp_path)
    names, whole = kept(tmp_path), tmp_path / ".fp32shim"
    (whole / names[0] / "report.html").write_text("mine")
    (tmp_path / "elsewhere.fp32rec").write_bytes(next((whole / names[1]).iterdir()).read_bytes())
    (whole / names[1] / "1.fp32rec").symlink_to(tmp_path / "elsewhere.fp32rec")
    shutil.move(whole / names[2], tmp_path / "moved")
    (whole / names[2]).symlink_to(tmp_path / "moved")
    (whole / names[3] / "folder").mkdir()
    shutil.copy(next((whole / names[4]).iterdir()), whole / names[4] / "baseline.fp32rec")
    (whole / "notes").write_text("mine")
    (whole / "2026-01-01T000000.000Z-").mkdir()
    shutil.copytree(whole / names[5], whole / "2026-01-01T000000.000Z-1.old")
    before = [path for path in (*whole.rglob("*"), *(tmp_path / "moved").iterdir()) if not path.is_dir()]
    fill(tmp_path)
    removed = {path for path in before if not os.path.lexists(path)}
    assert {path.parent.name for path in removed} == set(names[5:]) and len(removed) == 5
    fill(tmp_path)
    assert set(names[:5]) < set(kept(tmp_path)) and len(kept(tmp_path)) == MOST + 5


def test_a_folder_that_is_named_does_not_include_its_kept_runs(tmp_path):
    product(tmp_path)
    product(tmp_path, "--log", "a.fp32rec")
    assert in_folder(tmp_path, "report", "--json", ".").json["totals"]["calls"] == 1
    assert in_folder(tmp_path, "report", "--json", ".fp32shim").json["totals"]["calls"] == 1
    assert in_folder(tmp_path, "report", "--json", ".", ".fp32shim").json["totals"]["calls"] == 2


def test_a_limit_of_the_size_of_files_does_not_end_the_program(tmp_path):
    result = run(tmp_path, "--", "sh", "-c", "ulimit -f; exit 5", prefix=["sh", "-c", 'ulimit -f 0; exec "$@"', "sh"])
    assert (result.returncode, result.stdout) == (5, "0\n")


def test_files_of_another_user_stay(tmp_path):
    shim.need(os.geteuid() == 0, "only root can do this")
    fill(tmp_path)
    first, second = kept(tmp_path)[:2]
    os.chown(next((tmp_path / ".fp32shim" / first).iterdir()), 12345, 12345)
    os.chown(tmp_path / ".fp32shim" / second, 12345, 12345)
    fill(tmp_path)
    assert kept(tmp_path)[:2] == [first, second] and len(kept(tmp_path)) == MOST + 2


def test_an_empty_folder_may_belong_to_a_run_that_starts(tmp_path):
    product(tmp_path)
    young, old = (tmp_path / ".fp32shim" / f"2026-01-0{day}T000000.000Z-1" for day in (1, 2))
    young.mkdir(), old.mkdir()
    os.utime(old, (time.time() - 90000,) * 2)
    fill(tmp_path)
    assert young.exists() and not old.exists()


def test_many_runs_may_start_at_once(tmp_path):
    product(tmp_path)
    processes = [start(tmp_path, "--", PRODUCT) for _ in range(30)]
    results = [(*process.communicate(), process.returncode) for process in processes]
    expected = subprocess.run([PRODUCT], capture_output=True, text=True, check=True).stdout
    assert {(output, status) for output, _, status in results} == {(expected, 0)}
    lines = [errors.splitlines()[-1] for _, errors, _ in results]
    assert all(line.startswith(("fp32shim run: recorded in ", "fp32shim run: nothing was kept: ")) for line in lines)
    product(tmp_path)
    assert len(kept(tmp_path)) <= MOST
    for name in kept(tmp_path):
        assert json.loads(in_folder(tmp_path, "report", "--json", f".fp32shim/{name}").stdout)["totals"]["calls"] == 1


def test_a_run_of_an_older_version_is_read(tmp_path):
    product(tmp_path)
    (recording,) = (tmp_path / ".fp32shim" / kept(tmp_path)[0]).iterdir()
    shutil.copy(shim.ROOT / "tests/unit/record/golden/recording_version1_summary.fp32rec", recording)
    report = in_folder(tmp_path, "report", "--json")
    assert report.returncode == 0 and report.json["totals"]["calls"] > 0
