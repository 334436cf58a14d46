#include "cli/trials/question.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/json.hpp"
#include "cli/output/shell_words.hpp"
#include "cli/output/terminal.hpp"
#include "cli/product_groups/line_texts.hpp"
#include "cli/run/child.hpp"
#include "cli/run/process_environment.hpp"
#include "cli/trials/command.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {
namespace {

/// Throws End if the options or the settings of the environment cannot be used.
void check(const QuestionOptions& options) {
    const auto refuse = [](const std::string& problem) {
        if (!problem.empty()) throw End{problem, exit_code::usage};
    };
    if (!options.compare.empty() && options.jobs > 1)
        refuse("--jobs and --compare cannot be combined, because all runs write the same file");
    refuse(problem_with_new_file("--policy-out", options.policy_out));
    refuse(problem_with_settings(options.name));
}

/// Returns all facts on which the results of runs depend.
Json identity_of(const QuestionOptions& options, const Json& facts) {
    Json identity = {{"search", 6},
                     {"question", options.name},
                     {"fp32shim", FP32SHIM_VERSION},
                     {"command", options.words},
                     {"cpu", options.cpu},
                     {"runner", options.runner},
                     {"repeat", options.repeat},
                     {"compare", options.compare}};
    identity.update(facts);
    return identity;
}

int fail(const QuestionOptions& options, const End& end) {
    say(options.name, end.message);
    return end.exit_code;
}

}  // namespace

void add_question_options(CLI::App& app, QuestionOptions& options) {
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

int ask(const QuestionOptions& options, TrialSettings settings, const Json& facts,
        const std::function<int(Trials& trials)>& question) {
    int signal = 0;
    try {
        check(options);
        const std::string program = find_trial_program(options.name, options.words, options.runner);
        settings.name = options.name;
        settings.runs.command = options.words;
        settings.runs.runner = list_entries(options.runner, " ");
        settings.runs.cpu = options.cpu;
        settings.runs.keeps_stdout = settings.compares_numbers && options.compare.empty();
        settings.state_path = options.state;
        settings.input_files = options.words;
        settings.input_files.push_back(program);
        settings.compared_file = options.compare;
        settings.may_preview = is_cpu_mode_open(options.cpu);
        Trials trials(std::move(settings), identity_of(options, facts));
        try {
            const int code = question(trials);
            trials.state().remove();
            return code;
        } catch (const End& end) {
            if (!end.keeps_state) trials.state().remove();
            throw;
        } catch (const Interrupted& interrupted) {
            say(options.name, trials.interruption_text());
            signal = interrupted.signal;
        }
    } catch (const End& end) {
        return fail(options, end);
    }
    end_by_signal(signal);
}

void FoundPolicy::write(const QuestionOptions& options, const std::string& evidence, const std::string& policy) {
    const std::string head = fmt::format("# Found by fp32shim {} {} for: {}\n", options.name, FP32SHIM_VERSION,
                                         shell_words(options.words));
    const NewFile file =
        write_new_file(options.policy_out, options.name + "-policy", ".toml", head + evidence + '\n' + policy);
    path = file.path;
    if (file.error != 0)
        throw End{
            fmt::format("{} cannot be written ({}); repeat the command to continue from {}",
                        policy::quoted_path(path), std::strerror(file.error), policy::quoted_path(options.state)),
            exit_code::usage, true};
}

std::string FoundPolicy::text(const QuestionOptions& options, const PolicySettings& settings) const {
    if (path.empty()) return {};
    const ProcessEnvironment environment = ProcessEnvironment::of_this_process();
    std::string words;
    if (settings.types != TriedTypes::float64 && !environment.get("FP32_MATMUL_PRECISION").empty())
        words += " --precision " + settings.precision;
    if (!settings.cpu.empty() && !environment.get("FP32_MATMUL_CPU").empty()) words += " --cpu " + settings.cpu;
    return fmt::format("Policy: {}, for fp32shim run --policy {}{} -- {}\n", printable(path), shell_path(path), words,
                       shell_words(options.words));
}

std::string comment_on_line(const Group& group, const LineTexts& lines) {
    const std::string text = lines.of(group);
    return group.location_text() + (text.empty() ? "" : ": " + text);
}

std::string work_share_text(double work, double all) {
    if (all == 0) return "?";
    constexpr double whole = 1e6;
    return share_text(static_cast<std::uint64_t>(work / all * whole), static_cast<std::uint64_t>(whole));
}

}  // namespace fp32shim::cli
