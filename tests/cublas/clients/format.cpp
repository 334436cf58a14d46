#include "format.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <cstdint>

namespace clients {
namespace {

constexpr int dropped_bits = 13;  // float32 has 23 explicit mantissa bits, TF32 has 10

}  // namespace

double round_to(Format format, double value) {
    const auto single = static_cast<float>(value);
    switch (format) {
        case Format::fp32:
            return single;
        case Format::tf32: {
            const std::uint32_t half_unit = 1U << (dropped_bits - 1);
            return tf32_truncated(std::bit_cast<float>(std::bit_cast<std::uint32_t>(single) + half_unit));
        }
        case Format::bf16:
            return __bfloat162float(__float2bfloat16_rn(single));
        case Format::fp16:
            return __half2float(__float2half_rn(single));
    }
    return value;
}

double tf32_truncated(double value) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return std::bit_cast<float>(bits >> dropped_bits << dropped_bits);
}

const char* name_of(Format format) {
    constexpr const char* names[] = {"fp32", "tf32", "bf16", "fp16"};
    return names[static_cast<int>(format)];
}

int rank_of(const std::string& applied) {
    constexpr const char* names[] = {"fp16", "bf16", "tf32", "bf16x9", "fp32"};
    for (int rank = 0; rank < 5; ++rank)
        if (applied == names[rank]) return rank;
    return -1;
}

}  // namespace clients
