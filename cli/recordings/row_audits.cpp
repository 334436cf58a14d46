#include "cli/recordings/row_audits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fp32shim::cli {
namespace {

void widen(record::ExponentRange& sum, const record::ExponentRange& more) {
    sum.lowest = std::min(sum.lowest, more.lowest);
    sum.highest = std::max(sum.highest, more.highest);
}

/// Returns the probability that at most `found` of `drawn` members have a property that each of them has with the
/// probability `share`. `found` must be below the expected number, so that the terms of the sum decrease from the one
/// for `found` down to the one for 0.
double probability_of_at_most(std::uint64_t found, std::uint64_t drawn, double share) {
    const auto n = static_cast<double>(drawn);
    auto k = static_cast<double>(found);
    double term = std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(share) +
                           (n - k) * std::log1p(-share));
    double sum = term;
    for (; k > 0 && term > sum * 1e-17; --k) sum += term *= k * (1 - share) / ((n - k + 1) * share);
    return sum;
}

/// Returns the upper bound, at a certainty of 95%, of the share of members with a property, if `found` of `drawn`
/// members that were drawn at random have it (Clopper and Pearson, one-sided). Returns 1 if no members were drawn.
double upper_share(std::uint64_t found, std::uint64_t drawn) {
    if (found >= drawn) return 1;
    double low = static_cast<double>(found) / static_cast<double>(drawn);
    double high = 1;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (probability_of_at_most(found, drawn, middle) > 0.05 ? low : high) = middle;
    }
    return high;
}

}  // namespace

std::optional<double> AuditSummary::estimated_mean(double total, double early_total, std::uint64_t calls) const {
    if (compared == 0 || not_noted > 0 || (randomly_drawn() == 0 && early < calls)) return std::nullopt;
    if (randomly_drawn() == 0) return early_total / static_cast<double>(early);
    const double others = calls > early ? static_cast<double>(calls - early) : 0;
    const double mean_of_drawn = (total - early_total) / static_cast<double>(randomly_drawn());
    return (early_total + others * mean_of_drawn) / (static_cast<double>(early) + others);
}

std::optional<double> AuditSummary::largest_share_beyond_tolerance(std::uint64_t calls) const {
    if (compared == 0 || not_noted > 0) return std::nullopt;
    const std::uint64_t others = calls > early ? calls - early : 0;
    const std::uint64_t beyond_of_drawn = beyond - early_beyond;
    const double most = randomly_drawn() >= others
                            ? static_cast<double>(beyond_of_drawn)
                            : static_cast<double>(others) * upper_share(beyond_of_drawn, randomly_drawn());
    const double all = static_cast<double>(early + others);
    return std::min(1.0, (static_cast<double>(early_beyond) + most) / all);
}

std::string share_bound_text(double share) { return fmt::format("{:.1f}%", std::ceil(share * 1000) / 10); }

void AuditSummaryTable::add(std::uint32_t row, const record::Audit& audit) {
    const auto [found, is_new] = indices_.try_emplace({row, audit.tested, audit.reference}, audits_.size());
    if (is_new) audits_.emplace_back();
    AuditSummary& sum = audits_[found->second];
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
    const bool is_beyond = (audit.flags & record::audit_exceeds_tolerance) != 0;
    const bool is_early = (audit.flags & record::audit_early) != 0;
    sum.beyond += is_beyond;
    sum.early += is_early;
    sum.early_beyond += is_early && is_beyond;
    sum.not_noted += (audit.notes & record::audit_noted) == 0;
    sum.noise += (audit.notes & record::audit_noise) != 0;
    ++sum.compared;
    sum.cancellation = std::max(sum.cancellation, audit.cancellation);
    sum.checked += (audit.notes & record::audit_has_float64_errors) != 0;
    sum.fp32_error = std::max(sum.fp32_error, audit.fp32_error);
    sum.tested_error = std::max(sum.tested_error, audit.tested_error);
    if (audit.errors.row > sum.worst.row) sum.worst_row = audit.worst_row;
    if (audit.errors.column > sum.worst.column) sum.worst_column = audit.worst_column;
    for (const record::NamedAuditError& error : record::audit_errors) {
        const double value = audit.errors.*error.value;
        sum.worst.*error.value = std::max(sum.worst.*error.value, value);
        if (std::isfinite(value)) sum.sum.*error.value += value;
        if (std::isfinite(value) && is_early) sum.early_sum.*error.value += value;
    }
}

}  // namespace fp32shim::cli
