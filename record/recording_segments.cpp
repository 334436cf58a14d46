#include "record/recording_segments.hpp"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace fp32shim::record {

using format::segment_size;
using format::SegmentKind;

std::size_t RecordingBytes::read(std::uint64_t offset, void* to, std::size_t size) const {
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

std::uint64_t RecordingBytes::size() const {
    struct stat status {};
    return fstat(descriptor_, &status) == 0 && status.st_size > 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

void ProblemList::add(std::uint64_t offset, std::string what) {
    constexpr std::size_t limit = 100;
    if (problems_.size() >= limit) return;
    const auto is_known = [&](const Problem& problem) { return problem.offset == offset && problem.what == what; };
    if (std::any_of(problems_.begin(), problems_.end(), is_known)) return;
    const auto place =
        std::upper_bound(problems_.begin(), problems_.end(), offset,
                         [](std::uint64_t value, const Problem& problem) { return value < problem.offset; });
    problems_.insert(place, {offset, std::move(what)});
}

namespace {

bool has_lane(SegmentKind kind) {
    return kind == SegmentKind::counters || kind == SegmentKind::ring || kind == SegmentKind::events;
}

}  // namespace

SegmentIndex index_segments(const RecordingBytes& bytes, std::uint32_t next_segment, ProblemList& problems) {
    SegmentIndex index;
    const std::uint64_t file_size = bytes.size();
    const std::uint64_t in_file = (file_size + segment_size - 1) / segment_size;
    const auto end = std::min({std::uint64_t{next_segment}, in_file, std::uint64_t{format::segment_limit}});
    for (std::uint64_t number = 1; number < end; ++number) {
        SegmentPlace place{number * segment_size, {}};
        if (!bytes.read_into(place.offset, place.header)) break;
        if (place.header.kind == 0) continue;
        if (place.offset + segment_size <= file_size) ++index.whole_count;
        const auto kind = static_cast<SegmentKind>(place.header.kind);
        if (has_lane(kind) && place.header.lane >= format::segment_limit) {
            problems.add(place.offset, "a segment of lane " + std::to_string(place.header.lane) +
                                           ", but lanes are below " + std::to_string(format::segment_limit) +
                                           "; it is left out");
            continue;
        }
        switch (kind) {
            case SegmentKind::strings:
                index.strings.push_back(place);
                break;
            case SegmentKind::rows:
                index.rows.push_back(place);
                break;
            case SegmentKind::counters:
                index.counters.push_back(place);
                break;
            case SegmentKind::ring:
                index.rings.push_back(place);
                break;
            case SegmentKind::events:
                index.events.push_back(place);
                break;
            case SegmentKind::objects:
                index.objects.push_back(place);
                break;
            default:
                problems.add(place.offset,
                             "a segment of unknown kind " + std::to_string(place.header.kind) + "; it is left out");
        }
    }
    return index;
}

}  // namespace fp32shim::record
