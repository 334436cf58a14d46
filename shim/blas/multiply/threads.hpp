// Threads that exist during one product. There is no pool: a pool would outlive the product, and a fork would lose
// it.
#pragma once

#include <atomic>
#include <cstdint>

namespace fp32shim::blas {

/// Calls `work(context, worker)` on up to `count` threads at once, with worker = 0 on the calling one, and returns
/// when all have returned. Where the system refuses a thread, fewer run: `work` has to share its tasks out by itself.
/// The threads hold all signals back. Not cancelled meanwhile.
void run_on_threads(int count, void (*work)(void* context, int worker), void* context);

}  // namespace fp32shim::blas
