"""`fp32shim run` notes the end of a run in its recordings. Without that note, nothing is shown."""

import os
import re
import select
import shutil
import subprocess
import sys

import pytest

import shim
from command import COMMAND, environment, fp32shim
from test_missing_recordings import family, files, log, only  # noqa: F401 (fixtures)
from test_verify_bypasses import verify

def run(log, program, script, prefix=(), options=(), **settings):
    """Runs a shell script by `fp32shim run`, which waits for it. `{program}` in the script is the path of `family`."""
    settings["LD_LIBRARY_PATH"] = shim.blas_directory("reference")
    script = script.replace("{program}", str(program))
    options = [*options, "--log", log] if log else options
    done = subprocess.run([*prefix, COMMAND, "run", *options, "--", "sh", "-c", script], capture_output=True, text=True,
                          check=False, env=environment(**settings))
    assert done.returncode == 0, done.stderr
    return done


def doubts(result):
    return " ".join(doubt["reason"] for doubt in result.json["doubts"])


def test_a_run_that_was_seen_to_end_is_shown(family, log, tmp_path):
    run(log, family, "'{program}' product; '{program}' product exec product ]")
    assert len([name for name in files(log) if "children" not in name]) == 3
    for path in (log, log.parent, only(log, tmp_path, *files(log))):
        result = verify(path)
        assert result.returncode == 0 and "that waited for its program" not in result.json["scope"]


@pytest.mark.parametrize("options", [(), ("--log", "run.fp32rec")])
def test_the_recording_of_a_run_without_products_says_that_the_run_was_seen_to_end(tmp_path, options):
    subprocess.run([COMMAND, "run", *options, "--", "sh", "-c", "true"], check=True, cwd=tmp_path, env=environment())
    result = fp32shim("verify", "--at-least", "fp32", "--format", "json", *options[1:], cwd=tmp_path)
    assert "that waited for its program" not in result.json["scope"]
    assert [doubt["reason"] for doubt in result.json["doubts"]] == ["no recording has calls"]


def test_recordings_that_no_waiting_run_made_are_said_not_to_be_all(family, log):
    done = subprocess.run([family, "product"], check=False, env=environment(
        LD_LIBRARY_PATH=shim.blas_directory("reference"), LD_PRELOAD=shim.LIBRARY, FP32_MATMUL_LOG=log))
    assert done.returncode == 0
    result = verify(log)
    assert result.returncode == 0 and "that waited for its program (without --quiet)" in result.json["scope"]


OTHER_RUN = "was started with another FP32SHIM_RUN, or none: its recording does not belong to this run"


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
@pytest.mark.parametrize("name, other", [
    ("run.fp32rec", "env -u FP32SHIM_RUN"), ("run-%p.fp32rec", "env -u FP32SHIM_RUN"),
    ("run.fp32rec", "FP32SHIM_RUN='00000000000000ff /tmp/other.children.fp32rec'"),
    ("run-%p.fp32rec", "FP32SHIM_RUN='00000000000000ff /tmp/other.children.fp32rec'"),
    ("run-%p.fp32rec", "'{command}' run -q --log '{log}' --")])  # without %p, such a run belongs to the outer one
def test_a_program_that_lost_the_number_of_its_run_is_a_doubt(family, log, name, other, quiet):
    log = log.with_name(name)
    other = other.replace("{command}", str(COMMAND)).replace("{log}", str(log))
    run(log, family, f"'{{program}}' product; {other} '{{program}}' product", options=quiet)
    recordings = [path for path in log.parent.iterdir() if "children" not in path.name]
    assert len(recordings) == 2 and OTHER_RUN in " ".join(verify(path).stdout for path in recordings)


def test_an_earlier_recording_with_the_same_name_is_no_doubt(family, log):
    subprocess.run([family, "product"], check=True, env=environment(
        LD_LIBRARY_PATH=shim.blas_directory("reference"), LD_PRELOAD=shim.LIBRARY, FP32_MATMUL_LOG=log))
    run(log, family, "'{program}' product")
    assert verify(log.with_name("run.1.fp32rec")).returncode == 0


@pytest.mark.parametrize("fate", ["rm", "mv {} ../moved.fp32rec #"])
def test_a_recording_that_was_removed_or_moved_away_is_missed(family, log, fate):
    run(log, family, f"'{{program}}' product; cd '{log.parent}'; {fate.replace('{}', 'run.fp32rec')} run.fp32rec\n"
        "'{program}' product")
    assert "run.fp32rec" in files(log)
    result = verify(log.parent)
    assert result.returncode == 3 and "processes of its run made 2 recordings, of which one is here" in doubts(result)


