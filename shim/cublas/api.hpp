// Constants of cuBLAS's interface that the shim uses, from cublas_api.h and library_types.h of CUDA 11 to 13. They
// are copied to this file so that the shim is built and runs without CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fp32shim::cublas {

/// The values of cublasStatus_t (the result of cuBLAS's functions) that the shim distinguishes.
enum Status : std::int32_t {
    status_success = 0,
    status_alloc_failed = 3,
    status_invalid_value = 7,
    status_arch_mismatch = 8,
    status_not_supported = 15,
};

/// Values of cublasComputeType_t, the argument by which a product states its precision.
enum ComputeType : std::int32_t {
    compute_16f = 64,
    compute_16f_pedantic = 65,
    compute_32f = 68,
    compute_32f_pedantic = 69,
    compute_64f = 70,
    compute_64f_pedantic = 71,
    compute_32f_fast_16f = 74,
    compute_32f_fast_16bf = 75,
    compute_32f_fast_tf32 = 77,
    compute_32f_emulated_16bfx9 = 78,
    compute_64f_emulated_fixedpoint = 79,
};

/// Values of cublasMath_t. Bits 0 to 2 choose a format for float32 products, and bit 3 chooses one for float64
/// products. Bit 4 forbids reductions in a type that is narrower than the compute type.
enum MathMode : std::int32_t {
    math_default = 0,
    math_tensor_op = 1,
    math_pedantic = 2,
    math_tf32_tensor_op = 3,
    math_fp32_emulated_bf16x9 = 4,
    math_choice = 7,
    math_fp64_emulated_fixedpoint = 8,
    math_full_precision_reduction = 16,  ///< CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
    math_flags = 8 | 16,
};

/// Values of cublasGemmAlgo_t, the argument by which a product chooses its algorithm.
enum Algorithm : std::int32_t {
    gemm_default = -1,
    gemm_algo23 = 23,
    gemm_default_tensor_op = 99,  ///< values from 99 to 115 allow FP16 kernels
    gemm_algo15_tensor_op = 115,
    gemm_autotune = 999,
};

/// Values of cudaDataType, the type of the numbers in a matrix. In the names, `r` stands for real and `c` for
/// complex.
enum DataType : std::int32_t {
    type_r_32f = 0,
    type_r_64f = 1,
    type_r_16f = 2,
    type_c_32f = 4,
    type_c_64f = 5,
    type_c_16f = 6,
    type_r_16bf = 14,
    type_c_16bf = 15,
    type_r_8f_e4m3 = 28,
    type_r_8f_e5m2 = 29,
    type_r_8f_ue8m0 = 30,
    type_r_6f_e2m3 = 31,
    type_r_6f_e3m2 = 32,
    type_r_4f_e2m1 = 33,
};

/// Values of cublasOperation_t, which transposes or conjugates an operand, and of cublasSideMode_t.
enum Operation : std::int32_t { op_n = 0, op_t = 1, op_c = 2, op_conjg = 3 };
enum Side : std::int32_t { side_left = 0, side_right = 1 };

/// Values of cublasFillMode_t, cublasDiagType_t and cublasPointerMode_t.
enum Fill : std::int32_t { fill_lower = 0, fill_upper = 1, fill_full = 2 };
enum Diagonal : std::int32_t { diagonal_stored = 0, diagonal_unit = 1 };
enum PointerMode : std::int32_t { pointers_to_host = 0, pointers_to_device = 1 };

/// Values of cublasLtMatmulDescAttributes_t (DescAttribute), cublasLtMatrixLayoutAttribute_t (LayoutAttribute),
/// cublasLtMatmulPreferenceAttributes_t (PreferenceAttribute) and cublasLtMatmulAlgoCapAttributes_t (AlgoCapability).
enum DescAttribute : std::int32_t {
    desc_compute_type = 0,
    desc_scale_type = 1,
    desc_pointer_mode = 2,
    desc_trans_a = 3,
    desc_trans_b = 4,
    desc_trans_c = 5,
    desc_fill_mode = 6,
    desc_epilogue = 7,
    desc_bias_batch_stride = 10,
    desc_emulation = 38,  ///< a cublasLtEmulationDesc_t, or NULL; libraries before cuBLAS 13.1 do not know this
                          ///< attribute
    desc_alpha_batch_stride = 39,
    desc_beta_batch_stride = 40,
};
enum LayoutAttribute : std::int32_t {
    layout_type = 0,
    layout_order = 1,
    layout_rows = 2,
    layout_cols = 3,
    layout_ld = 4,
    layout_batch_count = 5,
    layout_batch_stride = 6,
    layout_plane_offset = 7,
    layout_batch_mode = 8,
    // Grouped layouts, which cuBLAS 13.0 does not have yet, have arrays of sizes on the device. The last two
    // attributes are the widths of the integers in these arrays.
    layout_rows_array = 9,
    layout_cols_array = 10,
    layout_ld_array = 11,
    layout_rows_cols_width = 12,
    layout_ld_width = 13,
};
enum BatchMode : std::uint32_t { batch_strided = 0, batch_of_pointers = 1, batch_grouped = 2 };

