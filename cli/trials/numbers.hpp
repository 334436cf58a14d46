// Reads the numbers that a program wrote to a file, for `--compare`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

struct Numbers {
    std::vector<double> values;
    std::string problem;  ///< end of a sentence with the reason why the file cannot be read; empty if it was read
};

/// Reads all numbers of a file: a `.npy` file with float32 or float64 elements, or a text.
Numbers read_numbers(const std::string& path);

/// Returns all numbers of a text, including `nan` and `inf`. Digits that are part of a word are ignored, such as
/// those of `3.2ms`. A full stop after a number is none of its digits, and the two parts of `(1+2j)` are two numbers.
std::vector<double> numbers_in(std::string_view text);

/// Returns a sentence about the first number that differs from its reference by more than `absolute + relative *
/// |reference|`; empty if there is none. NaN is equal only to NaN.
std::string difference_between(const std::vector<double>& reference, const std::vector<double>& found,
                               double relative, double absolute);

/// Measures of the distance of some numbers from their references.
enum class OutputMetric : std::uint8_t {
    norm,  ///< norm of the differences, relative to the norm of the references
    max,   ///< largest difference, relative to the largest reference
    each,  ///< largest relative difference of any number
};

/// Returns the distance. It is infinite if the counts of numbers differ, or if a number is NaN or infinite and its
/// reference is another one. It is 0 if all numbers are equal, NaN included.
double output_error(const std::vector<double>& reference, const std::vector<double>& found, OutputMetric metric);

}  // namespace fp32shim::cli
