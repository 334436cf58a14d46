// ITT tasks. The static part of ITT is linked into a program or library. It loads the collector that
// INTEL_LIBITTNOTIFY64 names, and calls the collector's __itt_api_init, which fills in the functions that it wants.
// From then on the collector makes domains and strings; the static part made the earlier ones. Each domain has a
// stack of tasks on each thread.
#include "shim/ranges/itt.hpp"

#include <array>
#include <atomic>
#include <cstring>

#include "shim/memory/arena.hpp"
#include "shim/ranges/ranges.hpp"
#include "shim/ranges/texts.hpp"
#include "system/hash.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::itt {
namespace {

// The ITT domains that the shim made, by their owner's number.
constinit std::array<std::atomic<Domain*>, scope_owner_limit> own_domains{};

/// A domain of ITT, identified by its address, and the domain of ranges that belongs to it.
struct KnownDomain {
    const Domain* domain;
    const RangeDomain* ranges;
};

constexpr std::size_t table_size = 1 << 9;
constexpr std::size_t longest_probe = 16;
constinit std::array<std::atomic<const KnownDomain*>, table_size> known_domains{};

/// Returns the domain of ranges for a domain of ITT. Allocates memory only at the domain's first use.
const RangeDomain& ranges_of(const Domain* domain) {
    const std::uint64_t hash = system::Hash().add(static_cast<const void*>(domain)).value();
    for (std::size_t probe = 0; probe < longest_probe; ++probe) {
        auto& entry = known_domains[(hash + probe) % table_size];
        const KnownDomain* known = entry.load(std::memory_order_acquire);
        if (known == nullptr) {
            const RangeDomain& ranges = range_domain(RangeSource::itt, label_view(domain->name));
            const auto* fresh = arena_try_new<KnownDomain>(domain, &ranges);
            if (fresh == nullptr) return ranges;
            if (entry.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return ranges;
        }
        if (known->domain == domain) return *known->ranges;
    }
    return range_domain(RangeSource::itt, label_view(domain->name));
}

void begin(const Domain* domain, const StringHandle* name) {
    if (domain != nullptr)
        open_range(ranges_of(domain), name == nullptr ? std::string_view{} : label_view(name->text));
}
void end(const Domain* domain) {
    if (domain != nullptr) close_range(ranges_of(domain));
}

void task_begin(const Domain* domain, Id, Id, StringHandle* name) { begin(domain, name); }
void task_begin_fn(const Domain* domain, Id, Id, void*) { begin(domain, nullptr); }
void task_end(const Domain* domain) { end(domain); }
void task_begin_ex(const Domain* domain, void*, unsigned long long, Id, Id, StringHandle* name) {
    begin(domain, name);
}
void task_begin_fn_ex(const Domain* domain, void*, unsigned long long, Id, Id, void*) { begin(domain, nullptr); }
void task_end_ex(const Domain* domain, void*, unsigned long long) { end(domain); }

Domain* domain_create(const char* name) {
    if (name == nullptr) return nullptr;
    const RangeDomain& ranges = range_domain(RangeSource::itt, label_view(name));
    auto& entry = own_domains[ranges.owner];
    Domain* known = entry.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    auto* fresh = arena_new<Domain>();
    fresh->name = arena_copy(label_view(name)).data();
    return entry.compare_exchange_strong(known, fresh, std::memory_order_acq_rel) ? fresh : known;
}

StringHandle* string_handle_create(const char* text) {
    if (text == nullptr) return nullptr;
    return &register_text(label_view(text)).load(std::memory_order_acquire)->handle;
}

struct Callback {
    std::string_view name;
    void* function;
};

/// Returns the shim's function of that name, or nullptr if there is none.
void* own_function(std::string_view name) {
    const Callback callbacks[] = {{"__itt_domain_create", reinterpret_cast<void*>(domain_create)},
                                  {"__itt_string_handle_create", reinterpret_cast<void*>(string_handle_create)},
                                  {"__itt_task_begin", reinterpret_cast<void*>(task_begin)},
                                  {"__itt_task_begin_fn", reinterpret_cast<void*>(task_begin_fn)},
                                  {"__itt_task_end", reinterpret_cast<void*>(task_end)},
                                  {"__itt_task_begin_ex", reinterpret_cast<void*>(task_begin_ex)},
                                  {"__itt_task_begin_fn_ex", reinterpret_cast<void*>(task_begin_fn_ex)},
                                  {"__itt_task_end_ex", reinterpret_cast<void*>(task_end_ex)}};
    for (const Callback& callback : callbacks)
        if (callback.name == name) return callback.function;
    return nullptr;
}

bool is_known_layout(const Global& global) {
    constexpr unsigned char magic[] = {0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30};
    static_assert(sizeof magic == sizeof global.magic);
    return std::memcmp(global.magic, magic, sizeof magic) == 0 && global.version_major == 3 &&
           global.version_build >= 20111111;
}

}  // namespace
}  // namespace fp32shim::itt

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the name is ITT's

/// Called by the static part of ITT, under its lock. Functions that the shim does not implement behave as without a
/// collector. If no tasks are wanted, all functions do.
extern "C" __attribute__((visibility("default"))) void __itt_api_init(fp32shim::itt::Global* global, int) {
    using namespace fp32shim;
    using namespace fp32shim::itt;
    if (global == nullptr || !is_known_layout(*global) || global->functions == nullptr) return;
    const bool wanted = ranges_wanted(RangeSource::itt);
    for (itt::Function* function = global->functions; function->name != nullptr; ++function) {
        void* const own = wanted ? own_function(system::view(function->name)) : nullptr;
        *function->pointer = own != nullptr ? own : function->uninstrumented;
    }
}

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
