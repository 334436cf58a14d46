#include "record/read/segments.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace fp32shim::record {

using format::segment_size;
using format::SegmentKind;

RecordingByteReader::RecordingByteReader(int descriptor, std::string path)
    : descriptor_(descriptor), path_(std::move(path)) {
    struct stat status {};
    if (fstat(descriptor, &status) != 0) return;
    device_ = status.st_dev;
    inode_ = status.st_ino;
    read(0, begin_, sizeof begin_);
    // If all space of the file is allocated, the file has no holes, and next_data_offset() need not search for them.
    has_holes_ = static_cast<std::uint64_t>(status.st_blocks) * 512 < static_cast<std::uint64_t>(status.st_size);
}

RecordingByteReader::~RecordingByteReader() {
    if (descriptor_ >= 0) close(descriptor_);
}

void RecordingByteReader::close_until_next_read() {
    if (path_.empty() || descriptor_ < 0) return;
    close(descriptor_);
    descriptor_ = -1;
}

bool RecordingByteReader::reopen() const {
    if (descriptor_ >= 0) return true;
    if (is_lost_ || path_.empty()) return false;
    const int descriptor = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status {};
    char begin[sizeof begin_] = {};
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_ &&
        pread(descriptor, begin, sizeof begin, 0) >= 0 && std::memcmp(begin, begin_, sizeof begin) == 0) {
        descriptor_ = descriptor;
        return true;
    }
    if (descriptor >= 0) close(descriptor);
    is_lost_ = true;
    return false;
}

std::size_t RecordingByteReader::read(std::uint64_t offset, void* to, std::size_t size) const {
    if (!reopen()) return 0;
    std::size_t done = 0;
    while (done < size) {
        const ssize_t got =
            pread(descriptor_, static_cast<char*>(to) + done, size - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

std::uint64_t RecordingByteReader::size() const {
    struct stat status {};
    const bool is_known = reopen() && fstat(descriptor_, &status) == 0 && status.st_size > 0;
    return is_known ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::uint64_t RecordingByteReader::next_data_offset(std::uint64_t offset) const {
    if (!has_holes_ || !reopen() || (offset >= data_begin_ && offset < data_end_)) return offset;
    const off_t begin = lseek(descriptor_, static_cast<off_t>(offset), SEEK_DATA);
    if (begin < 0) return errno == ENXIO ? UINT64_MAX : offset;
    const off_t end = lseek(descriptor_, begin, SEEK_HOLE);
    data_begin_ = static_cast<std::uint64_t>(begin);
    data_end_ = end < 0 ? data_begin_ : static_cast<std::uint64_t>(end);
    return std::max(offset, data_begin_);
}

std::string_view RecordingReadCache::bytes_at(std::uint64_t offset, std::size_t wanted) {
    if (cached_.empty() || offset < begin_ || offset + wanted > begin_ + cached_.size()) {
        cached_.resize(size);
        cached_.resize(bytes_.read(offset, cached_.data(), size));
        begin_ = offset;
    }
    return std::string_view(cached_.data(), cached_.size()).substr(offset - begin_, wanted);
}

void RecordingReadCache::drop_cached_bytes() { cached_ = std::vector<char>(); }

void ProblemList::add(std::uint64_t offset, std::string what) {
    constexpr std::size_t limit = 100;
    if (problems_.size() >= limit) return;
    const auto is_known = [&](const FileProblem& problem) {
        return problem.offset == offset && problem.what == what;
    };
    if (std::ranges::any_of(problems_, is_known)) return;
    problems_.insert(std::ranges::upper_bound(problems_, offset, {}, &FileProblem::offset),
                     {offset, std::move(what)});
}

namespace {

bool has_slot(SegmentKind kind) {
    return kind == SegmentKind::counters || kind == SegmentKind::ring || kind == SegmentKind::events ||
           kind == SegmentKind::audits || kind == SegmentKind::fingerprints || kind == SegmentKind::operands ||
           kind == SegmentKind::gpu_times;
}

}  // namespace

SegmentIndex index_segments(const RecordingByteReader& bytes, ProblemList& problems) {
    SegmentIndex index;
    std::uint32_t next_segment = 0;
    bytes.read_into(offsetof(format::Header, next_segment), next_segment);
    const std::uint64_t file_size = bytes.size();
    const std::uint64_t in_file = (file_size + segment_size - 1) / segment_size;
    const auto end = std::min({std::uint64_t{next_segment}, in_file, std::uint64_t{format::segment_limit}});
    for (std::uint64_t number = 1; number < end; ++number) {
        // If the header of a segment lies in a hole of the file, the segment is unused.
        const std::uint64_t data = bytes.next_data_offset(number * segment_size);
        if (data >= end * segment_size) break;
        number = data / segment_size;
        if (data % segment_size >= sizeof(format::SegmentHeader)) continue;
        format::SegmentHeader header;
        const std::uint64_t offset = number * segment_size;
        if (!bytes.read_into(offset, header)) break;
        if (header.kind == 0) continue;
        if (offset + segment_size <= file_size) ++index.whole_count;
        const IndexedSegment segment{
            offset,      header.first_time, header.last_time, static_cast<SegmentKind>(header.kind),
            header.slot, header.sequence,   header.count,     header.thread};
        if (has_slot(segment.kind) && segment.slot >= format::segment_limit)
            problems.add(offset, "a segment of slot " + std::to_string(segment.slot) + ", but slots are below " +
                                     std::to_string(format::segment_limit) + "; it is left out");
        else if (header.kind >= format::segment_kind_count)
            problems.add(offset, "a segment of unknown kind " + std::to_string(header.kind) + "; it is left out");
        else
            index[segment.kind].push_back(segment);
    }
    return index;
}

void sort_by_sequence(std::vector<IndexedSegment>& segments, const char* what, ProblemList& problems) {
    std::ranges::stable_sort(segments, {}, &IndexedSegment::sequence);
    const auto is_second = [&](const IndexedSegment& a, const IndexedSegment& b) {
        if (a.sequence != b.sequence) return false;
        problems.add(b.offset, std::string("a second segment of ") + what + " with the number " +
                                   std::to_string(b.sequence) + "; it is left out");
        return true;
    };
    segments.erase(std::unique(segments.begin(), segments.end(), is_second), segments.end());
}

const IndexedSegment* find_by_sequence(const std::vector<IndexedSegment>& segments, std::uint32_t sequence) {
    const auto found = std::ranges::lower_bound(segments, sequence, {}, &IndexedSegment::sequence);
    return found != segments.end() && found->sequence == sequence ? &*found : nullptr;
}

}  // namespace fp32shim::record