def test_a_program_that_records_under_another_name_of_the_policy_is_missed(family, log, tmp_path):
    """The policy names the log, and is edited between two programs of the run."""
    policy = tmp_path / "policy.toml"
    policy.write_text(f'schema = 1\n[log]\npath = "{log}"\n')
    run(None, family, f"'{{program}}' product; sed -i 's/run.fp32rec/other.fp32rec/' '{policy}'; '{{program}}' product",
        FP32_MATMUL_POLICY=policy)
    assert {"other.fp32rec", "run.fp32rec"} <= set(files(log))
    for path in log, log.with_name("other.fp32rec"):
        assert verify(path).returncode == 3
    (log.parent / "other.fp32rec").unlink()
    result = verify(log)
    assert result.returncode == 3 and "2 recordings, of which one is here" in doubts(result)


def test_a_link_that_leads_elsewhere_for_a_while_hides_no_recording(family, log, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "link"
    link.symlink_to("made")
    run(link / "run.fp32rec", family, f"'{{program}}' product; ln -sfn elsewhere '{link}'; '{{program}}' product; ln -sfn made '{link}'")
    assert list((tmp_path / "elsewhere").iterdir())
    result = verify(log)
    assert result.returncode == 3 and "2 recordings, of which one is here" in doubts(result)


def test_a_process_that_cannot_leave_a_mark_while_the_run_goes_on_says_so(family, log, tmp_path):
    away = log.parent.with_name("away")
    done = run(log, family, f"'{{program}}' product; mv '{log.parent}' '{away}'; '{{program}}'; mv '{away}' '{log.parent}'")
    assert done.stderr.count("the files that this process had loaded cannot be recorded for fp32shim verify") == 1


def test_the_file_for_children_is_removed_if_it_says_nothing(family, log):
    run(log, family, "'{program}' product")
    assert files(log) == ["run.fp32rec"]
    done = subprocess.run([COMMAND, "run", "--log", log.with_name("no.fp32rec"), "--", log], check=False, capture_output=True)
    assert done.returncode == 126 and files(log) == ["run.fp32rec"]


@pytest.mark.parametrize("script", ["'{program}' product; mv '{folder}/run.fp32rec' '{folder}/old.fp32rec'; '{program}' product",
                                    "'{program}' product; cp '{folder}/run.fp32rec' '{folder}/old.fp32rec'; '{program}' product"])
def test_a_recording_that_left_its_name_before_the_end_of_the_run_is_a_doubt(family, log, tmp_path, script):
    run(log, family, script.replace("{folder}", str(log.parent)))
    alone = only(log, tmp_path, "old.fp32rec")
    result = verify(alone)
    assert result.returncode == 3 and "the end of its run is not noted in it" in doubts(result)
    assert "recordings, of which" not in doubts(verify(log.parent))  # both are here


def test_a_run_that_was_killed_is_a_doubt(family, log):
    run(log, family, "'{program}' product; kill -9 $PPID", prefix=["sh", "-c", '"$0" "$@"; true'])
    result = verify(log)
    assert result.returncode == 3 and "the end of its run is not noted in it" in doubts(result)


LONG = ": 'x" + 30 * "\N{SLIGHTLY SMILING FACE}" + "'"  # byte 80 of the command lies within a character


@pytest.mark.parametrize("program", [f"sh -c \"{LONG}; read line <'{{fifo}}'; exec '{{program}}' product\"",
                                     "'{program}' overwrite-environment shell \"read line <'{fifo}'\" product"])
def test_a_process_that_goes_on_after_its_run_is_a_doubt_until_it_has_ended(family, log, tmp_path, program):
    """The process waits for a writer of the FIFO."""
    fifo = tmp_path / "go on"
    os.mkfifo(fifo)
    done = run(log, family, f"'{{program}}' product; {program.replace('{fifo}', str(fifo))} >&- 2>&- &")
    assert "still running, so more products may follow: " in done.stderr
    assert "\\x" not in done.stderr  # a long command is cut between two characters
    result = verify(log)
    assert result.returncode == 3 and "still run" in doubts(result) and "so more calls may follow: " in doubts(result)
    assert ("overwrote its environment and may be no part of the run" in doubts(result)) == ("overwrite" in program)
    held = [os.pidfd_open(int(pid)) for pid in re.findall(r"\(process (\d+)", done.stderr.split("still running")[-1])]
    assert held
    fifo.write_text("\n")
    for process in held:
        assert select.select([process], [], [], 600)[0]  # the process has ended
        os.close(process)
    assert "run.1.fp32rec" in files(log) and "still run" not in doubts(verify(log))


def test_the_file_for_children_is_asked_for_even_if_it_was_made_after_a_recording(family, log, tmp_path):
    run(log, family, "'{program}' product; env -u LD_PRELOAD '{program}'")
    assert "run.children.fp32rec" in files(log) and verify(log).returncode == 3
    result = verify(only(log, tmp_path, "run.fp32rec"))
    assert result.returncode == 3 and "the file for the children of its run" in doubts(result)


def test_the_file_for_children_is_no_log_of_calls(family, log):
    run(log, family, "'{program}' product; env -u LD_PRELOAD '{program}'")
    calls = [subprocess.run([COMMAND, "log", *paths], check=False, capture_output=True, text=True)
             for paths in ([log], [log.parent], [log.with_name("run.children.fp32rec")])]
    assert calls[0].returncode == 0 and calls[0].stdout == calls[1].stdout != ""
    assert calls[2].returncode == 2 and calls[2].stdout == "" and "it lists what ran without a recording" in calls[2].stderr


def test_a_program_of_a_run_that_cannot_record_is_a_doubt(family, log, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text('schema = 1\n[log]\ngroup = "no-such-group"\n')
    done = run(log, family, f"'{{program}}' product; FP32_MATMUL_POLICY='{policy}' '{{program}}' product")
    assert "nothing is recorded" in done.stderr
    result = verify(log)
    assert result.returncode == 3 and "a process of its run multiplied but could not make a recording" in doubts(result)


@pytest.fixture
def mounts():
    shim.need(os.geteuid() == 0 and shutil.which("unshare"), "only root may mount")
    allowed = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], check=False, capture_output=True)
    shim.need(allowed.returncode == 0, "mounting is not permitted here")


