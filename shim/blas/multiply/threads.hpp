// Threads that exist during one product. There is no pool: a pool would outlive the product, and a fork would lose
// it.
#pragma once

#include <pthread.h>

namespace fp32shim::blas {

/// A thread, and the work that it calls.
struct Worker {
    pthread_t thread;
    void (*work)(void* context, int number);
    void* context;
    int number;
};

/// Calls `work(context, number)` on up to `count` threads at once, with number = 0 on the calling one, and returns
/// when all have returned. Where the system refuses a thread, fewer run: `work` has to share its tasks out by itself.
/// The threads hold signals back, except those of faults. Not cancelled meanwhile. A signal handler may leave by
/// siglongjmp: then the threads go on, and `workers` (`count` of them) and `context` must stay.
void run_on_threads(int count, Worker* workers, void (*work)(void* context, int number), void* context);

}  // namespace fp32shim::blas
