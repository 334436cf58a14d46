// Facts about the running process, for the lines of a log and for file names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "policy/exceptions.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::record {

/// The facts about a process that the name of a log may contain. An empty text means unknown.
struct LogNameFacts {
    std::int32_t pid = 0;
    std::int64_t start_ns = 0;  ///< time when the facts were gathered: nanoseconds since 1970, UTC
    std::string_view host, job_id;
    std::string_view job_id_from{}, rank_from{};  ///< names of the environment variables that hold the job id and the
                                                  ///< rank
    std::int32_t rank = -1;                       ///< rank of the process in a parallel job; -1: unknown
};

/// Facts about a process, gathered once. The facts of a forked child differ from those of its parent only in `pid`
/// and `forked_from`. An empty string means unknown.
struct ProcessFacts {
    std::int32_t pid = 0;
    std::int32_t forked_from = 0;  ///< process id of the nearest ancestor that wrote to the log, if this process is a
                                   ///< forked child; 0: it is not one
    std::string host;              ///< node name, from uname
    std::string job_id;            ///< id that the batch system gave the job
    std::string job_id_from;    ///< name of the environment variable with the job id, such as `SLURM_JOB_ID`; empty:
                                ///< the id is from the control group, because no variable had it
    std::int32_t rank = -1;     ///< rank of the process in a parallel job; -1: unknown
    std::string rank_from;      ///< name of the environment variable with the rank, such as `SLURM_PROCID`
    std::string executable;     ///< path of the program, from /proc/self/exe
    std::string command;        ///< all arguments of the process, joined by single spaces
    std::int64_t start_ns = 0;  ///< time when these facts were gathered: nanoseconds since 1970, UTC
    std::uint64_t run = 0;      ///< random number of the `fp32shim run` that started the process; 0: there is no run,
                                ///< or the run does not record
    bool run_is_awaited = false;  ///< `fp32shim run` waits for the program and then writes RunEnd into the run's
                                  ///< recordings
    std::uint16_t pins = 0;       ///< variables of `run --pin` that are set: pins_known and other bits of
                                  ///< pinned_variables.hpp; 0: unknown

    operator LogNameFacts() const { return {pid, start_ns, host, job_id, job_id_from, rank_from, rank}; }
};

/// Name of an environment variable that `fp32shim run` sets. In its value `NUMBER PATH`, NUMBER is the run's number
/// in 16 hexadecimal digits, and PATH is the file in which processes record programs that run without the shim. A
/// `+` in place of the blank means that `fp32shim run` has made the file, waits for the program, and then writes
/// RunEnd into the recordings.
inline constexpr std::string_view run_variable = "FP32SHIM_RUN";
/// Name of the environment variable with the process id of `fp32shim run`. If run_process_is_parent precedes the id,
/// `fp32shim run` is the program's parent process. Otherwise `fp32shim run` has become the program by exec.
inline constexpr std::string_view run_process_variable = "FP32SHIM_RUN_PROCESS", run_process_is_parent = "parent ";
struct RunVariableValue {
    std::uint64_t number = 0;  ///< number of the run; 0: no run
    std::string_view children_path{};
    bool is_awaited = false;
};
RunVariableValue parse_run_variable(std::string_view value);

/// An environment variable that may hold the rank of a process.
struct RankVariable {
    std::string_view name;
    std::string_view also_set{};  ///< name of another variable that must be set, too; empty: there is none
};
/// The variables of the innermost launcher come first. In a batch script Slurm sets SLURM_PROCID=0, which the ranks
/// of mpirun and torchrun inherit. RANK is torchrun's only if TORCHELASTIC_RUN_ID is set; any other RANK is tried
/// last.
inline constexpr RankVariable rank_variables[] = {
    {"PMIX_RANK"}, {"OMPI_COMM_WORLD_RANK"}, {"PMI_RANK"}, {"RANK", "TORCHELASTIC_RUN_ID"}, {"SLURM_PROCID"},
    {"RANK"},
};
/// Returns the rank in `text`, or -1 if the text is not a rank.
std::int32_t parse_rank(std::string_view text);

/// Finds the facts about this process that the name of a log may contain. The job id is the first variable of
/// policy::batch_systems that is not empty. The rank is the first of rank_variables that is a number.
/// `value_of(name)` returns the value of an environment variable, or an empty text if it is not set. `names` is
/// a buffer for uname(). The result refers to the variables' values and to `names`, without copies. Allocates
/// nothing.
LogNameFacts find_log_name_facts(const auto& value_of, utsname& names) {
    LogNameFacts facts;
    facts.pid = system::raw::getpid();
    facts.start_ns = system::raw::realtime_ns();
    if (system::raw::uname(names) == 0) facts.host = names.nodename;
    if (const policy::BatchSystem* job = policy::find_batch_system(value_of)) {
        facts.job_id = value_of(job->id);
        facts.job_id_from = job->id;
    }
    for (const RankVariable& variable : rank_variables) {
        if (!variable.also_set.empty() && value_of(variable.also_set).empty()) continue;
        facts.rank = parse_rank(value_of(variable.name));
        if (facts.rank < 0) continue;
        facts.rank_from = variable.name;
        break;
    }
    return facts;
}

/// Gathers facts from the kernel and from `environment`, whose entries are `NAME=value` as in `environ`. If no
/// variable has the job id, it is taken from the process's control group. Never fails: facts that cannot be found out
/// stay unknown. Keeps errno, allocates memory, and needs little stack.
ProcessFacts gather_process_facts(std::span<const std::string_view> environment);

}  // namespace fp32shim::record
