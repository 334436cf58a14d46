#include "cli/trials/search_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

#include "cli/binaries/program_file.hpp"
#include "cli/binaries/shim_library.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/files/own_files.hpp"
#include "cli/output/json.hpp"
#include "cli/output/shell_words.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/run/child.hpp"
#include "cli/run/process_environment.hpp"
#include "policy/load.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {
namespace {

/// Returns the problem with the shim library or with the settings in the environment, or an empty text if there is no
/// problem.
std::string problem_with_settings(std::string_view name) {
    if (const ShimLibrary library = find_shim_library(); !library.problem.empty()) return library.problem;
    ProcessEnvironment environment = ProcessEnvironment::of_this_process();
    if (!environment.get("FP32_MATMUL_POLICY").empty())
        say(name, "FP32_MATMUL_POLICY has no effect, because each run has its own policy");
    environment.set("FP32_MATMUL_POLICY", "");  // the shim treats an empty value as if the variable were not set
    const policy::LoadedPolicy loaded = policy::load_policy(environment.entry_views(), {});
    if (!loaded.errors.empty()) return loaded.errors.front().text();
    if (loaded.policy.disabled) return "FP32_MATMUL_DISABLE=1 is set: the shim is switched off; unset it";
    return {};
}

/// Returns the reason why `path`, the value of `option`, cannot become a new file. Returns an empty text if it can,
/// or if `path` is empty.
std::string problem_with_new_file(std::string_view option, const std::string& path) {
    std::error_code error;
    if (!path.empty() && std::filesystem::exists(std::filesystem::symlink_status(path, error)))
        return fmt::format("{}: {} exists already; remove it, or name another file", option,
                           policy::quoted_path(path));
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && access(folder.c_str(), W_OK | X_OK) != 0)
        return fmt::format("{}: the folder {} cannot be written ({}); name another", option,
                           policy::quoted_path(folder.string()), std::strerror(errno));
    return {};
}

/// Returns the path of the program that the first of `words` names. If `runner` is set, returns an empty text,
/// because only a run can then tell whether the program starts. Throws SearchAborted if the program cannot start.
std::string find_trial_program(std::string_view name, const std::vector<std::string>& words,
                               const std::string& runner) {
    if (!runner.empty()) return {};
    const char* path = std::getenv("PATH");
    const ProgramFile found = find_program(words.front(), path == nullptr || *path == '\0' ? nullptr : path);
    if (found.lookup != Lookup::found)
        throw SearchAborted{fmt::format("{}: {}", found.path, found.cause),
                            found.lookup == Lookup::not_found ? exit_code::not_found : exit_code::not_executable};
    if (const PreloadObstacle unseen = find_preload_obstacle(found.path); !unseen.text.empty())
        say(name, fmt::format("{} {}, so its products are neither seen nor controlled", found.path, unseen.text));
    return found.path;
}

/// Throws SearchAborted if the options or the settings of the environment cannot be used.
void check_options(const SearchOptions& options) {
    const auto refuse = [](const std::string& problem) {
        if (!problem.empty()) throw SearchAborted{problem, exit_code::usage};
    };
    if (!options.compare.empty() && options.jobs > 1)
        refuse("--jobs and --compare cannot be combined, because all runs write the same file");
    refuse(problem_with_new_file("--policy-out", options.policy_out));
    refuse(problem_with_settings(options.name));
}

/// Returns the environment variables that determine how the runs multiply.
std::vector<std::string> settings_of_environment() {
    const ProcessEnvironment environment = ProcessEnvironment::of_this_process();
    std::vector<std::string> settings;
    for (const std::string& entry : environment.entries())
        if (entry.starts_with("FP32_MATMUL_") && !entry.starts_with("FP32_MATMUL_LOG=") &&
            !entry.starts_with("FP32_MATMUL_POLICY="))
            settings.push_back(entry);
    std::ranges::sort(settings);
    return settings;
}

/// Returns all facts on which the results of the runs depend. `facts` holds those of them that are known only to the
/// command that searches, `bisect` or `sensitivity`.
Json identity_of(const SearchOptions& options, const Json& facts) {
    Json identity = {{"search", 7},
                     {"question", options.name},
                     {"fp32shim", FP32SHIM_VERSION},
                     {"command", options.words},
                     {"cpu", options.cpu},
                     {"runner", options.runner},
                     {"repeat", options.repeat},
                     {"environment", settings_of_environment()},
                     {"compare", options.compare}};
    identity.update(facts);
    return identity;
}

}  // namespace

void add_search_options(CLI::App& app, SearchOptions& options) {
    options.state = options.name + "-state.jsonl";
    add_word(
        app, "--cpu", options.cpu, policy::cpu_mode_words,
        "Effect of lower precisions on the CPU (FP32_MATMUL_CPU; for programs that multiply on a CPU only: emulate)");
    add_values(app, "--audits", options.audits,
               "Recordings with audits: what they find to change most is tried first")
        ->type_name("FILE");
    add_count(app, "--jobs", options.jobs, 1, "Number of runs at once, for commands that do not disturb each other");
    add_name(app, "--state", options.state, "FILE",
             fmt::format("File of the runs so far, from which an interrupted search continues; removed at the end "
                         "(default: {})",
                         options.state));
    add_name(app, "--policy-out", options.policy_out, "FILE",
             fmt::format("File for the policy; must be new (default: {}-policy.toml, with a number if that exists)",
                         options.name));
    add_name(app, "--runner", options.runner, "WORDS",
             "Words to put before each run's command line, such as 'srun -n1'");
    add_table_or_json(app, options.is_json);
    app.add_option("PROGRAM", options.words, "The command to run and its arguments")->required();
}

