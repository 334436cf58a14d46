// The formats of a cuBLAS call: the format that the program asks for, the format that a decision wants, and the
// arguments that express a format. The code depends only on its arguments, and tables of cases test it
// (tests/unit/shim/cublas_formats_test.cpp).
//
// A format is one to which operands may be rounded. cuBLAS's FAST types and TF32 mode *allow* rounding, so every
// format in this file is the lowest one that a call allows.
#pragma once

#include <cstdint>
#include <optional>

#include "policy/decide.hpp"
#include "policy/precision.hpp"
#include "record/events.hpp"
#include "shim/cublas/environment.hpp"
#include "shim/table/families.hpp"

namespace fp32shim::cublas {

/// The formats to which operands may be rounded, from the lowest to the highest: first the formats of float32 up to
/// fp32, which keeps every bit, and then the formats of float64. They are the formats of GPUs in policy/formats.def.
/// The tables of cuBLAS's compute types and math modes are indexed by them.
enum class Format : std::uint8_t { fp16, bf16, tf32, bf16x9, fp32, fp64_emulated, fp64 };
constexpr bool is_of_float64(Format format) { return format > Format::fp32; }

policy::AppliedFormat applied_format_of(Format format);
/// Returns the cuBLAS format that corresponds to `format`, or nullopt if cuBLAS has none.
std::optional<Format> format_of(policy::AppliedFormat format);

/// Returns true if the GPU can compute in the format; otherwise cuBLAS uses FP32. A GPU with unknown compute
/// capability (0) counts as able to compute in every format.
bool gpu_has_format(Format format, std::int32_t compute_capability);

/// These functions return the compute type, or the bits of the math mode, that chooses a format. With `pedantic`,
/// FP32 and FP64 do not depend on environment variables.
std::int32_t compute_type_for(Format format, bool pedantic);
std::int32_t math_mode_for(Format format, bool pedantic);
/// Returns the bits of the program's math mode that stay as they are when the math mode is set for a product in
/// `format`.
std::int32_t kept_math_mode_bits(Format format);

/// Where the alpha and beta of a call lie.
enum class ScalarPlace : std::uint8_t {
    on_host,
    on_device,
    unreadable,  ///< on the host, but the library may read no number for a scalar, or more than one
};

/// Facts about a product of float16 or bfloat16 that decide in which type it adds.
struct HalfProduct {
    bool is_half = false;
    bool adds_in_fp16 = false;     ///< true if the function has no compute type, and is cublasHgemm or a batched form
                                   ///< of it
    bool is_result_float = false;  ///< true if the result is float32, so partial sums lose nothing when they are
                                   ///< stored
    ScalarPlace scalars = ScalarPlace::on_host;  ///< known only for products that add in FP16
    /// For cublasLt: true if the algorithm adds partial sums in the compute type, or has no partial sums.
    bool has_full_reduction = false;

    bool operator==(const HalfProduct&) const = default;
};

/// The facts about a call, except the environment, that decide in which format cuBLAS may compute it.
struct RequestedPrecision {
    FormatControl control = FormatControl::none;
    std::int32_t math_mode = 0;     ///< math mode that the program set on the handle; 0 for cublasLt, which has no
                                    ///< math mode
    std::int32_t compute_type = 0;  ///< 0: the function has no compute type; -1: the value is invalid
    std::int32_t algorithm = -1;
    std::int32_t compute_capability = 0;  ///< 10·major + minor of the GPU's compute capability; 0: unknown
    bool is_grouped = false;              ///< true if the function takes batches in groups, and computes in FP32 or
                                          ///< TF32 only
    bool has_compute_type_form = true;    ///< true if the library has an equivalent function that takes a compute
                                          ///< type
    bool ignores_tf32_mode = false;       ///< the result of ignores_tf32_mode() for the function
    bool has_bf16x9 = false;              ///< true if the library is cuBLAS 12.9 or newer
    bool has_fp64_emulation = false;      ///< true if the library is cuBLAS 13.1 or newer
    Format of_algorithm =
        Format::fp32;  ///< the format to which the program's cublasLt algorithm rounds, by its capability flags
    HalfProduct half{};

