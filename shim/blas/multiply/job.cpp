#include "shim/blas/multiply/job.hpp"

namespace fp32shim::blas {

namespace {

Summed transposed(Summed summed) {
    switch (summed) {
        case Summed::up_to_row:
            return Summed::up_to_column;
        case Summed::from_row:
            return Summed::from_column;
        case Summed::up_to_column:
            return Summed::up_to_row;
        case Summed::from_column:
            return Summed::from_row;
        default:
            return Summed::all;
    }
}

Summed summed_of(const Level3& product) {
    if (product.operation != Operation::trmm) return Summed::all;
    const bool is_upper = (product.uplo == 'U') != transposes(product.trans_a);
    if (product.side == 'L') return is_upper ? Summed::from_row : Summed::up_to_row;
    return is_upper ? Summed::up_to_column : Summed::from_column;
}

}  // namespace

Job job_of(const Level3& product, const ProductOfFactors& factors) {
    const Matrix result = result_of(product);
    Job job;
    job.left = {factors.left, false};
    job.right = {factors.right, true};
    job.summed = summed_of(product);
    job.written = written_of(product);
    if (result.row_major) {
        job.left = {factors.right, true};
        job.right = {factors.left, false};
        job.summed = transposed(job.summed);
        if (job.written != Part::whole) job.written = job.written == Part::upper ? Part::lower : Part::upper;
    }
    job.result = const_cast<float*>(result.data);
    job.ld = result.ld;
    job.width = result.width;
    job.rows = result.inner();
    job.columns = result.outer();
    job.depth = factors.depth;
    job.alpha = factors.alpha;
    job.beta = factors.beta;
    job.has_real_diagonal = is_hermitian_update(product.operation);
    return job;
}

}  // namespace fp32shim::blas
