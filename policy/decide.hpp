// The second step of a call: what should happen to it. Pure: same arguments, same answer; no lock, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "policy/matmul_call.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {

/// Settings that a running program or its operator made, above environment and file.
struct Overrides {
    bool pinned = false;               ///< the audit pinned this call site
    std::optional<Precision> thread;   ///< innermost thread scope that names a precision
    std::optional<Precision> process;  ///< C API or live `set`, the latest
    Floor floor = Floor::none;         ///< strictest of the scopes' and the API's floors
};

struct Decision {
    Precision requested = Precision::native;  ///< what the winning source asked for, before floor and device
    Precision precision = Precision::native;  ///< what is to be done: never `automatic`
    Source source = Source::native;
    std::int32_t rule = -1;                ///< index into Policy::rules, or -1
    Reason reason = Reason::as_requested;  ///< why `precision` differs from `requested`

    bool operator==(const Decision&) const = default;
};

/// Judges one call. Precedence, first match wins: guard pin › rule (in order) › thread scope › process ›
/// environment › file default › native; then the floor clamps; then device and CPU mode say what is possible.
/// Thread-safe; allocates nothing.
Decision decide(const MatmulCall& call, const Process& process, const Policy& policy, const Overrides& overrides);

/// The same, where only these rules, by their index and in their order, may match the call (may_match).
Decision decide(const MatmulCall& call, const Process& process, const Policy& policy, const Overrides& overrides,
                std::span<const std::uint16_t> rules);

/// What is the same in all calls of a call site: function and caller, and what else is known.
struct SiteFacts {
    std::string_view function;
    std::string_view caller;
    Device device = Device::cpu;
    std::optional<Dtype> dtype;  ///< absent: it differs from call to call
};

/// False where a rule cannot match any call of the site, whatever its sizes, scopes and GPU.
bool may_match(const Rule& rule, const SiteFacts& site, const Process& process);

/// Whether `when` holds and `unless` does not. Exposed for the filters of `fp32shim report` and `log`.
bool matches(const Rule& rule, const MatmulCall& call, const Process& process);

}  // namespace fp32shim::policy
