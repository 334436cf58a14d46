// Evidence from the GPU's own counters: the number of tensor-core instructions in a product, by Nsight Compute (ncu).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpu_check/checks/judge.hpp"
#include "gpu_check/workers/ask.hpp"

namespace gpu {

/// Returns the tensor-core counters in the output of `ncu --query-metrics`, with the suffix `.sum` that adds up a
/// kernel's counts. They count instructions, and operations on TF32. Their names differ between generations of GPUs.
std::vector<std::string> tensor_metrics(const std::string& listing);

/// One kernel in the output of `ncu --csv`.
struct CountedKernel {
    std::string name;
    std::string metric;
    double value = 0;
};
/// Returns a row for each kernel and metric. Rows that cannot be read are left out.
std::vector<CountedKernel> counted_kernels(const std::string& csv);

/// Counts tensor-core instructions twice. Under `high` there must be some. Under a floor of fp32 there must be none,
/// although the program asks for TF32 in every way. Not tried if `ncu` is not on the path or not permitted to count.
Line check_counters(const Asking& asking, bool expects_tf32, nlohmann::json& evidence);

}  // namespace gpu
