#include "shim/where/native/call_site.hpp"

#include "shim/loader/elf/readers.hpp"
#include "shim/memory/arena.hpp"
#include "shim/where/native/function_name.hpp"
#include "shim/where/native/symbol.hpp"
#include "system/hash.hpp"
#include "system/inline_text.hpp"
#include "system/line_writer.hpp"
#include "system/mapped_memory.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim::where {
namespace {

/// A call site as text. Equal texts are stored once, so a plugin that is loaded again and again needs no more memory.
/// Never freed.
struct KnownCallSite : policy::CallSite {
    std::uint64_t hash;
    const KnownCallSite* next;
};

constinit std::atomic<const KnownCallSite*> buckets[256]{};

const KnownCallSite* find(const KnownCallSite* site, std::uint64_t hash, std::string_view text) {
    while (site != nullptr && (site->hash != hash || !system::equal(site->text, text))) site = site->next;
    return site;
}

/// Returns the permanent record of a call site, or nullptr if there is no memory for it. `function` is the number of
/// bytes at the beginning of `text` that name object and function.
const policy::CallSite* interned(std::string_view text, std::size_t function) {
    const std::uint64_t hash = system::Hash().add(text).value();
    std::atomic<const KnownCallSite*>& bucket = buckets[hash % std::size(buckets)];
    const KnownCallSite* head = bucket.load(std::memory_order_acquire);
    if (const KnownCallSite* known = find(head, hash, text)) return known;
    const std::string_view copy = arena_try_copy(text);
    if (copy.data() == nullptr) return nullptr;
    auto* fresh = arena_try_new<KnownCallSite>(policy::CallSite{copy, copy.substr(0, function)}, hash, head);
    if (fresh == nullptr) return nullptr;
    // If two threads add a call site at the same time, it is stored twice, which does no harm.
    while (!bucket.compare_exchange_weak(fresh->next, fresh, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return fresh;
}

void warn_slow_lookup(const LoadedObject& caller) {
    static constinit system::OncePerProcess said;
    if (!said.first()) return;
    char buffer[256];
    system::LineWriter line(buffer);
    line.text("rules by call_site: the functions of ").escaped(caller.name, 100);
    line.text(" could not be looked up in time; rules see only its offsets");
    system::stderr_line(line.view());
}

/// Returns the object's name as recordings have it. For the program, that is its file's name with symbolic links
/// resolved.
std::string_view recorded_name(const LoadedObject& object, std::string_view executable) {
    return object.map->l_name[0] == '\0' && !executable.empty() ? system::base_name(executable) : object.name;
}

/// Makes the text of a call site. Precondition: the caller is an object.
const policy::CallSite* named(const Site& site, std::string_view executable) {
    const LoadedObject& caller = *site.caller;
    const std::uintptr_t return_address = site.called_from.load(std::memory_order_relaxed);
    std::string_view name = caller.name;
    constexpr std::size_t names_size = 2 * (symbol_limit + 1), text_size = symbol_limit + 512;
    const MappedMemory memory(names_size + text_size);
    NamedAddress found;
    if (!memory.bytes().empty()) {
        const elf::Reading reading;
        if (caller.loaded.load(std::memory_order_acquire)) {
            name = recorded_name(caller, executable);
            found = name_of_caller(caller.map, return_address, memory.bytes().first(names_size));
        }
    }
    if (found.gave_up) warn_slow_lookup(caller);
    char few[512];
    const bool has_name = !found.name.empty();
    system::LineWriter text(has_name ? memory.bytes().subspan(names_size) : std::span<char>(few));
    text.text(name);
    if (has_name) text.texts("!", found.name);
    const std::size_t function = text.size();
    text.texts(has_name ? found.clone : std::string_view(), "+");
    text.hexadecimal(has_name ? found.offset : return_address - caller.base);
    return interned(text.view(), function);
}

}  // namespace

const policy::CallSite* call_site_of(Site& site, const Settings& in_force) {
    if (site.caller == nullptr || is_shared(site)) return nullptr;
    const policy::CallSite* known = site.call_site.load(std::memory_order_acquire);
    if (known == nullptr) {
        known = named(site, in_force.facts.executable);
        site.call_site.store(known, std::memory_order_release);
    }
    return known;
}

}  // namespace fp32shim::where
