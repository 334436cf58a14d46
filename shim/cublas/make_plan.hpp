// What is made of a decision about a cuBLAS call. Pure: blas/plan.hpp asks it in the process, `fp32shim explain`
// without one.
#pragma once

#include <string_view>

#include "policy/decide.hpp"
#include "policy/policy.hpp"
#include "shim/cublas/formats.hpp"

namespace fp32shim::cublas {

/// How a product counts, by the type of its operands.
enum class Counted : std::uint8_t {
    governed,
    observed,    ///< narrower than float32: counted, never altered
    not_at_all,  ///< float64 or integers
};

/// What a plan depends on of the call, its handle and its caller.
struct Request {
    Counted counted = Counted::governed;
    bool handle_is_known = true;
    bool pointers_are_in_arrays = false;  ///< operands are arrays of pointers
    bool is_solve = false;                ///< trsm and its batches
    std::string_view caller{};            ///< base name of the calling object
    Asked asked;
};

/// What a call comes to, sizes aside.
struct Plan {
    policy::Decision decision;
    Change change;
    Format asked = Format::fp32;  ///< what the call permits as the program made it
    policy::Applied applied = policy::Applied::unchanged;
    policy::Reason reason = policy::Reason::as_requested;
    bool is_by_environment = false;  ///< the format is one that a variable chose

    bool operator==(const Plan&) const = default;
};

/// `floor` is the strictest in force.
Plan make_plan(const Request& request, const policy::Decision& decision, policy::Floor floor,
               const Environment& environment, const policy::Policy& policy);

/// The call as the program made it, for this reason.
Plan plan_unchanged(Plan plan, policy::Reason reason, const Environment& environment);

/// Nothing is multiplied: as the program made it.
Plan plan_for_nothing(Plan plan);

/// Static text for what a plan's reason leaves out; empty where there is nothing.
std::string_view detail_of(const Plan& plan);

}  // namespace fp32shim::cublas
