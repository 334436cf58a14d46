// Who is running: what every line of a log says about its process, and what file names are made of.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fp32shim::record {

/// Gathered once per process; a forked child differs by its process id and ancestor only. Lines take the id from the
/// kernel.
/// An empty string: unknown.
struct ProcessFacts {
    std::int32_t pid = 0;
    std::int32_t forked_from = 0;  ///< the process whose log a forked child goes on with; 0: not a forked child
    std::string host;           ///< uname's node name
    std::string job_id;         ///< as the batch system wrote it
    std::string job_id_from;    ///< the variable that had it: `SLURM_JOB_ID`
    std::int32_t rank = -1;     ///< -1 when unknown
    std::string rank_from;      ///< the variable that had it: `SLURM_PROCID`
    std::string executable;     ///< the path behind /proc/self/exe
    std::string command;        ///< the whole argument line, joined by single spaces
    std::int64_t start_ns = 0;  ///< when the facts were gathered: nanoseconds since 1970, UTC
};

/// Asks the kernel, and `environment` (entries `NAME=value`, as in `environ`) for
/// the job: SLURM_JOB_ID, PBS_JOBID, LSB_JOBID, JOB_ID, the first that is set and not empty;
/// the rank: SLURM_PROCID, PMIX_RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, RANK, the first that is a number.
/// Never fails: what cannot be found out stays unknown. Keeps errno. Allocates; needs little stack.
ProcessFacts gather_process_facts(std::span<const std::string_view> environment);

/// `python3.11` of `/usr/bin/python3.11`.
std::string_view base_name(std::string_view path);

}  // namespace fp32shim::record
