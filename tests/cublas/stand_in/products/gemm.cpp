#include "products/gemm.hpp"

#include <algorithm>
#include <climits>
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

// Multiplies in parts along k. The sum of each part is rounded to a type, and the total after each part, too.
template <class T>
Dense<T> multiply_in_parts(const Dense<T>& a, const Dense<T>& b, std::int64_t parts, cudaDataType type) {
    const auto rounded = [type](T value) {
        std::byte bytes[16];
        store(bytes, type, value);
        return load<T>(bytes, type);
    };
    Dense<T> total(a.rows, b.columns);
    for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t begin = a.columns * part / parts, size = a.columns * (part + 1) / parts - begin;
        Dense<T> left(a.rows, size), right(size, b.columns);
        for (std::int64_t p = 0; p < size; ++p) {
            for (std::int64_t i = 0; i < a.rows; ++i) left(i, p) = a(i, begin + p);
            for (std::int64_t j = 0; j < b.columns; ++j) right(p, j) = b(begin + p, j);
        }
        const Dense<T> sums = multiply(left, right);
        for (std::size_t i = 0; i < sums.values.size(); ++i)
            total.values[i] = rounded(total.values[i] + rounded(sums.values[i]));
    }
    return total;
}

// Multiplies with sums of FP16: each is rounded after each product, and may become infinite.
template <class T>
Dense<T> multiply_in_fp16(const Dense<T>& a, const Dense<T>& b) {
    Dense<T> result(a.rows, b.columns);
    for (std::int64_t j = 0; j < b.columns; ++j)
        for (std::int64_t p = 0; p < a.columns; ++p)
            for (std::int64_t i = 0; i < a.rows; ++i)
                result(i, j) = rounding::fp16(std::real(result(i, j) + a(i, p) * b(p, j)));
    return result;
}

// Returns how many bits the fixed-point numbers of every row, or column, need to lose nothing: those of float64, and
// the range of exponents in the row or column.
template <class T>
int bits_of_lines(const Dense<T>& dense, bool by_rows) {
    int range = 0;
    const std::int64_t lines = by_rows ? dense.rows : dense.columns;
    const std::int64_t length = by_rows ? dense.columns : dense.rows;
    for (std::int64_t line = 0; line < lines; ++line) {
        int lowest = INT_MAX, highest = INT_MIN;
        for (std::int64_t i = 0; i < length; ++i) {
            const T value = by_rows ? dense(line, i) : dense(i, line);
            for (const double part : {std::real(value), std::imag(value)}) {
                if (part == 0 || !std::isfinite(part)) continue;
                lowest = std::min(lowest, std::ilogb(part));
                highest = std::max(highest, std::ilogb(part));
            }
        }
        if (lowest <= highest) range = std::max(range, highest - lowest);
    }
    return 53 + range;
}

// Makes fixed-point numbers of the operands. Returns how many bits they keep; -1: they stay as they are.
template <class T>
int emulate(const Emulation& emulation, Dense<T>& a, Dense<T>& b) {
    if (!emulation.is_on) return -1;
    int bits = emulation.fixed_bits;
    if (bits == 0) bits = whole_bits(std::max(bits_of_lines(a, true), bits_of_lines(b, false)) + emulation.offset);
    if (emulation.fixed_bits == 0 && bits > whole_bits(emulation.most_bits)) return -1;
    round_lines(a, true, bits);
    round_lines(b, false, bits);
    return bits;
}

template <class T>
int run_one(const View& view, const Gemm& gemm, std::int64_t index) {
    const T alpha = gemm.alpha.value<T>(view);
    const T beta = gemm.beta.value<T>(view);
    Dense<T> result(gemm.m, gemm.n);
    int kept = -1;
    // Reads the pointers of a batch in any case, since a misaligned pointer must fault here.
    const Matrix a_matrix = at(view, gemm.a, index, gemm.alignment);
    const Matrix b_matrix = at(view, gemm.b, index, gemm.alignment);
    const Matrix c_matrix = at(view, gemm.c, index, gemm.alignment);
    const Matrix d_matrix = at(view, gemm.d, index, gemm.alignment);
    if (alpha != T{0} && gemm.k > 0) {
        Dense<T> a = read<T>(view, a_matrix, gemm.m, gemm.k, gemm.trans_a, gemm.rounding);
        Dense<T> b = read<T>(view, b_matrix, gemm.k, gemm.n, gemm.trans_b, gemm.rounding);
        kept = emulate(gemm.emulation, a, b);
        T factor = alpha;
        if (gemm.scale_a != nullptr) factor *= load<double>(view(gemm.scale_a, sizeof(float)), CUDA_R_32F);
        if (gemm.scale_b != nullptr) factor *= load<double>(view(gemm.scale_b, sizeof(float)), CUDA_R_32F);
        result = scaled(gemm.adds_in_fp16  ? multiply_in_fp16(a, b)
                        : gemm.split_k > 1 ? multiply_in_parts(a, b, gemm.split_k, gemm.type_of_parts)
                                           : multiply(a, b),
                        factor);
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
    return kept;
}

}  // namespace

int run(const View& view, const Gemm& gemm) {
    constexpr std::int64_t launch_ns = 1000, products_per_ns = 64;
    stand_in_take_time(
        static_cast<std::uint64_t>(launch_ns + gemm.m * gemm.n * gemm.k * gemm.batch_count / products_per_ns));
    const bool complex = is_complex(gemm.d.matrix.type);
    int kept = -1;
    for (std::int64_t index = 0; index < gemm.batch_count; ++index)
        kept = complex ? run_one<Complex>(view, gemm, index) : run_one<double>(view, gemm, index);
    return kept;
}

}  // namespace stand_in
