// The third step of a call to a CPU library: how to honour a decision, and what that amounts to.
#pragma once

#include "policy/decide.hpp"
#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/product.hpp"
#include "shim/decision.hpp"

namespace fp32shim {

/// What will have been done once the plan has run, and how operands are to be rounded for it.
struct Plan : Done {
    blas::OperandRounding rounding = blas::OperandRounding::tf32_away;
    bool rounds = false;
};

/// How the CPU back end honours the decision for this product. Pure, but for reading the product's scalars.
Plan make_plan(const Site& site, const Frame& frame, const blas::Product& product, const policy::Decision& decision,
               policy::Tf32Rounding tf32_rounding);

}  // namespace fp32shim
