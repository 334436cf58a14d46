"""Exceptions to a floor ([[limits.except]]) under real users, groups and faked control groups; docs/force-fp32.md."""

import os
import pathlib
import subprocess
import tempfile
import time

import pytest

import page
import shim
from command import build, environment, fp32shim

POLICY = """schema = 1
name = "site"
default = "high"
[limits]
floor = "fp32"
[[limits.except]]
name = "vision"
floor = "tf32"
{}
[cpu]
mode = "emulate"
"""
SLURM = "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")


@pytest.fixture
def place():
    """A folder into which every user may write."""
    with tempfile.TemporaryDirectory(prefix="fp32shim-except-") as folder:
        os.chmod(folder, 0o777)
        yield pathlib.Path(folder)


def as_user(user=1017, group=1017, groups=""):
    return [shim.tool("setpriv", "util-linux"), f"--reuid={user}", f"--regid={group}",
            f"--groups={groups}" if groups else "--clear-groups"]


def in_job(place, cgroup=SLURM, vouched=None, mode="755"):
    """Returns words before a program that fake its control group and, if `vouched` is given, the folder of vouched jobs."""
    (place / "cgroup").write_text(cgroup)
    inside = f"mount --bind {place}/cgroup /proc/$$/cgroup\nmount -t tmpfs tmpfs /run\n"
    if vouched is not None:
        jobs = "/run/fp32shim/jobs"
        inside += f"mkdir -p {jobs}; echo '{vouched}' > {jobs}/4711; chmod {mode} {jobs}\n"
    probe = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-euc", inside], capture_output=True,
                           text=True, check=False)
    shim.need(probe.returncode == 0, f"no control group can be faked here: {probe.stderr}")
    return ["unshare", "--mount", "--propagation", "private", "sh", "-euc", inside + 'exec "$@"', "sh"]


def product(place, conditions, prefix=(), before=(), **variables):
    """Multiplies once under a policy with these conditions. Returns the process of the recording, and stderr."""
    policy = place / "policy.toml"
    policy.write_text(POLICY.format(conditions))
    log = place / f"{len(list(place.glob('*.fp32rec')))}.fp32rec"
    done = shim.run("cblas_product", blas="reference", log=str(log), prefix=prefix, preload_before=before, cwd=place,
                    env={"FP32_MATMUL_POLICY": str(policy), **variables})
    report = fp32shim("report", "--format", "json", log).json
    process, = report["processes"]
    assert [row["ran_at"] if "ran_at" in row else row["applied"] for row in report["rows"]] == [
        "tf32" if process["floor"] == "tf32" else "fp32"], "the floor in the recording is the one that held"
    return process, done.stderr


def floor(*arguments, **keywords):
    process, stderr = product(*arguments, **keywords)
    assert stderr == ""
    assert process["floor_exception"] == ("vision" if process["floor"] == "tf32" else None)
    return process["floor"]


@pytest.mark.parametrize("who, conditions, holds", [
    ({}, "user = 1017", True),
    ({"user": 1018}, "user = 1017", False),
    ({"user": 1}, 'user = ["root", "daemon"]', True),
    ({"user": 1018, "group": 4242}, "group = 4242", True),
    ({"groups": "7,4242"}, "group = 4242", True),
    ({"groups": "7"}, "group = 4242", False),
    ({"user": 1, "group": 99}, 'group = "daemon"', False),  # by /etc/passwd only, not of this process
    ({"groups": "4242"}, "user = 1018\ngroup = 4242", False),
    ({"groups": "4242"}, "user = 1017\ngroup = 4242", True),
], ids=str)
def test_the_ids_that_a_process_really_has_decide(place, who, conditions, holds):
    assert floor(place, conditions, as_user(**who)) == ("tf32" if holds else "fp32")


def test_a_recording_has_the_real_user(place):
    assert product(place, "user = 1017", as_user())[0]["user"] == 1017


def test_a_library_that_answers_for_the_c_library_imitates_nobody(place):
    liar = build(place / "libliar.so", "unsigned getuid(void) { return 1017; } unsigned geteuid(void) { return 1017; }",
                 "-shared", "-fPIC")
    assert floor(place, "user = 1017", as_user(1018), before=[liar]) == "fp32"


def test_a_recording_has_the_user_outside_of_a_user_namespace(place):
    namespace = [*as_user(), "unshare", "--user", "--map-root-user"]
    probe = subprocess.run([*namespace, "true"], capture_output=True, check=False)
    shim.need(probe.returncode == 0, "no user namespace here")
    assert product(place, "user = 1017", namespace)[0]["user"] == 1017