/// Bits of cublasLtEpilogue_t, which tell how a product's result is changed before it is stored.
enum Epilogue : std::uint32_t { epilogue_none = 1, epilogue_relu = 2, epilogue_bias = 4, epilogue_gelu = 32 };
enum PreferenceAttribute : std::int32_t {
    preference_search_mode = 0,
    preference_max_workspace_bytes = 1,
    preference_reduction_scheme_mask = 3,
    preference_min_alignment_a_bytes = 5,  ///< the attributes for B, C and D have the next numbers
    preference_max_waves_count = 9,
    preference_impl_mask = 12,
};
/// The value of CUBLASLT_SEARCH_BEST_FIT. In every other search mode, the search begins from algorithms in the array
/// of results.
constexpr std::uint32_t search_best_fit = 0;
enum AlgoCapability : std::int32_t {
    capability_numerical_impl_flags = 15,
    capability_min_alignment_a_bytes = 16,
    capability_min_alignment_d_bytes = 19,
    capability_emulates = 22,  ///< tells whether the algorithm emulates its compute type; libraries before cuBLAS
                               ///< 12.9 do not know this attribute
};

/// Values of cublasLtEmulationDescAttributes_t, which tell how float64 is emulated. A cuBLAS handle has the same
/// settings. With control_fixed, products keep the largest number of bits that emulation_most_bits allows, and an
/// offset other than 0 is invalid.
enum EmulationAttribute : std::int32_t {
    emulation_control = 2,  ///< control_fixed; or 0, with which cuBLAS chooses the number of bits by the operands
    emulation_most_bits = 3,
    emulation_offset = 4,
    emulation_count_pointer = 5,  ///< address on the device to which cuBLAS writes the number of bits that a product
                                  ///< kept
};
constexpr std::int32_t control_fixed = 1;
/// The number that cuBLAS writes to the address of emulation_count_pointer for a product that it has not emulated.
constexpr std::int32_t not_emulated = -1;

/// Bits of CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, which tell the formats to which an algorithm rounds its operands.
enum ImplFlags : std::uint64_t {
    impl_input_16f = 0x01ULL << 16,
    impl_input_16bf = 0x02ULL << 16,
    impl_input_tf32 = 0x04ULL << 16,
    impl_input_32f = 0x08ULL << 16,
};

/// Values of CUdevice_attribute that ask the CUDA driver for the two parts of a GPU's compute capability.
enum DeviceAttribute : std::int32_t { compute_capability_major = 75, compute_capability_minor = 76 };

/// A CUstream or cudaStream_t, which is a stream of the driver. nullptr is the default stream.
using Stream = void*;
/// A CUevent, which is an event of the driver.
using Event = void*;

/// The values of CUresult, CUstreamCaptureStatus and CUstreamCaptureMode that the shim distinguishes or sets.
enum DriverResult : std::int32_t { driver_success = 0, driver_not_ready = 600 };
enum CaptureStatus : std::int32_t { not_capturing = 0 };
enum CaptureMode : std::int32_t { capture_relaxed = 2 };

/// Values of CUmemorytype. With memory_unified, the driver finds the location of the memory from its address.
enum MemoryType : std::int32_t { memory_host = 1, memory_unified = 4 };

/// The arguments of a copy (CUDA_MEMCPY2D) of `height` rows of `width` bytes. Rows begin `pitch` bytes apart.
struct Copy2D {
    struct Endpoint {
        std::size_t x = 0;
        std::size_t y = 0;
        std::int32_t memory_type = 0;
        const void* host = nullptr;
        std::uint64_t device = 0;
        void* array = nullptr;
        std::size_t pitch = 0;
    };
    Endpoint from;
    Endpoint to;
    std::size_t width = 0;
    std::size_t height = 0;
};
static_assert(sizeof(Copy2D) == 128, "as cuda.h has it");

}  // namespace fp32shim::cublas
