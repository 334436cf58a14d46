#include "cli/diff/differences.hpp"

#include <limits>

#include "record/format/entry_fields.hpp"

namespace fp32shim::cli {

record::RecordingReader* FingerprintsOfSide::reader_of(std::uint32_t process) {
    if (process != process_) {
        if (readers_[process_] != nullptr) readers_[process_]->release_memory();
        process_ = process;
    }
    if (readers_[process] == nullptr && !is_lost_[process]) {
        auto opened = record::RecordingReader::open(side_.processes[process].path);
        readers_[process] = std::move(opened.reader);
        is_lost_[process] = readers_[process] == nullptr;
        if (is_lost_[process]) problems_.push_back({side_.processes[process].path, opened.error});
    }
    return readers_[process].get();
}

record::Fingerprint FingerprintsOfSide::of(std::size_t product) {
    record::RecordingReader* const reader = reader_of(side_.thread_of(product).process);
    record::format::FingerprintRecord entry;
    if (reader != nullptr && reader->read_fingerprints(side_.products[product].offset, {&entry, 1}) == 1)
        return record::format::load(entry);
    record::Fingerprint lost;  // the file was truncated after it was first read
    lost.flags = record::fingerprint_nonfinite;
    return lost;
}

double difference_of(const record::Fingerprint& a, const record::Fingerprint& b) {
    if (a.is_finite() != b.is_finite()) return std::numeric_limits<double>::infinity();
    const double apart = distance(a, b);
    const double relative = apart == 0 ? 0 : apart / a.norm;
    // A damaged recording may contain NaN.
    return relative >= 0 ? relative : std::numeric_limits<double>::infinity();
}

}  // namespace fp32shim::cli
