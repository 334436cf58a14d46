// gpu-check tests on a real GPU that the library works as documented. `fp32shim gpu-check` starts this program.
//
//   gpu-check [OPTION...]             gives the verdict: checks/
//   gpu-check --worker SECTION ...    measures one section, as a child of the other: sections/
#include "gpu_check/checks/gpu_check.hpp"
#include "gpu_check/workers/ask.hpp"

int main(int argc, char** argv) { return gpu::run_program(argc, argv, gpu::section_called, gpu::check_gpu); }
