// fp32shim verify: decides if recordings show that nothing ran below a format.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "cli/command_line/options.hpp"
#include "cli/kept_runs/kept_runs.hpp"
#include "cli/output/moment.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/recordings/run_members.hpp"
#include "cli/report/output_file.hpp"
#include "cli/verify/documents.hpp"
#include "cli/verify/verdict.hpp"
#include "policy/words.hpp"
#include "record/read/processes.hpp"

namespace fp32shim::cli {
namespace {

// ---- Runs whose processes may still run, or whose recordings may be missing

/// A recording of a `fp32shim run`, and the facts about the run in the recording's header.
struct RunRecording {
    std::string path;
    RunMember facts;
};

/// Finds the reasons why the recordings of one run may be incomplete.
class RecordedRun {
  public:
    explicit RecordedRun(const std::vector<RunRecording>& members) : members_(members) {
        for (const RunRecording& member : members_)
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
    bool is_later(const RunRecording& member) const {
        return last_.ended_ns != 0 && member.facts.start_ns > last_.ended_ns;
    }

    /// Returns the first recording in which the end of the run is not noted, and the number of such recordings.
    /// Recordings that were made after the end cannot have the note and are not counted.
    std::pair<const RunRecording*, std::size_t> members_without_end() const {
        const RunRecording* first = nullptr;
        std::size_t count = 0;
        for (const RunRecording& member : members_) {
            if (!member.facts.is_run_awaited || member.facts.run_end.ended_ns != 0 || is_later(member)) continue;
            if (++count == 1) first = &member;
        }
        return {first, count};
    }

    /// Returns a text about recordings of the run that are not here; empty if all are here. The note of the run's end
    /// tells how many recordings were made on the machine where `fp32shim run` waited.
    std::string missing_text() const {
        const auto is_counted = [&](const RunRecording& member) {
            const auto& end = member.facts.run_end;
            return end.recordings != 0 ||
                   // A recording that was made before the end is counted too, because it may lack the note.
                   (end.ended_ns == 0 && !is_later(member));
        };
        const auto given = static_cast<std::size_t>(std::ranges::count_if(members_, is_counted));
        if (last_.recordings <= given) return {};
        return fmt::format(
            "processes of its run made {}, of which {} here. Others were moved or removed, or are in "
            "another folder",
            counted(last_.recordings, "recording"), given == 1 ? "one is" : count_text(given) + " are");
    }

    /// Returns true if this command can see the processes of the recording's run, because they belong to the same
    /// boot, container and user as this command.
    bool can_see_processes_of(const RunRecording& member) const {
        static const record::ProcessIdentity self = record::identify_self();
        struct stat status {};
        return member.facts.identity.shares_boot_with(self) &&
               member.facts.identity.pid_namespace == self.pid_namespace &&
               (geteuid() == 0 || (stat(member.path.c_str(), &status) == 0 && status.st_uid == geteuid()));
    }

    std::string running_text_of_run() const {
        if (std::ranges::all_of(members_, [&](const RunRecording& member) { return can_see_processes_of(member); })) {
            const auto left = record::remaining_processes_of_run(members_.front().facts.run, last_.began);
            return left.empty() ? ""
                                : fmt::format("{} of its run still {}, so more calls may follow: {}",
                                              left.size() == 1 ? "a process" : "processes",
                                              left.size() == 1 ? "runs" : "run", running_processes_text(left));
        }
        if (last_.running == 0) return {};
        return fmt::format(
            "{} of its run went on after the end of its program, and whether {} multiplied later is "
            "known only on its machine",
            last_.running == 1 ? "a process" : count_text(last_.running) + " processes",
            last_.running == 1 ? "it" : "they");
    }

    const std::vector<RunRecording>& members_;
    record::format::RunEnd last_{};  ///< the latest note of the run's end in a recording
};

/// Returns the reasons why the recordings at `paths` may be only a part of the recordings of their runs: the end of a
/// run is not noted, some of the run's processes still run, or the run made further recordings.
std::vector<ReadingProblem> problems_of_unfinished_runs(const std::vector<std::string>& paths) {
    std::map<std::uint64_t, std::vector<RunRecording>> by_run;
    for (const std::string& path : paths) {
        auto facts = read_run_member(path);
        if (facts && facts->run != 0 && !facts->is_children_file)
            by_run[facts->run].push_back({path, std::move(*facts)});
    }
    std::vector<ReadingProblem> problems;
    for (const auto& [number, members] : by_run)
        std::ranges::move(RecordedRun(members).problems(), std::back_inserter(problems));
    return problems;
}

std::string problem_with_output_options(const VerifyOptions& options, const std::vector<std::string>& recordings) {
    if (!options.output.empty() && options.format == "table") return "--output needs --format json, html or in-toto";
    return problem_with_output(options.output, recordings);
}

/// Writes `text` to the file `path`, or to stdout if `path` is empty. If this fails, prints a message and returns
/// false.
bool write(std::string_view text, const std::string& path) {
    ReportOutput output(path);
    output.write(text);
    const std::string problem = output.finish();
    if (!problem.empty()) say("verify", problem);
    return problem.empty();
}

/// Writes the result in the format that `options` name. If this fails, prints a message and returns false.
bool write(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options,
           const std::vector<JudgedCallCounts>& judged) {
    if (options.format == "table") {
        print(wrapped(text_of(verified, calls, options, judged)));
        return true;
    }
    Json result = to_json(verified, calls, options, judged);
    const std::string date = timestamp(now_ns());
    if (options.format == "in-toto") {
        result = in_toto_statement(result, date);
        if (result["subject"].empty()) {
            say("verify",
                "no recording had a checksum, so no in-toto Statement was written, which needs one as its subject; "
                "--format json has the result");
            return false;
        }
    }
    return write(options.format == "html" ? verdict_html_page(result, date) : json_text(result), options.output);
}

int status_of(const Verdict& verdict, const VerifyOptions& options, bool lacks_rule) {
    const int status = verdict.exit_code;
    return status == exit_code::ok && options.requires_rules && lacks_rule ? exit_code::finding : status;
}

int verify(VerifyOptions& options) {
    const bool is_last = options.recordings.empty();
    if (!default_to_last_runs("verify", 1, options.recordings)) return exit_code::usage;
    if (is_last && !options.output.empty())
        say("verify", "later runs will replace this recording; run --log NAME.fp32rec keeps the evidence");
    RecordingPaths found = find_recordings(options.recordings);
    if (found.errors.empty()) add_rest_of_runs(found);
    if (print_errors_or_notes("verify", found)) return exit_code::usage;
    ExpectedJobList expected;
    const bool by_floors = options.at_least.empty() && !options.reproducible && options.accumulate.empty();
    std::string problem = by_floors && options.format != "table" && options.format != "json"
                              ? "--format " + options.format + " needs --at-least, --reproducible or --accumulate"
                              : problem_with_output_options(options, found.paths);
    if (problem.empty() && !options.expect.empty()) problem = read_expected_jobs(options.expect, expected);
    if (!problem.empty()) return usage_error("verify", problem);

    auto problems = problems_of_copies(found);
    std::ranges::move(problems_of_missing_files(found), std::back_inserter(problems));
    std::ranges::move(problems_of_unfinished_runs(found.paths), std::back_inserter(problems));
    if (by_floors) {
        const VerdictByFloors judged = verdict_by_floors(found, problems, options, std::move(expected));
        return write(options.format == "table" ? wrapped(judged.text) : judged.text, options.output)
                   ? status_of(judged.verdict, options, judged.lacks_rule)
                   : exit_code::usage;
    }

    MergedCalls calls;
    std::vector<JudgedCallCounts> judged;
    auto unread = visit_recordings(found.paths, [&](const std::string& path, auto& recording) {
        calls.add(path, recording);
        judged.push_back(count_judged_calls(
            recording, [&](const record::RecordedRow* row) { return is_violation(row, options); },
            [&](const record::RecordedRow* row) { return calls.index_of(row); }));
    });
    problems.insert(problems.begin(), unread.begin(), unread.end());
    const VerifyResult verified = verify_calls(calls, problems, options, std::move(expected));
    if (!write(verified, calls, options, judged)) return exit_code::usage;
    return status_of(verified.verdict(), options, has_unused_rule(verified.rules));
}

}  // namespace

Action define_verify(CLI::App& app) {
    auto options = std::make_shared<VerifyOptions>();
    add_recordings(app, options->recordings);
    auto* at_least =
        add_choice(app, "--at-least", options->at_least, policy::texts_of(policy::verified_floor_words),
                   "Lowest format that is allowed; default: the floor of each job, with a line for each");
    auto* reproducible =
        app.add_flag("--reproducible", options->reproducible,
                     "Instead of that: all products must have run in a fixed order (run --reproducible)")
            ->excludes(at_least);
    add_choice(app, "--accumulate", options->accumulate, {"fp32"},
               "Instead of that: products of float16 and bfloat16 in cuBLAS must add in FP32 ([cuda] accumulate)")
        ->excludes(at_least)
        ->excludes(reproducible);
    add_values(app, "--allow-kernel", options->allowed_kernels,
               "Kernels on a GPU that may multiply in any format; the verdict lists them")
        ->type_name("GLOB");
    app.add_flag("--allow-bf16x9", options->allow_bf16x9, "BF16x9 counts as FP32, as with [limits] allow_bf16x9");
    app.add_flag("--require-rules", options->requires_rules,
                 "Also end with status 1 if a rule of the policy decided no call");
    add_values(app, "--assume-unused", options->assumed_unused,
               "State that these bypasses, or children that were not covered (child:NAME), multiplied nothing below "
               "that format; names separated by commas; the verdict lists them")
        ->type_name(joined_by_bars(possible_bypass_names()))
        ->check(problem_with_bypass_names);
    add_name(app, "--expect", options->expect, "FILE",
             "Jobs that must have recordings: ids, one a line, or what sacct prints; -: stdin");
    const auto name_recordings = [](const std::string&) {
        throw CLI::ValidationError("--onednn-log",
                                   "recordings of run --pin, or with [log] onednn = true, have what oneDNN told");
    };
    app.add_option_function<std::string>("--onednn-log", name_recordings)->group("");
    add_format(app, {"table", "json", "html", "in-toto"},
               [options = options.get()](const std::string& word) { options->format = word; });
    add_output(app, options->output);
    return [options] { return verify(*options); };
}

}  // namespace fp32shim::cli