    bool operator==(const RequestedPrecision&) const = default;
};

/// Returns true if no cuBLAS is known to round the operands of this family's functions in TF32 or TENSOR_OP mode. The
/// families are symm, syrk, syr2k, syrkx, trmm and their Hermitian forms. An H200 with cuBLAS 13.1 ran them in FP32
/// (rows ..._honours_math_mode of tests/cublas/stand_in/semantics.def). So the shim never lowers their calls by these
/// modes. If the program sets such a mode, the shim still reports what the mode may permit, and replaces the mode if
/// a floor demands that, because other devices and versions may make use of it.
bool ignores_tf32_mode(const ProductFamily& family);

/// Returns true if the shim knows the call's compute type and algorithm. Calls for which it returns false are
/// forwarded unchanged.
bool is_known_request(const RequestedPrecision& asked);

/// Returns false if the math mode has bits that the shim does not know. A math mode with unknown bits counts as
/// allowing any format.
bool has_known_math_mode(const RequestedPrecision& asked);

/// Returns true if the program explicitly keeps FP32 or FP64 by PEDANTIC. PEDANTIC is a property of the compute type,
/// or of the handle's math mode if the function has no compute type.
bool is_pedantic(const RequestedPrecision& asked);

/// Returns true if the format depends on the handle's math mode, and not only on the call's compute type.
bool depends_on_math_mode(const RequestedPrecision& asked);

/// Returns the lowest format to which cuBLAS may round operands in the program's own call. If NVIDIA's documentation
/// leaves several formats possible, returns the lowest of them. Precondition: is_known_request(asked).
Format requested_format(const RequestedPrecision& asked, const Environment& environment);

/// Returns true if the shim knows the compute type of a float64 product.
bool is_known_float64_request(const RequestedPrecision& asked);

/// Returns the format of a float64 product in the program's own call: fp64, or fp64_emulated if cuBLAS may emulate it
/// by fixed-point products. In the latter case cuBLAS decides by the size, the GPU and the workspace whether it
/// emulates. The rows f64_* of tests/cublas/stand_in/semantics.def state what is assumed. Precondition:
/// is_known_float64_request(asked).
Format requested_float64_format(const RequestedPrecision& asked, const Environment& environment);

/// The changes that the shim makes to the program's call.
struct CallChange {
    Format format = Format::fp32;  ///< lowest format to which cuBLAS may round operands in the changed call
    policy::Reason reason = policy::Reason::as_requested;
    record::How how = record::How::forward;
    std::int32_t compute_type = 0;      ///< the compute type of the changed call, if `how` is compute_type
    std::int32_t math_mode = -1;        ///< the math mode that is set for the time of the call, as math_mode_for()
                                        ///< returns it; -1: the math mode is not changed
    bool replaces_algorithm = false;    ///< true if the default algorithm replaces the program's algorithm, which
                                        ///< allows FP16
    bool converts_scalars = false;      ///< true if alpha and beta are passed as float32 instead of float16
    bool needs_full_reduction = false;  ///< for cublasLt: true if only algorithms with
                                        ///< HalfProduct::has_full_reduction may run
    std::uint8_t mantissa_bits = 0;     ///< with fp64_emulated: the number of bits that cuBLAS is to keep; 0: cuBLAS
                                        ///< decides

    bool operator==(const CallChange&) const = default;
};

bool is_known_algorithm(std::int32_t algorithm);

/// Returns true if an algorithm allows FP16 for every compute type.
bool is_tensor_op_algorithm(std::int32_t algorithm);

/// Plans how to run a call in the format that a decision wants. `forbids_lowering` is the reason why operands must
/// not be rounded to a lower format than the program asked for, or as_requested if they may be. `floor` is the lowest
/// precision allowed for a decision with the precision `native`, which leaves the format to the program. Other
/// decisions obey the floor already. Precondition: is_known_request(asked).
CallChange plan_change(const RequestedPrecision& asked, const Environment& environment,
                       policy::Reason forbids_lowering, const policy::Decision& decision, policy::Floor floor,
                       const policy::Policy& policy);

/// Plans how to run a float64 product. A decision other than fp64 and fp64_emulated leaves the product as the program
/// made it. `mantissa_bits` becomes CallChange::mantissa_bits if the product is emulated. Precondition:
/// is_known_float64_request(asked).
CallChange plan_change_of_float64(const RequestedPrecision& asked, const Environment& environment,
                                  policy::Reason forbids_lowering, const policy::Decision& decision,
                                  std::uint8_t mantissa_bits = 0);

/// Returns `change`, altered so that the call reaches the same format by the handle's math mode. This is for
/// functions that take no compute type.
CallChange as_math_mode_change(CallChange change);

/// Returns FP32 instead of TF32 if NVIDIA_TF32_OVERRIDE=0 turns TF32 off. Otherwise returns `format`.
inline Format apply_tf32_override(Format format, const Environment& environment) {
    return format == Format::tf32 && environment.tf32_is_off ? Format::fp32 : format;
}

}  // namespace fp32shim::cublas
