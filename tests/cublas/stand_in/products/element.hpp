// Reads and writes elements of matrices and scalars in device memory, as double or complex<double>.
#pragma once

#include <array>
#include <complex>
#include <cstddef>

#include "products/types.hpp"

namespace stand_in {

using Complex = std::complex<double>;

// Reads or writes an element. `T` is Complex, or double, which takes the real part of a complex element.
template <class T>
T load(const std::byte* element, cudaDataType type);
template <class T>
void store(std::byte* element, cudaDataType type, T value);

}  // namespace stand_in
