#include "shim/blas/emulate/in_float32.hpp"

#include <algorithm>

#include "shim/blas/emulate/arguments.hpp"
#include "shim/blas/emulate/operand.hpp"
#include "shim/level3/numbers.hpp"

namespace fp32shim::blas {
namespace {

/// Returns an empty matrix of the same size in float32, without gaps.
Matrix in_float32(const Matrix& matrix, float* memory) {
    Matrix single = matrix;
    single.data = memory;
    single.ld = std::max<std::int64_t>(matrix.inner(), 1);
    single.width = matrix.is_complex ? 2 : 1;
    single.is_double = false;
    return single;
}

std::size_t bytes_of_copy(const Matrix& matrix) {
    return matrix.data == nullptr ? 0 : copy_bytes(in_float32(matrix, nullptr));
}

/// Calls `visit(of_double, of_single, numbers)` for each run of adjacent numbers in `part` of two matrices.
template <class Visit>
void for_each_run(const Matrix& of_double, const Matrix& of_single, Part part, const Visit& visit) {
    for (std::int64_t outer = 0; outer < of_double.outer(); ++outer) {
        const auto [begin, end] = stored_range(of_double, part, outer);
        visit(const_cast<float*>(of_double.data) + (begin + outer * of_double.ld) * of_double.width,
              const_cast<float*>(of_single.data) + (begin + outer * of_single.ld) * of_single.width,
              (end - begin) * of_single.width);
    }
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

/// The part of the result that the routine writes.
Part written_part_of(const Level3& product) {
    const bool writes_triangle = product.operation == Operation::gemmt || product.operation == Operation::syrk ||
                                 product.operation == Operation::herk || product.operation == Operation::syr2k ||
                                 product.operation == Operation::her2k;
    return !writes_triangle ? Part::whole : product.uplo == 'U' ? Part::upper : Part::lower;
}

}  // namespace

std::size_t bytes_in_float32(const Level3& product) {
    std::size_t sum = 0;
    for (const Matrix& matrix : {operand_a(product), operand_b(product), operand_c(product)}) {
        const std::size_t bytes = bytes_of_copy(matrix);
        if (bytes > SIZE_MAX - sum) return SIZE_MAX;
        sum += bytes;
    }
    return sum;
}

void call_in_float32(void* context, const Level3& product) {
    const auto& self = *static_cast<const InFloat32*>(context);
    char* next = self.memory;
    const auto copy_of = [&next](const Matrix& matrix, Part part, bool is_read) {
        const Matrix copy = in_float32(matrix, reinterpret_cast<float*>(next));
        next += bytes_of_copy(matrix);
        if (is_read && matrix.data != nullptr) for_each_run(matrix, copy, part, round_numbers);
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
    const bool is_of_herk = product.operation == Operation::herk;
    single.alpha = set_scalar(product.alpha, product.is_complex && !is_of_herk, alpha);
    single.beta =
        set_scalar(product.beta, product.is_complex && !is_of_herk && product.operation != Operation::her2k, beta);
    const bool reads_c = single.beta != nullptr && (beta[0] != 0 || beta[1] != 0);
    const Matrix wide_b = operand_b(product);
    const Matrix wide_c = operand_c(product);
    const Part written = written_part_of(product);
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
    const bool is_in_place = wide_c.data == nullptr;
    for_each_run(
        is_in_place ? wide_b : wide_c, is_in_place ? b : c, written,
        [](float* doubles, const float* floats, std::int64_t count) { widen_numbers(floats, doubles, count); });
}

}  // namespace fp32shim::blas
