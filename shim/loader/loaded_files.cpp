#include "shim/loader/loaded_files.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/loaded_object.hpp"
#include "shim/memory/arena.hpp"
#include "shim/table/functions.hpp"
#include "system/inline_text.hpp"

namespace fp32shim {
namespace {

/// The files of libraries that the program closed while this process had no recording. Each file is in the list
/// once. After a library is unloaded, its references can no longer be examined. When a recording begins, the list is
/// written into it; a process without a recording writes the list into its mark (record::UnrecordedProcessMark).
/// Lock-free, async-signal-safe. Never shrinks.
class ClosedLibraryList {
  public:
    struct ClosedLibrary {
        record::LoadedFile file;
        const ClosedLibrary* next;
    };

    /// Adds a file unless the list has it. If there are too many files or no memory, is_incomplete() becomes true
    /// instead.
    void add(const record::LoadedFile& file);
    /// Returns the file added last, or nullptr if there is none.
    const ClosedLibrary* newest() const { return newest_.load(std::memory_order_acquire); }
    bool is_incomplete() const { return is_incomplete_.load(std::memory_order_relaxed); }

  private:
    static constexpr unsigned max_files = 4096;

    bool has(const record::LoadedFile& file) const;

    std::atomic<const ClosedLibrary*> newest_{nullptr};
    std::atomic<unsigned> count_{0};
    std::atomic<bool> is_incomplete_{false};
};

bool ClosedLibraryList::has(const record::LoadedFile& file) const {
    for (const ClosedLibrary* known = newest(); known != nullptr; known = known->next)
        if (known->file.flags == file.flags && known->file.path == file.path &&
            std::ranges::equal(known->file.build_id, file.build_id))
            return true;
    return false;
}

void ClosedLibraryList::add(const record::LoadedFile& file) {
    if (has(file)) return;
    const std::string_view id(reinterpret_cast<const char*>(file.build_id.data()), file.build_id.size());
    const bool has_room = count_.fetch_add(1, std::memory_order_relaxed) < max_files;
    const std::string_view path = has_room ? arena_try_copy(file.path) : std::string_view();
    const std::string_view own_id = path.data() != nullptr ? arena_try_copy(id) : std::string_view();
    ClosedLibrary* const added = own_id.data() != nullptr ? arena_try_new<ClosedLibrary>() : nullptr;
    if (added == nullptr) return is_incomplete_.store(true, std::memory_order_relaxed);
    const std::span build_id(reinterpret_cast<const std::uint8_t*>(own_id.data()), own_id.size());
    added->file = {path, build_id, file.flags, file.layout};
    push_front(newest_, added);
}

constinit std::atomic<bool> has_bypassing_lookup{false};
constinit std::atomic<bool> are_closed_files_kept{false};
constinit std::atomic<bool> notes_bypassing_getenv{false};
constinit std::atomic<bool> notes_bypassing_driver_calls{false};
constinit std::atomic<bool> has_bypassing_driver_lookup{false};
constinit ClosedLibraryList closed_libraries;

/// True if the loader may call a function without storing its address in the slot of a lazily bound reference: with
/// LD_BIND_NOT, and with libraries that audit the loader. In both cases, a slot that looks unused may belong to a
/// used reference.
constinit bool slots_may_stay_unused = false;

__attribute__((constructor)) void find_if_slots_may_stay_unused() {
    const auto is_set = [](const char* name) {
        const char* value = std::getenv(name);
        return value != nullptr && *value != '\0';
    };
    slots_may_stay_unused = is_set("LD_BIND_NOT") || is_set("LD_AUDIT");
    for (const ElfW(Dyn)* entry = elf::first_object()->l_ld; entry != nullptr && entry->d_tag != DT_NULL; ++entry)
        slots_may_stay_unused = slots_may_stay_unused || entry->d_tag == DT_AUDIT || entry->d_tag == DT_DEPAUDIT;
}

bool is_kernel_object(std::string_view path) {
    return path.starts_with("linux-vdso") || path.starts_with("linux-gate");
}

/// Returns true if the code at this address is a stub by which the object calls a function of another object. In a
/// program that is not position-independent, the address of the stub serves as the address of the function.
bool is_stub_at(const elf::ObjectTables& object, ElfW(Addr) address) {
    bool is_stub = false;
    for_each_import(*loaded_object(object.map), [&](const FunctionImport& import) {
        const ElfW(Sym)& reference = object.symbols[import.symbol];
        is_stub = is_stub || (reference.st_shndx == SHN_UNDEF && object.base + reference.st_value == address);
    });
    return is_stub;
}

/// Beginnings of the names of libraries that multiply by themselves. Some of them import dlsym, but not to find
/// another BLAS.
constexpr std::string_view multiplying_libraries[] = {
    "libaccelerate", "libacml",     "libarmpl",          "libatlas",   "libblas",     "libblis", "libcblas",
    "libcublas",     "libessl",     "libflexiblas",      "libf77blas", "libgslcblas", "libmkl_", "libnvblas",
    "libnvpl_blas",  "libopenblas", "libscipy_openblas", "libsatlas",  "libtatlas",
};

/// Returns true if a library that was preloaded before the shim may call the shim in turn. Such a library looks
/// functions up by name, or imports functions for products that it does not define, and it is no known BLAS.
bool may_call_shim(const elf::ObjectTables& object) {
    const std::string_view file = elf::name_of(object.map);
    if (std::ranges::any_of(multiplying_libraries, [&](std::string_view name) { return file.starts_with(name); }))
        return false;
    bool is_wrapper = false;
    elf::for_each_reference(object, [&](std::uint32_t symbol, const ElfW(Rela)&) {
        const std::string_view name = system::view(object.strings + object.symbols[symbol].st_name);
        is_wrapper = is_wrapper || system::equal(name, "dlsym") || system::equal(name, "dlvsym");
    });
    for_each_import(*loaded_object(object.map), [&](const FunctionImport& import) {
        is_wrapper = is_wrapper || object.symbols[import.symbol].st_shndx == SHN_UNDEF;
    });
    return is_wrapper;
}

bool is_earlier_preload(const link_map* wanted) {
    const link_map* own = elf::own_object();
    for (const link_map* map = elf::first_object()->l_next; map != nullptr && map != own; map = map->l_next)
        if (map == wanted) return true;
    return false;
}

/// Returns true if a reference that is bound to code of `holder` does not lead to the shim. Precondition: `holder`
/// is not the shim itself.
bool is_past_shim(const link_map* holder) {
    return !is_earlier_preload(holder) || !may_call_shim(elf::read_object_tables(holder));
}

bool leads_past_shim(const elf::ObjectTables& object, const FunctionImport& import) {
    const auto bound = *reinterpret_cast<const ElfW(Addr)*>(object.base + import.slot);
    if (bound == 0 || elf::is_own_code(bound) || is_own_variable(object, import)) return false;
    const ElfW(Sym)& symbol = object.symbols[import.symbol];
    // A lazily bound reference that was not used yet points to a stub of the object itself. If slots may stay unused,
    // the reference may nevertheless be bound past the shim, namely if dlopen opened the object with RTLD_DEEPBIND.
    const bool is_own_definition = symbol.st_shndx != SHN_UNDEF && bound == object.base + symbol.st_value;
    if (elf::object_contains(object.map, bound) && !is_own_definition)
        return slots_may_stay_unused && !elf::global_scope().contains(object.map);
    const link_map* holder = elf::object_at(bound);
    if (holder == nullptr) return true;
    if (holder == elf::first_object()) return !is_stub_at(elf::read_object_tables(holder), bound);
    return is_past_shim(holder);
}

bool is_driver_loaded() {
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
        if (elf::name_of(map).starts_with("libcuda.so")) return true;
    return false;
}

/// Returns true if this object can get the CUDA driver's own functions, since its calls of dlsym bypass the shim.
/// Returns false for the driver's own libraries, which launch nothing for themselves.
bool may_find_driver_past_shim(const link_map* map) {
    const ImportTable* const table = imports_of(*loaded_object(map));
    const std::string_view file = elf::name_of(map);
    if (table == nullptr || table->dlsym_slot == 0 || file.starts_with("libcuda.so") ||
        file.starts_with("libnvidia-"))
        return false;
    const auto bound = *reinterpret_cast<const ElfW(Addr)*>(map->l_addr + table->dlsym_slot);
    // An address of 0 means that the reference to dlsym has not been used yet, so it has found nothing past the shim.
    if (bound == 0 || elf::is_own_code(bound) || elf::object_contains(map, bound)) return false;
    const link_map* const holder = elf::object_at(bound);
    return holder != nullptr && is_past_shim(holder) && is_driver_loaded();
}

/// Returns true if a reference of the object to a product is bound, or may be bound, to a function other than the
/// shim's: because the object was opened with RTLD_DEEPBIND, because the loader searches the object itself first
/// (DF_SYMBOLIC), or because a BLAS comes before the shim. If kernels are recorded, also returns true for such
/// references to the CUDA driver's functions, and to dlsym, by which programs find the driver's functions.
bool is_bound_past(const link_map* map) {
    const elf::ObjectTables object = elf::read_object_tables(map);
    bool is_past = false;
    for_each_import(*loaded_object(map), [&](const FunctionImport& import) {
        const CallingConvention convention = functions[import.function].convention;
        if (is_past || convention == CallingConvention::bare) return;
        if (convention == CallingConvention::driver && !notes_bypassing_driver_calls.load(std::memory_order_relaxed))
            return;
        is_past = leads_past_shim(object, import);
    });
    return is_past ||
           (notes_bypassing_driver_calls.load(std::memory_order_relaxed) && may_find_driver_past_shim(map));
}

/// Returns true if a call of getenv by this object may not reach the shim. Returns false for a reference that was
/// not used yet, because the object has then not asked for a variable.
bool may_call_getenv_past_shim(const link_map* map) {
    const ImportTable* const table = imports_of(*loaded_object(map));
    if (table == nullptr || table->getenv_slot == 0) return true;
    const auto bound = *reinterpret_cast<const ElfW(Addr)*>(map->l_addr + table->getenv_slot);
    if (bound == 0 || elf::is_own_code(bound)) return false;
    return !elf::object_contains(map, bound) || (slots_may_stay_unused && !elf::global_scope().contains(map));
}

std::uint32_t object_flags(const link_map* map) {
    std::uint32_t flags = loaded_object(map)->onednn.load(std::memory_order_relaxed);
    if (is_bound_past(map)) flags |= record::format::object_is_bound_past;
    if (!notes_bypassing_getenv.load(std::memory_order_relaxed)) return flags;
    if (may_call_getenv_past_shim(map)) flags |= record::format::object_asks_past;
    // If oneDNN is linked into the program, the program may set oneDNN's verbose mode by a call that the shim does
    // not see.
    if (map == elf::first_object()) flags |= record::format::object_is_silent;
    return flags;
}

/// Adds an object's file to `list`, with what is known of the object. `list` is a record::UnrecordedProcessMark, a
/// record::LoadedFileList::LockedAdder or a ClosedLibraryList. Precondition: an elf::ReadGuard is held.
template <class List>
void add_file(List& list, const link_map* map) {
    const std::string_view path = system::view(map->l_name);
    if (map == elf::own_object() || is_kernel_object(path) || !elf::is_mapped(map)) return;
    list.add({path, elf::build_id(map), object_flags(map),
              record::format::program_headers_hash(std::as_bytes(elf::program_headers(map)))});
}

bool is_loaded(const record::LoadedFile& file) {
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
        if (system::equal(system::view(map->l_name), file.path) &&
            std::ranges::equal(elf::build_id(map), file.build_id))
            return true;
    return false;
}

/// Adds the files of all loaded objects and of closed libraries to `list`. Notes in `notes` whether dlsym gave the
/// program a function past the shim, and whether the list is incomplete. Precondition: an elf::ReadGuard is held.
template <class List, class Notes>
void add_all_files(List& list, Notes& notes) {
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next) add_file(list, map);
    for (const auto* closed = closed_libraries.newest(); closed != nullptr; closed = closed->next)
        if (closed->file.flags != 0 || !is_loaded(closed->file)) list.add(closed->file);
    const bool counts_driver_lookup = notes_bypassing_driver_calls.load(std::memory_order_relaxed) &&
                                      has_bypassing_driver_lookup.load(std::memory_order_relaxed);
    if (counts_driver_lookup || has_bypassing_lookup.load(std::memory_order_relaxed)) notes.mark_bypassing_lookup();
    // If objects were being unloaded when this process was forked, their names are lost, so the list is incomplete.
    if (!elf::is_loader_list_complete() || closed_libraries.is_incomplete()) notes.mark_incomplete();
}

void add_all_files(record::LoadedFileList& objects) {
    record::LoadedFileList::LockedAdder walk(objects);
    add_all_files(walk, objects);
}

/// Adds to `list` the files that a dlclose of `closed` may unload. Precondition: an elf::ReadGuard is held.
template <class List>
void add_files_closed_by(const link_map* closed, List& list) {
    const elf::SearchScope scope = elf::local_scope(closed);
    for (std::size_t i = 0; i < scope.count(); ++i) add_file(list, scope.at(i));
    if (scope.count() > 0) return;
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next) add_file(list, map);
}

}  // namespace

