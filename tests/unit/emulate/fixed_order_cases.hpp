// Products in a fixed order of the cases of emulate_cases.hpp.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <ranges>
#include <vector>

#include "emulate_cases.hpp"
#include "shim/blas/multiply/multiply.hpp"

namespace fp32shim::tests {

/// Returns the instruction sets of this processor that have loops of their own, the plain one first.
inline std::vector<blas::InstructionSet> instruction_sets_here() {
    std::vector<blas::InstructionSet> here;
    std::ranges::copy_if(std::views::reverse(blas::instruction_sets), std::back_inserter(here), blas::is_available);
    return here;
}

/// Returns those behind the first, which is the slowest. Tests compare their results with those of the first.
inline std::vector<blas::InstructionSet> other_instruction_sets() {
    std::vector<blas::InstructionSet> others = instruction_sets_here();
    others.erase(others.begin());
    return others;
}

inline constexpr blas::ThreadLimitQuery three_threads{[](const void*) { return blas::ThreadLimit{3}; }, nullptr};

/// Returns a limit of three threads for the best instruction set here, and of one for the others.
inline blas::ThreadLimit threads_by(blas::InstructionSet by) {
    return {by == instruction_sets_here().back() ? 3 : 1};
}

inline bool same_bits(const std::vector<float>& x, const std::vector<float>& y) {
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
}

/// The operands that a product writes to, after it.
struct After {
    std::vector<float> b, c;
    bool operator==(const After& other) const { return same_bits(b, other.b) && same_bits(c, other.c); }
};

template <class By>
After after(const Case& test_case, By by) {
    Placed placed = place(test_case);
    EXPECT_TRUE(blas::multiply_in_fixed_order(placed.product, by));
    EXPECT_TRUE(placed.a.has_the_bits_of(test_case.a)) << "A was changed";
    const auto copy = [](GuardedFloats& floats, std::size_t size) {
        return std::vector<float>(floats.data(), floats.data() + size);
    };
    return {copy(placed.b, test_case.b.size()), copy(placed.c, test_case.c.size())};
}

}  // namespace fp32shim::tests
