"""fp32shim set, reload, top and report on a process that multiplies under the shim: what changes, from which call on."""

import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
import pathlib

import pytest

import shim
from command import COMMAND, fp32shim, on_a_terminal
from recorded import another_user, report

REPEATS = int(os.environ.get("FP32SHIM_TEST_REPEATS", "30"))

POLICY = """
schema = 1
name = "{name}"
default = "{precision}"
[cpu]
mode = "emulate"
"""


class Asked:
    """The running client `steps ask`. It makes one product for each question, and answers with the bits of the result.
    `first` and `steps` are the steps before and after that."""

    def __init__(self, log, *steps, first=(), policy=None, precision=None, prefix=(), folder=None, cpu="emulate"):
        variables = shim.environment(log=log, policy=policy, precision=precision, cpu=cpu,
                                     preload=[shim.LIBRARY], env={"FP32_MATMUL_LOG_LEVEL": "calls"})
        self.process = subprocess.Popen([*map(str, prefix), shim.client("steps"), *first, "ask", *steps], env=variables, text=True,
                                        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.pid = self.process.pid

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer.startswith("products "), self.process.stderr.read()
        return answer

    def end(self):
        """Ends the client. Returns the lines that it wrote to standard error."""
        output, errors = self.process.communicate()
        assert (self.process.returncode, output) == (3, "")
        return errors.splitlines()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def bits(tmp_path_factory):
    """The bits of the product at each precision, from processes that started with this precision."""
    results = {}
    for precision in ("highest", "high", "medium"):
        with Asked(tmp_path_factory.mktemp("bits") / "run.fp32rec", precision=precision) as asked:
            results[precision] = asked.ask()
    assert len(set(results.values())) == 3, "the precisions cannot be told apart by this product"
    return results


def told_while_idle(command, *words):
    """Runs a command for a process that multiplies nothing meanwhile. The command must say that it will act later."""
    result = fp32shim(command, *words, "--wait", "0.1")
    assert (result.returncode, len(result.lines)) == (3, 1)
    assert "it will act at its next product" in result.stderr


def precision_in(words):
    return fp32shim(*words, "--format", "json").json["processes"]


def test_the_very_next_call_is_made_as_it_was_set(tmp_path, bits):
    log = tmp_path / "run.fp32rec"
    with Asked(log, precision="high") as asked:
        assert [asked.ask() for _ in range(3)] == [bits["high"]] * 3
        for precision in ("medium", "highest", "high", "medium"):
            told_while_idle("set", asked.pid, precision)
            assert [asked.ask() for _ in range(2)] == [bits[precision]] * 2
        told_while_idle("set", asked.pid, "default")
        assert asked.ask() == bits["high"]
        assert asked.end() == []

    content = report(log)
    rows = {(row["requested"], row["source"], row["applied"]): row["calls"] for row in content["rows"]}
    assert rows == {("high", "environment", "tf32"): 4, ("medium", "process", "bf16"): 4,
                    ("highest", "process", "fp32"): 2, ("high", "process", "tf32"): 2}
    changes = content["processes"][0]["changes"]
    assert [(c["kind"], c["precision"], c["by"], c["done"]) for c in changes] == [
        ("set_precision", precision, "command", True) for precision in ("medium", "highest", "high", "medium", None)]
    assert [c["time"] for c in changes] == sorted(c["time"] for c in changes)
    text = fp32shim("report", log).stdout.split("Changed while it ran")[1]
    assert f"process {asked.pid}: precision medium (fp32shim command)" in text
    assert "precision back to its settings" in text


def test_a_process_that_multiplies_answers_at_once_and_top_shows_it(tmp_path, bits):
    with Asked(tmp_path / "run.fp32rec", precision="high") as asked:
        asked.ask()
        stop = threading.Event()

        def keep_asking():
            while not stop.wait(0.002):
                asked.ask()

        busy = threading.Thread(target=keep_asking)
        busy.start()
        try:
            result = fp32shim("set", asked.pid, "medium")
        finally:
            stop.set()
            busy.join()
        assert (result.returncode, result.stdout, result.stderr) == (0, f"process {asked.pid}: precision medium\n", "")
        assert asked.ask() == bits["medium"]
        assert [process["precision"] for process in precision_in(["ps", asked.pid])] == ["medium"]
        line = next(line for line in fp32shim("top", "--count", "1").stdout.splitlines()
                    if line.split()[:1] == [str(asked.pid)])
        assert " medium " in line
        rows = fp32shim("top", "--count", "1", asked.pid).stdout
        assert "high (environment)" in rows and "medium (process)" in rows
        assert asked.end() == []


def test_a_child_does_not_obey_a_command_that_its_parent_has_not_seen_yet(tmp_path, bits):
    log = tmp_path / "run.fp32rec"
    with Asked(log, "forks:1", "products:1", precision="high") as asked:
        assert asked.ask() == bits["high"]
        told_while_idle("set", asked.pid, "medium")
        assert asked.ask() == bits["medium"]
        told_while_idle("set", asked.pid, "highest")
        output, errors = asked.process.communicate()
        assert (errors, output) == ("", "forks 1\n" + bits["highest"])
    child = report(tmp_path / "run.1.fp32rec")
    assert [(c["precision"], c["by"]) for c in child["processes"][0]["changes"]] == [("medium", "carried_over")]
    assert [(row["requested"], row["calls"]) for row in child["rows"]] == [("medium", 3)]
    assert len(report(log)["processes"][0]["changes"]) == 2


def test_a_forked_childs_recording_says_the_settings_that_it_multiplies_at(tmp_path):
    """These are the settings to which its ancestors were changed, not those with which they began."""
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.format(name="first", precision="highest"))
    with Asked(tmp_path / "run.fp32rec", "nested-forks:2", policy=policy) as asked:
        asked.ask()
        policy.write_text(POLICY.format(name="second", precision="high"))
        told_while_idle("reload", asked.pid)
        asked.ask()
        asked.process.communicate()
    for name in ("run.1.fp32rec", "run.2.fp32rec"):
        child = report(tmp_path / name)
        process, = child["processes"]
        assert (process["default_precision"], process["policy_name"], process["changes"]) == ("high", "second", [])
        assert process["policy_sha256"] == hashlib.sha256(policy.read_bytes()).hexdigest()
        assert [(row["requested"], row["calls"]) for row in child["rows"]] == [("high", 3)]
    parent, = report(tmp_path / "run.fp32rec")["processes"]
    assert (parent["default_precision"], parent["policy_name"]) == ("highest", "first")


