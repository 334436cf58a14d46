#include "policy/precision.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "policy/policy.hpp"
#include "policy/settings.hpp"
#include "policy/words.hpp"

namespace fp32shim::policy {
namespace {

TEST(Precision, IsParsedByNameAndAlias) {
    const std::pair<std::string_view, Precision> cases[] = {
        {"native", Precision::native}, {"highest", Precision::highest}, {"ieee", Precision::highest},
        {"fp32", Precision::highest},  {"high", Precision::high},       {"tf32", Precision::high},
        {"medium", Precision::medium}, {"bf16", Precision::medium},     {"auto", Precision::automatic},
        {"bf16x9", Precision::bf16x9}, {"bfx9", Precision::bf16x9},     {"bf16x3", Precision::bf16x3},
        {"bf16x2", Precision::bf16x2}, {"tf32x3", Precision::tf32x3},   {"xf32", Precision::xf32},
        {"fp16", Precision::fp16},     {"e4m3", Precision::e4m3},       {"e5m2", Precision::e5m2},
    };
    for (const auto& [text, precision] : cases) EXPECT_EQ(parse_precision(text), precision) << text;
}

TEST(LocationSources, ListsAreReadAndWritten) {
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"native", "native"},
        {"native:8", "native:8"},
        {"NATIVE:64, python", "python,native:64"},
        {"native:2,native", "native:2"},
        {"native:2,native:3", "native:3"},
        {"auto", "auto"},
        {"auto,native:16", "auto,native:16"},
        {"native:8,none", ""},
        {"native:8,none,native", "native"},
        {"", ""},
    };
    for (const auto& [list, text] : cases) {
        LocationSourceSet where, again;
        EXPECT_EQ(parse_location_sources(list, where), "") << list;
        EXPECT_EQ(to_string(where), text);
        EXPECT_EQ(parse_location_sources(to_string(where), again), "");
        EXPECT_EQ(again, where) << list;
    }
}

TEST(Precision, IgnoresCase) {
    EXPECT_EQ(parse_precision("HIGH"), Precision::high);
    EXPECT_EQ(parse_precision("Tf32"), Precision::high);
    EXPECT_EQ(parse_floor("FP32"), Floor::fp32);
    EXPECT_EQ(parse_word(cpu_mode_words, "Emulate"), CpuMode::emulate);
    EXPECT_EQ(parse_word(tf32_rounding_words, "EVEN"), Tf32Rounding::even);
}

TEST(Precision, RefusesEverythingElse) {
    for (const auto* text : {"", " high", "high ", "hi", "higher", "fp8", "automatic", "unchanged", "0"}) {
        EXPECT_EQ(parse_precision(text), std::nullopt) << text;
    }
    EXPECT_EQ(parse_floor("high"), std::nullopt);
    EXPECT_EQ(parse_word(cpu_mode_words, "on"), std::nullopt);
    EXPECT_EQ(parse_word(tf32_rounding_words, "zero"), std::nullopt);
}

TEST(Precision, PrintsTheNameNotTheAlias) {
    for (const auto& [text, precision] : precision_words) EXPECT_EQ(parse_precision(to_string(precision)), precision);
    EXPECT_EQ(to_string(Precision::highest), "highest");
    EXPECT_EQ(to_string(Precision::high), "high");
    EXPECT_EQ(to_string(Precision::medium), "medium");
    EXPECT_EQ(to_string(Precision::automatic), "auto");
}

TEST(Floor, IsOrderedFromLooseToStrict) {
    EXPECT_LT(Floor::none, Floor::fp16);
    EXPECT_LT(Floor::fp16, Floor::bf16);
    EXPECT_LT(Floor::bf16, Floor::tf32);
    EXPECT_LT(Floor::tf32, Floor::bf16x9);
    EXPECT_LT(Floor::bf16x9, Floor::fp32);
}

TEST(Floor, IsMetByFormatsInThisOrder) {
    const std::pair<AppliedFormat, Floor> met[] = {
        {AppliedFormat::fp16, Floor::fp16},   {AppliedFormat::bf16, Floor::bf16},
        {AppliedFormat::tf32, Floor::tf32},   {AppliedFormat::xf32, Floor::tf32},
        {AppliedFormat::bf16x2, Floor::tf32}, {AppliedFormat::bf16x3, Floor::tf32},
        {AppliedFormat::e4m3, Floor::none},   {AppliedFormat::e5m2, Floor::none},
        {AppliedFormat::tf32x3, Floor::tf32}, {AppliedFormat::bf16x9, Floor::bf16x9},
        {AppliedFormat::fp32, Floor::fp32},
    };
    for (const auto& [format, floor] : met) EXPECT_EQ(floor_met_by(format), floor) << to_string(format);
    EXPECT_EQ(floor_met_by(AppliedFormat::unchanged), std::nullopt);
}

TEST(Format, IsReplacedOnGpusByOneThatMeetsItsFloorToo) {
    for (const auto& [text, format] : applied_words) {
        const AppliedFormat nearest = nearest_gpu_format(format);
        EXPECT_GE(floor_met_by(nearest), floor_met_by(format)) << text;
        EXPECT_TRUE(gpu_supports(nearest, 103)) << text;
        EXPECT_EQ(gpu_supports(format, 103), nearest == format) << text;
    }
}

TEST(Format, IsInGpusOfItsCapabilities) {
    struct Case {
        AppliedFormat format;
        std::vector<std::int32_t> in, not_in;
    };
    const Case cases[] = {{AppliedFormat::fp32, {60, 103}, {}},
                          {AppliedFormat::bf16x9, {100, 103}, {0, 90, 101, 120}},
                          {AppliedFormat::tf32, {80, 103}, {0, 75}},
                          {AppliedFormat::bf16, {80, 103}, {0, 75}},
                          {AppliedFormat::fp16, {70, 75, 103}, {0, 61}}};
    for (const Case& a_case : cases) {
        for (const auto capability : a_case.in) EXPECT_TRUE(gpu_supports(a_case.format, capability)) << capability;
        for (const auto capability : a_case.not_in)
            EXPECT_FALSE(gpu_supports(a_case.format, capability)) << capability;
    }
}

