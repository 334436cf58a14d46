// An audit computes the product of one call twice, in different formats, and measures how far the results differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "policy/policy.hpp"

namespace fp32shim::record {

/// Bits of Audit::flags.
inline constexpr std::uint8_t audit_bad_operand = 1;  ///< A, B, C, alpha or beta held NaN or infinity, so no errors
                                                      ///< were computed
inline constexpr std::uint8_t audit_bad_result = 2;   ///< all operands were finite, but a result has NaN or infinity
inline constexpr std::uint8_t audit_skipped = 4;      ///< the audit could not be made, because memory was short
                                                      ///< or the format is not available
inline constexpr std::uint8_t audit_exceeds_tolerance = 8;  ///< the error of the audit exceeds the policy's tolerance
/// Marks a record that is not an audit, but describes the first product of its process that made NaN or infinity of
/// finite operands. The record has the formats that ran, the row and column of an element that is NaN or infinite,
/// and the exponents of A and B. It has no errors.
inline constexpr std::uint8_t audit_nonfinite = 16;
/// Marks a record that is not an audit, but describes the first product of its process that had NaN or infinity both
/// in an operand and in its result. The record has the row and column of an element of the operand that is NaN or
/// infinite. Its `notes` name the operand (NonfiniteOperand). audit_skipped is set too, so that versions of fp32shim
/// that do not know audit_received take the record for an audit that was skipped.
inline constexpr std::uint8_t audit_received = 128;
inline constexpr std::uint8_t audit_early = 64;  ///< the call was audited as one of the first calls from its call
                                                 ///< site with its sizes, scope and call path; without this bit the
                                                 ///< call was drawn at random
inline constexpr std::uint8_t audit_nan = 32;    ///< the element that a record with audit_nonfinite or audit_received
                                                 ///< describes is NaN; without this bit the element is infinite

/// The lowest and the highest binary exponent, floor(log2|x|), of the elements of a matrix. Elements that are zero,
/// NaN or infinite are left out.
struct ExponentRange {
    std::int16_t lowest = INT16_MAX;
    std::int16_t highest = INT16_MIN;  ///< below `lowest` if no element has an exponent

    bool operator==(const ExponentRange&) const = default;
};

/// Errors of a tested result T against a reference R, with D = T - R (policy/metrics.def). The errors of a batch are
/// the largest ones among its products. An error is infinite if it is relative to zero but D is not zero, or if T is
/// not finite. The size of a complex element is its modulus.
struct AuditErrors {
#define METRIC(name) double name = 0;
#define FURTHER_ERROR METRIC
#include "policy/metrics.def"

    /// Returns the error that `metric`, a setting of the policy, selects.
    double error_by(policy::ErrorMetric metric) const;
};

struct NamedAuditError {
    std::string_view name;
    double AuditErrors::*value;
};
inline constexpr NamedAuditError audit_errors[] = {
#define METRIC(name) {#name, &AuditErrors::name},
#define FURTHER_ERROR METRIC
#include "policy/metrics.def"
};

inline double AuditErrors::error_by(policy::ErrorMetric metric) const {
    if (metric == policy::ErrorMetric::row) return row > column ? row : column;
    return this->*audit_errors[static_cast<std::size_t>(metric)].value;
}

/// Bits of Audit::notes. Versions of fp32shim that did not have these bits wrote 0.
inline constexpr std::uint8_t audit_noted = 1;  ///< the version of fp32shim that wrote the record knew audit_early
                                                ///< and the other bits of `notes`
inline constexpr std::uint8_t audit_has_cancellation = 2;    ///< the value of `cancellation` is known
inline constexpr std::uint8_t audit_has_float64_errors = 4;  ///< the values of `fp32_error` and `tested_error` are
                                                             ///< known
/// Marks an audit in which the FP32 result of each product is noise, which means that its own error is at least half
/// its size.
inline constexpr std::uint8_t audit_noise = 8;

/// Tells which operand of a product holds NaN or infinity. A record with audit_received has the value in `notes`.
enum class NonfiniteOperand : std::uint8_t { unknown, a, b, c, alpha, beta };

inline constexpr std::string_view nonfinite_operands[] = {"?", "A", "B", "C", "alpha", "beta"};

struct Audit {
    policy::AuditFormat tested = policy::AuditFormat::tf32;
    policy::AuditFormat reference = policy::AuditFormat::fp32;
    std::uint8_t flags = 0;
    AuditErrors errors;
    std::uint32_t worst_row = 0;     ///< row number, from 0, of the row with the error `errors.row`
    std::uint32_t worst_column = 0;  ///< column number, from 0, of the column with the error `errors.column`
    ExponentRange a, b, c;           ///< exponents of the three matrices; those of C are taken before the call
    std::uint8_t notes = 0;  ///< bits audit_noted and following; in a record with audit_received, a NonfiniteOperand
    float cancellation = 0;  ///< norm of |alpha| |A||B| + |beta| |C| divided by the norm of the result R; a batch has
                             ///< the largest of its products' values
    /// Errors of the FP32 result and of the tested result against a product in float64, for the row or column that
    /// has the largest error.
    float fp32_error = 0;
    float tested_error = 0;
    // The next three fields, `product`, `alpha` and `beta`, are set only in a record with audit_nonfinite.
    std::uint32_t product = 0;  ///< number, from 0, of the product in its batch
    float alpha = 1, beta = 0;  ///< magnitudes of alpha and beta; for complex numbers, that of the larger of the real
                                ///< and the imaginary part
};

/// Returns the name of the operand that holds NaN or infinity, from a record with audit_received, or `?` if the
/// operand is not known.
inline std::string_view nonfinite_operand_name(const Audit& audit) {
    return audit.notes < std::size(nonfinite_operands) ? nonfinite_operands[audit.notes] : nonfinite_operands[0];
}

/// Returns true if the record describes NaN or infinity in a product, and is therefore not an audit.
inline bool is_about_nonfinite(const Audit& audit) { return (audit.flags & (audit_nonfinite | audit_received)) != 0; }

}  // namespace fp32shim::record
