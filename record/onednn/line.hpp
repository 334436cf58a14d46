// The lines that oneDNN prints with ONEDNN_VERBOSE=1: one for each primitive that it executes. Uses no memory of the
// heap, no locale and no floating-point arithmetic, so the preloaded library can read lines at any moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "policy/matmul_call.hpp"
#include "policy/precision.hpp"

namespace fp32shim::record {

enum class OneDnnLineKind : std::uint8_t {
    other,      ///< tells something else, or was not printed by oneDNN
    execution,  ///< a primitive, or a partition of the graph API, was executed
    error,
};

/// The first fields of all lines of oneDNN.
inline constexpr std::string_view onednn_line_beginnings[] = {"onednn_verbose", "dnnl_verbose", "mkldnn_verbose",
                                                              "onednn_graph_verbose", "dnnl_graph_verbose"};

/// One executed primitive. All texts are parts of the line, or static.
struct OneDnnExecution {
    std::string_view kind;            ///< `matmul`, `convolution`, `rnn`; `partition` for one of the graph API
    std::string_view implementation;  ///< `brg_matmul:avx512_core`; empty: the line names none
    std::string_view engine;          ///< `cpu`, `gpu`, `gpu:0`; empty: the line names none
    std::string_view fpmath;          ///< mode in the attributes; `strict` if they have none
    std::string_view shape;           ///< `128x256:256x256`; for a partition its kind, such as `matmul_post_ops`
    /// Types of elements: `f32`; empty: the line names none. The backward pass has the
    /// names `source` and `weights` of the forward pass.
    std::string_view source_type, weights_type;
    /// False if the primitive multiplies no matrices (`reorder`, `pooling`), or if the products in it have lines of
    /// their own (a partition).
    bool multiplies = true;
    std::optional<policy::Dtype>
        dtype;  ///< narrowest type of the primitive's tensors but the bias; absent: integers, or unknown
    /// C is m×n, k is the summed dimension, as in MatmulCall; -1: unknown, or the primitive is no plain product.
    std::int64_t m = -1, n = -1, k = -1;
    std::int64_t batch = 1;
    /// Lowest format that types, fpmath mode and implementation permit. `unchanged`: not known (`doubt`), or the
    /// operands are narrower than float32 anyway.
    policy::AppliedFormat applied = policy::AppliedFormat::unchanged;
    std::optional<policy::AppliedFormat> actual;  ///< format in which the implementation computes; absent: not known
    std::string_view doubt;         ///< a clause why `applied` or `actual` is not known; empty: they are
    std::int64_t duration_ns = -1;  ///< -1: the line does not tell it
    std::string_view identity;  ///< the part of the line that equal executions share: all after `exec,` but the time
};

/// Beginning of the name by which recordings call a kind of primitive, as a function: `onednn_matmul`.
inline constexpr std::string_view onednn_prefix = "onednn_";

/// Beginning of the kinds of products in programs that JAX has XLA compile, for which the start-up file of Python
/// programs (fp32shim_jax.py) writes such lines. A kind is the name of a function, as it stands, in recordings.
inline constexpr std::string_view xla_prefix = "xla_compiled_";

/// Returns true for the function of a row that was recorded from a line of oneDNN, or from one about JAX.
constexpr bool is_onednn_or_xla(std::string_view function) {
    return function.starts_with(onednn_prefix) || function.starts_with(xla_prefix);
}

/// Reads a line of oneDNN, whose final newline may be missing. Sets `execution` only if the line tells of an
/// execution. If the line was cut off, the members that it lacks stay unknown. Source: src/common/verbose.cpp and
/// src/graph/utils/verbose.cpp of oneDNN 0.21 to 3.13.
OneDnnLineKind parse_onednn_line(std::string_view line, OneDnnExecution& execution);

}  // namespace fp32shim::record
