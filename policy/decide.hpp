// Decides the precision of a call. The functions depend only on their arguments, take no lock and do no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "policy/matmul_call.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {

/// Returns the format of a product that runs as it was called, by the type of its operands.
constexpr AppliedFormat native_format(Dtype dtype) {
    return is_double(dtype) ? AppliedFormat::fp64 : AppliedFormat::fp32;
}

/// Requests that were made while the program runs: by the program, by its operator or by an audit. A pin overrides
/// all other sources. `thread` and `process` override the environment and the files' default precision, but no rule.
struct PrecisionOverrides {
    bool pinned = false;               ///< true if an accuracy audit has pinned this call site to `highest`
    std::optional<Precision> thread;   ///< the precision of the thread's innermost scope that sets one
    std::optional<Precision> process;  ///< the latest request for the whole process, by the C API or `fp32shim set`
    Floor floor = Floor::none;         ///< the strictest floor that the thread's scopes or the C API have set
};

/// Result of decide(): the precision of a call, its source, and the reason if it differs from the request.
struct Decision {
    /// The precision that the winning source asks for, before floor and device limit it.
    Precision requested = Precision::native;
    Precision precision = Precision::native;  ///< the precision at which the call is to run; never `automatic`
    Source source = Source::native;
    std::int32_t rule = -1;                ///< the index in Policy::rules of the winning rule, or -1 if no rule won
    Reason reason = Reason::as_requested;  ///< the reason why `precision` differs from `requested`
    AlgorithmLimits algorithms{};          ///< limits on the algorithm that runs a product of cublasLt
    std::int32_t algorithm_rule = -1;      ///< the index of the rule that set limits, or -1 if none did
    Accumulate accumulate = Accumulate::as_called;  ///< the type in which a half product on a GPU adds

    bool operator==(const Decision&) const = default;
};

/// Decides the precision of one call. The first of these sources that asks for a precision wins: audit pin › rules,
/// in their order › thread scope › process › environment › default of the policy file › native. Then the floor
/// applies, then the limits of the device and of the CPU mode. Products of float64 and complex128 obey only an audit
/// pin (as `native`) and rules that name their type. Products of narrower types are left alone, with one exception:
/// the first matching rule with `accumulate`, or else the [cuda] section, decides the type in which half products on
/// a GPU add. Thread-safe; allocates nothing. `rules` has the ascending indices of the rules that may match calls of
/// the call site (may_match()). If it is absent, all rules are tried.
Decision decide(const MatmulCall& call, const ProcessDescription& process, const Policy& policy,
                const PrecisionOverrides& overrides,
                std::optional<std::span<const std::uint16_t>> rules = std::nullopt);

/// Returns the decision for a call that was not audited yet. If its rule has a tolerance, which only audits can
/// judge, the call runs in the format of its operands; otherwise the result is `decision` itself. `dtype` is the type
/// of the call's operands.
Decision decision_before_audits(Decision decision, const Policy& policy, Dtype dtype);

/// Facts that are the same in all calls of a call site.
struct CallSiteFacts {
    std::string_view function;
    std::string_view caller;
    Device device = Device::cpu;
    std::optional<Dtype> dtype;  ///< the element type; absent if it varies from call to call
};

/// Returns true if `earlier` decides everything that `later` decides: the precision, limits on algorithms, and the
/// type in which half products add.
inline bool decides_as_much(const Rule& earlier, const Rule& later) {
    return earlier.has_precision >= later.has_precision && earlier.algorithms.any() >= later.algorithms.any() &&
           earlier.accumulate.has_value() >= later.accumulate.has_value();
}

/// Returns false if a rule cannot match any call of the call site, whatever sizes, scope and GPU a call has.
bool may_match(const Rule& rule, const CallSiteFacts& site, const ProcessDescription& process);

/// Returns true if the rule can decide the precision of products of this type or, for half types, the type in which
/// they add. So a rule without `precision` decides nothing about products of float32 and float64, and a rule without
/// `accumulate` decides nothing about half products. A rule decides about products of float64 only if its `when` has
/// `dtype`.
bool decides_for_dtype(const Rule& rule, Dtype dtype);

/// Returns true if the rule's `when` holds for the call and its `unless` does not hold, whatever the rule decides.
bool conditions_match(const Rule& rule, const MatmulCall& call, const ProcessDescription& process);

/// Returns true if the rule applies to the call and can decide about products of its type. Used by `fp32shim report`
/// and `log`, too.
bool decides_call(const Rule& rule, const MatmulCall& call, const ProcessDescription& process);

}  // namespace fp32shim::policy
