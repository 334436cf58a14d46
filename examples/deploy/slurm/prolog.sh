#!/bin/sh
# Prolog= of slurm.conf, which slurmd runs as root on each node of a job: vouches for the account of the job. Then
# exceptions to a floor ([[limits.except]]) take `job` from the control group and `account` from this file.
# Epilog= may remove it: rm -f "/run/fp32shim/jobs/$SLURM_JOB_ID"
folder=/run/fp32shim/jobs
umask 022
/bin/mkdir -p "$folder" && echo "${SLURM_JOB_ACCOUNT-}" > "$folder/${SLURM_JOB_ID:-none}"
exit 0 # any other status would drain the node
