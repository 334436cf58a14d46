// The verdict of gpu-check: about twenty lines with their evidence, within an allowed number of seconds.
#pragma once

#include <string>
#include <vector>

namespace gpu {

/// Runs `gpu-check [OPTION...]`. Returns 0 if every line that was tried holds; 1 if one does not, or could not be
/// measured; 77 if there is no CUDA device, or no CUDA.
int check_gpu(const std::vector<std::string>& words);

}  // namespace gpu
