#include "cli/output/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "system/plain_text.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::string_view column_gap = "  ";
constexpr std::size_t least_width = 6;  ///< width of a column of texts on a very narrow terminal

/// Escape codes for the values of Colour.
constexpr std::string_view colour_codes[] = {"", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m"};

/// Other escape codes that the command writes: the end of a colour, and a new screen.
constexpr std::string_view further_codes[] = {"\033[0m", "\033[H\033[2J"};

/// Returns the length of the command's own escape code at the beginning of `text`; 0 if there is none.
std::size_t own_code_length(std::string_view text) {
    for (const std::string_view code : colour_codes)
        if (!code.empty() && text.starts_with(code)) return code.size();
    for (const std::string_view code : further_codes)
        if (text.starts_with(code)) return code.size();
    return 0;
}

/// Returns a text in which only line ends, tabs and, if `takes_codes`, the command's own escape codes control the
/// terminal. Texts of other programs must have passed printable() before, because line feeds in them would remain
/// here.
std::string terminal_text(std::string_view text, bool takes_codes) {
    std::string shown;
    while (!text.empty()) {
        constexpr std::string_view end_of_csv_line = "\r\n";
        const std::size_t kept = text.starts_with(end_of_csv_line) ? end_of_csv_line.size()
                                 : takes_codes                     ? own_code_length(text)
                                                                   : 0;
        shown += text.substr(0, kept);
        text.remove_prefix(kept);
        const std::size_t next = std::min(text.find_first_of("\033\r", kept == 0 ? 1 : 0), text.size());
        shown += system::plain_text(text.substr(0, next), "\n\t");
        text.remove_prefix(next);
    }
    return shown;
}

/// Returns the size in bytes and the width on a terminal of the first `most` characters, assuming that each is one
/// column wide. The command's own escape codes have no width.
std::pair<std::size_t, std::size_t> size_and_width(std::string_view text, std::size_t most) {
    std::size_t size = 0, width = 0;
    while (size < text.size()) {
        const std::size_t code = own_code_length(text.substr(size));
        const bool is_character = code == 0 && (static_cast<unsigned char>(text[size]) & 0xc0) != 0x80;
        if (is_character && width++ == most) return {size, most};
        size += code == 0 ? 1 : code;
    }
    return {size, width};
}
std::size_t width_of(std::string_view text) { return size_and_width(text, text.size()).second; }
std::size_t bytes_of(std::string_view text, std::size_t count) { return size_and_width(text, count).first; }

/// Shortens `text` to `width` characters by leaving out the middle, because names often differ at their ends.
std::string without_middle(std::string_view text, std::size_t width) {
    const std::size_t length = width_of(text);
    if (length <= width) return std::string(text);
    if (width <= 1) return "…";
    const std::size_t kept = width - 1, at_end = kept / 2;
    return std::string(text.substr(0, bytes_of(text, kept - at_end))) + "…" +
           std::string(text.substr(bytes_of(text, length - at_end)));
}

/// Returns a library's name without the part that names its build. For example, `libopenblasp-r0.3.21.so` becomes
/// `libopenblasp….so`, and `_multiarray_umath.cpython-311-x86_64-linux-gnu.so` becomes `_multiarray_umath….so`.
std::string without_build(std::string_view name) {
    const std::size_t end = std::min(name.rfind(".so"), name.size());
    std::size_t begin = name.substr(0, end).find(".cpython-");
    if (begin == std::string_view::npos) begin = name.substr(0, end).rfind('-');
    if (begin == std::string_view::npos || end == name.size()) return std::string(name);
    const std::string_view build = name.substr(begin, end - begin);
    if (build.find_first_of("0123456789") == std::string_view::npos || build.find('/') != std::string_view::npos)
        return std::string(name);
    return fmt::format("{}…{}", name.substr(0, begin), name.substr(end));
}

/// Shortens a name to `width` characters, if possible by leaving out only the part that names a library's build.
std::string shortened_name(std::string_view name, std::size_t width) {
    const std::string without = without_build(name);
    return width_of(name) > width && width_of(without) <= width ? without : without_middle(name, width);
}

/// Shortens `text` to `width` characters. If it consists of two names with an arrow between them, the longer name
/// loses more.
std::string shortened(std::string_view text, std::size_t width) {
    constexpr std::string_view arrow = " -> ";
    if (width_of(text) <= width) return std::string(text);
    const std::size_t arrow_begin = text.find(arrow);
    if (arrow_begin == std::string_view::npos || width < arrow.size() + 2) {
        // In `train.py:12 Net.forward`, the function is shortened before the file and the line.
        const std::size_t line_end = std::min(text.find(' '), text.size());
        if (text.substr(0, line_end).find(':') == std::string_view::npos) return shortened_name(text, width);
        if (line_end >= width) return without_middle(text.substr(0, line_end), width);
        return fmt::format("{}{}", text.substr(0, line_end), without_middle(text.substr(line_end), width - line_end));
    }
    const std::string_view from = text.substr(0, arrow_begin), to = text.substr(arrow_begin + arrow.size());
    const std::size_t room = width - arrow.size();
    const std::size_t for_to = std::max(room / 2, room - std::min(room, width_of(from)));
    const std::string second = shortened_name(to, for_to);
    return shortened_name(from, room - width_of(second)) + std::string(arrow) + second;
}

std::string padded(std::string_view text, std::size_t width, bool to_the_right) {
    const std::string blanks(width - std::min(width, width_of(text)), ' ');
    return to_the_right ? blanks + std::string(text) : std::string(text) + blanks;
}

/// Finds the places where a line that is too wide is broken, and the indentation of its continuations.
struct LineBreaker {
    LineBreaker(std::string_view line, std::size_t limit) : width(limit) {
        const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
        is_command = begin > 0 && line.substr(begin).starts_with("fp32shim ");
        indent = begin + (is_command ? 4 : 2);
        // A value that stands beside its name, as in `  processor     Intel(R) Xeon(R)`, is continued below its own
        // beginning.
        const std::size_t value = line.find_first_not_of(' ', std::min(line.find("  ", begin), line.size()));
        if (!is_command && value <= width / 5) indent = value;
    }

    /// Returns the end of the first piece of `line`, which is printed after `indent_here` blanks. Returns the size of
    /// `line` if it need not be broken.
    std::size_t next(std::string_view line, std::size_t indent_here) const {
        if (is_command) return std::min(line.find("   # "), line.size());
        if (indent_here + width_of(line) <= width) return line.size();
        const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
        const std::size_t most = bytes_of(line, width - std::min(width, indent_here));
        std::size_t end = line.substr(0, std::min(most + 1, line.size())).rfind(' ');
        if (end == std::string_view::npos || end <= begin) end = line.find(' ', begin);
        return std::min(end, line.size());
    }

    std::size_t width, indent = 0;
    bool is_command = false;
};

bool shows_colours(int stream) {
    const char* no_color = std::getenv("NO_COLOR");
    return (no_color == nullptr || *no_color == '\0') && supports_escape_codes(stream);
}

/// Returns the number of columns for text on `stream` (1 or 2): the value of COLUMNS if it is set, otherwise the
/// width of the terminal. Returns 0, which means no limit, if COLUMNS is not set and the stream is a pipe or a file,
/// or if `stream` is -1.
std::size_t terminal_width(int stream) {
    const char* const columns = std::getenv("COLUMNS");
    if (const int wanted = columns == nullptr ? 0 : std::atoi(columns); wanted > 0 && stream >= 0)
        return static_cast<std::size_t>(wanted);
    winsize size{};
    return isatty(stream) == 1 && ioctl(stream, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

bool supports_escape_codes(int stream) {
    const char* terminal = std::getenv("TERM");
    return terminal != nullptr && std::strcmp(terminal, "dumb") != 0 && isatty(stream) == 1;
}

std::string coloured(std::string_view text, Colour colour, int stream) {
    if (text.empty() || colour == Colour::none || !shows_colours(stream)) return std::string(text);
    return fmt::format("{}{}\033[0m", colour_codes[static_cast<std::size_t>(colour)], text);
}

std::string printable(std::string_view text) { return system::plain_text(text); }

std::string wrapped(std::string_view text, int stream) {
    const std::size_t width = terminal_width(stream);
    if (width == 0) return std::string(text);
    std::string result;
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (width_of(line) > width) {
            const LineBreaker breaks(line, width);
            for (std::size_t end = breaks.next(line, 0); end < line.size(); end = breaks.next(line, breaks.indent)) {
                result += fmt::format("{}\n{:{}}", line.substr(0, end), "", breaks.indent);
                line.remove_prefix(std::min(line.find_first_not_of(' ', end), line.size()));
            }
        }
        result.append(line).append("\n");
    }
    return result;
}

void say(std::string_view command, std::string_view message) {
    const std::string line = wrapped(
        fmt::format("fp32shim{}{}: {}\n", command.empty() ? "" : " ", command, printable(message)), STDERR_FILENO);
    std::fwrite(line.data(), 1, line.size(), stderr);
}

TextTable::TextTable(std::vector<Column> columns, std::size_t rows, CellText cell)
    : columns_(std::move(columns)), cell_of_column_(columns_.size()), row_count_(rows), cell_(std::move(cell)) {
    std::iota(cell_of_column_.begin(), cell_of_column_.end(), std::size_t{0});
}

void TextTable::add(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = printable(cell);
    rows_.push_back(std::move(cells));
    ++row_count_;
}

std::string TextTable::cell(std::size_t row, std::size_t column) const {
    const std::size_t index = cell_of_column_[column];
    return cell_ ? printable(cell_(row, index)) : rows_[row][index];
}

TextTable TextTable::with_stored_cells() const {
    TextTable stored(columns_);
    for (std::size_t row = 0; row < row_count_; ++row) {
        std::vector<std::string>& cells = stored.rows_.emplace_back();
        for (std::size_t column = 0; column < columns_.size(); ++column) cells.push_back(cell(row, column));
    }
    stored.row_count_ = row_count_;
    return stored;
}

std::vector<std::size_t> TextTable::column_widths(std::size_t limit) const {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t width = width_of(columns_[i].title);
        for (std::size_t row = 0; row < row_count_; ++row) width = std::max(width, width_of(cell(row, i)));
        widths.push_back(width);
    }
    const auto shrink = [&](const auto& least) {
        const std::size_t gaps = (columns_.size() - 1) * column_gap.size();
        for (std::size_t all = std::accumulate(widths.begin(), widths.end(), gaps); all > limit; --all) {
            std::size_t widest = columns_.size();
            for (std::size_t i = 0; i < columns_.size(); ++i)
                if (widths[i] > least(i) && (widest == columns_.size() || widths[i] > widths[widest])) widest = i;
            if (widest == columns_.size()) return;
            --widths[widest];
        }
    };
    if (limit == 0) return widths;
    shrink([&](std::size_t i) { return columns_[i].shrinks_to == 0 ? widths[i] : columns_[i].shrinks_to; });
    const bool is_last_resort = std::ranges::all_of(columns_, [](const Column& one) { return one.rank == 0; });
    if (is_last_resort) shrink([&](std::size_t i) { return columns_[i].is_number ? widths[i] : least_width; });
    return widths;
}

TextTable TextTable::with_fitting_columns(std::size_t limit, std::vector<std::string>& left_out) const {
    TextTable table = *this;
    while (true) {
        std::uint8_t rank = 0;
        for (const Column& column : table.columns_) rank = std::max(rank, column.rank);
        const std::vector<std::size_t> widths = table.column_widths(limit);
        const std::size_t gaps = (widths.size() - 1) * column_gap.size();
        if (rank == 0 || std::accumulate(widths.begin(), widths.end(), gaps) <= limit) return table;
        std::vector<std::string> titles;
        for (std::size_t i = table.columns_.size(); i-- > 0;) {
            if (table.columns_[i].rank != rank) continue;
            const auto offset = static_cast<std::ptrdiff_t>(i);
            titles.insert(titles.begin(), table.columns_[i].title);
            table.columns_.erase(table.columns_.begin() + offset);
            table.cell_of_column_.erase(table.cell_of_column_.begin() + offset);
        }
        left_out.insert(left_out.begin(), titles.begin(), titles.end());
    }
}

std::string TextTable::text(int stream) const {
    std::string text;
    write([&](std::string_view piece) { text += piece; }, stream);
    return text;
}

void TextTable::write(const TextSink& put, int stream) const {
    const std::size_t limit = terminal_width(stream);
    if (limit == 0) return write_lines(0, stream, put);
    std::vector<std::string> left_out;
    with_fitting_columns(limit, left_out).write_lines(limit, stream, put);
    if (left_out.empty()) return;
    const std::string names = fmt::format("(no room for: {})", fmt::join(left_out, ", "));
    put(wrapped(coloured(names, Colour::faint, stream) + "\n", stream));
}

void TextTable::write_lines(std::size_t limit, int stream, const TextSink& put) const {
    const std::vector<std::size_t> fitting = column_widths(limit);
    const auto write_row = [&](Colour colour, const auto& cell_of) {
        std::string cells;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (i > 0) cells += column_gap;
            cells += padded(shortened(cell_of(i), fitting[i]), fitting[i], columns_[i].is_number);
        }
        cells.resize(cells.find_last_not_of(' ') + 1);
        put(coloured(cells, colour, stream) + "\n");
    };
    write_row(Colour::bold, [&](std::size_t i) { return columns_[i].title; });
    for (std::size_t row = 0; row < row_count_; ++row)
        write_row(Colour::none, [&](std::size_t i) { return cell(row, i); });
}