def test_what_an_ancestor_was_set_to_is_what_ps_shows_of_its_running_child(tmp_path):
    with Asked(tmp_path / "run.fp32rec", first=["ask:2", "daemonize"], precision="high") as asked:
        asked.ask()
        told_while_idle("set", asked.pid, "medium")
        asked.ask()
        asked.process.wait()
        asked.ask()
        log = str(tmp_path / "run.1.fp32rec")
        child, = [process for process in precision_in(["ps"]) if process["recording"] == log]
        assert child["precision"] == "medium"
        told_while_idle("set", child["pid"], "default")
        asked.ask()
        assert [process["precision"] for process in precision_in(["ps", child["pid"]])] == ["high"]
    assert "medium (held already when this recording began)" in fp32shim("report", log).stdout
    assert len(report(log)["processes"][0]["changes"]) == 2


def test_a_changed_policy_is_read_again(tmp_path, bits):
    log, policy = tmp_path / "run.fp32rec", tmp_path / "policy.toml"
    policy.write_text(POLICY.format(name="first", precision="high"))
    with Asked(log, policy=policy) as asked:
        assert asked.ask() == bits["high"]
        policy.write_text(POLICY.format(name="second", precision="medium"))
        assert asked.ask() == bits["high"]
        told_while_idle("reload", asked.pid)
        assert asked.ask() == bits["medium"]
        assert asked.end() == []
    content = report(log)
    change = content["processes"][0]["changes"][0]
    assert (change["kind"], change["done"], change["policy_name"]) == ("reload", True, "second")
    assert {(row["requested"], row["source"]): row["calls"] for row in content["rows"]} == {
        ("high", "file"): 2, ("medium", "file"): 1}
    assert "policy read again: second" in fp32shim("report", log).stdout


