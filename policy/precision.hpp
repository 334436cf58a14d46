// Vocabulary of the project: precisions, formats, floors and reasons. Includes nothing of the project.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fp32shim::policy {

/// Precision that a user asks for (`requested`).
enum class Precision : std::uint8_t {
    native,     ///< the call as the program made it
    highest,    ///< full FP32; aliases `ieee`, `fp32`
    high,       ///< TF32; alias `tf32`
    medium,     ///< BF16; alias `bf16`
    automatic,  ///< spelt `auto`: high if the hardware or the emulation has it, else native
    bf16x9,     ///< FP32 accuracy from nine BF16 products; rules only
};

/// Format that was used (`applied`): the lowest that the call permits.
enum class Applied : std::uint8_t {
    fp32,
    tf32,
    bf16,
    fp16,
    bf16x9,
    unchanged,  ///< only forwarded: the shim cannot know
};

/// Lowest format that is allowed. Ordered from loose to strict: `fp16` < `bf16` < `tf32` < `bf16x9` < `fp32`.
enum class Floor : std::uint8_t { none, fp16, bf16, tf32, bf16x9, fp32 };

/// Treatment of a lower precision on the CPU.
enum class CpuMode : std::uint8_t { off, emulate, accelerate };

/// Rounding to TF32 by emulation: to nearest with ties away from zero or to even, or towards zero.
enum class Tf32Rounding : std::uint8_t { away, even, truncate };

/// Source of a setting, strongest first.
enum class Source : std::uint8_t { guard_pin, rule, thread, process, environment, file, native };

/// Why what was done differs from what was asked for, or `as_requested`. A closed list:
/// docs/log-format.md gives each code's meaning.
enum class Reason : std::uint8_t {
    as_requested,              ///< done as asked, or nothing was asked
    cpu_mode_off,              ///< a lower precision was asked for, the CPU mode is `off`
    cpu_accelerate_not_built,  ///< the CPU mode is `accelerate`, which this version does not have
    compute_capability,        ///< the GPU is older than `min_compute_capability`
    floor,                     ///< a floor forbids what was asked for
    pinned,                    ///< the audit pinned this call site
    not_governable,            ///< recognised and counted; this function offers no way to be governed
    observed,                  ///< narrower inputs (FP16, BF16, FP8): counted, never altered
    invalid_arguments,         ///< the library will report them; forwarded untouched
    no_product,                ///< m, n, k, batch count or alpha is zero: nothing is multiplied
    width_unknown,             ///< the provider's integer width could not be determined
    scratch_limit,             ///< operands too large for the scratch memory, even in blocks
    bf16x9_unavailable,        ///< not on this device or library
    tf32_override,             ///< NVIDIA_TF32_OVERRIDE=0 turns TF32 off
    alignment,                 ///< an array of pointers is lowered only by a rule with `assume_aligned = true`
    solver,                    ///< a call of cuSOLVER is lowered only by a rule that names that caller
    no_such_format,            ///< the function has no way to that format: the next stricter one
    no_entry_point,            ///< the library lacks the function that takes a compute type: as called
    unknown_value,             ///< a compute type, algorithm or math mode that this version does not know: as called
    unknown_handle,            ///< NULL, destroyed or never seen: as called
    library_refused,           ///< the library refused the changed call: as called
    no_algorithm,              ///< cublasLt has no algorithm for the changed call: as called
    protected_call,            ///< a solve, or a caller that relies on FP32: lowered only by a rule that names it
};

std::optional<Precision> parse_precision(std::string_view text);
std::optional<Floor> parse_floor(std::string_view text);
std::optional<CpuMode> parse_cpu_mode(std::string_view text);
std::optional<Tf32Rounding> parse_tf32_rounding(std::string_view text);

std::string_view to_string(Precision precision);
std::string_view to_string(Applied applied);
std::string_view to_string(Floor floor);
std::string_view to_string(CpuMode mode);
std::string_view to_string(Tf32Rounding rounding);
std::string_view to_string(Source source);
std::string_view to_string(Reason reason);

}  // namespace fp32shim::policy
