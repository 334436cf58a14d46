#include "cli/recordings/row_audits.hpp"

#include <algorithm>
#include <cmath>

namespace fp32shim::cli {
namespace {

void widen(record::Exponents& sum, const record::Exponents& more) {
    sum.lowest = std::min(sum.lowest, more.lowest);
    sum.highest = std::max(sum.highest, more.highest);
}

}  // namespace

void AuditSums::add(std::uint32_t row, const record::Audit& audit) {
    const auto [found, is_new] = indices_.try_emplace({row, audit.tested, audit.reference}, audits_.size());
    if (is_new) audits_.emplace_back();
    RowAudits& sum = audits_[found->second];
    sum.row = row;
    sum.tested = audit.tested;
    sum.reference = audit.reference;
    if ((audit.flags & record::audit_skipped) != 0) {
        ++sum.skipped;
        return;
    }
    widen(sum.a, audit.a);
    widen(sum.b, audit.b);
    widen(sum.c, audit.c);
    if ((audit.flags & record::audit_bad_operand) != 0) {
        ++sum.bad_operands;
        return;
    }
    if ((audit.flags & record::audit_bad_result) != 0) ++sum.bad_results;
    if ((audit.flags & record::audit_beyond) != 0) ++sum.beyond;
    ++sum.compared;
    if (audit.errors.row > sum.worst.row) sum.worst_row = audit.worst_row;
    if (audit.errors.column > sum.worst.column) sum.worst_column = audit.worst_column;
    for (const record::AuditError& error : record::audit_errors) {
        const double value = audit.errors.*error.value;
        sum.worst.*error.value = std::max(sum.worst.*error.value, value);
        if (std::isfinite(value)) sum.sum.*error.value += value;
    }
}

}  // namespace fp32shim::cli