std::string duration_text(double nanoseconds, bool is_estimate) {
    if (is_estimate) return "~" + duration_text(nanoseconds);
    if (nanoseconds < 999.5) return fmt::format("{:.0f} ns", nanoseconds);
    if (nanoseconds < 999.5e3) return fmt::format("{:.3g} us", nanoseconds / 1e3);
    if (nanoseconds < 999.5e6) return fmt::format("{:.3g} ms", nanoseconds / 1e6);
    if (nanoseconds < 119.5e9) return fmt::format("{:.3g} s", nanoseconds / 1e9);
    const auto minutes = std::llround(nanoseconds / 60e9);
    if (minutes < 120) return fmt::format("{} min", minutes);
    return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string count_text(std::uint64_t count) {
    std::string digits = fmt::format("{}", count);
    for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3)
        digits.insert(static_cast<std::size_t>(i), 1, ',');
    return digits;
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return {};
    const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
    if (part > 0 && percent < 0.05) return "<0.1%";
    if (part < whole && percent >= 99.95) return ">99.9%";
    return fmt::format("{:.1f}%", percent);
}

std::string counted(std::uint64_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count_text(count), noun, count == 1 ? "" : "s");
}

std::string listed(const std::vector<std::string>& names, std::size_t most) {
    const std::size_t shown = std::min(most, names.size());
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(shown);
    return fmt::format("{}{}", fmt::join(names.begin(), end, ", "),
                       shown < names.size() ? fmt::format(" and {} more", names.size() - shown) : "");
}

void print(std::string_view text, int stream) {
    const std::string shown = terminal_text(text, supports_escape_codes(stream));
    std::fwrite(shown.data(), 1, shown.size(), stream == STDERR_FILENO ? stderr : stdout);
}

}  // namespace fp32shim::cli
