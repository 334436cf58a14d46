// fp32shim set and reload: change the settings of a running process. The commands write to the header of the
// process's recording, which the shim in the process reads.
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/settings_in_force.hpp"
#include "policy/decide.hpp"
#include "record/read/control.hpp"
#include "record/read/processes.hpp"

namespace fp32shim::cli {
namespace {

struct LiveCommandOptions {
    std::vector<std::int32_t> pids;
    bool all = false;
    bool yes = false;
    std::string precision;
    double seconds = 5;
};

/// The word that users give instead of a precision to undo earlier changes by `fp32shim set`.
constexpr std::string_view back_to_settings = "default";

/// Prints the answer of a process to a command, and returns the exit code. `done` is the text for a successful
/// change.
int print_answer(std::string_view command, const record::CommandAnswer& answer, const std::string& process,
                 const std::string& done) {
    // `process` is a text such as `process 4711`. Some messages already begin with it; all others get it as their
    // beginning.
    const auto print_for_process = [&](const std::string& message) {
        say(command, message.starts_with(process) ? message : fmt::format("{}: {}", process, message));
    };
    switch (answer.outcome) {
        case record::CommandOutcome::done:
            print(printable(
                      fmt::format("{}: {}{}{}", process, done, answer.message.empty() ? "" : ": ", answer.message)) +
                  "\n");
            return exit_code::ok;
        case record::CommandOutcome::refused:
            print_for_process("refused: " + answer.message);
            return exit_code::finding;
        case record::CommandOutcome::not_answered:
            print_for_process(answer.message);
            return exit_code::inconclusive;
        case record::CommandOutcome::failed:
            break;
    }
    print_for_process(answer.message);
    return exit_code::usage;
}

/// Returns the worse of the exit codes that two processes led to. From the worst to the best, a code means that the
/// process was not reached, refused the command, has not answered yet, or carried out the command.
int worse_exit_code(int one, int other) {
    for (const int code : {exit_code::usage, exit_code::finding, exit_code::inconclusive})
        if (one == code || other == code) return code;
    return exit_code::ok;
}

/// Returns the owner of a process; nullopt if the process has ended.
std::optional<uid_t> owner_of(std::int32_t pid) {
    struct stat status {};
    return stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0 ? std::optional(status.st_uid) : std::nullopt;
}

bool is_own_process(std::int32_t pid) { return owner_of(pid) == geteuid(); }

/// Returns a line such as `  process 4711 of alice: /usr/bin/python3.11`.
std::string process_line(std::int32_t pid) {
    const std::optional<uid_t> owner = owner_of(pid);
    const passwd* const user = owner ? getpwuid(*owner) : nullptr;
    const std::string name = user != nullptr ? user->pw_name : owner ? fmt::format("user {}", *owner) : "no user";
    return printable(fmt::format("  process {} of {}: {}", pid, name, record::executable_of(pid))) + "\n";
}

/// Returns true if the command may change the processes in `recordings`, which are all processes that `--all`
/// selects. It may if `yes` (the option --yes) is true, or if the user agrees at the terminal. If there is no
/// terminal, it may if all of the processes belong to the user.
bool may_change(std::string_view command, const std::vector<record::LiveRecording>& recordings, bool yes) {
    const bool is_on_terminal = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
    const auto is_own = [](const record::LiveRecording& recording) { return is_own_process(recording.pid); };
    const auto others = std::ranges::count_if(recordings, std::not_fn(is_own));
    if (yes || (others == 0 && !is_on_terminal)) return true;
    for (const record::LiveRecording& recording : recordings) std::cerr << process_line(recording.pid);
    const std::string found =
        fmt::format("--all means {} {} here{}", recordings.size(), recordings.size() == 1 ? "process" : "processes",
                    others == 0 ? "" : fmt::format(", {} of other users", others));
    if (!is_on_terminal) {
        say(command, found + "; allowed without a terminal: --yes, or process ids");
        return false;
    }
    std::cerr << found << fmt::format("; {} them? [y/N] ", command) << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    if (answer.starts_with('y') || answer.starts_with('Y')) return true;
    say(command, "nothing was changed");
    return false;
}

/// Returns the recordings of the processes that `options` select. For a process without a recording, prints an error
/// and sets `status` to exit_code::usage.
std::vector<record::LiveRecording> recordings_of(std::string_view command, const LiveCommandOptions& options,
                                                 int& status) {
    std::vector<record::LiveRecording> recordings;
    if (options.all) {
        record::visit_live_recordings([&](const record::LiveRecording& recording) {
            if (geteuid() == 0 || is_own_process(recording.pid)) recordings.push_back(recording);
        });
        if (!recordings.empty() && may_change(command, recordings, options.yes)) return recordings;
        status = exit_code::usage;
        if (!recordings.empty()) return {};
        say(command, geteuid() == 0 ? "no process is recording now" : "no process of this user is recording now");
    }
    for (const std::int32_t pid : options.pids) {
        record::FoundLiveRecording found = record::find_live_recording(pid);
        if (found.recording) {
            recordings.push_back(std::move(*found.recording));
        } else {
            say(command, found.error);
            status = exit_code::usage;
        }
    }
    return recordings;
}

/// Sends a command to all processes that `options` select, and prints the answer of each. For several processes, also
/// prints a line such as `done in 2 of 3 processes`. `send` sends the command and returns the answers. `done_by`
/// returns a text about the change of one process. Returns the worst exit code.
template <class Send, class DoneBy>
int command_all(std::string_view command, const LiveCommandOptions& options, const Send& send,
                const DoneBy& done_by) {
    if (options.pids.empty() != options.all)
        return usage_error(command,
                           fmt::format("{}; see: fp32shim {} --help",
                                       options.all ? "found process ids together with --all; allowed: one of the two"
                                                   : "found no process; allowed: process ids, or --all",
                                       command));
    int status = exit_code::ok;
    const std::vector<record::LiveRecording> recordings = recordings_of(command, options, status);
    const std::vector<record::CommandAnswer> answers = send(recordings);
    std::size_t done = 0;
    for (std::size_t i = 0; i < recordings.size(); ++i) {
        const bool is_done = answers[i].outcome == record::CommandOutcome::done;
        done += is_done ? 1 : 0;
        status =
            worse_exit_code(status, print_answer(command, answers[i], fmt::format("process {}", recordings[i].pid),
                                                 is_done ? done_by(recordings[i]) : std::string()));
    }
    const std::size_t named = options.all ? recordings.size() : options.pids.size();
    if (named > 1 || (options.all && named > 0))
        print(fmt::format("done in {} of {}\n", done, named == 1 ? "1 process" : fmt::format("{} processes", named)));
    return status;
}

std::chrono::milliseconds timeout_of(const LiveCommandOptions& options) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(options.seconds * 1000));
}

