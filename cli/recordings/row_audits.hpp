// Sums up the audits of several recordings by merged row. An audit compares the result of a call at two formats.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "record/audit.hpp"

namespace fp32shim::cli {

/// Returns the word for the value that `audit` found: `infinity`, or the text `nan` if it was a NaN.
inline std::string_view nonfinite_text(const record::Audit& audit, std::string_view nan) {
    return (audit.flags & record::audit_nan) != 0 ? nan : "infinity";
}

/// The sum of the audits of one row that compare the same two formats.
struct AuditSummary {
    std::uint32_t row = 0;  ///< index in MergedCalls::rows()
    policy::AuditFormat tested = policy::AuditFormat::tf32;
    policy::AuditFormat reference = policy::AuditFormat::fp32;
    std::uint64_t compared = 0;      ///< audits that measured errors; `skipped` and `bad_operands` are other audits
    std::uint64_t beyond = 0;        ///< audits with an error beyond the tolerance that was in force
    std::uint64_t skipped = 0;       ///< audits that could not be made
    std::uint64_t bad_operands = 0;  ///< audits of operands with NaN or infinity
    std::uint64_t bad_results = 0;   ///< audits of finite operands with NaN or infinity in a result
    /// The compared audits whose FP32 result is noise: the error of FP32 is at least half of the result.
    std::uint64_t noise = 0;
    std::uint64_t early = 0;         ///< compared audits of the first calls of a kind, which are all audited
    std::uint64_t early_beyond = 0;  ///< early audits with an error beyond the tolerance
    std::uint64_t not_noted = 0;     ///< compared audits by an older version, which did not note if an audit is early
    record::AuditErrors worst;       ///< the largest error of any audit, by each metric
    record::AuditErrors sum;         ///< sums of the finite errors of all audits
    record::AuditErrors early_sum;   ///< sums of the finite errors of early audits
    float cancellation = 0;          ///< the largest cancellation of any audit; 0: not known
    std::uint64_t checked = 0;       ///< audits with errors against float64
    float fp32_error = 0;  ///< the largest error of FP32 against float64 in the worst row or column of an audit
    /// The largest error of the tested format against float64, in the worst row or column.
    float tested_error = 0;
    std::uint32_t worst_row = 0;     ///< number of the row of the result matrix with the largest error
    std::uint32_t worst_column = 0;  ///< number of the column of the result matrix with the largest error
    record::ExponentRange a, b, c;

    /// Returns how many of the `compared` audits are of calls that were drawn at random.
    std::uint64_t randomly_drawn() const { return compared - early; }
    /// Estimates the mean error of all `calls` by a metric. Each early audit stands for its own call, and the audits
    /// that were drawn at random stand for all other calls. Returns nullopt if there are other calls but none was
    /// drawn, if no audit measured errors, or if the recording does not say which calls were drawn.
    std::optional<double> estimated_mean(policy::ErrorMetric metric, std::uint64_t calls) const {
        return estimated_mean(sum.error_by(metric), early_sum.error_by(metric), calls);
    }
    std::optional<double> estimated_mean(double record::AuditErrors::*error, std::uint64_t calls) const {
        return estimated_mean(sum.*error, early_sum.*error, calls);
    }
    /// Returns an upper bound, at a certainty of 95%, of the share of `calls` whose errors are beyond the tolerance.
    /// Each early audit stands for its own call. The share among all other calls is at most upper_share() of the
    /// audits that were drawn at random. Returns nullopt if no audit measured errors, or if the recording does not
    /// say which calls were drawn.
    std::optional<double> largest_share_beyond_tolerance(std::uint64_t calls) const;

  private:
    std::optional<double> estimated_mean(double total, double early_total, std::uint64_t calls) const;
};

/// Returns an upper bound of a share as a percentage, never rounded down: `4.9%`.
std::string share_bound_text(double share);

/// Sums up audits by row and pair of formats. The sums are in the order in which their first audits were added.
class AuditSummaryTable {
  public:
    void add(std::uint32_t row, const record::Audit& audit);
    void add_lost(std::uint64_t count) { lost_ += count; }

    const std::vector<AuditSummary>& all() const { return audits_; }
    /// Returns the number of audits for which recordings had no room.
    std::uint64_t lost_audits() const { return lost_; }

  private:
    using Key = std::tuple<std::uint32_t, policy::AuditFormat, policy::AuditFormat>;
    std::map<Key, std::size_t> indices_;
    std::vector<AuditSummary> audits_;
    std::uint64_t lost_ = 0;
};

}  // namespace fp32shim::cli
