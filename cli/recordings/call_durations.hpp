// Durations of single calls, of recordings that have every call: the source of medians.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fp32shim::cli {

/// Counts calls by row and duration. Durations are rounded to 1/128 of a power of two, so that a median is right to
/// within 0.4%, and memory does not grow with the number of calls.
class CallDurations {
  public:
    /// Counts one call of a row, whose number is below 2^48.
    void add(std::size_t row, std::uint64_t duration_ns);

    bool empty() const { return used_ == 0; }

    /// Returns the median duration of each of `groups` groups, in nanoseconds; nullopt for one without calls.
    /// `group_of[row]` is a row's group. Rows without an entry, or whose group is not below `groups`, do not count.
    std::vector<std::optional<std::uint64_t>> medians(std::span<const std::size_t> group_of,
                                                      std::size_t groups) const;

  private:
    struct Slot {
        std::uint64_t key = 0;  ///< (row + 1) << 16 | rounded duration; 0: unused
        std::uint64_t calls = 0;
    };
    Slot& slot_of(std::uint64_t key);
    void grow();

    std::vector<Slot> slots_;  ///< hash table with open addressing; its size is a power of two
    std::size_t used_ = 0;
};

}  // namespace fp32shim::cli
