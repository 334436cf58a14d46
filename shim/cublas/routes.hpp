// How each cuBLAS function is called: with the program's own arguments, or as the function that does the same with a
// compute type. Both come from the role lists of table/families.hpp; no argument list is written out a second time.
#pragma once

#include <cstdint>

#include "shim/entry/frame.hpp"
#include "shim/table/families.hpp"

namespace fp32shim::cublas {

/// What a function with a compute type is told that the program's call does not say, or says otherwise.
struct Substitution {
    std::int32_t compute_type = 0;
    bool replaces_algorithm = false;  ///< by the default one
};

using CallAsCalled = std::int64_t (*)(void* address, const Frame& frame);
using CallWithComputeType = std::int64_t (*)(void* address, const Frame& frame, const Substitution& substitution);

struct Route {
    const Family* family;
    CallAsCalled as_called;
    CallWithComputeType with_compute_type;  ///< nullptr: there is no such function
    /// What a plan depends on of the call's own values (plan_key.hpp); key_unknown where they are out of the
    /// ordinary.
    std::uint64_t (*key)(const Frame& frame);
    /// Whether something is multiplied: no size, and not the batch count, is zero.
    bool (*multiplies)(const Frame& frame, bool is_ilp64);
};

/// The route of a family; nullptr for the functions from before version 2, which are only ever jumped to.
const Route* route_of(const Family& family);

}  // namespace fp32shim::cublas
