#include "products/element.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "products/rounding.hpp"

namespace stand_in {
namespace {

template <class Stored>
Stored read(const std::byte* element) {
    Stored value;
    std::memcpy(&value, element, sizeof value);
    return value;
}

template <class Stored>
void write(std::byte* element, Stored value) {
    std::memcpy(element, &value, sizeof value);
}

// E4M3 has no infinity and only one NaN. E5M2 is the upper half of a float16.
double e4m3(std::uint8_t bits) {
    const int exponent = (bits >> 3) & 15;
    const int fraction = bits & 7;
    double magnitude = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(fraction + 8, exponent - 10);
    if (exponent == 15 && fraction == 7) magnitude = std::numeric_limits<double>::quiet_NaN();
    return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

double read_real(const std::byte* element, cudaDataType type) {
    switch (type) {
        case CUDA_R_8I:
            return read<std::int8_t>(element);
        case CUDA_R_8F_E4M3:
            return e4m3(read<std::uint8_t>(element));
        case CUDA_R_8F_E5M2:
            return rounding::fp16_value(static_cast<std::uint16_t>(read<std::uint8_t>(element) << 8));
        case CUDA_R_16F:
            return rounding::fp16_value(read<std::uint16_t>(element));
        case CUDA_R_16BF:
            return std::bit_cast<float>(std::uint32_t{read<std::uint16_t>(element)} << 16);
        case CUDA_R_32F:
            return read<float>(element);
        case CUDA_R_32I:
            return read<std::int32_t>(element);
        default:
            return read<double>(element);
    }
}

void write_real(std::byte* element, cudaDataType type, double value) {
    switch (type) {
        case CUDA_R_16F:
            write(element, rounding::fp16_bits(value));
            break;
        case CUDA_R_16BF: {
            const float rounded = rounding::bf16(static_cast<float>(value));
            write(element, static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16));
            break;
        }
        case CUDA_R_32F:
            write(element, static_cast<float>(value));
            break;
        case CUDA_R_32I:
            write(element, static_cast<std::int32_t>(std::clamp(std::nearbyint(value),
                                                                double{std::numeric_limits<std::int32_t>::min()},
                                                                double{std::numeric_limits<std::int32_t>::max()})));
            break;
        default:
            write(element, value);
    }
}

cudaDataType part_of(cudaDataType type) {
    switch (type) {
        case CUDA_C_8I:
            return CUDA_R_8I;
        case CUDA_C_32F:
            return CUDA_R_32F;
        case CUDA_C_64F:
            return CUDA_R_64F;
        default:
            return type;
    }
}

}  // namespace

template <>
double load<double>(const std::byte* element, cudaDataType type) {
    return read_real(element, part_of(type));
}

template <>
Complex load<Complex>(const std::byte* element, cudaDataType type) {
    const cudaDataType part = part_of(type);
    const double real = read_real(element, part);
    return {real, part == type ? 0.0 : read_real(element + size_of(part), part)};
}

template <>
void store<double>(std::byte* element, cudaDataType type, double value) {
    write_real(element, part_of(type), value);
}

template <>
void store<Complex>(std::byte* element, cudaDataType type, Complex value) {
    const cudaDataType part = part_of(type);
    write_real(element, part, value.real());
    if (part != type) write_real(element + size_of(part), part, value.imag());
}

}  // namespace stand_in
