// The way of one cuBLAS call: describe, decide, plan, run, record. cublasLt's is in lt.cpp.
#pragma once

#include "shim/cublas/formats.hpp"
#include "shim/decision.hpp"
#include "shim/gate.hpp"
#include "shim/settings.hpp"
#include "shim/site.hpp"

namespace fp32shim::cublas {

/// Completes a new site of a cuBLAS function. Precondition: it has a provider, and a Reading is held.
void bind(Site& site);

/// What speaks against rounding more than the program asked for.
Restraints restraints_of(const Site& site, const policy::Decision& decision, const policy::Policy& policy);

/// Whether a rule says that the matrices behind an array of pointers are aligned.
bool vouches_for_alignment(const policy::Decision& decision, const policy::Policy& policy);

/// The floor that `plan_change` needs: every other decision is clamped already.
policy::Floor floor_for(const policy::Decision& decision, const Settings& in_force);

/// Writes down what a call permits, and why, as the environment has it.
void tell(Done& done, Format format, policy::Reason reason, const Environment& environment);

/// Whether cuBLAS returned this before it launched anything.
bool is_refusal(std::int32_t status);

/// Whether calls from this site have to be looked at one by one.
bool needs_gate(const Site& site, const Settings& in_force);

Outcome govern(Site& site, const Frame& frame);

}  // namespace fp32shim::cublas
