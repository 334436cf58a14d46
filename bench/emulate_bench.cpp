// Measures the cost of the CPU preview: sgemm on rounded operands, compared with the same sgemm as called. Both use
// the Fortran interface of libopenblas.so.0. The two alternate, so that a busy machine slows both; medians are
// compared.
//   OPENBLAS_NUM_THREADS=1 emulate_bench
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/rounding.hpp"

namespace {

using fp32shim::blas::Level3;
using fp32shim::blas::OperandRounding;
using fp32shim::blas::Operation;

using Sgemm = void (*)(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
                       const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                       const float* beta, float* c, const int* ldc);

Sgemm find_sgemm() {
    void* const openblas = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    return openblas == nullptr ? nullptr : reinterpret_cast<Sgemm>(dlsym(openblas, "sgemm_"));
}

void call_sgemm(void* sgemm, const Level3& p) {
    const int m = static_cast<int>(p.m);
    const int n = static_cast<int>(p.n);
    const int k = static_cast<int>(p.k);
    const int lda = static_cast<int>(p.lda);
    const int ldb = static_cast<int>(p.ldb);
    const int ldc = static_cast<int>(p.ldc);
    const auto scalar = [](const void* value) { return static_cast<const float*>(value); };
    (*static_cast<Sgemm*>(sgemm))(&p.trans_a, &p.trans_b, &m, &n, &k, scalar(p.alpha), scalar(p.a), &lda, scalar(p.b),
                                  &ldb, scalar(p.beta), static_cast<float*>(p.c), &ldc);
}

template <typename Call>
double seconds(Call call) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

std::vector<float> random_matrix(std::int64_t n) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> value(-1.0F, 1.0F);
    std::vector<float> matrix(static_cast<std::size_t>(n * n));
    for (float& element : matrix) element = value(random);
    return matrix;
}

/// Times a product with rounded operands and the same product as called. `trans` is the transposition of both
/// operands. A scratch limit of 0 means a limit that is large enough for all operands.
void emulated_sgemm(benchmark::State& state, char trans, OperandRounding rounding, std::size_t scratch_limit) {
    static Sgemm sgemm = find_sgemm();
    if (sgemm == nullptr) return state.SkipWithError("libopenblas.so.0 with sgemm_ was not found");
    const std::int64_t n = state.range(0);
    const std::vector<float> a = random_matrix(n);
    const std::vector<float> b = random_matrix(n);
    std::vector<float> c(a.size());
    const float alpha = 1.0F;
    const float beta = 0.0F;
    const Level3 product{Operation::gemm, false,    false, 0,        0, trans, trans,    0, n, n, n,
                         &alpha,          a.data(), n,     b.data(), n, &beta, c.data(), n};
    const std::size_t limit = scratch_limit == 0 ? std::size_t{1} << 30 : scratch_limit;
    const auto native = [&] { call_sgemm(&sgemm, product); };
    const auto emulated = [&] { emulate(product, rounding, {call_sgemm, &sgemm}, {call_sgemm, &sgemm}, limit); };
    native();
    emulated();

    std::vector<double> native_times;
    std::vector<double> emulated_times;
    for (auto _ : state) {
        native_times.push_back(seconds(native));
        emulated_times.push_back(seconds(emulated));
        state.SetIterationTime(emulated_times.back());
    }
    state.counters["native_us"] = 1e6 * median(native_times);
    state.counters["emulated_us"] = 1e6 * median(emulated_times);
    state.counters["ratio"] = median(emulated_times) / median(native_times);
}

/// Times only the rounding of one matrix into another. Both stay in those caches that are large enough.
void rounding_alone(benchmark::State& state, OperandRounding rounding) {
    const std::vector<float> from = random_matrix(state.range(0));
    std::vector<float> to(from.size());
    for (auto _ : state) {
        fp32shim::blas::rounding_kernel(rounding)(from.data(), to.data(), from.size());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(from.size() * sizeof(float)));
}

BENCHMARK_CAPTURE(emulated_sgemm, NN_tf32, 'N', OperandRounding::tf32_away, 0)
    ->RangeMultiplier(2)
    ->Range(32, 2048)
    ->UseManualTime();
BENCHMARK_CAPTURE(emulated_sgemm, TT_tf32, 'T', OperandRounding::tf32_away, 0)->Arg(256)->Arg(1024)->UseManualTime();
BENCHMARK_CAPTURE(emulated_sgemm, NN_bf16, 'N', OperandRounding::bf16_even, 0)->Arg(256)->Arg(1024)->UseManualTime();
BENCHMARK_CAPTURE(emulated_sgemm, NN_tf32_in_1_MiB, 'N', OperandRounding::tf32_away, std::size_t{1} << 20)
    ->Arg(1024)
    ->UseManualTime();
BENCHMARK_CAPTURE(rounding_alone, tf32, OperandRounding::tf32_away)->Arg(32)->Arg(256)->Arg(1024);

}  // namespace

BENCHMARK_MAIN();
