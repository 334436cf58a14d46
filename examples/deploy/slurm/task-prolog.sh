#!/bin/sh
# TaskProlog of slurm.conf. slurmd sets in each task the variables that this script prints as `export NAME=VALUE`.
library=/usr/local/lib/libfp32shim.so
[ -r "$library" ] || library=/usr/lib/$(uname -m)-linux-gnu/fp32shim/libfp32shim.so  # the path in the Debian package
[ -r "$library" ] || exit 0
case ":${LD_PRELOAD-}:" in
    *:"$library":*) ;;  # already set, as in a task that a batch script's task has started
    *) echo "export LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$library" ;;
esac
if [ -z "${FP32_MATMUL_LOG-}" ]; then
    echo "export FP32_MATMUL_LOG=/var/log/fp32shim/%j.%h.%r.%p.fp32rec"
fi
