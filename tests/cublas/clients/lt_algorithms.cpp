// Multiplies by cublasLt in the patterns of frameworks, and prints a line `results N hash H` for each product: the
// number of results of its search, and a hash of the product's bits.
//
//   lt_algorithms search DTYPE [LAYERS]   PyTorch: for each layer descriptors, a search for one algorithm, a product
//   lt_algorithms index DTYPE I           XLA: searches for four, and takes the one at index I without a check
//   lt_algorithms stored DTYPE [ID]       a program with a file of tuned algorithms: AlgoInit and ConfigSetAttribute,
//                                         with split-K 4 and sums in the compute type; no search
//   lt_algorithms chosen DTYPE            without an algorithm: the library chooses
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "lt_product.hpp"

namespace clients {
namespace {

Dtype dtype_of(std::string_view word) {
    return word == "float16" ? Dtype::float16 : word == "float64" ? Dtype::float64 : Dtype::float32;
}

template <class T>
void configure(cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoConfigAttributes_t attribute, T value) {
    EXPECT_EQ(api().cublasLtMatmulAlgoConfigSetAttribute(&algo, attribute, &value, sizeof value),
              CUBLAS_STATUS_SUCCESS);
}

int run(std::string_view pattern, Dtype dtype, int number) {
    const Device device;
    cublasLtHandle_t handle = nullptr;
    if (api().cublasLtCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 2;
    const int layers = pattern == "search" ? number : 1;
    for (int layer = 0; layer < layers; ++layer) {
        LtProduct product({.dtype = dtype, .m = 32, .n = 48, .k = 1024});
        std::optional<cublasLtMatmulAlgo_t> algo;
        int count = 0;
        if (pattern == "search" || pattern == "index") {
            const auto found = product.search(handle, pattern == "search" ? 1 : 4);
            count = found.count;
            algo = found.results[static_cast<std::size_t>(pattern == "search" ? 0 : number)].algo;
        } else if (pattern == "stored") {
            algo = product.algorithm_of_id(handle, number);
            if (!algo) return 3;
            algo = configured(*algo).front();
            configure(*algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, std::int32_t{4});
            configure(*algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, std::uint32_t{2});
            configure(*algo, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, std::uint32_t{1});
        }
        if (product.multiply(handle, algo ? &*algo : nullptr) != CUBLAS_STATUS_SUCCESS) return 4;
        std::printf("results %d hash %016llx\n", count, static_cast<unsigned long long>(product.result_hash()));
    }
    api().cublasLtDestroy(handle);
    return 0;
}

}  // namespace
}  // namespace clients

int main(int count, char** arguments) {
    if (count < 3) return 1;
    return clients::run(arguments[1], clients::dtype_of(arguments[2]), count > 3 ? std::atoi(arguments[3]) : 1);
}
