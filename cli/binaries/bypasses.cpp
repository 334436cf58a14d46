#include "cli/binaries/bypasses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/binaries/function_kind.hpp"
#include "record/process_facts.hpp"

namespace fp32shim::cli {
namespace {

/// How a library is recognised: by a text that it contains, or by its name. Found in the libraries themselves; a text
/// that a compiler may drop, or that others quote, does not do.
struct KnownRoad {
    std::string_view word;
    std::string_view name;
    std::string_view device;
    std::vector<std::string_view> markers;
    std::vector<std::string_view> files;   ///< beginnings of base names
    std::vector<std::string_view> except;  ///< files that have the marker and go another way
    std::string_view message;
    std::string_view remedy;
    std::uint16_t pins = 0;
};

const std::vector<KnownRoad>& known_roads() {
    static const std::vector<KnownRoad> roads = {
        {"oneDNN",
         "oneDNN",
         "cpu",
         {"onednn_verbose", "dnnl_verbose,", "mkldnn_verbose"},
         {"libdnnl.", "libmkldnn."},
         {},
         "multiplies with kernels of its own, without calling a BLAS function (in torch: convolutions, LSTM, and "
         "matrix "
         "products after torch's own `medium`)",
         "ONEDNN_DEFAULT_FPMATH_MODE=STRICT keeps it at float32",
         record::pin_onednn},
        {"MLAS",
         "MLAS (onnxruntime)",
         "cpu",
         {"MlasGemm"},
         {},
         {},
         "multiplies with kernels of its own, without calling a BLAS function",
         ""},
        {"XLA-CPU",
         "XLA on the CPU",
         "cpu",
         {"EigenMatMulF32"},
         {},
         {},
         "compiles products into code of its own, or gives them to Eigen or oneDNN",
         "JAX_DEFAULT_MATMUL_PRECISION=highest where the program names no precision (for JAX)",
         record::pin_jax},
        {"Eigen",
         "Eigen",
         "cpu",
         {"Eigen8internal"},
         {},
         {},
         "is compiled into the library: its products are no call of a BLAS function",
         ""},
        {"NNPACK",
         "NNPACK",
         "cpu",
         {},
         {"libnnpack"},
         {},
         "multiplies with kernels of its own (in torch: convolutions)",
         ""},
        {"XNNPACK",
         "XNNPACK",
         "cpu",
         {},
         {"libXNNPACK"},
         {},
         "multiplies with kernels of its own (in torch: mobile layers)",
         ""},
        {"ggml",
         "ggml",
         "cpu",
         {"ggml-cpu/ggml-cpu.c"},
         {"libggml-cpu"},
         {},
         "multiplies with kernels of its own, without calling a BLAS function (llama.cpp, whisper.cpp)",
         ""},
        {"ncnn",
         "ncnn",
         "cpu",
         {"gemm will use load-time value"},
         {"libncnn."},
         {},
         "multiplies with kernels of its own, without calling a BLAS function",
         ""},
        {"dlib",
         "dlib",
         "cpu",
         {"N4dlib16resizable_tensorE"},
         {},
         {},
         "its networks multiply with code of its own where it was built without a BLAS (as in the wheels)",
         ""},
        {"cuDNN",
         "cuDNN",
         "gpu",
         {"CUDNN_NVTX_LEVEL"},
         {"libcudnn.so", "libcudnn_graph.", "libcudnn_ops_infer."},  // its other parts need one of the last two
         {"libcudnn_adv.", "libcudnn_cnn.", "libcudnn_ops."},
         "on a GPU, convolutions, recurrent layers and attention run in kernels of its own; only what its engines "
         "call "
         "of cublasLt is seen",
         "NVIDIA_TF32_OVERRIDE=0 switches its TF32 off",
         record::pin_nvidia},
        {"cuSPARSELt",
         "cuSPARSELt",
         "gpu",
         {},
         {"libcusparseLt."},
         {},
         "on a GPU, products with sparse matrices run in kernels of its own",
         "NVIDIA_TF32_OVERRIDE=0 switches its TF32 off",
         record::pin_nvidia},
        {"cuTENSOR",
         "cuTENSOR",
         "gpu",
         {"CUTENSOR_DISABLE_PLAN_CACHE"},
         {"libcutensor."},
         {},
         "on a GPU, contractions of tensors run in kernels of its own; only what it calls of cublasLt is seen",
         "NVIDIA_TF32_OVERRIDE=0 switches its TF32 off",
         record::pin_nvidia},
        {"XLA-GPU",
         "XLA on a GPU",
         "gpu",
         {"__cublas$lt$matmul"},
         {"xla_cuda_plugin.", "xla_rocm_plugin."},
         {},
         "on a GPU, compiles products into kernels of its own where its autotuner finds those faster, or its "
         "compilation cache has them",
         "JAX_DEFAULT_MATMUL_PRECISION=highest where the program names no precision (for JAX)",
         record::pin_jax},
        {"TensorRT",
         "TensorRT",
         "gpu",
         {},
         {"libnvinfer.", "libnvinfer_dispatch.", "libnvinfer_lean."},
         {},
         "on a GPU, whole networks run in kernels that it chose when it built its engine",
         "NVIDIA_TF32_OVERRIDE=0 switches its TF32 off, where the engine was built with it as well",
         record::pin_nvidia},
        {"AMD-BLAS",
         "AMD's BLAS",
         "gpu",
         {},
         {"librocblas.", "libhipblaslt.", "libMIOpen."},
         {},
         "on a GPU of AMD's, products run in rocBLAS, hipBLASLt or MIOpen, which are not intercepted",
         "the program's own setting"},
        {"Triton",
         "Triton",
         "gpu",
         {},
         {"libtriton."},
         {},
         "on a GPU, products are compiled into the kernels that it generates",
         "TRITON_F32_DEFAULT=ieee where a kernel names no precision (`allow_tf32` or `input_precision` of tl.dot)",
         record::pin_triton},
        {"MLX",
         "MLX",
         "gpu",
         {},
         {"libmlx."},
         {},
         "on a GPU, some products run in kernels of its own",
         "MLX_ENABLE_TF32=0 switches its TF32 off",
         record::pin_mlx},
        {"CUTLASS",
         "CUTLASS",
         "gpu",
         {"7cutlass"},
         {},
         {"libcublas", "libcudnn", "libcusparse", "libcusolver", "libcutensor", "libcufft", "libnv"},
         "on a GPU, products run in kernels that are compiled into the library (in torch: attention, and some "
         "sparse and low-precision products)",
         "the program's own setting"},
        {"static-cuBLAS",
         "cuBLAS, linked statically",
         "gpu",
         {"CUBLASLT_LOG_LEVEL", "CUBLAS_LOGINFO_DBG"},
         {},
         {"libcublas.", "libcublasLt.", "libnvblas."},
         "on a GPU, cuBLAS is inside the library, and no call of it leaves",
         "NVIDIA_TF32_OVERRIDE=0 switches its TF32 off",
         record::pin_nvidia | record::pin_cublas_emulation},
    };
    return roads;
}

/// BLAS libraries by a text that remains when they are linked in statically and stripped.
struct KnownBlas {
    std::string_view name;
    std::string_view marker;
};
constexpr std::string_view mkl_marker = "MKL FATAL ERROR";
constexpr KnownBlas known_blas[] = {
    {"OpenBLAS", "OpenBLAS : Program is Terminated"}, {"BLIS", "libblis: "}, {"MKL", mkl_marker}};

constexpr std::string_view static_blas_word = "static-BLAS";

constexpr std::string_view lookup_markers[] = {"cublasGemmEx", "cublasSgemm_v2", "cublasLtMatmul"};

bool begins_with_any(std::string_view name, const std::vector<std::string_view>& beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](std::string_view beginning) { return name.starts_with(beginning); });
}

