// Reads the numbers that a program printed, or wrote to a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/trials/moments.hpp"

namespace fp32shim::cli {

/// The words and signs of a text between two numbers, with a space between any two. Spaces and ends of lines do not
/// count, since columns are as wide as their numbers.
struct Words {
    std::string text{};
    std::string without_clocks{};  ///< the words without moments of the run's own clock
    bool has_clock = false;        ///< there are such moments

    /// Returns true if both are equal, but for moments of the runs' own clocks.
    bool are_same(const Words& other) const {
        return text == other.text || (has_clock && other.has_clock && without_clocks == other.without_clocks);
    }
};

/// A number of a text, or an array of a file of arrays.
struct NumberRow {
    std::size_t first = 0, count = 1;  ///< part of Numbers::values that belongs to the row
    std::string label{};               ///< text before the number in its line; name of the array
    Words words{};                     ///< words between the number before and this one; type and shape of the array
    std::uint64_t line = 0;            ///< number of the line in a text, from 1; 0: the row is an array
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
    Words words_after{};       ///< words after the last number of a text
    bool has_clock = false;    ///< some words have moments of the run's own clock
    bool has_moments = false;  ///< some words have other moments
    std::string problem{};     ///< end of a sentence that says why there are no numbers; empty if there are some

    /// Returns the words before a row; for the count of rows, those after the last one.
    const Words& words_before(std::size_t row) const { return row < rows.size() ? rows[row].words : words_after; }
};

/// Reads all numbers of a file: a `.npy` or `.npz` file of numbers, or a text. Its content tells which. `run`: the
/// time of the run that wrote it.
Numbers read_numbers(const std::string& path, const RunTime& run = {});
/// Reads the numbers from the content of such a file.
Numbers numbers_of(std::string_view bytes, const RunTime& run = {});

/// Returns all numbers of a text, including `nan` and `inf`. Digits that are part of a word are ignored, such as
/// those of `3.2ms` or of a date. A full stop after a number is none of its digits, and the two parts of `(1+2j)` are
/// two numbers. Of a line that a carriage return overwrites, only the last text counts.
Numbers numbers_in_text(std::string_view text, const RunTime& run = {});

/// Returns `"dog" instead of "cat"`: the first words that differ.
std::string first_difference(const Words& exact, const Words& found);

// numpy's file formats (arrays.cpp):

/// Returns true if a file with this content is a `.npy` file.
bool is_npy(std::string_view bytes);
/// Returns true if a file with this content is a zip archive, as a `.npz` file is.
bool is_zip(std::string_view bytes);
/// Reads real and complex numbers of every size, integers and booleans, in both byte orders.
Numbers numbers_of_npy(std::string_view bytes);
/// Reads an archive of `.npy` files, stored or deflated.
Numbers numbers_of_npz(std::string_view bytes);

}  // namespace fp32shim::cli
