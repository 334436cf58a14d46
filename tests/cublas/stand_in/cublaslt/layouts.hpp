// The stand-in's contents of cublasLt's opaque descriptors.
//
// A descriptor that was initialised in a smaller space has fewer attributes: `size` is the number of bytes that may
// be used. The first 56 bytes of a matmul descriptor hold everything that every product needs.
#pragma once

#include <cstdint>
#include <iterator>

#include "library_handle.hpp"

namespace stand_in {

struct MatmulDescriptor {
    std::uint32_t mark;  // `valid` plus the number of the version, in whose size this one differs from others
    std::uint32_t size;
    std::int32_t compute_type;
    std::int32_t scale_type;
    std::int32_t pointer_mode;
    std::uint32_t epilogue;
    std::int32_t trans_a, trans_b;
    const void* bias;
    std::int64_t bias_batch_stride;
    std::int32_t bias_type;
    std::int32_t fill_mode;
    // ---- The smallest descriptor ends here, after 56 bytes.
    const void* scale_a;
    const void* scale_b;
    const void* scale_c;
    const void* scale_d;
    void* amax_d;
    void* epilogue_aux;
    std::int64_t epilogue_aux_leading_dimension;
    std::int64_t epilogue_aux_batch_stride;
    const void* epilogue_aux_scale;
    void* epilogue_aux_amax;
    std::int64_t alpha_vector_batch_stride;
    const void* scale_d_out;
    void* emulation_descriptor;
    std::int32_t trans_c;
    std::int32_t sm_count_target;
    std::int32_t epilogue_aux_type;
    std::int32_t scale_modes[5];  // scale modes of A, B, C, D and aux
    std::int32_t scale_d_out_mode;
    std::int8_t fast_accumulation;
    std::uint32_t end_mark;  // the mark again, where the newest version ends

    static constexpr std::uint32_t valid = 0x4d4d4453;
    static constexpr std::size_t smallest = 56;
    static constexpr std::size_t sizes_of_versions[] = {smallest, 96, 168, 208};

    // Returns false if these bytes are no descriptor, or only the beginning of one.
    bool is_valid() const {
        const std::uint32_t version = mark - valid;
        return version < std::size(sizes_of_versions) && size == sizes_of_versions[version] &&
               (size < sizeof *this || end_mark == mark);
    }
};
static_assert(sizeof(MatmulDescriptor) == 208);
static_assert(offsetof(MatmulDescriptor, scale_a) == MatmulDescriptor::smallest);
static_assert(sizeof(MatmulDescriptor) <= sizeof(cublasLtMatmulDescOpaque_t));

struct LayoutDescriptor {
    std::uint32_t mark;
    std::int32_t type;
    std::uint64_t rows, columns;
    std::int64_t leading_dimension;
    std::int64_t batch_stride;
    std::int64_t plane_offset;
    std::int32_t batch_count;
    std::int16_t order;
    std::int16_t batch_mode;

    static constexpr std::uint32_t valid = 0x4c415953;
};
static_assert(sizeof(LayoutDescriptor) <= 64);

// A layout of matrices of different sizes, which are in arrays on the device. Only newer headers have it; an opaque
// layout of theirs is large enough.
struct GroupedLayout {
    LayoutDescriptor layout;  // rows, columns and leading dimension are 0; one matrix per member of the batch
    const std::int32_t* rows;
    const std::int32_t* columns;
    const std::int32_t* leading_dimensions;
    std::int32_t size_width, leading_dimension_width;

    static constexpr std::int16_t batch_mode = 2;
};
static_assert(sizeof(GroupedLayout) <= 112);

struct PreferenceDescriptor {
    std::uint32_t mark;
    std::uint32_t search_mode;
    std::uint64_t maximum_workspace;
    std::uint32_t reduction_schemes;
    std::uint32_t alignment_a, alignment_b, alignment_c, alignment_d;
    float maximum_waves;
    std::uint64_t implementation_mask;

    static constexpr std::uint32_t valid = 0x50524653;
};
static_assert(sizeof(PreferenceDescriptor) <= 64);

// Settings of emulation, to which a matmul descriptor points.
struct EmulationDescriptor {
    std::uint32_t mark = valid;
    std::int32_t strategy = 0;
    std::int32_t special_values = CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT;
    std::int32_t mantissa_control = 0;
    std::int32_t most_bits = 0;
    std::int32_t bit_offset = 0;
    std::int32_t* kept_bits = nullptr;

    static constexpr std::uint32_t valid = 0x454d4c53;
};
static_assert(sizeof(EmulationDescriptor) <= sizeof(cublasLtEmulationDescOpaque_t));

// Fills the part of the structure that fits into `size` bytes, which are at least `smallest`.
void initialize(MatmulDescriptor* descriptor, std::size_t size, cublasComputeType_t compute, cudaDataType scale);
void initialize(LayoutDescriptor* descriptor, cudaDataType type, std::uint64_t rows, std::uint64_t columns,
                std::int64_t leading_dimension);
void initialize(PreferenceDescriptor* descriptor);

}  // namespace stand_in
