#include "shim/blas/fingerprint/result_stream.hpp"

#include <algorithm>
#include <cmath>

namespace fp32shim::blas {
namespace {

constexpr std::uint64_t blocks_of_signs = 32;  // a lane has so many bits of signs at once

/// Rotations of 32 groups in turn: each once, and such that diagonals too are spread over most sums. Found by trials.
constexpr std::uint8_t rotations[lane_count] = {7, 8,  12, 20, 28, 21, 25, 9,  0,  29, 5,  26, 3,  14, 10, 15,
                                                2, 18, 4,  23, 1,  19, 16, 22, 30, 27, 31, 24, 17, 11, 6,  13};

/// Returns a number that looks random: the finalizer "lowbias32" of C. Wellons' hash prospector.
constexpr std::uint32_t mixed(std::uint32_t value) {
    value = (value ^ value >> 16) * 0x7feb352dU;
    value = (value ^ value >> 15) * 0x846ca68bU;
    return value ^ value >> 16;
}

constexpr std::uint64_t combined(std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
    return hash ^ hash >> 32;
}

}  // namespace

ResultStream::ResultStream(AbsorbKernel kernel) : kernel_(kernel) {
    for (std::uint32_t i = 0; i < lane_count; ++i) lanes_.hash[i] = mixed(i + 1);
}

void ResultStream::add(const float* floats, std::size_t count) {
    count_ += count;
    if (count < lane_count) {
        std::copy(floats, floats + count, short_ + short_count_);
        short_count_ += count;
        if (short_count_ < lane_count) return;
        add_group(short_, short_count_);
        short_count_ = 0;
        return;
    }
    if (short_count_ > 0) {
        add_group(short_, short_count_);
        short_count_ = 0;
    }
    add_group(floats, count);
}

void ResultStream::add_group(const float* floats, std::size_t count) {
    const std::uint64_t turn = groups_ / lane_count;
    double* const sums = sums_ + (rotations[groups_ % lane_count] + 5 * turn) % lane_count;
    ++groups_;
    const std::size_t blocks = count / lane_count;
    absorb(sums, floats, blocks);
    const std::size_t rest = count - blocks * lane_count;
    if (rest == 0) return;
    alignas(64) float last[lane_count] = {};
    std::copy(floats + blocks * lane_count, floats + count, last);
    absorb(sums, last, 1);
}

void ResultStream::absorb(double* sums, const float* floats, std::size_t blocks) {
    while (blocks > 0) {
        const std::uint64_t used = blocks_ % blocks_of_signs;
        if (used == 0) renew_signs();
        const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(blocks, blocks_of_signs - used));
        kernel_(lanes_, sums, floats, now);
        floats += now * lane_count;
        blocks_ += now;
        blocks -= now;
    }
}

void ResultStream::renew_signs() {
    const std::uint64_t number = blocks_ / blocks_of_signs;
    const std::uint32_t seed = mixed(static_cast<std::uint32_t>(number)) + static_cast<std::uint32_t>(number >> 32);
    for (std::uint32_t i = 0; i < lane_count; ++i) lanes_.signs[i] = mixed(seed + i * 0x9e3779b9U);
}

record::Fingerprint ResultStream::finish() {
    if (short_count_ > 0) add_group(short_, short_count_);
    record::Fingerprint fingerprint;
    fingerprint.hash = combined(0, count_);
    for (std::size_t i = 0; i < lane_count; ++i) {
        fingerprint.hash = combined(fingerprint.hash, lanes_.hash[i]);
        fingerprint.sketch[i] = sums_[i] + sums_[i + lane_count];
        if (lanes_.not_finite[i] != 0) fingerprint.flags = record::fingerprint_nonfinite;
    }
    double squares = 0;
    for (const double part : lanes_.squares) squares += part;
    fingerprint.norm = std::sqrt(squares);
    return fingerprint;
}

}  // namespace fp32shim::blas
