// Audits of several recordings, summed by merged row.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "record/audit.hpp"

namespace fp32shim::cli {

/// Returns the finding of an audit with the flag audit_nonfinite: `infinity`, or this word for NaN.
inline std::string_view nonfinite_text(const record::Audit& audit, std::string_view nan) {
    return (audit.flags & record::audit_nan) != 0 ? nan : "infinity";
}

/// Audits of one row in one pair of formats.
struct RowAudits {
    std::uint32_t row = 0;  ///< index in MergedCalls::rows()
    policy::AuditFormat tested = policy::AuditFormat::tf32;
    policy::AuditFormat reference = policy::AuditFormat::fp32;
    std::uint64_t compared = 0;      ///< audits with errors: the others are counted below
    std::uint64_t beyond = 0;        ///< those of them with an error beyond the tolerance that was in force
    std::uint64_t skipped = 0;       ///< audits that could not be made
    std::uint64_t bad_operands = 0;  ///< audits of operands with NaN or infinity
    std::uint64_t bad_results = 0;   ///< audits with NaN or infinity in a result, of finite operands
    record::AuditErrors worst;       ///< the largest error of any audit, by each metric
    record::AuditErrors sum;         ///< of the finite errors of all audits
    std::uint32_t worst_row = 0;     ///< number of the row of the result with the largest error
    std::uint32_t worst_column = 0;  ///< number of its column with the largest error
    record::Exponents a, b, c;

    /// Returns the mean error by a metric; 0 without audits.
    double mean(policy::Metric metric) const {
        return compared == 0 ? 0 : sum.by(metric) / static_cast<double>(compared);
    }
};

/// Sums audits. Order: by the time of the first audit of a row.
class AuditSums {
  public:
    void add(std::uint32_t row, const record::Audit& audit);
    void add_lost(std::uint64_t count) { lost_ += count; }

    const std::vector<RowAudits>& all() const { return audits_; }
    /// Returns the number of audits that found no room in their recordings.
    std::uint64_t lost() const { return lost_; }

  private:
    using Key = std::tuple<std::uint32_t, policy::AuditFormat, policy::AuditFormat>;
    std::map<Key, std::size_t> indices_;
    std::vector<RowAudits> audits_;
    std::uint64_t lost_ = 0;
};

}  // namespace fp32shim::cli
