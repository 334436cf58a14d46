#include <algorithm>

#include "tests/cublas/gpu/questions/sections.hpp"

namespace gpu {

namespace {

#define UNDER "LD_PRELOAD=SHIM "
const std::vector<Variant> overrides = {{"without", ""},
                                        {"NVIDIA_TF32_OVERRIDE=0", "NVIDIA_TF32_OVERRIDE=0"},
                                        {"NVIDIA_TF32_OVERRIDE=1", "NVIDIA_TF32_OVERRIDE=1"}};
const std::vector<Variant> native_and_high = {{"native", ""}, {"high", UNDER "FP32_MATMUL_PRECISION=high"}};
const std::vector<Variant> native_and_highest = {{"native", ""}, {"highest", UNDER "FP32_MATMUL_PRECISION=highest"}};

// The most decisive sections come first, since a time limit cuts off the end.
const std::vector<Section> own_sections = {
    {"functions", "Every function, with each compute type and algorithm, under each math mode of the handle",
     measure_functions},
    {"ties", "How operands are rounded", measure_ties},
    {"override", "NVIDIA_TF32_OVERRIDE", measure_lowering_requests, overrides},
    {"lt_formats", "cublasLt: what each compute type gives", measure_lt_formats},
    {"lt_algorithms",
     "cublasLt: an algorithm under another compute type than it was found for",
     measure_lt_algorithms,
     {},
     true},
    {"alignment", "Operands that are not aligned to 256 bytes", measure_alignment, {}, true},
    {"half_sums", "What products of half operands add in: errors in units of the last place", measure_half_sums},
    {"shapes", "The same product by different calls: whether the bits agree, and times as ratios",
     measure_equivalent_calls},
    {"gains", "What TF32 mode gains", measure_gains},
    {"workspace", "Workspaces", measure_workspace},
    {"capability", "A cublasLt handle from before any context, COMPUTE_32F", measure_capability, native_and_high},
    {"threads", "Two threads on one handle in TF32 mode: HGEMM beside SSYRK", measure_threads, native_and_highest},
};

}  // namespace

std::vector<Section> all_sections() {
    std::vector<Section> all(verdict_sections().begin(), verdict_sections().end());
    all.insert(all.end(), own_sections.begin(), own_sections.end());
    return all;
}

const Section& question_named(const std::string& name) {
    const auto found = std::ranges::find_if(own_sections, [&](const Section& each) { return each.name == name; });
    return found == own_sections.end() ? section_named(name) : *found;
}

}  // namespace gpu
