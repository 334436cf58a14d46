#include "cli/recordings/duration_histogram.hpp"

#include <algorithm>
#include <bit>

#include "system/hash.hpp"

namespace fp32shim::cli {
namespace {

constexpr unsigned key_shift = 16;
constexpr std::uint64_t exact = 256;  ///< durations below this number of nanoseconds are not rounded

/// Returns the number of the interval in which a duration lies. Intervals of longer durations have higher numbers.
std::uint64_t bin_of(std::uint64_t duration_ns) {
    if (duration_ns < exact) return duration_ns;
    const auto shift = static_cast<unsigned>(std::bit_width(duration_ns)) - 8;
    return exact / 2 * shift + (duration_ns >> shift);
}

/// Returns the middle of the interval with the number `bin`, in nanoseconds. This is the inverse of bin_of().
std::uint64_t duration_of(std::uint64_t bin) {
    if (bin < exact) return bin;
    const std::uint64_t shift = bin / (exact / 2) - 1;
    const std::uint64_t lowest = (bin - exact / 2 * shift) << shift;
    return lowest + (std::uint64_t{1} << (shift - 1));
}

}  // namespace

void DurationHistogram::add(std::size_t row, std::uint64_t duration_ns) {
    const std::uint64_t key = (std::uint64_t{row} + 1) << key_shift | bin_of(duration_ns);
    const auto hash_of = [](const Bin& bin) { return system::Hash().add(bin.key).value(); };
    Bin& bin = bins_
                   .find_or_add(
                       hash_of({key}), [key](const Bin& other) { return other.key == key; }, hash_of)
                   .first;
    bin.key = key;
    ++bin.calls;
}

std::vector<std::optional<std::uint64_t>> DurationHistogram::medians(std::span<const std::size_t> group_of,
                                                                     std::size_t groups) const {
    struct GroupBin {
        std::size_t group;
        std::uint64_t bin, calls;
    };
    std::vector<GroupBin> entries;
    std::vector<std::uint64_t> calls(groups);
    for (const Bin& bin : bins_.entries()) {
        const std::uint64_t row = (bin.key >> key_shift) - 1;
        if (!bin || row >= group_of.size() || group_of[row] >= groups) continue;
        entries.push_back({group_of[row], bin.key & ((1U << key_shift) - 1), bin.calls});
        calls[group_of[row]] += bin.calls;
    }
    std::sort(entries.begin(), entries.end(), [](const GroupBin& a, const GroupBin& b) {
        return a.group != b.group ? a.group < b.group : a.bin < b.bin;
    });
    std::vector<std::optional<std::uint64_t>> medians(groups);
    std::vector<std::uint64_t> seen(groups);
    for (const GroupBin& entry : entries) {
        seen[entry.group] += entry.calls;
        if (!medians[entry.group] && 2 * seen[entry.group] >= calls[entry.group])
            medians[entry.group] = duration_of(entry.bin);
    }
    return medians;
}

}  // namespace fp32shim::cli
