#!/bin/sh
# TaskProlog of slurm.conf: slurmd sets in each task what this prints as `export NAME=VALUE`.
library=/usr/local/lib/libfp32shim.so
[ -r "$library" ] || library=/usr/lib/$(uname -m)-linux-gnu/fp32shim/libfp32shim.so  # that of the .deb
[ -r "$library" ] || exit 0
case ":${LD_PRELOAD-}:" in
    *:"$library":*) ;;  # a task that a task of a batch script has started
    *) echo "export LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$library" ;;
esac
if [ -z "${FP32_MATMUL_LOG-}" ]; then
    echo "export FP32_MATMUL_LOG=/var/log/fp32shim/%j.%h.%r.%p.fp32rec"
fi
