// Facts about the running process, for the lines of a log and for file names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "policy/exceptions.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::record {

/// The facts about a process that the name of a log may contain. Empty: unknown.
struct LogNameFacts {
    std::int32_t pid = 0;
    std::int64_t start_ns = 0;  ///< see ProcessFacts
    std::string_view host, job_id;
    std::string_view job_id_from{}, rank_from{};  ///< names of the variables that have job and rank
    std::int32_t rank = -1;                       ///< -1: unknown
};

/// Facts about a process, gathered once. A forked child's facts differ from its parent's in `pid` and `forked_from`
/// only. An empty string means unknown.
struct ProcessFacts {
    std::int32_t pid = 0;
    std::int32_t forked_from = 0;  ///< id of the ancestor whose log a forked child continues; 0: not forked
    std::string host;              ///< node name, from uname
    std::string job_id;            ///< id that the batch system gave the job
    std::string job_id_from;       ///< name of the variable that has it, such as `SLURM_JOB_ID`; empty: the control
                                   ///< group told it, since no variable did
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

    operator LogNameFacts() const { return {pid, start_ns, host, job_id, job_id_from, rank_from, rank}; }
};

/// Name of an environment variable that `fp32shim run` sets. Its value, `NUMBER PATH`, says where processes record
/// programs that run without the shim. NUMBER is the run's number in 16 hexadecimal digits. With `+` in place of the
/// blank, that command has made the file, waits for the program, and then notes the run's end in the recordings.
inline constexpr std::string_view run_variable = "FP32SHIM_RUN";
/// Name of the variable with the process id of `fp32shim run`. With run_process_is_parent before the id, that process
/// is the program's parent; without it, that process has become the program.
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
    std::string_view beside{};  ///< name of another variable that must also be set; empty: none
};
/// Innermost launcher first. In a batch script Slurm sets SLURM_PROCID=0, which the ranks of mpirun and torchrun
/// inherit. RANK belongs to torchrun only if torchrun's own variable is set too.
inline constexpr RankVariable rank_variables[] = {
    {"PMIX_RANK"}, {"OMPI_COMM_WORLD_RANK"}, {"PMI_RANK"}, {"RANK", "TORCHELASTIC_RUN_ID"}, {"SLURM_PROCID"},
    {"RANK"},
};
/// Returns a rank; -1 if the text is not one.
std::int32_t parse_rank(std::string_view text);

/// Finds a process's facts for names: the job is the first of policy::batch_systems that is set and not empty, the
/// rank the first of rank_variables that is a number. `value_of(name)` returns a variable's value, empty if it is not
/// set. The results refer to those values and to `names`. Allocates nothing.
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
        if (!variable.beside.empty() && value_of(variable.beside).empty()) continue;
        facts.rank = parse_rank(value_of(variable.name));
        if (facts.rank < 0) continue;
        facts.rank_from = variable.name;
        break;
    }
    return facts;
}

/// Gathers facts from the kernel and from `environment` (entries `NAME=value`, as in `environ`). If no variable names
/// the job, the control group may.
/// Never fails: facts that cannot be found out stay unknown. Keeps errno. Allocates; needs little stack.
ProcessFacts gather_process_facts(std::span<const std::string_view> environment);

}  // namespace fp32shim::record
