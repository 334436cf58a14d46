#include "shim/cublas/formats.hpp"

#include <string_view>

#include "shim/cublas/api.hpp"

namespace fp32shim::cublas {
namespace {

using policy::Decision;
using policy::Floor;
using policy::Precision;
using policy::Reason;

/// Where the hardware lacks a format cuBLAS computes in FP32. What is not known is taken to have it.
bool has(Format format, std::int32_t compute_capability) {
    if (compute_capability == 0) return true;
    switch (format) {
        case Format::fp16:
            return compute_capability >= 70;
        case Format::bf16:
        case Format::tf32:
            return compute_capability >= 80;
        case Format::bf16x9:
            return compute_capability == 100 || compute_capability == 103;
        case Format::fp32:
            break;
    }
    return true;
}

Format where_there_is(Format format, std::int32_t compute_capability) {
    return has(format, compute_capability) ? format : Format::fp32;
}

/// What the environment makes of a call that asks for FP32, and is not PEDANTIC.
Format format_of_environment(const Asked& asked, const Environment& environment) {
    if (environment.tf32_may_be_on && has(Format::tf32, asked.compute_capability)) return Format::tf32;
    if (environment.emulates_fp32 && has(Format::bf16x9, asked.compute_capability)) return Format::bf16x9;
    return Format::fp32;
}

/// What a call without a compute type, or with the plain one, is left to by the handle's math mode.
Format format_of_math_mode(const Asked& asked, const Environment& environment) {
    switch (asked.math_mode & math_choice) {
        case math_tensor_op:
            return where_there_is(Format::fp16, asked.compute_capability);
        case math_tf32_tensor_op:
            return where_there_is(Format::tf32, asked.compute_capability);
        case math_fp32_emulated_bf16x9:
            return where_there_is(Format::bf16x9, asked.compute_capability);
        case math_pedantic:
            return Format::fp32;
        default:
            return format_of_environment(asked, environment);
    }
}

Format format_of_compute_type(const Asked& asked, const Environment& environment) {
    switch (asked.compute_type) {
        case compute_32f_fast_16f:
            return where_there_is(Format::fp16, asked.compute_capability);
        case compute_32f_fast_16bf:
            return where_there_is(Format::bf16, asked.compute_capability);
        case compute_32f_fast_tf32:
            return where_there_is(Format::tf32, asked.compute_capability);
        case compute_32f_emulated_16bfx9:
            return where_there_is(Format::bf16x9, asked.compute_capability);
        case compute_32f_pedantic:
            return Format::fp32;
        default:
            return format_of_math_mode(asked, environment);
    }
}

/// The format that the decision wishes; `asked` where it has no wish.
struct Wish {
    Format format;
    Reason reason;
};

Format lowest_allowed(Floor floor, bool allow_bf16x9) {
    switch (floor) {
        case Floor::none:
        case Floor::fp16:
            return Format::fp16;
        case Floor::bf16:
            return Format::bf16;
        case Floor::tf32:
            return Format::tf32;
        case Floor::bf16x9:
            return Format::bf16x9;
        case Floor::fp32:
            break;
    }
    return allow_bf16x9 ? Format::bf16x9 : Format::fp32;
}

Wish wish_of(const Decision& decision, Format asked, Floor floor, const policy::Policy& policy) {
    switch (decision.precision) {
        case Precision::highest:
            return {policy.allow_bf16x9 && asked == Format::bf16x9 ? asked : Format::fp32, decision.reason};
        case Precision::high:
            return {Format::tf32, decision.reason};
        case Precision::medium:
            return {Format::bf16, decision.reason};
        case Precision::bf16x9:
            return {Format::bf16x9, decision.reason};
        case Precision::native:
        case Precision::automatic:
            break;
    }
    const Format lowest = lowest_allowed(floor, policy.allow_bf16x9);
    if (asked >= lowest) return {asked, decision.reason};
    // A floor of BF16x9 asks for no emulation: what is below it runs in FP32, which every device has.
    return {lowest == Format::bf16x9 ? Format::fp32 : lowest, Reason::floor};
}

/// What the road has no way to say becomes the next stricter format that it has.
Wish within_reach(const Asked& asked, Wish wish) {
    if (wish.format == Format::bf16x9 && (!asked.has_bf16x9 || asked.is_grouped))
        return {Format::fp32, Reason::bf16x9_unavailable};
    const Reason reason = wish.reason == Reason::floor ? Reason::floor : Reason::no_such_format;
    const bool has_bf16 = asked.road != Road::math_mode && asked.has_compute_type_form && !asked.is_grouped;
    if (wish.format == Format::bf16 && !has_bf16) wish = {Format::tf32, reason};
    if (!has(wish.format, asked.compute_capability)) wish = {Format::fp32, reason};
    return wish;
}

std::int32_t compute_type_for(Format format, bool pedantic) {
    switch (format) {
        case Format::fp16:
            return compute_32f_fast_16f;
        case Format::bf16:
            return compute_32f_fast_16bf;
        case Format::tf32:
            return compute_32f_fast_tf32;
        case Format::bf16x9:
            return compute_32f_emulated_16bfx9;
        case Format::fp32:
            break;
    }
    return pedantic ? compute_32f_pedantic : compute_32f;
}

std::int32_t math_mode_for(Format format, bool pedantic) {
    switch (format) {
        case Format::fp16:
            return math_tensor_op;
        case Format::bf16:
        case Format::tf32:
            return math_tf32_tensor_op;
        case Format::bf16x9:
            return math_fp32_emulated_bf16x9;
        case Format::fp32:
            break;
    }
    return pedantic ? math_pedantic : math_default;
}

bool is_pedantic(const Asked& asked) {
    return asked.compute_type == compute_32f_pedantic ||
           ((asked.compute_type == 0 || asked.compute_type == compute_32f) &&
            (asked.math_mode & math_choice) == math_pedantic);
}

/// Of `NAME=`; empty: there is none. Of two entries of one name, getenv() finds the first.
std::string_view first_value(const char* const* entries, std::string_view name) {
    for (; entries != nullptr && *entries != nullptr; ++entries) {
        const std::string_view entry = *entries;
        if (entry.starts_with(name)) return entry.substr(name.size());
    }
    return {};
}

}  // namespace

Environment read_environment(const char* const* entries) {
    const std::string_view tf32_override = first_value(entries, "NVIDIA_TF32_OVERRIDE=");
    const std::string_view emulation = first_value(entries, "CUBLAS_EMULATE_SINGLE_PRECISION=");
    return {.tf32_is_off = tf32_override == "0",
            .tf32_may_be_on = !tf32_override.empty() && tf32_override != "0",
            .emulates_fp32 = !emulation.empty() && emulation != "0"};
}

bool is_tensor_op(std::int32_t algorithm) {
    return algorithm >= gemm_default_tensor_op && algorithm <= gemm_algo15_tensor_op;
}

policy::Applied applied_of(Format format) {
    switch (format) {
        case Format::fp16:
            return policy::Applied::fp16;
        case Format::bf16:
            return policy::Applied::bf16;
        case Format::tf32:
            return policy::Applied::tf32;
        case Format::bf16x9:
            return policy::Applied::bf16x9;
        case Format::fp32:
            break;
    }
    return policy::Applied::fp32;
}

bool is_known(const Asked& asked) {
    const std::int32_t choice = asked.math_mode & math_choice;
    if (choice > math_fp32_emulated_bf16x9 || (asked.math_mode & ~(math_choice | math_flags)) != 0) return false;
    switch (asked.compute_type) {
        case 0:
        case compute_32f:
        case compute_32f_pedantic:
        case compute_32f_fast_16f:
        case compute_32f_fast_16bf:
        case compute_32f_fast_tf32:
        case compute_32f_emulated_16bfx9:
            break;
        default:
            return false;
    }
    return is_known_algorithm(asked.algorithm);
}

bool is_known_algorithm(std::int32_t algorithm) {
    return (algorithm >= gemm_default && algorithm <= gemm_algo23) || is_tensor_op(algorithm) ||
           algorithm == gemm_autotune;
}

Format asked_format(const Asked& asked, const Environment& environment) {
    const Format format = asked.compute_type == 0 ? format_of_math_mode(asked, environment)
                                                  : format_of_compute_type(asked, environment);
    // Also where the compute type or mode is PEDANTIC: which of them cuBLAS obeys is not documented.
    const Format of_algorithm =
        is_tensor_op(asked.algorithm) ? where_there_is(Format::fp16, asked.compute_capability) : asked.of_algorithm;
    return of_algorithm < format ? of_algorithm : format;
}

Change plan_change(const Asked& asked, const Environment& environment, const Restraints& restraints,
                   const Decision& decision, Floor floor, const policy::Policy& policy) {
    const Format as_called = asked_format(asked, environment);
    Change change{.format = as_called, .reason = decision.reason};
    Wish wish = wish_of(decision, as_called, floor, policy);
    if (wish.format != as_called) wish = within_reach(asked, wish);
    change.reason = wish.reason;
    if (wish.format < as_called) {
        if (restraints.is_of_solver) {
            change.reason = Reason::solver;
            return change;
        }
        if (restraints.pointers_may_be_unaligned) {
            change.reason = Reason::alignment;
            return change;
        }
    }
    // Only PEDANTIC keeps the environment away.
    const bool pedantic =
        wish.format == Format::fp32 && (asked.compute_type == compute_32f_pedantic ||
                                        (policy.pedantic && decision.precision == Precision::highest) ||
                                        format_of_environment(asked, environment) < Format::fp32);
    const bool has_the_wish = wish.format == as_called && (!pedantic || is_pedantic(asked));
    if (has_the_wish) return change;

    const bool by_compute_type = asked.road == Road::compute_type && asked.has_compute_type_form;
    const bool by_descriptor = asked.road == Road::lt_matmul;
    if (asked.road == Road::compute_type && !asked.has_compute_type_form &&
        (wish.format < as_called || asked.compute_type != 0)) {
        change.reason = Reason::no_entry_point;
        return change;
    }
    change.format = wish.format;
    if (by_compute_type || by_descriptor) {
        change.how = record::How::compute_type;
        change.compute_type = compute_type_for(wish.format, pedantic);
        change.replaces_algorithm = is_tensor_op(asked.algorithm);
        // Whether the plain compute type then follows the handle's mode is not documented: taken to.
        const std::int32_t choice = asked.math_mode & math_choice;
        if (change.compute_type == compute_32f && choice != math_default && choice != math_pedantic)
            change.math_mode = math_default;
    } else {
        change.how = record::How::math_mode;
        change.math_mode = math_mode_for(wish.format, pedantic);
    }
    return change;
}

Change by_math_mode(Change change) {
    change.how = record::How::math_mode;
    change.math_mode = math_mode_for(change.format, change.compute_type == compute_32f_pedantic);
    return change;
}

}  // namespace fp32shim::cublas
