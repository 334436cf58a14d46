// The environment variables that `fp32shim run --pin` sets, and those that `fp32shim run --reproducible` sets in
// addition to the CPU mode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace fp32shim::record {

/// An environment variable by which a library chooses its code, and the values with which it chooses the same code on
/// most machines.
struct LibraryCodeVariable {
    std::string_view name, on_x86_64, on_aarch64;  ///< if a value is empty, the variable is not set

    constexpr std::string_view value() const {
#if defined(__x86_64__)
        return on_x86_64;
#else
        return on_aarch64;
#endif
    }
};
// The value of this variable is 1, because the results of OpenBLAS's LAPACK depend on the number of threads.
inline constexpr std::string_view threads_of_openblas = "OPENBLAS_NUM_THREADS";
// TORCHINDUCTOR_FX_GRAPH_CACHE is set because torch.compile keeps what it compiled under a key without
// ATEN_CPU_CAPABILITY. In torch 2.15, code that was kept for AVX-512 gave wrong results under avx2, and a later run
// without the variable aborted in code that was kept for AVX2.
// The value of MKL_CBWR is not AVX2, because MKL accepts AVX2 only on Intel's processors, and COMPATIBLE on all.
inline constexpr LibraryCodeVariable library_codes[] = {{"OPENBLAS_CORETYPE", "Haswell", "ARMV8"},
                                                        {threads_of_openblas, "1", "1"},
                                                        {"MKL_CBWR", "COMPATIBLE", {}},
                                                        {"ATEN_CPU_CAPABILITY", "avx2", "default"},
                                                        {"TORCHINDUCTOR_FX_GRAPH_CACHE", "0", "0"},
                                                        {"ONEDNN_MAX_CPU_ISA", "AVX2", {}}};

/// Returns true if all variables of library_codes have their values in an environment. `value_of(name)` returns the
/// value of an environment variable.
bool has_reproducible_variables(const auto& value_of) {
    for (const LibraryCodeVariable& code : library_codes)
        if (!code.value().empty() && value_of(code.name) != code.value()) return false;
    return true;
}

/// Bits of ProcessFacts::pins. pins_known is set if the environment was searched for the variables. pin_library_codes
/// is set if has_reproducible_variables() returned true. Each other bit stands for one variable of all_pins.
inline constexpr std::uint16_t pins_known = 1, pin_onednn = 2, pin_nvidia = 4, pin_cublas_emulation = 8,
                               pin_torch = 16, pin_triton = 32, pin_cupy = 64, pin_jax = 128, pin_mlx = 256,
                               pin_fp64_emulation = 512, pin_xla = 1024, pin_library_codes = 2048;
/// An environment variable that `fp32shim run --pin` sets to keep products that bypass the shim at float32.
struct PinnedVariable {
    std::uint16_t bit;
    std::string_view entry;  ///< the text `NAME=value`
    std::string_view reach;  ///< effect and limits of the variable, as the rest of a sentence whose subject is the
                             ///< variable
};
inline constexpr PinnedVariable all_pins[] = {
    {pin_onednn, "ONEDNN_DEFAULT_FPMATH_MODE=STRICT",
     "keeps oneDNN's float32 operations at float32, except those to which a program gives their own mode"},
    {pin_nvidia, "NVIDIA_TF32_OVERRIDE=0",
     "switches TF32 off in cuBLAS, cuDNN, cuTENSOR and TensorRT for programs that ask for TF32, but not for those "
     "that ask for BF16 or FP16; is not known to do so in cuSPARSE and cuSPARSELt, nor in kernels that others "
     "compile"},
    {pin_cublas_emulation, "CUBLAS_EMULATE_SINGLE_PRECISION=0",
     "keeps cuBLAS from computing float32 products from BF16 products on its own; a program can still ask for that"},
    {pin_fp64_emulation, "CUBLAS_EMULATE_DOUBLE_PRECISION=0",
     "keeps cuBLAS from emulating float64 products on its own; a program can still ask for that"},
    {pin_torch, "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=0",
     "replaces a 1, which NVIDIA's containers set and with which torch asks cuBLAS for TF32 from its start; does not "
     "stop a program that asks for TF32 itself, and does not affect cuDNN, whose TF32 torch allows by default"},
    {pin_triton, "TRITON_F32_DEFAULT=ieee",
     "is the precision of Triton's tl.dot if a kernel names none; does not affect kernels that name one (those of "
     "torch.compile, FlexAttention among them, have the program's own setting of TF32), or that XLA or another "
     "compiler generates"},
    {pin_cupy, "CUPY_TF32=0",
     "keeps CuPy from asking cuBLAS and cuTENSOR for TF32; does not affect a program's own kernels"},
    {pin_jax, "JAX_DEFAULT_MATMUL_PRECISION=highest",
     "is the precision of JAX's products if the program names none; does not affect products with a named precision, "
     "or operands narrower than float32"},
    {pin_xla, "FP32SHIM_XLA_FLAG=--xla_gpu_enable_triton_gemm=false",
     "gives this flag to each XLA that knows it, so that its products go to cuBLAS and not into Triton's kernels; "
     "does not replace what a program says about the flag itself, and does not affect cuDNN's fusions "
     "(--xla_gpu_cudnn_gemm_fusion_level)"},
    {pin_mlx, "MLX_ENABLE_TF32=0", "keeps MLX's float32 products from TF32; does not affect narrower operands"},
};
/// Returns the text `NAME=value` of each variable in all_pins whose bit is set in `pins`.
inline std::vector<std::string_view> pinned_entries(std::uint16_t pins) {
    std::vector<std::string_view> entries;
    for (const PinnedVariable& pin : all_pins)
        if ((pins & pin.bit) != 0) entries.push_back(pin.entry);
    return entries;
}

/// Returns pins_known and the bits of the variables that are set to the values of `fp32shim run --pin`.
/// `value_of(name)` returns the value of an environment variable.
template <class ValueOf>
std::uint16_t pins_in_environment(const ValueOf& value_of) {
    std::uint16_t pins = pins_known;
    if (has_reproducible_variables(value_of)) pins |= pin_library_codes;
    for (const PinnedVariable& pin : all_pins) {
        const std::size_t equals = pin.entry.find('=');
        if (value_of(pin.entry.substr(0, equals)) == pin.entry.substr(equals + 1)) pins |= pin.bit;
    }
    return pins;
}

}  // namespace fp32shim::record
