// How output looks: colours only where a person reads it, tables aligned, one line on stderr for what went wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

enum class Colour : std::uint8_t { none, bold, faint, red, green, yellow };

/// Whether `stream` (1 or 2) is a terminal that takes colours: not with NO_COLOR set to anything, nor TERM=dumb.
bool takes_colours(int stream);

/// Columns of the terminal that `stream` (1 or 2) is; 0: it is none, or does not say.
std::size_t terminal_width(int stream);

/// `text` in that colour where stream 1 or 2 takes colours, else as it is.
std::string coloured(std::string_view text, Colour colour, int stream = 1);

/// Writes `fp32shim COMMAND: MESSAGE` to stderr, as one printable() line.
void say(std::string_view command, std::string_view message);

/// `text` with control characters, those that nobody sees, and bytes that are not UTF-8, as \xNN: names from files
/// and other processes cannot steer a terminal, nor change the order of what it shows.
std::string printable(std::string_view text);

/// Takes a text piece by piece.
using TextSink = std::function<void(std::string_view)>;

/// Columns of text, aligned when written.
class Table {
  public:
    /// Columns of this rank or a higher one are not worth a second line.
    static constexpr std::uint8_t one_line_rank = 3;

    struct Column {
        std::string title;
        bool is_number = false;      ///< aligned to the right
        std::size_t shrinks_to = 0;  ///< on a terminal that is too narrow, cells may be shortened to this; 0: never
        /// On a terminal that has no room for it even then, columns of the highest rank are left out first; 0: never.
        std::uint8_t rank = 0;
    };

    using CellText = std::function<std::string(std::size_t row, std::size_t column)>;

    explicit Table(std::vector<Column> columns) : Table(std::move(columns), 0, nullptr) {}
    /// A table of any length that keeps no cells: `cell` is asked for each when it is written, twice.
    Table(std::vector<Column> columns, std::size_t rows, CellText cell);

    /// As many cells as there are columns. Cells of control characters are made printable.
    void add(std::vector<std::string> cells);
    bool empty() const { return row_count_ == 0; }

    /// The title line in bold where `stream` takes colours, then the rows; each ends in a line feed. A terminal gets
    /// what fits into its width: long names lose their middles, and what then still has no room goes on in a second
    /// line. What would need a third is left out, by rank, and so are columns of `one_line_rank` that would need a
    /// second; a last line names them. Everything else gets all in one.
    std::string text(int stream = 1) const;
    /// The same, line by line.
    void write(const TextSink& put, int stream) const;

  private:
    /// Columns of one line.
    struct Line {
        std::size_t begin, end;
    };
    std::vector<Line> fit(std::size_t limit, std::vector<std::size_t>& widths) const;
    std::vector<std::size_t> natural_widths() const;
    /// The table without columns that have no room, whose titles are added to `left_out`.
    Table fitted(std::size_t limit, std::vector<std::string>& left_out) const;
    void write_lines(std::size_t limit, int stream, const TextSink& put) const;
    std::string cell(std::size_t row, std::size_t column) const;

    std::vector<Column> columns_;
    std::vector<std::size_t> cell_of_column_;  ///< its place in a row, which may have more cells than are shown
    std::size_t row_count_;
    CellText cell_;                               ///< nullptr: rows_ has the cells
    std::vector<std::vector<std::string>> rows_;  ///< printable
};

/// `1.2e+03 s` is nobody's idea of a duration: `381 ns`, `4.2 us`, `17 ms`, `3.4 s`, `2 h 05 min`; `~17 ms` where
/// that is an estimate.
std::string duration_text(double nanoseconds, bool is_estimate = false);

/// `1234567` as `1,234,567`.
std::string count_text(std::uint64_t count);

/// `12.3%`; `<0.1%` and `>99.9%` where rounding would make it none or all; empty where `whole` is 0.
std::string share_text(std::uint64_t part, std::uint64_t whole);

/// `1 call`, `1,234 calls`.
std::string counted(std::uint64_t count, std::string_view noun);

/// Writes to stdout; main() tells whether it could.
void print(std::string_view text);

}  // namespace fp32shim::cli
