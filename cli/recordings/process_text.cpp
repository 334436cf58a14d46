#include "cli/recordings/process_text.hpp"

#include <fmt/format.h>

#include <tuple>

#include "cli/output/moment.hpp"
#include "cli/output/terminal.hpp"
#include "policy/words.hpp"
#include "record/pinned_variables.hpp"
#include "system/limited_text.hpp"

namespace fp32shim::cli {

std::vector<std::string> settings_texts(const record::StartEvent& start) {
    const std::string exception =
        start.floor_exception.empty() ? "" : fmt::format(" (exception \"{}\")", start.floor_exception);
    return {fmt::format("default {}", policy::to_string(start.default_precision)),
            fmt::format("floor {}{}", policy::to_string(start.floor), exception),
            fmt::format("CPU mode {}", policy::to_string(start.cpu_mode))};
}

std::vector<std::string> settings_texts(const record::RecordingFacts& facts) {
    std::vector<std::string> texts = settings_texts(facts.start);
    if (std::string pins = pins_text(facts.process.pins); !pins.empty()) texts.push_back(std::move(pins));
    const auto& [name, revision, sha256] =
        std::tie(facts.start.policy_name, facts.start.policy_revision, facts.start.policy_sha256);
    if (!sha256.empty())
        texts.push_back(fmt::format("policy {}, sha256 {:.12}", policy_name_text(name, revision, sha256), sha256));
    return texts;
}

std::string pins_text(std::uint16_t pins) {
    std::string text;
    for (const std::string_view entry : record::pinned_entries(pins))
        text += fmt::format("{}{}", text.empty() ? "pinned by its environment: " : ", ", entry);
    return text;
}

std::string policy_name_text(std::string_view name, std::string_view revision, std::string_view sha256) {
    if (name.empty() && sha256.empty()) return "none";
    return fmt::format("{}{}{}", name.empty() ? "without a name" : name, revision.empty() ? "" : ", revision ",
                       revision);
}

std::string settings_change_text(const record::RecordedSettingsChange& change) {
    using record::format::SettingsChangeKind;
    switch (change.kind) {
        case SettingsChangeKind::set_precision:
            return fmt::format(
                "precision {}{}", change.was_done ? "" : "not set: ",
                change.precision ? policy::to_string(*change.precision) : std::string_view("back to its settings"));
        case SettingsChangeKind::set_floor:
            return fmt::format("floor {}{}", change.was_done ? "" : "not set: ", policy::to_string(change.floor));
        case SettingsChangeKind::reload:
            if (!change.was_done) return "policy not read again";
            return fmt::format("policy read again: {}{}{:.12}",
                               policy_name_text(change.policy_name, change.policy_revision, change.policy_sha256),
                               change.policy_sha256.empty() ? "" : ", sha256 ", change.policy_sha256);
        case SettingsChangeKind::none:
            break;
    }
    return "a kind that this version does not know";
}

std::string_view change_origin_text(record::format::SettingsChangeOrigin origin) {
    using record::format::SettingsChangeOrigin;
    constexpr policy::NamedValue<SettingsChangeOrigin> words[] = {
        {"fp32shim command", SettingsChangeOrigin::command},
        {"the program", SettingsChangeOrigin::program},
        {"held already when this recording began", SettingsChangeOrigin::carried_over}};
    const std::string_view text = policy::name_of(words, origin);
    return text.empty() ? "of an origin that this version does not know" : text;
}

std::string lost_changes_text(std::uint64_t count) {
    return fmt::format(
        "{} of settings {} missing, because a recording keeps only the last {}; each call still shows what it ran at",
        counted(count, "change"), count == 1 ? "is" : "are", record::format::change_limit);
}

std::string unseen_child_text(const record::RecordedChild& child) {
    std::string text = child.path;
    if (!child.folder.empty()) text += " in " + child.folder;
    if (!child.interpreter.empty()) text += ", run by " + child.interpreter;
    const std::string_view why = record::to_string(child.why_unseen);
    text += fmt::format(", {}", why.empty() ? "for a reason that this version does not know" : why);
    return text + fmt::format(" (process {}, {}{})", child.pid, timestamp(child.first_ns),
                              child.count > 1 ? fmt::format("; {} times in all", child.count) : "");
}

std::string process_text(const record::ProcessFacts& process) {
    std::string text = process.command.empty() ? process.executable : process.command;
    if (text.empty()) text = "an unknown program";
    text += fmt::format(" (process {}", process.pid);
    if (!process.host.empty()) text += " on " + process.host;
    if (!process.job_id.empty()) text += ", job " + process.job_id;
    return text + (process.rank < 0 ? "" : fmt::format(", rank {}", process.rank)) + ")";
}

std::string running_processes_text(const std::vector<record::RemainingProcess>& processes) {
    constexpr std::size_t max_processes = 3;
    std::vector<std::string> texts;
    for (const record::RemainingProcess& process : processes) {
        std::string command = record::command_line_of(process.pid);
        if (command.empty()) command = "an unknown program";
        char buffer[80];
        texts.push_back(fmt::format("{} (process {}{})", printable(system::cut_to_fit(command, buffer)), process.pid,
                                    process.is_certain ? ""
                                                       : ", which overwrote its environment and may be no part of "
                                                         "the run"));
    }
    return listed(texts, max_processes);
}

std::string early_end_text(const record::RecordingFacts& facts) {
    if ((facts.flags & record::format::flag_closed) != 0) return "the program closed it: later calls are missing";
    if ((facts.flags & record::format::flag_left) != 0)
        return "after a reload or on entering strict seccomp, the process continued in another recording or in none; "
               "later calls are missing here";
    return {};
}

}  // namespace fp32shim::cli
