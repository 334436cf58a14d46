// The facts about the process's environment in a recording.
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

/// List of facts in a recording's header; see Recording::environment(). Thread-safe. Never calls malloc.
class EnvironmentFactList {
  public:
    EnvironmentFactList(RecordingFile& file, RowTable& rows) : file_(file), rows_(rows) {}

    /// Returns true at the first call in each process, since a forked child has a list of its own.
    bool begin_once_per_process() {
        const std::uint32_t self = system::fork_generation();
        return begun_by_.load(std::memory_order_relaxed) != self &&
               begun_by_.exchange(self, std::memory_order_relaxed) != self;
    }
    /// Adds a fact, unless the list has it with this value. `subject`: library or device; empty: the process. An
    /// empty value, or one for which there is no room, is left out.
    void add_fact(EnvironmentFact fact, std::string_view subject, std::string_view value);

  private:
    RecordingFile& file_;
    RowTable& rows_;
    std::atomic<std::uint32_t> begun_by_{0};
    system::ForkSafeLock lock_;  // protects additions
};

}  // namespace fp32shim::record
