#include "shim/blas/fingerprint/fingerprint_builder.hpp"
#include "system/hash.hpp"

#include <cmath>

namespace fp32shim::blas {
namespace {

/// The rotations of 32 successive groups of floats (see fingerprint_builder.hpp): each number from 0 to 31 once.
/// Their order was found by trials; it also spreads the elements of a diagonal over most sums of the sketch.
constexpr std::uint8_t rotations[lane_count] = {7, 8,  12, 20, 28, 21, 25, 9,  0,  29, 5,  26, 3,  14, 10, 15,
                                                2, 18, 4,  23, 1,  19, 16, 22, 30, 27, 31, 24, 17, 11, 6,  13};

constexpr FingerprintLanes first_lanes() {
    FingerprintLanes lanes{};
    for (std::uint32_t i = 0; i < lane_count; ++i) lanes.hash[i] = mixed(i + 1);
    return lanes;
}
constexpr FingerprintLanes begin = first_lanes();

constexpr std::uint64_t combined(std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * system::golden_ratio;
    return hash ^ hash >> 32;
}

}  // namespace

FingerprintBuilder::FingerprintBuilder(FingerprintKernel kernel) : kernel_(kernel), lanes_(begin) {}

void FingerprintBuilder::add(const float* floats, std::size_t count) {
    count_ += count;
    splitter_.add(floats, count, [this](const float* block, std::size_t blocks) { absorb(block, blocks); });
}

void FingerprintBuilder::end_group() {
    splitter_.finish([this](const float* block, std::size_t blocks) { absorb(block, blocks); });
    ++groups_;
}

void FingerprintBuilder::absorb(const float* floats, std::size_t blocks) {
    double* const sums = sums_ + (rotations[groups_ % lane_count] + 5 * (groups_ / lane_count)) % lane_count;
    kernel_(lanes_, sums, floats, blocks);
}

record::Fingerprint FingerprintBuilder::finish() {
    end_group();
    record::Fingerprint fingerprint;
    fingerprint.hash = combined(0, count_);
    for (std::size_t i = 0; i < lane_count; i += 2)
        fingerprint.hash =
            combined(fingerprint.hash, lanes_.hash[i] | static_cast<std::uint64_t>(lanes_.hash[i + 1]) << 32);
    for (std::size_t i = 0; i < lane_count; ++i) fingerprint.sketch[i] = sums_[i] + sums_[i + lane_count];
    double squares = 0;
    for (const double part : lanes_.squares) squares += part;
    fingerprint.norm = std::sqrt(squares);
    if (!std::isfinite(squares)) fingerprint.flags = record::fingerprint_nonfinite;
    return fingerprint;
}

}  // namespace fp32shim::blas
