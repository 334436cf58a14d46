// Facts about the running process, for the lines of a log and for file names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::record {

/// Facts about a process, gathered once. A forked child's facts differ from its parent's in `pid` and `forked_from`
/// only. An empty string means unknown.
struct ProcessFacts {
    std::int32_t pid = 0;
    std::int32_t forked_from = 0;  ///< id of the ancestor whose log a forked child continues; 0: not forked
    std::string host;              ///< node name, from uname
    std::string job_id;            ///< id that the batch system gave the job
    std::string job_id_from;       ///< name of the variable that has the job id, such as `SLURM_JOB_ID`
    std::int32_t rank = -1;        ///< rank of the process in a parallel job; -1: unknown
    std::string rank_from;         ///< name of the variable that has the rank, such as `SLURM_PROCID`
    std::string executable;        ///< path of the program, from /proc/self/exe
    std::string command;           ///< the whole argument line, joined by single spaces
    std::int64_t start_ns = 0;     ///< time when these facts were gathered: nanoseconds since 1970, UTC
    std::uint64_t run = 0;         ///< random number of the `fp32shim run` that started the process; 0: none, or one
                                   ///< that does not record
    bool run_is_awaited = false;   ///< that command waits for the program, and notes the run's end in its recordings
    std::uint16_t pins = 0;        ///< one bit for each variable of all_pins that is in the environment; 0: unknown
};

/// Bits of ProcessFacts::pins: one for each variable of all_pins, and pins_known if the environment was searched.
inline constexpr std::uint16_t pins_known = 1, pin_onednn = 2, pin_nvidia = 4, pin_cublas_emulation = 8,
                               pin_torch = 16, pin_triton = 32, pin_cupy = 64, pin_jax = 128, pin_mlx = 256,
                               pin_fp64_emulation = 512, pin_xla = 1024;
/// Environment variable that `fp32shim run --pin` sets, to keep products that bypass the shim at float32.
struct Pin {
    std::uint16_t bit;
    std::string_view entry;  ///< text `NAME=value`
    std::string_view reach;  ///< effect and limits of the variable: a sentence without its subject
};
inline constexpr Pin all_pins[] = {
    {pin_onednn, "ONEDNN_DEFAULT_FPMATH_MODE=STRICT",
     "keeps oneDNN's float32 operations at float32, except those to which a program gives their own mode"},
    {pin_nvidia, "NVIDIA_TF32_OVERRIDE=0",
     "switches TF32 off in cuBLAS, cuDNN, cuTENSOR and TensorRT for programs that ask for TF32, but not for those "
     "that ask for BF16 or FP16; is not known to do so in cuSPARSE and cuSPARSELt, nor in kernels that others "
     "compile"},
    {pin_cublas_emulation, "CUBLAS_EMULATE_SINGLE_PRECISION=0",
     "keeps cuBLAS from computing float32 products from BF16 products on its own; a program can still ask for that"},
    {pin_fp64_emulation, "CUBLAS_EMULATE_DOUBLE_PRECISION=0",
     "keeps cuBLAS from emulating float64 products on its own; a program can still ask for that"},
    {pin_torch, "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=0",
     "replaces a 1, which NVIDIA's containers set and with which torch asks cuBLAS for TF32 from its start; does not "
     "stop a program that asks for TF32 itself, and does not affect cuDNN, whose TF32 torch allows by default"},
    {pin_triton, "TRITON_F32_DEFAULT=ieee",
     "is the precision of Triton's tl.dot if a kernel names none; does not affect kernels that name one (those of "
     "torch.compile, FlexAttention among them, have the program's own setting of TF32), or that XLA or another "
     "compiler generates"},
    {pin_cupy, "CUPY_TF32=0",
     "keeps CuPy from asking cuBLAS and cuTENSOR for TF32; does not affect a program's own kernels"},
    {pin_jax, "JAX_DEFAULT_MATMUL_PRECISION=highest",
     "is the precision of JAX's products if the program names none; does not affect products with a named precision, "
     "or operands narrower than float32"},
    {pin_xla, "FP32SHIM_XLA_FLAG=--xla_gpu_enable_triton_gemm=false",
     "gives this flag to each XLA that knows it, so that its products go to cuBLAS and not into Triton's kernels; "
     "does not replace what a program says about the flag itself, and does not affect cuDNN's fusions "
     "(--xla_gpu_cudnn_gemm_fusion_level)"},
    {pin_mlx, "MLX_ENABLE_TF32=0", "keeps MLX's float32 products from TF32; does not affect narrower operands"},
};
/// Returns `NAME=value` of each variable of all_pins whose bit is set in `pins`.
std::vector<std::string_view> entries_of(std::uint16_t pins);

/// Name of an environment variable that `fp32shim run` sets. Its value, `NUMBER PATH`, says where processes record
/// programs that run without the shim. NUMBER is the run's number in 16 hexadecimal digits. With `+` in place of the
/// blank, that command has made the file, waits for the program, and then notes the run's end in the recordings.
inline constexpr std::string_view run_variable = "FP32SHIM_RUN";
/// Name of the variable with the process id of `fp32shim run`. With run_process_is_parent before the id, that process
/// is the program's parent; without it, that process has become the program.
inline constexpr std::string_view run_process_variable = "FP32SHIM_RUN_PROCESS", run_process_is_parent = "parent ";
struct RunNote {
    std::uint64_t number = 0;  ///< number of the run; 0: no run
    std::string_view children_path{};
    bool is_awaited = false;
};
RunNote parse_run_note(std::string_view value);

/// Gathers facts from the kernel and from `environment` (entries `NAME=value`, as in `environ`):
/// the job: SLURM_JOB_ID, PBS_JOBID, LSB_JOBID, JOB_ID, the first that is set and not empty;
/// the rank: PMIX_RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, torchrun's RANK, SLURM_PROCID, RANK, the first number;
/// all_pins; and run_variable.
/// Never fails: facts that cannot be found out stay unknown. Keeps errno. Allocates; needs little stack.
ProcessFacts gather_process_facts(std::span<const std::string_view> environment);

}  // namespace fp32shim::record
