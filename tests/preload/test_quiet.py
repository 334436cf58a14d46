"""A process that does not multiply, or that nobody configured, does not notice the shim."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from shim import BUILD, LIBRARY, client, environment, explain, need, run, run_both, tool

OPENED = re.compile(r'open(?:at)?\((?:AT_FDCWD, )?"([^"]*)".* = \d+')


def traced(*words, blas=None, preload=True, **settings):
    """Runs a process under strace. Returns (files that it opened, threads and processes that it started, stderr)."""
    strace = tool("strace")
    with tempfile.TemporaryDirectory() as scratch:
        trace = pathlib.Path(scratch, "trace")
        variables = environment(blas=blas, **settings)
        inner = [f"LD_PRELOAD={LIBRARY}"] if preload else []
        finished = subprocess.run(
            [strace, "-f", "-e", "trace=open,openat,creat,clone,clone3,fork,vfork,connect,socket", "-o", trace,
             "env", *inner, *map(str, words)], env=variables, capture_output=True, text=True, timeout=600, check=False)
        need("ptrace" not in finished.stderr.lower(), f"strace may not trace here: {finished.stderr.strip()}")
        lines = trace.read_text().splitlines()
    # `env` itself runs first, without the shim. After its execve, only libraries and locale files may be opened.
    # Letters that are not ASCII are written as \303\274.
    opened = [match.group(1).encode().decode("unicode_escape").encode("latin-1").decode() for line in lines
              if (match := OPENED.search(line))]
    started = [line for line in lines if re.search(r"(clone3?|v?fork)\(", line)]
    return opened, started, finished.stderr


def test_a_process_that_does_not_multiply_opens_no_file_and_starts_no_thread():
    need(LIBRARY.exists(), f"{LIBRARY} was not built")
    plain, _, _ = traced("true", preload=False)
    opened, started, stderr = traced("true")
    assert started == [] and stderr == ""
    # Files that the loader opens for any library: the library itself and its dependencies.
    loader_opens = {str(LIBRARY)} | {path for path in opened if re.search(r"/lib[a-z_-]+\.so\.\d$", path)}
    assert set(opened) - set(plain) <= loader_opens
    assert len(opened) <= len(plain) + 3


def test_settings_are_not_even_read_in_a_process_that_does_not_multiply(tmp_path):
    log = tmp_path / "log.jsonl"
    result = run("true", blas=None, precision="nonsense", log=log, env={"FP32_MATMUL_PRECISON": "high"})
    assert (result.stdout, result.stderr) == ("", "")
    assert not log.exists()


def test_unconfigured_it_changes_nothing_and_writes_nothing(blas, tmp_path):
    unshimmed = run("level3", blas=blas, preload=False, cwd=tmp_path)
    shimmed = run("level3", blas=blas, log=False, cwd=tmp_path)
    assert shimmed.stdout == unshimmed.stdout
    assert shimmed.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_unconfigured_it_opens_nothing_but_the_sites_policy():
    need(LIBRARY.exists(), f"{LIBRARY} was not built")
    plain, _, _ = traced(client("cblas_product"), blas="reference", preload=False)
    opened, started, _ = traced(client("cblas_product"), blas="reference")
    assert started == []
    extra = set(opened) - set(plain) - {str(LIBRARY)}
    extra = {path for path in extra if not re.search(r"/lib[a-z_-]+\.so\.\d$", path)}
    assert {path for path in extra if not path.startswith("/etc/fp32shim/")} == set()


def test_unconfigured_it_asks_nothing_that_a_sandbox_ends_a_program_for():
    unshimmed, shimmed = run_both("steps", "sandbox", "products:10", blas=None, log=False, precision=None, check=False)
    need("seccomp" not in unshimmed.stderr, "no seccomp filters here")
    assert (unshimmed.returncode, shimmed.returncode) == (3, 3)


def test_switched_off_it_forwards_everything_and_records_nothing(blas, tmp_path):
    log = tmp_path / "log.jsonl"
    unshimmed = run("cblas_product", blas=blas, preload=False)
    for value_of_precision in ("high", "nonsense"):
        shimmed = run("cblas_product", blas=blas, precision=value_of_precision, cpu="emulate", log=log,
                      env={"FP32_MATMUL_DISABLE": "1"})
        assert shimmed.stdout == unshimmed.stdout
        assert shimmed.stderr == ""
        assert not log.exists()


def test_switched_off_is_not_off_when_the_value_is_zero(blas):
    assert len(run("cblas_product", blas=blas, env={"FP32_MATMUL_DISABLE": "0"}).decisions) == 1


def test_a_process_with_elevated_rights_ignores_the_environment(tmp_path):
    """In such a process, the loader ignores LD_PRELOAD, but a program that is linked with the shim still loads it."""
    need(os.geteuid() == 0, "only root can make a set-user-id program and run it as somebody else")
    need(LIBRARY.exists(), f"{LIBRARY} was not built")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        os.chmod(place, 0o755)
        program = pathlib.Path(place, "linked")
        shutil.copy(client("linked_product"), program)
        os.chmod(program, 0o755)
        log = pathlib.Path("/var/tmp", f"fp32shim-test-{os.getpid()}.jsonl")

        def as_nobody():
            # Without LD_LIBRARY_PATH, which the loader also ignores.
            return subprocess.run([program], user=65534, group=65534, extra_groups=[], capture_output=True, text=True,
                                  timeout=600, check=False,
                                  env=environment(precision="high", cpu="emulate", log=log, blas=None))

        try:
            ordinary = as_nobody()
            need(ordinary.returncode == 0, f"nobody cannot run a program of this build: {ordinary.stderr.strip()}")
            assert log.exists(), explain_plain(ordinary)
            log.unlink()
            os.chmod(program, 0o4755)
            need(not os.statvfs(place).f_flag & os.ST_NOSUID, "/var/tmp is mounted nosuid")
            elevated = as_nobody()
            assert elevated.returncode == 0
            assert elevated.stderr == ""
            assert elevated.stdout != ordinary.stdout, "as called, not as the environment asked"
            assert not log.exists()
        finally:
            log.unlink(missing_ok=True)


# A separate mount namespace, where /etc/fp32shim can be made without effect on the system.
WITH_SITE_POLICY = """
mount -t tmpfs tmpfs "$1" && mkdir "$1/upper" "$1/work" || exit 77
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$1/upper,workdir=$1/work" /etc || exit 77
mkdir -p /etc/fp32shim && cp "$2" /etc/fp32shim/policy.toml && chown "$3" /etc/fp32shim/policy.toml || exit 77
chmod "$4" /etc/fp32shim/policy.toml
shift 4
exec "$@"
"""


@pytest.fixture
def with_site_policy(tmp_path):
    """Returns words before a program that then finds a site's policy with this text, user and mode."""
    need(os.geteuid() == 0, "only root can mount something over /etc")

    def words(text, owner=0, mode="644"):
        policy, place = tmp_path / "site.toml", tmp_path / "etc"
        policy.write_text(text)
        place.mkdir(exist_ok=True)
        prefix = [tool("unshare", "util-linux"), "-m", "sh", "-c", WITH_SITE_POLICY, "sh", place, policy, str(owner), mode]
        tried = subprocess.run([*prefix, "true"], capture_output=True, check=False)
        need(tried.returncode == 0, f"nothing can be mounted over /etc here: {tried.stderr!r}")
        return prefix

    return words


