// Reads the times that products took on a GPU, and estimates the times of calls that were not measured.
#include <algorithm>
#include <memory>

#include "record/read/reader.hpp"

namespace fp32shim::record {

using format::GpuTimeRecord;

void RecordingReader::read_gpu_times(const std::vector<IndexedSegment>& segments) {
    const auto segment = std::make_unique<format::GpuTimeSegment>();
    for (const IndexedSegment& indexed : segments) {
        bytes_->read_into(indexed.offset, *segment);
        for (const GpuTimeRecord& entry : segment->entries) {
            // While the process writes, `first_calls` may include one call that `samples` does not yet include. A
            // larger difference means that the entry is corrupt.
            if (entry.row_plus_one == 0 || entry.row_plus_one > format::row_limit || entry.samples == 0 ||
                entry.first_calls > entry.samples + 1 || entry.total_of_first_calls > entry.total)
                continue;
            GpuTimeRecord& sum = gpu_times_.try_emplace(entry.row_plus_one - 1, GpuTimeRecord{}).first->second;
            sum.shortest = sum.samples == 0 ? entry.shortest : std::min(sum.shortest, entry.shortest);
            sum.longest = std::max(sum.longest, entry.longest);
            sum.samples += entry.samples;
            sum.total += entry.total;
            sum.total_of_first_calls += entry.total_of_first_calls;
            sum.first_calls += entry.first_calls;
        }
    }
}

void RecordingReader::add_gpu_times(RowCounters& result) const {
    const auto found = gpu_times_.find(result.row);
    if (found == gpu_times_.end()) return;
    const format::GpuTimeRecord& times = found->second;
    // The first call that a thread (slot) makes with a decision (row) often waits until its kernel is loaded. So
    // first calls are left out of the mean if there are other measured calls.
    const bool has_others = times.samples > times.first_calls;
    const auto typical = static_cast<double>(times.total - (has_others ? times.total_of_first_calls : 0)) /
                         static_cast<double>(times.samples - (has_others ? times.first_calls : 0));
    const bool are_all_measured = times.samples >= result.counters.calls;
    const double all =
        are_all_measured ? static_cast<double>(times.total) : typical * static_cast<double>(result.counters.calls);
    result.counters.gpu_samples = times.samples;
    result.counters.gpu_calls = result.counters.calls;
    result.counters.gpu_ns = all < 0x1p63 ? static_cast<std::uint64_t>(all) : INT64_MAX;
    result.counters.gpu_shortest_ns = times.shortest;
    result.counters.gpu_longest_ns = times.longest;
}

}  // namespace fp32shim::record
