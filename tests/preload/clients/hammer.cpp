// Multiplies on many threads at many call sites at once. Each thread checks its own results.
//
//   hammer THREADS ROUNDS    prints the number of products and the number of wrong ones

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "client.h"

namespace {

std::atomic<long> wrong{0};
std::atomic<bool> go{false};

/// Contains one call site for each Number.
template <int Number>
__attribute__((noinline)) void site(int thread) {
    const blas_int one = 1;
    const float a = static_cast<float>(Number + 1), b = static_cast<float>(thread + 1), alpha = 1, beta = 0;
    float c = 0;
    if constexpr (Number % 2 == 0) {
        sgemm_("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    } else {
        cblas_sgemm(column_major, no_trans, no_trans, 1, 1, 1, 1, &a, 1, &b, 1, 0, &c, 1);
    }
    if (c != a * b) ++wrong;
    __asm__ volatile("" ::"r"(Number));
}

constexpr int sites = 64;

template <int... Numbers>
void all_sites(int thread, std::integer_sequence<int, Numbers...>) {
    (site<Numbers>(thread), ...);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const int thread_count = std::atoi(argv[1]);
    const int rounds = std::atoi(argv[2]);
    std::vector<std::thread> threads;
    for (int t = 0; t < thread_count; ++t) {
        threads.emplace_back([=] {
            while (!go) std::this_thread::yield();
            for (int r = 0; r < rounds; ++r) all_sites(t, std::make_integer_sequence<int, sites>());
        });
    }
    go = true;
    for (auto& thread : threads) thread.join();
    std::printf("%d products, %ld wrong\n", thread_count * rounds * sites, wrong.load());
    return 0;
}
