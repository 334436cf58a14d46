// Leaves products in other ways than by returning, and then continues to multiply.
//
//   leaves xerbla    bad arguments with the library's own xerbla_
//   leaves return | throw | jump    bad arguments with this program's xerbla_, which returns, throws or jumps
//   leaves exit      a product, then _exit
//   leaves errno     errno before and after products
//   leaves signal          a timer's handler multiplies, while the program multiplies
//   leaves first-signal    like signal, but from the process's first product on, and shorter

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "client.h"

namespace {

jmp_buf before_product;
std::string way;

float product(const char* trans = "N", blas_int m = 1) {
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    float c = -1;
    sgemm_(trans, "N", &m, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    return c;
}

void product_by_cblas(int layout) {
    const float a = 2, b = 3;
    float c = -1;
    cblas_sgemm(layout, no_trans, no_trans, 1, 1, 1, 1, &a, 1, &b, 1, 0, &c, 1);
    std::printf("cblas: %g\n", c);
}

void bad_products() {
    for (int i = 0; i < 3; ++i) {
        try {
            if (setjmp(before_product) == 0) std::printf("bad trans: %g\n", product("X"));
            if (setjmp(before_product) == 0) std::printf("negative m: %g\n", product("N", -1));
        } catch (const std::runtime_error& error) {
            std::printf("caught %s\n", error.what());
        }
        std::printf("good: %g\n", product());
    }
}

volatile sig_atomic_t ticks = 0;
volatile sig_atomic_t wrong = 0;

void tick(int) {
    const int saved = errno;
    if (product() != 6) wrong = 1;
    ticks = ticks + 1;
    errno = saved;
}

void interrupted_products(int wanted_ticks) {
    struct sigaction action = {};
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    itimerval every = {{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &every, nullptr);
    while (ticks < wanted_ticks) {
        if (product() != 6) wrong = 1;
    }
    every = {};
    setitimer(ITIMER_REAL, &every, nullptr);
    std::printf("%s\n", wrong ? "wrong" : "right");
}

void keep_errno() {
    for (int i = 0; i < 3; ++i) {
        errno = 42 + i;
        const float c = product();
        std::printf("errno %d after %g\n", errno, c);
    }
}

}  // namespace

#ifdef OWN_XERBLA
// A program's own xerbla_, such as LAPACK and Octave have, replaces the library's.
extern "C" void xerbla_(const char* name, const blas_int* info, std::size_t) {
    std::printf("xerbla_ %.5s %d\n", name, static_cast<int>(*info));
    std::fflush(stdout);
    if (way == "throw") throw std::runtime_error("xerbla_'s exception");
    if (way == "jump") longjmp(before_product, 1);
}
#endif

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    way = argv[1];
    if (way == "exit") {
        std::printf("%g\n", product());
        std::fflush(stdout);
        _exit(7);
    }
    if (way == "errno") {
        keep_errno();
    } else if (way == "signal") {
        product();
        interrupted_products(500);
    } else if (way == "first-signal") {
        interrupted_products(5);
    } else if (way == "cblas") {
        product_by_cblas(99);
    } else {
        bad_products();
    }
    return 0;
}
