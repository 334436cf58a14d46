// Reads whole small files that describe users and processes.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "system/raw_file.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::system {

/// Returns the bytes of a file, or an empty string if the file cannot be read.
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

/// Returns the line at the beginning of `text`, without its line feed, and removes the line from `text`.
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

/// Returns the command line of this process: all its arguments, joined by single blanks.
inline std::string read_command_line() {
    std::string command = read_small_file("/proc/self/cmdline");
    // Each argument, including the last one, ends in NUL. Programs that rewrite their title leave further NULs at the
    // end.
    while (!command.empty() && command.back() == '\0') command.pop_back();
    std::replace(command.begin(), command.end(), '\0', ' ');
    return command;
}

/// A line of /proc/self/uid_map. It says that the `count` user ids from `inside` on, as seen in this user namespace,
/// are the ids from `outside` on in the namespace around it.
struct IdRange {
    std::uint32_t inside = 0, outside = 0, count = 0;

    bool contains(std::uint32_t id) const { return id - inside < count; }
};

/// Returns the range that the first line of `lines` describes, and removes this line from `lines`.
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

/// Returns 1 plus the real user id of this process as seen in the namespace just outside its own user namespace, or 0
/// if that id is not known. Inside its namespace (a rootless container), the ids are chosen by whoever made the
/// container. Allocates nothing.
inline std::uint32_t user_outside_namespace_plus_1() {
    const auto inside = static_cast<std::uint32_t>(raw::syscall6(SYS_getuid));
    char text[512];
    std::string_view lines(text, RawFile("/proc/self/uid_map").read(0, text, sizeof text));
    lines = lines.substr(0, lines.rfind('\n') + 1);  // a last line that did not fit is dropped
    while (!lines.empty())
        if (const IdRange range = take_id_range(lines); range.contains(inside))
            return range.outside + (inside - range.inside) + 1;
    return 0;
}

inline constexpr const char* users_file = "/etc/passwd";
inline constexpr const char* groups_file = "/etc/group";

/// Returns the id of the user or group `text`. If `text` is a number, returns this number. Otherwise searches for the
/// name in `lines`, the content of users_file or groups_file, and returns -1 if it is not there. The function does
/// not ask the C library, which would load further libraries.
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
