// Reads marks. A mark lists the loaded files of a process that ended without a recording (write/mark.hpp).
#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "record/read/reader.hpp"

namespace fp32shim::record {

namespace {

/// Reads the list of files in a mark from `segment` into `mark`. Returns false if the list is incomplete or corrupt.
bool read_files(const format::UnrecordedProcessSegment& segment, UnrecordedProcess& mark) {
    if (segment.size > sizeof segment.files) return false;
    std::string_view left(segment.files, segment.size);
    const auto next_bytes = [&](std::size_t size) {
        const std::string_view taken = left.substr(0, size);
        left.remove_prefix(taken.size());
        return taken;
    };
    for (std::uint32_t i = 0; i < segment.count; ++i) {
        format::UnrecordedProcessFile file;
        if (left.size() < sizeof file) return false;
        std::memcpy(&file, next_bytes(sizeof file).data(), sizeof file);
        if (left.size() < std::size_t{file.path_size} + file.build_id_size) return false;
        RecordedObject object;
        object.path = next_bytes(file.path_size);
        object.first_seen_ns = mark.noted_ns;
        const std::string_view id = next_bytes(file.build_id_size);
        object.build_id.assign(id.begin(), id.end());
        object.flags = file.flags;
        mark.objects.all.push_back(std::move(object));
    }
    const std::size_t room = (sizeof segment.files - segment.size) / sizeof(format::FileState::layout);
    const std::size_t layouts = std::min<std::size_t>({segment.layouts, segment.count, room});
    for (std::size_t i = 0; i < layouts; ++i)
        std::memcpy(&mark.objects.all[i].file.layout,
                    segment.files + segment.size + i * sizeof(format::FileState::layout),
                    sizeof(format::FileState::layout));
    return !mark.objects.all.empty();
}

}  // namespace

void RecordingReader::read_marks(const format::Header& header) {
    missed_processes_ = header.marks_missed;
    const auto segment = std::make_unique<format::UnrecordedProcessSegment>();
    for (std::size_t i = 0; i < format::mark_limit && header.marks[i] != 0; ++i) {
        bytes_->read_into((i + 1) * format::segment_size, *segment);
        UnrecordedProcess mark;
        mark.pins = segment->pins;
        mark.processor = segment->processor;
        mark.noted_ns = std::clamp(segment->noted_ns, -farthest_time_ns, farthest_time_ns);
        if (segment->published != 1 || !read_files(*segment, mark)) {
            ++missed_processes_;
            continue;
        }
        mark.program = mark.objects.all.front().path;
        mark.objects.looked_at_ns = mark.noted_ns;
        mark.objects.until_exit = true;
        mark.objects.are_missing = (segment->flags & format::mark_lacks_files) != 0;
        mark.objects.had_lookup_past = (segment->flags & format::mark_has_lookup_past) != 0;
        mark.objects.ask_onednn = (segment->flags & format::mark_flag_onednn_log_requested) != 0;
        mark.objects.ask_kernels = (segment->flags & format::mark_flag_kernel_log_requested) != 0;
        mark.has_changed_log = (segment->flags & format::mark_has_changed_log) != 0;
        unrecorded_processes_.push_back(std::move(mark));
    }
}

}  // namespace fp32shim::record
