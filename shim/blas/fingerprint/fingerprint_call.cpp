#include "shim/blas/fingerprint/fingerprint_call.hpp"

#include "shim/audit/float_environment.hpp"
#include "shim/blas/emulate/arguments.hpp"
#include "shim/blas/fingerprint/fingerprint_builder.hpp"
#include "shim/blas/fingerprint/operand_hash.hpp"
#include "shim/blas/fingerprint/row_hash.hpp"
#include "shim/level3/roles.hpp"

namespace fp32shim::blas {
namespace {

/// Adds `count` elements of `result` to `builder`, beginning with the element at `offset`.
void add_floats(FingerprintBuilder& builder, const Matrix& result, std::int64_t offset, std::int64_t count) {
    builder.add(result.data + offset * result.width, static_cast<std::size_t>(count * result.width));
}

void add_part(FingerprintBuilder& builder, const Matrix& result, Part part) {
    if (result.data == nullptr || result.inner() == 0) return;
    const bool is_contiguous = part == Part::whole && result.ld == result.inner();
    const std::int64_t group = FingerprintBuilder::columns_per_group(result.outer(), result.inner() * result.width);
    for (std::int64_t outer = 0; outer < result.outer();) {
        const std::int64_t end = result.outer() - outer < 2 * group ? result.outer() : outer + group;
        if (is_contiguous) {
            add_floats(builder, result, outer * result.ld, (end - outer) * result.ld);
            outer = end;
        }
        for (; outer < end; ++outer) {
            const IndexRange range = stored_range(result, part, outer);
            add_floats(builder, result, range.begin + outer * result.ld, range.end - range.begin);
        }
        builder.end_group();
    }
}

void add_result(FingerprintBuilder& builder, const Level3& single) {
    if (!multiplies(single)) return;
    add_part(builder, result_of(single), written_part(single));
    if (single.operation == Operation::rot) add_part(builder, operand_a(single), Part::whole);
}

/// Returns the value of Fingerprint::rows for a call. The result of `gemv` or `dot` counts as one row of a product of
/// matrices, since a library computes `x @ weights` by these routines if the matrix x has only one row.
std::uint32_t rows_of(const Site& site, const Frame& frame, const Product& product) {
    const Operation operation = product.level3.operation;
    const bool is_matrix = operation == Operation::gemm;
    const bool has_row = operation == Operation::gemv || operation == Operation::dot || operation == Operation::dotc;
    if ((!is_matrix && !has_row) || product.group_count != 1) return record::rows_none;
    std::uint32_t sum = 0;
    for_each_product(site, frame, product, [&, hash_rows = row_hash_kernel()](const Level3& single) {
        if (!multiplies(single)) return;
        const Matrix c = result_of(single);
        const auto inner = static_cast<std::size_t>(c.inner()), outer = static_cast<std::size_t>(c.outer());
        const auto width = static_cast<std::size_t>(c.width);
        if (is_matrix)
            sum += hash_rows(c.data, inner * width, outer, c.ld * c.width);
        else if (c.ld == 1)
            sum += hash_rows(c.data, outer * width, 1, 0);
        else
            sum += strided_row_hash(c.data, outer, width, c.ld * c.width);
    });
    const bool are_rows_of_c = is_matrix && product.level3.row_major;
    return (are_rows_of_c ? record::rows_are_rows : record::rows_are_columns) | (sum & record::rows_sum);
}

/// Adds to `hash` the elements of `matrix` that a routine reads, except for the diagonal if `skips_diagonal` is true.
void add_read(OperandHash& hash, const Matrix& matrix, Part part, bool skips_diagonal) {
    if (matrix.data == nullptr || matrix.inner() == 0) return;
    const auto add = [&](std::int64_t offset, std::int64_t count) {
        hash.add(matrix.data + offset * matrix.width, static_cast<std::size_t>(count * matrix.width));
    };
    if (part == Part::whole && matrix.ld == matrix.inner()) return add(0, matrix.outer() * matrix.ld);
    for (std::int64_t outer = 0; outer < matrix.outer(); ++outer) {
        IndexRange range = stored_range(matrix, part, outer);
        if (skips_diagonal && range.begin == outer)
            ++range.begin;
        else if (skips_diagonal)
            --range.end;
        if (range.end > range.begin) add(range.begin + outer * matrix.ld, range.end - range.begin);
    }
}

void add_scalar(OperandHash& hash, const Level3& single, bool is_beta) {
    const void* const scalar = is_beta ? single.beta : single.alpha;
    const std::size_t floats = single.is_double ? 2 : 1;
    if (scalar != nullptr)
        hash.add(static_cast<const float*>(scalar), has_complex_scalar(single, is_beta) ? 2 * floats : floats);
}

}  // namespace

record::OperandHashes hash_operands(const Site& site, const Frame& frame, const Product& product) {
    OperandHash a, b, c, scalars;
    for_each_product(site, frame, product, [&](const Level3& single) {
        if (!multiplies(single)) return;
        add_read(a, operand_a(single), part_of_a(single), has_unit_diagonal(single));
        add_read(b, operand_b(single), Part::whole, false);
        if (reads_old_result(single) && !is_in_place(single))
            add_read(c, operand_c(single), written_part(single), false);
        add_scalar(scalars, single, false);
        add_scalar(scalars, single, true);
    });
    return {.a = a.finish(), .b = b.finish(), .c = c.finish(), .scalars = scalars.finish()};
}

std::optional<record::Fingerprint> fingerprint_call(const Site& site, const Frame& frame, const Product& product) {
    const audit::QuietFloatEnvironment environment(audit::QuietFloatEnvironment::Settings::defaults);
    std::uint64_t count = 0;
    const auto add = [&](FingerprintBuilder& builder) {
        for_each_product(site, frame, product, [&](const Level3& single) { add_result(builder, single); });
        count = builder.float_count();
    };
    const bool is_double = result_of(product.level3).is_double;
    record::Fingerprint fingerprint =
        fingerprint_of(add, is_double ? float64_fingerprint_kernels() : fingerprint_kernels());
    if (count == 0) return std::nullopt;
    fingerprint.rows = rows_of(site, frame, product);
    return fingerprint;
}

}  // namespace fp32shim::blas
