// Single calls of recordings: the source of medians, and of the timeline of the report's page.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

class CallDurations;
class Filter;

/// Returns the format that a row's calls ran at; `unknown` for calls without a decision.
std::string_view format_of(const MergedRow& row);

/// Calls over time, by the format that they ran at, in bins of equal width. Whenever the calls would span more than
/// `max_bins` bins, pairs of neighbouring bins are joined and the width doubles.
class Timeline {
  public:
    static constexpr std::int64_t max_bins = 240;

    /// Share of each format, by its index in formats(); formats missing at the end have no calls.
    using Bin = std::vector<Share>;

    /// Adds one call: counts it in the bin of its return, and spreads its time over the bins in which it ran. Times
    /// are nanoseconds since 1970; `format_index` is the format's index in formats().
    void add(std::int64_t begin_ns, std::int64_t end_ns, std::size_t format_index);
    /// Returns the format's index in formats(), adding the format if it is new.
    std::size_t index_of(std::string_view format);

    bool empty() const { return bins_.empty(); }
    /// Width of each bin, in nanoseconds.
    std::int64_t bin_width_ns() const { return width_; }
    /// Returns the bins with calls, by number: bin i begins at i * bin_width_ns(), in nanoseconds since 1970.
    const std::map<std::int64_t, Bin>& bins() const { return bins_; }
    const std::vector<std::string>& formats() const { return formats_; }

  private:
    void extend_to(std::int64_t begin_ns, std::int64_t end_ns);
    Share& share_at(std::int64_t bin, std::size_t format_index);

    std::int64_t width_ = 1;
    std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max(), last_ns_ = 0;
    std::map<std::int64_t, Bin> bins_;
    std::vector<std::string> formats_;
};

/// Adds those calls of `recording` that pass the filter to `timeline`, unless `timeline` is null. Adds the timed ones
/// of these calls to `durations`, by index in `calls.rows()`. Precondition: `calls` includes the recording. Reads ten
/// million calls in a third of a second, with a timeline in half a second.
void add_single_calls(record::RecordingReader& recording, const Filter& filter, const MergedCalls& calls,
                      CallDurations& durations, Timeline* timeline);

}  // namespace fp32shim::cli
