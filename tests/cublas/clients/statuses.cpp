// Tests bad input. Prints a line `case status` for each call. The lines are the same with and without the shim, and
// with and without a device.
//
//   statuses [destroyed]    also uses a destroyed handle, if the library survives that, as the stand-in does
//   statuses rounds N       only products, right and wrong ones, N times, in two sizes; with CLIENT_SCOPES=1 in
//                           scopes that have a label
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "api.hpp"
#include "product_case.hpp"
#include "shim_api.hpp"

namespace clients {
namespace {

void print(const std::string& label, int status) { std::printf("%s %d\n", label.c_str(), status); }

/// Memory that a kernel may use. It is on the device if there is one; otherwise on the host, where no kernel runs.
class Memory {
  public:
    explicit Memory(bool on_device) {
        if (on_device) {
            CUdeviceptr address = 0;
            api().cuMemAlloc_v2(&address, sizeof host_);
            address_ = reinterpret_cast<void*>(address);
        } else {
            address_ = host_;
        }
    }
    void* address() const { return address_; }

  private:
    alignas(16) unsigned char host_[1 << 16] = {};
    void* address_;
};

bool make_device_current() {
    int count = 0;
    CUdevice device = 0;
    CUcontext context = nullptr;
    return api().cuInit != nullptr && api().cuInit(0) == CUDA_SUCCESS &&
           api().cuDeviceGetCount(&count) == CUDA_SUCCESS && count > 0 &&
           api().cuDeviceGet(&device, 0) == CUDA_SUCCESS &&
           api().cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS &&
           api().cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

/// Returns a call with valid arguments only.
Call good_call(cublasHandle_t handle, const ProductCase& product, void* memory, void* array) {
    static float scalar = 1;
    const bool is_of_pointers = product.batching == Batching::arrays || product.batching == Batching::groups;
    Call call;
    call.handle = handle;
    for (Option* option : {&call.trans_a, &call.trans_b, &call.diag}) *option = {'N'};
    call.side = {'L'};
    call.uplo = {'U'};
    call.m = call.n = call.k = call.lda = call.ldb = call.ldc = 8;
    call.stride_a = call.stride_b = call.stride_c = 64;
    call.alpha.value = call.beta.value = 1;
    call.alpha.address = call.beta.address = &scalar;
    call.a = call.b = call.c = {is_of_pointers ? array : memory};
    call.groups.trans_a = call.groups.trans_b = {CUBLAS_OP_N};
    for (Integers* integers :
         {&call.groups.m, &call.groups.n, &call.groups.k, &call.groups.lda, &call.groups.ldb, &call.groups.ldc})
        integers->push_back(8);
    call.groups.size.push_back(1);
    call.groups.alpha = call.groups.beta = {1};
    call.groups.count = 1;
    if (product.dtype == Dtype::complex64) call.type = call.type_c = CUDA_C_32F;
    return call;
}

struct Mistake {
    const char* name;
    std::function<void(Call&)> make;
};

const std::vector<Mistake> mistakes = {
    {"good", [](Call&) {}},
    {"null_handle", [](Call& call) { call.handle = nullptr; }},
    {"bad_trans",
     [](Call& call) { call.trans_a = {'?'}, call.groups.trans_a = {static_cast<cublasOperation_t>(77)}; }},
    {"bad_side", [](Call& call) { call.side = {'?'}; }},
    {"bad_uplo", [](Call& call) { call.uplo = {'?'}; }},
    {"bad_diag", [](Call& call) { call.diag = {'?'}; }},
    {"negative_m", [](Call& call) { call.m = -1; }},
    {"negative_n", [](Call& call) { call.n = -1; }},
    {"negative_k", [](Call& call) { call.k = -1; }},
    {"negative_batch", [](Call& call) { call.batch = -1; }},
    {"negative_groups", [](Call& call) { call.groups.count = -1; }},
    {"small_lda", [](Call& call) { call.lda = 7; }},
    {"small_ldb", [](Call& call) { call.ldb = 7; }},
    {"small_ldc", [](Call& call) { call.ldc = 7; }},
    {"empty", [](Call& call) { call.m = call.n = 0; }},
    {"integer_operands", [](Call& call) { call.type = CUDA_R_8I; }},
    {"unknown_type", [](Call& call) { call.type = static_cast<cudaDataType_t>(999); }},
    {"wide_result", [](Call& call) { call.type_c = CUDA_R_64F; }},
    {"compute_64f", [](Call& call) { call.compute_type = CUBLAS_COMPUTE_64F; }},
    {"compute_16f", [](Call& call) { call.compute_type = CUBLAS_COMPUTE_16F; }},
    {"unknown_compute_type", [](Call& call) { call.compute_type = static_cast<cublasComputeType_t>(999); }},
    {"unknown_algorithm", [](Call& call) { call.algo = static_cast<cublasGemmAlgo_t>(12345); }},
};

void print_products(cublasHandle_t handle, void* memory, void* array, int size = 8) {
    for (const ProductCase& product : plain_cases()) {
        if (!product.exists || product.road == Road::observed || product.road == Road::as_called) continue;
        for (const Mistake& mistake : mistakes) {
            Call call = good_call(handle, product, memory, array);
            call.n = size;
            mistake.make(call);
            print(product.function + (product.dtype == Dtype::complex64 ? "_complex64_" : "_float32_") + mistake.name,
                  product.call(call));
        }
    }
}

void print_state(cublasHandle_t handle) {
    cublasMath_t mode{};
    print("get_math_mode_null_handle", api().cublasGetMathMode(nullptr, &mode));
    print("set_math_mode_null_handle", api().cublasSetMathMode(nullptr, CUBLAS_DEFAULT_MATH));
    print("get_math_mode_null_result", api().cublasGetMathMode(handle, nullptr));
    for (int value : {0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 18, 19, 32, 77, -1}) {
        print("set_math_mode_" + std::to_string(value),
              api().cublasSetMathMode(handle, static_cast<cublasMath_t>(value)));
        mode = CUBLAS_DEFAULT_MATH;
        print("get_math_mode_after_" + std::to_string(value), api().cublasGetMathMode(handle, &mode));
        print("math_mode_after_" + std::to_string(value), mode);
    }
    print("create_null", api().cublasCreate_v2(nullptr));
    print("destroy_null", api().cublasDestroy_v2(nullptr));
}

cublasLtMatmulDesc_t print_lt_descriptors() {
    cublasLtMatmulDesc_t desc = nullptr;
    print("lt_desc_unknown_compute_type",
          api().cublasLtMatmulDescCreate(&desc, static_cast<cublasComputeType_t>(999), CUDA_R_32F));
    for (int compute_type = 64; compute_type <= 80; ++compute_type)
        print("lt_desc_" + std::to_string(compute_type),
              api().cublasLtMatmulDescCreate(&desc, static_cast<cublasComputeType_t>(compute_type), CUDA_R_32F));
    print("lt_desc", api().cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    print("lt_desc_destroy_null", api().cublasLtMatmulDescDestroy(nullptr));
    for (std::size_t size : {std::size_t{0}, std::size_t{8}, sizeof(cublasLtMatmulDescOpaque_t)}) {
        cublasLtMatmulDescOpaque_t opaque;
        print("lt_desc_init_" + std::to_string(size),
              api().cublasLtMatmulDescInit_internal(&opaque, size, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    }
    for (int attribute : {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 999}) {
        std::int64_t value = 0;
        std::size_t written = 0;
        const auto which = static_cast<cublasLtMatmulDescAttributes_t>(attribute);
        const std::string name = std::to_string(attribute);
        print("lt_desc_get_" + name,
              api().cublasLtMatmulDescGetAttribute(desc, which, &value, sizeof value, &written));
        print("lt_desc_written_" + name, static_cast<int>(written));
        print("lt_desc_value_" + name, static_cast<int>(value));
        print("lt_desc_size_" + name, api().cublasLtMatmulDescGetAttribute(desc, which, nullptr, 0, &written));
        print("lt_desc_set_short_" + name, api().cublasLtMatmulDescSetAttribute(desc, which, &value, 1));
    }
    return desc;
}

void print_lt(cublasHandle_t cublas, void* memory) {
    cublasLtHandle_t handle = nullptr;
    print("lt_create_null", api().cublasLtCreate(nullptr));
    print("lt_create", api().cublasLtCreate(&handle));
    print("lt_destroy_null", api().cublasLtDestroy(nullptr));

    const cublasLtMatmulDesc_t desc = print_lt_descriptors();
    cublasLtMatrixLayout_t layout = nullptr;
    cublasLtMatrixLayout_t other = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;
    print("lt_layout", api().cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 8, 8, 8));
    print("lt_layout_other", api().cublasLtMatrixLayoutCreate(&other, CUDA_R_32F, 9, 9, 9));
    print("lt_preference", api().cublasLtMatmulPreferenceCreate(&preference));

    cublasLtMatmulHeuristicResult_t result{};
    int count = 0;
    const auto ask = [&](const char* name, cublasLtHandle_t of, cublasLtMatmulDesc_t with, cublasLtMatrixLayout_t b,
                         cublasLtMatmulPreference_t prefer, int requested) {
        count = -1;
        print(std::string("lt_heuristic_") + name,
              api().cublasLtMatmulAlgoGetHeuristic(of, with, layout, b, layout, layout, prefer, requested, &result,
                                                   &count));
        print(std::string("lt_heuristic_count_") + name, count);
    };
    ask("good", handle, desc, layout, preference, 1);
    ask("null_handle", nullptr, desc, layout, preference, 1);
    ask("null_layout", handle, desc, nullptr, preference, 1);
    ask("null_preference", handle, desc, layout, nullptr, 1);
    ask("none_requested", handle, desc, layout, preference, 0);
    ask("mismatched_layouts", handle, desc, other, preference, 1);

    const float scalar = 1;
    const auto multiply = [&](const char* name, cublasLtHandle_t of, cublasLtMatmulDesc_t with, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t b) {
        print(std::string("lt_matmul_") + name,
              api().cublasLtMatmul(of, with, alpha, a, layout, memory, b, &scalar, memory, layout, memory, layout,
                                   nullptr, nullptr, 0, nullptr));
    };
    multiply("good", handle, desc, &scalar, memory, layout);
    multiply("cublas_handle", reinterpret_cast<cublasLtHandle_t>(cublas), desc, &scalar, memory, layout);
    multiply("null_handle", nullptr, desc, &scalar, memory, layout);
    multiply("null_alpha", handle, desc, nullptr, memory, layout);
    multiply("null_layout", handle, desc, &scalar, memory, nullptr);
    multiply("mismatched_layouts", handle, desc, &scalar, memory, other);
}

}  // namespace
}  // namespace clients

int main(int argc, char** argv) {
    using namespace clients;
    const bool use_after_destroy = argc > 1 && std::string(argv[1]) == "destroyed";
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // the output before a crash is not lost
    const bool has_device = make_device_current();
    print("device", has_device ? 1 : 0);
    static Memory memory(has_device);
    static Memory array(has_device);
    if (has_device) {
        void* const pointers[] = {memory.address()};
        api().cuMemcpyHtoD_v2(reinterpret_cast<CUdeviceptr>(array.address()), pointers, sizeof pointers);
    }
    cublasHandle_t handle = nullptr;
    print("create", api().cublasCreate_v2(&handle));
    if (argc > 2 && std::string(argv[1]) == "rounds") {
        const ShimApi shim = std::getenv("CLIENT_SCOPES") != nullptr ? shim_api() : ShimApi{};
        for (int round = 0; round < std::atoi(argv[2]); ++round) {
            const char* const label = std::array{"", "encoder", "decoder"}[static_cast<std::size_t>(round % 3)];
            if (shim.is_there()) shim.push_scope(label, nullptr, nullptr);
            print_products(handle, memory.address(), array.address(), 8 - round % 2);
            if (shim.is_there()) shim.pop_scope();
        }
        return 0;
    }
    print_products(handle, memory.address(), array.address());
    print_state(handle);
    print_lt(handle, memory.address());
    if (handle != nullptr) print("destroy", api().cublasDestroy_v2(handle));
    if (use_after_destroy) {
        print_products(handle, memory.address(), array.address());
        print_state(handle);
    }
    if (has_device) print("synchronize", api().cuCtxSynchronize());
    return 0;
}
