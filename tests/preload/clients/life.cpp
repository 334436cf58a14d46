// Multiplies at every moment of a C++ program: those of life_library.c, a static object's constructor and destructor,
// and the destructors of a thread_local and of a pthread key.

#include <pthread.h>

#include <cstdio>
#include <thread>

#include "client.h"

extern "C" void life();

namespace {

void product(const char* when) {
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    float c = 0;
    sgemm_("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    std::printf("%s: %g\n", when, c);
    std::fflush(stdout);
}

struct Multiplies {
    const char* begin;
    const char* end;
    Multiplies(const char* b, const char* e) : begin(b), end(e) { product(begin); }
    ~Multiplies() { product(end); }
};

Multiplies global("static constructor", "static destructor");
pthread_key_t key;

void of_a_thread() {
    thread_local Multiplies local("thread_local constructor", "thread_local destructor");
    pthread_setspecific(key, &local);
}

}  // namespace

int main() {
    pthread_key_create(&key, [](void*) { product("key destructor"); });
    std::thread(of_a_thread).join();
    life();
    return 0;
}
