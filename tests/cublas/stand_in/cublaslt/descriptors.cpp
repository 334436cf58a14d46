// Stand-in of libcublasLt.so.13: matmul descriptors, matrix layouts, preferences.

#include <new>

#include "cublaslt/attribute.hpp"
#include "cublaslt/layouts.hpp"
#include "products/types.hpp"

using stand_in::Attribute;
using stand_in::EmulationDescriptor;
using stand_in::GroupedLayout;
using stand_in::LayoutDescriptor;
using stand_in::MatmulDescriptor;
using stand_in::PreferenceDescriptor;

namespace {

constexpr Attribute matmul_attributes[] = {
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, MatmulDescriptor, compute_type),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_SCALE_TYPE, MatmulDescriptor, scale_type),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_POINTER_MODE, MatmulDescriptor, pointer_mode),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSA, MatmulDescriptor, trans_a),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSB, MatmulDescriptor, trans_b),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSC, MatmulDescriptor, trans_c),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_FILL_MODE, MatmulDescriptor, fill_mode),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE, MatmulDescriptor, epilogue),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_POINTER, MatmulDescriptor, bias),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, MatmulDescriptor, bias_batch_stride),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, MatmulDescriptor, bias_type),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, MatmulDescriptor, epilogue_aux),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, MatmulDescriptor, epilogue_aux_leading_dimension),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, MatmulDescriptor, epilogue_aux_batch_stride),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, MatmulDescriptor, epilogue_aux_type),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, MatmulDescriptor, epilogue_aux_scale),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, MatmulDescriptor, epilogue_aux_amax),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, MatmulDescriptor, alpha_vector_batch_stride),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, MatmulDescriptor, sm_count_target),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, MatmulDescriptor, scale_a),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, MatmulDescriptor, scale_b),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, MatmulDescriptor, scale_c),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, MatmulDescriptor, scale_d),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, MatmulDescriptor, amax_d),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_FAST_ACCUM, MatmulDescriptor, fast_accumulation),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, MatmulDescriptor, scale_modes[0]),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, MatmulDescriptor, scale_modes[1]),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_C_SCALE_MODE, MatmulDescriptor, scale_modes[2]),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, MatmulDescriptor, scale_modes[3]),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, MatmulDescriptor, scale_modes[4]),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, MatmulDescriptor, scale_d_out),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, MatmulDescriptor, scale_d_out_mode),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, MatmulDescriptor, emulation_descriptor),
};

constexpr Attribute emulation_attributes[] = {
    STAND_IN_ATTRIBUTE(CUBLASLT_EMULATION_DESC_STRATEGY, EmulationDescriptor, strategy),
    STAND_IN_ATTRIBUTE(CUBLASLT_EMULATION_DESC_SPECIAL_VALUES_SUPPORT, EmulationDescriptor, special_values),
    STAND_IN_ATTRIBUTE(CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_CONTROL, EmulationDescriptor, mantissa_control),
    STAND_IN_ATTRIBUTE(CUBLASLT_EMULATION_DESC_FIXEDPOINT_MAX_MANTISSA_BIT_COUNT, EmulationDescriptor, most_bits),
    STAND_IN_ATTRIBUTE(CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_OFFSET, EmulationDescriptor, bit_offset),
    STAND_IN_ATTRIBUTE(CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_COUNT_POINTER, EmulationDescriptor, kept_bits),
};

constexpr Attribute preference_attributes[] = {
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_PREF_SEARCH_MODE, PreferenceDescriptor, search_mode),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, PreferenceDescriptor, maximum_workspace),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, PreferenceDescriptor, reduction_schemes),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, PreferenceDescriptor, alignment_a),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, PreferenceDescriptor, alignment_b),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, PreferenceDescriptor, alignment_c),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, PreferenceDescriptor, alignment_d),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, PreferenceDescriptor, maximum_waves),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATMUL_PREF_IMPL_MASK, PreferenceDescriptor, implementation_mask),
};

// Order and batch mode are stored in 16 bits, but passed in 32.
struct LayoutValues {
    std::int32_t type, order, batch_count, batch_mode;
    std::uint64_t rows, columns;
    std::int64_t leading_dimension, batch_stride, plane_offset;

