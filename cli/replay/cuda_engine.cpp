// Runs products on a GPU with cuBLAS. The CUDA driver provides memory and measures times.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cli/replay/engine.hpp"
#include "shim/cublas/api.hpp"

namespace fp32shim::cli {
namespace {

using Address = std::uint64_t;
using Handle = void*;

/// The functions of the CUDA driver and of cuBLAS that are used here. Each returns 0 on success.
struct Functions {
    int (*initialise)(unsigned int flags);
    int (*device)(int* device, int ordinal);
    int (*retain_context)(void** context, int device);
    int (*set_context)(void* context);
    int (*memory)(std::size_t* free_bytes, std::size_t* total);
    int (*allocate)(Address* address, std::size_t bytes);
    int (*release)(Address address);
    int (*copy)(Address to, const void* from, std::size_t bytes);
    int (*make_event)(void** event, unsigned int flags);
    int (*record_event)(void* event, void* stream);
    int (*await_event)(void* event);
    int (*time_between)(float* milliseconds, void* begin, void* end);
    int (*make_handle)(Handle* handle);
    int (*gemm)(Handle handle, int trans_a, int trans_b, int m, int n, int k, const void* alpha, Address a,
                int a_type, int lda, Address b, int b_type, int ldb, const void* beta, Address c, int c_type, int ldc,
                int compute_type, int algorithm);
    int (*gemm_batch)(Handle handle, int trans_a, int trans_b, int m, int n, int k, const void* alpha, Address a,
                      int a_type, int lda, long long stride_a, Address b, int b_type, int ldb, long long stride_b,
                      const void* beta, Address c, int c_type, int ldc, long long stride_c, int batch,
                      int compute_type, int algorithm);
};

/// Looks up all functions. Returns the name of a missing one; null if none is missing.
const char* find_functions(void* driver, void* cublas, Functions& functions) {
    const char* missing = nullptr;
    const auto find = [&](void* library, const char* name, auto& function) {
        void* const address = dlsym(library, name);
        if (address == nullptr) missing = name;
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    };
    find(driver, "cuInit", functions.initialise);
    find(driver, "cuDeviceGet", functions.device);
    find(driver, "cuDevicePrimaryCtxRetain", functions.retain_context);
    find(driver, "cuCtxSetCurrent", functions.set_context);
    find(driver, "cuMemGetInfo_v2", functions.memory);
    find(driver, "cuMemAlloc_v2", functions.allocate);
    find(driver, "cuMemFree_v2", functions.release);
    find(driver, "cuMemcpyHtoD_v2", functions.copy);
    find(driver, "cuEventCreate", functions.make_event);
    find(driver, "cuEventRecord", functions.record_event);
    find(driver, "cuEventSynchronize", functions.await_event);
    find(driver, "cuEventElapsedTime", functions.time_between);
    find(cublas, "cublasCreate_v2", functions.make_handle);
    find(cublas, "cublasGemmEx", functions.gemm);
    find(cublas, "cublasGemmStridedBatchedEx", functions.gemm_batch);
    return missing;
}

int compute_type_of(policy::Applied format) {
    if (format == policy::Applied::tf32) return cublas::compute_32f_fast_tf32;
    return format == policy::Applied::bf16 ? cublas::compute_32f_fast_16bf : cublas::compute_32f;
}

int operation_of(char letter) {
    return letter == 'N'   ? cublas::op_n
           : letter == 'T' ? cublas::op_t
           : letter == 'C' ? cublas::op_c
                           : cublas::op_conjg;
}

class CudaEngine : public ProductEngine {
  public:
    explicit CudaEngine(const Functions& functions) : f_(functions) {}

    /// Initializes the first GPU. Returns the reason if this fails; empty on success.
    std::string begin() {
        int device = 0;
        void* context = nullptr;
        if (f_.initialise(0) != 0 || f_.device(&device, 0) != 0 || f_.retain_context(&context, device) != 0 ||
            f_.set_context(context) != 0 || f_.make_event(&begin_, 0) != 0 || f_.make_event(&end_, 0) != 0)
            return "the CUDA driver could not be initialised";
        if (const int status = f_.make_handle(&handle_); status != 0)
            return fmt::format("cublasCreate returned status {}", status);
        return {};
    }

    Layout layout() const override { return Layout::column_major; }

