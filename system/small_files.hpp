// Reads small files about users and processes, whole.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "system/raw_file.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::system {

/// Returns a file's bytes; empty if it cannot be read.
inline std::string read_small_file(const char* path) {
    constexpr std::size_t first_size = 4096;
    const RawFile file(path);
    std::string bytes;
    for (std::size_t size = 0;;) {
        bytes.resize(size + std::max(size, first_size));
        const std::size_t more = file.read(size, bytes.data() + size, bytes.size() - size);
        size += more;
        if (more > 0) continue;
        bytes.resize(size);
        return bytes;
    }
}

/// Returns the line at the beginning of `text`, without its end, and removes it from `text`.
inline std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

/// Returns `text` without the characters of `blanks` at either end.
inline std::string_view trimmed(std::string_view text, std::string_view blanks) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// Returns the whole argument line of this process, joined by single blanks.
inline std::string read_command_line() {
    std::string command = read_small_file("/proc/self/cmdline");
    // Each argument ends in NUL, also the last one. Programs that rewrite their title leave further NULs at the end.
    while (!command.empty() && command.back() == '\0') command.pop_back();
    std::replace(command.begin(), command.end(), '\0', ' ');
    return command;
}

/// A line of /proc/self/uid_map: `count` ids from `inside` on, inside the user namespace, are those from `outside`
/// on.
struct IdRange {
    std::uint32_t inside = 0, outside = 0, count = 0;

    bool contains(std::uint32_t id) const { return id - inside < count; }
};

/// Returns the range in the line at the beginning of `lines`, and removes the line.
inline IdRange take_id_range(std::string_view& lines) {
    IdRange range;
    std::string_view line = take_line(lines);
    for (std::uint32_t* const number : {&range.inside, &range.outside, &range.count}) {
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        const char* const end = std::from_chars(line.data(), line.data() + line.size(), *number).ptr;
        line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    }
    return range;
}

/// Returns the real user id of this process, plus 1, as it is outside of its user namespace (a rootless container),
/// whose maker chose the ids inside; 0 if that id is not known. If namespaces are nested, it is the id just outside
/// of the innermost one. Allocates nothing.
inline std::uint32_t user_outside_namespace_plus_1() {
    const auto inside = static_cast<std::uint32_t>(raw::syscall6(SYS_getuid));
    char text[512];
    std::string_view lines(text, RawFile("/proc/self/uid_map").read(0, text, sizeof text));
    lines = lines.substr(0, lines.rfind('\n') + 1);  // of a map that did not fit, only the whole lines
    while (!lines.empty())
        if (const IdRange range = take_id_range(lines); range.contains(inside))
            return range.outside + (inside - range.inside) + 1;
    return 0;
}

inline constexpr const char* users_file = "/etc/passwd";
inline constexpr const char* groups_file = "/etc/group";

/// Returns the number of a user or group: `text` itself if it is a number, else that of its line in `lines`, the
/// bytes of users_file or groups_file; -1 if it has none there. The C library would load libraries to ask other
/// sources.
inline std::int64_t find_account_id(std::string_view lines, std::string_view text) {
    std::uint32_t number = 0;
    const auto parse = [&number](std::string_view digits) {
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        return error == std::errc{} && end == digits.data() + digits.size();
    };
    if (parse(text)) return number;

    // Lines have the form `name:password:number:…`.
    for (std::string_view rest = lines; !rest.empty();) {
        std::string_view line = take_line(rest);
        const bool is_wanted = line.starts_with(text) && line.substr(text.size()).starts_with(':');
        const std::size_t password_end = is_wanted ? line.find(':', text.size() + 1) : std::string_view::npos;
        if (password_end == std::string_view::npos) continue;
        line.remove_prefix(password_end + 1);
        if (parse(line.substr(0, line.find(':')))) return number;
    }
    return -1;
}

}  // namespace fp32shim::system
