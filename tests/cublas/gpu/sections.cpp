#include "questions.hpp"

namespace gpu {

namespace {

const std::vector<Variant> overrides = {{"without", ""},
                                        {"NVIDIA_TF32_OVERRIDE=0", "NVIDIA_TF32_OVERRIDE=0"},
                                        {"NVIDIA_TF32_OVERRIDE=1", "NVIDIA_TF32_OVERRIDE=1"}};
const std::vector<Variant> native_and_high = {{"native", ""}, {"high", "LD_PRELOAD=SHIM FP32_MATMUL_PRECISION=high"}};
const std::vector<Variant> native_and_highest = {{"native", ""},
                                                 {"highest", "LD_PRELOAD=SHIM FP32_MATMUL_PRECISION=highest"}};
const std::vector<Variant> all_costs = {{"native", ""},
                                        {"preloaded", "LD_PRELOAD=SHIM"},
                                        {"summary",
                                         "LD_PRELOAD=SHIM FP32_MATMUL_LOG=RECORDINGS/%p.fp32rec "
                                         "FP32_MATMUL_LOG_LEVEL=summary"},
                                        {"calls",
                                         "LD_PRELOAD=SHIM FP32_MATMUL_LOG=RECORDINGS/%p.fp32rec "
                                         "FP32_MATMUL_LOG_LEVEL=calls"},
                                        {"highest", "LD_PRELOAD=SHIM FP32_MATMUL_PRECISION=highest"},
                                        {"high", "LD_PRELOAD=SHIM FP32_MATMUL_PRECISION=high"}};

void ask_machine(Worker& worker) {
    const Cublas& cublas = worker.cublas();
    const Device& device = worker.device();
    worker.row({device.name}, [&]() -> std::vector<std::string> {
        const int capability = device.compute_capability;
        worker.found("compute_capability", std::to_string(capability));
        const int driver = device.driver_version;
        return {std::to_string(capability / 10) + "." + std::to_string(capability % 10),
                std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10), cublas.version,
                cublas.library.file()};
    });
}

// The sections that decide the most come first: a time limit cuts off the end.
const std::vector<Section> table = {
    {"machine", "Machine", {"device", "compute capability", "CUDA of the driver", "cuBLAS", "library"}, ask_machine},
    {"math_modes",
     "Functions without a compute type, under each math mode of the handle",
     {"function", "n", "DEFAULT", "TENSOR_OP", "PEDANTIC", "TF32", "error, DEFAULT", "error, TF32", "what TF32 did"},
     ask_math_modes},
    {"compute_types",
     "cublasGemmEx: compute type and algorithm, under each math mode of the handle",
     {"compute type", "algorithm", "n", "DEFAULT", "TENSOR_OP", "PEDANTIC", "TF32"},
     ask_compute_types},
    {"ex_functions",
     "Functions with a compute type, handle in DEFAULT mode",
     {"function", "operands", "n", "32F", "32F_PEDANTIC", "32F_FAST_TF32", "32F_FAST_16BF", "32F_FAST_16F",
      "32F_EMULATED_16BFX9"},
     ask_ex_functions},
    {"ties",
     "How operands are rounded: each element times 1, all others zero",
     {"compute type", "n", "operand", "trans_a, trans_b", "memory", "1 + u/2", "1 + 3u/2", "1 + 3u/4", "-(1 + u/2)",
      "rule"},
     ask_ties},
    {"override", "NVIDIA_TF32_OVERRIDE", {"product", "result"}, ask_override, overrides},
    {"lt_formats",
     "cublasLt: what each compute type gives",
     {"compute type", "n", "heuristic", "the algorithm says", "result", "result, algorithm NULL"},
     ask_lt_formats},
    {"lt_algorithms",
     "cublasLt: an algorithm under another compute type than it was found for",
     {"algorithm found for", "used with", "cublasLtMatmulAlgoCheck", "cublasLtMatmul"},
     ask_lt_algorithms,
     {},
     true},
    {"alignment",
     "Operands that are not aligned to 256 bytes",
     {"function", "compute type", "operands at", "result"},
     ask_alignment,
     {},
     true},
    {"lt_alignment",
     "cublasLtMatmul, operands at 4 bytes",
     {"compute type", "algorithm", "result"},
     ask_lt_alignment,
     {},
     true},
    {"shapes",
     "The same product by different calls: whether the bits agree, and times as ratios",
     {"m, n, k, trans", "us", "GemmEx 32F", "time", "algorithm 99", "time", "PEDANTIC, time",
      "TF32 mode and FAST_TF32", "time"},
     ask_shapes},
    {"gains", "What TF32 mode gains", {"function", "n", "DEFAULT, ms", "TF32, ms", "gain"}, ask_gains},
    {"workspace", "Workspaces", {"bytes", "compute type", "cublasLtMatmul", "cublasGemmEx"}, ask_workspace},
    {"capability",
     "A cublasLt handle from before any context, COMPUTE_32F",
     {"product", "result"},
     ask_capability,
     native_and_high},
    {"graph", "Products captured into a graph", {"nodes", "types", "replayed bits"}, ask_graph, native_and_high},
    {"threads",
     "Two threads on one handle in TF32 mode: HGEMM beside SSYRK",
     {"HGEMMs", "differ from those alone", "SSYRK"},
     ask_threads,
     native_and_highest},
    {"latency", "What a call costs the host", {"call", "ns"}, ask_latency, all_costs},
};

}  // namespace

std::span<const Section> sections() { return table; }

}  // namespace gpu
