// Writes the facts about the process's environment into a recording.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "record/environment.hpp"
#include "record/format/format.hpp"
#include "record/write/file.hpp"
#include "record/write/rows.hpp"
#include "system/fork_safe_lock.hpp"

namespace fp32shim::record {

/// The list of facts about the environment in a recording's header (Recording::environment()). Thread-safe. Never
/// calls malloc.
class EnvironmentFactList {
  public:
    EnvironmentFactList(RecordingFile& file, RowTable& rows) : file_(file), rows_(rows) {}

    /// Returns true at the first call in each process; a forked child, which has a list of its own, counts as another
    /// process.
    bool begin_once_per_process() {
        const std::uint32_t self = system::fork_generation();
        return begun_by_.load(std::memory_order_relaxed) != self &&
               begun_by_.exchange(self, std::memory_order_relaxed) != self;
    }
    /// Adds a fact, unless the list has the fact with the same value. `subject` is the library or device that the
    /// fact is about; it is empty if the fact is about the process. Leaves the fact out if its value is empty or
    /// there is no space.
    void add_fact(EnvironmentFact fact, std::string_view subject, std::string_view value) {
        const format::StringId about = rows_.id_of_text(subject), text = rows_.id_of_text(value);
        if (text == 0) return;
        const system::HeldLock held(lock_);
        if (!held) return;
        for (format::EnvironmentRecord& entry : file_.header()->environment) {
            const std::atomic_ref state(entry.fact);
            const std::uint32_t known = state.load(std::memory_order_acquire);
            if (known == static_cast<std::uint32_t>(fact) && entry.subject == about && entry.value == text) return;
            if (known != 0) continue;
            entry.subject = about;
            entry.value = text;
            state.store(static_cast<std::uint32_t>(fact), std::memory_order_release);
            return;
        }
    }

  private:
    RecordingFile& file_;
    RowTable& rows_;
    std::atomic<std::uint32_t> begun_by_{0};
    system::ForkSafeLock lock_;  // `lock_` is held while a fact is added
};

}  // namespace fp32shim::record
