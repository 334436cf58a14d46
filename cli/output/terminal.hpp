// Output for people: colours, aligned tables, messages on stderr, and texts of numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

enum class Colour : std::uint8_t { none, bold, faint, red, green, yellow };

/// Returns true if `stream` (1 or 2) is a terminal that can do more than print lines: TERM is set, and not to `dumb`.
bool is_full_terminal(int stream);

/// Returns true if `stream` is a full terminal and NO_COLOR is not set.
bool shows_colours(int stream);

/// Returns the columns of the terminal on `stream` (1 or 2); 0 if it is no terminal or its width is unknown.
std::size_t terminal_width(int stream);

/// Returns `text` in the colour `colour` if the stream takes colours, otherwise unchanged.
std::string coloured(std::string_view text, Colour colour, int stream = 1);

/// Writes `fp32shim COMMAND: MESSAGE` to stderr, as one printable() line.
void say(std::string_view command, std::string_view message);

/// Returns `text` with control characters, invisible characters and bytes that are not UTF-8 as \xNN. Names from
/// files and other processes can then neither control a terminal nor reorder its text.
std::string printable(std::string_view text);

/// Receives a text piece by piece.
using TextSink = std::function<void(std::string_view)>;

/// Table of texts in aligned columns.
class Table {
  public:
    /// Columns of this rank or a higher one are left out rather than put in a second line.
    static constexpr std::uint8_t one_line_rank = 3;

    struct Column {
        std::string title;
        bool is_number = false;      ///< aligned to the right
        std::size_t shrinks_to = 0;  ///< width to which a narrow terminal may shorten cells; 0: never shortened
        std::uint8_t rank = 0;       ///< columns of the highest rank are left out first; 0: never left out
    };

    using CellText = std::function<std::string(std::size_t row, std::size_t column)>;

    explicit Table(std::vector<Column> columns) : Table(std::move(columns), 0, nullptr) {}
    /// Makes a table that keeps no cells: `cell` is called twice for each cell when the table is written.
    Table(std::vector<Column> columns, std::size_t rows, CellText cell);

    /// Adds a row with a cell for each column. Cells are made printable.
    void add(std::vector<std::string> cells);
    bool empty() const { return row_count_ == 0; }

    /// Returns the title line, in bold if `stream` takes colours, then the rows; each ends in a line feed. On a
    /// terminal, long names lose their middles; if the table is still too wide, each row goes on in a second line.
    /// Columns that would need a third line are left out by rank. From `one_line_rank` on, so are columns that would
    /// need a second line. A last line names the columns left out. Other streams get each row in one line.
    std::string text(int stream = 1) const;
    /// Writes text() line by line.
    void write(const TextSink& put, int stream) const;

  private:
    /// Range of columns that one line shows; `end` is behind the last.
    struct Line {
        std::size_t begin, end;
    };
    std::vector<Line> fit(std::size_t limit, std::vector<std::size_t>& widths) const;
    std::vector<std::size_t> natural_widths() const;
    /// Returns the table without the columns that do not fit into `limit`, and adds their titles to `left_out`.
    Table fitted(std::size_t limit, std::vector<std::string>& left_out) const;
    void write_lines(std::size_t limit, int stream, const TextSink& put) const;
    std::string cell(std::size_t row, std::size_t column) const;

    std::vector<Column> columns_;
    std::vector<std::size_t> cell_of_column_;  ///< index of a column's cell in a row; some cells are not shown
    std::size_t row_count_;
    CellText cell_;                               ///< nullptr: rows_ has the cells
    std::vector<std::vector<std::string>> rows_;  ///< cells, made printable
};

/// Returns a duration in a fitting unit: `381 ns`, `4.2 us`, `17 ms`, `3.4 s`, `2 h 05 min`; `~17 ms` for an
/// estimate.
std::string duration_text(double nanoseconds, bool is_estimate = false);

/// Returns a count with separators: `1,234,567`.
std::string count_text(std::uint64_t count);

/// Returns a share: `12.3%`; `<0.1%` and `>99.9%` if it would be rounded to none or all; empty if `whole` is 0.
std::string share_text(std::uint64_t part, std::uint64_t whole);

/// Returns a count with its noun: `1 call`, `1,234 calls`.
std::string counted(std::uint64_t count, std::string_view noun);

/// Returns the first `most` names and the number of others: `a, b, c and 4 more`.
std::string listed(const std::vector<std::string>& names, std::size_t most);

/// Writes to `stream` (1 or 2); main() reports errors of stdout. Characters that are not plain become \xNN, but for
/// ends of lines, tabs and, on a full terminal, the escape codes of coloured() and of a new screen.
void print(std::string_view text, int stream = 1);

}  // namespace fp32shim::cli
