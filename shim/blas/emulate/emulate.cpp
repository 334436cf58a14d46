#include "shim/blas/emulate/emulate.hpp"

#include <optional>

#include "shim/blas/emulate/blocks.hpp"
#include "shim/blas/emulate/operand.hpp"
#include "shim/blas/emulate/tensor_core.hpp"
#include "shim/level3/roles.hpp"

namespace fp32shim::blas {
namespace {

/// Runs an in-place trmm. B is both input and output, so it is rounded in its own memory. B is rounded last, when
/// nothing can fail any more.
EmulationResult emulate_trmm_in_place(const Level3& product, RoundingKernel kernel, Routine same,
                                      ProductScratch& scratch) {
    const std::size_t bytes = rounded_copy_bytes(operand_a(product));
    if (bytes > scratch.limit) return EmulationResult::scratch_limit;
    float* const memory = scratch.acquire(bytes);
    if (memory == nullptr) return EmulationResult::scratch_limit;
    Level3 call = product;
    set_rounded_a(call, kernel, true, memory);
    const Matrix b = operand_b(product);
    round_in_place(b, kernel);
    if (kernel.fixed_point_bits() > 0)
        round_to_fixed_point(b, Part::whole, product.side == 'R', false, kernel.fixed_point_bits());
    same.call(same.context, call);
    return EmulationResult::done;
}

EmulationResult emulate_rounded(const Level3& product, const EmulationStep& step) {
    const bool is_rank_k = !has_b(product.operation);
    const bool rounds_lines = step.rounded.round_a.fixed_point_bits() > 0;  // whole rows or columns are rounded
                                                                            // together, and panels have them
    if (rounds_lines || (is_rank_k && step.is_of_parts)) return emulate_in_blocks(product, step);
    const Matrix a = operand_a(product);
    const Matrix b = operand_b(product);
    const bool is_one_matrix = b == a && part_of_a(product) == Part::whole && !step.is_of_parts;
    const bool b_is_separate = b.data != nullptr && !is_one_matrix;
    const std::size_t limit = step.scratch->limit;
    const std::size_t a_bytes = rounded_copy_bytes(a);
    const std::size_t b_bytes = b_is_separate ? rounded_copy_bytes(b) : 0;
    if (a_bytes > limit || b_bytes > limit - a_bytes) return emulate_in_blocks(product, step);

    float* const memory = step.scratch->acquire(a_bytes + b_bytes);
    if (memory == nullptr) return EmulationResult::scratch_limit;
    Level3 call = product;
    set_rounded_a(call, step.rounded.round_a, step.rounded.has_first_of_a, memory);
    if (b.data != nullptr) {
        call.b = call.a;
        call.ldb = call.lda;
    }
    if (b_is_separate) {
        const Matrix copy = rounded_copy(b, Part::whole, memory + a_bytes / sizeof(float), step.rounded.round_b);
        call.b = copy.data;
        call.ldb = copy.ld;
    }
    step.same.call(step.same.context, call);
    return EmulationResult::done;
}

/// Runs the products of parts one after the other. The first product also multiplies C by beta; the other products
/// add to C.
EmulationResult emulate_parts(const Level3& product, std::span<const RoundedProduct> products, Routine same,
                              Routine gemm, ProductScratch& scratch) {
    if (is_in_place(product)) return sum_trmm_in_place(product, products, same, scratch);
    constexpr float one[2] = {1.0F, 0.0F};
    Level3 addend = product;
    for (const RoundedProduct& rounded : products) {
        const EmulationResult result = emulate_rounded(addend, {rounded, true, same, gemm, &scratch});
        if (result != EmulationResult::done)
            return result;  // only the first product can fail, since the others need no more memory
        addend.beta = one;
    }
    return EmulationResult::done;
}

EmulationResult emulate_with_kernel(ProductScratch& scratch, const Level3& product, RoundingKernel kernel,
                                    Routine same, Routine gemm) {
    if (is_in_place(product)) return emulate_trmm_in_place(product, kernel, same, scratch);
    return emulate_rounded(product, {{kernel, kernel}, false, same, gemm, &scratch});
}

EmulationResult emulate_in(ProductScratch& scratch, const Level3& product, Preview preview, Routine same,
                           Routine gemm) {
    const std::span<const RoundedProduct> products = products_of_parts(preview);
    if (!products.empty()) return emulate_parts(product, products, same, gemm, scratch);
    if (preview.fixed_point_bits > 0)
        return emulate_with_kernel(scratch, product, RoundingKernel::fixed_point(preview.fixed_point_bits), same,
                                   gemm);
    RandomStream random;
    if (preview.is_stochastic) random = random_stream(preview.seed, product);
    const RoundingKernel kernel = preview.is_stochastic ? stochastic_kernel(preview.rounding, random)
                                                        : RoundingKernel(rounding_kernel(preview.rounding));
    return emulate_with_kernel(scratch, product, product.is_double ? kernel.for_float64() : kernel, same, gemm);
}

}  // namespace

EmulationResult emulate(const Level3& product, Preview preview, Routine same, Routine gemm,
                        std::size_t scratch_limit) {
    ProductScratch held{scratch_limit};
    std::optional<TensorCoreModel> core;
    if (!product.is_double) core = tensor_core_model(preview.accumulation, preview.rounding);
    TensorCoreRoutine routine;
    if (core) {
        held.leading_bytes = memory_for_tensor_core;
        routine = {*core, &held};
        same = gemm = {multiply_on_tensor_core, &routine};
    }
    const EmulationResult result = emulate_in(held, product, preview, same, gemm);
    held.release();
    return result;
}

EmulationResult emulate(const Level3& product, RoundingKernel kernel, Routine same, Routine gemm,
                        std::size_t scratch_limit) {
    ProductScratch held{scratch_limit};
    const EmulationResult result = emulate_with_kernel(held, product, kernel, same, gemm);
    held.release();
    return result;
}

}  // namespace fp32shim::blas
