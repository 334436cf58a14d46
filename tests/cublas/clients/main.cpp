// Main program of every GoogleTest client. On a machine without a CUDA device it is skipped, with status 77.
//
//   CLIENT_LATE_ENVIRONMENT=NAME=VALUE   the program sets this variable itself, after a product on the CPU and before
//                                        its first use of CUDA
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "device.hpp"

namespace {

/// Calls Fortran's sgemm in a library that the program opens.
bool multiply_on_the_cpu() {
    using Sgemm = void (*)(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
                           const int*, const float*, const int*, const float*, float*, const int*);
    void* const blas = dlopen("libblas.so.3", RTLD_NOW | RTLD_LOCAL);
    if (blas == nullptr) return false;
    const auto sgemm = reinterpret_cast<Sgemm>(dlsym(blas, "sgemm_"));
    if (sgemm == nullptr) return false;
    constexpr int order = 2;
    const float one = 1;
    const float operand[order * order] = {};
    float result[order * order] = {};
    sgemm("N", "N", &order, &order, &order, &one, operand, &order, operand, &order, &one, result, &order);
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    if (char* const late = std::getenv("CLIENT_LATE_ENVIRONMENT"); late != nullptr) {
        if (!multiply_on_the_cpu() || putenv(late) != 0) return 2;
    }
    testing::InitGoogleTest(&argc, argv);
    if (!testing::GTEST_FLAG(list_tests)) clients::Device::count();
    return RUN_ALL_TESTS();
}