def test_a_recording_has_the_job_of_the_control_group_if_no_variable_tells_it(place):
    process = product(place, "job = 4711", [*in_job(place), "env", "-u", "SLURM_JOB_ID"])[0]
    assert (process["job_id"], process.get("job_id_from")) == ("4711", None)
    assert product(place, "job = 4711", in_job(place), SLURM_JOB_ID="1")[0]["job_id"] == "1"


def test_ids_that_were_chosen_in_a_user_namespace_count_for_nothing(place):
    namespace = ["unshare", "--user", "--map-user=1017"]
    probe = subprocess.run([*namespace, "true"], capture_output=True, check=False)
    shim.need(probe.returncode == 0, "no user namespace here")
    assert floor(place, "user = 1017", namespace) == "fp32"
    # There, a user can hide the folder in which the site vouches for jobs.
    job = {"SLURM_JOB_ID": "4711", "SLURM_JOB_ACCOUNT": "vision"}
    assert floor(place, 'account = "vision"', namespace, **job) == "fp32"
    assert floor(place, "job = 4711", namespace, **job) == "fp32"


def test_a_name_without_a_number_is_said_in_one_line_and_the_floor_holds(place):
    process, stderr = product(place, 'group = "no-such-group"', as_user())
    assert process["floor"] == "fp32"
    line, = stderr.splitlines()
    assert 'group "no-such-group", which is not in /etc/group' in line and "write its number" in line


def test_a_command_is_any_that_is_called_so(place):
    assert floor(place, 'command = "*cblas_prod*"') == "tf32"
    assert floor(place, 'command = "*train.py*"') == "fp32"


def test_variables_tell_a_job_outside_of_control_groups(place):
    alone = in_job(place, "0::/user.slice\n")
    job = {"SLURM_JOB_ID": "4711", "SLURM_JOB_ACCOUNT": "vision"}
    assert floor(place, "job = 4711", alone, **job) == "tf32"
    assert floor(place, 'account = "vision"', alone, **job) == "tf32"
    assert floor(place, 'account = "vision"', alone, LSB_JOBID="9", LSB_PROJECT_NAME="vision") == "tf32"
    assert floor(place, 'account = "vision"', alone) == "fp32"


def test_a_control_group_that_names_the_job_counts_more_than_variables(place):
    vision = {"SLURM_JOB_ACCOUNT": "vision"}
    assert floor(place, "job = 4711", in_job(place)) == "tf32"
    assert floor(place, "job = 1", in_job(place), SLURM_JOB_ID="1") == "fp32"
    assert floor(place, 'account = "vision"', in_job(place), SLURM_JOB_ID="4711", **vision) == "tf32"
    assert floor(place, 'account = "vision"', in_job(place), SLURM_JOB_ID="1", **vision) == "fp32"


def test_where_the_site_vouches_variables_count_for_nothing(place):
    lie = {"SLURM_JOB_ID": "4711", "SLURM_JOB_ACCOUNT": "vision"}
    both = 'job = 4711\naccount = "vision"'
    vouched = in_job(place, vouched="vision")
    assert floor(place, both, vouched) == "tf32"
    assert floor(place, both, [*vouched, *as_user()]) == "tf32"
    assert floor(place, both, in_job(place, vouched="other"), **lie) == "fp32"
    assert floor(place, both, in_job(place, "0::/\n", vouched="vision"), **lie) == "fp32"
    # A folder into which others may write vouches for nothing, so variables count again.
    assert floor(place, both, in_job(place, vouched="other", mode="777"), **lie) == "tf32"


def test_the_prolog_vouches(place):
    prolog = (page.FILES / "slurm/prolog.sh").read_text()
    prolog = prolog.replace("/run/fp32shim", f"{place}/run/fp32shim").replace("/var/log", f"{place}")
    subprocess.run(["sh", "-eu", "-c", prolog], env={"SLURM_JOB_ID": "4711", "SLURM_JOB_ACCOUNT": "vision"}, check=True)
    assert (place / "run/fp32shim/jobs/4711").read_text() == "vision\n"
    assert (place / "run/fp32shim/jobs").stat().st_mode & 0o777 == 0o755
    assert (place / "fp32shim").stat().st_mode & 0o7777 == 0o1777


