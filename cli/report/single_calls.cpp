#include "cli/report/single_calls.hpp"

#include <cstddef>
#include <optional>
#include <vector>

#include "cli/recordings/call_durations.hpp"
#include "cli/recordings/filter.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/report/timeline.hpp"

namespace fp32shim::cli {
namespace {

/// Row of the report and format of its timeline to which the calls of one recorded row are added.
struct Target {
    bool is_known = false;
    bool passes = false;
    std::optional<std::size_t> row;  ///< index in MergedCalls::rows()
    std::size_t format = 0;          ///< index in Timeline::formats()
};

}  // namespace

void add_single_calls(record::RecordingReader& recording, const Filter& filter, const MergedCalls& calls,
                      CallDurations& durations, Timeline* timeline) {
    std::vector<Target> targets;  // by row id, which has at most 20 bits
    RowFilter rows(filter, recording);
    const auto target_of = [&](std::uint32_t id) {
        const record::RecordedRow* row = recording.row(id);
        Target target;
        target.is_known = true;
        target.passes = filter.is_empty() || (row != nullptr && rows.passes(*row));
        if (!target.passes) return target;
        target.row = calls.place_of(row);
        if (timeline != nullptr)
            target.format = timeline->place_of(row == nullptr ? "unknown" : format_of(to_merged_row(*row)));
        return target;
    };
    recording.visit_events([&](const record::RecordedEvent& event) {
        if (event.row >= targets.size()) targets.resize(event.row + 1);
        Target& target = targets[event.row];
        if (!target.is_known) target = target_of(event.row);
        if (target.row && event.is_timed) durations.add(*target.row, event.duration_ns);
        if (target.passes && timeline != nullptr) timeline->add(event.begin_ns(), event.end_ns, target.format);
        return true;
    });
}

}  // namespace fp32shim::cli
