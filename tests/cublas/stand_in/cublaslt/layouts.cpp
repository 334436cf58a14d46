#include "cublaslt/layouts.hpp"

#include <cstring>

namespace stand_in {

void initialize(MatmulDescriptor* descriptor, std::size_t size, cublasComputeType_t compute, cudaDataType scale) {
    // A program built with an older version has space only for that version's descriptor, so no more is written.
    std::uint32_t version = 0;
    while (version + 1 < std::size(MatmulDescriptor::sizes_of_versions) &&
           MatmulDescriptor::sizes_of_versions[version + 1] <= size)
        ++version;
    MatmulDescriptor full{};
    full.mark = full.end_mark = MatmulDescriptor::valid + version;
    full.size = static_cast<std::uint32_t>(MatmulDescriptor::sizes_of_versions[version]);
    full.compute_type = compute;
    full.scale_type = scale;
    full.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    full.bias_type = -1;
    full.fill_mode = CUBLAS_FILL_MODE_FULL;
    full.epilogue_aux_type = -1;
    std::memcpy(static_cast<void*>(descriptor), &full, full.size);
}

void initialize(LayoutDescriptor* descriptor, cudaDataType type, std::uint64_t rows, std::uint64_t columns,
                std::int64_t leading_dimension) {
    *descriptor = {};
    descriptor->mark = LayoutDescriptor::valid;
    descriptor->type = type;
    descriptor->rows = rows;
    descriptor->columns = columns;
    descriptor->leading_dimension = leading_dimension;
    descriptor->batch_count = 1;
}

void initialize(PreferenceDescriptor* descriptor) {
    *descriptor = {};
    descriptor->mark = PreferenceDescriptor::valid;
    descriptor->search_mode = CUBLASLT_SEARCH_BEST_FIT;
    descriptor->reduction_schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
    descriptor->alignment_a = descriptor->alignment_b = descriptor->alignment_c = descriptor->alignment_d = 256;
    descriptor->implementation_mask = ~std::uint64_t{0};
}

}  // namespace stand_in
