// Stand-in of libcublasLt.so.13: the product.

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "cublaslt/algorithm.hpp"
#include "environment.hpp"
#include "named_kernel.hpp"
#include "products/kernel.hpp"

namespace stand_in {
namespace {

// Returns a complete descriptor: the 56 bytes that every descriptor has, and the others as far as `size` allows.
MatmulDescriptor full_copy(const MatmulDescriptor& descriptor) {
    MatmulDescriptor full;
    initialize(&full, sizeof full, static_cast<cublasComputeType_t>(descriptor.compute_type),
               static_cast<cudaDataType>(descriptor.scale_type));
    std::copy_n(reinterpret_cast<const std::byte*>(&descriptor), descriptor.size,
                reinterpret_cast<std::byte*>(&full));
    return full;
}

std::int64_t rows_of(const LayoutDescriptor& layout, int operation) {
    return static_cast<std::int64_t>(operation == CUBLAS_OP_N ? layout.rows : layout.columns);
}
std::int64_t columns_of(const LayoutDescriptor& layout, int operation) {
    return static_cast<std::int64_t>(operation == CUBLAS_OP_N ? layout.columns : layout.rows);
}

cublasStatus_t check(const LayoutDescriptor& layout) {
    if (layout.order != CUBLASLT_ORDER_COL && layout.order != CUBLASLT_ORDER_ROW) return CUBLAS_STATUS_NOT_SUPPORTED;
    const std::uint64_t inner = layout.order == CUBLASLT_ORDER_COL ? layout.rows : layout.columns;
    if (layout.leading_dimension < static_cast<std::int64_t>(inner)) return CUBLAS_STATUS_INVALID_VALUE;
    return layout.batch_count < 0 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

bool known_epilogue(std::uint32_t epilogue) {
    switch (epilogue) {
        case CUBLASLT_EPILOGUE_DEFAULT:
        case CUBLASLT_EPILOGUE_RELU:
        case CUBLASLT_EPILOGUE_BIAS:
        case CUBLASLT_EPILOGUE_RELU_BIAS:
        case CUBLASLT_EPILOGUE_GELU:
        case CUBLASLT_EPILOGUE_GELU_BIAS:
            return true;
        default:
            return false;
    }
}

BatchedMatrix batched(const void* data, const LayoutDescriptor& layout) {
    return {
        {data, static_cast<cudaDataType>(layout.type), layout.leading_dimension, layout.order == CUBLASLT_ORDER_ROW},
        layout.batch_stride,
        layout.batch_mode != CUBLASLT_BATCH_MODE_STRIDED};
}

bool is_grouped(const LayoutDescriptor& layout) { return layout.batch_mode == GroupedLayout::batch_mode; }

// Runs one product for each group. The kernel reads the sizes from device memory when it runs.
void run_groups(const View& view, Gemm gemm, const std::array<GroupedLayout, 4>& layouts) {
    const auto at = [&](const std::int32_t* array, std::int64_t group) {
        std::int32_t value = 0;
        std::memcpy(&value, view(array + group, sizeof value), sizeof value);
        return value;
    };
    const auto advance = [](BatchedMatrix& matrix) {
        matrix.matrix.data = static_cast<const std::byte*>(matrix.matrix.data) + sizeof(void*);
    };
    const std::int64_t count = std::exchange(gemm.batch_count, 1);
    BatchedMatrix* const matrices[] = {&gemm.a, &gemm.b, &gemm.c, &gemm.d};
    for (std::int64_t group = 0; group < count; ++group) {
        gemm.m = at(layouts[3].rows, group);
        gemm.n = at(layouts[3].columns, group);
        gemm.k = at(gemm.trans_a == CUBLAS_OP_N ? layouts[0].columns : layouts[0].rows, group);
        for (std::size_t i = 0; i < layouts.size(); ++i)
            matrices[i]->matrix.leading_dimension = at(layouts[i].leading_dimensions, group);
        run(view, gemm);
        for (BatchedMatrix* matrix : matrices) advance(*matrix);
    }
}

bool aligned(const void* address, std::uint32_t alignment) {
    return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

cublasStatus_t refusal(Row row) {
    return answer(row) == "invalid_value" ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_SUPPORTED;
}

// Returns the algorithm that cublasLtMatmul chooses if the caller names none, for the given alignment of pointers.
int own_choice(const Types& types, int compute_capability, bool all_aligned, bool may_split) {
    if (may_split && environment().splits_all_types) return split_algorithm;
    for (const int id : {1, 2, fma_algorithm})
        if (exists(id, types, compute_capability) && (all_aligned || alignment_of(id) == 1)) return id;
    return -1;
}

// Returns true if an algorithm of another compute type computes what the call's compute type permits.
bool is_permitted(Format of_algorithm, Format permitted) {
    if (of_algorithm == Format::tf32) return permitted != Format::fp32 && permitted != Format::bf16x9;
    return of_algorithm == Format::fp32 || of_algorithm == permitted;
}

// Tells what becomes of a call that names an algorithm which was found for other types.
cublasStatus_t status_under_other_types(const MatmulCall& call, const Types& types, int id, int compute_capability) {
    Types with_its_compute_type = call.types;
    with_its_compute_type.compute = types.compute;
    if (types != with_its_compute_type) return refusal(Row::lt_algorithm_of_another_type);
    if (answer(Row::lt_product_by_algorithm_of_another_type) != "runs" || !is_float32(types.a))
        return refusal(Row::lt_product_by_algorithm_of_another_type);
    const std::optional<Format> permitted = lt_format(call.types, compute_capability);
    return permitted && is_permitted(format_of(id, types, compute_capability), *permitted)
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_NOT_SUPPORTED;
}

// Finds the algorithm that a call names, or that the library chooses for it, and the types that it was found for.
cublasStatus_t choose(const MatmulCall& call, const cublasLtMatmulAlgo_t* algorithm, int compute_capability,
                      bool all_aligned, bool has_workspace, std::size_t workspace_size, int* id, Types* types) {
    *types = call.types;
    if (algorithm == nullptr) {
        const bool has_room =
            has_workspace && workspace_size >= workspace_of(split_algorithm, call.d->rows, call.d->columns);
        *id = own_choice(call.types, compute_capability, all_aligned, all_aligned && has_room);
        return *id < 0 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
    }
    const Algorithm* const opened = open(algorithm);
    if (opened == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *id = opened->id;
    *types = opened->types();
    if (*types != call.types) {
        const cublasStatus_t status = status_under_other_types(call, *types, *id, compute_capability);
        if (status != CUBLAS_STATUS_SUCCESS) return status;
    }
    if (!exists(*id, *types, compute_capability)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!all_aligned && alignment_of(*id) > 1) return refusal(Row::lt_misaligned_operand);
    const std::uint64_t needed = workspace_of(*id, call.d->rows, call.d->columns);
    if (workspace_size < needed || (needed > 0 && !has_workspace)) return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

// Adds bias, activation and scales.
cublasStatus_t add_epilogue(const MatmulDescriptor& operation, const Types& types, Gemm* gemm) {
    if ((operation.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) {
        gemm->bias = operation.bias;
        gemm->bias_type = operation.bias_type < 0 ? types.d : static_cast<cudaDataType>(operation.bias_type);
        gemm->bias_stride = operation.bias_batch_stride;
        if (gemm->bias == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    }
    if ((operation.epilogue & CUBLASLT_EPILOGUE_RELU) != 0) gemm->activation = Activation::relu;
    if ((operation.epilogue & CUBLASLT_EPILOGUE_GELU) != 0) gemm->activation = Activation::gelu;
    if (is_float8(types.a)) {
        gemm->scale_a = operation.scale_a;
        gemm->scale_b = operation.scale_b;
    }
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t describe(cublasLtMatmulDesc_t descriptor, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                        cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, MatmulCall* call) {
    call->descriptor = reinterpret_cast<const MatmulDescriptor*>(descriptor);
    call->a = reinterpret_cast<const LayoutDescriptor*>(a);
    call->b = reinterpret_cast<const LayoutDescriptor*>(b);
    call->c = reinterpret_cast<const LayoutDescriptor*>(c);
    call->d = reinterpret_cast<const LayoutDescriptor*>(d);
    if (call->descriptor == nullptr || !call->descriptor->is_valid()) return CUBLAS_STATUS_INVALID_VALUE;
    for (const LayoutDescriptor* layout : {call->a, call->b, call->c, call->d}) {
        if (layout == nullptr || layout->mark != LayoutDescriptor::valid) return CUBLAS_STATUS_INVALID_VALUE;
        const cublasStatus_t status = check(*layout);
        if (status != CUBLAS_STATUS_SUCCESS) return status;
    }
    const MatmulDescriptor& operation = *call->descriptor;
    const auto compute = static_cast<cublasComputeType_t>(operation.compute_type);
    if (!known_compute_type(compute) || !valid(static_cast<cublasOperation_t>(operation.trans_a)) ||
        !valid(static_cast<cublasOperation_t>(operation.trans_b)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (rows_of(*call->a, operation.trans_a) != rows_of(*call->d, CUBLAS_OP_N) ||
        columns_of(*call->b, operation.trans_b) != columns_of(*call->d, CUBLAS_OP_N) ||
        columns_of(*call->a, operation.trans_a) != rows_of(*call->b, operation.trans_b) ||
        call->c->rows != call->d->rows || call->c->columns != call->d->columns)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (call->a->batch_count != call->d->batch_count || call->b->batch_count != call->d->batch_count ||
        call->c->batch_count != call->d->batch_count)
        return CUBLAS_STATUS_INVALID_VALUE;
    call->types = {compute,
                   static_cast<cudaDataType>(operation.scale_type),
                   static_cast<cudaDataType>(call->a->type),
                   static_cast<cudaDataType>(call->b->type),
                   static_cast<cudaDataType>(call->c->type),
                   static_cast<cudaDataType>(call->d->type)};
    const bool fill_supported = operation.fill_mode == CUBLAS_FILL_MODE_FULL;
    const bool pointer_mode_supported = operation.pointer_mode == CUBLASLT_POINTER_MODE_HOST ||
                                        operation.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
    if (!lt_types_supported(call->types) || !known_epilogue(operation.epilogue) || !fill_supported ||
        !pointer_mode_supported)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    // float8 requires that A is transposed and B is not.
    if (is_float8(call->types.a) && (operation.trans_a != CUBLAS_OP_T || operation.trans_b != CUBLAS_OP_N))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return CUBLAS_STATUS_SUCCESS;
}

bool is_capturing(cudaStream_t stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return stream != nullptr && cuStreamIsCapturing(reinterpret_cast<CUstream>(stream), &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace stand_in

using namespace stand_in;

extern "C" cublasStatus_t CUBLASWINAPI cublasLtMatmul(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, const void* alpha, const void* A,
    cublasLtMatrixLayout_t a_layout, const void* B, cublasLtMatrixLayout_t b_layout, const void* beta, const void* C,
    cublasLtMatrixLayout_t c_layout, void* D, cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm,
    void* workspace, std::size_t workspace_size, cudaStream_t stream) {
    if (!alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    MatmulCall call;
    cublasStatus_t status = describe(descriptor, a_layout, b_layout, c_layout, d_layout, &call);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    const int compute_capability = handle->head.compute_capability;
    if (!lt_format(call.types, compute_capability)) return CUBLAS_STATUS_NOT_SUPPORTED;

    const bool pointer_arrays = call.a->batch_mode != CUBLASLT_BATCH_MODE_STRIDED;
    const bool all_aligned = pointer_arrays || (aligned(A, 16) && aligned(B, 16) && aligned(C, 16) && aligned(D, 16));
    int id = fma_algorithm;
    Types types{};
    status =
        choose(call, algorithm, compute_capability, all_aligned, workspace != nullptr, workspace_size, &id, &types);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    const bool grouped = is_grouped(*call.d);
    if (!environment().compute || (!grouped && (call.d->rows == 0 || call.d->columns == 0)))
        return CUBLAS_STATUS_SUCCESS;

    const MatmulDescriptor operation = full_copy(*call.descriptor);
    const bool device_scalars = operation.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
    std::int32_t* kept_bits = nullptr;
    Gemm gemm;
    gemm.trans_a = static_cast<cublasOperation_t>(operation.trans_a);
    gemm.trans_b = static_cast<cublasOperation_t>(operation.trans_b);
    gemm.m = rows_of(*call.d, CUBLAS_OP_N);
    gemm.n = columns_of(*call.d, CUBLAS_OP_N);
    gemm.k = columns_of(*call.a, gemm.trans_a);
    gemm.batch_count = call.d->batch_count;
    gemm.alpha = Scalar(alpha, call.types.scale, device_scalars);
    gemm.beta = Scalar(beta, call.types.scale, device_scalars);
    gemm.a = batched(A, *call.a);
    gemm.b = batched(B, *call.b);
    gemm.c = batched(C, *call.c);
    gemm.d = batched(D, *call.d);
    gemm.rounding = {format_of(id, types, compute_capability), tf32_ties(compute_capability)};
    // Only other programs' calls leak: cublas itself passes no algorithm.
    if (algorithm != nullptr && gemm.rounding.format == Format::fp32 && environment().leaks.contains("lt"))
        gemm.rounding.format = Format::tf32;
    if (environment().graphs_differ && is_capturing(stream)) gemm.rounding = {gemm.rounding.format, Ties::truncate};
    if (environment().lacks_memory || (environment().fast_lacks_memory && gemm.rounding.format != Format::fp32))
        return CUBLAS_STATUS_ALLOC_FAILED;
    gemm.alignment = alignment_of(id);
    const Algorithm* const opened = open(algorithm);
    const Algorithm ran = opened != nullptr ? *opened : make_algorithm(id, types);
    gemm.split_k = ran.split_k;
    gemm.type_of_parts = ran.reduction_scheme == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE ? types.scale : types.d;
    gemm.adds_in_fp16 = call.types.scale == CUDA_R_16F && yes(Row::compute_16f_adds_in_fp16);
    if ((call.types.a == CUDA_R_64F || call.types.a == CUDA_C_64F) &&
        emulates_float64({.compute_type = call.types.compute, .lt = true})) {
        const auto* const own = static_cast<const EmulationDescriptor*>(operation.emulation_descriptor);
        const std::optional<Emulation> emulation =
            own == nullptr ? emulation_of({})
                           : emulation_of({own->mantissa_control, own->most_bits, own->bit_offset});
        if (!emulation) return CUBLAS_STATUS_INVALID_VALUE;
        gemm.emulation = *emulation;
        if (own != nullptr) kept_bits = own->kept_bits;
    }
    status = add_epilogue(operation, call.types, &gemm);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    launch_named_kernel(reinterpret_cast<CUstream>(stream));
    if (grouped) {
        std::array<GroupedLayout, 4> layouts{};
        const LayoutDescriptor* const all[] = {call.a, call.b, call.c, call.d};
        for (std::size_t i = 0; i < layouts.size(); ++i) {
            if (!is_grouped(*all[i])) return CUBLAS_STATUS_INVALID_VALUE;
            layouts[i] = *reinterpret_cast<const GroupedLayout*>(all[i]);
        }
        const auto kernel = [gemm, layouts](const View& view) { run_groups(view, gemm, layouts); };
        return status_of(stand_in_launch(handle->head.device, reinterpret_cast<CUstream>(stream), kernel_of(kernel)));
    }
    return status_of(stand_in_launch(handle->head.device, reinterpret_cast<CUstream>(stream),
                                     kernel_of([gemm, kept_bits](const View& view) {
                                         const int kept = run(view, gemm);
                                         if (kept_bits != nullptr)
                                             std::memcpy(view(kept_bits, sizeof kept), &kept, sizeof kept);
                                     })));
}
