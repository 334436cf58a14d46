// Facts about the environment of a recorded process, by which two runs can be told apart: hardware and libraries.
#pragma once

#include <cstdint>
#include <string_view>

namespace fp32shim::record {

/// A fact about the environment of a process. Recordings contain the numbers of these values, so new values go to the
/// end.
enum class EnvironmentFact : std::uint32_t {
    none,
    processor,     ///< name of the processor
    instructions,  ///< newest extension of the instruction set that the processor has and the system lets programs
                   ///< use
    cpus,          ///< number of processors that the process may use, at its first product
    python,        ///< version
    torch,         ///< version
    driver,        ///< version of the NVIDIA driver
    // About a library, which has the same name as `provider` in decisions:
    file,     ///< path of the file, without links
    version,  ///< implementation and version, such as `OpenBLAS 0.3.21`
    kernel,   ///< family of processors for which the library multiplies
    threads,  ///< number of threads that the library may use
    // About a device, such as `cuda:0`:
    gpu,  ///< name
    // About the process. A recording has these in a word of its header (record/processor.hpp), not among its facts:
    features,  ///< features of the processor for BF16 and FP16
    amx,       ///< permission for AMX when the process ended
    count_
};

/// Names of the facts, by number: the keys of JSON.
inline constexpr std::string_view environment_words[] = {"none",    "processor", "instructions", "cpus",    "python",
                                                         "torch",   "driver",    "file",         "version", "kernel",
                                                         "threads", "gpu",       "features",     "amx"};
static_assert(sizeof environment_words / sizeof *environment_words ==
              static_cast<std::size_t>(EnvironmentFact::count_));

}  // namespace fp32shim::record
