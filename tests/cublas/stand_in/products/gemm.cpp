#include "products/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>

#include "products/kernel.hpp"

namespace stand_in {
namespace {

Matrix at(const View& view, const BatchedMatrix& batched, std::int64_t index, std::size_t alignment) {
    Matrix matrix = batched.matrix;
    const auto offset = static_cast<std::size_t>(index);
    if (batched.pointer_array) {
        const void* const slot = static_cast<const std::byte*>(batched.matrix.data) + offset * sizeof(void*);
        std::memcpy(&matrix.data, view(slot, sizeof(void*)), sizeof(void*));
        if (reinterpret_cast<std::uintptr_t>(matrix.data) % alignment != 0)
            throw DeviceFault{CUDA_ERROR_MISALIGNED_ADDRESS};
    } else {
        const std::int64_t bytes = index * batched.stride * static_cast<std::int64_t>(size_of(matrix.type));
        matrix.data = static_cast<const std::byte*>(batched.matrix.data) + bytes;
    }
    return matrix;
}

double activate(double value, Activation activation) {
    switch (activation) {
        case Activation::none:
            return value;
        case Activation::relu:
            return value > 0 ? value : 0;
        case Activation::gelu:  // GELU in its tanh form, as in the manual
            return 0.5 * value * (1 + std::tanh(std::sqrt(2 / M_PI) * (value + 0.044715 * value * value * value)));
    }
    return value;
}

template <class T>
void run_one(const View& view, const Gemm& gemm, std::int64_t index) {
    const T alpha = gemm.alpha.value<T>(view);
    const T beta = gemm.beta.value<T>(view);
    Dense<T> result(gemm.m, gemm.n);
    // Reads the pointers of a batch in any case, since a misaligned pointer must fault here.
    const Matrix a_matrix = at(view, gemm.a, index, gemm.alignment);
    const Matrix b_matrix = at(view, gemm.b, index, gemm.alignment);
    const Matrix c_matrix = at(view, gemm.c, index, gemm.alignment);
    const Matrix d_matrix = at(view, gemm.d, index, gemm.alignment);
    if (alpha != T{0} && gemm.k > 0) {
        Dense<T> a = read<T>(view, a_matrix, gemm.m, gemm.k, gemm.trans_a, gemm.rounding);
        Dense<T> b = read<T>(view, b_matrix, gemm.k, gemm.n, gemm.trans_b, gemm.rounding);
        if (gemm.fixed_point_bits > 0) {
            round_lines(a, true, gemm.fixed_point_bits);
            round_lines(b, false, gemm.fixed_point_bits);
        }
        T factor = alpha;
        if (gemm.scale_a != nullptr) factor *= load<double>(view(gemm.scale_a, sizeof(float)), CUDA_R_32F);
        if (gemm.scale_b != nullptr) factor *= load<double>(view(gemm.scale_b, sizeof(float)), CUDA_R_32F);
        result = scaled(multiply(a, b), factor);
    }
    if (beta != T{0}) result = sum(scaled(read<T>(view, c_matrix, gemm.m, gemm.n, CUBLAS_OP_N, {}), beta), result);
    if (gemm.bias != nullptr) {
        const std::size_t size = size_of(gemm.bias_type);
        const auto* bias =
            static_cast<const std::byte*>(gemm.bias) + index * gemm.bias_stride * static_cast<std::int64_t>(size);
        const std::byte* const values = view(bias, static_cast<std::size_t>(gemm.m) * size);
        for (std::int64_t j = 0; j < gemm.n; ++j)
            for (std::int64_t i = 0; i < gemm.m; ++i)
                result(i, j) += load<T>(values + static_cast<std::size_t>(i) * size, gemm.bias_type);
    }
    if constexpr (std::is_same_v<T, double>)
        for (double& value : result.values) value = activate(value, gemm.activation);
    update<T>(view, d_matrix, result, T{0}, Part::full, false);
}

}  // namespace

void run(const View& view, const Gemm& gemm) {
    constexpr std::int64_t launch_ns = 1000, products_per_ns = 64;
    stand_in_take_time(
        static_cast<std::uint64_t>(launch_ns + gemm.m * gemm.n * gemm.k * gemm.batch_count / products_per_ns));
    const bool complex = is_complex(gemm.d.matrix.type);
    for (std::int64_t index = 0; index < gemm.batch_count; ++index)
        complex ? run_one<Complex>(view, gemm, index) : run_one<double>(view, gemm, index);
}

}  // namespace stand_in
