#include "record/read/row_reader.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace fp32shim::record {

using format::RowRecord;
using format::RowSegment;

namespace {

constexpr std::size_t max_cached_rows = 1024;
constexpr std::size_t cached_texts = 64;

}  // namespace

void RecordedRowReader::set_segments(std::vector<IndexedSegment> rows, std::vector<IndexedSegment> strings,
                                     std::size_t rows_in_use) {
    rows_ = std::move(rows);
    strings_ = std::move(strings);
    sort_by_sequence(rows_, "rows", problems_);
    sort_by_sequence(strings_, "texts", problems_);
    cache_size_ = std::bit_ceil(std::clamp<std::size_t>(rows_in_use, 4, max_cached_rows));
}

void RecordedRowReader::free_caches() {
    row_window_.drop_cached_bytes();
    text_window_.drop_cached_bytes();
    texts_ = {};
}

/// Finds the row with the number `id`. Returns nullopt if the row is not complete. If `is_new` is true and the row is
/// not complete in the cached bytes of row_window_, reads it from the file again, because the process may have
/// written it meanwhile.
std::optional<RecordedRowReader::PublishedRow> RecordedRowReader::find_row(std::uint32_t id, bool is_new) {
    if (id >= format::row_limit) return std::nullopt;
    const IndexedSegment* segment = find_by_sequence(rows_, static_cast<std::uint32_t>(id / RowSegment::capacity));
    if (segment == nullptr) return std::nullopt;
    const std::uint64_t offset =
        segment->offset + sizeof(format::SegmentHeader) + id % RowSegment::capacity * sizeof(RowRecord);
    RowRecord record{};
    for (int attempt = is_new ? 0 : 1; attempt < 2 && record.published != 1; ++attempt) {
        if (is_new && attempt > 0) row_window_.drop_cached_bytes();
        const std::string_view bytes = row_window_.bytes_at(offset, sizeof record);
        if (bytes.size() < sizeof record) return std::nullopt;
        std::memcpy(&record, bytes.data(), sizeof record);
    }
    if (record.published != 1) return std::nullopt;
    return PublishedRow{offset, record.content, record.stack};
}

const RecordedRow* RecordedRowReader::row(std::uint32_t id) {
    if (cache_.empty()) cache_.resize(cache_size_);
    CachedRow& cached = cache_[id & (cache_size_ - 1)];
    if (cached.is_used && cached.row.id == id) return &cached.row;
    const auto published = find_row(id);
    if (!published) return nullptr;
    fill_cached_row(id, *published, cached);
    return &cached.row;
}

std::optional<policy::AppliedFormat> RecordedRowReader::format_of(std::uint32_t id) {
    const auto published = find_row(id);
    if (!published || (published->content.flags & format::row_is_overflow) != 0) return std::nullopt;
    const format::RowContent& content = published->content;
    return static_cast<policy::AppliedFormat>(content.actual != format::no_actual ? content.actual : content.applied);
}

void RecordedRowReader::visit_rows(const std::function<bool(const RecordedRow&)>& visitor) {
    row_window_.drop_cached_bytes();
    CachedRow cached;
    for (const IndexedSegment& segment : rows_) {
        const std::uint64_t first = std::uint64_t{segment.sequence} * RowSegment::capacity;
        for (std::uint64_t id = first; id < first + RowSegment::capacity && id < format::row_limit; ++id) {
            const auto published = find_row(static_cast<std::uint32_t>(id), false);
            if (!published) continue;
            fill_cached_row(static_cast<std::uint32_t>(id), *published, cached);
            if (!visitor(cached.row)) return;
        }
    }
}

void RecordedRowReader::fill_cached_row(std::uint32_t id, const PublishedRow& published, CachedRow& cached) {
    const format::RowContent& content = published.content;
    RecordedRow& row = cached.row;
    row.id = id;
    row.is_folded = (content.flags & format::row_is_folded) != 0;
    row.is_overflow = (content.flags & format::row_is_overflow) != 0;
    row.stack = published.stack;
    row.stack_is_cut = (content.flags & format::row_stack_is_cut) != 0;
    std::size_t index = 0;
    row.decision = format::decision_of_content(content, [&](format::StringId text) {
        return std::string_view(cached.texts[index++] = cached_text(text, published.offset));
    });
    if (!file_names_.empty() && row.stack != 0) replace_file_in_where(cached);
    if (location_namer_ && row.stack != 0) location_namer_(row);
    cached.is_used = true;
}

