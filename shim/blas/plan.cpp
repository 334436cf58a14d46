#include "shim/blas/plan.hpp"

#include <algorithm>
#include <array>

#include "shim/blas/emulate/arguments.hpp"
#include "shim/blas/multiply/multiply.hpp"
#include "shim/blas/treat.hpp"

namespace fp32shim::blas {
namespace {

using policy::AppliedFormat;
using policy::Reason;

OperandRounding rounding_to_tf32(policy::Tf32Rounding rounding) {
    if (rounding == policy::Tf32Rounding::even) return OperandRounding::tf32_even;
    return rounding == policy::Tf32Rounding::truncate ? OperandRounding::tf32_truncate : OperandRounding::tf32_away;
}

constexpr int bits_of_float64 = 53;
constexpr std::size_t longest_fixed_point_text = 8;

/// The texts "fixed:0" to "fixed:53", one after the other, each in eight characters. They are static, since
/// Plan::detail only refers to its text.
constexpr auto fixed_point_texts = [] {
    std::array<char, (bits_of_float64 + 1) * longest_fixed_point_text> texts{};
    for (std::size_t bits = 0; bits <= bits_of_float64; ++bits) {
        char* at = std::copy_n("fixed:", 6, texts.data() + bits * longest_fixed_point_text);
        if (bits >= 10) *at++ = static_cast<char>('0' + bits / 10);
        *at = static_cast<char>('0' + bits % 10);
    }
    return texts;
}();

std::string_view fixed_point_text(int bits) {
    return {fixed_point_texts.data() + static_cast<std::size_t>(bits) * longest_fixed_point_text,
            bits < 10 ? 7U : 8U};
}

/// Returns how operands are rounded to preview a format, and how many products of their parts are summed.
Preview rounding_of(AppliedFormat format, policy::Tf32Rounding tf32_rounding) {
    if (format == AppliedFormat::tf32) return rounding_to_tf32(tf32_rounding);
    if (format == AppliedFormat::fp32 || format == AppliedFormat::sgemm)
        return OperandRounding::fp32_whole;  // only operands of float64 are rounded to these formats
    switch (format) {
#define PREVIEW(format, rounding, products) \
    case AppliedFormat::format:             \
        return {OperandRounding::rounding, products};
#include "policy/formats.def"
        default:
            return OperandRounding::tf32_away;  // never reached, since calls in other formats are not rounded
    }
}

/// Plans to multiply on BF16 units if they are faster for this product. Otherwise plans to run the call unchanged.
void plan_bf16_units(const Site& site, const Frame& frame, const Product& product, Plan& plan) {
    const Bf16Units units = bf16_units();
    plan.uses_bf16_units =
        units != Bf16Units::none &&
        for_each_product(site, frame, product, [&](const Level3& single) { return bf16_is_faster(single, units); });
    if (plan.uses_bf16_units) {
        plan.how = record::How::bf16_units;
        return;
    }
    plan.applied = policy::native_format(product.call.dtype);
    plan.reason = units == Bf16Units::none ? Reason::no_bf16_units : Reason::slower_in_bf16;
}

}  // namespace

Preview preview_of(AppliedFormat format, const policy::Policy& policy) {
    Preview preview = rounding_of(format, policy.tf32_rounding);
    preview.accumulation = policy.accumulation;
    preview.is_stochastic = policy.stochastic_seed.has_value() || format == AppliedFormat::fp32_perturbed;
    preview.seed = policy.stochastic_seed.value_or(0);
    preview.in_float32 = format == AppliedFormat::sgemm;
    return preview;
}

Plan plan_cpu_call(const Site& site, const Frame& frame, const Product& product, const policy::Decision& decision,
                   const policy::Policy& policy) {
    Plan plan;
    plan.threads = policy.threads;
    plan.detail = provider_ambiguity_text(site);
    if (site.runs_batch_one_by_one()) {
        plan.how = record::How::one_by_one;
        plan.detail = "no library provides this batch function";
    }
    const TreatmentOutcome treated = apply_treatment(site.function->family->treatment, decision, product.call);
    plan.applied = treated.applied;
    plan.reason = treated.reason;
    if (treated.applied == AppliedFormat::unchanged) return plan;
    bool any_multiplies = false;
    const bool are_valid = product.readable && for_each_product(site, frame, product, [&](const Level3& single) {
                               if (!arguments_are_valid(single)) return false;
                               any_multiplies = any_multiplies || (treated.rounds && multiplies(single));
                               return true;
                           });
    if (!are_valid) {
        const bool has_no_width =
            !product.readable && site.cpu.width.load(std::memory_order_relaxed) == IntegerWidth::unknown;
        plan.applied = policy::native_format(product.call.dtype);
        plan.reason = has_no_width ? Reason::width_unknown : Reason::invalid_arguments;
        return plan;
    }
    if (runs_in_fixed_order(site.function->product(), policy)) {
        plan.has_fixed_order = true;
        plan.how = record::How::fixed_order;
        return plan;
    }
    if (!treated.rounds) return plan;
    if (!any_multiplies) {
        plan.applied = policy::native_format(product.call.dtype);
        plan.reason = Reason::no_product;
        return plan;
    }
    if (policy.cpu_mode == policy::CpuMode::accelerate) {
        plan_bf16_units(site, frame, product, plan);
        return plan;
    }
    plan.rounds = true;
    plan.preview = preview_of(treated.applied, policy);
    if (treated.applied == AppliedFormat::fixed) {
        plan.preview.fixed_point_bits = policy.rules[static_cast<std::size_t>(decision.rule)].fixed_point_bits;
        plan.detail = fixed_point_text(plan.preview.fixed_point_bits);
    }
    if (plan.preview.in_float32 && site.cpu.routine_of_float32 == nullptr) {
        plan.rounds = false;
        plan.applied = policy::native_format(product.call.dtype);
        plan.reason = Reason::not_governable;
        return plan;
    }
    if (!site.runs_batch_one_by_one()) plan.how = record::How::round_operands;
    return plan;
}

}  // namespace fp32shim::blas