@pytest.mark.parametrize("text, why, said_by_process", [
    ("schema = 1\ndefault = \"hihg\"\n", "the policy has errors", "policy.toml:2"),
    (None, "the policy file cannot be read", "policy.toml"),
])
def test_a_policy_with_errors_is_refused_and_the_old_one_stays(tmp_path, bits, text, why, said_by_process):
    log, policy = tmp_path / "run.fp32rec", tmp_path / "policy.toml"
    policy.write_text(POLICY.format(name="first", precision="high"))
    with Asked(log, policy=policy) as asked:
        assert asked.ask() == bits["high"]
        policy.unlink()
        if text:
            policy.write_text(text)
        command = subprocess.Popen([str(COMMAND), "reload", str(asked.pid)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=shim.environment())
        while command.poll() is None:
            assert asked.ask() == bits["high"]
        output, errors = command.communicate()
        assert (command.returncode, output, len(errors.splitlines())) == (1, "", 1)
        assert f"refused: {why}" in errors
        assert asked.ask() == bits["high"]
        said = asked.end()
    assert len(said) == 1
    assert said_by_process in said[0] and "the settings are unchanged" in said[0]
    content = report(log)
    assert [(c["kind"], c["done"]) for c in content["processes"][0]["changes"]] == [("reload", False)]
    assert len(content["rows"]) == 1
    assert "refused" in fp32shim("report", log).stdout.split("Changed while it ran")[1]


def test_a_policy_that_was_written_half_way_is_refused_or_is_what_its_whole_lines_say(tmp_path, bits):
    """The file is cut at every length, or at every third one. If it is cut after a whole line, it is a valid policy."""
    log, policy = tmp_path / "run.fp32rec", tmp_path / "policy.toml"
    text = POLICY.format(name="whole", precision="medium")
    lengths = range(0, len(text), 1 if REPEATS > 30 else 3)
    policy.write_text(text)
    with Asked(log, policy=policy, cpu=None) as asked:
        assert asked.ask() == bits["medium"]
        for length in lengths:
            policy.write_text(text[:length])
            told_while_idle("reload", asked.pid)
            asked.ask()
        policy.write_text(text)
        told_while_idle("reload", asked.pid)
        assert asked.ask() == bits["medium"]
        said = asked.end()
    changes = [change for change in report(log)["processes"][0]["changes"] if change["kind"] == "reload"]
    assert len(changes) == len(lengths) + 1 and changes[-1]["done"]
    refused = sum(not change["done"] for change in changes)
    print(f"{refused} of {len(lengths)} cuts refused")
    assert refused == len([line for line in said if "the settings are unchanged" in line])
    assert len(lengths) / 2 < refused < len(lengths)


def test_a_deleted_recording_is_still_the_way_to_its_process(tmp_path, bits):
    log = tmp_path / "run.fp32rec"
    with Asked(log, precision="high") as asked:
        assert asked.ask() == bits["high"]
        log.unlink()
        told_while_idle("set", asked.pid, "medium")
        assert asked.ask() == bits["medium"]
        assert [process["precision"] for process in precision_in(["ps", asked.pid])] == ["medium"]


def test_a_recording_that_was_deleted_and_closed_is_said_to_be_out_of_reach(tmp_path, bits):
    log = tmp_path / "run.fp32rec"
    with Asked(log, precision="high", first=["products:1", f"unlink:{log}", "close-all"]) as asked:
        assert asked.process.stdout.readline() == bits["high"]
        assert asked.ask() == bits["high"]
        result = fp32shim("set", asked.pid, "medium")
        assert (result.returncode, len(result.lines)) == (2, 1)
        assert "deleted) can no longer be opened" in result.stderr


def test_a_process_that_is_gone_is_one_line(tmp_path):
    with Asked(tmp_path / "run.fp32rec", precision="high") as asked:
        asked.ask()
        asked.end()
    for command in (["set", asked.pid, "high"], ["reload", asked.pid], ["ps", asked.pid]):
        result = fp32shim(*command)
        assert (result.returncode, result.stdout, len(result.lines)) == (2, "", 1)
        assert "does not exist" in result.stderr


def test_a_process_that_proc_hides_from_others_is_not_said_to_have_ended(bits):
    owner, stranger = another_user(54321), another_user(54322)
    hidden = [shim.tool("unshare", "util-linux"), "-m", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"',
              "sh"]
    tried = subprocess.run([*hidden, "true"], capture_output=True, check=False)
    shim.need(tried.returncode == 0, "no /proc can be mounted here")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fp32shim-test-"))
    try:
        folder.chmod(0o777)
        with Asked(folder / "run.fp32rec", precision="high", prefix=owner, folder=folder) as asked:
            assert asked.ask() == bits["high"]
            (folder / "run.fp32rec").chmod(0o644)
            for prefix, state in (([], "live"), (stranger, "live"), ([*hidden, *stranger], "unknown")):
                result = fp32shim("report", "--format", "json", folder / "run.fp32rec", prefix=prefix, cwd="/")
                assert result.json["processes"][0]["state"] == state, prefix
    finally:
        shutil.rmtree(folder)


def test_a_process_of_another_user_is_refused_in_one_line(bits):
    owner, stranger = another_user(54321), another_user(54322)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fp32shim-test-"))
    try:
        folder.chmod(0o777)
        with Asked(folder / "run.fp32rec", precision="high", prefix=owner, folder=folder) as asked:
            assert asked.ask() == bits["high"]
            for command in (["set", asked.pid, "medium"], ["reload", asked.pid], ["ps", asked.pid],
                            ["report", folder / "run.fp32rec"]):
                result = fp32shim(*command, prefix=stranger, cwd="/")
                assert result.returncode in (1, 2)
                assert (result.stdout, len(result.lines)) == ("", 1), command
            assert asked.ask() == bits["high"]
            assert fp32shim("set", asked.pid, "medium", "--wait", "0", prefix=owner, cwd="/").returncode == 3
            assert asked.ask() == bits["medium"]
            # Others who may read a recording must not control the process: only the owner may write to it.
            (folder / "run.fp32rec").chmod(0o644)
            assert fp32shim("report", folder / "run.fp32rec", prefix=stranger, cwd="/").returncode == 0
            assert fp32shim("set", asked.pid, "high", prefix=stranger, cwd="/").returncode == 2
            assert asked.ask() == bits["medium"]
    finally:
        shutil.rmtree(folder)


SETTINGS = """
schema = 1
name = "{name}"
default = "{precision}"
[limits]
floor = "{floor}"
[cpu]
mode = "emulate"
"""


def in_force(pid):
    """Returns precision, floor and policy of a process in the JSON of `ps`. Checks that the table of `ps` has them, too."""
    process, = precision_in(["ps", pid])
    line = next(line for line in fp32shim("ps").stdout.splitlines() if line.split()[:1] == [str(pid)])
    said = process["precision"], process["floor"], process["policy_name"] or "-"
    assert " ".join(said) in " ".join(line.split()), line
    return said


def test_ps_and_top_show_what_is_in_force_after_a_reload(tmp_path, bits):
    policy = tmp_path / "policy.toml"
    policy.write_text(SETTINGS.format(name="one", precision="high", floor="none"))
    with Asked(tmp_path / "run.fp32rec", policy=policy) as asked:
        assert asked.ask() == bits["high"]
        assert in_force(asked.pid) == ("high", "none", "one")
        policy.write_text(SETTINGS.format(name="two", precision="highest", floor="tf32"))
        told_while_idle("reload", asked.pid)
        assert asked.ask() == bits["highest"]
        assert in_force(asked.pid) == ("highest", "tf32", "two")
        line = next(line for line in fp32shim("top", "--count", "1").stdout.splitlines()
                    if line.split()[:1] == [str(asked.pid)])
        assert "highest tf32 two" in " ".join(line.split())
        # A precision that was set for the process survives a reload.
        told_while_idle("set", asked.pid, "high")
        assert asked.ask() == bits["high"]
        policy.write_text(SETTINGS.format(name="three", precision="medium", floor="bf16"))
        told_while_idle("reload", asked.pid)
        assert asked.ask() == bits["high"]
        assert in_force(asked.pid) == ("high", "bf16", "three")
        told_while_idle("set", asked.pid, "default")
        assert asked.ask() == bits["medium"]
        assert in_force(asked.pid) == ("medium", "bf16", "three")
        # A refused policy changes nothing.
        policy.write_text("schema = 1\ndefault = \"hihg\"\n")
        told_while_idle("reload", asked.pid)
        assert asked.ask() == bits["medium"]
        assert in_force(asked.pid) == ("medium", "bf16", "three")


def test_what_was_set_is_shown_also_where_a_reload_begins_another_recording(tmp_path, bits):
    policy = tmp_path / "policy.toml"
    logged = SETTINGS + '[log]\npath = "{log}"\n'
    policy.write_text(logged.format(name="one", precision="high", floor="none", log=tmp_path / "one.fp32rec"))
    with Asked("", policy=policy) as asked:
        assert asked.ask() == bits["high"]
        told_while_idle("set", asked.pid, "medium")
        assert asked.ask() == bits["medium"]
        policy.write_text(logged.format(name="two", precision="highest", floor="none", log=tmp_path / "two.fp32rec"))
        told_while_idle("reload", asked.pid)
        assert asked.ask() == bits["medium"]
        assert in_force(asked.pid) == ("medium", "none", "two")
    change, = report(tmp_path / "two.fp32rec")["processes"][0]["changes"]
    assert (change["precision"], change["by"]) == ("medium", "carried_over")


LEAVING = """
import ctypes, shutil, sys
library, shim = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
a, one = (ctypes.c_float * 64)(*[1.0] * 64), ctypes.c_float(1)
for policy in sys.argv[4:]:
    shutil.copy(policy, sys.argv[3])
    assert shim.fp32shim_reload_policy() == 0
    library.cblas_sgemm(102, 111, 111, 8, 8, 8, one, a, 8, a, 8, one, a, 8)
"""


def leave_for(folder, *logs):
    """Runs a program that writes to these logs one after the other."""
    program, policy = folder / "program.py", folder / "policy.toml"
    program.write_text(LEAVING)
    policies = []
    for log in logs:
        policies.append(folder / f"{log}.toml")
        policies[-1].write_text(SETTINGS.format(name=log, precision="highest", floor="none")
                                + f'[log]\npath = "{folder / log}"\n')
    policy.write_text(policies[0].read_text())
    subprocess.run([shim.SYSTEM_PYTHON, program, shim.blas_library("openblas"), shim.LIBRARY, policy, *policies],
                   env=shim.environment(policy=policy, blas="openblas", preload=[shim.LIBRARY]), check=True)


def doubts_of(*recordings):
    """Returns the recordings that `verify` doubts, and those whose process may have loaded more libraries later."""
    content = fp32shim("verify", "--at-least", "fp32", "--format", "json", *recordings).json
    later = [path for bypass in content["bypasses"] if bypass["bypass"] == "later" for path in bypass["recordings"]]
    return [doubt["recording"] for doubt in content["doubts"]], later


def test_a_recording_that_was_left_is_not_doubted_beside_the_one_that_goes_on(tmp_path):
    leave_for(tmp_path, "one.fp32rec", "two.fp32rec", "three.fp32rec")
    one, two, three = [str(tmp_path / f"{name}.fp32rec") for name in ("one", "two", "three")]
    assert doubts_of(one) == ([one], [one])
    assert doubts_of(one, three) == ([one], [one])
    assert doubts_of(three) == ([], [])
    assert doubts_of(three, two, one) == ([], [])


def test_a_recording_that_was_left_for_no_other_is_doubted_beside_a_later_one_too(tmp_path):
    leave_for(tmp_path, "one.fp32rec", "elsewhere.jsonl", "two.fp32rec")
    one, two = str(tmp_path / "one.fp32rec"), str(tmp_path / "two.fp32rec")
    assert doubts_of(one, two) == ([one], [one])


def told_while_busy(asked, command, *words):
    """Runs a command for a process that multiplies meanwhile. Returns the command's line."""
    waiting = subprocess.Popen([str(COMMAND), command, str(asked.pid), *words], stdout=subprocess.PIPE, text=True,
                               env=shim.environment())
    while waiting.poll() is None:
        asked.ask()
    output, _ = waiting.communicate()
    assert waiting.returncode == 0
    return output


def test_the_answer_says_why_a_precision_has_no_effect(tmp_path, bits):
    policy = tmp_path / "policy.toml"
    for name, floor, mode, answers in (
            ("floored", "fp32", "emulate", {"medium": "; the floor fp32 applies", "highest": ""}),
            ("partly", "tf32", "emulate", {"medium": "; the floor tf32 applies", "high": ""}),
            ("off", "none", "off", {"high": "; CPU mode is off: products on the CPU stay in float32", "highest": "",
                                    "auto": "", "default": ""})):
        policy.write_text(SETTINGS.format(name=name, precision="native", floor=floor))
        with Asked(tmp_path / f"{name}.fp32rec", policy=policy, cpu=mode) as asked:
            asked.ask()
            for precision, why in answers.items():
                words = "back to its settings" if precision == "default" else precision
                said = told_while_busy(asked, "set", precision)
                assert said == f"process {asked.pid}: precision {words}{why}\n"


CHANGING = """
import ctypes, sys
library, shim = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
a, one = (ctypes.c_float * 64)(*[1.0] * 64), ctypes.c_float(1)
library.cblas_sgemm(102, 111, 111, 8, 8, 8, one, a, 8, a, 8, one, a, 8)
for word in sys.stdin:
    floor, changes = word.split()
    shim.fp32shim_set_floor(floor.encode())
    for i in range(int(changes)):
        assert shim.fp32shim_set_precision((b"high", b"medium")[i % 2]) == 0
    print("changed", flush=True)
"""


def test_what_many_changes_have_pushed_out_of_the_recording_is_unknown(tmp_path):
    """A recording has room for 256 changes. After more, floor and policy are known only if one of the last 256 sets them."""
    program = tmp_path / "program.py"
    program.write_text(CHANGING)
    words = [shim.SYSTEM_PYTHON, str(program), str(shim.blas_library("openblas")), str(shim.LIBRARY)]
    variables = shim.environment(log=tmp_path / "run.fp32rec", precision="native", blas="openblas", preload=[shim.LIBRARY])
    with subprocess.Popen(words, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        def changed(floor, changes):
            process.stdin.write(f"{floor} {changes}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "changed\n"
            seen, = precision_in(["ps", process.pid])
            return seen["precision"], seen["floor"], seen["policy_name"]

        assert changed("tf32", 255) == ("high", "tf32", None)
        assert changed("tf32", 2) == ("medium", None, None)
        assert " medium ? ? " in " ".join(fp32shim("ps", process.pid).stdout.split())
        assert changed("fp32", 2) == ("medium", "fp32", None)
        assert changed("fp32", 300) == ("medium", None, None)
        process.stdin.close()
    assert process.returncode == 0
    # 558 changes of precision, since one precision was set already, and 2 of the floor.
    log = tmp_path / "run.fp32rec"
    content = report(log)
    assert content["totals"]["lost_changes"] == content["processes"][0]["lost_changes"] == 560 - 256
    verified = fp32shim("verify", "--at-least", "fp32", "--format", "json", log)
    assert verified.json["lost_changes"] == 560 - 256
    for words in (["report", log], ["verify", "--at-least", "fp32", log], ["log", log]):
        result = fp32shim(*words)
        assert (result.stdout + result.stderr).count("304 changes of settings ") == 1, words


def test_a_command_is_shown_whole_in_a_pipe_and_cut_on_a_terminal(tmp_path):
    long = tmp_path / ("long" * 25)
    with Asked(tmp_path / "run.fp32rec", f"unlink:{long}", precision="high") as asked:
        asked.ask()
        whole = fp32shim("ps").stdout
        assert f"ask unlink:{long}" in whole
        # Only this process: other processes of this user might need wider columns.
        lines = on_a_terminal(["ps", asked.pid], width=100, NO_COLOR="1").split("\r\n")
        line = next(line for line in lines if line.split()[:1] == [str(asked.pid)])
        assert len(line) == 100 and "…" in line


class Recording:
    """Some processes of one user that record and answer at once, in a folder to which this user may write."""

    def __init__(self, user, count):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fp32shim-test-"))
        self.folder.chmod(0o777)
        words = [*user, str(shim.client("make_recording"))]
        self.processes = [subprocess.Popen([*words, str(self.folder / f"{i}.fp32rec"), "summary", "--stay",
                                            "f:8:native:fp32:as_requested:1"], text=True, env=shim.environment(),
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE) for i in range(count)]
        for process in self.processes:
            assert process.stdout.readline()

    def pids(self):
        return [process.pid for process in self.processes]

    def precisions(self):
        return [[change["precision"] for change in report(self.folder / f"{i}.fp32rec")["processes"][0]["changes"]]
                for i in range(len(self.processes))]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.communicate(timeout=600)
        shutil.rmtree(self.folder)


def test_several_processes_are_told_at_once():
    with Recording([], 3) as recording:
        pids = recording.pids()
        result = fp32shim("set", *pids, "highest")
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.splitlines() == [*(f"process {pid}: precision highest" for pid in pids), "done in 3 of 3 processes"]
        assert recording.precisions() == [["highest"]] * 3
        result = fp32shim("set", pids[0], pids[0], "native", "--wait", "10")
        assert (result.returncode, result.stdout) == (0, f"process {pids[0]}: precision native\n"), "named twice, told once"
        refused = fp32shim("reload", *pids[:2])
        assert (refused.returncode, len(refused.lines), refused.stdout) == (1, 2, "done in 0 of 2 processes\n")


def test_of_several_answers_the_worst_is_the_exit_status(tmp_path, bits):
    with Recording([], 1) as recording, Asked(tmp_path / "run.fp32rec", precision="high") as asked:
        assert asked.ask() == bits["high"]
        live, = recording.pids()
        for pids, status in (([live, asked.pid], 3), ([asked.pid, live], 3), ([live, 0x3ffff0], 2),
                             ([asked.pid, live, 0x3ffff0], 2)):
            result = fp32shim("set", *pids, "highest", "--wait", "0.3")
            assert result.returncode == status, result.stderr
            assert result.stdout.splitlines() == [f"process {live}: precision highest", f"done in 1 of {len(pids)} processes"]
            assert len(result.lines) == len(pids) - 1
        result = fp32shim("reload", live, asked.pid, "--wait", "0.3")
        assert result.returncode == 1, "one refused, one has not answered"


def test_all_are_those_of_this_user():
    owner, stranger = another_user(54331), another_user(54332)
    with Recording(owner, 2) as recording, Recording(stranger, 1) as other:
        result = fp32shim("set", "--all", "highest", prefix=owner, cwd="/")
        assert result.returncode == 0, result.stderr
        assert result.stdout.splitlines() == [*(f"process {pid}: precision highest" for pid in sorted(recording.pids())),
                                              "done in 2 of 2 processes"]
        assert (recording.precisions(), other.precisions()) == ([["highest"]] * 2, [[]])
        assert fp32shim("reload", "--all", prefix=stranger, cwd="/").stdout == "done in 0 of 1 process\n"
    nobody = fp32shim("set", "--all", "highest", prefix=owner, cwd="/")
    assert (nobody.returncode, nobody.stdout, len(nobody.lines)) == (2, "", 1)
    assert "no process of this user is recording now" in nobody.stderr


@pytest.fixture
def inside():
    """Words before a program. Programs that are started with these words see only each other's processes."""
    shim.need(os.geteuid() == 0, "only root can make namespaces")
    holder = subprocess.Popen([shim.tool("unshare", "util-linux"), "--pid", "--mount", "--fork", "--mount-proc", "--kill-child",
                               "sh", "-c", "echo; exec sleep 1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        shim.need(holder.stdout.readline() == b"\n", "no namespace can be made here")
        first, = pathlib.Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
        yield [shim.tool("nsenter", "util-linux"), f"--target={first}", "--pid", "--mount"]
    finally:
        holder.kill()
        holder.communicate()


@pytest.mark.parametrize("command", [["set", "--all", "highest"], ["reload", "--all"]], ids=["set", "reload"])
def test_root_is_asked_before_all_reaches_other_users(inside, command):
    kinds = [["highest"]] if command[0] == "set" else [[None]]
    with Recording([*inside, *another_user(54331)], 1) as other, Recording(inside, 1) as own:
        refused = fp32shim(*command, prefix=inside)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert sorted(line.split(":")[0].split(" of ")[1] for line in refused.lines[:2]) == ["root", "user 54331"]
        assert refused.lines[2].endswith("--all means 2 processes here, 1 of other users; allowed without a terminal: --yes, or process ids")
        no = on_a_terminal(command, prefix=inside, answer="n\n")
        assert "of user 54331: /" in no and "nothing was changed" in no and "done in" not in no
        assert (other.precisions(), own.precisions()) == ([[]], [[]])
        assert "of 2 processes" in on_a_terminal(command, prefix=inside, answer="y\n")
        assert (other.precisions(), own.precisions()) == (kinds, kinds)
        assert "of 2 processes" in fp32shim(*command, "--yes", prefix=inside).stdout


def test_without_a_terminal_root_is_not_asked_about_its_own_processes(inside):
    with Recording(inside, 2) as own:
        shown = on_a_terminal(["set", "--all", "highest"], prefix=inside, answer="n\n")
        assert "--all means 2 processes here; set them? [y/N]" in shown and "nothing was changed" in shown
        assert own.precisions() == [[]] * 2
        result = fp32shim("set", "--all", "highest", prefix=inside)
        assert (result.returncode, result.stderr) == (0, "") and "done in 2 of 2 processes" in result.stdout


def test_root_is_not_told_to_be_root():
    """Process 1 can have rights that root in a container lacks."""
    shim.need(os.geteuid() == 0, "this user is not root")
    try:
        pathlib.Path("/proc/1/maps").read_bytes()
        shim.need(False, "process 1 may be looked into")
    except PermissionError:
        pass
    result = fp32shim("ps", 1)
    assert (result.returncode, len(result.lines)) == (2, 1)
    assert "process 1 cannot be inspected from here" in result.stderr and "root" not in result.stderr
