#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fp32shim::cli {
namespace {

std::string_view code_of(Colour colour) {
    switch (colour) {
        case Colour::none:
            break;
        case Colour::bold:
            return "\033[1m";
        case Colour::faint:
            return "\033[2m";
        case Colour::red:
            return "\033[31m";
        case Colour::green:
            return "\033[32m";
        case Colour::yellow:
            return "\033[33m";
    }
    return "";
}

/// Columns on a terminal, where every character is one wide: those of names and numbers here are.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(std::string_view text, std::size_t width, bool to_the_right) {
    const std::string blanks(width - std::min(width, width_of(text)), ' ');
    return to_the_right ? blanks + std::string(text) : std::string(text) + blanks;
}

}  // namespace

bool takes_colours(int stream) {
    const char* no_color = std::getenv("NO_COLOR");
    if (no_color != nullptr && *no_color != '\0') return false;
    const char* terminal = std::getenv("TERM");
    return terminal != nullptr && std::strcmp(terminal, "dumb") != 0 && isatty(stream) == 1;
}

std::string coloured(std::string_view text, Colour colour, int stream) {
    if (text.empty() || colour == Colour::none || !takes_colours(stream)) return std::string(text);
    return fmt::format("{}{}\033[0m", code_of(colour), text);
}

std::string printable(std::string_view text) {
    std::string result;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte != 0x7f) {
            result += c;
        } else {
            result += fmt::format("\\x{:02x}", byte);
        }
    }
    return result;
}

void say(std::string_view command, std::string_view message) {
    const std::string line =
        fmt::format("fp32shim{}{}: {}\n", command.empty() ? "" : " ", command, printable(message));
    std::fwrite(line.data(), 1, line.size(), stderr);
}

void Table::add(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = printable(cell);
    rows_.push_back(std::move(cells));
}

std::string Table::text(int stream) const {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t width = width_of(columns_[i].title);
        for (const auto& row : rows_) width = std::max(width, width_of(row[i]));
        widths.push_back(width);
    }
    const auto line = [&](const auto& cell_of) {
        std::string result;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (i > 0) result += "  ";
            result += padded(cell_of(i), widths[i], columns_[i].is_number);
        }
        result.resize(result.find_last_not_of(' ') + 1);
        return result;
    };
    std::string result =
        coloured(line([&](std::size_t i) { return columns_[i].title; }), Colour::bold, stream) + "\n";
    for (const auto& row : rows_) result += line([&](std::size_t i) { return row[i]; }) + "\n";
    return result;
}

std::string duration_text(double nanoseconds) {
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

std::string counted(std::uint64_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count_text(count), noun, count == 1 ? "" : "s");
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace fp32shim::cli
