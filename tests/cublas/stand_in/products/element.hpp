// Elements of matrices and scalars in device memory, read and written as double or complex<double>.
#pragma once

#include <array>
#include <complex>
#include <cstddef>

#include "products/types.hpp"

namespace stand_in {

using Complex = std::complex<double>;

// `T` is double (of a complex type: the real part) or Complex.
template <class T>
T load(const std::byte* element, cudaDataType type);
template <class T>
void store(std::byte* element, cudaDataType type, T value);

}  // namespace stand_in
