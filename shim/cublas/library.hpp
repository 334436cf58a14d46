// The functions that the shim calls in a loaded cuBLAS or cublasLt library.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/cublas/api.hpp"
#include "shim/cublas/driver.hpp"
#include "shim/cublas/lt_algorithms.hpp"
#include "shim/loader/foreign_function.hpp"
#include "shim/loader/loaded_object.hpp"

namespace fp32shim::cublas {

using Handle = void*;

/// The size of one version of cublasLtMatmulDesc_t. A descriptor begins with its version, and the library handles it
/// as a descriptor of that version. A program that was built with older headers makes smaller descriptors.
struct DescriptorSize {
    std::int32_t version = 0;
    std::uint32_t size = 0;  ///< size in bytes of a descriptor of this version; 0 if there is no descriptor of the
                             ///< version
};
constexpr std::size_t max_descriptor_size = 512;
using DescriptorSizes = std::array<DescriptorSize, 8>;

/// The types of functions that read or set an attribute of a descriptor, layout, preference or algorithm of cublasLt.
using GetAttributeOf = ForeignFunction<std::int32_t(const void* object, std::int32_t attribute, void* value,
                                                    std::size_t size, std::size_t* written)>;
using SetAttributeOf =
    ForeignFunction<std::int32_t(void* object, std::int32_t attribute, const void* value, std::size_t size)>;

/// The functions that the shim calls in one library. A member is nullptr if the library lacks the function. The
/// object is never freed.
struct Library {
    const LoadedObject& object;
    std::uint32_t loads;   ///< value of LoadedObject::loads when the functions were looked up
    std::int32_t version;  ///< version of the library: 120903 is 12.9.3; 0 if the version is unknown

    explicit Library(const LoadedObject& library);
    void* symbol(const char* name) const;

    ForeignFunction<std::int32_t(Handle, std::int32_t)> set_math_mode{symbol("cublasSetMathMode")};
    ForeignFunction<std::int32_t(Handle, std::int32_t*)> get_math_mode{symbol("cublasGetMathMode")};
    ForeignFunction<std::int32_t(Handle, Stream*)> get_stream{symbol("cublasGetStream_v2")};
    ForeignFunction<std::int32_t(Handle, std::int32_t*)> get_pointer_mode{symbol("cublasGetPointerMode_v2")};
    /// The functions that read and set one of a handle's settings for the emulation of float64.
    struct EmulationSetting {
        ForeignFunction<std::int32_t(Handle, std::int32_t*)> get;
        ForeignFunction<std::int32_t(Handle, std::int32_t)> set;
    };
    EmulationSetting emulation_setting(const char* get, const char* set) const {
        return {decltype(EmulationSetting::get)(symbol(get)), decltype(EmulationSetting::set)(symbol(set))};
    }
    /// The settings offset, most bits and control, in the order in which they are changed. EmulationAttribute
    /// explains them.
    std::array<EmulationSetting, 3> emulation{emulation_setting("cublasGetFixedPointEmulationMantissaBitOffset",
                                                                "cublasSetFixedPointEmulationMantissaBitOffset"),
                                              emulation_setting("cublasGetFixedPointEmulationMaxMantissaBitCount",
                                                                "cublasSetFixedPointEmulationMaxMantissaBitCount"),
                                              emulation_setting("cublasGetFixedPointEmulationMantissaControl",
                                                                "cublasSetFixedPointEmulationMantissaControl")};
    ForeignFunction<std::int32_t(Handle, std::int32_t**)> get_count_pointer{
        symbol("cublasGetFixedPointEmulationMantissaBitCountPointer")};
    ForeignFunction<std::int32_t(Handle, std::int32_t*)> set_count_pointer{
        symbol("cublasSetFixedPointEmulationMantissaBitCountPointer")};
    void* gemm_ex{symbol("cublasGemmEx")};  ///< the function with 32-bit integers

    // Functions of cublasLt.
    mutable std::atomic<const DescriptorSizes*> desc_sizes{nullptr};
    ForeignFunction<std::int32_t(void* desc, std::size_t size, std::int32_t compute_type, std::int32_t scale_type)>
        desc_init{symbol("cublasLtMatmulDescInit_internal")};
    SetAttributeOf desc_set{symbol("cublasLtMatmulDescSetAttribute")};
    GetAttributeOf desc_get{symbol("cublasLtMatmulDescGetAttribute")};
    ForeignFunction<std::int32_t(void* emulation, std::size_t size)> emulation_init{
        symbol("cublasLtEmulationDescInit_internal")};
    SetAttributeOf emulation_set{symbol("cublasLtEmulationDescSetAttribute")};
    GetAttributeOf emulation_get{symbol("cublasLtEmulationDescGetAttribute")};
    ForeignFunction<std::int32_t(void* layout, std::size_t size, std::int32_t type, std::uint64_t rows,
                                 std::uint64_t columns, std::int64_t ld)>
        layout_init{symbol("cublasLtMatrixLayoutInit_internal")};
    GetAttributeOf layout_get{symbol("cublasLtMatrixLayoutGetAttribute")};
    ForeignFunction<std::int32_t(void* preference, std::size_t size)> preference_init{
        symbol("cublasLtMatmulPreferenceInit_internal")};
    SetAttributeOf preference_set{symbol("cublasLtMatmulPreferenceSetAttribute")};
    GetAttributeOf preference_get{symbol("cublasLtMatmulPreferenceGetAttribute")};
    ForeignFunction<std::int32_t(Handle, const void* desc, const void* a, const void* b, const void* c, const void* d,
                                 const void* algo, void* result)>
        algo_check{symbol("cublasLtMatmulAlgoCheck")};
    GetAttributeOf algo_capability{symbol("cublasLtMatmulAlgoCapGetAttribute")};
    GetAttributeOf algo_configuration{symbol("cublasLtMatmulAlgoConfigGetAttribute")};
    ForeignFunction<std::int32_t(Handle, const void* desc, const void* a, const void* b, const void* c, const void* d,
                                 const void* preference, std::int32_t wanted, void* results, std::int32_t* found)>
        heuristic{symbol("cublasLtMatmulAlgoGetHeuristic")};

    bool has_bf16x9() const { return version >= 120900; }
    bool has_fp64_emulation() const { return version >= 130100; }
};

/// Returns the functions of a library that the shim calls. Finds them on the first call. Thread-safe, lock-free.
/// Precondition: the library is loaded, and an elf::ReadGuard is held.
const Library* library_of(const LoadedObject& object);

/// Returns the size in bytes of a descriptor of this version, or 0 if the library does not make one. Measures the
/// sizes on the first call.
std::size_t descriptor_size(const Library& library, std::int32_t version);

/// Returns an alignment in bytes that suffices for all four matrices of a product that `algorithm` runs.
std::uint32_t min_alignment_of(const Library& library, const Algorithm64& algorithm);

}  // namespace fp32shim::cublas
