// Reads the numbers that a program printed or wrote to a file. Dates and times at which the run was made are told
// apart from results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// The begin and the end of a run, in nanoseconds since 1970, UTC.
struct RunTimeSpan {
    std::int64_t begin_ns = 0, end_ns = 0;
};

/// A sentence that says which dates and times were not compared.
constexpr std::string_view run_timestamps_text =
    "Dates and times of day that are those of the run itself, and times no longer than it took, were not compared.\n";

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns true if `text` begins with `pattern`, in which 0 stands for any digit.
bool begins_with_pattern(std::string_view text, std::string_view pattern);

/// Returns the length of a date or a time of day, such as 2026-11-28T09:14:03Z, at the beginning of `text`. Returns 0
/// if there is neither.
std::size_t timestamp_length(std::string_view text);

/// Returns true if a clock can have shown the date or time of day `moment` during the run, in local time, in UTC, or
/// in the time zone that the text names. A clock that starts at 0 with the run also counts. All other dates and times
/// are results, such as a right ascension.
bool is_timestamp_of_run(std::string_view moment, const RunTimeSpan& run);

/// The words and punctuation marks between two numbers of a text, joined by single spaces. The text's own spaces and
/// line ends are left out, because the widths of columns depend on the numbers in them.
struct WordsBetweenNumbers {
    std::string text{};
    std::string without_run_timestamps{};  ///< the text without dates and times of the run itself
    bool has_run_timestamps = false;       ///< the text has dates or times of the run itself

    /// Returns true if both texts are equal, apart from dates and times at which the runs were made.
    bool equals_except_timestamps(const WordsBetweenNumbers& other) const {
        return text == other.text || (has_run_timestamps && other.has_run_timestamps &&
                                      without_run_timestamps == other.without_run_timestamps);
    }
};

/// One number of a text, or one array of a file of arrays.
struct NumberRow {
    std::size_t first = 0,
                count = 1;  ///< the row's numbers are values[first] to values[first + count - 1] of ParsedNumbers
    std::string label{};    ///< text before the number in its line, or name of the array
    WordsBetweenNumbers
        words{};             ///< words between the previous number and this number, or type and shape of the array
    std::uint64_t line = 0;  ///< line number in a text, counted from 1; 0 if the row is an array
    std::vector<std::uint64_t> shape{};  ///< size of the array in each dimension
    bool is_fortran = false;             ///< the first index of the array changes fastest
    bool has_parts = false;  ///< the last index is 0 for the real and 1 for the imaginary part, which are adjacent

    /// Returns a name for one number of the row, such as `residual (line 3)` or `weights[3, 5]`.
    std::string name_of_value(std::size_t value) const;
    /// Returns a name for the whole row.
    std::string name() const;
};

/// The rest of a message about a number that a double cannot hold.
constexpr std::string_view beyond_double_text =
    "and numbers are compared as doubles, from 5e-324 to 1.8e+308: scale it or leave it out";

struct ParsedNumbers {
    std::vector<double> values{};
    std::vector<NumberRow> rows{};
    WordsBetweenNumbers words_after{};  ///< words after the last number of a text
    bool has_run_timestamps = false;    ///< some words are dates or times of the run itself
    bool has_other_timestamps = false;  ///< some words are other dates or times
    std::string problem{};  ///< end of a sentence that says why there are no numbers; empty if there are numbers

    /// Returns the words before the row with number `row`. If `row` is the number of rows, returns the words after
    /// the last row.
    const WordsBetweenNumbers& words_before(std::size_t row) const {
        return row < rows.size() ? rows[row].words : words_after;
    }
};

/// Reads all numbers of a file, which is a `.npy` file, a `.npz` file or a text. The content of the file tells which
/// of them it is. `run` is the time span of the run that wrote the file.
ParsedNumbers read_number_file(const std::string& path, const RunTimeSpan& run = {});
/// Reads the numbers from the content of a file, as read_number_file() does.
ParsedNumbers parse_numbers(std::string_view bytes, const RunTimeSpan& run = {});

/// Returns all numbers of a text, including `nan` and `inf`. Digits that are part of a word or a date, such as those
/// of `3.2ms`, are ignored. A full stop after a number does not belong to the number. The two parts of `(1+2j)` are
/// two numbers. If carriage returns overwrite a line, only the final text is read.
ParsedNumbers parse_text_numbers(std::string_view text, const RunTimeSpan& run = {});

/// Returns a text such as `"dog" instead of "cat"` about the first words that differ.
std::string first_difference_text(const WordsBetweenNumbers& exact, const WordsBetweenNumbers& found);

// The following functions read numpy's file formats. They are defined in arrays.cpp.

/// Returns true if a file with this content is a `.npy` file.
bool is_npy(std::string_view bytes);
/// Returns true if a file with this content is a zip archive, as a `.npz` file is.
bool is_zip(std::string_view bytes);
/// Reads the array of a `.npy` file. Its elements may be real or complex numbers of any size, integers or booleans,
/// in either byte order.
ParsedNumbers parse_npy(std::string_view bytes);
/// Reads the arrays of a `.npz` file, which is a zip archive of `.npy` files. The members may be stored or deflated.
ParsedNumbers parse_npz(std::string_view bytes);

}  // namespace fp32shim::cli
