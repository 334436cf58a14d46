// One audit: the product of a call, computed twice in different formats, and how far the results differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "policy/policy.hpp"

namespace fp32shim::record {

/// Bits of Audit::flags.
inline constexpr std::uint8_t audit_bad_operand = 1;  ///< A, B or C held NaN or infinity: there are no errors
inline constexpr std::uint8_t audit_bad_result = 2;   ///< a result got NaN or infinity from finite operands
inline constexpr std::uint8_t audit_skipped = 4;      ///< it could not be made: no memory, or no such format
inline constexpr std::uint8_t audit_beyond = 8;       ///< the error is beyond the tolerance
/// No audit, but the first product of its process that made NaN or infinity of finite operands. Has the formats that
/// ran, the row and column of such an element, and the exponents of A and B; no errors.
inline constexpr std::uint8_t audit_nonfinite = 16;
inline constexpr std::uint8_t audit_nan = 32;  ///< with audit_nonfinite: the element is NaN, else infinite

/// Lowest and highest binary exponents of the elements of a matrix that are not zero, NaN or infinite:
/// floor(log2|x|).
struct Exponents {
    std::int16_t lowest = INT16_MAX;
    std::int16_t highest = INT16_MIN;  ///< below `lowest`: there are no such elements

    bool operator==(const Exponents&) const = default;
};

/// The errors of a tested result T against a reference R, with D = T - R (policy/metrics.def). Of a batch, the
/// largest of its products. Infinite where R is zero and D is not, and where T is not finite. Of complex elements,
/// the modulus counts.
struct AuditErrors {
#define METRIC(name) double name = 0;
#define FURTHER_ERROR METRIC
#include "policy/metrics.def"

    /// Returns the error by a metric of a policy.
    double by(policy::Metric metric) const;
};

/// An error, by its name.
struct AuditError {
    std::string_view name;
    double AuditErrors::*value;
};
inline constexpr AuditError audit_errors[] = {
#define METRIC(name) {#name, &AuditErrors::name},
#define FURTHER_ERROR METRIC
#include "policy/metrics.def"
};

inline double AuditErrors::by(policy::Metric metric) const {
    if (metric == policy::Metric::row) return row > column ? row : column;
    return this->*audit_errors[static_cast<std::size_t>(metric)].value;
}

struct Audit {
    policy::AuditFormat tested = policy::AuditFormat::tf32;
    policy::AuditFormat reference = policy::AuditFormat::fp32;
    std::uint8_t flags = 0;
    AuditErrors errors;
    std::uint32_t worst_row = 0;     ///< number, from 0, of the row with `errors.row`
    std::uint32_t worst_column = 0;  ///< number, from 0, of the column with `errors.column`
    Exponents a, b, c;               ///< of the operands; C as it was before the call
    // With audit_nonfinite:
    std::uint32_t product = 0;  ///< number, from 0, of the product in its batch
    float alpha = 1, beta = 0;  ///< sizes of the factors of A B and of C; of complex ones, of the larger part
};

}  // namespace fp32shim::record
