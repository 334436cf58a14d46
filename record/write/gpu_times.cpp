// Stores the times that products took on a GPU. This code does not run in most calls, because few of them are
// measured.
#include <atomic>
#include <iterator>

#include "record/write/thread_writer.hpp"
#include "record/write/writer.hpp"
#include "system/signal_hold.hpp"

namespace fp32shim::record {

using format::SegmentKind;

format::GpuTimeRecord* ThreadWriter::gpu_times_of_row(RecordingFile& file, std::uint32_t row) {
    constexpr auto capacity = static_cast<std::uint32_t>(format::GpuTimeSegment::capacity);
    const auto entry = [&](std::uint32_t index) -> format::GpuTimeRecord& {
        return gpu_time_segments_[index / capacity]->entries[index % capacity];
    };
    if (const std::uint32_t known = gpu_times_by_row_.number_or_0(row); known != 0) return &entry(known - 1);
    const system::SignalHold hold;
    std::uint32_t* const number_of_row = gpu_times_by_row_.number_of(row);
    const std::uint32_t number = gpu_times_used_ / capacity;
    if (number_of_row == nullptr || number == std::size(gpu_time_segments_)) return nullptr;
    if (gpu_times_used_ % capacity == 0) {
        if (ticks() < gpu_times_retry_at_) return nullptr;
        auto* const segment = static_cast<format::GpuTimeSegment*>(file.map_new_segment_for_calls());
        if (segment == nullptr) {
            gpu_times_retry_at_ = file.one_second_from_now();
            return nullptr;
        }
        segment->header.slot = slot_;
        segment->header.sequence = number;
        segment->header.thread = thread_;
        file.publish_segment(segment->header, SegmentKind::gpu_times);
        gpu_time_segments_[number] = segment;
    }
    format::GpuTimeRecord& made = entry(gpu_times_used_);
    made.shortest = UINT64_MAX;
    std::atomic_ref(made.row_plus_one).store(row + 1, std::memory_order_release);
    *number_of_row = ++gpu_times_used_;
    return &made;
}

void Recording::add_gpu_time(ThreadWriter& writer, std::uint32_t row, std::uint64_t nanoseconds, bool is_first) {
    if (!is_of_this_process()) return;
    format::GpuTimeRecord* const times = writer.gpu_times_of_row(file_, row);
    if (times == nullptr) return;
    const auto store = [](std::uint64_t& field, std::uint64_t value) {
        std::atomic_ref(field).store(value, std::memory_order_relaxed);
    };
    store(times->total, times->total + nanoseconds);
    if (nanoseconds < times->shortest) store(times->shortest, nanoseconds);
    if (nanoseconds > times->longest) store(times->longest, nanoseconds);
    if (is_first) {
        store(times->total_of_first_calls, times->total_of_first_calls + nanoseconds);
        std::atomic_ref(times->first_calls).store(times->first_calls + 1, std::memory_order_relaxed);
    }
    std::atomic_ref(times->samples).store(times->samples + 1, std::memory_order_release);
}

}  // namespace fp32shim::record
