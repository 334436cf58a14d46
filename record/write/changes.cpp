#include "record/write/changes.hpp"

#include <algorithm>
#include <cstring>

#include "policy/words.hpp"
#include "record/format/clock.hpp"

namespace fp32shim::record {

using format::CommandKind;
using format::CommandResult;
using format::SettingsChangeKind;
using format::SettingsChangeOrigin;
using format::SettingsChangeRecord;

namespace {

SettingsChangeRecord make_change(SettingsChangeKind kind, SettingsChangeOrigin origin,
                                 CommandResult result = CommandResult::done) {
    SettingsChangeRecord change{};
    change.kind = static_cast<std::uint32_t>(kind);
    change.origin = static_cast<std::uint32_t>(origin);
    change.result = static_cast<std::uint32_t>(result);
    return change;
}

SettingsChangeRecord make_precision_change(std::optional<policy::Precision> precision, SettingsChangeOrigin origin) {
    SettingsChangeRecord change = make_change(SettingsChangeKind::set_precision, origin);
    change.precision = precision ? static_cast<std::uint8_t>(*precision) : format::no_precision;
    return change;
}

SettingsChangeRecord make_floor_change(policy::Floor floor, SettingsChangeOrigin origin) {
    SettingsChangeRecord change = make_change(SettingsChangeKind::set_floor, origin);
    change.floor = static_cast<std::uint8_t>(floor);
    return change;
}

/// Appends a change to the list in the header, and sets its time to the present time. Precondition: no other thread
/// appends a change at the same time.
void append_change(format::Header& header, const SettingsChangeRecord& change) {
    const std::atomic_ref count(header.change_count);
    const std::uint32_t number = count.load(std::memory_order_relaxed);
    SettingsChangeRecord& entry = header.changes[number % format::change_limit];
    std::atomic_ref(entry.time).exchange(0, std::memory_order_acq_rel);
    entry = change;
    std::atomic_ref(entry.time).store(ticks(), std::memory_order_release);
    count.store(number + 1, std::memory_order_release);
}

/// Appends the precision and the floor that were already requested before this recording began, with the origin
/// SettingsChangeOrigin::carried_over. Precondition: no other thread appends a change at the same time.
void append_carried_over_settings(format::Header& header, std::optional<policy::Precision> precision,
                                  policy::Floor floor) {
    if (precision) append_change(header, make_precision_change(precision, SettingsChangeOrigin::carried_over));
    if (floor != policy::Floor::none)
        append_change(header, make_floor_change(floor, SettingsChangeOrigin::carried_over));
}

}  // namespace

void RecordingControl::begin_list(format::Header& header, std::optional<policy::Precision> precision,
                                  policy::Floor floor) {
    append_carried_over_settings(header, precision, floor);
    forget_last_command();
}

std::optional<RecordingControl::Command> RecordingControl::receive_command() {
    const format::CommandWord word{std::atomic_ref(file_.header()->command).load(std::memory_order_acquire)};
    std::uint64_t taken = taken_.load(std::memory_order_relaxed);
    if (word.value == taken || !taken_.compare_exchange_strong(taken, word.value)) return std::nullopt;
    Command command{word.kind(), std::nullopt, word.value};
    const auto precision = static_cast<policy::Precision>(word.precision());
    const bool is_known = !policy::name_of(policy::default_precision_words, precision).empty();
    if (is_known) command.precision = precision;
    if (command.kind == CommandKind::reload) return command;
    if (command.kind == CommandKind::set_precision && (is_known || word.precision() == format::no_precision))
        return command;
    answer(command, false,
           "the process's version of fp32shim does not know this request; use the fp32shim command of that version");
    return std::nullopt;
}

void RecordingControl::answer(const Command& command, bool is_done, std::string_view message,
                              const PolicyFacts& policy) {
    const format::CommandWord word{command.word};
    const auto result = is_done ? CommandResult::done : CommandResult::refused;
    SettingsChangeRecord change = make_change(
        command.kind == CommandKind::reload ? SettingsChangeKind::reload : SettingsChangeKind::set_precision,
        SettingsChangeOrigin::command, result);
    change.requester = word.requester();
    change.precision = word.precision();
    append_with_policy(change, policy, message);

    const system::HeldLock held(lock_);
    if (!held) return;
    format::Header& header = *file_.header();
    const std::size_t size = std::min(message.size(), sizeof header.answer_text);
    std::memcpy(header.answer_text, message.data(), size);
    header.answer_size = static_cast<std::uint32_t>(size);
    header.answer = static_cast<std::uint32_t>(result);
    std::atomic_ref(header.answered).store(command.word, std::memory_order_release);
}

void RecordingControl::record_precision_change(std::optional<policy::Precision> precision) {
    append_with_policy(make_precision_change(precision, SettingsChangeOrigin::program), {}, {});
}

void RecordingControl::record_floor_change(policy::Floor floor) {
    append_with_policy(make_floor_change(floor, SettingsChangeOrigin::program), {}, {});
}

void RecordingControl::record_reload(const PolicyFacts& policy) {
    append_with_policy(make_change(SettingsChangeKind::reload, SettingsChangeOrigin::program), policy, {});
}

void RecordingControl::record_carried_over_settings(std::optional<policy::Precision> precision, policy::Floor floor) {
    if (const system::HeldLock held(lock_); held) append_carried_over_settings(*file_.header(), precision, floor);
}

void RecordingControl::append_with_policy(SettingsChangeRecord change, const PolicyFacts& policy,
                                          std::string_view message) {
    change.policy_name = rows_.id_of_text(policy.name);
    change.policy_revision = rows_.id_of_text(policy.revision);
    change.policy_sha256 = rows_.id_of_text(policy.sha256);
    change.message = rows_.id_of_text(message);
    change.floor_exception = rows_.id_of_text(policy.floor_exception);
    if (policy.settings) {
        change.has_settings = 1;
        change.default_precision = static_cast<std::uint8_t>(policy.settings->default_precision);
        change.settings_floor = static_cast<std::uint8_t>(policy.settings->floor);
        change.cpu_mode = static_cast<std::uint8_t>(policy.settings->cpu_mode);
        change.allows_bf16x9 = policy.settings->allow_bf16x9 ? 1 : 0;
    }
    if (const system::HeldLock held(lock_); held) append_change(*file_.header(), change);
}

}  // namespace fp32shim::record
