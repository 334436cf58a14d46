// The verdict of gpu-check: about twenty lines, each with its evidence, within a number of seconds.
#pragma once

#include <string>
#include <vector>

namespace gpu {

/// `gpu-check [OPTION...]`. Returns 0: every line that was tried holds; 1: one does not, or could not be measured;
/// 77: there is no CUDA device, or no CUDA.
int check_gpu(const std::vector<std::string>& words);

}  // namespace gpu
