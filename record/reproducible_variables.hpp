// The environment variables that `fp32shim run --reproducible` sets in addition to the CPU mode.
#pragma once

#include <string_view>

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

}  // namespace fp32shim::record