/// Replaces the name of the file in `where` if `where` is a line of the call path and set_file_names() gave this file
/// another name.
void RecordedRowReader::replace_file_in_where(CachedRow& cached) {
    std::string_view& where = cached.row.decision.call.where;
    char line[512];
    for (format::StringId id = where.empty() ? 0 : cached.row.stack; id != 0;) {
        const std::optional<RecordedFrame> frame = read_frame(id);
        if (!frame) return;
        id = frame->parent;
        const auto name = file_names_.find(frame->file);
        if (name == file_names_.end() || frame_text({frame->file, frame->function, frame->line, 0}, line) != where)
            continue;
        cached.where = frame_text({name->second, frame->function, frame->line, 0}, line);
        where = cached.where;
        return;
    }
}

/// Returns a text from the cache, and reads it from the file only if the cache does not have it. `referred_from` is
/// the offset of the record that has the id, for messages.
const std::string& RecordedRowReader::cached_text(format::StringId id, std::uint64_t referred_from) {
    static const std::string none;
    if (id == 0) return none;
    if (texts_.empty()) texts_.resize(cached_texts);
    CachedText& cached = texts_[(id ^ id >> 6 ^ id >> 12) % cached_texts];
    if (cached.id == id) return cached.text;
    cached.text = text(id, referred_from);
    cached.id = cached.text.empty() ? 0 : id;
    return cached.text;
}

std::optional<RecordedFrame> RecordedRowReader::frame(format::StringId id) {
    std::optional<RecordedFrame> frame = read_frame(id);
    if (!frame || file_names_.empty()) return frame;
    if (const auto name = file_names_.find(frame->file); name != file_names_.end()) frame->file = name->second;
    return frame;
}

std::optional<RecordedFrame> RecordedRowReader::read_frame(format::StringId id) {
    const IndexedSegment* segment = find_text_segment(format::segment_sequence_of(id));
    const std::uint64_t offset = segment == nullptr ? 0 : segment->offset + format::offset_of(id);
    const std::string bytes = text(id, offset);
    format::FrameRecord record{};
    if (bytes.size() != sizeof record) {
        if (!bytes.empty())
            problems_.add(offset, "a call path refers to a text that is not a frame; the path ends there");
        return std::nullopt;
    }
    std::memcpy(&record, bytes.data(), sizeof record);
    // A caller is stored before its callees, so its id is smaller. This check ensures that a call path ends, even in
    // a corrupt file.
    if (record.parent >= id) {
        problems_.add(offset, "a frame of a call path comes before its caller; the path ends there");
        return std::nullopt;
    }
    return RecordedFrame{record.parent, cached_text(record.file, offset), cached_text(record.function, offset),
                         record.line, record.offset};
}

/// Returns the segment of texts with the number `sequence`, or nullptr if the file has none. The first time that a
/// segment is missing, searches the file again, because the segment may be new.
const IndexedSegment* RecordedRowReader::find_text_segment(std::uint32_t sequence) {
    const IndexedSegment* known = find_by_sequence(strings_, sequence);
    if (known != nullptr || std::exchange(has_reindexed_, true)) return known;
    ProblemList ignored;
    strings_ = index_segments(bytes_, ignored)[format::SegmentKind::strings];
    sort_by_sequence(strings_, "texts", ignored);
    return find_by_sequence(strings_, sequence);
}

std::string RecordedRowReader::text(format::StringId id, std::uint64_t referred_from) {
    if (id == 0) return {};
    const std::uint32_t sequence = format::segment_sequence_of(id);
    const std::size_t offset = format::offset_of(id);
    const IndexedSegment* segment = find_text_segment(sequence);
    std::uint32_t size_plus_one = 0;
    const std::size_t begin = offset + sizeof size_plus_one;
    if (segment != nullptr && offset >= sizeof(format::SegmentHeader))
        for (int attempt = 0; attempt < 2 && size_plus_one == 0; ++attempt) {
            if (attempt > 0) text_window_.drop_cached_bytes();
            const std::string_view bytes = text_window_.bytes_at(segment->offset + offset, sizeof size_plus_one);
            if (bytes.size() == sizeof size_plus_one) std::memcpy(&size_plus_one, bytes.data(), bytes.size());
        }
    const std::uint32_t size = size_plus_one - 1;
    const auto name = [&] { return "a text " + std::to_string(sequence) + ":" + std::to_string(offset); };
    if (size_plus_one > 1 && size > format::string_limit) {
        problems_.add(referred_from, name() + " of " + std::to_string(size) + " bytes, but texts have at most " +
                                         std::to_string(format::string_limit) + "; it is shown as empty");
        return {};
    }
    if (size_plus_one > 1 && size <= format::segment_size - begin) {
        std::string text(text_window_.bytes_at(segment->offset + begin, size));
        text.resize(size);  // bytes that the file has lost stay zero
        return text;
    }
    problems_.add(referred_from, name() + " that is not in the file; it is shown as empty");
    return {};
}

}  // namespace fp32shim::record