int run_search(const SearchOptions& options, TrialSettings settings, const Json& facts,
               const std::function<int(TrialRunner& trials)>& question) {
    int signal = 0;
    try {
        check_options(options);
        const std::string program = find_trial_program(options.name, options.words, options.runner);
        settings.name = options.name;
        settings.runs.command = options.words;
        settings.runs.runner = split_list(options.runner, " ");
        settings.runs.cpu = options.cpu;
        settings.runs.keeps_stdout = settings.compares_numbers && options.compare.empty();
        settings.state_path = options.state;
        settings.input_files = options.words;
        settings.input_files.push_back(program);
        settings.compared_file = options.compare;
        settings.may_preview =
            options.cpu.empty() && ProcessEnvironment::of_this_process().get("FP32_MATMUL_CPU").empty();
        TrialRunner trials(std::move(settings), identity_of(options, facts));
        try {
            const int code = question(trials);
            trials.state().remove_file();
            return code;
        } catch (const SearchAborted& end) {
            const bool has_runs = trials.run_count() > 0 || trials.state().earlier_run_count() > 0;
            if (!end.keeps_state || !has_runs) trials.state().remove_file();
            throw;
        } catch (const InterruptedBySignal& interrupted) {
            say(options.name, trials.interruption_text());
            signal = interrupted.signal;
        }
    } catch (const SearchAborted& end) {
        say(options.name, end.message);
        return end.exit_code;
    }
    end_self_by_signal(signal);
}

void rank_groups_by_audits(const SearchOptions& options, TriedTypes types, GroupList& groups) {
    if (options.audits.empty()) return;
    RecordingPaths paths = find_recordings(options.audits);
    if (paths.errors.empty()) add_rest_of_runs(paths);
    if (print_errors_or_notes(options.name, paths))
        throw SearchAborted{"--audits names no recording", exit_code::usage, true};
    RecordedProductsReader reader;
    std::map<std::pair<std::string, GroupLocation>, double> errors;
    const auto problems = visit_recordings(paths.paths, [&](const std::string&, record::RecordingReader& recording) {
        recording.visit_audits([&](const record::RecordedAudit& audit) {
            const record::RecordedRow* const row = recording.row(audit.row);
            if (row == nullptr || row->is_overflow || !is_tried_type(types, row->decision.call.dtype)) return true;
            if ((audit.audit.notes & record::audit_noise) != 0 || is_about_nonfinite(audit.audit)) return true;
            const double error = static_cast<double>(audit.audit.errors.error_by(policy::ErrorMetric::row));
            double& largest = errors[line_key(reader.group_of(*row, recording))];
            largest = std::max(
                largest, error >= 0
                             ? error
                             : std::numeric_limits<double>::infinity());  // an error of NaN becomes infinite, too
            return true;
        });
    });
    print_problems(options.name, problems);
    if (errors.empty())
        say(options.name,
            "--audits: the recordings have no audit of these products with an error, so those with the "
            "most work are tried first; record with fp32shim run --audit 0.01");
    groups.set_line_ranks(std::move(errors));
}

void FoundPolicy::write_file(const SearchOptions& options, const std::string& evidence, const std::string& policy) {
    const std::string text = fmt::format("# Found by fp32shim {} {} for: {}\n{}\n{}", options.name, FP32SHIM_VERSION,
                                         shell_words(options.words), evidence, policy);
    path = options.policy_out;
    int error = path.empty() ? EEXIST : write_new_file(path, text);
    for (int i = 0; options.policy_out.empty() && error == EEXIST && i < 1000; ++i) {
        path = i == 0 ? options.name + "-policy.toml" : fmt::format("{}-policy.{}.toml", options.name, i);
        error = write_new_file(path, text);
    }
    if (error != 0)
        throw SearchAborted{
            fmt::format("{} cannot be written ({}); repeat the command to continue from {}",
                        policy::quoted_path(path), std::strerror(error), policy::quoted_path(options.state)),
            exit_code::usage, true};
}

std::string FoundPolicy::usage_text(const SearchOptions& options, const PolicySettings& settings) const {
    if (path.empty()) return {};
    const ProcessEnvironment environment = ProcessEnvironment::of_this_process();
    std::string words;
    if (settings.types != TriedTypes::float64 && !environment.get("FP32_MATMUL_PRECISION").empty())
        words += " --precision " + requested_precision(settings.precision);
    if (!settings.cpu.empty() && !environment.get("FP32_MATMUL_CPU").empty()) words += " --cpu " + settings.cpu;
    return fmt::format("Policy: {}\n  fp32shim run --policy {}{} -- {}\n", printable(path), quote_shell_path(path),
                       words, shell_words(options.words));
}

std::string comment_on_line(const ProductGroup& group, const SourceLineTexts& lines) {
    const std::string text = lines.text_of(group);
    return group.location_text() + (text.empty() ? "" : ": " + text);
}

std::string work_share_text(double work, double all) {
    if (all == 0) return "?";
    constexpr double whole = 1e6;
    return share_text(static_cast<std::uint64_t>(work / all * whole), static_cast<std::uint64_t>(whole));
}

}  // namespace fp32shim::cli
