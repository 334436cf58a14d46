#include "gpu_check/products/problem.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace gpu {

namespace {

/// Returns `copies` times the matrix in the device's layout: real matrices have no imaginary parts.
std::vector<float> device_layout(const std::vector<std::complex<float>>& matrix, bool complex) {
    std::vector<float> result;
    result.reserve(matrix.size() * Problem::copies * (complex ? 2 : 1));
    for (int copy = 0; copy < Problem::copies; ++copy) {
        for (const auto& element : matrix) {
            result.push_back(element.real());
            if (complex) result.push_back(element.imag());
        }
    }
    return result;
}

std::vector<char*> addresses(const Buffer& matrices, std::size_t matrix_bytes, std::size_t offset) {
    std::vector<char*> result;
    for (int copy = 0; copy < Problem::copies; ++copy) {
        result.push_back(matrices.as<char>(offset + copy * matrix_bytes));
    }
    return result;
}

}  // namespace

Problem::Problem(const Device& device, int n, bool complex, Use use, std::size_t offset)
    : n(n),
      complex(complex),
      matrix_bytes(static_cast<std::size_t>(n) * n * sizeof(float) * (complex ? 2 : 1)),
      offset(offset),
      a(device, offset + copies * matrix_bytes),
      b(device, offset + copies * matrix_bytes),
      c(device, offset + copies * matrix_bytes),
      a_pointers(device, addresses(a, matrix_bytes, offset)),
      b_pointers(device, addresses(b, matrix_bytes, offset)),
      c_pointers(device, addresses(c, matrix_bytes, offset)),
      host_(n, complex, use) {
    upload(a, host_.a);
    upload(b, host_.b);
}

void Problem::upload(Buffer& target, const std::vector<std::complex<float>>& matrix) const {
    const std::vector<float> values = device_layout(matrix, complex);
    target.upload(values.data(), values.size() * sizeof(float), offset);
}

void Problem::prepare(Shape shape) {
    if (shape == Shape::trsm) {
        upload(c, host_.b);
    } else {
        c.fill_with_nan(offset + copies * matrix_bytes);
    }
}

/// Returns a hash by the method FNV-1a.
std::string Problem::hash_of_result() const {
    const auto values = c.download<float>(offset / sizeof(float) + matrix_bytes / sizeof(float));
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data()) + offset;
    std::uint64_t hash = 0xcbf29ce484222325;
    for (std::size_t i = 0; i < matrix_bytes; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
    char text[24];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

Measured Problem::judge(Shape shape, int copy) const {
    const std::size_t floats = matrix_bytes / sizeof(float);
    const std::size_t first = offset / sizeof(float) + copy * floats;
    const auto device_result = c.download<float>(first + floats);
    return host_.judge(shape, device_result.data() + first);
}

}  // namespace gpu
