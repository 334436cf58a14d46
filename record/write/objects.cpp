// Which files are loaded, in the recording: `fp32shim verify` judges by them what may have multiplied past the shim.
#include <algorithm>
#include <cstring>

#include "record/write/writer.hpp"

namespace fp32shim::record {

using format::ObjectSegment;
using format::SegmentKind;

void Recording::look_at_objects() {
    if (settings_.look_at_objects != nullptr) settings_.look_at_objects(*this);
}

Recording::ObjectNotes::ObjectNotes(Recording& recording) : recording_(recording) {
    has_lock_ = recording_.is_own_process() && recording_.objects_lock_.acquire();
}

Recording::ObjectNotes::~ObjectNotes() {
    if (has_lock_) recording_.objects_lock_.release();
}

void Recording::ObjectNotes::add(const LoadedFile& file) {
    if (!has_lock_) return;
    const format::StringId path =
        recording_.rows_.string_id(file.path.empty() ? recording_.facts_.executable : file.path);
    if (format::ObjectRecord* known = recording_.find_object(file, path, next_); known == nullptr) {
        recording_.add_object(file, path);
    } else if (file.is_bound_past) {
        std::atomic_ref(known->flags).fetch_or(format::object_is_bound_past, std::memory_order_relaxed);
    }
}

/// Under the lock. `next`: where to look first, and afterwards the place behind it.
format::ObjectRecord* Recording::find_object(const LoadedFile& file, format::StringId path,
                                             std::uint32_t& next) const {
    const auto id = file.build_id.first(std::min(file.build_id.size(), format::build_id_limit));
    for (std::uint32_t i = 0; i < object_count_; ++i) {
        const std::uint32_t place = (next + i) % object_count_;
        format::ObjectRecord& known =
            object_segments_[place / ObjectSegment::capacity]->entries[place % ObjectSegment::capacity];
        if (known.path == path && known.build_id_size == id.size() &&
            std::memcmp(known.build_id, id.data(), id.size()) == 0) {
            next = place + 1;
            return &known;
        }
    }
    return nullptr;
}

/// Under the lock.
void Recording::add_object(const LoadedFile& file, format::StringId path) {
    const std::uint32_t sequence = object_count_ / ObjectSegment::capacity;
    const std::uint32_t place = object_count_ % ObjectSegment::capacity;
    ObjectSegment* segment = nullptr;
    if (path != 0 && sequence < format::object_segment_limit) {
        if (place == 0) {
            newest_objects_ = file_.map_new_segment(RecordingFile::Space::as_needed);
            segment = static_cast<ObjectSegment*>(newest_objects_.address);
            if (segment != nullptr) {
                segment->header.sequence = sequence;
                file_.publish(segment->header, SegmentKind::objects);
                object_segments_[sequence] = segment;
            }
        } else if (file_.grow(newest_objects_.number, format::offset_of_entry<format::ObjectRecord>(place + 1),
                              newest_objects_.room)) {
            segment = object_segments_[sequence];
        }
    }
    if (segment == nullptr) {
        std::atomic_ref(header()->flags).fetch_or(format::flag_objects_missed, std::memory_order_relaxed);
        return;
    }
    format::ObjectRecord& record = segment->entries[place];
    record.first_seen = ticks();
    record.path = path;
    record.flags = file.is_bound_past ? format::object_is_bound_past : 0;
    record.build_id_size = static_cast<std::uint8_t>(std::min(file.build_id.size(), format::build_id_limit));
    std::memcpy(record.build_id, file.build_id.data(), record.build_id_size);
    std::atomic_ref(record.published).store(1, std::memory_order_release);
    ++object_count_;
}

void Recording::note_objects_complete(std::uint64_t stamp) {
    if (!is_own_process()) return;
    std::atomic_ref(header()->objects_looked_at).store(ticks(), std::memory_order_release);
    objects_stamp_.store(stamp, std::memory_order_release);
}

void Recording::note_objects_missed() {
    if (!is_own_process()) return;
    std::atomic_ref(header()->flags).fetch_or(format::flag_objects_missed, std::memory_order_relaxed);
}

void Recording::note_lookup_past() {
    if (!is_own_process()) return;
    std::atomic_ref(header()->flags).fetch_or(format::flag_lookup_past, std::memory_order_relaxed);
}

void Recording::note_exit() {
    measure_rate();
    std::atomic_ref(header()->exited_at).store(ticks(), std::memory_order_release);
}

}  // namespace fp32shim::record
