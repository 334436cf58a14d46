// A fingerprint as a recording stores it, and back.
#pragma once

#include <algorithm>
#include <iterator>

#include "record/fingerprint.hpp"
#include "record/format/format.hpp"

namespace fp32shim::record::format {

/// Fills an entry from a fingerprint, but for its time, row and number.
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
