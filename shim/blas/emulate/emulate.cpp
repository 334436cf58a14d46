#include "shim/blas/emulate/emulate.hpp"

#include "shim/blas/emulate/blocks.hpp"
#include "shim/blas/emulate/operand.hpp"
#include "shim/blas/emulate/scratch.hpp"

namespace fp32shim::blas {
namespace {

/// Runs a trmm in place. B is input and output, so it is rounded in its own memory, last of all, when nothing can
/// fail any more.
EmulationResult emulate_trmm_in_place(const Level3& product, RoundingKernel kernel, Routine same,
                                      std::size_t scratch_limit) {
    const Matrix a = operand_a(product);
    const std::size_t bytes = copy_bytes(a);
    if (bytes > scratch_limit) return EmulationResult::scratch_limit;
    const Scratch scratch = take_scratch(bytes, scratch_limit);
    if (scratch.data == nullptr) return EmulationResult::scratch_limit;
    const Matrix copy = rounded_copy(a, part_of_a(product), scratch.data, kernel);
    round_in_place(operand_b(product), kernel);
    Level3 call = product;
    call.a = copy.data;
    call.lda = copy.ld;
    same.call(same.context, call);
    give_back(scratch);
    return EmulationResult::done;
}

}  // namespace

EmulationResult emulate(const Level3& product, OperandRounding rounding, Routine same, Routine gemm,
                        std::size_t scratch_limit) {
    const RoundingKernel kernel = best_rounding_kernel(rounding);
    if (product.operation == Operation::trmm && product.c == nullptr)
        return emulate_trmm_in_place(product, kernel, same, scratch_limit);

    const Matrix a = operand_a(product);
    const Matrix b = operand_b(product);
    const Part part = part_of_a(product);
    const bool b_is_separate = b.data != nullptr && (b != a || part != Part::whole);
    const std::size_t a_bytes = copy_bytes(a);
    const std::size_t b_bytes = b_is_separate ? copy_bytes(b) : 0;
    if (a_bytes > scratch_limit || b_bytes > scratch_limit - a_bytes)
        return emulate_in_blocks(product, {kernel, same, gemm, scratch_limit});

    const Scratch scratch = take_scratch(a_bytes + b_bytes, scratch_limit);
    if (scratch.data == nullptr) return EmulationResult::scratch_limit;
    const Matrix a_copy = rounded_copy(a, part, scratch.data, kernel);
    Level3 call = product;
    call.a = a_copy.data;
    call.lda = a_copy.ld;
    if (b.data != nullptr) {
        const Matrix b_copy =
            b_is_separate ? rounded_copy(b, Part::whole, scratch.data + a_bytes / sizeof(float), kernel) : a_copy;
        call.b = b_copy.data;
        call.ldb = b_copy.ld;
    }
    same.call(same.context, call);
    give_back(scratch);
    return EmulationResult::done;
}

}  // namespace fp32shim::blas
