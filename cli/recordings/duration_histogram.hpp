// Computes medians of durations from recordings that hold every single call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cli/recordings/hash_table.hpp"

namespace fp32shim::cli {

/// Counts calls by row and duration. Durations are rounded to 1/128 of a power of two, so that a median is right to
/// within 0.4%, and memory does not grow with the number of calls.
class DurationHistogram {
  public:
    /// Counts one call of a row. The number `row` must be below 2^48.
    void add(std::size_t row, std::uint64_t duration_ns);

    bool empty() const { return bins_.empty(); }

    /// Returns the median duration of each of `groups` groups, in nanoseconds; nullopt for a group without calls.
    /// `group_of[row]` is a row's group. Rows without an entry are left out, and so are rows whose group is not below
    /// `groups`.
    std::vector<std::optional<std::uint64_t>> medians(std::span<const std::size_t> group_of,
                                                      std::size_t groups) const;

  private:
    /// The number of calls of one row that have the same rounded duration.
    struct Bin {
        std::uint64_t key = 0;  ///< (row + 1) << 16 | number of the duration's interval
        std::uint64_t calls = 0;

        explicit operator bool() const { return key != 0; }
    };
    HashTable<Bin> bins_;
};

}  // namespace fp32shim::cli
