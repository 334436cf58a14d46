// Reads numpy's file formats.
#pragma once

#include <string_view>

#include "cli/trials/numbers.hpp"

namespace fp32shim::cli {

/// Returns true if a file with this content is a `.npy` file.
bool is_npy(std::string_view bytes);
/// Returns true if a file with this content is a zip archive, as a `.npz` file is.
bool is_zip(std::string_view bytes);
/// Reads real and complex numbers of every size, whole numbers and truth values, in both byte orders.
Numbers numbers_of_npy(std::string_view bytes);
/// Reads an archive of `.npy` files, stored or deflated.
Numbers numbers_of_npz(std::string_view bytes);

}  // namespace fp32shim::cli
