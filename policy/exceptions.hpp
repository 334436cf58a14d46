// Judges exceptions to a floor ([[limits.except]]): who runs the process, and in which job.
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

/// A batch system, by the variables in which it tells a process its job and the job's account; an empty name: none.
struct BatchSystem {
    std::string_view id, account;
};
inline constexpr BatchSystem batch_systems[] = {{"SLURM_JOB_ID", "SLURM_JOB_ACCOUNT"},
                                                {"PBS_JOBID", "PBS_ACCOUNT"},
                                                {"LSB_JOBID", "LSB_PROJECT_NAME"},
                                                {"JOB_ID", {}}};

/// Returns the value of a variable; empty if it is not set.
std::string_view value_of(std::span<const std::string_view> environment, std::string_view name);
/// Returns the first of batch_systems whose id is set and not empty; null if none is. `value_of(name)` returns a
/// variable's value, empty if it is not set.
const BatchSystem* find_batch_system(const auto& value_of) {
    for (const BatchSystem& names : batch_systems)
        if (!value_of(names.id).empty()) return &names;
    return nullptr;
}
/// Returns the job that the text of /proc/PID/cgroup names, as Slurm and PBS name the groups of jobs; empty: none.
std::string_view job_in_cgroups(std::string_view cgroups);

/// Folder in which a site's prolog confirms the accounts of jobs: a file named like the job has the account in its
/// first line. If there is such a folder and only root can write it, variables do not count.
inline constexpr const char* confirmed_jobs = "/run/fp32shim/jobs";

/// The ids, command and job of a process for which an exception may hold.
struct JobIdentity {
    bool has_real_user_ids = true;      ///< false: whoever made the process's user namespace chose its ids
    std::uint32_t user = 0;             ///< real user id
    std::vector<std::uint32_t> groups;  ///< supplementary group ids, and the real one
    std::string command;                ///< the whole command line
    std::string job, account;           ///< empty: none is known
};
/// Gathers the facts about this process. Asks the kernel itself for ids: other preloaded libraries (fakeroot) answer
/// for the C library.
JobIdentity own_job_identity(const Environment& environment, const std::string& jobs_folder = confirmed_jobs);

/// Judges the exceptions of policy files while these are read.
struct FloorExceptionJudge {
    const Environment& environment;
    const JobIdentity* applicant;       ///< null: this process, whose facts are gathered for the first exception
    std::vector<Diagnostic>& warnings;  ///< about names that have no number on this machine
    std::optional<JobIdentity> gathered{};

    /// Returns the first exception that holds; null if none does.
    FloorException* find_applicable_exception(std::vector<FloorException>& exceptions);
};

/// Returns a warning for each user and group that the exception names and that has no number on this machine.
std::vector<std::string> unknown_name_warnings(const FloorException& exception);

/// Returns how any user of this machine could make a process meet the exception's conditions; empty if that takes
/// the rights of another user.
std::string_view spoofing_risk(const FloorException& exception);

}  // namespace fp32shim::policy
