// The third step of a call: how to honour a decision, and what that amounts to.
#pragma once

#include <string_view>

#include "policy/decide.hpp"
#include "record/events.hpp"
#include "shim/blas/emulate.hpp"
#include "shim/blas/product.hpp"

namespace fp32shim {

struct Plan {
    record::How how = record::How::forward;
    policy::Applied applied = policy::Applied::unchanged;  ///< what will have been done once the plan has run
    policy::Reason reason = policy::Reason::as_requested;
    blas::OperandRounding rounding = blas::OperandRounding::tf32_away;  ///< where operands are to be rounded
    bool rounds = false;
    std::string_view detail;  ///< static text
};

/// How the CPU back end honours the decision for this product. Pure, but for reading the product's scalars.
Plan make_plan(const Site& site, const Frame& frame, const blas::Product& product, const policy::Decision& decision,
               policy::Tf32Rounding tf32_rounding);

}  // namespace fp32shim
