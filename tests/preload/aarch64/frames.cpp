// Walks the stack in the middle of a running product, or leaves the product by an exception and checks its caller's
// registers. The unwinder relies on the call frame information of the entry points.
//
//   frames backtrace | throw

#include <unwind.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "../clients/client.h"

extern "C" void (*naive_blas_hook)();

int main(int argc, char** argv);

namespace {

constexpr long seeds[] = {3, 5, 7, 11, 13, 17, 19, 23, 29, 31};

void multiply(float& c) {
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    sgemm_("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
}

void multiply_by_cblas(float& c) {
    const float a = 2, b = 3;
    cblas_sgemm(column_major, no_trans, no_trans, 1, 1, 1, 1, &a, 1, &b, 1, 0, &c, 1);
}

_Unwind_Reason_Code look_for_main(_Unwind_Context* context, void* found) {
    if (_Unwind_GetRegionStart(context) == reinterpret_cast<_Unwind_Ptr>(&main)) *static_cast<bool*>(found) = true;
    return _URC_NO_REASON;
}

void walk() {
    bool found = false;
    _Unwind_Backtrace(look_for_main, &found);
    std::printf("%s\n", found ? "the stack reaches main" : "the stack ends before main");
}

void leave() { throw std::runtime_error("from the middle of a product"); }

/// Returns the value in a way that the compiler cannot recompute. So it has to keep the value across a call, in a
/// callee-saved register if one is free.
long opaque(long value) {
    asm volatile("" : "+r"(value));
    return value;
}
double opaque(double value) {
    asm volatile("" : "+w"(value));
    return value;
}

template <void product(float&)>
__attribute__((noinline)) void check(const char* name) {
    const long s0 = opaque(seeds[0]), s1 = opaque(seeds[1]), s2 = opaque(seeds[2]), s3 = opaque(seeds[3]);
    const long s4 = opaque(seeds[4]), s5 = opaque(seeds[5]), s6 = opaque(seeds[6]), s7 = opaque(seeds[7]);
    const double d0 = opaque(0.5), d1 = opaque(1.5), d2 = opaque(2.5), d3 = opaque(3.5);
    const double d4 = opaque(4.5), d5 = opaque(5.5), d6 = opaque(6.5), d7 = opaque(7.5);
    float c = -1;
    try {
        product(c);
        std::printf("%s: %g\n", name, c);
    } catch (const std::runtime_error& error) {
        std::printf("%s: caught an exception %s\n", name, error.what());
    }
    std::printf("%ld %ld %ld %ld %ld %ld %ld %ld\n", s0, s1, s2, s3, s4, s5, s6, s7);
    std::printf("%g %g %g %g %g %g %g %g\n", d0, d1, d2, d3, d4, d5, d6, d7);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const auto hook = std::strcmp(argv[1], "throw") == 0 ? leave : walk;
    for (int i = 0; i < 3; ++i) {
        naive_blas_hook = hook;
        check<multiply>("sgemm_");
        check<multiply_by_cblas>("cblas_sgemm");
        naive_blas_hook = nullptr;
        check<multiply>("sgemm_ without hook");
        check<multiply_by_cblas>("cblas_sgemm without hook");
    }
    return 0;
}
