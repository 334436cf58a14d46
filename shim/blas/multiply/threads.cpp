#include "shim/blas/multiply/threads.hpp"

#include <cstddef>

#include "system/signal_hold.hpp"

namespace fp32shim::blas {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;

void* start(void* argument) {
    const auto& worker = *static_cast<const Worker*>(argument);
    worker.work(worker.context, worker.number);
    return nullptr;
}

/// Returns the number of threads that run, the calling one included.
int start_others(int count, Worker* workers, void (*work)(void* context, int number), void* context) {
    const system::SignalHold hold;  // the new threads inherit it
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    int started = 1;
    for (; started < count; ++started) {
        Worker& worker = workers[started];
        worker = {{}, work, context, started};
        if (pthread_create(&worker.thread, &attributes, start, &worker) != 0) break;
    }
    pthread_attr_destroy(&attributes);
    return started;
}

}  // namespace

void run_on_threads(int count, Worker* workers, void (*work)(void* context, int number), void* context) {
    if (count <= 1) return work(context, 0);
    int cancel_state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    const int started = start_others(count, workers, work, context);
    work(context, 0);
    for (int i = 1; i < started; ++i) pthread_join(workers[i].thread, nullptr);
    pthread_setcancelstate(cancel_state, nullptr);
}

}  // namespace fp32shim::blas
