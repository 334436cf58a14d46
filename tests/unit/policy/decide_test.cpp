#include "policy/decide.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "policy/words.hpp"

namespace fp32shim::policy {

void PrintTo(const Decision& decision, std::ostream* stream) {
    *stream << "requested " << to_string(decision.requested) << ", precision " << to_string(decision.precision)
            << ", source " << to_string(decision.source) << ", rule " << decision.rule << ", reason "
            << to_string(decision.reason);
}

namespace {

using enum Precision;
constexpr auto as_requested = Reason::as_requested;
constexpr ProcessDescription program = {"program", "program", "host"};

MatmulCall on_cpu() {
    MatmulCall call;
    call.function = "sgemm_";
    call.m = call.n = call.k = 512;
    return call;
}

MatmulCall on_cuda(std::int32_t compute_capability) {
    MatmulCall call = on_cpu();
    call.function = "cublasSgemm_v2";
    call.device = Device::cuda;
    call.device_index = 0;
    call.compute_capability = compute_capability;
    return call;
}

Policy with_default(Precision precision) {
    Policy policy;
    policy.default_precision = precision;
    policy.default_source = Source::file;
    return policy;
}

Rule rule_for(Precision precision) {
    Rule rule;
    rule.precision = precision;
    return rule;
}

Decision decide(const MatmulCall& call, const Policy& policy) {
    return decide(call, program, policy, PrecisionOverrides{});
}

// ---- the vocabulary's table -------------------------------------------------------------------------------------

struct Cell {
    Precision requested;
    Precision precision;
    Reason reason;
};

void expect_cells(const MatmulCall& call, CpuMode mode, std::initializer_list<Cell> cells) {
    for (const auto& [requested, precision, reason] : cells) {
        Policy policy = with_default(requested);
        policy.cpu_mode = mode;
        EXPECT_EQ(decide(call, policy), (Decision{requested, precision, Source::file, -1, reason}));
    }
}

TEST(Decide, DoesAsAskedOnCudaFromCapabilityEight) {
    for (const int capability : {80, 86, 89, 90, 120}) {
        expect_cells(on_cuda(capability), CpuMode::off,
                     {{native, native, as_requested},
                      {highest, highest, as_requested},
                      {high, high, as_requested},
                      {medium, medium, as_requested},
                      {automatic, high, as_requested}});
    }
}

TEST(Decide, RunsInFp32OnOlderAndUnknownGpus) {
    for (const int capability : {0, 60, 70, 75, 79}) {
        expect_cells(on_cuda(capability), CpuMode::off,
                     {{native, native, as_requested},
                      {highest, highest, as_requested},
                      {high, highest, Reason::compute_capability},
                      {medium, highest, Reason::compute_capability},
                      {automatic, native, as_requested}});
    }
}

TEST(Decide, LeavesTheCpuAloneWhereItsModeIsOff) {
    expect_cells(on_cpu(), CpuMode::off,
                 {{native, native, as_requested},
                  {highest, native, as_requested},
                  {high, native, Reason::cpu_mode_off},
                  {medium, native, Reason::cpu_mode_off},
                  {automatic, native, as_requested}});
}

TEST(Decide, EmulatesOnTheCpu) {
    expect_cells(on_cpu(), CpuMode::emulate,
                 {{native, native, as_requested},
                  {highest, native, as_requested},
                  {high, high, as_requested},
                  {medium, medium, as_requested},
                  {automatic, high, as_requested}});
}

TEST(Decide, AcceleratesMediumOnly) {
    expect_cells(on_cpu(), CpuMode::accelerate,
                 {{native, native, as_requested},
                  {highest, native, as_requested},
                  {high, native, Reason::accelerate_has_bf16_only},
                  {medium, medium, as_requested},
                  {automatic, native, as_requested}});
}

TEST(Decide, ComputesInFloat32InTheModeReproducible) {
    expect_cells(on_cpu(), CpuMode::reproducible,
                 {{native, native, as_requested},
                  {highest, native, as_requested},
                  {high, native, Reason::cpu_mode_reproducible},
                  {medium, native, Reason::cpu_mode_reproducible},
                  {automatic, native, as_requested}});
}

TEST(Decide, GivesBf16x9OnlyToTheGpusThatHaveIt) {
    for (const int capability : {100, 103}) {
        expect_cells(on_cuda(capability), CpuMode::off, {{bf16x9, bf16x9, as_requested}});
    }
    for (const int capability : {0, 75, 80, 90, 101, 110, 120}) {
        expect_cells(on_cuda(capability), CpuMode::off, {{bf16x9, highest, Reason::bf16x9_unavailable}});
    }
}

constexpr Precision split_formats[] = {bf16x9, Precision::bf16x3, Precision::bf16x2, Precision::tf32x3,
                                       Precision::xf32};

TEST(Decide, EmulatesFormatsOfPartsOnTheCpu) {
    for (const Precision format : split_formats) {
        expect_cells(on_cpu(), CpuMode::emulate, {{format, format, as_requested}});
        expect_cells(on_cpu(), CpuMode::off, {{format, native, Reason::cpu_mode_off}});
        expect_cells(on_cpu(), CpuMode::accelerate, {{format, native, Reason::accelerate_has_bf16_only}});
    }
}

TEST(Decide, EmulatesNarrowFormatsOnTheCpuAndAllowsFp16OnGpus) {
    for (const Precision format : {Precision::fp16, Precision::e4m3, Precision::e5m2}) {
        expect_cells(on_cpu(), CpuMode::emulate, {{format, format, as_requested}});
        const Reason reason = format == Precision::fp16 ? as_requested : Reason::no_such_format;
        expect_cells(on_cuda(80), CpuMode::off, {{format, Precision::fp16, reason}});
        expect_cells(on_cuda(75), CpuMode::off, {{format, highest, Reason::compute_capability}});
    }
}

TEST(Decide, RaisesFormatsOf8BitsByEveryFloor) {
    for (const Precision format : {Precision::e4m3, Precision::e5m2}) {
        const std::pair<Floor, Precision> cases[] = {
            {Floor::none, format}, {Floor::fp16, Precision::fp16}, {Floor::bf16, medium}, {Floor::tf32, high}};
        for (const auto& [floor, expected] : cases) {
            Policy policy = with_default(format);
            policy.cpu_mode = CpuMode::emulate;
            policy.floor = floor;
            EXPECT_EQ(decide(on_cpu(), policy).precision, expected) << to_string(floor);
        }
    }
}

TEST(Decide, TakesTheNextStricterFormatOfAGpuForThoseThatNoneHas) {
    for (const Precision format : {Precision::bf16x3, Precision::bf16x2, Precision::tf32x3}) {
        for (const int capability : {0, 75, 80, 90, 100})
            expect_cells(on_cuda(capability), CpuMode::off, {{format, highest, Reason::no_such_format}});
    }
    for (const int capability : {80, 90, 100})
        expect_cells(on_cuda(capability), CpuMode::off, {{Precision::xf32, high, Reason::no_such_format}});
    for (const int capability : {0, 75})
        expect_cells(on_cuda(capability), CpuMode::off, {{Precision::xf32, highest, Reason::compute_capability}});
}

TEST(Decide, LetsThePolicyMoveTheOldestGpu) {
    Policy policy = with_default(high);
    policy.min_compute_capability = 90;
    EXPECT_EQ(decide(on_cuda(89), policy).reason, Reason::compute_capability);
    EXPECT_EQ(decide(on_cuda(90), policy).precision, high);
    policy.default_precision = automatic;
    EXPECT_EQ(decide(on_cuda(89), policy).precision, native);
}

TEST(Decide, TreatsComplexProductsLikeRealOnes) {
    MatmulCall call = on_cuda(90);
    call.dtype = Dtype::complex64;
    EXPECT_EQ(decide(call, with_default(high)).precision, high);
}

TEST(Decide, OnlyObservesNarrowerProducts) {
    Policy policy = with_default(highest);
    policy.floor = Floor::fp32;
    policy.rules.push_back(rule_for(high));
    PrecisionOverrides overrides;
    overrides.pinned = true;
    for (const auto dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float8}) {
        MatmulCall call = on_cuda(90);
        call.dtype = dtype;
        EXPECT_EQ(decide(call, program, policy, overrides),
                  (Decision{native, native, Source::native, -1, Reason::observed}));
    }
}

TEST(Decide, LetsTheFirstRuleWithAccumulateDecideWhatHalfProductsAddIn) {
    Policy policy = with_default(highest);
    policy.floor = Floor::fp32;
    policy.rules = {rule_for(high), rule_for(native), rule_for(native)};
    policy.rules[1].accumulate = Accumulate::as_called;
    policy.rules[1].when.m = {{8, 8}};
    policy.rules[1].has_precision = false;
    policy.rules[2].accumulate = Accumulate::fp32;
    policy.rules[2].has_precision = false;
    PrecisionOverrides overrides;
    overrides.pinned = true;
    for (const auto dtype : {Dtype::float16, Dtype::bfloat16}) {
        MatmulCall call = on_cuda(90);
        call.dtype = dtype;
        for (const std::int64_t m : {8, 9}) {
            call.m = m;
            Decision expected{native, native, Source::rule, m == 8 ? 1 : 2,
                              m == 8 ? Reason::observed : Reason::as_requested};
            expected.accumulate = m == 8 ? Accumulate::as_called : Accumulate::fp32;
            EXPECT_EQ(decide(call, program, policy, overrides), expected);
        }
        call.device = Device::cpu;
        EXPECT_EQ(decide(call, program, policy, overrides).accumulate, Accumulate::as_called);
    }
    policy.rules.erase(policy.rules.begin());
    EXPECT_EQ(decide(on_cuda(90), program, policy, {}).source, policy.default_source);
    policy.rules.clear();
    policy.accumulate = Accumulate::fp32;
    MatmulCall call = on_cuda(90);
    call.dtype = Dtype::float16;
    EXPECT_EQ(decide(call, program, policy, {}).accumulate, Accumulate::fp32);
    EXPECT_EQ(decide(call, program, policy, {}).source, Source::file);
    call.dtype = Dtype::float8;
    EXPECT_EQ(decide(call, program, policy, {}).accumulate, Accumulate::as_called);
}

TEST(Decide, GivesFloat64ProductsOnlyPrecisionsThatTheyHaveWhateverTheFloor) {
    int lowered = 0;
    for (const auto& [floor_word, floor] : floor_words)
        for (const auto& [word, precision] : precision_words)
            for (const auto& [mode_word, mode] : cpu_mode_words)
                for (const bool allow_bf16x9 : {false, true})
                    for (MatmulCall call : {on_cpu(), on_cuda(100)}) {
                        if (!is_allowed_for_float64(precision)) continue;
                        Policy policy = with_default(high);
                        policy.floor = floor;
                        policy.allow_bf16x9 = allow_bf16x9;
                        policy.cpu_mode = mode;
                        policy.rules.push_back(rule_for(precision));
                        policy.rules.back().when.dtype = {Dtype::float64};
                        call.dtype = Dtype::float64;
                        const Decision decision = decide(call, program, policy, {});
                        SCOPED_TRACE(std::string(word) + ", floor " + std::string(floor_word));
                        EXPECT_TRUE(is_allowed_for_float64(decision.precision)) << to_string(decision.precision);
                        const bool is_on_gpu = decision.precision == native ||
                                               decision.precision == Precision::fp64 ||
                                               decision.precision == Precision::fp64_emulated;
                        EXPECT_TRUE(call.device == Device::cpu || is_on_gpu);
                        lowered += decision.precision != native ? 1 : 0;
                    }
    EXPECT_GT(lowered, 20);
}

TEST(Decide, LetsCublasEmulateFloat64OnlyWithoutAFloor) {
    for (const auto& [word, floor] : floor_words) {
        for (const bool is_of_thread : {false, true}) {
            Policy policy = with_default(high);
            PrecisionOverrides overrides;
            (is_of_thread ? overrides.floor : policy.floor) = floor;
            policy.rules.push_back(rule_for(Precision::fp64_emulated));
            policy.rules.back().when.dtype = {Dtype::float64};
            SCOPED_TRACE(word);
            const bool is_free = floor == Floor::none;
            const auto expect = [&](MatmulCall call, Precision precision, Reason reason) {
                call.dtype = Dtype::float64;
                const Decision decision = decide(call, program, policy, overrides);
                EXPECT_EQ(decision.requested, Precision::fp64_emulated);
                EXPECT_EQ(decision.precision, is_free                      ? precision
                                              : call.device == Device::cpu ? native
                                                                           : Precision::fp64);
                EXPECT_EQ(decision.reason, is_free ? reason : Reason::floor);
            };
            expect(on_cuda(90), Precision::fp64_emulated, as_requested);
            expect(on_cuda(75), native, Reason::fp64_emulation_unavailable);
            expect(on_cpu(), native, Reason::fp64_emulation_unavailable);
        }
    }
}

// ---- precedence -------------------------------------------------------------------------------------------------

/// All sources that can choose a precision, each with a different one.
struct Everything {
    Policy policy = with_default(medium);
    PrecisionOverrides overrides;

