// Plans a call by the shim's own code, for `fp32shim explain`. Facts that only a process has are assumed, and listed.
#pragma once

#include <string>
#include <vector>

#include "cli/run/process_environment.hpp"
#include "policy/decide.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim::cli {

/// Applied format and reason, as in a log.
struct PlannedFormat {
    policy::Applied applied = policy::Applied::unchanged;
    policy::Reason reason = policy::Reason::as_requested;

    bool operator==(const PlannedFormat&) const = default;
};

/// Result of planning a call.
struct PlannedCall {
    /// Outcome if one of the assumptions does not hold.
    struct Other {
        PlannedFormat outcome;
        std::vector<std::string> where;  ///< `math mode CUBLAS_TENSOR_OP_MATH`
    };

    PlannedFormat outcome;
    std::string words;                    ///< meaning of the outcome, for people
    std::vector<std::string> supposed{};  ///< assumptions on which the outcome depends
    std::vector<Other> others{};
    std::vector<std::string> notes{};
};

/// Plans a call of `function`. The variables that cuBLAS reads are taken from `environment`.
PlannedCall plan_described_call(const Function& function, const policy::MatmulCall& call,
                                const policy::Decision& decision, const policy::Policy& policy,
                                const ProcessEnvironment& environment);

}  // namespace fp32shim::cli
