// Measures a call in a program that multiplies in many sizes: cycles through so many of them on a BLAS that does
// nothing. Prints processor time, as medians of rounds, less that of the same calls without the shim.
//
//     scale_calls [rounds] [largest number of sizes]
//     scale_calls --policy RULES          writes a policy whose rules look at sizes, the last of which matches
//
//     LD_PRELOAD=build/lib/libfp32shim.so FP32_MATMUL_LOG=/tmp/run.%p.fp32rec build/bin/scale_calls
//     build/bin/scale_calls --policy 990 > policy.toml
//     LD_PRELOAD=build/lib/libfp32shim.so FP32_MATMUL_POLICY=$PWD/policy.toml build/bin/scale_calls 5 1000
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" {
using Product = void(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
                     const int*, const float*, const int*, const float*, float*, const int*);
Product sgemm_, not_intercepted;
}

namespace {

double thread_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double ns_per_call(Product* product, int sizes, int calls) {
    const float one = 1;
    static float memory[1];
    const int large = 1 << 20, small = 8;
    const double begin = thread_ns();
    for (int i = 0; i < calls; i += sizes)
        for (int size = 1; size <= sizes; ++size)
            product("N", "N", &size, &small, &small, &one, memory, &large, memory, &large, &one, memory, &large);
    return (thread_ns() - begin) / calls;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void write_policy(int rules) {
    std::puts("schema = 1\n[cpu]\nmode = \"emulate\"");
    for (int i = 1; i <= rules; ++i)
        std::printf("[[rule]]\nprecision = \"%s\"\nwhen = { n = \"%d\" }\n", i < rules ? "high" : "highest",
                    i < rules ? 1'000'000 + i : 8);
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 3 && std::strcmp(arguments[1], "--policy") == 0) {
        write_policy(std::atoi(arguments[2]));
        return 0;
    }
    const int rounds = count > 1 ? std::max(3, std::atoi(arguments[1])) : 5;
    const int largest = count > 2 ? std::atoi(arguments[2]) : 1'000'000;
    for (int sizes = 1; sizes <= largest; sizes = sizes == 1 ? 100 : sizes * 10) {
        const int calls = std::max(2 * sizes, 1'000'000 / sizes * sizes);
        std::vector<double> through, past;
        for (int i = 0; i < 20; ++i) ns_per_call(&sgemm_, sizes, sizes);  // the first calls of a row are all timed
        for (int round = 0; round < rounds; ++round) {
            past.push_back(ns_per_call(&not_intercepted, sizes, calls));
            through.push_back(ns_per_call(&sgemm_, sizes, calls));
        }
        std::printf("%7d sizes: %7.2f ns a call\n", sizes, median(through) - median(past));
    }
}
