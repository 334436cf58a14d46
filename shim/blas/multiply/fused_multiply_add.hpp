// Fused multiply-adds on processors without an instruction for them.
#pragma once

namespace fp32shim::blas {

/// Returns a * b + c, rounded once as the processor's settings say, on any processor. Sets no errno. Flags that it
/// raises may differ from those of an instruction.
double fused_multiply_add_plain(double a, double b, double c);

}  // namespace fp32shim::blas
