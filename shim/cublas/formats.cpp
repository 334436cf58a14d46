#include "shim/cublas/formats.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "policy/words.hpp"
#include "shim/cublas/api.hpp"

namespace fp32shim::cublas {
namespace {

using policy::AppliedFormat;
using policy::Decision;
using policy::Floor;
using policy::Precision;
using policy::Reason;

constexpr AppliedFormat applied[] = {AppliedFormat::fp16,   AppliedFormat::bf16, AppliedFormat::tf32,
                                     AppliedFormat::bf16x9, AppliedFormat::fp32, AppliedFormat::fp64_emulated,
                                     AppliedFormat::fp64};

/// Returns true if the array `applied` has the same formats as policy/formats.def has for float32 on GPUs, in the
/// opposite order.
constexpr bool are_the_formats_of_gpus() {
    std::size_t next = static_cast<std::size_t>(Format::fp32) + 1;
    for (const auto& [name, format] : policy::applied_words) {
        const bool is_of_float32 = format != AppliedFormat::unchanged && format != AppliedFormat::fp64 &&
                                   format != AppliedFormat::fp64_emulated;
        if (!is_of_float32 || policy::nearest_gpu_format(format) != format) continue;
        if (next == 0 || applied[--next] != format) return false;
    }
    return next == 0;
}
static_assert(are_the_formats_of_gpus());

Format nearest_available_format(Format format, std::int32_t compute_capability) {
    return gpu_has_format(format, compute_capability) ? format : Format::fp32;
}

/// Returns the format that environment variables give to a call that asks for FP32 but not for PEDANTIC.
Format format_of_environment(const RequestedPrecision& asked, const Environment& environment) {
    if (environment.tf32_may_be_on && gpu_has_format(Format::tf32, asked.compute_capability)) return Format::tf32;
    if (environment.emulates_fp32 && gpu_has_format(Format::bf16x9, asked.compute_capability)) return Format::bf16x9;
    return Format::fp32;
}

Format less_precise_of(Format a, Format b) { return a < b ? a : b; }

/// Returns the format that the handle's math mode allows, without regard to PEDANTIC. A combination of bits that the
/// header does not list is read bit by bit. A mode with unknown bits is assumed to allow any format.
Format format_of_mode_bits(const RequestedPrecision& asked) {
    if (!has_known_math_mode(asked)) return Format::fp16;
    switch (asked.math_mode & math_choice) {
        case math_tf32_tensor_op:
            return nearest_available_format(Format::tf32, asked.compute_capability);
        case math_tensor_op:
        case math_tensor_op | math_fp32_emulated_bf16x9:
        case math_tf32_tensor_op | math_fp32_emulated_bf16x9:
            return nearest_available_format(Format::fp16, asked.compute_capability);
        case math_fp32_emulated_bf16x9:
        case math_pedantic | math_fp32_emulated_bf16x9:
            return nearest_available_format(Format::bf16x9, asked.compute_capability);
        default:
            return Format::fp32;
    }
}

/// Returns true if the handle's math mode may let cuBLAS emulate float64. A mode with unknown bits counts as one that
/// may.
bool mode_emulates_float64(const RequestedPrecision& asked) {
    return !has_known_math_mode(asked) || (asked.math_mode & math_fp64_emulated_fixedpoint) != 0;
}

bool has_pedantic_mode(const RequestedPrecision& asked) { return (asked.math_mode & ~math_flags) == math_pedantic; }

/// Returns the format that the compute type, the math mode and the environment allow if the algorithm is the default
/// one.
Format format_without_algorithm(const RequestedPrecision& asked, const Environment& environment) {
    const Format of_environment = format_of_environment(asked, environment);
    switch (asked.compute_type) {
        case compute_32f_fast_16f:
            return nearest_available_format(Format::fp16, asked.compute_capability);
        case compute_32f_fast_16bf:
            return nearest_available_format(Format::bf16, asked.compute_capability);
        case compute_32f_fast_tf32:
            return nearest_available_format(Format::tf32, asked.compute_capability);
        case compute_32f_emulated_16bfx9:
            return less_precise_of(nearest_available_format(Format::bf16x9, asked.compute_capability),
                                   of_environment);
        case compute_32f_pedantic:
            return Format::fp32;
        case 0:
            if (has_pedantic_mode(asked)) return Format::fp32;
            break;
        default:  // the PEDANTIC mode affects only functions without a compute type (cublas_api.h, cublasMath_t)
            break;
    }
    return less_precise_of(format_of_mode_bits(asked), of_environment);
}

/// Returns the format that the program's algorithm allows. From compute capability 8.0 on, cublasGemmAlgo_t has no
/// effect (cuBLAS manual, section 2.2.9).
Format format_of_algorithm(const RequestedPrecision& asked) {
    if (!is_tensor_op_algorithm(asked.algorithm) || asked.compute_capability >= 80) return asked.of_algorithm;
    return less_precise_of(nearest_available_format(Format::fp16, asked.compute_capability), asked.of_algorithm);
}

/// The format in which a call should run according to the decision, and the reason for this format.
struct WantedFormat {
    Format format;
    Reason reason;
    bool only_without_algorithm = false;  ///< true if the format needs the default algorithm instead of the program's
};

/// The lowest format that each floor allows, indexed by floor.
constexpr auto lowest_by_floor = [] {
    std::array<Format, std::size(policy::floor_words)> lowest{};
    for (const policy::NamedValue<Floor>& word : policy::floor_words) {
        const auto meets = [&word](AppliedFormat format) {
            return policy::floor_met_by(format).value_or(Floor::none) >= word.value;
        };
        lowest[static_cast<std::size_t>(word.value)] =
            static_cast<Format>(std::ranges::find_if(applied, meets) - std::begin(applied));
    }
    return lowest;
}();

Format lowest_allowed(Floor floor, bool allow_bf16x9) {
    if (floor == Floor::fp32 && allow_bf16x9) return Format::bf16x9;
    return lowest_by_floor[static_cast<std::size_t>(floor)];
}

/// Returns the format that a decision wants. For the precision `native`, that is `asked`, the format that the program
/// asks for, or a higher format if `floor` forbids `asked`. `without_algorithm` is the format that the call allows
/// with cuBLAS's default algorithm.
WantedFormat wanted_format(const Decision& decision, Format asked, Format without_algorithm, Floor floor,
                           const policy::Policy& policy) {
    if (const std::optional<AppliedFormat> wanted = policy::format_of(decision.precision)) {
        if (*wanted == AppliedFormat::fp32)
            return {policy.allow_bf16x9 && asked == Format::bf16x9 ? asked : Format::fp32, decision.reason};
        const AppliedFormat nearest =
            policy::nearest_gpu_format(*wanted);  // changes none of the formats that decide() gives to calls on CUDA
        return {format_of(nearest).value_or(Format::fp32),
                nearest == *wanted ? decision.reason : Reason::no_such_format};
    }
    const Format lowest = lowest_allowed(floor, policy.allow_bf16x9);
    if (asked >= lowest) return {asked, decision.reason};
    if (without_algorithm >= lowest) return {without_algorithm, Reason::floor, true};
    // A floor of BF16x9 does not ask for emulation. A call that it does not allow runs in FP32, which every GPU has.
    return {lowest == Format::bf16x9 ? Format::fp32 : lowest, Reason::floor};
}

/// Returns `wish`. If the call cannot be changed to run in that format, returns the next more precise format in which
/// the call can run.
WantedFormat nearest_reachable_wish(const RequestedPrecision& asked, const Environment& environment,
                                    WantedFormat wish) {
    const bool may_be_tf32 = format_of_environment(asked, environment) == Format::tf32;
    if (wish.format == Format::bf16x9 && (!asked.has_bf16x9 || asked.is_grouped || may_be_tf32))
        return {Format::fp32, Reason::bf16x9_unavailable};
    const Reason reason = wish.reason == Reason::floor ? Reason::floor : Reason::no_such_format;
    const bool has_bf16 =
        asked.control != FormatControl::math_mode && asked.has_compute_type_form && !asked.is_grouped;
    if (wish.format == Format::bf16 && !has_bf16) wish = {Format::tf32, reason};
    if (!gpu_has_format(wish.format, asked.compute_capability)) wish = {Format::fp32, reason};
    return wish;
}

void change_compute_type(const RequestedPrecision& asked, const WantedFormat& wish, bool pedantic,
                         CallChange& change) {
    change.how = record::How::compute_type;
    change.replaces_algorithm = is_tensor_op_algorithm(asked.algorithm);
    change.compute_type = wish.only_without_algorithm ? asked.compute_type : compute_type_for(wish.format, pedantic);
    // COMPUTE_32F also depends on the handle's math mode, although the documentation does not say so.
    if (!wish.only_without_algorithm && change.compute_type == compute_32f &&
        format_of_mode_bits(asked) != Format::fp32)
        change.math_mode = math_default;
}

/// Returns the value of the first entry that begins with `name`, as getenv() does; empty if no entry begins with it.
std::string_view first_value(const char* const* entries, std::string_view name) {
    for (; entries != nullptr && *entries != nullptr; ++entries) {
        const std::string_view entry = *entries;
        if (entry.starts_with(name)) return entry.substr(name.size());
    }
    return {};
}

}  // namespace

AppliedFormat applied_format_of(Format format) { return applied[static_cast<std::size_t>(format)]; }

std::optional<Format> format_of(AppliedFormat format) {
    const auto* const found = std::find(std::begin(applied), std::end(applied), format);
    if (found == std::end(applied)) return std::nullopt;
    return static_cast<Format>(found - std::begin(applied));
}

bool gpu_has_format(Format format, std::int32_t compute_capability) {
    return compute_capability == 0 || policy::gpu_supports(applied_format_of(format), compute_capability);
}

std::int32_t compute_type_for(Format format, bool pedantic) {
    if (format == Format::fp32 && pedantic) return compute_32f_pedantic;
    if (format == Format::fp64 && pedantic) return compute_64f_pedantic;
    constexpr std::int32_t types[] = {compute_32f_fast_16f,
                                      compute_32f_fast_16bf,
                                      compute_32f_fast_tf32,
                                      compute_32f_emulated_16bfx9,
                                      compute_32f,
                                      compute_64f_emulated_fixedpoint,
                                      compute_64f};
    return types[static_cast<std::size_t>(format)];
}

std::int32_t math_mode_for(Format format, bool pedantic) {
    if ((format == Format::fp32 || format == Format::fp64) && pedantic) return math_pedantic;
    constexpr std::int32_t modes[] = {
        math_tensor_op, math_tf32_tensor_op,           math_tf32_tensor_op, math_fp32_emulated_bf16x9,
        math_default,   math_fp64_emulated_fixedpoint, math_default};
    return modes[static_cast<std::size_t>(format)];
}

std::int32_t kept_math_mode_bits(Format format) {
    return is_of_float64(format) ? math_flags & ~math_fp64_emulated_fixedpoint : math_flags;
}

Environment read_environment(const char* const* entries) {
    const std::string_view tf32_override = first_value(entries, "NVIDIA_TF32_OVERRIDE=");
    const std::string_view of_single = first_value(entries, "CUBLAS_EMULATE_SINGLE_PRECISION=");
    const std::string_view of_double = first_value(entries, "CUBLAS_EMULATE_DOUBLE_PRECISION=");
    return {.tf32_is_off = tf32_override == "0",
            .tf32_may_be_on = !tf32_override.empty() && tf32_override != "0",
            .emulates_fp32 = !of_single.empty() && of_single != "0",
            .emulates_fp64 = !of_double.empty() && of_double != "0"};
}

bool is_tensor_op_algorithm(std::int32_t algorithm) {
    return algorithm >= gemm_default_tensor_op && algorithm <= gemm_algo15_tensor_op;
}

bool has_known_math_mode(const RequestedPrecision& asked) {
    return (asked.math_mode & ~(math_choice | math_flags)) == 0;
}

bool ignores_tf32_mode(const ProductFamily& family) {
    return family.control == FormatControl::math_mode && !policy::is_double(family.dtype) &&
           family.operation != blas::Operation::gemm && family.operation != blas::Operation::trsm;
}

bool is_known_request(const RequestedPrecision& asked) {
    constexpr std::int32_t types[] = {0,
                                      compute_32f,
                                      compute_32f_pedantic,
                                      compute_32f_fast_16f,
                                      compute_32f_fast_16bf,
                                      compute_32f_fast_tf32,
                                      compute_32f_emulated_16bfx9};
    return std::find(std::begin(types), std::end(types), asked.compute_type) != std::end(types) &&
           is_known_algorithm(asked.algorithm);
}

bool is_pedantic(const RequestedPrecision& asked) {
    return asked.compute_type == compute_32f_pedantic || asked.compute_type == compute_64f_pedantic ||
           (asked.compute_type == 0 && has_pedantic_mode(asked));
}

bool depends_on_math_mode(const RequestedPrecision& asked) {
    return asked.compute_type == 0 || asked.compute_type == compute_32f || asked.compute_type == compute_64f;
}

bool is_known_algorithm(std::int32_t algorithm) {
    return (algorithm >= gemm_default && algorithm <= gemm_algo23) || is_tensor_op_algorithm(algorithm) ||
           algorithm == gemm_autotune;
}

bool is_known_float64_request(const RequestedPrecision& asked) {
    return asked.compute_type == 0 || asked.compute_type == compute_64f ||
           asked.compute_type == compute_64f_pedantic ||
           (asked.compute_type == compute_64f_emulated_fixedpoint && asked.has_fp64_emulation);
}

Format requested_float64_format(const RequestedPrecision& asked, const Environment& environment) {
    if (is_pedantic(asked)) return Format::fp64;
    const bool may_be_emulated = asked.compute_type == compute_64f_emulated_fixedpoint || environment.emulates_fp64 ||
                                 mode_emulates_float64(asked);
    return may_be_emulated ? Format::fp64_emulated : Format::fp64;
}

Format requested_format(const RequestedPrecision& asked, const Environment& environment) {
    return less_precise_of(format_without_algorithm(asked, environment), format_of_algorithm(asked));
}

CallChange plan_change(const RequestedPrecision& asked, const Environment& environment, Reason forbids_lowering,
                       const Decision& decision, Floor floor, const policy::Policy& policy) {
    const Format as_called = requested_format(asked, environment);
    CallChange change{.format = as_called, .reason = decision.reason};
    WantedFormat wish =
        wanted_format(decision, as_called, format_without_algorithm(asked, environment), floor, policy);
    if (wish.format != as_called && !wish.only_without_algorithm)
        wish = nearest_reachable_wish(asked, environment, wish);
    change.reason = wish.reason;
    if (wish.format < as_called && forbids_lowering != Reason::as_requested) {
        change.reason = forbids_lowering;
        return change;
    }
    if (asked.ignores_tf32_mode && wish.format < as_called && wish.format <= Format::tf32) {
        change.reason = Reason::no_such_format;
        return change;
    }
    // Only PEDANTIC overrides the environment variables.
    const bool pedantic =
        wish.format == Format::fp32 && (asked.compute_type == compute_32f_pedantic ||
                                        (policy.pedantic && decision.precision == Precision::highest) ||
                                        format_of_environment(asked, environment) < Format::fp32);
    const bool has_the_wish = wish.format == as_called && (!pedantic || is_pedantic(asked));
    if (has_the_wish) return change;

    if (asked.control == FormatControl::compute_type && !asked.has_compute_type_form &&
        (wish.format < as_called || asked.compute_type != 0)) {
        change.reason = Reason::no_entry_point;
        return change;
    }
    change.format = wish.format;
    // In DEFAULT mode, a function without a compute type always computes in FP32. The equivalent function with a
    // compute type may compute in another format.
    const bool is_fp32_by_default = wish.format == Format::fp32 && !pedantic && asked.compute_type == 0;
    const bool by_compute_type = asked.control == FormatControl::compute_type && asked.has_compute_type_form;
    if ((by_compute_type && !is_fp32_by_default) || asked.control == FormatControl::lt_matmul) {
        change_compute_type(asked, wish, pedantic, change);
    } else {
        change.how = record::How::math_mode;
        change.math_mode = math_mode_for(wish.format, pedantic);
    }
    return change;
}

CallChange plan_change_of_float64(const RequestedPrecision& asked, const Environment& environment,
                                  Reason forbids_lowering, const Decision& decision, std::uint8_t mantissa_bits) {
    const Format as_called = requested_float64_format(asked, environment);
    CallChange change{.format = as_called, .reason = decision.reason};
    const std::optional<AppliedFormat> wanted = policy::format_of(decision.precision);
    const Format wish = wanted ? format_of(*wanted).value_or(as_called) : as_called;
    if (wanted == AppliedFormat::fp64_emulated) change.mantissa_bits = mantissa_bits;
    if (!is_of_float64(wish) || (wish == as_called && change.mantissa_bits == 0)) return change;
    // Functions for batches in groups have no compute type that allows emulation (cuBLAS manual, section 2.8.15).
    const bool is_lowered = wish < as_called;
    const bool has_emulation = asked.has_fp64_emulation && (asked.compute_type == 0 || !asked.is_grouped);
    if (asked.control == FormatControl::none)
        change.reason = Reason::not_governable;
    else if ((is_lowered || change.mantissa_bits != 0) && forbids_lowering != Reason::as_requested)
        change.reason = forbids_lowering;
    else if (is_lowered && !has_emulation)
        change.reason = Reason::fp64_emulation_unavailable;
    if (change.reason != decision.reason) {
        change.mantissa_bits = 0;
        return change;
    }
    if (wish == as_called) return change;  // only the number of bits changes

    // According to the manual, PEDANTIC computes all phases in float64. The manual does not tell what overrides the
    // environment variables that enable emulation, so the shim assumes that only PEDANTIC does.
    const bool pedantic = !is_lowered && environment.emulates_fp64;
    change.format = wish;
    change.how = asked.compute_type == 0 ? record::How::math_mode : record::How::compute_type;
    if (asked.compute_type != 0) change.compute_type = compute_type_for(wish, pedantic);
    if (asked.compute_type == 0 || (change.compute_type == compute_64f && mode_emulates_float64(asked)))
        change.math_mode = math_mode_for(wish, pedantic);
    return change;
}

CallChange as_math_mode_change(CallChange change) {
    change.how = record::How::math_mode;
    change.math_mode = math_mode_for(change.format, change.compute_type == compute_32f_pedantic);
    return change;
}

}  // namespace fp32shim::cublas
