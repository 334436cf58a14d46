// Who is running: what every line of a log says about its process, and what file names are made of.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::record {

/// Gathered once per process; a forked child differs by its process id and ancestor only. Lines take the id from the
/// kernel.
/// An empty string: unknown.
struct ProcessFacts {
    std::int32_t pid = 0;
    std::int32_t forked_from = 0;  ///< the process whose log a forked child goes on with; 0: not a forked child
    std::string host;              ///< uname's node name
    std::string job_id;            ///< as the batch system wrote it
    std::string job_id_from;       ///< the variable that had it: `SLURM_JOB_ID`
    std::int32_t rank = -1;        ///< -1 when unknown
    std::string rank_from;         ///< the variable that had it: `SLURM_PROCID`
    std::string executable;        ///< the path behind /proc/self/exe
    std::string command;           ///< the whole argument line, joined by single spaces
    std::int64_t start_ns = 0;     ///< when the facts were gathered: nanoseconds since 1970, UTC
    std::uint8_t pins = 0;         ///< pin_…; 0: not known which of them its environment had
};

/// Variables that keep libraries which the shim does not govern at float32, with the values that `fp32shim run --pin`
/// sets. Bits as recordings have them.
inline constexpr std::uint8_t pins_known = 1, pin_onednn = 2, pin_nvidia = 4, pin_cublas_emulation = 8;
struct Pin {
    std::uint8_t bit;
    std::string_view entry;  ///< `NAME=value`
};
inline constexpr Pin all_pins[] = {{pin_onednn, "ONEDNN_DEFAULT_FPMATH_MODE=STRICT"},
                                   {pin_nvidia, "NVIDIA_TF32_OVERRIDE=0"},
                                   {pin_cublas_emulation, "CUBLAS_EMULATE_SINGLE_PRECISION=0"}};
/// The entries of these bits.
std::vector<std::string_view> entries_of(std::uint8_t pins);

/// Asks the kernel, and `environment` (entries `NAME=value`, as in `environ`) for
/// the job: SLURM_JOB_ID, PBS_JOBID, LSB_JOBID, JOB_ID, the first that is set and not empty;
/// the rank: SLURM_PROCID, PMIX_RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, RANK, the first that is a number;
/// and for all_pins.
/// Never fails: what cannot be found out stays unknown. Keeps errno. Allocates; needs little stack.
ProcessFacts gather_process_facts(std::span<const std::string_view> environment);

/// `python3.11` of `/usr/bin/python3.11`.
std::string_view base_name(std::string_view path);

}  // namespace fp32shim::record
