#include "policy/exceptions.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>

#include "policy/conditions.hpp"
#include "policy/messages.hpp"
#include "policy/toml/policy_file.hpp"
#include "system/raw_syscall.hpp"
#include "system/small_files.hpp"

namespace fp32shim::policy {
namespace {

/// The path of a job's control group: globs for its first two folders, and the text before the job's id in the third
/// folder. Only root can make a group in the first folder.
struct JobGroup {
    std::string_view first, second, before_id;
};
constexpr JobGroup job_groups[] = {{"system.slice", "*slurmstepd.scope", "job_"},  // Slurm with cgroup version 2
                                   {"slurm*", "uid_*", "job_"},                    // Slurm with cgroup version 1
                                   {"pbs_jobs.service", "jobid", {}},              // PBS with cgroup version 1
                                   {"pbs_jobs.service", "jobs", {}}};              // PBS with cgroup version 2

std::vector<std::uint32_t> groups_of_process() {
    const long count = std::max(0L, system::raw::syscall6(SYS_getgroups, 0, 0));
    std::vector<std::uint32_t> groups(static_cast<std::size_t>(count));
    groups.resize(
        static_cast<std::size_t>(std::max(0L, system::raw::syscall6(SYS_getgroups, groups.size(), groups.data()))));
    groups.push_back(static_cast<std::uint32_t>(system::raw::syscall6(SYS_getgid)));
    std::ranges::sort(groups);  // most kernels also list the real group among the supplementary ones
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    return groups;
}

/// Finds the numbers of users or of groups. Reads their file, which may be large, at most once, and only if a name is
/// looked up.
class IdTable {
  public:
    explicit IdTable(const char* file) : file_(file) {}
    /// Returns the number of the name, or -1 if it has none.
    std::int64_t of(const std::string& name) {
        const std::int64_t number = system::find_account_id({}, name);
        if (number >= 0) return number;
        if (!lines_) lines_ = system::read_small_file(file_);
        return system::find_account_id(*lines_, name);
    }
    const char* file() const { return file_; }

  private:
    const char* file_;
    std::optional<std::string> lines_;
};

struct AccountDatabase {
    IdTable users{system::users_file}, groups{system::groups_file};
};

/// Returns true if the list of users or groups is empty, or if one of them has a number among the process's `ids`.
bool names_one_of(const std::vector<std::string>& list, IdTable& numbers, const JobIdentity& process,
                  const std::vector<std::uint32_t>& ids) {
    if (list.empty()) return true;
    return process.has_real_user_ids && std::ranges::any_of(list, [&](const std::string& name) {
               return std::ranges::count(ids, numbers.of(name)) > 0;
           });
}

bool holds(const FloorException& exception, const JobIdentity& process, AccountDatabase& names) {
    return names_one_of(exception.user, names.users, process, {process.user}) &&
           names_one_of(exception.group, names.groups, process, process.groups) &&
           matches_any_glob(exception.command, process.command) && matches_any_value(exception.job, process.job) &&
           matches_any_value(exception.account, process.account);
}

std::vector<std::string> unknown_name_warnings_of(const FloorException& exception, AccountDatabase& names) {
    std::vector<std::string> unknown;
    for (const auto& [key, numbers, list] :
         {std::tuple("user", &names.users, &exception.user), std::tuple("group", &names.groups, &exception.group)})
        for (const std::string& name : *list)
            if (numbers->of(name) < 0)
                unknown.push_back("exception " + in_quotes(exception.name) + " does not hold for the " + key + ' ' +
                                  in_quotes(name) + ", which is not in " + numbers->file() +
                                  ", the only place that is asked; write its number");
    return unknown;
}

}  // namespace

std::string_view value_of(std::span<const std::string_view> environment, std::string_view name) {
    for (const std::string_view entry : environment)
        if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name))
            return entry.substr(name.size() + 1);
    return {};
}

std::string_view job_in_cgroups(std::string_view cgroups) {
    while (!cgroups.empty()) {
        // A line is `number:controllers:/first/second/third/…`.
        std::string_view line = system::take_line(cgroups);
        std::string_view folders[4];
        for (std::string_view& folder : folders) {
            folder = line.substr(0, line.find('/'));
            line.remove_prefix(std::min(folder.size() + 1, line.size()));
        }
        for (const JobGroup& group : job_groups)
            if (glob_matches(group.first, folders[1]) && glob_matches(group.second, folders[2]) &&
                folders[3].starts_with(group.before_id) && folders[3].size() > group.before_id.size())
                return folders[3].substr(group.before_id.size());
    }
    return {};
}

JobIdentity own_job_identity(const Environment& environment, const std::string& jobs_folder) {
    JobIdentity process;
    process.has_real_user_ids = has_real_user_ids();
    process.user = static_cast<std::uint32_t>(system::raw::syscall6(SYS_getuid));
    process.groups = groups_of_process();
    process.command = system::read_command_line();
    // The file is read only outside of user namespaces, because whoever made one may also have chosen what /proc
    // shows there.
    if (process.has_real_user_ids) process.job = job_in_cgroups(system::read_small_file("/proc/self/cgroup"));
    if (is_root_only_folder(jobs_folder)) {
        if (process.job.empty()) return process;
        const std::string file = read_policy_bytes(jobs_folder + '/' + process.job, 0).bytes;
        process.account = file.substr(0, file.find('\n'));
        return process;
    }
    const auto value = [&](std::string_view name) { return value_of(environment, name); };
    const BatchSystem* const names = find_batch_system(value);
    // In a user namespace, the environment variables are not used, because the folder of confirmed jobs may exist on
    // the machine but be hidden there.
    if (names != nullptr && process.has_real_user_ids) {
        const std::string_view id = value(names->id);
        if (process.job.empty()) process.job = id;
        if (process.job == id && !names->account.empty()) process.account = value(names->account);
    }
    return process;
}

FloorException* FloorExceptionJudge::find_applicable_exception(std::vector<FloorException>& exceptions) {
    AccountDatabase names;
    bool has_warned = false;
    for (FloorException& exception : exceptions) {
        if (process == nullptr) process = &gathered.emplace(own_job_identity(environment));
        if (holds(exception, *process, names)) return &exception;
        if (has_warned) continue;
        const auto unknown = unknown_name_warnings_of(exception, names);
        has_warned = !unknown.empty();
        if (has_warned) warnings.push_back({exception.file + ':' + std::to_string(exception.line), unknown.front()});
    }
    return nullptr;
}

std::vector<std::string> unknown_name_warnings(const FloorException& exception) {
    AccountDatabase names;
    return unknown_name_warnings_of(exception, names);
}

std::string_view spoofing_risk(const FloorException& exception) {
    if (!exception.user.empty() || !exception.group.empty()) return {};
    if (exception.job.empty() && exception.account.empty()) return "any program can be given such a name";
    return is_root_only_folder(confirmed_jobs) ? "" : "variables tell the job and its account";
}

}  // namespace fp32shim::policy
