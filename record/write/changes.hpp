// The part of a recording that `fp32shim set` and `reload` use: their commands, and a list of changes of the
// process's settings.
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

/// Identifies the policy in force after a change; empty texts: none.
struct PolicyFacts {
    std::string_view name;
    std::string_view revision;
    std::string_view sha256;
    std::string_view floor_exception{};                  ///< see StartEvent
    std::optional<format::ReloadedSettings> settings{};  ///< settings after a reload; absent: unknown
};

/// Receives commands, answers them, and records changes; see Recording::control(). Thread-safe, except for
/// begin_list() and forget_last_command().
class RecordingControl {
  public:
    RecordingControl(RecordingFile& file, RowTable& rows) : file_(file), rows_(rows) {}

    struct Command {
        format::CommandKind kind = format::CommandKind::none;
        std::optional<policy::Precision> precision;  ///< new precision; absent: environment and policy files decide
                                                     ///< again
        std::uint64_t word = 0;                      ///< the command's CommandWord in the header
    };
    /// Returns true if `header` has a command that no thread has taken yet. Costs two loads from memory.
    bool has_command(format::Header& header) const {
        return std::atomic_ref(header.command).load(std::memory_order_relaxed) !=
               taken_.load(std::memory_order_relaxed);
    }
    /// Takes the waiting command. Only one thread gets it; other threads get nothing. A command that this version
    /// does not know is answered as unknown, and not returned.
    std::optional<Command> receive_command();
    /// Sends the result to `fp32shim set` or `reload`, and records the change. `message`: one line for the user,
    /// empty if the command is done. `policy`: the policy in force after a reload.
    void answer(const Command& command, bool is_done, std::string_view message, const PolicyFacts& policy = {});

    /// Records a change that the program made by the C API. Without `precision`, environment and policy files decide
    /// again.
    void record_precision_change(std::optional<policy::Precision> precision);
    void record_floor_change(policy::Floor floor);
    void record_reload(const PolicyFacts& policy);
    /// Records the precision and floor that were already in force when this recording began, if there were any.
    void record_carried_over(std::optional<policy::Precision> precision, policy::Floor floor);

    /// Begins the list of changes in a new file, with the settings already in force. No other thread may use the file
    /// yet.
    void begin_list(format::Header& header, std::optional<policy::Precision> precision, policy::Floor floor);
    /// Forgets the last command that was taken. Needed for a new header: none of its commands has been taken.
    void forget_last_command() { taken_.store(0, std::memory_order_relaxed); }

  private:
    void append_with_policy(format::SettingsChangeRecord change, const PolicyFacts& policy, std::string_view message);

    std::atomic<std::uint64_t> taken_{0};  // the CommandWord that was taken last
    RecordingFile& file_;
    RowTable& rows_;
    system::ForkSafeLock lock_;  // protects the list and the answer while they are written
};

}  // namespace fp32shim::record
