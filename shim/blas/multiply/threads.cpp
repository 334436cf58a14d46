#include "shim/blas/multiply/threads.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>

namespace fp32shim::blas {
namespace {

constexpr int most_threads = 256;
constexpr std::size_t stack_bytes = std::size_t{256} << 10;

struct Worker {
    pthread_t thread;
    void (*work)(void* context, int worker);
    void* context;
    int number;
};

void* start(void* argument) {
    const auto& worker = *static_cast<const Worker*>(argument);
    worker.work(worker.context, worker.number);
    return nullptr;
}

}  // namespace

void run_on_threads(int count, void (*work)(void* context, int worker), void* context) {
    if (count <= 1) return work(context, 0);
    Worker workers[most_threads];
    int cancel_state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    int started = 1;
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (; started < std::min(count, most_threads); ++started) {
        Worker& worker = workers[started];
        worker = {{}, work, context, started};
        if (pthread_create(&worker.thread, &attributes, start, &worker) != 0) break;
    }
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    pthread_attr_destroy(&attributes);
    work(context, 0);
    for (int i = 1; i < started; ++i) pthread_join(workers[i].thread, nullptr);
    pthread_setcancelstate(cancel_state, nullptr);
}

}  // namespace fp32shim::blas
