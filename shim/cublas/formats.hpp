// What a call asks cuBLAS for, what is wished instead, and how the call says so. Pure: tables of cases test it
// (tests/unit/cublas_formats_test.cpp).
//
// A format is what operands may be rounded to. cuBLAS's FAST types and TF32 mode *allow*; so all formats here are the
// lowest that a call permits.
#pragma once

#include <cstdint>

#include "policy/decide.hpp"
#include "policy/precision.hpp"
#include "record/events.hpp"
#include "shim/cublas/environment.hpp"
#include "shim/table/families.hpp"

namespace fp32shim::cublas {

/// From loose to strict; FP32 keeps everything.
enum class Format : std::uint8_t { fp16, bf16, tf32, bf16x9, fp32 };

policy::Applied applied_of(Format format);

/// How a call says what it allows.
struct Asked {
    Road road = Road::none;
    std::int32_t math_mode = 0;     ///< of the handle, as the program set it; 0 for cublasLt, which has none
    std::int32_t compute_type = 0;  ///< 0: the function has none; -1: a value that is no compute type
    std::int32_t algorithm = -1;
    std::int32_t compute_capability = 0;  ///< 10·major + minor; 0: unknown
    bool is_grouped = false;              ///< knows FP32 and TF32 only
    bool has_compute_type_form = true;    ///< the library has the function that takes a compute type
    bool has_bf16x9 = false;              ///< the library is of cuBLAS 12.9 or newer
    Format of_algorithm = Format::fp32;   ///< cublasLt: what the program's algorithm says that it rounds to

    bool operator==(const Asked&) const = default;
};

/// Whether compute type and algorithm are ones that this version knows; what it does not know is forwarded as it is.
bool is_known(const Asked& asked);

/// Returns false where the math mode has bits that this version does not know: they are taken to allow anything.
bool has_known_mode(const Asked& asked);

/// Whether the math mode counts beside the compute type.
bool depends_on_mode(const Asked& asked);

/// The lowest format that the call permits as the program made it. Where the documentation leaves it open, the lower
/// one. Precondition: is_known.
Format asked_format(const Asked& asked, const Environment& environment);

/// What speaks against rounding more than the program asked for.
struct Restraints {
    policy::Reason forbid_lowering = policy::Reason::as_requested;  ///< as_requested: nothing does
};

/// What to change about a call.
struct Change {
    Format format = Format::fp32;  ///< what the changed call permits
    policy::Reason reason = policy::Reason::as_requested;
    record::How how = record::How::forward;
    std::int32_t compute_type = 0;    ///< where `how` is compute_type
    std::int32_t math_mode = -1;      ///< the choice (bits 0 to 2) to be in force during the call; -1: as it is
    bool replaces_algorithm = false;  ///< by the default one: the program's allows FP16

    bool operator==(const Change&) const = default;
};

bool is_known_algorithm(std::int32_t algorithm);

/// Whether an algorithm allows FP16 whatever the compute type says.
bool is_tensor_op(std::int32_t algorithm);

/// How to honour a decision. `floor` is the strictest in force: the decision `native` is held to it here, where it is
/// known what the program asked for. Precondition: is_known.
Change plan_change(const Asked& asked, const Environment& environment, const Restraints& restraints,
                   const policy::Decision& decision, policy::Floor floor, const policy::Policy& policy);

/// The same by the handle's math mode, for a function without a compute type.
Change by_math_mode(Change change);

/// What a format comes to under NVIDIA_TF32_OVERRIDE=0.
inline Format in_effect(Format format, const Environment& environment) {
    return format == Format::tf32 && environment.tf32_is_off ? Format::fp32 : format;
}

}  // namespace fp32shim::cublas