Road road_in(const KnownRoad& road, const std::string& path) {
    return {std::string(road.word),    std::string(road.name),   path,     std::string(road.device),
            std::string(road.message), std::string(road.remedy), road.pins};
}

bool has_kind(const std::vector<ElfSymbol>& symbols, FunctionKind kind) {
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](const ElfSymbol& symbol) { return function_kind(symbol.name) == kind; });
}

/// What the functions of a BLAS in a file are: not exported, or those of a program, which come before every preload
/// and which it calls directly.
std::string describe(const std::vector<std::string>& names, bool are_exported) {
    if (names.empty()) return {};
    return fmt::format(" ({} of its functions are defined and {}: {}{})", names.size(),
                       are_exported ? "come before every preload" : "not exported", names.front(),
                       names.size() > 1 ? ", …" : "");
}

/// A BLAS inside: by the names that a program has and exports, by hidden names, else, in a stripped file, by its
/// texts.
void add_static_blas(const std::string& path, const ElfFile& elf, const std::vector<bool>& found,
                     std::vector<Road>& roads) {
    std::vector<std::string> hidden;
    for (const std::string& name : elf.hidden) {
        if (function_kind(name) == FunctionKind::blas) hidden.push_back(name);
    }
    std::string which;
    for (std::size_t i = 0; i < std::size(known_blas); ++i) {
        if (found[i]) which = known_blas[i].name;
    }
    std::vector<std::string> exported;
    if (!elf.interpreter.empty()) {
        for (const ElfSymbol& symbol : elf.exports) {
            if (function_kind(symbol.name) == FunctionKind::blas) exported.push_back(symbol.name);
        }
    }
    const bool imports = has_kind(elf.imports, FunctionKind::blas);
    // In wheels, `sgemm_` is often a local function of a few instructions that calls `scipy_sgemm_` of another
    // library.
    if (imports && which.empty()) hidden.clear();
    const bool takes_part = imports || has_kind(elf.exports, FunctionKind::blas);
    const bool is_part_of_mkl = std::filesystem::path(path).filename().string().starts_with("libmkl_");
    if (exported.empty() && hidden.empty() && (which.empty() || takes_part || is_part_of_mkl)) return;
    const std::string what = which.empty() ? "a BLAS" : which;
    const std::string names = exported.empty() ? describe(hidden, false) : describe(exported, true);
    roads.push_back({std::string(static_blas_word), fmt::format("{}, linked statically", what), path, "cpu",
                     fmt::format("inside the file{}, and no call of it leaves", names),
                     "link the program with a shared BLAS"});
}

}  // namespace

