#include "record/write/mark.hpp"

#include <errno.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>

#include "record/processor.hpp"
#include "record/write/file.hpp"
#include "record/write/memory.hpp"
#include "system/hash.hpp"
#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"

namespace fp32shim::record {

namespace raw = system::raw;

using format::Header;
using format::UnrecordedProcessSegment;

namespace {

using Layout = decltype(format::FileState::layout);

/// Returns the number of used bytes of UnrecordedProcessSegment::files.
std::size_t used_size(const UnrecordedProcessSegment& mark) { return mark.size + mark.layouts * sizeof(Layout); }

std::uint64_t hash_of(const UnrecordedProcessSegment& mark) {
    return system::Hash()
        .add(mark.pins)
        .add(mark.processor)
        .add(mark.flags)
        .add(std::string_view(mark.files, used_size(mark)))
        .value();
}

bool write_all(int descriptor, const void* bytes, std::size_t size, std::uint64_t offset) {
    const long written =
        raw::retry_if_interrupted([&] { return raw::syscall6(SYS_pwrite64, descriptor, bytes, size, offset); });
    return written == static_cast<long>(size);
}

/// Writes the mark into the segment `number` of the file. Writes the first field, `published`, last. Returns 0 or an
/// errno.
int write_segment(int descriptor, const UnrecordedProcessSegment& mark, std::size_t number) {
    const std::uint64_t offset = number * format::segment_size;
    const std::size_t size = offsetof(UnrecordedProcessSegment, files) + used_size(mark);
    if (const int error = allocate_disk_space(descriptor, offset, size); error != 0) return error;
    const std::uint32_t published = 1;
    const bool is_written =
        write_all(descriptor, &mark, size, offset) && write_all(descriptor, &published, sizeof published, offset);
    return is_written ? 0 : EIO;
}

/// Finds an unused entry for the mark in the header of the file, and writes the mark. Writes nothing if the file
/// already has an equal mark, or has no unused entry. Returns 0 or an errno.
int add_to_run(Header& header, int descriptor, const UnrecordedProcessSegment& mark) {
    const std::uint64_t hash = hash_of(mark);
    for (std::size_t i = 0; i < format::mark_limit; ++i) {
        const std::atomic_ref entry(header.marks[i]);
        std::uint64_t found = entry.load(std::memory_order_acquire);
        if (found == 0 && entry.compare_exchange_strong(found, hash, std::memory_order_acq_rel))
            return write_segment(descriptor, mark, i + 1);
        if (found == hash) return 0;
    }
    std::atomic_ref(header.marks_missed).fetch_add(1, std::memory_order_relaxed);
    return 0;
}

}  // namespace

/// The memory of a mark. It is too large for the stack of a signal handler.
struct UnrecordedProcessMark::Pages {
    UnrecordedProcessSegment segment;
    Layout layouts[4096];  ///< FileState::layout of the first files
    char program[path_capacity];
};

UnrecordedProcessMark::UnrecordedProcessMark()
    : pages_(static_cast<Pages*>(map_private_pages(sizeof(Pages), PagesInChild::none))) {
    if (pages_ == nullptr) return;
    const long size = raw::readlink("/proc/self/exe", pages_->program, sizeof pages_->program);
    if (size > 0) program_ = {pages_->program, static_cast<std::size_t>(size)};
}

UnrecordedProcessMark::~UnrecordedProcessMark() {
    if (pages_ != nullptr) unmap_pages(pages_, sizeof(Pages));
}

void UnrecordedProcessMark::set_flag(std::uint32_t flag) {
    if (pages_ != nullptr) pages_->segment.flags |= flag;
}

void UnrecordedProcessMark::add(const LoadedFile& file) {
    if (pages_ == nullptr) return;
    UnrecordedProcessSegment& segment = pages_->segment;
    const std::string_view path = file.path.empty() ? program_ : file.path;
    const std::size_t id_size = std::min(file.build_id.size(), format::build_id_limit);
    const format::UnrecordedProcessFile entry{static_cast<std::uint16_t>(path.size()),
                                              static_cast<std::uint8_t>(id_size),
                                              static_cast<std::uint8_t>(file.flags)};
    if (sizeof entry + path.size() + id_size > sizeof segment.files - segment.size) return mark_incomplete();
    const auto append = [&](const void* bytes, std::size_t size) {
        std::memcpy(segment.files + segment.size, bytes, size);
        segment.size += static_cast<std::uint32_t>(size);
    };
    append(&entry, sizeof entry);
    append(path.data(), path.size());
    append(file.build_id.data(), id_size);
    if (segment.count < std::size(pages_->layouts)) pages_->layouts[segment.count] = file.layout;
    ++segment.count;
}

/// Stores the layouts behind the files in the mark, if the mark has space for them.
void UnrecordedProcessMark::add_layouts() const {
    UnrecordedProcessSegment& segment = pages_->segment;
    const std::size_t count = std::min<std::size_t>(segment.count, std::size(pages_->layouts));
    if (count * sizeof(Layout) > sizeof segment.files - segment.size) return;
    std::memcpy(segment.files + segment.size, pages_->layouts, count * sizeof(Layout));
    segment.layouts = static_cast<std::uint32_t>(count);
}

int UnrecordedProcessMark::write(const ChildrenFile& file, std::uint16_t pins) const {
    if (pages_ == nullptr) return ENOMEM;
    UnrecordedProcessSegment& segment = pages_->segment;
    segment.noted_ns = raw::realtime_ns();
    segment.pins = pins;
    segment.processor = processor_feature_word() | query_amx_permission();
    add_layouts();
    const system::SignalHold hold;
    const int descriptor = open_children_file(file);
    if (descriptor < 0) return -descriptor;
    int error = 0;
    const int unmapped =
        with_mapped_header(descriptor, [&](Header& header) { error = add_to_run(header, descriptor, segment); });
    raw::close(descriptor);
    return unmapped != 0 ? unmapped : error;
}

void count_missed_mark(const ChildrenFile& file) {
    with_children_file(
        file, [](Header& header) { std::atomic_ref(header.marks_missed).fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace fp32shim::record
