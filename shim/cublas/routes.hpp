// The ways to call each cuBLAS function: with the program's own arguments, or as the function that does the same with
// a compute type. Both come from the role lists of table/families.hpp; no argument list is written out a second time.
#pragma once

#include <cstdint>

#include "shim/entry/frame.hpp"
#include "shim/table/families.hpp"

namespace fp32shim::cublas {

/// The arguments by which a call of a function with a compute type differs from the program's own call.
struct Substitution {
    std::int32_t compute_type = 0;
    bool replaces_algorithm = false;  ///< the default algorithm takes the place of the program's
};

using CallAsCalled = std::int64_t (*)(void* address, const Frame& frame);
using CallWithComputeType = std::int64_t (*)(void* address, const Frame& frame, const Substitution& substitution);

struct Route {
    const Family* family;
    CallAsCalled as_called;
    CallWithComputeType with_compute_type;  ///< nullptr: no function with a compute type does the same
    /// Returns the call's part of the key of its plan (plan_key.hpp), or key_unknown (no cached plan) for unusual
    /// types and unknown algorithms. nullptr for functions that multiply nothing; `multiplies` is then nullptr too.
    std::uint64_t (*key)(const Frame& frame);
    /// Returns true if something is multiplied: neither a size nor the batch count is zero.
    bool (*multiplies)(const Frame& frame, bool is_ilp64);
};

/// Returns the ways to call a family's functions; nullptr for cuBLAS's legacy API, whose calls are only jumped to.
const Route* route_of(const Family& family);

}  // namespace fp32shim::cublas
