#include "shim/blas/multiply/job.hpp"

namespace fp32shim::blas {

template <class Real>
Job<Real> job_of(const Level3& product, const FactorsOf<ElementOf<Real>>& factors) {
    const Matrix result = result_of(product);
    Job<Real> job;
    job.left = {factors.left, false};
    job.right = {factors.right, true};
    if (product.operation == Operation::trmm) {
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
    job.has_real_diagonal = is_hermitian_update(product.operation);
    return job;
}

template Job<float> job_of(const Level3&, const FactorsOf<ElementOf<float>>&);
template Job<double> job_of(const Level3&, const FactorsOf<ElementOf<double>>&);

}  // namespace fp32shim::blas
