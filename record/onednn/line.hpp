// Reads the lines that oneDNN prints with ONEDNN_VERBOSE=1, one line for each primitive that it executes. Reading
// uses no heap, no locale and no floating-point arithmetic, so the preloaded library can read lines at any moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "policy/matmul_call.hpp"
#include "policy/precision.hpp"

namespace fp32shim::record {

enum class OneDnnLineKind : std::uint8_t {
    other,      ///< the line tells something else, or oneDNN did not print it
    execution,  ///< the line tells that a primitive or a partition of the graph API was executed
    error,
};

/// Each line that oneDNN prints has one of these texts as its first field.
inline constexpr std::string_view onednn_line_beginnings[] = {"onednn_verbose", "dnnl_verbose", "mkldnn_verbose",
                                                              "onednn_graph_verbose", "dnnl_graph_verbose"};

/// One executed primitive. All its texts are parts of the line, or string literals.
struct OneDnnExecution {
    std::string_view kind;  ///< kind such as `matmul`, `convolution` or `rnn`; `partition` for a partition of the
                            ///< graph API
    std::string_view implementation;  ///< name such as `brg_matmul:avx512_core`; empty: the line names no
                                      ///< implementation
    std::string_view engine;          ///< name such as `cpu`, `gpu` or `gpu:0`; empty: the line names no engine
    std::string_view fpmath;          ///< fpmath mode in the attributes; `strict` if the attributes have no mode
    std::string_view shape;           ///< shape such as `128x256:256x256`; for a partition, its kind, such as
                                      ///< `matmul_post_ops`
    /// Types of elements, such as `f32`; empty: the line names no type. In a backward pass, source and weights are
    /// the tensors that had these names in the forward pass.
    std::string_view source_type, weights_type;
    /// False if the primitive multiplies no matrices, such as `reorder` and `pooling`, or if it is a partition whose
    /// products have lines of their own.
    bool multiplies = true;
    std::optional<policy::Dtype> dtype;  ///< narrowest type of the primitive's tensors except bias and mask; absent:
                                         ///< a tensor has integers, or no type is known
    /// C has the size m×n, and k is the summed dimension, as in MatmulCall. The value -1 means that the sizes are
    /// unknown, or that the primitive is not a plain product.
    std::int64_t m = -1, n = -1, k = -1;
    std::int64_t batch = 1;
    /// Lowest format that the types, the fpmath mode and the implementation permit. The value is `unchanged` if the
    /// format is not known (`doubt` says why), or if the operands are narrower than float32.
    policy::AppliedFormat applied = policy::AppliedFormat::unchanged;
    std::optional<policy::AppliedFormat> actual;  ///< format in which the implementation multiplies; absent: the
                                                  ///< format is not known
    std::string_view doubt;  ///< a clause that tells why `applied` or `actual` is not known; empty: there is no doubt
    std::int64_t duration_ns = -1;  ///< duration in nanoseconds; -1: the line does not tell it
    std::string_view identity;      ///< the part of the line that is the same for equal executions: the text after
                                    ///< `exec,` without the time
};

/// In a recording, the function of a primitive is onednn_prefix followed by the primitive's kind, such as
/// `onednn_matmul`.
inline constexpr std::string_view onednn_prefix = "onednn_";

/// fp32shim_jax.py writes lines in oneDNN's form for products in programs that JAX has XLA compile. Their kinds begin
/// with xla_prefix. In a recording, the function of such a product is its kind, without onednn_prefix.
inline constexpr std::string_view xla_prefix = "xla_compiled_";

/// Returns true if `function`, the function of a recorded decision, comes from a line of oneDNN or a line about JAX.
constexpr bool is_onednn_or_xla(std::string_view function) {
    return function.starts_with(onednn_prefix) || function.starts_with(xla_prefix);
}

/// Reads a line of oneDNN. The newline at its end may be missing. Sets `execution` only if the line is about an
/// execution. If the line was cut off, the members about the missing part stay unknown. The form of the lines is
/// taken from src/common/verbose.cpp and src/graph/utils/verbose.cpp of oneDNN 0.21 to 3.13.
OneDnnLineKind parse_onednn_line(std::string_view line, OneDnnExecution& execution);

}  // namespace fp32shim::record
