// Supports the CPU mode `accelerate`: finds the units of this processor that multiply BF16 numbers, and tells for
// which products they are faster than float32. They are never faster for products of fewer than fewest_terms terms.
// For larger products, a model estimates the time with BF16 units and the time in float32.
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <ctime>

#include "shim/blas/multiply/job.hpp"
#include "shim/blas/multiply/loops.hpp"
#include "shim/blas/multiply/multiply.hpp"
#include "shim/blas/multiply/pack.hpp"
#include "system/kept_state.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::blas {
namespace {

#if defined(__x86_64__)

/// Asks the kernel for permission to use the registers of AMX. Returns true if it is granted; signal frames are
/// larger from then on.
bool kernel_grants_amx() {
    constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM of asm/prctl.h, since Linux 5.16
    constexpr long tile_data = 18;               // number of the tile registers in the processor's state
    return system::raw::syscall6(SYS_arch_prctl, request_permission, tile_data) == 0;  // this system call does not
                                                                                       // set errno
}

/// Returns the time of one multiplication of a tile, divided by the number of elements of the tile. The factors are
/// zeros, since the time does not depend on their values. Reads the time by a system call, since a program may have
/// made the processor's counter trap.
double nanoseconds_of_an_element(const TileLoops<float>& loops) {
    constexpr int depth = 64;
    constexpr int rounds = 6;
    constexpr int times = 100;
    alignas(64) static constexpr float zeros[depth * max_tile_rows] = {};
    alignas(64) float tile[max_tile_numbers<float>];
    double best = 1e300;
    if (loops.begin != nullptr) loops.begin();
    for (int round = 0; round < rounds; ++round) {
        const std::int64_t begin = system::raw::clock_ns(CLOCK_MONOTONIC);
        for (int i = 0; i < times; ++i) loops.sum(zeros, zeros, depth, tile);
        best = std::min(best, static_cast<double>(system::raw::clock_ns(CLOCK_MONOTONIC) - begin));
    }
    if (loops.end != nullptr) loops.end();
    return best / (times * loops.rows * loops.columns);
}

/// Returns true if a unit multiplies clearly faster than float32 loops. A small advantage is not enough, since
/// rounding and copying the factors takes time as well.
bool is_faster(const TileLoops<float>& loops) {
    constexpr double needed = 1.5;
    return nanoseconds_of_an_element(loops) * needed < nanoseconds_of_an_element(avx512_loops.float32.large);
}

Bf16Units find_units() {
    using system::CpuFeature;
    if (!is_available(InstructionSet::avx512) || !system::may_use(CpuFeature::avx512bw) ||
        !system::may_use(CpuFeature::avx512_bf16))
        return Bf16Units::none;
    if (system::may_use(CpuFeature::amx_bf16) && kernel_grants_amx() && is_faster(amx_bf16_loops))
        return Bf16Units::amx;
    return is_faster(avx512_bf16_loops) ? Bf16Units::avx512 : Bf16Units::none;
}

#else

Bf16Units find_units() { return Bf16Units::none; }

#endif

/// Estimates of the time in nanoseconds that one core takes, measured on a Xeon with AMX (docs/accelerate.md). The
/// first four members are the times for rounding one number of a factor and storing it in a panel.
struct CostModel {
    double contiguous_columns = 0.1;  ///< a number of a right factor in which the numbers of a column are adjacent
    double other_columns = 1.2;       ///< a number of any other right factor
    double rows = 0.4;                ///< a number of a left factor
    /// A number of a complex factor, or of a triangle that has to be completed. In a right factor, other_columns is
    /// added.
    double completion = 3;
    double element = 0.5;  ///< the time to add a sum to an element of the result
    double term_in_bf16;
    double term_in_float32 = 0.013;
};

double nanoseconds_in_bf16(const MultiplyJob<float>& job, const CostModel& costs, double unit) {
    const auto up = [](double number, double to) {
        return (static_cast<double>(static_cast<std::int64_t>((number - 1) / to)) + 1) * to;
    };
    const double width = job.width;
    const double rows = static_cast<double>(job.rows);
    const double columns = static_cast<double>(job.columns) * width;
    const double depth = static_cast<double>(job.depth) * width;
    const StridedFactor<float> right_factor = strided_real_factor(job, true);
    const double right = right_factor.data == nullptr      ? costs.completion + costs.other_columns
                         : right_factor.summed_stride == 1 ? costs.contiguous_columns
                                                           : costs.other_columns;
    const double left = strided_real_factor(job, false).data != nullptr ? costs.rows : costs.completion;
    // The left factor is packed again for each block of columns.
    constexpr double block = columns_at_once<float>;
    return depth * columns * right + depth * rows * left * up(columns, block) / block +
           rows * columns * costs.element + up(rows, 32) * up(columns, 32) * up(depth, unit) * costs.term_in_bf16;
}

}  // namespace

Bf16Units bf16_units() {
    constinit static std::atomic<int> known{-1};
    int units = known.load(std::memory_order_relaxed);
    if (units < 0) {
        const system::ErrnoAndFloatGuard kept;
        units = static_cast<int>(find_units());
        known.store(units, std::memory_order_relaxed);
    }
    return static_cast<Bf16Units>(units);
}

bool bf16_is_faster(const Level3& product, Bf16Units units) {
    if (product.operation == Operation::trmm || units == Bf16Units::none) return false;
    const system::ErrnoAndFloatGuard kept;
    // A product of fewer terms is never faster in BF16, so no times are estimated for it.
    constexpr double fewest_terms = 5e5;
    const double largest = static_cast<double>(std::max({product.m, product.n, product.k, std::int64_t{1}}));
    const double second = static_cast<double>(product.m == 0 ? product.n : std::min(product.m, product.n));
    if (largest * largest * second < fewest_terms) return false;
    CostModel costs;
    costs.term_in_bf16 = units == Bf16Units::amx ? 0.0015 : 0.006;
    constexpr double margin = 1.3;
    double in_bf16 = 0;
    double in_float32 = 0;
    for_each_job<float>(product, [&](const MultiplyJob<float>& job) {
        if (job.rows == 0 || job.columns == 0 || job.depth == 0) return;
        in_bf16 += nanoseconds_in_bf16(job, costs, units == Bf16Units::amx ? 32 : 2);
        const double whole = static_cast<double>(job.rows) * static_cast<double>(job.columns) *
                             static_cast<double>(job.depth) * job.width * job.width * costs.term_in_float32;
        in_float32 += job.written == Part::whole ? whole : whole / 2;
    });
    return in_bf16 * margin < in_float32;
}

}  // namespace fp32shim::blas
