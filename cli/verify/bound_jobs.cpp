// Judges each job by its floor, which is the lowest format that the job was allowed to use when it was recorded.
// `fp32shim verify` does this unless an option such as --at-least asks for something else.

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>

#include "cli/recordings/process_text.hpp"
#include "cli/recordings/settings_in_force.hpp"
#include "cli/verify/verdict.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

/// The recordings of one job with the same user, the same floor and the same exception to the floor. Without a job,
/// they are the recordings of one run, or a single recording.
struct JobWithFloor {
    std::string job;   ///< name of the job in the output: the job's id, or else the first recording's path
    std::string id{};  ///< id of the job; empty: none
    /// The numbers of the runs of `fp32shim run` that made the recordings; 0 for no run.
    std::set<std::uint64_t> runs{};
    std::int64_t user = -1;                ///< real user id; -1: not recorded
    std::optional<policy::Floor> floor{};  ///< floor of the job; absent if it is not known
    std::string exception{};               ///< exceptions that lowered the floor; empty: none did
    bool allow_bf16x9 = false;             ///< BF16x9 meets the job's floor fp32
    bool has_changed = false;              ///< the job had another floor for a time
    std::vector<std::string> recordings{};

    Verdict verdict = inconclusive;
    std::uint64_t calls = 0;
    /// The numbers of float32 calls by MergedRow::effective_format().
    std::map<std::string, std::uint64_t> formats{};
    /// For some calls, `formats` has the format that was allowed, because it is not known at which format they ran.
    bool was_allowed = false;
    std::string summary{};               ///< summary of what is known of the job's calls
    std::vector<std::string> reasons{};  ///< reasons why the job is not shown to have kept its floor
    bool lacks_rule = false;             ///< a rule of its policy decided no call
    bool is_judged = true;               ///< false if only a program without the shim or a problem is known of it

    /// Returns true if the policy itself took the floor away, so that there is nothing to judge.
    bool is_excepted() const { return has_no_floor() && !exception.empty(); }
    bool has_no_floor() const { return floor == policy::Floor::none && !has_changed; }
    bool has(const std::string& path) const { return std::ranges::count(recordings, path) > 0; }
};

/// The maximum number of jobs, and of reasons of each job, that the text describes. Further jobs and reasons are only
/// counted.
constexpr std::size_t max_told = 20;

JobWithFloor job_of(const std::string& path, const record::RecordingReader& recording) {
    using record::format::SettingsChangeKind;
    const record::RecordingFacts& facts = recording.facts();
    const SettingsInForce now = settings_in_force(recording);
    JobWithFloor job;
    job.id = facts.process.job_id;
    job.job = job.id.empty() ? path : job.id;
    job.runs = {facts.process.run};
    job.user = facts.user;
    job.floor = now.floor;
    job.exception = now.floor_exception;
    job.allow_bf16x9 = now.allow_bf16x9;
    job.has_changed = std::ranges::any_of(recording.changes(), [&](const record::RecordedSettingsChange& change) {
        if (!change.was_done || change.origin == record::format::SettingsChangeOrigin::carried_over) return false;
        if (change.kind == SettingsChangeKind::set_floor) return change.floor > facts.start.floor;
        return change.kind == SettingsChangeKind::reload &&
               (!change.settings || change.settings->floor != facts.start.floor ||
                change.settings->allow_bf16x9 != facts.start.allow_bf16x9);
    });
    job.recordings = {path};
    return job;
}

bool are_one_job(const JobWithFloor& one, const JobWithFloor& other) {
    const bool is_same = one.id.empty() ? *one.runs.begin() != 0 && one.runs == other.runs : one.id == other.id;
    return is_same && one.id.empty() == other.id.empty() && one.user == other.user && one.floor == other.floor &&
           one.exception == other.exception && one.allow_bf16x9 == other.allow_bf16x9 &&
           one.has_changed == other.has_changed;
}

