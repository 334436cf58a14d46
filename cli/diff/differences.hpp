// Differences between results of two runs, by the sketches in their recordings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cli/diff/results.hpp"
#include "cli/recordings/recordings.hpp"
#include "record/fingerprint.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Reads fingerprints of a side again. Holds one recording open at a time.
class FingerprintsOfSide {
  public:
    FingerprintsOfSide(const ResultsOfSide& side, std::vector<ReadingProblem>& problems)
        : side_(side), problems_(problems), readers_(side.processes.size()), is_lost_(side.processes.size()) {}

    /// Returns the fingerprint of a product; one that is not finite, with no hash, if it can no longer be read.
    record::Fingerprint of(std::size_t product);

  private:
    record::RecordingReader* reader_of(std::uint32_t process);

    const ResultsOfSide& side_;
    std::vector<ReadingProblem>& problems_;
    std::vector<std::unique_ptr<record::RecordingReader>> readers_;
    std::vector<bool> is_lost_;
    std::uint32_t process_ = 0;  ///< process whose recording is open
};

/// Returns the estimated norm of the difference, relative to the norm of A. It is infinite if A is zero or only one
/// of the two is finite.
double difference_of(const record::Fingerprint& a, const record::Fingerprint& b);

}  // namespace fp32shim::cli