std::vector<Road> find_roads(const std::string& path, const ElfFile& elf) {
    std::vector<std::string_view> markers;
    for (const KnownRoad& road : known_roads())
        markers.insert(markers.end(), road.markers.begin(), road.markers.end());
    const std::size_t first_blas = markers.size();
    for (const KnownBlas& blas : known_blas) markers.push_back(blas.marker);
    const std::vector<bool> found = find_markers(path, markers);

    const std::string base_name = std::filesystem::path(path).filename().string();
    std::vector<Road> roads;
    std::size_t next = 0;
    for (const KnownRoad& road : known_roads()) {
        const auto begin = found.begin() + static_cast<std::ptrdiff_t>(next);
        const bool has_marker = std::find(begin, begin + static_cast<std::ptrdiff_t>(road.markers.size()), true) !=
                                begin + static_cast<std::ptrdiff_t>(road.markers.size());
        next += road.markers.size();
        if (!has_marker && !begins_with_any(base_name, road.files)) continue;
        if (begins_with_any(base_name, road.except)) continue;
        roads.push_back(road_in(road, path));
    }
    add_static_blas(path, elf, {found.begin() + static_cast<std::ptrdiff_t>(first_blas), found.end()}, roads);
    return roads;
}

std::vector<Road> find_roads_by_name(const std::string& path) {
    const std::string base_name = std::filesystem::path(path).filename().string();
    std::vector<Road> roads;
    for (const KnownRoad& road : known_roads()) {
        if (begins_with_any(base_name, road.files)) roads.push_back(road_in(road, path));
    }
    return roads;
}

std::vector<std::string_view> road_words() {
    std::vector<std::string_view> words;
    for (const KnownRoad& road : known_roads()) words.push_back(road.word);
    words.push_back(static_blas_word);
    return words;
}

bool looks_cublas_up(const std::string& path, const ElfFile& elf) {
    if (has_kind(elf.imports, FunctionKind::cublas) || has_kind(elf.exports, FunctionKind::cublas)) return false;
    if (std::filesystem::path(path).filename().string().starts_with("libcublas")) return false;
    const std::vector<bool> found = find_markers(path, lookup_markers);
    return std::find(found.begin(), found.end(), true) != found.end();
}

bool contains_mkl(const std::string& path) { return find_markers(path, {&mkl_marker, 1}).front(); }

}  // namespace fp32shim::cli