def test_a_sites_policy_of_roots_alone_is_applied_and_any_other_refused_in_one_line(with_site_policy):
    policy = 'schema = 1\nname = "site"\ndefault = "high"\n[cpu]\nmode = "emulate"\n'
    applied = run("cblas_product", "fp32", blas="reference", cpu=None, prefix=with_site_policy(policy))
    assert (applied.stderr, [d["applied"] for d in applied.decisions]) == ("", ["tf32"]), explain(applied)
    for owner, mode, why in ((54321, "644", "belongs to user 54321"), (0, "664", "is writable by its group or by others"),
                             (0, "646", "is writable by its group or by others")):
        refused = run("cblas_product", "fp32", blas="reference", cpu=None, prefix=with_site_policy(policy, owner, mode))
        line, = refused.stderr.splitlines()
        assert line.startswith(f"fp32shim: /etc/fp32shim/policy.toml: {why}"), line
        assert [d["applied"] for d in refused.decisions] in ([], ["fp32"])


def test_check_refuses_a_sites_policy_that_programs_would_refuse(with_site_policy):
    def check(owner, mode):
        prefix = with_site_policy('schema = 1\nname = "site"\n', owner, mode)
        return subprocess.run([*prefix, BUILD / "bin/fp32shim", "check", "/etc/fp32shim/policy.toml"], capture_output=True,
                              text=True, env=environment(), check=False)

    assert check(0, "644").stdout == "/etc/fp32shim/policy.toml: valid, 0 rules\n"
    for owner, mode, why in (54321, "644", "belongs to user 54321"), (0, "664", "is writable by its group or by others"):
        refused = check(owner, mode)
        assert refused.stdout.startswith(f"error: /etc/fp32shim/policy.toml: {why}") and refused.returncode == 2, refused


def test_a_process_with_elevated_rights_says_nothing_of_the_sites_policy(with_site_policy):
    need(LIBRARY.exists(), f"{LIBRARY} was not built")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        os.chmod(place, 0o755)
        program = pathlib.Path(place, "linked")
        shutil.copy(client("linked_product"), program)
        prefix = with_site_policy('schema = 1\ndefualt = "high"\n')

        def as_nobody():
            return subprocess.run([*prefix, tool("setpriv", "util-linux"), "--reuid=65534", "--regid=65534", "--clear-groups",
                                   program], capture_output=True, text=True, timeout=600, check=False,
                                  env=environment(blas=None))

        os.chmod(program, 0o755)
        ordinary = as_nobody()
        need(ordinary.returncode == 0, f"nobody cannot run a program of this build: {ordinary.stderr.strip()}")
        assert "defualt" in ordinary.stderr
        os.chmod(program, 0o4755)
        need(not os.statvfs(place).f_flag & os.ST_NOSUID, "/var/tmp is mounted nosuid")
        elevated = as_nobody()
        assert (elevated.returncode, elevated.stderr, elevated.stdout) == (0, "", ordinary.stdout)


def explain_plain(finished):
    return f"{finished.stdout}{finished.stderr}"


def test_ten_products_are_each_logged_once_on_stderr_when_they_are_the_same(blas):
    _, shimmed = run_both("cblas_product", "fp32", 10, blas=blas, log="stderr")
    lines = shimmed.stderr.splitlines()
    assert len(lines) == 1, explain(shimmed)
    assert lines[0].startswith("fp32shim: cblas_sgemm 12x20x33 NT float32 from cblas_product -> libblas.so.3: native")


@pytest.mark.parametrize("level, lines", [("calls", 10), ("summary", 1)])
def test_the_level_says_whether_every_call_is_logged(level, lines, blas):
    result = run("cblas_product", "fp32", 10, blas=blas, env={"FP32_MATMUL_LOG_LEVEL": level})
    assert len(result.decisions) == lines
