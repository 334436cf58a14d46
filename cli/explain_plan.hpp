// What the shim would do about a decision, asked of its own planning code without a process: the step of
// `fp32shim explain` behind policy::decide. What only a process knows is supposed, and said.
#pragma once

#include <string>
#include <vector>

#include "cli/run/process_environment.hpp"
#include "policy/decide.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim::cli {

/// As a log would have it.
struct Outcome {
    policy::Applied applied = policy::Applied::unchanged;
    policy::Reason reason = policy::Reason::as_requested;

    bool operator==(const Outcome&) const = default;
};

/// What happens to the call, once decided.
struct PlannedCall {
    /// The outcome where something is not as supposed, one thing at a time.
    struct Other {
        Outcome outcome;
        std::vector<std::string> where;  ///< `math mode CUBLAS_TENSOR_OP_MATH`
    };

    Outcome outcome;
    std::string words;                    ///< what that means, for people
    std::vector<std::string> supposed{};  ///< of what is not known, as far as the outcome depends on it
    std::vector<Other> others{};
    std::vector<std::string> notes{};
};

/// `call` is one of this function. The variables that cuBLAS reads are taken from `environment`.
PlannedCall plan_described_call(const Function& function, const policy::MatmulCall& call,
                                const policy::Decision& decision, const policy::Policy& policy,
                                const ProcessEnvironment& environment);

}  // namespace fp32shim::cli
