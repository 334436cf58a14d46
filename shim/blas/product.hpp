// The first step of a call: reads its arguments by role instead of by position.
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

/// Returns true if the caller passes the address of the result as a first argument.
inline bool returns_complex_by_pointer(const Site& site) {
    return site.function->returns_complex() &&
           site.provider->complex_results.load(std::memory_order_relaxed) == ComplexResults::by_pointer;
}

/// Returns the positions of the arguments of a site's calls.
const ArgumentPositions& argument_positions(const Site& site);

/// A member of Level3 that has the argument of a role.
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

/// The letters of the options of CBLAS, whose values begin at first_option_of_cblas. Each option has ten values: of
/// transposition ('R' is OpenBLAS's conjugation), uplo, diag and side. '?' stands for values that do not exist.
inline constexpr std::string_view letters_of_cblas = "NTCR??????UL????????NU????????LR?";
inline constexpr std::int32_t first_option_of_cblas = 111;

/// One intercepted call. Lives on the stack of that call and points into the program's arguments. Not to be copied,
/// since `level3` may point to `alpha_value`, `beta_value` and `number`.
struct Product {
    policy::MatmulCall call;  ///< in policy terms; for a batch of groups, with the sizes of the group with most work

    /// The product; for a strided batch, the first one. For a batch of groups only operation, layout and dtype are
    /// set, and for_each_product() reads the rest.
    Level3 level3;
    std::uint64_t alpha_value = 0;  ///< bits of a real scalar that was passed by value
    std::uint64_t beta_value = 0;

    bool readable = false;         ///< false: null pointers, or integers of unknown width
    std::int64_t group_count = 1;  ///< groups in a call of a `_batch` function, each with its own sizes; otherwise 1
    std::int64_t stride_a = 0;     ///< in elements, for strided batches
    std::int64_t stride_b = 0;
    std::int64_t stride_c = 0;

    /// Memory for a number that the function returns in registers; level3.c points to it.
    std::array<std::uint64_t, 2> number{};
    /// Copies a returned number from the registers of the frame.
    void read_returned_number(const Frame& frame);
    /// Copies the number to the registers of the frame, in the form in which the provider returns it.
    void write_returned_number(const Site& site, Frame& frame) const;
};

/// Returns true for functions of Fortran that return a float32, such as sdot and snrm2. Returns false for sdsdot,
/// which takes other arguments.
inline bool returns_fortran_float32(const Function& function) {
    using policy::Dtype;
    const ProductFamily& family = function.product();
    const bool is_real = family.dtype == Dtype::float32 || is_norm(family.operation);
    return function.returns_number() && function.convention != CallingConvention::cblas && is_single(family.dtype) &&
           is_real && family.operation != Operation::dsdot && family.operation != Operation::sdsdot;
}

/// Returns true if a call of the site returns a number in vector registers.
inline bool returns_in_registers(const Site& site) {
    return site.function->returns_number() && !returns_complex_by_pointer(site);
}

/// Reads the arguments of a call into `product`. If a pointer is null, product.readable stays false, so that nothing
/// crashes here that would not crash in the library.
void describe_call(const Site& site, const Frame& frame, Product& product);

/// Returns true if every argument could be a pointer. If not, a function whose name any library may use (`sgemm`) is
/// not treated as BLAS.
bool arguments_look_like_pointers(const Function& function, const Frame& frame);

/// Does the work of for_each_product(), with the visitor as a pointer instead of a template parameter.
bool for_each_product_by(const Site& site, const Frame& frame, const Product& product,
                         bool (*visit)(const void* visitor, const Level3& single), const void* visitor);

/// Calls `visit(single)` with each single product of a call. If `visit` returns a boolean, stops and returns false as
/// soon as that is false. Precondition: product.readable.
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
