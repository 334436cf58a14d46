// Runs a job on one or more threads.
#pragma once

#include "shim/blas/emulate/scratch.hpp"
#include "shim/blas/multiply/job.hpp"
#include "shim/blas/multiply/threads.hpp"
#include "shim/blas/multiply/tile.hpp"

namespace fp32shim::blas {

/// Computes a job on at most `threads.count` threads, the calling one included. Returns false, and changes nothing,
/// if there is no memory.
template <class Real>
bool run_job(const Job<Real>& job, const TileLoops<Real>& loops, Threads threads, HeldScratch& scratch);

}  // namespace fp32shim::blas