def test_explain_names_the_exception_that_applies(place):
    (place / "p.toml").write_text(POLICY.format("user = 1017"))

    def explained(user, *words):
        return fp32shim("explain", "--policy", place / "p.toml", "--function", "cblas_sgemm", *words,
                        prefix=as_user(user, groups="7,1017"), cwd="/")
    text = explained(1017).stdout
    assert "  floor       tf32\n" in text
    assert f'  exception   "vision" ({place}/p.toml:6), tf32 instead of fp32: applies\n' in text
    assert "  asked by    user 1017, groups 7 1017, job none, account none, command not given (--command)\n" in text
    assert explained(1017, "--format", "json").json["floor_exception"] == "vision"
    other = explained(1018)
    assert "tf32 instead of fp32: does not apply\n" in other.stdout and "  floor       fp32\n" in other.stdout


def test_check_says_who_can_imitate_an_exception_and_what_has_no_effect(place):
    policy = place / "p.toml"

    def check(conditions, more="", file_floor="fp32"):
        policy.write_text(POLICY.format(conditions).replace('floor = "fp32"', f'floor = "{file_floor}"') + more)
        done = fp32shim("check", policy)
        assert done.returncode == 0, done.stdout
        return done.stdout
    high = '[[rule]]\nname = "fast"\nprecision = "high"\n'
    medium = '[[rule]]\nname = "faster"\nprecision = "medium"\n'
    assert 'exception "vision", floor tf32: settings alone cannot imitate what it asks for.\n' in check("user = 1017")
    assert "settings alone cannot imitate" in check('user = 1017\ncommand = "x"')
    assert "any user can imitate it, since any program can be given such a name.\n" in check('command = "x"')
    if not pathlib.Path("/run/fp32shim/jobs").exists():
        assert "any user can imitate it, since variables tell the job and its account.\n" in check("job = 1")
    assert "warning" not in check("user = 1017", high)
    assert 'rule "faster" asks for medium, which the floor fp32 never allows' in check("user = 1017", medium)
    assert 'its floor tf32 is not below [limits] floor, which is tf32' in check("user = 1017", file_floor="tf32")
    assert 'its floor tf32 is not below [limits] floor, which is none' in check("user = 1017", file_floor="none")
    assert "is not in /etc/group, the only place that is asked; write its number" in check('group = "no-such-group"')


@pytest.mark.parametrize("precision, when, raised_by", [
    ('"high"', "", ["fp32"]), ('"medium"', "", ["fp32", "tf32"]), ('"auto"', "", []), ('"highest"', "", []),
    ('"native"', "", []), ('"bf16x9"', "", ["fp32"]), ("{ tolerance = 1e-3 }", "", ["fp32"]),
    ('"high"', 'when = { dtype = "float64" }', ["fp32"]), ('"fp64"', 'when = { dtype = "float64" }', []),
    ('"high"', "when = { m = 3, device = 'cuda' }", ["fp32"]),
], ids=str)
def test_check_names_the_rules_that_a_floor_defeats(place, precision, when, raised_by):
    def is_named(limits):
        policy = place / "p.toml"
        policy.write_text(f"schema = 1\n[limits]\n{limits}\n[[rule]]\nname = 'x'\nprecision = {precision}\n{when}\n")
        done = fp32shim("check", policy)
        assert done.returncode == 0, done.stdout
        return "never allows; remove it" in done.stdout
    assert [floor for floor in ("fp32", "tf32", "none") if is_named(f"floor = '{floor}'")] == raised_by
    assert not is_named("floor = 'fp32'\n[[limits.except]]\nuser = 1")


def test_verify_judges_each_job_by_the_floor_that_bound_it(place):
    variables = {"SLURM_JOB_ID": "1"}
    product(place, "user = 1017", as_user(), **variables)
    product(place, "user = 1017", as_user(1018), SLURM_JOB_ID="2")
    both = fp32shim("verify", place)
    assert (both.returncode, both.stderr) == (0, ""), both.stdout
    assert both.stdout.startswith("Shown: 2 of 2 jobs are shown to have kept the floors that bound them.\n")
    rows = [line.split() for line in both.stdout.splitlines()]
    assert ["1", "1017", "tf32", "vision", "1", "tf32", "shown"] in rows and ["2", "1018", "fp32", "1", "fp32", "shown"] in rows

    # Floor fp32 in the header of a recording with a product in TF32: as if the library had not kept it.
    broken = place / "broken.fp32rec"
    broken.write_bytes((place / "0.fp32rec").read_bytes())
    with broken.open("r+b") as file:
        file.seek(106)
        assert file.read(1) == b"\3"
        file.seek(106)
        file.write(b"\5")
    result = fp32shim("verify", "--format", "json", broken, place / "1.fp32rec")
    assert result.returncode == 1
    assert [(job["job_id"], job["floor"], job["verdict"]) for job in result.json["jobs"]] == [
        ("1", "fp32", "violated"), ("2", "fp32", "shown")]


