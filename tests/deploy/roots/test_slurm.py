"""A cluster of one node: the TaskProlog of docs/deploy.md, `%j` and `%r`, and srun with the preload."""

import page
from root import LIBRARY, inside

CONFIGURATION = """
ClusterName=private
SlurmctldHost=node1(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdSpoolDir=/tmp/slurmd
StateSaveLocation=/tmp/slurmctld
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/tmp/slurmctld.log
SlurmdLogFile=/tmp/slurmd.log
MpiDefault=none
SlurmdParameters=config_overrides
TaskProlog=/srv/deploy/slurm/task-prolog.sh
NodeName=node1 NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=node1 Default=YES MaxTime=10 State=UP OverSubscribe=YES
"""

START = f"""
mkdir -p /etc/slurm /tmp/slurmd /tmp/slurmctld /run/munge /var/log/munge /var/log/fp32shim
head -c 128 /dev/urandom > /etc/munge/munge.key; chmod 400 /etc/munge/munge.key
chown -R munge: /etc/munge /run/munge /var/log/munge /var/lib/munge; chmod 755 /run/munge
cat > /etc/slurm/slurm.conf <<'END'
{CONFIGURATION}END
printf 'CgroupPlugin=cgroup/v1\\nCgroupMountpoint=/sys/fs/cgroup\\n' > /etc/slurm/cgroup.conf
(runuser -u munge -- munged; slurmctld; sleep 1; slurmd; sleep 2) > /tmp/daemons 2>&1 < /dev/null
"""
MODEL = "python3 /srv/model.py < /dev/null"
PRODUCT = "product 131072"


def test_tasks_of_a_job_record_by_job_and_rank():
    lines = inside(START + f"timeout 30 srun -n 3 sh -c '{MODEL}'; ls /var/log/fp32shim | cut -d. -f1-3")
    assert lines == [PRODUCT] * 3 + [f"1.node1.{rank}" for rank in range(3)]


def test_a_batch_script_and_its_steps_do():
    lines = inside(START + f"""
        printf '#!/bin/sh\\necho $LD_PRELOAD\\n{MODEL}\\nsrun -n 2 sh -c "echo \\\\$LD_PRELOAD; {MODEL}"\\n' > /tmp/batch
        timeout 30 sbatch -n 2 -W -o /tmp/out /tmp/batch > /dev/null; sort /tmp/out; ls /var/log/fp32shim | cut -d. -f1-3""")
    assert lines == [LIBRARY] * 3 + [PRODUCT] * 3 + ["1.node1.0", "1.node1.0", "1.node1.1"]


def test_one_job_can_export_it_by_itself_and_srun_runs_with_it():
    lines = inside(START.replace("/srv/deploy/slurm/task-prolog.sh", "/bin/true") + f"""
        cd /tmp; cp /srv/model.py .
        {page.block("srun --export=ALL")}
        export LD_PRELOAD={LIBRARY}; timeout 30 srun sh -c '{MODEL}'
        ls run.*.fp32rec""")
    assert [line for line in lines if not line.startswith("srun: job ")] == [PRODUCT] * 2 + ["run.1.0.fp32rec"]