def test_a_program_in_a_mount_namespace_that_hides_the_log_is_a_doubt(family, log, mounts):
    run(log, family, f"'{{program}}' product; unshare -m sh -c \"mount -t tmpfs none '{log.parent}'; '{{program}}' product\"")
    assert files(log) == ["run.children.fp32rec", "run.fp32rec"]
    result = verify(log)
    assert result.returncode == 3 and "is a mount that hides the folder of the recordings" in result.stdout


def test_of_several_mounts_only_the_first_that_hides_the_log_is_named(family, log, mounts):
    mount = "import ctypes; [ctypes.CDLL(None).mount(b'none', b'%s', b'tmpfs', 0, None) for _ in range(3)]" % log.parent
    run(log, family, f"'{{program}}' product; unshare -m {sys.executable} -c \"{mount}\"")
    result = verify(log)
    assert result.returncode == 3 and result.stdout.count("is a mount that hides") == 1 and "times in all" not in result.stdout


def test_a_program_in_a_mount_namespace_that_does_not_hide_the_log_is_seen(family, log, tmp_path, mounts):
    (tmp_path / "other").mkdir()
    run(log, family, f"'{{program}}' product; unshare -m sh -c \"mount -t tmpfs none '{tmp_path}/other'; '{{program}}' product\"")
    assert verify(log).returncode == 0 and verify(log).json["calls"] == 2


def test_a_chroot_that_has_a_folder_of_the_logs_name_is_a_doubt(family, log, tmp_path):
    shim.need(os.geteuid() == 0 and shutil.which("chroot"), "only root may chroot")
    root = tmp_path / "root"
    needed = [family, shim.LIBRARY, "/bin/sh"]
    for file in [*needed, *{word for path in needed for word in subprocess.run(
            ["ldd", path], capture_output=True, text=True, check=True,
            env=environment(LD_LIBRARY_PATH=shim.blas_directory("reference"))).stdout.split() if word.startswith("/")}]:
        (root / str(file)[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / str(file)[1:])
    (root / str(log.parent)[1:]).mkdir(parents=True)
    run(log, family, f"'{{program}}' product; chroot '{root}' '{{program}}' product")
    assert list((root / str(log.parent)[1:]).iterdir())  # the program recorded in its own root folder
    result = verify(log)
    assert result.returncode == 3 and "folder of the recordings is another one or missing" in result.stdout
