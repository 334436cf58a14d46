// The processor and the GPUs of this machine, as `fp32shim doctor` lists them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/doctor/finding.hpp"

namespace fp32shim::cli {

struct Processor {
    std::string architecture;
    std::string model;                                   ///< as the processor calls itself; empty: unknown
    int cores = 0;                                       ///< that this process may run on
    std::vector<std::pair<std::string, bool>> features;  ///< what matters to products; also switched on by the kernel

    bool has(const std::string& feature) const;
};

Processor read_processor();

struct Gpu {
    std::string name;
    std::string compute_capability;  ///< `9.0`
    double memory_gib = 0;
};

struct Gpus {
    std::string problem;  ///< why there are none: `no NVIDIA driver`
    std::string driver;   ///< version of the kernel's module; empty: unknown
    std::string cuda;     ///< the newest CUDA that the driver runs, `13.0`
    std::vector<Gpu> devices;
};

/// Asks libcuda.so.1, in a child process. CUDA_VISIBLE_DEVICES holds, as for a program.
Gpus read_gpus();

}  // namespace fp32shim::cli