void judge(JobWithFloor& job, const std::vector<ReadingProblem>& known, VerifyOptions options) {
    MergedCalls calls;
    std::vector<ReadingProblem> problems = visit_recordings(
        job.recordings, [&](const std::string& path, auto& recording) { calls.add(path, recording); });
    std::ranges::copy_if(known, std::back_inserter(problems),
                         [&](const ReadingProblem& problem) { return job.has(problem.path); });
    job.calls = calls.total().calls;
    for (const MergedRow& row : calls.rows()) {
        if (!row.is_float32() || row.effective_format().empty() || row.counters.calls == 0) continue;
        job.formats[std::string(row.effective_format())] += row.counters.calls;
        job.was_allowed |= row.has_only_permitted_format();
    }
    if (job.has_no_floor()) {
        job.summary = job.is_excepted() ? "the exception takes its floor away"
                                        : "no floor bound it; --at-least FORMAT judges it by a format";
        return;
    }
    if (job.has_changed || !job.floor) {
        job.summary = "it may have had another floor for a time, and no call tells which one bound it";
        return;
    }
    options.at_least = policy::to_string(*job.floor);
    options.allow_bf16x9 |= job.allow_bf16x9;
    const VerifyResult verified = verify_calls(calls, problems, options, {});
    job.verdict = verified.verdict();
    job.lacks_rule = has_unused_rule(verified.rules);
    job.summary = verdict_summary(verified, calls, options);
    for (const Doubt& doubt : verified.doubts)
        job.reasons.push_back((doubt.where.empty() ? "" : doubt.where + ": ") + doubt.reason);
    for (const PossibleBypass& bypass : verified.bypasses[static_cast<std::size_t>(BypassStanding::open)]) {
        const std::string remedy = bypass.pins == 0 ? bypass.remedy : pins_text(bypass.pins);
        job.reasons.push_back(
            fmt::format("not seen: {}: {}{}{}", bypass.name, bypass.reason, remedy.empty() ? "" : " -> ", remedy));
    }
}

std::string user_text(std::int64_t user) {
    const passwd* const known = user < 0 ? nullptr : getpwuid(static_cast<uid_t>(user));
    return known != nullptr ? known->pw_name : user < 0 ? "" : fmt::format("{}", user);
}

std::string verdict_text(const JobWithFloor& job) {
    if (!job.is_judged) return "not judged";
    if (!job.has_no_floor()) return std::string(job.verdict.word);
    return job.is_excepted() ? "excepted" : "no floor";
}

/// Returns the formats of a job's float32 calls: `tf32` if all ran at one format, otherwise with the numbers of
/// calls: `fp32 8, tf32 3`.
std::string formats_text(const JobWithFloor& job) {
    std::string text;
    for (const auto& [format, calls] : job.formats)
        text += fmt::format("{}{}", text.empty() ? "" : ", ",
                            job.formats.size() == 1 ? format : fmt::format("{} {}", format, count_text(calls)));
    return text;
}

/// Returns the verdict on all jobs. It is `shown` if at least one job is shown to have kept its floor, and every
/// other job is also shown or had its floor removed by an exception in the policy.
const Verdict& verdict_of(const std::vector<JobWithFloor>& jobs) {
    const auto has = [&](int code) {
        return std::ranges::any_of(jobs, [&](const JobWithFloor& job) {
            return job.verdict.exit_code == code && (code == exit_code::ok || !job.is_excepted());
        });
    };
    if (has(exit_code::finding)) return violated;
    return has(exit_code::ok) && !has(exit_code::inconclusive) ? shown : inconclusive;
}

