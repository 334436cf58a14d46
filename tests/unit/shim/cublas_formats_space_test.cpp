// Tests every combination of a call's requests, of decisions, and of circumstances. These are millions of plans of
// shim/cublas/formats.hpp, and a few statements must hold for each.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "shim/cublas/api.hpp"
#include "shim/cublas/formats.hpp"

namespace fp32shim::cublas {
namespace {

using policy::Decision;
using policy::Floor;
using policy::Policy;
using policy::Precision;
using policy::Reason;
using record::How;

constexpr std::int32_t compute_types[] = {0,
                                          compute_32f,
                                          compute_32f_pedantic,
                                          compute_32f_fast_16f,
                                          compute_32f_fast_16bf,
                                          compute_32f_fast_tf32,
                                          compute_32f_emulated_16bfx9};
/// All combinations of bits 0 to 2, also with each flag, and with an unknown bit.
constexpr std::int32_t math_modes[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  10, 11, 16,
                                       17, 18, 19, 20, 24, 26, 27, 31, 32, 34, 50};
constexpr std::int32_t algorithms[] = {gemm_default, 0, 23, 99, 107, 115, gemm_autotune};
constexpr std::int32_t capabilities[] = {0, 60, 61, 70, 75, 80, 86, 89, 90, 100, 103, 120};
constexpr Environment environments[] = {{},
                                        {.tf32_is_off = true},
                                        {.tf32_may_be_on = true},
                                        {.emulates_fp32 = true},
                                        {.tf32_is_off = true, .emulates_fp32 = true},
                                        {.tf32_may_be_on = true, .emulates_fp32 = true}};
constexpr Floor floors[] = {Floor::none, Floor::fp16, Floor::bf16, Floor::tf32, Floor::bf16x9, Floor::fp32};

std::vector<RequestedPrecision> all_calls() {
    std::vector<RequestedPrecision> calls;
    const auto add = [&](RequestedPrecision asked) {
        for (const std::int32_t capability : capabilities)
            for (const bool has_bf16x9 : {false, true}) {
                asked.compute_capability = capability;
                asked.has_bf16x9 = has_bf16x9;
                calls.push_back(asked);
            }
    };
    for (const std::int32_t mode : math_modes) {
        for (const bool ignores : {false, true})
            add({.road = Road::math_mode, .math_mode = mode, .ignores_tf32_mode = ignores});
        for (const std::int32_t type : compute_types) {
            for (const std::int32_t algorithm : algorithms)
                if (type != 0 || algorithm == gemm_default)
                    add({.road = Road::compute_type,
                         .math_mode = mode,
                         .compute_type = type,
                         .algorithm = algorithm});
            add({.road = Road::compute_type, .math_mode = mode, .compute_type = type, .is_grouped = true});
        }
        add({.road = Road::compute_type, .math_mode = mode, .has_compute_type_form = false});
    }
    for (const std::int32_t type : compute_types)
        for (const Format format : {Format::fp16, Format::bf16, Format::tf32, Format::fp32})
            if (type != 0) add({.road = Road::lt_matmul, .compute_type = type, .of_algorithm = format});
    return calls;
}

/// Returns the changed call, which is then judged like any other call.
RequestedPrecision changed_call(RequestedPrecision asked, const CallChange& change) {
    if (change.how == How::compute_type) {
        asked.compute_type = change.compute_type;
        if (change.replaces_algorithm) asked.algorithm = gemm_default;
        asked.of_algorithm = Format::fp32;  // for cublasLt, an algorithm is searched that keeps to the format
    }
    if (change.math_mode >= 0)
        asked.math_mode = (asked.math_mode & kept_math_mode_bits(change.format)) | change.math_mode;
    return asked;
}

std::string words_of(const RequestedPrecision& asked, const Environment& environment, Precision precision,
                     Floor floor, const Policy& policy) {
    std::ostringstream text;
    text << "road " << static_cast<int>(asked.road) << " mode " << asked.math_mode << " type " << asked.compute_type
         << " algorithm " << asked.algorithm << " (" << static_cast<int>(asked.of_algorithm) << ") capability "
         << asked.compute_capability << (asked.is_grouped ? " grouped" : "") << (asked.has_bf16x9 ? " bf16x9" : "")
         << " environment " << environment.tf32_is_off << environment.tf32_may_be_on << environment.emulates_fp32
         << " precision " << static_cast<int>(precision) << " floor " << static_cast<int>(floor)
         << (policy.allow_bf16x9 ? " allow_bf16x9" : "") << (policy.pedantic ? " pedantic" : "");
    return text.str();
}

bool is_fast(std::int32_t compute_type) {
    return compute_type == compute_32f_fast_16f || compute_type == compute_32f_fast_16bf ||
           compute_type == compute_32f_fast_tf32;
}

/// Returns true for a plain call on a DEFAULT or PEDANTIC handle. By the manual's rules it runs in FP32, unless the
/// environment, or below 8.0 the algorithm, changes that.
bool says_float32(const RequestedPrecision& asked) {
    const std::int32_t choice = asked.math_mode & ~math_flags;
    const bool mode_says = choice == math_default || choice == math_pedantic;
    return asked.compute_type == compute_32f_pedantic ||
           ((asked.compute_type == 0 || asked.compute_type == compute_32f) && mode_says);
}

Format lowest_of(Floor floor) {
    constexpr Format formats[] = {Format::fp16, Format::fp16,   Format::bf16,
                                  Format::tf32, Format::bf16x9, Format::fp32};
    return formats[static_cast<int>(floor)];
}

Format wished(Precision precision) {
    if (precision == Precision::high) return Format::tf32;
    if (precision == Precision::medium) return Format::bf16;
    return precision == Precision::bf16x9 ? Format::bf16x9 : Format::fp32;
}

/// Returns the fault of a plan; empty: it has none.
const char* judge(const RequestedPrecision& asked, const Environment& environment, Precision precision, Floor floor,
                  const Policy& policy, const CallChange& change) {
    const Format before = requested_format(asked, environment);
    const RequestedPrecision changed = changed_call(asked, change);
    const Format after = requested_format(changed, environment);
    const bool is_forwarded = change.how == How::forward;
    if (change.format != after) return "what it says is not what the changed call permits";
    if (is_forwarded != (changed_call(asked, change) == asked) && asked.of_algorithm == Format::fp32 &&
        !(asked.algorithm >= 99 && asked.algorithm <= 115))
        return "a change that changes nothing, or none that changes something";
    if (precision == Precision::native) {
        if (after < before) return "`native` lowers";
        if (floor == Floor::none && !is_forwarded) return "`native` without a floor changes a call";
        if (!is_forwarded && change.reason != Reason::floor) return "a floor changes a call and does not say so";
        if (says_float32(asked) && is_fast(changed.compute_type)) return "a floor makes FP32 a FAST type";
        if (asked.compute_type == compute_32f_pedantic && changed.compute_type != compute_32f_pedantic)
            return "a floor takes PEDANTIC away";
        if (before >= lowest_of(floor) && !is_forwarded) return "a floor changes what it allows";
        const Format lowest = policy.allow_bf16x9 ? std::min(lowest_of(floor), Format::bf16x9) : lowest_of(floor);
        if (after < lowest && change.reason != Reason::no_entry_point) return "below the floor";
        return "";
    }
    const bool can = change.reason != Reason::no_entry_point;
    if (precision == Precision::highest) {
        const Format lowest = policy.allow_bf16x9 ? Format::bf16x9 : Format::fp32;
        if (can && after < lowest) return "`highest` leaves less than FP32";
        const bool has_all = asked.compute_capability == 0 || asked.compute_capability >= 80;
        if (is_fast(changed.compute_type) && has_all) return "`highest` leaves a FAST type";
        if (policy.pedantic && after == Format::fp32 && changed.compute_type != compute_32f_pedantic &&
            !(changed.compute_type == 0 && (changed.math_mode & ~math_flags) == math_pedantic))
            return "`highest` is not PEDANTIC where the policy says so";
        if (before >= lowest && after < before) return "`highest` lowers";
        return "";
    }
    if (can && after < wished(precision)) return "below what is wished";
    return "";
}

TEST(EveryCall, IsPlannedAsItsDecisionSays) {
    const std::vector<RequestedPrecision> calls = all_calls();
    std::vector<Policy> policies(4);
    policies[1].allow_bf16x9 = true;
    policies[2].pedantic = true;
    policies[3].allow_bf16x9 = policies[3].pedantic = true;
    std::size_t plans = 0;
    std::size_t failures = 0;
    for (const RequestedPrecision& asked : calls) {
        for (const Environment& environment : environments) {
            const auto check = [&](Precision precision, Floor floor, const Policy& policy) {
                const Decision decision{.requested = precision, .precision = precision};
                const CallChange change =
                    plan_change(asked, environment, Reason::as_requested, decision, floor, policy);
                const std::string wrong = judge(asked, environment, precision, floor, policy, change);
                ++plans;
                if (!wrong.empty() && ++failures <= 20)
                    ADD_FAILURE() << wrong << ": " << words_of(asked, environment, precision, floor, policy);
            };
            for (const Policy& policy : policies) {
                for (const Floor floor : floors) check(Precision::native, floor, policy);
                for (const Precision precision :
                     {Precision::highest, Precision::high, Precision::medium, Precision::bf16x9})
                    check(precision, Floor::none, policy);
            }
        }
    }
    EXPECT_EQ(failures, 0U);
    EXPECT_GT(plans, 1'000'000U);
}

/// Returns the fault of a plan for a product of float64; empty: it has none.
const char* judge_float64(const RequestedPrecision& asked, const Environment& environment, Precision precision,
                          Reason forbids_lowering, const CallChange& change) {
    const Format before = requested_float64_format(asked, environment);
    const RequestedPrecision changed = changed_call(asked, change);
    if (change.format != requested_float64_format(changed, environment))
        return "what it says is not what the changed call permits";
    if ((change.how == How::forward) != (changed == asked)) return "a change that changes nothing, or the reverse";
    if ((changed.math_mode & ~31) != 0 && change.math_mode >= 0) return "it sets unknown bits";
    if (((asked.math_mode ^ changed.math_mode) & 16) != 0) return "it changes the flag of reductions";
    if (asked.compute_type == 0 && changed.compute_type != 0) return "it becomes another function";
    if (asked.road == Road::none || (precision != Precision::fp64 && precision != Precision::fp64_emulated))
        return change.how == How::forward ? "" : "it is changed";
    if (precision == Precision::fp64)
        return change.format == Format::fp64 && change.reason == Reason::as_requested ? "" : "`fp64` is not FP64";
    const bool has_form = asked.has_fp64_emulation && (asked.compute_type == 0 || !asked.is_grouped);
    const bool may = before == Format::fp64_emulated || (has_form && forbids_lowering == Reason::as_requested);
    if ((change.reason == Reason::as_requested) != may) return "its reason is wrong";
    return change.format == (may ? Format::fp64_emulated : before) ? "" : "`fp64_emulated` is not what it may be";
}

TEST(EveryFloat64Call, IsPlannedAsItsDecisionSays) {
    std::vector<RequestedPrecision> calls;
    for (const bool has_emulation : {false, true}) {
        for (const std::int32_t mode : math_modes) {
            for (const std::int32_t type : {0, +compute_64f, +compute_64f_pedantic, +compute_64f_emulated_fixedpoint})
                for (const bool is_grouped : {false, true})
                    calls.push_back({.road = Road::compute_type,
                                     .math_mode = mode,
                                     .compute_type = type,
                                     .is_grouped = is_grouped,
                                     .has_fp64_emulation = has_emulation});
            calls.push_back({.road = Road::math_mode, .math_mode = mode, .has_fp64_emulation = has_emulation});
        }
        for (const std::int32_t type : {+compute_64f, +compute_64f_pedantic, +compute_64f_emulated_fixedpoint})
            calls.push_back({.road = Road::lt_matmul, .compute_type = type, .has_fp64_emulation = has_emulation});
        calls.push_back({.has_fp64_emulation = has_emulation});
    }
    std::erase_if(calls, [](const RequestedPrecision& asked) { return !is_known_float64_request(asked); });
    int changes = 0, counted = 0;
    for (const RequestedPrecision& asked : calls)
        for (const bool emulates : {false, true})
            for (const Reason forbids : {Reason::as_requested, Reason::guarded})
                for (const Precision precision : {Precision::native, Precision::fp64, Precision::fp64_emulated}) {
                    const Environment environment{.emulates_fp64 = emulates};
                    const CallChange change =
                        plan_change_of_float64(asked, environment, forbids, {.precision = precision});
                    EXPECT_STREQ(judge_float64(asked, environment, precision, {forbids}, change), "")
                        << words_of(asked, environment, precision, Floor::none, {}) << " emulates " << emulates;
                    changes += change.how == How::forward ? 0 : 1;
                    // A number of bits changes nothing but the number, and only products that are emulated.
                    constexpr std::uint8_t bits = 40;
                    CallChange of_bits =
                        plan_change_of_float64(asked, environment, forbids, {.precision = precision}, bits);
                    const bool has_bits = precision == Precision::fp64_emulated &&
                                          of_bits.format == Format::fp64_emulated && asked.road != Road::none &&
                                          forbids == Reason::as_requested;
                    EXPECT_EQ(of_bits.mantissa_bits, has_bits ? bits : 0)
                        << words_of(asked, environment, precision, Floor::none, {});
                    counted += of_bits.mantissa_bits == bits ? 1 : 0;
                    of_bits.mantissa_bits = 0;
                    if (asked.road != Road::none && forbids == Reason::as_requested) {
                        EXPECT_EQ(of_bits, change);
                    }
                }
    EXPECT_GT(changes, 500);
    EXPECT_GT(counted, 100);
}

}  // namespace
}  // namespace fp32shim::cublas
