#include "record/write/objects.hpp"

#include <algorithm>
#include <span>

#include "record/format/clock.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::record {

using format::ObjectRecord;
using format::ObjectSegment;

namespace {

/// Returns the facts about a file that is loaded. `path` ends in a NUL. If it is relative, it may lead to another
/// file by now, so only the layout is known.
format::FileState state_of(const LoadedFile& file, std::string_view path) {
    namespace raw = system::raw;
    format::FileState state;
    state.layout = file.layout;
    struct stat status {};
    if (path.starts_with('/') && raw::syscall6(SYS_newfstatat, AT_FDCWD, path.data(), &status, 0) == 0)
        state.take(status);
    return state;
}

}  // namespace

void RecordingObjects::begin_list() {
    stamp_.store(0, std::memory_order_relaxed);
    count_ = 0;
}

void RecordingObjects::Walk::add(const LoadedFile& file) {
    if (!held_) return;
    const std::string_view path = file.path.empty() ? std::string_view(objects_.program_) : file.path;
    const format::StringId id = objects_.rows_.string_id(path);
    if (ObjectRecord* known = objects_.find(file, id, next_); known == nullptr) {
        objects_.add(file, id, path);
    } else if (file.flags != 0) {
        std::atomic_ref(known->flags).fetch_or(file.flags, std::memory_order_relaxed);
    }
}

/// Returns the entry for a file with that path and build id; nullptr: none. The search begins at index `next` and
/// wraps around. `next` becomes the index after the entry. Precondition: lock_ is held.
ObjectRecord* RecordingObjects::find(const LoadedFile& file, format::StringId path, std::uint32_t& next) const {
    const auto id = file.build_id.first(std::min(file.build_id.size(), format::build_id_limit));
    for (std::uint32_t i = 0; i < count_; ++i) {
        const std::uint32_t index = (next + i) % count_;
        ObjectRecord& known = segments_[index / ObjectSegment::capacity]->entries[index % ObjectSegment::capacity];
        if (known.path == path && std::ranges::equal(std::span(known.build_id, known.build_id_size), id)) {
            next = index + 1;
            return &known;
        }
    }
    return nullptr;
}

/// Returns the segment for one more object (number count_); nullptr: there is no space. Precondition: lock_ is held.
ObjectSegment* RecordingObjects::segment_for_one_more() {
    const std::uint32_t sequence = count_ / ObjectSegment::capacity;
    if (sequence >= format::object_segment_limit) return nullptr;
    if (count_ % ObjectSegment::capacity != 0) return segments_[sequence];
    auto* segment = static_cast<ObjectSegment*>(file_.map_new_segment());
    if (segment == nullptr) return nullptr;
    segment->header.sequence = sequence;
    file_.publish(segment->header, format::SegmentKind::objects);
    return segments_[sequence] = segment;
}

/// Adds a file that is not in the list. Precondition: lock_ is held.
void RecordingObjects::add(const LoadedFile& file, format::StringId id, std::string_view path) {
    ObjectSegment* segment = id != 0 ? segment_for_one_more() : nullptr;
    if (segment == nullptr) return mark_incomplete();
    ObjectRecord& record = segment->entries[count_ % ObjectSegment::capacity];
    record.first_seen = ticks();
    record.path = id;
    record.flags = file.flags;
    record.build_id_size = static_cast<std::uint8_t>(std::min(file.build_id.size(), format::build_id_limit));
    std::copy_n(file.build_id.begin(), record.build_id_size, record.build_id);
    record.file = state_of(file, path);
    std::atomic_ref(record.published).store(1, std::memory_order_release);
    ++count_;
}

void RecordingObjects::mark_complete(std::uint64_t stamp) {
    std::atomic_ref(file_.header()->objects_looked_at).store(ticks(), std::memory_order_release);
    stamp_.store(stamp, std::memory_order_release);
}

}  // namespace fp32shim::record
