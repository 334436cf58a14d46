// Turns NVTX ranges into scopes (scopes/scopes.hpp) of the thread that opens them. Each copy of NVTX in a program
// initialises the library that NVTX_INJECTION64_PATH names. The shim registers callbacks only for ranges of threads,
// for domains and for strings. Opening and closing a range takes no lock and allocates nothing, except for the state
// of a new thread. Domains and strings that programs register beforehand stay in tables of bounded size.
#include "shim/ranges/nvtx.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/memory/arena.hpp"
#include "shim/scopes/scopes.hpp"
#include "shim/settings/settings.hpp"
#include "shim/thread/thread_context.hpp"
#include "system/hash.hpp"
#include "system/limited_text.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim::nvtx {
namespace {

/// Returns true if the program's references bind to the shim, because the shim was preloaded or linked. A child may
/// lack its parent's LD_PRELOAD but have the variable that makes NVTX open the shim. The shim then sees no products.
bool is_in_global_scope() {
    const elf::ReadGuard reading;
    const elf::SearchScope global = elf::global_scope();
    return global.count() == 0 || global.contains(elf::own_object());
}

/// A domain of ranges, which has a stack of ranges on each thread. Never freed.
struct RangeDomain {
    ScopeOwner owner;
    std::string_view name;  ///< if it is empty, labels of ranges get no prefix
};
constexpr RangeDomain unnamed_domain{default_domain, {}}, shared_domain{domains_beyond_limit, {}};

// The named domains, indexed by RangeDomain::owner. The array is filled without gaps, beginning at
// first_named_domain. The handle of a domain is the address of its entry.
using Entry = std::atomic<const RangeDomain*>;
constinit std::array<Entry, scope_owner_limit> domains{};

const RangeDomain& shared_domain_after_warning() {
    static constinit system::OncePerProcess said;
    if (said.is_first_call()) system::stderr_line("too many range domains; ranges in further domains are ignored");
    return shared_domain;
}

/// Returns the domain with this name. If there are already some 250 domains, prints one line and returns a shared
/// domain, whose ranges are counted but label nothing. Thread-safe and lock-free.
const RangeDomain& range_domain(std::string_view name) {
    const RangeDomain* fresh = nullptr;
    for (std::size_t i = first_named_domain; i < domains.size(); ++i) {
        const RangeDomain* known = domains[i].load(std::memory_order_acquire);
        if (known == nullptr) {
            if (fresh == nullptr || fresh->owner != i)
                fresh = arena_new<RangeDomain>(static_cast<ScopeOwner>(i), arena_copy(name));
            if (domains[i].compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return *fresh;
        }
        if (known->name == name) return *known;
    }
    return shared_domain_after_warning();
}

/// Returns the handle that a program gets for a domain.
const void* handle_of(const RangeDomain& domain) { return &domains[domain.owner]; }

/// Returns the domain that `handle` stands for, or the default domain if the pointer is not a handle.
const RangeDomain& domain_of_handle(const void* handle) {
    const auto offset = reinterpret_cast<std::uintptr_t>(handle) - reinterpret_cast<std::uintptr_t>(domains.data());
    if (offset >= sizeof domains || offset % sizeof(Entry) != 0) return unnamed_domain;
    const std::size_t owner = offset / sizeof(Entry);
    if (owner == domains_beyond_limit) return shared_domain;
    const RangeDomain* known = domains[owner].load(std::memory_order_acquire);
    return known == nullptr ? unnamed_domain : *known;
}

/// Returns `domain:label`, stored in `buffer`, or only the label if the domain has no name. Returns an empty text if
/// the result does not fit.
std::string_view label_with_domain(const RangeDomain& domain, std::string_view label,
                                   std::array<char, scope_label_limit>& buffer) {
    if (domain.owner == domains_beyond_limit) return {};
    if (domain.name.empty() || label.empty()) return label;
    const std::size_t size = domain.name.size() + 1 + label.size();
    if (size > buffer.size()) return {};
    std::memcpy(buffer.data(), domain.name.data(), domain.name.size());
    buffer[domain.name.size()] = ':';
    std::memcpy(buffer.data() + domain.name.size() + 1, label.data(), label.size());
    return {buffer.data(), size};
}

/// Opens a range on this thread with the label `label`, or `domain:label` in a named domain. Returns the level of the
/// range in its domain, counted from 0. Returns no_tracking if there is no memory for the thread's context. Does not
/// change errno.
int open_range(const RangeDomain& domain, std::string_view label) {
    ThreadContext* context = existing_thread_context();
    if (context == nullptr) {
        const int saved_errno = errno;
        context = thread_context();
        errno = saved_errno;
        if (context == nullptr) return no_tracking;
    }
    std::array<char, scope_label_limit> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as needed
    note_opened_scope(ScopesSeen::labels);
    return context->scopes.push_range(domain.owner, label_with_domain(domain, label, buffer));
}

/// Closes the domain's innermost range on this thread. Returns the level of the range, or -1 if none is open.
int close_range(const RangeDomain& domain) {
    ThreadContext* const context = existing_thread_context();
    return context == nullptr ? -1 : context->scopes.pop_range(domain.owner);
}

/// Returns true if the setting `where`, or rules on scopes, need ranges. Reads the settings on first use.
bool ranges_wanted() {
    if (!is_in_global_scope()) return false;
    const Settings& in_force = settings();
    return !in_force.forward_everything && in_force.policy.wants(policy::LocationSource::nvtx);
}

/// The number of bytes of a label that are read. A label that is longer would not fit into any stack of scopes.
constexpr std::size_t range_label_limit = scope_label_limit;
using LabelBuffer = std::array<char, range_label_limit + 4>;

/// Returns a view of a C string, or of its first range_label_limit bytes if it is longer; empty for nullptr.
std::string_view label_view(const char* text) {
    return {text, text == nullptr ? 0 : strnlen(text, range_label_limit)};
}

/// Converts a wide C string to UTF-8 in `buffer`, until some range_label_limit bytes are filled; empty for nullptr.
/// Numbers that are not Unicode characters become U+FFFD.
std::string_view label_view(const wchar_t* text, LabelBuffer& buffer) {
    std::size_t size = 0;
    if (text != nullptr)
        for (; *text != L'\0' && size < range_label_limit; ++text) {
            const auto code = std::bit_cast<std::uint32_t>(*text);
            const bool is_unicode = code < 0xd800 || (code >= 0xe000 && code <= 0x10ffff);
            system::append_utf8(is_unicode ? code : 0xfffd, buffer, size);
        }
    return {buffer.data(), size};
}

// The texts that programs have registered, in a hash table with open addressing. Entries are never removed, and their
// addresses serve as handles. Entry 0 stands for all texts for which there was no free entry or no memory.
using TextEntry = std::atomic<const std::string_view*>;
constexpr std::size_t table_size = 1 << 16;
constexpr std::size_t longest_probe = 64;
constinit std::array<TextEntry, table_size> registered_texts{};
constexpr std::string_view no_text;

const TextEntry& entry_without_text() {
    registered_texts[0].store(&no_text, std::memory_order_release);
    return registered_texts[0];
}

const TextEntry& entry_without_text_after_warning() {
    static constinit system::OncePerProcess said;
    if (said.is_first_call())
        system::stderr_line("too many registered strings; ranges named by further strings are ignored");
    return entry_without_text();
}

/// Returns a copy of the text, or nullptr if there is no memory.
const std::string_view* lasting_copy(std::string_view text) {
    const std::string_view lasting = arena_try_copy(text);
    return lasting.data() == nullptr ? nullptr : arena_try_new<std::string_view>(lasting);
}

/// Registers a text and returns its entry. Equal texts have the same entry. If there are already some 60,000 texts,
/// prints one line and returns the entry of an empty text. Thread-safe and lock-free.
const TextEntry& register_text(std::string_view text) {
    const std::uint64_t hash = system::Hash().add(text).value();
    const std::string_view* fresh = nullptr;
    for (std::size_t probe = 0; probe < longest_probe; ++probe) {
        TextEntry& entry = registered_texts[1 + (hash + probe) % (table_size - 1)];
        const std::string_view* known = entry.load(std::memory_order_acquire);
        if (known == nullptr) {
            if (fresh == nullptr) fresh = lasting_copy(text);
            if (fresh == nullptr) return entry_without_text();
            if (entry.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return entry;
        }
        if (*known == text) return entry;
    }
    return entry_without_text_after_warning();
}

/// Returns the text of the entry at the address `handle`; empty if `handle` is not the address of an entry.
std::string_view registered_text(const void* handle) {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(handle) - reinterpret_cast<std::uintptr_t>(registered_texts.data());
    if (offset >= sizeof registered_texts || offset % sizeof(TextEntry) != 0) return {};
    const std::string_view* known = registered_texts[offset / sizeof(TextEntry)].load(std::memory_order_acquire);
    return known == nullptr ? std::string_view{} : *known;
}

int push_ex(const void* domain, const EventAttributes* attributes) {
    LabelBuffer buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as needed
    std::string_view label;
    if (attributes != nullptr && attributes->size >= sizeof(EventAttributes)) {
        const void* const message = attributes->message;
        if (attributes->message_type == MessageType::ascii) label = label_view(static_cast<const char*>(message));
        if (attributes->message_type == MessageType::unicode)
            label = label_view(static_cast<const wchar_t*>(message), buffer);
        if (attributes->message_type == MessageType::registered) label = registered_text(message);
    }
    return open_range(domain_of_handle(domain), label);
}

int default_push_ex(const EventAttributes* attributes) { return push_ex(nullptr, attributes); }
int push_a(const char* message) { return open_range(unnamed_domain, label_view(message)); }
int push_w(const wchar_t* message) {
    LabelBuffer buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as needed
    return open_range(unnamed_domain, label_view(message, buffer));
}
int pop() { return close_range(unnamed_domain); }
int domain_pop(const void* domain) { return close_range(domain_of_handle(domain)); }

const void* create_a(const char* name) { return handle_of(range_domain(label_view(name))); }
const void* create_w(const wchar_t* name) {
    LabelBuffer buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as needed
    return handle_of(range_domain(label_view(name, buffer)));
}
const void* register_a(const void*, const char* text) { return &register_text(label_view(text)); }
const void* register_w(const void*, const wchar_t* text) {
    LabelBuffer buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as needed
    return &register_text(label_view(text, buffer));
}

struct NvtxCallback {
    unsigned id;
    FunctionPointer function;
};

template <class Function>
FunctionPointer to_function_pointer(Function* function) {
    return reinterpret_cast<FunctionPointer>(function);
}

/// Stores `callbacks` in the table through which the copy of NVTX behind `exported` calls out, and returns true. If
/// the table has no place for one of them, changes nothing and returns false.
template <std::size_t count>
bool install_callbacks(const ExportedCallbacks& exported, Module module, const NvtxCallback (&callbacks)[count]) {
    FunctionPointer** table = nullptr;
    unsigned size = 0;
    if (exported.module_functions(module, &table, &size) == 0 || table == nullptr) return false;
    for (const NvtxCallback& callback : callbacks)
        if (callback.id >= size || table[callback.id] == nullptr) return false;
    for (const NvtxCallback& callback : callbacks) *table[callback.id] = callback.function;
    return true;
}

/// Registers the shim's functions with a copy of NVTX and returns 1. If no ranges are wanted, returns 0, and NVTX
/// then does nothing.
int initialize(GetExportTable get_export_table) {
    if (get_export_table == nullptr || !ranges_wanted()) return 0;
    const auto* const exported = static_cast<const ExportedCallbacks*>(get_export_table(callbacks_table));
    if (exported == nullptr || exported->struct_size < sizeof(ExportedCallbacks)) return 0;
    const NvtxCallback core_callbacks[] = {{core::range_push_ex, to_function_pointer(default_push_ex)},
                                           {core::range_push_a, to_function_pointer(push_a)},
                                           {core::range_push_w, to_function_pointer(push_w)},
                                           {core::range_pop, to_function_pointer(pop)}};
    const NvtxCallback core2_callbacks[] = {{core2::range_push_ex, to_function_pointer(push_ex)},
                                            {core2::range_pop, to_function_pointer(domain_pop)},
                                            {core2::register_string_a, to_function_pointer(register_a)},
                                            {core2::register_string_w, to_function_pointer(register_w)},
                                            {core2::domain_create_a, to_function_pointer(create_a)},
                                            {core2::domain_create_w, to_function_pointer(create_w)}};
    const bool has_core = install_callbacks(*exported, Module::core, core_callbacks);
    return install_callbacks(*exported, Module::core2, core2_callbacks) || has_core ? 1 : 0;
}

}  // namespace
}  // namespace fp32shim::nvtx

using namespace fp32shim::nvtx;

// NOLINTBEGIN(readability-identifier-naming): the names are NVTX's

/// NVTX calls this function in the library that NVTX_INJECTION64_PATH names.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(GetExportTable get_export_table) {
    return initialize(get_export_table);
}

/// If no variable names a library, a copy of NVTX searches for this function in preloaded libraries, and calls only
/// the first one that it finds. So the shim first offers the copy of NVTX to another tool, which may be preloaded
/// after the shim or linked into the program.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2Preinject(
    GetExportTable get_export_table) {
    using Initialize = int (*)(GetExportTable);
    const auto other = reinterpret_cast<Initialize>(dlsym(RTLD_NEXT, "InitializeInjectionNvtx2Preinject"));
    if (other != nullptr && other(get_export_table) != 0) return 1;
    const auto* linked = static_cast<const Initialize*>(dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2_fnptr"));
    if (linked != nullptr && *linked != nullptr && (*linked)(get_export_table) != 0) return 1;
    return initialize(get_export_table);
}

// NOLINTEND(readability-identifier-naming)
