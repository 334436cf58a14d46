#include "shim/blas/multiply/multiply.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/multiply/job.hpp"
#include "shim/blas/multiply/loops.hpp"
#include "shim/blas/multiply/pack.hpp"
#include "shim/blas/multiply/solve.hpp"
#include "shim/blas/multiply/vectors.hpp"
#include "system/kept_state.hpp"

namespace fp32shim::blas {

const LoopsOfInstructionSet& loops_of([[maybe_unused]] InstructionSet instruction_set) {
#if defined(__x86_64__)
    if (instruction_set == InstructionSet::avx512) return avx512_loops;
    if (instruction_set == InstructionSet::avx2) return avx2_loops;
#endif
    return baseline_loops;
}

namespace {

/// Computes a small product of real matrices without packing them. Returns false, and computes nothing, if the
/// product is large, complex, or not a gemm, if alpha is 0, or if the rows of the left factor are not adjacent.
template <class Real>
bool multiply_small(const Level3& product, const UnpackedLoop<Real>& loops) {
    constexpr std::int64_t largest = 32 * 32 * 32;
    if (product.operation != Operation::gemm || product.is_complex || product.m <= 0 || product.n <= 0 ||
        product.k <= 0 || product.k > summed_at_once || product.m > largest || product.n > largest ||
        product.m * product.n > largest / product.k)
        return false;
    const auto factor = [](const void* data, std::int64_t ld, bool index_is_adjacent) {
        return StridedFactor<Real>{static_cast<const Real*>(data), index_is_adjacent ? 1 : ld,
                                   index_is_adjacent ? ld : 1};
    };
    const bool a_is_left = !product.row_major;
    StridedFactor<Real> left = factor(product.a, product.lda, transposes(product.trans_a) != a_is_left);
    StridedFactor<Real> right = factor(product.b, product.ldb, transposes(product.trans_b) == a_is_left);
    std::int64_t rows = product.m;
    std::int64_t columns = product.n;
    if (product.row_major) {
        std::swap(left, right);
        std::swap(rows, columns);
    }
    const Real alpha = *static_cast<const Real*>(product.alpha);
    if (left.index_stride != 1 || alpha == 0) return false;
    const Real beta = *static_cast<const Real*>(product.beta);
    auto* const result = static_cast<Real*>(product.c);
    for (std::int64_t j = 0; j < columns; j += loops.columns)
        for (std::int64_t i = 0; i < rows; i += loops.rows)
            loops.add_to_result({left.data + i, left.summed_stride, right.data + j * right.index_stride,
                                 right.index_stride, right.summed_stride},
                                product.k,
                                {result + i + j * product.ldc, product.ldc,
                                 static_cast<int>(std::min<std::int64_t>(loops.rows, rows - i)),
                                 static_cast<int>(std::min<std::int64_t>(loops.columns, columns - j)), alpha, beta});
    return true;
}

/// Computes the jobs of a product one after the other, each by the loops that `loops_for(job)` returns.
template <class Real, class LoopsFor>
bool multiply_in_blocks(const Level3& product, ThreadLimit threads, const LoopsFor& loops_for) {
    ProductScratch scratch{scratch_limit_of_a_product};
    bool done = true;
    for_each_job<Real>(product, [&](const MultiplyJob<Real>& job) {
        done = done && run_job(job, loops_for(job), threads, scratch);
    });
    scratch.release();
    return done;
}

/// Returns the number of float32 operations that take as long as the product.
double operations_of(const Level3& product) {
    const Matrix result = result_of(product);
    const double depth = static_cast<double>(product.k != 0 ? product.k : operand_a(product).rows);
    return (product.is_complex ? 8.0 : 2.0) * (product.is_double ? 2.0 : 1.0) * static_cast<double>(result.rows) *
           static_cast<double>(result.columns) * depth;
}

/// Returns the size in bytes of the largest operand of a product with a vector.
double bytes_of(const Level3& product) {
    if (!has_matrix(product.operation)) return static_cast<double>(product.k) * product.width() * sizeof(float);
    const std::int64_t rows = product.m != 0 ? product.m : product.n;
    return static_cast<double>(rows) * static_cast<double>(product.n) * product.width() * sizeof(float);
}

/// Returns the threads for a product of the size `work`. `work_of_a_start` is the work that one thread does in the
/// time that it takes to start another one. Threads are started one after the other, so n threads take the time of
/// work / n + n * work_of_a_start, which is least for n = sqrt(work / work_of_a_start).
ThreadLimit threads_for(double work, double work_of_a_start, ThreadLimitQuery allowed) {
    if (work < 4 * work_of_a_start || !may_start_threads()) return {};
    const system::ErrnoAndFloatGuard kept;  // the division raises floating-point flags, and the library may change
                                            // errno
    constexpr double most = 256;
    ThreadLimit threads = allowed.ask(allowed.context);
    threads.count = std::clamp(threads.count, 1, static_cast<int>(std::min(std::sqrt(work / work_of_a_start), most)));
    return threads;
}

template <class Real>
bool multiply_by(const LoopsOfType<Real>& loops, const Level3& product, ThreadLimitQuery allowed) {
    if (product.operation == Operation::trsv) return solve_vector(product, loops.large);
    if (multiply_small(product, loops.large.unpacked)) return true;
    constexpr double operations_of_a_start = 2e6;
    return multiply_in_blocks<Real>(product, threads_for(operations_of(product), operations_of_a_start, allowed),
                                    [&](const MultiplyJob<Real>& job) -> const TileLoops<Real>& {
                                        return job.rows <= loops.small.rows ? loops.small : loops.large;
                                    });
}

bool multiply(const Level3& product, const LoopsOfInstructionSet& loops, ThreadLimitQuery allowed) {
    return product.is_double ? multiply_by(loops.float64, product, allowed)
                             : multiply_by(loops.float32, product, allowed);
}

bool is_product_with_vector(const Level3& product) {
    return has_vector(product.operation) && product.operation != Operation::trsv;
}

}  // namespace

bool multiply_in_fixed_order(const Level3& product, ThreadLimitQuery threads) {
    constexpr double bytes_of_a_start = 1e6;
    if (is_product_with_vector(product))
        return multiply_vector_in_fixed_order(product, best_instruction_set(),
                                              threads_for(bytes_of(product), bytes_of_a_start, threads));
    return multiply(product, loops_of(best_instruction_set()), threads);
}

bool multiply_in_fixed_order(const Level3& product, InstructionSet instruction_set) {
    if (is_product_with_vector(product)) return multiply_vector_in_fixed_order(product, instruction_set);
    return multiply(product, loops_of(instruction_set), one_thread);
}

bool multiply_in_bf16([[maybe_unused]] const Level3& product, [[maybe_unused]] Bf16Units units,
                      [[maybe_unused]] ThreadLimitQuery threads) {
#if defined(__x86_64__)
    constexpr double operations_of_a_start = 4e7;
    const TileLoops<float>& loops = units == Bf16Units::amx ? amx_bf16_loops : avx512_bf16_loops;
    return multiply_in_blocks<float>(product, threads_for(operations_of(product), operations_of_a_start, threads),
                                     [&](const MultiplyJob<float>&) -> const TileLoops<float>& { return loops; });
#else
    return false;
#endif
}

}  // namespace fp32shim::blas
