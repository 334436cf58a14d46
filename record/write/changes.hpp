// Handles the commands that `fp32shim set` and `fp32shim reload` write into the header of a recording, and keeps the
// header's list of changes of the process's settings.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "policy/policy.hpp"
#include "policy/precision.hpp"
#include "record/format/format.hpp"
#include "record/write/file.hpp"
#include "record/write/rows.hpp"
#include "system/fork_safe_lock.hpp"

namespace fp32shim::record {

/// Identifies the policy in force after a change. Empty texts mean that the policy has no name, revision or hash.
struct PolicyFacts {
    std::string_view name;
    std::string_view revision;
    std::string_view sha256;
    std::string_view floor_exception{};                  ///< names of the exceptions that lowered the policy's floor;
                                                         ///< empty: no exception did
    std::optional<format::ReloadedSettings> settings{};  ///< settings after a reload; absent: unknown
};

/// Receives commands, answers them, and records changes of settings (Recording::control()). Thread-safe, except for
/// begin_list() and forget_last_command().
class RecordingControl {
  public:
    RecordingControl(RecordingFile& file, RowTable& rows) : file_(file), rows_(rows) {}

    struct Command {
        format::CommandKind kind = format::CommandKind::none;
        std::optional<policy::Precision> precision;  ///< new precision; absent: environment variables and policy
                                                     ///< files decide again
        std::uint64_t word = 0;                      ///< the CommandWord that was in the header
    };
    /// Returns true if `header` has a command that no thread has taken yet. Makes only two loads from memory.
    bool has_command(format::Header& header) const {
        return std::atomic_ref(header.command).load(std::memory_order_relaxed) !=
               taken_.load(std::memory_order_relaxed);
    }
    /// Takes the command in the header and returns it. If several threads call this function, only one of them gets
    /// the command. If this version does not know the command, answers that it is unknown, and returns nullopt.
    std::optional<Command> receive_command();
    /// Answers `fp32shim set` or `fp32shim reload`, and records the change. `is_done` is false if the command was
    /// refused. `message` is one line for the user, and is empty if the command is done. `policy` identifies the
    /// policy in force after a reload.
    void answer(const Command& command, bool is_done, std::string_view message, const PolicyFacts& policy = {});

    /// Records that the program changed the precision by the C API. If `precision` is nullopt, the program withdrew
    /// its precision, and environment variables and policy files decide again.
    void record_precision_change(std::optional<policy::Precision> precision);
    void record_floor_change(policy::Floor floor);
    void record_reload(const PolicyFacts& policy);
    /// Records the precision and floor that were already in force when this recording began, if there were any.
    void record_carried_over_settings(std::optional<policy::Precision> precision, policy::Floor floor);

    /// Begins the list of changes in a new file. `precision` and `floor`, which are already in force, become its
    /// first entries. No other thread may use the file yet.
    void begin_list(format::Header& header, std::optional<policy::Precision> precision, policy::Floor floor);
    /// Forgets which command was taken most recently. Must be called for a new header, in which no command has been
    /// taken.
    void forget_last_command() { taken_.store(0, std::memory_order_relaxed); }

  private:
    void append_with_policy(format::SettingsChangeRecord change, const PolicyFacts& policy, std::string_view message);

    std::atomic<std::uint64_t> taken_{0};  // the CommandWord that was taken most recently; 0: none
    RecordingFile& file_;
    RowTable& rows_;
    system::ForkSafeLock lock_;  // `lock_` is held while the list or the answer is written
};

}  // namespace fp32shim::record
