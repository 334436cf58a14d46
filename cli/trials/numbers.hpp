// Reads the numbers that a program printed, or wrote to a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// A number of a text, or an array of a file of arrays.
struct NumberRow {
    std::size_t first = 0, count = 1;  ///< its part of Numbers::values
    std::string label{};               ///< text before the number in its line; name of the array
    std::string words{};               ///< words between the number before and this one; type and shape of the array
    std::uint64_t line = 0;            ///< of a text, from 1; 0: an array
    std::vector<std::uint64_t> indices{};  ///< size of the array in each dimension
    bool is_fortran = false;               ///< the first index of the array changes fastest

    /// Returns a name for one of its numbers: `residual (line 3)`, `weights[3, 5]`.
    std::string name_of(std::size_t value) const;
    /// Returns a name for all of them.
    std::string name() const;
};

struct Numbers {
    std::vector<double> values{};
    std::vector<NumberRow> rows{};
    std::string words_after{};  ///< words after the last number of a text
    std::string problem{};      ///< end of a sentence with the reason why there are none; empty if there are

    /// Returns the words before a row; for the count of rows, those after the last one.
    const std::string& words_before(std::size_t row) const {
        return row < rows.size() ? rows[row].words : words_after;
    }
};

/// Reads all numbers of a file: a `.npy` or `.npz` file of numbers, or a text. Its content tells which.
Numbers read_numbers(const std::string& path);
/// Reads the numbers of such a file's content.
Numbers numbers_of(std::string_view bytes);

/// Returns all numbers of a text, including `nan` and `inf`. Digits that are part of a word are ignored, such as
/// those of `3.2ms`, and so are dates and times of day. A full stop after a number is none of its digits, and the two
/// parts of `(1+2j)` are two numbers. Of a line that a carriage return overwrites, only the last text counts.
Numbers numbers_in_text(std::string_view text);

/// Returns a sentence about the first number that differs from its reference by more than `absolute + relative *
/// |reference|`; empty if there is none. NaN is equal only to NaN.
std::string difference_between(const std::vector<double>& reference, const std::vector<double>& found,
                               double relative, double absolute);

}  // namespace fp32shim::cli