std::string verdict_summary(const std::vector<JobWithFloor>& jobs) {
    const Verdict& verdict = verdict_of(jobs);
    if (std::ranges::all_of(jobs, [](const JobWithFloor& job) { return job.has_no_floor() && !job.is_excepted(); }))
        return coloured(verdict.title, verdict.colour) +
               ": no floor bound these recordings; --at-least FORMAT judges them by a format";
    const bool is_violated = verdict.exit_code == exit_code::finding;
    struct JobVerdicts {
        // `has_it`: the job has the verdict that is counted here. `has_others`: the job also has another verdict.
        bool has_it = false, has_others = false;
    };
    std::map<std::string_view, JobVerdicts> lines_of_jobs;
    for (const JobWithFloor& job : jobs) {
        const bool is_it = job.verdict.exit_code == (is_violated ? violated : shown).exit_code;
        (is_it ? lines_of_jobs[job.job].has_it : lines_of_jobs[job.job].has_others) = true;
    }
    const auto those = std::ranges::count_if(lines_of_jobs, [&](const auto& entry) {
        return entry.second.has_it && (is_violated || !entry.second.has_others);
    });
    const auto excepted = std::ranges::count_if(jobs, &JobWithFloor::is_excepted);
    const std::string_view one = is_violated ? "ran, or was allowed to run, below the floor that bound it"
                                             : "is shown to have kept the floor that bound it",
                           many = is_violated ? "ran, or were allowed to run, below the floors that bound them"
                                              : "are shown to have kept the floors that bound them";
    return fmt::format("{}: {} of {} {}{}", coloured(verdict.title, verdict.colour), those,
                       counted(lines_of_jobs.size(), "job"), those == 1 || lines_of_jobs.size() == 1 ? one : many,
                       excepted == 0 ? "" : fmt::format("; {} had none, by an exception", excepted));
}

/// Judges the jobs. In the result, violated jobs come first and shown jobs come last. Expected jobs without a
/// recording are included.
std::vector<JobWithFloor> judge_jobs(const RecordingPaths& found, const std::vector<ReadingProblem>& problems,
                                     const VerifyOptions& options, ExpectedJobList& expected) {
    std::vector<JobWithFloor> jobs, children;
    std::vector<MergedProcess> processes;
    const auto unread = visit_recordings(found.paths, [&](const std::string& path, auto& recording) {
        MergedProcess& process = processes.emplace_back();
        process.path = path;
        process.facts = recording.facts();
        JobWithFloor job = job_of(path, recording);
        const auto known =
            std::ranges::find_if(jobs, [&](const JobWithFloor& other) { return are_one_job(job, other); });
        if (process.is_children_file())
            children.push_back(std::move(job));
        else if (known != jobs.end()) {
            known->recordings.push_back(path);
            known->runs.merge(job.runs);
        } else
            jobs.push_back(std::move(job));
    });
    // A file that lists children without the shim belongs to each job of its run. If no run made the file, it belongs
    // to the jobs with the same id, or to the job whose recording has the same name without `.children`.
    for (const JobWithFloor& file : children) {
        const std::string path = file.recordings.front(), stem = path.substr(0, path.rfind(".children."));
        bool is_alone = true;
        for (JobWithFloor& job : jobs) {
            const std::uint64_t run = *file.runs.begin();
            const bool has_it = run != 0 ? job.runs.contains(run)
                                         : (!file.id.empty() && job.id == file.id) || job.has(stem + ".fp32rec");
            if (!has_it) continue;
            job.recordings.push_back(path);
            is_alone = false;
        }
        if (!is_alone) continue;
        JobWithFloor alone = file;
        alone.floor = policy::Floor::fp32;
        judge(alone, problems, options);
        if (alone.reasons.size() == 1 && !jobs.empty()) continue;  // its only reason is that no calls were recorded
        alone.is_judged = false;
        alone.floor.reset();
        alone.verdict = inconclusive;
        alone.summary = "its programs have no recording here";
        jobs.push_back(std::move(alone));
    }
    for (JobWithFloor& job : jobs)
        if (job.is_judged) judge(job, problems, options);
    const std::size_t judged = jobs.size();
    const auto add_unjudged = [&](const ReadingProblem& problem) {
        const auto end = jobs.begin() + static_cast<std::ptrdiff_t>(judged);
        if (std::none_of(jobs.begin(), end, [&](const JobWithFloor& job) { return job.has(problem.path); }))
            jobs.push_back({.job = problem.path, .summary = problem.text, .is_judged = false});
    };
    std::ranges::for_each(unread, add_unjudged);
    std::ranges::for_each(problems, add_unjudged);
    compare_jobs(processes, expected);
    for (const std::string& id : expected.missing)
        if (std::ranges::find(jobs, id, &JobWithFloor::id) == jobs.end())
            jobs.push_back({.job = id, .id = id, .summary = std::string(no_recording_of_job), .is_judged = false});
    std::ranges::stable_sort(jobs, {}, [](const JobWithFloor& job) {
        return job.verdict.exit_code == exit_code::finding ? 0 : job.verdict.exit_code == exit_code::ok ? 2 : 1;
    });
    return jobs;
}

