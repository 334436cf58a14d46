// Manages the open scopes of one thread, outermost first. A scope is a part of the thread's work, with a label and
// perhaps a precision and a floor (the lowest precision that may run). The C API opens scopes, and each range of
// NVTX is one. Each scope belongs to an owner, which closes its own innermost scope, even if scopes of other owners
// are further inside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "policy/precision.hpp"

namespace fp32shim {

constexpr int scope_depth_limit = 64;  ///< largest number of open scopes of the C API
constexpr int range_depth_limit = 64;  ///< largest number of open ranges on the stack, of all owners together
constexpr std::size_t scope_label_limit = 1024;  ///< bytes of all labels of a thread after they are joined
constexpr std::size_t scope_owner_limit = 256;   ///< number of owners: the C API and domains of ranges
using ScopeOwner = std::uint8_t;                 ///< number of an owner of scopes
constexpr ScopeOwner c_api_owner = 0;            ///< owner of scopes that the program pushes by the C API
constexpr ScopeOwner default_domain = 1;         ///< owner of NVTX ranges outside every named domain
constexpr ScopeOwner domains_beyond_limit = 2;   ///< owner of ranges in domains for which the table had no room
constexpr ScopeOwner first_named_domain = 3;

/// A request to open a scope.
struct ScopeRequest {
    std::string_view label;
    std::optional<policy::Precision> precision{};
    policy::Floor floor = policy::Floor::none;
};

/// One open scope, with the values that it was opened with and the values in force inside it.
struct Scope {
    /// Hash of the label, precision and floor in force; 0 if nothing differs from outside all scopes.
    std::uint64_t key = 0;
    std::int8_t precision = -1;  ///< policy::Precision of the innermost scope that has one; -1 if none has one
    std::int8_t own_precision = -1;
    policy::Floor floor = policy::Floor::none;  ///< the strictest floor of all open scopes
    policy::Floor own_floor = policy::Floor::none;
    std::uint16_t label_size = 0;      ///< size of the label in force, which lies at the start of ScopeStack::labels_
    std::uint16_t own_label_size = 0;  ///< number of bytes of this scope's own label, which ends the label in force;
                                       ///< does not count the separator
    ScopeOwner owner = c_api_owner;
};

/// The stack of scopes of one thread. Labels are joined by '/', but a label that begins with '.' gets no separator.
class ScopeStack {
  public:
    /// Opens a scope of the C API. If too many scopes are open or the label is too long, changes nothing and returns
    /// false.
    bool push(const ScopeRequest& request);
    /// Closes the innermost scope of the C API. Returns false if none is open.
    bool pop();
    /// Returns the number of open scopes of the C API.
    int c_api_depth() const { return owner_counts_[c_api_owner].open; }

    /// Opens a range, and returns its level among the owner's open ranges, counted from 0. If too many ranges are
    /// open or the label is too long, the range is only counted, so that its pop_range() still matches it.
    int push_range(ScopeOwner owner, std::string_view label);
    /// Closes the owner's innermost range. Returns the level of the range, or -1 if none is open.
    int pop_range(ScopeOwner owner);

    const Scope& innermost() const { return scopes_[depth_]; }
    std::string_view label() const { return {labels_.data(), innermost().label_size}; }
    std::uint64_t key() const { return key_; }  ///< the key of innermost(), kept separately
    bool is_empty() const { return depth_ == 0; }

  private:
    struct OwnerScopeCounts {
        std::int32_t open;    ///< number of all open scopes of the owner, including hidden ones
        std::int32_t hidden;  ///< number of the owner's innermost scopes that are not on the stack but only counted
    };

    bool push_onto_stack(const ScopeRequest& request, ScopeOwner owner);
    void remove_innermost(ScopeOwner owner);

    std::uint64_t key_ = 0;
    std::size_t depth_ = 0;
    /// The open scopes. scopes_[0] has the values that are in force outside every scope.
    std::array<Scope, 1 + scope_depth_limit + range_depth_limit> scopes_{};
    std::array<OwnerScopeCounts, scope_owner_limit> owner_counts_{};
    std::array<char, scope_label_limit> labels_{};
};

}  // namespace fp32shim
