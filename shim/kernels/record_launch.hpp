// Records the kernels that a program launches.
#pragma once

#include "shim/entry/frame.hpp"
#include "shim/entry/site.hpp"
#include "shim/kernels/kernels.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::kernels {

/// Counts a launch of a kernel, or that it was put into a graph. Launches inside a product of cuBLAS that the shim
/// governs belong to that product, and are counted only if the kernel multiplies in a lower format than the product
/// may.
void record_kernel_launch(const Site& site, const Frame& frame, Handle kernel, const Settings& in_force);

/// Counts a replay of a graph. Its kernels were counted when they were put into it.
void record_graph_replay(const Site& site, const Settings& in_force);

/// Notes in the recording that some kernels may not be in it.
void mark_kernels_missed(const Settings& in_force);

}  // namespace fp32shim::kernels