TEST(Precision, AsksForTheFormatOfItsNameOrForNone) {
    for (const auto& [text, precision] : precision_words) {
        const bool asks_for_none = precision == Precision::native || precision == Precision::automatic;
        const std::optional<AppliedFormat> format = format_of(precision);
        const Precision by_format = precision == Precision::single ? Precision::highest : precision;
        EXPECT_EQ(asks_for_none ? precision : parse_precision(to_string(format.value())), by_format) << text;
        EXPECT_NE(format.has_value(), asks_for_none) << text;
    }
}

TEST(Tf32Rounding, HasPresetsThatPrintAsTheRoundingThatTheyAre) {
    const std::pair<std::string_view, std::string_view> presets[] = {
        {"a100", "away"}, {"hopper", "even"}, {"MI300", "truncate"}};
    for (const auto& [preset, rounding] : presets)
        EXPECT_EQ(to_string(parse_word(tf32_rounding_words, preset).value()), rounding);
}

TEST(Vocabulary, PrintsEveryValue) {
    for (const auto* name : {"none", "fp16", "bf16", "tf32", "bf16x9", "fp32"}) {
        EXPECT_EQ(to_string(*parse_floor(name)), name);
    }
    for (const auto* name : {"off", "emulate", "accelerate", "reproducible"})
        EXPECT_EQ(to_string(*parse_word(cpu_mode_words, name)), name);
    for (const auto* name : {"away", "even", "truncate"})
        EXPECT_EQ(to_string(*parse_word(tf32_rounding_words, name)), name);
    const std::pair<AppliedFormat, std::string_view> applied[] = {
        {AppliedFormat::fp32, "fp32"},     {AppliedFormat::tf32, "tf32"},     {AppliedFormat::bf16, "bf16"},
        {AppliedFormat::fp16, "fp16"},     {AppliedFormat::bf16x9, "bf16x9"}, {AppliedFormat::unchanged, "unchanged"},
        {AppliedFormat::bf16x2, "bf16x2"}, {AppliedFormat::bf16x3, "bf16x3"}, {AppliedFormat::tf32x3, "tf32x3"},
        {AppliedFormat::xf32, "xf32"},     {AppliedFormat::e4m3, "e4m3"},     {AppliedFormat::e5m2, "e5m2"}};
    for (const auto& [value, name] : applied) EXPECT_EQ(to_string(value), name);
    const std::pair<Source, std::string_view> sources[] = {{Source::guard_pin, "guard_pin"},
                                                           {Source::rule, "rule"},
                                                           {Source::thread, "thread"},
                                                           {Source::process, "process"},
                                                           {Source::environment, "environment"},
                                                           {Source::file, "file"},
                                                           {Source::native, "native"}};
    for (const auto& [value, name] : sources) EXPECT_EQ(to_string(value), name);
    EXPECT_EQ(to_string(Device::cpu), "cpu");
    EXPECT_EQ(to_string(Device::cuda), "cuda");
    EXPECT_EQ(to_string(Dtype::complex64), "complex64");
    EXPECT_EQ(to_string(Dtype::float8), "float8");
    EXPECT_EQ(to_string(OnError::continue_untouched), "continue");
    EXPECT_EQ(to_string(LogLevel::unset), "unset");
    EXPECT_EQ(to_string(LogLevel::calls), "calls");
    EXPECT_EQ(to_string(OnFull::overwrite), "overwrite");
    EXPECT_EQ(to_string(AuditAction::pin), "pin");
}

TEST(Reason, IsPrintedAsItsOwnName) {
    const std::pair<Reason, std::string_view> cases[] = {
        {Reason::as_requested, "as_requested"},
        {Reason::cpu_mode_off, "cpu_mode_off"},
        {Reason::cpu_accelerate_not_built, "cpu_accelerate_not_built"},
        {Reason::cpu_mode_reproducible, "cpu_mode_reproducible"},
        {Reason::compute_capability, "compute_capability"},
        {Reason::floor, "floor"},
        {Reason::pinned, "pinned"},
        {Reason::not_governable, "not_governable"},
        {Reason::observed, "observed"},
        {Reason::invalid_arguments, "invalid_arguments"},
        {Reason::no_product, "no_product"},
        {Reason::width_unknown, "width_unknown"},
        {Reason::scratch_limit, "scratch_limit"},
        {Reason::bf16x9_unavailable, "bf16x9_unavailable"},
        {Reason::tf32_override, "tf32_override"},
        {Reason::alignment, "alignment"},
        {Reason::solver, "solver"},
        {Reason::no_such_format, "no_such_format"},
        {Reason::no_entry_point, "no_entry_point"},
        {Reason::unknown_value, "unknown_value"},
        {Reason::unknown_handle, "unknown_handle"},
        {Reason::library_refused, "library_refused"},
        {Reason::no_algorithm, "no_algorithm"},
        {Reason::protected_call, "protected_call"},
    };
    for (const auto& [reason, name] : cases) EXPECT_EQ(to_string(reason), name);
}

TEST(Vocabulary, PrintsNothingForAValueFromAnotherVersion) {
    EXPECT_EQ(to_string(static_cast<Reason>(200)), "");
    EXPECT_EQ(to_string(static_cast<Precision>(200)), "");
}

}  // namespace
}  // namespace fp32shim::policy
