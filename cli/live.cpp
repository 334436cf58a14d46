// fp32shim set and reload: changes in a running process, through the header of its recording.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "record/recording_control.hpp"

namespace fp32shim::cli {
namespace {

struct LiveOptions {
    std::int32_t pid = 0;
    std::string precision;
    double seconds = 5;
};

/// The word that takes a precision back.
constexpr std::string_view back_to_settings = "default";

int told(std::string_view command, const record::CommandAnswer& answer, const std::string& done) {
    switch (answer.outcome) {
        case record::CommandOutcome::done:
            print(printable(answer.message.empty() ? done : fmt::format("{}: {}", done, answer.message)) + "\n");
            return exit_code::ok;
        case record::CommandOutcome::refused:
            say(command, "refused: " + answer.message);
            return exit_code::finding;
        case record::CommandOutcome::not_answered:
            say(command, answer.message.empty() ? "not answered yet: the process acts on it at its next product"
                                                : answer.message);
            return exit_code::inconclusive;
        case record::CommandOutcome::failed:
            break;
    }
    say(command, answer.message);
    return exit_code::usage;
}

std::chrono::milliseconds timeout_of(const LiveOptions& options) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(options.seconds * 1000));
}

int set(const LiveOptions& options) {
    const record::FoundRecording found = record::find_live_recording(options.pid);
    if (!found.recording) {
        say("set", found.error);
        return exit_code::usage;
    }
    std::optional<policy::Precision> precision;
    if (!policy::equal_ignoring_case(options.precision, back_to_settings)) {
        precision = policy::parse_precision(options.precision);
    }
    const std::string words = precision ? std::string(policy::to_string(*precision)) : "back to its settings";
    return told("set", record::send_set_precision(*found.recording, precision, timeout_of(options)),
                fmt::format("process {}: precision {}", options.pid, words));
}

int reload(const LiveOptions& options) {
    const record::FoundRecording found = record::find_live_recording(options.pid);
    if (!found.recording) {
        say("reload", found.error);
        return exit_code::usage;
    }
    return told("reload", record::send_reload(*found.recording, timeout_of(options)),
                fmt::format("process {}: policy read again", options.pid));
}

void add_pid(CLI::App& app, LiveOptions& options) {
    add_process_id(app, options.pid, "A process that records, as fp32shim ps lists it")->required();
    add_seconds(app, "--wait", options.seconds, 0,
                "Seconds to wait for the process's next product; 5 where not given");
}

}  // namespace

Action define_set(CLI::App& app) {
    auto options = std::make_shared<LiveOptions>();
    add_pid(app, *options);
    std::vector<std::string_view> allowed = policy::texts_of(policy::default_precision_words);
    allowed.push_back(back_to_settings);
    app.add_option("PRECISION", options->precision, "What products are asked to run at from now on")
        ->type_name(alternatives(allowed))
        ->required()
        ->check([allowed](const std::string& text) {
            const bool is_known = policy::parse_word(policy::default_precision_words, text) ||
                                  policy::equal_ignoring_case(text, back_to_settings);
            return is_known ? std::string() : policy::not_one_of(text, allowed);
        });
    return [options] { return set(*options); };
}

Action define_reload(CLI::App& app) {
    auto options = std::make_shared<LiveOptions>();
    add_pid(app, *options);
    return [options] { return reload(*options); };
}

}  // namespace fp32shim::cli
