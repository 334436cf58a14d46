// Facts about the hardware and the libraries of a recorded process, by which the environments of two runs can be
// compared.
#pragma once

#include <cstdint>
#include <string_view>

namespace fp32shim::record {

/// A fact about the environment of a process. Recordings contain the numbers of the values of this enumeration, so
/// new values go to the end.
enum class EnvironmentFact : std::uint32_t {
    none,
    processor,     ///< name of the processor
    instructions,  ///< newest instruction set extension of the processor that the system lets programs use
    cpus,          ///< number of processors that the process was allowed to use when it made its first product
    python,        ///< version of Python
    torch,         ///< version of PyTorch
    driver,        ///< version of the NVIDIA driver
    // The next four facts are about a library that multiplies. Decisions name it in `provider`.
    file,     ///< path of the library's file, after symbolic links are resolved
    version,  ///< the library's implementation and version, such as `OpenBLAS 0.3.21`
    kernel,   ///< name of the processor family for which the library chose its code
    threads,  ///< number of threads that the library may use
    // The next fact is about a device, such as `cuda:0`.
    gpu,  ///< name of the GPU
    // The next two facts are about the process. A recording stores them in Header::processor (see
    // record/processor.hpp) and not as an EnvironmentRecord.
    features,  ///< features of the processor for BF16 and FP16
    amx,       ///< whether the process had permission to use AMX when it ended
    count_
};

/// Names of the facts, in the order of their numbers. They are keys in JSON.
inline constexpr std::string_view environment_words[] = {"none",    "processor", "instructions", "cpus",    "python",
                                                         "torch",   "driver",    "file",         "version", "kernel",
                                                         "threads", "gpu",       "features",     "amx"};
static_assert(sizeof environment_words / sizeof *environment_words ==
              static_cast<std::size_t>(EnvironmentFact::count_));

}  // namespace fp32shim::record
