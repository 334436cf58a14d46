// Writes output for people: colours, aligned tables, messages on stderr, and numbers as text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

enum class Colour : std::uint8_t { none, bold, faint, red, green, yellow };

/// Returns true if `stream` (1 or 2) is a terminal that understands escape codes: the variable TERM is set and is not
/// `dumb`.
bool supports_escape_codes(int stream);

/// Returns whole lines of text. Lines that are wider than the terminal of `stream` are broken at blanks, and their
/// continuations are indented. Words, and thus paths, are never broken. Lines that begin with blanks and `fp32shim`
/// are commands to copy; they are not broken either, but a comment behind them moves to the next line.
std::string wrapped(std::string_view text, int stream = 1);

/// Returns `text` in a colour if the stream supports colours; otherwise returns it unchanged.
std::string coloured(std::string_view text, Colour colour, int stream = 1);

/// Writes `fp32shim COMMAND: MESSAGE` to stderr. The message passes printable(), and the line is wrapped().
void say(std::string_view command, std::string_view message);

/// Returns `text` with control characters, invisible characters and bytes that are not UTF-8 written as \xNN. Names
/// from files and other processes can then neither control a terminal nor reorder its text.
std::string printable(std::string_view text);

/// A function that receives a text piece by piece.
using TextSink = std::function<void(std::string_view)>;

/// Table of texts with aligned columns.
class TextTable {
  public:
    struct Column {
        std::string title;
        bool is_number = false;  ///< aligns cells to the right
        /// Width to which cells are shortened before columns are left out. If it is 0, cells are shortened only when
        /// no column is left that may be left out.
        std::size_t shrinks_to = 0;
        /// Columns with the highest rank are left out first. Columns of rank 0 are never left out.
        std::uint8_t rank = 0;
    };

    using CellText = std::function<std::string(std::size_t row, std::size_t column)>;

    explicit TextTable(std::vector<Column> columns) : TextTable(std::move(columns), 0, nullptr) {}
    /// Makes a table that does not store its cells. `cell` is called twice for each cell when the table is written.
    TextTable(std::vector<Column> columns, std::size_t rows, CellText cell);

    /// Adds a row with a cell for each column. The cells pass printable().
    void add(std::vector<std::string> cells);
    bool empty() const { return row_count_ == 0; }
    std::size_t row_count() const { return row_count_; }
    const std::vector<Column>& columns() const { return columns_; }
    /// Returns the text of a cell after printable().
    std::string cell(std::size_t row, std::size_t column) const;
    /// Returns a copy of the table that stores its cells, so that the data behind `cell` need not outlive the copy.
    TextTable with_stored_cells() const;

    /// Returns the title line, in bold if `stream` supports colours, then each row as one line. If the rows are too
    /// wide for `stream`, cells are shortened, and columns are left out by rank. A last line names the omitted
    /// columns.
    std::string text(int stream = 1) const;
    /// Writes text() line by line.
    void write(const TextSink& put, int stream) const;

  private:
    /// Returns the width of each column. If `limit` is not 0, narrows columns until the line has at most `limit`
    /// characters. Columns with `shrinks_to` are narrowed first.
    std::vector<std::size_t> column_widths(std::size_t limit) const;
    /// Returns the table without the columns that do not fit into `limit`. Adds their titles to `left_out`.
    TextTable with_fitting_columns(std::size_t limit, std::vector<std::string>& left_out) const;
    void write_lines(std::size_t limit, int stream, const TextSink& put) const;

    std::vector<Column> columns_;
    std::vector<std::size_t> cell_of_column_;  ///< index of each column's cell in a row, which differs from the
                                               ///< column's index if columns are left out
    std::size_t row_count_;
    CellText cell_;  ///< function that returns the text of a cell; null if rows_ has the cells
    std::vector<std::vector<std::string>> rows_;  ///< cells after printable()
};

/// Returns a duration in a suitable unit: `381 ns`, `4.2 us`, `17 ms`, `3.4 s`, `2 h 05 min`; `~17 ms` for an
/// estimate.
std::string duration_text(double nanoseconds, bool is_estimate = false);

/// Returns a count with commas between groups of digits, such as `1,234,567`.
std::string count_text(std::uint64_t count);

/// Returns a share as a percentage, such as `12.3%`. If rounding would give 0% or 100%, returns `<0.1%` or `>99.9%`.
/// Returns an empty text if `whole` is 0.
std::string share_text(std::uint64_t part, std::uint64_t whole);

/// Returns a count with its noun, such as `1 call` or `1,234 calls`.
std::string counted(std::uint64_t count, std::string_view noun);

/// Returns the first `most` names and the number of other names, such as `a, b, c and 4 more`.
std::string listed(const std::vector<std::string>& names, std::size_t most);

/// Writes a text to `stream` (1 or 2). Does not break its lines, so text for people must have passed wrapped()
/// before. main() reports write errors on stdout. Characters that are not plain become \xNN, except ends of lines and
/// tabs. On a terminal that supports escape codes, those of coloured() and of a new screen are kept too.
void print(std::string_view text, int stream = 1);

}  // namespace fp32shim::cli
