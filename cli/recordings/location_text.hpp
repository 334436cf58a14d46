// Removes from locations the parts that change with an edit or a new build.
#pragma once

#include <string>
#include <string_view>

namespace fp32shim::cli {

/// Returns a call site without its offset: `libphysics.so!solve`.
std::string_view without_offset(std::string_view call_site);

struct CutLocation {
    std::string_view file, rest;
};
/// Splits `train.py:41 Model.forward` into file name and function. The file is empty if the text has no line.
CutLocation split_location(std::string_view where);

/// Returns a location without its line or offset: `train.py Model.forward`.
std::string without_line(std::string_view where);

}  // namespace fp32shim::cli
