// Judges exceptions to a floor ([[limits.except]]) by the user who runs the process, and by the process's command and
// job.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/load.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {

/// The names of the environment variables in which a batch system tells a process its job and the job's account. An
/// empty name means that the system has no such variable.
struct BatchSystem {
    std::string_view id, account;
};
inline constexpr BatchSystem batch_systems[] = {{"SLURM_JOB_ID", "SLURM_JOB_ACCOUNT"},
                                                {"PBS_JOBID", "PBS_ACCOUNT"},
                                                {"LSB_JOBID", "LSB_PROJECT_NAME"},
                                                {"JOB_ID", {}}};

/// Returns the value of a variable in `environment`, or an empty text if the variable is not set.
std::string_view value_of(std::span<const std::string_view> environment, std::string_view name);
/// Returns the first of batch_systems whose id is set and not empty, or nullptr if there is none. `value_of(name)`
/// returns a variable's value, or an empty text if the variable is not set.
const BatchSystem* find_batch_system(const auto& value_of) {
    for (const BatchSystem& names : batch_systems)
        if (!value_of(names.id).empty()) return &names;
    return nullptr;
}
/// Returns the job's id in the text of /proc/PID/cgroup, where Slurm and PBS name control groups after jobs. Returns
/// an empty text if there is none.
std::string_view job_in_cgroups(std::string_view cgroups);

/// The folder in which the batch system's prolog script, run by root, confirms the accounts of jobs. A file with the
/// name of the job has the account in its first line. If this folder exists and only root can write it, the variables
/// of batch_systems are ignored, because any user can set them.
inline constexpr const char* confirmed_jobs = "/run/fp32shim/jobs";

/// The facts about a process by which exceptions to a floor are judged.
struct JobIdentity {
    bool has_real_user_ids = true;      ///< false if whoever made the process's user namespace chose its ids
    std::uint32_t user = 0;             ///< the real user id
    std::vector<std::uint32_t> groups;  ///< the supplementary group ids and the real group id
    std::string command;                ///< the whole command line
    std::string job, account;           ///< the job and its account; empty if none is known
};
/// Gathers the facts about this process. Asks the kernel itself for ids, because another preloaded library (fakeroot)
/// may answer in place of the C library.
JobIdentity own_job_identity(const Environment& environment, const std::string& jobs_folder = confirmed_jobs);

/// Judges the exceptions of policy files while the files are read.
struct FloorExceptionJudge {
    const Environment& environment;
    const JobIdentity* process;  ///< the process to judge; nullptr means this process, whose facts are gathered for
                                 ///< the first exception
    std::vector<Diagnostic>& warnings;  ///< receives warnings about unknown names of users and groups
    std::optional<JobIdentity> gathered{};

    /// Returns the first exception that holds, or nullptr if none does.
    FloorException* find_applicable_exception(std::vector<FloorException>& exceptions);
};

/// Returns a warning for each user and group that the exception names and that is unknown on this machine.
std::vector<std::string> unknown_name_warnings(const FloorException& exception);

/// Returns a text that tells how any user of this machine could make a process meet the exception's conditions.
/// Returns an empty text if a user cannot do that without another user's rights.
std::string_view spoofing_risk(const FloorException& exception);

}  // namespace fp32shim::policy
