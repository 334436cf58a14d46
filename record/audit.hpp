// An audit computes the product of one call twice, in different formats, and measures how far the results differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "policy/policy.hpp"

namespace fp32shim::record {

/// Bits of Audit::flags.
inline constexpr std::uint8_t audit_bad_operand = 1;  ///< A, B or C held NaN or infinity: there are no errors
inline constexpr std::uint8_t audit_bad_result = 2;   ///< a result got NaN or infinity from finite operands
inline constexpr std::uint8_t audit_skipped = 4;      ///< the audit could not be made: no memory, or the format is
                                                      ///< not available
inline constexpr std::uint8_t audit_beyond = 8;       ///< the error exceeds the tolerance
/// Marks a record that is no audit: the first product of its process that made NaN or infinity of finite operands.
/// The record has the formats that ran, the row and column of one such element, and the exponents of A and B. It has
/// no errors.
inline constexpr std::uint8_t audit_nonfinite = 16;
inline constexpr std::uint8_t audit_nan = 32;  ///< with audit_nonfinite: the element is NaN; without this bit it is
                                               ///< infinite

/// Lowest and highest binary exponents, floor(log2|x|), in a matrix. Elements that are zero, NaN or infinite are left
/// out.
struct Exponents {
    std::int16_t lowest = INT16_MAX;
    std::int16_t highest = INT16_MIN;  ///< below `lowest` if no element has an exponent

    bool operator==(const Exponents&) const = default;
};

/// Errors of a tested result T against a reference R, with D = T - R (policy/metrics.def). For a batch, each error is
/// the largest among its products. An error is infinite where R is zero and D is not, and where T is not finite.
/// Complex elements count by their modulus.
struct AuditErrors {
#define METRIC(name) double name = 0;
#define FURTHER_ERROR METRIC
#include "policy/metrics.def"

    /// Returns the error that a policy's metric selects.
    double by(policy::Metric metric) const;
};

/// An error and its name.
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
    std::uint32_t worst_row = 0;     ///< row number, from 0, of the row with the error `errors.row`
    std::uint32_t worst_column = 0;  ///< column number, from 0, of the column with the error `errors.column`
    Exponents a, b, c;               ///< exponents of A, of B, and of C before the call
    // Set only with audit_nonfinite:
    std::uint32_t product = 0;  ///< number, from 0, of the product in its batch
    float alpha = 1, beta = 0;  ///< magnitudes of alpha and beta; of complex factors, the larger part's magnitude
};

}  // namespace fp32shim::record
