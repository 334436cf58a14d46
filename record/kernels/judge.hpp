// Finds out the format in which a GPU kernel multiplies, from the kernel's name and the instructions in its code.
// Uses no heap.
#pragma once

#include <optional>
#include <string_view>

#include "policy/matmul_call.hpp"
#include "policy/precision.hpp"
#include "record/kernels/image.hpp"

namespace fp32shim::record {

struct KernelEvidence {
    std::string_view name;  ///< name that the driver has for the kernel; a C++ kernel has a mangled name
    std::optional<TensorFormats>
        formats;  ///< formats of the tensor-core instructions in the kernel's code; absent: the code was not read
};

struct KernelJudgement {
    /// False if the kernel's name tells that it multiplies no matrices.
    bool multiplies = true;
    /// Type of the operands. float32 also stands for an unknown type.
    policy::Dtype dtype = policy::Dtype::float32;
    /// Lowest format in which the kernel may multiply operands of float32 or float64. The value is `unchanged` if the
    /// format is not known (`doubt` says why) or the operands are narrower than float32.
    policy::AppliedFormat applied = policy::AppliedFormat::unchanged;
    std::string_view doubt;  ///< a clause that follows the kernel's name and tells what is not known about it; empty:
                             ///< there is no doubt
};

/// Returns the judgement of a kernel about which nothing is known, for the reason `doubt`.
constexpr KernelJudgement unknown_kernel(std::string_view doubt) {
    KernelJudgement judgement;
    judgement.doubt = doubt;
    return judgement;
}

/// In a recording, the function of a launched kernel is kernel_prefix followed by the kernel's name, such as
/// `kernel:ampere_sgemm_128x64_nn`.
inline constexpr std::string_view kernel_prefix = "kernel:";
/// In a recording, a replay of a CUDA graph has this text in place of a kernel's name. No kernel has a blank in its
/// name.
inline constexpr std::string_view graph_replay = "graph replay";

/// Judges a kernel by the table of names (names.def) and by the instructions in its code.
KernelJudgement judge_kernel(const KernelEvidence& evidence);

/// Returns true if `file_name` is the name of a library of NVIDIA. The code of NVIDIA's libraries is not read,
/// because the names of their kernels tell the formats.
bool is_nvidia_library(std::string_view file_name);

}  // namespace fp32shim::record
