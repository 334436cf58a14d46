#!/bin/sh
# Prolog= of slurm.conf, which slurmd runs as root on each node of a job. Makes the folder of the recordings, and a file
# with the account of the job, which only root can write. With this file, an exception to a floor ([[limits.except]])
# can be for an `account`, which it takes from the file, or for a `job`, which it takes from the control group.
# Epilog= may remove it: rm -f "/run/fp32shim/jobs/$SLURM_JOB_ID"
folder=/run/fp32shim/jobs
/bin/mkdir -p -m 1777 /var/log/fp32shim # where the tasks of all users record; one that exists keeps its mode
umask 022
/bin/mkdir -p "$folder" && echo "${SLURM_JOB_ACCOUNT-}" > "$folder/${SLURM_JOB_ID:-none}"
exit 0 # any other status would drain the node
