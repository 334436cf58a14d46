// The way of one cuBLAS call: describe, decide and plan, run, record. cublasLt's is in lt.cpp.
#pragma once

#include "shim/entry/gate.hpp"
#include "shim/settings.hpp"
#include "shim/site.hpp"

namespace fp32shim::cublas {

/// Completes a new site of a cuBLAS function. Precondition: it has a provider, and a Reading is held.
void bind(Site& site);

/// Whether calls from this site have to be looked at one by one.
bool needs_gate(const Site& site, const Settings& in_force);

Outcome govern(Site& site, const Frame& frame);

/// Whether cuBLAS returned this before it launched anything: the call can be made again as the program made it. That
/// includes "resource allocation failed", which is of the workspace that a kernel needs, and fast formats need more.
bool is_refusal(std::int32_t status);

}  // namespace fp32shim::cublas
