// The ways to call each cuBLAS function: with the program's own arguments, or as the function that does the same with
// a compute type. Both come from the role lists of table/families.hpp; no argument list is written out a second time.
#pragma once

#include <cstdint>

#include "shim/entry/frame.hpp"
#include "shim/table/families.hpp"

namespace fp32shim::cublas {

/// The arguments of a function with a compute type that the program's call does not have, or has otherwise.
struct Substitution {
    std::int32_t compute_type = 0;
    bool replaces_algorithm = false;  ///< the default algorithm takes the place of the program's
};

using CallAsCalled = std::int64_t (*)(void* address, const Frame& frame);
using CallWithComputeType = std::int64_t (*)(void* address, const Frame& frame, const Substitution& substitution);

struct Route {
    const Family* family;
    CallAsCalled as_called;
    CallWithComputeType with_compute_type;  ///< nullptr: there is no such function
    /// Returns the key of the call's own values (plan_key.hpp), or key_unknown if they are out of the ordinary.
    /// nullptr for functions that multiply nothing; so is `multiplies`.
    std::uint64_t (*key)(const Frame& frame);
    /// Returns true if something is multiplied: no size, and not the batch count, is zero.
    bool (*multiplies)(const Frame& frame, bool is_ilp64);
};

/// Returns the route of a family; nullptr for the functions from before version 2, which are only ever jumped to.
const Route* route_of(const Family& family);

}  // namespace fp32shim::cublas
