#include <algorithm>
#include <stdexcept>

#include "gpu_check/sections/section.hpp"

namespace gpu {
namespace {

#define UNDER "LD_PRELOAD=SHIM "
#define RECORDED "FP32_MATMUL_LOG=FOLDER/%p.fp32rec FP32_MATMUL_LOG_LEVEL="

const std::vector<Variant> native_and_high = {{"native", ""}, {"high", UNDER "FP32_MATMUL_PRECISION=high"}};
const std::vector<Variant> in_turns = {native_and_high[0], native_and_high[1], native_and_high[0],
                                       native_and_high[1]};
// The process writes its policy file before its first product, and changes the file for each turn.
const std::vector<Variant> turns_in_one_process = {
    {"turns", UNDER "FP32_MATMUL_POLICY=FOLDER/policy.toml FP32_MATMUL_ON_ERROR=abort"}};
// Variants with every precision that requests a format. Precisions that are only for rules are set by a rule in a
// policy file.
const std::vector<Variant> every_precision = {
    {"native", ""},
    {"preloaded", UNDER},
#define PRECISION(number, name, format) {#name, UNDER RECORDED "summary FP32_MATMUL_PRECISION=" #name},
#include "policy/formats.def"
#define RULE_PRECISION(number, name, format) {#name, UNDER RECORDED "summary", #name},
#define FLOAT64_RULE_PRECISION(...)  // left out, because the product is of float32
#include "policy/formats.def"
};
const std::vector<Variant> floors = {{"native", ""},
                                     {"floor", UNDER "FP32_MATMUL_FLOOR=fp32"},
                                     {"override", "NVIDIA_TF32_OVERRIDE=1"},
                                     {"override and floor", UNDER "FP32_MATMUL_FLOOR=fp32 NVIDIA_TF32_OVERRIDE=1"}};
// 31 bits are fewer than FP64 has, so results show where cuBLAS emulates (see Float64Problem in
// products/problem.hpp).
#define VISIBLY "CUBLAS_EMULATION_STRATEGY=eager CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT=31 "
#define EMULATING VISIBLY "CUBLAS_EMULATE_DOUBLE_PRECISION=1 "
const std::vector<Variant> rules_of_float64 = {{"native", VISIBLY},
                                               {"recorded", VISIBLY UNDER RECORDED "summary"},
                                               {"environment", EMULATING},
                                               {"fp64", VISIBLY UNDER RECORDED "summary", "fp64"},
                                               {"environment, fp64", EMULATING UNDER RECORDED "summary", "fp64"},
                                               {"fp64_emulated", VISIBLY UNDER RECORDED "summary", "fp64_emulated"}};
const std::vector<Variant> with_audits = {
    {"high", UNDER "FP32_MATMUL_PRECISION=high FP32_MATMUL_AUDIT=1 FP32_MATMUL_LOG=FOLDER/audits.fp32rec"}};

// The most decisive sections come first, because a time limit cuts off the last ones in tests/cublas/gpu/questions.
const std::vector<Section> table = {
    {"machine", "Machine", measure_machine},
    {"product", "One cublasSgemm under each precision", measure_default_product, every_precision},
    {"opt_ins", "Every way to ask for less than FP32, and a floor of fp32", measure_lowering_requests, floors},
    {"float64_rules", "float64 as called, and under rules", measure_float64_formats, rules_of_float64},
    {"graph", "Products captured into a graph: nodes, and replayed bits", measure_captured_products, native_and_high},
    {"times", "FP32, TF32 and forced TF32, in turns", measure_product_times, in_turns},
    {"audits", "Audits against float64", measure_audit_errors, with_audits},
    {"cost", "What recording costs the host, ns, by turns in one process", measure_recording_cost,
     turns_in_one_process},
};

}  // namespace

std::span<const Section> verdict_sections() { return table; }

const Section& section_named(const std::string& name) {
    const auto found = std::ranges::find_if(table, [&](const Section& each) { return each.name == name; });
    if (found == table.end()) throw std::invalid_argument("there is no section '" + name + "'");
    return *found;
}

}  // namespace gpu
