// Facts about the running process, for the lines of a log and for file names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fp32shim::record {

/// Facts about a process, gathered once. A forked child's facts differ from its parent's in `pid` and `forked_from`
/// only. An empty string means unknown.
struct ProcessFacts {
    std::int32_t pid = 0;
    std::int32_t forked_from = 0;  ///< id of the ancestor whose log a forked child continues; 0: not forked
    std::string host;              ///< node name, from uname
    std::string job_id;            ///< id that the batch system gave the job
    std::string job_id_from;       ///< name of the variable that has the job id, such as `SLURM_JOB_ID`
    std::int32_t rank = -1;        ///< rank of the process in a parallel job; -1: unknown
    std::string rank_from;         ///< name of the variable that has the rank, such as `SLURM_PROCID`
    std::string executable;        ///< path of the program, from /proc/self/exe
    std::string command;           ///< the whole argument line, joined by single spaces
    std::int64_t start_ns = 0;     ///< time when these facts were gathered: nanoseconds since 1970, UTC
    std::uint64_t run = 0;         ///< random number of the `fp32shim run` that started the process; 0: none, or one
                                   ///< that does not record
    bool run_is_awaited = false;   ///< that command waits for the program, and notes the run's end in its recordings
    std::uint16_t pins =
        0;  ///< one bit for each of all_pins (pinned_variables.hpp) that is in the environment; 0: unknown
};

/// Name of an environment variable that `fp32shim run` sets. Its value, `NUMBER PATH`, says where processes record
/// programs that run without the shim. NUMBER is the run's number in 16 hexadecimal digits. With `+` in place of the
/// blank, that command has made the file, waits for the program, and then notes the run's end in the recordings.
inline constexpr std::string_view run_variable = "FP32SHIM_RUN";
/// Name of the variable with the process id of `fp32shim run`. With run_process_is_parent before the id, that process
/// is the program's parent; without it, that process has become the program.
inline constexpr std::string_view run_process_variable = "FP32SHIM_RUN_PROCESS", run_process_is_parent = "parent ";
struct RunNote {
    std::uint64_t number = 0;  ///< number of the run; 0: no run
    std::string_view children_path{};
    bool is_awaited = false;
};
RunNote parse_run_note(std::string_view value);

/// Gathers facts from the kernel and from `environment` (entries `NAME=value`, as in `environ`):
/// the job: the first of policy::job_variables that is set and not empty;
/// the rank: PMIX_RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, torchrun's RANK, SLURM_PROCID, RANK, the first number;
/// all_pins; and run_variable.
/// Never fails: facts that cannot be found out stay unknown. Keeps errno. Allocates; needs little stack.
ProcessFacts gather_process_facts(std::span<const std::string_view> environment);

}  // namespace fp32shim::record