void record_loaded_files(record::Recording& recording) {
    record::LoadedFileList* const objects = recording.objects();
    if (objects == nullptr) return;
    const elf::ReadGuard reading;
    const std::uint64_t stamp = load_generation();
    if (objects->stamp() != stamp) add_all_files(*objects);
    objects->mark_complete(stamp);
}

void record_loaded_file(record::LoadedFileList& objects, const link_map* map) {
    record::LoadedFileList::LockedAdder walk(objects);
    add_file(walk, map);
}

void enable_getenv_bypass_check() { notes_bypassing_getenv.store(true, std::memory_order_relaxed); }
void enable_driver_bypass_check() { notes_bypassing_driver_calls.store(true, std::memory_order_relaxed); }

void record_files_before_closing(record::LoadedFileList* objects, const void* handle) {
    if (objects == nullptr && !are_closed_files_kept.load(std::memory_order_acquire)) return;
    const elf::ReadGuard reading;
    // In glibc, a handle is the object's link_map. The program itself is never unloaded.
    const auto* closed = static_cast<const link_map*>(handle);
    if (closed == elf::first_object() || !elf::is_in_loader_list(closed)) return;
    if (objects == nullptr) return add_files_closed_by(closed, closed_libraries);
    record::LoadedFileList::LockedAdder walk(*objects);
    add_files_closed_by(closed, walk);
}

void keep_closed_files() { are_closed_files_kept.store(true, std::memory_order_release); }

void record_files_at_exit(record::LoadedFileList& objects) {
    const elf::ReadGuard reading;
    const std::uint64_t stamp = load_generation();
    add_all_files(objects);
    objects.mark_complete(stamp);
}

void record_files_at_exit(record::UnrecordedProcessMark& mark) {
    const elf::ReadGuard reading;
    add_all_files(mark, mark);
}

bool has_loaded_nothing_since(const record::Recording& recording) {
    const elf::ReadGuard reading;
    return recording.has_recorded_objects(load_generation());
}

bool any_object_bypasses_shim() {
    const elf::ReadGuard reading;
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
        if (map != elf::own_object() && elf::is_mapped(map) && is_bound_past(map)) return true;
    return false;
}

void note_bypassing_lookup(record::LoadedFileList* objects) {
    has_bypassing_lookup.store(true, std::memory_order_relaxed);
    if (objects != nullptr) objects->mark_bypassing_lookup();
}

void note_bypassing_driver_lookup() { has_bypassing_driver_lookup.store(true, std::memory_order_relaxed); }

}  // namespace fp32shim
