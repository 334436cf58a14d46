// Stand-in of libcublasLt.so.13: algorithms and the heuristic.

#include "cublaslt/algorithm.hpp"

#include <algorithm>
#include <cstring>

#include "cublaslt/attribute.hpp"
#include "environment.hpp"

namespace stand_in {

Types Algorithm::types() const {
    return {static_cast<cublasComputeType_t>(compute_type),
            static_cast<cudaDataType>(scale),
            static_cast<cudaDataType>(a),
            static_cast<cudaDataType>(b),
            static_cast<cudaDataType>(c),
            static_cast<cudaDataType>(d)};
}

Algorithm* open(cublasLtMatmulAlgo_t* algorithm) {
    auto* const opened = reinterpret_cast<Algorithm*>(algorithm);
    return opened != nullptr && opened->mark == Algorithm::valid ? opened : nullptr;
}

const Algorithm* open(const cublasLtMatmulAlgo_t* algorithm) {
    return open(const_cast<cublasLtMatmulAlgo_t*>(algorithm));
}

bool lt_types_supported(const Types& types) {
    if (is_float8(types.a) && is_float8(types.b)) {
        const bool both_e5m2 = types.a == CUDA_R_8F_E5M2 && types.b == CUDA_R_8F_E5M2;
        const bool wide = types.d == CUDA_R_16BF || types.d == CUDA_R_16F || types.d == CUDA_R_32F;
        return !both_e5m2 && wide && types.c == types.d && types.scale == CUDA_R_32F &&
               types.compute == CUBLAS_COMPUTE_32F;
    }
    if (types.c != types.d || !gemm_types_supported(types.compute, types.a, types.b, types.c)) return false;
    return types.scale == scale_type_of(types.compute, types.a);
}

std::optional<Format> lt_format(const Types& types, int compute_capability) {
    Request request;
    request.compute_type = types.compute;
    request.compute_capability = compute_capability;
    request.lt = true;
    return permitted_format(request);
}

bool exists(int id, const Types& types, int compute_capability) {
    if (id < 0 || id >= algorithm_count || !lt_types_supported(types)) return false;
    if (is_float8(types.a)) return id == 1 && compute_capability >= 89;
    const std::optional<Format> format = lt_format(types, compute_capability);
    if (!format) return false;
    if (id == split_algorithm && environment().splits_all_types) return true;
    // If only the environment asks for emulation, plain FP32 also exists.
    if (id == fma_algorithm) return types.compute != CUBLAS_COMPUTE_32F_EMULATED_16BFX9 || *format != Format::bf16x9;
    if (is_float32(types.a)) return *format != Format::fp32;
    return id == 1 && !is_pedantic(types.compute);
}

Format format_of(int id, const Types& types, int compute_capability) {
    if (id == fma_algorithm) return Format::fp32;
    return lt_format(types, compute_capability).value_or(Format::fp32);
}

int outer_id(int id) { return id == split_algorithm ? environment().split_id : id; }

std::uint32_t alignment_of(int id) { return id == 1 || id == 3 ? 16 : 1; }

std::uint64_t workspace_of(int id, std::uint64_t rows, std::uint64_t columns) {
    return id == 3 ? 2 * rows * columns * sizeof(float) : 0;
}

std::uint64_t numerical_flags(int id, const Types& types, int compute_capability) {
    std::uint64_t flags = CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F;
    switch (types.compute) {
        case CUBLAS_COMPUTE_64F:
        case CUBLAS_COMPUTE_64F_PEDANTIC:
        case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
            return CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_64F | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_64F |
                   (id == fma_algorithm ? CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA : CUBLASLT_NUMERICAL_IMPL_FLAGS_DMMA);
        case CUBLAS_COMPUTE_32I:
        case CUBLAS_COMPUTE_32I_PEDANTIC:
            return CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32I | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8I |
                   (id == fma_algorithm ? CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA : CUBLASLT_NUMERICAL_IMPL_FLAGS_IMMA);
        case CUBLAS_COMPUTE_16F:
        case CUBLAS_COMPUTE_16F_PEDANTIC:
            flags = CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F;
            break;
        default:
            break;
    }
    flags |= id == fma_algorithm ? CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA : CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA;
    switch (types.a) {
        case CUDA_R_16F:
            return flags | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F;
        case CUDA_R_16BF:
            return flags | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF;
        case CUDA_R_8F_E4M3:
            return flags | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E4M3;
        case CUDA_R_8F_E5M2:
            return flags | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E5M2;
        case CUDA_R_8I:
        case CUDA_C_8I:
            return flags | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8I;
        default:
            break;
    }
    switch (format_of(id, types, compute_capability)) {
        case Format::tf32:
            return flags | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32;
        case Format::fp16:
            return flags | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F;
        case Format::bf16:
        case Format::bf16x9:
            return flags | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF;
        case Format::fp32:
            break;
    }
    return flags | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F;
}

Algorithm make_algorithm(int id, const Types& types) {
    Algorithm algorithm{};
    algorithm.mark = Algorithm::valid;
    algorithm.id = static_cast<std::int16_t>(id);
    algorithm.compute_type = static_cast<std::uint8_t>(types.compute);
    algorithm.scale = static_cast<std::uint8_t>(types.scale);
    algorithm.a = static_cast<std::uint8_t>(types.a);
    algorithm.b = static_cast<std::uint8_t>(types.b);
    algorithm.c = static_cast<std::uint8_t>(types.c);
    algorithm.d = static_cast<std::uint8_t>(types.d);
    algorithm.split_k = id == split_algorithm ? environment().split_k : 1;
    algorithm.reduction_scheme = id == split_algorithm ? environment().split_reduction : 0;
    algorithm.tile = CUBLASLT_MATMUL_TILE_64x64;
    algorithm.stages = CUBLASLT_MATMUL_STAGES_16x4;
    return algorithm;
}

namespace {

// Algorithms, fastest first.
constexpr int by_speed[algorithm_count] = {3, 1, 2, fma_algorithm};

float waves_of(int id) { return id == fma_algorithm ? 0.5F : id == 3 ? 2.0F : 1.0F; }

bool fits(int id, const MatmulCall& call, const PreferenceDescriptor& preference, int compute_capability) {
    if (!environment().finds_algorithms || !exists(id, call.types, compute_capability)) return false;
    if (workspace_of(id, call.d->rows, call.d->columns) > preference.maximum_workspace) return false;
    if (id == split_algorithm && (preference.reduction_schemes & environment().split_reduction) == 0) return false;
    const std::uint32_t least =
        std::min({preference.alignment_a, preference.alignment_b, preference.alignment_c, preference.alignment_d});
    if (alignment_of(id) > least) return false;
    if (preference.maximum_waves != 0 && waves_of(id) > preference.maximum_waves) return false;
    return (numerical_flags(id, call.types, compute_capability) & ~preference.implementation_mask) == 0;
}

void fill_result(int id, const MatmulCall& call, cublasLtMatmulHeuristicResult_t* result) {
    result->workspaceSize = workspace_of(id, call.d->rows, call.d->columns);
    result->state = CUBLAS_STATUS_SUCCESS;
    result->wavesCount = waves_of(id);
}

cublasStatus_t heuristic(cublasLtHandle_t handle, const MatmulCall& call, cublasLtMatmulPreference_t opaque,
                         int requested, cublasLtMatmulHeuristicResult_t results[], int* returned) {
    PreferenceDescriptor preference;
    initialize(&preference);
    if (opaque != nullptr) std::memcpy(&preference, opaque, sizeof preference);
    if (preference.mark != PreferenceDescriptor::valid) return CUBLAS_STATUS_INVALID_VALUE;
    *returned = 0;
    // The array is read before it is written: its algorithm, made by AlgoInit, limits the search.
    const bool is_limited = preference.search_mode == CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID;
    const Algorithm* const only = is_limited ? open(&results[0].algo) : nullptr;
    const int only_id = only == nullptr ? -1 : only->id;
    const bool is_of_these_types = only != nullptr && only->types() == call.types;
    for (int i = 0; i < requested; ++i) {
        results[i] = {};
        results[i].state = CUBLAS_STATUS_NOT_INITIALIZED;
    }
    if (is_limited && only_id < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (is_limited && !is_of_these_types) return CUBLAS_STATUS_NOT_SUPPORTED;
    for (const int id : by_speed) {
        if (*returned == requested) break;
        if (is_limited && only_id != id) continue;
        if (!fits(id, call, preference, handle->head.compute_capability)) continue;
        cublasLtMatmulHeuristicResult_t& result = results[(*returned)++];
        const Algorithm algorithm = make_algorithm(id, call.types);
        result = {};
        std::memcpy(&result.algo, &algorithm, sizeof algorithm);
        fill_result(id, call, &result);
    }
    return *returned > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

// If only an algorithm is given, the device is unknown. The attributes are then those of the newest devices.
constexpr int any_device = 100;

}  // namespace

}  // namespace stand_in

using stand_in::Algorithm;
using stand_in::MatmulCall;
using stand_in::Types;

extern "C" {

// Counts of searches, checks, and questions about capabilities, for tests.
extern __attribute__((visibility("default"))) long long stand_in_searches, stand_in_algo_checks,
    stand_in_algo_questions;
long long stand_in_searches = 0, stand_in_algo_checks = 0, stand_in_algo_questions = 0;

cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
                                                           cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                           cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                           cublasLtMatmulPreference_t preference, int requested,
                                                           cublasLtMatmulHeuristicResult_t results[], int* returned) {
    __atomic_add_fetch(&stand_in_searches, 1, __ATOMIC_RELAXED);
    if (!stand_in::alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (requested <= 0 || results == nullptr || returned == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *returned = 0;
    MatmulCall call;
    const cublasStatus_t status = stand_in::describe(descriptor, a, b, c, d, &call);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return stand_in::heuristic(handle, call, preference, requested, results, returned);
}

// Declared here since the oldest headers for the stand-in lack it, with the signature in NVIDIA's sample of green
// contexts.
#pragma GCC visibility push(default)
cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoGetHeuristicForStream(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int requested,
    cublasLtMatmulHeuristicResult_t results[], int* returned, cudaStream_t) {
    return cublasLtMatmulAlgoGetHeuristic(handle, descriptor, a, b, c, d, preference, requested, results, returned);
}
#pragma GCC visibility pop

cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t compute,
                                                     cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                                     cudaDataType_t c, cudaDataType_t d, int requested, int ids[],
                                                     int* returned) {
    if (!stand_in::alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (requested <= 0 || ids == nullptr || returned == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *returned = 0;
    for (int id = 0; id < stand_in::algorithm_count && *returned < requested; ++id)
        if (stand_in::exists(id, Types{compute, scale, a, b, c, d}, handle->head.compute_capability))
            ids[(*returned)++] = stand_in::outer_id(id);
    return *returned > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t compute,
                                                   cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                                   cudaDataType_t c, cudaDataType_t d, int id,
                                                   cublasLtMatmulAlgo_t* algorithm) {
    if (!stand_in::alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (id == stand_in::outer_id(stand_in::split_algorithm)) id = stand_in::split_algorithm;
    if (algorithm == nullptr || id < 0 || id >= stand_in::algorithm_count) return CUBLAS_STATUS_INVALID_VALUE;
    const Types types{compute, scale, a, b, c, d};
    if (!stand_in::exists(id, types, handle->head.compute_capability)) return CUBLAS_STATUS_NOT_SUPPORTED;
    Algorithm made = stand_in::make_algorithm(id, types);
    made.tile = CUBLASLT_MATMUL_TILE_UNDEFINED;
    made.stages = CUBLASLT_MATMUL_STAGES_UNDEFINED;
    *algorithm = {};
    std::memcpy(algorithm, &made, sizeof made);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
                                                    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                    const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulHeuristicResult_t* result) {
    __atomic_add_fetch(&stand_in_algo_checks, 1, __ATOMIC_RELAXED);
    if (!stand_in::alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    MatmulCall call;
    const cublasStatus_t status = stand_in::describe(descriptor, a, b, c, d, &call);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    const Algorithm* const opened = stand_in::open(algorithm);
    if (opened == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (opened->types() != call.types)
        return stand_in::answer(stand_in::Row::lt_algorithm_of_another_type) == "invalid_value"
                   ? CUBLAS_STATUS_INVALID_VALUE
                   : CUBLAS_STATUS_NOT_SUPPORTED;
    // An algorithm from AlgoInit is incomplete: the caller still has to choose tile and stages.
    if (opened->tile == CUBLASLT_MATMUL_TILE_UNDEFINED || opened->stages == CUBLASLT_MATMUL_STAGES_UNDEFINED)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!stand_in::exists(opened->id, call.types, handle->head.compute_capability))
        return CUBLAS_STATUS_ARCH_MISMATCH;
    stand_in::fill_result(opened->id, call, result);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                              cublasLtMatmulAlgoCapAttributes_t attribute,
                                                              void* buffer, std::size_t size, std::size_t* written) {
    __atomic_add_fetch(&stand_in_algo_questions, 1, __ATOMIC_RELAXED);
    const Algorithm* const opened = stand_in::open(algorithm);
    if (opened == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    const auto word = [&](std::int32_t value) {
        return stand_in::get_bytes(&value, sizeof value, buffer, size, written);
    };
    switch (attribute) {
        case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
            return word(opened->id == 3);
        case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK:
            return word(opened->id == 3 ? static_cast<std::int32_t>(stand_in::environment().split_reduction) : 0);
        case CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT:
        case CUBLASLT_ALGO_CAP_UPLO_SUPPORT:
        case CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX:
        case CUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER:
        case CUBLASLT_ALGO_CAP_LD_NEGATIVE:
            return word(0);
        case CUBLASLT_ALGO_CAP_TILE_IDS:
            return word(CUBLASLT_MATMUL_TILE_64x64);
        case CUBLASLT_ALGO_CAP_STAGES_IDS:
            return word(CUBLASLT_MATMUL_STAGES_16x4);
        case CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT:
        case CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT:
        case CUBLASLT_ALGO_CAP_POINTER_ARRAY_BATCH_SUPPORT:
            return word(1);
        case CUBLASLT_ALGO_CAP_POINTER_MODE_MASK:
            return word(CUBLASLT_POINTER_MODE_MASK_HOST | CUBLASLT_POINTER_MODE_MASK_DEVICE);
        case CUBLASLT_ALGO_CAP_EPILOGUE_MASK:
            return word(CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_RELU | CUBLASLT_EPILOGUE_BIAS |
                        CUBLASLT_EPILOGUE_GELU);
        case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS: {
            const std::uint64_t flags = stand_in::numerical_flags(opened->id, opened->types(), stand_in::any_device);
            return stand_in::get_bytes(&flags, sizeof flags, buffer, size, written);
        }
        case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
        case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
        case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
        case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
            return word(static_cast<std::int32_t>(stand_in::alignment_of(opened->id)));
        case CUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT:
            return word(opened->compute_type == CUBLAS_COMPUTE_32F_EMULATED_16BFX9 ||
                        stand_in::emulates_float64({.compute_type = opened->types().compute, .lt = true}));
        default:
            return CUBLAS_STATUS_INVALID_VALUE;
    }
}

// The identifier is read-only. Of the other attributes, split-K and the reduction scheme have an effect.
static constexpr stand_in::Attribute configuration[] = {
    STAND_IN_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_TILE_ID, Algorithm, tile),
    STAND_IN_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, Algorithm, split_k),
    STAND_IN_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, Algorithm, reduction_scheme),
    STAND_IN_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, Algorithm, swizzling),
    STAND_IN_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, Algorithm, custom_option),
    STAND_IN_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_STAGES_ID, Algorithm, stages),
    STAND_IN_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, Algorithm, inner_shape),
    STAND_IN_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, Algorithm, cluster_shape),
};

cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algorithm,
                                                                 cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                                 const void* buffer, std::size_t size) {
    Algorithm* const opened = stand_in::open(algorithm);
    if (opened == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    return stand_in::set_attribute(configuration, opened, sizeof *opened, attribute, buffer, size);
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                                 cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                                 void* buffer, std::size_t size,
                                                                 std::size_t* written) {
    const Algorithm* const opened = stand_in::open(algorithm);
    if (opened == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (attribute == CUBLASLT_ALGO_CONFIG_ID) {
        const std::int32_t id = stand_in::outer_id(opened->id);
        return stand_in::get_bytes(&id, sizeof id, buffer, size, written);
    }
    return stand_in::get_attribute(configuration, opened, sizeof *opened, attribute, buffer, size, written);
}
}
