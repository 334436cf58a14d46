// Converts audits and fingerprints to the entries of a recording, and back.
#pragma once

#include <algorithm>
#include <bit>
#include <iterator>

#include "record/audit.hpp"
#include "record/fingerprint.hpp"
#include "record/format/format.hpp"

namespace fp32shim::record::format {

/// Fills an entry from an audit. The caller sets `entry.time` and `entry.row`.
inline void store_audit(const Audit& audit, AuditRecord& entry) {
    entry.tested = static_cast<std::uint8_t>(audit.tested);
    entry.reference = static_cast<std::uint8_t>(audit.reference);
    entry.flags = audit.flags;
    entry.norm = audit.errors.norm;
    entry.max = audit.errors.max;
    entry.mean = audit.errors.mean;
    entry.component = audit.errors.component;
    entry.row_error = audit.errors.row;
    entry.column_error = audit.errors.column;
    entry.worst_row = audit.worst_row;
    entry.worst_column = audit.worst_column;
    entry.notes = audit.notes;
    const auto bits = [](float number) { return std::bit_cast<std::uint32_t>(number); };
    const bool is_nonfinite = is_about_nonfinite(audit);
    entry.further[0] = is_nonfinite ? audit.product : bits(audit.cancellation);
    entry.further[1] = bits(is_nonfinite ? audit.alpha : audit.fp32_error);
    entry.further[2] = bits(is_nonfinite ? audit.beta : audit.tested_error);
    const ExponentRange* const operands[] = {&audit.a, &audit.b, &audit.c};
    for (int i = 0; i < 3; ++i) {
        entry.exponents[2 * i] = operands[i]->lowest;
        entry.exponents[2 * i + 1] = operands[i]->highest;
    }
}

/// Returns the audit that an entry holds. Its enumerations may have values that only a newer version knows.
inline Audit load_audit(const AuditRecord& entry) {
    Audit audit;
    audit.tested = static_cast<policy::AuditFormat>(entry.tested);
    audit.reference = static_cast<policy::AuditFormat>(entry.reference);
    audit.flags = entry.flags;
    audit.errors = {entry.norm, entry.max, entry.mean, entry.component, entry.row_error, entry.column_error};
    audit.worst_row = entry.worst_row;
    audit.worst_column = entry.worst_column;
    audit.notes = entry.notes;
    const auto number = [&](int i) { return std::bit_cast<float>(entry.further[i]); };
    if (is_about_nonfinite(audit)) {
        audit.product = entry.further[0];
        audit.alpha = number(1);
        audit.beta = number(2);
    } else {
        if ((entry.notes & audit_has_cancellation) != 0) audit.cancellation = number(0);
        if ((entry.notes & audit_has_float64_errors) != 0) audit.fp32_error = number(1);
        if ((entry.notes & audit_has_float64_errors) != 0) audit.tested_error = number(2);
    }
    ExponentRange* const operands[] = {&audit.a, &audit.b, &audit.c};
    for (int i = 0; i < 3; ++i) *operands[i] = {entry.exponents[2 * i], entry.exponents[2 * i + 1]};
    return audit;
}

/// Fills an entry from a fingerprint. The caller sets the time, the row, the number and the thread.
inline void store_fingerprint(const Fingerprint& fingerprint, FingerprintRecord& entry) {
    entry.flags = fingerprint.flags;
    entry.hash = fingerprint.hash;
    entry.norm = fingerprint.norm;
    std::copy(std::begin(fingerprint.sketch), std::end(fingerprint.sketch), entry.sketch);
}

inline Fingerprint load_fingerprint(const FingerprintRecord& entry) {
    Fingerprint fingerprint;
    fingerprint.flags = entry.flags;
    fingerprint.hash = entry.hash;
    fingerprint.norm = entry.norm;
    std::copy(std::begin(entry.sketch), std::end(entry.sketch), fingerprint.sketch);
    return fingerprint;
}

}  // namespace fp32shim::record::format
