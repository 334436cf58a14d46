#include "shim/loader/loaded_files.hpp"

#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/loaded_object.hpp"
#include "shim/table/functions.hpp"
#include "system/hash.hpp"
#include "system/inline_text.hpp"

namespace fp32shim {
namespace {

constinit std::atomic<bool> has_lookup_past{false};
constinit std::atomic<void (*)()> look_before_closing{nullptr};

/// Returns true for a file that was not closed before, so far as the table has room.
bool is_first_closing_of(std::string_view path) {
    static constinit std::atomic<std::uint64_t> closed[64]{};
    const std::uint64_t hash = system::Hash().add(path).value();
    for (std::atomic<std::uint64_t>& place : closed) {
        std::uint64_t known = place.load(std::memory_order_relaxed);
        if (known == 0 && place.compare_exchange_strong(known, hash, std::memory_order_relaxed)) return true;
        if (known == hash) return false;
    }
    return true;
}

bool is_of_the_kernel(std::string_view path) {
    return path.starts_with("linux-vdso") || path.starts_with("linux-gate");
}

/// Returns true if the code at this address is a stub through which the object calls another object's function. In a
/// program that is not position-independent, the stub's address stands for the function's.
bool is_stub_at(const elf::Object& object, ElfW(Addr) address) {
    bool is_stub = false;
    for_each_product_relocation(object, [&](FunctionIndex, std::uint32_t symbol, const ElfW(Rela)&) {
        const ElfW(Sym)& reference = object.symbols[symbol];
        is_stub = is_stub || (reference.st_shndx == SHN_UNDEF && object.base + reference.st_value == address);
    });
    return is_stub;
}

/// Returns true if a library that was preloaded before the shim may call the shim in turn: it asks for functions by
/// name, or calls products that it does not have itself. A BLAS does neither.
bool may_go_on_to_us(const elf::Object& object) {
    bool is_wrapper = false;
    elf::for_each_reference(object, [&](std::uint32_t symbol, const ElfW(Rela)&) {
        const std::string_view name = system::view(object.strings + object.symbols[symbol].st_name);
        is_wrapper = is_wrapper || system::equal(name, "dlsym") || system::equal(name, "dlvsym");
    });
    for_each_product_relocation(object, [&](FunctionIndex, std::uint32_t symbol, const ElfW(Rela)&) {
        is_wrapper = is_wrapper || object.symbols[symbol].st_shndx == SHN_UNDEF;
    });
    return is_wrapper;
}

bool is_earlier_preload(const link_map* wanted) {
    const link_map* own = elf::own_object();
    for (const link_map* map = elf::first_object()->l_next; map != nullptr && map != own; map = map->l_next)
        if (map == wanted) return true;
    return false;
}

bool leads_past(const elf::Object& object, const ElfW(Sym) & symbol, const ElfW(Rela) & relocation) {
    const auto bound = *reinterpret_cast<const ElfW(Addr)*>(object.base + relocation.r_offset);
    if (bound == 0 || elf::is_own_code(bound)) return false;
    // A reference that is bound lazily, and was not called yet, leads into the object's own stubs.
    const bool is_own_definition = symbol.st_shndx != SHN_UNDEF && bound == object.base + symbol.st_value;
    if (elf::contains(object.map, bound) && !is_own_definition) return false;
    const link_map* holder = elf::object_at(bound);
    if (holder == nullptr) return true;
    if (holder == elf::first_object()) return !is_stub_at(elf::read_object(holder), bound);
    return !is_earlier_preload(holder) || !may_go_on_to_us(elf::read_object(holder));
}

/// Returns true if a reference of the object to a product is bound past the shim: the object was opened
/// RTLD_DEEPBIND, looks into itself first, or a BLAS comes before the shim.
bool is_bound_past(const elf::Object& object) {
    bool is_past = false;
    for_each_product_relocation(object,
                                [&](FunctionIndex function, std::uint32_t symbol, const ElfW(Rela) & relocation) {
                                    if (is_past || functions[function].convention == Convention::bare) return;
                                    is_past = leads_past(object, object.symbols[symbol], relocation);
                                });
    return is_past;
}

enum class Bindings : bool { leave, check };

/// Notes an object's file; with Bindings::check, if it calls past the shim. `list` is a record::Mark or a walk of
/// record::RecordingObjects. Precondition: an elf::Reading is held.
template <class List>
void note(List& list, const link_map* map, Bindings bindings) {
    const std::string_view path = system::view(map->l_name);
    if (map == elf::own_object() || is_of_the_kernel(path) || !elf::is_mapped(map)) return;
    const bool is_past = bindings == Bindings::check && is_bound_past(elf::read_object(map));
    list.add({path, elf::build_id(map), is_past});
}

/// Notes the files of all loaded objects in `list`, like note(), and in `notes` all else. Precondition: an
/// elf::Reading is held.
template <class List, class Notes>
void note_all(List& list, Notes& notes, Bindings bindings) {
    for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next) note(list, map, bindings);
    if (has_lookup_past.load(std::memory_order_relaxed)) notes.note_lookup_past();
    // Objects whose unloading was under way when this process was forked cannot be named any more.
    if (!elf::list_is_whole()) notes.note_missed();
}

void note_all(record::RecordingObjects& objects, Bindings bindings) {
    record::RecordingObjects::Walk walk(objects);
    note_all(walk, objects, bindings);
}

}  // namespace

void note_loaded_files(record::Recording& recording) {
    record::RecordingObjects* const objects = recording.objects();
    if (objects == nullptr) return;
    const elf::Reading reading;
    const std::uint64_t stamp = objects_stamp();
    if (objects->stamp() != stamp) note_all(*objects, Bindings::leave);
    objects->note_complete(stamp);
}

void note_files_before_closing(record::RecordingObjects& objects, const void* handle) {
    const elf::Reading reading;
    // A handle of glibc's is the object's link_map. The program itself is never unloaded.
    const auto* closed = static_cast<const link_map*>(handle);
    if (closed == elf::first_object() || !elf::is_in_list(closed)) return;
    const elf::Scope scope = elf::own_scope(closed);
    if (scope.count() == 0) return note_all(objects, Bindings::check);
    record::RecordingObjects::Walk walk(objects);
    for (std::size_t i = 0; i < scope.count(); ++i) note(walk, scope.at(i), Bindings::check);
}

void call_before_closing(void (*look)()) { look_before_closing.store(look, std::memory_order_release); }

void announce_closing(const void* handle) {
    void (*const look)() = look_before_closing.load(std::memory_order_acquire);
    if (look == nullptr) return;
    {
        const elf::Reading reading;
        const auto* closed = static_cast<const link_map*>(handle);
        if (closed == elf::first_object() || !elf::is_in_list(closed)) return;
        if (!is_first_closing_of(system::view(closed->l_name))) return;
    }
    look();
}

void note_files_at_exit(record::RecordingObjects& objects) {
    const elf::Reading reading;
    const std::uint64_t stamp = objects_stamp();
    note_all(objects, Bindings::check);
    objects.note_complete(stamp);
}

void note_files_at_exit(record::Mark& mark) {
    const elf::Reading reading;
    note_all(mark, mark, Bindings::check);
}

bool has_loaded_nothing_since(const record::Recording& recording) { return recording.saw_objects(objects_stamp()); }

void note_lookup_past(record::RecordingObjects* objects) {
    has_lookup_past.store(true, std::memory_order_relaxed);
    if (objects != nullptr) objects->note_lookup_past();
}

}  // namespace fp32shim
