// Counts the launches of each kernel that the program named, for tests that compare with what a tool counted.
//
// STAND_IN_LAUNCHES=FILE: at its end, the process appends a line for each name: direct launches, launches by replays
// of graphs, and the name.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace stand_in {

struct LaunchCounts {
    std::atomic<std::uint64_t> direct = 0;
    std::atomic<std::uint64_t> replayed = 0;
};

/// Returns the counts of a name. They live until the process ends.
LaunchCounts* launch_counts(const std::string& name);

}  // namespace stand_in
