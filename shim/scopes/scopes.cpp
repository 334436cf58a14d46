#include "shim/scopes/scopes.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "system/hash.hpp"

namespace fp32shim {
namespace {

/// Returns the key that is in force inside a scope that `request` opens. `outer` is the key in force outside it.
/// Scopes with equal keys have equal labels, precisions and floors.
std::uint64_t key_in_scope(std::uint64_t outer, const ScopeRequest& request) {
    if (request.label.empty() && !request.precision && request.floor == policy::Floor::none) return outer;
    const int precision = request.precision ? static_cast<int>(*request.precision) + 1 : 0;
    system::Hash hash;
    hash.add(outer).add(request.label);
    hash.add(static_cast<std::uint64_t>(precision) << 8 | static_cast<std::uint64_t>(request.floor));
    return hash.value();
}

}  // namespace

/// Puts a scope on top of the stack; returns false if there is no room. The label may already lie in `labels_`, at or
/// after its final position.
bool ScopeStack::push_onto_stack(const ScopeRequest& request, ScopeOwner owner) {
    Scope inner = innermost();
    inner.owner = owner;
    const bool is_separated = inner.label_size > 0 && !request.label.empty() && request.label.front() != '.';
    const std::size_t begin = inner.label_size + (is_separated ? std::size_t{1} : 0);
    if (begin + request.label.size() >= scope_label_limit || depth_ + 1 >= scopes_.size()) return false;
    if (!request.label.empty()) std::memmove(labels_.data() + begin, request.label.data(), request.label.size());
    if (is_separated) labels_[begin - 1] = '/';
    inner.own_label_size = static_cast<std::uint16_t>(request.label.size());
    inner.label_size = static_cast<std::uint16_t>(begin + request.label.size());
    inner.own_precision = request.precision ? static_cast<std::int8_t>(*request.precision) : std::int8_t{-1};
    if (request.precision) inner.precision = inner.own_precision;
    inner.own_floor = request.floor;
    inner.floor = std::max(inner.floor, request.floor);
    inner.key = key_in_scope(inner.key, request);
    scopes_[depth_ + 1] = inner;
    std::atomic_signal_fence(std::memory_order_release);  // a signal handler must only see scopes that are complete
    ++depth_;
    key_ = inner.key;
    return true;
}

/// Removes the owner's innermost scope from the stack. Scopes inside the removed scope stay open, as if that scope
/// had never been opened. Does nothing if the owner has no scope, which can happen because a signal handler may close
/// scopes meanwhile.
void ScopeStack::remove_innermost(ScopeOwner owner) {
    const std::size_t last = depth_;
    std::size_t removed = last;
    while (removed > 0 && scopes_[removed].owner != owner) --removed;
    if (removed == 0) return;
    depth_ = removed - 1;
    key_ = innermost().key;
    for (std::size_t i = removed + 1; i <= last; ++i) {
        const Scope moved = scopes_[i];
        const std::string_view label(labels_.data() + moved.label_size - moved.own_label_size, moved.own_label_size);
        std::optional<policy::Precision> precision;
        if (moved.own_precision >= 0) precision = static_cast<policy::Precision>(moved.own_precision);
        push_onto_stack({label, precision, moved.own_floor}, moved.owner);
    }
}

bool ScopeStack::push(const ScopeRequest& request) {
    OwnerScopeCounts& own = owner_counts_[c_api_owner];
    if (own.open == scope_depth_limit || !push_onto_stack(request, c_api_owner)) return false;
    ++own.open;
    return true;
}

bool ScopeStack::pop() { return pop_range(c_api_owner) >= 0; }

int ScopeStack::push_range(ScopeOwner owner, std::string_view label) {
    OwnerScopeCounts& own = owner_counts_[owner];
    const auto ranges = static_cast<int>(depth_) - owner_counts_[c_api_owner].open;
    const bool is_too_deep = own.hidden > 0 || ranges >= range_depth_limit;
    if (is_too_deep || (!push_onto_stack({.label = label}, owner) && !push_onto_stack({}, owner))) ++own.hidden;
    return own.open++;
}

int ScopeStack::pop_range(ScopeOwner owner) {
    OwnerScopeCounts& own = owner_counts_[owner];
    if (own.open == 0) return -1;
    if (own.hidden > 0)
        --own.hidden;
    else
        remove_innermost(owner);
    return --own.open;
}

}  // namespace fp32shim
