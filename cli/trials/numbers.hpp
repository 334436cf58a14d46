// Reads the numbers that a program printed or wrote to a file, and tells dates and times of the run itself from
// results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// The time in which a run was made, in nanoseconds since 1970, UTC.
struct RunTimeSpan {
    std::int64_t begin_ns = 0, end_ns = 0;
};

/// Sentence that says which dates and times were not compared.
constexpr std::string_view run_timestamps_text =
    "Dates and times of day that are those of the run itself, and times no longer than it took, were not compared.\n";

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns true if a text begins with a pattern, in which 0 stands for any digit.
bool begins_with_pattern(std::string_view text, std::string_view pattern);

/// Returns the length of a date or a time of day at the beginning of a text, such as 2026-11-28T09:14:03Z; 0: there
/// is none.
std::size_t timestamp_length(std::string_view text);

/// Returns true if a clock can have shown this date or time of day during the run, in local time, in UTC, or in the
/// time zone that the text has. A clock that starts at 0 with the run counts, too. All other dates and times are
/// results, such as a right ascension.
bool is_timestamp_of_run(std::string_view moment, const RunTimeSpan& run);

/// The words and signs of a text between two numbers, with a space between any two. Spaces and ends of lines do not
/// count, since columns are as wide as their numbers.
struct WordsBetweenNumbers {
    std::string text{};
    std::string without_run_timestamps{};  ///< the text without dates and times of the run itself
    bool has_run_timestamps = false;       ///< the text has dates or times of the run itself

    /// Returns true if both texts are equal, apart from dates and times of the runs themselves.
    bool equals_except_timestamps(const WordsBetweenNumbers& other) const {
        return text == other.text || (has_run_timestamps && other.has_run_timestamps &&
                                      without_run_timestamps == other.without_run_timestamps);
    }
};

/// A number of a text, or an array of a file of arrays.
struct NumberRow {
    std::size_t first = 0, count = 1;  ///< part of ParsedNumbers::values that belongs to the row
    std::string label{};               ///< text before the number in its line; name of the array
    WordsBetweenNumbers words{};       ///< words between the number before and this one; type and shape of the array
    std::uint64_t line = 0;            ///< number of the line in a text, from 1; 0: the row is an array
    std::vector<std::uint64_t> indices{};  ///< size of the array in each dimension
    bool is_fortran = false;               ///< the first index of the array changes fastest

    /// Returns a name for one number of the row: `residual (line 3)`, `weights[3, 5]`.
    std::string name_of_value(std::size_t value) const;
    /// Returns a name for the whole row.
    std::string name() const;
};

struct ParsedNumbers {
    std::vector<double> values{};
    std::vector<NumberRow> rows{};
    WordsBetweenNumbers words_after{};  ///< words after the last number of a text
    bool has_run_timestamps = false;    ///< some words are dates or times of the run itself
    bool has_other_timestamps = false;  ///< some words are other dates or times
    std::string problem{};  ///< end of a sentence that says why there are no numbers; empty if there are some

    /// Returns the words before a row; for the count of rows, those after the last one.
    const WordsBetweenNumbers& words_before(std::size_t row) const {
        return row < rows.size() ? rows[row].words : words_after;
    }
};

/// Reads all numbers of a file: a `.npy` or `.npz` file of numbers, or a text. Its content tells which. `run`: the
/// time of the run that wrote it.
ParsedNumbers read_number_file(const std::string& path, const RunTimeSpan& run = {});
/// Reads the numbers from the content of a file, as read_number_file() does.
ParsedNumbers parse_numbers(std::string_view bytes, const RunTimeSpan& run = {});

/// Returns all numbers of a text, including `nan` and `inf`. Digits that are part of a word are ignored, such as
/// those of `3.2ms` or of a date. A full stop after a number is none of its digits, and the two parts of `(1+2j)` are
/// two numbers. Of a line that a carriage return overwrites, only the last text counts.
ParsedNumbers parse_text_numbers(std::string_view text, const RunTimeSpan& run = {});

/// Returns `"dog" instead of "cat"`: the first words that differ.
std::string first_difference_text(const WordsBetweenNumbers& exact, const WordsBetweenNumbers& found);

// Functions for numpy's file formats, which are in arrays.cpp:

/// Returns true if a file with this content is a `.npy` file.
bool is_npy(std::string_view bytes);
/// Returns true if a file with this content is a zip archive, as a `.npz` file is.
bool is_zip(std::string_view bytes);
/// Reads the array of a `.npy` file: real and complex numbers of every size, integers and booleans, in both byte
/// orders.
ParsedNumbers parse_npy(std::string_view bytes);
/// Reads the arrays of a `.npz` file, which is an archive of `.npy` files, stored or deflated.
ParsedNumbers parse_npz(std::string_view bytes);

}  // namespace fp32shim::cli
