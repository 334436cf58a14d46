// Describes batches that consist of groups, each of which has its own sizes.
#pragma once

#include <cstdint>

#include "policy/matmul_call.hpp"

namespace fp32shim::blas {

/// Describes a batch of `count` groups by the sizes of the group with the most work. call.batch becomes the number of
/// products in all groups. `describe(group, call)` sets the sizes of one group in a copy of `call`, and returns the
/// number of products in the group. Returns true if a group multiplies anything.
template <class Describe>
bool describe_by_largest_group(std::int64_t count, policy::MatmulCall& call, const Describe& describe) {
    policy::MatmulCall largest = call;
    largest.batch = 0;
    double most_work = -1;
    bool multiplies = false;
    for (std::int64_t group = 0; group < count; ++group) {
        policy::MatmulCall one = call;
        const std::int64_t products = describe(group, one);
        const std::int64_t batch = largest.batch + (products > 0 ? products : 0);
        const double work = static_cast<double>(one.m) * static_cast<double>(one.n) * static_cast<double>(one.k) *
                            static_cast<double>(products);
        multiplies = multiplies || work != 0;
        if (work > most_work) {
            most_work = work;
            largest = one;
        }
        largest.batch = batch;
    }
    call = largest;
    return multiplies;
}

}  // namespace fp32shim::blas
