// The vocabulary of the project: precisions, formats, floors and reasons. This header includes no other header of the
// project.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace fp32shim::policy {

/// The precision that a user asks for (`requested`): a precision of policy/formats.def, `native` or `automatic`.
enum class Precision : std::uint8_t {
    native = 0,     ///< the call as the program made it
    automatic = 4,  ///< `auto`: TF32 if the GPU, or emulation on the CPU, has it; otherwise native
#define PRECISION(number, name, format) name = (number),
#define RULE_PRECISION(number, name, format) name = (number),
#include "policy/formats.def"
};

/// The number format of a call (`applied` in logs). It is the lowest format, in the order of Floor, that the library
/// was allowed to use. `unchanged` means that the shim only forwarded the call and cannot know the format.
enum class AppliedFormat : std::uint8_t {
#define FORMAT(number, name, ...) name = (number),
#include "policy/formats.def"
};

/// The lowest format that is allowed. A stricter floor has a greater value. floor_met_by() tells which floor a format
/// meets.
enum class Floor : std::uint8_t {
    none = 0,
#define FLOOR(number, name) name = (number),
#define VERIFIED_FLOOR(number, name) name = (number),
#include "policy/formats.def"
};

/// The treatment of products on the CPU if a precision below FP32 is requested.
enum class CpuMode : std::uint8_t { off, emulate, accelerate, reproducible };

/// The rounding of operands to TF32 in emulation: to nearest, with ties away from zero or to even, or towards zero.
enum class Tf32Rounding : std::uint8_t { away, even, truncate };

/// The way in which emulation adds products: in FP32 by the program's own BLAS library, or as a GPU's tensor cores
/// add.
enum class AccumulationModel : std::uint8_t {
#define ACCUMULATION(number, name) name = (number),
#include "policy/tensor_cores.def"
};

/// The type in which products of float16 and bfloat16 add on a GPU: the type that the program asked for, or float32
/// for all additions.
enum class Accumulate : std::uint8_t { as_called, fp32 };

/// The number type in which a product of half-precision matrices adds. `fp32_reduced` is FP32, but sums of parts of k
/// (split-K) may be added in the type of the result. Recordings contain the numbers.
enum class Accumulator : std::uint8_t { unknown, fp16, fp32_reduced, fp32 };

/// The sources of a requested precision, the strongest first.
enum class Source : std::uint8_t { guard_pin, rule, thread, process, environment, file, native };

/// All reasons why a product did not run as requested.
enum class Reason : std::uint8_t {
#define REASON(number, code, ...) code = (number),
#include "policy/reasons.def"
#undef REASON
};

/// The number of reasons. The reasons are numbered from 0.
inline constexpr std::size_t reason_count =
    std::initializer_list<int>{
#define REASON(number, code, ...) (number),
#include "policy/reasons.def"
#undef REASON
    }
        .size();

/// Returns the format that a precision asks for, or nullopt for `native` and `auto`, which ask for no format.
std::optional<AppliedFormat> format_of(Precision precision);
/// Returns how many products emulation on the CPU computes and sums to preview a format, or 0 if it has no preview.
constexpr int preview_product_count(AppliedFormat format) {
    switch (format) {
#define PREVIEW(format, rounding, products) \
    case AppliedFormat::format:             \
        return products;
#include "policy/formats.def"
        default:
            return 0;
    }
}
/// Returns true if emulation on the CPU previews a format.
constexpr bool has_preview(AppliedFormat format) { return preview_product_count(format) > 0; }
/// Returns true if emulation on the CPU previews a format with operands of float64.
constexpr bool has_float64_preview(AppliedFormat format) {
    return format == AppliedFormat::fp32 || format == AppliedFormat::fixed || format == AppliedFormat::sgemm ||
           (preview_product_count(format) == 1 && format != AppliedFormat::fp32_perturbed);
}

/// Returns true if a rule for float64 products can ask for a format, because CPUs preview it or cuBLAS computes in
/// it.
constexpr bool is_allowed_for_float64(AppliedFormat format) {
    return format == AppliedFormat::fp64 || format == AppliedFormat::fp64_emulated || has_float64_preview(format);
}

/// Returns the strictest floor that a format meets, or nullopt for `unchanged`, which stands for an unknown format.
constexpr std::optional<Floor> floor_met_by(AppliedFormat format) {
    if (format == AppliedFormat::unchanged) return std::nullopt;
    switch (format) {
#define FORMAT(number, name, floor, ...) \
    case AppliedFormat::name:            \
        return Floor::floor;
#include "policy/formats.def"
    }
    return std::nullopt;
}

/// Returns the format that GPUs use in place of `format`. The result is `format` itself if some GPU has it.
constexpr AppliedFormat nearest_gpu_format(AppliedFormat format) {
    switch (format) {
#define FORMAT(number, name, floor, gpus, on_gpu) \
    case AppliedFormat::name:                     \
        return AppliedFormat::on_gpu;
#include "policy/formats.def"
    }
    return format;
}

/// Returns true if GPUs of a compute capability, 10·major + minor, compute in a format.
constexpr bool gpu_supports(AppliedFormat format, std::int32_t capability) {
    switch (format) {
#define FORMAT(number, name, floor, gpus, on_gpu) \
    case AppliedFormat::name:                     \
        return gpus;
#include "policy/formats.def"
    }
    return false;
}

std::optional<Precision> parse_precision(std::string_view text);
std::optional<Floor> parse_floor(std::string_view text);

std::string_view to_string(Precision precision);
std::string_view to_string(AppliedFormat applied);
std::string_view to_string(Floor floor);
std::string_view to_string(CpuMode mode);
std::string_view to_string(Tf32Rounding rounding);
std::string_view to_string(AccumulationModel accumulation);
/// Returns the word of an accumulator, or an empty text for Accumulator::unknown.
std::string_view to_string(Accumulator accumulator);
std::string_view to_string(Source source);
std::string_view to_string(Reason reason);
/// Returns the reason as a clause that follows "because". The clause is empty if only a newer version of fp32shim
/// knows the reason.
std::string_view reason_clause(Reason reason);
/// Returns advice to a user whose call did not run as requested for this reason, or an empty text if there is none.
std::string_view remedy_of(Reason reason);
/// Returns true if `code` is the text of a reason that only products on a CPU can have.
bool is_cpu_only_reason(std::string_view code);

}  // namespace fp32shim::policy
