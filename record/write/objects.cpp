#include "record/write/objects.hpp"

#include <algorithm>
#include <span>

#include "record/format/clock.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::record {

using format::ObjectRecord;

namespace {

/// Returns the facts about a file that is loaded. `path` ends in a NUL. If `path` is relative, it may lead to another
/// file by now, so only the layout is set.
format::FileState state_of(const LoadedFile& file, std::string_view path) {
    namespace raw = system::raw;
    format::FileState state;
    state.layout = file.layout;
    struct stat status {};
    if (path.starts_with('/') && raw::syscall6(SYS_newfstatat, AT_FDCWD, path.data(), &status, 0) == 0)
        state.set_from_stat(status);
    return state;
}

}  // namespace

void LoadedFileList::begin_list() {
    stamp_.store(0, std::memory_order_relaxed);
    count_ = 0;
}

void LoadedFileList::LockedAdder::add(const LoadedFile& file) {
    if (!held_) return;
    const std::string_view path = file.path.empty() ? std::string_view(objects_.program_) : file.path;
    const format::StringId id = objects_.rows_.id_of_text(path);
    if (ObjectRecord* known = objects_.find_entry(file, id, next_); known == nullptr)
        objects_.add_entry(file, id, path);
    else if (file.flags != 0)
        std::atomic_ref(known->flags).fetch_or(file.flags, std::memory_order_relaxed);
}

/// Returns the entry with the path `path` and the build id of `file`, or nullptr if there is none. The search begins
/// at the index `next` and wraps around. `next` becomes the index after the entry. Precondition: lock_ is held.
ObjectRecord* LoadedFileList::find_entry(const LoadedFile& file, format::StringId path, std::uint32_t& next) const {
    const auto id = file.build_id.first(std::min(file.build_id.size(), format::build_id_limit));
    for (std::uint32_t i = 0; i < count_; ++i) {
        const std::uint32_t index = (next + i) % count_;
        ObjectRecord& known = records_[index];
        if (known.path == path && std::ranges::equal(std::span(known.build_id, known.build_id_size), id)) {
            next = index + 1;
            return &known;
        }
    }
    return nullptr;
}

/// Adds a file that is not in the list. Precondition: lock_ is held.
void LoadedFileList::add_entry(const LoadedFile& file, format::StringId id, std::string_view path) {
    ObjectRecord* const added = id != 0 ? records_.entry_for(count_, file_, format::SegmentKind::objects) : nullptr;
    if (added == nullptr) return mark_incomplete();
    ObjectRecord& record = *added;
    record.first_seen = ticks();
    record.path = id;
    record.flags = file.flags;
    record.build_id_size = static_cast<std::uint8_t>(std::min(file.build_id.size(), format::build_id_limit));
    std::copy_n(file.build_id.begin(), record.build_id_size, record.build_id);
    record.file = state_of(file, path);
    std::atomic_ref(record.published).store(1, std::memory_order_release);
    ++count_;
}

void LoadedFileList::mark_complete(std::uint64_t stamp) {
    std::atomic_ref(file_.header()->objects_looked_at).store(ticks(), std::memory_order_release);
    stamp_.store(stamp, std::memory_order_release);
}

}  // namespace fp32shim::record