    std::string prepare(const GemmTask& task) override {
        const std::optional<GemmBytes> bytes = bytes_of(task);
        std::size_t free_bytes = 0, total = 0;
        if (f_.memory(&free_bytes, &total) != 0) return "the CUDA driver has failed";
        if (!bytes || bytes->a / 4 + bytes->b / 4 + bytes->c / 4 > free_bytes / 8)
            return "its matrices need more than half of the GPU's free memory";
        const GemmSizes& sizes = task.sizes;
        if (std::max({sizes.m, sizes.n, sizes.k, task.batch}) > INT32_MAX) return "its sizes do not fit into 32 bits";
        task_ = task;
        std::vector<float> numbers(std::max(bytes->a, bytes->b) / sizeof(float));
        fill_randomly(numbers.data(), numbers.size());
        const std::array<std::size_t, 3> needed = {bytes->a, bytes->b, bytes->c};
        for (std::size_t i = 0; i < needed.size(); ++i) {
            if (f_.allocate(&matrices_[i], needed[i]) != 0) return "the GPU has no memory for it";
            if (i < 2 && f_.copy(matrices_[i], numbers.data(), needed[i]) != 0) return "the CUDA driver has failed";
        }
        return {};
    }

    std::optional<double> run(std::uint64_t count) override {
        float milliseconds = 0;
        if (f_.record_event(begin_, nullptr) != 0) return std::nullopt;
        for (std::uint64_t i = 0; i < count; ++i)
            if (multiply() != 0) return std::nullopt;
        if (f_.record_event(end_, nullptr) != 0 || f_.await_event(end_) != 0 ||
            f_.time_between(&milliseconds, begin_, end_) != 0)
            return std::nullopt;
        return static_cast<double>(milliseconds) * 1e6;
    }

    void release() override {
        for (Address& matrix : matrices_)
            if (matrix != 0) f_.release(std::exchange(matrix, 0));
    }

  private:
    int multiply() const {
        constexpr float one[2] = {1, 0};
        constexpr float zero[2] = {0, 0};
        const GemmSizes& sizes = task_.sizes;
        const LeadingDimensions ld = leading_dimensions(sizes, Layout::column_major);
        const int type = task_.is_complex ? cublas::type_c_32f : cublas::type_r_32f;
        const int trans_a = operation_of(sizes.trans_a), trans_b = operation_of(sizes.trans_b);
        const auto narrow = [](std::int64_t size) { return static_cast<int>(size); };
        const int m = narrow(sizes.m), n = narrow(sizes.n), k = narrow(sizes.k);
        const int compute = compute_type_of(task_.format);
        if (task_.batch == 1)
            return f_.gemm(handle_, trans_a, trans_b, m, n, k, one, matrices_[0], type, narrow(ld.a), matrices_[1],
                           type, narrow(ld.b), zero, matrices_[2], type, narrow(ld.c), compute, cublas::gemm_default);
        return f_.gemm_batch(handle_, trans_a, trans_b, m, n, k, one, matrices_[0], type, narrow(ld.a),
                             sizes.m * sizes.k, matrices_[1], type, narrow(ld.b), sizes.k * sizes.n, zero,
                             matrices_[2], type, narrow(ld.c), sizes.m * sizes.n, narrow(task_.batch), compute,
                             cublas::gemm_default);
    }

    Functions f_;
    Handle handle_ = nullptr;
    void* begin_ = nullptr;
    void* end_ = nullptr;
    std::array<Address, 3> matrices_{};
    GemmTask task_;
};

void* open_cublas(const std::string& library) {
    if (!library.empty()) return dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"})
        if (void* const opened = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return opened;
    return nullptr;
}

}  // namespace

OpenedEngine open_cuda_engine(const std::string& library) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr) return {nullptr, "there is no NVIDIA driver"};
    void* const cublas = open_cublas(library);
    if (cublas == nullptr)
        return {nullptr,
                library.empty() ? "the loader finds no libcublas; set LD_LIBRARY_PATH to its folder" : dlerror()};
    Functions functions{};
    if (const char* const missing = find_functions(driver, cublas, functions))
        return {nullptr, fmt::format("the CUDA libraries have no {}", missing)};
    auto engine = std::make_unique<CudaEngine>(functions);
    if (std::string problem = engine->begin(); !problem.empty()) return {nullptr, problem};
    return {std::move(engine), {}};
}

}  // namespace fp32shim::cli
