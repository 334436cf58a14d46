#include "shim/entry/argument_key.hpp"

namespace fp32shim {

ArgumentKeyLayout argument_key_layout(const Function& function) {
    ArgumentKeyLayout result;
    if (!function.multiplies() || function.returns_complex()) return result;
    const CallingConvention convention = function.convention;
    const Batching batching = function.product().batching;
    if (convention == CallingConvention::bare || convention == CallingConvention::legacy) return result;
    if (batching == Batching::groups || (batching == Batching::pointers && convention != CallingConvention::cublas))
        return result;

    result.by_reference = convention == CallingConvention::fortran;
    const ArgumentPositions& positions = function.positions();
    const auto add = [&](std::initializer_list<Role> roles) {
        for (const Role role : roles)
            if (positions.of(role) >= 0) result.offsets[result.count++] = Frame::offset_of(positions.of(role));
    };
    add({Role::layout, Role::side, Role::uplo, Role::trans_a, Role::trans_b, Role::diag});
    result.option_count = result.count;
    add({Role::m, Role::n, Role::k, Role::lda, Role::ldb, Role::ldc, Role::stride_a, Role::stride_b, Role::stride_c,
         Role::batch_count});
    const ArgumentPositions& gemm = result.by_reference ? key::gemm_positions<true> : key::gemm_positions<false>;
    result.is_plain_gemm = batching == Batching::single && positions.word == gemm.word;
    return result;
}

}  // namespace fp32shim
