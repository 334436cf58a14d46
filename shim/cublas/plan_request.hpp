// Plans how to honour a decision about a cuBLAS call. The code depends only on its arguments: cublas/site_plan.hpp
// uses it inside a process, and `fp32shim explain` uses it outside of any process.
#pragma once

#include <string_view>

#include "policy/decide.hpp"
#include "policy/policy.hpp"
#include "shim/cublas/formats.hpp"

namespace fp32shim::cublas {

/// The treatment of a product, which depends on the type of its operands.
enum class OperandTreatment : std::uint8_t {
    governed,
    as_called,  ///< float64: the product is counted, and changed only by rules that ask for a format of float64
    observed,   ///< narrower than float32: the product is counted; in half products, the type in which they add may
                ///< be changed
    ignored,    ///< integers: the product is not counted
};

/// The facts about a call, its handle and its caller on which a plan depends.
struct PlanRequest {
    OperandTreatment treatment = OperandTreatment::governed;
    bool handle_is_known = true;
    bool pointers_are_in_arrays = false;  ///< true if the operands are passed as arrays of pointers
    bool is_solve = false;                ///< true for trsm and its batched forms
    bool is_guarded = false;              ///< true if the call is made inside PyTorch's NoTF32Guard
    std::string_view caller{};            ///< base name of the file of the calling object
    RequestedPrecision asked;
};

struct Plan {
    policy::Decision decision;
    CallChange change;
    Format asked = Format::fp32;  ///< lowest format to which cuBLAS may round operands in the program's own call
    policy::AppliedFormat applied = policy::AppliedFormat::unchanged;
    policy::Reason reason = policy::Reason::as_requested;
    bool is_by_environment = false;  ///< true if the call is forwarded, and an environment variable permits `applied`
    policy::Accumulator accumulator_as_called = policy::Accumulator::unknown;  ///< type in which a half product adds
                                                                               ///< in the program's own call
    policy::Accumulator accumulator = policy::Accumulator::unknown;            ///< type in which a half product adds
                                                                               ///< in the changed call

    bool changes_call() const { return change.how != record::How::forward || change.mantissa_bits != 0; }
    /// Returns the compute type in which a call runs whose own compute type is `own`.
    std::int32_t compute_type_or(std::int32_t own) const {
        return change.how == record::How::forward ? own : change.compute_type;
    }

    bool operator==(const Plan&) const = default;
};

/// Plans how to run a call in the decided precision. `floor` is the lowest precision that all floors in force allow.
Plan plan_request(const PlanRequest& request, const policy::Decision& decision, policy::Floor floor,
                  const Environment& environment, const policy::Policy& policy);

/// Returns `plan` changed so that the call runs as the program made it. `reason` is the reason why.
Plan plan_unchanged(Plan plan, policy::Reason reason, const Environment& environment);

/// Returns `plan`, which sets the PEDANTIC mode, changed so that it sets the DEFAULT mode: some functions refuse the
/// PEDANTIC mode (cublasCsyrk3mEx). The DEFAULT mode gives FP32 too, unless the environment permits a lower format;
/// in that case the plan's reason becomes library_refused.
Plan plan_without_pedantic(Plan plan, const RequestedPrecision& asked, const Environment& environment);

/// Returns `plan` changed so that the call runs as the program made it, because it multiplies nothing.
Plan plan_for_call_without_product(Plan plan);

/// Returns a static text that names the environment variable that chose a plan's format; empty if no variable did.
std::string_view environment_detail(const Plan& plan);

}  // namespace fp32shim::cublas
