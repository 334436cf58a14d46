#include "cli/report/timeline.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "cli/recordings/duration_histogram.hpp"
#include "cli/recordings/filter.hpp"

namespace fp32shim::cli {
namespace {

/// The row of the report, and the format of its timeline, to which the single calls of a recorded row are added.
struct EventTarget {
    bool is_known = false;
    bool passes = false;
    std::optional<std::size_t> row;  ///< index in MergedCalls::rows()
    std::size_t format = 0;          ///< index in Timeline::formats()
};

}  // namespace

std::string_view ran_at_or_unknown(const MergedRow& row) {
    return row.is_overflow || row.effective_format().empty() ? "unknown" : std::string_view(row.effective_format());
}

bool ran_below_fp32(const MergedRow& row) {
    const auto met = row.is_overflow ? std::nullopt : row.floor_met();
    return met && *met < policy::Floor::fp32;
}

std::size_t Timeline::index_of_format(std::string_view format) {
    const auto found = std::find(formats_.begin(), formats_.end(), format);
    if (found != formats_.end()) return static_cast<std::size_t>(found - formats_.begin());
    formats_.emplace_back(format);
    return formats_.size() - 1;
}

void Timeline::add_call(std::int64_t begin_ns, std::int64_t end_ns, std::size_t format_index) {
    end_ns = std::max<std::int64_t>(end_ns, 0);
    begin_ns = std::clamp<std::int64_t>(begin_ns, 0, end_ns);
    extend_to(begin_ns, end_ns);
    ++share_at(end_ns / width_, format_index).calls;
    for (std::int64_t bin = begin_ns / width_; bin <= end_ns / width_; ++bin) {
        const std::int64_t from = std::max(begin_ns - bin * width_, std::int64_t{0});
        const std::int64_t to = std::min(end_ns - bin * width_, width_);
        share_at(bin, format_index).host_ns += static_cast<std::uint64_t>(to - from);
    }
}

void Timeline::extend_to(std::int64_t begin_ns, std::int64_t end_ns) {
    first_ns_ = std::min(first_ns_, begin_ns);
    last_ns_ = std::max(last_ns_, end_ns);
    while (last_ns_ / width_ - first_ns_ / width_ >= max_bins) {
        width_ *= 2;
        std::map<std::int64_t, Bin> joined;
        for (const auto& [number, bin] : bins_) {
            Bin& sum = joined[number / 2];
            sum.resize(std::max(sum.size(), bin.size()));
            for (std::size_t i = 0; i < bin.size(); ++i) {
                sum[i].calls += bin[i].calls;
                sum[i].host_ns += bin[i].host_ns;
            }
        }
        bins_ = std::move(joined);
    }
}

CallSum& Timeline::share_at(std::int64_t bin, std::size_t format_index) {
    Bin& shares = bins_[bin];
    if (shares.size() <= format_index) shares.resize(format_index + 1);
    return shares[format_index];
}

void add_single_calls(record::RecordingReader& recording, const CallFilter& filter, const MergedCalls& calls,
                      DurationHistogram& durations, Timeline* timeline) {
    std::vector<EventTarget> targets;  // by row id, which has at most 20 bits
    RowFilter rows(filter, recording);
    const auto target_of = [&](std::uint32_t id) {
        const record::RecordedRow* row = recording.row(id);
        EventTarget target;
        target.is_known = true;
        target.passes = filter.is_empty() || (row != nullptr && rows.passes(*row));
        if (!target.passes) return target;
        target.row = calls.index_of(row);
        if (timeline != nullptr)
            target.format =
                timeline->index_of_format(row == nullptr ? "unknown" : ran_at_or_unknown(to_merged_row(*row)));
        return target;
    };
    recording.visit_events([&](const record::RecordedEvent& event) {
        if (event.row >= targets.size()) targets.resize(event.row + 1);
        EventTarget& target = targets[event.row];
        if (!target.is_known) target = target_of(event.row);
        if (target.row && event.is_timed) durations.add(*target.row, event.duration_ns);
        if (target.passes && timeline != nullptr) timeline->add_call(event.begin_ns(), event.end_ns, target.format);
        return true;
    });
}

}  // namespace fp32shim::cli
