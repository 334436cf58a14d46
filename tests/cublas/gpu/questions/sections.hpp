// The sections that answer questions, besides those of gpu-check's verdict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu_check/products/problem.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

/// Returns the verdict's sections, and then those below, in the order of measurement.
std::vector<Section> all_sections();
/// Returns one of all_sections(). Throws std::invalid_argument if there is none of this name.
const Section& question_named(const std::string& name);

// functions.cpp
void measure_functions(Worker& worker);
void measure_alignment(Worker& worker);
void measure_ties(Worker& worker);
// half_sums.cpp
void measure_half_sums(Worker& worker);
/// Returns random numbers of float16, from 0.5 to below 1.
std::vector<std::uint16_t> random_halves(std::size_t count, unsigned seed);
// lt.cpp
void measure_lt_formats(Worker& worker);
void measure_lt_algorithms(Worker& worker);
void measure_workspace(Worker& worker);
void measure_capability(Worker& worker);
// speed.cpp
void measure_equivalent_calls(Worker& worker);
void measure_gains(Worker& worker);
// threads.cpp
void measure_threads(Worker& worker);

struct ComputeType {
    cublasComputeType_t value;
    const char* name;  // name without CUBLAS_COMPUTE_
    const char* row;   // name as used in answers
};
inline constexpr ComputeType compute_types[] = {
    {CUBLAS_COMPUTE_32F, "32F", "32f"},
    {CUBLAS_COMPUTE_32F_PEDANTIC, "32F_PEDANTIC", "32f_pedantic"},
    {CUBLAS_COMPUTE_32F_FAST_TF32, "32F_FAST_TF32", "fast_tf32"},
    {CUBLAS_COMPUTE_32F_FAST_16BF, "32F_FAST_16BF", "fast_16bf"},
    {CUBLAS_COMPUTE_32F_FAST_16F, "32F_FAST_16F", "fast_16f"},
    {CUBLAS_COMPUTE_32F_EMULATED_16BFX9, "32F_EMULATED_16BFX9", "emulated_16bfx9"},
};

}  // namespace gpu
