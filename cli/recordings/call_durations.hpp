// How long single calls took, of recordings that have every call: what medians are read from.
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
    /// `row`: below 2^48.
    void add(std::size_t row, std::uint64_t duration_ns);

    bool empty() const { return used_ == 0; }

    /// The median duration of each of `groups` groups, in nanoseconds; absent where none of its calls is here.
    /// `group_of[row]` is the group that a row belongs to; a row whose group is not below `groups` is left out.
    std::vector<std::optional<std::uint64_t>> medians(std::span<const std::size_t> group_of,
                                                      std::size_t groups) const;

  private:
    struct Slot {
        std::uint64_t key = 0;  ///< (row + 1) << 16 | rounded duration; 0: unused
        std::uint64_t calls = 0;
    };
    Slot& slot_of(std::uint64_t key);
    void grow();

    std::vector<Slot> slots_;  ///< open addressing, a power of two of them
    std::size_t used_ = 0;
};

}  // namespace fp32shim::cli
