// Evidence by the GPU's own counters: how many instructions of tensor cores a product ran, by Nsight Compute (ncu).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpu_check/checks/line.hpp"
#include "gpu_check/workers/ask.hpp"

namespace gpu {

/// Returns the counters of tensor cores among those that `ncu --query-metrics` lists, with the suffix that sums them
/// up: instructions, and operations on TF32. Their names differ from one generation of GPUs to the next.
std::vector<std::string> tensor_metrics(const std::string& listing);

/// One kernel in the output of `ncu --csv`.
struct CountedKernel {
    std::string name;
    std::string metric;
    double value = 0;
};
/// Returns a row for each kernel and metric; rows that cannot be read are left out.
std::vector<CountedKernel> counted_kernels(const std::string& csv);

/// Counts under `high`, where there must be instructions of tensor cores, and under a floor of fp32 while the program
/// asks for TF32 in every way, where there must be none. Not tried where `ncu` is not on the path or may not count.
Line check_counters(const Asking& asking, bool expects_tf32, nlohmann::json& evidence);

}  // namespace gpu
