"""Runs programs on the driver's stand-in with kernels recorded, and knows what was recorded and what was launched."""

import collections
import dataclasses
import json
import subprocess

import shim
from cublas import STAND_IN

REPLAY = "graph replay"


@dataclasses.dataclass
class Run:
    stdout: str
    stderr: str
    status: int
    launches: dict  # {kernel: (direct launches, launches by replays)}, as the stand-in counts them


def environment(counts, log=None, **variables):
    settings = {"STAND_IN_COMPUTE_CAPABILITY": "9.0", "STAND_IN_LAUNCHES": str(counts), **variables}
    if log is None:
        return shim.environment(libraries=[STAND_IN], env=settings)
    return shim.environment(libraries=[STAND_IN], preload=[shim.LIBRARY], log=log, env={"FP32_MATMUL_KERNELS": "1", **settings})


def run(words, folder, log=None, **variables):
    counts = folder / "launches"
    counts.unlink(missing_ok=True)
    done = subprocess.run([*map(str, words)], env=environment(counts, log, **variables), text=True, capture_output=True, check=False,
                          timeout=600)
    lines = counts.read_text().splitlines() if counts.exists() else []
    launches = collections.defaultdict(lambda: (0, 0))
    for line in lines:
        direct, replayed, name = line.split()
        launches[name] = (launches[name][0] + int(direct), launches[name][1] + int(replayed))
    return Run(done.stdout, done.stderr, done.returncode, dict(launches))


def reported(*recordings):
    done = subprocess.run([shim.BUILD / "bin/fp32shim", "report", "--format", "json", *recordings], text=True, capture_output=True,
                          check=True)
    return json.loads(done.stdout)


def rows_of(*recordings):
    return [row for row in reported(*recordings)["rows"] if row["function"].startswith("kernel:")]


def counts_of(rows):
    """Returns {kernel: launches}."""
    counts = collections.Counter()
    for row in rows:
        counts[row["function"].removeprefix("kernel:")] += row["calls"]
    return dict(counts)


# Functions of the driver for programs in C, which need no header then.
DRIVER_API = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <errno.h>
    #include <pthread.h>
    #include <signal.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/time.h>
    #include <unistd.h>
    typedef int Result;
    Result cuInit(unsigned), cuDevicePrimaryCtxRetain(void**, int), cuCtxSetCurrent(void*);
    Result cuModuleLoadData(void**, const void*), cuModuleGetFunction(void**, void*, const char*), cuModuleUnload(void*);
    Result cuLibraryLoadData(void**, const void*, void*, void*, unsigned, void*, void*, unsigned);
    Result cuLibraryGetKernel(void**, void*, const char*), cuLibraryGetModule(void**, void*), cuLibraryUnload(void*);
    typedef Result Launch(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
    Launch cuLaunchKernel;
    static inline void require(Result result) { if (result != 0) { printf("result %d\\n", result); exit(1); } }
    static inline void start(void) {
        void* context = NULL;
        require(cuInit(0));
        require(cuDevicePrimaryCtxRetain(&context, 0));
        require(cuCtxSetCurrent(context));
    }
    static inline void launch(void* function) { require(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL)); }
"""