    Everything() {
        overrides.pinned = true;
        policy.rules = {rule_for(high)};
        overrides.thread = highest;
        overrides.process = automatic;
        policy.default_source = Source::environment;
    }

    Decision decision() const { return decide(on_cuda(90), program, policy, overrides); }
};

TEST(Decide, LetsTheGuardPinWinOverEverything) {
    EXPECT_EQ(Everything().decision(), (Decision{highest, highest, Source::guard_pin, -1, Reason::pinned}));
}

TEST(Decide, LetsARuleWinOverScopesProcessAndEnvironment) {
    Everything all;
    all.overrides.pinned = false;
    EXPECT_EQ(all.decision(), (Decision{high, high, Source::rule, 0, as_requested}));
}

TEST(Decide, LetsTheThreadScopeWinOverTheProcess) {
    Everything all;
    all.overrides.pinned = false;
    all.policy.rules.clear();
    EXPECT_EQ(all.decision(), (Decision{highest, highest, Source::thread, -1, as_requested}));
}

TEST(Decide, LetsTheProcessWinOverTheEnvironment) {
    Everything all;
    all.overrides.pinned = false;
    all.policy.rules.clear();
    all.overrides.thread.reset();
    EXPECT_EQ(all.decision(), (Decision{automatic, high, Source::process, -1, as_requested}));
}

TEST(Decide, FallsBackOnTheDefaultAndSaysWhereItCameFrom) {
    for (const auto source : {Source::environment, Source::file, Source::native}) {
        Policy policy = with_default(medium);
        policy.default_source = source;
        EXPECT_EQ(decide(on_cuda(90), policy), (Decision{medium, medium, source, -1, as_requested}));
    }
}

TEST(Decide, ChangesNothingWithoutAnySetting) {
    EXPECT_EQ(decide(on_cuda(90), Policy{}), (Decision{native, native, Source::native, -1, as_requested}));
    EXPECT_EQ(decide(on_cpu(), Policy{}), (Decision{native, native, Source::native, -1, as_requested}));
}

TEST(Decide, TakesTheFirstRuleThatMatches) {
    Policy policy = with_default(native);
    policy.rules = {rule_for(highest), rule_for(medium), rule_for(high)};
    policy.rules[0].when.function = {"cublasCgemm*"};
    policy.rules[1].when.function = {"cublasSgemm*"};
    EXPECT_EQ(decide(on_cuda(90), policy), (Decision{medium, medium, Source::rule, 1, as_requested}));
}

TEST(Decide, PassesOverARuleWhoseUnlessHolds) {
    Policy policy = with_default(native);
    policy.rules = {rule_for(high), rule_for(highest)};
    policy.rules[0].unless.max_dim = {{0, 512}};
    EXPECT_EQ(decide(on_cuda(90), policy).rule, 1);
}

TEST(Decide, KeepsProductsInFp32UntilAnAuditHasJudgedTheirTolerance) {
    Policy policy;
    policy.rules.push_back(rule_for(medium));
    policy.rules.back().tolerance = Tolerance{};
    for (const MatmulCall& call : {on_cpu(), on_cuda(90)}) {
        policy.cpu_mode = CpuMode::emulate;
        const Decision decision = decide(call, policy);
        EXPECT_EQ(decision.precision, medium);
        const Decision now = decision_before_audits(decision, policy, call.dtype);
        EXPECT_EQ(now.precision, highest);
        EXPECT_EQ(now.reason, Reason::learning);
        EXPECT_EQ(now.rule, 0);
    }
    // An older GPU has FP32 for another reason.
    const Decision old = decide(on_cuda(75), policy);
    EXPECT_EQ(decision_before_audits(old, policy, Dtype::float32), old);
    policy.rules.back().tolerance.reset();
    const Decision other = decide(on_cuda(90), policy);
    EXPECT_EQ(decision_before_audits(other, policy, Dtype::float32), other);
}

TEST(Decide, CanBeToldByARuleToLeaveACallAlone) {
    Policy policy = with_default(high);
    policy.rules = {rule_for(native)};
    EXPECT_EQ(decide(on_cuda(90), policy), (Decision{native, native, Source::rule, 0, as_requested}));
}

TEST(Decide, PinsOnTheCpuByLeavingTheCallAlone) {
    Policy policy = with_default(high);
    policy.cpu_mode = CpuMode::emulate;
    PrecisionOverrides overrides;
    overrides.pinned = true;
    EXPECT_EQ(decide(on_cpu(), program, policy, overrides),
              (Decision{highest, native, Source::guard_pin, -1, Reason::pinned}));
}

// ---- floors -----------------------------------------------------------------------------------------------------

constexpr Floor floors[] = {Floor::none, Floor::fp16, Floor::bf16, Floor::tf32, Floor::bf16x9, Floor::fp32};

TEST(Decide, ClampsEveryPrecisionByEveryFloor) {
    // One row per request, one column per floor, on a GPU that has every format.
    const std::pair<Precision, std::vector<Precision>> rows[] = {
        {native, {native, native, native, native, native, native}},
        {medium, {medium, medium, medium, high, highest, highest}},
        {high, {high, high, high, high, highest, highest}},
        {automatic, {high, high, high, high, highest, highest}},
        {bf16x9, {bf16x9, bf16x9, bf16x9, bf16x9, bf16x9, highest}},
        {highest, {highest, highest, highest, highest, highest, highest}},
    };
    for (const auto& [requested, expected] : rows) {
        for (std::size_t i = 0; i < expected.size(); ++i) {
            Policy policy = with_default(requested);
            policy.floor = floors[i];
            const Precision unclamped = requested == automatic ? high : requested;
            const Reason reason = expected[i] == unclamped ? as_requested : Reason::floor;
            EXPECT_EQ(decide(on_cuda(100), policy), (Decision{requested, expected[i], Source::file, -1, reason}))
                << "floor " << to_string(floors[i]);
        }
    }
}

TEST(Decide, ClampsFormatsOfPartsByEveryFloor) {
    // Formats that leave out products of parts guarantee no more accuracy than TF32.
    for (const Precision format : {Precision::bf16x3, Precision::bf16x2, Precision::tf32x3, Precision::xf32}) {
        for (const Floor floor : floors) {
            Policy policy = with_default(format);
            policy.cpu_mode = CpuMode::emulate;
            policy.floor = floor;
            const bool passes = floor <= Floor::tf32;
            EXPECT_EQ(decide(on_cpu(), policy), (Decision{format, passes ? format : native, Source::file, -1,
                                                          passes ? as_requested : Reason::floor}))
                << to_string(format) << ", floor " << to_string(floor);
        }
    }
}

TEST(Decide, CountsBf16x9AsFp32WhereThePolicyAllowsIt) {
    Policy policy = with_default(bf16x9);
    policy.allow_bf16x9 = true;
    policy.floor = Floor::fp32;
    EXPECT_EQ(decide(on_cuda(100), policy).precision, bf16x9);
    policy.default_precision = high;
    EXPECT_EQ(decide(on_cuda(100), policy).precision, highest);
    policy.floor = Floor::bf16x9;
    EXPECT_EQ(decide(on_cuda(100), policy).precision, bf16x9);
    EXPECT_EQ(decide(on_cuda(90), policy), (Decision{high, highest, Source::file, -1, Reason::floor}));
}

TEST(Decide, HoldsTheStrictestOfBothFloors) {
    for (const Floor of_policy : floors) {
        for (const Floor of_overrides : floors) {
            Policy policy = with_default(medium);
            policy.floor = of_policy;
            PrecisionOverrides overrides;
            overrides.floor = of_overrides;
            Policy strictest = with_default(medium);
            strictest.floor = std::max(of_policy, of_overrides);
            EXPECT_EQ(decide(on_cuda(90), program, policy, overrides), decide(on_cuda(90), strictest));
        }
    }
}

TEST(Decide, ClampsWhoeverChose) {
    Everything all;
    all.policy.floor = Floor::fp32;
    all.policy.rules = {rule_for(medium)};
    all.overrides.thread = medium;
    all.overrides.process = medium;
    EXPECT_EQ(all.decision().reason, Reason::pinned);
    all.overrides.pinned = false;
    EXPECT_EQ(all.decision(), (Decision{medium, highest, Source::rule, 0, Reason::floor}));
    all.policy.rules.clear();
    EXPECT_EQ(all.decision(), (Decision{medium, highest, Source::thread, -1, Reason::floor}));
    all.overrides.thread.reset();
    EXPECT_EQ(all.decision(), (Decision{medium, highest, Source::process, -1, Reason::floor}));
    all.overrides.process.reset();
    EXPECT_EQ(all.decision(), (Decision{medium, highest, Source::environment, -1, Reason::floor}));
}

TEST(Decide, ClampsBeforeTheDeviceIsAsked) {
    Policy policy = with_default(medium);
    policy.floor = Floor::tf32;
    // Raised to TF32, which the GPU does not have.
    EXPECT_EQ(decide(on_cuda(75), policy), (Decision{medium, highest, Source::file, -1, Reason::floor}));
    policy.cpu_mode = CpuMode::emulate;
    EXPECT_EQ(decide(on_cpu(), policy), (Decision{medium, high, Source::file, -1, Reason::floor}));
    policy.floor = Floor::fp32;
    EXPECT_EQ(decide(on_cpu(), policy), (Decision{medium, native, Source::file, -1, Reason::floor}));
}

TEST(Decide, LeavesNativeUnderAFloorToThePlan) {
    Policy policy = with_default(native);
    policy.floor = Floor::fp32;
    EXPECT_EQ(decide(on_cuda(90), policy).precision, native);
    EXPECT_EQ(decide(on_cpu(), policy), (Decision{native, native, Source::file, -1, as_requested}));
}

}  // namespace
}  // namespace fp32shim::policy
