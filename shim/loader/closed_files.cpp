#include "shim/loader/closed_files.hpp"

#include <algorithm>

#include "shim/memory/arena.hpp"

namespace fp32shim {
namespace {

constexpr unsigned file_limit = 4096;

}  // namespace

bool ClosedFiles::has(const record::LoadedFile& file) const {
    for (const File* known = newest(); known != nullptr; known = known->next)
        if (known->file.flags == file.flags && known->file.path == file.path &&
            std::ranges::equal(known->file.build_id, file.build_id))
            return true;
    return false;
}

void ClosedFiles::add(const record::LoadedFile& file) {
    if (has(file)) return;
    const std::string_view id(reinterpret_cast<const char*>(file.build_id.data()), file.build_id.size());
    const bool has_room = count_.fetch_add(1, std::memory_order_relaxed) < file_limit;
    const std::string_view path = has_room ? arena_try_copy(file.path) : std::string_view();
    const std::string_view own_id = path.data() != nullptr ? arena_try_copy(id) : std::string_view();
    File* const added = own_id.data() != nullptr ? arena_try_new<File>() : nullptr;
    if (added == nullptr) return lacks_files_.store(true, std::memory_order_relaxed);
    const std::span build_id(reinterpret_cast<const std::uint8_t*>(own_id.data()), own_id.size());
    added->file = {path, build_id, file.flags, file.layout};
    added->next = newest();
    while (!newest_.compare_exchange_weak(added->next, added, std::memory_order_release)) {
    }
}

}  // namespace fp32shim
