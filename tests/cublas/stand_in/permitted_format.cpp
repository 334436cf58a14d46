#include "permitted_format.hpp"

#include "environment.hpp"

namespace stand_in {
namespace {

// The format that a call asks for, before device and environment are taken into account.
enum class Asked { fp32, tf32, fast_16bf, fast_16f, bf16x9_mode, bf16x9_type };

bool emulates_by_default(const Request& request) {
    if (!environment().emulate_single || !yes(Row::emulation_environment)) return false;
    return !request.lt || yes(Row::emulation_environment_reaches_lt);
}

// Returns true if NVIDIA_TF32_OVERRIDE=1 lets a product that asks for FP32 run in TF32.
bool tf32_by_default(const Request& request) {
    return environment().tf32_override_on && yes(Row::tf32_override_on) &&
           (request.compute_type || yes(request.family));
}

Asked asked_by_mode(int mode, bool complex) {
    switch (mode) {
        case CUBLAS_TENSOR_OP_MATH | CUBLAS_FP32_EMULATED_BF16X9_MATH:
        case CUBLAS_TF32_TENSOR_OP_MATH | CUBLAS_FP32_EMULATED_BF16X9_MATH:
            return Asked::fast_16f;
        case CUBLAS_PEDANTIC_MATH | CUBLAS_FP32_EMULATED_BF16X9_MATH:
            return Asked::bf16x9_mode;
        case CUBLAS_TF32_TENSOR_OP_MATH:
            return Asked::tf32;
        case CUBLAS_TENSOR_OP_MATH:
            if (complex && !yes(Row::tensor_op_mode_reaches_complex)) return Asked::fp32;
            return yes(Row::tensor_op_mode_is_fast_16f) ? Asked::fast_16f : Asked::fp32;
        case CUBLAS_FP32_EMULATED_BF16X9_MATH:
            return Asked::bf16x9_mode;
        default:
            return Asked::fp32;
    }
}

// Returns true if a handle's mode affects a product whose compute type is plain 32F.
bool mode_reaches_compute_32f(int mode) {
    switch (mode) {
        case CUBLAS_TF32_TENSOR_OP_MATH:
            return yes(Row::compute_32f_on_tf32_handle);
        case CUBLAS_TENSOR_OP_MATH:
            return yes(Row::compute_32f_on_tensor_op_handle);
        case CUBLAS_FP32_EMULATED_BF16X9_MATH:
            return yes(Row::compute_32f_on_bf16x9_handle);
        default:
            return mode != CUBLAS_DEFAULT_MATH && mode != CUBLAS_PEDANTIC_MATH;
    }
}

Asked asked_by(const Request& request) {
    // The reduction flag and the float64 mode are separate bits. A bit that no header names is assumed to allow the
    // lowest precision.
    const int mode = request.math_mode >= 32 ? CUBLAS_TENSOR_OP_MATH : request.math_mode & 7;
    const bool pedantic_mode =
        mode == CUBLAS_PEDANTIC_MATH && (!request.compute_type || yes(Row::pedantic_mode_is_a_pedantic_compute_32f));
    Asked asked = Asked::fp32;
    bool pedantic = pedantic_mode;
    if (!request.compute_type) {
        if (yes(request.family)) asked = asked_by_mode(mode, request.complex);
    } else {
        switch (*request.compute_type) {
            case CUBLAS_COMPUTE_32F_FAST_TF32:
                asked = Asked::tf32;
                break;
            case CUBLAS_COMPUTE_32F_FAST_16BF:
                asked = Asked::fast_16bf;
                break;
            case CUBLAS_COMPUTE_32F_FAST_16F:
                asked = Asked::fast_16f;
                break;
            case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
                asked = Asked::bf16x9_type;
                break;
            case CUBLAS_COMPUTE_32F:
                if (mode_reaches_compute_32f(mode)) asked = asked_by_mode(mode, request.complex);
                break;
            default:
                pedantic = true;
        }
        if (mode == CUBLAS_PEDANTIC_MATH && asked != Asked::fp32 && yes(Row::pedantic_mode_overrides_fast_types))
            asked = Asked::fp32;
    }
    const Row algorithms =
        request.compute_capability < 80 ? Row::tensor_op_algorithm_is_fast_16f : Row::tensor_op_algorithm_from_8_0;
    if (asked == Asked::fp32 && request.tensor_op_algorithm && yes(algorithms) &&
        (!pedantic || yes(Row::tensor_op_algorithm_under_pedantic)))
        asked = Asked::fast_16f;
    if (asked == Asked::fp32 && (!pedantic || yes(Row::tf32_override_on_under_pedantic)) && tf32_by_default(request))
        asked = Asked::tf32;
    if (asked == Asked::fp32 && !pedantic && (mode == CUBLAS_DEFAULT_MATH || mode == CUBLAS_PEDANTIC_MATH) &&
        emulates_by_default(request))
        asked = Asked::bf16x9_mode;
    return asked;
}

bool strategy_emulates(const Request& request) {
    if (request.strategy == CUBLAS_EMULATION_STRATEGY_EAGER) return true;
    if (request.strategy == CUBLAS_EMULATION_STRATEGY_DEFAULT && environment().emulate_eagerly) return true;
    return yes(Row::performant_strategy_emulates);
}

Format tf32_or_fp32(const Request& request) {
    if (request.compute_capability < 80 || environment().tf32_override_off) return Format::fp32;
    return Format::tf32;
}

// Returns the format of a type that allows `narrow` or TF32. NVIDIA_TF32_OVERRIDE=0 may cover such a type, too.
Format of_narrow_type(const Request& request, Row row, Format narrow) {
    if (environment().tf32_override_off && yes(Row::tf32_override_covers_fast_16bf)) return Format::fp32;
    return answer(row) == "tf32" && request.compute_capability >= 80 ? Format::tf32 : narrow;
}

// Returns true if the stand-in should break its promise for this request (STAND_IN_LEAKS).
bool leaks(const Request& request) {
    const auto& words = environment().leaks;
    return words.contains("always") ||
           (words.contains("sticky_mode") && request.mode_was_lower && !request.compute_type) ||
           (words.contains("gemm_ex") && request.compute_type && !request.lt) ||
           (words.contains("algorithm_99") && request.tensor_op_algorithm);
}

std::optional<Format> promised_format(const Request& request) {
    const Asked asked = asked_by(request);
    const bool has_bf16x9 = request.compute_capability == 100 || request.compute_capability == 103;
    if (asked == Asked::bf16x9_type && !has_bf16x9 && answer(Row::bf16x9_compute_type_elsewhere) == "refused")
        return std::nullopt;
    if (!environment().fast_honoured) return Format::fp32;
    switch (asked) {
        case Asked::fp32:
            return Format::fp32;
        case Asked::tf32:
            return tf32_or_fp32(request);
        case Asked::fast_16bf:
            return request.compute_capability < 80 ? Format::fp32
                                                   : of_narrow_type(request, Row::fast_16bf, Format::bf16);
        case Asked::fast_16f:
            return request.compute_capability < 70 ? Format::fp32
                                                   : of_narrow_type(request, Row::fast_16f, Format::fp16);
        case Asked::bf16x9_mode:
        case Asked::bf16x9_type:
            return has_bf16x9 && strategy_emulates(request) ? Format::bf16x9 : Format::fp32;
    }
    return Format::fp32;
}

}  // namespace

bool emulates_float64(const Request& request) {
    if (environment().leaks.contains("float64")) return true;
    if (!yes(Row::f64_emulation_on_any_gpu)) return false;
    const bool by_mode = (request.math_mode & CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH) != 0;
    const bool by_environment = environment().emulate_double && yes(Row::f64_emulation_by_environment);
    const bool is_pedantic = request.compute_type ? *request.compute_type == CUBLAS_COMPUTE_64F_PEDANTIC
                                                  : (request.math_mode & 7) == CUBLAS_PEDANTIC_MATH;
    if (request.compute_type == CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT) return true;
    if (is_pedantic) return by_environment && yes(Row::f64_emulation_under_pedantic);
    if (request.compute_type) return by_environment || (by_mode && yes(Row::f64_compute_type_on_emulated_handle));
    return by_environment || (by_mode && yes(Row::f64_emulation_by_mode));
}

std::optional<Emulation> emulation_of(const MantissaSettings& settings) {
    Emulation emulation{.is_on = true, .offset = settings.offset};
    if (settings.most_bits > 0) emulation.most_bits = settings.most_bits;
    const bool is_fixed = settings.control == CUDA_EMULATION_MANTISSA_CONTROL_FIXED;
    if (is_fixed && settings.offset != 0) return std::nullopt;
    if (is_fixed) emulation.fixed_bits = whole_bits(settings.most_bits > 0 ? settings.most_bits : 53);
    if (!is_fixed && environment().fixed_point_bits > 0) emulation.fixed_bits = environment().fixed_point_bits;
    return emulation;
}

std::optional<Format> permitted_format(const Request& request) {
    const std::optional<Format> promised = promised_format(request);
    return promised == Format::fp32 && leaks(request) ? tf32_or_fp32(request) : promised;
}

}  // namespace stand_in