def test_an_exception_that_lowers_nothing_excuses_no_job(place):
    policy = place / "policy.toml"
    policy.write_text('schema = 1\n[[limits.except]]\nname = "idle"\nuser = [0, 1017]\n')
    shim.run("cblas_product", blas="reference", log=str(place / "0.fp32rec"), cwd=place,
             env={"FP32_MATMUL_POLICY": str(policy), "SLURM_JOB_ID": "1"})
    result = fp32shim("verify", place)
    assert result.returncode == 3 and "no floor bound these recordings" in result.stdout and "idle" not in result.stdout


def test_a_job_of_two_floors_has_two_lines_and_counts_once(place):
    product(place, "user = 1017", as_user(), SLURM_JOB_ID="1")
    product(place, "user = 1017", as_user(1018), SLURM_JOB_ID="1")
    text = fp32shim("verify", place).stdout
    assert text.startswith("Shown: 1 of 1 job is shown to have kept the floor that bound it.\n")
    rows = [line.split() for line in text.splitlines()]
    assert ["1", "1017", "tf32", "vision", "1", "tf32", "shown"] in rows and ["1", "1018", "fp32", "1", "fp32", "shown"] in rows


def test_a_job_without_a_floor_or_a_recording_is_not_shown(place):
    product(place, "user = 1017", as_user(), SLURM_JOB_ID="1")
    shim.run("cblas_product", blas="reference", log=str(place / "free.fp32rec"), cwd=place, env={"SLURM_JOB_ID": "3"})
    (place / "jobs").write_text("1\n3\n4\n")
    (place / "torn.fp32rec").write_text("nothing")
    result = fp32shim("verify", "--expect", place / "jobs", place)
    assert result.returncode == 3
    assert "Inconclusive" in result.stdout and "- 4: is expected, but has no recording here (it multiplied nothing, " in result.stdout
    assert "- 3: no floor bound it; --at-least FORMAT judges it by a format\n" in result.stdout
    rows = [" ".join(line.split()) for line in result.stdout.splitlines()]
    for row in ("1 1017 tf32 vision 1 tf32 shown", "3 root none 1 fp32 no floor", "4 not judged", f"{place}/torn.fp32rec not judged"):
        assert row in rows
    assert fp32shim("verify", "--format", "html", place).lines == [
        "fp32shim verify: --format html needs --at-least, --reproducible or --accumulate"]


def test_recordings_that_no_floor_bound_are_one_sentence(place):
    shim.run("cblas_product", blas="reference", log=str(place / "free.fp32rec"), cwd=place)
    result = fp32shim("verify", place)
    assert result.returncode == 3
    assert result.stdout.splitlines()[0] == ("Inconclusive: no floor bound these recordings; --at-least FORMAT judges them "
                                             "by a format.")


def test_children_and_copies_are_doubts_of_their_job_or_have_a_line(place):
    policy = place / "policy.toml"
    policy.write_text(POLICY.format("user = 1017"))
    words = f"env -i /bin/sh -c 'echo'; {shim.client('cblas_product')}; true"
    for name in ("a", "b"):
        shim.run("sh", "-c", words if name == "a" else "exec " + str(shim.client("cblas_product")), blas="reference",
                 log=str(place / f"{name}.fp32rec"), cwd=place, env={"FP32_MATMUL_POLICY": str(policy)})

    def jobs():
        found = fp32shim("verify", "--format", "json", place).json["jobs"]
        return {pathlib.Path(job["recordings"][0]).name if job["recordings"] else None:
                (job["verdict"], job["summary"], *job["doubts"]) for job in found}
    before = jobs()
    assert before["a.fp32rec"][0] == "inconclusive" and "child:sh" in before["a.fp32rec"][2]
    assert before["b.fp32rec"][0] == "shown"
    (place / "a.fp32rec").unlink()
    (place / "b.fp32rec").rename(place / "c.fp32rec")
    alone = jobs()
    assert alone["c.fp32rec"][0] == "shown"
    assert alone["a.children.fp32rec"][:2] == ("not judged", "its programs have no recording here")


