// Decides the precision of a call. Pure: the same arguments give the same answer; no lock, no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "policy/matmul_call.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {

/// Settings made by the running program or its operator; they override environment and file.
struct Overrides {
    bool pinned = false;               ///< the audit pinned this call site
    std::optional<Precision> thread;   ///< innermost thread scope that names a precision
    std::optional<Precision> process;  ///< latest of C API and `fp32shim set`
    Floor floor = Floor::none;         ///< strictest of the scopes' and the API's floors
};

/// Result of decide().
struct Decision {
    Precision requested = Precision::native;  ///< request of the winning source, before floor and device
    Precision precision = Precision::native;  ///< precision to run at; never `automatic`
    Source source = Source::native;
    std::int32_t rule = -1;                ///< index into Policy::rules, or -1
    Reason reason = Reason::as_requested;  ///< reason why `precision` differs from `requested`

    bool operator==(const Decision&) const = default;
};

/// Decides one call. The first of these that asks for a precision wins: guard pin › rule (in order) › thread scope ›
/// process › environment › file default › native. Then the floor applies, then the limits of device and CPU mode.
/// Thread-safe; allocates nothing.
Decision decide(const MatmulCall& call, const Process& process, const Policy& policy, const Overrides& overrides);

/// Decides one call for which only `rules` may match (may_match): indices in ascending order.
Decision decide(const MatmulCall& call, const Process& process, const Policy& policy, const Overrides& overrides,
                std::span<const std::uint16_t> rules);

/// Facts that are the same in all calls of a call site.
struct SiteFacts {
    std::string_view function;
    std::string_view caller;
    Device device = Device::cpu;
    std::optional<Dtype> dtype;  ///< absent: differs from call to call
};

/// Returns false if a rule cannot match any call of the site, whatever its sizes, scopes and GPU.
bool may_match(const Rule& rule, const SiteFacts& site, const Process& process);

/// Returns true if `when` holds and `unless` does not. Exposed for the filters of `fp32shim report` and `log`.
bool matches(const Rule& rule, const MatmulCall& call, const Process& process);

}  // namespace fp32shim::policy
