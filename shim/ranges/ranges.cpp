#include "shim/ranges/ranges.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/memory/arena.hpp"
#include "shim/settings/settings.hpp"
#include "shim/thread/thread_context.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim {

constinit const RangeDomain nvtx_default_domain{default_domain, RangeSource::nvtx, {}};

namespace {

/// Returns true if the program's references bind to the shim, because it was preloaded or linked. A child without its
/// parent's LD_PRELOAD may still have a variable that makes NVTX or ITT open the library. The shim then sees no
/// products.
bool is_in_global_scope() {
    const elf::Reading reading;
    const elf::Scope global = elf::global_scope();
    const std::size_t count = global.count();
    for (std::size_t i = 0; i < count; ++i)
        if (global.at(i) == elf::own_object()) return true;
    return count == 0;
}

constinit const RangeDomain shared_domain{nameless_domains, RangeSource::nvtx, {}};

// Named domains, by their owner's number. Filled without gaps, beginning at first_named_domain. Handles are addresses
// of entries.
using Entry = std::atomic<const RangeDomain*>;
constinit std::array<Entry, scope_owner_limit> domains{};

const RangeDomain& domain_beyond_the_bound() {
    static constinit system::OncePerProcess said;
    if (said.first()) system::stderr_line("too many range domains; ranges in further domains are ignored");
    return shared_domain;
}

/// Returns `domain:label`, stored in `buffer`; outside named domains, returns the label itself. Returns an empty text
/// if the result does not fit.
std::string_view label_in(const RangeDomain& domain, std::string_view label,
                          std::array<char, scope_label_limit>& buffer) {
    if (domain.owner == nameless_domains) return {};
    if (domain.name.empty() || label.empty()) return label;
    const std::size_t size = domain.name.size() + 1 + label.size();
    if (size > buffer.size()) return {};
    std::memcpy(buffer.data(), domain.name.data(), domain.name.size());
    buffer[domain.name.size()] = ':';
    std::memcpy(buffer.data() + domain.name.size() + 1, label.data(), label.size());
    return {buffer.data(), size};
}

}  // namespace

const RangeDomain& range_domain(RangeSource source, std::string_view name) {
    const RangeDomain* fresh = nullptr;
    for (std::size_t i = first_named_domain; i < domains.size(); ++i) {
        const RangeDomain* known = domains[i].load(std::memory_order_acquire);
        if (known == nullptr) {
            if (fresh == nullptr || fresh->owner != i)
                fresh = arena_new<RangeDomain>(static_cast<ScopeOwner>(i), source, arena_copy(name));
            if (domains[i].compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return *fresh;
        }
        if (known->source == source && known->name == name) return *known;
    }
    return domain_beyond_the_bound();
}

const void* handle_of(const RangeDomain& domain) { return &domains[domain.owner]; }

const RangeDomain& domain_of_handle(const void* handle) {
    const auto offset = reinterpret_cast<std::uintptr_t>(handle) - reinterpret_cast<std::uintptr_t>(domains.data());
    if (offset >= sizeof domains || offset % sizeof(Entry) != 0) return nvtx_default_domain;
    const std::size_t owner = offset / sizeof(Entry);
    if (owner == nameless_domains) return shared_domain;
    const RangeDomain* known = domains[owner].load(std::memory_order_acquire);
    return known == nullptr ? nvtx_default_domain : *known;
}

int open_range(const RangeDomain& domain, std::string_view label) {
    ThreadContext* context = existing_thread_context();
    if (context == nullptr) {
        const int saved_errno = errno;
        context = thread_context();
        errno = saved_errno;
        if (context == nullptr) return no_tracking;
    }
    std::array<char, scope_label_limit> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as needed
    on_scope_opened(ScopesSeen::labels);
    return context->scopes.push_range(domain.owner, label_in(domain, label, buffer));
}

int close_range(const RangeDomain& domain) {
    ThreadContext* const context = existing_thread_context();
    return context == nullptr ? -1 : context->scopes.pop_range(domain.owner);
}

bool ranges_wanted(RangeSource source) {
    if (!is_in_global_scope()) return false;
    const Settings& in_force = settings();
    const policy::Where word = source == RangeSource::nvtx ? policy::Where::nvtx : policy::Where::itt;
    return !in_force.forward_everything && in_force.policy.wants(word);
}

}  // namespace fp32shim
