// Prints what ran, in C++: opens a scope, and asks about the last product of this thread. Builds and runs with or
// without fp32shim.
#include <cblas.h>

#include <cstdio>
#include <vector>

#include "fp32shim/fp32shim.hpp"

int main() {
    const std::vector<float> a(64 * 64, 1), b(64 * 64, 1);
    std::vector<float> c(64 * 64);
    const fp32shim::scope scope("model", "high");
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 64, 64, 64, 1, a.data(), 64, b.data(), 64, 0, c.data(),
                64);
    if (const auto product = fp32shim::last_product())
        std::printf("%s %lldx%lldx%lld: %s asked for %s, ran at %s by %s: %s\n", product->function, product->m,
                    product->n, product->k, product->source, product->requested, product->applied, product->how,
                    product->reason);
    else
        std::printf("what ran is not known: %s\n",
                    fp32shim::is_loaded() ? "nothing is recorded" : fp32shim_status_string(FP32SHIM_NOT_LOADED));
}
