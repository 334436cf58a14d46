#include "cli/recordings/call_durations.hpp"

#include <algorithm>
#include <bit>

#include "system/hash.hpp"

namespace fp32shim::cli {
namespace {

constexpr unsigned key_shift = 16;
constexpr std::uint64_t exact = 256;  ///< durations below this number of nanoseconds are not rounded

/// Returns the number of the interval in which a duration lies. Longer durations have higher numbers.
std::uint64_t step_of(std::uint64_t duration_ns) {
    if (duration_ns < exact) return duration_ns;
    const auto shift = static_cast<unsigned>(std::bit_width(duration_ns)) - 8;
    return exact / 2 * shift + (duration_ns >> shift);
}

/// Returns the middle of the interval with this number, in nanoseconds: the inverse of step_of().
std::uint64_t duration_of(std::uint64_t step) {
    if (step < exact) return step;
    const std::uint64_t shift = step / (exact / 2) - 1;
    const std::uint64_t lowest = (step - exact / 2 * shift) << shift;
    return lowest + (std::uint64_t{1} << (shift - 1));
}

}  // namespace

void CallDurations::add(std::size_t row, std::uint64_t duration_ns) {
    const std::uint64_t key = (std::uint64_t{row} + 1) << key_shift | step_of(duration_ns);
    const auto hash_of = [](const Step& step) { return system::Hash().add(step.key).value(); };
    Step& step = steps_
                     .find_or_add(
                         hash_of({key}), [key](const Step& other) { return other.key == key; }, hash_of)
                     .first;
    step.key = key;
    ++step.calls;
}

std::vector<std::optional<std::uint64_t>> CallDurations::medians(std::span<const std::size_t> group_of,
                                                                 std::size_t groups) const {
    struct Entry {
        std::size_t group;
        std::uint64_t step, calls;
    };
    std::vector<Entry> entries;
    std::vector<std::uint64_t> calls(groups);
    for (const Step& step : steps_.entries()) {
        const std::uint64_t row = (step.key >> key_shift) - 1;
        if (!step || row >= group_of.size() || group_of[row] >= groups) continue;
        entries.push_back({group_of[row], step.key & ((1U << key_shift) - 1), step.calls});
        calls[group_of[row]] += step.calls;
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return a.group != b.group ? a.group < b.group : a.step < b.step;
    });
    std::vector<std::optional<std::uint64_t>> medians(groups);
    std::vector<std::uint64_t> seen(groups);
    for (const Entry& entry : entries) {
        seen[entry.group] += entry.calls;
        if (!medians[entry.group] && 2 * seen[entry.group] >= calls[entry.group])
            medians[entry.group] = duration_of(entry.step);
    }
    return medians;
}

}  // namespace fp32shim::cli
