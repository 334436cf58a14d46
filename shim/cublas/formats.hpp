// The formats of a cuBLAS call: the one that the program asks for, the one that a decision wants, and the arguments
// that express a format. The code depends on its arguments only, and tables of cases test it
// (tests/unit/shim/cublas_formats_test.cpp).
//
// A format is one to which operands may be rounded. cuBLAS's FAST types and TF32 mode *allow* rounding, so every
// format here is the lowest that a call allows.
#pragma once

#include <cstdint>
#include <optional>

#include "policy/decide.hpp"
#include "policy/precision.hpp"
#include "record/events.hpp"
#include "shim/cublas/environment.hpp"
#include "shim/table/families.hpp"

namespace fp32shim::cublas {

/// The formats to which operands may be rounded, from the lowest to the highest: those of float32 up to fp32, which
/// keeps every bit, then those of float64. They are the formats of GPUs in policy/formats.def. The tables of cuBLAS's
/// compute types and math modes are indexed by them.
enum class Format : std::uint8_t { fp16, bf16, tf32, bf16x9, fp32, fp64_emulated, fp64 };
constexpr bool is_of_float64(Format format) { return format > Format::fp32; }

policy::AppliedFormat applied_format_of(Format format);
/// Returns the cuBLAS format, or nullopt if cuBLAS has none.
std::optional<Format> format_of(policy::AppliedFormat format);

/// Returns true if the GPU can compute in the format; otherwise cuBLAS uses FP32. An unknown GPU (0) counts as able
/// to.
bool gpu_has_format(Format format, std::int32_t compute_capability);

/// Return the compute type, or the bits of the math mode, that chooses a format. With `pedantic`, FP32 and FP64 do
/// not depend on the environment.
std::int32_t compute_type_for(Format format, bool pedantic);
std::int32_t math_mode_for(Format format, bool pedantic);
/// Returns the bits of the program's math mode that stay as they are when a product's mode is set for a format.
std::int32_t kept_math_mode_bits(Format format);

/// Where a call has alpha and beta.
enum class ScalarPlace : std::uint8_t {
    on_host,
    on_device,
    unreadable,  ///< not two numbers that the library is sure to read
};

/// Facts about a product of float16 or bfloat16 that decide in which type it adds.
struct HalfProduct {
    bool is_half = false;
    bool adds_in_fp16 = false;     ///< the function has no compute type, and is cublasHgemm or a batch of it
    bool is_result_float = false;  ///< the result is of float32, so partial sums lose nothing when they are stored
    ScalarPlace scalars = ScalarPlace::on_host;  ///< known only of products that add in FP16
    /// cublasLt: the algorithm adds partial sums in the compute type, or has none.
    bool has_full_reduction = false;

    bool operator==(const HalfProduct&) const = default;
};

/// The facts of a call that decide in which format cuBLAS may compute it, apart from the environment.
struct RequestedPrecision {
    FormatControl control = FormatControl::none;
    std::int32_t math_mode = 0;     ///< math mode that the program set on the handle; 0 for cublasLt, which has none
    std::int32_t compute_type = 0;  ///< 0: the function has none; -1: an invalid value
    std::int32_t algorithm = -1;
    std::int32_t compute_capability = 0;  ///< 10·major + minor; 0: unknown
    bool is_grouped = false;              ///< the function takes grouped batches, and computes in FP32 or TF32 only
    bool has_compute_type_form = true;    ///< the library has an equivalent function that takes a compute type
    bool ignores_tf32_mode = false;       ///< see ignores_tf32_mode()
    bool has_bf16x9 = false;              ///< the library is cuBLAS 12.9 or newer
    bool has_fp64_emulation = false;      ///< the library is cuBLAS 13.1 or newer
    Format of_algorithm =
        Format::fp32;  ///< format to which the program's cublasLt algorithm rounds, by its capability flags
    HalfProduct half{};

