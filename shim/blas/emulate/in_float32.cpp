#include "shim/blas/emulate/in_float32.hpp"

#include <algorithm>

#include "shim/blas/emulate/arguments.hpp"
#include "shim/blas/emulate/operand.hpp"
#include "shim/level3/numbers.hpp"
#include "shim/level3/roles.hpp"

namespace fp32shim::blas {
namespace {

/// Returns a float32 matrix of the same size as `matrix`, stored without gaps at `memory`. Does not fill it.
Matrix in_float32(const Matrix& matrix, float* memory) {
    Matrix single = matrix;
    single.data = memory;
    single.ld = std::max<std::int64_t>(matrix.inner(), 1);
    single.width = matrix.is_complex ? 2 : 1;
    single.is_double = false;
    return single;
}

std::size_t bytes_of_copy(const Matrix& matrix) {
    return matrix.data == nullptr ? 0 : rounded_copy_bytes(in_float32(matrix, nullptr));
}

void round_numbers(const float* doubles, float* floats, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        floats[i] = static_cast<float>(StoredNumber(doubles, true, static_cast<int>(i)).value());
}

void widen_numbers(const float* floats, float* doubles, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
        const double value = floats[i];
        std::memcpy(doubles + 2 * i, &value, sizeof value);
    }
}

}  // namespace

std::size_t float32_copy_bytes(const Level3& product) {
    std::size_t sum = 0;
    for (const Matrix& matrix : {operand_a(product), operand_b(product), operand_c(product)})
        sum = saturated_sum(sum, bytes_of_copy(matrix));
    return sum;
}

void call_in_float32(void* context, const Level3& product) {
    const auto& self = *static_cast<const Float32Routine*>(context);
    char* next = self.memory;
    const auto copy_of = [&next](const Matrix& matrix, Part part, bool is_read) {
        const Matrix copy = in_float32(matrix, reinterpret_cast<float*>(next));
        next += bytes_of_copy(matrix);
        if (is_read && matrix.data != nullptr)
            for_each_contiguous_run(matrix, copy, part,
                                    [&](const float* doubles, float* floats, std::int64_t elements) {
                                        round_numbers(doubles, floats, elements * copy.width);
                                    });
        return copy;
    };
    float alpha[2] = {};
    float beta[2] = {};
    Level3 single = product;
    single.is_double = false;
    const auto set_scalar = [&](const void* scalar, bool is_pair, float* copy) -> const void* {
        if (scalar == nullptr) return nullptr;
        round_numbers(static_cast<const float*>(scalar), copy, is_pair ? 2 : 1);
        return copy;
    };
    single.alpha = set_scalar(product.alpha, has_complex_scalar(product, false), alpha);
    single.beta = set_scalar(product.beta, has_complex_scalar(product, true), beta);
    const bool reads_c = single.beta != nullptr && (beta[0] != 0 || beta[1] != 0);
    const Matrix wide_b = operand_b(product);
    const Matrix wide_c = operand_c(product);
    const Part written = written_part(product);
    const Matrix a = copy_of(operand_a(product), part_of_a(product), true);
    const Matrix b = copy_of(wide_b, Part::whole, true);
    const Matrix c = copy_of(wide_c, written, reads_c);
    single.a = a.data;
    single.lda = a.ld;
    single.b = wide_b.data == nullptr ? nullptr : b.data;
    single.ldb = wide_b.data == nullptr ? product.ldb : b.ld;
    single.c = wide_c.data == nullptr ? nullptr : const_cast<float*>(c.data);
    single.ldc = wide_c.data == nullptr ? product.ldc : c.ld;
    self.single.call(self.single.context, single);
    const Matrix& result = wide_c.data == nullptr ? b : c;
    for_each_contiguous_run(result, result_of(product), written,
                            [&](const float* floats, float* doubles, std::int64_t elements) {
                                widen_numbers(floats, doubles, elements * result.width);
                            });
}

}  // namespace fp32shim::blas
