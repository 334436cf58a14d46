// The ways to call each cuBLAS function: with the program's own arguments, or as the equivalent function that takes a
// compute type. Both ways follow from the role lists of table/families.hpp, so that no argument list is written
// twice.
#pragma once

#include <cstdint>

#include "shim/entry/frame.hpp"
#include "shim/table/families.hpp"

namespace fp32shim::cublas {

/// The arguments in which a call with a compute type differs from the program's own call.
struct Substitution {
    std::int32_t compute_type = 0;
    bool replaces_algorithm = false;  ///< true if the default algorithm replaces the program's algorithm
};

using CallAsCalled = std::int64_t (*)(void* address, const Frame& frame);
using CallWithComputeType = std::int64_t (*)(void* address, const Frame& frame, const Substitution& substitution);

struct Route {
    const FunctionFamily* family;
    CallAsCalled as_called;
    CallWithComputeType with_compute_type;  ///< nullptr if no equivalent function takes a compute type
    /// Returns the part of a plan's key (plan_key.hpp) that depends on the call. Returns key_unknown, under which no
    /// plan is kept, for unusual types and unknown algorithms. The member is nullptr for functions that multiply
    /// nothing; `multiplies` is then nullptr, too.
    std::uint64_t (*key)(const Frame& frame);
    /// Returns true if the call multiplies anything: neither a size nor the batch count is zero.
    bool (*multiplies)(const Frame& frame, bool is_ilp64);
};

/// Returns the ways to call a family's functions. Returns nullptr for cuBLAS's legacy API, whose calls can only be
/// forwarded by a jump.
const Route* route_of(const FunctionFamily& family);

}  // namespace fp32shim::cublas
