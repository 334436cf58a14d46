// The format in which a GPU kernel multiplies, by its name and by the instructions in its code. Uses no memory of the
// heap.
#pragma once

#include <optional>
#include <string_view>

#include "policy/matmul_call.hpp"
#include "policy/precision.hpp"
#include "record/kernels/image.hpp"

namespace fp32shim::record {

struct KernelEvidence {
    std::string_view name;  ///< the driver's name of the kernel: mangled, if the kernel is C++
    std::optional<TensorFormats>
        formats;  ///< formats of the instructions in the kernel's code; absent: the code was not read
};

struct KernelJudgement {
    /// False if the kernel's name tells that it multiplies no matrices.
    bool multiplies = true;
    /// Type of the operands. float32 also stands for an unknown type.
    policy::Dtype dtype = policy::Dtype::float32;
    /// Lowest format in which the kernel may multiply operands of float32. `unchanged`: the format is not known
    /// (`doubt` says why), or the operands have another type.
    policy::AppliedFormat applied = policy::AppliedFormat::unchanged;
    std::string_view doubt;  ///< a clause that follows the kernel's name; empty: none
};

/// Returns the judgement of a kernel of which nothing is known. `doubt`: the reason.
constexpr KernelJudgement unknown_kernel(std::string_view doubt) {
    KernelJudgement judgement;
    judgement.doubt = doubt;
    return judgement;
}

/// Beginning of the names by which recordings call kernels, as functions: `kernel:ampere_sgemm_128x64_nn`.
inline constexpr std::string_view kernel_prefix = "kernel:";
/// Stands for the name of a kernel where a graph was replayed. No kernel has a blank in its name.
inline constexpr std::string_view graph_replay = "graph replay";

/// Judges a kernel by the table of names (names.def), then by the instructions in its code.
KernelJudgement judge_kernel(const KernelEvidence& evidence);

/// Returns true for the file name of a library of NVIDIA. The code of such a library is not read, because the names
/// of its kernels tell their formats.
bool is_nvidia_library(std::string_view file_name);

}  // namespace fp32shim::record
