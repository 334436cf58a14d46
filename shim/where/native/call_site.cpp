#include "shim/where/native/call_site.hpp"

#include <span>

#include "shim/loader/elf/readers.hpp"
#include "shim/memory/arena.hpp"
#include "shim/where/native/exported_function.hpp"
#include "shim/where/native/symbol_choice.hpp"
#include "system/hash.hpp"
#include "system/inline_text.hpp"
#include "system/line_writer.hpp"
#include "system/mapped_memory.hpp"

namespace fp32shim::where {
namespace {

/// A call site as text, such as `libphysics.so+0x1c4`. Equal texts are stored once, so a plugin that is loaded again
/// and again needs no more memory. Never freed.
struct KnownCallSite : policy::CallSiteText {
    std::string_view texts;  ///< the texts of the call site, one after the other
    std::uint64_t hash;
    const KnownCallSite* next = nullptr;
};

constinit std::atomic<const KnownCallSite*> buckets[256]{};

const KnownCallSite* find(const KnownCallSite* site, std::uint64_t hash, std::string_view texts) {
    while (site != nullptr && (site->hash != hash || !system::equal(site->texts, texts))) site = site->next;
    return site;
}

/// Returns the permanent record of a call site, or nullptr if there is no memory for it. `texts` consists of two
/// texts. The first has the function's exported name, `OBJECT!FUNCTION+OFFSET`, and is `text_size` bytes long; its
/// first `function_size` bytes are `OBJECT!FUNCTION`. The second is `OBJECT+OFFSET`. If `text_size` is 0, there is
/// only the second text, whose first `function_size` bytes are `OBJECT`.
const policy::CallSiteText* intern_call_site(std::string_view texts, std::size_t function_size,
                                             std::size_t text_size) {
    const std::uint64_t hash = system::Hash().add(texts).value();
    std::atomic<const KnownCallSite*>& bucket = buckets[hash % std::size(buckets)];
    if (const KnownCallSite* known = find(bucket.load(std::memory_order_acquire), hash, texts)) return known;
    const std::string_view copy = arena_try_copy(texts);
    if (copy.data() == nullptr) return nullptr;
    const std::string_view offset = copy.substr(text_size);
    const policy::CallSiteText site{text_size == 0 ? offset : copy.substr(0, text_size),
                                    copy.substr(0, function_size), offset};
    auto* fresh = arena_try_new<KnownCallSite>(site, copy, hash);
    if (fresh == nullptr) return nullptr;
    // If two threads add a call site at the same time, the call site is stored twice, which does no harm.
    push_front(bucket, fresh);
    return fresh;
}

/// Returns the object's name as recordings contain it. For the program itself, it is the name of the program's file
/// with symbolic links resolved.
std::string_view recorded_name(const LoadedObject& object, std::string_view executable) {
    return object.map->l_name[0] == '\0' && !executable.empty() ? system::base_name(executable) : object.name;
}

/// Makes the texts of a call site. Returns nullptr if there is no memory. Precondition: site.caller is not nullptr.
const policy::CallSiteText* make_call_site(const Site& site, std::string_view executable) {
    const LoadedObject& caller = *site.caller;
    const std::uintptr_t return_address = site.kept_return_address.load(std::memory_order_relaxed);
    // If there is no memory for a function's name, the call site is named by its object and offset.
    const MappedMemory memory(symbol_limit + 1024);
    const bool has_memory = !memory.bytes().empty();
    char object_and_offset[512];
    std::string_view object = caller.name;
    system::LineWriter texts(has_memory ? memory.bytes() : std::span(object_and_offset));
    std::size_t function_size = 0, text_size = 0;
    const elf::ReadGuard reading;
    if (caller.loaded.load(std::memory_order_acquire)) {
        object = recorded_name(caller, executable);
        const ExportedFunction found = has_memory ? exported_caller(caller.map, return_address) : ExportedFunction();
        if (!found.name.empty()) {
            texts.text(object).texts("!", found.name);
            function_size = texts.size();
            texts.text("+").hexadecimal(found.offset);
            text_size = texts.size();
        }
    }
    texts.text(object);
    if (function_size == 0) function_size = texts.size();
    texts.text("+").hexadecimal(return_address - caller.base);
    return intern_call_site(texts.view(), function_size, text_size);
}

}  // namespace

const policy::CallSiteText* call_site_of(Site& site, const Settings& in_force) {
    if (site.caller == nullptr || is_shared_site(site)) return nullptr;
    const policy::CallSiteText* known = site.call_site.load(std::memory_order_acquire);
    if (known == nullptr) {
        known = make_call_site(site, in_force.facts.executable);
        site.call_site.store(known, std::memory_order_release);
    }
    return known;
}

}  // namespace fp32shim::where
