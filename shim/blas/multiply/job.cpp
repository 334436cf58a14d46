#include "shim/blas/multiply/job.hpp"

#include <type_traits>

namespace fp32shim::blas {

template <class Real>
Job<Real> job_of(const Level3& product, const FactorsOf<ElementOf<Real>>& factors) {
    const Matrix result = result_of(product);
    Job<Real> job;
    job.left = {factors.left, false};
    job.right = {factors.right, true};
    if (is_triangular(product.operation)) {
        const bool is_upper = (product.uplo == 'U') != transposes(product.trans_a);  // op(A)
        job.summed_by_row = product.side == 'L';
        job.summed = is_upper == job.summed_by_row ? Summed::from : Summed::up_to;
    }
    job.written = written_of(product);
    if (result.row_major) {
        job.left = {factors.right, true};
        job.right = {factors.left, false};
        job.summed_by_row = job.summed != Summed::all && !job.summed_by_row;
        if (job.written != Part::whole) job.written = job.written == Part::upper ? Part::lower : Part::upper;
    }
    job.result = reinterpret_cast<Real*>(const_cast<float*>(result.data));
    job.ld = result.ld;
    job.width = product.is_complex ? 2 : 1;
    job.rows = result.inner();
    job.columns = result.outer();
    job.depth = factors.depth;
    job.alpha = factors.alpha;
    job.beta = factors.beta;
    if (is_in_place(product)) job.in_place = job.summed_by_row ? InPlace::right : InPlace::left;
    job.solves = product.operation == Operation::trsm;
    job.has_real_diagonal = is_hermitian_update(product.operation);
    return job;
}

template <class Real>
Matrix result_of(const Job<Real>& job) {
    constexpr int floats = std::is_same_v<Real, double> ? 2 : 1;
    return {reinterpret_cast<float*>(job.result),
            job.rows,
            job.columns,
            job.ld,
            false,
            job.width * floats,
            job.width == 2,
            floats == 2};
}

template Matrix result_of(const Job<float>&);
template Matrix result_of(const Job<double>&);
template Job<float> job_of(const Level3&, const FactorsOf<ElementOf<float>>&);
template Job<double> job_of(const Level3&, const FactorsOf<ElementOf<double>>&);

}  // namespace fp32shim::blas
