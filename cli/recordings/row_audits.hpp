// Sums audits of several recordings by merged row.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "record/audit.hpp"

namespace fp32shim::cli {

/// Returns the result of an audit with the flag audit_nonfinite: `infinity`, or the word `nan` for NaN.
inline std::string_view nonfinite_text(const record::Audit& audit, std::string_view nan) {
    return (audit.flags & record::audit_nan) != 0 ? nan : "infinity";
}

/// Sum of the audits of one row with the same two formats.
struct RowAudits {
    std::uint32_t row = 0;  ///< index in MergedCalls::rows()
    policy::AuditFormat tested = policy::AuditFormat::tf32;
    policy::AuditFormat reference = policy::AuditFormat::fp32;
    std::uint64_t compared = 0;      ///< number of audits that measured errors; the members below count the others
    std::uint64_t beyond = 0;        ///< number of compared audits whose error exceeds the tolerance in force
    std::uint64_t skipped = 0;       ///< number of audits that could not be made
    std::uint64_t bad_operands = 0;  ///< number of audits whose operands have NaN or infinity
    std::uint64_t bad_results = 0;  ///< number of audits with NaN or infinity in a result, although all operands were
                                    ///< finite
    record::AuditErrors worst;      ///< the largest error of all audits, by metric
    record::AuditErrors sum;        ///< sum of the finite errors of all audits, by metric
    std::uint32_t worst_row = 0;    ///< row of the result that has the largest error
    std::uint32_t worst_column = 0;  ///< column of the result that has the largest error
    record::Exponents a, b, c;

    /// Returns the mean error by a metric; 0 without audits.
    double mean(policy::Metric metric) const {
        return compared == 0 ? 0 : sum.by(metric) / static_cast<double>(compared);
    }
};

/// Sums audits by row and formats. The sums are in the order in which their first audits came.
class AuditSums {
  public:
    void add(std::uint32_t row, const record::Audit& audit);
    void add_lost(std::uint64_t count) { lost_ += count; }

    const std::vector<RowAudits>& all() const { return audits_; }
    /// Returns the number of audits for which recordings had no room.
    std::uint64_t lost() const { return lost_; }

  private:
    using Key = std::tuple<std::uint32_t, policy::AuditFormat, policy::AuditFormat>;
    std::map<Key, std::size_t> indices_;
    std::vector<RowAudits> audits_;
    std::uint64_t lost_ = 0;
};

}  // namespace fp32shim::cli
