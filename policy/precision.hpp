// Vocabulary of the project: precisions, formats, floors and reasons. Includes nothing of the project.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace fp32shim::policy {

/// Precision that a user asks for (`requested`).
enum class Precision : std::uint8_t {
    native,     ///< the call as the program made it
    highest,    ///< full FP32; aliases `ieee`, `fp32`
    high,       ///< TF32; alias `tf32`
    medium,     ///< BF16; alias `bf16`
    automatic,  ///< `auto`: TF32 if the GPU, or emulation on the CPU, has it, else native
    // Allowed in rules only:
    bf16x9,  ///< FP32 accuracy from nine BF16 products
    bf16x2,  ///< operands as sums of two BF16 numbers, three products
    bf16x3,  ///< operands as sums of three BF16 numbers, six products
    tf32x3,  ///< operands as sums of two TF32 numbers, three products
    xf32,    ///< TF32 by cutting bits off
};

/// Number format: the lowest, by the order of Floor, that the executed call let the library use (`applied` in logs).
enum class Applied : std::uint8_t {
    fp32,
    tf32,
    bf16,
    fp16,
    bf16x9,
    unchanged,  ///< only forwarded by the shim, which cannot know the format
    bf16x2,
    bf16x3,
    tf32x3,
    xf32,
};

/// Lowest allowed format, in this order from loose to strict: `fp16` < `bf16` < `tf32` < `bf16x9` < `fp32`. Formats
/// without a floor of their own meet one of these: floor_met_by.
enum class Floor : std::uint8_t { none, fp16, bf16, tf32, bf16x9, fp32 };

/// Treatment of products on the CPU for which a precision below FP32 is asked.
enum class CpuMode : std::uint8_t { off, emulate, accelerate };

/// Rounding to TF32 by emulation: to nearest with ties away from zero or to even, or towards zero.
enum class Tf32Rounding : std::uint8_t { away, even, truncate };

/// Source of a requested precision, strongest first.
enum class Source : std::uint8_t { guard_pin, rule, thread, process, environment, file, native };

/// Reasons why a product did not run as asked; a closed list.
enum class Reason : std::uint8_t {
#define REASON(number, code, ...) code = (number),
#include "policy/reasons.def"
#undef REASON
};

/// Number of reasons. All values of Reason are below it.
inline constexpr std::size_t reason_count =
    std::initializer_list<int>{
#define REASON(number, code, ...) (number),
#include "policy/reasons.def"
#undef REASON
    }
        .size();

/// Returns the format that a precision asks for; nullopt for `native` and `auto`, which ask for none.
std::optional<Applied> format_of(Precision precision);
/// Returns the strictest floor that a format meets; nullopt for `unchanged`. Between TF32 and FP32 only BF16x9 meets
/// more than the floor `tf32`: the others leave products of parts out, so that their accuracy depends on the data.
std::optional<Floor> floor_met_by(Applied format);

std::optional<Precision> parse_precision(std::string_view text);
std::optional<Floor> parse_floor(std::string_view text);

std::string_view to_string(Precision precision);
std::string_view to_string(Applied applied);
std::string_view to_string(Floor floor);
std::string_view to_string(CpuMode mode);
std::string_view to_string(Tf32Rounding rounding);
std::string_view to_string(Source source);
std::string_view to_string(Reason reason);
/// Returns the reason as a clause that follows "because"; empty for a reason that only a newer version has.
std::string_view because(Reason reason);
/// Returns advice to a user whose call did not run as asked, for this reason; empty if there is none to give.
std::string_view remedy_of(Reason reason);
/// Returns true if `code` is the text of a reason that only products on a CPU can have.
bool is_reason_of_cpu(std::string_view code);

}  // namespace fp32shim::policy
