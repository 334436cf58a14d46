// Measures the cost of a call in programs with many sizes, rules, call sites or libraries, on a BLAS that does
// nothing. The result is processor time, as the median of rounds, minus the time of the same calls without the shim.
//
//     scale_calls [ROUNDS [SIZES [shuffled]]]
//         cycles through 1, 100, 1000, … SIZES sizes, in the order of their first calls, or in a random order
//     scale_calls --policy RULES     writes a policy of rules that depend on sizes; only the last one matches
//     scale_calls --sites [OBJECT…]  opens these libraries, then makes the first call of each of 500 call sites
//     scale_calls --first            makes one call, and prints its time by the clock
//
//     LD_PRELOAD=build/lib/libfp32shim.so FP32_MATMUL_LOG=/tmp/run.%p.fp32rec build/bin/scale_calls
//     build/bin/scale_calls --policy 990 > policy.toml
//     LD_PRELOAD=build/lib/libfp32shim.so FP32_MATMUL_POLICY=$PWD/policy.toml build/bin/scale_calls 5 1000
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

extern "C" {
using Product = void(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
                     const int*, const float*, const int*, const float*, float*, const int*);
Product sgemm_, not_intercepted;
}

namespace {

double ns_of(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}
double thread_ns() { return ns_of(CLOCK_THREAD_CPUTIME_ID); }

[[gnu::always_inline]] inline void call(Product* product, const int& size) {
    static const float one = 1;
    static float memory[1];
    static const int large = 1 << 20, small = 8;
    product("N", "N", &size, &small, &small, &one, memory, &large, memory, &large, &one, memory, &large);
}

double ns_per_call(Product* product, const std::vector<int>& sizes, std::size_t calls) {
    const double begin = thread_ns();
    for (std::size_t i = 0; i < calls; i += sizes.size())
        for (const int& size : sizes) call(product, size);
    return (thread_ns() - begin) / static_cast<double>(calls);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void measure_sizes(int rounds, int largest, bool is_shuffled) {
    for (int count = 1; count <= largest; count = count == 1 ? 100 : count * 10) {
        std::vector<int> sizes(static_cast<std::size_t>(count));
        std::iota(sizes.begin(), sizes.end(), 1);
        const std::size_t calls = std::max(2 * sizes.size(), 1'000'000 / sizes.size() * sizes.size());
        ns_per_call(&sgemm_, sizes, sizes.size());
        if (is_shuffled) std::shuffle(sizes.begin(), sizes.end(), std::minstd_rand(1));
        // The shim times each of the first calls of a size, but only some of the later ones. The first calls are made
        // here.
        for (int i = 0; i < 20; ++i) ns_per_call(&sgemm_, sizes, sizes.size());
        std::vector<double> through, past;
        for (int round = 0; round < rounds; ++round) {
            past.push_back(ns_per_call(&not_intercepted, sizes, calls));
            through.push_back(ns_per_call(&sgemm_, sizes, calls));
        }
        std::printf("%7d sizes: %7.2f ns a call\n", count, median(through) - median(past));
    }
}

void write_policy(int rules) {
    std::puts("schema = 1\n[cpu]\nmode = \"emulate\"");
    for (int i = 1; i <= rules; ++i)
        std::printf("[[rule]]\nprecision = \"%s\"\nwhen = { n = \"%d\" }\n", i < rules ? "high" : "highest",
                    i < rules ? 1'000'000 + i : 8);
}

/// Contains a separate call site for each number.
template <std::size_t number>
[[gnu::noinline]] double first_ns() {
    static const int size = 8;
    const double begin = thread_ns();
    call(&sgemm_, size);
    return thread_ns() - begin;
}

template <std::size_t... numbers>
void measure_sites(std::index_sequence<numbers...>) {
    call(&sgemm_, 8);  // makes the shim read its settings
    std::printf("%7zu sites: %7.2f us each\n", sizeof...(numbers), median({first_ns<numbers>()...}) / 1000);
}

int open_objects(char** paths) {
    for (; *paths != nullptr; ++paths) {
        if (dlopen(*paths, RTLD_NOW) == nullptr) {
            std::fprintf(stderr, "scale_calls: %s\n", dlerror());
            return 1;
        }
    }
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    const std::string_view what = count > 1 ? arguments[1] : "";
    if (what == "--policy" && count == 3) {
        write_policy(std::atoi(arguments[2]));
    } else if (what == "--sites") {
        if (open_objects(arguments + 2) != 0) return 1;
        measure_sites(std::make_index_sequence<500>());
    } else if (what == "--first") {
        const double begin = ns_of(CLOCK_MONOTONIC);
        call(&sgemm_, 8);
        std::printf("%.0f us\n", (ns_of(CLOCK_MONOTONIC) - begin) / 1000);
    } else {
        measure_sizes(count > 1 ? std::max(3, std::atoi(arguments[1])) : 5,
                      count > 2 ? std::atoi(arguments[2]) : 1'000'000, count > 3);
    }
    return 0;
}