/// Returns the reason why other settings of the process leave `precision` without effect, such as `; the floor fp32
/// applies`. Returns an empty text if no reason is found.
std::string why_without_effect(const record::LiveRecording& live, policy::Precision precision) {
    const auto opened = record::RecordingReader::open(live.open_path);
    if (!opened.reader) return {};
    const SettingsInForce settings = settings_in_force(*opened.reader);
    policy::Policy policy;
    policy.default_precision = precision;
    policy.floor = settings.floor.value_or(policy::Floor::none);
    policy.cpu_mode = settings.cpu_mode.value_or(policy::CpuMode::emulate);
    switch (policy::decide({}, {}, policy, {}).reason) {
        case policy::Reason::floor:
            return fmt::format("; the floor {} applies", policy::to_string(policy.floor));
        case policy::Reason::cpu_mode_off:
        case policy::Reason::cpu_mode_reproducible:
        case policy::Reason::accelerate_has_bf16_only: {
            bool multiplies_here = false;
            opened.reader->visit_rows([&](const record::RecordedRow& row) {
                multiplies_here = row.decision.call.device == policy::Device::cpu;
                return !multiplies_here;
            });
            if (!multiplies_here) return {};
            return fmt::format("; CPU mode is {}: products on the CPU stay in float32",
                               policy::to_string(policy.cpu_mode));
        }
        default:
            return {};
    }
}

