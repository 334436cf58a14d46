// Changes of the process's settings while it runs: commands of `fp32shim set` and `reload`, what came of them, and
// what the program changes itself.
#include <algorithm>
#include <cstring>

#include "record/write/writer.hpp"
#include "system/signal_hold.hpp"

namespace fp32shim::record {

namespace {

/// Under the recording's lock, or while nobody else knows the header. `change`: its time is 0.
void put_change(format::Header& header, const format::ChangeRecord& change) {
    const std::atomic_ref count(header.change_count);
    const std::uint32_t number = count.load(std::memory_order_relaxed);
    format::ChangeRecord& place = header.changes[number % format::change_limit];
    std::atomic_ref(place.time).exchange(0, std::memory_order_acq_rel);
    place = change;
    std::atomic_ref(place.time).store(ticks(), std::memory_order_release);
    count.store(number + 1, std::memory_order_release);
}

}  // namespace

std::optional<Recording::Command> Recording::take_command() {
    if (!is_own_process()) return std::nullopt;
    const format::CommandWord word{std::atomic_ref(header()->command).load(std::memory_order_acquire)};
    std::uint64_t taken = command_taken_.load(std::memory_order_relaxed);
    if (word.value == taken || !command_taken_.compare_exchange_strong(taken, word.value)) return std::nullopt;
    Command command{word.kind(), std::nullopt, word.value};
    const bool is_known = word.precision() <= static_cast<std::uint8_t>(policy::Precision::automatic);
    if (is_known) command.precision = static_cast<policy::Precision>(word.precision());
    switch (command.kind) {
        case format::CommandKind::set_precision:
            if (is_known || word.precision() == format::no_precision) return command;
            break;
        case format::CommandKind::reload:
            return command;
        case format::CommandKind::none:
            break;
    }
    answer(command, false, "this version of fp32shim does not know the command; use the command of the same version");
    return std::nullopt;
}

void Recording::answer(const Command& command, bool is_done, std::string_view message, const PolicyFacts& policy) {
    if (!is_own_process()) return;
    const format::CommandWord word{command.word};
    format::ChangeRecord change{};
    change.kind = static_cast<std::uint32_t>(
        command.kind == format::CommandKind::reload ? format::ChangeKind::reload : format::ChangeKind::set_precision);
    change.origin = static_cast<std::uint32_t>(format::ChangeOrigin::command);
    const auto result = is_done ? format::CommandResult::done : format::CommandResult::refused;
    change.result = static_cast<std::uint32_t>(result);
    change.requester = word.requester();
    change.precision = word.precision();
    note_change(change, policy, message);

    const system::SignalHold hold(system::SignalHold::all);
    if (!lock_.acquire()) return;
    format::Header& mapped = *header();
    const std::size_t size = std::min(message.size(), sizeof mapped.answer_text);
    std::memcpy(mapped.answer_text, message.data(), size);
    mapped.answer_size = static_cast<std::uint32_t>(size);
    mapped.answer = static_cast<std::uint32_t>(result);
    std::atomic_ref(mapped.answered).store(command.word, std::memory_order_release);
    lock_.release();
}

void Recording::note_precision(std::optional<policy::Precision> precision) {
    format::ChangeRecord change{};
    change.kind = static_cast<std::uint32_t>(format::ChangeKind::set_precision);
    change.precision = precision ? static_cast<std::uint8_t>(*precision) : format::no_precision;
    note_own_change(change, {});
}

void Recording::note_floor(policy::Floor floor) {
    format::ChangeRecord change{};
    change.kind = static_cast<std::uint32_t>(format::ChangeKind::set_floor);
    change.floor = static_cast<std::uint8_t>(floor);
    note_own_change(change, {});
}

void Recording::note_reload(const PolicyFacts& policy) {
    format::ChangeRecord change{};
    change.kind = static_cast<std::uint32_t>(format::ChangeKind::reload);
    note_own_change(change, policy);
}

void Recording::note_own_change(format::ChangeRecord change, const PolicyFacts& policy) {
    if (!is_own_process()) return;
    change.origin = static_cast<std::uint32_t>(format::ChangeOrigin::program);
    change.result = static_cast<std::uint32_t>(format::CommandResult::done);
    note_change(change, policy, {});
}

void Recording::note_change(format::ChangeRecord change, const PolicyFacts& policy, std::string_view message) {
    change.policy_name = rows_.string_id(policy.name);
    change.policy_revision = rows_.string_id(policy.revision);
    change.policy_sha256 = rows_.string_id(policy.sha256);
    change.message = rows_.string_id(message);
    if (policy.settings) {
        change.has_settings = 1;
        change.default_precision = static_cast<std::uint8_t>(policy.settings->default_precision);
        change.settings_floor = static_cast<std::uint8_t>(policy.settings->floor);
        change.cpu_mode = static_cast<std::uint8_t>(policy.settings->cpu_mode);
    }
    const system::SignalHold hold(system::SignalHold::all);
    if (!lock_.acquire()) return;
    put_change(*header(), change);
    lock_.release();
}

void Recording::note_carried_over(std::optional<policy::Precision> precision, policy::Floor floor) {
    if (!is_own_process()) return;
    const system::SignalHold hold(system::SignalHold::all);
    if (!lock_.acquire()) return;
    put_carried_over(*header(), precision, floor);
    lock_.release();
}

/// As for put_change().
void Recording::put_carried_over(format::Header& header, std::optional<policy::Precision> precision,
                                 policy::Floor floor) {
    format::ChangeRecord change{};
    change.origin = static_cast<std::uint32_t>(format::ChangeOrigin::carried_over);
    change.result = static_cast<std::uint32_t>(format::CommandResult::done);
    if (precision) {
        change.kind = static_cast<std::uint32_t>(format::ChangeKind::set_precision);
        change.precision = static_cast<std::uint8_t>(*precision);
        put_change(header, change);
    }
    if (floor != policy::Floor::none) {
        change.kind = static_cast<std::uint32_t>(format::ChangeKind::set_floor);
        change.precision = 0;
        change.floor = static_cast<std::uint8_t>(floor);
        put_change(header, change);
    }
}

}  // namespace fp32shim::record