    explicit LayoutValues(const LayoutDescriptor& layout)
        : type(layout.type),
          order(layout.order),
          batch_count(layout.batch_count),
          batch_mode(layout.batch_mode),
          rows(layout.rows),
          columns(layout.columns),
          leading_dimension(layout.leading_dimension),
          batch_stride(layout.batch_stride),
          plane_offset(layout.plane_offset) {}
    void write(LayoutDescriptor* layout) const {
        layout->type = type;
        layout->order = static_cast<std::int16_t>(order);
        layout->batch_count = batch_count;
        layout->batch_mode = static_cast<std::int16_t>(batch_mode);
        layout->rows = rows;
        layout->columns = columns;
        layout->leading_dimension = leading_dimension;
        layout->batch_stride = batch_stride;
        layout->plane_offset = plane_offset;
    }
};

constexpr Attribute layout_attributes[] = {
    STAND_IN_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_TYPE, LayoutValues, type),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ORDER, LayoutValues, order),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ROWS, LayoutValues, rows),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_COLS, LayoutValues, columns),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_LD, LayoutValues, leading_dimension),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, LayoutValues, batch_count),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, LayoutValues, batch_stride),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, LayoutValues, plane_offset),
    STAND_IN_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, LayoutValues, batch_mode),
};

constexpr Attribute grouped_attributes[] = {
    {9, offsetof(GroupedLayout, rows), sizeof(void*)},
    {10, offsetof(GroupedLayout, columns), sizeof(void*)},
    {11, offsetof(GroupedLayout, leading_dimensions), sizeof(void*)},
    STAND_IN_ATTRIBUTE(12, GroupedLayout, size_width),
    STAND_IN_ATTRIBUTE(13, GroupedLayout, leading_dimension_width),
};

// Size in bytes of a layout or preference in the oldest headers. Newer headers have larger structures.
constexpr std::size_t smallest_opaque = 64;

bool is_valid(const MatmulDescriptor& descriptor) { return descriptor.is_valid(); }
template <class Structure>
bool is_valid(const Structure& structure) {
    return structure.mark == Structure::valid;
}

template <class Structure, class Opaque>
Structure* open(Opaque* opaque) {
    auto* const structure = reinterpret_cast<Structure*>(opaque);
    return structure != nullptr && is_valid(*structure) ? structure : nullptr;
}

