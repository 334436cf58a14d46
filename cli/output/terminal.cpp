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
constexpr std::size_t continuation_indent = 4;

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

/// Returns the width of a text on a terminal, assuming that each character is one column wide.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// Returns the size in bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count) {
    std::size_t size = 0;
    for (; size < text.size(); ++size) {
        const bool begins_character = (static_cast<unsigned char>(text[size]) & 0xc0) != 0x80;
        if (begins_character && count-- == 0) break;
    }
    return size;
}

/// Shortens `text` to `width` characters by leaving out the middle, since names differ at their ends.
std::string without_middle(std::string_view text, std::size_t width) {
    const std::size_t length = width_of(text);
    if (length <= width) return std::string(text);
    if (width <= 1) return "…";
    const std::size_t kept = width - 1, at_end = kept / 2;
    return std::string(text.substr(0, bytes_of(text, kept - at_end))) + "…" +
           std::string(text.substr(bytes_of(text, length - at_end)));
}

/// Shortens `text` to `width` characters. If it consists of two names with an arrow between them, the longer name
/// loses more.
std::string shortened(std::string_view text, std::size_t width) {
    constexpr std::string_view arrow = " -> ";
    const std::size_t arrow_begin = text.find(arrow);
    if (arrow_begin == std::string_view::npos || width < arrow.size() + 2) return without_middle(text, width);
    const std::string_view from = text.substr(0, arrow_begin), to = text.substr(arrow_begin + arrow.size());
    const std::size_t room = width - arrow.size();
    const std::size_t for_to = std::max(room / 2, room - std::min(room, width_of(from)));
    const std::string second = without_middle(to, for_to);
    return without_middle(from, room - width_of(second)) + std::string(arrow) + second;
}

std::string padded(std::string_view text, std::size_t width, bool to_the_right) {
    const std::string blanks(width - std::min(width, width_of(text)), ' ');
    return to_the_right ? blanks + std::string(text) : std::string(text) + blanks;
}

}  // namespace

bool is_full_terminal(int stream) {
    const char* terminal = std::getenv("TERM");
    return terminal != nullptr && std::strcmp(terminal, "dumb") != 0 && isatty(stream) == 1;
}

bool shows_colours(int stream) {
    const char* no_color = std::getenv("NO_COLOR");
    return (no_color == nullptr || *no_color == '\0') && is_full_terminal(stream);
}

