#include "reference.hpp"

#include <algorithm>
#include <cmath>

namespace clients {
namespace {

/// Returns a symmetric or Hermitian matrix of which one triangle is stored.
Dense mirrored(const Problem& problem, const Rounding& rounding) {
    Dense result = dense(problem.a, rounding);
    for (std::int64_t j = 0; j < result.columns; ++j) {
        for (std::int64_t i = 0; i < result.rows; ++i) {
            const bool is_stored = (i < j) == (problem.uplo == 'U');
            if (i == j) {
                if (problem.operation == Operation::hemm) result.at(i, i) = result.at(i, i).real();
            } else if (is_stored) {
                result.at(j, i) = problem.operation == Operation::hemm ? std::conj(result.at(i, j)) : result.at(i, j);
            }
        }
    }
    return result;
}

Dense triangular(const Problem& problem, const Rounding& rounding) {
    Dense result = dense(problem.a, rounding);
    for (std::int64_t j = 0; j < result.columns; ++j) {
        for (std::int64_t i = 0; i < result.rows; ++i) {
            if (i == j) {
                if (problem.diag == 'U') result.at(i, i) = 1;
            } else if ((i < j) != (problem.uplo == 'U')) {
                result.at(i, j) = 0;
            }
        }
    }
    return transposed(result, problem.trans_a);
}

/// Returns X with T·X = B, where T is lower or upper triangular after its transposition.
Dense solved(const Dense& t, Dense b, bool is_upper) {
    const std::int64_t order = t.rows;
    for (std::int64_t j = 0; j < b.columns; ++j) {
        for (std::int64_t step = 0; step < order; ++step) {
            const std::int64_t i = is_upper ? order - 1 - step : step;
            b.at(i, j) /= t.at(i, i);
            for (std::int64_t row = is_upper ? 0 : i + 1; row < (is_upper ? i : order); ++row)
                b.at(row, j) -= t.at(row, i) * b.at(i, j);
        }
    }
    return b;
}

void add(Dense& sum, Number factor, const Dense& term) {
    for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += factor * term.values[i];
}

Dense reference(const Problem& problem, const Rounding& rounding) {
    const bool is_hermitian = problem.operation == Operation::herk || problem.operation == Operation::her2k ||
                              problem.operation == Operation::herkx;
    const char other = is_hermitian ? 'C' : 'T';
    const auto rank_k_operand = [&](const Matrix& matrix) {
        return transposed(dense(matrix, rounding), problem.trans_a == 'N' ? 'N' : other);
    };
    Dense result(problem.m, problem.n);
    switch (problem.operation) {
        case Operation::gemm:
            add(result, problem.alpha,
                multiplied(transposed(dense(problem.a, rounding), problem.trans_a),
                           transposed(dense(problem.b, rounding), problem.trans_b)));
            break;
        case Operation::symm:
        case Operation::hemm: {
            const Dense a = mirrored(problem, rounding);
            const Dense b = dense(problem.b, rounding);
            add(result, problem.alpha, problem.side == 'L' ? multiplied(a, b) : multiplied(b, a));
            break;
        }
        case Operation::syrk:
        case Operation::herk: {
            const Dense a = rank_k_operand(problem.a);
            add(result, problem.alpha, multiplied(a, transposed(a, other)));
            break;
        }
        case Operation::syrkx:
        case Operation::herkx:
            add(result, problem.alpha,
                multiplied(rank_k_operand(problem.a), transposed(rank_k_operand(problem.b), other)));
            break;
        case Operation::syr2k:
        case Operation::her2k: {
            const Dense half = multiplied(rank_k_operand(problem.a), transposed(rank_k_operand(problem.b), other));
            add(result, problem.alpha, half);
            add(result, is_hermitian ? std::conj(problem.alpha) : problem.alpha, transposed(half, other));
            break;
        }
        case Operation::trmm:
        case Operation::trsm: {
            const Dense t = triangular(problem, rounding);
            const Dense b = dense(problem.b, rounding);
            if (problem.operation == Operation::trmm) {
                add(result, problem.alpha, problem.side == 'L' ? multiplied(t, b) : multiplied(b, t));
            } else {
                const bool is_upper = (problem.uplo == 'U') == (problem.trans_a == 'N');
                // X·T = B is equivalent to Tᵀ·Xᵀ = Bᵀ.
                add(result, problem.alpha,
                    problem.side == 'L' ? solved(t, b, is_upper)
                                        : transposed(solved(transposed(t, 'T'), transposed(b, 'T'), !is_upper), 'T'));
            }
            return result;
        }
    }
    if (problem.beta != 0.0) add(result, problem.beta, dense(problem.c, [](double x) { return x; }));
    if (is_hermitian)
        for (std::int64_t i = 0; i < problem.n; ++i) result.at(i, i) = result.at(i, i).real();
    return result;
}

/// Returns |C - expected| / |expected| in Frobenius norms, over the elements that the product writes. If the operands
/// have random signs, the result does not depend on k.
double distance_between(const Problem& problem, const Dense& result, const Dense& expected) {
    Dense difference = result;
    double size = 0;
    for (std::int64_t j = 0; j < result.columns; ++j) {
        for (std::int64_t i = 0; i < result.rows; ++i) {
            if (!is_written(problem, i, j)) {
                difference.at(i, j) = 0;
                continue;
            }
            difference.at(i, j) -= expected.at(i, j);
            size += std::norm(expected.at(i, j));
        }
    }
    return size == 0 ? norm(difference) : norm(difference) / std::sqrt(size);
}

}  // namespace

bool is_written(const Problem& problem, std::int64_t i, std::int64_t j) {
    switch (problem.operation) {
        case Operation::gemm:
        case Operation::symm:
        case Operation::hemm:
        case Operation::trmm:
        case Operation::trsm:
            return true;
        default:
            return i == j || (i < j) == (problem.uplo == 'U');
    }
}

Measured measure(const Problem& problem, const Dense& result) {
    // A float32 result is about 3e-7 away from its reference, and a TF32 result 2e-4.
    constexpr double single_precision = 1e-5;
    constexpr double between_tf32_and_bf16 = 1e-3;

    const double error = distance_between(problem, result, reference(problem, [](double x) { return x; }));
    if (error < single_precision) return {Format::fp32, error, error};

    struct Candidate {
        Format format;
        Rounding rounding;
    };
    const Candidate candidates[] = {
        {Format::tf32, [](double x) { return round_to(Format::tf32, x); }},
        {Format::tf32, tf32_truncated},
        {Format::bf16, [](double x) { return round_to(Format::bf16, x); }},
        {Format::fp16, [](double x) { return round_to(Format::fp16, x); }},
    };
    Measured nearest{error < between_tf32_and_bf16 ? Format::tf32 : Format::bf16, error, error};
    for (const Candidate& candidate : candidates) {
        const double distance = distance_between(problem, result, reference(problem, candidate.rounding));
        if (distance < single_precision && distance < nearest.distance) nearest = {candidate.format, error, distance};
    }
    return nearest;
}

}  // namespace clients