    bool operator==(const RequestedPrecision&) const = default;
};

/// Returns true if no cuBLAS is known to round a function's operands in TF32 or TENSOR_OP mode: symm, syrk, syr2k,
/// syrkx, trmm and their Hermitian forms. An H200 with cuBLAS 13.1 ran them in FP32 (rows ..._honours_math_mode of
/// tests/cublas/stand_in/semantics.def). So they are never lowered by these modes. What a mode of the program's may
/// permit is still reported, and raised, because other devices and versions may make use of it.
bool ignores_tf32_mode(const ProductFamily& family);

/// Returns true if the shim knows the call's compute type and algorithm. Other calls are forwarded unchanged.
bool is_known_request(const RequestedPrecision& asked);

/// Returns false if the math mode has bits that the shim does not know. Such a mode counts as allowing any format.
bool has_known_math_mode(const RequestedPrecision& asked);

/// Returns true if the program explicitly keeps FP32 or FP64 by PEDANTIC: in the compute type or, for a function
/// without one, in the handle's math mode.
bool is_pedantic(const RequestedPrecision& asked);

/// Returns true if the format depends on the handle's math mode, not only on the call's compute type.
bool depends_on_math_mode(const RequestedPrecision& asked);

/// Returns the lowest format to which cuBLAS may round operands in the program's own call. If NVIDIA's documentation
/// leaves several possible, returns the lowest of them. Precondition: is_known_request(asked).
Format requested_format(const RequestedPrecision& asked, const Environment& environment);

/// Returns true if the shim knows the compute type of a product of float64.
bool is_known_float64_request(const RequestedPrecision& asked);

/// Returns the format of a float64 product as the program calls it: fp64, or fp64_emulated if cuBLAS may emulate it
/// by fixed-point products. cuBLAS then decides itself, by the size, the GPU and the workspace. Rows f64_* of
/// tests/cublas/stand_in/semantics.def state what is assumed. Precondition: is_known_float64_request(asked).
Format requested_float64_format(const RequestedPrecision& asked, const Environment& environment);

/// The changes with which the shim makes a call instead of the program's own.
struct CallChange {
    Format format = Format::fp32;  ///< lowest format to which cuBLAS may round operands in the changed call
    policy::Reason reason = policy::Reason::as_requested;
    record::How how = record::How::forward;
    std::int32_t compute_type = 0;      ///< used if `how` is compute_type
    std::int32_t math_mode = -1;        ///< math_mode_for() the format during the call; -1: left unchanged
    bool replaces_algorithm = false;    ///< the default algorithm replaces the program's, which allows FP16
    bool converts_scalars = false;      ///< alpha and beta of float16 are passed as float32
    bool needs_full_reduction = false;  ///< cublasLt: only algorithms with HalfProduct::has_full_reduction
    std::uint8_t mantissa_bits = 0;     ///< with fp64_emulated: bits that cuBLAS is to keep; 0: it decides

    bool operator==(const CallChange&) const = default;
};

bool is_known_algorithm(std::int32_t algorithm);

/// Returns true if an algorithm allows FP16 for every compute type.
bool is_tensor_op_algorithm(std::int32_t algorithm);

/// Plans how to run a call in the format that a decision wants. `forbids_lowering` is a reason not to round operands
/// to a lower format than the program asked for; as_requested: there is none. `floor` is the lowest precision allowed
/// to a decision `native`, which leaves the format to the program. Other decisions obey the floor already.
/// Precondition: is_known_request(asked).
CallChange plan_change(const RequestedPrecision& asked, const Environment& environment,
                       policy::Reason forbids_lowering, const policy::Decision& decision, policy::Floor floor,
                       const policy::Policy& policy);

/// Plans how to run a product of float64. A decision other than fp64 and fp64_emulated leaves it as the program made
/// it. `mantissa_bits` are those of CallChange, if the product is emulated. Precondition:
/// is_known_float64_request(asked).
CallChange plan_change_of_float64(const RequestedPrecision& asked, const Environment& environment,
                                  policy::Reason forbids_lowering, const policy::Decision& decision,
                                  std::uint8_t mantissa_bits = 0);

/// Returns a change that reaches the same format by the handle's math mode, for a function that takes no compute
/// type.
CallChange as_math_mode_change(CallChange change);

/// Returns FP32 instead of TF32 if NVIDIA_TF32_OVERRIDE=0 turns TF32 off; otherwise `format`.
inline Format apply_tf32_override(Format format, const Environment& environment) {
    return format == Format::tf32 && environment.tf32_is_off ? Format::fp32 : format;
}

}  // namespace fp32shim::cublas
