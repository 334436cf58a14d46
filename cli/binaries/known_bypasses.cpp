#include "cli/binaries/known_bypasses.hpp"

#include "record/pinned_variables.hpp"
#include "record/process_facts.hpp"
#include "record/processor.hpp"
#include "system/elf.hpp"

namespace fp32shim::cli {
namespace {

constexpr bool is_x86 = system::own_machine == EM_X86_64;
constexpr std::string_view tf32_off = "NVIDIA_TF32_OVERRIDE=0 switches its TF32 off";
constexpr std::string_view jax_highest =
    "JAX_DEFAULT_MATMUL_PRECISION=highest if the program names no precision (for JAX)";
constexpr std::string_view xla_on_cublas =
    "JAX_DEFAULT_MATMUL_PRECISION=highest if the program names no precision (for JAX), and "
    "XLA_FLAGS=--xla_gpu_enable_triton_gemm=false, by which products go to cuBLAS; run --pin sets both, unless "
    "the program says otherwise";
constexpr std::string_view setting_of_program = "the program's own setting";
constexpr std::string_view runs_kernels_of_programs =
    "runs kernels that programs bring along, without calling a BLAS function";

}  // namespace

std::span<const KnownBypass> known_bypasses() {
    static const KnownBypass bypasses[] = {
        {.name = "oneDNN",
         .markers = {"onednn_verbose", "dnnl_verbose,", "mkldnn_verbose"},
         .files = {"libdnnl.", "libmkldnn."},
         .message = "multiplies with its own kernels, without calling a BLAS function (in torch: convolutions, LSTM, "
                    "and matrix products after torch's own `medium`)",
         .remedy = "ONEDNN_DEFAULT_FPMATH_MODE=STRICT keeps it at float32; run --pin sets that, and records "
                   "its products",
         .pins = record::pin_onednn,
         // On a processor without AVX512BW and AVX-NE-CONVERT, oneDNN has no kernels for BF16 and FP16. Its kernels
         // that round float32 data even require AMX (`is_bf32`).
         .needs = record::has_avx512bw | record::has_avx_ne_convert,
         .needs_source = "has_data_type_support in src/cpu/platform.cpp of oneDNN"},
        // By default, onnxruntime 1.31.1 computes a product of float32 with dequantised weights in 8 bits; with
        // qdq_matmulnbits_accuracy_level=1 it does not (measured). The option for BF16 is in
        // onnxruntime/core/providers/cpu/math/matmul.h.
        {.name = "MLAS",
         .title = "MLAS (onnxruntime)",
         .markers = {"MlasGemm"},
         .message = "multiplies with its own kernels, and rounds float32 operands to 8 bits where a model's weights "
                    "have 4 or 8 bits",
         .remedy = "session.qdq_matmulnbits_accuracy_level=1 avoids that for weights that the model itself converts "
                   "to float32; on aarch64, mlas.enable_gemm_fastmath_arm64_bfloat16 rounds to BF16"},
        {.name = "XLA-CPU",
         .title = "XLA on the CPU",
         .markers = {"EigenMatMulF32"},
         // On CPUs, JAX converts float32 operands for the algorithm F16_F16_F16 only, and XLA ignores the other
         // algorithms (_handle_dot_precision in jax/_src/lax/lax.py of JAX 0.10.2).
         .message = "compiles products into its own code, or gives them to Eigen or oneDNN; JAX converts float32 "
                    "operands to FP16 if a product names the algorithm F16_F16_F16",
         .remedy = jax_highest,
         .pins = record::pin_jax},
        // Eigen multiplies in the type of its operands (see gebp_traits in
        // Eigen/src/Core/products/GeneralBlockPanelKernel.h).
        {.name = "Eigen",
         .markers = {"Eigen8internal"},
         .message = "is compiled into the library, so its products do not call a BLAS function; those of float32 run "
                    "at float32",
         .is_float32 = true},
        // The markers are the names of Eigen's types for FP16 and BF16, which libraries without such code do not
        // contain.
        {.name = "Eigen-half",
         .title = "Eigen's half precision",
         .markers = {"N5Eigen4halfE", "N5Eigen8bfloat16E"},
         .message = "is compiled into the library: code for Eigen::half or Eigen::bfloat16, to which the library may "
                    "convert float32"},
        // The only algorithm of NNPACK that lowers float32, wt8x8_fp16, exists on ARM only (NNPACK's
        // include/nnpack.h).
        {.name = "NNPACK",
         .files = {"libnnpack"},
         .message = "multiplies with its own kernels (in torch: convolutions); on ARM a program can choose FP16",
         .is_float32 = is_x86},
        // A program asks for FP16 by XNN_FLAG_FORCE_FP16_INFERENCE, and a model by "reduced_precision_support"
        // (XNNPACK's src/subgraph.c, and tensorflow/lite/delegates/xnnpack/README.md). The marker is a text in
        // TensorFlow Lite.
        {.name = "XNNPACK",
         .markers = {"failed to create XNNPACK runtime"},
         .files = {"libXNNPACK"},
         .message =
             "multiplies with its own kernels, at FP16 if the program, or a model of TensorFlow Lite, asks for it"},
        // The formats in the message are those of vec_dot_type in ggml/src/ggml-cpu/ggml-cpu.c.
        {.name = "ggml",
         .markers = {"ggml-cpu/ggml-cpu.c"},
         .files = {"libggml-cpu"},
         .message = "multiplies with its own kernels, and rounds float32 operands to the format of the weights or of "
                    "its cache: FP16, BF16, 8 bits (llama.cpp, whisper.cpp)"},
        // ncnn's options use_fp16_packed, use_fp16_storage and use_fp16_arithmetic are on by default
        // (src/option.cpp).
        {.name = "ncnn",
         .markers = {"gemm will use load-time value"},
         .files = {"libncnn."},
         .message = "multiplies with its own kernels, by default at FP16 if the processor has it"},
        // Measured with OpenVINO 2026.4: softmax(q k) v runs as one node of OpenVINO's own code, with brgemm kernels
        // of its copy of oneDNN, which print no verbose lines. INFERENCE_PRECISION_HINT was bf16 on a processor with
        // avx512_bf16.
        {.name = "OpenVINO",
         .markers = {"N2ov9intel_cpu9BrgemmCPUE"},
         .files = {"libopenvino_intel_cpu_plugin."},
         .message = "multiplies in code that it makes itself (attention), by default at BF16 if the processor has it",
         .remedy = "the property INFERENCE_PRECISION_HINT=f32 keeps it at float32"},
        // Measured with CTranslate2 4.8.5: the layers of a model with weights of 8 bits run in 8 bits by default, by
        // MKL's cblas_gemm_s8u8s32, which the shim does not intercept.
        {.name = "CTranslate2",
         .files = {"libctranslate2"},
         .message = "rounds float32 operands to 8 or 16 bits where a model's weights have these, or if the program "
                    "asks for such a compute_type (faster-whisper)",
         .remedy = "compute_type=\"float32\" keeps it at float32"},
        // A program asks for BF16 by Precision_Low_BF16. By Memory_Low, as the models for MNN's LLM have it in their
        // config.json, float32 operands are rounded to 8 bits if the weights have 4 or 8 bits (mDynamicQuant in MNN's
        // source/backend/cpu/compute/ConvInt8TiledExecutor.cpp).
        {.name = "MNN",
         .markers = {"The device supports: i8sdot"},
         .files = {"libMNN.", "_mnncengine."},
         .message = "multiplies with its own kernels, at BF16 or in 8 bits if the program asks for it"},
        // The elements of dlib's tensors, and the loops over them, have no other type than float
        // (dlib/cuda/tensor.h, matrix/matrix_default_mul.h).
        {.name = "dlib",
         .markers = {"N4dlib16resizable_tensorE"},
         .message = "its networks multiply float32 with their own code if it was built without a BLAS (as in the "
                    "wheels)",
         .is_float32 = true},
        // The markers are texts in callers of OpenCV, because many programs, such as Debian's torch, load OpenCV
        // without using it. Net::Impl::setPreferableTarget (modules/dnn) says that only ARM has FP16.
        {.name = "OpenCV",
         .markers = {"_ZN2cv3Mat", "core/src/matmul."},
         .files = {"cv2."},
         .except = {"libopencv_"},
         .message =
             "OpenCV's networks (dnn) and its products of small matrices (cv2.gemm) run in its own kernels; on "
             "ARM a program can choose DNN_TARGET_CPU_FP16",
         .is_float32 = is_x86},
        {.name = "faiss",
         .markers = {"N5faiss20IndexScalarQuantizerE"},
         .files = {"libfaiss", "_swigfaiss"},
         .message =
             "computes distances with its own kernels, and its quantisers round vectors to FP16, BF16 and less"},
        {.name = "simsimd",
         .files = {"simsimd.", "_numkong."},
         .message = "multiplies with its own kernels, also at FP16 and BF16"},
        {.name = "ml_dtypes",
         .files = {"_ml_dtypes_ext."},
         // A product of an array of ml_dtypes with a float32 array runs in numpy's loops at float32. The same holds
         // for a float32 product whose `out` is an array of ml_dtypes; only the result is rounded (measured with
         // ml_dtypes 0.6.0: np.dot, matmul, einsum, inner).
         .message =
             "multiplies arrays of its types (bfloat16, float8_e4m3 …) in its own loops, which take no arrays of "
             "float32",
         .is_float32 = true},
        // numba always loads llvmlite. It has no half precision on CPUs (numba 0.68 says "NotImplementedError:
        // float16"), and LLVM itself rounds no operands. Other programs that load llvmlite compile the code that they
        // wrote.
        {.name = "numba",
         .title = "numba (llvmlite)",
         .files = {"libllvmlite."},
         .message = "compiles functions of the program at run time, which multiply float32 numbers as such in their "
                    "own loops",
         .is_float32 = true},
        {.name = "PDL",
         .title = "PDL (Perl)",
         .markers = {"pdl_matmult_readdata", "PDL::Primitive::matmult"},
         .message = "multiplies with its own kernels, without calling a BLAS function",
         .is_float32 = true},  // no type of PDL is narrower than float (Basic/Core/Types.pm.PL)
        {.name = "CLBlast",
         .files = {"libclblast.", "libclBLAS."},
         .message = "multiplies with OpenCL, in its own functions"},
        // The files for OpenCL and Vulkan are drivers, which are loaded when a program looks for devices. Programs
        // that merely link libOpenCL or libvulkan load no driver. NVIDIA's Vulkan driver also serves OpenGL, and has
        // a separate file for Vulkan's kernels. NVIDIA's profilers, which torch loads, and LightGBM contain a marker
        // because they look up drivers, so they are excluded.
        {.name = "OpenCL",
         .markers = {"clIcdGetPlatformIDsKHR"},
         .files = {"libpocl.", "libnvidia-opencl.", "libamdocl64.", "libigdrcl.", "libintelocl.", "libMesaOpenCL.",
                   "libRusticlOpenCL."},
         .except = {"libOpenCL.", "lib_lightgbm."},
         .message = runs_kernels_of_programs},
        {.name = "Vulkan",
         .markers = {"vk_icdGetInstanceProcAddr"},
         .files = {"libvulkan_", "libnvidia-glvkspirv.", "amdvlk64."},
         .except = {"libvulkan.", "libGLX_nvidia.", "libEGL_nvidia.", "libcupti.", "libnvperf_", "libcheckpoint."},
         .message = runs_kernels_of_programs},
        {.name = "SYCL",
         .files = {"libsycl.", "libacpp-rt.", "libhipSYCL-rt.", "libmkl_sycl"},
         .message = runs_kernels_of_programs},
        // Programs that gfortran compiles with -fexternal-blas call a BLAS for large matrices, and the shim sees
        // these calls.
        {.name = "MATMUL",
         .title = "MATMUL of gfortran",
         .markers = {"_gfortran_matmul_r4", "_gfortran_matmul_c4"},
         .except = {"libgfortran"},
         .message = "Fortran's MATMUL runs in libgfortran, at float32",
         .is_float32 = true},
        {.name = "cuDNN",
         .device = "gpu",
         .markers = {"CUDNN_NVTX_LEVEL"},
         .files = {"libcudnn.so", "libcudnn_graph.",
                   "libcudnn_ops_infer."},  // cuDNN's other libraries need a file of one of the last two names
         .except = {"libcudnn_adv.", "libcudnn_cnn.", "libcudnn_ops."},
         .message = "on a GPU, convolutions, recurrent layers and attention run in its own kernels; only its "
                    "engines' calls of cublasLt are seen",
         .remedy = tf32_off,
         .pins = record::pin_nvidia},
        {.name = "cuSPARSELt",
         .device = "gpu",
         .files = {"libcusparseLt."},
         .message = "on a GPU, products with sparse matrices run in its own kernels",
         .remedy = "no variable switches its TF32 off: give it no float32 matrices"},
        // The markers are texts in callers of cuSPARSE, because every torch for GPUs loads libcusparse. cuSPARSE has
        // kernels for TF32 only for the format Blocked-ELL.
        {.name = "cuSPARSE",
         .device = "gpu",
         .markers = {"cusparseCreateBlockedEll", "cusparseCreateConstBlockedEll"},
         .except = {"libcusparse."},
         .message = "on a GPU, cuSPARSE multiplies Blocked-ELL matrices at TF32, in its own kernels",
         .remedy = "no variable switches its TF32 off: use another of its formats (CSR, for example)"},
        {.name = "cuTENSOR",
         .device = "gpu",
         .markers = {"CUTENSOR_DISABLE_PLAN_CACHE"},
         .files = {"libcutensor."},
         .message = "on a GPU, contractions of tensors run in its own kernels; only its calls of cublasLt are seen",
         .remedy = tf32_off,
         .pins = record::pin_nvidia},
        {.name = "XLA-GPU",
         .title = "XLA on a GPU",
         .device = "gpu",
         .markers = {"__cublas$lt$matmul"},
         .files = {"xla_cuda_plugin.", "xla_rocm_plugin."},
         .message = "on a GPU, compiles products into its own kernels if its autotuner finds those faster, or its "
                    "compilation cache has them",
         .remedy = xla_on_cublas,
         .pins = record::pin_jax | record::pin_xla},
        {.name = "TensorRT",
         .device = "gpu",
         .files = {"libnvinfer.", "libnvinfer_dispatch.", "libnvinfer_lean."},
         .message = "on a GPU, whole networks run in kernels that it chose when it built its engine",
         .remedy = "NVIDIA_TF32_OVERRIDE=0 switches its TF32 off, if the engine was built with it too",
         .pins = record::pin_nvidia},
        {.name = "AMD-BLAS",
         .title = "AMD's BLAS",
         .device = "gpu",
         .files = {"librocblas.", "libhipblaslt.", "libMIOpen."},
         .message = "on an AMD GPU, products run in rocBLAS, hipBLASLt or MIOpen, which are not intercepted",
         .remedy = setting_of_program},
        {.name = "Triton",
         .device = "gpu",
         .files = {"libtriton."},
         .message = "on a GPU, products are compiled into the kernels that it generates",
         .remedy = "TRITON_F32_DEFAULT=ieee if a kernel names no precision (`allow_tf32` or `input_precision` of "
                   "tl.dot); one that names TF32 keeps it, as do torch.compile and its FlexAttention if the program "
                   "allows TF32",
         .pins = record::pin_triton},
        {.name = "MLX",
         .device = "gpu",
         .files = {"libmlx."},
         .message = "on a GPU, some products run in its own kernels",
         .remedy = "MLX_ENABLE_TF32=0 switches its TF32 off",
         .pins = record::pin_mlx},
        {.name = "CUTLASS",
         .device = "gpu",
         .markers = {"7cutlass"},
         // NVIDIA's own libraries are excluded because they are intercepted, or because they or their callers have
         // entries of their own in this table.
         .except = {"libcublas", "libcudnn", "libcusparse", "libcusolver", "libcutensor", "libcufft", "libnv"},
         .message = "on a GPU, products run in kernels that are compiled into the library (in torch: attention, and "
                    "some sparse and low-precision products)",
         .remedy = setting_of_program},
        {.name = "static-cuBLAS",
         .title = "cuBLAS, linked statically",
         .device = "gpu",
         .markers = {"CUBLASLT_LOG_LEVEL", "CUBLAS_LOGINFO_DBG"},
         .except = {"libcublas.", "libcublasLt.", "libnvblas."},
         .message = "on a GPU, cuBLAS is linked into the library, so its calls never leave it",
         .remedy = tf32_off,
         .pins = record::pin_nvidia | record::pin_cublas_emulation},
    };
    return bypasses;
}

}  // namespace fp32shim::cli
