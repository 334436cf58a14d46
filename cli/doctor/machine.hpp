// Describes the processor and the GPUs of this machine.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fp32shim::cli {

/// Processor of this machine, with those of its features that speed up matrix products.
struct Processor {
    std::string architecture;
    std::string model;  ///< name that the processor reports; empty if it is unknown
    int cores = 0;      ///< cores that this process may use
    /// Name of each feature, and true if products may use it: the processor has it, the kernel enables it, and
    /// FP32_MATMUL_INSTRUCTIONS allows it.
    std::vector<std::pair<std::string, bool>> features;

    bool has(const std::string& feature) const;
};

/// Reads the properties of this machine's processor.
Processor read_processor();

struct Gpu {
    std::string name;
    std::string compute_capability;  ///< such as `9.0`
    double memory_gib = 0;
};

/// All NVIDIA GPUs of this machine, and their driver.
struct GpuInventory {
    std::string problem;  ///< reason why no GPU can be used, such as `no NVIDIA driver`; empty if one can be used
    std::string driver;   ///< version of the driver's kernel module; empty if it is unknown
    std::string cuda;     ///< newest CUDA version that the driver supports, such as `13.0`
    std::vector<Gpu> devices;
};

/// Lists the GPUs with libcuda.so.1, in a child process. Only GPUs that CUDA_VISIBLE_DEVICES allows are listed.
GpuInventory read_gpus();

}  // namespace fp32shim::cli
