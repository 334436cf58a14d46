// Measures the cost, on the host, that the shim adds to a product of cuBLAS with a cached decision and no log. One
// process makes the same product directly in the library and through the entry point, in alternating rounds.
//
// The library (empty_cublas/) does nothing, and its driver reports compute capability 9.0. So no GPU is needed; the
// time of a real one would hide the shim's. Products are governed by compute type, governed by math mode, or
// forwarded because the program itself asks for the format that the policy chooses:
//
//     LD_PRELOAD=build/lib/libfp32shim.so FP32_MATMUL_PRECISION=high build/bin/cublas_overhead [rounds]
//
// Without FP32_MATMUL_PRECISION, measures the cost of the shim's presence alone. In each line, `runs as` is the
// format that the library was last asked for through the shim.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/empty_cublas/empty_cublas.h"

namespace {

constexpr int trans_n = 0;
constexpr int fill_mode_upper = 1;
constexpr int type_r_32f = 0;
constexpr int compute_32f_fast_tf32 = 77;
constexpr int algorithm_default = -1;

/// Operands, which the empty library never reads.
struct Product {
    void* handle = nullptr;
    int n = 64;
    float alpha = 1, beta = 0, matrix[1] = {};
};

int call(decltype(&cublasSgemm_v2) function, Product& p) {
    return function(p.handle, trans_n, trans_n, p.n, p.n, p.n, &p.alpha, p.matrix, p.n, p.matrix, p.n, &p.beta,
                    p.matrix, p.n);
}

int call(decltype(&cublasSsyrk_v2) function, Product& p) {
    return function(p.handle, fill_mode_upper, trans_n, p.n, p.n, &p.alpha, p.matrix, p.n, &p.beta, p.matrix, p.n);
}

/// Calls the function like a program that asks for TF32 itself.
int call(decltype(&cublasGemmEx) function, Product& p) {
    return function(p.handle, trans_n, trans_n, p.n, p.n, p.n, &p.alpha, p.matrix, type_r_32f, p.n, p.matrix,
                    type_r_32f, p.n, &p.beta, p.matrix, type_r_32f, p.n, compute_32f_fast_tf32, algorithm_default);
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

template <class Function>
double time_ns(Function function, Product& product, int calls) {
    int failures = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) failures += call(function, product);
    const auto end = std::chrono::steady_clock::now();
    if (failures != 0) {
        std::fprintf(stderr, "cublas_overhead: a product failed\n");
        std::exit(1);
    }
    return std::chrono::duration<double, std::nano>(end - begin).count() / calls;
}

template <class Function>
void compare(const char* name, Product& product, int rounds, Function direct, Function through) {
    constexpr int calls = 1'000'000;
    std::vector<double> direct_times, through_times, differences;
    for (int round = 0; round < rounds; ++round) {
        direct_times.push_back(time_ns(direct, product, calls));
        through_times.push_back(time_ns(through, product, calls));
        differences.push_back(through_times.back() - direct_times.back());
    }
    const LastProduct last = empty_cublas_last_product;
    std::printf(
        "%-28s direct %6.2f ns   shim %6.2f ns   difference %+6.2f ns   runs as: compute type %d, math mode %d\n",
        name, median(direct_times), median(through_times), median(differences), last.compute_type, last.math_mode);
}

/// Times the same product outside every scope and in a scope that has a label only. With
/// FP32_MATMUL_LOG=NAME.fp32rec, calls are counted by scope.
template <class Function>
void compare_scopes(const char* name, Product& product, int rounds, Function through) {
    const auto push =
        reinterpret_cast<int (*)(const char*, const char*, const char*)>(dlsym(RTLD_DEFAULT, "fp32shim_push_scope"));
    const auto pop = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "fp32shim_pop_scope"));
    if (push == nullptr || pop == nullptr) return;
    constexpr int calls = 1'000'000;
    std::vector<double> outside, inside, differences;
    for (int round = 0; round < rounds; ++round) {
        outside.push_back(time_ns(through, product, calls));
        push("encoder.layers.3", nullptr, nullptr);
        inside.push_back(time_ns(through, product, calls));
        pop();
        differences.push_back(inside.back() - outside.back());
    }
    std::printf("%-28s outside every scope %6.2f ns   in one with a label %6.2f ns   difference %+6.2f ns\n", name,
                median(outside), median(inside), median(differences));
}

}  // namespace

int main(int count, char** arguments) {
    const int rounds = count > 1 ? std::max(3, std::atoi(arguments[1])) : 31;
    Product product;
    if (cuInit(0) != 0 || cublasCreate_v2(&product.handle) != 0) {
        std::fprintf(stderr, "cublas_overhead: another cuBLAS than that of bench/empty_cublas was loaded\n");
        return 1;
    }
    if (&cublasSgemm_v2 == empty_cublas.sgemm)
        std::fprintf(stderr, "cublas_overhead: the shim is not preloaded; both columns are direct calls\n");
    std::printf("medians of %d rounds\n", rounds);
    compare("cublasSgemm_v2", product, rounds, empty_cublas.sgemm, &cublasSgemm_v2);
    compare("cublasSsyrk_v2", product, rounds, empty_cublas.ssyrk, &cublasSsyrk_v2);
    compare("cublasGemmEx, FAST_TF32", product, rounds, empty_cublas.gemm_ex, &cublasGemmEx);
    compare_scopes("cublasSgemm_v2", product, rounds, &cublasSgemm_v2);
    cublasDestroy_v2(product.handle);
}