std::size_t terminal_width(int stream) {
    winsize size{};
    return isatty(stream) == 1 && ioctl(stream, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string coloured(std::string_view text, Colour colour, int stream) {
    if (text.empty() || colour == Colour::none || !shows_colours(stream)) return std::string(text);
    return fmt::format("{}{}\033[0m", colour_codes[static_cast<std::size_t>(colour)], text);
}

std::string printable(std::string_view text) { return system::plain_text(text); }

void say(std::string_view command, std::string_view message) {
    const std::string line =
        fmt::format("fp32shim{}{}: {}\n", command.empty() ? "" : " ", command, printable(message));
    std::fwrite(line.data(), 1, line.size(), stderr);
}

Table::Table(std::vector<Column> columns, std::size_t rows, CellText cell)
    : columns_(std::move(columns)), cell_of_column_(columns_.size()), row_count_(rows), cell_(std::move(cell)) {
    std::iota(cell_of_column_.begin(), cell_of_column_.end(), std::size_t{0});
}

void Table::add(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = printable(cell);
    rows_.push_back(std::move(cells));
    ++row_count_;
}

std::string Table::cell(std::size_t row, std::size_t column) const {
    const std::size_t index = cell_of_column_[column];
    return cell_ ? printable(cell_(row, index)) : rows_[row][index];
}

Table Table::with_stored_cells() const {
    Table stored(columns_);
    for (std::size_t row = 0; row < row_count_; ++row) {
        std::vector<std::string>& cells = stored.rows_.emplace_back();
        for (std::size_t column = 0; column < columns_.size(); ++column) cells.push_back(cell(row, column));
    }
    stored.row_count_ = row_count_;
    return stored;
}

std::vector<std::size_t> Table::natural_widths() const {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t width = width_of(columns_[i].title);
        for (std::size_t row = 0; row < row_count_; ++row) width = std::max(width, width_of(cell(row, i)));
        widths.push_back(width);
    }
    return widths;
}

Table Table::fitted(std::size_t limit, std::vector<std::string>& left_out) const {
    const auto line_count = [limit](const Table& table) {
        std::vector<std::size_t> widths = table.natural_widths();
        return table.fit(limit, widths).size();
    };
    const auto without = [](Table table, std::uint8_t rank, std::vector<std::string>& titles) {
        for (std::size_t i = table.columns_.size(); i-- > 0;) {
            if (table.columns_[i].rank != rank) continue;
            const auto offset = static_cast<std::ptrdiff_t>(i);
            titles.insert(titles.begin(), table.columns_[i].title);
            table.columns_.erase(table.columns_.begin() + offset);
            table.cell_of_column_.erase(table.cell_of_column_.begin() + offset);
        }
        return table;
    };
    Table table = *this;
    while (true) {
        std::uint8_t rank = 0;
        for (const Column& column : table.columns_) rank = std::max(rank, column.rank);
        const std::size_t lines = line_count(table);
        if (rank == 0 || lines <= 1) return table;
        std::vector<std::string> titles;
        Table narrower = without(table, rank, titles);
        const std::size_t most_lines = rank >= one_line_rank ? std::min<std::size_t>(2, line_count(narrower)) : 2;
        if (lines <= most_lines) return table;
        left_out.insert(left_out.begin(), titles.begin(), titles.end());
        table = std::move(narrower);
    }
}

std::string Table::text(int stream) const {
    std::string text;
    write([&](std::string_view piece) { text += piece; }, stream);
    return text;
}

void Table::write(const TextSink& put, int stream) const {
    const std::size_t limit = terminal_width(stream);
    if (limit == 0) return write_lines(0, stream, put);
    std::vector<std::string> left_out;
    fitted(limit, left_out).write_lines(limit, stream, put);
    if (left_out.empty()) return;
    put(coloured(fmt::format("(no room for: {})", fmt::join(left_out, ", ")), Colour::faint, stream) + "\n");
}

void Table::write_lines(std::size_t limit, int stream, const TextSink& put) const {
    std::vector<std::size_t> widths = natural_widths();
    const std::vector<Line> lines = fit(limit, widths);
    const auto write_row = [&](Colour colour, const auto& cell_of) {
        for (const Line& line : lines) {
            std::string cells = line.begin == 0 ? "" : std::string(continuation_indent, ' ');
            for (std::size_t i = line.begin; i < line.end; ++i) {
                if (i > line.begin) cells += column_gap;
                cells += padded(shortened(cell_of(i), widths[i]), widths[i], columns_[i].is_number);
            }
            cells.resize(cells.find_last_not_of(' ') + 1);
            put(coloured(cells, colour, stream) + "\n");
        }
    };
    write_row(Colour::bold, [&](std::size_t i) { return columns_[i].title; });
    for (std::size_t row = 0; row < row_count_; ++row)
        write_row(Colour::none, [&](std::size_t i) { return cell(row, i); });
}

/// Distributes the columns over lines and reduces `widths` so that no line exceeds `limit`. A `limit` of 0 means one
/// line.
std::vector<Table::Line> Table::fit(std::size_t limit, std::vector<std::size_t>& widths) const {
    if (limit == 0) return {{0, columns_.size()}};
    const auto least = [&](std::size_t i) {
        const std::size_t least_width = columns_[i].shrinks_to;
        return least_width == 0 ? widths[i] : std::min(widths[i], least_width);
    };
    const auto length = [&](const Line& line, const auto& width_of_column) {
        std::size_t sum =
            (line.begin == 0 ? 0 : continuation_indent) + (line.end - line.begin - 1) * column_gap.size();
        for (std::size_t i = line.begin; i < line.end; ++i) sum += width_of_column(i);
        return sum;
    };
    std::vector<Line> lines = {{0, 1}};
    for (std::size_t i = 1; i < columns_.size(); ++i) {
        if (length({lines.back().begin, i + 1}, least) <= limit)
            lines.back().end = i + 1;
        else
            lines.push_back({i, i + 1});
    }
    const auto excess = [&](const Line& line) {
        const std::size_t sum = length(line, [&](std::size_t i) { return widths[i]; });
        return sum - std::min(sum, limit);
    };
    // Columns are divided between two lines so that names are shortened as little as possible.
    for (std::size_t end = lines.front().end; lines.size() == 2 && --end > 0;) {
        const Line first{0, end}, second{end, columns_.size()};
        if (length(second, least) > limit) break;
        if (excess(first) + excess(second) < excess(lines[0]) + excess(lines[1])) lines = {first, second};
    }
    for (const Line& line : lines) {
        for (std::size_t over = excess(line); over > 0; --over) {
            std::size_t widest = line.end;
            for (std::size_t i = line.begin; i < line.end; ++i) {
                if (widths[i] > least(i) && (widest == line.end || widths[i] > widths[widest])) widest = i;
            }
            if (widest == line.end) break;
            --widths[widest];
        }
    }
    return lines;
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
    for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3) {
        digits.insert(static_cast<std::size_t>(i), 1, ',');
    }
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
    const std::string shown = terminal_text(text, is_full_terminal(stream));
    std::fwrite(shown.data(), 1, shown.size(), stream == STDERR_FILENO ? stderr : stdout);
}

}  // namespace fp32shim::cli
