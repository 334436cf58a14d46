// Converts audits and fingerprints to the entries of a recording, and back.
#pragma once

#include <algorithm>
#include <iterator>

#include "record/audit.hpp"
#include "record/fingerprint.hpp"
#include "record/format/format.hpp"

namespace fp32shim::record::format {

/// Fills an entry from an audit. Time and row are left to the caller.
inline void store(const Audit& audit, AuditRecord& entry) {
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
    entry.product = audit.product;
    entry.alpha = audit.alpha;
    entry.beta = audit.beta;
    const Exponents* const operands[] = {&audit.a, &audit.b, &audit.c};
    for (int i = 0; i < 3; ++i) {
        entry.exponents[2 * i] = operands[i]->lowest;
        entry.exponents[2 * i + 1] = operands[i]->highest;
    }
}

/// Returns the audit that an entry holds. A newer version may have written values that its enumerations do not have.
inline Audit load(const AuditRecord& entry) {
    Audit audit;
    audit.tested = static_cast<policy::AuditFormat>(entry.tested);
    audit.reference = static_cast<policy::AuditFormat>(entry.reference);
    audit.flags = entry.flags;
    audit.errors = {entry.norm, entry.max, entry.mean, entry.component, entry.row_error, entry.column_error};
    audit.worst_row = entry.worst_row;
    audit.worst_column = entry.worst_column;
    audit.product = entry.product;
    audit.alpha = entry.alpha;
    audit.beta = entry.beta;
    Exponents* const operands[] = {&audit.a, &audit.b, &audit.c};
    for (int i = 0; i < 3; ++i) *operands[i] = {entry.exponents[2 * i], entry.exponents[2 * i + 1]};
    return audit;
}

/// Fills an entry from a fingerprint. Time, row and number are left to the caller.
inline void store(const Fingerprint& fingerprint, FingerprintRecord& entry) {
    entry.flags = fingerprint.flags;
    entry.hash = fingerprint.hash;
    entry.norm = fingerprint.norm;
    std::copy(std::begin(fingerprint.sketch), std::end(fingerprint.sketch), entry.sketch);
}

inline Fingerprint load(const FingerprintRecord& entry) {
    Fingerprint fingerprint;
    fingerprint.flags = entry.flags;
    fingerprint.hash = entry.hash;
    fingerprint.norm = entry.norm;
    std::copy(std::begin(entry.sketch), std::end(entry.sketch), fingerprint.sketch);
    return fingerprint;
}

}  // namespace fp32shim::record::format