template <class Opaque>
cublasStatus_t destroy(Opaque* opaque) {
    ::operator delete(static_cast<void*>(opaque));
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

// ---- matmul descriptor

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t descriptor, std::size_t size,
                                                            cublasComputeType_t compute_type,
                                                            cudaDataType_t scale_type) {
    if (descriptor == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (size < MatmulDescriptor::smallest) return CUBLAS_STATUS_ALLOC_FAILED;
    stand_in::initialize(reinterpret_cast<MatmulDescriptor*>(descriptor), size, compute_type, scale_type);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor,
                                                     cublasComputeType_t compute_type, cudaDataType_t scale_type) {
    if (descriptor == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *descriptor = new cublasLtMatmulDescOpaque_t{};
    return cublasLtMatmulDescInit_internal(*descriptor, sizeof **descriptor, compute_type, scale_type);
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) { return destroy(descriptor); }

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor,
                                                           cublasLtMatmulDescAttributes_t attribute,
                                                           const void* buffer, std::size_t size) {
    auto* const opened = open<MatmulDescriptor>(descriptor);
    if (opened == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    return stand_in::set_attribute(matmul_attributes, opened, opened->size, attribute, buffer, size);
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t descriptor,
                                                           cublasLtMatmulDescAttributes_t attribute, void* buffer,
                                                           std::size_t size, std::size_t* written) {
    const auto* const opened = open<MatmulDescriptor>(descriptor);
    if (opened == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    return stand_in::get_attribute(matmul_attributes, opened, opened->size, attribute, buffer, size, written);
}

// ---- emulation

cublasStatus_t CUBLASWINAPI cublasLtEmulationDescInit_internal(cublasLtEmulationDesc_t descriptor, std::size_t size) {
    if (descriptor == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (size < sizeof(cublasLtEmulationDescOpaque_t)) return CUBLAS_STATUS_ALLOC_FAILED;
    *reinterpret_cast<EmulationDescriptor*>(descriptor) = {};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtEmulationDescCreate(cublasLtEmulationDesc_t* descriptor) {
    if (descriptor == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *descriptor = new cublasLtEmulationDescOpaque_t{};
    return cublasLtEmulationDescInit_internal(*descriptor, sizeof **descriptor);
}

cublasStatus_t CUBLASWINAPI cublasLtEmulationDescDestroy(cublasLtEmulationDesc_t descriptor) {
    return destroy(descriptor);
}

cublasStatus_t CUBLASWINAPI cublasLtEmulationDescSetAttribute(cublasLtEmulationDesc_t descriptor,
                                                              cublasLtEmulationDescAttributes_t attribute,
                                                              const void* buffer, std::size_t size) {
    auto* const opened = open<EmulationDescriptor>(descriptor);
    if (opened == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    return stand_in::set_attribute(emulation_attributes, opened, sizeof *opened, attribute, buffer, size);
}

cublasStatus_t CUBLASWINAPI cublasLtEmulationDescGetAttribute(cublasLtEmulationDesc_t descriptor,
                                                              cublasLtEmulationDescAttributes_t attribute,
                                                              void* buffer, std::size_t size, std::size_t* written) {
    const auto* const opened = open<EmulationDescriptor>(descriptor);
    if (opened == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    return stand_in::get_attribute(emulation_attributes, opened, sizeof *opened, attribute, buffer, size, written);
}

// ---- matrix layout

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, std::size_t size,
                                                              cudaDataType type, std::uint64_t rows,
                                                              std::uint64_t columns, std::int64_t leading_dimension) {
    if (layout == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (size < smallest_opaque) return CUBLAS_STATUS_ALLOC_FAILED;
    stand_in::initialize(reinterpret_cast<LayoutDescriptor*>(layout), type, rows, columns, leading_dimension);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                                       std::uint64_t rows, std::uint64_t columns,
                                                       std::int64_t leading_dimension) {
    if (layout == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *layout = new cublasLtMatrixLayoutOpaque_t{};
    return cublasLtMatrixLayoutInit_internal(*layout, sizeof **layout, type, rows, columns, leading_dimension);
}

__attribute__((visibility("default"))) cublasStatus_t CUBLASWINAPI
cublasLtGroupedMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, int count, const void* rows,
                                  const void* columns, const void* leading_dimensions) {
    if (layout == nullptr || count < 0) return CUBLAS_STATUS_INVALID_VALUE;
    auto* const grouped = new GroupedLayout{};
    stand_in::initialize(&grouped->layout, type, 0, 0, 0);
    grouped->layout.batch_count = count;
    grouped->layout.batch_mode = GroupedLayout::batch_mode;
    grouped->rows = static_cast<const std::int32_t*>(rows);
    grouped->columns = static_cast<const std::int32_t*>(columns);
    grouped->leading_dimensions = static_cast<const std::int32_t*>(leading_dimensions);
    *layout = reinterpret_cast<cublasLtMatrixLayout_t>(grouped);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return destroy(layout); }

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                             cublasLtMatrixLayoutAttribute_t attribute,
                                                             const void* buffer, std::size_t size) {
    auto* const opened = open<LayoutDescriptor>(layout);
    if (opened == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    LayoutValues values(*opened);
    const cublasStatus_t status =
        stand_in::set_attribute(layout_attributes, &values, sizeof values, attribute, buffer, size);
    values.write(opened);
    return status;
}

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                             cublasLtMatrixLayoutAttribute_t attribute, void* buffer,
                                                             std::size_t size, std::size_t* written) {
    const auto* const opened = open<LayoutDescriptor>(layout);
    if (opened == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (opened->batch_mode == GroupedLayout::batch_mode && attribute > CUBLASLT_MATRIX_LAYOUT_BATCH_MODE)
        return stand_in::get_attribute(grouped_attributes, opened, sizeof(GroupedLayout), attribute, buffer, size,
                                       written);
    const LayoutValues values(*opened);
    return stand_in::get_attribute(layout_attributes, &values, sizeof values, attribute, buffer, size, written);
}

// ---- preference

cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference,
                                                                  std::size_t size) {
    if (preference == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (size < smallest_opaque) return CUBLAS_STATUS_ALLOC_FAILED;
    stand_in::initialize(reinterpret_cast<PreferenceDescriptor*>(preference));
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
    if (preference == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *preference = new cublasLtMatmulPreferenceOpaque_t{};
    return cublasLtMatmulPreferenceInit_internal(*preference, sizeof **preference);
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    return destroy(preference);
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                                 cublasLtMatmulPreferenceAttributes_t attribute,
                                                                 const void* buffer, std::size_t size) {
    auto* const opened = open<PreferenceDescriptor>(preference);
    if (opened == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    return stand_in::set_attribute(preference_attributes, opened, sizeof *opened, attribute, buffer, size);
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t preference,
                                                                 cublasLtMatmulPreferenceAttributes_t attribute,
                                                                 void* buffer, std::size_t size,
                                                                 std::size_t* written) {
    const auto* const opened = open<PreferenceDescriptor>(preference);
    if (opened == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    return stand_in::get_attribute(preference_attributes, opened, sizeof *opened, attribute, buffer, size, written);
}
}
