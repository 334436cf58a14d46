// The first step of a call to a CPU library: reads the call's arguments by role instead of by position.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "policy/matmul_call.hpp"
#include "shim/entry/frame.hpp"
#include "shim/entry/site.hpp"
#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// Returns true if the caller passes an address for a complex result as an additional first argument.
inline bool returns_complex_by_pointer(const Site& site) {
    return site.function->returns_complex() &&
           site.provider->complex_results.load(std::memory_order_relaxed) == ComplexResults::by_pointer;
}

/// Returns the positions of the arguments in calls from a call site.
const ArgumentPositions& argument_positions(const Site& site);

/// A member of Level3, and the role of the argument that it holds.
template <class Value>
struct MemberOfRole {
    Role role;
    Value Level3::*member;
};
inline constexpr MemberOfRole<char> option_members[] = {{Role::side, &Level3::side},
                                                        {Role::uplo, &Level3::uplo},
                                                        {Role::trans_a, &Level3::trans_a},
                                                        {Role::trans_b, &Level3::trans_b},
                                                        {Role::diag, &Level3::diag}};
inline constexpr MemberOfRole<std::int64_t> integer_members[] = {
    {Role::m, &Level3::m},     {Role::n, &Level3::n},     {Role::k, &Level3::k},
    {Role::lda, &Level3::lda}, {Role::ldb, &Level3::ldb}, {Role::ldc, &Level3::ldc}};

/// The letters of the options of CBLAS, whose values begin at first_option_of_cblas. There are ten values for each
/// kind of option: transposition ('R' stands for OpenBLAS's conjugation), uplo, diag and side, in this order. '?'
/// stands for a value that does not exist.
inline constexpr std::string_view letters_of_cblas = "NTCR??????UL????????NU????????LR?";
inline constexpr std::int32_t first_option_of_cblas = 111;

/// One intercepted call. The object lives on the stack of the call and points into the program's arguments. It must
/// not be copied, since `level3` may point to `alpha_value`, `beta_value` and `number`.
struct Product {
    policy::MatmulCall call;  ///< the call as policy rules see it; a batch of groups has the sizes of the group with
                              ///< the most work

    /// The product; for a strided batch, the first product. For a batch of groups, only the operation, layout and
    /// dtype are set, since the products differ in all else; for_each_product() reads each product's arguments.
    Level3 level3;
    std::uint64_t alpha_value = 0;  ///< the bits of alpha, if it is real and was passed by value
    std::uint64_t beta_value = 0;

    bool readable = false;         ///< true if describe_call() could read the arguments
    std::int64_t group_count = 1;  ///< the number of groups in a call of a `_batch` function, each with its own
                                   ///< sizes; otherwise 1
    std::int64_t stride_a = 0;     ///< distance between the A matrices of a strided batch, in elements; the next
                                   ///< members are for B and C
    std::int64_t stride_b = 0;
    std::int64_t stride_c = 0;

    /// Memory for a number that the function returns in registers. level3.c then points to this memory.
    std::array<std::uint64_t, 2> number{};
    /// Copies a number that the call has returned from the registers in `frame` to `number`.
    void read_returned_number(const Frame& frame);
    /// Copies `number` to the registers in `frame`, in the form in which the provider returns numbers.
    void write_returned_number(const Site& site, Frame& frame) const;
};

/// Returns true for Fortran functions that return a float32, such as sdot and snrm2. Returns false for sdsdot, whose
/// arguments are different.
inline bool returns_fortran_float32(const Function& function) {
    using policy::Dtype;
    const ProductFamily& family = function.product();
    const bool is_real = family.dtype == Dtype::float32 || is_norm(family.operation);
    return function.returns_number() && function.convention != CallingConvention::cblas && is_single(family.dtype) &&
           is_real && family.operation != Operation::dsdot && family.operation != Operation::sdsdot;
}

/// Returns true if calls from the call site return a number in vector registers.
inline bool returns_in_registers(const Site& site) {
    return site.function->returns_number() && !returns_complex_by_pointer(site);
}

/// Reads the arguments of a call into `product`. product.readable stays false if the width of integers is unknown, if
/// the layout is invalid, or if a pointer to an option or integer cannot be valid: the shim must not crash where the
/// library would not crash.
void describe_call(const Site& site, const Frame& frame, Product& product);

/// Returns true if every argument that must be a pointer could be one. If the result is false, the shim does not take
/// a function whose name any library may use (`sgemm`) for a BLAS function.
bool arguments_look_like_pointers(const Function& function, const Frame& frame);

/// Calls `visit(visitor, single)` with each product of a call. for_each_product() describes the result.
bool for_each_product_by(const Site& site, const Frame& frame, const Product& product,
                         bool (*visit)(const void* visitor, const Level3& single), const void* visitor);

/// Calls `visit(single)` with each product of a call. If `visit` returns a boolean, stops and returns false as soon
/// as `visit` returns false. Otherwise returns true. Precondition: product.readable.
template <class Visit>
bool for_each_product(const Site& site, const Frame& frame, const Product& product, const Visit& visit) {
    const auto call = [](const void* visitor, const Level3& single) {
        const auto& visit_one = *static_cast<const Visit*>(visitor);
        if constexpr (std::is_same_v<decltype(visit_one(single)), bool>) return visit_one(single);
        visit_one(single);
        return true;
    };
    return for_each_product_by(site, frame, product, call, &visit);
}

}  // namespace fp32shim::blas