int set(const LiveCommandOptions& options) {
    std::optional<policy::Precision> precision;
    if (!policy::equal_ignoring_case(options.precision, back_to_settings))
        precision = policy::parse_precision(options.precision);
    const std::string words =
        "precision " + (precision ? std::string(policy::to_string(*precision)) : "back to its settings");
    return command_all(
        "set", options,
        [&](const auto& recordings) {
            return record::send_set_precision(recordings, precision, timeout_of(options));
        },
        [&](const record::LiveRecording& recording) {
            return words + (precision ? why_without_effect(recording, *precision) : "");
        });
}

int reload(const LiveCommandOptions& options) {
    return command_all(
        "reload", options,
        [&](const auto& recordings) { return record::send_reload(recordings, timeout_of(options)); },
        [](const record::LiveRecording&) { return std::string("policy read again"); });
}

/// Parses process ids. Throws CLI::ValidationError if a word is not a process id.
std::vector<std::int32_t> process_ids(std::span<const std::string> words) {
    std::vector<std::int32_t> pids;
    for (const std::string& word : words) {
        const std::int32_t pid = parse_process_id(word).value_or(0);
        if (pid == 0) throw CLI::ValidationError("PID", invalid_process_id_message(word));
        if (std::find(pids.begin(), pids.end(), pid) == pids.end()) pids.push_back(pid);
    }
    return pids;
}

void add_pids(CLI::App& app, const std::function<void(const std::vector<std::string>&)>& take_words) {
    app.add_option_function("PID", take_words, "Processes that are recording, as listed by fp32shim ps")
        ->type_name("PID");
}

void add_all(CLI::App& app, LiveCommandOptions& options) {
    app.add_flag("--all", options.all,
                 "All recording processes of this user, or, for root, of all users; a terminal shows them and asks");
    app.add_flag("--yes", options.yes, "Do not ask which processes --all may change");
    add_seconds(app, "--wait", options.seconds, 0, "Seconds to wait for the processes' next products; default: 5");
}

}  // namespace

Action define_set(CLI::App& app) {
    auto options = std::make_shared<LiveCommandOptions>();
    // The last positional word is the precision. CLI11 cannot distinguish it from a process id.
    auto precision = std::make_shared<CLI::Option*>();
    const auto take_words = [options, precision](const std::vector<std::string>& words) {
        const bool has_precision = !parse_process_id(words.back());
        if (has_precision) (*precision)->add_result(words.back());
        options->pids = process_ids(std::span(words).first(words.size() - (has_precision ? 1 : 0)));
    };
    add_pids(app, take_words);
    std::vector<std::string_view> allowed = policy::texts_of(policy::default_precision_words);
    allowed.push_back(back_to_settings);
    *precision = app.add_option("PRECISION", options->precision, "Precision of products from now on")
                     ->type_name(joined_by_bars(allowed))
                     ->required()
                     ->check([allowed](const std::string& text) {
                         const bool is_known = policy::parse_word(policy::default_precision_words, text) ||
                                               policy::equal_ignoring_case(text, back_to_settings);
                         return is_known ? std::string() : policy::unknown_word_error(text, allowed);
                     });
    add_all(app, *options);
    return [options] { return set(*options); };
}

Action define_reload(CLI::App& app) {
    auto options = std::make_shared<LiveCommandOptions>();
    add_pids(app, [options](const std::vector<std::string>& words) { options->pids = process_ids(words); });
    add_all(app, *options);
    return [options] { return reload(*options); };
}

}  // namespace fp32shim::cli
