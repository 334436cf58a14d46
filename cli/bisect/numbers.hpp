// Numbers that a program writes to a file, for `bisect --compare`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

struct Numbers {
    std::vector<double> values;
    std::string problem;  ///< reason why the file cannot be read, a predicate; empty: it was read
};

/// Reads all numbers of a file: of a `.npy` file with float32 or float64 elements, else of a text.
Numbers read_numbers(const std::string& path);

/// Returns all numbers of a text, `nan` and `inf` included. A number that is part of a word is none.
std::vector<double> numbers_in(std::string_view text);

/// Returns a sentence about the first number that is further from its reference than `absolute + relative
/// * |reference|`; empty if none is. NaN is near NaN only.
std::string difference_between(const std::vector<double>& reference, const std::vector<double>& found,
                               double relative, double absolute);

}  // namespace fp32shim::cli
