// Makes texts of sizes, and texts of locations without the parts that change with an edit or a new build.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fp32shim::cli {

/// Returns the sizes of a product as text: `128x128x64 batch 8`, without the batch if it is 1. A `?` stands for a
/// negative size, which the function does not have; `<=` precedes sizes that are rounded up (`is_folded`).
std::string product_size_text(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, bool is_folded);

/// Returns a call site without its offset: `libphysics.so!solve`.
std::string_view without_offset(std::string_view call_site);

struct SplitLocation {
    std::string_view file, rest;
};
/// Splits `train.py:41 Model.forward` into file name and function. The file is empty if the text has no line.
SplitLocation split_location(std::string_view where);

/// Returns a location without its line or offset: `train.py Model.forward`.
std::string without_line(std::string_view where);

}  // namespace fp32shim::cli
