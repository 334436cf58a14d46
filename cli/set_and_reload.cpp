// fp32shim set and reload: changes in a running process, through the header of its recording.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/settings_in_force.hpp"
#include "cli/terminal.hpp"
#include "policy/decide.hpp"
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

/// Why products will not run at what was set, where that follows from the settings: `; the floor fp32 holds`.
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
            return fmt::format("; the floor {} holds", policy::to_string(policy.floor));
        case policy::Reason::cpu_mode_off:
        case policy::Reason::cpu_accelerate_not_built: {
            bool multiplies_here = false;
            opened.reader->visit_rows([&](const record::RecordedRow& row) {
                multiplies_here = row.decision.call.device == policy::Device::cpu;
                return !multiplies_here;
            });
            if (!multiplies_here) return {};
            return fmt::format("; CPU mode is {}: products on the CPU stay as called",
                               policy::to_string(policy.cpu_mode));
        }
        default:
            return {};
    }
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
    const record::CommandAnswer answer = record::send_set_precision(*found.recording, precision, timeout_of(options));
    return told("set", answer,
                fmt::format("process {}: precision {}{}", options.pid, words,
                            precision ? why_without_effect(*found.recording, *precision) : ""));
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
