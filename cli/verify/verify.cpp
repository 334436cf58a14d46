// fp32shim verify: decides if recordings show that nothing ran below a format.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/kept_runs/kept_runs.hpp"
#include "cli/output/moment.hpp"
#include "cli/report/output_file.hpp"
#include "cli/verify/documents.hpp"
#include "cli/verify/unfinished_runs.hpp"
#include "cli/verify/verdict.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

std::string problem_with_output_options(const VerifyOptions& options, const std::vector<std::string>& recordings) {
    if (!options.output.empty() && options.format == "table") return "--output needs --format json, html or in-toto";
    return output_problem(options.output, recordings);
}

/// Writes to a file, or to stdout if `path` is empty. Returns false after a message if that failed.
bool write(std::string_view text, const std::string& path) {
    ReportOutput output(path);
    output.put(text);
    const std::string problem = output.finish();
    if (!problem.empty()) say("verify", problem);
    return problem.empty();
}

/// Writes the result in the format that was asked for. Returns false after a message if that failed.
bool write(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options,
           const std::vector<JudgedCalls>& judged) {
    if (options.format == "table") {
        print(wrapped(text_of(verified, calls, options, judged)));
        return true;
    }
    Json result = to_json(verified, calls, options, judged);
    const std::string date = timestamp(now_ns());
    if (options.format == "in-toto") {
        result = verdict_statement(result, date);
        if (result["subject"].empty()) {
            say("verify",
                "no recording had a checksum, so no in-toto Statement was written, which needs one as its subject; "
                "--format json has the result");
            return false;
        }
    }
    return write(options.format == "html" ? verdict_page(result, date) : json_text(result), options.output);
}

int status_of(const Verdict& verdict, const VerifyOptions& options, bool lacks_rule) {
    const int status = verdict.exit_code;
    return status == exit_code::ok && options.requires_rules && lacks_rule ? exit_code::finding : status;
}

int verify(VerifyOptions& options) {
    const bool is_last = options.recordings.empty();
    if (!take_last_runs("verify", 1, options.recordings)) return exit_code::usage;
    if (is_last && !options.output.empty())
        say("verify", "later runs will replace this recording; run --log NAME.fp32rec keeps the evidence");
    RecordingPaths found = find_recordings(options.recordings);
    if (found.errors.empty()) add_rest_of_runs(found);
    if (print_errors("verify", found)) return exit_code::usage;
    ExpectedJobs expected;
    const bool by_floors = options.at_least.empty() && !options.reproducible && options.accumulate.empty();
    std::string problem = by_floors && options.format != "table" && options.format != "json"
                              ? "--format " + options.format + " needs --at-least, --reproducible or --accumulate"
                              : problem_with_output_options(options, found.paths);
    if (problem.empty() && !options.expect.empty()) problem = read_expected_jobs(options.expect, expected);
    if (!problem.empty()) {
        say("verify", problem);
        return exit_code::usage;
    }

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
    std::vector<JudgedCalls> judged;
    auto unread = visit_recordings(found.paths, [&](const std::string& path, auto& recording) {
        calls.add(path, recording);
        judged.push_back(judge_calls(
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
        ->type_name(alternatives(possible_bypass_names()))
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
