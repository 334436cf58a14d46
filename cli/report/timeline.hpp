// Reads the single calls of recordings, for medians and for the timeline of the report's page.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

class DurationHistogram;
class CallFilter;

/// Returns the format at which the calls of a row ran; `unknown` if it is not recorded.
std::string_view ran_at_or_unknown(const MergedRow& row);

/// Returns true if the calls of a row ran, or were allowed to run, at a format below FP32.
bool ran_below_fp32(const MergedRow& row);

/// The calls over time in bins of equal width, by the format at which they ran. When the calls would span more than
/// `max_bins` bins, neighbouring bins are joined and the width doubles.
class Timeline {
  public:
    static constexpr std::int64_t max_bins = 240;

    /// The calls of each format in one bin, by the format's index in formats(). The vector may be shorter than
    /// formats(); the missing formats have no calls.
    using Bin = std::vector<CallSum>;

    /// Adds one call. It is counted in the bin in which it returned, and its duration is spread over all bins in
    /// which it ran. Times are nanoseconds since 1970. `format_index` is an index in formats().
    void add_call(std::int64_t begin_ns, std::int64_t end_ns, std::size_t format_index);
    /// Returns the index of a format in formats(). Adds the format if it is new.
    std::size_t index_of_format(std::string_view format);

    bool empty() const { return bins_.empty(); }
    /// Returns the width of each bin, in nanoseconds.
    std::int64_t bin_width_ns() const { return width_; }
    /// Returns the bins that have calls, by number. Bin i begins i * bin_width_ns() nanoseconds after 1970.
    const std::map<std::int64_t, Bin>& bins() const { return bins_; }
    const std::vector<std::string>& formats() const { return formats_; }

  private:
    void extend_to(std::int64_t begin_ns, std::int64_t end_ns);
    CallSum& share_at(std::int64_t bin, std::size_t format_index);

    std::int64_t width_ = 1;
    std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max(), last_ns_ = 0;
    std::map<std::int64_t, Bin> bins_;
    std::vector<std::string> formats_;
};

/// Adds the calls of `recording` that pass the filter to `timeline`, which may be null. Adds the timed calls among
/// them to `durations`, by index in `calls.rows()`. Precondition: the recording is part of `calls`. Reads ten million
/// calls in a third of a second, or half a second with a timeline.
void add_single_calls(record::RecordingReader& recording, const CallFilter& filter, const MergedCalls& calls,
                      DurationHistogram& durations, Timeline* timeline);

}  // namespace fp32shim::cli
