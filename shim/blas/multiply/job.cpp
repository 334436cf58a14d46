#include "shim/blas/multiply/job.hpp"

namespace fp32shim::blas {

bool is_in_place(const Level3& product) { return product.operation == Operation::trmm && product.c == nullptr; }

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
    const bool is_upper = (product.uplo == 'U') == (product.trans_a == 'N' || product.trans_a == 'R');
    if (product.side == 'L') return is_upper ? Summed::from_row : Summed::up_to_row;
    return is_upper ? Summed::up_to_column : Summed::from_column;
}

Written written_of(const Level3& product) {
    switch (product.operation) {
        case Operation::gemm:
        case Operation::symm:
        case Operation::hemm:
        case Operation::trmm:
            return Written::all;
        default:
            return (product.uplo == 'U') != product.row_major ? Written::row_up_to_column : Written::row_from_column;
    }
}

}  // namespace

Job job_of(const Level3& product, const ProductOfFactors& factors) {
    const Matrix result = is_in_place(product) ? operand_b(product) : operand_c(product);
    Job job;
    job.left = {factors.left, false};
    job.right = {factors.right, true};
    job.summed = summed_of(product);
    if (result.row_major) {
        job.left = {factors.right, true};
        job.right = {factors.left, false};
        job.summed = transposed(job.summed);
    }
    job.result = const_cast<float*>(result.data);
    job.ld = result.ld;
    job.width = result.width;
    job.rows = result.inner();
    job.columns = result.outer();
    job.depth = factors.depth;
    job.alpha = factors.alpha;
    job.beta = factors.beta;
    job.written = written_of(product);
    job.has_real_diagonal = product.operation == Operation::herk || product.operation == Operation::her2k;
    return job;
}

}  // namespace fp32shim::blas