def test_a_program_without_the_shim_counts_for_the_job_that_started_it(place):
    client = shim.client("cblas_product")
    for job, words in (("1", f"env -u LD_PRELOAD {client}; {client}"), ("2", f"env -i {client}"), ("3", str(client))):
        shim.run("sh", "-c", words, blas="reference", log=str(place / "%j.%h.%r.%p.fp32rec"), cwd=place,
                 env={"FP32_MATMUL_FLOOR": "fp32", "SLURM_JOB_ID": job, "SLURM_PROCID": "4"})
    names = sorted(path.name for path in place.glob("*.children.fp32rec"))
    assert [name.split(".")[0] + name.split(".")[-4] for name in names] == ["14", "24"], names
    (place / "jobs").write_text("1\n2\n3\n")
    found = fp32shim("verify", "--expect", place / "jobs", "--format", "json", place).json["jobs"]
    assert [(job["job_id"], job["user"], job["verdict"]) for job in found] == [
        ("1", 0, "inconclusive"), ("2", 0, "not judged"), ("3", 0, "shown")]
    assert any("without the shim" in doubt for doubt in found[0]["doubts"]), found
    assert fp32shim("verify", *place.glob("1.*")).returncode == 3


def test_a_program_without_the_shim_counts_for_the_job_of_the_control_group(place):
    log = str(place / "%j.%p.fp32rec")
    for words in (shim.client("cblas_product"), f"env -i {shim.client('cblas_product')}"):
        shim.run("sh", "-c", f"exec {words}", blas="reference", log=log, cwd=place, prefix=in_job(place),
                 env={"FP32_MATMUL_FLOOR": "fp32"})
    assert all(path.name.startswith("4711.") for path in place.glob("*.fp32rec")), list(place.iterdir())
    job, = fp32shim("verify", "--format", "json", place).json["jobs"]
    assert (job["job_id"], job["verdict"], len(job["recordings"])) == ("4711", "inconclusive", 2)


def test_a_job_of_two_runs_has_the_doubts_of_both(place):
    client = shim.client("cblas_product")
    for words in (f"{client}; true", f"{client}; env -i {client}; true"):
        fp32shim("run", "-q", "--floor", "fp32", "--log", str(place / "%j.%p.fp32rec"), "--", "sh", "-c", words, cwd=place,
                 env={"SLURM_JOB_ID": "1", "LD_LIBRARY_PATH": str(shim.blas_directory("reference"))})
    job, = fp32shim("verify", "--format", "json", place).json["jobs"]
    assert (job["job_id"], job["verdict"], job["calls"]) == ("1", "inconclusive", 2), job
    assert any("without the shim" in doubt for doubt in job["doubts"]), job


def test_an_exception_that_leaves_no_floor_is_said_and_does_no_harm(place):
    policy = place / "policy.toml"
    policy.write_text(POLICY.replace('floor = "tf32"\n', "").format("user = 1017"))
    for user, job in ((1017, "1"), (1018, "2")):
        shim.run("cblas_product", blas="reference", log=str(place / f"{job}.fp32rec"), cwd=place, prefix=as_user(user),
                 env={"SLURM_JOB_ID": job, "FP32_MATMUL_POLICY": str(policy)})
    result = fp32shim("verify", place)
    assert result.returncode == 0 and "; 1 had none, by an exception" in result.stdout
    assert ["1", "1017", "none", "vision", "1", "tf32", "excepted"] in [line.split() for line in result.stdout.splitlines()]


def test_the_head_of_a_report_names_the_exception(place):
    product(place, "user = 1017", as_user())
    head = 'At its start: default high, floor tf32 (exception "vision"), CPU mode emulate'
    assert head in fp32shim("report", place).stdout


def test_a_reload_judges_the_exceptions_again(place):
    shim.need(shim.has_module("numpy"), "no numpy")
    policy, log = place / "policy.toml", place / "run.fp32rec"
    policy.write_text(POLICY.format("user = 1018"))
    loop = "import numpy as np, time\na = np.ones((8, 8), np.float32)\nwhile True: a @ a; time.sleep(0.01)"
    process = subprocess.Popen([*as_user(), shim.SYSTEM_PYTHON, "-c", loop], cwd=place, env=environment(
        LD_PRELOAD=shim.LIBRARY, FP32_MATMUL_POLICY=policy, FP32_MATMUL_LOG=log))
    try:
        while not log.exists() or not fp32shim("report", log).stdout:
            time.sleep(0.05)
        policy.write_text(POLICY.format("user = 1017"))
        assert fp32shim("reload", process.pid).returncode == 0
        time.sleep(0.2)
    finally:
        process.kill()
        process.wait()
    result = fp32shim("verify", "--format", "json", log).json
    job, = result["jobs"]
    assert (job["floor"], job["floor_exception"], job["verdict"]) == ("tf32", "vision", "inconclusive")
    assert job["summary"].startswith("it may have had another floor for a time")
