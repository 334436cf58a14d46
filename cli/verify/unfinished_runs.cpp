#include "cli/verify/unfinished_runs.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "cli/output/terminal.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/recordings/run_members.hpp"
#include "record/read/processes.hpp"

namespace fp32shim::cli {
namespace {

struct Member {
    std::string path;
    RunMember facts;
};

/// Judges the recordings of one run.
class Run {
  public:
    explicit Run(const std::vector<Member>& members) : members_(members) {
        for (const Member& member : members_)
            if (member.facts.run_end.ended_ns > last_.ended_ns) last_ = member.facts.run_end;
    }

    std::vector<ReadingProblem> problems() const {
        std::vector<ReadingProblem> problems;
        const auto add = [&](const std::string& path, const std::string& text) {
            if (!text.empty()) problems.push_back({path, text});
        };
        const auto [first, count] = members_without_end();
        if (count > 0)
            add(first->path,
                fmt::format("the end of its run is not noted in {}: `fp32shim run` still waits or was killed, or the "
                            "file did not have the log's name when the run ended. So it is not known what else ran",
                            count == 1 ? "it" : "it and in " + counted(count - 1, "other recording")));
        add(members_.front().path, missing_text());
        add(members_.front().path, running_text_of_run());
        return problems;
    }

  private:
    bool is_later(const Member& member) const {
        return last_.ended_ns != 0 && member.facts.start_ns > last_.ended_ns;
    }

    /// Returns the first recording that lacks the end of the run, and the number of such recordings. One that was
    /// made after the end cannot have it.
    std::pair<const Member*, std::size_t> members_without_end() const {
        const Member* first = nullptr;
        std::size_t count = 0;
        for (const Member& member : members_) {
            if (!member.facts.is_run_awaited || member.facts.run_end.ended_ns != 0 || is_later(member)) continue;
            if (++count == 1) first = &member;
        }
        return {first, count};
    }

    /// Returns a text about recordings of the run that are not here. The command that waited knows the number of
    /// those of its machine.
    std::string missing_text() const {
        const auto is_counted = [&](const Member& member) {
            const auto& end = member.facts.run_end;
            return end.recordings != 0 || (end.ended_ns == 0 && !is_later(member));  // the end may not be noted
        };
        const auto given = static_cast<std::size_t>(std::ranges::count_if(members_, is_counted));
        if (last_.recordings <= given) return {};
        return fmt::format(
            "processes of its run made {}, of which {} here. Others were moved or removed, or are in "
            "another folder",
            counted(last_.recordings, "recording"), given == 1 ? "one is" : count_text(given) + " are");
    }

    /// Returns true if this command can see the processes of the recording's run: they belong to this boot, this
    /// container and this user.
    bool can_see_processes_of(const Member& member) const {
        static const record::ProcessIdentity self = record::identify_self();
        struct stat status {};
        return member.facts.identity.has_boot_of(self) && member.facts.identity.pid_namespace == self.pid_namespace &&
               (geteuid() == 0 || (stat(member.path.c_str(), &status) == 0 && status.st_uid == geteuid()));
    }

    std::string running_text_of_run() const {
        if (std::ranges::all_of(members_, [&](const Member& member) { return can_see_processes_of(member); })) {
            const auto left = record::processes_left_of_run(members_.front().facts.run, last_.began);
            return left.empty() ? ""
                                : fmt::format("{} of its run still {}, so more calls may follow: {}",
                                              left.size() == 1 ? "a process" : "processes",
                                              left.size() == 1 ? "runs" : "run", running_text(left));
        }
        if (last_.running == 0) return {};
        return fmt::format(
            "{} of its run went on after the end of its program, and whether {} multiplied later is "
            "known only on its machine",
            last_.running == 1 ? "a process" : count_text(last_.running) + " processes",
            last_.running == 1 ? "it" : "they");
    }

    const std::vector<Member>& members_;
    record::format::RunEnd last_{};  ///< the latest note of the end
};

}  // namespace

std::vector<ReadingProblem> problems_of_unfinished_runs(const std::vector<std::string>& paths) {
    std::map<std::uint64_t, std::vector<Member>> by_run;
    for (const std::string& path : paths) {
        auto facts = read_run_member(path);
        if (facts && facts->run != 0 && !facts->is_children_file)
            by_run[facts->run].push_back({path, std::move(*facts)});
    }
    std::vector<ReadingProblem> problems;
    for (const auto& [number, members] : by_run)
        std::ranges::move(Run(members).problems(), std::back_inserter(problems));
    return problems;
}

}  // namespace fp32shim::cli