std::string text_of(const std::vector<JobWithFloor>& jobs, const ExpectedJobList& expected) {
    TextTable table({{"job", false, 12},
                     {"user"},
                     {"floor"},
                     {"exception", false, 16},
                     {"calls", true},
                     {"float32 at"},
                     {"verdict"}});
    std::string reasons;
    std::size_t told = 0;
    for (const JobWithFloor& job : jobs) {
        table.add({job.job, user_text(job.user), job.floor ? std::string(policy::to_string(*job.floor)) : "",
                   job.exception, job.is_judged ? count_text(job.calls) : "", formats_text(job), verdict_text(job)});
        if (job.verdict.exit_code == exit_code::ok || job.is_excepted() || ++told > max_told) continue;
        reasons += fmt::format("- {}: {}\n", printable(job.job), printable(job.summary));
        for (std::size_t i = 0; i < std::min(job.reasons.size(), max_told); ++i)
            reasons += fmt::format("    {}\n", printable(job.reasons[i]));
        if (job.reasons.size() > max_told) reasons += fmt::format("    and {} more\n", job.reasons.size() - max_told);
    }
    if (told > max_told) reasons += fmt::format("- and {} more; --format json has them all\n", told - max_told);
    if (!expected.unexpected.empty())
        reasons += fmt::format("\nRecordings of jobs that were not expected: {}\n",
                               printable(listed(expected.unexpected, max_told)));
    return fmt::format(
        "{}.\n\n{}{}{}\nA line is the verdict of fp32shim verify --at-least FLOOR on that job's recordings, which "
        "names the calls and what no verdict covers. Floor and exception are those that the process noted.{}\n",
        verdict_summary(jobs), table.text(), told == 0 ? "" : "\nNot shown:\n", reasons,
        std::ranges::any_of(jobs, &JobWithFloor::was_allowed)
            ? " Of calls on a GPU, it is known what they were allowed to run at."
            : "");
}

Json to_json(const std::vector<JobWithFloor>& jobs, const ExpectedJobList& expected) {
    Json list = Json::array();
    for (const JobWithFloor& job : jobs)
        list.push_back({{"job_id", text_or_null(job.id)},
                        {"user", job.user < 0 ? Json() : Json(job.user)},
                        {"floor", job.floor ? Json(policy::to_string(*job.floor)) : Json()},
                        {"floor_exception", text_or_null(job.exception)},
                        {"verdict", verdict_text(job)},
                        {"summary", job.summary},
                        {"doubts", job.reasons},
                        {"calls", job.calls},
                        {"formats", job.formats},
                        {"recordings", job.recordings}});
    return {{"schema", 1}, {"verdict", verdict_of(jobs).word}, {"jobs", list}, {"expected", to_json(expected)}};
}

}  // namespace

VerdictByFloors verdict_by_floors(const RecordingPaths& found, const std::vector<ReadingProblem>& problems,
                                  const VerifyOptions& options, ExpectedJobList expected) {
    const std::vector<JobWithFloor> jobs = judge_jobs(found, problems, options, expected);
    return {verdict_of(jobs), std::ranges::any_of(jobs, &JobWithFloor::lacks_rule),
            options.format == "json" ? json_text(to_json(jobs, expected)) : text_of(jobs, expected)};
}

}  // namespace fp32shim::cli
