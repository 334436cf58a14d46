"""Ways to start a program that hand the preload on, or do not: the table of docs/deploy.md."""

from root import LIBRARY, inside

MODEL = "python3 /srv/model.py < /dev/null"
PRODUCT = "product 131072"
PROFILE = "install -m 644 /srv/deploy/profile.sh /etc/profile.d/fp32shim.sh\n"
SHOW = "echo \"[$LD_PRELOAD]\""


def test_login_shells_have_it():
    lines = inside(PROFILE + f"bash -lc '{SHOW}'; su - user -c '{SHOW}'; su user -c '{SHOW}'")
    assert lines == [f"[{LIBRARY}]"] * 2 + ["[]"]


def test_sudo_drops_it_and_run_brings_it_back():
    lines = inside(f"export LD_PRELOAD={LIBRARY}; sudo sh -c '{SHOW}'; sudo -E sh -c '{SHOW}'\n"
                   f"sudo fp32shim run -q -- sh -c '{SHOW}'")
    assert lines == ["[]", "[]", f"[{LIBRARY}]"]


def test_tmux_has_the_environment_of_its_server():
    lines = inside(f"""
        export TERM=xterm; tmux -L a new-session -d 'sleep 5'
        LD_PRELOAD={LIBRARY} tmux -L a new-window -d '{SHOW} > /tmp/late'; sleep 1; cat /tmp/late
        LD_PRELOAD={LIBRARY} tmux -L b new-session -d '{SHOW} > /tmp/first'; sleep 1; cat /tmp/first""")
    assert lines == ["[]", f"[{LIBRARY}]"]


def test_xargs_and_parallel_have_a_recording_for_each_process():
    lines = inside(f"""
        export LD_PRELOAD={LIBRARY} HOME=/tmp
        seq 4 | FP32_MATMUL_LOG=/tmp/x.%p.fp32rec xargs -P 4 -I {{}} sh -c '{MODEL}'
        seq 4 | FP32_MATMUL_LOG=/tmp/y.%p.fp32rec parallel -j 4 '{MODEL} #' 2>/dev/null
        ls /tmp/x.*[0-9].fp32rec | wc -l; ls /tmp/y.*[0-9].fp32rec | wc -l""")
    assert lines == [PRODUCT] * 8 + ["4", "4"]


def test_the_module_file_loads_once_and_unloads():
    lines = inside(f"""bash -c '
        . /usr/share/lmod/lmod/init/bash; module use /srv/deploy
        module load fp32shim; module load fp32shim; {SHOW}; module unload fp32shim; echo ${{LD_PRELOAD-none}}'""")
    assert lines == [f"[{LIBRARY}]", "none"]


SUPERVISED = f"""[supervisord]
logfile=/tmp/supervisord.log
pidfile=/tmp/supervisord.pid
nodaemon=true
user=root
[program:model]
command=python3 /srv/model.py
startsecs=0
autorestart=false
stdout_logfile=/tmp/out
environment=LD_PRELOAD="{LIBRARY}",FP32_MATMUL_LOG="/tmp/%%h.%%p.fp32rec"
"""


def test_supervisord_takes_two_percent_signs_and_refuses_one():
    lines = inside(f"""cat > /tmp/two.conf <<'END'\n{SUPERVISED}END
        sed 's/%%/%/g' /tmp/two.conf > /tmp/one.conf
        timeout 3 supervisord -c /tmp/two.conf > /dev/null || true; cat /tmp/out; ls /tmp/node1.*.fp32rec | wc -l
        supervisord -c /tmp/one.conf 2>&1 | grep -o 'badly formatted' """)
    assert lines == [PRODUCT, "1", "badly formatted"]


APPLICATION = """
import numpy, os
ones = numpy.ones((8, 8), dtype=numpy.float32)
ones @ ones[:, :4]
def application(environ, start):
    ones @ ones[:, :4]
    start("200 OK", [("Content-Type", "text/plain")])
    return [b""]
"""


def test_prefork_workers_of_gunicorn_have_a_recording_each():
    lines = inside(f"""cd /tmp; cat > app.py <<'END'\n{APPLICATION}END
        LD_PRELOAD={LIBRARY} FP32_MATMUL_LOG=/tmp/%p.fp32rec gunicorn --preload -w 2 -b 127.0.0.1:8000 app:application 2>log & sleep 3
        for i in $(seq 20); do python3 -c 'import urllib.request; urllib.request.urlopen("http://127.0.0.1:8000")'; done
        kill %1; wait; fp32shim report --format csv /tmp | tail -n +2 | cut -d, -f1 | sort -u | wc -l
        fp32shim report /tmp | head -n 1 | cut -d' ' -f1-2; ls *.fp32rec | wc -l""")
    assert lines[1:] == ["21 calls", "3"]


def test_ssh_and_its_forced_commands():
    lines = inside(PROFILE + f"""
        mkdir -p /run/sshd /root/.ssh /var/log/fp32shim; ssh-keygen -A > /dev/null; ssh-keygen -q -t ed25519 -N '' -f /tmp/key
        /usr/sbin/sshd -p 2222
        ask() {{ ssh -q -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i /tmp/key -p 2222 root@127.0.0.1 "$@"; }}
        cp /tmp/key.pub /root/.ssh/authorized_keys; ask '{SHOW}'
        (printf '%s' 'command="bash -lc \\"echo forced \\$LD_PRELOAD\\"" '; cat /tmp/key.pub) > /root/.ssh/authorized_keys; ask x
        cp /tmp/key.pub /root/.ssh/authorized_keys; echo LD_PRELOAD={LIBRARY} >> /etc/environment
        ask '{SHOW}'""")
    assert lines == ["[]", f"forced {LIBRARY}", f"[{LIBRARY}]"]


def test_cron_takes_variables_of_its_table_and_backslashes_before_percent_signs():
    lines = inside(f"""cat > /etc/cron.d/model <<'END'
* * * * * root {SHOW} > /tmp/before
LD_PRELOAD={LIBRARY}
FP32_MATMUL_LOG=/tmp/variable.%p.fp32rec
* * * * * root {MODEL} > /tmp/one
* * * * * root FP32_MATMUL_LOG=/tmp/command.\\%p.fp32rec {MODEL} > /tmp/two
END
        cron; sleep 63; cat /tmp/before /tmp/one /tmp/two
        ls /tmp/variable.*[0-9].fp32rec | wc -l; ls /tmp/command.*[0-9].fp32rec | wc -l""")
    assert lines == ["[]", PRODUCT, PRODUCT, "1", "1"]
