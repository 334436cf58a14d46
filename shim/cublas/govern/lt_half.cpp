#include "shim/cublas/govern/lt_half.hpp"

#include "shim/cublas/api.hpp"
#include "shim/cublas/govern/lt_fitting.hpp"
#include "shim/cublas/lt_algorithms.hpp"

namespace fp32shim::cublas {

bool has_full_reduction(const Library& library, const void* algorithm) {
    return algorithm != nullptr &&
           is_within_limits({.reduces_in_compute_type = true}, library, algorithm_at(algorithm));
}

void describe_half(const Library& library, const MatmulParts& parts, const void* algorithm, const Frame* frame,
                   Product& product) {
    HalfProduct& half = product.asked.half;
    half.is_half = true;
    half.has_full_reduction = has_full_reduction(library, algorithm);
    std::int32_t result = type_r_16f;
    read(library.layout_get, parts.d_layout, layout_type, result);
    half.is_result_float = result == type_r_32f || result == type_c_32f;
    if (accumulator_of(product.asked) != policy::Accumulator::fp16) return;
    std::int32_t pointer_mode = pointers_to_device;
    std::int64_t strides[] = {0, 0};  // newer libraries only
    read(library.desc_get, parts.desc, desc_alpha_batch_stride, strides[0]);
    read(library.desc_get, parts.desc, desc_beta_batch_stride, strides[1]);
    if (!read(library.desc_get, parts.desc, desc_pointer_mode, pointer_mode) || pointer_mode != pointers_to_host)
        half.scalars = ScalarPlace::on_device;
    else if (strides[0] != 0 || strides[1] != 0 ||
             (frame != nullptr && (frame->word(argument_alpha) == 0 || frame->word(argument_beta) == 0)))
        half.scalars = ScalarPlace::unreadable;
}

}  // namespace fp32shim::cublas
